#include "conformance/runner/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/runner/testing/scenarios.h"

namespace gradcts {
namespace {

using testing::square;

TEST(Pattern, PrefixSelectsSubtree) {
  EXPECT_TRUE(pattern_matches("root", "root/two/chained"));
  EXPECT_TRUE(pattern_matches("root/two", "root/two/chained"));
  EXPECT_TRUE(pattern_matches("root/two/", "root/two/chained"));
  EXPECT_TRUE(pattern_matches("root/two/chained", "root/two/chained"));
  EXPECT_FALSE(pattern_matches("root/tw", "root/two/chained"));
  EXPECT_FALSE(pattern_matches("two", "root/two/chained"));
  EXPECT_FALSE(pattern_matches("root/two/chained/more", "root/two/chained"));
  EXPECT_FALSE(pattern_matches("", "root/two"));
}

TEST(Pattern, Globs) {
  EXPECT_TRUE(pattern_matches("*", "root/two"));
  EXPECT_TRUE(pattern_matches("*/chained", "root/two/chained"));
  EXPECT_TRUE(pattern_matches("root/t?o", "root/two/chained"));
  EXPECT_TRUE(pattern_matches("root/fan-[12]", "root/fan-2"));
  EXPECT_FALSE(pattern_matches("root/fan-[12]", "root/fan-3"));
}

struct Suite {
  Scenario b = square("b/one", "ROOT-2"), a = square("a/two", "TOPO-1"),
           c = square("a/one", "TOPO-2");
  std::vector<const Scenario*> all{&b, &a, &c};
};

TEST(Select, KeepsTheOrderOfTheSuite) {
  Suite suite;
  EXPECT_THAT(select(suite.all, {}), ::testing::ElementsAre(0, 1, 2));
}

TEST(Select, PatternsSkipAndClauses) {
  Suite suite;
  Selection selection;
  selection.patterns = {"a"};
  EXPECT_THAT(select(suite.all, selection), ::testing::ElementsAre(1, 2));
  selection.skip = {"*/one"};
  EXPECT_THAT(select(suite.all, selection), ::testing::ElementsAre(1));
  Selection by_clause;
  by_clause.clauses = {"TOPO-2", "ROOT"};
  EXPECT_THAT(select(suite.all, by_clause), ::testing::ElementsAre(0, 2));
}

TEST(Select, ShardsAreDisjointAndCoverAll) {
  std::vector<Scenario> scenarios;
  for (int i = 0; i < 23; ++i) scenarios.push_back(square(fmt::format("s/n{}", i * 7 % 23)));
  std::vector<const Scenario*> all;
  for (const Scenario& scenario : scenarios) all.push_back(&scenario);
  std::vector<int> seen(all.size());
  for (std::size_t part = 1; part <= 5; ++part) {
    Selection selection;
    selection.shard = {part, 5};
    const auto chosen = select(all, selection);
    EXPECT_THAT(chosen.size(), ::testing::AnyOf(4, 5));
    for (const std::size_t i : chosen) ++seen[i];
  }
  EXPECT_THAT(seen, ::testing::Each(1));
}

TEST(Select, AShardDoesNotDependOnTheOrderOfTheFiles) {
  Suite suite;
  std::vector<const Scenario*> reversed(suite.all.rbegin(), suite.all.rend());
  Selection selection;
  selection.shard = {1, 2};
  std::vector<std::string> ids, reversed_ids;
  for (const std::size_t i : select(suite.all, selection)) ids.push_back(suite.all[i]->id);
  for (const std::size_t i : select(reversed, selection)) reversed_ids.push_back(reversed[i]->id);
  EXPECT_THAT(ids, ::testing::UnorderedElementsAreArray(reversed_ids));
}

TEST(Select, DeadPatterns) {
  Suite suite;
  Selection selection;
  selection.patterns = {"a", "nosuch", "b/*"};
  EXPECT_THAT(dead_patterns(suite.all, selection), ::testing::ElementsAre("nosuch"));
}

TEST(ReadShard, RefusesWhatIsNoPart) {
  EXPECT_EQ(read_shard("2/3").index, 2u);
  EXPECT_EQ(read_shard("2/3").count, 3u);
  for (const char* bad : {"", "1", "0/3", "4/3", "1/0", "a/b", "1/2x", "1//2", "-1/2"}) {
    EXPECT_THROW(read_shard(bad), std::invalid_argument) << bad;
  }
}

TEST(CheckClause, KnowsClausesAndAreas) {
  EXPECT_NO_THROW(check_clause("ROOT-2"));
  EXPECT_NO_THROW(check_clause("ROOT"));
  EXPECT_THROW(check_clause("ROOT-99"), std::invalid_argument);
}

}  // namespace
}  // namespace gradcts
