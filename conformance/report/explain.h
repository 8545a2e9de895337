// A scenario explained in words, and what came of it.
#pragma once

#include <string>

#include "conformance/oracle/oracle.h"
#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"

namespace gradcts {

// Title, clauses in full, leaves, graph, hooks, the program step by step, and what the oracle
// expects.
std::string explain(const Scenario& scenario, const Expectation& expectation);

// Results of the steps, the trace of events with their threads, and the gradients of the leaves.
std::string explain(const Scenario& scenario, const Outcome& outcome);

}  // namespace gradcts
