// Oracle and checker over every scenario that the project has: the oracle can tell, an engine that
// does what it says passes, and one that leaves out a single required event, or any one result,
// does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "conformance/checker/checker.h"
#include "conformance/checker/perfect_outcome.h"
#include "conformance/oracle/oracle.h"
#include "conformance/scenario/suite.h"

namespace gradcts {
namespace {

constexpr const char* dialects[] = {"reference", "pytorch-1.13", "pytorch-2.x"};
constexpr std::size_t small = 200;  // events, for what is tried for each of them

std::string first_finding(const Verdict& verdict) {
  if (verdict.findings.empty()) return verdict.detail;
  const Finding& f = verdict.findings[0];
  return f.clause + ": " + f.where + ": expected " + f.expected + ", observed " + f.observed;
}

class Suites : public testing::Test {
 protected:
  static void SetUpTestSuite() { entries_ = load_suites(GRADCTS_SUITES); }
  static void TearDownTestSuite() { entries_.clear(); }
  inline static std::vector<SuiteEntry> entries_;
};

TEST_F(Suites, TheOracleCanTellAndAPerfectEnginePasses) {
  ASSERT_FALSE(entries_.empty());
  for (const SuiteEntry& entry : entries_) {
    for (const char* dialect : dialects) {
      const Expectation expectation = expect(entry.scenario, make_dialect(dialect));
      const Outcome outcome = perfect_outcome(entry.scenario, expectation);
      const Verdict verdict = check({entry.scenario, expectation, outcome});
      EXPECT_EQ(verdict.kind, VerdictKind::pass)
          << entry.scenario.id << " (" << dialect << "): " << first_finding(verdict);
    }
  }
}

// Whether another event of this kind and subject may or may not happen, and can stand in for it.
bool may_be_another(const Expectation& expectation, std::size_t index) {
  const Event& event = expectation.events[index].event;
  return std::any_of(expectation.events.begin(), expectation.events.end(),
                     [&](const ExpectedEvent& other) {
                       return !other.required && other.event.kind == event.kind &&
                              other.event.subject == event.subject;
                     });
}

TEST_F(Suites, AMissingEventOrResultFails) {
  for (const SuiteEntry& entry : entries_) {
    const Expectation expectation = expect(entry.scenario, make_dialect("reference"));
    if (std::max(expectation.events.size(), expectation.steps.size()) > small) continue;
    const Outcome right = perfect_outcome(entry.scenario, expectation);
    for (std::size_t i = 0; i < expectation.events.size(); ++i) {
      if (!expectation.events[i].required || may_be_another(expectation, i)) continue;
      Outcome outcome = right;
      outcome.events.erase(outcome.events.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_EQ(check({entry.scenario, expectation, outcome}).kind, VerdictKind::fail)
          << entry.scenario.id << ", event " << i;
    }
    for (std::size_t i = 0; i < expectation.steps.size(); ++i) {
      if (!expectation.steps[i].required) continue;
      Outcome outcome = right;
      outcome.steps.erase(outcome.steps.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_EQ(check({entry.scenario, expectation, outcome}).kind, VerdictKind::fail)
          << entry.scenario.id << ", result " << i;
    }
  }
}

// What no scenario can show yet, and why. The compiled engine has suites of its own.
const std::map<std::string_view, std::string_view> not_shown{
    {"B105", "what happens after main() is a matter of processes, not of passes"},
};

TEST_F(Suites, EveryClauseAndReportHasAScenario) {
  std::set<std::string> clauses, reports;
  for (const SuiteEntry& entry : entries_) {
    clauses.insert(entry.scenario.clauses.begin(), entry.scenario.clauses.end());
    reports.insert(entry.scenario.reports.begin(), entry.scenario.reports.end());
  }
  const auto check = [](const std::set<std::string>& shown, const std::string& id) {
    const bool excused = not_shown.contains(id);
    EXPECT_NE(shown.contains(id), excused)
        << id
        << (excused ? " has a scenario now; strike it off the list"
                    : " has no scenario and no reason why");
  };
  for (const Clause& clause : all_clauses()) {
    if (clause.area == "COMP") continue;
    check(clauses, clause.id);
    for (const std::string& report : clause.reports) check(reports, report);
  }
}

}  // namespace
}  // namespace gradcts
