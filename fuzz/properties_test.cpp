// What must not change when a scenario is changed in a way that does not matter. Cases without
// threads and devices: those give the same in every run (DET-1), so that a difference is a fault
// and no luck.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "conformance/adapters/reference/compiled_adapter.h"
#include "conformance/adapters/reference/reference_adapter.h"
#include "conformance/checker/checker.h"
#include "conformance/oracle/oracle.h"
#include "conformance/scenario/json.h"
#include "conformance/scenario/operations.h"
#include "conformance/scenario/validate.h"
#include "fuzz/draft.h"
#include "fuzz/generate.h"
#include "fuzz/trial.h"

namespace gradcts::fuzz {
namespace {

constexpr std::uint64_t seed = 2;

// A long run asks for more (CMakeLists.txt).
std::uint64_t case_count() {
  const char* asked = std::getenv("GRADCTS_PROPERTY_CASES");
  return asked == nullptr ? 400 : std::stoull(asked);
}

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
  const std::uint64_t cases = case_count();
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

bool is_right(const Scenario& scenario, const Outcome& outcome) {
  const Expectation expectation = expect(scenario, make_dialect("reference"));
  return check({scenario, expectation, outcome}).kind == VerdictKind::pass;
}

TEST(Property, CompiledAndReplayedPassesGiveTheSameBitsAndEvents) {
  std::uint64_t free = 0;
  for_each_case([&](const Scenario& scenario) {
    const auto eager = sorted_parts_of(run(scenario), scenario);
    for (const CompiledRun how : {CompiledRun::compiled, CompiledRun::replayed}) {
      const Outcome outcome = run_compiled(std::make_shared<const Scenario>(scenario), how);
      const auto other = sorted_parts_of(outcome, scenario);
      const auto [a, b] = std::mismatch(eager.begin(), eager.end(), other.begin(), other.end());
      if (a == eager.end() && b == other.end()) continue;
      // What an error, or a hook, sees of accumulators that are ready together is free.
      ++free;
      EXPECT_TRUE(is_right(scenario, outcome))
          << scenario.id << ": eager " << (a == eager.end() ? "ends" : *a) << ", compiled "
          << (b == other.end() ? "ends" : *b);
    }
  });
  EXPECT_LE(free, case_count() / 1000)
      << "else the judges alone tell: the same is asked of too few";
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

// ---- On the graph of a case alone, without hooks, and with passes of the test's own

struct Output {
  ValueId value;
  Shape shape;
};

// The graph of a case; its only step is the forward of all nodes.
struct Graph {
  Scenario scenario;
  std::vector<Output> roots;  // two: of the last node, and of one in the middle
  ScalarType type;            // of seeds
};

// False where a script returns constants: it is not linear then.
bool keep_linear_part_of_scripts(Scenario& s) {
  for (Node& node : s.nodes) {
    if (!node.custom) continue;
    node.custom->backward.steps.clear();
    if (!node.custom->backward.returns) continue;
    if (node.custom->backward.returns->size() != node.inputs.size()) return false;
    for (const Expression& expression : *node.custom->backward.returns) {
      const bool linear = expression.kind == Expression::Kind::combination ||
                          expression.kind == Expression::Kind::pass ||
                          expression.kind == Expression::Kind::undefined;
      if (!linear) return false;
    }
  }
  return true;
}

bool has_error(const Outcome& outcome) {
  return std::any_of(outcome.steps.begin(), outcome.steps.end(),
                     [](const StepResult& step) { return step.error.has_value(); });
}

Scenario with_steps(Scenario scenario, Steps steps) {
  for (Step& step : steps) scenario.program.push_back(std::move(step));
  number_steps(scenario);
  validate(scenario);
  return scenario;
}

// Nothing where the forward of all nodes is refused.
std::optional<Graph> graph_of(const Scenario& from) {
  Scenario s = from;
  s.configuration.strict_validation = false;
  if (!keep_linear_part_of_scripts(s)) return std::nullopt;
  for (Leaf& leaf : s.leaves) leaf.grad.reset();
  s.program.clear();
  s.hooks.clear();
  s.callbacks.clear();
  std::erase_if(s.values, [](const Value& v) {
    return v.origin == Value::Origin::pass_result || v.origin == Value::Origin::kept;
  });
  // Values that steps make come between others: only cases without them keep their numbers.
  if (s.values.size() != from.values.size()) return std::nullopt;
  s.program.push_back(step_of(ForwardStep{}));
  complete_forwards(s);
  Graph graph{std::move(s), {}, from.leaves[0].initial.type};
  const std::vector<Node>& nodes = graph.scenario.nodes;
  for (const Node* node : {&nodes.back(), &nodes[nodes.size() / 2]}) {
    graph.roots.push_back({node->outputs[0], {}});
  }
  // The shape of a root is what an engine says it is.
  const Outcome outcome = run(with_steps(
      graph.scenario, {step_of(ReadStep{{graph.roots[0].value, graph.roots[1].value}, {}})}));
  if (has_error(outcome)) return std::nullopt;
  for (std::size_t i = 0; i < graph.roots.size(); ++i) {
    const auto& value = outcome.steps.back().values[i];
    if (!value) return std::nullopt;
    graph.roots[i].shape = value->shape;
  }
  return graph;
}

Root root_of(const Graph& graph, std::size_t which, double factor = 1) {
  TensorValue seed = TensorValue::filled(graph.roots[which].shape, 0, graph.type);
  for (std::size_t i = 0; i < seed.values.size(); ++i) {
    seed.values[i] = factor * static_cast<double>(i % 3 + 2);
  }
  return {graph.roots[which].value, {seed, no_id}};
}

PassStep backward_from(std::vector<Root> roots) {
  PassStep pass;
  pass.roots = std::move(roots);
  pass.keep_graph = true;
  return pass;
}

Outcome run_with(const Graph& graph, Steps steps) {
  return run(with_steps(graph.scenario, std::move(steps)));
}

// Calls compare(graph) for each case with a graph of its own; it says whether it could compare. A
// refused pass has nothing to compare.
void for_each_graph(const std::function<bool(const Graph&)>& compare) {
  int compared = 0;
  for_each_case([&](const Scenario& scenario) {
    const auto graph = graph_of(scenario);
    if (graph && compare(*graph)) ++compared;
  });
  EXPECT_GT(compared, 10);
}

// The sign of a zero depends on the order in which a sum is formed; no other bit of these does.
Values without_signs_of_zeros(Values values) {
  for (auto& value : values) {
    if (!value) continue;
    for (double& number : value->values) number += 0.0;
  }
  return values;
}

// Whether the gradients of the leaves could be compared: where something is refused they cannot.
bool compare_leaves(const Graph& graph, const Outcome& one, const Outcome& other) {
  EXPECT_EQ(has_error(one), has_error(other)) << graph.scenario.id;
  if (has_error(one) || has_error(other)) return false;
  EXPECT_TRUE(
      same(without_signs_of_zeros(one.leaf_grads), without_signs_of_zeros(other.leaf_grads)))
      << graph.scenario.id;
  return true;
}

TEST(Property, GradReturnsWhatBackwardAccumulates) {
  for_each_graph([](const Graph& graph) {
    PassStep grad = backward_from({root_of(graph, 0)});
    grad.kind = PassStep::Kind::grad;
    grad.allow_unused = true;
    grad.inputs.emplace();
    for (const Leaf& leaf : graph.scenario.leaves) {
      if (leaf.requires_grad) grad.inputs->push_back(leaf.value);
    }
    const Outcome accumulated = run_with(graph, {step_of(backward_from({root_of(graph, 0)}))});
    const Outcome returned = run_with(graph, {step_of(std::move(grad))});
    if (has_error(accumulated) || has_error(returned)) return false;
    Values of_leaves;
    for (std::size_t i = 0; i < graph.scenario.leaves.size(); ++i) {
      if (graph.scenario.leaves[i].requires_grad) of_leaves.push_back(accumulated.leaf_grads[i]);
    }
    EXPECT_TRUE(same(of_leaves, returned.steps.back().values)) << graph.scenario.id;
    return true;
  });
}

TEST(Property, TwiceTheSeedGivesTwiceTheGradient) {
  for_each_graph([](const Graph& graph) {
    Outcome single = run_with(graph, {step_of(backward_from({root_of(graph, 0)}))});
    const Outcome twice = run_with(graph, {step_of(backward_from({root_of(graph, 0, 2)}))});
    if (has_error(single) || has_error(twice)) return false;
    for (auto& grad : single.leaf_grads) {
      if (!grad) continue;
      for (double& number : grad->values) number *= 2;
    }
    EXPECT_TRUE(same(single.leaf_grads, twice.leaf_grads)) << graph.scenario.id;
    return true;
  });
}

TEST(Property, APassMayBeSplit) {
  for_each_graph([](const Graph& graph) {
    const Step first = step_of(backward_from({root_of(graph, 0)}));
    const Step second = step_of(backward_from({root_of(graph, 1)}));
    const Step both = step_of(backward_from({root_of(graph, 0), root_of(graph, 1)}));
    return compare_leaves(graph, run_with(graph, {both}), run_with(graph, {first, second}));
  });
}

TEST(Property, PassesMayChangePlaces) {
  for_each_graph([](const Graph& graph) {
    const Step first = step_of(backward_from({root_of(graph, 0)}));
    const Step second = step_of(backward_from({root_of(graph, 1)}));
    return compare_leaves(graph, run_with(graph, {first, second}),
                          run_with(graph, {second, first}));
  });
}

TEST(Property, ManyCallersMayCallAtOnce) {
  for_each_graph([](const Graph& graph) {
    Steps passes;
    ParallelStep parallel;
    for (std::size_t i = 0; i < 4; ++i) {
      passes.push_back(step_of(backward_from({root_of(graph, i % 2)})));
      parallel.threads.push_back({"caller" + std::to_string(i), {passes.back()}});
    }
    return compare_leaves(graph, run_with(graph, std::move(passes)),
                          run_with(graph, {step_of(std::move(parallel))}));
  });
}

// Of the nodes whose inputs are made already, always the one that is declared last.
std::vector<NodeId> other_order_of(const Scenario& s) {
  std::vector<NodeId> order;
  std::vector<bool> made(s.nodes.size(), false);
  const auto is_made = [&](ValueId input) {
    const Value& value = s.values[static_cast<std::size_t>(input)];
    return value.origin != Value::Origin::node_output ||
           made[static_cast<std::size_t>(value.producer)];
  };
  while (order.size() < s.nodes.size()) {
    std::size_t next = s.nodes.size() - 1;
    while (made[next] ||
           !std::all_of(s.nodes[next].inputs.begin(), s.nodes[next].inputs.end(), is_made)) {
      --next;
    }
    made[next] = true;
    order.push_back(static_cast<NodeId>(next));
  }
  return order;
}

TEST(Property, NodesMayBeMadeInAnotherOrder) {
  for_each_graph([](const Graph& graph) {
    const bool changes =
        std::any_of(graph.scenario.nodes.begin(), graph.scenario.nodes.end(),
                    [](const Node& node) { return spec_of(node.operation).in_place; });
    if (changes) return false;
    Graph other = graph;
    std::get<ForwardStep>(other.scenario.program[0].action).nodes = other_order_of(graph.scenario);
    const Step pass = step_of(backward_from({root_of(graph, 0)}));
    return compare_leaves(graph, run_with(graph, {pass}), run_with(other, {pass}));
  });
}

}  // namespace
}  // namespace gradcts::fuzz
