// Small programs (folder programs/) under the preloaded library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <set>

#include "conformance/explore/preload/schedule.h"
#include "conformance/explore/preload/test_process.h"

namespace gradcts::schedule {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Outcome run(const std::string& arguments) {
  return run_preloaded(GRADCTS_SCHEDULE_PROGRAMS " " + arguments);
}

std::vector<std::string> hashes(const Outcome& outcome) {
  std::vector<std::string> hashes;
  for (const Line& line : outcome.lines) hashes.push_back(line.hash);
  return hashes;
}

std::size_t count_wrong(const Outcome& outcome) {
  return static_cast<std::size_t>(std::ranges::count(outcome.lines, false, &Line::right));
}

// --- Right programs have no report, whatever the schedule.

class RightProgram : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(RightProgram, IsRight) {
  const auto [program, arguments] = GetParam();
  const Outcome outcome = run(std::string(program) + " --schedules 300 " + arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.last_line << "\n" << outcome.report;
  EXPECT_EQ(outcome.lines.size(), 300u);
  EXPECT_EQ(outcome.report, "");
  for (const Line& line : outcome.lines) ASSERT_EQ(line.threads_outside, 0u) << line.seed;
}

const char* const right_programs[] = {"announced_wait",
                                      "atomic_wait",
                                      "call_once",
                                      "completion",
                                      "count_in_two_steps_unannounced",
                                      "counting_semaphore",
                                      "counting_under_a_mutex",
                                      "deadline_of_the_monotonic_clock",
                                      "destructors_at_the_end_of_threads",
                                      "detached_thread",
                                      "error_checking_mutex",
                                      "fork_under_control",
                                      "future",
                                      "join_after_the_end",
                                      "latch_and_barrier",
                                      "ordered_locks",
                                      "pool_thread",
                                      "posix_semaphore",
                                      "producers_and_consumers",
                                      "readers_and_a_writer",
                                      "recursive_mutex",
                                      "results_of_threads",
                                      "signal_before_the_time_out",
                                      "sleepers",
                                      "static_object",
                                      "time_out",
                                      "time_out_of_a_lock",
                                      "tree_of_threads",
                                      "try_lock",
                                      "wake_up",
                                      "watching_the_clock"};

INSTANTIATE_TEST_SUITE_P(Every, RightProgram,
                         ::testing::Combine(::testing::ValuesIn(right_programs),
                                            ::testing::Values("", "--pct --expected-steps 50")),
                         [](const auto& info) {
                           const std::string arguments = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param)) +
                                  (arguments.empty() ? "_random" : "_pct");
                         });

TEST(Schedule, RightProgramsBearSpuriousWakeUps) {
  for (const char* program : {"wake_up", "producers_and_consumers", "latch_and_barrier",
                              "atomic_wait", "future", "pool_thread"}) {
    const Outcome outcome = run(std::string(program) + " --schedules 300 --spurious 100");
    EXPECT_EQ(outcome.status, 0) << program << "\n" << outcome.report;
  }
}

// --- The same options, the same schedule.

TEST(Schedule, TheSameSeedGivesTheSameSchedule) {
  for (const char* program : {"producers_and_consumers", "pool_thread", "tree_of_threads"}) {
    for (const char* strategy : {"", " --pct --expected-steps 50", " --spurious 50"}) {
      const std::string command = std::string(program) + " --schedules 100" + strategy;
      const std::vector<std::string> first = hashes(run(command));
      ASSERT_EQ(first.size(), 100u);
      EXPECT_EQ(hashes(run(command)), first) << command;
    }
  }
}

TEST(Schedule, OneProcessRepeatsWhatAnotherDid) {
  const Outcome many = run("producers_and_consumers --schedules 100");
  for (std::size_t seed : {0u, 50u, 99u}) {
    const Outcome one = run("producers_and_consumers --seed " + std::to_string(seed));
    ASSERT_EQ(one.lines.size(), 1u);
    EXPECT_EQ(one.lines[0].schedule, many.lines[seed].schedule);
  }
}

TEST(Schedule, SeedsGiveDifferentSchedules) {
  const std::vector<std::string> all = hashes(run("producers_and_consumers --schedules 100"));
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 100u);
}

TEST(Schedule, AReplayIsTheSameSchedule) {
  for (const char* arguments : {"--seed 5", "--pct --seed 5", "--seed 5 --spurious 500"}) {
    const Outcome first = run(std::string("producers_and_consumers ") + arguments);
    ASSERT_EQ(first.lines.size(), 1u);
    const bool spurious = first.lines[0].schedule.find('!') != std::string::npos;
    EXPECT_EQ(spurious, std::string(arguments).find("spurious") != std::string::npos);
    const Outcome again = run("producers_and_consumers --replay '" + first.lines[0].schedule + "'");
    ASSERT_EQ(again.lines.size(), 1u);
    EXPECT_EQ(again.lines[0].hash, first.lines[0].hash);
    EXPECT_EQ(again.lines[0].schedule, first.lines[0].schedule);
    EXPECT_EQ(again.lines[0].mismatch_step, 0u);
  }
}

TEST(Schedule, AReplayOfAnotherProgramSaysWhereItDiffers) {
  const Outcome other = run("tree_of_threads --seed 5");
  const Outcome replay = run("ordered_locks --replay '" + other.lines[0].schedule + "'");
  ASSERT_EQ(replay.lines.size(), 1u);
  EXPECT_GT(replay.lines[0].mismatch_step, 0u);
}

TEST(Schedule, WhatIsNoScheduleIsRefused) {
  EXPECT_EQ(run("ordered_locks --replay 0..1 2>/dev/null").status, 2);
}

// --- Deadlocks.

TEST(Schedule, ALockInversionIsReportedWithEveryWait) {
  const Outcome outcome = run("lock_inversion --schedules 100");
  ASSERT_EQ(outcome.status, GRADCTS_SCHEDULE_DEADLOCK) << outcome.report;
  EXPECT_LT(outcome.lines.size(), 30u);
  EXPECT_THAT(outcome.report, HasSubstr("gradcts-schedule: deadlock\n"));
  EXPECT_THAT(outcome.report,
              ContainsRegex("thread 0 .*waits for mutex .*second_mutex.* since step [0-9]+; "
                            "held by thread 1 since step [0-9]+"));
  EXPECT_THAT(outcome.report,
              ContainsRegex("thread 1 .*waits for mutex .*first_mutex.* since step [0-9]+; "
                            "held by thread 0 since step [0-9]+"));
  EXPECT_THAT(outcome.report, ContainsRegex("#[0-9]+ +schedule_programs.*main"));
  EXPECT_THAT(outcome.report, HasSubstr("Not seen: atomics"));
}

TEST(Schedule, AReplayOfADeadlockIsTheSameDeadlock) {
  const Outcome first = run("lock_inversion --schedules 100");
  const std::string schedule = field(first.report, "schedule");
  const Outcome again = run("lock_inversion --replay '" + schedule + "'");
  EXPECT_EQ(again.status, GRADCTS_SCHEDULE_DEADLOCK);
  EXPECT_EQ(field(again.report, "steps"), field(first.report, "steps"));
  EXPECT_EQ(field(again.report, "schedule"), schedule);
}

TEST(Schedule, ACircleIsReportedAlthoughAThirdThreadGoesOn) {
  const Outcome outcome = run("lock_inversion_beside_a_busy_thread --schedules 100");
  EXPECT_EQ(outcome.status, GRADCTS_SCHEDULE_DEADLOCK) << outcome.report;
  EXPECT_THAT(outcome.report, HasSubstr("can run; is about to"));
}

TEST(Schedule, ThreadsLeftBehindRunToTheirEndUnderControl) {
  const Outcome outcome = run("lock_inversion_of_threads_left_behind --schedules 100");
  EXPECT_EQ(outcome.status, GRADCTS_SCHEDULE_DEADLOCK) << outcome.last_line;
}

TEST(Schedule, ALostWakeUpIsReportedWithTheSignalThatWasLost) {
  const Outcome outcome = run("lost_wake_up --schedules 200");
  ASSERT_EQ(outcome.status, GRADCTS_SCHEDULE_DEADLOCK) << outcome.last_line;
  EXPECT_THAT(outcome.report,
              ContainsRegex("thread 0 .*waits for condition .*changed .* since step [0-9]+; last "
                            "signalled at step [0-9]+ by thread 1, when nobody waited for it"));
}

TEST(Schedule, OneSignalForTwoWaitersIsADeadlock) {
  EXPECT_EQ(run("signal_in_place_of_broadcast --schedules 200").status, GRADCTS_SCHEDULE_DEADLOCK);
}

TEST(Schedule, AThreadThatLocksTwiceWaitsForItself) {
  const Outcome outcome = run("locking_twice");
  EXPECT_EQ(outcome.status, GRADCTS_SCHEDULE_DEADLOCK);
  EXPECT_THAT(outcome.report, ContainsRegex("thread 0 .*waits for mutex .*held by thread 0"));
}

TEST(Schedule, TwoReadersThatWantToWriteWaitForEachOther) {
  const Outcome outcome = run("two_upgrades --schedules 200");
  ASSERT_EQ(outcome.status, GRADCTS_SCHEDULE_DEADLOCK);
  EXPECT_THAT(outcome.report, HasSubstr("read by thread 1"));
  EXPECT_THAT(outcome.report, HasSubstr("read by thread 2"));
}

TEST(Schedule, AStaticObjectThatWaitsForItselfIsADeadlock) {
  const Outcome outcome = run("static_object_that_waits_for_itself");
  EXPECT_EQ(outcome.status, GRADCTS_SCHEDULE_DEADLOCK);
  EXPECT_THAT(outcome.report, HasSubstr("waits for the initialisation of the static object"));
}

TEST(Schedule, ASemaphoreThatNobodyPostsIsADeadlock) {
  const Outcome outcome = run("semaphore_that_nobody_posts");
  EXPECT_EQ(outcome.status, GRADCTS_SCHEDULE_DEADLOCK);
  EXPECT_THAT(outcome.report, HasSubstr("waits for semaphore"));
}

TEST(Schedule, AnAnnouncedWaitWithoutAWakeIsADeadlock) {
  const Outcome outcome = run("announced_wait_without_a_wake --schedules 100");
  EXPECT_EQ(outcome.status, GRADCTS_SCHEDULE_DEADLOCK);
  EXPECT_THAT(outcome.report, HasSubstr("waits for an announcement of"));
}

// --- Races.

// The race of B011.
TEST(Schedule, TwoThreadsThatBothPassACompletionTestAreFoundSoon) {
  for (const char* strategy : {"", " --pct --depth 2 --expected-steps 20"}) {
    const Outcome outcome = run(std::string("completion_race --schedules 50") + strategy);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_GE(count_wrong(outcome), 1u) << outcome.last_line;
  }
}

TEST(Schedule, PlainStressHardlyFindsThatRace) {
  const Outcome outcome = run("completion_race --outside --schedules 5000");
  std::uint64_t wrong = 0;
  ASSERT_EQ(std::sscanf(outcome.last_line.c_str(), "wrong %" SCNu64, &wrong), 1);
  EXPECT_LT(wrong, 50u);  // under control it is one of three
}

TEST(Schedule, AWaitWithoutALoopFailsUnderSpuriousWakeUpsOnly) {
  EXPECT_EQ(run("wait_without_a_loop --schedules 300").status, 0);
  EXPECT_GE(count_wrong(run("wait_without_a_loop --schedules 300 --spurious 100")), 1u);
}

TEST(Schedule, PointsShowWhatAtomicsHide) {
  EXPECT_EQ(count_wrong(run("count_in_two_steps_unannounced --schedules 100")), 0u);
  EXPECT_GE(count_wrong(run("count_in_two_steps --schedules 100")), 1u);
}

// --- What does not end.

TEST(Schedule, PollingForEverReachesTheStepBound) {
  const Outcome outcome = run("endless_polling --bound 1000");
  EXPECT_EQ(outcome.status, GRADCTS_SCHEDULE_STEP_BOUND);
  EXPECT_THAT(outcome.report, HasSubstr("runs; was last about to go on after yielding"));
}

TEST(Schedule, AWaitThatIsNotSeenIsAStall) {
  const Outcome outcome = run("pipe_between_threads_unannounced --schedules 100 --watchdog 300");
  ASSERT_EQ(outcome.status, GRADCTS_SCHEDULE_STALL);
  EXPECT_THAT(outcome.report, ContainsRegex("#[0-9]+ .*read"));  // where it waits
}

TEST(Schedule, AWaitThatIsAnnouncedIsNone) {
  const Outcome outcome = run("pipe_between_threads --schedules 100");
  EXPECT_EQ(outcome.status, 0) << outcome.report;
  EXPECT_GT(outcome.lines.at(0).threads_outside, 0u);  // so the reader knows
}

// --- The world around.

TEST(Schedule, AThreadOutsideControlIsExcludedByTheSameMutex) {
  const Outcome outcome = run("beside_a_busy_thread --schedules 20");
  EXPECT_EQ(outcome.status, 0) << outcome.last_line << outcome.report;
  ASSERT_EQ(outcome.lines.size(), 20u);
  EXPECT_GT(outcome.lines[0].threads_outside, 0u);
}

TEST(Schedule, AProcessMayExitUnderControl) {
  EXPECT_EQ(run("exit_under_control").status, 7);
}

TEST(Schedule, WithoutControlEverythingIsAsUsual) {
  for (const char* program : {"producers_and_consumers", "tree_of_threads", "latch_and_barrier",
                              "destructors_at_the_end_of_threads", "pool_thread", "call_once",
                              "deadline_of_the_monotonic_clock", "readers_and_a_writer"}) {
    const Outcome outcome = run(std::string(program) + " --outside --schedules 200");
    EXPECT_EQ(outcome.status, 0) << program << " " << outcome.last_line;
  }
}

}  // namespace
}  // namespace gradcts::schedule
