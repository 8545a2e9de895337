#include "conformance/explore/preload/scheduler.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gradcts::schedule {
namespace {

constexpr std::uint64_t many_steps = 1'000'000;

// Addresses to wait for.
const char mutex_a = 0, mutex_b = 0, condition = 0;

class SchedulerTest : public ::testing::Test {
 protected:
  // Thread 0 runs, and `others` can run too. No switch happens unless it is forced.
  void start(ThreadNumber others) {
    scheduler.start(stay, many_steps);
    for (ThreadNumber i = 0; i < others; ++i) scheduler.add_runnable();
  }

  // The lock call as the controller makes it, of a mutex that is free.
  void lock(const void* mutex) {
    scheduler.point(Operation::lock, mutex);
    scheduler.acquired(WaitKind::mutex, mutex);
  }

  Verdict wait(WaitKind kind, const void* object) { return scheduler.wait({kind, object, false}); }

  Replay stay{Trace()};
  Scheduler scheduler;
};

TEST_F(SchedulerTest, TheOnlyThreadGoesOn) {
  start(0);
  EXPECT_EQ(scheduler.point(Operation::lock, &mutex_a), Verdict::go_on);
  EXPECT_EQ(scheduler.running(), 0);
  EXPECT_EQ(scheduler.steps(), 1u);
  EXPECT_EQ(scheduler.switches(), 0u);
}

TEST_F(SchedulerTest, AWaitHandsOver) {
  start(1);
  EXPECT_EQ(wait(WaitKind::mutex, &mutex_a), Verdict::go_on);
  EXPECT_EQ(scheduler.running(), 1);
  EXPECT_EQ(scheduler.switches(), 1u);
}

TEST_F(SchedulerTest, NobodyCanRun) {
  start(1);
  wait(WaitKind::condition, &condition);
  EXPECT_EQ(wait(WaitKind::condition, &condition), Verdict::nobody_can_run);
  EXPECT_EQ(scheduler.running(), nobody);
}

TEST_F(SchedulerTest, ACircleOfLocksIsADeadlockAlthoughAnotherThreadCanRun) {
  start(2);
  lock(&mutex_a);
  EXPECT_EQ(wait(WaitKind::condition, &condition), Verdict::go_on);  // 0 sleeps, holding a
  lock(&mutex_b);
  scheduler.signal(&condition, 1, 1);
  EXPECT_EQ(wait(WaitKind::mutex, &mutex_a), Verdict::go_on);  // 1 waits for a, holding b
  EXPECT_EQ(wait(WaitKind::mutex, &mutex_b), Verdict::waits_in_a_circle);
}

TEST_F(SchedulerTest, WaitingForOneselfIsACircle) {
  start(1);
  lock(&mutex_a);
  EXPECT_EQ(wait(WaitKind::mutex, &mutex_a), Verdict::waits_in_a_circle);
}

TEST_F(SchedulerTest, AJoinClosesACircleToo) {
  start(2);
  lock(&mutex_a);
  EXPECT_EQ(scheduler.wait({.kind = WaitKind::join, .joined = 1}), Verdict::go_on);
  EXPECT_EQ(wait(WaitKind::mutex, &mutex_a), Verdict::waits_in_a_circle);
}

TEST_F(SchedulerTest, ATimedWaitIsNoPartOfADeadlock) {
  start(1);
  lock(&mutex_a);
  EXPECT_EQ(scheduler.wait({WaitKind::mutex, &mutex_a, true}), Verdict::go_on);
}

TEST_F(SchedulerTest, TimePassesWhenNothingElseCanHappen) {
  start(1);
  scheduler.wait({WaitKind::condition, &condition, true});
  for (int i = 0; i < 100; ++i) {
    scheduler.point(Operation::lock, &mutex_a);
    ASSERT_EQ(scheduler.running(), 1);
  }
  EXPECT_EQ(wait(WaitKind::mutex, &mutex_a), Verdict::go_on);
  EXPECT_EQ(scheduler.running(), 0);
  EXPECT_EQ(scheduler.thread(0).woken, Woken::by_time_out);
}

TEST_F(SchedulerTest, ASignalWakesOneABroadcastAll) {
  start(3);
  for (int i = 0; i < 3; ++i) wait(WaitKind::condition, &condition);
  scheduler.signal(&condition, 1, 3);
  EXPECT_EQ(scheduler.thread(0).state, Scheduler::State::runnable);
  EXPECT_EQ(scheduler.thread(1).state, Scheduler::State::waiting);
  scheduler.signal(&condition, UINT32_MAX, 3);
  EXPECT_EQ(scheduler.thread(1).state, Scheduler::State::runnable);
  EXPECT_EQ(scheduler.thread(2).state, Scheduler::State::runnable);
}

TEST_F(SchedulerTest, ASignalThatNobodyHeardIsRemembered) {
  start(1);
  EXPECT_EQ(scheduler.last_signal(&condition), nullptr);
  scheduler.point(Operation::signal, &condition);
  scheduler.signal(&condition, 1, 0);
  ASSERT_NE(scheduler.last_signal(&condition), nullptr);
  EXPECT_FALSE(scheduler.last_signal(&condition)->heard);
  EXPECT_EQ(scheduler.last_signal(&condition)->step, 1u);
}

TEST_F(SchedulerTest, ARecursiveLockIsHeldUntilItsLastUnlock) {
  start(0);
  lock(&mutex_a);
  lock(&mutex_a);
  scheduler.released(WaitKind::mutex, &mutex_a);
  EXPECT_NE(scheduler.hold_of(0, WaitKind::mutex, &mutex_a), nullptr);
  scheduler.released(WaitKind::mutex, &mutex_a);
  EXPECT_EQ(scheduler.hold_of(0, WaitKind::mutex, &mutex_a), nullptr);
}

TEST_F(SchedulerTest, TheEndOfAThreadEndsItsJoin) {
  start(1);
  scheduler.wait({.kind = WaitKind::join, .joined = 1});
  EXPECT_EQ(scheduler.finish(), Verdict::go_on);
  EXPECT_EQ(scheduler.running(), 0);
}

TEST_F(SchedulerTest, WhoStandsBackRunsLastButBeforeTimeOuts) {
  start(2);
  scheduler.stand_back();
  EXPECT_EQ(scheduler.running(), 1);
  scheduler.wait({WaitKind::condition, &condition, true});
  EXPECT_EQ(scheduler.running(), 2);
  wait(WaitKind::condition, &condition);
  EXPECT_EQ(scheduler.running(), 0);
}

TEST_F(SchedulerTest, AYieldGoesToAnother) {
  start(1);
  scheduler.yield();
  EXPECT_EQ(scheduler.running(), 1);
  scheduler.wait({.kind = WaitKind::join, .joined = 0});
  scheduler.yield();
  EXPECT_EQ(scheduler.running(), 0);
}

TEST_F(SchedulerTest, TooManySteps) {
  scheduler.start(stay, 10);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(scheduler.yield(), Verdict::go_on);
  EXPECT_EQ(scheduler.yield(), Verdict::too_many_steps);
}

TEST_F(SchedulerTest, AfterNobodyCouldRunAReleaseFromOutsideGoesOn) {
  start(0);
  EXPECT_EQ(wait(WaitKind::mutex, &mutex_a), Verdict::nobody_can_run);
  EXPECT_FALSE(scheduler.anybody_can_run());
  scheduler.wake_all(WaitKind::mutex, &mutex_a);
  EXPECT_TRUE(scheduler.anybody_can_run());
  EXPECT_EQ(scheduler.resume(), Verdict::go_on);
  EXPECT_EQ(scheduler.running(), 0);
}

TEST(Scheduler, SpuriousWakeUpsComeOnlyToWaitsThatAllowThem) {
  RandomWalk always(1, 1000);
  Scheduler scheduler;
  scheduler.start(always, many_steps);
  const ThreadNumber sleeper = scheduler.add_waiting({WaitKind::condition, &condition});
  const ThreadNumber blocked = scheduler.add_waiting({WaitKind::mutex, &mutex_a});
  scheduler.point(Operation::lock, &mutex_b);
  EXPECT_EQ(scheduler.thread(sleeper).state, Scheduler::State::runnable);
  EXPECT_EQ(scheduler.thread(sleeper).woken, Woken::by_itself);
  for (int i = 0; i < 100; ++i) scheduler.point(Operation::lock, &mutex_b);
  EXPECT_EQ(scheduler.thread(blocked).state, Scheduler::State::waiting);
}

// Four threads that each take 20 steps, sleep on a condition now and then, and signal it.
struct Story {
  std::vector<ThreadNumber> order;
  std::string schedule;
  std::uint64_t hash = 0;
};

Story tell(Strategy& strategy) {
  Scheduler scheduler;
  scheduler.start(strategy, many_steps);
  for (int i = 0; i < 3; ++i) scheduler.add_runnable();
  int steps[4] = {};
  Story story;
  Verdict verdict = Verdict::go_on;
  while (verdict == Verdict::go_on) {
    const ThreadNumber self = scheduler.running();
    story.order.push_back(self);
    const int step = ++steps[self];
    if (step % 5 == 0) scheduler.signal(&condition, 1, self);
    if (step == 20)
      verdict = scheduler.finish();
    else if (step % 7 == 0)
      verdict = scheduler.wait({WaitKind::condition, &condition, true});
    else
      verdict = scheduler.point(Operation::lock, &mutex_a);
  }
  story.schedule = scheduler.trace().text();
  story.hash = scheduler.hash();
  return story;
}

TEST(Scheduler, AReplayTellsTheSameStory) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomWalk walk(seed, 50);
    const Story story = tell(walk);
    ASSERT_EQ(story.order.size(), 80u);
    Replay replay(*Trace::parse(story.schedule));
    const Story again = tell(replay);
    EXPECT_EQ(replay.mismatch_step(), 0u) << story.schedule;
    EXPECT_EQ(again.order, story.order);
    EXPECT_EQ(again.hash, story.hash);
    EXPECT_EQ(again.schedule, story.schedule);
  }
}

TEST(Scheduler, TheHashTellsStoriesApart) {
  RandomWalk first(1, 0), second(2, 0);
  EXPECT_NE(tell(first).hash, tell(second).hash);
}

}  // namespace
}  // namespace gradcts::schedule
