// JSON to Scenario. The reader resolves names to ids and refuses what has no place in the form;
// validate() then checks the rules that hold for every scenario, whoever made it.
#include <absl/container/flat_hash_map.h>

#include <string_view>

#include "conformance/scenario/json_parts.h"
#include "conformance/scenario/validate.h"

namespace gradcts {
namespace {

// The names of one kind of thing. A name that stands twice keeps its first id: validate() reports
// it.
class Names {
 public:
  explicit Names(std::string_view kind) : kind_(kind) {}

  void add(std::string_view name, std::int32_t id) {
    ids_.try_emplace(name, id);
    in_order_.push_back(name);
  }

  std::int32_t resolve(const Json& json, const Path& path) const {
    const std::string& name = read_text(json, path);
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    fail(path,
         "there is no " + std::string(kind_) + " '" + name + "'" + suggestion(name, in_order_));
  }

 private:
  std::string_view kind_;
  absl::flat_hash_map<std::string_view, std::int32_t> ids_;
  std::vector<std::string_view> in_order_;
};

class ScenarioReader {
 public:
  explicit ScenarioReader(const Json& json) : json_(json) {}

  Scenario read();

 private:
  // Each reads one part; in the order of the form.
  void read_header(const Fields& fields);
  void read_configuration(const Fields& fields);
  void read_resources(const Fields& fields);
  void read_outside(const Fields& fields);
  void read_leaf(const Json& json, const Path& path, Leaf& leaf);
  Node read_node(const Json& json, const Path& path);
  CustomNode read_custom(const Fields& fields);
  Hook read_hook(const Json& json, const Path& path);
  void read_target(const Fields& fields, Hook& hook);
  Callback read_callback(const Json& json, const Path& path);

  // What names stand for, before anything is resolved.
  void declare(const Fields& fields);
  void declare_leaf(const Json& json, const Path& path);
  void declare_node(const Json& json, const Path& path);
  void declare_step_values(const Json* steps);
  void declare_script_values(const Json* holder);
  void declare_value(std::string_view name, Value::Origin origin, std::int32_t producer,
                     std::int32_t index);

  Script read_script(const Fields& fields);
  Expression read_expression(const Json& json, const Path& path);
  void read_result(const Fields& fields, Expression& expression);
  Term read_term(const Json& json, const Path& path);
  std::vector<Expression> read_expressions(const Fields& fields, std::string_view name);

  Steps read_steps(const Fields& fields);
  Step read_step(const Json& json, const Path& path);
  StepExpectation read_expectation(const Json& json, const Path& path);
  Action read_forward(const Fields& fields);
  Action read_backward(const Fields& fields) { return read_pass(fields, PassStep::Kind::backward); }
  Action read_grad(const Fields& fields) { return read_pass(fields, PassStep::Kind::grad); }
  Action read_pass(const Fields& fields, PassStep::Kind kind);
  Root read_root(const Json& json, const Path& path);
  Seed read_seed(const Json& json, const Path& path);
  Action read_deliver(const Fields& fields);
  Action read_wait(const Fields& fields) { return WaitStep{one(futures_, fields, "future")}; }
  Action read_when_done(const Fields& fields) {
    return WhenDoneStep{one(futures_, fields, "future"), one(callbacks_, fields, "callback")};
  }
  Action read_redirect(const Fields& fields);
  Action read_close_hooks(const Fields& fields) {
    return CloseHooksStep{one(hooks_, fields, "hook")};
  }
  Reducer read_reducer(const Json& json, const Path& path);
  Action read_make_reducer(const Fields& fields) { return on_reducer(fields, Asked::make); }
  Action read_drop_reducer(const Fields& fields) { return on_reducer(fields, Asked::drop); }
  Action read_prepare(const Fields& fields) { return on_reducer(fields, Asked::prepare); }
  Action read_reset_reducer(const Fields& fields) { return on_reducer(fields, Asked::reset); }
  Action read_ask_reducer(const Fields& fields) { return on_reducer(fields, Asked::ask); }
  using Asked = ReducerStep::What;
  ReducerStep on_reducer(const Fields& fields, Asked what);
  CaptureHook read_capture_hook(const Json& json, const Path& path);
  Action read_set_grad(const Fields& fields);
  Action read_read(const Fields& fields);
  Action read_change(const Fields& fields);
  Action read_keep(const Fields& fields);
  Action read_drop(const Fields& fields) { return DropStep{values(fields, "values")}; }
  Action read_requires_grad(const Fields& fields);
  Action read_with(const Fields& fields);
  Action read_try(const Fields& fields) { return TryStep{read_steps(fields)}; }
  Action read_parallel(const Fields& fields);
  Action read_repeat(const Fields& fields);
  Action read_barrier(const Fields& fields) {
    return BarrierStep{one(barriers_, fields, "barrier")};
  }
  Action read_lock(const Fields& fields) { return LockStep{one(locks_, fields, "lock"), true}; }
  Action read_unlock(const Fields& fields) { return LockStep{one(locks_, fields, "lock"), false}; }
  Action read_throw(const Fields& fields);
  Action read_queue_callback(const Fields& fields) {
    return QueueCallbackStep{one(callbacks_, fields, "callback")};
  }
  Action read_add_hook(const Fields& fields) { return HookStep{one(hooks_, fields, "hook"), true}; }
  Action read_remove_hook(const Fields& fields) {
    return HookStep{one(hooks_, fields, "hook"), false};
  }
  Action read_observe(const Fields& fields);
  Action read_forget_programs(const Fields&) { return ForgetProgramsStep{}; }
  Action read_start(const Fields&) { return EngineStep{EngineStep::What::start, std::nullopt}; }
  Action read_stop(const Fields& fields);
  Action read_fork(const Fields& fields) { return ForkStep{read_steps(fields)}; }
  Action read_wait_stream(const Fields& fields);
  Action read_synchronise(const Fields& fields);

  struct StepForm;
  static std::span<const StepForm> step_forms();

  std::int32_t one(const Names& names, const Fields& fields, std::string_view field) const {
    return names.resolve(fields.need(field), fields.at(field));
  }
  std::int32_t one_or_none(const Names& names, const Fields& fields, std::string_view field) const {
    return fields.find(field) == nullptr ? no_id : one(names, fields, field);
  }
  std::vector<ValueId> values(const Fields& fields, std::string_view field) const {
    std::vector<ValueId> ids;
    fields.each(field, [&](const Json& entry, const Path& path) {
      ids.push_back(values_.resolve(entry, path));
    });
    return ids;
  }

  // The next of the values that were declared for steps: read in the order of their declaration, so
  // that a name that stands twice still stands for two values.
  ValueId made_value(const Json& json, const Path& path) {
    read_text(json, path);
    return next_made_++;
  }

  const Json& json_;
  Scenario scenario_;
  Names values_{"value"};
  Names nodes_{"node"};
  Names hooks_{"hook"};
  Names callbacks_{"callback"};
  Names streams_{"stream"};
  Names barriers_{"barrier"};
  Names locks_{"lock"};
  Names announcements_{"announcement"};
  Names futures_{"future"};
  Names reducers_{"reducer"};
  std::vector<std::string> accumulator_names_;
  ValueId next_made_ = no_id;
};

// ------------------------------------------------------------------------------------------------
// Names

void ScenarioReader::declare_value(std::string_view name, Value::Origin origin,
                                   std::int32_t producer, std::int32_t index) {
  values_.add(name, static_cast<ValueId>(scenario_.values.size()));
  scenario_.values.push_back({std::string(name), origin, producer, index});
}

void ScenarioReader::declare_leaf(const Json& json, const Path& path) {
  const Fields fields(json, path, {"name", "value", "requires_grad", "grad", "stream"});
  const std::string& name = fields.text("name");
  const auto value = static_cast<ValueId>(scenario_.values.size());
  declare_value(name, Value::Origin::leaf, static_cast<std::int32_t>(scenario_.leaves.size()), 0);
  scenario_.leaves.emplace_back().value = value;
}

void ScenarioReader::declare_node(const Json& json, const Path& path) {
  if (!json.is_object()) fail(path, "expected an object, found " + describe(json));
  const auto name = json.find("name");
  if (name == json.end()) fail(path, "field 'name' is missing");
  Node node;
  node.name = read_text(*name, path / "name");
  const auto id = static_cast<NodeId>(scenario_.nodes.size());
  nodes_.add(name->get_ref<const std::string&>(), id);
  const auto outputs = json.find("outputs");
  if (outputs == json.end()) {
    node.outputs.push_back(static_cast<ValueId>(scenario_.values.size()));
    declare_value(name->get_ref<const std::string&>(), Value::Origin::node_output, id, 0);
  } else {
    const Path list_path = path / "outputs";
    const auto& list = read_list(*outputs, list_path);
    for (std::size_t i = 0; i < list.size(); ++i) {
      node.outputs.push_back(static_cast<ValueId>(scenario_.values.size()));
      declare_value(read_text(list[i], list_path[i]), Value::Origin::node_output, id,
                    static_cast<std::int32_t>(i));
    }
  }
  scenario_.nodes.push_back(std::move(node));
}

// Looks ahead for the values that steps make, in the order in which the steps are read. Malformed
// steps are left to read_step.
void ScenarioReader::declare_step_values(const Json* steps) {
  if (steps == nullptr || !steps->is_array()) return;
  const auto field = [](const Json& object, const char* name) -> const Json* {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found == object.end() ? nullptr : &*found;
  };
  const auto declare_one = [this](const Json* name, Value::Origin origin) {
    if (name == nullptr || !name->is_string()) return;
    declare_value(name->get_ref<const std::string&>(), origin, no_id, 0);
  };
  for (const Json& step : *steps) {
    const Json* results = field(step, "results");
    if (results != nullptr && results->is_array()) {
      for (const Json& name : *results) declare_one(&name, Value::Origin::pass_result);
    }
    declare_one(field(step, "as"), Value::Origin::kept);
    declare_step_values(field(step, "steps"));
    const Json* threads = field(step, "threads");
    if (threads == nullptr || !threads->is_array()) continue;
    for (const Json& thread : *threads) declare_step_values(field(thread, "steps"));
  }
}

void ScenarioReader::declare_script_values(const Json* holder) {
  if (holder == nullptr || !holder->is_object()) return;
  const auto steps = holder->find("steps");
  if (steps != holder->end()) declare_step_values(&*steps);
}

void ScenarioReader::declare(const Fields& fields) {
  fields.each("leaves", [&](const Json& json, const Path& path) { declare_leaf(json, path); });
  fields.each("nodes", [&](const Json& json, const Path& path) { declare_node(json, path); });
  for (const Leaf& leaf : scenario_.leaves) {
    accumulator_names_.push_back("accumulate:" +
                                 scenario_.values[static_cast<std::size_t>(leaf.value)].name);
  }
  for (std::size_t i = 0; i < accumulator_names_.size(); ++i) {
    nodes_.add(accumulator_names_[i], accumulator_of(scenario_, static_cast<std::int32_t>(i)));
  }
  const auto declare_named = [&](std::string_view list, Names& names) {
    std::int32_t id = 0;
    fields.each(list, [&](const Json& json, const Path& path) {
      if (!json.is_object()) fail(path, "expected an object, found " + describe(json));
      const auto name = json.find("name");
      if (name == json.end()) fail(path, "field 'name' is missing");
      names.add(read_text(*name, path / "name"), id++);
    });
  };
  declare_named("hooks", hooks_);
  declare_named("callbacks", callbacks_);
  declare_named("announcements", announcements_);
  declare_named("futures", futures_);
  declare_named("reducers", reducers_);
  next_made_ = static_cast<ValueId>(scenario_.values.size());
  const auto inner = [](const Json& json, const char* name) -> const Json* {
    const auto found = json.find(name);
    return found == json.end() ? nullptr : &*found;
  };
  fields.each("nodes", [&](const Json& json, const Path&) {
    declare_script_values(inner(json, "backward"));
  });
  fields.each("hooks", [&](const Json& json, const Path&) {
    declare_script_values(&json);
    declare_script_values(inner(json, "pack"));
    declare_script_values(inner(json, "unpack"));
  });
  fields.each("callbacks", [&](const Json& json, const Path&) { declare_script_values(&json); });
  declare_step_values(fields.find("program"));
}

// ------------------------------------------------------------------------------------------------
// The parts of a scenario

void read_texts(const Fields& fields, std::string_view name, std::vector<std::string>& texts) {
  fields.each(name,
              [&](const Json& json, const Path& path) { texts.push_back(read_text(json, path)); });
}

void ScenarioReader::read_header(const Fields& fields) {
  const std::string& schema = fields.text("schema");
  if (schema != "gradcts.scenario/1") {
    fail(fields.at("schema"), "expected 'gradcts.scenario/1', found '" + schema + "'");
  }
  scenario_.id = fields.text("id");
  scenario_.title = fields.text("title");
  fields.need("clauses");
  read_texts(fields, "clauses", scenario_.clauses);
  read_texts(fields, "reports", scenario_.reports);
  read_texts(fields, "requires", scenario_.requires_features);
  if (const Json* trace = fields.find("trace")) {
    scenario_.trace = read_word<Trace>(*trace, fields.at("trace"), trace_words);
  }
}

void ScenarioReader::read_configuration(const Fields& fields) {
  const Json* json = fields.find("configuration");
  if (json == nullptr) return;
  const Path path = fields.at("configuration");
  const Fields settings(*json, path, {"nesting_limit", "strict_validation", "refusals"});
  if (const Json* limit = settings.find("nesting_limit")) {
    scenario_.configuration.nesting_limit =
        static_cast<std::int32_t>(read_integer(*limit, settings.at("nesting_limit"), 1, 1'000'000));
  }
  scenario_.configuration.strict_validation = settings.boolean("strict_validation", false);
  settings.each("refusals", [&](const Json& entry, const Path& entry_path) {
    const Fields refusal(entry, entry_path, {"device", "times"});
    const auto times = read_integer(refusal.need("times"), refusal.at("times"), 1, 1'000);
    scenario_.configuration.refusals.push_back(
        {read_device(refusal.need("device"), refusal.at("device")),
         static_cast<std::int32_t>(times)});
  });
}

void ScenarioReader::read_resources(const Fields& fields) {
  fields.each("streams", [&](const Json& json, const Path& path) {
    const Fields stream(json, path, {"name", "device"});
    streams_.add(stream.text("name"), static_cast<StreamId>(scenario_.streams.size()));
    scenario_.streams.push_back(
        {stream.text("name"), read_device(stream.need("device"), stream.at("device"))});
  });
  fields.each("barriers", [&](const Json& json, const Path& path) {
    const Fields barrier(json, path, {"name", "parties"});
    barriers_.add(barrier.text("name"), static_cast<BarrierId>(scenario_.barriers.size()));
    const auto parties = read_integer(barrier.need("parties"), barrier.at("parties"), 2, 10'000);
    scenario_.barriers.push_back({barrier.text("name"), static_cast<std::int32_t>(parties)});
  });
  fields.each("locks", [&](const Json& json, const Path& path) {
    const Fields lock(json, path, {"name"});
    locks_.add(lock.text("name"), static_cast<LockId>(scenario_.locks.size()));
    scenario_.locks.push_back({lock.text("name")});
  });
}

// What comes to passes from outside, and what they give there.
void ScenarioReader::read_outside(const Fields& fields) {
  fields.each("announcements", [&](const Json& json, const Path& path) {
    const Fields announcement(json, path, {"name", "to"});
    scenario_.announcements.push_back(
        {announcement.text("name"), one(values_, announcement, "to")});
  });
  fields.each("reducers", [&](const Json& json, const Path& path) {
    scenario_.reducers.push_back(read_reducer(json, path));
  });
  fields.each("futures", [&](const Json& json, const Path& path) {
    scenario_.futures.push_back({Fields(json, path, {"name"}).text("name")});
  });
}

// Into the leaf that was declared.
void ScenarioReader::read_leaf(const Json& json, const Path& path, Leaf& leaf) {
  const Fields fields(json, path, {"name", "value", "requires_grad", "grad", "stream"});
  leaf.initial = read_tensor(fields.need("value"), fields.at("value"));
  leaf.requires_grad = fields.boolean("requires_grad", true);
  if (const Json* grad = fields.find("grad")) leaf.grad = read_tensor(*grad, fields.at("grad"));
  leaf.stream = one_or_none(streams_, fields, "stream");
}

IntegerList read_integers(const Json& json, const Path& path) {
  IntegerList integers;
  const auto& list = read_list(json, path);
  for (std::size_t i = 0; i < list.size(); ++i) integers.push_back(read_integer(list[i], path[i]));
  return integers;
}

Attribute read_attribute(const AttributeSpec& spec, const Fields& fields) {
  const Json* json = fields.find(spec.name);
  if (json == nullptr && spec.required) fields.need(spec.name);
  if (json == nullptr) return std::monostate{};
  const Path path = fields.at(spec.name);
  switch (spec.kind) {
    case AttributeKind::integer:
      return read_integer(*json, path);
    case AttributeKind::number:
      return read_number(*json, path);
    case AttributeKind::boolean:
      return read_boolean(*json, path);
    case AttributeKind::integers:
      return read_integers(*json, path);
    case AttributeKind::type:
      return read_word<ScalarType>(*json, path, scalar_type_words);
    case AttributeKind::device:
      return read_device(*json, path);
  }
  return std::monostate{};
}

const OperationSpec& read_operation(const Json& json, const Path& path) {
  const auto op = json.find("op");
  if (op == json.end()) fail(path, "field 'op' is missing");
  const std::string& name = read_text(*op, path / "op");
  if (const OperationSpec* spec = find_operation(name)) return *spec;
  std::vector<std::string_view> known;
  for (const OperationSpec& spec : all_operations()) known.push_back(spec.name);
  fail(path / "op", "there is no operation '" + name + "'" + suggestion(name, known));
}

Node ScenarioReader::read_node(const Json& json, const Path& path) {
  const OperationSpec& spec = read_operation(json, path);
  absl::InlinedVector<std::string_view, 12> allowed{"name", "op", "inputs", "outputs"};
  for (const AttributeSpec& attribute : spec.attributes) allowed.push_back(attribute.name);
  if (spec.operation == Operation::custom) {
    for (const auto* field :
         {"forward", "saves", "materialise", "differentiable", "backward", "destroyed"}) {
      allowed.push_back(field);
    }
  }
  const Fields fields(json, path, std::span<const std::string_view>(allowed));
  Node node;
  node.operation = spec.operation;
  fields.need("inputs");
  node.inputs = values(fields, "inputs");
  for (const AttributeSpec& attribute : spec.attributes) {
    node.attributes.push_back(read_attribute(attribute, fields));
  }
  if (spec.operation == Operation::custom) node.custom = read_custom(fields);
  return node;
}

CustomNode ScenarioReader::read_custom(const Fields& fields) {
  CustomNode custom;
  custom.forward = read_expressions(fields, "forward");
  custom.saves = values(fields, "saves");
  custom.materialise = fields.boolean("materialise", false);
  custom.differentiable = fields.boolean("differentiable", true);
  custom.destroyed = one_or_none(callbacks_, fields, "destroyed");
  if (const Json* backward = fields.find("backward")) {
    const Path path = fields.at("backward");
    custom.backward = read_script(Fields(*backward, path, {"steps", "returns"}));
  }
  return custom;
}

Hook ScenarioReader::read_hook(const Json& json, const Path& path) {
  const Fields fields(
      json, path,
      {"name", "kind", "on", "steps", "returns", "added", "pack", "unpack", "destroyed"});
  Hook hook;
  hook.destroyed = one_or_none(callbacks_, fields, "destroyed");
  hook.name = fields.text("name");
  hook.kind = read_word<HookKind>(fields.need("kind"), fields.at("kind"), hook_kind_words);
  const bool pair = hook.kind == HookKind::saved;
  for (const auto* field : {"steps", "returns"}) {
    if (pair && fields.find(field))
      fail(path, std::string("a saved hook has 'pack' and 'unpack', not '") + field + "'");
  }
  for (const auto* field : {"pack", "unpack"}) {
    if (!pair && fields.find(field))
      fail(path, std::string("only a saved hook has '") + field + "'");
  }
  if (const Json* added = fields.find("added")) {
    hook.at_creation = read_word<int>(*added, fields.at("added"), added_words) == 0;
  }
  read_target(fields, hook);
  if (!pair) hook.script = read_script(fields);
  for (auto [field, script] : {std::pair{"pack", &hook.script}, {"unpack", &hook.unpack_script}}) {
    const Json* part = fields.find(field);
    if (part == nullptr) continue;
    const Path part_path = fields.at(field);
    *script = read_script(Fields(*part, part_path, {"steps", "returns"}));
  }
  return hook;
}

void ScenarioReader::read_target(const Fields& fields, Hook& hook) {
  const bool has_target = hook.kind != HookKind::capture && hook.kind != HookKind::saved;
  if (!has_target) {
    if (fields.find("on") != nullptr) {
      fail(fields.at("on"),
           "a hook of kind " + std::string(to_text(hook.kind)) + " is on nothing: a step names it");
    }
    return;
  }
  if (hook.kind == HookKind::node_pre || hook.kind == HookKind::node_post) {
    hook.node = one(nodes_, fields, "on");
  } else if (hook.kind == HookKind::multi) {
    fields.need("on");
    hook.values = values(fields, "on");
  } else {
    hook.values = {one(values_, fields, "on")};
  }
}

Callback ScenarioReader::read_callback(const Json& json, const Path& path) {
  const Fields fields(json, path, {"name", "steps"});
  return {fields.text("name"), read_steps(fields)};
}

// ------------------------------------------------------------------------------------------------
// Scripts and expressions

Script ScenarioReader::read_script(const Fields& fields) {
  Script script;
  script.steps = read_steps(fields);
  if (fields.find("returns") != nullptr) script.returns = read_expressions(fields, "returns");
  return script;
}

std::vector<Expression> ScenarioReader::read_expressions(const Fields& fields,
                                                         std::string_view name) {
  std::vector<Expression> expressions;
  fields.each(name, [&](const Json& json, const Path& path) {
    expressions.push_back(read_expression(json, path));
  });
  return expressions;
}

Expression ScenarioReader::read_expression(const Json& json, const Path& path) {
  Expression expression;
  if (json.is_null()) {
    expression.kind = Expression::Kind::undefined;
  } else if (json.is_object()) {
    const Fields fields(json, path,
                        {"terms", "pass", "tensor", "pool", "expand", "cast", "move_to"});
    read_result(fields, expression);
    if (const Json* shape = fields.find("expand")) {
      expression.expand = read_shape(*shape, fields.at("expand"));
    }
    if (const Json* type = fields.find("cast")) {
      expression.cast = read_word<ScalarType>(*type, fields.at("cast"), scalar_type_words);
    }
    if (const Json* device = fields.find("move_to")) {
      expression.move_to = read_device(*device, fields.at("move_to"));
    }
  } else if (json.is_number() || json.is_string()) {
    expression.terms.push_back({0, read_number(json, path), no_id});
  } else {
    fail(path, "expected an expression (null, a number or an object), found " + describe(json));
  }
  return expression;
}

// Exactly one of the four forms.
void ScenarioReader::read_result(const Fields& fields, Expression& expression) {
  int forms = 0;
  if (fields.find("terms") != nullptr) {
    ++forms;
    fields.each("terms", [&](const Json& json, const Path& path) {
      expression.terms.push_back(read_term(json, path));
    });
  }
  if (const Json* slot = fields.find("pass")) {
    ++forms;
    expression.kind = Expression::Kind::pass;
    expression.slot = static_cast<std::int32_t>(read_integer(*slot, fields.at("pass"), 0, 10'000));
  }
  const std::pair<const char*, Expression::Kind> constants[] = {
      {"tensor", Expression::Kind::constant}, {"pool", Expression::Kind::pool}};
  for (const auto& [name, kind] : constants) {
    const Json* tensor = fields.find(name);
    if (tensor == nullptr) continue;
    ++forms;
    expression.kind = kind;
    expression.constant = read_tensor(*tensor, fields.at(name));
  }
  if (forms != 1) fail(fields.path(), "expected exactly one of 'terms', 'pass', 'tensor', 'pool'");
}

Term ScenarioReader::read_term(const Json& json, const Path& path) {
  const Fields fields(json, path, {"slot", "factor", "times"});
  Term term;
  term.slot =
      static_cast<std::int32_t>(read_integer(fields.need("slot"), fields.at("slot"), 0, 10'000));
  if (fields.find("factor") != nullptr) term.factor = fields.number("factor");
  term.times = one_or_none(values_, fields, "times");
  return term;
}

// ------------------------------------------------------------------------------------------------
// Steps

struct ScenarioReader::StepForm {
  std::string_view verb;
  std::vector<std::string_view> fields;  // beyond `do` and `expect`
  Action (ScenarioReader::*read)(const Fields&);

  StepForm(std::string_view name, std::initializer_list<std::string_view> own,
           Action (ScenarioReader::*reader)(const Fields&))
      : verb(name), fields{"do", "expect"}, read(reader) {
    fields.insert(fields.end(), own);
  }
};

std::span<const ScenarioReader::StepForm> ScenarioReader::step_forms() {
  using Self = ScenarioReader;
  static const std::vector<StepForm> forms{
      {"forward", {"nodes"}, &Self::read_forward},
      {"backward",
       {"roots", "inputs", "keep", "create", "announced", "future"},
       &Self::read_backward},
      {"grad",
       {"roots", "inputs", "keep", "create", "allow_unused", "materialise", "results",
        "capture_hooks", "announced", "future"},
       &Self::read_grad},
      {"set_grad", {"leaf", "grad"}, &Self::read_set_grad},
      {"read", {"values", "grads"}, &Self::read_read},
      {"change", {"value", "through", "add", "multiply", "fill"}, &Self::read_change},
      {"keep", {"slot", "grad_of", "as", "through"}, &Self::read_keep},
      {"drop", {"values"}, &Self::read_drop},
      {"requires_grad", {"value", "on"}, &Self::read_requires_grad},
      {"with",
       {"recording", "anomaly", "check_nan", "user_state", "user_state_destroyed", "stream",
        "captured", "device", "saved_hooks", "steps"},
       &Self::read_with},
      {"try", {"steps"}, &Self::read_try},
      {"parallel", {"threads"}, &Self::read_parallel},
      {"repeat", {"times", "steps"}, &Self::read_repeat},
      {"barrier", {"barrier"}, &Self::read_barrier},
      {"lock", {"lock"}, &Self::read_lock},
      {"unlock", {"lock"}, &Self::read_unlock},
      {"throw", {"token", "foreign", "on_call"}, &Self::read_throw},
      {"queue_callback", {"callback"}, &Self::read_queue_callback},
      {"add_hook", {"hook"}, &Self::read_add_hook},
      {"remove_hook", {"hook"}, &Self::read_remove_hook},
      {"observe", {"what", "node", "cause"}, &Self::read_observe},
      {"start", {}, &Self::read_start},
      {"stop", {"limit"}, &Self::read_stop},
      {"fork", {"steps"}, &Self::read_fork},
      {"wait_stream", {"stream", "for"}, &Self::read_wait_stream},
      {"synchronise", {"stream"}, &Self::read_synchronise},
      {"deliver", {"announcement", "gradient", "error"}, &Self::read_deliver},
      {"wait", {"future"}, &Self::read_wait},
      {"when_done", {"future", "callback"}, &Self::read_when_done},
      {"redirect", {"node", "edge", "to"}, &Self::read_redirect},
      {"close_hooks", {"hook"}, &Self::read_close_hooks},
      {"forget_programs", {}, &Self::read_forget_programs},
      {"make_reducer", {"reducer", "rank"}, &Self::read_make_reducer},
      {"drop_reducer", {"reducer", "rank"}, &Self::read_drop_reducer},
      {"prepare", {"reducer", "rank", "outputs"}, &Self::read_prepare},
      {"reset_reducer", {"reducer", "rank"}, &Self::read_reset_reducer},
      {"ask_reducer", {"reducer", "rank", "what"}, &Self::read_ask_reducer},
  };
  return forms;
}

Steps ScenarioReader::read_steps(const Fields& fields) {
  Steps steps;
  fields.each("steps",
              [&](const Json& json, const Path& path) { steps.push_back(read_step(json, path)); });
  return steps;
}

Step ScenarioReader::read_step(const Json& json, const Path& path) {
  if (!json.is_object()) fail(path, "expected a step (an object), found " + describe(json));
  const auto verb = json.find("do");
  if (verb == json.end()) fail(path, "field 'do' is missing");
  const std::string& word = read_text(*verb, path / "do");
  for (const StepForm& form : step_forms()) {
    if (form.verb != word) continue;
    const Fields fields(json, path, std::span(form.fields));
    Step step;
    step.action = (this->*form.read)(fields);
    if (const Json* expect = fields.find("expect")) {
      step.expect = read_expectation(*expect, fields.at("expect"));
    }
    return step;
  }
  std::vector<std::string_view> verbs;
  for (const StepForm& form : step_forms()) verbs.push_back(form.verb);
  fail(path / "do", "there is no step '" + word + "'" + suggestion(word, verbs));
}

Mention read_mention(const Json& json, const Path& path) {
  if (json.is_array()) return read_shape(json, path);
  if (json.is_number_integer()) return read_integer(json, path);
  return read_text(json, path);
}

NumberRange read_number_range(const Json& json, const Path& path) {
  if (!json.is_object()) {
    const std::int64_t number = read_integer(json, path);
    return {number, number};
  }
  const Fields fields(json, path, {"least", "most"});
  return {read_integer(fields.need("least"), fields.at("least")),
          read_integer(fields.need("most"), fields.at("most"))};
}

std::vector<Choice> read_choices(const Json& json, const Path& path) {
  if (!json.is_object()) fail(path, "expected an object, found " + describe(json));
  std::vector<Choice> choices;
  for (const auto& [clause, alternative] : json.items()) {
    choices.push_back({clause, read_text(alternative, path / clause)});
  }
  return choices;
}

StepExpectation ScenarioReader::read_expectation(const Json& json, const Path& path) {
  const Fields fields(json, path,
                      {"error", "names", "or_error", "number", "follows", "values", "bound"});
  StepExpectation expectation;
  fields.each("names", [&](const Json& mention, const Path& mention_path) {
    expectation.names.push_back(read_mention(mention, mention_path));
  });
  if (const Json* error = fields.find("or_error")) {
    expectation.or_error =
        read_word<ErrorCategory>(*error, fields.at("or_error"), error_category_words);
  }
  if (const Json* number = fields.find("number")) {
    expectation.number = read_number_range(*number, fields.at("number"));
  }
  if (const Json* follows = fields.find("follows")) {
    expectation.follows = read_choices(*follows, fields.at("follows"));
  }
  if (const Json* error = fields.find("error")) {
    expectation.error = read_word<ErrorCategory>(*error, fields.at("error"), error_category_words);
  }
  if (fields.find("values") != nullptr) {
    expectation.values.emplace();
    fields.each("values", [&](const Json& value, const Path& value_path) {
      expectation.values->push_back(
          value.is_null() ? std::nullopt : std::optional(read_tensor(value, value_path)));
    });
  }
  if (fields.find("bound") != nullptr) expectation.bound = fields.number("bound");
  return expectation;
}

Action ScenarioReader::read_forward(const Fields& fields) {
  ForwardStep forward;
  fields.each("nodes", [&](const Json& json, const Path& path) {
    forward.nodes.push_back(nodes_.resolve(json, path));
  });
  if (fields.find("nodes") != nullptr && forward.nodes.empty()) {
    fail(fields.at("nodes"), "expected at least one node; leave 'nodes' out to run all");
  }
  return forward;
}

Action ScenarioReader::read_pass(const Fields& fields, PassStep::Kind kind) {
  PassStep pass;
  pass.kind = kind;
  fields.need("roots");
  fields.each("roots", [&](const Json& json, const Path& path) {
    pass.roots.push_back(read_root(json, path));
  });
  if (kind == PassStep::Kind::grad) fields.need("inputs");
  if (fields.find("inputs") != nullptr) pass.inputs = values(fields, "inputs");
  pass.keep_graph = fields.boolean("keep", false);
  pass.create_graph = fields.boolean("create", false);
  pass.allow_unused = fields.boolean("allow_unused", false);
  pass.materialise = fields.boolean("materialise", false);
  fields.each("results", [&](const Json& json, const Path& path) {
    pass.results.push_back(made_value(json, path));
  });
  fields.each("capture_hooks", [&](const Json& json, const Path& path) {
    pass.capture_hooks.push_back(read_capture_hook(json, path));
  });
  fields.each("announced", [&](const Json& json, const Path& path) {
    pass.announced.push_back(announcements_.resolve(json, path));
  });
  pass.future = one_or_none(futures_, fields, "future");
  return pass;
}

Seed ScenarioReader::read_seed(const Json& json, const Path& path) {
  Seed seed;
  if (json.is_object() && json.contains("from")) {
    seed.value = one(values_, Fields(json, path, {"from"}), "from");
  } else if (!json.is_null()) {
    seed.constant = read_tensor(json, path);
  }
  return seed;
}

Action ScenarioReader::read_deliver(const Fields& fields) {
  DeliverStep step;
  step.announcement = one(announcements_, fields, "announcement");
  if ((fields.find("gradient") != nullptr) == (fields.find("error") != nullptr)) {
    fail(fields.path(), "expected one of 'gradient' and 'error'");
  }
  if (const Json* gradient = fields.find("gradient")) {
    step.gradient = read_seed(*gradient, fields.at("gradient"));
  } else {
    step.error = fields.text("error");
  }
  return step;
}

Action ScenarioReader::read_redirect(const Fields& fields) {
  RedirectStep step;
  step.node = one(nodes_, fields, "node");
  if (const Json* edge = fields.find("edge")) {
    step.edge = static_cast<std::int32_t>(read_integer(*edge, fields.at("edge"), 0, 10'000));
  }
  step.to = one_or_none(values_, fields, "to");
  return step;
}

Action ScenarioReader::read_stop(const Fields& fields) {
  EngineStep step{EngineStep::What::stop, std::nullopt};
  if (fields.find("limit") != nullptr) step.limit = fields.number("limit");
  return step;
}

Root ScenarioReader::read_root(const Json& json, const Path& path) {
  const Fields fields(json, path, {"value", "seed"});
  Root root;
  root.value = one(values_, fields, "value");
  root.seed = read_seed(fields.need("seed"), fields.at("seed"));
  return root;
}

CaptureHook ScenarioReader::read_capture_hook(const Json& json, const Path& path) {
  const Fields fields(json, path, {"input", "hook"});
  const auto input = read_integer(fields.need("input"), fields.at("input"), 0, 1'000'000);
  return {static_cast<std::int32_t>(input), one(hooks_, fields, "hook")};
}

Action ScenarioReader::read_set_grad(const Fields& fields) {
  SetGradStep step;
  step.leaf = one(values_, fields, "leaf");
  const Json& grad = fields.need("grad");
  if (!grad.is_null()) step.grad = read_tensor(grad, fields.at("grad"));
  return step;
}

Action ScenarioReader::read_read(const Fields& fields) {
  return ReadStep{values(fields, "values"), values(fields, "grads")};
}

Action ScenarioReader::read_change(const Fields& fields) {
  ChangeStep step;
  step.value = one(values_, fields, "value");
  if (const Json* through = fields.find("through")) {
    step.through = read_word<Through>(*through, fields.at("through"), through_words);
  }
  int ways = 0;
  for (std::size_t i = 0; i < change_words.size(); ++i) {
    if (fields.find(change_words[i]) == nullptr) continue;
    ++ways;
    step.how = static_cast<ChangeStep::How>(i);
    step.number = fields.number(change_words[i]);
  }
  if (ways != 1) fail(fields.path(), "expected exactly one of 'add', 'multiply', 'fill'");
  return step;
}

Action ScenarioReader::read_keep(const Fields& fields) {
  KeepStep step;
  if (const Json* slot = fields.find("slot")) {
    step.slot = static_cast<std::int32_t>(read_integer(*slot, fields.at("slot"), 0, 10'000));
  }
  if (const Json* through = fields.find("through")) {
    step.through = read_word<Through>(*through, fields.at("through"), through_words);
  }
  if (fields.find("grad_of") != nullptr) {
    step.grad_of = one(values_, fields, "grad_of");
    if (fields.find("slot") != nullptr) {
      fail(fields.at("slot"), "expected one of 'slot' and 'grad_of'");
    }
  }
  step.as = made_value(fields.need("as"), fields.at("as"));
  return step;
}

Action ScenarioReader::read_requires_grad(const Fields& fields) {
  return RequiresGradStep{one(values_, fields, "value"),
                          read_boolean(fields.need("on"), fields.at("on"))};
}

Action ScenarioReader::read_with(const Fields& fields) {
  WithStep step;
  const std::pair<const char*, std::optional<bool>*> switches[] = {
      {"recording", &step.recording}, {"anomaly", &step.anomaly}, {"check_nan", &step.check_nan}};
  for (const auto& [name, setting] : switches) {
    if (const Json* on = fields.find(name)) *setting = read_boolean(*on, fields.at(name));
  }
  if (const Json* state = fields.find("user_state")) {
    step.user_state = read_integer(*state, fields.at("user_state"));
  }
  step.user_state_destroyed = one_or_none(callbacks_, fields, "user_state_destroyed");
  step.stream = one_or_none(streams_, fields, "stream");
  step.captured = fields.boolean("captured", false);
  if (const Json* device = fields.find("device")) {
    step.device = read_device(*device, fields.at("device"));
  }
  step.saved_hooks = one_or_none(hooks_, fields, "saved_hooks");
  step.steps = read_steps(fields);
  return step;
}

Action ScenarioReader::read_parallel(const Fields& fields) {
  ParallelStep step;
  fields.each("threads", [&](const Json& json, const Path& path) {
    const Fields thread(json, path, {"name", "steps"});
    step.threads.push_back({thread.text("name"), read_steps(thread)});
  });
  return step;
}

Action ScenarioReader::read_repeat(const Fields& fields) {
  RepeatStep step;
  step.times = read_integer(fields.need("times"), fields.at("times"), 1);
  step.steps = read_steps(fields);
  return step;
}

Action ScenarioReader::read_throw(const Fields& fields) {
  ThrowStep step{fields.text("token"), fields.boolean("foreign", false)};
  if (const Json* call = fields.find("on_call")) {
    step.on_call = static_cast<std::int32_t>(read_integer(*call, fields.at("on_call"), 1, 10'000));
  }
  return step;
}

Action ScenarioReader::read_observe(const Fields& fields) {
  ObserveStep step;
  step.what = read_word<ObserveStep::What>(fields.need("what"), fields.at("what"), observe_words);
  step.node = one_or_none(nodes_, fields, "node");
  if (const Json* cause = fields.find("cause")) {
    step.cause = read_word<ObserveStep::Cause>(*cause, fields.at("cause"), cause_words);
  }
  return step;
}

std::vector<std::int64_t> read_integers(const Json& json, const Path& path, std::int64_t least) {
  std::vector<std::int64_t> numbers;
  const auto& list = read_list(json, path);
  for (std::size_t i = 0; i < list.size(); ++i) {
    numbers.push_back(read_integer(list[i], path[i], least, std::int64_t{1} << 40));
  }
  return numbers;
}

Reducer ScenarioReader::read_reducer(const Json& json, const Path& path) {
  const Fields fields(json, path,
                      {"name", "ranks", "bucket_bytes", "buckets", "find_unused", "static_graph",
                       "views", "rebuild", "limit"});
  Reducer reducer;
  reducer.name = fields.text("name");
  fields.need("ranks");
  fields.each("ranks", [&](const Json& rank, const Path& rank_path) {
    auto& parameters = reducer.ranks.emplace_back();
    const auto& list = read_list(rank, rank_path);
    for (std::size_t i = 0; i < list.size(); ++i) {
      parameters.push_back(values_.resolve(list[i], rank_path[i]));
    }
  });
  if (const Json* bytes = fields.find("bucket_bytes")) {
    reducer.bucket_bytes = read_integers(*bytes, fields.at("bucket_bytes"), 1);
  }
  fields.each("buckets", [&](const Json& bucket, const Path& bucket_path) {
    reducer.buckets.push_back(read_integers(bucket, bucket_path, 0));
  });
  reducer.find_unused = fields.boolean("find_unused", false);
  reducer.static_graph = fields.boolean("static_graph", false);
  reducer.views = fields.boolean("views", false);
  reducer.rebuild = fields.boolean("rebuild", false);
  if (fields.find("limit") != nullptr) reducer.limit = fields.number("limit");
  return reducer;
}

ReducerStep ScenarioReader::on_reducer(const Fields& fields, Asked what) {
  ReducerStep step;
  step.what = what;
  step.reducer = one(reducers_, fields, "reducer");
  step.rank =
      static_cast<std::int32_t>(read_integer(fields.need("rank"), fields.at("rank"), 0, 10'000));
  step.outputs = values(fields, "outputs");
  if (what == Asked::ask) {
    step.question =
        read_word<ReducerStep::Question>(fields.need("what"), fields.at("what"), question_words);
  }
  return step;
}

Action ScenarioReader::read_wait_stream(const Fields& fields) {
  return StreamStep{StreamStep::What::wait, one(streams_, fields, "stream"),
                    one(streams_, fields, "for")};
}

Action ScenarioReader::read_synchronise(const Fields& fields) {
  return StreamStep{StreamStep::What::synchronise, one(streams_, fields, "stream"), no_id};
}

Scenario ScenarioReader::read() {
  const Path document;
  const Fields fields(json_, document,
                      {"schema", "id", "title", "clauses", "reports", "requires", "configuration",
                       "trace", "streams", "barriers", "locks", "announcements", "futures",
                       "reducers", "leaves", "nodes", "hooks", "callbacks", "program"});
  read_header(fields);
  read_configuration(fields);
  read_resources(fields);
  declare(fields);
  read_outside(fields);
  std::size_t next = 0;
  fields.each("leaves", [&](const Json& json, const Path& path) {
    read_leaf(json, path, scenario_.leaves[next++]);
  });
  next = 0;
  fields.each("nodes", [&](const Json& json, const Path& path) {
    Node node = read_node(json, path);
    node.name = std::move(scenario_.nodes[next].name);
    node.outputs = std::move(scenario_.nodes[next].outputs);
    scenario_.nodes[next++] = std::move(node);
  });
  fields.each("hooks", [&](const Json& json, const Path& path) {
    scenario_.hooks.push_back(read_hook(json, path));
  });
  fields.each("callbacks", [&](const Json& json, const Path& path) {
    scenario_.callbacks.push_back(read_callback(json, path));
  });
  fields.need("program");
  fields.each("program", [&](const Json& json, const Path& path) {
    scenario_.program.push_back(read_step(json, path));
  });
  complete_forwards(scenario_);
  number_steps(scenario_);
  validate(scenario_);
  return std::move(scenario_);
}

}  // namespace

Scenario read_scenario(const Json& json) {
  return ScenarioReader(json).read();
}

}  // namespace gradcts
