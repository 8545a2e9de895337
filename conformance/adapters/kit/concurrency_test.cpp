#include "conformance/adapters/kit/concurrency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <stdexcept>

namespace gradcts::kit {
namespace {

TEST(Barrier, NobodyLeavesBeforeAllHaveCome) {
  Barrier barrier(3);
  std::atomic<int> arrived{0};
  std::atomic<bool> early{false};
  const auto meet = [&] {
    for (int round = 1; round <= 100; ++round) {
      ++arrived;
      barrier.arrive_and_wait();
      if (arrived < 3 * round) early = true;
      barrier.arrive_and_wait();
    }
  };
  run_threads({meet, meet, meet});
  EXPECT_FALSE(early);
  EXPECT_EQ(arrived, 300);
}

TEST(Threads, OneThatRunsDoesNotSleep) {
  Mutex mutex;
  std::unique_lock lock(mutex);
  std::atomic<bool> go_on{true};
  Thread running([&] {
    while (go_on) {
    }
  });
  Thread waiting([&] { std::lock_guard second(mutex); });
  EXPECT_FALSE(all_others_sleep());
  go_on = false;
  running.join();
  while (!all_others_sleep()) {  // the other one is about to wait
  }
  lock.unlock();
}

TEST(Children, HandOverTheirText) {
  EXPECT_EQ(run_in_child([] { return std::string(100000, 'x'); }), std::string(100000, 'x'));
}

TEST(Children, DeathIsAnErrorThatNamesTheSignal) {
  try {
    run_in_child([]() -> std::string {
      std::signal(SIGABRT, SIG_DFL);
      std::abort();
    });
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("signal 6"));
  }
}

TEST(Children, AnExceptionIsAnErrorToo) {
  EXPECT_THROW(run_in_child([]() -> std::string { throw std::logic_error("no"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace gradcts::kit
