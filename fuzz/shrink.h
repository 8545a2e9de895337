// Makes a failing scenario small: nodes, edges, hooks, threads, steps, devices and values go one
// after the other, as long as it fails in the same way.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "conformance/scenario/scenario.h"

namespace gradcts::fuzz {

// How a scenario fails, in any words ("HOOK-8"); empty: it does not.
using FailureOf = std::function<std::string(const Scenario&)>;

struct Shrunk {
  Scenario scenario;
  std::string failure;    // empty: it did not fail at all
  bool flaky = false;     // it failed in some runs only, or in several ways: it is left as it was
  std::size_t tries = 0;  // scenarios that were run
};

// Every candidate is valid, and orders its streams if the scenario does (stream_order.h).
// Deterministic when `failure_of` is. A scenario with threads or devices is run `runs` times, the
// first time and for each candidate, and must fail alike in all of them: what fails now and then
// would be shrunk to whatever fails by chance. Where schedules are chosen, one run is enough.
Shrunk shrink(const Scenario& scenario, const FailureOf& failure_of, std::size_t most_tries = 3000,
              int runs = 3);

// What is counted when one case is called smaller than another.
std::size_t size_of(const Scenario& scenario);

}  // namespace gradcts::fuzz
