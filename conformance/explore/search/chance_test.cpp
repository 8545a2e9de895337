#include "conformance/explore/search/chance.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gradcts {
namespace {

TEST(Chance, OfOneScheduleByPriorities) {
  EXPECT_DOUBLE_EQ(pct_chance(1, 2, 10, 1), 1.0 / 2);
  EXPECT_NEAR(pct_chance(1, 2, 10, 3), 1.0 / 200, 1e-12);
}

TEST(Chance, GrowsToOneWithTheBudget) {
  EXPECT_NEAR(pct_chance(200, 2, 10, 3), 1 - std::pow(1 - 1.0 / 200, 200), 1e-12);
  EXPECT_GT(pct_chance(10'000, 2, 10, 3), 0.999999);
  EXPECT_EQ(pct_chance(0, 2, 10, 3), 0);
}

TEST(Chance, TheRuleOfThree) {
  EXPECT_NEAR(smallest_share_seen(1000), 3.0 / 1000, 1e-5);
  EXPECT_EQ(smallest_share_seen(0), 1);
  // Had that share of all schedules failed, none of the thousand would have, with 5% chance.
  EXPECT_NEAR(std::pow(1 - smallest_share_seen(1000), 1000), 0.05, 1e-9);
}

}  // namespace
}  // namespace gradcts
