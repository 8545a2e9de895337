// What a run says about itself and about each scenario, and who listens.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conformance/adapters/description.h"
#include "conformance/checker/verdict.h"
#include "conformance/runner/expectations.h"
#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"

namespace gradcts {

// A scenario that takes part in a run.
struct PlannedScenario {
  const Scenario* scenario = nullptr;
  std::string hash;
  std::string file;  // where it came from
};

struct ScenarioResult {
  PlannedScenario planned;
  Verdict verdict;
  bool flaky = false;  // repeats differ: the verdict is fail, and a finding of DET-1 says how
  Standing standing;
  std::vector<std::string> missing_features;  // unsupported
  double seconds = 0;
  std::optional<Outcome> outcome;  // when the engine gave one that can be read
};

// Something that went wrong and is no scenario's own verdict: an engine that gave another verdict
// when a scenario was repeated at the end of a batch, or a worker that did not end as a program
// ends.
struct RunProblem {
  std::string id;    // the scenario that was repeated; empty: none
  std::string text;  // first line: what happened
};

struct RunHeader {
  Description engine;
  std::string engine_argument;  // as the user gave it, for replay commands
  std::string dialect;          // that the user gave; empty: the one that the engine declares
  std::string suites;           // where the scenarios came from
  bool suites_given = false;    // by the user: replay commands must say so
  std::string expectations;     // the file; empty: none
  std::size_t expectation_count = 0;
  std::size_t scenario_count = 0;  // that take part
  std::size_t suite_size = 0;      // that exist
  std::string shard;               // "2/3"; empty: all
  int jobs = 1;
  int repeat = 1;
  std::chrono::milliseconds timeout{};
};

inline constexpr std::array all_verdicts = {VerdictKind::pass,        VerdictKind::fail,
                                            VerdictKind::unsupported, VerdictKind::crash,
                                            VerdictKind::hang,        VerdictKind::error};

struct RunSummary {
  std::map<VerdictKind, std::size_t> counts;
  std::size_t expected_failures = 0;
  std::size_t unexpected_passes = 0;
  std::size_t flaky = 0;
  std::size_t not_as_expected = 0;         // unexpected passes included
  std::size_t errors_not_as_expected = 0;  // of these, verdicts `error`
  std::vector<RunProblem> problems;
  double seconds = 0;
  bool interrupted = false;

  std::size_t count(VerdictKind kind) const;
  std::size_t executed() const;  // everything but unsupported
  // 0: as expected; 1: something is not, or nothing was executed; 3: some verdict is `error`, or
  // the run was interrupted.
  int exit_status() const;
};

// Listens to a run. Calls come one at a time, results in the order of the scenarios.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void on_start(const RunHeader&) {}
  // A scenario was handed to a worker; `done` were finished by then.
  virtual void on_progress(const std::string& /*id*/, std::size_t /*done*/) {}
  virtual void on_result(const ScenarioResult&) {}
  virtual void on_finish(const RunSummary&) {}
};

}  // namespace gradcts
