#include "conformance/adapters/kit/recorder.h"

#include <gtest/gtest.h>

#include <thread>

#include "conformance/scenario/builder.h"

namespace gradcts::kit {
namespace {

Scenario two_steps() {
  ScenarioBuilder b("test/recorder");
  const ValueId x = b.leaf("x", 2);
  b.forward();
  b.read({x});
  return b.build();
}

TEST(Recorder, CountsOccurrencesOfEachStep) {
  const Scenario scenario = two_steps();
  Recorder recorder(scenario);
  recorder.step(1, std::nullopt, {});
  recorder.step(0, std::nullopt, {});
  recorder.step(1, std::nullopt, {});
  const Outcome outcome = recorder.take();
  ASSERT_EQ(outcome.steps.size(), 3u);
  EXPECT_EQ(outcome.steps[0].occurrence, 0);
  EXPECT_EQ(outcome.steps[1].occurrence, 0);
  EXPECT_EQ(outcome.steps[2].occurrence, 1);
}

TEST(Recorder, CountsInstancesByKindAndSubject) {
  const Scenario scenario = two_steps();
  Recorder recorder(scenario);
  recorder.event(EventKind::pass_begin, 1, {});
  recorder.event(EventKind::pass_end, 1, {});
  recorder.event(EventKind::pass_begin, 1, {});
  const Outcome outcome = recorder.take();
  EXPECT_EQ(outcome.events[1].instance, 0);
  EXPECT_EQ(outcome.events[2].instance, 1);
}

TEST(Recorder, NumbersThreadsAsTheyAppear) {
  const Scenario scenario = two_steps();
  Recorder recorder(scenario);
  const std::int16_t reserved = recorder.reserve_thread();
  std::int16_t stranger = 0;
  std::int16_t adopted = 0;
  std::thread([&] { stranger = recorder.thread(); }).join();
  std::thread([&] {
    recorder.adopt_thread(reserved);
    adopted = recorder.thread();
  }).join();
  EXPECT_EQ(recorder.thread(), 0);
  EXPECT_EQ(adopted, 1);
  EXPECT_EQ(stranger, 2);
}

TEST(Recorder, AThreadIsNewToEachRun) {
  const Scenario scenario = two_steps();
  Recorder first(scenario);
  first.reserve_thread();
  Recorder second(scenario);
  EXPECT_EQ(second.thread(), 0);
  EXPECT_EQ(first.thread(), 2);
}

TEST(Recorder, DropsWhatComesAfterTheEnd) {
  const Scenario scenario = two_steps();
  Recorder recorder(scenario);
  recorder.take();
  recorder.step(0, std::nullopt, {});
  recorder.event(EventKind::pass_begin, 1, {});
  EXPECT_TRUE(recorder.take().steps.empty());
  recorder.reopen();
  recorder.step(0, std::nullopt, {});
  EXPECT_EQ(recorder.take().steps.size(), 1u);
}

}  // namespace
}  // namespace gradcts::kit
