// From an engine's answer to a verdict, in the runner's process.
#pragma once

#include <optional>
#include <string>

#include "conformance/checker/verdict.h"
#include "conformance/oracle/oracle.h"
#include "conformance/runner/worker_process.h"
#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"
#include "conformance/spec/spec.h"

namespace gradcts {

// The oracle's expectation; one that it cannot give, for whatever reason, has `cannot_tell` set.
Expectation expect_safely(const Scenario& scenario, const Dialect& dialect);

struct Judgement {
  Verdict verdict;
  std::optional<Outcome> outcome;
};
// Never throws: what cannot be judged is `error` with a reason.
Judgement judge(const Scenario& scenario, const Expectation& expectation,
                const WorkerAnswer& answer);

// What two runs of a scenario must have in common, bit for bit, as text that can be compared and
// shown. On one thread of the CPU that is the whole outcome but the words of errors and which of its
// threads an engine took. Where threads or devices are free to order events it is the gradients,
// results and kinds of errors that the oracle fixes.
std::string fingerprint(const Scenario& scenario, const Expectation& expectation,
                        const Outcome& outcome);

}  // namespace gradcts
