// libtorch as it is installed, under the preloaded library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "conformance/explore/preload/schedule.h"
#include "conformance/explore/preload/test_process.h"

namespace gradcts::schedule {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

Outcome run(const std::string& arguments) {
  return run_preloaded(GRADCTS_SCHEDULE_PROGRAMS " " + arguments);
}

TEST(Libtorch, TheSameSeedGivesTheSameSchedule) {
  for (const char* strategy : {"", " --pct --expected-steps 300"}) {
    const std::string command =
        std::string("two_callers_with_nested_passes --schedules 100") + strategy;
    const Outcome first = run(command);
    const Outcome second = run(command);
    ASSERT_EQ(first.status, 0) << first.last_line << first.report;
    ASSERT_EQ(first.lines.size(), 100u);
    ASSERT_EQ(second.lines.size(), 100u);
    std::set<std::string> different;
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(first.lines[i].hash, second.lines[i].hash) << "seed " << i;
      EXPECT_EQ(first.lines[i].threads_outside, 0u);
      different.insert(first.lines[i].hash);
    }
    EXPECT_GT(different.size(), 30u);  // and other seeds give others
  }
}

TEST(Libtorch, NestedPassesOfTwoCallersAreRightInEverySchedule) {
  const Outcome outcome = run("two_callers_with_nested_passes --schedules 500 --spurious 20");
  EXPECT_EQ(outcome.status, 0) << outcome.last_line << outcome.report;
  double microseconds = 0;
  ASSERT_EQ(std::sscanf(outcome.last_line.c_str(), "wrong 0 of 500, %lf", &microseconds), 1);
  const double passes = 4;  // each of two callers one, with a nested one
  std::printf("libtorch under control: %.0f passes a second\n", passes * 1e6 / microseconds);
}

// The engine's pool was made in the first schedule, and sleeps when the next begins.
TEST(Libtorch, ThreadsOfTheEnginesPoolAreUnderControl) {
  const std::string command = "passes_beyond_the_nesting_limit --schedules 20";
  const Outcome first = run(command);
  const Outcome second = run(command);
  ASSERT_EQ(first.status, 0) << first.last_line << first.report;
  ASSERT_EQ(second.lines.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_GT(first.lines[i].threads, 2u);
    EXPECT_EQ(first.lines[i].threads_outside, 0u);
    EXPECT_EQ(first.lines[i].hash, second.lines[i].hash) << "seed " << i;
  }
}

TEST(Libtorch, AReplayIsTheSameSchedule) {
  const Outcome first = run("two_callers_with_nested_passes --seed 7");
  ASSERT_EQ(first.lines.size(), 1u);
  const Outcome again =
      run("two_callers_with_nested_passes --replay '" + first.lines[0].schedule + "'");
  ASSERT_EQ(again.lines.size(), 1u);
  EXPECT_EQ(again.lines[0].hash, first.lines[0].hash);
  EXPECT_EQ(again.lines[0].mismatch_step, 0u);
}

TEST(Libtorch, ALockInversionBetweenTwoPassesIsReportedWithEveryWait) {
  const Outcome outcome = run("lock_inversion_between_passes --schedules 200");
  ASSERT_EQ(outcome.status, GRADCTS_SCHEDULE_DEADLOCK) << outcome.last_line;
  EXPECT_THAT(outcome.report,
              ContainsRegex("thread 0 .*waits for mutex .*second_mutex.* since step "
                            "[0-9]+; held by thread 1 since step [0-9]+"));
  EXPECT_THAT(outcome.report, ContainsRegex("thread 1 .*waits for mutex .*first_mutex.* since step "
                                            "[0-9]+; held by thread 0 since step [0-9]+"));
  EXPECT_THAT(outcome.report, HasSubstr("torch::autograd::Engine"));
}

TEST(Libtorch, LocksInOneOrderHaveNoReport) {
  const Outcome outcome = run("ordered_locks_between_passes --schedules 200");
  EXPECT_EQ(outcome.status, 0) << outcome.last_line << outcome.report;
}

}  // namespace
}  // namespace gradcts::schedule
