// The checker: compares what an engine did with what the oracle expects.
//
// A list of small judges, each owning some clauses, each a pure function of scenario, expectation
// and outcome. It demands what the clauses say and leaves free what they leave free. An expected
// step that never happened, and an outcome in which nothing ran, are failures.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "conformance/checker/verdict.h"
#include "conformance/oracle/oracle.h"
#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"

namespace gradcts {

struct Case {
  const Scenario& scenario;
  const Expectation& expectation;
  const Outcome& outcome;
};

struct Evidence;  // a case with its events and steps matched; matching.h

struct Judge {
  std::string_view name;      // "values"
  std::string_view clauses;   // what it owns, for documentation: "ACC-1 LEAF-2 ..."
  std::string_view question;  // what it asks, in one line
  void (*judge)(const Evidence&, std::string_view clauses, std::vector<Finding>&);
};

std::span<const Judge> all_judges();

// All judges over one outcome. Findings come in the order of the judges; at most 20 are kept. When
// the oracle cannot tell, the verdict is `error`, and never a pass.
Verdict check(const Case& c);

}  // namespace gradcts
