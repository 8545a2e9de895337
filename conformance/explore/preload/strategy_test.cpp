#include "conformance/explore/preload/strategy.h"

#include <gtest/gtest.h>

#include <vector>

namespace gradcts::schedule {
namespace {

using Numbers = std::vector<ThreadNumber>;

Numbers answers(Strategy& strategy, const Numbers& runnable, int steps) {
  for (ThreadNumber thread : runnable) strategy.added(thread);
  Numbers answers;
  ThreadNumber running = runnable.front();
  for (int step = 1; step <= steps; ++step) {
    running = strategy.next(static_cast<std::uint64_t>(step), running, runnable);
    answers.push_back(running);
  }
  return answers;
}

int switches(const Numbers& answers) {
  int count = 0;
  for (std::size_t i = 1; i < answers.size(); ++i) count += answers[i] != answers[i - 1];
  return count;
}

TEST(RandomWalk, IsAFunctionOfTheSeed) {
  RandomWalk first(7, 0), again(7, 0), other(8, 0);
  const Numbers expected = answers(first, {0, 1, 2}, 50);
  EXPECT_EQ(answers(again, {0, 1, 2}, 50), expected);
  EXPECT_NE(answers(other, {0, 1, 2}, 50), expected);
}

TEST(RandomWalk, ChoosesEveryThreadAboutEquallyOften) {
  RandomWalk walk(1, 0);
  int count[3] = {};
  for (ThreadNumber thread : answers(walk, {0, 1, 2}, 3000)) ++count[thread];
  for (int each : count) EXPECT_NEAR(each, 1000, 150);
}

TEST(RandomWalk, DisturbsAsOftenAsAsked) {
  const Numbers sleepers = {4, 9};
  RandomWalk never(1, 0), sometimes(1, 100), always(1, 1000);
  int disturbed = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(never.disturb(sleepers), nobody);
    EXPECT_NE(always.disturb(sleepers), nobody);
    disturbed += sometimes.disturb(sleepers) != nobody;
  }
  EXPECT_NEAR(disturbed, 100, 40);
  EXPECT_EQ(always.disturb({}), nobody);
}

TEST(PriorityChanges, SwitchesNoMoreOftenThanItsDepth) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    PriorityChanges strategy(seed, 0, 4, 100);
    EXPECT_LE(switches(answers(strategy, {0, 1, 2}, 100)), 4);
  }
}

TEST(PriorityChanges, LetsOneThreadGoALongWayAlone) {
  int alone = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    PriorityChanges strategy(seed, 0, 1, 100);
    alone += answers(strategy, {0, 1}, 100) == Numbers(100, 1);
  }
  EXPECT_NEAR(alone, 50, 20);  // a random walk does it once in 2^100
}

TEST(PriorityChanges, AThreadThatYieldsFallsBehind) {
  PriorityChanges strategy(1, 0, 1, 100);
  const Numbers both = {0, 1};
  const ThreadNumber first = answers(strategy, both, 1).front();
  strategy.yielded(first);
  EXPECT_EQ(strategy.next(2, first, both), 1 - first);
}

TEST(PriorityChanges, AThreadThatPollsDoesNotStarveTheOthers) {
  PriorityChanges strategy(1, 0, 1, 100);
  EXPECT_GE(switches(answers(strategy, {0, 1}, 10'000)), 2);
}

TEST(Replay, FollowsTheTraceAndThenStaysWhereItIs) {
  Replay replay(*Trace::parse("0:2.2.1"));
  EXPECT_EQ(answers(replay, {0, 1, 2}, 6), (Numbers{0, 0, 2, 1, 1, 1}));
  EXPECT_EQ(replay.mismatch_step(), 0u);
}

TEST(Replay, SaysWhereItCouldNotFollow) {
  Replay replay(*Trace::parse("0:2.7.1"));
  EXPECT_EQ(answers(replay, {0, 1, 2}, 5), (Numbers{0, 0, 0, 0, 0}));
  EXPECT_EQ(replay.mismatch_step(), 3u);
}

TEST(Replay, EndsWaitsWhereTheTraceSaysSo) {
  Replay replay(*Trace::parse("0.1!.1"));
  const Numbers zero = {0}, one = {1}, both = {0, 1};
  EXPECT_EQ(replay.disturb(one), nobody);
  EXPECT_EQ(replay.next(1, 0, zero), 0);
  EXPECT_EQ(replay.disturb(one), 1);
  EXPECT_EQ(replay.next(2, 0, both), 1);
  EXPECT_EQ(replay.mismatch_step(), 0u);
}

}  // namespace
}  // namespace gradcts::schedule
