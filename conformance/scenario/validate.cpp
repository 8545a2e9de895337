#include "conformance/scenario/validate.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/scenario/check_tensor.h"
#include "conformance/scenario/features.h"
#include "conformance/scenario/json.h"
#include "conformance/scenario/path.h"
#include "conformance/scenario/validate_parts.h"

namespace gradcts {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name(std::string_view name) {
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
         });
}

// Lower-case words with '/' between them.
bool is_id(std::string_view id) {
  bool at_start = true;
  for (const char c : id) {
    const bool plain = (c >= 'a' && c <= 'z') || is_digit(c);
    const bool inner = plain || c == '-' || c == '_' || c == '.';
    if (c == '/' ? at_start : !(at_start ? plain : inner)) return false;
    at_start = c == '/';
  }
  return !id.empty() && !at_start;
}

// Where a list of steps stands, and what its steps may refer to.
struct Scope {
  enum class Owner { program, node, hook, callback };
  Owner owner = Owner::program;
  std::int64_t slots = 0;     // how many tensors the script was given
  bool knows_needed = false;  // whether "needed" can be observed here
};

class Validator {
 public:
  explicit Validator(const Scenario& scenario) : s_(scenario) {}

  void run();

 private:
  void check_header();
  void check_resources();
  void check_values();
  std::size_t count_step_values() const;
  void check_leaves();
  void check_preset(ValueId leaf, const TensorValue& grad, const Path& path);
  void check_nodes();
  void check_attributes(const Node& node, const Path& path);
  void check_custom(const Node& node, const Path& path);
  void check_hooks();
  void check_hook_target(const Hook& hook, const Path& path);
  void check_hook_returns(const Hook& hook, const Path& path);
  std::int64_t slots_of(const Hook& hook) const;
  void check_names();
  void check_cycles();
  void check_every_node_runs();

  void check_expressions(const std::vector<Expression>& expressions, const Path& path,
                         std::int64_t slots, const std::vector<ValueId>* may_multiply,
                         bool may_pool);
  void check_expression(const Expression& expression, const Path& path, std::int64_t slots,
                        const std::vector<ValueId>* may_multiply, bool may_pool);

  void check_steps(const Steps& steps, const Path& path, const Scope& scope);
  void check_captured(const WithStep& step, const Path& path, const Scope& scope);
  void check_expectation(const Step& step, const Path& path);
  void check(const ForwardStep& step, const Path& path, const Scope& scope);
  void check(const PassStep& step, const Path& path, const Scope& scope);
  void check(const SetGradStep& step, const Path& path, const Scope& scope);
  void check(const ReadStep& step, const Path& path, const Scope& scope);
  void check(const ChangeStep& step, const Path& path, const Scope& scope);
  void check(const KeepStep& step, const Path& path, const Scope& scope);
  void check(const DropStep& step, const Path& path, const Scope& scope);
  void check(const RequiresGradStep& step, const Path& path, const Scope& scope);
  void check(const WithStep& step, const Path& path, const Scope& scope);
  void check(const TryStep& step, const Path& path, const Scope& scope);
  void check(const ParallelStep& step, const Path& path, const Scope& scope);
  void check(const RepeatStep& step, const Path& path, const Scope& scope);
  void check(const BarrierStep& step, const Path& path, const Scope& scope);
  void check(const LockStep& step, const Path& path, const Scope& scope);
  void check(const ThrowStep& step, const Path& path, const Scope& scope);
  void check(const QueueCallbackStep& step, const Path& path, const Scope& scope);
  void check(const HookStep& step, const Path& path, const Scope& scope);
  void check(const ObserveStep& step, const Path& path, const Scope& scope);
  void check(const EngineStep& step, const Path& path, const Scope& scope);
  void check(const ForkStep& step, const Path& path, const Scope& scope);
  void check(const StreamStep& step, const Path& path, const Scope& scope);
  void check(const DeliverStep& step, const Path& path, const Scope& scope);
  void check(const WaitStep& step, const Path& path, const Scope& scope);
  void check(const WhenDoneStep& step, const Path& path, const Scope& scope);
  void check(const RedirectStep& step, const Path& path, const Scope& scope);
  void check(const CloseHooksStep& step, const Path& path, const Scope& scope);
  void check(const ForgetProgramsStep&, const Path&, const Scope&) {}
  void check(const ReducerStep& step, const Path& path, const Scope& scope);
  void check_reducers();
  void check_reducer(const Reducer& reducer, const Path& path);
  void check_asynchronous();
  void check_mentions(const StepExpectation& expect, const Path& path);
  std::size_t result_size(const Step& step) const;

  template <typename Items>
  static void need_id(const Items& items, std::int32_t id, const Path& path) {
    if (id < 0 || id >= static_cast<std::int32_t>(items.size())) {
      fail(path, fmt::format("id {} refers to nothing", id));
    }
  }
  void need_value(ValueId value, const Path& path) const { need_id(s_.values, value, path); }
  void need_values(const std::vector<ValueId>& values, const Path& path) const {
    for (std::size_t i = 0; i < values.size(); ++i) need_value(values[i], path[i]);
  }
  void need_node(NodeId node, const Path& path, bool or_accumulator) const {
    const std::size_t count = s_.nodes.size() + (or_accumulator ? s_.leaves.size() : 0);
    if (node < 0 || static_cast<std::size_t>(node) >= count) {
      fail(path, is_in_range(node)
                     ? fmt::format("{} is no node that a forward runs", node_name(s_, node))
                     : fmt::format("id {} refers to nothing", node));
    }
  }
  bool is_in_range(NodeId node) const {
    return node >= 0 && static_cast<std::size_t>(node) < s_.nodes.size() + s_.leaves.size();
  }
  const Value& value(ValueId id) const { return s_.values[static_cast<std::size_t>(id)]; }
  bool is_leaf(ValueId id) const { return value(id).origin == Value::Origin::leaf; }
  const Leaf& leaf(ValueId id) const {
    return s_.leaves[static_cast<std::size_t>(value(id).producer)];
  }

  bool is_captured(StreamId stream) const {
    return std::find(captured_.begin(), captured_.end(), stream) != captured_.end();
  }
  std::string stream_name(StreamId stream) const {
    return "stream '" + s_.streams[static_cast<std::size_t>(stream)].name + "'";
  }

  const Scenario& s_;
  const Path document_;
  std::vector<StreamId> captured_;  // around the step that is checked; and what has joined these
  StepId next_step_ = 0;
  std::size_t step_values_ = 0;  // values that steps have been seen to make
};

// ------------------------------------------------------------------------------------------------

void Validator::check_header() {
  if (!is_id(s_.id)) {
    fail(document_ / "id", "'" + s_.id + "' is no id; expected lower-case words with '/' between");
  }
  if (s_.title.empty() || s_.title.find('\n') != std::string::npos) {
    fail(document_ / "title", "expected one line of text");
  }
  if (s_.clauses.empty()) {
    fail(document_ / "clauses", "expected at least one clause that the scenario tests");
  }
  const auto check_list = [this](const std::vector<std::string>& list, std::string_view field) {
    const Path path(document_, field);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].empty()) fail(path[i], "expected a word, found an empty string");
      if (std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i), list[i]) !=
          list.begin() + static_cast<std::ptrdiff_t>(i)) {
        fail(path[i], "'" + list[i] + "' stands twice");
      }
    }
  };
  check_list(s_.clauses, "clauses");
  check_list(s_.reports, "reports");
  check_list(s_.requires_features, "requires");
  for (std::size_t i = 0; i < s_.requires_features.size(); ++i) {
    if (is_feature(s_.requires_features[i])) continue;
    fail((document_ / "requires")[i], "there is no feature '" + s_.requires_features[i] + "'");
  }
}

void Validator::check_resources() {
  const auto& limit = s_.configuration.nesting_limit;
  if (limit && *limit < 1) {
    fail(document_ / "configuration" / "nesting_limit", "expected at least 1");
  }
  for (const Refusal& refusal : s_.configuration.refusals) {
    if (refusal.device.type != DeviceType::cpu && refusal.times >= 1) continue;
    fail(document_ / "configuration" / "refusals",
         "expected a device other than the cpu, and at least one time");
  }
  for (std::size_t i = 0; i < s_.announcements.size(); ++i) {
    need_value(s_.announcements[i].to, (document_ / "announcements")[i] / "to");
  }
  for (std::size_t i = 0; i < s_.streams.size(); ++i) {
    if (s_.streams[i].device.type != DeviceType::cpu) continue;
    fail((document_ / "streams")[i] / "device", "the cpu has no streams; expected another device");
  }
  for (std::size_t i = 0; i < s_.barriers.size(); ++i) {
    if (s_.barriers[i].parties >= 2) continue;
    fail((document_ / "barriers")[i] / "parties", "expected at least 2");
  }
}

// What leaves and nodes say about values is what the values say about themselves.
void Validator::check_values() {
  std::size_t made = 0;
  const auto check_one = [&](ValueId id, Value::Origin origin, std::size_t producer,
                             std::size_t index, const Path& path) {
    need_value(id, path);
    const Value& v = value(id);
    const bool fits = v.origin == origin && v.producer == static_cast<std::int32_t>(producer) &&
                      v.index == static_cast<std::int32_t>(index);
    if (!fits) fail(path, "the value '" + v.name + "' names another producer");
    ++made;
  };
  const Path leaves(document_, "leaves");
  for (std::size_t i = 0; i < s_.leaves.size(); ++i) {
    check_one(s_.leaves[i].value, Value::Origin::leaf, i, 0, leaves[i]);
  }
  const Path nodes(document_, "nodes");
  for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
    const Path outputs = nodes[i];
    for (std::size_t j = 0; j < s_.nodes[i].outputs.size(); ++j) {
      check_one(s_.nodes[i].outputs[j], Value::Origin::node_output, i, j,
                Path(outputs, "outputs")[j]);
    }
  }
  if (made + count_step_values() != s_.values.size()) {
    fail(document_, "a value of a leaf or node is made by none");
  }
}

// Values that say that a step makes them.
std::size_t Validator::count_step_values() const {
  const auto count = std::count_if(s_.values.begin(), s_.values.end(), [](const Value& v) {
    return v.origin == Value::Origin::pass_result || v.origin == Value::Origin::kept;
  });
  return static_cast<std::size_t>(count);
}

void Validator::check_leaves() {
  const Path leaves(document_, "leaves");
  for (std::size_t i = 0; i < s_.leaves.size(); ++i) {
    const Leaf& leaf = s_.leaves[i];
    const Path path = leaves[i];
    check_tensor(leaf.initial, path / "value");
    const bool whole =
        leaf.initial.type == ScalarType::int64 || leaf.initial.type == ScalarType::boolean;
    if (whole && leaf.requires_grad) {
      fail(path,
           fmt::format("a {} leaf cannot require a gradient; expected \"requires_grad\": false",
                       to_text(leaf.initial.type)));
    }
    if (leaf.grad && !leaf.requires_grad) {
      fail(path / "grad", "a leaf that requires no gradient has none");
    }
    if (leaf.grad) check_preset(leaf.value, *leaf.grad, path / "grad");
    if (leaf.stream == no_id) continue;
    need_id(s_.streams, leaf.stream, path / "stream");
    const Device device = s_.streams[static_cast<std::size_t>(leaf.stream)].device;
    if (device == leaf.initial.device) continue;
    fail(path / "stream", fmt::format("the stream is on {} and the leaf on {}", to_text(device),
                                      to_text(leaf.initial.device)));
  }
}

void Validator::check_preset(ValueId id, const TensorValue& grad, const Path& path) {
  check_tensor(grad, path);
  const TensorValue& initial = leaf(id).initial;
  const bool fits =
      grad.shape == initial.shape && grad.type == initial.type && grad.device == initial.device;
  if (fits) return;
  fail(path,
       fmt::format("a .grad has its leaf's type, shape and device: expected {} ({}) on {}",
                   to_text(initial.type), fmt::join(initial.shape, ","), to_text(initial.device)));
}

// ------------------------------------------------------------------------------------------------
// Nodes

void Validator::check_nodes() {
  const Path nodes(document_, "nodes");
  for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
    const Node& node = s_.nodes[i];
    const OperationSpec& spec = spec_of(node.operation);
    const Path path = nodes[i];
    const auto inputs = static_cast<int>(node.inputs.size());
    if (inputs < spec.least_inputs || (spec.most_inputs >= 0 && inputs > spec.most_inputs)) {
      fail(path / "inputs", fmt::format("{} takes {}{} input{}, found {}", spec.name,
                                        spec.most_inputs < 0 ? "at least " : "", spec.least_inputs,
                                        spec.least_inputs == 1 ? "" : "s", inputs));
    }
    need_values(node.inputs, path / "inputs");
    const auto outputs = static_cast<int>(node.outputs.size());
    if (outputs < 1 || (spec.outputs >= 0 && outputs != spec.outputs)) {
      fail(path / "outputs", fmt::format("{} has {} output, found {}", spec.name,
                                         spec.outputs < 0 ? "at least 1" : "1", outputs));
    }
    check_attributes(node, path);
    if (node.custom.has_value() != (node.operation == Operation::custom)) {
      fail(path, "a node has a custom part exactly when its op is custom");
    }
    if (node.custom) check_custom(node, path);
  }
}

bool holds(AttributeKind kind, const Attribute& attribute) {
  switch (kind) {
    case AttributeKind::integer:
      return std::holds_alternative<std::int64_t>(attribute);
    case AttributeKind::number:
      return std::holds_alternative<double>(attribute);
    case AttributeKind::boolean:
      return std::holds_alternative<bool>(attribute);
    case AttributeKind::integers:
      return std::holds_alternative<IntegerList>(attribute);
    case AttributeKind::type:
      return std::holds_alternative<ScalarType>(attribute);
    case AttributeKind::device:
      return std::holds_alternative<Device>(attribute);
  }
  return false;
}

void Validator::check_attributes(const Node& node, const Path& path) {
  const OperationSpec& spec = spec_of(node.operation);
  if (node.attributes.size() != spec.attributes.size()) {
    fail(path, fmt::format("{} has {} attributes, found {}", spec.name, spec.attributes.size(),
                           node.attributes.size()));
  }
  for (std::size_t i = 0; i < spec.attributes.size(); ++i) {
    const AttributeSpec& wanted = spec.attributes[i];
    const bool missing = std::holds_alternative<std::monostate>(node.attributes[i]);
    if (missing && wanted.required) {
      fail(path, fmt::format("field '{}' is missing", wanted.name));
    }
    if (!missing && !holds(wanted.kind, node.attributes[i])) {
      fail(path / wanted.name, "the attribute is of another kind");
    }
  }
  if (node.operation != Operation::slice) return;
  const auto* step = std::get_if<std::int64_t>(&node.attributes[3]);
  if (step != nullptr && *step < 1) fail(path / "step", "expected at least 1");
}

void Validator::check_custom(const Node& node, const Path& path) {
  const CustomNode& custom = *node.custom;
  if (!custom.forward.empty() && custom.forward.size() != node.outputs.size()) {
    fail(path / "forward", fmt::format("expected one expression for each of {} outputs, found {}",
                                       node.outputs.size(), custom.forward.size()));
  }
  need_values(custom.saves, path / "saves");
  for (std::size_t i = 0; i < custom.saves.size(); ++i) {
    const auto holds_it = [&](const std::vector<ValueId>& values) {
      return std::find(values.begin(), values.end(), custom.saves[i]) != values.end();
    };
    if (holds_it(node.inputs) || holds_it(node.outputs) || is_leaf(custom.saves[i])) continue;
    fail((path / "saves")[i], "a node saves its own inputs or outputs, or a leaf; '" +
                                  value(custom.saves[i]).name + "' is none of these");
  }
  if (custom.destroyed != no_id) need_id(s_.callbacks, custom.destroyed, path / "destroyed");
  check_expressions(custom.forward, path / "forward", static_cast<std::int64_t>(node.inputs.size()),
                    &node.inputs, false);
  for (std::size_t i = 0; i < custom.forward.size(); ++i) {
    if (custom.forward[i].kind != Expression::Kind::undefined) continue;
    fail((path / "forward")[i], "expected a tensor: an output of a forward is never undefined");
  }
  const Path backward(path, "backward");
  const auto slots = static_cast<std::int64_t>(node.outputs.size());
  if (custom.backward.returns) {
    check_expressions(*custom.backward.returns, backward / "returns", slots, &custom.saves, true);
  }
  const Scope scope{Scope::Owner::node, slots, true};
  check_steps(custom.backward.steps, backward / "steps", scope);
}

// Depth first over nodes along their inputs; a node that is met again on the way closes a cycle.
void Validator::check_cycles() {
  enum State : char { fresh, open, done };
  std::vector<State> state(s_.nodes.size(), fresh);
  struct Frame {
    NodeId node;
    std::size_t next_input;
  };
  std::vector<Frame> way;
  const auto refuse = [&](NodeId node) {
    std::string cycle = s_.nodes[static_cast<std::size_t>(node)].name;
    for (std::size_t i = way.size(); i-- > 0;) {
      cycle += " <- " + s_.nodes[static_cast<std::size_t>(way[i].node)].name;
      if (way[i].node == node) break;
    }
    fail((document_ / "nodes")[static_cast<std::size_t>(node)], "the nodes form a cycle: " + cycle);
  };
  for (std::size_t root = 0; root < s_.nodes.size(); ++root) {
    if (state[root] != fresh) continue;
    state[root] = open;
    way.push_back({static_cast<NodeId>(root), 0});
    while (!way.empty()) {
      Frame& frame = way.back();
      const Node& node = s_.nodes[static_cast<std::size_t>(frame.node)];
      if (frame.next_input == node.inputs.size()) {
        state[static_cast<std::size_t>(frame.node)] = done;
        way.pop_back();
        continue;
      }
      const Value& input = value(node.inputs[frame.next_input++]);
      if (input.origin != Value::Origin::node_output) continue;
      State& producer = state[static_cast<std::size_t>(input.producer)];
      if (producer == open) refuse(input.producer);
      if (producer == done) continue;
      producer = open;
      way.push_back({input.producer, 0});
    }
  }
}

void Validator::check_every_node_runs() {
  std::vector<bool> runs(s_.nodes.size(), false);
  for_each_step(s_, [&](const Step& step) {
    const auto* forward = std::get_if<ForwardStep>(&step.action);
    if (forward == nullptr) return;
    for (const NodeId node : forward->nodes) runs[static_cast<std::size_t>(node)] = true;
  });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i]) {
      fail((document_ / "nodes")[i], "no forward step runs '" + s_.nodes[i].name + "'");
    }
  }
}

// ------------------------------------------------------------------------------------------------
// Hooks and callbacks

std::int64_t Validator::slots_of(const Hook& hook) const {
  const bool accumulator = hook.node != no_id && is_accumulator(s_, hook.node);
  const auto node = static_cast<std::size_t>(hook.node);
  switch (hook.kind) {
    case HookKind::tensor:
    case HookKind::capture:
    case HookKind::saved:
      return 1;
    case HookKind::retain_grad:
    case HookKind::post_accumulate:
      return 0;
    case HookKind::node_pre:
      return accumulator ? 1 : static_cast<std::int64_t>(s_.nodes[node].outputs.size());
    case HookKind::node_post:
      return accumulator ? 0 : static_cast<std::int64_t>(s_.nodes[node].inputs.size());
    case HookKind::multi:
      return static_cast<std::int64_t>(hook.values.size());
  }
  return 0;
}

void Validator::check_hook_target(const Hook& hook, const Path& path) {
  const bool on_node = hook.kind == HookKind::node_pre || hook.kind == HookKind::node_post;
  const bool on_nothing = hook.kind == HookKind::capture || hook.kind == HookKind::saved;
  if (on_node != (hook.node != no_id)) {
    fail(path / "on", on_node ? "expected a node" : "a node stands where none is expected");
  }
  if (on_node) need_node(hook.node, path / "on", true);
  need_values(hook.values, path / "on");
  const std::size_t count = hook.values.size();
  if ((on_node || on_nothing) && count != 0) fail(path / "on", "expected no values");
  if (hook.kind == HookKind::multi && count == 0) fail(path / "on", "expected at least one value");
  const bool on_one = !on_node && !on_nothing && hook.kind != HookKind::multi;
  if (on_one && count != 1) fail(path / "on", "expected one value");
  if (hook.kind == HookKind::post_accumulate && hook.at_creation && !is_leaf(hook.values[0])) {
    fail(path / "on", "expected a leaf, found '" + value(hook.values[0]).name + "'");
  }
  if (on_nothing && !hook.at_creation) {
    fail(path / "added", "a step names this hook where it uses it; nothing adds it");
  }
}

void Validator::check_hook_returns(const Hook& hook, const Path& path) {
  const bool silent = hook.kind == HookKind::retain_grad ||
                      hook.kind == HookKind::post_accumulate || hook.kind == HookKind::multi;
  const std::string kind(to_text(hook.kind));
  if (silent && hook.script.returns) fail(path / "returns", "a " + kind + " hook returns nothing");
  if (hook.kind == HookKind::retain_grad && !hook.script.steps.empty()) {
    fail(path / "steps", "a retain_grad hook has no script");
  }
  const bool pair = hook.kind == HookKind::saved;
  if (!pair && (hook.unpack_script.returns || !hook.unpack_script.steps.empty())) {
    fail(path / "unpack", "only a saved hook has 'unpack'");
  }
  const Path pack(path, "pack");
  const Path unpack(path, "unpack");
  if (hook.script.returns) {
    check_expressions(*hook.script.returns, (pair ? pack : path) / "returns", slots_of(hook),
                      nullptr, false);
  }
  if (hook.unpack_script.returns) {
    check_expressions(*hook.unpack_script.returns, unpack / "returns", 1, nullptr, false);
  }
}

void Validator::check_hooks() {
  const Path hooks(document_, "hooks");
  for (std::size_t i = 0; i < s_.hooks.size(); ++i) {
    const Hook& hook = s_.hooks[i];
    const Path path = hooks[i];
    check_hook_target(hook, path);
    check_hook_returns(hook, path);
    if (hook.destroyed != no_id) {
      need_id(s_.callbacks, hook.destroyed, path / "destroyed");
      if (hook.kind == HookKind::retain_grad) {
        fail(path / "destroyed", "a retain_grad hook has no script");
      }
    }
    const bool on_node = hook.node != no_id;
    const Scope scope{Scope::Owner::hook, slots_of(hook), on_node};
    const Path pack(path, "pack");
    const Path unpack(path, "unpack");
    const bool pair = hook.kind == HookKind::saved;
    check_steps(hook.script.steps, (pair ? pack : path) / "steps", scope);
    check_steps(hook.unpack_script.steps, unpack / "steps", scope);
  }
}

// ------------------------------------------------------------------------------------------------
// Names

std::string place_of_value(const Scenario& s, std::size_t id) {
  const Value& value = s.values[id];
  const std::string producer = std::to_string(value.producer);
  switch (value.origin) {
    case Value::Origin::leaf:
      return "leaves[" + producer + "].name";
    case Value::Origin::node_output: {
      const Node& node = s.nodes[static_cast<std::size_t>(value.producer)];
      if (node.outputs.size() == 1 && node.name == value.name)
        return "nodes[" + producer + "].name";
      return "nodes[" + producer + "].outputs[" + std::to_string(value.index) + "]";
    }
    case Value::Origin::pass_result:
      return step_path(s, value.producer) + ".results[" + std::to_string(value.index) + "]";
    case Value::Origin::kept:
      return step_path(s, value.producer) + ".as";
  }
  return "";
}

// Each name has the right form and stands for one thing.
template <typename NameOf, typename PlaceOf>
void check_names_of(std::size_t count, std::string_view kind, NameOf&& name_of,
                    PlaceOf&& place_of) {
  absl::flat_hash_set<std::string_view> seen;
  seen.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view name = name_of(i);
    if (!is_name(name)) {
      throw FormatError(place_of(i), fmt::format("'{}' is no name; expected letters, digits, '_', "
                                                 "'-' and '.', beginning with a letter",
                                                 name));
    }
    if (seen.insert(name).second) continue;
    std::size_t first = 0;
    while (name_of(first) != name) ++first;
    throw FormatError(place_of(i), fmt::format("the name '{}' is taken by another {}: {}", name,
                                               kind, place_of(first)));
  }
}

template <typename Items>
void check_names_in(const Items& items, std::string_view kind, std::string_view list) {
  if (items.empty()) return;
  check_names_of(
      items.size(), kind, [&](std::size_t i) -> std::string_view { return items[i].name; },
      [&](std::size_t i) { return fmt::format("{}[{}].name", list, i); });
}

void Validator::check_names() {
  check_names_in(s_.streams, "stream", "streams");
  check_names_in(s_.barriers, "barrier", "barriers");
  check_names_in(s_.locks, "lock", "locks");
  check_names_in(s_.announcements, "announcement", "announcements");
  check_names_in(s_.futures, "future", "futures");
  check_names_in(s_.reducers, "reducer", "reducers");
  check_names_in(s_.nodes, "node", "nodes");
  check_names_in(s_.hooks, "hook", "hooks");
  check_names_in(s_.callbacks, "callback", "callbacks");
  check_names_of(
      s_.values.size(), "value",
      [&](std::size_t i) -> std::string_view { return s_.values[i].name; },
      [&](std::size_t i) { return place_of_value(s_, i); });
}

// ------------------------------------------------------------------------------------------------
// Expressions

void Validator::check_expressions(const std::vector<Expression>& expressions, const Path& path,
                                  std::int64_t slots, const std::vector<ValueId>* may_multiply,
                                  bool may_pool) {
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    check_expression(expressions[i], path[i], slots, may_multiply, may_pool);
  }
}

void Validator::check_expression(const Expression& expression, const Path& path, std::int64_t slots,
                                 const std::vector<ValueId>* may_multiply, bool may_pool) {
  using Kind = Expression::Kind;
  const auto need_slot = [&](std::int32_t slot, const Path& slot_path) {
    if (slot >= 0 && slot < slots) return;
    fail(slot_path, slots == 0
                        ? "there are no slots here"
                        : fmt::format("there is no slot {}; the last is {}", slot, slots - 1));
  };
  if (expression.kind == Kind::combination && expression.terms.empty()) {
    fail(path / "terms", "expected at least one term; write null for an undefined result");
  }
  const Path terms(path, "terms");
  for (std::size_t i = 0; i < expression.terms.size(); ++i) {
    const Term& term = expression.terms[i];
    const Path term_path = terms[i];
    need_slot(term.slot, term_path / "slot");
    if (term.times == no_id) continue;
    need_value(term.times, term_path / "times");
    const bool allowed =
        may_multiply == nullptr ||
        std::find(may_multiply->begin(), may_multiply->end(), term.times) != may_multiply->end();
    if (!allowed) {
      fail(term_path / "times", "'" + value(term.times).name +
                                    "' is not at hand here; a forward multiplies by the node's "
                                    "inputs, a backward by what the node saves");
    }
  }
  if (expression.kind == Kind::pass) need_slot(expression.slot, path / "pass");
  if (expression.kind == Kind::pool && !may_pool) {
    fail(path / "pool", "a pool belongs to a node and stands only in its backward");
  }
  const bool has_tensor = expression.kind == Kind::constant || expression.kind == Kind::pool;
  if (has_tensor != expression.constant.has_value()) {
    fail(path, "an expression has a tensor exactly when it is one");
  }
  if (has_tensor) check_tensor(*expression.constant, path);
  if (expression.kind == Kind::pool && expression.constant->layout == Layout::sparse) {
    fail(path / "pool", "a pool is overwritten in place: its tensor must be dense");
  }
  if (expression.kind == Kind::undefined &&
      (expression.expand || expression.cast || expression.move_to)) {
    fail(path, "an undefined result cannot be expanded, cast or moved");
  }
}

// ------------------------------------------------------------------------------------------------
// Steps

void Validator::check_steps(const Steps& steps, const Path& path, const Scope& scope) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Path step_path = path[i];
    if (steps[i].id != next_step_) {
      fail(step_path, "the steps are not numbered; call number_steps first");
    }
    ++next_step_;
    std::visit([&](const auto& action) { check(action, step_path, scope); }, steps[i].action);
    if (steps[i].expect) check_expectation(steps[i], step_path / "expect");
  }
}

// How many tensors a step's result holds.
std::size_t Validator::result_size(const Step& step) const {
  if (const auto* read = std::get_if<ReadStep>(&step.action)) {
    return read->values.size() + read->grads.size();
  }
  std::size_t size = 0;
  const auto note = [&](const PassStep& pass) {
    if (pass.kind == PassStep::Kind::grad && pass.inputs) size = pass.inputs->size();
  };
  if (const auto* pass = std::get_if<PassStep>(&step.action)) {
    if (pass->future == no_id) note(*pass);
  }
  if (const auto* reducer = std::get_if<ReducerStep>(&step.action)) {
    return reducer->what == ReducerStep::What::ask ? 1 : 0;
  }
  const auto* wait = std::get_if<WaitStep>(&step.action);
  if (wait == nullptr) return size;
  for_each_step(s_, [&](const Step& other) {
    const auto* pass = std::get_if<PassStep>(&other.action);
    if (pass != nullptr && pass->future == wait->future) note(*pass);
  });
  return size;
}

void Validator::check_mentions(const StepExpectation& expect, const Path& path) {
  if (!expect.names.empty() && !expect.error) {
    fail(path / "names", "only an error names something; expected 'error' beside it");
  }
  const Path names(path, "names");
  for (std::size_t i = 0; i < expect.names.size(); ++i) {
    const auto* word = std::get_if<std::string>(&expect.names[i]);
    if (word != nullptr && word->empty()) fail(names[i], "expected a word");
  }
}

void Validator::check_expectation(const Step& step, const Path& path) {
  const StepExpectation& expect = *step.expect;
  const int forms = int{expect.error.has_value()} + int{expect.values.has_value()} +
                    int{expect.number.has_value()};
  if (forms > 1 || (forms == 0 && !expect.or_error)) {
    fail(path, "expected one of 'error', 'values' and 'number'");
  }
  check_mentions(expect, path);
  if (expect.error && expect.or_error) {
    fail(path / "or_error", "expected beside 'values', or alone: the error or no error");
  }
  if (expect.number && !std::holds_alternative<ObserveStep>(step.action)) {
    fail(path / "number", fmt::format("a {} step observes no number", verb_of(step)));
  }
  if (expect.number && expect.number->least > expect.number->most) {
    fail(path / "number", "no number is at least 'least' and at most 'most'");
  }
  if (expect.bound && (!expect.values || !(*expect.bound >= 0) || std::isinf(*expect.bound))) {
    fail(path / "bound", "expected a number of units in the last place beside 'values'");
  }
  if (!expect.values) return;
  const std::size_t size = result_size(step);
  if (size == 0) fail(path / "values", fmt::format("a {} step gives no values", verb_of(step)));
  if (expect.values->size() != size) {
    fail(path / "values", fmt::format("the step gives {} value{}, found {}", size,
                                      size == 1 ? "" : "s", expect.values->size()));
  }
  const Path values(path, "values");
  for (std::size_t i = 0; i < size; ++i) {
    if ((*expect.values)[i]) check_tensor(*(*expect.values)[i], values[i]);
  }
}

void Validator::check(const ForwardStep& step, const Path& path, const Scope&) {
  if (step.nodes.empty() && !s_.nodes.empty()) {
    fail(path, "no node is left for this forward: other forward steps name them all");
  }
  const Path nodes(path, "nodes");
  for (std::size_t i = 0; i < step.nodes.size(); ++i) need_node(step.nodes[i], nodes[i], false);
}

void Validator::check(const PassStep& step, const Path& path, const Scope&) {
  const bool grad = step.kind == PassStep::Kind::grad;
  const Path roots(path, "roots");
  for (std::size_t i = 0; i < step.roots.size(); ++i) {
    const Path root = roots[i];
    need_value(step.roots[i].value, root / "value");
    const Seed& seed = step.roots[i].seed;
    if (seed.value != no_id) need_value(seed.value, root / "seed" / "from");
    if (seed.constant) check_tensor(*seed.constant, root / "seed");
    if (seed.constant && seed.value != no_id) fail(root / "seed", "expected one seed, found two");
  }
  if (grad && !step.inputs) fail(path, "field 'inputs' is missing");
  if (step.inputs) need_values(*step.inputs, path / "inputs");
  const bool only_grad =
      step.allow_unused || step.materialise || !step.results.empty() || !step.capture_hooks.empty();
  if (!grad && only_grad) fail(path, "a backward step returns nothing; expected a grad step");
  if (!step.results.empty() && step.results.size() != step.inputs->size()) {
    fail(path / "results", fmt::format("expected one name for each of {} inputs, found {}",
                                       step.inputs->size(), step.results.size()));
  }
  if (step.future != no_id) need_id(s_.futures, step.future, path / "future");
  if (step.future != no_id && !step.results.empty()) {
    fail(path / "results",
         "the gradients of an asynchronous pass come by its future; a wait step "
         "reports them");
  }
  const Path announced(path, "announced");
  for (std::size_t i = 0; i < step.announced.size(); ++i) {
    need_id(s_.announcements, step.announced[i], announced[i]);
  }
  need_values(step.results, path / "results");
  for (const ValueId result : step.results) {
    if (value(result).origin != Value::Origin::pass_result)
      fail(path / "results", "a result names a value of another kind");
  }
  step_values_ += step.results.size();
  const Path capture_hooks(path, "capture_hooks");
  for (std::size_t i = 0; i < step.capture_hooks.size(); ++i) {
    const CaptureHook& hook = step.capture_hooks[i];
    const Path hook_path = capture_hooks[i];
    if (hook.input < 0 || static_cast<std::size_t>(hook.input) >= step.inputs->size()) {
      fail(hook_path / "input", fmt::format("there is no input {}", hook.input));
    }
    need_id(s_.hooks, hook.hook, hook_path / "hook");
    const Hook& named = s_.hooks[static_cast<std::size_t>(hook.hook)];
    if (named.kind != HookKind::capture) {
      fail(hook_path / "hook", fmt::format("expected a hook of kind capture; '{}' is of kind {}",
                                           named.name, to_text(named.kind)));
    }
  }
}

void Validator::check(const SetGradStep& step, const Path& path, const Scope&) {
  need_value(step.leaf, path / "leaf");
  if (!is_leaf(step.leaf)) {
    fail(path / "leaf", "expected a leaf, found '" + value(step.leaf).name + "'");
  }
  if (step.grad) check_preset(step.leaf, *step.grad, path / "grad");
}

void Validator::check(const ReadStep& step, const Path& path, const Scope&) {
  need_values(step.values, path / "values");
  need_values(step.grads, path / "grads");
  if (step.values.empty() && step.grads.empty()) fail(path, "expected 'values' or 'grads'");
}

void Validator::check(const ChangeStep& step, const Path& path, const Scope&) {
  need_value(step.value, path / "value");
}

void Validator::check(const KeepStep& step, const Path& path, const Scope& scope) {
  if (step.grad_of != no_id) {
    need_value(step.grad_of, path / "grad_of");
  } else if (scope.owner == Scope::Owner::program || scope.owner == Scope::Owner::callback) {
    fail(path,
         "a keep step stands only in the script of a node or a hook, which is given tensors; "
         "elsewhere it keeps the gradient of a value ('grad_of')");
  } else if (step.slot < 0 || step.slot >= scope.slots) {
    fail(path / "slot", scope.slots == 0 ? std::string("there are no slots here")
                                         : fmt::format("there is no slot {}; the last is {}",
                                                       step.slot, scope.slots - 1));
  }
  need_value(step.as, path / "as");
  if (value(step.as).origin != Value::Origin::kept) {
    fail(path / "as", "'" + value(step.as).name + "' is a value of another kind");
  }
  ++step_values_;
}

void Validator::check(const DropStep& step, const Path& path, const Scope&) {
  if (step.values.empty()) fail(path / "values", "expected at least one value");
  need_values(step.values, path / "values");
}

void Validator::check(const RequiresGradStep& step, const Path& path, const Scope&) {
  need_value(step.value, path / "value");
}

void Validator::check(const WithStep& step, const Path& path, const Scope& scope) {
  if (step.stream != no_id) need_id(s_.streams, step.stream, path / "stream");
  if (step.saved_hooks != no_id) {
    need_id(s_.hooks, step.saved_hooks, path / "saved_hooks");
    const Hook& hook = s_.hooks[static_cast<std::size_t>(step.saved_hooks)];
    if (hook.kind != HookKind::saved) {
      fail(path / "saved_hooks", fmt::format("expected a hook of kind saved; '{}' is of kind {}",
                                             hook.name, to_text(hook.kind)));
    }
  }
  if (step.user_state_destroyed != no_id) {
    need_id(s_.callbacks, step.user_state_destroyed, path / "user_state_destroyed");
    if (!step.user_state) fail(path / "user_state_destroyed", "expected 'user_state' beside it");
  }
  if (step.check_nan && !step.anomaly.value_or(false)) {
    fail(path / "check_nan", "expected \"anomaly\": true beside it");
  }
  if (step.captured) check_captured(step, path / "captured", scope);
  const bool changes = step.recording || step.anomaly || step.user_state || step.stream != no_id ||
                       step.device || step.saved_hooks != no_id;
  if (!changes) fail(path, "a with step changes at least one setting");
  const std::vector<StreamId> captured_before = captured_;
  if (step.captured) captured_.push_back(step.stream);
  check_steps(step.steps, path / "steps", scope);
  if (step.captured) captured_ = captured_before;
}

void Validator::check_captured(const WithStep& step, const Path& path, const Scope& scope) {
  if (step.stream == no_id) fail(path, "expected 'stream' beside it");
  if (scope.owner != Scope::Owner::program) fail(path, "a stream is captured only by the program");
  if (is_captured(step.stream)) fail(path, stream_name(step.stream) + " is being captured already");
}

void Validator::check(const TryStep& step, const Path& path, const Scope& scope) {
  check_steps(step.steps, path / "steps", scope);
}

void Validator::check(const ParallelStep& step, const Path& path, const Scope& scope) {
  if (step.threads.empty()) fail(path / "threads", "expected at least one thread");
  const Path threads(path, "threads");
  for (std::size_t i = 0; i < step.threads.size(); ++i) {
    const Path thread = threads[i];
    if (!is_name(step.threads[i].name)) {
      fail(thread / "name", "'" + step.threads[i].name + "' is no name");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (step.threads[i].name == step.threads[j].name) {
        fail(thread / "name", "the name '" + step.threads[i].name + "' is taken by another thread");
      }
    }
    check_steps(step.threads[i].steps, thread / "steps", Scope{scope.owner});
  }
}

void Validator::check(const RepeatStep& step, const Path& path, const Scope& scope) {
  if (step.times < 1) fail(path / "times", "expected at least 1");
  check_steps(step.steps, path / "steps", scope);
}

void Validator::check(const BarrierStep& step, const Path& path, const Scope&) {
  need_id(s_.barriers, step.barrier, path / "barrier");
}

void Validator::check(const LockStep& step, const Path& path, const Scope&) {
  need_id(s_.locks, step.lock, path / "lock");
}

void Validator::check(const ThrowStep& step, const Path& path, const Scope&) {
  if (step.token.empty()) {
    fail(path / "token", "expected a word by which the error is known again");
  }
  if (step.on_call < 0) fail(path / "on_call", "expected at least 1");
}

void Validator::check(const DeliverStep& step, const Path& path, const Scope&) {
  need_id(s_.announcements, step.announcement, path / "announcement");
  const Seed& gradient = step.gradient;
  if (gradient.value != no_id) need_value(gradient.value, path / "gradient" / "from");
  if (gradient.constant) check_tensor(*gradient.constant, path / "gradient");
}

void Validator::check(const WaitStep& step, const Path& path, const Scope&) {
  need_id(s_.futures, step.future, path / "future");
}

void Validator::check(const WhenDoneStep& step, const Path& path, const Scope&) {
  need_id(s_.futures, step.future, path / "future");
  need_id(s_.callbacks, step.callback, path / "callback");
}

void Validator::check(const RedirectStep& step, const Path& path, const Scope&) {
  need_node(step.node, path / "node", false);
  const std::size_t edges = s_.nodes[static_cast<std::size_t>(step.node)].inputs.size();
  if (step.edge < 0 || static_cast<std::size_t>(step.edge) >= edges) {
    fail(path / "edge", fmt::format("there is no edge {}", step.edge));
  }
  if (step.to != no_id) need_value(step.to, path / "to");
}

void Validator::check(const CloseHooksStep& step, const Path& path, const Scope&) {
  need_id(s_.hooks, step.hook, path / "hook");
  if (s_.hooks[static_cast<std::size_t>(step.hook)].kind == HookKind::saved) return;
  fail(path / "hook", "expected a hook of kind saved");
}

void Validator::check(const ReducerStep& step, const Path& path, const Scope& scope) {
  need_id(s_.reducers, step.reducer, path / "reducer");
  const auto& ranks = s_.reducers[static_cast<std::size_t>(step.reducer)].ranks;
  if (step.rank < 0 || static_cast<std::size_t>(step.rank) >= ranks.size()) {
    fail(path / "rank",
         fmt::format("there is no rank {}; the reducer has {}", step.rank, ranks.size()));
  }
  if (scope.owner != Scope::Owner::program) {
    fail(path, "a script cannot use a reducer: ranks meet in the steps of the program");
  }
  need_values(step.outputs, path / "outputs");
}

// Ranks are alike, so that their reductions fit; what a right engine refuses (buckets, say) is
// theirs.
void Validator::check_reducers() {
  for (std::size_t i = 0; i < s_.reducers.size(); ++i) {
    check_reducer(s_.reducers[i], (document_ / "reducers")[i]);
  }
}

void Validator::check_reducer(const Reducer& reducer, const Path& path) {
  const auto leaf_of_value = [&](ValueId id, const Path& place) -> const Leaf& {
    need_value(id, place);
    const Value& value = s_.values[static_cast<std::size_t>(id)];
    if (value.origin != Value::Origin::leaf) fail(place, "expected a leaf");
    const Leaf& leaf = s_.leaves[static_cast<std::size_t>(value.producer)];
    if (!leaf.requires_grad) fail(place, "expected a leaf that requires a gradient");
    return leaf;
  };
  const Path ranks = path / "ranks";
  if (reducer.ranks.empty() || reducer.ranks.size() > 8) fail(ranks, "expected 1 to 8 ranks");
  std::vector<ValueId> seen;
  for (std::size_t r = 0; r < reducer.ranks.size(); ++r) {
    const auto& parameters = reducer.ranks[r];
    const Path rank = ranks[r];
    if (parameters.empty() || parameters.size() != reducer.ranks[0].size()) {
      fail(ranks[r], "expected as many parameters as rank 0 has, and at least one");
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Path place = rank[i];
      const Leaf& leaf = leaf_of_value(parameters[i], place);
      const Leaf& first = leaf_of_value(reducer.ranks[0][i], place);
      if (leaf.initial.type != first.initial.type || leaf.initial.shape != first.initial.shape ||
          leaf.initial.coordinates || first.initial.coordinates) {
        fail(place, "expected a dense parameter of the type and shape that rank 0's has");
      }
      if (std::find(seen.begin(), seen.end(), parameters[i]) != seen.end()) {
        fail(place, "this parameter stands here twice");
      }
      seen.push_back(parameters[i]);
    }
  }
  if (reducer.limit && !(*reducer.limit >= 0)) fail(path / "limit", "expected at least 0");
  if (!reducer.buckets.empty() && (!reducer.bucket_bytes.empty() || reducer.rebuild)) {
    fail(path / "buckets", "expected neither bucket_bytes nor rebuild beside buckets");
  }
}

// Each future belongs to one pass, and each announcement to one; a pass that nobody waits for may
// still run when the program is over.
void Validator::check_asynchronous() {
  std::vector<int> passes(s_.futures.size(), 0);
  std::vector<int> waits(s_.futures.size(), 0);
  std::vector<int> told(s_.announcements.size(), 0);
  for_each_step(s_, [&](const Step& step) {
    if (const auto* pass = std::get_if<PassStep>(&step.action)) {
      if (pass->future != no_id) ++passes[static_cast<std::size_t>(pass->future)];
      for (const AnnouncementId id : pass->announced) ++told[static_cast<std::size_t>(id)];
    }
    if (const auto* wait = std::get_if<WaitStep>(&step.action)) {
      ++waits[static_cast<std::size_t>(wait->future)];
    }
  });
  const Path futures(document_, "futures");
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (passes[i] != 1) fail(futures[i], "expected exactly one pass with this future");
    if (waits[i] == 0) fail(futures[i], "no step waits for this future");
  }
  const Path announcements(document_, "announcements");
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (told[i] != 1) fail(announcements[i], "expected exactly one pass that is told of it");
  }
}

void Validator::check(const QueueCallbackStep& step, const Path& path, const Scope&) {
  need_id(s_.callbacks, step.callback, path / "callback");
}

void Validator::check(const HookStep& step, const Path& path, const Scope&) {
  need_id(s_.hooks, step.hook, path / "hook");
  const Hook& hook = s_.hooks[static_cast<std::size_t>(step.hook)];
  if (hook.kind == HookKind::capture || hook.kind == HookKind::saved) {
    fail(path / "hook",
         fmt::format("'{}' is of kind {}, which is on nothing", hook.name, to_text(hook.kind)));
  }
}

void Validator::check(const ObserveStep& step, const Path& path, const Scope& scope) {
  const bool asks_node = step.what == ObserveStep::What::will_run;
  if (asks_node && step.node == no_id) fail(path, "field 'node' is missing");
  if (!asks_node && step.node != no_id) fail(path / "node", "only will_run asks about a node");
  if (asks_node) need_node(step.node, path / "node", true);
  const bool asks_cause = step.what == ObserveStep::What::compiles_for;
  if (asks_cause && !step.cause) fail(path, "field 'cause' is missing");
  if (!asks_cause && step.cause) fail(path / "cause", "only compiles_for asks about a cause");
  if (step.what == ObserveStep::What::needed && !scope.knows_needed) {
    fail(path / "what", "'needed' can be observed only by a node or a hook on a node");
  }
}

void Validator::check(const EngineStep& step, const Path& path, const Scope& scope) {
  if (step.limit && !(*step.limit >= 0)) fail(path / "limit", "expected a number of seconds");
  if (scope.owner == Scope::Owner::program) return;
  fail(path, "the engine is started and stopped only by the program");
}

void Validator::check(const ForkStep& step, const Path& path, const Scope& scope) {
  if (scope.owner != Scope::Owner::program) fail(path, "a fork stands only in the program");
  check_steps(step.steps, path / "steps", scope);
}

void Validator::check(const StreamStep& step, const Path& path, const Scope&) {
  need_id(s_.streams, step.stream, path / "stream");
  const bool waits = step.what == StreamStep::What::wait;
  if (waits) need_id(s_.streams, step.waits_for, path / "for");
  if (!waits && step.waits_for != no_id) fail(path / "for", "only wait_stream waits for a stream");
  if (waits && step.stream == step.waits_for) fail(path / "for", "a stream cannot wait for itself");
  if (!waits && is_captured(step.stream)) {
    fail(path / "stream",
         stream_name(step.stream) + " is being captured: the host must not wait for it");
  }
  if (waits && is_captured(step.waits_for)) captured_.push_back(step.stream);
  if (waits && is_captured(step.stream) && !is_captured(step.waits_for)) {
    fail(path / "for",
         fmt::format("{} is being captured and must not wait for {}, which has not waited for a "
                     "captured one",
                     stream_name(step.stream), stream_name(step.waits_for)));
  }
}

// ------------------------------------------------------------------------------------------------

void Validator::run() {
  check_header();
  check_resources();
  check_values();
  check_leaves();
  const Path program(document_, "program");
  check_steps(s_.program, program, Scope{});
  check_nodes();
  check_hooks();
  const Path callbacks(document_, "callbacks");
  for (std::size_t i = 0; i < s_.callbacks.size(); ++i) {
    check_steps(s_.callbacks[i].steps, callbacks[i] / "steps", Scope{Scope::Owner::callback});
  }
  if (next_step_ != s_.step_count) fail(document_, "step_count is wrong; call number_steps first");
  check_names();
  if (count_step_values() != step_values_) {
    fail(document_, "a value that steps make is made by none, or by two");
  }
  check_cycles();
  check_every_node_runs();
  check_reducers();
  check_asynchronous();
  check_flow(s_);
  check_locks(s_);
}

}  // namespace

void validate(const Scenario& scenario) {
  Validator(scenario).run();
}

}  // namespace gradcts
