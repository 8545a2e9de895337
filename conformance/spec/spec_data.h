// The text of clauses.json and dialects.json; the definitions are made while building.
#pragma once

namespace gradcts {

extern const char* const clauses_json;
extern const char* const dialects_json;

}  // namespace gradcts
