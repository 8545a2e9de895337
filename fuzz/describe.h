// What random cases look like: the distribution is a product, and a test demands what it must
// reach.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "conformance/scenario/scenario.h"

namespace gradcts::fuzz {

// What a scenario has, in words: features of the language that fuzzing must reach ("hook.tensor"),
// and shapes that no feature stands for ("graph.diamond", "nested.past-limit", "threads.shared").
std::set<std::string> traits_of(const Scenario& scenario);

// Every trait that must be reached.
const std::set<std::string>& all_traits();

// The distribution over `count` cases of a seed, as text.
std::string describe(std::uint64_t seed, std::uint64_t count);

}  // namespace gradcts::fuzz
