// Expectations: which scenarios an engine is known not to pass, and why (`gradcts.expectations/1`).
//
//   {"schema": "gradcts.expectations/1",
//    "expectations": [
//      {"id": "root/two-roots/chained", "hash": "0123456789abcdef", "verdict": "fail",
//       "clause": "ROOT-2", "reason": "runs a root twice; fixed in 2.0"},
//      {"pattern": "reent/depth/*", "verdict": "hang", "clause": "REENT-3", "reason": "no pool"}]}
//
// One of `id` and `pattern` (as on the command line), `verdict`, `clause` and `reason` are
// required. With `hash` the entry is for the scenario as it was: a scenario that changed its
// meaning has to be looked at again. Expectations are strict: an expected failure that passes, that
// fails in another way or breaks another clause is not as expected, and an entry that matches no
// scenario is an error. Several entries may speak of one scenario: then all their clauses break.
// With the verdict "flaky" a scenario may pass, or fail and break some of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/checker/verdict.h"
#include "conformance/scenario/json.h"

namespace gradcts {

struct ExpectedVerdict {
  std::string id;  // one of these two is set
  std::string pattern;
  std::string hash;                         // empty: any
  VerdictKind verdict = VerdictKind::fail;  // fail, crash, hang or error
  bool flaky = false;  // verdict "flaky": fails in some runs and passes in others
  std::string clause;
  std::string reason;

  bool speaks_of(const std::string& scenario_id) const;
  const std::string& target() const { return id.empty() ? pattern : id; }
};

using Expectations = std::vector<ExpectedVerdict>;

// Strict; FormatError names the place.
Expectations read_expectations(const Json& json);
// The same from a file; the message begins with the file's name.
Expectations load_expectations(const std::string& file);

struct ScenarioName {
  std::string id;
  std::string hash;
};
// One line for each entry that matches none of the scenarios, or one whose hash differs.
std::vector<std::string> stale_entries(const Expectations& expectations,
                                       const std::vector<ScenarioName>& scenarios);

// How a verdict compares with what was expected of it.
struct Standing {
  bool as_expected = true;
  bool expected_failure = false;  // as expected, and that was a failure
  bool unexpected_pass = false;
  std::string note;  // one line when an entry speaks of the scenario: its reason, or what differs
};
Standing compare(const Expectations& expectations, const std::string& id, const Verdict& verdict,
                 bool flaky);

}  // namespace gradcts
