#include "conformance/runner/stack_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace gradcts {
namespace {

constexpr const char* crash =
    "report crash 11 1f8\n"
    "thread 41 crashed main thread\n"
    "/usr/lib/libengine.so(_ZN6engine4NodeD1Ev+0x12)[0x7f0001]\n"
    "/usr/lib/libengine.so(+0x3f0)[0x7f0002]\n"
    "thread 42 silent worker\n"
    "more 3\n"
    "end\n";

TEST(StackReport, TellsSignalAddressAndThreads) {
  const StackReport report = read_stack_report(crash);
  EXPECT_TRUE(report.crash);
  EXPECT_EQ(report.signal, SIGSEGV);
  EXPECT_EQ(report.address, 0x1f8u);
  EXPECT_FALSE(read_stack_report("report crash 6\n").address);
  ASSERT_EQ(report.threads.size(), 2u);
  EXPECT_EQ(report.threads[0].name, "main thread");
  EXPECT_THAT(
      report.threads[0].frames,
      ::testing::ElementsAre("engine::Node::~Node() +0x12 in libengine.so", "libengine.so +0x3f0"));
  EXPECT_EQ(report.threads[1].state, "silent");
  EXPECT_EQ(report.threads_left_out, 3);
  EXPECT_TRUE(report.complete);
}

TEST(StackReport, AReportThatIsCutSaysSo) {
  const std::string cut(crash, 70);
  EXPECT_FALSE(read_stack_report(cut).complete);
  EXPECT_THAT(to_text(read_stack_report(cut)), ::testing::HasSubstr("could not tell more"));
  EXPECT_TRUE(read_stack_report("").threads.empty());
}

TEST(SignalName, HasTheUsualNames) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
}

}  // namespace
}  // namespace gradcts
