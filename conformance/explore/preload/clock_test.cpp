#include "conformance/explore/preload/clock.h"

#include <gtest/gtest.h>

namespace gradcts::schedule {
namespace {

TEST(Clock, JumpsToADeadlineAndNeverBack) {
  Clock clock;
  clock.start(5'000'000'000, 100);
  EXPECT_FALSE(clock.has_passed({CLOCK_MONOTONIC, 1'000'100}));
  clock.reach({CLOCK_MONOTONIC, 1'000'100});
  EXPECT_TRUE(clock.has_passed({CLOCK_MONOTONIC, 1'000'100}));
  EXPECT_EQ(clock.now(CLOCK_REALTIME), 5'001'000'000);  // both clocks moved
  clock.reach({CLOCK_MONOTONIC, 50});
  EXPECT_EQ(clock.now(CLOCK_MONOTONIC), 1'000'100);
}

TEST(Clock, ALoopThatWatchesItEnds) {
  Clock clock;
  clock.start(0, 0);
  int readings = 0;
  while (clock.read(CLOCK_MONOTONIC) < 10 * Clock::tick) ++readings;
  EXPECT_EQ(readings, 9);
}

TEST(Clock, ConvertsToTheKernelsForm) {
  EXPECT_EQ(to_nanoseconds({3, 7}), 3'000'000'007);
  EXPECT_EQ(to_timespec(3'000'000'007).tv_sec, 3);
  EXPECT_EQ(to_timespec(3'000'000'007).tv_nsec, 7);
}

}  // namespace
}  // namespace gradcts::schedule
