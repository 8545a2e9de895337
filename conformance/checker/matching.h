// Matching: which event and which result of the outcome is which expected one.
//
// Events belong together by kind, subject, instance and occurrence; results by step and occurrence.
// Where several threads of the program made them, occurrences have no order, and equal values match
// first.
#pragma once

#include <vector>

#include "conformance/checker/checker.h"

namespace gradcts {

inline constexpr std::int32_t unmatched = -1;

struct Evidence : Case {
  explicit Evidence(const Case& c);

  // For each expected event and step: the index of the one in the outcome, or `unmatched`.
  std::vector<std::int32_t> events;
  std::vector<std::int32_t> steps;
  // Those of the outcome that nobody expected, in order.
  std::vector<std::int32_t> surplus_events;
  std::vector<std::int32_t> surplus_steps;
};

// The clause for a finding: the first one that the scenario cites among those that the judge owns,
// else the expectation's own.
std::string choose_clause(const Scenario& scenario, std::string_view owned, const char* own);

// Whether what arrived is the error that was expected, or none where none was: for the scenario's
// own, the same one (ERR-1).
bool error_fits(const ExpectedStep& expected, const std::optional<ErrorReport>& actual);

}  // namespace gradcts
