// The checker: compares what an engine did with what the oracle expects.
//
// A list of small judges, each owning some clauses, each a pure function of scenario, expectation and
// outcome. It demands what the clauses say and leaves free what they leave free.
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

struct Judge {
  std::string_view name;     // "values"
  std::string_view clauses;  // what it owns, for documentation: "ACC-1 LEAF-2 ..."
  void (*judge)(const Case&, std::vector<Finding>&);
};

std::span<const Judge> all_judges();

// All judges over one outcome. Findings come in the order of the judges; at most 20 are kept.
Verdict check(const Case& c);

}  // namespace gradcts
