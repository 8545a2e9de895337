// The lies are lies: each differs from the truth in its own way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/adapters/testing/loaded_adapter.h"
#include "conformance/scenario/builder.h"

namespace gradcts {
namespace {

using gradcts::testing::LoadedAdapter;

LoadedAdapter liar(const std::string& name) {
  return LoadedAdapter(std::string(GRADCTS_LYING_ADAPTERS) + "/libgradcts-lying-" + name + ".so");
}

// x = 2, y = 5; the gradients of 3 * x * y are 15 and 6.
Scenario product(const std::string& id = "test/product", double seed = 3) {
  ScenarioBuilder b(id);
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.leaf("y", 5);
  b.backward({{b.mul(x, y), seed}});
  b.read_grads({x, y});
  return b.build();
}

// The gradients as they are read, those of the leaves, and those that are undefined as -1.
std::vector<double> gradients(const Outcome& outcome) {
  std::vector<double> numbers;
  for (const auto& value : outcome.steps.back().values) {
    numbers.push_back(value ? value->values[0] : -1);
  }
  for (const auto& value : outcome.leaf_grads) numbers.push_back(value ? value->values[0] : -1);
  return numbers;
}

using ::testing::ElementsAre;

TEST(Liars, NumbersThatAreWrong) {
  EXPECT_THAT(gradients(liar("always-wrong").run(product())), ElementsAre(16, 7, 16, 7));
  EXPECT_THAT(gradients(liar("counts-twice").run(product())), ElementsAre(30, 12, 30, 12));
  EXPECT_THAT(gradients(liar("drops-an-edge").run(product())), ElementsAre(15, -1, 15, -1));
}

TEST(Liars, HarmlessNoiseChangesNothing) {
  EXPECT_THAT(gradients(liar("prints").run(product())), ElementsAre(15, 6, 15, 6));
}

TEST(Liars, WhatIsKeptAlive) {
  EXPECT_EQ(liar("leaks").run(product()).state.live_objects, 1);
}

TEST(Liars, AnswersThatAreNone) {
  EXPECT_THROW(liar("speaks-garbage").run(product()), FormatError);
  EXPECT_NE(liar("wrong-version").interface_version(), std::uint32_t{GRADCTS_INTERFACE_VERSION});
}

TEST(Liars, TheAnswerBefore) {
  const LoadedAdapter adapter = liar("answers-another");
  adapter.run(product("test/first", 3));
  EXPECT_THAT([&] { adapter.run(product("test/second", 4)); },
              ::testing::ThrowsMessage<FormatError>(::testing::HasSubstr(
                  "the answer is for 'test/first', the request was 'test/second'")));
}

TEST(Liars, AClaimThatIsNotKept) {
  ScenarioBuilder b("test/own-version");
  const ValueId x = b.leaf("x", 2);
  b.change(x, ChangeStep::How::add, 1, Through::data);
  const Outcome outcome = liar("claims-too-much").run(b.build());
  EXPECT_EQ(outcome.unsupported, "");
  ASSERT_TRUE(outcome.steps.back().error);
  EXPECT_EQ(outcome.steps.back().error->category, ErrorCategory::other);
}

TEST(LiarsDeath, DiesOfASegmentationFault) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(liar("dies").run(product()), ::testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace gradcts
