// Matching alone: which of what happened is taken for which expected one.
#include "conformance/checker/matching.h"

#include <gmock/gmock.h>

#include <cmath>

namespace gradcts {
namespace {

using testing::ElementsAre;

std::vector<std::optional<TensorValue>> tensors(std::initializer_list<double> numbers) {
  std::vector<std::optional<TensorValue>> all;
  for (const double number : numbers) all.emplace_back(TensorValue::scalar(number));
  return all;
}

// Calls of one hook, and results of one step, that have no order among them.
class MatchingInAnyOrder : public testing::Test {
 protected:
  // What is returned by reference stays where it is.
  MatchingInAnyOrder() {
    expectation_.events.reserve(8);
    expectation_.steps.reserve(8);
  }
  ExpectedEvent& expect_call(std::initializer_list<double> values) {
    ExpectedEvent& expected = expectation_.events.emplace_back();
    expected.event = call_of(values, static_cast<std::int32_t>(expectation_.events.size()) - 1);
    expected.compare_values = true;
    expected.any_order = true;
    return expected;
  }
  Event& happens(std::initializer_list<double> values) {
    const auto before = static_cast<std::int32_t>(outcome_.events.size());
    return outcome_.events.emplace_back(call_of(values, before));
  }
  ExpectedStep& expect_result(std::initializer_list<double> values) {
    ExpectedStep& expected = expectation_.steps.emplace_back();
    expected.result = result_of(values, static_cast<std::int32_t>(expectation_.steps.size()) - 1);
    expected.any_order = true;
    return expected;
  }
  StepResult& results(std::initializer_list<double> values) {
    const auto before = static_cast<std::int32_t>(outcome_.steps.size());
    return outcome_.steps.emplace_back(result_of(values, before));
  }
  Evidence evidence() const { return Evidence({scenario_, expectation_, outcome_}); }

  Scenario scenario_;
  Expectation expectation_;
  Outcome outcome_;

 private:
  static Event call_of(std::initializer_list<double> values, std::int32_t instance) {
    Event event;
    event.kind = EventKind::tensor_hook;
    event.subject = 3;
    event.instance = instance;
    event.values = tensors(values);
    return event;
  }
  static StepResult result_of(std::initializer_list<double> values, std::int32_t occurrence) {
    StepResult result;
    result.step = 3;
    result.occurrence = occurrence;
    result.values = tensors(values);
    return result;
  }
};

TEST_F(MatchingInAnyOrder, WhatMustHappenComesBeforeItsLikeThatMay) {
  expect_call({1}).required = false;
  expect_call({1});
  happens({1});
  EXPECT_THAT(evidence().events, ElementsAre(unmatched, 0));
}

// Else a wrong value of what must happen would be told as a call that is missing.
TEST_F(MatchingInAnyOrder, WhatMayHappenLeavesEnoughForWhatMust) {
  expect_call({1}).required = false;
  expect_call({2}).required = false;
  expect_call({3});
  happens({1});
  EXPECT_THAT(evidence().events, ElementsAre(unmatched, unmatched, 0));
  happens({2});
  EXPECT_THAT(evidence().events, ElementsAre(0, unmatched, 1));
  happens({4});
  EXPECT_THAT(evidence().events, ElementsAre(0, 1, 2));
}

TEST_F(MatchingInAnyOrder, CallsOfWhichAnythingIsKnownChooseFirst) {
  ExpectedEvent& unknown = expect_call({});
  ExpectedEvent& known = expect_call({2});
  unknown.compare_values = false;
  happens({2}).number = 4;
  happens({1}).number = 5;
  EXPECT_THAT(evidence().events, ElementsAre(1, 0));
  known.compare_values = false;
  known.compare_number = true;
  known.event.number = 4;
  EXPECT_THAT(evidence().events, ElementsAre(1, 0));
}

TEST_F(MatchingInAnyOrder, ResultsOfWhichAnythingIsKnownChooseFirst) {
  expect_result({0, 0}).value_known = {false, false};
  ExpectedStep& known = expect_result({9, 2});
  results({9, 2});
  results({1, 3});
  EXPECT_THAT(evidence().steps, ElementsAre(1, 0)) << "all is known";
  known.value_known = {false, true};
  known.result.values[0].reset();
  EXPECT_THAT(evidence().steps, ElementsAre(1, 0)) << "the second value is known";
}

TEST_F(MatchingInAnyOrder, CallsAreToldApartByTheirNumber) {
  for (const std::int64_t number : {1, 2}) {
    ExpectedEvent& expected = expect_call({});
    expected.compare_values = false;
    expected.compare_number = true;
    expected.event.number = number;
  }
  happens({7}).number = 2;
  happens({8}).number = 1;
  EXPECT_THAT(evidence().events, ElementsAre(1, 0));
}

TEST_F(MatchingInAnyOrder, TheCountOfValuesCounts) {
  expect_call({1, 2});
  expect_call({1});
  happens({1});
  happens({1, 2});
  EXPECT_THAT(evidence().events, ElementsAre(1, 0));
  expect_result({1, 2});
  expect_result({1});
  results({1});
  results({1, 2});
  EXPECT_THAT(evidence().steps, ElementsAre(1, 0));
}

TEST_F(MatchingInAnyOrder, EachKnownValueOfAResultCounts) {
  expect_result({1, 2, 3}).value_known = {true, false, true};
  expect_result({4, 5, 6}).value_known = {true, false, true};
  results({1, 5, 6});
  results({4, 2, 6});
  results({1, 9, 3});
  EXPECT_THAT(evidence().steps, ElementsAre(2, 1));
  EXPECT_THAT(evidence().surplus_steps, ElementsAre(0));
}

TEST_F(MatchingInAnyOrder, ResultsFitWithinTheirBound) {
  const double next = std::nextafter(1.0, 2);
  expect_result({2});
  expect_result({1});
  results({next});
  results({2});
  results({1});
  EXPECT_THAT(evidence().steps, ElementsAre(1, 2));
  for (ExpectedStep& expected : expectation_.steps) expected.bound = 1;
  EXPECT_THAT(evidence().steps, ElementsAre(1, 0));
}

TEST_F(MatchingInAnyOrder, WhatIsLeftIsGivenInTheOrderInWhichItHappened) {
  expect_call({2});
  happens({1});
  outcome_.events.emplace_back().kind = EventKind::node_enter;
  happens({2});
  happens({3});
  EXPECT_THAT(evidence().events, ElementsAre(2));
  EXPECT_THAT(evidence().surplus_events, ElementsAre(0, 1, 3));
}

// A node that runs in two passes: its first run is the first one, whatever it was given.
TEST(MatchingInOrder, TheFirstIsTheFirst) {
  Scenario scenario;
  Expectation expectation;
  Outcome outcome;
  for (const double number : {1, 2}) {
    Event event;
    event.values = tensors({number});
    expectation.events.emplace_back().event = event;
    expectation.events.back().compare_values = true;
    outcome.events.insert(outcome.events.begin(), event);
  }
  outcome.events.emplace_back();
  const Evidence evidence({scenario, expectation, outcome});
  EXPECT_THAT(evidence.events, ElementsAre(0, 1));
  EXPECT_THAT(evidence.surplus_events, ElementsAre(2));
}

// A node that was made twice, and of which one making ran.
TEST(MatchingInOrder, AnotherMakingIsAnother) {
  for (const std::int32_t making : {0, 1}) {
    Scenario scenario;
    Expectation expectation;
    Outcome outcome;
    expectation.events.emplace_back().event.instance = making;
    outcome.events.emplace_back().instance = 1 - making;
    const Evidence evidence({scenario, expectation, outcome});
    EXPECT_THAT(evidence.events, ElementsAre(unmatched));
    EXPECT_THAT(evidence.surplus_events, ElementsAre(0));
  }
}

TEST(MatchingOfErrors, WhereNoneIsExpectedOneMayBeAllowed) {
  ExpectedStep expected;
  ErrorReport users;
  users.category = ErrorCategory::user;
  users.token = "boom";
  EXPECT_TRUE(error_fits(expected, std::nullopt));
  EXPECT_FALSE(error_fits(expected, users));
  expected.allowed_errors = {ErrorCategory::user};
  EXPECT_TRUE(error_fits(expected, std::nullopt));
  EXPECT_TRUE(error_fits(expected, users));
  EXPECT_FALSE(error_fits(expected, ErrorReport{}));
}

TEST(MatchingOfClauses, ACitedClauseIsOwnedAsAWhole) {
  Scenario scenario;
  scenario.clauses = {"RED-1"};
  EXPECT_EQ(choose_clause(scenario, "PRED-1 RED-10 RED-11", "ACC-1"), "ACC-1");
  EXPECT_EQ(choose_clause(scenario, "PRED-1 RED-10 RED-1", "ACC-1"), "RED-1");
  EXPECT_EQ(choose_clause(scenario, "RED-1 RED-10", "ACC-1"), "RED-1");
  scenario.clauses = {"LIFE-1", "RED-10", "PRED-1"};
  EXPECT_EQ(choose_clause(scenario, "PRED-1 RED-10", "ACC-1"), "RED-10") << "the first cited";
}

}  // namespace
}  // namespace gradcts
