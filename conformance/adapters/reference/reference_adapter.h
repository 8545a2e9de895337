// The reference engine in process: for programs that run many scenarios on it and cannot afford
// JSON.
#pragma once

#include <memory>

#include "conformance/adapters/description.h"
#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"

namespace gradcts {

Description describe_reference();

// Runs a valid scenario. Features are not checked: the caller has done so, once for many.
Outcome run_on_reference(std::shared_ptr<const Scenario> scenario);

}  // namespace gradcts
