// Runs scenarios on an engine: workers, repeats, verdicts, in the order of the scenarios.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "conformance/runner/expectations.h"
#include "conformance/runner/result.h"
#include "conformance/runner/worker_process.h"

namespace gradcts {

struct RunOptions {
  WorkerOptions worker;
  int jobs = 1;    // worker processes at a time
  int repeat = 1;  // runs of each scenario, which must agree
  // No further scenario starts once this many were not as expected; 0: all run.
  std::size_t max_failures = 0;
  Expectations expectations;
  // Set by a signal handler: no further scenario starts.
  const std::atomic<bool>* stop = nullptr;
};

// How many scenarios a worker runs before some of them are repeated on it, and how many of them.
inline constexpr std::size_t batch_size = 200;
inline constexpr std::size_t repeats_of_a_batch = 3;

// Note [A worker that goes bad]
// Workers live on, so an engine can break half-way: state left by one scenario spoils the next. So
// at the end of each batch the first scenarios that this worker passed are run on it once more.
// Another verdict is a problem of the run (DET-1), which turns it red.

// Runs `scenarios` and tells the reporters (header, progress, results, summary). When no further
// worker can be started the run ends early and its summary says so. `first`, if any, is a worker
// that was started already, for its description.
RunSummary run_scenarios(std::span<const PlannedScenario> scenarios, const RunHeader& header,
                         const RunOptions& options, std::unique_ptr<WorkerProcess> first,
                         std::span<Reporter* const> reporters);

// Note [A worker of its own]
// What a scenario does to the whole process cannot be undone: after `stop` an engine may refuse
// every pass, and a fork must find the threads that the scenario says and no others. Such a
// scenario runs on a fresh worker, which then ends as a program ends; what goes wrong there is its
// own verdict.
bool needs_own_worker(const Scenario& scenario);

// Runs one scenario `repeat` times. A worker that is missing, dead or not fit is replaced; the
// worker is left null when no other scenario may use it.
ScenarioResult run_scenario(const PlannedScenario& planned, std::unique_ptr<WorkerProcess>& worker,
                            const RunOptions& options);

}  // namespace gradcts
