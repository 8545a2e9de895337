// A scenario as a reproducer that stands alone.
#pragma once

#include <string>

#include "conformance/scenario/scenario.h"

namespace gradcts::fuzz {

// A GoogleTest program: link it with gradcts_fuzz_campaign and gtest_main. GRADCTS_ENGINE names the
// engine (default: reference).
std::string as_gtest(const Scenario& scenario);

// A Python script that needs nothing but the engine's adapter library: it runs the scenario, and
// compares errors, returned gradients and gradients of leaves with what is right in the dialect.
std::string as_python(const Scenario& scenario, const std::string& dialect);

}  // namespace gradcts::fuzz
