#include "conformance/explore/search/shrink_schedule.h"

#include <gtest/gtest.h>

namespace gradcts {
namespace {

TEST(SwitchesIn, CountsTheThreadsThatGoOnAfterAnother) {
  EXPECT_EQ(switches_in(""), 0u);
  EXPECT_EQ(switches_in("0:5"), 0u);
  EXPECT_EQ(switches_in("1:5"), 1u);
  EXPECT_EQ(switches_in("0.1:2.0"), 2u);
  EXPECT_EQ(switches_in("0.1!.0"), 0u);
}

// Fails where thread 1 takes a step between two of thread 0.
std::optional<std::string> fails_if_1_interrupts_0(const std::string& schedule) {
  const std::size_t one = schedule.find('1');
  const bool fails = one != std::string::npos && schedule.find('0') < one &&
                     schedule.find('0', one) != std::string::npos;
  return fails ? std::optional(schedule) : std::nullopt;
}

TEST(ShrinkSchedule, DropsWhatTheFailureDoesNotNeed) {
  const std::string shrunk = shrink_schedule("0.2.0.1.2.0.2.0.2", fails_if_1_interrupts_0);
  EXPECT_TRUE(fails_if_1_interrupts_0(shrunk));
  EXPECT_LE(switches_in(shrunk), 4u) << shrunk;
}

TEST(ShrinkSchedule, KeepsWhatCannotBeMadeSmaller) {
  EXPECT_EQ(shrink_schedule("0.1.0", fails_if_1_interrupts_0), "0.1.0");
}

TEST(ShrinkSchedule, TakesNoMoreThanItsLimit) {
  int taken = 0;
  shrink_schedule(
      "0.1.2.0.1.2.0.1.2",
      [&](const std::string&) -> std::optional<std::string> {
        ++taken;
        return std::nullopt;
      },
      5);
  EXPECT_EQ(taken, 5);
}

}  // namespace
}  // namespace gradcts
