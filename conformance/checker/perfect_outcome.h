// For tests: the outcome of an engine that does exactly what is expected.
#pragma once

#include "conformance/oracle/oracle.h"

namespace gradcts {

Outcome perfect_outcome(const Scenario& scenario, const Expectation& expectation);

}  // namespace gradcts
