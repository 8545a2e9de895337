// The interpreter: runs a scenario on one engine and reports what happened.
//
// One for every engine: it walks the program and the scripts, keeps the program's handles, records
// events and step results, and asks a Binding (binding.h) for everything that an engine does. It
// judges nothing.
//
// Errors: in the program, an error of a step stands in the step's result and the program goes on;
// in a script (of a node, hook or callback) and inside a `try` it ends the script and travels on.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "conformance/adapters/kit/binding.h"
#include "conformance/adapters/kit/concurrency.h"
#include "conformance/adapters/kit/errors.h"
#include "conformance/adapters/kit/expressions.h"
#include "conformance/adapters/kit/handles.h"
#include "conformance/adapters/kit/life.h"
#include "conformance/adapters/kit/recorder.h"
#include "conformance/adapters/kit/support.h"
#include "conformance/adapters/kit/sync.h"
#include "conformance/scenario/features.h"

namespace gradcts::kit {

template <typename B>
class Interpreter : public std::enable_shared_from_this<Interpreter<B>> {
  static_assert(check_binding<B>());
  struct Key {};  // only `run` makes interpreters

 public:
  // Runs a valid scenario, all of whose features the engine claims. May be called from several
  // threads at once if the engine's settings allow it. Bodies that a wrong engine keeps for ever
  // stay valid.
  static Outcome run(std::shared_ptr<const Scenario> scenario) {
    return std::make_shared<Interpreter>(Key(), std::move(scenario))->run_all();
  }

  Interpreter(Key, std::shared_ptr<const Scenario> scenario)
      : owned_(std::move(scenario)),
        scenario_(*owned_),
        uses_devices_(uses_devices(scenario_)),
        binding_(scenario_),
        recorder_(scenario_),
        meeting_points_(scenario_),
        values_(scenario_.values.size()),
        named_(nodes_that_are_named(scenario_)),
        nodes_(named_.size()),
        makings_(scenario_.nodes.size()),
        throws_(static_cast<std::size_t>(std::max(scenario_.step_count, 0))),
        hooks_(scenario_.hooks.size()),
        open_hooks_(scenario_.hooks.size()),
        announced_(scenario_.announcements.size()),
        passes_(scenario_.futures.size()) {
    for (const Reducer& reducer : scenario_.reducers) {
      reducers_.emplace_back(reducer.ranks.size());
    }
  }

 private:
  using Tensor = typename B::Tensor;
  using List = typename B::List;
  using NodeHandle = typename B::NodeHandle;
  using HookHandle = typename B::HookHandle;

  // Where steps run.
  struct Context {
    bool errors_travel = false;               // a script, or inside a `try`
    Scope<B> scope;                           // what a script was given
    typename B::RunningNode* node = nullptr;  // the custom node whose backward this is
    NodeId hooked = no_id;                    // or the node that the hook is on
  };

  // What work on devices is for, while it lives.
  class Purpose {
   public:
    Purpose(Interpreter& i, std::string_view what, std::string_view name)
        : interpreter_(i), enclosing_(i.begin_purpose(what, name)) {}
    ~Purpose() {
      if constexpr (ChecksAccesses<B>) interpreter_.binding_.end_work_purposes(enclosing_);
    }
    Purpose(const Purpose&) = delete;
    Purpose& operator=(const Purpose&) = delete;

   private:
    Interpreter& interpreter_;
    const std::size_t enclosing_;
  };

  std::size_t begin_purpose([[maybe_unused]] std::string_view what, [[maybe_unused]] std::string_view name) {
    if constexpr (ChecksAccesses<B>) {
      if (uses_devices_) return binding_.begin_work_purpose(what, name);
    }
    return 0;
  }

  // ---- Bodies ----

  // Keeps the interpreter valid for as long as the engine keeps the body, and counts it.
  struct Owned {
    explicit Owned(Interpreter& i) : interpreter(i.shared_from_this()), token(i.alive_) {}
    std::shared_ptr<Interpreter> interpreter;
    LifeToken token;  // goes before the interpreter
  };

  // Runs the steps of a callback when what holds it goes, and counts what holds it.
  struct Destructor {
    Destructor(Interpreter& i, CallbackId c) : interpreter(i), callback(c), token(i.scripted_) {}
    Destructor(const Destructor&) = delete;
    Destructor& operator=(const Destructor&) = delete;
    ~Destructor() {
      if (callback != no_id) interpreter.run_destructor(callback);
    }
    Interpreter& interpreter;
    const CallbackId callback;
    LifeToken token;
  };

  struct UserState final : Owned {
    UserState(Interpreter& i, CallbackId c) : Owned(i), destructor(i, c) {}
    const Destructor destructor;
  };

  struct ScriptedNode final : NodeBody<B>, Owned {
    ScriptedNode(Interpreter& i, NodeId n, std::int32_t m)
        : Owned(i), id(n), making(m), destructor(i, i.scenario_.nodes[at(n)].custom->destroyed) {}
    List run(typename B::RunningNode& node, List&& gradients) override {
      LifeToken running(this->interpreter->running_);
      const List own = std::move(gradients);
      return this->interpreter->run_node(*this, node, own);
    }
    const NodeId id;
    const std::int32_t making;
    Pools<B> pools;
    const Destructor destructor;
  };

  struct ScriptedHook final : HookBody<B>, Owned {
    ScriptedHook(Interpreter& i, HookId h)
        : Owned(i), id(h), destructor(i, i.scenario_.hooks[at(h)].destroyed) {}
    std::optional<List> run(std::span<const Tensor> slots) override {
      const Hook& hook = this->interpreter->scenario_.hooks[at(id)];
      return this->interpreter->run_hook(id, event_of(hook.kind), hook.script, slots);
    }
    const HookId id;
    const Destructor destructor;
  };

  struct SavedHooks final : SavedHooksBody<B>, Owned {
    SavedHooks(Interpreter& i, HookId h)
        : Owned(i), id(h), destructor(i, i.scenario_.hooks[at(h)].destroyed) {}
    Tensor pack(const Tensor& tensor) override { return half(EventKind::pack, tensor); }
    Tensor unpack(const Tensor& packed) override { return half(EventKind::unpack, packed); }
    Tensor half(EventKind kind, const Tensor& tensor) {
      const Hook& hook = this->interpreter->scenario_.hooks[at(id)];
      const Script& script = kind == EventKind::pack ? hook.script : hook.unpack_script;
      const auto result = this->interpreter->run_hook(id, kind, script, std::span(&tensor, 1));
      return result ? (*result)[0] : tensor;
    }
    const HookId id;
    const Destructor destructor;
  };

  struct NodeTrace final : TraceBody, Owned {
    NodeTrace(Interpreter& i, NodeId n, std::int32_t m) : Owned(i), id(n), making(m) {}
    void enter() override {
      if (this->interpreter->uses_devices_) {
        this->interpreter->begin_purpose("node", node_name(this->interpreter->scenario_, id));
      }
      this->interpreter->recorder_.node(EventKind::node_enter, id, making, {});
    }
    void exit() override {
      this->interpreter->recorder_.node(EventKind::node_exit, id, making, {});
      if constexpr (ChecksAccesses<B>) this->interpreter->binding_.end_work_purpose();
    }
    const NodeId id;
    const std::int32_t making;
  };

  struct ScriptedCallback final : Owned {
    ScriptedCallback(Interpreter& i, CallbackId c) : Owned(i), id(c) {}
    const CallbackId id;
  };

  // ---- The whole run ----

  Outcome run_all() {
    for (std::size_t i = 0; i < scenario_.leaves.size(); ++i) make_leaf(i);
    Context program;
    run_steps(scenario_.program, program);
    running_.wait_for_none();
    // Before the program reads and drops what it has, on streams that need not have waited for it.
    std::vector<UnorderedAccess> unordered_accesses;
    if constexpr (ChecksAccesses<B>) unordered_accesses = binding_.unordered_accesses();
    Values leaf_grads = take_leaf_grads();
    std::optional<std::int32_t> threads;
    if constexpr (CountsThreads<B>) threads = binding_.engine_threads();
    let_go();
    binding_.finish();
    const std::int64_t live = alive_.wait_for_none(std::chrono::seconds(5));
    Outcome outcome = recorder_.take();
    outcome.state.unordered_accesses = std::move(unordered_accesses);
    outcome.leaf_grads = std::move(leaf_grads);
    outcome.state.live_objects = live;
    outcome.state.engine_threads = threads;
    return outcome;
  }

  // Reads them, and clears them: a `.grad` with history is the one cycle that may stay (GRAPH2-4).
  Values take_leaf_grads() {
    Values grads;
    for (const Leaf& leaf : scenario_.leaves) grads.push_back(take_grad(leaf.value));
    for (const ValueId value : values_with_grad(scenario_)) take_grad(value);
    return grads;
  }

  std::optional<TensorValue> take_grad(ValueId id) {
    const Tensor tensor = values_.get(id);
    if (!binding_.defined(tensor)) return std::nullopt;
    auto grad = binding_.read(binding_.grad_of(tensor));
    binding_.set_grad(tensor, Tensor());
    return grad;
  }

  // Leaves go last: scripts that run meanwhile, when an object is destroyed, may use them, and make
  // values of their own.
  void let_go() {
    reducers_.clear();
    for (auto& pass : passes_) pass.reset();
    for (auto& announced : announced_) announced.reset();
    for (auto& handles : hooks_) handles.clear();
    for (NodeHandle& node : nodes_) node = NodeHandle();
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < scenario_.values.size(); ++i) {
        const bool leaf = scenario_.values[i].origin == Value::Origin::leaf;
        if (!leaf) values_.drop(static_cast<ValueId>(i));
      }
    }
    for (const Leaf& leaf : scenario_.leaves) values_.drop(leaf.value);
  }

  // For a step that needs the tensor itself.
  Tensor use(ValueId id) const {
    Tensor tensor = values_.get(id);
    if (!binding_.defined(tensor)) throw UndefinedValue(scenario_.values[at(id)].name);
    return tensor;
  }

  // ---- Making leaves and nodes ----

  void make_leaf(std::size_t index) {
    const Leaf& leaf = scenario_.leaves[index];
    const Purpose purpose(*this, "leaf", scenario_.values[at(leaf.value)].name);
    WithStep stream;
    stream.stream = leaf.stream;
    std::optional<typename B::Settings> settings;
    if (leaf.stream != no_id) settings.emplace(binding_, stream, SettingBodies<B>());
    const Tensor tensor = binding_.make(leaf.initial);
    if (leaf.requires_grad) binding_.set_requires_grad(tensor, true);
    if (leaf.grad) binding_.set_grad(tensor, binding_.make(*leaf.grad));
    values_.set(leaf.value, tensor);
    if (leaf.requires_grad) watch_accumulator(index, tensor);  // on the leaf's stream
    settings.reset();
    const NodeId accumulator = accumulator_of(scenario_, static_cast<std::int32_t>(index));
    add_hooks_at_creation(accumulator, std::span(&leaf.value, 1));
  }

  // An engine may drop an accumulator that no graph uses, and its hooks with it; whoever hooks one
  // keeps it.
  void watch_accumulator(std::size_t leaf, const Tensor& tensor) {
    const NodeId id = accumulator_of(scenario_, static_cast<std::int32_t>(leaf));
    const bool traced = scenario_.trace == Trace::all;
    NodeHandle& kept = nodes_[at(id)];
    if (kept || !(traced || named_[at(id)])) return;
    kept = binding_.accumulator_of(tensor);
    if (traced) binding_.trace(kept, std::make_shared<NodeTrace>(*this, id, 0));
  }

  void make_node(NodeId id) {
    const Node& node = scenario_.nodes[at(id)];
    const Purpose purpose(*this, "forward of", node.name);
    List inputs;
    for (const ValueId input : node.inputs) inputs.push_back(use(input));
    if constexpr (ChecksAccesses<B>) {
      for (const Tensor& input : inputs) binding_.register_use(input);
    }
    const bool in_place = spec_of(node.operation).in_place;
    const NodeHandle before = in_place ? binding_.node_of(inputs[0]) : NodeHandle();
    const std::int32_t making = makings_[at(id)].fetch_add(1);
    List outputs;
    if (node.custom) {
      make_custom(id, node, making, inputs, outputs);
    } else {
      binding_.apply(node, inputs, outputs);
    }
    NodeHandle made = binding_.node_of(outputs[0]);
    if (in_place && made == before) made = NodeHandle();
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      values_.set(node.outputs[i], std::move(outputs[i]));
    }
    node_is_made(id, making, std::move(made));
  }

  void node_is_made(NodeId id, std::int32_t making, NodeHandle node) {
    const bool built_in = !scenario_.nodes[at(id)].custom;
    if (node && built_in && scenario_.trace == Trace::all) {
      binding_.trace(node, std::make_shared<NodeTrace>(*this, id, making));
    }
    if (named_[at(id)]) nodes_[at(id)] = std::move(node);
    add_hooks_at_creation(id, scenario_.nodes[at(id)].outputs);
  }

  void make_custom(NodeId id, const Node& node, std::int32_t making, const List& inputs,
                   List& outputs) {
    auto body = std::make_shared<ScriptedNode>(*this, id, making);
    compute_forward(node, inputs, outputs);
    const std::vector<SavedValue> saves = saved_values(node);
    List elsewhere;
    for (std::size_t i = 0; i < saves.size(); ++i) {
      if (saves[i].from == SavedValue::From::elsewhere) {
        elsewhere.push_back(use(node.custom->saves[i]));
      }
    }
    binding_.make_custom(
        CustomNodeRequest<B>{node, inputs, outputs, saves, elsewhere, std::move(body)});
  }

  void compute_forward(const Node& node, const List& inputs, List& outputs) {
    [[maybe_unused]] typename B::NoRecording no_recording;
    Scope<B> scope;
    scope.slots = std::span<const Tensor>(inputs.data(), inputs.size());
    const Evaluator<B> evaluator(binding_, values_, scope);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const auto& forward = node.custom->forward;
      outputs.push_back(forward.empty() ? evaluator.sum_of_slots()
                                        : evaluator.evaluate(forward[i]));
    }
  }

  // ---- Hooks ----

  void add_hooks_at_creation(NodeId node, std::span<const ValueId> values) {
    for (std::size_t i = 0; i < scenario_.hooks.size(); ++i) {
      const Hook& hook = scenario_.hooks[i];
      if (!hook.at_creation) continue;
      if (is_about(hook, node, values)) add_hook(static_cast<HookId>(i));
    }
  }

  // Whether the making of the node and these values was the last thing that the hook waited for.
  bool is_about(const Hook& hook, NodeId node, std::span<const ValueId> made) const {
    if (hook.node != no_id) return hook.node == node;
    const auto is_made = [&](ValueId id) { return std::find(made.begin(), made.end(), id) != made.end(); };
    const auto is_there = [&](ValueId id) { return binding_.defined(values_.get(id)); };
    return std::any_of(hook.values.begin(), hook.values.end(), is_made) &&
           std::all_of(hook.values.begin(), hook.values.end(), is_there);
  }

  void add_hook(HookId id) {
    HookHandle handle = register_hook(id, scenario_.hooks[at(id)]);
    std::lock_guard lock(hooks_mutex_);
    hooks_[at(id)].push_back(std::move(handle));
  }

  HookHandle register_hook(HookId id, const Hook& hook) {
    auto body = [&] { return std::make_shared<ScriptedHook>(*this, id); };
    switch (hook.kind) {
      case HookKind::tensor:
        if constexpr (HasTensorHooks<B>) {
          return binding_.add_tensor_hook(use(hook.values[0]), body());
        }
        break;
      case HookKind::retain_grad:
        if constexpr (HasRetainGrad<B>) {
          binding_.retain_grad(use(hook.values[0]));
          return HookHandle();
        }
        break;
      case HookKind::node_pre:
        if constexpr (HasNodeHooks<B>) return binding_.add_node_pre_hook(node(hook.node), body());
        break;
      case HookKind::node_post:
        if constexpr (HasNodeHooks<B>) return binding_.add_node_post_hook(node(hook.node), body());
        break;
      case HookKind::post_accumulate:
        if constexpr (HasPostAccumulateHooks<B>) {
          return binding_.add_post_accumulate_hook(use(hook.values[0]), body());
        }
        break;
      case HookKind::multi:
        if constexpr (HasMultiHooks<B>) {
          return binding_.add_multi_hook(tensors(hook.values), body());
        }
        break;
      case HookKind::capture:
      case HookKind::saved:
        break;  // their steps name them
    }
    throw NotOffered("hook '" + hook.name + "'");
  }

  void remove_hook(HookId id) {
    std::vector<HookHandle> handles;
    {
      std::lock_guard lock(hooks_mutex_);
      handles.swap(hooks_[at(id)]);
    }
    if constexpr (HasTensorHooks<B>) {
      for (const HookHandle& handle : handles) binding_.remove_hook(handle);
    }
  }

  // ---- Scripts ----

  List run_node(ScriptedNode& body, typename B::RunningNode& node, const List& gradients) {
    const Node& described = scenario_.nodes[at(body.id)];
    const CustomNode& custom = *described.custom;
    const Purpose purpose(*this, "node", described.name);
    List saved;
    for (std::size_t i = 0; i < custom.saves.size(); ++i) saved.push_back(node.saved(i));
    recorder_.node(EventKind::node_enter, body.id, body.making, read_all(gradients));
    Context context{true,
                    {std::span<const Tensor>(gradients.data(), gradients.size()), custom.saves,
                     std::span<const Tensor>(saved.data(), saved.size()), &body.pools},
                    &node,
                    no_id};
    run_steps(custom.backward.steps, context);
    List results = returns_of(custom.backward, context.scope, described.inputs.size());
    recorder_.node(EventKind::node_exit, body.id, body.making, read_all(results));
    return results;
  }

  List returns_of(const Script& script, const Scope<B>& scope, std::size_t inputs) {
    const Evaluator<B> evaluator(binding_, values_, scope);
    List results;
    if (script.returns) {
      for (const Expression& expression : *script.returns) {
        results.push_back(evaluator.evaluate(expression));
      }
    } else {
      for (std::size_t i = 0; i < inputs; ++i) results.push_back(evaluator.sum_of_slots());
    }
    return results;
  }

  std::optional<List> run_hook(HookId id, EventKind kind, const Script& script,
                               std::span<const Tensor> slots) {
    LifeToken running(running_);
    const Purpose purpose(*this, "hook", scenario_.hooks[at(id)].name);
    recorder_.event(kind, id, read_all(slots));
    Context context{true, {slots, {}, {}, nullptr}, nullptr, scenario_.hooks[at(id)].node};
    run_steps(script.steps, context);
    if (!script.returns) return std::nullopt;
    return returns_of(script, context.scope, 0);
  }

  void run_callback(CallbackId id) {
    LifeToken running(running_);
    const Purpose purpose(*this, "callback", scenario_.callbacks[at(id)].name);
    recorder_.event(EventKind::callback, id, {});
    Context context{true, {}, nullptr, no_id};
    run_steps(scenario_.callbacks[at(id)].steps, context);
  }

  // The settings of a `with` step that is running, which belong to its thread.
  struct OpenHooks {
    std::optional<typename B::Settings>* settings = nullptr;  // null: there are none
    std::thread::id thread;
  };

  // Nobody hears of an error: it stands in the results of the steps.
  void run_destructor(CallbackId id) noexcept {
    LifeToken running(running_);
    recorder_.event(EventKind::destroyed, id, {}, recorder_.place());
    Context context{true, {}, nullptr, no_id};
    try {
      run_steps(scenario_.callbacks[at(id)].steps, context);
    } catch (...) {
    }
  }

  // ---- Steps ----

  void run_steps(const Steps& steps, Context& context) {
    for (const Step& step : steps) run_step(step, context);
  }

  void run_step(const Step& step, Context& context) {
    Values values;
    std::optional<Purpose> purpose;
    if (uses_devices_ && !context.errors_travel) purpose.emplace(*this, "step", std::to_string(step.id));
    try {
      std::visit([&](const auto& action) { perform(action, step.id, context, values); },
                 step.action);
    } catch (const ScriptedError& e) {
      return step_failed(step, context, {ErrorCategory::user, e.what(), false, e.what()});
    } catch (const ForeignError& e) {
      return step_failed(step, context, {ErrorCategory::user, e.token, true, e.token});
    } catch (const UndefinedValue& e) {
      return step_failed(step, context, {ErrorCategory::invalid_argument, "", false, e.what()});
    } catch (const NotOffered& e) {
      return step_failed(step, context, {ErrorCategory::other, "", false, e.what()});
    } catch (...) {
      return step_failed(step, context, binding_.classify(std::current_exception()));
    }
    recorder_.step(step.id, std::nullopt, std::move(values));
  }

  // While the exception is handled; in a script it travels on.
  void step_failed(const Step& step, const Context& context, ErrorReport error) {
    recorder_.step(step.id, std::move(error), {});
    if (context.errors_travel && !std::holds_alternative<TryStep>(step.action)) throw;
  }

  void perform(const ForwardStep& step, StepId, Context&, Values&) {
    for (const NodeId node : step.nodes) make_node(node);
  }

  void perform(const PassStep& step, StepId id, Context&, Values& values) {
    PassRequest<B> request{step, {}, {}, {}, {}, {}};
    for (const Root& root : step.roots) {
      request.roots.push_back(use(root.value));
      request.seeds.push_back(seed(root.seed));
    }
    if (step.inputs) request.inputs = tensors(*step.inputs);
    for (const CaptureHook& capture : step.capture_hooks) {
      request.capture_hooks.push_back({static_cast<std::size_t>(capture.input),
                                       std::make_shared<ScriptedHook>(*this, capture.hook)});
    }
    for (const AnnouncementId announced : step.announced) {
      request.announced.push_back(announcement(announced));
    }
    if (step.future != no_id) return start(step.future, std::move(request));
    const List results = pass(id, std::move(request));
    values = read_all(results);
    for (std::size_t i = 0; i < step.results.size(); ++i) values_.set(step.results[i], results[i]);
    add_hooks_at_creation(no_id, step.results);
  }

  // The call, with its begin and end in the trace, also when it ends with an error.
  List pass(StepId id, PassRequest<B> request) {
    const ThreadState before = binding_.thread_state();
    recorder_.event(EventKind::pass_begin, id, {});
    struct End {
      Interpreter& interpreter;
      const StepId id;
      const ThreadState& before;
      ~End() { interpreter.pass_ended(id, before); }
    } end{*this, id, before};
    return binding_.pass(std::move(request));
  }

  void pass_ended(StepId id, const ThreadState& before) {
    recorder_.event(EventKind::pass_end, id, {});
    const ThreadState after = binding_.thread_state();
    if (after == before) return;
    for (const std::string& line : differences(before, after)) {
      recorder_.state_change("step " + std::to_string(id) + ": " + line);
    }
  }

  void start(FutureId future, PassRequest<B> request) {
    if constexpr (HasAsynchronousPasses<B>) {
      auto started = binding_.start_pass(std::move(request));
      std::lock_guard lock(hooks_mutex_);
      passes_[at(future)] = std::move(started);
    } else {
      throw NotOffered("asynchronous passes");
    }
  }

  std::shared_ptr<PassEnd<B>> started(FutureId future) {
    std::lock_guard lock(hooks_mutex_);
    if (!passes_[at(future)]) throw UndefinedValue(scenario_.futures[at(future)].name);
    return passes_[at(future)];
  }

  void perform(const WaitStep& step, StepId, Context&, Values& values) {
    values = read_all(started(step.future)->wait());
  }

  // The script counts as running from now on, so that the run does not end before it.
  void perform(const WhenDoneStep& step, StepId, Context&, Values&) {
    auto body = std::make_shared<ScriptedCallback>(*this, step.callback);
    auto running = std::make_shared<LifeToken>(running_);
    started(step.future)->then([body, running]() mutable {
      const auto until_the_end = std::move(running);
      body->interpreter->run_callback(body->id);
    });
  }

  // Made when it is first needed: by its pass, or by a delivery that comes first.
  std::shared_ptr<void> announcement(AnnouncementId id) {
    if constexpr (HasAnnouncements<B>) {
      const Tensor to = use(scenario_.announcements[at(id)].to);
      std::lock_guard lock(hooks_mutex_);
      std::shared_ptr<void>& made = announced_[at(id)];
      if (!made) made = binding_.announce(to);
      return made;
    } else {
      throw NotOffered("announced gradients");
    }
  }

  void perform(const DeliverStep& step, StepId, Context&, Values&) {
    if constexpr (HasAnnouncements<B>) {
      const auto to = announcement(step.announcement);
      if (step.error.empty()) return binding_.deliver(to, seed(step.gradient));
      binding_.fail(to, std::make_exception_ptr(ScriptedError(step.error)));
    } else {
      throw NotOffered("announced gradients");
    }
  }

  void perform(const RedirectStep& step, StepId, Context&, Values&) {
    if constexpr (CanRedirect<B>) {
      binding_.redirect(node(step.node), at(step.edge), step.to == no_id ? Tensor() : use(step.to));
    } else {
      throw NotOffered("an edge that is made to lead elsewhere");
    }
  }

  void perform(const ForgetProgramsStep&, StepId, Context&, Values&) {
    if constexpr (HasPrograms<B>) {
      binding_.forget_programs();
    } else {
      throw NotOffered("programs of compiled passes");
    }
  }

  void perform(const CloseHooksStep& step, StepId, Context&, Values&) {
    OpenHooks open;
    {
      std::lock_guard lock(hooks_mutex_);
      OpenHooks& known = open_hooks_[at(step.hook)];
      if (known.settings && known.thread != std::this_thread::get_id()) {
        throw NotOffered("closing the saved-tensor hooks of another thread");
      }
      open = std::exchange(known, {});
    }
    if (open.settings) open.settings->reset();
  }

  void perform(const ReducerStep& step, StepId, Context&, Values& values) {
    if constexpr (HasReducers<B>) {
      auto& place = reducers_[at(step.reducer)][at(step.rank)];
      const auto made = [&]() -> RankReducer<B>& {
        const std::string& name = scenario_.reducers[at(step.reducer)].name;
        if (!place) throw NotOffered("the reducer '" + name + "' of a rank that has none");
        return *place;
      };
      switch (step.what) {
        case ReducerStep::What::make:
          place = binding_.make_reducer(
              step.reducer, step.rank,
              tensors(scenario_.reducers[at(step.reducer)].ranks[at(step.rank)]));
          break;
        case ReducerStep::What::drop:
          place = nullptr;
          break;
        case ReducerStep::What::prepare:
          made().prepare(tensors(step.outputs));
          break;
        case ReducerStep::What::reset:
          made().reset();
          break;
        case ReducerStep::What::ask: {
          TensorValue answer;
          for (const double number : made().answer(step.question)) answer.values.push_back(number);
          answer.shape = {static_cast<std::int64_t>(answer.values.size())};
          values.emplace_back(std::move(answer));
        }
      }
    } else {
      throw NotOffered("reducers");
    }
  }

  Tensor seed(const Seed& seed) {
    if (seed.constant) return binding_.make(*seed.constant);
    if (seed.value == no_id) return Tensor();
    const Tensor value = values_.get(seed.value);
    if constexpr (ChecksAccesses<B>) binding_.register_use(value);
    return value;
  }

  void perform(const SetGradStep& step, StepId, Context&, Values&) {
    binding_.set_grad(use(step.leaf), step.grad ? binding_.make(*step.grad) : Tensor());
  }

  void perform(const ReadStep& step, StepId, Context&, Values& values) {
    for (const ValueId id : step.values) values.push_back(binding_.read(values_.get(id)));
    for (const ValueId id : step.grads) {
      values.push_back(binding_.read(binding_.grad_of(use(id))));
    }
  }

  void perform(const ChangeStep& step, StepId, Context&, Values&) {
    binding_.change(through(use(step.value), step.through), step.how, step.number);
  }

  void perform(const KeepStep& step, StepId, Context& context, Values&) {
    const Tensor kept =
        step.grad_of == no_id ? context.scope.slot(step.slot) : binding_.grad_of(use(step.grad_of));
    values_.set(step.as, binding_.defined(kept) ? through(kept, step.through) : Tensor());
    add_hooks_at_creation(no_id, std::span(&step.as, 1));
  }

  Tensor through(const Tensor& tensor, Through way) {
    return way == Through::handle ? tensor : binding_.alias(tensor, way);
  }

  void perform(const DropStep& step, StepId, Context&, Values&) {
    for (const ValueId id : step.values) values_.drop(id);
  }

  void perform(const RequiresGradStep& step, StepId, Context&, Values&) {
    const Tensor tensor = use(step.value);
    binding_.set_requires_grad(tensor, step.on);
    const Value& value = scenario_.values[at(step.value)];
    if (step.on && value.origin == Value::Origin::leaf) {
      watch_accumulator(at(value.producer), tensor);
    }
  }

  void perform(const WithStep& step, StepId, Context& context, Values&) {
    SettingBodies<B> bodies;
    if (step.saved_hooks != no_id) {
      bodies.saved_hooks = std::make_shared<SavedHooks>(*this, step.saved_hooks);
    }
    if (step.user_state_destroyed != no_id) {
      bodies.user_state = std::make_shared<UserState>(*this, step.user_state_destroyed);
    }
    std::optional<typename B::Settings> settings;
    settings.emplace(binding_, step, std::move(bodies));
    struct Opened {
      Opened(Interpreter& i, HookId h, std::optional<typename B::Settings>* s)
          : interpreter(i), hook(h) {
        set({s, std::this_thread::get_id()});
      }
      ~Opened() { set({}); }
      void set(OpenHooks open) {
        if (hook == no_id) return;
        std::lock_guard lock(interpreter.hooks_mutex_);
        interpreter.open_hooks_[at(hook)] = open;
      }
      Interpreter& interpreter;
      const HookId hook;
    } opened(*this, step.saved_hooks, &settings);
    if (step.captured) return run_captured(step, context);
    run_steps(step.steps, context);
  }

  // An error of the steps is told, and not what follows from it at the end of the capture.
  void run_captured(const WithStep& step, Context& context) {
    if constexpr (HasCaptures<B>) {
      binding_.begin_capture(step.stream);
      try {
        run_steps(step.steps, context);
      } catch (...) {
        try {
          binding_.end_capture(step.stream);
        } catch (...) {
        }
        throw;
      }
      binding_.end_capture(step.stream);
    } else {
      throw NotOffered("streams that are captured");
    }
  }

  void perform(const TryStep& step, StepId, Context& context, Values&) {
    Context inner = context;
    inner.errors_travel = true;
    run_steps(step.steps, inner);
  }

  void perform(const ParallelStep& step, StepId, Context& context, Values&) {
    std::vector<std::exception_ptr> errors(step.threads.size());
    std::vector<std::function<void()>> functions;
    for (std::size_t i = 0; i < step.threads.size(); ++i) {
      functions.push_back([&, i, number = recorder_.reserve_thread()] {
        recorder_.adopt_thread(number);
        Context inner = context;
        try {
          run_steps(step.threads[i].steps, inner);
        } catch (...) {
          errors[i] = std::current_exception();
        }
        recorder_.leave_thread();
      });
    }
    run_threads(functions);
    for (const auto& error : errors) {
      if (error) std::rethrow_exception(error);
    }
  }

  void perform(const RepeatStep& step, StepId, Context& context, Values&) {
    for (std::int64_t i = 0; i < step.times; ++i) run_steps(step.steps, context);
  }

  void perform(const BarrierStep& step, StepId, Context&, Values&) {
    meeting_points_.barrier(step.barrier).arrive_and_wait();
  }

  void perform(const LockStep& step, StepId, Context&, Values&) {
    Mutex& lock = meeting_points_.lock(step.lock);
    step.acquire ? lock.lock() : lock.unlock();
  }

  void perform(const ThrowStep& step, StepId id, Context&, Values&) {
    const std::int32_t call = ++throws_[at(id)];
    if (step.on_call != 0 && step.on_call != call) return;
    if (step.foreign) throw ForeignError{step.token};
    throw ScriptedError(step.token);
  }

  void perform(const QueueCallbackStep& step, StepId, Context&, Values&) {
    if constexpr (HasCallbacks<B>) {
      auto body = std::make_shared<ScriptedCallback>(*this, step.callback);
      binding_.queue_callback([body] { body->interpreter->run_callback(body->id); });
    } else {
      throw NotOffered("queue_callback");
    }
  }

  void perform(const HookStep& step, StepId, Context&, Values&) {
    step.add ? add_hook(step.hook) : remove_hook(step.hook);
  }

  void perform(const ObserveStep& step, StepId id, Context& context, Values&) {
    recorder_.event(EventKind::observe, id, {}, observe(step, context));
  }

  std::int64_t observe(const ObserveStep& step, const Context& context) {
    if (step.what == ObserveStep::What::live_objects) return scripted_.count();
    if (step.what != ObserveStep::What::needed) {
      return binding_.observe(step, step.node == no_id ? NodeHandle() : node(step.node));
    }
    if constexpr (KnowsNeeded<B>) {
      return context.node ? binding_.needed(*context.node) : binding_.needed(node(context.hooked));
    } else {
      throw NotOffered("observing what is needed");
    }
  }

  void perform(const EngineStep& step, StepId, Context&, Values&) {
    if constexpr (HasEngineControl<B>) {
      binding_.control_engine(step);
    } else {
      throw NotOffered("start and stop");
    }
  }

  void perform(const StreamStep& step, StepId, Context&, Values&) {
    if constexpr (HasStreamControl<B>) {
      binding_.control_stream(step);
    } else {
      throw NotOffered("streams");
    }
  }

  void perform(const ForkStep& step, StepId, Context& context, Values&) {
    const std::string answer = run_in_child([&] {
      recorder_.take();
      recorder_.reopen();
      Context inner = context;
      inner.errors_travel = false;
      run_steps(step.steps, inner);
      return steps_as_text(recorder_.take().steps, scenario_);
    });
    for (StepResult& result : steps_from_text(answer, scenario_)) {
      recorder_.step(result.step, std::move(result.error), std::move(result.values));
    }
  }

  // ---- Small helpers ----

  static std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

  NodeHandle node(NodeId id) {
    const NodeHandle& named = nodes_[at(id)];
    if (!named) throw NotOffered("a node without history: '" + node_name(scenario_, id) + "'");
    return named;
  }

  List tensors(const std::vector<ValueId>& ids) const {
    List list;
    for (const ValueId id : ids) list.push_back(use(id));
    return list;
  }

  template <typename Tensors>
  Values read_all(const Tensors& tensors) {
    Values values;
    values.reserve(tensors.size());
    for (const Tensor& tensor : tensors) values.push_back(binding_.read(tensor));
    return values;
  }

  const std::shared_ptr<const Scenario> owned_;
  const Scenario& scenario_;
  const bool uses_devices_;  // else nobody asks what work is for
  LifeCounter alive_;     // bodies
  LifeCounter scripted_;  // those of them that a scenario counts as its own
  LifeCounter running_;   // scripts that run at the moment
  B binding_;
  Recorder recorder_;
  MeetingPoints meeting_points_;
  Handles<Tensor> values_;
  const std::vector<bool> named_;  // by NodeId
  std::vector<NodeHandle> nodes_;  // those that are named or must be kept
  std::vector<std::atomic<std::int32_t>> makings_;
  std::vector<std::atomic<std::int32_t>> throws_;  // by StepId: how often it ran
  Mutex hooks_mutex_;                              // of all that follows
  std::vector<std::vector<HookHandle>> hooks_;
  std::vector<OpenHooks> open_hooks_;  // by HookId, of saved hooks
  std::vector<std::shared_ptr<void>> announced_;
  std::vector<std::shared_ptr<PassEnd<B>>> passes_;  // by FutureId
  // By ReducerId and rank; each is its rank's alone.
  std::vector<std::vector<std::unique_ptr<RankReducer<B>>>> reducers_;
};

}  // namespace gradcts::kit
