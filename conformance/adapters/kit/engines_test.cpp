// The interpreter over each engine that was built, through the C interface: small scenarios whose
// outcome is known by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/adapters/testing/loaded_adapter.h"
#include "conformance/scenario/builder.h"

namespace gradcts {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

struct Engine {
  std::string name;
  std::string path;
};

class Engines : public ::testing::TestWithParam<Engine> {
 protected:
  // Runs it and checks what holds for every scenario here.
  Outcome run(const ScenarioBuilder& builder) {
    scenario_ = builder.build();
    Outcome outcome = adapter_.run(scenario_);
    EXPECT_EQ(outcome.unsupported, "");
    EXPECT_EQ(outcome.state.live_objects, 0);
    EXPECT_THAT(outcome.state.state_changes, IsEmpty());
    return outcome;
  }

  // "enter y", "exit y", "h", "c", "begin", "end", "observe 1": in order.
  std::vector<std::string> story(const Outcome& outcome) const {
    std::vector<std::string> story;
    for (const Event& event : outcome.events) story.push_back(line(event));
    return story;
  }

  std::string line(const Event& event) const {
    const auto subject = static_cast<std::size_t>(event.subject);
    switch (event.kind) {
      case EventKind::node_enter:
        return "enter " + node_name(scenario_, event.subject);
      case EventKind::node_exit:
        return "exit " + node_name(scenario_, event.subject);
      case EventKind::callback:
        return scenario_.callbacks[subject].name;
      case EventKind::pass_begin:
        return "begin";
      case EventKind::pass_end:
        return "end";
      case EventKind::observe:
        return "observe " + std::to_string(event.number);
      default:
        return scenario_.hooks[subject].name;
    }
  }

  static std::ptrdiff_t place(const std::vector<std::string>& story, const std::string& line) {
    return std::find(story.begin(), story.end(), line) - story.begin();
  }

  // The errors of the program's and the scripts' steps, in order of their ends.
  static std::vector<ErrorCategory> errors(const Outcome& outcome) {
    std::vector<ErrorCategory> errors;
    for (const StepResult& step : outcome.steps) {
      if (step.error) errors.push_back(step.error->category);
    }
    return errors;
  }

  static const StepResult& last_step(const Outcome& outcome) { return outcome.steps.back(); }

  const ::testing::TestWithParam<Engine>::ParamType engine_ = GetParam();
  const gradcts::testing::LoadedAdapter adapter_{engine_.path};
  Scenario scenario_;
};

double number(const std::optional<TensorValue>& value) {
  return value && value->values.size() == 1 ? value->values[0] : std::nan("");
}

TEST_P(Engines, DescribesItself) {
  const Description description = adapter_.describe();
  EXPECT_EQ(adapter_.interface_version(), std::uint32_t{GRADCTS_INTERFACE_VERSION});
  EXPECT_EQ(description.name, engine_.name);
  EXPECT_NO_THROW(description.make_dialect());
}

TEST_P(Engines, GradientOfAProductByHand) {
  ScenarioBuilder b("test/product");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.leaf("y", 5);
  const ValueId z = b.mul(x, y, "z");
  b.backward({{z, 3}});
  const Outcome outcome = run(b);
  EXPECT_EQ(number(outcome.leaf_grads[0]), 15);
  EXPECT_EQ(number(outcome.leaf_grads[1]), 6);
}

TEST_P(Engines, TraceOfAChain) {
  ScenarioBuilder b("test/chain");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.scale(x, 3, "y");
  const ValueId z = b.custom({y}, {}, "z");
  b.backward({{z, 7}});
  const Outcome outcome = run(b);
  EXPECT_THAT(story(outcome), ElementsAre("begin", "enter z", "exit z", "enter y", "exit y",
                                          "enter accumulate:x", "exit accumulate:x", "end"));
  const Event& enter = outcome.events[1];
  ASSERT_THAT(enter.values, SizeIs(1));
  EXPECT_EQ(number(enter.values[0]), 7);
  EXPECT_EQ(number(outcome.leaf_grads[0]), 21);
}

TEST_P(Engines, ScriptedTraceLeavesBuiltInNodesAlone) {
  ScenarioBuilder b("test/scripted-trace");
  b.trace(Trace::scripted);
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.custom({b.scale(x, 3)}, {}, "y");
  b.backward({{y, 7}});
  EXPECT_THAT(story(run(b)), ElementsAre("begin", "enter y", "exit y", "end"));
}

TEST_P(Engines, ScriptsComputeFromSlotsAndSavedValues) {
  ScenarioBuilder b("test/saved");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.leaf("y", 5);
  CustomNode node;
  node.saves = {y};
  node.backward = returning({product(0, y, 2), undefined()});
  const ValueId z = b.custom({x, y}, node, "z");
  b.backward({{z, 3}});
  const Outcome outcome = run(b);
  EXPECT_EQ(number(outcome.leaf_grads[0]), 30);
  EXPECT_FALSE(outcome.leaf_grads[1]);
}

TEST_P(Engines, GradReturnsInOrderAndBindsResults) {
  ScenarioBuilder b("test/grad");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.leaf("y", 5);
  const ValueId z = b.mul(x, y, "z");
  const auto results = b.grad({{z, 3}}, {y, x});
  b.read({results[1], results[0]});
  const Outcome outcome = run(b);
  ASSERT_THAT(last_step(outcome).values, SizeIs(2));
  EXPECT_EQ(number(last_step(outcome).values[0]), 15);
  EXPECT_EQ(number(last_step(outcome).values[1]), 6);
  EXPECT_FALSE(outcome.leaf_grads[0]);
}

TEST_P(Engines, HooksOnValuesChangeWhatFlowsOn) {
  ScenarioBuilder b("test/tensor-hooks");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.scale(x, 3, "y");
  const ValueId z = b.scale(y, 1, "z");
  b.tensor_hook(y, returning({scaled(10)}), "first");
  b.tensor_hook(y, {}, "second");
  b.tensor_hook(x, returning({scaled(-1)}), "leaf");
  b.backward({{z, 7}});
  const Outcome outcome = run(b);
  const auto lines = story(outcome);
  EXPECT_THAT(place(lines, "first"), Lt(place(lines, "second")));
  EXPECT_THAT(place(lines, "second"), Lt(place(lines, "leaf")));
  EXPECT_EQ(number(outcome.leaf_grads[0]), -210);
}

TEST_P(Engines, HooksOnNodesRunAroundThem) {
  ScenarioBuilder b("test/node-hooks");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.custom({x}, {}, "y");
  b.node_pre_hook(b.node_of(y), returning({scaled(2)}), "pre");
  b.node_post_hook(b.node_of(y), returning({scaled(5)}), "post");
  b.backward({{y, 7}});
  const Outcome outcome = run(b);
  const auto lines = story(outcome);
  EXPECT_THAT(lines, ElementsAre("begin", "pre", "enter y", "exit y", "post", "enter accumulate:x",
                                 "exit accumulate:x", "end"));
  EXPECT_EQ(number(outcome.leaf_grads[0]), 70);
}

TEST_P(Engines, HooksAreTakenOutByAStep) {
  ScenarioBuilder b("test/remove-hook");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.scale(x, 1, "y");
  const HookId hook = b.tensor_hook(y, returning({scaled(10)}), "h");
  b.forward();
  b.remove_hook(hook);
  b.backward({{y, 7}});
  EXPECT_EQ(number(run(b).leaf_grads[0]), 7);
}

TEST_P(Engines, RetainedGradient) {
  ScenarioBuilder b("test/retain-grad");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.scale(x, 3, "y");
  const ValueId z = b.scale(y, 5, "z");
  b.retain_grad(y);
  b.backward({{z, 7}});
  b.read_grads({y});
  EXPECT_EQ(number(last_step(run(b)).values[0]), 35);
}

TEST_P(Engines, NestedPassCompletesInsideTheNode) {
  ScenarioBuilder b("test/nested");
  const ValueId x = b.leaf("x", 2);
  const ValueId inner = b.leaf("inner", 3);
  const ValueId u = b.custom({inner}, {}, "u");
  CustomNode outer;
  outer.backward.steps = b.steps([&] { b.backward({{u, 5}}); });
  const ValueId y = b.custom({x}, outer, "y");
  b.backward({{y, 7}});
  const Outcome outcome = run(b);
  EXPECT_THAT(story(outcome),
              ElementsAre("begin", "enter y", "begin", "enter u", "exit u",
                          "enter accumulate:inner", "exit accumulate:inner", "end", "exit y",
                          "enter accumulate:x", "exit accumulate:x", "end"));
  EXPECT_EQ(number(outcome.leaf_grads[1]), 5);
}

TEST_P(Engines, CallbackRunsAtTheEnd) {
  ScenarioBuilder b("test/callback");
  const ValueId x = b.leaf("x", 2);
  const CallbackId callback = b.callback({}, "c");
  CustomNode node;
  node.backward.steps = b.steps([&] { b.queue(callback); });
  const ValueId y = b.custom({x}, node, "y");
  b.backward({{y, 7}});
  EXPECT_THAT(story(run(b)), ElementsAre("begin", "enter y", "exit y", "enter accumulate:x",
                                         "exit accumulate:x", "c", "end"));
}

TEST_P(Engines, AScriptsErrorEndsThePassAlone) {
  ScenarioBuilder b("test/throw");
  const ValueId x = b.leaf("x", 2);
  CustomNode node;
  node.backward.steps = b.steps([&] { b.throw_error("spilled"); });
  const ValueId y = b.custom({x}, node, "y");
  b.backward({{y, 7}});
  b.read({x});
  const Outcome outcome = run(b);
  EXPECT_THAT(story(outcome), ElementsAre("begin", "enter y", "end"));
  EXPECT_THAT(errors(outcome), ElementsAre(ErrorCategory::user, ErrorCategory::user));
  EXPECT_EQ(outcome.steps[2].error->token, "spilled");
  EXPECT_EQ(number(last_step(outcome).values[0]), 2);
}

TEST_P(Engines, TryEndsAnErrorAndTheNodeGoesOn) {
  ScenarioBuilder b("test/try");
  const ValueId x = b.leaf("x", 2);
  CustomNode node;
  node.backward.steps = b.steps([&] { b.attempt([&] { b.throw_error("caught"); }); });
  const ValueId y = b.custom({x}, node, "y");
  b.backward({{y, 7}});
  const Outcome outcome = run(b);
  EXPECT_THAT(errors(outcome), ElementsAre(ErrorCategory::user, ErrorCategory::user));
  EXPECT_EQ(number(outcome.leaf_grads[0]), 7);
}

TEST_P(Engines, CategoriesOfTheEnginesOwnErrors) {
  ScenarioBuilder b("test/errors");
  const ValueId x = b.leaf("x", {2, 3});
  CustomNode two_gradients;
  two_gradients.backward = returning({scaled(1), scaled(1)});
  CustomNode wrong_shape;
  wrong_shape.backward = returning({constant({1, 2, 3})});
  const ValueId released = b.mul(x, x, "released");
  const ValueId counted = b.custom({x}, two_gradients, "counted");
  const ValueId shaped = b.custom({x}, wrong_shape, "shaped");
  const ValueId changed = b.mul(x, x, "changed");
  const TensorValue seed = TensorValue::vector({1, 2});
  b.backward({{counted, seed}});
  b.backward({{shaped, seed}});
  b.backward({{released, seed}});
  b.backward({{released, seed}});
  b.change(x, ChangeStep::How::add, 1);
  b.backward({{changed, seed}});
  EXPECT_THAT(errors(run(b)),
              ElementsAre(ErrorCategory::gradient_count, ErrorCategory::gradient_shape,
                          ErrorCategory::graph_released, ErrorCategory::saved_modified));
}

TEST_P(Engines, AMissingSecondDerivativeIsAnError) {
  ScenarioBuilder b("test/once");
  const ValueId x = b.leaf("x", 2);
  CustomNode node;
  node.differentiable = false;
  node.saves = {x};
  node.backward = returning({product(0, x)});
  const ValueId y = b.custom({x}, node, "y");
  PassOptions create;
  create.keep = create.create = true;
  const auto first = b.grad({{y, 3}}, {x}, create);
  b.grad({{first[0], 1}}, {x});
  const Outcome outcome = run(b);
  EXPECT_EQ(number(outcome.steps[1].values[0]), 6);
  EXPECT_THAT(errors(outcome), ElementsAre(ErrorCategory::not_differentiable));
}

TEST_P(Engines, ThreadsMeetAtABarrierInsideTheirPasses) {
  ScenarioBuilder b("test/threads");
  const BarrierId barrier = b.barrier_for(2);
  std::vector<ValueId> ends;
  for (const char* name : {"x", "y"}) {
    const ValueId leaf = b.leaf(name, 2);
    CustomNode node;
    node.backward.steps = b.steps([&] { b.barrier(barrier); });
    ends.push_back(b.custom({leaf}, node, std::string(name) + "2"));
  }
  b.forward();
  b.parallel({[&] { b.backward({{ends[0], 3}}); }, [&] { b.backward({{ends[1], 5}}); }});
  const Outcome outcome = run(b);
  EXPECT_EQ(number(outcome.leaf_grads[0]), 3);
  EXPECT_EQ(number(outcome.leaf_grads[1]), 5);
  const auto lines = story(outcome);
  EXPECT_THAT(place(lines, "enter y2"), Lt(place(lines, "exit x2")));
  EXPECT_THAT(place(lines, "enter x2"), Lt(place(lines, "exit y2")));
  std::vector<std::int16_t> threads;
  for (const Event& event : outcome.events) {
    if (event.kind == EventKind::pass_begin) threads.push_back(event.thread);
  }
  EXPECT_THAT(threads, UnorderedElementsAre(1, 2));
}

TEST_P(Engines, SettingsHoldInsideAndAreRestored) {
  ScenarioBuilder b("test/with");
  const ValueId x = b.leaf("x", 2);
  b.forward();
  WithStep off;
  off.recording = false;
  off.user_state = 4;
  b.with(off, [&] {
    b.observe(ObserveStep::What::recording);
    b.observe(ObserveStep::What::user_state);
  });
  b.observe(ObserveStep::What::recording);
  b.observe(ObserveStep::What::user_state);
  b.read({x});
  EXPECT_THAT(story(run(b)), ElementsAre("observe 0", "observe 4", "observe 1", "observe 0"));
}

// The engine keeps them by thread.
TEST_P(Engines, SavedTensorHooksAreNotClosedByAnotherThread) {
  ScenarioBuilder b("test/close");
  const BarrierId opened = b.barrier_for(2);
  const BarrierId tried = b.barrier_for(2);
  WithStep with;
  with.saved_hooks = b.saved_hook(returning({pass_on()}), {}, "saved");
  b.parallel({[&] {
                b.with(with, [&] {
                  b.barrier(opened);
                  b.barrier(tried);
                });
              },
              [&] {
                b.barrier(opened);
                b.close_hooks(with.saved_hooks);
                b.barrier(tried);
              }});
  const Outcome outcome = adapter_.run(b.build());
  if (engine_.name == "libtorch") {  // has such hooks in Python alone
    EXPECT_EQ(outcome.unsupported, "hook.saved, hook.saved.close");
  } else {
    EXPECT_THAT(errors(outcome), ElementsAre(ErrorCategory::other));
  }
}

TEST_P(Engines, KeptTensorsSeeLaterChangesThroughAliases) {
  ScenarioBuilder b("test/keep");
  const ValueId x = b.leaf("x", 2);
  ValueId kept = no_id;
  CustomNode node;
  node.backward.steps = b.steps([&] { kept = b.keep(0, Through::detached, "kept"); });
  const ValueId y = b.custom({x}, node, "y");
  b.backward({{y, 7}});
  b.change(kept, ChangeStep::How::multiply, 2);
  b.read({kept});
  const Outcome outcome = run(b);
  EXPECT_EQ(number(last_step(outcome).values[0]), 14);
  EXPECT_EQ(number(outcome.leaf_grads[0]), 7);
}

TEST_P(Engines, RepeatedForwardMakesNewNodes) {
  ScenarioBuilder b("test/repeat");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.custom({x}, {}, "y");
  b.repeat(2, [&] {
    b.forward({y});
    b.backward({{y, 7}});
  });
  const Outcome outcome = run(b);
  std::vector<std::int32_t> makings;
  for (const Event& event : outcome.events) {
    if (line(event) == "enter y") makings.push_back(event.instance);
  }
  EXPECT_THAT(makings, ElementsAre(0, 1));
  EXPECT_EQ(number(outcome.leaf_grads[0]), 14);
}

TEST_P(Engines, StepsOfAChildArePartOfTheOutcome) {
  ScenarioBuilder b("test/fork");
  const ValueId x = b.leaf("x", 2);
  b.forward();
  b.fork([&] { b.read({x}); });
  const Outcome outcome = run(b);
  ASSERT_THAT(outcome.steps, SizeIs(3));
  EXPECT_EQ(outcome.steps[1].step, 2);
  EXPECT_EQ(number(outcome.steps[1].values[0]), 2);
}

TEST_P(Engines, SparseAndStridedTensorsComeBackAsTheyWere) {
  ScenarioBuilder b("test/layouts");
  TensorValue sparse;
  sparse.layout = Layout::sparse;
  sparse.shape = {4, 2};
  sparse.coordinates = SparseCoordinates{1, {0, 3}, true};
  sparse.values = {1, 2, 3, 4};
  TensorValue columns = TensorValue::filled({2, 3}, 0);
  columns.strides = {1, 2};
  columns.values = {1, 2, 3, 4, 5, 6};
  TensorValue half = TensorValue::vector({1.5, 2}, ScalarType::float16);
  TensorValue complex = TensorValue::scalar(0, ScalarType::complex64);
  complex.values = {1, -2};
  std::vector<TensorValue> all{sparse, columns, half, complex};
  std::vector<ValueId> leaves;
  for (const TensorValue& value : all) {
    leaves.push_back(b.constant_leaf("l" + std::to_string(leaves.size()), value));
  }
  b.read(leaves);
  const Outcome outcome = run(b);
  const auto& values = last_step(outcome).values;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(same_bits(*values[i], all[i])) << to_text(*values[i]);
  }
  EXPECT_EQ(values[1]->strides, columns.strides);
}

TEST_P(Engines, WhatIsNotClaimedIsUnsupported) {
  ScenarioBuilder b("test/unsupported");
  const ValueId x = b.leaf("x", 2);
  const ValueId y = b.scale(x, 2);
  b.needs("device.cuda");
  b.backward({{y, 1}});
  const Outcome outcome = adapter_.run(b.build());
  EXPECT_EQ(outcome.unsupported, "device.cuda");
  EXPECT_THAT(outcome.steps, IsEmpty());
}

TEST_P(Engines, WhatIsNoScenarioIsRefusedInOneLine) {
  try {
    adapter_.run_text("{\"schema\": \"gradcts.scenario/1\"");
    FAIL() << "accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

std::vector<Engine> engines() {
  std::vector<Engine> engines{{"reference", GRADCTS_REFERENCE_ADAPTER}};
#ifdef GRADCTS_LIBTORCH_ADAPTER
  engines.push_back({"libtorch", GRADCTS_LIBTORCH_ADAPTER});
#endif
  return engines;
}

INSTANTIATE_TEST_SUITE_P(Built, Engines, ::testing::ValuesIn(engines()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gradcts
