// Scenario: a graph, hooks and a program, as plain data. It says what to do and never how an engine
// does it. docs/scenario.md explains the language with examples; json.h reads and writes its one
// JSON form, `gradcts.scenario/1`.
//
// Everything is referred to by index (ids below); names are for people and for the JSON form. A
// Scenario that came from `read_scenario`, or passed `validate`, has no dangling or ill-kinded id,
// no duplicate name and no cycle: engines, oracle and checker rely on it and do not check again.
//
// Plain structs: copy freely, read from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "conformance/scenario/error.h"
#include "conformance/scenario/operations.h"
#include "conformance/scenario/tensor_value.h"

namespace gradcts {

using ValueId = std::int32_t;     // index into Scenario::values
using NodeId = std::int32_t;      // index into Scenario::nodes, then accumulators (see NodeName)
using HookId = std::int32_t;      // index into Scenario::hooks
using CallbackId = std::int32_t;  // index into Scenario::callbacks
using StreamId = std::int32_t;    // index into Scenario::streams
using BarrierId = std::int32_t;   // index into Scenario::barriers
using LockId = std::int32_t;      // index into Scenario::locks
using AnnouncementId = std::int32_t;  // index into Scenario::announcements
using FutureId = std::int32_t;        // index into Scenario::futures
using ReducerId = std::int32_t;       // index into Scenario::reducers
using StepId = std::int32_t;  // preorder number over all steps of the scenario; see number_steps
inline constexpr std::int32_t no_id = -1;

// ------------------------------------------------------------------------------------------------
// Values and leaves

// Something with a name that steps and nodes can use. A value refers to an engine tensor once the
// step that makes it has run; running that step again rebinds it to the newest tensor.
struct Value {
  enum class Origin : std::uint8_t {
    leaf,         // producer: index into Scenario::leaves
    node_output,  // producer: NodeId, index: which output
    pass_result,  // a gradient returned by a `grad` step; producer: StepId, index: which result
    kept,         // a handle kept by a `keep` step; producer: StepId
  };
  std::string name;
  Origin origin = Origin::leaf;
  std::int32_t producer = no_id;
  std::int32_t index = 0;
};

// A tensor that exists before the program starts. Leaves are made in order on the main thread.
struct Leaf {
  ValueId value = no_id;
  TensorValue initial;
  bool requires_grad = true;
  std::optional<TensorValue> grad;  // a preset `.grad`
  StreamId stream = no_id;          // current stream when the leaf is made; no_id: the default one
};

// ------------------------------------------------------------------------------------------------
// Expressions: what scripted nodes and hooks return

// factor * slot [* a saved value]
struct Term {
  std::int32_t slot = 0;
  double factor = 1;
  ValueId times = no_id;  // elementwise; for a node it must be among its `saves`
};

// A tensor computed from slots: the inputs of a forward, the gradients that flow into a backward,
// or what a hook was given.
struct Expression {
  enum class Kind : std::uint8_t {
    combination,  // the sum of `terms`; undefined slots are skipped; nothing left: undefined
    pass,         // the very tensor in `slot`: same handle, no copy
    constant,     // a new tensor made from `constant`
    undefined,
    pool,  // `constant` written into a buffer that the node owns and overwrites at each call (B147)
  };
  Kind kind = Kind::combination;
  std::vector<Term> terms;
  std::int32_t slot = 0;
  std::optional<TensorValue> constant;
  // Applied to the result in this order when set.
  std::optional<Shape> expand;  // to this shape, with strides of 0
  std::optional<ScalarType> cast;
  std::optional<Device> move_to;
};

// ------------------------------------------------------------------------------------------------
// Steps: what a program, a scripted node, a hook or a callback does

struct Step;
using Steps = std::vector<Step>;

// Runs the forward of `nodes` in order, with the current thread's modes, device and stream.
struct ForwardStep {
  std::vector<NodeId> nodes;
};

// What flows into a root: a constant, a value that exists already, or nothing.
struct Seed {
  std::optional<TensorValue> constant;
  ValueId value = no_id;
};
struct Root {
  ValueId value = no_id;
  Seed seed;
};
struct CaptureHook {
  std::int32_t input = 0;  // index into `inputs`
  HookId hook = no_id;
};

// One call of backward (gradients go into leaves) or grad (gradients are returned).
struct PassStep {
  enum class Kind : std::uint8_t { backward, grad };
  Kind kind = Kind::backward;
  std::vector<Root> roots;
  // backward: restricts accumulation (unset: all leaves). grad: always set.
  std::optional<std::vector<ValueId>> inputs;
  bool keep_graph = false;
  bool create_graph = false;
  bool allow_unused = false;     // grad
  bool materialise = false;      // grad: zeros for unused inputs
  std::vector<ValueId> results;  // grad: names for the returned gradients; empty or one each
  std::vector<CaptureHook> capture_hooks;  // grad
  std::vector<AnnouncementId> announced;   // gradients that will be delivered to it (ASYNC-1)
  FutureId future = no_id;  // set: the call returns at once; the future gets the result (ASYNC-2)
};

// Delivers an announced gradient, or an error in its place, from whatever thread runs the step.
struct DeliverStep {
  AnnouncementId announcement = no_id;
  Seed gradient;
  std::string error;  // not empty: the token of an exception
};

// Waits for an asynchronous pass: the step's result is the pass's.
struct WaitStep {
  FutureId future = no_id;
};

// Has the callback called when the asynchronous pass is over; at once if it is.
struct WhenDoneStep {
  FutureId future = no_id;
  CallbackId callback = no_id;
};

struct SetGradStep {
  ValueId leaf = no_id;
  std::optional<TensorValue> grad;  // unset: clears `.grad`
};

// Reports tensors in the step's result: first `values`, then the `.grad` of `grads`.
struct ReadStep {
  std::vector<ValueId> values;
  std::vector<ValueId> grads;
};

// How a tensor is reached: by its own handle, through a view, through a detached alias (both share
// storage and version counter), or through a data alias (shares storage, has its own counter).
enum class Through : std::uint8_t { handle, view, detached, data };

// Changes a tensor in place, unseen by autograd: the change bumps the version and records nothing.
struct ChangeStep {
  enum class How : std::uint8_t { add, multiply, fill };
  ValueId value = no_id;
  Through through = Through::handle;
  How how = How::add;
  double number = 0;
};

// Keeps a tensor under the name of a new value: one that the running node or hook was given, or the
// `.grad` of `grad_of`.
struct KeepStep {
  std::int32_t slot = 0;
  ValueId grad_of = no_id;
  Through through = Through::handle;
  ValueId as = no_id;
};

// Lets go of the program's own handles.
struct DropStep {
  std::vector<ValueId> values;
};

struct RequiresGradStep {
  ValueId value = no_id;
  bool on = true;
};

// Runs `steps` with thread-local settings changed, and restores them after, errors included.
struct WithStep {
  std::optional<bool> recording;  // gradient recording
  std::optional<bool> anomaly;
  std::optional<bool> check_nan;            // with anomaly; unset means on
  std::optional<std::int64_t> user_state;   // a thread-local slot that the engine must carry (TLS)
  CallbackId user_state_destroyed = no_id;  // as CustomNode::destroyed, of what the slot holds
  StreamId stream = no_id;
  bool captured = false;  // meanwhile the stream is captured, as graphs of CUDA are made
  std::optional<Device> device;
  HookId saved_hooks = no_id;  // a hook of kind saved
  Steps steps;
};

// Runs `steps` up to the first error, which ends here; the error stands in this step's result.
struct TryStep {
  Steps steps;
};

// Starts one new thread for each entry, all at once, and joins them all.
struct ParallelStep {
  struct Thread {
    std::string name;
    Steps steps;
  };
  std::vector<Thread> threads;
};

struct RepeatStep {
  std::int64_t times = 1;
  Steps steps;
};

struct BarrierStep {
  BarrierId barrier = no_id;
};
struct LockStep {
  LockId lock = no_id;
  bool acquire = true;
};

// Throws; `token` comes back in the outcome so that "the same exception" can be checked. A foreign
// exception is of a type outside the standard hierarchy.
struct ThrowStep {
  std::string token;
  bool foreign = false;
  std::int32_t on_call = 0;  // 0: always; k: only when the step runs for the k-th time (ERR-8)
};

struct QueueCallbackStep {
  CallbackId callback = no_id;
};
struct HookStep {
  HookId hook = no_id;
  bool add = true;  // false: remove
};

// Reports state of the running thread or pass as numbers in an `observe` event.
struct ObserveStep {
  enum class What : std::uint8_t {
    recording,         // 0 or 1
    user_state,        // the thread-local slot
    device,            // index of the thread's current accelerator device
    stream,            // StreamId current on the current device; -1: the default stream
    depth,             // nesting of passes on this pass's chain; 0 in an outermost pass
    checkpoint_valid,  // 0 or 1
    inside_pass,       // 0 or 1
    needed,            // bit i: gradient i of the running node is needed in this pass (PRUNE-8)
    will_run,          // 0 or 1: whether `node` runs in the current pass; -1: outside a pass
    anomaly,           // 0 or 1
    // What no clause fixes beforehand: the author of the scenario states these.
    engine_threads,  // how many threads the engine keeps for itself
    live_objects,    // scripted nodes, hooks and callbacks that are alive
    stream_events,   // events recorded on streams since the scenario began
    stream_waits,    // waits of streams for such events since the scenario began
    programs,        // programs of compiled passes that the engine holds
    replays,         // passes since the scenario began that found their program
    compiles,        // passes since the scenario began for which a program was made
    compiles_for,    // those of one `cause`
  };
  // In what a pass that was compiled differs from the graphs whose programs were known (COMP-8).
  enum class Cause : std::uint8_t {
    none_known,  // no program was known
    node,        // another kind of node
    edges,       // the same nodes, connected otherwise
    size,        // another size
    number,      // another number that a node holds
    order,       // the same graph, made in another order
    asked,       // the same graph, of which other gradients are asked for
  };
  What what = What::recording;
  NodeId node = no_id;         // will_run
  std::optional<Cause> cause;  // compiles_for
};

struct EngineStep {
  enum class What : std::uint8_t { start, stop };
  What what = What::stop;
  std::optional<double> limit;  // stop: waits for the engine's threads for so many seconds in all
};

// Makes an edge of a node lead elsewhere, against all rules: while a pass runs, its counts are then
// wrong (ERR-7).
struct RedirectStep {
  NodeId node = no_id;
  std::int32_t edge = 0;
  ValueId to = no_id;  // no_id: nowhere
};

// Leaves the running `with` step's saved-tensor hooks before the step ends (HOOK-9).
struct CloseHooksStep {
  HookId hook = no_id;
};

// Has the engine forget the programs of all passes that it compiled (COMP-8).
struct ForgetProgramsStep {};

// Runs `steps` in a forked child; the child's step results are part of the outcome.
struct ForkStep {
  Steps steps;
};

// Makes the stream wait for what was enqueued so far on another, or the host for the stream.
struct StreamStep {
  enum class What : std::uint8_t { wait, synchronise };
  What what = What::synchronise;
  StreamId stream = no_id;
  StreamId waits_for = no_id;
};

// Makes, uses and drops one rank's part of a reducer. Each rank's steps run on one thread at a
// time.
struct ReducerStep {
  enum class What : std::uint8_t {
    make,  // also after a drop
    drop,
    prepare,  // the rank's next backward pass is synchronised; `outputs` are what it computed
    reset,    // forgets an unfinished synchronised pass, and tells the other ranks (RED-9)
    ask,      // the step's result is a list of numbers
  };
  enum class Question : std::uint8_t {
    buckets,      // for each parameter the bucket that it is in (RED-1)
    launches,     // buckets in the order in which the last pass reduced them (RED-2)
    ready,        // parameters in the order in which they became ready in it (RED-10)
    collectives,  // how many reductions over the ranks there have been so far
  };
  What what = What::make;
  ReducerId reducer = no_id;
  std::int32_t rank = 0;
  std::vector<ValueId> outputs;           // prepare
  Question question = Question::buckets;  // ask
};

using Action =
    std::variant<ForwardStep, PassStep, SetGradStep, ReadStep, ChangeStep, KeepStep, DropStep,
                 RequiresGradStep, WithStep, TryStep, ParallelStep, RepeatStep, BarrierStep,
                 LockStep, ThrowStep, QueueCallbackStep, HookStep, ObserveStep, EngineStep,
                 ForkStep, StreamStep, DeliverStep, WaitStep, WhenDoneStep, RedirectStep,
                 CloseHooksStep, ForgetProgramsStep, ReducerStep>;

// What the text of an error must speak of: a word, a number, or the sizes of a shape.
using Mention = std::variant<std::string, std::int64_t, Shape>;

// Both ends included.
struct NumberRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
  bool contains(std::int64_t number) const { return least <= number && number <= most; }
};

// An alternative of a clause, as dialects choose them.
struct Choice {
  std::string clause;
  std::string alternative;
};

// What the author of a scenario says about a step's outcome. The oracle derives expectations by
// itself; the lint demands that both agree. With `bound` set (goldens) `values` are the truth, and
// the oracle's are not used.
struct StepExpectation {
  std::optional<ErrorCategory> error;
  std::vector<Mention> names;  // with `error`: what its text must name
  // This error is as good as what is expected otherwise; what the step would have changed is free.
  std::optional<ErrorCategory> or_error;
  std::optional<NumberRange> number;  // observe
  // Stands only for engines that follow all of these; for others the step's outcome is not
  // compared with it.
  std::vector<Choice> follows;
  // One for each tensor in the step's result, in order; an unset one is undefined.
  std::optional<std::vector<std::optional<TensorValue>>> values;
  // Largest allowed distance in units in the last place of the value's type; unset: exact.
  std::optional<double> bound;
};

struct Step {
  StepId id = no_id;
  Action action;
  std::optional<StepExpectation> expect;
};

// ------------------------------------------------------------------------------------------------
// Nodes, hooks, callbacks

// Steps, then a result. Unset `returns`: a node returns to every input the sum of its slots; a hook
// returns nothing and so keeps what it was given.
struct Script {
  Steps steps;
  std::optional<std::vector<Expression>> returns;
};

// What a custom node is, beyond its inputs and outputs.
struct CustomNode {
  // One for each output, over the inputs as slots. Empty: each output is the sum of the inputs.
  std::vector<Expression> forward;
  Script backward;
  // Inputs, outputs or leaves that the node saves for its backward; a leaf may be no input (B080).
  std::vector<ValueId> saves;
  // Its steps run when the engine lets go of the node (LIFE-2).
  CallbackId destroyed = no_id;
  bool materialise = false;    // undefined gradients become zeros of the recorded shape (VAL-6)
  bool differentiable = true;  // false: a second derivative through it is an error (GRAPH2-3)
};

struct Node {
  std::string name;
  Operation operation = Operation::custom;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  absl::InlinedVector<Attribute, 2> attributes;  // in the order of the operation's spec
  std::optional<CustomNode> custom;              // set exactly for Operation::custom
};

enum class HookKind : std::uint8_t {
  tensor,           // on a value; slot 0: its gradient
  retain_grad,      // on a value; no script: the gradient becomes the value's `.grad`
  node_pre,         // on a node; slots: the gradients that flow in
  node_post,        // on a node; slots: the gradients that it produced
  post_accumulate,  // on a leaf; no slots, returns nothing
  capture,          // used by `grad` steps; slot 0: the captured gradient
  multi,            // on several values; slots: their gradients; returns nothing (HOOK-8)
  saved,            // a pack and unpack pair, used by `with` steps (HOOK-9)
};

struct Hook {
  std::string name;
  HookKind kind = HookKind::tensor;
  std::vector<ValueId> values;  // tensor, retain_grad, post_accumulate: one; multi: several
  NodeId node = no_id;          // node_pre, node_post; may be an accumulator
  // True: added as soon as what it is on exists, hooks on one thing in order of declaration.
  // False: only by a HookStep.
  bool at_creation = true;
  CallbackId destroyed = no_id;  // its steps run when the engine lets go of the hook (LIFE-2)
  Script script;                 // saved: the pack
  Script unpack_script;          // saved only
};

struct Callback {
  std::string name;
  Steps steps;
};

struct Stream {
  std::string name;
  Device device;
};
struct Barrier {
  std::string name;
  std::int32_t parties = 2;
};
struct Lock {
  std::string name;
};
// A gradient that a pass is told of beforehand, for the slot where gradients of `to` arrive. Good
// for one pass.
struct Announcement {
  std::string name;
  ValueId to = no_id;
};
// The end of one asynchronous pass.
struct Future {
  std::string name;
};

// Averages gradients over ranks (RED). A rank is a thread, or whatever the engine takes for one,
// that has parameters of its own, alike on all ranks in number, type and shape.
struct Reducer {
  std::string name;
  std::vector<std::vector<ValueId>> ranks;  // for each rank its parameters: leaves
  std::vector<std::int64_t> bucket_bytes;  // sizes at which buckets are full; the last for all more
  // Instead of sizes: for each bucket the parameters in it, counted from 0.
  std::vector<std::vector<std::int64_t>> buckets;
  bool find_unused = false;
  bool static_graph = false;
  bool views = false;           // `.grad` is a view of the bucket
  bool rebuild = false;         // in the order of arrival, after the first synchronised pass
  std::optional<double> limit;  // seconds after which a rank that does not come is an error
};

// A device whose first so many uses by new threads fail (DEV-5).
struct Refusal {
  Device device;
  std::int32_t times = 1;
};

// Engine settings for the whole scenario; unset means the engine's default.
struct Configuration {
  std::optional<std::int32_t>
      nesting_limit;               // nested passes on one thread before the pool (REENT-3)
  bool strict_validation = false;  // VAL-2
  std::vector<Refusal> refusals;
};

// Which nodes report enter and exit events. Tracing built-in nodes uses the engine's node hooks,
// which on some engines is not free of effect: scenarios about buffers and use counts trace
// scripted nodes alone.
enum class Trace : std::uint8_t { all, scripted };

struct Scenario {
  std::string id;                              // "root/two-roots/chained"
  std::string title;                           // one line for people
  std::vector<std::string> clauses;            // ids from behaviours.md, for example "ROOT-2"
  std::vector<std::string> reports;            // ids from bugs.md, for example "B026"
  std::vector<std::string> requires_features;  // beyond those that follow from the content

  Configuration configuration;
  Trace trace = Trace::all;
  std::vector<Stream> streams;
  std::vector<Barrier> barriers;
  std::vector<Lock> locks;
  std::vector<Announcement> announcements;
  std::vector<Future> futures;
  std::vector<Reducer> reducers;
  std::vector<Value> values;
  std::vector<Leaf> leaves;
  std::vector<Node> nodes;
  std::vector<Hook> hooks;
  std::vector<Callback> callbacks;
  Steps program;  // on the main thread

  StepId step_count = 0;  // set by number_steps
};

// A leaf accumulator is a node as well: the accumulator of leaf k has the NodeId nodes.size() + k.
inline NodeId accumulator_of(const Scenario& scenario, std::int32_t leaf) {
  return static_cast<NodeId>(scenario.nodes.size()) + leaf;
}
inline bool is_accumulator(const Scenario& scenario, NodeId node) {
  return node >= static_cast<NodeId>(scenario.nodes.size());
}
inline std::int32_t leaf_of(const Scenario& scenario, NodeId accumulator) {
  return accumulator - static_cast<NodeId>(scenario.nodes.size());
}
std::string node_name(const Scenario& scenario, NodeId node);  // "y", or "accumulate:x"

// Gives each forward step without nodes the nodes that no other forward names, in order of
// declaration.
void complete_forwards(Scenario& scenario);

// Gives every step its id: preorder over the program, then nodes' scripts, hooks' scripts (pack
// before unpack) and callbacks, each in order of declaration. Sets step_count, and the producer and
// index of the values that steps make. Call it after every change to the steps of a scenario.
void number_steps(Scenario& scenario);

// Where a step stands in the JSON form: "program[2].steps[0]", "nodes[1].backward.steps[0]".
std::string step_path(const Scenario& scenario, StepId step);

// The words of the JSON form.
std::string_view verb_of(const Step& step);  // its `do`: "backward", "unlock", ...
std::string_view to_text(HookKind kind);
std::string_view to_text(Through through);
std::string_view to_text(ObserveStep::What what);
std::string_view to_text(ObserveStep::Cause cause);

// Calls `visit(Step&)` (`visit(const Step&)` for a constant one) on every step in the order of the
// ids.
template <typename Visit>
void for_each_step(const Scenario& scenario, Visit&& visit);
template <typename Visit>
void for_each_step(Scenario& scenario, Visit&& visit);
template <typename Visit>
void for_each_step(const Steps& steps, Visit&& visit);
template <typename Visit>
void for_each_step(Steps& steps, Visit&& visit);

// Calls `use` on each list of steps directly inside a step, in order; the step may be constant.
template <typename StepType, typename Use>
void for_each_body(StepType& step, Use&& use) {
  if (auto* with = std::get_if<WithStep>(&step.action)) use(with->steps);
  if (auto* attempt = std::get_if<TryStep>(&step.action)) use(attempt->steps);
  if (auto* repeat = std::get_if<RepeatStep>(&step.action)) use(repeat->steps);
  if (auto* fork = std::get_if<ForkStep>(&step.action)) use(fork->steps);
  if (auto* parallel = std::get_if<ParallelStep>(&step.action)) {
    for (auto& thread : parallel->threads) use(thread.steps);
  }
}

// ------------------------------------------------------------------------------------------------

namespace internal {

template <typename StepsType, typename Visit>
void visit_list(StepsType& steps, Visit& visit) {
  for (auto& step : steps) {
    visit(step);
    for_each_body(step, [&](auto& body) { visit_list(body, visit); });
  }
}

template <typename ScenarioType, typename Visit>
void visit_all(ScenarioType& scenario, Visit& visit) {
  visit_list(scenario.program, visit);
  for (auto& node : scenario.nodes) {
    if (node.custom) visit_list(node.custom->backward.steps, visit);
  }
  for (auto& hook : scenario.hooks) {
    visit_list(hook.script.steps, visit);
    visit_list(hook.unpack_script.steps, visit);
  }
  for (auto& callback : scenario.callbacks) visit_list(callback.steps, visit);
}

}  // namespace internal

template <typename Visit>
void for_each_step(const Scenario& scenario, Visit&& visit) {
  internal::visit_all(scenario, visit);
}
template <typename Visit>
void for_each_step(Scenario& scenario, Visit&& visit) {
  internal::visit_all(scenario, visit);
}
template <typename Visit>
void for_each_step(const Steps& steps, Visit&& visit) {
  internal::visit_list(steps, visit);
}
template <typename Visit>
void for_each_step(Steps& steps, Visit&& visit) {
  internal::visit_list(steps, visit);
}

}  // namespace gradcts
