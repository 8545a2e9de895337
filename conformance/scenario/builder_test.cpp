#include "conformance/scenario/builder.h"

#include <gtest/gtest.h>

#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

TEST(Builder, TheExampleOfItsHeader) {
  ScenarioBuilder b("root/twice");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.mul(x, x);
  b.backward({{y, 3}});
  b.read_grads({x});
  b.expect({12});
  const Json json = write_scenario(b.build());
  EXPECT_EQ(json["nodes"].dump(), R"([{"name":"mul1","op":"mul","inputs":["x","x"]}])");
  EXPECT_EQ(json["program"].dump(),
            R"([{"do":"forward"},{"do":"backward","roots":[{"value":"mul1","seed":3}]},)"
            R"({"do":"read","grads":["x"],"expect":{"values":[12]}}])");
}

TEST(Builder, GivesEachThingANameOfItsOwn) {
  ScenarioBuilder b("a/b");
  const ValueId x = b.leaf("x", 2);
  b.add(x, x);
  b.add(x, x);
  const Scenario s = b.build();
  EXPECT_NE(s.nodes[0].name, s.nodes[1].name);
}

TEST(Builder, AccumulatorsAreNumberedAfterAllNodes) {
  ScenarioBuilder b("a/b");
  const ValueId x = b.leaf("x", 2);
  b.node_pre_hook(b.accumulator(x));
  b.clone(x);
  const Scenario s = b.build();
  EXPECT_EQ(s.hooks[0].node, 1);
  EXPECT_EQ(node_name(s, s.hooks[0].node), "accumulate:x");
}

TEST(Builder, BuildsAgainAfterMoreSteps) {
  ScenarioBuilder b("a/b");
  const ValueId y = b.clone(b.leaf("x", 2));
  const StepId before = b.build().step_count;
  b.backward({{y, 1}});
  EXPECT_EQ(b.build().step_count, before + 1);
}

TEST(Builder, KeepsSeveralOutputsApart) {
  ScenarioBuilder b("a/b");
  const auto parts = b.unbind(2, b.leaf("x", {1, 2}), 0, "u");
  const Scenario s = b.build();
  EXPECT_EQ(s.values[static_cast<std::size_t>(parts[1])].name, "u.1");
  EXPECT_EQ(s.values[static_cast<std::size_t>(parts[1])].index, 1);
  EXPECT_EQ(b.node_of(parts[1]), 0);
}

TEST(Steps, AreNumberedInPreorder) {
  ScenarioBuilder b("a/b");
  const ValueId x = b.leaf("x", 2);
  b.tensor_hook(x, {b.steps([&] { b.observe(ObserveStep::What::depth); }), {}});
  b.attempt([&] { b.forward(); });
  b.parallel({[&] { b.read({x}); }, [&] { b.read({x}); }});
  const Scenario s = b.build();
  std::vector<std::string> places;
  for_each_step(s, [&](const Step& step) {
    EXPECT_EQ(step.id, static_cast<StepId>(places.size()));
    places.push_back(std::string(verb_of(step)) + " " + step_path(s, step.id));
  });
  EXPECT_EQ(places, (std::vector<std::string>{
                        "try program[0]", "forward program[0].steps[0]", "parallel program[1]",
                        "read program[1].threads[0].steps[0]",
                        "read program[1].threads[1].steps[0]", "observe hooks[0].steps[0]"}));
  EXPECT_EQ(s.step_count, 6);
}

TEST(Steps, ThatMakeValuesAreTheirProducers) {
  ScenarioBuilder b("a/b");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.clone(x);
  b.forward();
  const ValueId g = b.grad({{y, 1}}, {x, x})[1];
  const Scenario s = b.build();
  EXPECT_EQ(s.values[static_cast<std::size_t>(g)].producer, 1);
  EXPECT_EQ(s.values[static_cast<std::size_t>(g)].index, 1);
}

}  // namespace
}  // namespace gradcts
