#include "conformance/runner/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradcts::wire {
namespace {

std::string_view without_end(const std::string& line) {
  EXPECT_TRUE(line.ends_with('\n'));
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
  return std::string_view(line).substr(0, line.size() - 1);
}

std::string problem_of(const std::string& line, std::uint64_t number) {
  try {
    read_run_answer(line, number);
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "no problem";
}

TEST(Wire, RequestsArriveAsSent) {
  const std::string hello = hello_request(7);
  const auto greeting = read_request(without_end(hello));
  ASSERT_TRUE(greeting);
  EXPECT_EQ(greeting->number, 7u);
  EXPECT_EQ(greeting->protocol, protocol);
  const std::string run = run_request(18446744073709551615u, R"({"id":"a"})");
  const auto request = read_request(without_end(run));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kind, Request::Kind::run);
  EXPECT_EQ(request->number, 18446744073709551615u);
  EXPECT_EQ(request->scenario, R"({"id":"a"})");
}

TEST(Wire, WhatIsNoRequestIsRefused) {
  for (const char* bad :
       {"", "{}", "{\"request\":}", "{\"request\":1}", "{\"request\":1,\"run\":{}}x", "x"}) {
    EXPECT_FALSE(read_request(bad)) << bad;
  }
}

TEST(Wire, AnswersArriveOnOneLineWhateverTheEngineWrote) {
  const std::string line = outcome_answer(5, "{\n  \"steps\": [\r\n1]\n}");
  const Answer answer = read_run_answer(without_end(line), 5);
  EXPECT_EQ(answer.content.dump(), R"({"steps":[1]})");
  EXPECT_TRUE(answer.failure.empty());
}

TEST(Wire, FailuresCarryAnyBytes) {
  const std::string line = failure_answer(5, "two\nlines, \"quotes\" and \xff");
  EXPECT_THAT(read_run_answer(without_end(line), 5).failure,
              ::testing::HasSubstr("two\nlines, \"quotes\""));
}

TEST(Wire, AnotherNumberIsTheWrongRequest) {
  EXPECT_THAT(problem_of(outcome_answer(5, "{}"), 6),
              ::testing::HasSubstr("answers the wrong request: 6 was asked, 5 was answered"));
}

TEST(Wire, GarbageIsNamedAndCannotPoseAsAnAnswer) {
  EXPECT_THAT(problem_of(outcome_answer(5, "hello"), 5), ::testing::HasSubstr("not JSON"));
  EXPECT_THAT(problem_of(outcome_answer(5, "{},\"answer\":6"), 6),
              ::testing::HasSubstr("not JSON"));
  EXPECT_THAT(problem_of("[]", 5), ::testing::HasSubstr("has no number"));
  EXPECT_THAT(problem_of(R"({"answer":5})", 5),
              ::testing::HasSubstr("neither 'outcome' nor 'failure'"));
}

TEST(Wire, HelloNeedsTheSameProtocol) {
  const std::string line = hello_answer(1, R"({"name":"x"})");
  EXPECT_EQ(read_hello_answer(without_end(line), 1).content["name"], "x");
  EXPECT_THROW(read_hello_answer(R"({"answer":1,"hello":"gradcts.worker/9","description":{}})", 1),
               std::runtime_error);
  EXPECT_THROW(read_hello_answer(R"({"answer":1,"description":{}})", 1), std::runtime_error);
}

}  // namespace
}  // namespace gradcts::wire
