#include "conformance/explore/preload/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradcts::schedule {
namespace {

using ::testing::HasSubstr;

const char mutex_a = 0, mutex_b = 0, condition = 0;

std::string name(const void* object) {
  if (object == &mutex_a) return "a";
  if (object == &mutex_b) return "b";
  return "c";
}

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    scheduler.start(stay, 1000);
    scheduler.add_runnable();
  }

  void lock(const void* mutex) {
    scheduler.point(Operation::lock, mutex);
    scheduler.acquired(WaitKind::mutex, mutex);
  }

  std::string wait_of(ThreadNumber thread) { return describe_wait(scheduler, thread, name); }

  Replay stay{Trace()};
  Scheduler scheduler;
};

TEST_F(ReportTest, ALockSaysWhoHoldsItAndSinceWhen) {
  lock(&mutex_a);
  scheduler.wait({WaitKind::condition, &condition});
  scheduler.wait({WaitKind::mutex, &mutex_a});
  EXPECT_EQ(wait_of(1), "waits for mutex a since step 3; held by thread 0 since step 1");
}

TEST_F(ReportTest, AForeignHolderIsSaidToBeForeign) {
  scheduler.wait({WaitKind::mutex, &mutex_b});
  EXPECT_EQ(wait_of(0), "waits for mutex b since step 1; held by no thread under control");
}

TEST_F(ReportTest, ALostSignalIsSeenInTheReport) {
  scheduler.point(Operation::signal, &condition);
  scheduler.signal(&condition, 1, 0);
  scheduler.wait({WaitKind::condition, &condition});
  EXPECT_EQ(wait_of(0),
            "waits for condition c since step 2; last signalled at step 1 by thread 0, when nobody "
            "waited for it");
}

TEST_F(ReportTest, AJoinNamesTheThread) {
  scheduler.wait({.kind = WaitKind::join, .joined = 1});
  EXPECT_EQ(wait_of(0), "waits for the end of thread 1 since step 1");
}

TEST_F(ReportTest, AThreadThatRunsSaysWhatItWasAboutToDo) {
  scheduler.point(Operation::lock, &mutex_a);
  EXPECT_EQ(wait_of(0), "runs; was last about to lock a (step 1)");
}

TEST_F(ReportTest, TheWholeOfIt) {
  scheduler.wait({WaitKind::mutex, &mutex_a});
  scheduler.wait({WaitKind::mutex, &mutex_b});
  const std::string text =
      describe(GRADCTS_SCHEDULE_DEADLOCK, "random walk, seed 7", scheduler,
               {{0, "main, 41", {"f()", "main"}}, {1, "worker, 42", {}}}, name, "Not seen: atomics\n");
  EXPECT_THAT(text, HasSubstr("gradcts-schedule: deadlock\nchosen by: random walk, seed 7\n"));
  EXPECT_THAT(text, HasSubstr("thread 0 (main, 41) waits for mutex a"));
  EXPECT_THAT(text, HasSubstr("    #0  f()\n    #1  main\n"));
  EXPECT_THAT(text, HasSubstr("thread 1 (worker, 42) waits for mutex b"));
  EXPECT_THAT(text, HasSubstr("Not seen: atomics"));
  EXPECT_THAT(text, HasSubstr("schedule: 1\n"));
}

}  // namespace
}  // namespace gradcts::schedule
