// Scenarios that the tests of this folder share.
#pragma once

#include "conformance/scenario/builder.h"

namespace gradcts {

// Uses every kind of thing that the language has: each struct, step, hook, expression and setting.
Scenario everything();

}  // namespace gradcts
