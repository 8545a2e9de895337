// The parts of validation that have a file of their own. Each assumes that all ids are in range.
#pragma once

#include "conformance/scenario/path.h"
#include "conformance/scenario/scenario.h"

namespace gradcts {

// Every value is made before a step uses it, and none is used after it was dropped.
void check_flow(const Scenario& scenario);

// Locks and barriers are used so that a right engine cannot hang.
void check_locks(const Scenario& scenario);

}  // namespace gradcts
