#include "conformance/adapters/reference/reference_binding.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "conformance/adapters/kit/errors.h"
#include "conformance/adapters/reference/devices.h"
#include "conformance/adapters/reference/operations.h"
#include "conformance/adapters/reference/plain_data.h"
#include "conformance/adapters/simulated_accesses.h"
#include "reference_engine/compiled/compiler.h"
#include "reference_engine/device/basic_runtime.h"
#include "reference_engine/device/work_purpose.h"
#include "reference_engine/distributed/in_process_group.h"
#include "reference_engine/distributed/reducer.h"
#include "reference_engine/engine/multi_tensor_hook.h"
#include "reference_engine/graph/operations.h"
#include "reference_engine/graph/running_node.h"
#include "reference_engine/graph/thread_local_value.h"

namespace gradcts::reference_adapter {

namespace ref = gradcts::reference;
using ref::Tensor;
using List = ref::Gradients;

// ---- Settings ----

namespace {

// What the thread-local slot holds.
struct UserState {
  const std::int64_t number;
  const std::shared_ptr<void> owned;
};

std::int64_t user_state() {
  const auto& value = ref::thread_local_value();
  return value ? static_cast<const UserState*>(value.get())->number : 0;
}

// Of both types that scenarios use.
ref::StreamCounts stream_counts() {
  const auto sim = ref::stream_counts(ref::DeviceType::sim);
  const auto other = ref::stream_counts(ref::DeviceType::other);
  return {sim.events_recorded + other.events_recorded, sim.waits + other.waits};
}

ref::SavedTensorHooks saved_hooks(std::shared_ptr<kit::SavedHooksBody<Binding>> body) {
  return {[body](const Tensor& tensor) -> std::shared_ptr<void> {
            return std::make_shared<Tensor>(body->pack(tensor));
          },
          [body](const std::shared_ptr<void>& packed) {
            return body->unpack(*static_cast<const Tensor*>(packed.get()));
          }};
}

}  // namespace

Settings::Settings(Binding& binding, const WithStep& step, kit::SettingBodies<Binding> bodies) {
  if (step.recording) recording_.emplace(*step.recording);
  if (step.anomaly) anomaly_.emplace(*step.anomaly, step.check_nan.value_or(true));
  if (step.device) device_.emplace(to_engine(*step.device));
  if (step.stream != no_id) stream_.emplace(binding.stream(step.stream));
  if (bodies.saved_hooks) saved_hooks_.emplace(saved_hooks(std::move(bodies.saved_hooks)));
  if (step.user_state) {
    previous_user_state_ = ref::thread_local_value();
    ref::set_thread_local_value(
        std::make_shared<const UserState>(UserState{*step.user_state, bodies.user_state}));
  }
}

Settings::~Settings() {
  if (previous_user_state_) ref::set_thread_local_value(*previous_user_state_);
}

// ---- Life ----

namespace {

bool controls_engine(const Scenario& scenario) {
  bool found = false;
  for_each_step(scenario, [&](const Step& step) {
    found = found || std::holds_alternative<EngineStep>(step.action);
  });
  return found;
}

}  // namespace

namespace {

std::vector<ref::Device> refusing_devices(const Scenario& scenario) {
  std::vector<ref::Device> devices;
  for (const Refusal& refusal : scenario.configuration.refusals) {
    devices.push_back(to_engine(refusal.device));
    ref::refuse_device(devices.back(), refusal.times);
  }
  return devices;
}

// How long ranks wait for each other, in seconds: longer than a worker may take.
constexpr double default_limit = 600;

}  // namespace

namespace {

std::shared_ptr<ref::Compiler>& compiler_in_use() {
  static std::shared_ptr<ref::Compiler> compiler;
  return compiler;
}

Binding::MakeGroup& make_group_in_use() {
  static Binding::MakeGroup make;
  return make;
}

}  // namespace

namespace {

// A scenario about compiled passes has programs of its own.
std::shared_ptr<ref::Compiler> compiler_for(const Scenario& scenario) {
  const auto& features = scenario.requires_features;
  if (std::find(features.begin(), features.end(), "compiled") == features.end()) return nullptr;
  return std::make_shared<ref::Compiler>();
}

}  // namespace

void Binding::set_compiler(std::shared_ptr<ref::Compiler> compiler) {
  compiler_in_use() = compiler;
  ref::Engine::default_engine().set_compiler(std::move(compiler));
}

void Binding::set_make_group(MakeGroup make) {
  make_group_in_use() = std::move(make);
}

Binding::Binding(const Scenario& scenario)
    : scenario_(scenario),
      strict_validation_(scenario.configuration.strict_validation),
      nesting_limit_(scenario.configuration.nesting_limit),
      compiler_(compiler_in_use() ? nullptr : compiler_for(scenario)),
      refusing_(refusing_devices(scenario)),
      events_before_(stream_counts().events_recorded),
      waits_before_(stream_counts().waits) {
  ref::restart_access_checks();  // without what others have left
  // A scenario that stops its engine stops one of its own: the next scenario finds the usual one.
  if (controls_engine(scenario)) start_engine();
  if (compiler_) engine().set_compiler(compiler_);
  if (compiler_in_use()) compiled_before_ = compiler_in_use()->statistics();
  if (nesting_limit_ && !own_engine_) {
    previous_nesting_limit_ = engine().nesting_limit();
    engine().set_nesting_limit(*nesting_limit_);
  }
  for (const Stream& stream : scenario.streams) {
    streams_.push_back(ref::make_stream(to_engine(stream.device)));
  }
  for (const Reducer& reducer : scenario.reducers) {
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::duration<double>(reducer.limit.value_or(default_limit)));
    const auto size = static_cast<int>(reducer.ranks.size());
    const MakeGroup& make = make_group_in_use();
    groups_.push_back(make ? make(size, limit) : ref::make_in_process_group(size, limit));
  }
}

void Binding::finish() {
  for (const ref::Device device : refusing_) ref::refuse_device(device, 0);
  if (own_engine_) {
    ref::Engine::set_default_engine(nullptr);
    own_engine_.reset();
  }
  if (compiler_) engine().set_compiler(nullptr);
  if (previous_nesting_limit_) engine().set_nesting_limit(*previous_nesting_limit_);
}

// ---- Tensors ----

Tensor Binding::make(const TensorValue& value) const {
  NoRecording no_recording;
  return to_engine(value);
}
std::optional<TensorValue> Binding::read(const Tensor& tensor) const {
  const ref::CaptureLook look;
  return from_engine(tensor);
}
void Binding::set_requires_grad(const Tensor& tensor, bool on) const {
  ref::set_requires_grad(tensor, on);
}
Tensor Binding::grad_of(const Tensor& tensor) const {
  return tensor.defined() ? ref::gradient(tensor) : Tensor();
}
void Binding::set_grad(const Tensor& tensor, Tensor grad) const {
  ref::set_gradient(tensor, std::move(grad));
}

Tensor Binding::alias(const Tensor& tensor, Through through) const {
  if (through == Through::detached) return ref::detach(tensor);
  if (through == Through::view) return tensor.alias();
  throw kit::NotOffered("an alias with a version of its own");
}

void Binding::change(const Tensor& tensor, ChangeStep::How how, double number) const {
  NoRecording no_recording;
  switch (how) {
    case ChangeStep::How::add:
      return ref::add_(tensor, ref::full({}, number, tensor.type(), tensor.device()));
    case ChangeStep::How::multiply:
      return ref::scale_(tensor, number);
    case ChangeStep::How::fill:
      return ref::fill_(tensor, number);
  }
}

void Binding::write(Tensor& target, const TensorValue& value) const {
  NoRecording no_recording;
  if (target.defined()) return ref::copy_(target, to_engine(value));
  target = to_engine(value);
  target.storage().mark_static();
}

Tensor Binding::scaled(const Tensor& x, double factor) const {
  return ref::scale(x, factor);
}
Tensor Binding::sum(const Tensor& x, const Tensor& y) const {
  return ref::add(x, y);
}
Tensor Binding::product(const Tensor& x, const Tensor& y) const {
  return ref::mul(x, y);
}
Tensor Binding::expanded(const Tensor& x, const Shape& shape) const {
  return ref::expand(x, shape);
}
Tensor Binding::cast(const Tensor& x, ScalarType type) const {
  return ref::cast(x, to_engine(type));
}
Tensor Binding::moved(const Tensor& x, Device device) const {
  return ref::to_device(x, to_engine(device));
}

// ---- Graph ----

void Binding::apply(const Node& node, const List& inputs, List& outputs) const {
  apply_operation(node, inputs, outputs);
  if (!strict_validation_) return;
  if (const auto made = ref::producer(outputs[0])) made->set_strict_validation(true);
}

void Binding::make_custom(kit::CustomNodeRequest<Binding> request) const {
  for (Tensor& output : request.outputs) {
    for (const Tensor& input : request.inputs) {
      if (output.is_same(input)) output = input.alias();
    }
  }
  if (!ref::is_recorded(request.inputs)) return;
  const auto node = ref::make_node<ScriptedNode>(request.node, std::move(request.body));
  node->set_strict_validation(strict_validation_);
  node->set_next_edges(ref::gradient_edges(request.inputs));
  for (const Tensor& output : request.outputs) ref::record_history(output, node);
  for (const kit::SavedValue& value : request.saves) {
    node->save(request.saved(value), value.is_output());
  }
}

Binding::NodeHandle Binding::node_of(const Tensor& tensor) const {
  return ref::producer(tensor);
}
Binding::NodeHandle Binding::accumulator_of(const Tensor& leaf) const {
  return ref::accumulator(leaf);
}

// ---- Hooks ----

namespace {

// What a hook on one tensor returned.
std::optional<Tensor> single(const std::optional<List>& results) {
  return results && !results->empty() ? std::optional((*results)[0]) : std::nullopt;
}

std::span<const Tensor> span(const List& list) {
  return {list.data(), list.size()};
}

}  // namespace

void Binding::trace(const NodeHandle& node, std::shared_ptr<kit::TraceBody> body) const {
  // The hook that runs last owns the body.
  node->add_pre_hook([entered = body.get()](const List&) -> std::optional<List> {
    entered->enter();
    return std::nullopt;
  });
  node->add_post_hook([body = std::move(body)](const List&, const List&) -> std::optional<List> {
    body->exit();
    return std::nullopt;
  });
}

Binding::HookHandle Binding::add_node_pre_hook(const NodeHandle& node, Hook body) const {
  return node->add_pre_hook([body](const List& inputs) { return body->run(span(inputs)); });
}

Binding::HookHandle Binding::add_node_post_hook(const NodeHandle& node, Hook body) const {
  return node->add_post_hook(
      [body](const List& outputs, const List&) { return body->run(span(outputs)); });
}

Binding::HookHandle Binding::add_tensor_hook(const Tensor& tensor, Hook body) const {
  return ref::add_tensor_hook(tensor, [body](const Tensor& gradient) {
    return single(body->run(std::span(&gradient, 1)));
  });
}

void Binding::retain_grad(const Tensor& tensor) const {
  ref::retain_grad(tensor);
}

Binding::HookHandle Binding::add_post_accumulate_hook(const Tensor& leaf, Hook body) const {
  return ref::add_post_accumulate_hook(leaf, [body](const Tensor&) { body->run({}); });
}

Binding::HookHandle Binding::add_multi_hook(const List& tensors, Hook body) const {
  return ref::add_multi_tensor_hook(
      tensors, [body](const std::vector<Tensor>& gradients) { body->run(gradients); });
}

// ---- Passes ----

namespace {

// Seeds are validated as strictly as what nodes return; of leaves too, whose accumulators may not
// have lived before.
std::vector<ref::Root> roots_of(const kit::PassRequest<Binding>& request, bool strict) {
  std::vector<ref::Root> roots;
  for (std::size_t i = 0; i < request.roots.size(); ++i) {
    roots.push_back({ref::gradient_edge(request.roots[i]), request.seeds[i]});
    const ref::NodePointer& node = roots.back().edge.node;  // null: the engine says what is wrong
    if (strict && node && !node->strict_validation()) node->set_strict_validation(true);
  }
  return roots;
}

std::vector<ref::Capture> captures_of(const kit::PassRequest<Binding>& request) {
  std::vector<ref::Capture> captures;
  for (const Tensor& input : request.inputs) captures.push_back({ref::gradient_edge(input), {}});
  for (const auto& hook : request.capture_hooks) {
    captures[hook.input].hooks.push_back([body = hook.body](const Tensor& gradient) {
      return single(body->run(std::span(&gradient, 1)));
    });
  }
  return captures;
}

}  // namespace

namespace {

using Announced = ref::AnnouncedGradient;

std::vector<std::shared_ptr<Announced>> announced_of(const kit::PassRequest<Binding>& request) {
  std::vector<std::shared_ptr<Announced>> announced;
  for (const auto& one : request.announced) {
    announced.push_back(std::static_pointer_cast<Announced>(one));
  }
  return announced;
}

ref::BackwardOptions backward_options(const kit::PassRequest<Binding>& request) {
  ref::BackwardOptions options;
  options.keep_graph = request.step.keep_graph;
  options.create_graph = request.step.create_graph;
  if (request.step.inputs) options.inputs.emplace(request.inputs.begin(), request.inputs.end());
  options.announced = announced_of(request);
  return options;
}

ref::GradOptions grad_options(const kit::PassRequest<Binding>& request) {
  ref::GradOptions options;
  options.keep_graph = request.step.keep_graph;
  options.create_graph = request.step.create_graph;
  options.allow_unused = request.step.allow_unused;
  options.materialise_unused = request.step.materialise;
  options.announced = announced_of(request);
  return options;
}

class FutureEnd final : public kit::PassEnd<Binding> {
 public:
  explicit FutureEnd(ref::PassFuturePointer future) : future_(std::move(future)) {}
  List wait() override {
    const auto gradients = future_->wait();
    return List(gradients.begin(), gradients.end());
  }
  void then(kit::CallbackBody callback) override {
    future_->then([callback = std::move(callback)](const ref::PassFuture&) { callback(); });
  }

 private:
  const ref::PassFuturePointer future_;
};

}  // namespace

List Binding::pass(kit::PassRequest<Binding> request) const {
  const auto roots = roots_of(request, strict_validation_);
  if (request.step.kind == PassStep::Kind::backward) {
    engine().backward(roots, backward_options(request));
    return {};
  }
  const auto gradients = engine().grad(roots, captures_of(request), grad_options(request));
  return List(gradients.begin(), gradients.end());
}

std::shared_ptr<kit::PassEnd<Binding>> Binding::start_pass(
    kit::PassRequest<Binding> request) const {
  if (request.step.kind == PassStep::Kind::backward) {
    return std::make_shared<FutureEnd>(
        engine().start_backward(roots_of(request, strict_validation_), backward_options(request)));
  }
  return std::make_shared<FutureEnd>(engine().start_grad(
      roots_of(request, strict_validation_), captures_of(request), grad_options(request)));
}

std::shared_ptr<void> Binding::announce(const Tensor& to) const {
  return std::make_shared<Announced>(ref::gradient_edge(to));
}
void Binding::deliver(const std::shared_ptr<void>& announced, const Tensor& gradient) const {
  static_cast<Announced*>(announced.get())->deliver(gradient);
}
void Binding::fail(const std::shared_ptr<void>& announced, std::exception_ptr error) const {
  static_cast<Announced*>(announced.get())->fail(std::move(error));
}

void Binding::redirect(const NodeHandle& node, std::size_t edge, const Tensor& to) const {
  ref::Edges edges = node->next_edges();
  edges[edge] = ref::gradient_edge(to);
  node->set_next_edges(std::move(edges));
}

void Binding::queue_callback(kit::CallbackBody body) const {
  ref::queue_callback(std::move(body));
}

namespace {

ErrorCategory category_of(ref::ErrorCategory category) {
  switch (category) {
    case ref::ErrorCategory::gradient_count:
      return ErrorCategory::gradient_count;
    case ref::ErrorCategory::gradient_shape:
      return ErrorCategory::gradient_shape;
    case ref::ErrorCategory::gradient_type:
      return ErrorCategory::gradient_type;
    case ref::ErrorCategory::gradient_device:
      return ErrorCategory::gradient_device;
    case ref::ErrorCategory::unused_input:
      return ErrorCategory::unused_input;
    case ref::ErrorCategory::graph_released:
      return ErrorCategory::graph_released;
    case ref::ErrorCategory::saved_tensor_modified:
      return ErrorCategory::saved_modified;
    case ref::ErrorCategory::not_differentiable:
      return ErrorCategory::not_differentiable;
    case ref::ErrorCategory::outside_pass:
      return ErrorCategory::outside_pass;
    case ref::ErrorCategory::in_place:
      return ErrorCategory::in_place;
    case ref::ErrorCategory::invalid_argument:
      return ErrorCategory::invalid_argument;
    case ref::ErrorCategory::hook_result:
      return ErrorCategory::hook_result;
    case ref::ErrorCategory::nan_gradient:
      return ErrorCategory::nan_gradient;
    case ref::ErrorCategory::incomplete_pass:
      return ErrorCategory::incomplete;
    case ref::ErrorCategory::forked:
      return ErrorCategory::forked;
    case ref::ErrorCategory::stopped:
      return ErrorCategory::stopped;
    case ref::ErrorCategory::device_failure:
      return ErrorCategory::device_failure;
    case ref::ErrorCategory::reducer:
    case ref::ErrorCategory::rank_failure:
      return ErrorCategory::reducer;
  }
  return ErrorCategory::other;
}

class EngineReducer final : public kit::RankReducer<Binding> {
 public:
  explicit EngineReducer(std::unique_ptr<ref::Reducer> reducer) : reducer_(std::move(reducer)) {}

  void prepare(const Binding::List& outputs) override { reducer_->prepare(outputs); }
  void reset() override { reducer_->reset(); }

  std::vector<double> answer(ReducerStep::Question question) override {
    const ref::ReducerStatistics statistics = reducer_->statistics();
    switch (question) {
      case ReducerStep::Question::buckets:
        return buckets();
      case ReducerStep::Question::launches:
        return {statistics.launches.begin(), statistics.launches.end()};
      case ReducerStep::Question::ready:
        return order_of(statistics);
      case ReducerStep::Question::collectives:
        return {static_cast<double>(statistics.collectives)};
    }
    return {};
  }

 private:
  std::vector<double> buckets() const {
    std::map<std::size_t, double> of_parameter;
    for (std::size_t b = 0; b < reducer_->buckets().size(); ++b) {
      for (const std::size_t index : reducer_->buckets()[b]) {
        of_parameter[index] = static_cast<double>(b);
      }
    }
    std::vector<double> numbers;
    for (const auto& [index, bucket] : of_parameter) numbers.push_back(bucket);
    return numbers;
  }

  static std::vector<double> order_of(const ref::ReducerStatistics& statistics) {
    std::map<std::size_t, double> by_place;
    for (std::size_t i = 0; i < statistics.parameters.size(); ++i) {
      const auto& place = statistics.parameters[i].place;
      if (place) by_place[*place] = static_cast<double>(i);
    }
    std::vector<double> numbers;
    for (const auto& [place, index] : by_place) numbers.push_back(index);
    return numbers;
  }

  const std::unique_ptr<ref::Reducer> reducer_;
};

}  // namespace

std::unique_ptr<kit::RankReducer<Binding>> Binding::make_reducer(ReducerId id, std::int32_t rank,
                                                                 const List& parameters) const {
  const Reducer& wanted = scenario_.reducers[static_cast<std::size_t>(id)];
  const auto& names = wanted.ranks[static_cast<std::size_t>(rank)];
  std::vector<ref::Parameter> named;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    named.push_back({parameters[i], scenario_.values[static_cast<std::size_t>(names[i])].name});
  }
  ref::ReducerOptions options;
  options.find_unused = wanted.find_unused;
  options.static_graph = wanted.static_graph;
  options.gradients_as_views = wanted.views;
  options.rebuild_buckets = wanted.rebuild;
  if (!wanted.bucket_bytes.empty()) {
    options.bucket_bytes.assign(wanted.bucket_bytes.begin(), wanted.bucket_bytes.end());
  }
  if (!wanted.buckets.empty()) {
    options.buckets.emplace();
    for (const auto& bucket : wanted.buckets) {
      options.buckets->emplace_back(bucket.begin(), bucket.end());
    }
  }
  return std::make_unique<EngineReducer>(std::make_unique<ref::Reducer>(
      std::move(named), groups_[static_cast<std::size_t>(id)][static_cast<std::size_t>(rank)],
      std::move(options)));
}

ErrorReport Binding::classify(const std::exception_ptr& error) const {
  try {
    std::rethrow_exception(error);
  } catch (const ref::CaptureError& e) {
    return {ErrorCategory::stream_capture, "", false,
            SimulatedAccesses(scenario_, streams_).in_names_of_scenario(e.what())};
  } catch (const ref::Error& e) {
    return {category_of(e.category()), "", false, e.what()};
  } catch (const std::exception& e) {
    return {ErrorCategory::other, "", false, e.what()};
  } catch (...) {
    return {ErrorCategory::other, "", false, "an exception of an unknown type"};
  }
}

// ---- State ----

StreamId Binding::current_stream() const {
  const auto current = ref::current_stream(ref::current_device(ref::DeviceType::sim));
  const auto found = std::find(streams_.begin(), streams_.end(), current);
  return found == streams_.end() ? no_id : static_cast<StreamId>(found - streams_.begin());
}

kit::ThreadState Binding::thread_state() const {
  const auto pass = ref::current_pass();
  kit::ThreadState state;
  state.recording = ref::is_recording();
  state.anomaly = ref::anomaly_mode().is_enabled;
  state.inside_pass = pass.has_value();
  state.user_state = user_state();
  state.depth = pass ? pass->depth : 0;
  state.device = ref::current_device(ref::DeviceType::sim).index;
  state.stream = current_stream();
  return state;
}

std::int64_t Binding::observe(const ObserveStep& step, const NodeHandle& node) const {
  using What = ObserveStep::What;
  const auto pass = ref::current_pass();
  switch (step.what) {
    case What::recording:
      return ref::is_recording();
    case What::user_state:
      return user_state();
    case What::device:
      return ref::current_device(ref::DeviceType::sim).index;
    case What::stream:
      return current_stream();
    case What::depth:
      return pass ? pass->depth : 0;
    case What::checkpoint_valid:
      return ref::is_checkpoint_valid();
    case What::inside_pass:
      return pass.has_value();
    case What::will_run:
      return pass ? ref::will_run(*node) : -1;
    case What::anomaly:
      return ref::anomaly_mode().is_enabled;
    case What::engine_threads:
      return engine_threads();
    case What::stream_events:
      return static_cast<std::int64_t>(stream_counts().events_recorded - events_before_);
    case What::stream_waits:
      return static_cast<std::int64_t>(stream_counts().waits - waits_before_);
    case What::programs:
      return static_cast<std::int64_t>(compiler().statistics().programs);
    case What::replays:
      return static_cast<std::int64_t>(compiler().statistics().hits - compiled_before_.hits);
    case What::compiles:
      return static_cast<std::int64_t>(compiler().statistics().compiles -
                                       compiled_before_.compiles);
    case What::compiles_for:
      return compiles_for(*step.cause);
    case What::needed:
    case What::live_objects:
      break;
  }
  throw kit::NotOffered("this observation");
}

// A size or a number is never the cause (COMP-3).
std::int64_t Binding::compiles_for(ObserveStep::Cause cause) const {
  using Cause = ObserveStep::Cause;
  const auto of = [&](ref::MissCause miss) {
    const auto index = static_cast<std::size_t>(miss);
    return static_cast<std::int64_t>(compiler().statistics().compiles_by_cause[index] -
                                     compiled_before_.compiles_by_cause[index]);
  };
  switch (cause) {
    case Cause::none_known:
      return of(ref::MissCause::none_known);
    case Cause::node:
      return of(ref::MissCause::node);
    case Cause::edges:
      return of(ref::MissCause::edges);
    case Cause::order:
      return of(ref::MissCause::order);
    case Cause::asked:
      return of(ref::MissCause::asked);
    case Cause::size:
    case Cause::number:
      break;
  }
  return 0;
}

ref::Compiler& Binding::compiler() const {
  ref::Compiler* compiler = compiler_ ? compiler_.get() : compiler_in_use().get();
  if (compiler == nullptr)
    throw kit::NotOffered("programs of passes that are not compiled (requires: compiled)");
  return *compiler;
}

void Binding::forget_programs() {
  compiler().clear();
}

std::int64_t Binding::needed(const ref::Node& node) const {
  std::int64_t bits = 0;
  for (std::uint32_t i = 0; i < node.next_edges().size(); ++i) {
    if (ref::is_edge_needed(node, i)) bits |= std::int64_t{1} << i;
  }
  return bits;
}

// The limit comes from the environment. Whoever else reads it meanwhile is of this scenario.
void Binding::control_engine(const EngineStep& step) {
  if (step.what == EngineStep::What::start) return start_engine();
  if (step.limit) {
    ::setenv("GRADCTS_SHUTDOWN_WAIT_LIMIT", std::to_string(*step.limit).c_str(), 1);
  }
  engine().stop();
  ::unsetenv("GRADCTS_SHUTDOWN_WAIT_LIMIT");
}

void Binding::start_engine() {
  auto fresh = std::make_unique<ref::Engine>();
  if (nesting_limit_) fresh->set_nesting_limit(*nesting_limit_);
  fresh->set_compiler(compiler_ ? compiler_ : compiler_in_use());
  ref::Engine::set_default_engine(fresh.get());
  own_engine_ = std::move(fresh);
}

void Binding::control_stream(const StreamStep& step) const {
  if (step.what == StreamStep::What::synchronise) return ref::synchronize(stream(step.stream));
  ref::wait_stream(stream(step.stream), stream(step.waits_for));
}

void Binding::begin_capture(StreamId captured) const {
  ref::begin_capture(stream(captured));
}
void Binding::end_capture(StreamId captured) const {
  ref::end_capture(stream(captured));
}

void Binding::register_use(const Tensor& tensor) const {
  if (tensor.defined()) ref::register_use(tensor, ref::current_stream(tensor.device()));
}

std::size_t Binding::begin_work_purpose(std::string_view what, std::string_view name) const {
  return ref::begin_work_purpose(what, name);
}
void Binding::end_work_purpose() const {
  ref::end_work_purpose();
}
void Binding::end_work_purposes(std::size_t enclosing) const {
  ref::end_work_purposes(enclosing);
}

std::vector<UnorderedAccess> Binding::unordered_accesses() const {
  return SimulatedAccesses(scenario_, streams_).found();
}

std::int32_t Binding::engine_threads() const {
  return engine().device_thread_count() + engine().pool_thread_count();
}

namespace {

Description description() {
  return {"reference",
          "0.1.0",
          "reference",
          {},
          {"hook.tensor",
           "hook.retain_grad",
           "hook.node_pre",
           "hook.node_post",
           "hook.post_accumulate",
           "hook.capture",
           "hook.multi",
           "hook.saved",
           "hook.on_accumulator",
           "hook.add",
           "hook.remove",
           "pass.*",
           "custom.*",
           "leaf.saved_elsewhere",
           "callbacks",
           "observe.recording",
           "observe.user_state",
           "observe.device",
           "observe.stream",
           "observe.depth",
           "observe.checkpoint_valid",
           "observe.inside_pass",
           "observe.needed",
           "observe.anomaly",
           "observe.will_run",
           "observe.engine_threads",
           "observe.live_objects",
           "observe.stream_events",
           "observe.stream_waits",
           "observe.programs",
           "observe.replays",
           "observe.compiles",
           "observe.compiles_for",
           "compiled",
           "compiled.forget",
           "destructor.*",
           "reducer",
           "reducer.*",
           "graph.redirect",
           "hook.saved.close",
           "device.refusal",
           "threads",
           "device.sim",
           "device.other",
           "device.set",
           "streams",
           "layout.*",
           "grad.*",
           "change.handle",
           "change.view",
           "change.detached",
           "keep.handle",
           "keep.view",
           "keep.detached",
           "drop",
           "requires_grad",
           "recording_mode",
           "anomaly",
           "anomaly.unchecked",
           "anomaly.report",
           "user_state",
           "strict_validation",
           "nesting_limit",
           "engine.*",
           "fork",
           "error.foreign",
           "operation.*",
           "type.*"}};
}

}  // namespace

Description Binding::describe() {
  const ChosenDevices& devices = choose_devices();
  Description result = description();
  if (!devices.remark.empty()) result.version += " (" + devices.remark + ")";
  result.features.insert(result.features.end(), devices.features.begin(), devices.features.end());
  return result;
}

}  // namespace gradcts::reference_adapter
