#include "conformance/spec/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <stdexcept>

namespace gradcts {
namespace {

using ::testing::ElementsAre;

TEST(Clauses, AreNumberedWithoutGapsWithinTheirAreas) {
  std::string area;
  int number = 0;
  for (const Clause& clause : all_clauses()) {
    number = clause.area == area ? number + 1 : 1;
    area = clause.area;
    EXPECT_EQ(clause.id, area + "-" + std::to_string(number));
  }
}

TEST(Clauses, StandInTheOrderOfTheAreas) {
  std::vector<std::string> areas;
  for (const Clause& clause : all_clauses()) {
    if (areas.empty() || areas.back() != clause.area) areas.push_back(clause.area);
  }
  std::vector<std::string> expected;
  for (const Area& area : all_areas()) {
    expected.push_back(area.id);
    EXPECT_FALSE(area.title.empty());
  }
  EXPECT_EQ(areas, expected);
  EXPECT_EQ(areas.size(), 25U);
  EXPECT_EQ(all_clauses().size(), 142U);
}

TEST(Clauses, AreWellFormed) {
  const std::regex report("[BM][0-9]+");
  for (const Clause& clause : all_clauses()) {
    EXPECT_TRUE(clause.level == "MUST" || clause.level == "SHOULD") << clause.id;
    EXPECT_TRUE(clause.text.ends_with(".")) << clause.id;
    EXPECT_NE(clause.alternatives.size(), 1U) << clause.id;
    for (const std::string& id : clause.reports) {
      EXPECT_TRUE(std::regex_match(id, report)) << clause.id;
    }
  }
}

// The lint of both directions is conformance/mutants/record.py; here that what is compiled in is
// whole.
TEST(Proofs, NameClauses) {
  EXPECT_FALSE(all_proofs().empty());
  for (const Proof& proof : all_proofs()) {
    const Clause* clause = find_clause(proof.clause);
    ASSERT_NE(clause, nullptr) << proof.mutant;
    EXPECT_EQ(clause->unproven, "") << proof.mutant;
    EXPECT_FALSE(proof.scenario.empty()) << proof.mutant;
  }
}

TEST(Clauses, AreFoundById) {
  const Clause* clause = find_clause("ROOT-2");
  ASSERT_NE(clause, nullptr);
  EXPECT_THAT(clause->reports, ElementsAre("B026", "B031"));
  EXPECT_EQ(find_clause("ROOT-99"), nullptr);
  EXPECT_EQ(find_clause(""), nullptr);
}

TEST(Clauses, WithAlternatives) {
  std::vector<std::string> ids;
  for (const Clause& clause : all_clauses()) {
    if (!clause.alternatives.empty()) ids.push_back(clause.id);
  }
  EXPECT_THAT(ids, ElementsAre("ACC-5", "VAL-3", "PRUNE-5", "HOOK-1", "REENT-2", "DEV-2", "DEV-3",
                               "STREAM-5", "ERR-5", "THREAD-2"));
}

TEST(Dialects, TheReferenceFollowsTheFirstAlternatives) {
  ASSERT_EQ(all_dialects()[0].name, "reference");
  for (const Clause& clause : all_clauses()) {
    if (clause.alternatives.empty()) continue;
    EXPECT_TRUE(all_dialects()[0].follows(clause.id, clause.alternatives[0])) << clause.id;
  }
}

TEST(Dialects, ChooseForEveryClauseWithAlternatives) {
  for (const Dialect& dialect : all_dialects()) {
    EXPECT_EQ(dialect.choices.size(), 10U) << dialect.name;
  }
}

TEST(Dialects, GenerationsDiffer) {
  const Dialect older = make_dialect("pytorch-1.13");
  const Dialect newer = make_dialect("pytorch-2.x");
  EXPECT_TRUE(older.follows("HOOK-1", "capture-first"));
  EXPECT_TRUE(newer.follows("HOOK-1", "hooks-first"));
  EXPECT_TRUE(older.follows("DEV-3", "first-buffer"));
  EXPECT_TRUE(newer.follows("DEV-3", "metadata"));
  EXPECT_FALSE(older.follows("ROOT-1", "anything"));
}

TEST(Dialects, SingleChoicesAreReplaced) {
  const Dialect dialect = make_dialect("reference", {{"ACC-5", "arrival"}});
  EXPECT_TRUE(dialect.follows("ACC-5", "arrival"));
  EXPECT_TRUE(dialect.follows("HOOK-1", "hooks-first"));
}

std::string refusal(std::string_view name,
                    const std::map<std::string, std::string, std::less<>>& overrides) {
  try {
    make_dialect(name, overrides);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Dialects, UnknownNamesAreRefused) {
  EXPECT_EQ(refusal("pytorch", {}),
            "there is no dialect 'pytorch'; expected one of: reference, pytorch-1.13, pytorch-2.x");
  EXPECT_EQ(refusal("reference", {{"ACC-55", "x"}}),
            "there is no clause 'ACC-55'; did you mean 'ACC-5'?");
  EXPECT_EQ(refusal("reference", {{"ACC-1", "x"}}),
            "the clause ACC-1 has no alternatives to choose from");
  EXPECT_EQ(refusal("reference", {{"ACC-5", "random"}}),
            "the clause ACC-5 has no alternative 'random'; expected ordered or arrival");
}

}  // namespace
}  // namespace gradcts
