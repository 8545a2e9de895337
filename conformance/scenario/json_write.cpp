// Scenario to JSON, canonically: fields in one order, defaults left out.
#include <algorithm>

#include "conformance/scenario/json_parts.h"

namespace gradcts {
namespace {

std::string text(std::string_view view) {
  return std::string(view);
}

class ScenarioWriter {
 public:
  ScenarioWriter(const Scenario& scenario, bool only_meaning)
      : scenario_(scenario), only_meaning_(only_meaning) {
    find_default_forward();
  }

  Json write() const;

 private:
  void write_header(Json& json) const;
  void write_resources(Json& json) const;
  Json write_leaf(const Leaf& leaf) const;
  Json write_node(const Node& node) const;
  void write_custom(const CustomNode& custom, Json& json) const;
  Json write_hook(const Hook& hook) const;

  void write_script(const Script& script, Json& json) const;
  Json script_object(const Script& script) const {
    Json json = Json::object();
    write_script(script, json);
    return json;
  }
  Json write_expressions(const std::vector<Expression>& expressions) const;
  Json write_expression(const Expression& expression) const;
  Json write_term(const Term& term) const;

  Json write_steps(const Steps& steps) const;
  Json write_step(const Step& step) const;
  static Json write_expectation(const StepExpectation& expectation);

  // One for each kind of step, found by overload.
  void add(const ForwardStep& step, Json& json, StepId id) const;
  void add(const PassStep& step, Json& json, StepId id) const;
  void add(const SetGradStep& step, Json& json, StepId id) const;
  void add(const ReadStep& step, Json& json, StepId id) const;
  void add(const ChangeStep& step, Json& json, StepId id) const;
  void add(const KeepStep& step, Json& json, StepId id) const;
  void add(const DropStep& step, Json& json, StepId) const { json["values"] = names(step.values); }
  void add(const RequiresGradStep& step, Json& json, StepId id) const;
  void add(const WithStep& step, Json& json, StepId id) const;
  void add(const TryStep& step, Json& json, StepId) const {
    json["steps"] = write_steps(step.steps);
  }
  void add(const ParallelStep& step, Json& json, StepId id) const;
  void add(const RepeatStep& step, Json& json, StepId id) const;
  void add(const BarrierStep& step, Json& json, StepId) const {
    json["barrier"] = name_in(scenario_.barriers, step.barrier);
  }
  void add(const LockStep& step, Json& json, StepId) const {
    json["lock"] = name_in(scenario_.locks, step.lock);
  }
  void add(const ThrowStep& step, Json& json, StepId id) const;
  void add(const QueueCallbackStep& step, Json& json, StepId) const {
    json["callback"] = name_in(scenario_.callbacks, step.callback);
  }
  void add(const HookStep& step, Json& json, StepId) const {
    json["hook"] = name_in(scenario_.hooks, step.hook);
  }
  void add(const ObserveStep& step, Json& json, StepId id) const;
  void add(const EngineStep& step, Json& json, StepId) const {
    if (step.limit) json["limit"] = write_number(*step.limit);
  }
  void add(const ForkStep& step, Json& json, StepId) const {
    json["steps"] = write_steps(step.steps);
  }
  void add(const StreamStep& step, Json& json, StepId id) const;
  void add(const DeliverStep& step, Json& json, StepId id) const;
  void add(const WaitStep& step, Json& json, StepId) const {
    json["future"] = name_in(scenario_.futures, step.future);
  }
  void add(const WhenDoneStep& step, Json& json, StepId) const {
    json["future"] = name_in(scenario_.futures, step.future);
    json["callback"] = name_in(scenario_.callbacks, step.callback);
  }
  void add(const RedirectStep& step, Json& json, StepId) const {
    json["node"] = node_name(scenario_, step.node);
    if (step.edge != 0) json["edge"] = step.edge;
    if (step.to != no_id) json["to"] = value_name(step.to);
  }
  void add(const ForgetProgramsStep&, Json&, StepId) const {}
  void add(const CloseHooksStep& step, Json& json, StepId) const {
    json["hook"] = name_in(scenario_.hooks, step.hook);
  }
  void add(const ReducerStep& step, Json& json, StepId) const {
    json["reducer"] = name_in(scenario_.reducers, step.reducer);
    json["rank"] = step.rank;
    if (!step.outputs.empty()) json["outputs"] = names(step.outputs);
    if (step.what == ReducerStep::What::ask) {
      json["what"] = text(word_of(question_words, step.question));
    }
  }
  Json write_reducer(const Reducer& reducer) const;

  Json write_seed(const Seed& seed) const;
  Json write_root(const Root& root) const;

  template <typename Items>
  static std::string name_in(const Items& items, std::int32_t id) {
    return items[static_cast<std::size_t>(id)].name;
  }
  std::string value_name(ValueId value) const { return name_in(scenario_.values, value); }
  Json names(const std::vector<ValueId>& values) const {
    Json list = Json::array();
    for (const ValueId value : values) list.push_back(value_name(value));
    return list;
  }

  void find_default_forward();

  const Scenario& scenario_;
  bool only_meaning_;
  StepId default_forward_ = no_id;  // the forward that is written without its nodes
};

// The first forward that runs, in order, exactly the nodes that no other forward runs: what a
// forward without `nodes` means.
void ScenarioWriter::find_default_forward() {
  std::vector<int> uses(scenario_.nodes.size(), 0);
  const auto each_forward = [&](auto&& use) {
    for_each_step(scenario_, [&](const Step& step) {
      if (const auto* forward = std::get_if<ForwardStep>(&step.action)) use(*forward, step.id);
    });
  };
  each_forward([&](const ForwardStep& forward, StepId) {
    for (const NodeId node : forward.nodes) ++uses[static_cast<std::size_t>(node)];
  });
  each_forward([&](const ForwardStep& forward, StepId id) {
    if (default_forward_ != no_id) return;
    std::size_t next = 0;
    for (std::size_t node = 0; node < uses.size(); ++node) {
      const bool here =
          next < forward.nodes.size() && forward.nodes[next] == static_cast<NodeId>(node);
      if (here && uses[node] != 1) return;
      if (!here && uses[node] == 0) return;
      next += here ? 1 : 0;
    }
    if (next == forward.nodes.size()) default_forward_ = id;
  });
}

Json ScenarioWriter::write() const {
  Json json = Json::object();
  write_header(json);
  write_resources(json);
  for (const Leaf& leaf : scenario_.leaves) json["leaves"].push_back(write_leaf(leaf));
  for (const Node& node : scenario_.nodes) json["nodes"].push_back(write_node(node));
  for (const Hook& hook : scenario_.hooks) json["hooks"].push_back(write_hook(hook));
  for (const Callback& callback : scenario_.callbacks) {
    json["callbacks"].push_back({{"name", callback.name}, {"steps", write_steps(callback.steps)}});
  }
  json["program"] = write_steps(scenario_.program);
  return json;
}

void ScenarioWriter::write_header(Json& json) const {
  json["schema"] = "gradcts.scenario/1";
  if (!only_meaning_) {
    json["id"] = scenario_.id;
    json["title"] = scenario_.title;
    json["clauses"] = scenario_.clauses;
    if (!scenario_.reports.empty()) json["reports"] = scenario_.reports;
  }
  if (!scenario_.requires_features.empty()) json["requires"] = scenario_.requires_features;
}

void ScenarioWriter::write_resources(Json& json) const {
  const Configuration& configuration = scenario_.configuration;
  if (configuration.nesting_limit) {
    json["configuration"]["nesting_limit"] = *configuration.nesting_limit;
  }
  if (configuration.strict_validation) json["configuration"]["strict_validation"] = true;
  for (const Refusal& refusal : configuration.refusals) {
    json["configuration"]["refusals"].push_back(
        {{"device", to_text(refusal.device)}, {"times", refusal.times}});
  }
  if (scenario_.trace != Trace::all) json["trace"] = text(word_of(trace_words, scenario_.trace));
  for (const Stream& stream : scenario_.streams) {
    json["streams"].push_back({{"name", stream.name}, {"device", to_text(stream.device)}});
  }
  for (const Barrier& barrier : scenario_.barriers) {
    json["barriers"].push_back({{"name", barrier.name}, {"parties", barrier.parties}});
  }
  for (const Lock& lock : scenario_.locks) json["locks"].push_back(Json{{"name", lock.name}});
  for (const Announcement& announcement : scenario_.announcements) {
    json["announcements"].push_back(
        {{"name", announcement.name}, {"to", value_name(announcement.to)}});
  }
  for (const Future& future : scenario_.futures) {
    json["futures"].push_back(Json{{"name", future.name}});
  }
  for (const Reducer& reducer : scenario_.reducers) {
    json["reducers"].push_back(write_reducer(reducer));
  }
}

Json ScenarioWriter::write_reducer(const Reducer& reducer) const {
  Json json{{"name", reducer.name}, {"ranks", Json::array()}};
  for (const auto& parameters : reducer.ranks) json["ranks"].push_back(names(parameters));
  if (!reducer.bucket_bytes.empty()) json["bucket_bytes"] = reducer.bucket_bytes;
  if (!reducer.buckets.empty()) json["buckets"] = reducer.buckets;
  if (reducer.find_unused) json["find_unused"] = true;
  if (reducer.static_graph) json["static_graph"] = true;
  if (reducer.views) json["views"] = true;
  if (reducer.rebuild) json["rebuild"] = true;
  if (reducer.limit) json["limit"] = write_number(*reducer.limit);
  return json;
}

Json ScenarioWriter::write_leaf(const Leaf& leaf) const {
  Json json{{"name", value_name(leaf.value)}, {"value", write_tensor(leaf.initial)}};
  if (!leaf.requires_grad) json["requires_grad"] = false;
  if (leaf.grad) json["grad"] = write_tensor(*leaf.grad);
  if (leaf.stream != no_id) json["stream"] = name_in(scenario_.streams, leaf.stream);
  return json;
}

Json write_attribute(const Attribute& attribute) {
  struct Write {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(std::int64_t value) const { return value; }
    Json operator()(double value) const { return write_number(value); }
    Json operator()(bool value) const { return value; }
    Json operator()(const IntegerList& list) const {
      return std::vector<std::int64_t>(list.begin(), list.end());
    }
    Json operator()(ScalarType type) const { return text(to_text(type)); }
    Json operator()(Device device) const { return to_text(device); }
  };
  return std::visit(Write{}, attribute);
}

Json ScenarioWriter::write_node(const Node& node) const {
  const OperationSpec& spec = spec_of(node.operation);
  Json json{{"name", node.name}, {"op", text(spec.name)}, {"inputs", names(node.inputs)}};
  const bool usual = node.outputs.size() == 1 && value_name(node.outputs[0]) == node.name;
  if (!usual) json["outputs"] = names(node.outputs);
  for (std::size_t i = 0; i < node.attributes.size(); ++i) {
    if (std::holds_alternative<std::monostate>(node.attributes[i])) continue;
    json[text(spec.attributes[i].name)] = write_attribute(node.attributes[i]);
  }
  if (node.custom) write_custom(*node.custom, json);
  return json;
}

void ScenarioWriter::write_custom(const CustomNode& custom, Json& json) const {
  if (!custom.forward.empty()) json["forward"] = write_expressions(custom.forward);
  if (!custom.saves.empty()) json["saves"] = names(custom.saves);
  if (custom.materialise) json["materialise"] = true;
  if (!custom.differentiable) json["differentiable"] = false;
  if (custom.destroyed != no_id) json["destroyed"] = name_in(scenario_.callbacks, custom.destroyed);
  Json backward = script_object(custom.backward);
  if (!backward.empty()) json["backward"] = std::move(backward);
}

Json ScenarioWriter::write_hook(const Hook& hook) const {
  Json json{{"name", hook.name}, {"kind", text(to_text(hook.kind))}};
  if (hook.node != no_id) {
    json["on"] = node_name(scenario_, hook.node);
  } else if (hook.kind == HookKind::multi) {
    json["on"] = names(hook.values);
  } else if (!hook.values.empty()) {
    json["on"] = value_name(hook.values[0]);
  }
  if (!hook.at_creation) json["added"] = "by_step";
  if (hook.destroyed != no_id) json["destroyed"] = name_in(scenario_.callbacks, hook.destroyed);
  if (hook.kind != HookKind::saved) {
    write_script(hook.script, json);
    return json;
  }
  json["pack"] = script_object(hook.script);
  json["unpack"] = script_object(hook.unpack_script);
  return json;
}

// ------------------------------------------------------------------------------------------------

void ScenarioWriter::write_script(const Script& script, Json& json) const {
  if (!script.steps.empty()) json["steps"] = write_steps(script.steps);
  if (script.returns) json["returns"] = write_expressions(*script.returns);
}

Json ScenarioWriter::write_expressions(const std::vector<Expression>& expressions) const {
  Json list = Json::array();
  for (const Expression& expression : expressions) list.push_back(write_expression(expression));
  return list;
}

Json ScenarioWriter::write_expression(const Expression& expression) const {
  const bool plain = !expression.expand && !expression.cast && !expression.move_to;
  Json json = Json::object();
  switch (expression.kind) {
    case Expression::Kind::undefined:
      return nullptr;
    case Expression::Kind::combination: {
      const auto& terms = expression.terms;
      if (plain && terms.size() == 1 && terms[0].slot == 0 && terms[0].times == no_id) {
        return write_number(terms[0].factor);
      }
      json["terms"] = Json::array();
      for (const Term& term : terms) json["terms"].push_back(write_term(term));
      break;
    }
    case Expression::Kind::pass:
      json["pass"] = expression.slot;
      break;
    case Expression::Kind::constant:
      json["tensor"] = write_tensor(*expression.constant);
      break;
    case Expression::Kind::pool:
      json["pool"] = write_tensor(*expression.constant);
      break;
  }
  if (expression.expand) {
    json["expand"] =
        std::vector<std::int64_t>(expression.expand->begin(), expression.expand->end());
  }
  if (expression.cast) json["cast"] = text(to_text(*expression.cast));
  if (expression.move_to) json["move_to"] = to_text(*expression.move_to);
  return json;
}

Json ScenarioWriter::write_term(const Term& term) const {
  Json json{{"slot", term.slot}, {"factor", write_number(term.factor)}};
  if (term.factor == 1) json.erase("factor");
  if (term.times != no_id) json["times"] = value_name(term.times);
  return json;
}

// ------------------------------------------------------------------------------------------------

Json ScenarioWriter::write_steps(const Steps& steps) const {
  Json list = Json::array();
  for (const Step& step : steps) list.push_back(write_step(step));
  return list;
}

Json ScenarioWriter::write_step(const Step& step) const {
  Json json = Json::object();
  json["do"] = text(verb_of(step));
  std::visit([&](const auto& action) { add(action, json, step.id); }, step.action);
  if (step.expect && !only_meaning_) json["expect"] = write_expectation(*step.expect);
  return json;
}

Json write_optional(const std::optional<TensorValue>& tensor) {
  return tensor ? write_tensor(*tensor) : Json(nullptr);
}

Json write_mention(const Mention& mention) {
  struct Write {
    Json operator()(const std::string& word) const { return word; }
    Json operator()(std::int64_t number) const { return number; }
    Json operator()(const Shape& shape) const {
      return std::vector<std::int64_t>(shape.begin(), shape.end());
    }
  };
  return std::visit(Write{}, mention);
}

Json ScenarioWriter::write_expectation(const StepExpectation& expectation) {
  Json json = Json::object();
  if (expectation.error) json["error"] = text(to_text(*expectation.error));
  for (const Mention& mention : expectation.names) json["names"].push_back(write_mention(mention));
  if (expectation.or_error) json["or_error"] = text(to_text(*expectation.or_error));
  if (expectation.number) {
    const NumberRange& range = *expectation.number;
    if (range.least == range.most) {
      json["number"] = range.least;
    } else {
      json["number"] = {{"least", range.least}, {"most", range.most}};
    }
  }
  for (const Choice& choice : expectation.follows) {
    json["follows"][choice.clause] = choice.alternative;
  }
  if (expectation.values) {
    json["values"] = Json::array();
    for (const auto& value : *expectation.values) json["values"].push_back(write_optional(value));
  }
  if (expectation.bound) json["bound"] = write_number(*expectation.bound);
  return json;
}

void ScenarioWriter::add(const ForwardStep& step, Json& json, StepId id) const {
  if (id == default_forward_) return;
  json["nodes"] = Json::array();
  for (const NodeId node : step.nodes) json["nodes"].push_back(node_name(scenario_, node));
}

Json ScenarioWriter::write_seed(const Seed& seed) const {
  if (seed.value == no_id) return write_optional(seed.constant);
  return Json{{"from", value_name(seed.value)}};
}

Json ScenarioWriter::write_root(const Root& root) const {
  Json json{{"value", value_name(root.value)}};
  json["seed"] = write_seed(root.seed);
  return json;
}

void ScenarioWriter::add(const DeliverStep& step, Json& json, StepId) const {
  json["announcement"] = name_in(scenario_.announcements, step.announcement);
  if (step.error.empty()) {
    json["gradient"] = write_seed(step.gradient);
  } else {
    json["error"] = step.error;
  }
}

void ScenarioWriter::add(const PassStep& step, Json& json, StepId) const {
  json["roots"] = Json::array();
  for (const Root& root : step.roots) json["roots"].push_back(write_root(root));
  if (step.inputs) json["inputs"] = names(*step.inputs);
  if (step.keep_graph) json["keep"] = true;
  if (step.create_graph) json["create"] = true;
  if (step.allow_unused) json["allow_unused"] = true;
  if (step.materialise) json["materialise"] = true;
  if (!step.results.empty()) json["results"] = names(step.results);
  for (const CaptureHook& hook : step.capture_hooks) {
    json["capture_hooks"].push_back(
        {{"input", hook.input}, {"hook", name_in(scenario_.hooks, hook.hook)}});
  }
  for (const AnnouncementId announced : step.announced) {
    json["announced"].push_back(name_in(scenario_.announcements, announced));
  }
  if (step.future != no_id) json["future"] = name_in(scenario_.futures, step.future);
}

void ScenarioWriter::add(const SetGradStep& step, Json& json, StepId) const {
  json["leaf"] = value_name(step.leaf);
  json["grad"] = write_optional(step.grad);
}

void ScenarioWriter::add(const ReadStep& step, Json& json, StepId) const {
  if (!step.values.empty()) json["values"] = names(step.values);
  if (!step.grads.empty()) json["grads"] = names(step.grads);
}

void ScenarioWriter::add(const ChangeStep& step, Json& json, StepId) const {
  json["value"] = value_name(step.value);
  if (step.through != Through::handle) json["through"] = text(to_text(step.through));
  json[text(word_of(change_words, step.how))] = write_number(step.number);
}

void ScenarioWriter::add(const KeepStep& step, Json& json, StepId) const {
  if (step.slot != 0) json["slot"] = step.slot;
  if (step.grad_of != no_id) json["grad_of"] = value_name(step.grad_of);
  json["as"] = value_name(step.as);
  if (step.through != Through::handle) json["through"] = text(to_text(step.through));
}

void ScenarioWriter::add(const RequiresGradStep& step, Json& json, StepId) const {
  json["value"] = value_name(step.value);
  json["on"] = step.on;
}

void ScenarioWriter::add(const WithStep& step, Json& json, StepId) const {
  if (step.recording) json["recording"] = *step.recording;
  if (step.anomaly) json["anomaly"] = *step.anomaly;
  if (step.check_nan) json["check_nan"] = *step.check_nan;
  if (step.user_state) json["user_state"] = *step.user_state;
  if (step.user_state_destroyed != no_id) {
    json["user_state_destroyed"] = name_in(scenario_.callbacks, step.user_state_destroyed);
  }
  if (step.stream != no_id) json["stream"] = name_in(scenario_.streams, step.stream);
  if (step.captured) json["captured"] = true;
  if (step.device) json["device"] = to_text(*step.device);
  if (step.saved_hooks != no_id) json["saved_hooks"] = name_in(scenario_.hooks, step.saved_hooks);
  json["steps"] = write_steps(step.steps);
}

void ScenarioWriter::add(const ParallelStep& step, Json& json, StepId) const {
  json["threads"] = Json::array();
  for (const auto& thread : step.threads) {
    json["threads"].push_back({{"name", thread.name}, {"steps", write_steps(thread.steps)}});
  }
}

void ScenarioWriter::add(const RepeatStep& step, Json& json, StepId) const {
  json["times"] = step.times;
  json["steps"] = write_steps(step.steps);
}

void ScenarioWriter::add(const ThrowStep& step, Json& json, StepId) const {
  json["token"] = step.token;
  if (step.foreign) json["foreign"] = true;
  if (step.on_call != 0) json["on_call"] = step.on_call;
}

void ScenarioWriter::add(const ObserveStep& step, Json& json, StepId) const {
  json["what"] = text(to_text(step.what));
  if (step.node != no_id) json["node"] = node_name(scenario_, step.node);
  if (step.cause) json["cause"] = text(to_text(*step.cause));
}

void ScenarioWriter::add(const StreamStep& step, Json& json, StepId) const {
  json["stream"] = name_in(scenario_.streams, step.stream);
  if (step.waits_for != no_id) json["for"] = name_in(scenario_.streams, step.waits_for);
}

}  // namespace

Json write_scenario(const Scenario& scenario) {
  return ScenarioWriter(scenario, false).write();
}
Json write_meaning(const Scenario& scenario) {
  return ScenarioWriter(scenario, true).write();
}

}  // namespace gradcts
