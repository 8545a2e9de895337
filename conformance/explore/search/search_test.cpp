#include "conformance/explore/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <stdexcept>

#include "conformance/explore/rebuilt/synchronisation.h"
#include "conformance/explore/search/schedules_of.h"
#include "conformance/explore/search/shrink_schedule.h"

// Small programs with a known fault, over the locks and atomics that a rebuilt engine gets.
namespace gradcts {

// Not in the namespace below, so that its name is on a stack.
bool lock_in_both_orders();
bool lock_in_both_orders() {
  schedule::ScheduledMutex a, b;
  schedule::ScheduledThread other([&] {
    std::lock_guard first(b);
    std::lock_guard second(a);
  });
  std::lock_guard first(a);
  std::lock_guard second(b);
  return true;
}

namespace {

using schedule::ScheduledAtomic;
using schedule::ScheduledCondition;
using schedule::ScheduledMutex;
using schedule::ScheduledThread;
using ::testing::AllOf;
using testing::Ended;
using ::testing::HasSubstr;
using testing::Program;
using testing::replay;
using testing::search_all;
using testing::search_in_child;
using testing::Searched;
using testing::take;
using testing::Taken;

using Guard = std::lock_guard<ScheduledMutex>;

// Two threads finish the two tasks of a pass; the last one completes it. Every access is atomic or
// under the lock, so that no race detector objects (bug report B011).
class Pass {
 public:
  // Counts down, and then tests what another thread may have changed meanwhile.
  void finish_task_racily() {
    --outstanding_;
    Guard guard(mutex_);
    if (outstanding_ == 0) ++completions_;
  }

  // Tests what its own countdown returned.
  void finish_task() {
    const bool last = outstanding_.fetch_sub(1) == 1;
    Guard guard(mutex_);
    if (last) ++completions_;
  }

  bool completed_once() const { return completions_ == 1; }

 private:
  ScheduledAtomic<int> outstanding_{2};
  ScheduledMutex mutex_;
  int completions_ = 0;
};

bool run_pass(void (Pass::*finish)()) {
  Pass pass;
  {
    ScheduledThread other([&] { (pass.*finish)(); });
    (pass.*finish)();
  }
  return pass.completed_once();
}

const Program racy_pass = [] { return run_pass(&Pass::finish_task_racily); };
const Program right_pass = [] { return run_pass(&Pass::finish_task); };

TEST(Search, FindsTheCompletionRaceWithinFewSchedules) {
  const Searched searched = search_all(racy_pass, {.preemptions = 1});
  EXPECT_TRUE(searched.failed);
  EXPECT_LE(searched.schedules, 10u);
  RecordProperty("schedules", static_cast<int>(searched.schedules));
}

TEST(Search, ProvesTheFixedCompletion) {
  const Searched searched = search_all(right_pass, {.preemptions = 100});
  EXPECT_FALSE(searched.failed);
  EXPECT_EQ(searched.counts.open, 0u);
  EXPECT_LE(searched.schedules, 50u);
}

TEST(Search, WithoutAPreemptionTheRaceIsNotThere) {
  EXPECT_FALSE(search_all(racy_pass, {.preemptions = 0}).failed);
}

TEST(Search, AFailingScheduleFailsAgain) {
  const Searched searched = search_all(racy_pass, {.preemptions = 2});
  const Taken again = replay(racy_pass, searched.schedule);
  EXPECT_FALSE(again.passed);
  EXPECT_EQ(again.schedule, searched.schedule);
  EXPECT_EQ(again.result.mismatch_step, 0u);
}

gradcts_schedule_options with_seed(std::uint64_t seed) {
  gradcts_schedule_options options = {};
  options.seed = seed;
  return options;
}

TEST(Schedules, TheSameTextGivesTheSameTraceAHundredTimes) {
  replay(racy_pass, "");
  const Taken first = take(racy_pass, with_seed(5));
  for (int i = 0; i < 100; ++i) {
    const Taken again = replay(racy_pass, first.schedule);
    ASSERT_EQ(again.schedule, first.schedule);
    ASSERT_EQ(again.result.hash, first.result.hash);
    ASSERT_EQ(again.result.meaning, first.result.meaning);
    ASSERT_EQ(again.passed, first.passed);
  }
}

TEST(Schedules, EachSamplingStrategyIsAFunctionOfItsSeedAndFindsTheRace) {
  replay(racy_pass, "");
  for (const auto strategy :
       {GRADCTS_SCHEDULE_RANDOM, GRADCTS_SCHEDULE_PCT, GRADCTS_SCHEDULE_POS}) {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      gradcts_schedule_options options = {};
      options.strategy = strategy;
      options.seed = seed;
      options.expected_steps = 8;
      const Taken taken = take(racy_pass, options);
      ASSERT_EQ(take(racy_pass, options).schedule, taken.schedule);
      found += !taken.passed;
    }
    EXPECT_GE(found, 5) << "strategy " << strategy;
    EXPECT_LE(found, 195) << "strategy " << strategy;
  }
}

// ---- What is left out changes nothing that is seen ----------------------------------------------

// Three threads, two shared objects and two private ones each; the outcome is the order in which
// they were at the shared ones.
struct Orders {
  std::set<std::string> seen;
  Program program = [this] {
    std::string order;
    ScheduledMutex first, second;
    const auto visit = [&](char name) {
      ScheduledMutex own;
      for (ScheduledMutex* mutex : {&own, &first, &own, &second}) {
        Guard guard(*mutex);
        if (mutex == &first) order += name;
        if (mutex == &second) order += static_cast<char>(name - 'a' + 'A');
      }
    };
    {
      ScheduledThread a([&] { visit('a'); }), b([&] { visit('b'); });
      visit('c');
    }
    seen.insert(order);
    return true;
  };
};

// Every schedule there is, without any of the search's means: the choices as digits of a counter.
std::uint64_t take_every_schedule(const Program& program) {
  std::uint64_t count = 0;
  std::deque<std::vector<schedule::Choice>> open{{}};
  while (!open.empty()) {
    const std::vector<schedule::Choice> prefix = open.back();
    open.pop_back();
    schedule::Trace trace;
    for (const auto choice : prefix) trace.append(choice);
    const Taken taken = replay(program, trace.text());
    ++count;
    std::vector<schedule::Choice> path = prefix;
    for (std::uint64_t i = prefix.size(); i < taken.result.decision_count; ++i) {
      const auto& decision = taken.result.decisions[i];
      for (int thread = 0; thread < 64; ++thread) {
        if ((decision.able >> thread & 1) == 0 || thread == decision.chosen) continue;
        open.push_back(path);
        open.back().push_back({thread, false});
      }
      path.push_back({decision.chosen, false});
    }
  }
  return count;
}

// Two threads, or there are too many schedules to take every one.
Program two_threads(std::set<std::string>& seen) {
  return [&seen] {
    std::string order;
    ScheduledMutex first, second;
    const auto visit = [&](const char* names) {
      ScheduledMutex own;
      for (ScheduledMutex* mutex : {&own, &first, &own, &second}) {
        Guard guard(*mutex);
        if (mutex != &own) order += *names++;
      }
    };
    {
      ScheduledThread a([&] { visit("aA"); });
      visit("bB");
    }
    seen.insert(order);
    return true;
  };
}

TEST(Search, LeavesOutNoOutcome) {
  std::set<std::string> all, searched;
  const std::uint64_t every = take_every_schedule(two_threads(all));
  const Searched few = search_all(two_threads(searched), {.preemptions = 100});
  EXPECT_EQ(searched, all);
  EXPECT_EQ(all.size(), 6u);
  EXPECT_LT(few.schedules, every / 2);
}

TEST(Search, ThreeThreadsMeetInEveryOrder) {
  Orders orders;
  const Searched searched = search_all(orders.program, {.preemptions = 100});
  EXPECT_EQ(searched.counts.open, 0u);
  // Each of 6 orders at the first lock, and of 6 at the second, interleaved so that each thread is
  // at the first lock before the second: those in which nothing is impossible.
  std::set<std::string> at_first, at_second;
  for (const std::string& order : orders.seen) {
    std::string first, second;
    for (const char c : order) (c >= 'a' ? first : second) += c;
    at_first.insert(first);
    at_second.insert(second);
  }
  EXPECT_EQ(at_first.size(), 6u);
  EXPECT_EQ(at_second.size(), 6u);
}

TEST(Search, TheBoundIsKept) {
  for (const std::uint32_t bound : {0u, 1u, 2u}) {
    Orders orders;
    search_all(orders.program, {.preemptions = bound}, [&](const Taken& taken) {
      std::uint32_t preemptions = 0;
      for (std::uint64_t i = 0; i < taken.result.decision_count; ++i) {
        const auto& decision = taken.result.decisions[i];
        preemptions += decision.kind == GRADCTS_SCHEDULE_NEXT && decision.running >= 0 &&
                       decision.chosen != decision.running;
      }
      ASSERT_LE(preemptions, bound);
    });
  }
}

TEST(Search, GoesOnFromASavedFrontier) {
  Orders whole, first_part, second_part;
  const SearchBounds bounds{.preemptions = 2};
  const Searched all = search_all(whole.program, bounds);
  Search search(bounds);
  for (int i = 0; i < 20; ++i) search.took(replay(first_part.program, *search.next()).result);
  Search resumed = Search::resume(bounds, search.frontier());
  EXPECT_EQ(resumed.counts().open, search.counts().open);
  while (const auto schedule = resumed.next()) {
    resumed.took(replay(second_part.program, *schedule).result);
  }
  first_part.seen.merge(second_part.seen);
  EXPECT_EQ(first_part.seen, whole.seen);
  EXPECT_GE(resumed.counts().schedules, all.schedules);
}

TEST(Search, RefusesAFrontierOfOtherBounds) {
  const std::string frontier = Search({.preemptions = 1}).frontier();
  EXPECT_THROW(Search::resume({.preemptions = 2}, frontier), std::runtime_error);
  EXPECT_THROW(Search::resume({}, "something else"), std::runtime_error);
}

TEST(Search, NoticesWhatIsOutsideItsControl) {
  int run = 0;
  const Program changes = [&] {
    ScheduledMutex mutex;
    for (int i = 0; i < run % 2; ++i) Guard guard(mutex);
    ScheduledThread other([&] { Guard guard(mutex); });
    Guard guard(mutex);
    ++run;
    return true;
  };
  EXPECT_THROW(search_all(changes, {.preemptions = 2}), NotDeterministic);
}

// ---- Schedules that cannot end ------------------------------------------------------------------

TEST(Deadlock, ALockInversionIsReportedWithEveryThreadsWait) {
  const Ended ended = search_in_child(lock_in_both_orders, {.preemptions = 1});
  EXPECT_EQ(ended.status, GRADCTS_SCHEDULE_DEADLOCK);
  EXPECT_THAT(ended.report, AllOf(HasSubstr("thread 0"), HasSubstr("held by thread 1"),
                                  HasSubstr("thread 1"), HasSubstr("held by thread 0")));
  EXPECT_THAT(ended.report, HasSubstr("lock_in_both_orders"));  // on a stack
}

// The flag is set without the lock, so the signal may come between the look and the wait.
bool lose_a_wake_up(bool fixed) {
  ScheduledAtomic<bool> ready{false};
  ScheduledMutex mutex;
  ScheduledCondition changed;
  ScheduledThread other([&] {
    if (fixed) mutex.lock();
    ready = true;
    if (fixed) mutex.unlock();
    changed.notify_one();
  });
  Guard guard(mutex);
  while (!ready) changed.wait(mutex);
  return true;
}

TEST(Deadlock, ALostWakeUpIsReportedAsOne) {
  const Ended ended = search_in_child([] { return lose_a_wake_up(false); }, {.preemptions = 2});
  EXPECT_EQ(ended.status, GRADCTS_SCHEDULE_DEADLOCK);
  EXPECT_THAT(ended.report, HasSubstr("when nobody waited for it"));
}

TEST(Deadlock, TheFixedWakeUpIsNeverLost) {
  EXPECT_EQ(search_in_child([] { return lose_a_wake_up(true); }, {.preemptions = 100}).status, 0);
}

// A wait that looks once bears no spurious wake-up.
bool look_once() {
  bool ready = false;
  ScheduledMutex mutex;
  ScheduledCondition changed;
  ScheduledThread other([&] {
    Guard guard(mutex);
    ready = true;
    changed.notify_one();
  });
  Guard guard(mutex);
  if (!ready) changed.wait(mutex);
  return ready;
}

TEST(Spurious, AWaitThatLooksOnceIsFoundWithOneSpuriousWakeUp) {
  EXPECT_FALSE(search_all(look_once, {.preemptions = 2, .spurious = 0}).failed);
  EXPECT_TRUE(search_all(look_once, {.preemptions = 0, .spurious = 1}).failed);
}

// A time-out may come although the signal will come too.
bool wait_for_a_while() {
  bool ready = false;
  ScheduledMutex mutex;
  ScheduledCondition changed;
  ScheduledThread other([&] {
    Guard guard(mutex);
    ready = true;
    changed.notify_one();
  });
  Guard guard(mutex);
  while (!ready) {
    if (!changed.wait_until(mutex, std::chrono::steady_clock::now())) return ready;
  }
  return true;
}

TEST(Spurious, ATimeOutIsAChoice) {
  EXPECT_FALSE(search_all(wait_for_a_while, {.preemptions = 2, .spurious = 0}).failed);
  EXPECT_TRUE(search_all(wait_for_a_while, {.preemptions = 0, .spurious = 1}).failed);
}

// Each takes its lock, tries the other's, and steps back where that is taken, for ever.
bool step_back_for_ever() {
  ScheduledMutex a, b;
  const auto take_both = [](ScheduledMutex& mine, ScheduledMutex& other) {
    for (;;) {
      mine.lock();
      schedule::yield();
      const bool both = other.try_lock();
      mine.unlock();
      if (both) return other.unlock();
    }
  };
  ScheduledThread other([&] { take_both(b, a); });
  take_both(a, b);
  return true;
}

TEST(Livelock, IsReportedAtTheStepBound) {
  const Ended ended = search_in_child(step_back_for_ever, {.preemptions = 2});
  EXPECT_EQ(ended.status, GRADCTS_SCHEDULE_STEP_BOUND);
  EXPECT_THAT(ended.report, AllOf(HasSubstr("thread 0"), HasSubstr("thread 1")));
}

// Between a thread's function and its end are the destructors of its thread_local objects.
bool destroy_thread_locals() {
  static ScheduledMutex mutex;
  static int destroyed;
  destroyed = 0;
  struct Local {
    ~Local() {
      Guard guard(mutex);
      ++destroyed;
    }
  };
  {
    ScheduledThread other([] { thread_local Local local; });
    Guard guard(mutex);
  }
  return destroyed == 1;
}

TEST(Threads, ThreadLocalObjectsAreDestroyedUnderControl) {
  EXPECT_FALSE(search_all(destroy_thread_locals, {.preemptions = 2}).failed);
}

// ---- Shrinking ----------------------------------------------------------------------------------

TEST(Shrink, LeavesTheSwitchesThatTheFailureNeeds) {
  replay(racy_pass, "");
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Taken taken = take(racy_pass, with_seed(seed));
    if (taken.passed) continue;
    const auto still_fails = [&](const std::string& schedule) -> std::optional<std::string> {
      const Taken again = replay(racy_pass, schedule);
      return again.passed ? std::nullopt : std::optional(again.schedule);
    };
    const std::string shrunk = shrink_schedule(taken.schedule, still_fails);
    EXPECT_FALSE(replay(racy_pass, shrunk).passed);
    EXPECT_LE(switches_in(shrunk), 2u) << shrunk;  // there and back
    EXPECT_LE(switches_in(shrunk), switches_in(taken.schedule));
  }
}

}  // namespace
}  // namespace gradcts
