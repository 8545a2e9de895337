// What the simulated device reports, and what it must not report.
#include "reference_engine/device/access_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <thread>

#include "reference_engine/device/simulated_runtime.h"
#include "reference_engine/device/work_purpose.h"
#include "reference_engine/error.h"

namespace gradcts::reference {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Device device{DeviceType::sim, 0};

class AccessReports : public ::testing::Test {
 protected:
  void put(Stream stream, const char* name, const void* block, bool writes) {
    runtime_.enqueue(stream, {name, {{block, writes}}, [] {}});
  }
  void write(Stream stream, const void* block) { put(stream, "writer", block, true); }
  void read(Stream stream, const void* block) { put(stream, "reader", block, false); }
  void wait(Stream waiting, Stream awaited) { runtime_.wait(waiting, runtime_.record(awaited)); }

  // "free on 1 after reader on 2": each in one line.
  std::vector<std::string> found() {
    std::vector<std::string> lines;
    for (const UnorderedAccess& u : runtime_.unordered_accesses()) {
      lines.push_back(line(u.access) + " after " + line(u.earlier) +
                      (u.freed_between ? ", freed" : ""));
    }
    runtime_.restart_access_checks();
    return lines;
  }
  static std::string line(const DeviceAccess& access) {
    const std::string work = access.kind == DeviceAccess::Kind::free ? "free" : access.work;
    return work + " on " + std::to_string(access.stream.id);
  }

  SimulatedRuntime runtime_{DeviceType::sim, 2};
  const Stream one_ = runtime_.make_stream(device);
  const Stream two_ = runtime_.make_stream(device);
  const Stream three_ = runtime_.make_stream(device);
  void* const block_ = runtime_.allocate(one_, 16);
};

TEST_F(AccessReports, A_read_without_a_wait_is_reported_whatever_came_out) {
  write(one_, block_);
  read(two_, block_);
  EXPECT_THAT(found(), ElementsAre("reader on 2 after writer on 1"));
}

TEST_F(AccessReports, A_wait_orders) {
  write(one_, block_);
  wait(two_, one_);
  read(two_, block_);
  wait(one_, two_);
  write(one_, block_);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(AccessReports, An_event_that_was_recorded_too_early_does_not) {
  const Event event = runtime_.record(one_);
  write(one_, block_);
  runtime_.wait(two_, event);
  read(two_, block_);
  EXPECT_THAT(found(), ElementsAre("reader on 2 after writer on 1"));
}

TEST_F(AccessReports, A_wait_brings_along_what_its_stream_has_waited_for) {
  write(one_, block_);
  wait(two_, one_);
  wait(three_, two_);
  read(three_, block_);
  EXPECT_THAT(found(), IsEmpty());
  write(one_, block_);
  wait(three_, two_);  // which has not waited for one since
  read(three_, block_);
  EXPECT_THAT(found(), ElementsAre("reader on 3 after writer on 1"));
}

TEST_F(AccessReports, A_write_meets_all_readers_and_a_read_none) {
  write(one_, block_);
  wait(two_, one_);
  wait(three_, one_);
  read(two_, block_);
  read(three_, block_);
  write(one_, block_);
  EXPECT_THAT(found(),
              ElementsAre("writer on 1 after reader on 2", "writer on 1 after reader on 3"));
}

TEST_F(AccessReports, One_missing_wait_is_one_report) {
  void* const other = runtime_.allocate(one_, 16);
  write(one_, block_);
  write(one_, other);
  read(two_, other);
  read(two_, block_);
  EXPECT_THAT(found(), ElementsAre("reader on 2 after writer on 1"));
}

TEST_F(AccessReports, The_host_orders_what_it_waits_for) {
  write(one_, block_);
  runtime_.synchronize(two_);
  read(two_, block_);
  EXPECT_THAT(found(), ElementsAre("reader on 2 after writer on 1"));
  write(one_, block_);
  runtime_.synchronize(one_);
  read(two_, block_);
  runtime_.synchronize(device);
  write(three_, block_);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(AccessReports, Memory_must_not_be_freed_under_a_reader) {
  wait(two_, one_);
  read(two_, block_);
  runtime_.free(block_);
  EXPECT_THAT(found(), ElementsAre("free on 1 after reader on 2"));
}

TEST_F(AccessReports, Memory_may_be_freed_when_the_use_is_registered_or_over) {
  wait(two_, one_);
  read(two_, block_);
  runtime_.register_use(block_, two_);
  runtime_.free(block_);
  void* const other = runtime_.allocate(one_, 64);
  read(two_, other);
  wait(one_, two_);
  runtime_.free(other);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(AccessReports, A_registered_use_covers_what_its_stream_has_waited_for) {
  read(three_, block_);
  wait(two_, three_);
  runtime_.register_use(block_, two_);
  runtime_.free(block_);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(AccessReports, Memory_that_is_used_again_is_still_its_streams) {
  write(one_, block_);
  runtime_.free(block_);
  void* const again = runtime_.allocate(one_, 16);
  ASSERT_EQ(again, block_);
  write(two_, again);  // the work on one is not over
  EXPECT_THAT(found(), ElementsAre("writer on 2 after writer on 1, freed"));
}

// ---- Captures ----

class Captures : public AccessReports {
 protected:
  template <typename Function>
  static std::string refusal_of(Function&& function) {
    try {
      function();
    } catch (const CaptureError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(Captures, A_captured_stream_waits_for_nothing_outside) {
  const Event before = runtime_.record(one_);
  const Event outside = runtime_.record(two_);
  runtime_.begin_capture(one_);
  EXPECT_EQ(
      refusal_of([&] { runtime_.wait(one_, outside); }),
      "sim:0/stream 1 is being captured and must not wait for an event of sim:0/stream 2 that was "
      "recorded outside of the capture");
  EXPECT_NE(refusal_of([&] { runtime_.wait(one_, before); }), "");
  runtime_.end_capture(one_);
  EXPECT_EQ(refusal_of([&] { runtime_.wait(one_, outside); }), "");
}

TEST_F(Captures, The_host_waits_for_no_stream_of_a_capture) {
  runtime_.begin_capture(one_);
  EXPECT_EQ(refusal_of([&] { runtime_.synchronize(one_); }),
            "sim:0/stream 1 is being captured: the host must not wait for it");
  EXPECT_NE(refusal_of([&] { runtime_.synchronize(device); }), "");
  EXPECT_EQ(refusal_of([&] { runtime_.synchronize(two_); }), "");
  runtime_.end_capture(one_);
  EXPECT_EQ(refusal_of([&] { runtime_.synchronize(device); }), "");
}

TEST_F(Captures, A_stream_that_waits_for_a_captured_one_joins_and_must_be_waited_for) {
  runtime_.begin_capture(one_);
  wait(two_, one_);
  EXPECT_NE(refusal_of([&] { runtime_.synchronize(two_); }), "");
  write(two_, block_);
  wait(one_, two_);
  runtime_.end_capture(one_);
  runtime_.begin_capture(one_);
  wait(two_, one_);
  write(two_, block_);
  EXPECT_EQ(
      refusal_of([&] { runtime_.end_capture(one_); }),
      "the capture of sim:0/stream 1 ends without a wait for sim:0/stream 2, which has joined it");
  runtime_.synchronize(device);  // it is over all the same
}

TEST_F(Captures, What_a_stream_did_before_it_joined_need_not_be_waited_for) {
  write(two_, block_);
  runtime_.begin_capture(one_);
  wait(two_, one_);
  EXPECT_EQ(refusal_of([&] { runtime_.end_capture(one_); }), "");
}

TEST_F(Captures, A_default_stream_is_called_that) {
  const Event outside = runtime_.record({device, 0});
  runtime_.begin_capture(one_);
  EXPECT_EQ(refusal_of([&] { runtime_.wait(one_, outside); }),
            "sim:0/stream 1 is being captured and must not wait for an event of the default stream "
            "of sim:0 that was "
            "recorded outside of the capture");
  runtime_.end_capture(one_);
}

TEST_F(Captures, Who_watches_reads_what_is_on_a_captured_stream_and_orders_nothing) {
  bool has_run = false;
  runtime_.begin_capture(one_);
  runtime_.enqueue(one_, {"writer", {{block_, true}}, [&] { has_run = true; }});
  {
    const CaptureLook look;
    read(one_, block_);
    runtime_.synchronize(one_);
  }
  EXPECT_TRUE(has_run);
  EXPECT_NE(refusal_of([&] { runtime_.synchronize(one_); }), "");
  write(two_, block_);
  EXPECT_THAT(found(), ElementsAre("writer on 2 after writer on 1"));
  runtime_.end_capture(one_);
}

TEST_F(Captures, Who_watches_too_early_is_reported) {
  write(two_, block_);
  runtime_.begin_capture(one_);
  {
    const CaptureLook look;
    read(one_, block_);
  }
  runtime_.end_capture(one_);
  EXPECT_THAT(found(), ElementsAre("reader on 1 after writer on 2"));
}

TEST_F(Captures, Who_watched_leaves_nothing_to_wait_for) {
  runtime_.begin_capture(one_);
  wait(two_, one_);
  {
    const CaptureLook look;
    read(two_, block_);
    runtime_.synchronize(two_);
  }
  EXPECT_EQ(refusal_of([&] { runtime_.end_capture(one_); }), "");
}

TEST_F(AccessReports, Work_says_what_it_is_for) {
  EXPECT_EQ(begin_work_purpose("node", "y"), 0u);
  write(one_, block_);
  end_work_purpose();
  read(two_, block_);
  const auto reports = runtime_.unordered_accesses();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].earlier.purpose, "node y");
  EXPECT_EQ(reports[0].access.purpose, "");
}

TEST(WorkPurposes, An_inner_one_ends_and_the_outer_one_counts_again) {
  EXPECT_EQ(begin_work_purpose("node", "y"), 0u);
  EXPECT_EQ(begin_work_purpose("hook", "h"), 1u);
  EXPECT_EQ(work_purpose(), "hook h");
  end_work_purpose();
  EXPECT_EQ(work_purpose(), "node y");
  begin_work_purpose("node", "failed");
  begin_work_purpose("node", "failed too");
  end_work_purposes(0);
  EXPECT_EQ(work_purpose(), "");
  end_work_purpose();
  EXPECT_EQ(work_purpose(), "");
}

// A node that fails on a device's thread ends nothing, and nobody encloses it there.
TEST(WorkPurposes, A_restart_makes_every_thread_forget_its_own) {
  std::string before, after;
  std::latch begun(1), restarted(1);
  std::jthread other([&] {
    begin_work_purpose("node", "failed");
    before = work_purpose();
    begun.count_down();
    restarted.wait();
    after = work_purpose();
  });
  begun.wait();
  restart_access_checks();
  restarted.count_down();
  other.join();
  EXPECT_EQ(before, "node failed");
  EXPECT_EQ(after, "");
}

}  // namespace
}  // namespace gradcts::reference
