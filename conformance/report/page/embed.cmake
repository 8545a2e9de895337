# Writes the files of the page into a C++ source: cmake -DFOLDER=... -DOUTPUT=... -P embed.cmake
file(READ "${FOLDER}/page.html" html)
file(READ "${FOLDER}/page.css" style)
set(script "")
foreach(part tools graph timeline page)  # page last: it starts the page when all else is known
  file(READ "${FOLDER}/${part}.js" text)
  string(APPEND script "${text}\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made from conformance/report/page/ while building.
#include \"conformance/report/page_data.h\"

namespace gradcts {

const char* const page_html = R\"page(${html})page\";
const char* const page_style = R\"page(${style})page\";
const char* const page_script = R\"page(${script})page\";

}  // namespace gradcts
")
