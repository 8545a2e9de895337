// The one JSON form of scenarios and outcomes: `gradcts.scenario/1`, `gradcts.outcome/1`.
//
// Reading is strict: an unknown field, a wrong type, a dangling name, a duplicate name, a cycle or
// a contradiction is a FormatError that says where (a path like `nodes[3].inputs[0]`), what was
// found and what was expected. A scenario that was read is valid (see validate.h). Writing is
// canonical: equal scenarios give equal bytes, defaults are left out, and reading back gives the
// same scenario.
//
// The schemas for other tools are schema/scenario.schema.json and schema/outcome.schema.json.
#pragma once

#include <nlohmann/json.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"

namespace gradcts {

// Keeps the order of the fields as written, so that files diff well.
using Json = nlohmann::ordered_json;

// One clear line: "FILE: PATH: what is wrong; what was expected".
class FormatError : public std::runtime_error {
 public:
  FormatError(std::string path, const std::string& problem);
  // The place inside the document, for example "program[2].roots[0].value"; empty: the document.
  const std::string& path() const { return path_; }
  // What is wrong there, without the path.
  const std::string& problem() const { return problem_; }

 private:
  std::string path_;
  std::string problem_;
};

// Parses text into JSON, refusing what plain parsers let pass: duplicate keys, nesting deeper than
// 200, text after the end, invalid UTF-8. The error names line and column.
Json parse_json(std::string_view text);

Scenario read_scenario(const Json& json);
Json write_scenario(const Scenario& scenario);

// An outcome names its scenario: the answer to another request is refused, however well it would fit.
Outcome read_outcome(const Json& json, const Scenario& scenario);
Json write_outcome(const Outcome& outcome, const Scenario& scenario);

TensorValue read_tensor(const Json& json, const std::string& path);
Json write_tensor(const TensorValue& tensor);

// 16 hexadecimal digits over what the scenario means: everything but id, title, clauses, reports
// and expectations. The same on every machine.
std::string content_hash(const Scenario& scenario);

}  // namespace gradcts
