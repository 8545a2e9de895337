// The oracle's own arithmetic against the golden cases, which were computed in another way in
// another language (docs/golden.md). In a run the stated values take the place of the oracle's;
// here the oracle computes them itself, and is judged as an engine is, within the same bounds.
#include <gtest/gtest.h>

#include "conformance/checker/checker.h"
#include "conformance/checker/perfect_outcome.h"
#include "conformance/oracle/oracle.h"
#include "conformance/scenario/suite.h"

namespace gradcts {
namespace {

TEST(Golden, TheOracleComputesTheStatedValues) {
  const std::vector<SuiteEntry> entries = load_suites(GRADCTS_GOLDEN);
  ASSERT_FALSE(entries.empty());
  for (const SuiteEntry& entry : entries) {
    Scenario alone = entry.scenario;
    for (Step& step : alone.program) step.expect.reset();
    const Dialect dialect = make_dialect("reference");
    const Expectation stated = expect(entry.scenario, dialect);
    const Outcome computed = perfect_outcome(alone, expect(alone, dialect));
    const Verdict verdict = check({entry.scenario, stated, computed});
    EXPECT_EQ(verdict.kind, VerdictKind::pass)
        << entry.scenario.id << ": "
        << (verdict.findings.empty() ? verdict.detail : verdict.findings[0].observed)
        << ", expected " << (verdict.findings.empty() ? "" : verdict.findings[0].expected);
  }
}

}  // namespace
}  // namespace gradcts
