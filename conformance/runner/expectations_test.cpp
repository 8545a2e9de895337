#include "conformance/runner/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradcts {
namespace {

using ::testing::HasSubstr;

Expectations read(const std::string& entries) {
  return read_expectations(
      parse_json(R"({"schema": "gradcts.expectations/1", "expectations": [)" + entries + "]}"));
}

std::string problem_of(const std::string& entries) {
  try {
    read(entries);
  } catch (const FormatError& problem) {
    return problem.what();
  }
  return "no problem";
}

constexpr const char* two_roots =
    R"({"id": "root/two", "verdict": "fail", "clause": "ROOT-2", "reason": "known"})";

Verdict failing(std::initializer_list<const char*> clauses) {
  Verdict verdict{VerdictKind::fail, {}, {}};
  for (const char* clause : clauses)
    verdict.findings.push_back({clause, "node y", "1 run", "2 runs"});
  return verdict;
}

TEST(ReadExpectations, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(problem_of(two_roots), "no problem");
  EXPECT_THAT(
      problem_of(R"({"id": "a", "verdict": "fail", "clause": "ROOT-2", "reason": "r", "x": 1})"),
      HasSubstr("expectations[0].x: unknown field"));
  EXPECT_THAT(problem_of(R"({"id": "a", "verdict": "fail", "clause": "ROOT-2"})"),
              HasSubstr("'reason' is missing"));
  EXPECT_THAT(problem_of(R"({"id": "a", "verdict": "odd", "clause": "ROOT-2", "reason": "r"})"),
              HasSubstr("verdict"));
  EXPECT_THAT(problem_of(R"({"id": "a", "verdict": "fail", "clause": "ROOT-99", "reason": "r"})"),
              HasSubstr("no clause 'ROOT-99'"));
  EXPECT_THAT(problem_of(R"({"verdict": "fail", "clause": "ROOT-2", "reason": "r"})"),
              HasSubstr("one of 'id' and 'pattern'"));
  EXPECT_THAT(
      problem_of(
          R"({"id": "a", "pattern": "a", "verdict": "fail", "clause": "ROOT-2", "reason": "r"})"),
      HasSubstr("one of 'id' and 'pattern'"));
  EXPECT_THROW(
      read_expectations(parse_json(R"({"schema": "gradcts.expectations/2", "expectations": []})")),
      FormatError);
  EXPECT_THROW(read_expectations(parse_json(R"({"schema": "gradcts.expectations/1"})")),
               FormatError);
}

TEST(StaleEntries, MatchNothingOrAnotherContent) {
  const std::vector<ScenarioName> scenarios = {{"root/two", "aaaa"}};
  EXPECT_THAT(stale_entries(read(two_roots), scenarios), ::testing::IsEmpty());
  EXPECT_THAT(
      stale_entries(
          read(R"({"id": "root/gone", "verdict": "fail", "clause": "ROOT-2", "reason": "r"})"),
          scenarios),
      ::testing::ElementsAre(HasSubstr("matches no scenario")));
  EXPECT_THAT(
      stale_entries(
          read(
              R"({"id": "root/two", "hash": "bbbb", "verdict": "fail", "clause": "ROOT-2", "reason": "r"})"),
          scenarios),
      ::testing::ElementsAre(HasSubstr("bbbb")));
}

TEST(Compare, WithoutAnEntryOnlyPassAndUnsupportedAreExpected) {
  EXPECT_TRUE(compare({}, "a", {}, false).as_expected);
  EXPECT_TRUE(compare({}, "a", {VerdictKind::unsupported, {}, {}}, false).as_expected);
  EXPECT_FALSE(compare({}, "a", failing({"ROOT-2"}), false).as_expected);
  EXPECT_FALSE(compare({}, "a", {VerdictKind::crash, {}, {}}, false).as_expected);
}

TEST(Compare, AnExpectedFailureIsFineAndAnUnexpectedPassIsNot) {
  const Expectations expectations = read(two_roots);
  const Standing fails = compare(expectations, "root/two", failing({"ROOT-2", "ROOT-2"}), false);
  EXPECT_TRUE(fails.as_expected);
  EXPECT_TRUE(fails.expected_failure);
  const Standing passes = compare(expectations, "root/two", {}, false);
  EXPECT_FALSE(passes.as_expected);
  EXPECT_TRUE(passes.unexpected_pass);
  EXPECT_THAT(passes.note, HasSubstr("known"));
}

TEST(Compare, AnotherFailureThanTheExpectedOneIsASurprise) {
  const Expectations expectations = read(two_roots);
  EXPECT_FALSE(compare(expectations, "root/two", failing({"ACC-1"}), false).as_expected);
  EXPECT_FALSE(compare(expectations, "root/two", failing({"ROOT-2", "ACC-1"}), false).as_expected);
  EXPECT_FALSE(compare(expectations, "root/two", {VerdictKind::crash, {}, {}}, false).as_expected);
  EXPECT_FALSE(
      compare(expectations, "root/two", {VerdictKind::unsupported, {}, {}}, false).as_expected);
}

TEST(Compare, SeveralEntriesNameSeveralClauses) {
  const Expectations expectations = read(
      std::string(two_roots) +
      R"(, {"pattern": "root", "verdict": "fail", "clause": "ACC-1", "reason": "sums wrong"})");
  EXPECT_TRUE(compare(expectations, "root/two", failing({"ROOT-2", "ACC-1"}), false).as_expected);
  EXPECT_FALSE(compare(expectations, "root/two", failing({"ROOT-2"}), false).as_expected);
}

TEST(Compare, FlakyMayPassOrBreakItsClausesAndNothingElse) {
  const Expectations expectations = read(
      R"({"id": "root/two", "verdict": "flaky", "clause": "TLS-2", "reason": "a race"},
         {"id": "root/two", "verdict": "flaky", "clause": "LIFE-1", "reason": "the same"})");
  EXPECT_TRUE(compare(expectations, "root/two", {}, false).as_expected);
  EXPECT_TRUE(compare(expectations, "root/two", failing({"TLS-2"}), false).as_expected);
  EXPECT_TRUE(compare(expectations, "root/two", failing({"LIFE-1", "DET-1"}), true).as_expected);
  EXPECT_FALSE(compare(expectations, "root/two", failing({"TLS-2", "ACC-1"}), true).as_expected);
  EXPECT_FALSE(compare(expectations, "root/two", {VerdictKind::crash, {}, {}}, false).as_expected);
}

}  // namespace
}  // namespace gradcts
