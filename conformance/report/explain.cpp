#include "conformance/report/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <utility>
#include <vector>

#include "conformance/checker/describe.h"
#include "conformance/report/failure_text.h"
#include "conformance/report/graph.h"
#include "conformance/report/index.h"
#include "conformance/report/words.h"
#include "conformance/scenario/features.h"
#include "conformance/spec/spec.h"

namespace gradcts {
namespace {

constexpr std::size_t list_limit = 60;

std::string section(const char* title, const std::string& body) {
  return body.empty() ? "" : fmt::format("\n{}\n{}", title, body);
}

// ------------------------------------------------------------------------------------------------
// The scenario

std::string clauses_text(const Scenario& scenario) {
  std::string text;
  for (const std::string& id : scenario.clauses) {
    const Clause* clause = find_clause(id);
    text += clause ? fmt::format("  {} ({})\n{}", id, clause->level, wrapped(clause->text, "    "))
                   : fmt::format("  {} (unknown)\n", id);
  }
  if (!scenario.reports.empty()) {
    text += fmt::format("  from reports {}\n", fmt::join(scenario.reports, ", "));
  }
  return text;
}

std::string leaves_text(const Scenario& scenario) {
  std::string text;
  for (const Leaf& leaf : scenario.leaves) {
    text +=
        fmt::format("  {} = {}", scenario.values[index(leaf.value)].name, to_text(leaf.initial));
    if (!leaf.requires_grad) text += ", requires no gradient";
    if (leaf.grad) text += fmt::format(", .grad preset to {}", to_text(*leaf.grad));
    if (leaf.stream != no_id)
      text += ", made on stream " + scenario.streams[index(leaf.stream)].name;
    text += "\n";
  }
  return text;
}

std::string steps_text(const Scenario& scenario, const Steps& steps, const std::string& indent);

std::string bodies_text(const Scenario& scenario, const Step& step, const std::string& indent) {
  std::string text;
  if (const auto* parallel = std::get_if<ParallelStep>(&step.action)) {
    for (const auto& thread : parallel->threads) {
      text += fmt::format("{}thread {}:\n", indent, thread.name);
      text += steps_text(scenario, thread.steps, indent + "  ");
    }
    return text;
  }
  for_each_body(step, [&](const Steps& body) { text += steps_text(scenario, body, indent); });
  return text;
}

std::string steps_text(const Scenario& scenario, const Steps& steps, const std::string& indent) {
  std::string text;
  for (const Step& step : steps) {
    text += fmt::format("{}{:>2}. {}\n", indent, step.id, in_words(scenario, step));
    if (step.expect) text += fmt::format("{}    expect {}\n", indent, in_words(*step.expect));
    text += bodies_text(scenario, step, indent + "    ");
  }
  return text;
}

std::string returns_text(const Scenario& scenario, const Script& script, const char* otherwise) {
  if (!script.returns) return otherwise;
  std::vector<std::string> texts;
  for (const Expression& expression : *script.returns)
    texts.push_back(in_words(scenario, expression));
  return texts.empty() ? "returns an empty list"
                       : fmt::format("returns {}", fmt::join(texts, "; "));
}

std::string custom_nodes_text(const Scenario& scenario) {
  std::string text;
  for (const Node& node : scenario.nodes) {
    if (!node.custom) continue;
    const CustomNode& custom = *node.custom;
    text += fmt::format(
        "  {}: backward {}", node.name,
        returns_text(scenario, custom.backward, "returns the sum of its slots to every input"));
    if (custom.materialise) text += ", undefined gradients materialised";
    if (!custom.differentiable) text += ", not differentiable twice";
    text += "\n";
    text += steps_text(scenario, custom.backward.steps, "    ");
  }
  return text;
}

std::string hook_target(const Scenario& scenario, const Hook& hook) {
  if (hook.node != no_id) return fmt::format(" on node {}", node_name(scenario, hook.node));
  std::vector<std::string> names;
  for (const ValueId value : hook.values) names.push_back(scenario.values[index(value)].name);
  return names.empty() ? "" : fmt::format(" on {}", fmt::join(names, ", "));
}

std::string hooks_text(const Scenario& scenario) {
  std::string text;
  for (const Hook& hook : scenario.hooks) {
    text += fmt::format("  {}: {}{}{}, {}\n", hook.name, in_words(hook.kind),
                        hook_target(scenario, hook), hook.at_creation ? "" : ", added by a step",
                        returns_text(scenario, hook.script, "returns nothing"));
    text += steps_text(scenario, hook.script.steps, "    ");
    text += steps_text(scenario, hook.unpack_script.steps, "    ");
  }
  for (const Callback& callback : scenario.callbacks) {
    text += fmt::format("  {}: final callback\n{}", callback.name,
                        steps_text(scenario, callback.steps, "    "));
  }
  return text;
}

// ------------------------------------------------------------------------------------------------
// What the oracle expects

std::string limited(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size() && i < list_limit; ++i)
    text += fmt::format("  {}\n", lines[i]);
  if (lines.size() > list_limit) text += "  ... and more\n";
  return text;
}

std::string expected_steps(const Scenario& scenario, const Expectation& expectation) {
  std::vector<std::string> lines;
  for (const ExpectedStep& step : expectation.steps) {
    if (!step.result.error && step.result.values.empty() && step.allowed_errors.empty()) continue;
    StepResult plain = step.result;
    plain.thread = 0;
    std::string line = in_words(scenario, plain);
    for (const ErrorCategory error : step.allowed_errors) {
      if (step.result.error && error != step.result.error->category)
        line += fmt::format(", or {}", to_text(error));
    }
    if (!step.required) line += "  (may not be reached)";
    lines.push_back(line);
  }
  return limited(lines);
}

std::string expected_grads(const Scenario& scenario, const Expectation& expectation) {
  std::string text;
  for (std::size_t i = 0; i < scenario.leaves.size() && i < expectation.leaf_grads.size(); ++i) {
    const bool known = i >= expectation.leaf_grad_known.size() || expectation.leaf_grad_known[i];
    text += fmt::format("  {}.grad = {}\n", scenario.values[index(scenario.leaves[i].value)].name,
                        known ? in_words(expectation.leaf_grads[i]) : "anything");
  }
  return text;
}

std::string expected_events(const Scenario& scenario, const Expectation& expectation) {
  std::vector<std::string> lines;
  for (const ExpectedEvent& event : expectation.events) {
    lines.push_back(in_words(scenario, event.event) + (event.required ? "" : "  (may be missing)"));
  }
  return limited(lines);
}

// Whether the constraint follows from two others; not asked of large scenarios, which show a part
// anyway.
bool is_implied(const std::set<std::pair<std::int32_t, std::int32_t>>& order, std::size_t events,
                const OrderConstraint& constraint) {
  if (events > 300) return false;
  for (std::int32_t between = 0; between < static_cast<std::int32_t>(events); ++between) {
    if (order.contains({constraint.before, between}) && order.contains({between, constraint.after}))
      return true;
  }
  return false;
}

std::string expected_order(const Scenario& scenario, const Expectation& expectation) {
  std::set<std::pair<std::int32_t, std::int32_t>> order;
  for (const OrderConstraint& constraint : expectation.order)
    order.emplace(constraint.before, constraint.after);
  std::vector<std::string> lines;
  for (const OrderConstraint& constraint : expectation.order) {
    if (lines.size() > list_limit) break;
    if (is_implied(order, expectation.events.size(), constraint)) continue;
    lines.push_back(fmt::format(
        "{} before {}  ({})",
        in_words(scenario, expectation.events[index(constraint.before)].event),
        in_words(scenario, expectation.events[index(constraint.after)].event), constraint.clause));
  }
  return limited(lines);
}

std::string expectation_text(const Scenario& scenario, const Expectation& expectation) {
  if (!expectation.cannot_tell.empty()) {
    return fmt::format("\nthe oracle cannot tell what is right: {}\n", expectation.cannot_tell);
  }
  return section("what each step gives", expected_steps(scenario, expectation)) +
         section("gradients after the program", expected_grads(scenario, expectation)) +
         section("what happens", expected_events(scenario, expectation)) +
         section("in this order, where an order is demanded",
                 expected_order(scenario, expectation));
}

}  // namespace

std::string explain(const Scenario& scenario, const Expectation& expectation) {
  const auto features = required_features(scenario);
  return fmt::format("{}\n{}", scenario.id, wrapped(scenario.title, "  ")) +
         section("clauses", clauses_text(scenario)) + section("leaves", leaves_text(scenario)) +
         section("graph", indented(graph_text(scenario, 200), "  ")) +
         section("custom nodes", custom_nodes_text(scenario)) +
         section("hooks", hooks_text(scenario)) +
         section("program", steps_text(scenario, scenario.program, "  ")) +
         expectation_text(scenario, expectation) +
         section("features that an engine needs for it",
                 wrapped(fmt::format("{}", fmt::join(features, " ")), "  "));
}

std::string explain(const Scenario& scenario, const Outcome& outcome) {
  std::vector<std::string> steps, events;
  for (const StepResult& result : outcome.steps) steps.push_back(in_words(scenario, result));
  for (const Event& event : outcome.events) {
    events.push_back(fmt::format("thread {}  {}", event.thread, in_words(scenario, event)));
  }
  std::string grads;
  for (std::size_t i = 0; i < scenario.leaves.size() && i < outcome.leaf_grads.size(); ++i) {
    grads += fmt::format("  {}.grad = {}\n", scenario.values[index(scenario.leaves[i].value)].name,
                         in_words(outcome.leaf_grads[i]));
  }
  std::string state =
      fmt::format("  {} still alive\n",
                  counted(static_cast<std::size_t>(outcome.state.live_objects), "object"));
  for (const std::string& change : outcome.state.state_changes)
    state += fmt::format("  {}\n", change);
  for (const UnorderedAccess& unordered : outcome.state.unordered_accesses)
    state += fmt::format("  {}\n", describe(unordered));
  return section("results of the steps", limited(steps)) + section("trace", limited(events)) +
         section("gradients after the program", grads) + section("state after the program", state);
}

}  // namespace gradcts
