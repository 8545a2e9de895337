// Which scenarios a run is about.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/scenario/scenario.h"

namespace gradcts {

// A pattern is a glob over ids (`*` any text, `?` one character, `[abc]`), and also selects
// everything below what it matches: "root/two-*" selects "root/two-roots/chained", "root" all of
// that subtree.
bool pattern_matches(const std::string& pattern, const std::string& id);

// Part `index` (from 1) of `count`: of the selected scenarios in order of their ids, every
// count-th. The parts of one selection are disjoint, together are all of it, and differ in size by
// at most one.
struct Shard {
  std::size_t index = 1;
  std::size_t count = 1;
};
// "2/3". Throws std::invalid_argument with one clear line.
Shard read_shard(const std::string& text);

struct Selection {
  std::vector<std::string> patterns;  // none: all
  std::vector<std::string> skip;
  std::vector<std::string> clauses;  // none: all; an area ("ROOT") stands for its clauses
  Shard shard;
};

// Indices into `scenarios`, ascending.
std::vector<std::size_t> select(const std::vector<const Scenario*>& scenarios,
                                const Selection& selection);

// Those of the selection's patterns that match none of the scenarios.
std::vector<std::string> dead_patterns(const std::vector<const Scenario*>& scenarios,
                                       const Selection& selection);

// Throws std::invalid_argument with one clear line unless it is a clause or an area.
void check_clause(const std::string& clause);

}  // namespace gradcts
