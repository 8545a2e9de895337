# gradcts_add_engine(NAME name TARGET target | PROGRAM file
#                    [DIALECT dialect] [EXPECT file] [AREAS area...])
#
# Adds one CTest test for each area of the clauses, `gradcts.NAME.AREA`, with the label `gradcts`: the suite of
# that area on the engine in the library of TARGET (a MODULE or SHARED one), or that PROGRAM is.
#   DIALECT  judge by this dialect, instead of the one that the adapter declares
#   EXPECT   expected failures (gradcts.expectations/1)
#   AREAS    these areas alone, in lower case; without it all. A run that executes nothing is a failure: leave
#            out the areas of which the engine claims no feature.
function(gradcts_add_engine)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME;TARGET;PROGRAM;DIALECT;EXPECT" "AREAS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gradcts_add_engine: unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_NAME)
    message(FATAL_ERROR "gradcts_add_engine: NAME is missing")
  endif()
  if((ARG_TARGET AND ARG_PROGRAM) OR NOT (ARG_TARGET OR ARG_PROGRAM))
    message(FATAL_ERROR "gradcts_add_engine(NAME ${ARG_NAME}): one of TARGET and PROGRAM is needed")
  endif()
  if(ARG_TARGET AND NOT TARGET ${ARG_TARGET})
    message(FATAL_ERROR "gradcts_add_engine(NAME ${ARG_NAME}): there is no target '${ARG_TARGET}'")
  endif()

  set(suites ${gradcts_DATA}/suites)
  file(GLOB known LIST_DIRECTORIES TRUE RELATIVE ${suites} ${suites}/*)
  list(REMOVE_ITEM known expectations)
  if(NOT ARG_AREAS)
    set(ARG_AREAS ${known})
  endif()

  set(engine ${ARG_PROGRAM})
  if(ARG_TARGET)
    set(engine $<TARGET_FILE:${ARG_TARGET}>)
  endif()
  set(options --engine ${engine} --suites ${suites})
  if(ARG_DIALECT)
    list(APPEND options --dialect ${ARG_DIALECT})
  endif()
  if(ARG_EXPECT)
    list(APPEND options --expect ${ARG_EXPECT})
  endif()
  foreach(area IN LISTS ARG_AREAS)
    if(NOT area IN_LIST known)
      list(JOIN known ", " areas)
      message(FATAL_ERROR "gradcts_add_engine(NAME ${ARG_NAME}): no area '${area}'; there are ${areas}")
    endif()
    set(test gradcts.${ARG_NAME}.${area})
    add_test(NAME ${test} COMMAND gradcts::gradcts run ${options} ${area})
    set_tests_properties(${test} PROPERTIES LABELS gradcts TIMEOUT 300
      ENVIRONMENT_MODIFICATION "PYTHONPATH=path_list_prepend:${gradcts_DATA}/python")
  endforeach()
endfunction()
