// What the kit asks of an engine: the contract of a Binding.
//
// A Binding is a class of the adapter's author. It turns the kit's requests into calls of one
// engine and knows nothing of scenarios' programs: the interpreter (interpreter.h) does the rest.
// Tensors in the kit are the engine's own handles, so that use counts are exactly those of the
// program.
//
// Life: one Binding object for each scenario, made before anything runs. Its constructor applies
// the scenario's configuration and makes its streams; `finish` undoes both, once, when all handles
// are gone. Thread safety: in between, functions are called from every thread that a scenario
// starts and from the engine's own, with no lock held.
//
// Errors: every function may throw what its engine throws; the interpreter asks `classify` what it
// means. What a Binding does not offer it does not claim in its description: a scenario that needs
// it never gets here.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "conformance/adapters/description.h"
#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"

namespace gradcts::kit {

// ---- What the kit hands to a Binding ----
//
// Bodies are scripts of the scenario, for the engine to own and to call: inside a node, hook or
// callback. An engine drops a body when it drops the node or the registration: the kit counts live
// bodies (LIFE-1). Bodies may be called from any thread, from several at once, and may throw.

template <typename B>
class NodeBody {
 public:
  virtual ~NodeBody() = default;
  // The backward of a custom node: gradients of its outputs in, one gradient for each input out.
  // The number of results is what the script says, right or wrong.
  virtual typename B::List run(typename B::RunningNode& node, typename B::List&& gradients) = 0;
};

template <typename B>
class HookBody {
 public:
  virtual ~HookBody() = default;
  // Nothing: the hook returned nothing. Else what it returned, right or wrong in number.
  virtual std::optional<typename B::List> run(std::span<const typename B::Tensor> slots) = 0;
};

template <typename B>
class SavedHooksBody {
 public:
  virtual ~SavedHooksBody() = default;
  virtual typename B::Tensor pack(const typename B::Tensor& tensor) = 0;
  virtual typename B::Tensor unpack(const typename B::Tensor& packed) = 0;
};

class TraceBody {
 public:
  virtual ~TraceBody() = default;
  virtual void enter() = 0;
  virtual void exit() = 0;
};

using CallbackBody = std::function<void()>;

// ---- Requests ----

// One value that a custom node saves: an input or an output of it, or a leaf from elsewhere.
struct SavedValue {
  enum class From : std::uint8_t { input, output, elsewhere };
  From from = From::input;
  std::size_t index = 0;  // among the inputs, the outputs, or CustomNodeRequest::elsewhere
  bool is_output() const { return from == From::output; }
};

template <typename B>
struct CustomNodeRequest {
  const Node& node;  // its name, `custom->materialise` and `custom->differentiable`
  const typename B::List& inputs;
  // In: what the forward computed, without history; an entry may be one of the inputs itself, which
  // must come out as another tensor over the same elements. Out: the node's outputs, with history
  // if recording is on and an input requires a gradient; else as they are, and the body is dropped.
  typename B::List& outputs;
  std::span<const SavedValue> saves;
  const typename B::List& elsewhere;
  std::shared_ptr<NodeBody<B>> body;

  // What is to be saved; an output once it is attached to the node.
  const typename B::Tensor& saved(const SavedValue& value) const {
    const typename B::List* lists[] = {&inputs, &outputs, &elsewhere};
    return (*lists[static_cast<std::size_t>(value.from)])[value.index];
  }
};

// What a change of settings brings with it.
template <typename B>
struct SettingBodies {
  std::shared_ptr<SavedHooksBody<B>> saved_hooks;
  std::shared_ptr<void> user_state;  // to be kept as long as the engine keeps the user's state
};

template <typename B>
struct CaptureHookRequest {
  std::size_t input = 0;
  std::shared_ptr<HookBody<B>> body;
};

template <typename B>
struct PassRequest {
  const PassStep& step;  // kind and flags
  typename B::List roots;
  typename B::List seeds;   // one for each root; undefined: nothing flows in
  typename B::List inputs;  // as many as step.inputs names
  std::vector<CaptureHookRequest<B>> capture_hooks;
  std::vector<std::shared_ptr<void>> announced;  // from Binding::announce
};

// The end of an asynchronous pass. Thread-safe.
template <typename B>
class PassEnd {
 public:
  virtual ~PassEnd() = default;
  virtual typename B::List wait() = 0;           // what Binding::pass would have returned or thrown
  virtual void then(CallbackBody callback) = 0;  // which may throw
};

// One rank's part of a reducer, used by one thread at a time. Dropping it is taking it apart.
template <typename B>
class RankReducer {
 public:
  virtual ~RankReducer() = default;
  virtual void prepare(const typename B::List& outputs) = 0;
  virtual void reset() = 0;
  virtual std::vector<double> answer(ReducerStep::Question question) = 0;  // as the step says
};

// State of the running thread that a pass must leave as it found it (ERR-4). What an engine does
// not have keeps its default.
struct ThreadState {
  bool recording = true;
  bool anomaly = false;
  bool inside_pass = false;
  std::int64_t user_state = 0;
  std::int32_t depth = 0;
  std::int32_t device = 0;
  StreamId stream = no_id;
  bool operator==(const ThreadState&) const = default;
};

// ---- The contract ----

// Tensor: a handle; default-constructed it is undefined; copies are handles to the same tensor.
// List: a sequence of Tensors (std::vector, absl::InlinedVector, ...).
template <typename B>
concept HasTypes = requires {
  typename B::Tensor;
  typename B::List;        // of Tensor
  typename B::NodeHandle;  // keeps a node alive; default-constructed: none; converts to bool;
                           // comparable
  typename B::HookHandle;  // a registration, to be given to remove_hook; default-constructible
  // What a custom node's backward can ask while it runs:
  //   Tensor saved(std::size_t i): the i-th of the request's saves; throws if released or changed
  typename B::RunningNode;
  typename B::Settings;     // Settings(B&, const WithStep&, SettingBodies<B>): changes the running
                            // thread's settings for its lifetime
  typename B::NoRecording;  // NoRecording(): gradient recording is off for its lifetime
}
&&std::default_initializable<typename B::Tensor>&& std::copyable<typename B::Tensor>&&
    std::default_initializable<typename B::List>&& std::equality_comparable<typename B::NodeHandle>;

template <typename B>
concept HasTensors = requires(B& b, const typename B::Tensor& tensor, typename B::Tensor& target,
                              const TensorValue& value, ChangeStep::How how, Through through,
                              bool on, double number) {
  { b.make(value) } -> std::same_as<typename B::Tensor>;
  { b.read(tensor) } -> std::same_as<std::optional<TensorValue>>;  // unset: undefined
  { b.defined(tensor) } -> std::same_as<bool>;
  b.set_requires_grad(tensor, on);
  { b.grad_of(tensor) } -> std::same_as<typename B::Tensor>;
  b.set_grad(tensor, typename B::Tensor());  // undefined: clears it
  // Another handle to the same elements, without history (Through::handle is never asked for).
  { b.alias(tensor, through) } -> std::same_as<typename B::Tensor>;
  b.change(tensor, how, number);  // in place: bumps the version, records nothing
  b.write(target, value);         // the same, to new elements: target becomes a pool (ACC-2)
};

// Arithmetic for expressions; each gives a new tensor and is recorded as the current mode says.
template <typename B>
concept HasArithmetic = requires(B& b, const typename B::Tensor& x, const typename B::Tensor& y,
                                 double factor, const Shape& shape, ScalarType type,
                                 Device device) {
  { b.scaled(x, factor) } -> std::same_as<typename B::Tensor>;
  { b.sum(x, y) } -> std::same_as<typename B::Tensor>;
  { b.product(x, y) } -> std::same_as<typename B::Tensor>;
  { b.expanded(x, shape) } -> std::same_as<typename B::Tensor>;
  { b.cast(x, type) } -> std::same_as<typename B::Tensor>;
  { b.moved(x, device) } -> std::same_as<typename B::Tensor>;
};

template <typename B>
concept HasGraph = requires(B& b, const Node& node, const typename B::List& inputs,
                            typename B::List& outputs, CustomNodeRequest<B> request,
                            const typename B::Tensor& tensor, const typename B::NodeHandle& handle,
                            std::shared_ptr<TraceBody> trace) {
  b.apply(node, inputs, outputs);  // a built-in operation; appends its outputs
  b.make_custom(request);
  { b.node_of(tensor) } -> std::same_as<typename B::NodeHandle>;  // none: no history
  {
    b.accumulator_of(tensor)
    } -> std::same_as<typename B::NodeHandle>;  // of a leaf that requires grad
  // From now on `enter` is called before each run of a built-in node or an accumulator, and `exit`
  // when it ran without an error. Their order with hooks of the scenario is free.
  b.trace(handle, trace);
};

template <typename B>
concept HasPasses = requires(B& b, PassRequest<B> request, std::exception_ptr error,
                             const ObserveStep& what, const typename B::NodeHandle& node) {
  // The call of backward or grad. Returns the gradients of `inputs` for grad, nothing for backward.
  { b.pass(std::move(request)) } -> std::same_as<typename B::List>;
  // What an exception of the engine means. Scripted exceptions are the kit's own and do not come
  // here.
  { b.classify(error) } -> std::same_as<ErrorReport>;
  { b.thread_state() } -> std::same_as<ThreadState>;
  // Any `what` that the adapter claims, but `needed`. `node`: for will_run.
  { b.observe(what, node) } -> std::same_as<std::int64_t>;
};

template <typename B>
concept HasLife = std::constructible_from<B, const Scenario&> && requires(B& b) {
  { B::describe() } -> std::same_as<Description>;
  b.finish();
};

// ---- What a Binding may leave out ----

template <typename B>
using SharedHook = std::shared_ptr<HookBody<B>>;

// Hooks on values. Slot 0 is the gradient.
template <typename B>
concept HasTensorHooks = requires(B& b, const typename B::Tensor& tensor, SharedHook<B> body,
                                  const typename B::HookHandle& handle) {
  { b.add_tensor_hook(tensor, body) } -> std::same_as<typename B::HookHandle>;
  b.remove_hook(handle);
};
template <typename B>
concept HasRetainGrad = requires(B& b, const typename B::Tensor& tensor) {
  b.retain_grad(tensor);
};

// Hooks on nodes. Slots: the gradients that flow in; the gradients that were produced.
template <typename B>
concept HasNodeHooks = requires(B& b, const typename B::NodeHandle& node, SharedHook<B> body) {
  { b.add_node_pre_hook(node, body) } -> std::same_as<typename B::HookHandle>;
  { b.add_node_post_hook(node, body) } -> std::same_as<typename B::HookHandle>;
};
template <typename B>
concept HasPostAccumulateHooks = requires(B& b, const typename B::Tensor& leaf,
                                          SharedHook<B> body) {
  { b.add_post_accumulate_hook(leaf, body) } -> std::same_as<typename B::HookHandle>;
};
template <typename B>
concept HasMultiHooks = requires(B& b, const typename B::List& tensors, SharedHook<B> body) {
  { b.add_multi_hook(tensors, body) } -> std::same_as<typename B::HookHandle>;
};
template <typename B>
concept HasCallbacks = requires(B& b, CallbackBody body) {
  b.queue_callback(body);
};
template <typename B>
concept HasEngineControl = requires(B& b, const EngineStep& step) {
  b.control_engine(step);
};
// Gradients that come from outside, for the slot of the tensor (ASYNC-1).
template <typename B>
concept HasAnnouncements = requires(B& b, const typename B::Tensor& tensor,
                                    const std::shared_ptr<void>& announced,
                                    std::exception_ptr error) {
  { b.announce(tensor) } -> std::same_as<std::shared_ptr<void>>;
  b.deliver(announced, tensor);
  b.fail(announced, error);
};
template <typename B>
concept HasAsynchronousPasses = requires(B& b, PassRequest<B> request) {
  { b.start_pass(std::move(request)) } -> std::same_as<std::shared_ptr<PassEnd<B>>>;
};
// Makes an edge of a node lead to where gradients of the tensor go; undefined: nowhere.
template <typename B>
concept CanRedirect = requires(B& b, const typename B::NodeHandle& node, std::size_t edge,
                               const typename B::Tensor& to) {
  b.redirect(node, edge, to);
};
template <typename B>
concept HasStreamControl = requires(B& b, const StreamStep& step) {
  b.control_stream(step);
};
// Captures of a stream, as graphs of CUDA are made: between the two it waits for nothing that was
// recorded outside, and whoever lets it gets an error (docs/streams.md). Scripts and the trace read
// numbers meanwhile all the same. `end_capture` ends it in any case, and throws where work of a
// stream that has joined it is not waited for.
template <typename B>
concept HasCaptures = requires(B& b, StreamId stream) {
  b.begin_capture(stream);
  b.end_capture(stream);
};
// Bit i: whether gradient i of a running node is needed in this pass (PRUNE-8). Asked by its
// backward and by hooks on it.
template <typename B>
concept KnowsNeeded = requires(B& b, typename B::RunningNode& node,
                               const typename B::NodeHandle& handle) {
  { b.needed(node) } -> std::same_as<std::int64_t>;
  { b.needed(handle) } -> std::same_as<std::int64_t>;
};
// `parameters` are those of `scenario.reducers[reducer].ranks[rank]`. A reducer may be made again
// for a rank whose last one was dropped; the ranks of one reducer meet, those of two do not.
template <typename B>
concept HasReducers = requires(B& b, ReducerId reducer, std::int32_t rank,
                               const typename B::List& parameters) {
  { b.make_reducer(reducer, rank, parameters) } -> std::same_as<std::unique_ptr<RankReducer<B>>>;
};
// Programs of compiled passes, which the engine can be made to forget.
template <typename B>
concept HasPrograms = requires(B& b) {
  b.forget_programs();
};
// Work on devices that look for what no wait orders (docs/streams.md).
template <typename B>
concept ChecksAccesses = requires(B& b, std::string_view what, std::string_view name,
                                  const typename B::Tensor& tensor) {
  // What the running thread puts work on devices for, in words ("node", "y"), until it is ended; returns how many
  // purposes enclose it. The second ends the innermost one, the third all but so many.
  { b.begin_work_purpose(what, name) } -> std::same_as<std::size_t>;
  b.end_work_purpose();
  b.end_work_purposes(std::size_t());
  // A program that uses a tensor on the current stream of its device says so, in case that the
  // memory is another stream's (STREAM-3). Nothing for the CPU, and for undefined tensors.
  b.register_use(tensor);
  // So far.
  { b.unordered_accesses() } -> std::same_as<std::vector<UnorderedAccess>>;
};
// How many threads the engine keeps for itself.
template <typename B>
concept CountsThreads = requires(B& b) {
  { b.engine_threads() } -> std::same_as<std::int32_t>;
};

// Says in words which part of the contract a class misses.
template <typename B>
consteval bool check_binding() {
  static_assert(HasTypes<B>, "the binding misses a type (see HasTypes)");
  static_assert(HasLife<B>, "the binding needs B(const Scenario&), describe() and finish()");
  static_assert(HasTensors<B>, "the binding misses a function on tensors (see HasTensors)");
  static_assert(HasArithmetic<B>, "the binding misses arithmetic (see HasArithmetic)");
  static_assert(HasGraph<B>, "the binding misses a function on graphs (see HasGraph)");
  static_assert(HasPasses<B>, "the binding misses a function on passes (see HasPasses)");
  return true;
}

}  // namespace gradcts::kit
