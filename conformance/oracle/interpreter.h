// Interpreter: what the steps of a scenario mean, one after the other.
//
// Threads of a `parallel` step are run one after the other, in the order in which they are written;
// what they share must not depend on their order, or the scenario does not say what is right. In
// the program an error of a step stands in its result and the program goes on; in a script, and
// inside `try`, it ends the steps around it and travels on.
#pragma once

#include <string>
#include <vector>

#include "conformance/oracle/functions.h"
#include "conformance/oracle/graph.h"
#include "conformance/oracle/reducers.h"
#include "conformance/oracle/trace.h"
#include "conformance/spec/spec.h"

namespace gradcts::oracle {

class Pass;

// An error on its way to the step that called.
struct Thrown {
  ErrorReport error;
  std::vector<ErrorCategory> allowed;
  std::vector<std::string> tokens;
  const char* clause = nullptr;
};
Thrown error_of(ErrorCategory category, const char* clause,
                std::vector<ErrorCategory> also_allowed = {});

// What is true of the running thread apart from recording, which is Graph's.
struct Modes {
  bool recording_known = true;  // false in callbacks where two clauses disagree (CB-4, GRAPH2-2)
  bool anomaly = false;
  bool check_nan = true;
  std::int64_t user_state = 0;
  StreamId stream = no_id;
  bool stream_known = true;
  Device device{DeviceType::sim, 0};
  HookId saved_hooks = no_id;
};

// What a running script was given.
struct Frame {
  const Gradients* slots = nullptr;
  const GraphNode* node = nullptr;  // a running custom node
  const CustomNode* custom = nullptr;
};

class Interpreter {
 public:
  // Passes that nest deeper than `deepest` are taken to nest without end.
  Interpreter(const Scenario& scenario, const Dialect& dialect, Expectation& expectation,
              std::int32_t deepest);
  void run();

  // ---- For a pass
  const Scenario& scenario() const { return scenario_; }
  bool follows(const char* clause, const char* alternative) const {
    return dialect_.follows(clause, alternative);
  }
  Graph& graph() { return graph_; }
  Trace& trace() { return trace_; }
  const Modes& modes() const { return modes_; }
  Tensor* value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  // The same, for a use that the value decides about.
  Tensor* determined(ValueId id) const;
  // Throws CannotTell where engines may differ in whether the value has a history.
  void need_history(ValueId id) const;
  // Throws CannotTell where the value may be another one's tensor itself, or one made from it.
  void need_identity(ValueId id) const;
  // Sets the thread-local state that a node sees: a device's thread has its own (STREAM-1, DEV-1).
  void enter_node(const GraphNode& node);
  // Emits the node's entry, with the gradients that come in.
  std::int32_t trace_enter(const GraphNode& node, const Gradients& slots);

  // Emits the hook's event and runs its script; what it returns, or nothing.
  std::optional<Gradients> run_hook(HookId hook, EventKind kind, const Gradients& slots);
  void run_callback(CallbackId callback);
  // Makes pack hooks see what nodes save, and unpacks what a node saved before it runs.
  void unpack_saved(GraphNode& node);
  void give_values(std::int32_t event, const Gradients& values);
  // The tensors of a multi-hook, as they were when it was added.
  const std::vector<Edge>& multi_targets(HookId hook) const {
    return multi_targets_[static_cast<std::size_t>(hook)];
  }

  // What happened so far, so that a pass can say later that a part of it is uncertain.
  std::int32_t step_count() const { return static_cast<std::int32_t>(expectation_.steps.size()); }
  std::int32_t effect_count() const { return static_cast<std::int32_t>(effects_.size()); }
  // What was delivered for an announcement so far; null when nothing was (ASYNC-1).
  struct Delivery {
    Tensor* gradient = nullptr;
    std::optional<Thrown> error;
  };
  const Delivery* delivery(AnnouncementId id) const {
    const auto& delivered = deliveries_[static_cast<std::size_t>(id)];
    return delivered ? &*delivered : nullptr;
  }
  // A gradient came to a leaf; an undefined one as well. Throws Thrown (RED-6).
  void note_arrival(Tensor& leaf, bool is_defined) { reducers_.note_arrival(leaf, is_defined); }
  // Whether the device lets a thread of the engine use it; one that has done so once does (DEV-5).
  bool may_use(Device device);

  void note_added_to_grad(Tensor* tensor) {
    effects_.push_back({Effect::Kind::add_to_grad, tensor});
    note_access(Access::Kind::add_to_grad, tensor);
  }
  // What a pass inside a script does to nodes of the graph.
  enum class Nested : std::uint8_t { visit, release };
  void note_nested(Nested what, GraphNode* node) {
    if (passes_.size() < 2) return;
    const bool visit = what == Nested::visit;
    effects_.push_back({visit ? Effect::Kind::visit : Effect::Kind::release, node});
  }
  // Of the results of steps and of the effects in these ranges it is free whether they happen.
  void make_uncertain(std::int32_t first_step, std::int32_t last_step, std::int32_t first_effect,
                      std::int32_t last_effect);
  // What was kept since then, since it is of a gradient that is free.
  void make_kept_uncertain(std::int32_t first_effect);
  // What holds elements of this tensor may see its change or not.
  void make_holders_uncertain(const Tensor& tensor);
  // A visit of a node: which effects its scripts had, and whether it released the node.
  struct Visit {
    const GraphNode* node = nullptr;
    bool released = false;
    std::int32_t first_effect = 0, last_effect = 0;
  };
  bool has_script_effects(const Visit& visit) const;
  // Two visits that no clause orders: what the first one saw of the second one's effects is free;
  // throws CannotTell where that is not a mere value.
  void settle_unordered(const Visit& visit, const Visit& other);

 private:
  class Inside;
  enum class Errors : std::uint8_t { stand, travel };

  // What scripts and passes do, or see, that stays when they are over.
  struct Effect {
    enum class Kind : std::uint8_t {
      add_to_grad,   // of the tensor
      read_grad,     // of the tensor, as a value of the result of a step
      keep,          // a value
      visit,         // of a node by a nested pass
      release,       // of a node by a nested pass
      change_hooks,  // of a node
      set_leaf,      // its `.grad` or requires_grad
      forward,       // of a node of the scenario, once more
      use,           // of a value, by a nested pass
      ask            // whether a node of the scenario runs
    };
    Kind kind;
    void* what = nullptr;     // Tensor or GraphNode
    std::int32_t id = no_id;  // ValueId or NodeId; of a read: the result
    std::size_t value = 0;    // of a read; of a question: its event
  };
  bool has_effect(const Visit& visit, Effect::Kind kind, const void* what,
                  std::int32_t id = no_id) const;
  // Whether a pass is started in it from an output of this node, or asks for one.
  bool uses_outputs(const Visit& visit, NodeId id) const;
  void note_script_effect(Effect effect) {
    if (!passes_.empty()) effects_.push_back(effect);
  }

  // What the threads of a `parallel` step did to what they may share.
  struct Access {
    enum class Kind : std::uint8_t { read_grad, add_to_grad, set_grad, read, change };
    Kind kind;
    void* what;  // for a `.grad` the tensor, for elements the storage
    std::int32_t thread;
    std::int32_t step;  // read_grad: the result, and which of its values
    std::size_t value;
  };
  void note_access(Access::Kind kind, void* what) {
    if (parallel_ > 0) {
      accesses_.push_back({kind, what, thread_, step_count(), result_.values.size()});
    }
  }
  void settle_races(std::size_t first);
  std::int32_t nesting_limit() const;
  std::optional<Device> device_of(const GraphNode& node, const Gradients& slots) const;
  bool is_led_to(Device device, const GraphNode& node, const Gradients& slots) const;

  // ---- Making things
  void make_leaf(std::int32_t index);
  void make_node(NodeId id);
  Gradients make_custom(NodeId id, const Node& node, const Gradients& inputs);
  Gradients custom_forward(const Node& node, const Gradients& inputs);
  Gradients run_custom(NodeId id, GraphNode& node, const Gradients& slots);
  void refuse_second_derivative(GraphNode& node, const Gradients& slots, Gradients& results);
  void add_hooks_at_creation(NodeId node, const std::vector<ValueId>& made);
  bool is_about(const Hook& hook, NodeId node, const std::vector<ValueId>& made) const;
  void add_hook(HookId id);
  void remove_hook(HookId id);
  void note_change_of_hooks(const Hook& hook);
  void add_to(Registrations& list, HookId id);
  void add_multi_hook(HookId id);
  // Where hooks on a tensor belong, and what its `.grad` is kept of.
  Edge hooked_slot(Tensor* tensor);
  Registrations& tensor_hooks_of(Tensor* tensor);
  GraphNode& node_of(NodeId id);
  void pack(SavedTensor& saved);
  void note_destruction(CallbackId callback, const char* clause, NumberRange where);
  void run_destructions();

  // ---- Scripts
  Gradients returns_of(const std::vector<Expression>& returns, const Frame& frame);
  Tensor* evaluate(const Expression& expression, const Frame& frame);
  Tensor* combine(const std::vector<Term>& terms, const Frame& frame);
  Tensor* sum_of(const Gradients& slots);
  Tensor* times_value(ValueId id, const Frame& frame);
  void run_script(const Steps& steps, const Frame& frame);

  // ---- Steps
  void run_steps(const Steps& steps, Errors errors);
  void run_step(const Step& step, Errors errors);
  void finish(const Step& step, ExpectedStep& expected);
  struct Result {
    std::vector<std::optional<TensorValue>> values;
    std::vector<bool> known;
    std::vector<ErrorCategory> may_fail;
    const char* clause = nullptr;
    std::optional<Thrown> error;  // the step ends with it: what is thrown costs more
  };
  Result result_;
  bool stands(const StepExpectation& expect) const;
  bool depends_on_arrival(const StepExpectation& expect) const;
  void take_over_statements(const Step& step, ExpectedStep& expected, std::int32_t first_effect);

  void perform(const ForwardStep& step, const Step& whole, Errors errors);
  void perform(const PassStep& step, const Step& whole, Errors errors);
  void perform(const SetGradStep& step, const Step& whole, Errors errors);
  void perform(const ReadStep& step, const Step& whole, Errors errors);
  void perform(const ChangeStep& step, const Step& whole, Errors errors);
  void perform(const KeepStep& step, const Step& whole, Errors errors);
  void perform(const DropStep& step, const Step& whole, Errors errors);
  void perform(const RequiresGradStep& step, const Step& whole, Errors errors);
  void perform(const WithStep& step, const Step& whole, Errors errors);
  void perform(const TryStep& step, const Step& whole, Errors errors);
  void perform(const ParallelStep& step, const Step& whole, Errors errors);
  void perform(const RepeatStep& step, const Step& whole, Errors errors);
  void perform(const BarrierStep& step, const Step& whole, Errors errors);
  void perform(const LockStep& step, const Step& whole, Errors errors);
  void perform(const ThrowStep& step, const Step& whole, Errors errors);
  void perform(const QueueCallbackStep& step, const Step& whole, Errors errors);
  void perform(const HookStep& step, const Step& whole, Errors errors);
  void perform(const ObserveStep& step, const Step& whole, Errors errors);
  void perform(const EngineStep& step, const Step& whole, Errors errors);
  void perform(const ForkStep& step, const Step& whole, Errors errors);
  void perform(const StreamStep& step, const Step& whole, Errors errors);
  void perform(const DeliverStep& step, const Step& whole, Errors errors);
  void perform(const WaitStep& step, const Step& whole, Errors errors);
  void perform(const WhenDoneStep& step, const Step& whole, Errors errors);
  void perform(const RedirectStep& step, const Step& whole, Errors errors);
  void perform(const CloseHooksStep& step, const Step& whole, Errors errors);
  void perform(const ForgetProgramsStep&, const Step&, Errors) {}  // nothing that it knows of
  void perform(const ReducerStep& step, const Step& whole, Errors errors);

  // An asynchronous pass. It runs here when it is first waited for: by then all that is announced
  // to it has been delivered.
  struct Future {
    const PassStep* pass = nullptr;
    Gradients arguments;  // its roots, inputs and what is announced to, when it was started
    Modes modes;
    bool recording = true;
    Cursor start;
    std::vector<CallbackId> callbacks;
    bool over = false;
    Cursor end;
    Gradients results;
    std::optional<Thrown> error;
  };
  Gradients arguments_of(const PassStep& step) const;
  void start_asynchronous(const PassStep& step);
  void finish_asynchronous(Future& future);
  void call_when_done(const Future& future, CallbackId callback);
  Tensor* defined(ValueId id);
  // Of the results of a pass: see history_unknown_ and identity_unknown_.
  void note_what_is_unknown(const PassStep& step, const Pass& pass);
  bool may_be_seed(const PassStep& step, const Tensor& gradient) const;
  Tensor* seed_of(const Seed& seed);
  Tensor* through(Tensor* tensor, Through way);
  void report(Tensor* tensor, bool known = true);
  void set_modes(const WithStep& step);
  // What is seen, or nothing where the clauses leave it free.
  std::optional<std::int64_t> observed(const ObserveStep& step);

  void run_child(StepId fork, std::int32_t occurrence);
  std::optional<Thrown> run_pass(const PassStep& step, StepId id, Gradients& results);
  void report_leaf_grads();
  void settle_reducers();

  const Scenario& scenario_;
  const Dialect& dialect_;
  Expectation& expectation_;
  const std::int32_t deepest_;
  Graph graph_;
  Trace trace_;
  Reducers reducers_;
  std::vector<Tensor*> values_;
  std::vector<Tensor*> leaves_;                          // by leaf, also when dropped
  std::vector<bool> dropped_;                            // by leaf
  std::vector<GraphNode*> nodes_;                        // by NodeId: the newest making
  std::vector<std::int32_t> makings_;                    // by NodeId
  std::vector<std::vector<Registrations*>> hook_lists_;  // by HookId: where it is registered
  std::vector<std::vector<Edge>> multi_targets_;         // by HookId
  std::vector<Effect> effects_;                          // in order
  std::vector<Access> accesses_;
  std::int32_t parallel_ = 0;             // how many `parallel` steps are running
  std::vector<std::int32_t> forks_seen_;  // by StepId
  bool stopped_ = false;
  std::vector<std::optional<Delivery>> deliveries_;  // by announcement
  std::vector<Future> futures_;                      // by FutureId
  std::vector<std::int32_t> throws_;                 // by StepId: how often it ran
  std::vector<bool> closed_hooks_;                   // by HookId
  std::vector<bool> undetermined_;  // by ValueId: kept where an error may come first
  // By ValueId: gradients that nothing recorded, and that may be a seed with a history itself, or
  // a copy of it; and recorded ones that depend on nothing, where a derivative of 0 may be a
  // history (relu).
  std::vector<bool> history_unknown_;
  // By ValueId: gradients with a history that may be a seed itself, or made from it: a derivative
  // that changes nothing gives either.
  std::vector<bool> identity_unknown_;
  std::vector<std::int32_t> refusals_;  // left, by Configuration::refusals
  struct Destruction {
    CallbackId callback = no_id;
    const char* clause = nullptr;
    NumberRange where;  // as in EventKind::destroyed
  };
  std::vector<Destruction> destructions_;

  // ---- The running thread of the program
  std::int32_t thread_ = 0;
  std::int32_t threads_ = 1;
  Modes modes_;
  struct Running {
    Pass* pass = nullptr;
    bool callers_recording = true;
    Modes callers;
    std::int32_t callers_thread = 0;  // as GraphNode::thread
  };
  std::vector<Running> passes_;  // outermost first
  const Frame* frame_ = nullptr;
  std::int32_t pool_threads_;  // counts downwards: those that nobody can tell from others

  // ---- A child process: the program is run again up to the fork, then the fork's steps
  struct ForkDone {};
  StepId fork_ = no_id;
  std::int32_t forks_to_skip_ = 0;
  bool in_child_ = false;
  // Of a device, from the first pass that needs it, of the pool beyond the nesting limit, and of passes that run
  // elsewhere. Whether an engine that starts all of them with the first pass has any, nobody knows here (DEV-2).
  bool has_engine_threads_ = false;
};

}  // namespace gradcts::oracle
