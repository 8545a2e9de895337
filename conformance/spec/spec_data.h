// The text of clauses.json, dialects.json and mutants/kills.json; the definitions are made while
// building.
#pragma once

namespace gradcts {

extern const char* const clauses_json;
extern const char* const dialects_json;
extern const char* const kills_json;

}  // namespace gradcts
