# Writes the JSON files into a C++ source: cmake -DCLAUSES=... -DDIALECTS=... -DKILLS=... -DOUTPUT=... -P embed.cmake
file(READ "${CLAUSES}" clauses)
file(READ "${DIALECTS}" dialects)
file(READ "${KILLS}" kills)
file(WRITE "${OUTPUT}" "// Made from clauses.json, dialects.json and kills.json while building.
#include \"conformance/spec/spec_data.h\"

namespace gradcts {

const char* const clauses_json = R\"json(${clauses})json\";
const char* const dialects_json = R\"json(${dialects})json\";
const char* const kills_json = R\"json(${kills})json\";

}  // namespace gradcts
")
