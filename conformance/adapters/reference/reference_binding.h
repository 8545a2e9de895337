// The reference engine as an engine under test.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/adapters/kit/binding.h"
#include "conformance/adapters/reference/scripted_node.h"
#include "reference_engine/compiled/compiler.h"
#include "reference_engine/distributed/process_group.h"
#include "reference_engine/engine/engine.h"
#include "reference_engine/graph/anomaly.h"
#include "reference_engine/graph/recording.h"
#include "reference_engine/graph/saved_tensor.h"
#include "reference_engine/graph/thread_local_value.h"

namespace gradcts::reference_adapter {

// Gradient recording is off for its lifetime.
struct NoRecording {
  reference::RecordingGuard guard{false};
};

// Settings of the running thread, for its lifetime.
class Settings {
 public:
  Settings(Binding& binding, const WithStep& step, kit::SettingBodies<Binding> bodies);
  ~Settings();
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

 private:
  std::optional<reference::ThreadLocalValue> previous_user_state_;
  std::optional<reference::RecordingGuard> recording_;
  std::optional<reference::AnomalyGuard> anomaly_;
  std::optional<reference::DeviceGuard> device_;
  std::optional<reference::StreamGuard> stream_;
  std::optional<reference::SavedTensorHooksGuard> saved_hooks_;
};

// See kit/binding.h for what each function must do.
class Binding {
 public:
  using Tensor = reference::Tensor;
  using List = reference::Gradients;
  using NodeHandle = reference::NodePointer;
  using HookHandle = reference::HookHandle;
  using RunningNode = ScriptedNode;
  using Settings = reference_adapter::Settings;
  using NoRecording = reference_adapter::NoRecording;
  using Hook = std::shared_ptr<kit::HookBody<Binding>>;

  static Description describe();

  // Passes of scenarios that begin afterwards go through this compiler; null: through none.
  static void set_compiler(std::shared_ptr<reference::Compiler> compiler);

  // What reducers of scenarios that begin afterwards have as their ranks: a seat for each of them,
  // and how long they wait for each other. Null: the usual ones, in_process_group.h.
  using MakeGroup = std::function<std::vector<reference::ProcessGroupPointer>(
      int size, std::chrono::milliseconds limit)>;
  static void set_make_group(MakeGroup make);

  explicit Binding(const Scenario& scenario);
  void finish();

  Tensor make(const TensorValue& value) const;
  std::optional<TensorValue> read(const Tensor& tensor) const;
  bool defined(const Tensor& tensor) const { return tensor.defined(); }
  void set_requires_grad(const Tensor& tensor, bool on) const;
  Tensor grad_of(const Tensor& tensor) const;
  void set_grad(const Tensor& tensor, Tensor grad) const;
  Tensor alias(const Tensor& tensor, Through through) const;
  void change(const Tensor& tensor, ChangeStep::How how, double number) const;
  void write(Tensor& target, const TensorValue& value) const;

  Tensor scaled(const Tensor& x, double factor) const;
  Tensor sum(const Tensor& x, const Tensor& y) const;
  Tensor product(const Tensor& x, const Tensor& y) const;
  Tensor expanded(const Tensor& x, const Shape& shape) const;
  Tensor cast(const Tensor& x, ScalarType type) const;
  Tensor moved(const Tensor& x, Device device) const;

  void apply(const Node& node, const List& inputs, List& outputs) const;
  void make_custom(kit::CustomNodeRequest<Binding> request) const;
  NodeHandle node_of(const Tensor& tensor) const;
  NodeHandle accumulator_of(const Tensor& leaf) const;
  void trace(const NodeHandle& node, std::shared_ptr<kit::TraceBody> body) const;

  HookHandle add_tensor_hook(const Tensor& tensor, Hook body) const;
  void retain_grad(const Tensor& tensor) const;
  HookHandle add_node_pre_hook(const NodeHandle& node, Hook body) const;
  HookHandle add_node_post_hook(const NodeHandle& node, Hook body) const;
  HookHandle add_post_accumulate_hook(const Tensor& leaf, Hook body) const;
  HookHandle add_multi_hook(const List& tensors, Hook body) const;
  void remove_hook(const HookHandle& handle) const { handle.remove(); }

  List pass(kit::PassRequest<Binding> request) const;
  void queue_callback(kit::CallbackBody body) const;
  ErrorReport classify(const std::exception_ptr& error) const;
  kit::ThreadState thread_state() const;
  std::int64_t observe(const ObserveStep& step, const NodeHandle& node) const;
  void forget_programs();
  std::int64_t needed(const reference::Node& node) const;
  std::int64_t needed(const NodeHandle& node) const { return needed(*node); }

  std::shared_ptr<void> announce(const Tensor& to) const;
  void deliver(const std::shared_ptr<void>& announced, const Tensor& gradient) const;
  void fail(const std::shared_ptr<void>& announced, std::exception_ptr error) const;
  std::shared_ptr<kit::PassEnd<Binding>> start_pass(kit::PassRequest<Binding> request) const;
  void redirect(const NodeHandle& node, std::size_t edge, const Tensor& to) const;

  std::unique_ptr<kit::RankReducer<Binding>> make_reducer(ReducerId reducer, std::int32_t rank,
                                                          const List& parameters) const;

  void control_engine(const EngineStep& step);
  void control_stream(const StreamStep& step) const;
  void begin_capture(StreamId captured) const;
  void end_capture(StreamId captured) const;
  std::int32_t engine_threads() const;
  void register_use(const Tensor& tensor) const;
  std::size_t begin_work_purpose(std::string_view what, std::string_view name) const;
  void end_work_purpose() const;
  void end_work_purposes(std::size_t enclosing) const;
  std::vector<UnorderedAccess> unordered_accesses() const;

  reference::Stream stream(StreamId id) const { return streams_[static_cast<std::size_t>(id)]; }

 private:
  // Those that passes of this scenario go through. Throws NotOffered if they are not compiled.
  reference::Compiler& compiler() const;
  std::int64_t compiles_for(ObserveStep::Cause cause) const;

  reference::Engine& engine() const { return reference::Engine::default_engine(); }
  StreamId current_stream() const;
  void start_engine();

  const Scenario& scenario_;
  const bool strict_validation_;
  const std::optional<int> nesting_limit_;
  std::optional<int> previous_nesting_limit_;
  std::vector<reference::Stream> streams_;
  std::vector<std::vector<reference::ProcessGroupPointer>> groups_;  // by ReducerId and rank
  std::unique_ptr<reference::Engine> own_engine_;                    // after a stop of the engine
  const std::shared_ptr<reference::Compiler> compiler_;  // of this scenario; null: in use already
  reference::CompilerStatistics compiled_before_;
  const std::vector<reference::Device> refusing_;
  const std::uint64_t events_before_;
  const std::uint64_t waits_before_;
};

}  // namespace gradcts::reference_adapter
