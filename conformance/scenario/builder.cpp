#include "conformance/scenario/builder.h"

#include <fmt/format.h>

#include "conformance/scenario/validate.h"

namespace gradcts {
namespace {

// Stand-ins for the accumulator of leaf k, below every other id.
constexpr NodeId first_accumulator = -2;
NodeId stand_in(std::int32_t leaf) {
  return first_accumulator - leaf;
}
bool is_stand_in(NodeId node) {
  return node <= first_accumulator;
}

void resolve(const Scenario& scenario, NodeId& node) {
  if (is_stand_in(node)) node = accumulator_of(scenario, first_accumulator - node);
}

Expression one_term(Term term) {
  Expression expression;
  expression.terms.push_back(term);
  return expression;
}

Expression of_kind(Expression::Kind kind) {
  Expression expression;
  expression.kind = kind;
  return expression;
}

}  // namespace

Expression scaled(double factor, std::int32_t slot) {
  return one_term({slot, factor, no_id});
}

Expression product(std::int32_t slot, ValueId times, double factor) {
  return one_term({slot, factor, times});
}

Expression sum_of(std::vector<Term> terms) {
  Expression expression;
  expression.terms = std::move(terms);
  return expression;
}

Expression pass_on(std::int32_t slot) {
  Expression expression = of_kind(Expression::Kind::pass);
  expression.slot = slot;
  return expression;
}

Expression undefined() {
  return of_kind(Expression::Kind::undefined);
}

Expression constant(TensorArgument tensor) {
  Expression expression = of_kind(Expression::Kind::constant);
  expression.constant = std::move(tensor.value);
  return expression;
}

Expression pool(TensorArgument tensor) {
  Expression expression = of_kind(Expression::Kind::pool);
  expression.constant = std::move(tensor.value);
  return expression;
}

Script returning(std::vector<Expression> expressions) {
  Script script;
  script.returns = std::move(expressions);
  return script;
}

// ------------------------------------------------------------------------------------------------

ScenarioBuilder::ScenarioBuilder(std::string id) : open_(1) {
  scenario_.title = id;
  scenario_.id = std::move(id);
}

ScenarioBuilder& ScenarioBuilder::title(std::string text) {
  scenario_.title = std::move(text);
  return *this;
}
ScenarioBuilder& ScenarioBuilder::clause(std::string id) {
  scenario_.clauses.push_back(std::move(id));
  return *this;
}
ScenarioBuilder& ScenarioBuilder::report(std::string id) {
  scenario_.reports.push_back(std::move(id));
  return *this;
}
ScenarioBuilder& ScenarioBuilder::needs(std::string feature) {
  scenario_.requires_features.push_back(std::move(feature));
  return *this;
}
ScenarioBuilder& ScenarioBuilder::trace(Trace trace) {
  scenario_.trace = trace;
  return *this;
}

std::string ScenarioBuilder::name_or(std::string name, std::string_view prefix) {
  return name.empty() ? fmt::format("{}{}", prefix, next_name_++) : name;
}

StreamId ScenarioBuilder::stream(Device device, std::string name) {
  scenario_.streams.push_back({name_or(std::move(name), "stream"), device});
  return static_cast<StreamId>(scenario_.streams.size()) - 1;
}

BarrierId ScenarioBuilder::barrier_for(std::int32_t parties, std::string name) {
  scenario_.barriers.push_back({name_or(std::move(name), "barrier"), parties});
  return static_cast<BarrierId>(scenario_.barriers.size()) - 1;
}

LockId ScenarioBuilder::make_lock(std::string name) {
  scenario_.locks.push_back({name_or(std::move(name), "lock")});
  return static_cast<LockId>(scenario_.locks.size()) - 1;
}

AnnouncementId ScenarioBuilder::announcement(ValueId to, std::string name) {
  scenario_.announcements.push_back({name_or(std::move(name), "announcement"), to});
  return static_cast<AnnouncementId>(scenario_.announcements.size()) - 1;
}

ReducerId ScenarioBuilder::reducer(Reducer reducer) {
  reducer.name = name_or(std::move(reducer.name), "reducer");
  scenario_.reducers.push_back(std::move(reducer));
  return static_cast<ReducerId>(scenario_.reducers.size()) - 1;
}

FutureId ScenarioBuilder::future(std::string name) {
  scenario_.futures.push_back({name_or(std::move(name), "future")});
  return static_cast<FutureId>(scenario_.futures.size()) - 1;
}

ValueId ScenarioBuilder::add_value(std::string name, Value::Origin origin, std::int32_t producer,
                                   std::int32_t index) {
  scenario_.values.push_back({std::move(name), origin, producer, index});
  return static_cast<ValueId>(scenario_.values.size()) - 1;
}

ValueId ScenarioBuilder::leaf(std::string name, Leaf leaf) {
  const auto id = static_cast<std::int32_t>(scenario_.leaves.size());
  leaf.value = add_value(std::move(name), Value::Origin::leaf, id, 0);
  scenario_.leaves.push_back(std::move(leaf));
  return scenario_.leaves.back().value;
}

ValueId ScenarioBuilder::leaf(std::string name, TensorArgument initial) {
  Leaf made;
  made.initial = std::move(initial.value);
  return leaf(std::move(name), std::move(made));
}

ValueId ScenarioBuilder::constant_leaf(std::string name, TensorArgument initial) {
  Leaf made;
  made.initial = std::move(initial.value);
  made.requires_grad = false;
  return leaf(std::move(name), std::move(made));
}

// ------------------------------------------------------------------------------------------------
// Nodes

std::vector<ValueId> ScenarioBuilder::add_node(Node node, std::size_t outputs) {
  const auto id = static_cast<NodeId>(scenario_.nodes.size());
  for (std::size_t i = 0; i < outputs; ++i) {
    std::string name = outputs == 1 ? node.name : fmt::format("{}.{}", node.name, i);
    node.outputs.push_back(
        add_value(std::move(name), Value::Origin::node_output, id, static_cast<std::int32_t>(i)));
  }
  std::vector<ValueId> made = node.outputs;
  scenario_.nodes.push_back(std::move(node));
  return made;
}

ValueId ScenarioBuilder::node(Operation operation, std::vector<ValueId> inputs,
                              std::vector<Attribute> attributes, std::string name) {
  Node made;
  made.name = name_or(std::move(name), spec_of(operation).name);
  made.operation = operation;
  made.inputs = std::move(inputs);
  made.attributes.assign(attributes.begin(), attributes.end());
  made.attributes.resize(spec_of(operation).attributes.size());  // the rest is left out
  return add_node(std::move(made), 1)[0];
}

ValueId ScenarioBuilder::add(ValueId a, ValueId b, std::string name) {
  return node(Operation::add, {a, b}, {}, std::move(name));
}
ValueId ScenarioBuilder::sub(ValueId a, ValueId b, std::string name) {
  return node(Operation::sub, {a, b}, {}, std::move(name));
}
ValueId ScenarioBuilder::mul(ValueId a, ValueId b, std::string name) {
  return node(Operation::mul, {a, b}, {}, std::move(name));
}
ValueId ScenarioBuilder::scale(ValueId a, double factor, std::string name) {
  return node(Operation::scale, {a}, {factor}, std::move(name));
}
ValueId ScenarioBuilder::power(ValueId a, double exponent, std::string name) {
  return node(Operation::power, {a}, {exponent}, std::move(name));
}
ValueId ScenarioBuilder::sum(ValueId a, std::string name) {
  return node(Operation::sum, {a}, {}, std::move(name));
}
ValueId ScenarioBuilder::clone(ValueId a, std::string name) {
  return node(Operation::clone, {a}, {}, std::move(name));
}
ValueId ScenarioBuilder::to_device(ValueId a, Device device, std::string name) {
  return node(Operation::to_device, {a}, {device}, std::move(name));
}

ValueId ScenarioBuilder::custom(std::vector<ValueId> inputs, CustomNode custom, std::string name) {
  return custom_with_outputs(1, std::move(inputs), std::move(custom), std::move(name))[0];
}

std::vector<ValueId> ScenarioBuilder::custom_with_outputs(std::size_t outputs,
                                                          std::vector<ValueId> inputs,
                                                          CustomNode custom, std::string name) {
  Node made;
  made.name = name_or(std::move(name), "custom");
  made.inputs = std::move(inputs);
  made.custom = std::move(custom);
  return add_node(std::move(made), outputs);
}

std::vector<ValueId> ScenarioBuilder::unbind(std::size_t outputs, ValueId a, std::int64_t dim,
                                             std::string name) {
  Node made;
  made.name = name_or(std::move(name), "unbind");
  made.operation = Operation::unbind;
  made.inputs = {a};
  made.attributes = {dim};
  return add_node(std::move(made), outputs);
}

NodeId ScenarioBuilder::node_of(ValueId output) const {
  return scenario_.values.at(static_cast<std::size_t>(output)).producer;
}

NodeId ScenarioBuilder::accumulator(ValueId leaf) const {
  return stand_in(scenario_.values.at(static_cast<std::size_t>(leaf)).producer);
}

// ------------------------------------------------------------------------------------------------
// Hooks and callbacks

HookId ScenarioBuilder::add_new_hook(HookKind kind, Script script, std::string name) {
  Hook hook;
  hook.kind = kind;
  hook.name = name_or(std::move(name), "hook");
  hook.script = std::move(script);
  scenario_.hooks.push_back(std::move(hook));
  return static_cast<HookId>(scenario_.hooks.size()) - 1;
}

HookId ScenarioBuilder::tensor_hook(ValueId on, Script script, std::string name) {
  const HookId hook = add_new_hook(HookKind::tensor, std::move(script), std::move(name));
  scenario_.hooks.back().values = {on};
  return hook;
}
HookId ScenarioBuilder::retain_grad(ValueId on, std::string name) {
  const HookId hook = add_new_hook(HookKind::retain_grad, {}, std::move(name));
  scenario_.hooks.back().values = {on};
  return hook;
}
HookId ScenarioBuilder::node_pre_hook(NodeId on, Script script, std::string name) {
  const HookId hook = add_new_hook(HookKind::node_pre, std::move(script), std::move(name));
  scenario_.hooks.back().node = on;
  return hook;
}
HookId ScenarioBuilder::node_post_hook(NodeId on, Script script, std::string name) {
  const HookId hook = add_new_hook(HookKind::node_post, std::move(script), std::move(name));
  scenario_.hooks.back().node = on;
  return hook;
}
HookId ScenarioBuilder::post_accumulate_hook(ValueId leaf, Steps steps, std::string name) {
  const HookId hook =
      add_new_hook(HookKind::post_accumulate, {std::move(steps), std::nullopt}, std::move(name));
  scenario_.hooks.back().values = {leaf};
  return hook;
}
HookId ScenarioBuilder::capture_hook(Script script, std::string name) {
  return add_new_hook(HookKind::capture, std::move(script), std::move(name));
}
HookId ScenarioBuilder::multi_hook(std::vector<ValueId> on, Steps steps, std::string name) {
  const HookId hook =
      add_new_hook(HookKind::multi, {std::move(steps), std::nullopt}, std::move(name));
  scenario_.hooks.back().values = std::move(on);
  return hook;
}
HookId ScenarioBuilder::saved_hook(Script pack, Script unpack, std::string name) {
  const HookId hook = add_new_hook(HookKind::saved, std::move(pack), std::move(name));
  scenario_.hooks.back().unpack_script = std::move(unpack);
  return hook;
}
void ScenarioBuilder::when_destroyed(HookId hook, CallbackId callback) {
  scenario_.hooks[static_cast<std::size_t>(hook)].destroyed = callback;
}

HookId ScenarioBuilder::added_by_step(HookId hook) {
  scenario_.hooks.at(static_cast<std::size_t>(hook)).at_creation = false;
  return hook;
}

CallbackId ScenarioBuilder::callback(Steps steps, std::string name) {
  scenario_.callbacks.push_back({name_or(std::move(name), "callback"), std::move(steps)});
  return static_cast<CallbackId>(scenario_.callbacks.size()) - 1;
}

// ------------------------------------------------------------------------------------------------
// Steps

Steps ScenarioBuilder::steps(const Body& body) {
  open_.emplace_back();
  body();
  Steps written = std::move(open_.back());
  open_.pop_back();
  return written;
}

void ScenarioBuilder::add_step(Action action) {
  open_.back().push_back({no_id, std::move(action), std::nullopt});
}

void ScenarioBuilder::forward() {
  add_step(ForwardStep{});
}

void ScenarioBuilder::forward(const std::vector<ValueId>& outputs) {
  ForwardStep step;
  for (const ValueId output : outputs) step.nodes.push_back(node_of(output));
  add_step(std::move(step));
}

PassStep ScenarioBuilder::pass_step(PassStep::Kind kind, const std::vector<RootArgument>& roots,
                                    PassOptions options) const {
  PassStep step;
  step.kind = kind;
  for (const RootArgument& root : roots) step.roots.push_back({root.value, root.seed.seed});
  step.keep_graph = options.keep;
  step.create_graph = options.create;
  step.allow_unused = options.allow_unused;
  step.materialise = options.materialise;
  step.capture_hooks = std::move(options.capture_hooks);
  step.announced = std::move(options.announced);
  step.future = options.future;
  return step;
}

void ScenarioBuilder::backward(const std::vector<RootArgument>& roots, PassOptions options) {
  add_step(pass_step(PassStep::Kind::backward, roots, std::move(options)));
}

void ScenarioBuilder::backward_into(const std::vector<RootArgument>& roots,
                                    std::vector<ValueId> inputs, PassOptions options) {
  PassStep step = pass_step(PassStep::Kind::backward, roots, std::move(options));
  step.inputs = std::move(inputs);
  add_step(std::move(step));
}

std::vector<ValueId> ScenarioBuilder::grad(const std::vector<RootArgument>& roots,
                                           std::vector<ValueId> inputs, PassOptions options) {
  PassStep step = pass_step(PassStep::Kind::grad, roots, std::move(options));
  const std::size_t results_now = step.future == no_id ? inputs.size() : 0;
  for (std::size_t i = 0; i < results_now; ++i) {
    step.results.push_back(add_value(name_or("", "grad"), Value::Origin::pass_result, no_id,
                                     static_cast<std::int32_t>(i)));
  }
  step.inputs = std::move(inputs);
  std::vector<ValueId> results = step.results;
  add_step(std::move(step));
  return results;
}

void ScenarioBuilder::set_grad(ValueId leaf, TensorArgument grad) {
  add_step(SetGradStep{leaf, std::move(grad.value)});
}
void ScenarioBuilder::clear_grad(ValueId leaf) {
  add_step(SetGradStep{leaf, std::nullopt});
}
void ScenarioBuilder::read(std::vector<ValueId> values, std::vector<ValueId> grads) {
  add_step(ReadStep{std::move(values), std::move(grads)});
}
void ScenarioBuilder::change(ValueId value, ChangeStep::How how, double number, Through through) {
  add_step(ChangeStep{value, through, how, number});
}

ValueId ScenarioBuilder::keep(std::int32_t slot, Through through, std::string name) {
  const ValueId as = add_value(name_or(std::move(name), "kept"), Value::Origin::kept, no_id, 0);
  add_step(KeepStep{slot, no_id, through, as});
  return as;
}

ValueId ScenarioBuilder::keep_grad(ValueId of, Through through, std::string name) {
  const ValueId as = add_value(name_or(std::move(name), "kept"), Value::Origin::kept, no_id, 0);
  add_step(KeepStep{0, of, through, as});
  return as;
}

void ScenarioBuilder::drop(std::vector<ValueId> values) {
  add_step(DropStep{std::move(values)});
}
void ScenarioBuilder::requires_grad(ValueId value, bool on) {
  add_step(RequiresGradStep{value, on});
}
void ScenarioBuilder::with(WithStep settings, const Body& body) {
  settings.steps = steps(body);
  add_step(std::move(settings));
}
void ScenarioBuilder::attempt(const Body& body) {
  add_step(TryStep{steps(body)});
}

void ScenarioBuilder::parallel(const std::vector<Body>& threads) {
  ParallelStep step;
  for (const Body& body : threads) {
    step.threads.push_back({fmt::format("t{}", step.threads.size()), steps(body)});
  }
  add_step(std::move(step));
}

void ScenarioBuilder::repeat(std::int64_t times, const Body& body) {
  add_step(RepeatStep{times, steps(body)});
}
void ScenarioBuilder::barrier(BarrierId barrier) {
  add_step(BarrierStep{barrier});
}
void ScenarioBuilder::lock(LockId lock) {
  add_step(LockStep{lock, true});
}
void ScenarioBuilder::unlock(LockId lock) {
  add_step(LockStep{lock, false});
}
void ScenarioBuilder::throw_error(std::string token, bool foreign) {
  add_step(ThrowStep{std::move(token), foreign});
}
void ScenarioBuilder::throw_on_call(std::int32_t call, std::string token) {
  add_step(ThrowStep{std::move(token), false, call});
}
void ScenarioBuilder::queue(CallbackId callback) {
  add_step(QueueCallbackStep{callback});
}
void ScenarioBuilder::add_hook(HookId hook) {
  add_step(HookStep{hook, true});
}
void ScenarioBuilder::remove_hook(HookId hook) {
  add_step(HookStep{hook, false});
}
void ScenarioBuilder::observe(ObserveStep::What what, NodeId node) {
  add_step(ObserveStep{what, node, std::nullopt});
}
void ScenarioBuilder::observe_compiles_for(ObserveStep::Cause cause) {
  add_step(ObserveStep{ObserveStep::What::compiles_for, no_id, cause});
}
void ScenarioBuilder::start() {
  add_step(EngineStep{EngineStep::What::start, std::nullopt});
}
void ScenarioBuilder::stop() {
  add_step(EngineStep{EngineStep::What::stop, std::nullopt});
}
void ScenarioBuilder::stop_within(double seconds) {
  add_step(EngineStep{EngineStep::What::stop, seconds});
}
void ScenarioBuilder::deliver(AnnouncementId announcement, SeedArgument gradient) {
  add_step(DeliverStep{announcement, std::move(gradient.seed), ""});
}
void ScenarioBuilder::deliver_error(AnnouncementId announcement, std::string token) {
  add_step(DeliverStep{announcement, {}, std::move(token)});
}
void ScenarioBuilder::wait(FutureId future) {
  add_step(WaitStep{future});
}
void ScenarioBuilder::when_done(FutureId future, CallbackId callback) {
  add_step(WhenDoneStep{future, callback});
}
void ScenarioBuilder::redirect(NodeId node, std::int32_t edge, ValueId to) {
  add_step(RedirectStep{node, edge, to});
}
void ScenarioBuilder::close_hooks(HookId hook) {
  add_step(CloseHooksStep{hook});
}
void ScenarioBuilder::forget_programs() {
  add_step(ForgetProgramsStep{});
}
void ScenarioBuilder::fork(const Body& body) {
  add_step(ForkStep{steps(body)});
}
void ScenarioBuilder::wait_stream(StreamId stream, StreamId waits_for) {
  add_step(StreamStep{StreamStep::What::wait, stream, waits_for});
}
void ScenarioBuilder::synchronise(StreamId stream) {
  add_step(StreamStep{StreamStep::What::synchronise, stream, no_id});
}

void ScenarioBuilder::expect(std::vector<TensorArgument> values) {
  StepExpectation expectation;
  expectation.values.emplace();
  for (TensorArgument& value : values) expectation.values->push_back(std::move(value.value));
  open_.back().back().expect = std::move(expectation);
}

void ScenarioBuilder::expect_error(ErrorCategory error, std::vector<Mention> names) {
  StepExpectation expectation;
  expectation.error = error;
  expectation.names = std::move(names);
  open_.back().back().expect = std::move(expectation);
}

void ScenarioBuilder::expect(StepExpectation expectation) {
  open_.back().back().expect = std::move(expectation);
}

// ------------------------------------------------------------------------------------------------

Scenario ScenarioBuilder::build() const {
  Scenario made = scenario_;
  made.program = open_.front();
  if (made.clauses.empty()) made.clauses = {"TOPO-1"};
  bool has_forward = false;
  for_each_step(made, [&](const Step& step) {
    has_forward = has_forward || std::holds_alternative<ForwardStep>(step.action);
  });
  if (!has_forward) made.program.insert(made.program.begin(), {no_id, ForwardStep{}, std::nullopt});
  for (Hook& hook : made.hooks) resolve(made, hook.node);
  for_each_step(made, [&](Step& step) {
    if (auto* observe = std::get_if<ObserveStep>(&step.action)) resolve(made, observe->node);
  });
  complete_forwards(made);
  number_steps(made);
  validate(made);
  return made;
}

}  // namespace gradcts
