#include "conformance/oracle/interpreter.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "conformance/oracle/pass.h"

namespace gradcts::oracle {

namespace {

std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

// Sets something for a scope.
template <typename Value>
class Restore {
 public:
  explicit Restore(Value& place) : place_(place), old_(place) {}
  Restore(Value& place, Value value)
      : place_(place), old_(std::exchange(place, std::move(value))) {}
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;
  ~Restore() { place_ = std::move(old_); }

 private:
  Value& place_;
  Value old_;
};

constexpr std::int32_t default_nesting_limit = 60;
// Room for so many changes of thread by nesting, before the numbers of two threads of a program
// meet.
constexpr std::int32_t makers_per_thread = 100000;
// Threads of devices have numbers below 0. A pass that one of them starts stays on it (DEV-1), or
// goes to a thread of the pool, which may be any: Interpreter::pool_threads_.
std::int32_t device_thread(Device device) {
  constexpr std::int32_t devices_of_type = 128;
  return -1 - device.index - devices_of_type * static_cast<std::int32_t>(device.type);
}
constexpr std::int32_t pool_threads = -10000;

const char* clause_of(HookKind kind) {
  switch (kind) {
    case HookKind::post_accumulate:
      return "HOOK-1";
    case HookKind::capture:
      return "HOOK-7";
    case HookKind::multi:
      return "HOOK-8";
    case HookKind::saved:
      return "HOOK-9";
    default:
      return "HOOK-2";
  }
}

const char* clause_of(ObserveStep::What what) {
  using What = ObserveStep::What;
  switch (what) {
    case What::recording:
      return "GRAPH2-2";
    case What::user_state:
      return "TLS-1";
    case What::device:
      return "DEV-4";
    case What::stream:
      return "STREAM-1";
    case What::depth:
      return "REENT-1";
    case What::checkpoint_valid:
      return "REENT-8";
    case What::inside_pass:
      return "ERR-4";
    case What::needed:
    case What::will_run:
      return "PRUNE-8";
    case What::anomaly:
      return "ANOM-3";
    default:  // what the scenario's author states
      return "TLS-1";
  }
}

// HOOK-9. What a pack or unpack hook returned: one result, or nothing and so what it was given.
Tensor* one_of_pair(const std::optional<Gradients>& returned, Tensor* given) {
  if (!returned) return given;
  if (returned->size() != 1) throw error_of(ErrorCategory::hook_result, "HOOK-9");
  return (*returned)[0];
}

}  // namespace

Thrown error_of(ErrorCategory category, const char* clause,
                std::vector<ErrorCategory> also_allowed) {
  Thrown thrown;
  thrown.error.category = category;
  thrown.allowed = std::move(also_allowed);
  thrown.clause = clause;
  return thrown;
}

Interpreter::Interpreter(const Scenario& scenario, const Dialect& dialect, Expectation& expectation,
                         std::int32_t deepest)
    : scenario_(scenario),
      dialect_(dialect),
      expectation_(expectation),
      deepest_(deepest),
      trace_(expectation),
      reducers_(scenario, graph_),
      values_(scenario.values.size(), nullptr),
      leaves_(scenario.leaves.size(), nullptr),
      dropped_(scenario.leaves.size(), false),
      nodes_(scenario.nodes.size() + scenario.leaves.size(), nullptr),
      makings_(scenario.nodes.size(), 0),
      hook_lists_(scenario.hooks.size()),
      multi_targets_(scenario.hooks.size()),
      forks_seen_(at(scenario.step_count), 0),
      deliveries_(scenario.announcements.size()),
      futures_(scenario.futures.size()),
      throws_(at(scenario.step_count), 0),
      closed_hooks_(scenario.hooks.size(), false),
      undetermined_(scenario.values.size(), false),
      history_unknown_(scenario.values.size(), false),
      identity_unknown_(scenario.values.size(), false),
      pool_threads_(pool_threads) {
  for (const Refusal& refusal : scenario.configuration.refusals) refusals_.push_back(refusal.times);
}

void Interpreter::run() {
  for (std::size_t i = 0; i < scenario_.leaves.size(); ++i) {
    make_leaf(static_cast<std::int32_t>(i));
  }
  run_steps(scenario_.program, Errors::stand);
  settle_reducers();
  report_leaf_grads();
  run_destructions();
  trace_.settle();
}

// ---- Making things
// ----------------------------------------------------------------------------------------

void Interpreter::make_leaf(std::int32_t index) {
  const Leaf& leaf = scenario_.leaves[at(index)];
  Restore stream(graph_.stream, leaf.stream);
  Tensor* tensor = graph_.make(leaf.initial);
  tensor->requires_grad = leaf.requires_grad;
  if (leaf.grad) tensor->grad = graph_.make(*leaf.grad);
  leaves_[at(index)] = values_[at(leaf.value)] = tensor;
  const NodeId accumulator = accumulator_of(scenario_, index);
  nodes_[at(accumulator)] = graph_.accumulator_of(*tensor);
  nodes_[at(accumulator)]->id = accumulator;
  add_hooks_at_creation(accumulator, {leaf.value});
}

void Interpreter::make_node(NodeId id) {
  const Node& node = scenario_.nodes[at(id)];
  Gradients inputs;
  for (ValueId input : node.inputs) {
    inputs.push_back(defined(input));
    note_access(Access::Kind::read, value(input)->storage);
  }
  if (spec_of(node.operation).in_place) need_identity(node.inputs[0]);
  if (spec_of(node.operation).in_place) note_access(Access::Kind::change, inputs[0]->storage);
  if (!modes_.recording_known) {
    const Restore recording(graph_.recording, true);
    if (graph_.records(inputs))
      throw CannotTell("a forward in a callback that may or may not record");
  }
  const std::int32_t making = makings_[at(id)]++;
  const std::int64_t start = graph_.tick();
  const Gradients outputs =
      node.custom ? make_custom(id, node, inputs) : apply(graph_, node, inputs);
  GraphNode* made = outputs[0]->origin.node;
  if (made && made->sequence < start) made = nullptr;
  if (made) {
    made->id = id;
    made->instance = making;
  }
  nodes_[at(id)] = made;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) values_[at(node.outputs[i])] = outputs[i];
  add_hooks_at_creation(id, node.outputs);
}

// The forward of a custom node is not recorded: the node stands for all of it.
Gradients Interpreter::make_custom(NodeId id, const Node& node, const Gradients& inputs) {
  const Gradients outputs = custom_forward(node, inputs);
  GraphNode* made = graph_.record(inputs, outputs,
                                  [this, id](Graph&, GraphNode& running, const Gradients& slots) {
                                    return run_custom(id, running, slots);
                                  });
  note_destruction(node.custom->destroyed, "ERR-3", {0, 1});
  if (!made) return outputs;
  made->scripted = true;
  made->materialises = node.custom->materialise;
  for (const ValueId saved : node.custom->saves) {  // outputs have no name before that is done
    const auto place = static_cast<std::size_t>(
        std::find(node.outputs.begin(), node.outputs.end(), saved) - node.outputs.begin());
    graph_.save(*made, place < outputs.size() ? outputs[place] : value(saved));
  }
  return outputs;
}

Gradients Interpreter::custom_forward(const Node& node, const Gradients& inputs) {
  const Restore recording(graph_.recording, false);
  Frame frame{&inputs, nullptr, nullptr};
  Gradients outputs;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const auto& forward = node.custom->forward;
    Tensor* output = forward.empty() ? sum_of(inputs) : evaluate(forward[i], frame);
    // What passes its input on gives out another handle of it (B086).
    const bool passes = std::find(inputs.begin(), inputs.end(), output) != inputs.end();
    outputs.push_back(passes ? graph_.alias(*output) : output);
  }
  return outputs;
}

Gradients Interpreter::run_custom(NodeId id, GraphNode& node, const Gradients& slots) {
  const Node& described = scenario_.nodes[at(id)];
  const CustomNode& custom = *described.custom;
  give_values(trace_enter(node, slots), slots);
  const bool differentiable = custom.differentiable;
  const bool recording = graph_.recording;
  const Frame frame{&slots, &node, &custom};
  run_script(custom.backward.steps, frame);
  Gradients results;
  {
    const Restore derivative(graph_.recording, recording && differentiable);
    if (custom.backward.returns) {
      results = returns_of(*custom.backward.returns, frame);
    } else {
      results.resize(described.inputs.size(), nullptr);
      for (Tensor*& result : results) result = sum_of(slots);
    }
  }
  if (recording && !differentiable) refuse_second_derivative(node, slots, results);
  const std::int32_t exit = trace_.node(EventKind::node_exit, id, node.instance);
  give_values(exit, results);
  return results;
}

// GRAPH2-3: whatever depends on the node's gradients cannot be differentiated again.
void Interpreter::refuse_second_derivative(GraphNode& node, const Gradients& slots,
                                           Gradients& results) {
  for (Tensor*& result : results) {
    if (!result) continue;
    GraphNode* refusing =
        graph_.make_node(slots, [](Graph&, GraphNode&, const Gradients&) -> Gradients {
          throw Refused{ErrorCategory::not_differentiable, "GRAPH2-3"};
        });
    refusing->refuses = true;
    refusing->edges.insert(refusing->edges.end(), node.edges.begin(), node.edges.end());
    result = graph_.alias(*result);
    graph_.attach(*refusing, *result);
  }
}

// ---- Hooks
// --------------------------------------------------------------------------------------------------

void Interpreter::add_hooks_at_creation(NodeId node, const std::vector<ValueId>& made) {
  for (std::size_t i = 0; i < scenario_.hooks.size(); ++i) {
    const Hook& hook = scenario_.hooks[i];
    if (hook.at_creation && is_about(hook, node, made)) add_hook(static_cast<HookId>(i));
  }
}

// Whether these were the last of what the hook waited for.
bool Interpreter::is_about(const Hook& hook, NodeId node, const std::vector<ValueId>& made) const {
  if (hook.node != no_id) return hook.node == node;
  bool concerned = false;
  for (ValueId id : hook.values) {
    if (!value(id)) return false;
    concerned |= std::find(made.begin(), made.end(), id) != made.end();
  }
  return concerned;
}

// Of which nodes a step changes the hooks.
void Interpreter::note_change_of_hooks(const Hook& hook) {
  if (hook.node != no_id) {
    note_script_effect({Effect::Kind::change_hooks, nodes_[at(hook.node)]});
  }
  for (const ValueId id : hook.values) {
    Tensor* tensor = value(id);
    if (!tensor || !Graph::tracked(*tensor)) continue;
    note_script_effect({Effect::Kind::change_hooks, graph_.edge_of(*tensor).node});
  }
}

Edge Interpreter::hooked_slot(Tensor* tensor) {
  if (!tensor || !Graph::tracked(*tensor)) throw Refused{ErrorCategory::invalid_argument, nullptr};
  return graph_.edge_of(*tensor);
}

Registrations& Interpreter::tensor_hooks_of(Tensor* tensor) {
  const Edge edge = hooked_slot(tensor);
  return edge.node->make_hooks().tensor[at(edge.slot)];
}

GraphNode& Interpreter::node_of(NodeId id) {
  if (!nodes_[at(id)]) throw CannotTell("a node without history");
  return *nodes_[at(id)];
}

void Interpreter::add_to(Registrations& list, HookId id) {
  list.push_back({id, false, graph_.tick()});
  hook_lists_[at(id)].push_back(&list);
}

void Interpreter::add_hook(HookId id) {
  const Hook& hook = scenario_.hooks[at(id)];
  for (const ValueId target : hook.values) need_identity(target);
  note_destruction(hook.destroyed, "ERR-3", {0, 1});
  Tensor* tensor = hook.values.empty() ? nullptr : value(hook.values[0]);
  switch (hook.kind) {
    case HookKind::tensor:
      return add_to(tensor_hooks_of(tensor), id);
    case HookKind::retain_grad:
      if (!hooked_slot(tensor).node->leaf && !tensor->retains_grad) {
        tensor->retains_grad = true;
        tensor->retains_since = graph_.tick();
      }
      return;
    case HookKind::node_pre:
      return add_to(node_of(hook.node).make_hooks().pre, id);
    case HookKind::node_post:
      return add_to(node_of(hook.node).make_hooks().post, id);
    case HookKind::post_accumulate:
      if (!tensor || !tensor->requires_grad)
        throw Refused{ErrorCategory::invalid_argument, "HOOK-1"};
      return add_to(graph_.accumulator_of(*tensor)->make_hooks().post_accumulate, id);
    case HookKind::multi:
      return add_multi_hook(id);
    case HookKind::capture:
    case HookKind::saved:
      return;  // their steps name them
  }
}

void Interpreter::add_multi_hook(HookId id) {
  if (!hook_lists_[at(id)].empty()) throw CannotTell("a hook over several tensors added twice");
  multi_targets_[at(id)].clear();
  std::vector<Registrations*> lists;  // all of them, or an error and no hook
  for (ValueId target : scenario_.hooks[at(id)].values) {
    lists.push_back(&tensor_hooks_of(value(target)));
  }
  for (Registrations* list : lists) add_to(*list, id);
  for (ValueId target : scenario_.hooks[at(id)].values) {
    multi_targets_[at(id)].push_back(graph_.edge_of(*value(target)));
  }
}

void Interpreter::remove_hook(HookId id) {
  for (Registrations* list : hook_lists_[at(id)]) {
    for (Registration& registration : *list) registration.removed |= registration.hook == id;
  }
  hook_lists_[at(id)].clear();
}

void Interpreter::give_values(std::int32_t event, const Gradients& values) {
  ExpectedEvent& expected = trace_.event(event);
  expected.compare_values = true;
  for (const Tensor* tensor : values) {
    expected.event.values.push_back(tensor ? std::optional(to_value(*tensor)) : std::nullopt);
  }
}

std::optional<Gradients> Interpreter::run_hook(HookId id, EventKind kind, const Gradients& slots) {
  const Hook& hook = scenario_.hooks[at(id)];
  const std::int32_t event = trace_.other(kind, id, clause_of(hook.kind), "HOOK-1");
  give_values(event, slots);
  trace_.cursor = {{event, "HOOK-1"}};
  const Script& script = kind == EventKind::unpack ? hook.unpack_script : hook.script;
  const Gradients given = slots;
  const Frame frame{&given, nullptr, nullptr};
  run_script(script.steps, frame);
  if (!script.returns) return std::nullopt;
  return returns_of(*script.returns, frame);
}

// CB-4: with the caller's thread-local state. Whether recording is the caller's too, or the pass's
// (GRAPH2-2), the clauses do not say.
void Interpreter::run_callback(CallbackId id) {
  const Restore modes(modes_, passes_.back().callers);
  const bool callers = passes_.back().callers_recording;
  modes_.recording_known = callers == graph_.recording;
  const Restore recording(graph_.recording, callers);
  trace_.other(EventKind::callback, id, "CB-1", "CB-1");
  run_script(scenario_.callbacks[at(id)].steps, Frame{});
}

// HOOK-9. The hook must leave its argument as it is (B052).
void Interpreter::pack(SavedTensor& saved) {
  if (closed_hooks_[at(modes_.saved_hooks)]) return;
  saved.hook = modes_.saved_hooks;
  const Restore hooks(graph_.pack, {});
  const Restore recording(graph_.recording, false);
  const std::int32_t version = saved.tensor->version->number;
  const Array before = elements_of(*saved.tensor);
  const auto returned = run_hook(saved.hook, EventKind::pack, {saved.tensor});
  if (saved.tensor->version->number != version) {
    write_elements(*saved.tensor, before.values);  // a copy was changed
    throw error_of(ErrorCategory::in_place, "HOOK-9", {ErrorCategory::hook_result});
  }
  saved.packed = one_of_pair(returned, saved.tensor);
  if (!saved.packed) throw CannotTell("a pack hook that packs nothing");
}

void Interpreter::unpack_saved(GraphNode& node) {
  for (SavedTensor& saved : node.saved) {
    if (saved.hook == no_id) continue;
    saved.unpacked =
        one_of_pair(run_hook(saved.hook, EventKind::unpack, {saved.packed}), saved.packed);
    if (!saved.unpacked) throw error_of(ErrorCategory::hook_result, "HOOK-9");
  }
}

// ---- Scripts and expressions
// ----------------------------------------------------------------------------

void Interpreter::run_script(const Steps& steps, const Frame& frame) {
  const Restore running(frame_, &frame);
  run_steps(steps, Errors::travel);
}

Gradients Interpreter::returns_of(const std::vector<Expression>& returns, const Frame& frame) {
  Gradients results;
  for (const Expression& expression : returns) results.push_back(evaluate(expression, frame));
  return results;
}

// A sum is never one of its slots itself, even if it equals it.
Tensor* Interpreter::sum_of(const Gradients& slots) {
  Tensor* sum = nullptr;
  for (Tensor* slot : slots) {
    if (slot) sum = sum ? add(graph_, sum, slot) : clone(graph_, slot);
  }
  return sum;
}

Tensor* Interpreter::times_value(ValueId id, const Frame& frame) {
  if (!frame.custom) return defined(id);
  const auto& saves = frame.custom->saves;
  const auto place = std::find(saves.begin(), saves.end(), id) - saves.begin();
  const SavedTensor& saved = frame.node->saved[static_cast<std::size_t>(place)];
  return saved.unpacked ? saved.unpacked : saved.tensor;
}

Tensor* Interpreter::combine(const std::vector<Term>& terms, const Frame& frame) {
  Tensor* sum = nullptr;
  for (const Term& term : terms) {
    Tensor* part = (*frame.slots)[at(term.slot)];
    if (!part) continue;
    part = term.factor == 1 ? clone(graph_, part) : scale(graph_, part, term.factor);
    if (term.times != no_id) part = mul(graph_, part, times_value(term.times, frame));
    sum = sum ? add(graph_, sum, part) : part;
  }
  return sum;
}

Tensor* Interpreter::evaluate(const Expression& expression, const Frame& frame) {
  Tensor* result = nullptr;
  switch (expression.kind) {
    case Expression::Kind::combination:
      result = combine(expression.terms, frame);
      break;
    case Expression::Kind::pass:
      result = (*frame.slots)[at(expression.slot)];
      break;
    case Expression::Kind::constant:
    case Expression::Kind::pool:
      result = graph_.make(*expression.constant);
      break;
    case Expression::Kind::undefined:
      break;
  }
  if (!result) return nullptr;
  if (expression.expand) result = expand(graph_, result, *expression.expand);
  if (expression.cast) result = cast(graph_, result, *expression.cast);
  if (expression.move_to && *expression.move_to != result->device) {
    result = to_device(graph_, result, *expression.move_to);
  }
  return result;
}

// ---- Steps
// ----------------------------------------------------------------------------------------------------

void Interpreter::run_steps(const Steps& steps, Errors errors) {
  for (const Step& step : steps) run_step(step, errors);
}

void Interpreter::run_step(const Step& step, Errors errors) {
  Result outer = std::exchange(result_, Result());
  const std::int32_t first_effect = effect_count();
  std::optional<Thrown> thrown;
  try {
    std::visit([&](const auto& action) { perform(action, step, errors); }, step.action);
    thrown = std::move(result_.error);
  } catch (Thrown& error) {
    thrown = std::move(error);
  } catch (const Refused& refused) {
    thrown = error_of(refused.category, refused.clause);
  }
  ExpectedStep& expected = trace_.step(step.id);
  if (thrown) {
    expected.result.error = thrown->error;
    expected.allowed_errors = thrown->allowed;
    expected.allowed_errors.push_back(thrown->error.category);
    expected.allowed_tokens = thrown->tokens;
    expected.clause = thrown->clause;
  } else {
    finish(step, expected);
  }
  take_over_statements(step, expected, first_effect);
  result_ = std::move(outer);
  const bool ends_here = errors == Errors::stand || std::holds_alternative<TryStep>(step.action);
  if (thrown && !ends_here) throw std::move(*thrown);
}

bool Interpreter::stands(const StepExpectation& expect) const {
  return std::all_of(expect.follows.begin(), expect.follows.end(), [&](const Choice& choice) {
    return dialect_.follows(choice.clause, choice.alternative);
  });
}

// The oracle adds up in one order. Where an author says that values stand for engines that do so
// too, nobody knows them for the others (ACC-5 `arrival`).
bool Interpreter::depends_on_arrival(const StepExpectation& expect) const {
  return std::any_of(expect.follows.begin(), expect.follows.end(), [&](const Choice& choice) {
    return choice.clause == "ACC-5" && !dialect_.follows(choice.clause, choice.alternative);
  });
}

// What only the author of the scenario can say.
void Interpreter::take_over_statements(const Step& step, ExpectedStep& expected,
                                       std::int32_t first_effect) {
  if (!step.expect || !stands(*step.expect)) return;
  expected.names = step.expect->names;
  if (!step.expect->or_error) return;
  expected.allowed_errors.push_back(*step.expect->or_error);
  make_uncertain(0, 0, first_effect, effect_count());
}

// A value is undefined when nothing made it, or when the step that makes it failed. It may be read,
// seed a pass and be dropped; any other use is an error.
Tensor* Interpreter::determined(ValueId id) const {
  if (undetermined_[at(id)]) throw CannotTell("a value that an error left undetermined");
  return value(id);
}

void Interpreter::need_history(ValueId id) const {
  if (history_unknown_[at(id)]) throw CannotTell("whether a gradient has a history");
}

void Interpreter::need_identity(ValueId id) const {
  if (identity_unknown_[at(id)]) throw CannotTell("a gradient that may be the seed itself");
}

Tensor* Interpreter::defined(ValueId id) {
  need_history(id);
  if (!determined(id)) throw Refused{ErrorCategory::invalid_argument, nullptr};
  return value(id);
}

// With a bound, the values of the scenario's author are the truth: the oracle's own are rounded
// too.
void Interpreter::finish(const Step& step, ExpectedStep& expected) {
  expected.result.values = std::move(result_.values);
  expected.value_known = std::move(result_.known);
  if (step.expect && depends_on_arrival(*step.expect))
    expected.value_known.assign(expected.result.values.size(), false);
  expected.allowed_errors = std::move(result_.may_fail);
  expected.clause = result_.clause;
  if (!step.expect || !step.expect->bound) return;
  expected.bound = *step.expect->bound;
  expectation_.inexact = true;
  expected.result.values = *step.expect->values;
  expected.value_known.clear();
}

void Interpreter::perform(const ForwardStep& step, const Step&, Errors) {
  for (NodeId node : step.nodes) {
    note_script_effect({Effect::Kind::forward, nullptr, node});
    make_node(node);
  }
}

// Inside a pass, on the running thread.
class Interpreter::Inside {
 public:
  Inside(Interpreter& interpreter, Pass& pass, bool create_graph, bool callers_recording)
      : interpreter_(interpreter),
        modes_(interpreter.modes_),
        recording_(interpreter.graph_.recording, create_graph),  // GRAPH2-2
        maker_(interpreter.graph_.thread),
        stream_(interpreter.graph_.stream),
        frame_(interpreter.frame_, nullptr) {
    interpreter.passes_.push_back(
        {&pass, callers_recording, interpreter.modes_, interpreter.graph_.thread});
  }
  ~Inside() {
    const Pass* ended = interpreter_.passes_.back().pass;
    interpreter_.passes_.pop_back();
    if (!ended->leaves_its_queue() || !interpreter_.follows("REENT-2", "any-ready")) return;
    for (const Running& outer : interpreter_.passes_) outer.pass->pause();
  }

 private:
  Interpreter& interpreter_;
  Restore<Modes> modes_;
  Restore<bool> recording_;
  Restore<std::int32_t> maker_;
  Restore<StreamId> stream_;
  Restore<const Frame*> frame_;
};

std::optional<Thrown> Interpreter::run_pass(const PassStep& step, StepId id, Gradients& results) {
  const char* order = passes_.empty() ? "CB-1" : "REENT-1";
  trace_.other(EventKind::pass_begin, id, "REENT-1", order);
  if (static_cast<std::int32_t>(passes_.size()) >= deepest_) {
    throw CannotTell("passes nested without end");
  }
  std::optional<Thrown> error;
  if (in_child_ && has_engine_threads_) {
    error = error_of(ErrorCategory::forked, "FORK-1");
  } else {
    if (static_cast<std::int32_t>(passes_.size()) > nesting_limit()) has_engine_threads_ = true;
    Pass pass(*this, step);
    const Inside inside(*this, pass, step.create_graph, graph_.recording);
    const Restore required(trace_.required);
    error = pass.run();
    results = pass.results();
    if (!error) note_what_is_unknown(step, pass);
  }
  const std::int32_t event = trace_.other(EventKind::pass_end, id, "REENT-1", "CB-1");
  trace_.cursor = {{event, order}};
  if (passes_.empty()) reducers_.end_pass(id, !error);
  // SHUT-4: if not this error of a fresh start
  if (error && stopped_) error->allowed.push_back(ErrorCategory::stopped);
  return error;
}

void Interpreter::perform(const PassStep& step, const Step& whole, Errors errors) {
  for (const CaptureHook& capture : step.capture_hooks) {
    note_destruction(scenario_.hooks[at(capture.hook)].destroyed, "ERR-3", {0, 1});
  }
  for (const Root& root : step.roots) {
    note_access(Access::Kind::read, defined(root.value)->storage);
    note_script_effect({Effect::Kind::use, nullptr, root.value});
  }
  for (const ValueId input : step.inputs.value_or(std::vector<ValueId>())) {
    defined(input);
    need_identity(input);
    note_script_effect({Effect::Kind::use, nullptr, input});
  }
  if (step.future != no_id) return start_asynchronous(step);
  const std::int32_t first_effect = effect_count();
  if (stopped_ && errors == Errors::travel) throw CannotTell("a nested pass after stop");
  Gradients results;
  {
    const Restore required(trace_.required, trace_.required && !stopped_);
    result_.error = run_pass(step, whole.id, results);
  }
  if (result_.error) return;
  for (Tensor* result : results) report(result);
  for (std::size_t i = 0; i < step.results.size(); ++i) values_[at(step.results[i])] = results[i];
  add_hooks_at_creation(no_id, step.results);
  if (stopped_) {  // SHUT-4: an error, or a fresh start
    result_.may_fail = {ErrorCategory::stopped};
    result_.clause = "SHUT-4";
    make_uncertain(0, 0, first_effect, effect_count());
  }
}

void Interpreter::note_what_is_unknown(const PassStep& step, const Pass& pass) {
  for (std::size_t i = 0; i < step.results.size(); ++i) {
    const Tensor* result = pass.results()[i];
    const std::size_t id = at(step.results[i]);
    const bool seed = result && may_be_seed(step, *result);
    // What is materialised are zeros without history (PRUNE-4).
    const bool may_be_constant = result && !Graph::tracked(*result) && !pass.is_materialised(i) &&
                                 graph_.some_slope_is_constant;
    history_unknown_[id] = step.create_graph ? may_be_constant : seed;
    identity_unknown_[id] = step.create_graph && seed;
  }
}

bool Interpreter::may_be_seed(const PassStep& step, const Tensor& gradient) const {
  Gradients seeds;
  for (const Root& root : step.roots) {
    if (root.seed.value != no_id) seeds.push_back(value(root.seed.value));
  }
  for (const AnnouncementId id : step.announced) seeds.push_back(delivery(id)->gradient);
  return std::any_of(seeds.begin(), seeds.end(), [&](const Tensor* seed) {
    if (!seed || !Graph::tracked(*seed)) return false;
    return seed == &gradient ||
           (seed->type == gradient.type && seed->device == gradient.device &&
            seed->shape == gradient.shape &&
            elements_of(*seed).values == elements_of(gradient).values);
  });
}

void Interpreter::make_uncertain(std::int32_t first_step, std::int32_t last_step,
                                 std::int32_t first_effect, std::int32_t last_effect) {
  using Kind = Effect::Kind;
  for (std::int32_t i = first_step; i < last_step; ++i) expectation_.steps[at(i)].required = false;
  for (std::int32_t i = first_effect; i < last_effect; ++i) {
    const Effect& effect = effects_[at(i)];
    switch (effect.kind) {
      case Kind::add_to_grad:
        static_cast<Tensor*>(effect.what)->grad_unknown = true;
        break;
      case Kind::keep:
        undetermined_[at(effect.id)] = true;
        break;
      case Kind::release:
        static_cast<GraphNode*>(effect.what)->release_unknown = true;
        break;
      case Kind::read_grad:
      case Kind::visit:
      case Kind::use:
      case Kind::ask:
        break;
      case Kind::change_hooks:
      case Kind::set_leaf:
      case Kind::forward:
        throw CannotTell("a lasting change by a script that perhaps does not run");
    }
  }
}

void Interpreter::make_kept_uncertain(std::int32_t first_effect) {
  for (std::int32_t i = first_effect; i < effect_count(); ++i) {
    const Effect& effect = effects_[at(i)];
    if (effect.kind == Effect::Kind::keep) undetermined_[at(effect.id)] = true;
  }
}

void Interpreter::make_holders_uncertain(const Tensor& tensor) {
  for (std::size_t id = 0; id < values_.size(); ++id) {
    if (values_[id] && values_[id]->storage == tensor.storage) undetermined_[id] = true;
  }
}

bool Interpreter::has_script_effects(const Visit& visit) const {
  const auto begin = effects_.begin();
  return std::any_of(begin + visit.first_effect, begin + visit.last_effect,
                     [](const Effect& effect) { return effect.kind != Effect::Kind::add_to_grad; });
}

bool Interpreter::has_effect(const Visit& visit, Effect::Kind kind, const void* what,
                             std::int32_t id) const {
  const auto begin = effects_.begin();
  return std::any_of(begin + visit.first_effect, begin + visit.last_effect,
                     [&](const Effect& effect) {
                       return effect.kind == kind && effect.what == what && effect.id == id;
                     });
}

bool Interpreter::uses_outputs(const Visit& visit, NodeId id) const {
  const auto& outputs = scenario_.nodes[at(id)].outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
    return has_effect(visit, Effect::Kind::use, nullptr, output);
  });
}

void Interpreter::settle_unordered(const Visit& visit, const Visit& other) {
  using Kind = Effect::Kind;
  const auto also_visits = [&](const void* node) {
    return other.node == node || has_effect(other, Kind::visit, node);
  };
  for (std::int32_t i = visit.first_effect; i < visit.last_effect; ++i) {
    const Effect& effect = effects_[at(i)];
    switch (effect.kind) {
      case Kind::add_to_grad:
      case Kind::use:
        break;
      case Kind::keep:  // the one that comes last stays
        if (has_effect(other, Kind::keep, nullptr, effect.id)) undetermined_[at(effect.id)] = true;
        break;
      case Kind::read_grad:
        if (has_effect(other, Kind::add_to_grad, effect.what)) {
          auto& known = expectation_.steps[at(effect.id)].value_known;
          if (effect.value < known.size()) known[effect.value] = false;
        }
        break;
      case Kind::visit:
        if (other.released && other.node == effect.what) {
          throw CannotTell("a graph that is released while another pass may be in it");
        }
        break;
      case Kind::release:
        if (also_visits(effect.what)) {
          throw CannotTell("a graph that is released while another pass may be in it");
        }
        break;
      case Kind::change_hooks:
        if (also_visits(effect.what)) {
          throw CannotTell("hooks that change while their node may run");
        }
        break;
      case Kind::set_leaf:
        if (has_effect(other, Kind::add_to_grad, effect.what)) {
          throw CannotTell("a leaf that is set while a pass may add to it");
        }
        break;
      case Kind::ask:
        if (has_effect(other, Kind::forward, nullptr, effect.id)) {
          trace_.event(static_cast<std::int32_t>(effect.value)).compare_number = false;
        }
        break;
      case Kind::forward:
        if (has_effect(other, Kind::forward, nullptr, effect.id) ||
            uses_outputs(other, effect.id)) {
          throw CannotTell("a node that two scripts may make in any order");
        }
        break;
    }
  }
}

std::int32_t Interpreter::nesting_limit() const {
  return scenario_.configuration.nesting_limit.value_or(default_nesting_limit);
}

void Interpreter::enter_node(const GraphNode& node) {
  const Device device = node.slots.empty() ? Device{} : node.slots[0].device;
  const auto depth = static_cast<std::int32_t>(passes_.size());
  const std::int32_t limit = nesting_limit();
  const std::int32_t callers_thread = passes_.back().callers_thread;
  graph_.thread = callers_thread >= 0 ? thread_ * makers_per_thread + depth / std::max(limit, 1)
                  : depth <= limit    ? callers_thread
                                      : --pool_threads_;
  modes_ = passes_.back().callers;
  graph_.stream = modes_.stream;
  if (device.type == DeviceType::cpu) return;
  graph_.thread = device_thread(device);
  modes_.device = device;
  graph_.stream = modes_.stream = node.stream;
}

// Unset where threads of a pool may stand in for others: beyond the nesting limit (REENT-3), and
// for the CPU's nodes of nested passes, whose caller may be any thread.
std::optional<Device> Interpreter::device_of(const GraphNode& node, const Gradients& slots) const {
  const auto depth = static_cast<std::int32_t>(passes_.size());
  if (depth > nesting_limit()) return std::nullopt;
  const Device device = node.slots.empty() ? Device{} : node.slots[0].device;
  if (device.type == DeviceType::cpu && depth > 1) return std::nullopt;
  if (follows("DEV-3", "first-buffer") && !is_led_to(device, node, slots)) return std::nullopt;
  return device;
}

// Whether the gradients that come in lead the node to its device: one is there, and none of another
// device may be the first.
bool Interpreter::is_led_to(Device device, const GraphNode& node, const Gradients& slots) const {
  const bool is_alone = std::all_of(node.slots.begin(), node.slots.end(),
                                    [&](const Slot& slot) { return slot.device == device; });
  const bool has_gradient = std::any_of(slots.begin(), slots.end(),
                                        [](const Tensor* gradient) { return gradient != nullptr; });
  return is_alone && has_gradient && !node.materialises;
}

std::int32_t Interpreter::trace_enter(const GraphNode& node, const Gradients& slots) {
  const std::int32_t enter = trace_.node(EventKind::node_enter, node.id, node.instance);
  trace_.event(enter).device = device_of(node, slots);
  return enter;
}

void Interpreter::perform(const SetGradStep& step, const Step&, Errors) {
  Tensor* leaf = value(step.leaf);
  leaf->grad = step.grad ? graph_.make(*step.grad) : nullptr;
  leaf->grad_unknown = false;
  note_access(Access::Kind::set_grad, leaf);
  note_script_effect({Effect::Kind::set_leaf, leaf});
}

void Interpreter::report(Tensor* tensor, bool known) {
  result_.values.push_back(tensor ? std::optional(to_value(*tensor)) : std::nullopt);
  result_.known.push_back(known);
}

void Interpreter::perform(const ReadStep& step, const Step&, Errors) {
  for (ValueId id : step.values) {
    if (value(id)) note_access(Access::Kind::read, value(id)->storage);
    report(value(id), !undetermined_[at(id)]);
  }
  for (ValueId id : step.grads) {
    Tensor* tensor = defined(id);
    note_access(Access::Kind::read_grad, tensor);
    note_script_effect({Effect::Kind::read_grad, tensor, step_count(), result_.values.size()});
    reducers_.refuse_early_use(*tensor);
    report(tensor->grad, !tensor->grad_unknown);
  }
}

Tensor* Interpreter::through(Tensor* tensor, Through way) {
  if (!tensor || way == Through::handle) return tensor;
  Tensor* alias = graph_.alias(*tensor);
  if (way == Through::data) graph_.give_own_version(*alias);
  return alias;
}

// Changes elements and version, and records nothing.
void Interpreter::perform(const ChangeStep& step, const Step&, Errors) {
  need_identity(step.value);
  Tensor* tensor = through(defined(step.value), step.through);
  if (tensor->sparse) throw CannotTell("a change of a sparse tensor");
  const Array changed = elementwise(elements_of(*tensor), [&](Number v) {
    switch (step.how) {
      case ChangeStep::How::add:
        return v + step.number;
      case ChangeStep::How::multiply:
        return v * step.number;
      default:
        return Number(step.number);
    }
  });
  note_access(Access::Kind::change, tensor->storage);
  write_elements(*tensor, changed.values);
  ++tensor->version->number;
}

void Interpreter::perform(const KeepStep& step, const Step&, Errors) {
  Tensor* kept = nullptr;
  if (step.grad_of == no_id) {
    kept = (*frame_->slots)[at(step.slot)];
  } else {
    const Tensor* of = defined(step.grad_of);
    if (of->grad_unknown) throw CannotTell("a gradient that an error left undetermined");
    kept = of->grad;
  }
  values_[at(step.as)] = through(kept, step.through);
  undetermined_[at(step.as)] = false;
  effects_.push_back({Effect::Kind::keep, nullptr, step.as});
  add_hooks_at_creation(no_id, {step.as});
}

void Interpreter::perform(const DropStep& step, const Step&, Errors) {
  for (ValueId id : step.values) {
    const Value& dropped = scenario_.values[at(id)];
    if (dropped.origin == Value::Origin::leaf) dropped_[at(dropped.producer)] = true;
    values_[at(id)] = nullptr;
  }
}

void Interpreter::perform(const RequiresGradStep& step, const Step&, Errors) {
  Tensor* tensor = defined(step.value);
  if (Graph::tracked(*tensor) && !graph_.edge_of(*tensor).node->leaf) {
    if (!step.on) throw Refused{ErrorCategory::invalid_argument, nullptr};
    throw CannotTell("requires_grad of what has a history");  // nothing to do, or an error
  }
  if (!is_differentiable(tensor->type)) throw CannotTell("requires_grad of integers");
  tensor->requires_grad = step.on;
  note_script_effect({Effect::Kind::set_leaf, tensor});
}

void Interpreter::set_modes(const WithStep& step) {
  if (step.recording) {
    graph_.recording = *step.recording;
    modes_.recording_known = true;
  }
  if (step.anomaly) {
    modes_.anomaly = *step.anomaly;
    modes_.check_nan = true;
  }
  if (step.check_nan) modes_.check_nan = *step.check_nan;
  if (step.user_state) modes_.user_state = *step.user_state;
  if (step.device) {
    modes_.stream_known = modes_.stream_known && modes_.stream == no_id;
    modes_.device = *step.device;
  }
  if (step.stream != no_id) {
    graph_.stream = modes_.stream = step.stream;
    modes_.stream_known = scenario_.streams[at(step.stream)].device == modes_.device;
  }
  if (step.saved_hooks != no_id) {
    modes_.saved_hooks = step.saved_hooks;
    graph_.pack = [this](SavedTensor& saved) { pack(saved); };
  }
}

void Interpreter::perform(const WithStep& step, const Step&, Errors errors) {
  const Restore modes(modes_);
  const Restore recording(graph_.recording);
  const Restore stream(graph_.stream);
  const Restore pack(graph_.pack);
  if (step.saved_hooks != no_id) {
    closed_hooks_[at(step.saved_hooks)] = false;
    note_destruction(scenario_.hooks[at(step.saved_hooks)].destroyed, "ERR-3", {0, 1});
  }
  note_destruction(step.user_state_destroyed, "TLS-2", {0, 0});
  set_modes(step);
  if (step.captured) result_.clause = "STREAM-5";  // its own error: what is not waited for at its end
  run_steps(step.steps, errors);
}

void Interpreter::perform(const TryStep& step, const Step&, Errors) {
  run_steps(step.steps, Errors::travel);
}

// Each thread starts with fresh thread-local state, and all are joined.
void Interpreter::perform(const ParallelStep& step, const Step&, Errors errors) {
  const Cursor start = trace_.cursor;
  const std::size_t first_access = accesses_.size();
  const Restore parallel(parallel_, parallel_ + 1);
  Cursor end;
  std::optional<Thrown> first;
  for (const ParallelStep::Thread& thread : step.threads) {
    const Restore number(thread_, threads_++);
    const Restore traced(trace_.thread, thread_);
    const Restore modes(modes_, Modes());
    const Restore recording(graph_.recording, true);
    const Restore maker(graph_.thread, thread_ * makers_per_thread);
    const Restore stream(graph_.stream, no_id);
    const Restore pack(graph_.pack, {});
    const Restore passes(passes_, {});
    trace_.cursor = start;
    try {
      run_steps(thread.steps, errors);
    } catch (Thrown& thrown) {
      if (!first) first = std::move(thrown);
    }
    join(end, trace_.cursor);
  }
  trace_.cursor = end.empty() ? start : end;
  settle_races(first_access);
  settle_reducers();
  if (first) throw std::move(*first);
}

// The order of the threads is free, apart from barriers and locks, which are not followed here.
// Sums do not depend on it; what does is not known, or cannot be told.
void Interpreter::settle_races(std::size_t first) {
  using Kind = Access::Kind;
  struct Writers {
    std::int32_t thread = -1;
    bool several = false;
  };
  absl::flat_hash_map<void*, Writers> writers;
  for (std::size_t i = first; i < accesses_.size(); ++i) {
    const Access& access = accesses_[i];
    if (access.kind == Kind::read || access.kind == Kind::read_grad) continue;
    Writers& known = writers[access.what];
    known.several |= known.thread != -1 && known.thread != access.thread;
    known.thread = access.thread;
  }
  for (std::size_t i = first; i < accesses_.size(); ++i) {
    const Access& access = accesses_[i];
    const auto found = writers.find(access.what);
    if (found == writers.end()) continue;
    if (!found->second.several && found->second.thread == access.thread) continue;
    if (access.kind == Kind::read_grad) {
      auto& known = expectation_.steps[at(access.step)].value_known;
      if (access.value < known.size()) known[access.value] = false;
    } else if (access.kind == Kind::set_grad) {
      static_cast<Tensor*>(access.what)->grad_unknown = true;
    } else if (access.kind != Kind::add_to_grad) {
      throw CannotTell("a tensor that one thread changes and another uses");
    }
  }
}

void Interpreter::perform(const RepeatStep& step, const Step&, Errors errors) {
  for (std::int64_t i = 0; i < step.times; ++i) run_steps(step.steps, errors);
}

// Threads run one after the other here, so nobody has to wait.
void Interpreter::perform(const BarrierStep&, const Step&, Errors) {}
void Interpreter::perform(const LockStep&, const Step&, Errors) {}
void Interpreter::perform(const StreamStep&, const Step&, Errors) {}

void Interpreter::perform(const ThrowStep& step, const Step& whole, Errors) {
  const std::int32_t call = ++throws_[at(whole.id)];
  if (step.on_call != 0 && step.on_call != call) return;
  Thrown thrown = error_of(ErrorCategory::user, "ERR-1");
  thrown.error.token = step.token;
  thrown.error.foreign = step.foreign;
  result_.error = std::move(thrown);
}

void Interpreter::perform(const QueueCallbackStep& step, const Step&, Errors) {
  if (passes_.empty()) throw Refused{ErrorCategory::outside_pass, "CB-3"};
  passes_.back().pass->queue_callback(step.callback);  // CB-2
}

void Interpreter::perform(const HookStep& step, const Step&, Errors) {
  note_change_of_hooks(scenario_.hooks[at(step.hook)]);
  if (step.add) {
    add_hook(step.hook);
  } else {
    remove_hook(step.hook);
  }
}

std::optional<std::int64_t> Interpreter::observed(const ObserveStep& step) {
  using What = ObserveStep::What;
  Pass* pass = passes_.empty() ? nullptr : passes_.back().pass;
  switch (step.what) {
    case What::recording:
      if (!modes_.recording_known) return std::nullopt;
      return graph_.recording;
    case What::user_state:
      return modes_.user_state;
    case What::device:
      return modes_.device.index;
    case What::stream:
      if (!modes_.stream_known) return std::nullopt;
      return modes_.stream;
    case What::depth:
      if (!pass) return std::nullopt;
      return static_cast<std::int64_t>(passes_.size()) - 1;
    case What::checkpoint_valid:
      return std::all_of(passes_.begin(), passes_.end(),
                         [](const Running& running) { return running.pass->is_plain_backward(); });
    case What::inside_pass:
      return pass != nullptr;
    case What::needed:
      if (!frame_->node) return std::nullopt;
      return pass->needed(*frame_->node);
    case What::will_run: {
      const GraphNode& node = node_of(step.node);
      if (!pass) return -1;
      return pass->will_run(&node);
    }
    case What::anomaly:
      return modes_.anomaly;
    default:
      return std::nullopt;
  }
}

void Interpreter::perform(const ObserveStep& step, const Step& whole, Errors) {
  const std::int32_t event =
      trace_.other(EventKind::observe, whole.id, clause_of(step.what), "REENT-1");
  const std::optional<std::int64_t> number = observed(step);
  trace_.event(event).compare_number = number.has_value();
  trace_.event(event).event.number = number.value_or(0);
  if (step.what == ObserveStep::What::will_run) {
    note_script_effect({Effect::Kind::ask, nullptr, step.node, at(event)});
  }
  if (number || !whole.expect || !whole.expect->number || !stands(*whole.expect)) return;
  trace_.event(event).stated = whole.expect->number;
  trace_.event(event).event.number = whole.expect->number->least;
}

// ---- Driven from outside
// ------------------------------------------------------------------------------------------------

Tensor* Interpreter::seed_of(const Seed& seed) {
  if (seed.constant) return graph_.make(*seed.constant);
  return seed.value == no_id ? nullptr : value(seed.value);
}

void Interpreter::perform(const DeliverStep& step, const Step&, Errors) {
  auto& delivery = deliveries_[at(step.announcement)];
  if (delivery) throw CannotTell("a gradient that is delivered twice");
  delivery.emplace();
  if (step.error.empty()) {
    delivery->gradient = seed_of(step.gradient);
    return;
  }
  delivery->error = error_of(ErrorCategory::user, "ASYNC-1");
  delivery->error->error.token = step.error;
}

Gradients Interpreter::arguments_of(const PassStep& step) const {
  Gradients all;
  for (const Root& root : step.roots) all.push_back(value(root.value));
  for (const ValueId input : step.inputs.value_or(std::vector<ValueId>())) all.push_back(value(input));
  for (const AnnouncementId id : step.announced) all.push_back(value(scenario_.announcements[at(id)].to));
  return all;
}

void Interpreter::start_asynchronous(const PassStep& step) {
  if (!passes_.empty()) throw CannotTell("an asynchronous pass that is started inside a pass");
  Future& future = futures_[at(step.future)];
  if (future.pass) throw CannotTell("an asynchronous pass that is started twice");
  future.pass = &step;
  future.arguments = arguments_of(step);
  has_engine_threads_ = true;
  future.modes = modes_;
  future.recording = graph_.recording;
  future.start = trace_.cursor;
}

// On a thread of the engine, with the state of the thread that started it.
void Interpreter::finish_asynchronous(Future& future) {
  if (!future.pass) throw CannotTell("a wait for a pass that was not started");
  if (future.over) return;
  future.over = true;
  if (future.arguments != arguments_of(*future.pass)) {
    throw CannotTell("a value that is dropped or made again before the pass from it is waited for");
  }
  {
    const Restore number(thread_, threads_++);
    const Restore traced(trace_.thread, thread_);
    const Restore maker(graph_.thread, thread_ * makers_per_thread);
    const Restore cursor(trace_.cursor, future.start);
    const Restore modes(modes_, future.modes);
    const Restore stream(graph_.stream, future.modes.stream);
    const Restore passes(passes_, {});
    {
      Pass pass(*this, *future.pass);
      const Inside inside(*this, pass, future.pass->create_graph, future.recording);
      const Restore required(trace_.required);
      future.error = pass.run();
      future.results = pass.results();
    }
    future.end = trace_.cursor;
  }
  for (const CallbackId callback : future.callbacks) call_when_done(future, callback);
}

// ASYNC-2: one that throws does not stop the others, and nobody hears of it.
void Interpreter::call_when_done(const Future& future, CallbackId callback) {
  const Restore number(thread_, threads_++);
  const Restore traced(trace_.thread, thread_);
  const Restore cursor(trace_.cursor, future.end);
  const Restore modes(modes_, Modes());
  const Restore passes(passes_, {});
  trace_.other(EventKind::callback, callback, "ASYNC-2", "ASYNC-2");
  try {
    run_script(scenario_.callbacks[at(callback)].steps, Frame{});
  } catch (const Thrown&) {
  }
}

void Interpreter::perform(const WaitStep& step, const Step&, Errors) {
  Future& future = futures_[at(step.future)];
  finish_asynchronous(future);
  join(trace_.cursor, future.end, "ASYNC-2");
  result_.clause = "ASYNC-2";
  if (future.error) throw Thrown(*future.error);
  for (Tensor* result : future.results) report(result);
}

void Interpreter::perform(const WhenDoneStep& step, const Step&, Errors) {
  Future& future = futures_[at(step.future)];
  if (!future.pass) throw CannotTell("a callback of a pass that was not started");
  if (future.over) return call_when_done(future, step.callback);
  future.callbacks.push_back(step.callback);
}

void Interpreter::perform(const RedirectStep& step, const Step&, Errors) {
  node_of(step.node).edges[at(step.edge)] =
      step.to == no_id ? Edge{} : graph_.edge_of(*defined(step.to));
}

void Interpreter::perform(const CloseHooksStep& step, const Step&, Errors) {
  closed_hooks_[at(step.hook)] = true;
}

void Interpreter::perform(const ReducerStep& step, const Step& whole, Errors) {
  result_.clause = "RED-6";
  switch (step.what) {
    case ReducerStep::What::make: {
      std::vector<Tensor*> parameters;
      for (const ValueId id : scenario_.reducers[at(step.reducer)].ranks[at(step.rank)]) {
        parameters.push_back(defined(id));
      }
      return reducers_.make(step, std::move(parameters));
    }
    case ReducerStep::What::drop:
      return reducers_.drop(step);
    case ReducerStep::What::reset:
      return reducers_.reset(step);
    case ReducerStep::What::prepare: {
      std::vector<Tensor*> outputs;
      for (const ValueId id : step.outputs) outputs.push_back(defined(id));
      return reducers_.prepare(step, whole.id, outputs);
    }
    case ReducerStep::What::ask:
      result_.clause = Reducers::clause_of(step.question);
      result_.values.emplace_back(reducers_.answer(step));
      result_.known.push_back(true);
  }
}

// Ranks that came while others did not: what they waited in is an error (RED-11).
void Interpreter::settle_reducers() {
  for (const StepId waited : reducers_.settle()) {
    for (std::size_t i = expectation_.steps.size(); i-- > 0;) {
      ExpectedStep& expected = expectation_.steps[i];
      if (expected.result.step != waited) continue;
      expected.result.error = ErrorReport{ErrorCategory::reducer, "", false, ""};
      expected.allowed_errors = {ErrorCategory::reducer};
      expected.clause = "RED-11";
      break;
    }
  }
}

// DEV-5. One that has let a thread use it has no refusals left.
bool Interpreter::may_use(Device device) {
  for (std::size_t i = 0; i < refusals_.size(); ++i) {
    if (scenario_.configuration.refusals[i].device != device || refusals_[i] == 0) continue;
    --refusals_[i];
    return false;
  }
  has_engine_threads_ = true;
  return true;
}

// ---- Destructors
// ------------------------------------------------------------------------------------------------

// Each object that is made goes at some time, at the latest when the program has let go of
// everything; when, is free.
void Interpreter::note_destruction(CallbackId callback, const char* clause, NumberRange where) {
  if (callback != no_id) destructions_.push_back({callback, clause, where});
}

void Interpreter::run_destructions() {
  for (const Destruction& destruction : destructions_) {
    const Restore number(thread_, threads_++);
    const Restore traced(trace_.thread, thread_);
    trace_.cursor.clear();
    const std::int32_t event =
        trace_.other(EventKind::destroyed, destruction.callback, "LIFE-1", "LIFE-2");
    trace_.event(event).clause = destruction.clause;
    trace_.event(event).stated = destruction.where;
    try {
      run_script(scenario_.callbacks[at(destruction.callback)].steps, Frame{});
    } catch (const Thrown&) {
    }
  }
}

void Interpreter::perform(const EngineStep& step, const Step&, Errors) {
  stopped_ = step.what == EngineStep::What::stop;  // a fresh engine was not stopped
}

// ---- Fork
// -------------------------------------------------------------------------------------------------------

void Interpreter::perform(const ForkStep& step, const Step& whole, Errors) {
  const std::int32_t occurrence = forks_seen_[at(whole.id)]++;
  if (fork_ == no_id) return run_child(whole.id, occurrence);
  if (fork_ != whole.id || forks_to_skip_-- > 0) return;
  in_child_ = true;
  expectation_.steps.clear();
  run_steps(step.steps, Errors::stand);
  throw ForkDone();
}

// The child is this program up to the fork, then the fork's steps; only their results are seen.
void Interpreter::run_child(StepId fork, std::int32_t occurrence) {
  Expectation childs;
  Interpreter child(scenario_, dialect_, childs, deepest_);
  child.fork_ = fork;
  child.forks_to_skip_ = occurrence;
  try {
    child.run();
  } catch (const ForkDone&) {
  }
  for (const ExpectedStep& seen : childs.steps) {
    ExpectedStep& expected = trace_.step(seen.result.step);
    const std::int32_t number = expected.result.occurrence;
    expected = seen;
    expected.result.occurrence = number;
  }
}

// ---- The end
// ------------------------------------------------------------------------------------------------------

void Interpreter::report_leaf_grads() {
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    const Tensor& leaf = *leaves_[i];
    const bool there = leaf.grad && !dropped_[i];
    expectation_.leaf_grads.push_back(there ? std::optional(to_value(*leaf.grad)) : std::nullopt);
    expectation_.leaf_grad_known.push_back(!leaf.grad_unknown || dropped_[i]);
    expectation_.leaf_grad_strides.push_back(there ? leaf.grad->strides : std::nullopt);
  }
}

}  // namespace gradcts::oracle
