// A run of some scenarios, for tests: its results and summary.
#pragma once

#include <string>
#include <vector>

#include "conformance/runner/run.h"
#include "conformance/runner/testing/scenarios.h"

namespace gradcts::testing {

// Keeps what it was told.
struct Listener : Reporter {
  void on_result(const ScenarioResult& result) override { results.push_back(result); }
  void on_finish(const RunSummary&) override { ++finished; }
  std::vector<ScenarioResult> results;
  int finished = 0;
};

struct Trial {
  Trial(const Plan& plan, const RunOptions& options) {
    Reporter* reporters[] = {&listener};
    summary = run_scenarios(plan.planned(), {}, options, nullptr, reporters);
  }
  std::vector<std::string> verdicts() const {
    std::vector<std::string> texts;
    for (const auto& result : listener.results) texts.emplace_back(to_text(result.verdict.kind));
    return texts;
  }
  const Verdict& verdict(std::size_t i) const { return listener.results.at(i).verdict; }

  Listener listener;
  RunSummary summary;
};

}  // namespace gradcts::testing
