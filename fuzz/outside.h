// How a scenario fails on an engine that runs in a worker process of its own: for shrinking, which
// must survive crashes and hangs.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "conformance/runner/run.h"
#include "fuzz/claims.h"
#include "fuzz/known.h"
#include "fuzz/shrink.h"

namespace gradcts::fuzz {

class OutsideEngine {
 public:
  // By name or path; throws as the runner does for engines that cannot work.
  OutsideEngine(const std::string& engine, std::chrono::milliseconds timeout,
                KnownFindings known = {});
  ScenarioResult run(const Scenario& scenario);
  // How it fails: the first broken clause and what is said of it, so that shrinking does not drift
  // to another fault of the same clause; or "crash", "hang", "error". A known finding is "known
  // finding NAME", so that it does not drift to one of these either. Empty: it passes, or cannot be
  // judged.
  std::string failure_of(const Scenario& scenario);

 private:
  std::string known_as(const Scenario& scenario, const ScenarioResult& result) const;

  const KnownFindings known_;
  RunOptions options_;
  std::unique_ptr<WorkerProcess> worker_;
};

// "LIFE-1: expected ..., observed ..." with a mark for each name, number, type and shape: these
// change as a scenario becomes smaller.
std::string kind_of(const gradcts::Finding& finding);
// The clause that such a failure begins with; of others all of it.
std::string clause_of(const std::string& failure);

// What the engines of these names claim together; empty names are left out. Everything for the
// reference engine, which is linked in.
Claims claims_of(const std::vector<std::string>& engines);

}  // namespace gradcts::fuzz
