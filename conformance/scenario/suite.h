// Suite files: many scenarios in one JSON file, with parameters (`gradcts.suite/1`).
//
// A suite file saves copying and adds no meaning: each of its scenarios expands to plain
// `gradcts.scenario/1` JSON, which is what `gradcts show --json` prints. docs/scenario.md explains
// the template rules: `for` (parameters of a scenario), `each` (repeated list entries), `when`
// (optional list entries), "{expression}" inside strings and "=expression" for numbers.
#pragma once

#include <string>
#include <vector>

#include "conformance/scenario/json.h"
#include "conformance/scenario/scenario.h"

namespace gradcts {

struct SuiteEntry {
  Scenario scenario;
  std::string file;  // where it came from, for messages
};

// The scenarios of one suite file's content, in order, their ids prefixed by the suite's area.
std::vector<Scenario> expand_suite(const Json& suite);

// Every scenario of a file (suite or single scenario) or of all *.json files below a folder, in
// order of path; a folder `expectations` is about engines and holds no suites. Throws FormatError
// with the file's name in front; duplicate ids are refused.
std::vector<SuiteEntry> load_suites(const std::string& path);

}  // namespace gradcts
