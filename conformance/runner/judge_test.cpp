#include "conformance/runner/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/runner/testing/scenarios.h"

namespace gradcts {
namespace {

using ::testing::HasSubstr;
using testing::square;

WorkerAnswer answer_with(const std::string& json) {
  return {WorkerAnswer::Kind::outcome, parse_json(json), {}};
}

TEST(Judge, ADeadWorkerIsNeverAnEmptyOutcome) {
  const Scenario scenario = square("a");
  const Expectation expectation = expect_safely(scenario, make_dialect("reference"));
  EXPECT_EQ(judge(scenario, expectation, {WorkerAnswer::Kind::crash, nullptr, "died"}).verdict.kind,
            VerdictKind::crash);
  EXPECT_EQ(judge(scenario, expectation, {WorkerAnswer::Kind::hang, nullptr, "hung"}).verdict.kind,
            VerdictKind::hang);
  EXPECT_EQ(
      judge(scenario, expectation, {WorkerAnswer::Kind::garbage, nullptr, "what"}).verdict.kind,
      VerdictKind::error);
}

TEST(Judge, AnOutcomeThatCannotBeReadIsAnError) {
  const Scenario scenario = square("a");
  const Judgement judgement =
      judge(scenario, expect_safely(scenario, make_dialect("reference")), answer_with("[]"));
  EXPECT_EQ(judgement.verdict.kind, VerdictKind::error);
  EXPECT_THAT(judgement.verdict.detail, HasSubstr("malformed"));
}

TEST(Judge, WhatTheOracleCannotTellIsNoPass) {
  const Scenario scenario = square("a");
  Expectation expectation;
  expectation.cannot_tell = "too hard";
  Outcome outcome;
  outcome.leaf_grads.resize(1);
  const Judgement judgement =
      judge(scenario, expectation, answer_with(write_outcome(outcome, scenario).dump()));
  EXPECT_EQ(judgement.verdict.kind, VerdictKind::error);
  EXPECT_THAT(judgement.verdict.detail, HasSubstr("too hard"));
}

class Fingerprint : public ::testing::Test {
 protected:
  Fingerprint() {
    outcome_.leaf_grads = {TensorValue::scalar(12)};
    add_event(EventKind::node_enter, 2);
    outcome_.steps.emplace_back().step = 1;
    outcome_.steps.back().error.emplace().text = "one way to say it";
  }
  void add_event(EventKind kind, std::int16_t thread) {
    Event& event = outcome_.events.emplace_back();
    event.kind = kind;
    event.subject = 0;
    event.thread = thread;
  }
  void be_concurrent() {
    ParallelStep parallel;
    parallel.threads.push_back({"t", {}});
    scenario_.program.emplace_back().action = parallel;
    number_steps(scenario_);
  }
  std::string of(const Outcome& outcome) const {
    return fingerprint(scenario_, expectation_, outcome);
  }

  Scenario scenario_ = square("a");
  Expectation expectation_ = expect_safely(scenario_, make_dialect("reference"));
  Outcome outcome_;
};

TEST_F(Fingerprint, IgnoresWordsAndWhichThread) {
  Outcome other = outcome_;
  other.events[0].thread = 3;
  other.steps[0].error->text = "another way";
  other.state.engine_threads = 7;
  EXPECT_EQ(of(outcome_), of(other));
}

TEST_F(Fingerprint, SeesValuesEventsAndTheMainThread) {
  Outcome value = outcome_, event = outcome_, thread = outcome_, error = outcome_;
  value.leaf_grads[0]->values[0] = 12.000000000000002;
  event.events[0].kind = EventKind::node_exit;
  thread.events[0].thread = 0;
  error.steps[0].error->category = ErrorCategory::user;
  for (const Outcome& other : {value, event, thread, error}) EXPECT_NE(of(outcome_), of(other));
}

TEST_F(Fingerprint, LeavesTheOrderFreeAmongThreads) {
  be_concurrent();
  add_event(EventKind::node_exit, 0);
  Outcome other = outcome_;
  std::swap(other.events[0], other.events[1]);
  EXPECT_EQ(of(outcome_), of(other));
  other.leaf_grads[0]->values[0] = 13;
  EXPECT_NE(of(outcome_), of(other));
}

TEST_F(Fingerprint, LeavesFreeHowAStepEndsThatMayEndInTwoWays) {
  be_concurrent();
  Outcome other = outcome_;
  other.steps[0].error->category = ErrorCategory::stopped;
  ExpectedStep& step = expectation_.steps.emplace_back();
  step.result = outcome_.steps[0];
  step.allowed_errors = {outcome_.steps[0].error->category};
  EXPECT_NE(of(outcome_), of(other));
  step.allowed_errors.push_back(ErrorCategory::stopped);
  EXPECT_EQ(of(outcome_), of(other));
  step.allowed_errors.pop_back();
  step.required = false;
  other.steps.clear();
  EXPECT_EQ(of(outcome_), of(other));
}

}  // namespace
}  // namespace gradcts
