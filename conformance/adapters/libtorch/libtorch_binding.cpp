// libtorch, the C++ library under PyTorch, as an engine under test: through the C++ interface of
// the installed version (written for 1.13), on the CPU and on simulated CUDA (simulated_cuda.h).
//
// What only Python offers there is not claimed: hooks after accumulation, over several tensors, on
// captures and on saved tensors, zeros for unused inputs, asking whether a node will run. Seeds
// must be defined: the functions for users put ones for undefined ones, and the engine does not
// take them. Nor are sparse tensors on devices: simulated CUDA has no operations for them.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/StreamGuard.h>
#include <c10/util/Logging.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "conformance/adapters/kit/export.h"
#include "conformance/adapters/libtorch/error_category.h"
#include "conformance/adapters/libtorch/hooks.h"
#include "conformance/adapters/libtorch/operations.h"
#include "conformance/adapters/libtorch/plain_data.h"
#include "conformance/adapters/libtorch/simulated_cuda.h"
#include "conformance/adapters/simulated_accesses.h"
#include "conformance/scenario/features.h"
#include "reference_engine/device/runtime.h"
#include "reference_engine/device/work_purpose.h"

namespace gradcts::libtorch {
namespace {

namespace ag = torch::autograd;
namespace ref = gradcts::reference;
using at::Tensor;
using List = ag::variable_list;

// ---- Nodes and settings ----

struct Binding;

// A node that goes after all others of its thread's queue, and gives nothing.
struct OldestNode final : ag::Node {
  OldestNode() : Node(/*sequence_nr=*/0) {}
  List apply(List&&) override { return {}; }
};

// A custom node as a user of libtorch would write it.
class ScriptedNode final : public ag::Node {
 public:
  ScriptedNode(const gradcts::Node& node, std::shared_ptr<kit::NodeBody<Binding>> body)
      : name_(node.name),
        materialise_(node.custom->materialise),
        differentiable_(node.custom->differentiable),
        body_(std::move(body)) {}

  Tensor saved(std::size_t i) {
    std::lock_guard lock(mutex_);
    return saved_[i].unpack(shared_from_this());
  }

  void save(const Tensor& tensor, bool is_output) { saved_.emplace_back(tensor, is_output); }
  std::string name() const override { return name_; }
  void release_variables() override {
    std::lock_guard lock(mutex_);
    for (auto& saved : saved_) saved.reset_data();
  }

 protected:
  List apply(List&& gradients) override;

 private:
  const std::string name_;
  const bool materialise_;
  const bool differentiable_;
  const std::shared_ptr<kit::NodeBody<Binding>> body_;
  std::vector<ag::SavedVariable> saved_;
};

// State of the user that libtorch carries along with a pass.
struct UserState final : c10::DebugInfoBase {
  UserState(std::int64_t n, std::shared_ptr<void> o) : number(n), owned(std::move(o)) {}
  const std::int64_t number;
  const std::shared_ptr<void> owned;
};
std::int64_t user_state() {
  const auto* info = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::TEST_INFO);
  return info ? static_cast<const UserState*>(info)->number : 0;
}

class ScopedSettings {
 public:
  ScopedSettings(Binding& binding, const WithStep& step, kit::SettingBodies<Binding> bodies);
  ~ScopedSettings() { ag::AnomalyMode::set_enabled(anomaly_, check_nan_); }

 private:
  const bool anomaly_;
  const bool check_nan_;
  std::optional<at::AutoGradMode> recording_;
  std::optional<c10::DebugInfoGuard> user_state_;
  std::optional<c10::DeviceGuard> device_;
  std::optional<c10::StreamGuard> stream_;
};

// Scenarios' names of the devices that an error is about.
std::string in_names_of_scenarios(std::string text) {
  const std::string ours = "sim:", its = "cuda:";
  for (auto at = text.find(its); at != std::string::npos; at = text.find(its, at)) {
    text.replace(at, its.size(), ours);
  }
  return text;
}

// ---- The binding ----

struct Binding {
  using Tensor = at::Tensor;
  using List = ag::variable_list;
  using NodeHandle = std::shared_ptr<ag::Node>;
  using HookHandle = std::function<void()>;  // takes the hook out
  using RunningNode = ScriptedNode;
  using Settings = ScopedSettings;
  using NoRecording = at::NoGradGuard;
  using Hook = std::shared_ptr<kit::HookBody<Binding>>;

  static Description describe() {
    return {"libtorch",
            GRADCTS_TORCH_VERSION,
            "pytorch-1.13",
            {},
            {"hook.tensor",
             "hook.retain_grad",
             "hook.node_pre",
             "hook.node_post",
             "hook.on_accumulator",
             "hook.add",
             "hook.remove",
             "pass.backward",
             "pass.grad",
             "pass.inputs",
             "pass.inputs.non_leaf",
             "pass.keep",
             "pass.create_graph",
             "pass.allow_unused",
             "pass.nested",
             "pass.no_roots",
             "pass.leaf_root",
             "custom.*",
             "leaf.saved_elsewhere",
             "graph.redirect",
             "callbacks",
             "observe.recording",
             "observe.user_state",
             "observe.checkpoint_valid",
             "observe.inside_pass",
             "observe.needed",
             "observe.will_run",
             "observe.anomaly",
             "observe.device",
             "observe.stream",
             "observe.stream_events",
             "observe.stream_waits",
             "observe.live_objects",
             "destructor.*",
             "threads",
             "device.sim",
             "device.set",
             "streams",
             "streams.captured",
             "layout.strides",
             "layout.sparse",
             "grad.*",
             "change.*",
             "keep.*",
             "drop",
             "requires_grad",
             "recording_mode",
             "anomaly",
             "anomaly.unchecked",
             "user_state",
             "fork",
             "error.foreign",
             "operation.*",
             "type.*"}};
  }
  explicit Binding(const Scenario& scenario)
      : scenario_(scenario), counts_before_(ref::stream_counts(sim)) {
    ref::restart_access_checks();  // without what others have left
    at::set_num_threads(1);
    c10::SetStackTraceFetcher([] { return std::string(); });      // dear, and of no use here
    if (forks(scenario) && !uses_devices(scenario)) hide_cuda();  // it has a worker of its own
    for (const gradcts::Stream& stream : scenario.streams) {
      streams_.push_back(ref::make_stream(simulated(device_of(stream.device))));
    }
  }
  static bool forks(const Scenario& scenario) {
    bool found = false;
    for_each_step(scenario, [&](const Step& step) {
      found |= std::holds_alternative<ForkStep>(step.action);
    });
    return found;
  }
  // What a failed pass left in this thread's queue goes with the next pass (ERR-3). A device's
  // thread may hold the failed pass for a moment more; until then newer nodes go first, and only
  // what is older than all that is left makes sure that nothing stays.
  void finish() {
    const auto oldest = std::make_shared<OldestNode>();
    const Tensor gradient = at::zeros({});
    oldest->add_input_metadata(gradient);
    ag::Engine::get_default_engine().execute({{oldest, 0}}, {gradient}, false, false, true);
  }

  Tensor make(const TensorValue& value) const {
    at::NoGradGuard no_recording;
    if (value.layout == gradcts::Layout::sparse) return sparse(value);
    const Tensor result = dense(value, sizes(value.shape));
    return value.strides.empty() ? result : with_strides(result, value.strides);
  }
  std::optional<TensorValue> read(const Tensor& tensor) const {
    if (!tensor.defined()) return std::nullopt;
    at::NoGradGuard no_recording;
    const ref::CaptureLook look;
    TensorValue value;
    value.type = type_of(tensor);
    value.device = device_of(tensor.device());
    value.shape = shape_of(tensor.sizes());
    if (!tensor.is_sparse() && !tensor.is_contiguous()) value.strides = shape_of(tensor.strides());
    tensor.is_sparse() ? read_sparse(tensor, value) : read_elements(tensor, value);
    return value;
  }
  bool defined(const Tensor& tensor) const { return tensor.defined(); }
  void set_requires_grad(const Tensor& tensor, bool on) const { tensor.set_requires_grad(on); }
  Tensor grad_of(const Tensor& t) const { return t.defined() ? t.mutable_grad() : Tensor(); }
  void set_grad(const Tensor& tensor, Tensor grad) const { tensor.mutable_grad() = grad; }
  Tensor alias(const Tensor& tensor, Through through) const {
    if (through == Through::detached) return tensor.detach();
    if (through == Through::data) return tensor.variable_data();
    at::NoGradGuard no_recording;
    return tensor.view_as(tensor);
  }
  void change(const Tensor& tensor, ChangeStep::How how, double number) const {
    at::NoGradGuard no_recording;
    if (how == ChangeStep::How::add) tensor.add_(number);
    if (how == ChangeStep::How::multiply) tensor.mul_(number);
    if (how == ChangeStep::How::fill) tensor.fill_(number);
  }
  void write(Tensor& target, const TensorValue& value) const {
    at::NoGradGuard no_recording;
    target = target.defined() ? target.copy_(make(value)) : make(value);
  }

  Tensor scaled(const Tensor& x, double factor) const { return x.mul(factor); }
  Tensor sum(const Tensor& x, const Tensor& y) const {
    return x.is_sparse() && !y.is_sparse() ? y.add(x) : x.add(y);
  }
  Tensor product(const Tensor& x, const Tensor& y) const { return x.mul(y); }
  Tensor expanded(const Tensor& x, const Shape& shape) const { return x.expand(sizes(shape)); }
  Tensor cast(const Tensor& x, ScalarType type) const { return libtorch::cast(x, type); }
  Tensor moved(const Tensor& x, Device device) const { return x.to(device_of(device)); }

  void apply(const gradcts::Node& node, const List& inputs, List& outputs) const {
    if (node.operation == Operation::unbind) {
      outputs = inputs[0].unbind(integer(node, 0));
      return;
    }
    const Apply function = operations[node.operation];
    if (function) return outputs.push_back(function(inputs, node));
    throw kit::NotOffered("operation " + std::string(spec_of(node.operation).name));
  }

  void make_custom(kit::CustomNodeRequest<Binding> request) const {
    for (Tensor& output : request.outputs) separate(output, request.inputs);
    const auto requires_grad = [](const Tensor& input) { return input.requires_grad(); };
    const List& inputs = request.inputs;
    if (!at::GradMode::is_enabled() || std::none_of(inputs.begin(), inputs.end(), requires_grad)) {
      return;
    }
    const std::shared_ptr<ScriptedNode> node(new ScriptedNode(request.node, request.body),
                                             ag::deleteNode);
    node->set_next_edges(ag::collect_next_edges(inputs));
    for (const Tensor& output : request.outputs) {
      ag::impl::set_gradient_edge(output, {node, node->add_input_metadata(output)});
    }
    for (const kit::SavedValue& value : request.saves) {
      node->save(request.saved(value), value.is_output());
    }
  }
  // An output that is an input itself gets a handle of its own to hang history on.
  static void separate(Tensor& output, const List& inputs) {
    at::NoGradGuard no_recording;
    for (const Tensor& input : inputs) {
      if (output.is_same(input)) output = input.view_as(input);
    }
  }

  NodeHandle node_of(const Tensor& tensor) const { return tensor.grad_fn(); }
  NodeHandle accumulator_of(const Tensor& leaf) const { return ag::impl::grad_accumulator(leaf); }
  // libtorch forbids it for a node that others lead to.
  void redirect(const NodeHandle& node, std::size_t edge, const Tensor& to) const {
    const_cast<ag::edge_list&>(node->next_edges())[edge] =
        to.defined() ? ag::impl::gradient_edge(to) : ag::Edge();
  }
  void trace(const NodeHandle& node, std::shared_ptr<kit::TraceBody> body) const {
    auto enter = [body](const List&) { return body->enter(), std::nullopt; };
    auto exit = [body](const List&) { return body->exit(), std::nullopt; };
    const auto* accumulator = dynamic_cast<const ag::AccumulateGrad*>(node.get());
    if (accumulator) {
      trace_accumulation(accumulator->variable, *node, std::move(body));
    } else {
      node->add_pre_hook(std::make_unique<PreHook>(std::move(enter), PreHook::Trace::yes));
    }
    node->add_post_hook(std::make_unique<PostHook>(std::move(exit)));
  }
  // An accumulator calls the hooks of its leaf itself, if there is something to accumulate: the
  // accumulation begins after them.
  static void trace_accumulation(const Tensor& leaf, ag::Node& node,
                                 std::shared_ptr<kit::TraceBody> body) {
    leaf.register_hook([](const Tensor&) {});  // makes the list of hooks, which comes first
    auto after_hooks = [body](const List&) { return body->enter(), std::nullopt; };
    ag::impl::add_hook(leaf, std::make_shared<PreHook>(std::move(after_hooks)));
    auto nothing_to_do = [body, leaf = leaf.unsafeGetTensorImpl()](const List& gradients) {
      if (!gradients[0].defined() || !leaf->requires_grad()) body->enter();
      return std::nullopt;
    };
    node.add_pre_hook(std::make_unique<PreHook>(std::move(nothing_to_do)));
  }

  HookHandle add_tensor_hook(const Tensor& tensor, Hook body) const {
    const auto index = tensor.register_hook([body](const Tensor& gradient) {
      const auto results = body->run(std::span(&gradient, 1));
      return results ? results->at(0) : Tensor();
    });
    keep_trace_last(tensor.grad_fn().get());
    return [index, weak = c10::weak_intrusive_ptr(tensor.getIntrusivePtr())] {
      if (auto alive = weak.lock()) Tensor(std::move(alive)).remove_hook(index);
    };
  }
  void retain_grad(const Tensor& tensor) const {
    tensor.retain_grad();
    keep_trace_last(tensor.grad_fn().get());
  }
  // There is no way to take a pre-hook out; a removed one does nothing.
  HookHandle add_node_pre_hook(const NodeHandle& node, Hook body) const {
    auto script = [body](const List& list) { return body->run(list); };
    auto hook = std::make_unique<PreHook>(std::move(script));
    HookHandle handle = [removed = hook->removed] { *removed = true; };
    node->add_pre_hook(std::move(hook));
    return handle;
  }
  HookHandle add_node_post_hook(const NodeHandle& node, Hook body) const {
    const auto key = node->add_post_hook(
        std::make_unique<PostHook>([body](const List& l) { return body->run(l); }));
    return [key, weak = std::weak_ptr(node)] {
      if (const auto alive = weak.lock()) alive->del_post_hook(key);
    };
  }
  void remove_hook(const HookHandle& handle) const {
    if (handle) handle();
  }

  List pass(kit::PassRequest<Binding> request) const {
    const PassStep& step = request.step;
    if (step.kind == PassStep::Kind::grad) {
      return ag::grad(request.roots, request.inputs, request.seeds, step.keep_graph,
                      step.create_graph, step.allow_unused);
    }
    ag::backward(request.roots, request.seeds, step.keep_graph, step.create_graph, request.inputs);
    return {};
  }
  void queue_callback(kit::CallbackBody body) const {
    ag::Engine::get_default_engine().queue_callback(std::move(body));
  }

  ErrorReport classify(const std::exception_ptr& error) const {
    std::string text = "an exception of an unknown type";
    try {
      std::rethrow_exception(error);
    } catch (const ref::CaptureError& e) {
      return {ErrorCategory::stream_capture, "", false,
              SimulatedAccesses(scenario_, streams_).in_names_of_scenario(e.what())};
    } catch (const c10::Error& e) {
      text = e.what_without_backtrace();
    } catch (const std::exception& e) {
      text = e.what();
    } catch (...) {
    }
    return {category_of(text), "", false, in_names_of_scenarios(std::move(text))};
  }

  // As the engine answers in Python.
  static std::int64_t will_run(ag::Node* node) {
    const auto* needed = ag::get_current_graph_task_exec_info();
    if (!needed) return -1;
    if (!ag::get_current_graph_task_nodes_in_graph()->count(node)) return 0;
    const auto found = needed->find(node);
    return needed->empty() || (found != needed->end() && found->second.should_execute());
  }
  static bool inside_pass() { return ag::get_current_graph_task_exec_info() != nullptr; }
  kit::ThreadState thread_state() const {
    kit::ThreadState state;
    state.recording = at::GradMode::is_enabled();
    state.anomaly = ag::AnomalyMode::is_enabled();
    state.inside_pass = inside_pass();
    state.user_state = user_state();
    state.device = ref::current_device(sim).index;
    state.stream = current_stream();
    return state;
  }
  std::int64_t observe(const ObserveStep& step, const NodeHandle& node) const {
    using What = ObserveStep::What;
    if (step.what == What::will_run) return will_run(node.get());
    if (step.what == What::recording) return at::GradMode::is_enabled();
    if (step.what == What::anomaly) return ag::AnomalyMode::is_enabled();
    if (step.what == What::user_state) return user_state();
    if (step.what == What::inside_pass) return inside_pass();
    if (step.what == What::checkpoint_valid) {
      return ag::Engine::get_default_engine().is_checkpoint_valid();
    }
    if (step.what == What::device) return ref::current_device(sim).index;
    if (step.what == What::stream) return current_stream();
    const ref::StreamCounts counts = ref::stream_counts(sim);
    if (step.what == What::stream_events) {
      return static_cast<std::int64_t>(counts.events_recorded - counts_before_.events_recorded);
    }
    if (step.what == What::stream_waits) {
      return static_cast<std::int64_t>(counts.waits - counts_before_.waits);
    }
    throw kit::NotOffered("this observation");
  }

  ref::Stream stream(StreamId id) const { return streams_[static_cast<std::size_t>(id)]; }
  void control_stream(const StreamStep& step) const {
    if (step.what == StreamStep::What::synchronise) return ref::synchronize(stream(step.stream));
    ref::wait_stream(stream(step.stream), stream(step.waits_for));
  }
  void begin_capture(StreamId captured) const { ref::begin_capture(stream(captured)); }
  void end_capture(StreamId captured) const { ref::end_capture(stream(captured)); }
  StreamId current_stream() const {
    const ref::Stream current = ref::current_stream(ref::current_device(sim));
    const auto found = std::find(streams_.begin(), streams_.end(), current);
    return found == streams_.end() ? no_id : static_cast<StreamId>(found - streams_.begin());
  }

  void register_use(const Tensor& tensor) const {
    if (!tensor.defined() || !tensor.is_cuda() || !tensor.has_storage()) return;
    void* const memory = tensor.storage().data();
    if (!memory) return;
    ref::runtime(sim).register_use(memory, ref::current_stream(simulated(tensor.device())));
  }
  std::size_t begin_work_purpose(std::string_view what, std::string_view name) const {
    return ref::begin_work_purpose(what, name);
  }
  void end_work_purpose() const { ref::end_work_purpose(); }
  void end_work_purposes(std::size_t enclosing) const { ref::end_work_purposes(enclosing); }
  std::vector<UnorderedAccess> unordered_accesses() const {
    return SimulatedAccesses(scenario_, streams_).found();
  }

  std::int64_t needed(const ag::Node& node) const {
    std::int64_t bits = 0;
    for (std::size_t i = 0; i < node.num_outputs(); ++i) {
      if (node.task_should_compute_output(i)) bits |= std::int64_t{1} << i;
    }
    return bits;
  }
  std::int64_t needed(const NodeHandle& node) const { return needed(*node); }

 private:
  const Scenario& scenario_;
  const ref::StreamCounts counts_before_;
  std::vector<ref::Stream> streams_;
};

ScopedSettings::ScopedSettings(Binding& binding, const WithStep& step,
                               kit::SettingBodies<Binding> bodies)
    : anomaly_(ag::AnomalyMode::is_enabled()), check_nan_(ag::AnomalyMode::should_check_nan()) {
  if (step.recording) recording_.emplace(*step.recording);
  if (step.anomaly) ag::AnomalyMode::set_enabled(*step.anomaly, step.check_nan.value_or(true));
  if (step.user_state) {
    auto state = std::make_shared<UserState>(*step.user_state, bodies.user_state);
    user_state_.emplace(c10::DebugInfoKind::TEST_INFO, std::move(state));
  }
  if (step.device) device_.emplace(device_of(*step.device));
  if (step.stream != no_id) stream_.emplace(cuda_stream(binding.stream(step.stream)));
}

List ScriptedNode::apply(List&& gradients) {
  for (std::size_t i = 0; materialise_ && i < gradients.size(); ++i) {
    if (!gradients[i].defined()) gradients[i] = input_metadata(i).zeros_like();
  }
  if (differentiable_ || !at::GradMode::is_enabled()) {
    return body_->run(*this, std::move(gradients));
  }
  // What comes out depends on the node's inputs and on the gradients; both derivatives are errors.
  ag::edge_list edges = next_edges();
  for (const ag::Edge& edge : ag::collect_next_edges(gradients)) edges.push_back(edge);
  List results = body_->run(*this, std::move(gradients));
  for (Tensor& result : results) {
    if (!result.defined()) continue;
    const auto error =
        std::make_shared<ag::Error>(name_ + " cannot differentiate twice", ag::edge_list(edges));
    result = result.detach();
    ag::impl::set_gradient_edge(result, {error, error->add_input_metadata(result)});
  }
  return results;
}

}  // namespace
}  // namespace gradcts::libtorch

GRADCTS_EXPORT_ADAPTER(gradcts::libtorch::Binding)
