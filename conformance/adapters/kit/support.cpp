#include "conformance/adapters/kit/support.h"

#include <algorithm>
#include <utility>

#include "conformance/scenario/features.h"
#include "conformance/scenario/json.h"

namespace gradcts::kit {

std::vector<bool> nodes_that_are_named(const Scenario& scenario) {
  std::vector<bool> named(scenario.nodes.size() + scenario.leaves.size());
  auto name = [&](NodeId node) {
    if (node != no_id) named[static_cast<std::size_t>(node)] = true;
  };
  for (const Hook& hook : scenario.hooks) name(hook.node);
  for_each_step(scenario, [&](const Step& step) {
    if (const auto* observe = std::get_if<ObserveStep>(&step.action)) name(observe->node);
    if (const auto* redirect = std::get_if<RedirectStep>(&step.action)) name(redirect->node);
  });
  return named;
}

std::vector<SavedValue> saved_values(const Node& node) {
  std::vector<SavedValue> saved;
  std::size_t elsewhere = 0;
  for (const ValueId id : node.custom->saves) {
    const auto input = std::find(node.inputs.begin(), node.inputs.end(), id);
    const auto output = std::find(node.outputs.begin(), node.outputs.end(), id);
    if (input != node.inputs.end()) {
      const auto index = static_cast<std::size_t>(input - node.inputs.begin());
      saved.push_back({SavedValue::From::input, index});
    } else if (output != node.outputs.end()) {
      const auto index = static_cast<std::size_t>(output - node.outputs.begin());
      saved.push_back({SavedValue::From::output, index});
    } else {
      saved.push_back({SavedValue::From::elsewhere, elsewhere++});
    }
  }
  return saved;
}

std::vector<ValueId> values_with_grad(const Scenario& scenario) {
  std::vector<ValueId> values;
  for (const Hook& hook : scenario.hooks) {
    if (hook.kind == HookKind::retain_grad) values.push_back(hook.values[0]);
  }
  for_each_step(scenario, [&](const Step& step) {
    const auto* pass = std::get_if<PassStep>(&step.action);
    if (!pass || !pass->inputs || pass->kind != PassStep::Kind::backward) return;
    values.insert(values.end(), pass->inputs->begin(), pass->inputs->end());
  });
  return values;
}

namespace {

template <typename Number>
void compare(std::vector<std::string>& lines, const char* what, Number before, Number after) {
  if (before == after) return;
  lines.push_back(std::string(what) + " was " + std::to_string(before) + " before the pass and " +
                  std::to_string(after) + " after it");
}

}  // namespace

std::vector<std::string> differences(const ThreadState& before, const ThreadState& after) {
  std::vector<std::string> lines;
  compare(lines, "recording", before.recording, after.recording);
  compare(lines, "anomaly", before.anomaly, after.anomaly);
  compare(lines, "inside_pass", before.inside_pass, after.inside_pass);
  compare(lines, "user_state", before.user_state, after.user_state);
  compare(lines, "depth", before.depth, after.depth);
  compare(lines, "device", before.device, after.device);
  compare(lines, "stream", before.stream, after.stream);
  return lines;
}

EventKind event_of(HookKind kind) {
  switch (kind) {
    case HookKind::tensor:
      return EventKind::tensor_hook;
    case HookKind::node_pre:
      return EventKind::node_pre_hook;
    case HookKind::node_post:
      return EventKind::node_post_hook;
    case HookKind::post_accumulate:
      return EventKind::post_accumulate_hook;
    case HookKind::capture:
      return EventKind::capture_hook;
    case HookKind::multi:
      return EventKind::multi_hook;
    case HookKind::saved:
      return EventKind::pack;
    case HookKind::retain_grad:
      break;  // has no script and so no event
  }
  return EventKind::tensor_hook;
}

std::string missing_features_text(const Scenario& scenario, const Description& description) {
  const std::vector<std::string> missing =
      missing_features(required_features(scenario), description.features);
  std::string text;
  for (const std::string& feature : missing) text += (text.empty() ? "" : ", ") + feature;
  return text;
}

std::string steps_as_text(std::vector<StepResult> steps, const Scenario& scenario) {
  Outcome outcome;
  outcome.steps = std::move(steps);
  outcome.leaf_grads.resize(scenario.leaves.size());
  return write_outcome(outcome, scenario).dump();
}

std::vector<StepResult> steps_from_text(std::string_view text, const Scenario& scenario) {
  return read_outcome(parse_json(text), scenario).steps;
}

}  // namespace gradcts::kit
