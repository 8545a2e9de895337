// What must not change when a scenario is changed in a way that does not matter. Cases without
// threads and devices: those give the same in every run (DET-1), so that a difference is a fault
// and no luck.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "conformance/adapters/reference/compiled_adapter.h"
#include "conformance/adapters/reference/reference_adapter.h"
#include "conformance/scenario/json.h"
#include "conformance/scenario/validate.h"
#include "fuzz/generate.h"
#include "fuzz/trial.h"

namespace gradcts::fuzz {
namespace {

constexpr std::uint64_t seed = 2;
constexpr std::uint64_t cases = 400;

bool is_sequential(const Scenario& s) {
  bool sequential = true;
  for (const Leaf& leaf : s.leaves) sequential &= leaf.initial.device.type == DeviceType::cpu;
  for (const Node& node : s.nodes) sequential &= node.operation != Operation::to_device;
  for_each_step(s, [&](const Step& step) {
    sequential &= !std::holds_alternative<ParallelStep>(step.action);
  });
  return sequential;
}

// Calls use(scenario) for each sequential case; there must be many.
void for_each_case(const std::function<void(const Scenario&)>& use) {
  std::uint64_t used = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Scenario scenario = random_scenario(seed, i);
    if (!is_sequential(scenario)) continue;
    ++used;
    use(scenario);
  }
  EXPECT_GT(used, cases / 4);
}

Outcome run(const Scenario& scenario) {
  return run_on_reference(std::make_shared<const Scenario>(scenario));
}

using Values = std::vector<std::optional<TensorValue>>;

bool same(const Values& a, const Values& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].has_value() != b[i].has_value()) return false;
    if (a[i] && !same_bits(*a[i], *b[i])) return false;
  }
  return true;
}

TEST(Property, TheEngineAgreesWithTheOracle) {
  const auto engine = open_engine("reference");
  for_each_case([&](const Scenario& scenario) {
    const Finding finding = engine->run(scenario);
    EXPECT_NE(finding.kind, Finding::Kind::fail)
        << scenario.id << ": " << finding.clause << ": " << finding.detail;
  });
}

// All of an outcome that is the same in every run.
std::string text_of(Outcome outcome, const Scenario& scenario) {
  outcome.state.engine_threads.reset();
  // Which idle thread of its pool an engine takes beyond the nesting limit is free.
  for (StepResult& step : outcome.steps) step.thread = std::min<std::int16_t>(step.thread, 1);
  for (Event& event : outcome.events) event.thread = std::min<std::int16_t>(event.thread, 1);
  return write_outcome(outcome, scenario).dump();
}

TEST(Property, TwiceTheSameGivesTheSameBitsAndTrace) {
  for_each_case([](const Scenario& scenario) {
    EXPECT_EQ(text_of(run(scenario), scenario), text_of(run(scenario), scenario)) << scenario.id;
  });
}

// Some cases stop their engine, or set its limits: the next case finds the usual one as it was.
TEST(Property, WhatRanBeforeDoesNotMatter) {
  std::vector<std::pair<Scenario, std::string>> runs;
  for_each_case([&](const Scenario& scenario) {
    runs.emplace_back(scenario, text_of(run(scenario), scenario));
  });
  std::reverse(runs.begin(), runs.end());
  for (const auto& [scenario, text] : runs) {
    EXPECT_TRUE(text_of(run(scenario), scenario) == text) << scenario.id;
  }
}

// Leaf accumulators that are ready together run in any order (ORDER-1): what happened, not when.
std::vector<std::string> sorted_parts_of(Outcome outcome, const Scenario& scenario) {
  for (StepResult& step : outcome.steps) step.occurrence = 0;
  for (Event& event : outcome.events) event.instance = 0;
  const Json json = Json::parse(text_of(std::move(outcome), scenario));
  std::vector<std::string> parts;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_array()) parts.push_back(name + ": " + value.dump());
    if (!value.is_array()) continue;
    for (const Json& part : value) parts.push_back(name + ": " + part.dump());
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

TEST(Property, CompiledAndReplayedPassesGiveTheSameBitsAndEvents) {
  for_each_case([](const Scenario& scenario) {
    const auto eager = sorted_parts_of(run(scenario), scenario);
    for (const CompiledRun how : {CompiledRun::compiled, CompiledRun::replayed}) {
      const auto copy = std::make_shared<const Scenario>(scenario);
      const auto other = sorted_parts_of(run_compiled(copy, how), scenario);
      const auto [a, b] = std::mismatch(eager.begin(), eager.end(), other.begin(), other.end());
      if (a == eager.end() && b == other.end()) continue;
      ADD_FAILURE() << scenario.id << ": eager " << (a == eager.end() ? "ends" : *a)
                    << ", compiled " << (b == other.end() ? "ends" : *b);
    }
  });
}

TEST(Property, NamesDoNotMatter) {
  for_each_case([](const Scenario& scenario) {
    Scenario renamed = scenario;
    for (Value& value : renamed.values) value.name = "v." + value.name;
    for (Node& node : renamed.nodes) node.name = "w." + node.name;
    for (Hook& hook : renamed.hooks) hook.name = "a." + hook.name;
    validate(renamed);
    const Outcome a = run(scenario);
    const Outcome b = run(renamed);
    EXPECT_TRUE(same(a.leaf_grads, b.leaf_grads)) << scenario.id;
    EXPECT_EQ(a.events.size(), b.events.size()) << scenario.id;
  });
}

TEST(Property, ADeadBranchDoesNotMatter) {
  for_each_case([](const Scenario& scenario) {
    Scenario more = scenario;
    const auto node = static_cast<NodeId>(more.nodes.size());
    const auto value = static_cast<ValueId>(more.values.size());
    more.values.push_back({"dead", Value::Origin::node_output, node, 0});
    Node dead;
    dead.name = "dead";
    dead.inputs = {more.leaves[0].value, more.leaves[0].value};
    dead.outputs = {value};
    dead.custom.emplace();
    for (Hook& hook : more.hooks) {  // accumulators come after the nodes
      if (is_accumulator(scenario, hook.node)) ++hook.node;
    }
    for_each_step(more, [&](Step& step) {
      auto* observe = std::get_if<ObserveStep>(&step.action);
      if (observe != nullptr && is_accumulator(scenario, observe->node)) ++observe->node;
    });
    more.nodes.push_back(std::move(dead));
    Step forward;
    forward.action = ForwardStep{{node}};
    more.program.insert(more.program.begin(), std::move(forward));
    number_steps(more);
    validate(more);
    EXPECT_TRUE(same(run(scenario).leaf_grads, run(more).leaf_grads)) << scenario.id;
  });
}

TEST(Property, AnotherThreadMayCall) {
  for_each_case([](const Scenario& scenario) {
    Scenario moved = scenario;
    ParallelStep parallel;
    parallel.threads.push_back({"caller", std::move(moved.program)});
    moved.program.clear();
    Step step;
    step.action = std::move(parallel);
    moved.program.push_back(std::move(step));
    number_steps(moved);
    validate(moved);
    EXPECT_TRUE(same(run(scenario).leaf_grads, run(moved).leaf_grads)) << scenario.id;
  });
}

// ---- On the graph of a case alone, without hooks, and with one pass

struct OnePass {
  Scenario scenario;
  ValueId root = no_id;
  Shape shape;
};

// The graph of a case whose forwards run; a script that returns constants is not linear.
std::optional<OnePass> graph_alone(const Scenario& from) {
  Scenario s = from;
  s.configuration.strict_validation = false;
  for (Node& node : s.nodes) {
    if (!node.custom) continue;
    node.custom->backward.steps.clear();
    if (!node.custom->backward.returns) continue;
    if (node.custom->backward.returns->size() != node.inputs.size()) return std::nullopt;
    for (const Expression& expression : *node.custom->backward.returns) {
      const bool linear = expression.kind == Expression::Kind::combination ||
                          expression.kind == Expression::Kind::pass ||
                          expression.kind == Expression::Kind::undefined;
      if (!linear) return std::nullopt;
    }
  }
  for (Leaf& leaf : s.leaves) leaf.grad.reset();
  s.program.clear();
  s.hooks.clear();
  s.callbacks.clear();
  std::erase_if(s.values, [](const Value& v) {
    return v.origin == Value::Origin::pass_result || v.origin == Value::Origin::kept;
  });
  // Values that steps make come between others: only cases without them keep their numbers.
  if (s.values.size() != from.values.size()) return std::nullopt;
  Step forward;
  forward.action = ForwardStep{};
  s.program.push_back(std::move(forward));
  complete_forwards(s);
  number_steps(s);
  OnePass one{std::move(s), no_id, {}};
  // The shape of the root is what an engine says it is.
  one.root = one.scenario.nodes.back().outputs[0];
  Scenario look = one.scenario;
  Step read;
  read.action = ReadStep{{one.root}, {}};
  look.program.push_back(std::move(read));
  number_steps(look);
  validate(look);
  const Outcome outcome = run(look);
  if (outcome.steps[0].error || !outcome.steps.back().values[0]) return std::nullopt;
  one.shape = outcome.steps.back().values[0]->shape;
  return one;
}

Scenario with_pass(const OnePass& one, PassStep::Kind kind, double factor, ScalarType type) {
  Scenario s = one.scenario;
  PassStep pass;
  pass.kind = kind;
  TensorValue given = TensorValue::filled(one.shape, 0, type);
  for (std::size_t i = 0; i < given.values.size(); ++i) {
    given.values[i] = factor * static_cast<double>(i % 3 + 2);
  }
  pass.roots = {{one.root, {given, no_id}}};
  if (kind == PassStep::Kind::grad) {
    pass.allow_unused = true;
    pass.inputs.emplace();
    for (const Leaf& leaf : s.leaves) {
      if (leaf.requires_grad) pass.inputs->push_back(leaf.value);
    }
  }
  Step step;
  step.action = std::move(pass);
  s.program.push_back(std::move(step));
  number_steps(s);
  validate(s);
  return s;
}

TEST(Property, GradReturnsWhatBackwardAccumulates) {
  int compared = 0;
  for_each_case([&](const Scenario& scenario) {
    const auto one = graph_alone(scenario);
    if (!one) return;
    const ScalarType type = scenario.leaves[0].initial.type;
    const Outcome backward = run(with_pass(*one, PassStep::Kind::backward, 1, type));
    const Outcome grad = run(with_pass(*one, PassStep::Kind::grad, 1, type));
    if (backward.steps.back().error || grad.steps.back().error) return;
    Values accumulated;
    for (std::size_t i = 0; i < scenario.leaves.size(); ++i) {
      if (scenario.leaves[i].requires_grad) accumulated.push_back(backward.leaf_grads[i]);
    }
    EXPECT_TRUE(same(accumulated, grad.steps.back().values)) << scenario.id;
    ++compared;
  });
  EXPECT_GT(compared, 10);
}

TEST(Property, TwiceTheSeedGivesTwiceTheGradient) {
  int compared = 0;
  for_each_case([&](const Scenario& scenario) {
    const auto one = graph_alone(scenario);
    if (!one) return;
    const ScalarType type = scenario.leaves[0].initial.type;
    Outcome single = run(with_pass(*one, PassStep::Kind::backward, 1, type));
    const Outcome twice = run(with_pass(*one, PassStep::Kind::backward, 2, type));
    if (single.steps.back().error || twice.steps.back().error) return;
    for (auto& grad : single.leaf_grads) {
      if (!grad) continue;
      for (double& number : grad->values) number *= 2;
    }
    EXPECT_TRUE(same(single.leaf_grads, twice.leaf_grads)) << scenario.id;
    ++compared;
  });
  EXPECT_GT(compared, 10);
}

}  // namespace
}  // namespace gradcts::fuzz
