#include "fuzz/small_graphs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "conformance/oracle/oracle.h"
#include "conformance/scenario/validate.h"
#include "fuzz/covering.h"

namespace gradcts::fuzz {
namespace {

using EdgeSet = std::uint64_t;  // bit from * nodes + to

EdgeSet renamed(const Shape& shape, const std::vector<int>& names) {
  EdgeSet edges = 0;
  for (std::size_t from = 0; from < shape.uses.size(); ++from) {
    for (const int to : shape.uses[from]) {
      edges |= EdgeSet{1} << (names[from] * shape.nodes + names[static_cast<std::size_t>(to)]);
    }
  }
  return edges;
}

// Shapes that are alike but for the order of making have the same least renaming. Each class stands
// for n! divided by its symmetries labelled graphs.
struct Class {
  EdgeSet least = ~EdgeSet{0};
  std::uint64_t labelled = 0;
};
Class class_of(const Shape& shape) {
  std::vector<int> names(static_cast<std::size_t>(shape.nodes));
  std::iota(names.begin(), names.end(), 0);
  std::set<EdgeSet> all;
  do {
    all.insert(renamed(shape, names));
  } while (std::next_permutation(names.begin(), names.end()));
  return {*all.begin(), all.size()};
}

// Labelled graphs without cycles and with one source, by a recurrence that knows nothing of orders
// of making (OEIS A003025).
std::int64_t labelled_graphs_with_one_source(int nodes) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(nodes) + 1, 0);
  count[1] = 1;
  for (int n = 2; n <= nodes; ++n) {
    std::int64_t chosen = 1, sum = 0;  // chosen: n over k
    for (int k = 1; k < n; ++k) {
      chosen = chosen * (n - k + 1) / k;
      std::int64_t term = chosen * count[static_cast<std::size_t>(n - k)];
      for (int i = 0; i < k; ++i) term *= (std::int64_t{1} << (n - k)) - 1;
      sum += k % 2 == 1 ? term : -term;
    }
    count[static_cast<std::size_t>(n)] = sum;
  }
  return count[static_cast<std::size_t>(nodes)];
}

TEST(Shapes, AreAllOfThemEachOnce) {
  constexpr std::array<std::uint64_t, 5> classes{1, 1, 3, 16, 164};  // OEIS A350415
  for (int nodes = 1; nodes <= 5; ++nodes) {
    std::set<EdgeSet> shapes;
    std::map<EdgeSet, std::uint64_t> labelled;
    std::vector<int> names(static_cast<std::size_t>(nodes));
    std::iota(names.begin(), names.end(), 0);
    for (std::uint64_t i = 0; i < count_shapes(nodes); ++i) {
      const Shape shape = make_shape(nodes, i);
      shapes.insert(renamed(shape, names));
      const Class one = class_of(shape);
      labelled[one.least] = one.labelled;
    }
    EXPECT_EQ(shapes.size(), count_shapes(nodes)) << nodes;
    EXPECT_EQ(labelled.size(), classes[static_cast<std::size_t>(nodes) - 1]);
    std::int64_t sum = 0;
    for (const auto& [least, count] : labelled) sum += static_cast<std::int64_t>(count);
    EXPECT_EQ(sum, labelled_graphs_with_one_source(nodes)) << nodes;
  }
}

// By brute force: of all sets of edges from a node to one made before it, those in which every node
// is reached from the root.
TEST(Shapes, OfSixNodesAreAsManyAsAreReachedFromTheRoot) {
  std::uint64_t reached_all = 0;
  for (std::uint32_t edges = 0; edges < 1U << 15; ++edges) {
    std::array<bool, 6> reached{true};
    std::uint32_t bit = 0;
    for (std::size_t from = 0; from < 6; ++from) {
      for (std::size_t to = from + 1; to < 6; ++to, ++bit) {
        if (reached[from] && (edges >> bit & 1) != 0) reached[to] = true;
      }
    }
    reached_all +=
        std::all_of(reached.begin(), reached.end(), [](bool one) { return one; }) ? 1 : 0;
  }
  EXPECT_EQ(count_shapes(6), reached_all);
}

using Pair = std::array<std::uint64_t, 4>;  // two factors, and the level of each

void add_pairs(const std::vector<std::uint64_t>& row, std::set<Pair>& pairs) {
  for (std::uint64_t i = 0; i < row.size(); ++i) {
    for (std::uint64_t j = i + 1; j < row.size(); ++j) pairs.insert({i, j, row[i], row[j]});
  }
}

TEST(Covering, HasEveryPairAndEachLineEveryLevel) {
  const std::vector<std::uint64_t> levels{23, 31, 17, 4, 4, 3, 2};
  const std::uint64_t prime = prime_for(levels);
  EXPECT_EQ(prime, 31U);
  std::set<Pair> pairs;
  for (std::uint64_t t = 0; t < prime; ++t) {
    std::vector<std::set<std::uint64_t>> seen(levels.size());
    for (std::uint64_t a = 0; a < prime; ++a) {
      const auto row = covering_row(levels, prime, a, (a + t) % prime);
      add_pairs(row, pairs);
      for (std::size_t i = 0; i < row.size(); ++i) seen[i].insert(row[i]);
    }
    for (std::size_t i = 0; i < levels.size(); ++i) EXPECT_EQ(seen[i].size(), levels[i]) << t;
  }
  std::uint64_t expected = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    for (std::size_t j = i + 1; j < levels.size(); ++j) expected += levels[i] * levels[j];
  }
  EXPECT_EQ(pairs.size(), expected);
}

TEST(SmallGraphs, AreValidAndTheOracleCanTell) {
  const SmallGraphs graphs(6);
  EXPECT_EQ(graphs.shapes(), 10106U);
  const Dialect dialect = make_dialect("reference");
  std::set<std::string> ids;
  std::uint64_t cases = 0, untold = 0;
  for (std::uint64_t number = 0; number < graphs.size(); number += 211) {
    const Scenario scenario = graphs.scenario(number);
    validate(scenario);
    ids.insert(scenario.id);
    ++cases;
    untold += expect(scenario, dialect).cannot_tell.empty() ? 0 : 1;
  }
  EXPECT_EQ(ids.size(), cases);
  EXPECT_LT(untold * 20, cases);
}

// Every choice is laid over a shape of the largest size, too.
TEST(SmallGraphs, GiveEachShapeEveryChoice) {
  const SmallGraphs graphs(5);
  const Scenario last = graphs.scenario(graphs.size() - 1);
  const std::string shape = last.id.substr(0, last.id.rfind('/') + 1);
  std::set<std::string> hooks, passes;
  std::set<std::size_t> throwing;
  for (std::uint64_t number = graphs.size(); number-- > 0;) {
    const Scenario scenario = graphs.scenario(number);
    if (scenario.id.find(shape) != 0) break;
    for (const Hook& hook : scenario.hooks) hooks.insert(std::string(to_text(hook.kind)));
    for (std::size_t node = 0; node < scenario.nodes.size(); ++node) {
      if (!scenario.nodes[node].custom->backward.steps.empty()) throwing.insert(node);
    }
    passes.insert(scenario.title.substr(9, scenario.title.find(',') - 9));
  }
  EXPECT_THAT(hooks, testing::UnorderedElementsAre("tensor", "retain_grad", "node_pre", "node_post",
                                                   "post_accumulate", "capture"));
  EXPECT_EQ(throwing.size(), 5U);
  EXPECT_THAT(passes, testing::IsSupersetOf({"backward", "backward into n0", "backward into n4",
                                             "grad of the leaves", "grad of everything",
                                             "grad of a leaf that is not reached"}));
}

TEST(SmallGraphs, AskForNothingThatIsNotClaimed) {
  std::vector<std::string> claimed{"operation.*",  "type.*",        "custom.node",
                                   "custom.saves", "pass.backward", "hook.tensor"};
  const SmallGraphs graphs(3, Claims(claimed));
  for (std::uint64_t number = 0; number < graphs.size(); ++number) {
    const auto missing = missing_features(required_features(graphs.scenario(number)), claimed);
    EXPECT_TRUE(missing.empty()) << number << ": " << missing.front();
  }
}

}  // namespace
}  // namespace gradcts::fuzz
