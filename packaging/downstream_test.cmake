# Installs BUILD below WORK and builds and tests the installed templates against it, as a project downstream.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${status}): ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --config ${CONFIG})
file(GLOB_RECURSE templates ${prefix}/share/gradcts/templates/CMakeLists.txt)
get_filename_component(source ${templates} DIRECTORY)
step(${CMAKE_COMMAND} -S ${source} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_BUILD_TYPE=Debug
     -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_C_COMPILER=${C})
step(${CMAKE_COMMAND} --build ${WORK}/build)
step(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build --output-on-failure --no-tests=error)
message("${output}")

# What is broken must be seen there too: a binding that forgets a factor fails its tests.
file(READ ${source}/python/my_engine.py text)
string(REPLACE "x * factor for x in g" "x for x in g" broken "${text}")
file(WRITE ${source}/python/my_engine.py "${broken}")
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/build -R my_python_adapter.acc
                RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
if(status EQUAL 0)
  message(FATAL_ERROR "an engine with a wrong derivative passed its tests")
endif()
