# Writes the JSON files into a C++ source: cmake -DCLAUSES=... -DDIALECTS=... -DOUTPUT=... -P embed.cmake
file(READ "${CLAUSES}" clauses)
file(READ "${DIALECTS}" dialects)
file(WRITE "${OUTPUT}" "// Made from clauses.json and dialects.json while building.
#include \"conformance/spec/spec_data.h\"

namespace gradcts {

const char* const clauses_json = R\"json(${clauses})json\";
const char* const dialects_json = R\"json(${dialects})json\";

}  // namespace gradcts
")
