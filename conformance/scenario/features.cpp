#include "conformance/scenario/features.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "conformance/scenario/check_tensor.h"
#include "conformance/scenario/words.h"

namespace gradcts {
namespace {

// In the order of the table. The groups that follow an enumeration (hooks, observations, ways to
// reach a tensor) are in the order of its enumerators.
enum Feature : std::size_t {
  hook_tensor,
  hook_retain_grad,
  hook_node_pre,
  hook_node_post,
  hook_post_accumulate,
  hook_capture,
  hook_multi,
  hook_saved,
  hook_on_accumulator,
  hook_add,
  hook_remove,
  pass_backward,
  pass_grad,
  pass_inputs,
  pass_inputs_non_leaf,
  pass_keep,
  pass_create_graph,
  pass_allow_unused,
  pass_materialise,
  pass_nested,
  pass_nested_alone,
  pass_undefined_seed,
  pass_no_roots,
  pass_leaf_root,
  custom_node,
  custom_saves,
  custom_undefined,
  custom_materialise,
  custom_once_differentiable,
  custom_pool,
  custom_conversion,
  custom_saves_leaf,
  callbacks,
  destructor_node,
  destructor_hook,
  destructor_user_state,
  observe_first,
  observe_last = observe_first + observe_words.size() - 1,
  threads,
  device_sim,
  device_other,
  device_cuda,
  device_set,
  streams,
  streams_captured,
  layout_strides,
  layout_sparse,
  layout_sparse_on_device,
  grad_preset,
  grad_set,
  change_first,
  change_last = change_first + through_words.size() - 1,
  keep_first,
  keep_last = keep_first + through_words.size() - 1,
  drop,
  requires_grad,
  recording_mode,
  anomaly,
  anomaly_unchecked,
  anomaly_report,
  user_state,
  strict_validation,
  nesting_limit,
  compiled,
  forget_programs,
  engine_start,
  engine_stop,
  fork_feature,
  stop_limit,
  error_foreign,
  announced,
  asynchronous,
  redirect,
  close_hooks,
  refusals,
  hook_returns_list,
  reducer,
  reducer_find_unused,
  reducer_static_graph,
  reducer_views,
  reducer_rebuild,
  reducer_buckets,
  reducer_limit,
  reducer_reset,
  reducer_ask_first,
  reducer_ask_last = reducer_ask_first + question_words.size() - 1,
  feature_count,
};

constexpr std::array<FeatureSpec, feature_count> features{{
    {"hook.tensor", "hooks on a tensor's gradient"},
    {"hook.retain_grad", "a non-leaf tensor keeps its gradient in .grad"},
    {"hook.node_pre", "hooks before a node runs"},
    {"hook.node_post", "hooks after a node ran"},
    {"hook.post_accumulate", "hooks after a leaf's gradient was accumulated"},
    {"hook.capture", "hooks on what grad() captures"},
    {"hook.multi", "one hook over several tensors"},
    {"hook.saved", "pack and unpack hooks for saved tensors"},
    {"hook.on_accumulator", "node hooks on a leaf accumulator"},
    {"hook.add", "hooks added by a step"},
    {"hook.remove", "hooks removed by a step"},
    {"pass.backward", "backward: gradients go into leaves"},
    {"pass.grad", "grad: gradients are returned"},
    {"pass.inputs", "backward restricted to some inputs"},
    {"pass.inputs.non_leaf", "backward restricted to inputs that are no leaves"},
    {"pass.keep", "a pass that keeps the graph"},
    {"pass.create_graph", "a pass that is recorded"},
    {"pass.allow_unused", "grad that allows inputs which are not reached"},
    {"pass.materialise", "grad that gives zeros for inputs which are not reached"},
    {"pass.nested", "a pass started by a node, hook or callback"},
    {"pass.nested.alone", "who waits for a nested pass runs no node of an outer one"},
    {"pass.undefined_seed", "a root without a gradient"},
    {"pass.no_roots", "a pass without roots"},
    {"pass.leaf_root", "a leaf as the root of a pass"},
    {"custom.node", "nodes whose backward is scripted"},
    {"custom.saves", "custom nodes that save tensors"},
    {"custom.undefined", "custom nodes that return undefined gradients"},
    {"custom.materialise", "custom nodes that are given zeros for undefined gradients"},
    {"custom.once_differentiable", "custom nodes that refuse a second derivative"},
    {"custom.pool", "custom nodes that return a buffer which they own and use again"},
    {"custom.conversion", "custom nodes and hooks that expand, cast or move what they return"},
    {"leaf.saved_elsewhere", "custom nodes that save a leaf which is none of their inputs"},
    {"callbacks", "callbacks queued for the end of a pass"},
    {"destructor.node", "steps that run when the engine lets go of a custom node"},
    {"destructor.hook", "steps that run when the engine lets go of a hook"},
    {"destructor.user_state", "steps that run when the engine lets go of the user's state"},
    {"observe.recording", "asks whether gradients are recorded"},
    {"observe.user_state", "reads the thread-local slot that the engine carries"},
    {"observe.device", "asks for the current device"},
    {"observe.stream", "asks for the current stream"},
    {"observe.depth", "asks for the nesting of passes"},
    {"observe.checkpoint_valid", "asks whether checkpointing is valid"},
    {"observe.inside_pass", "asks whether a pass is running"},
    {"observe.needed", "asks which gradients of the running node are needed"},
    {"observe.will_run", "asks whether a node will run in this pass"},
    {"observe.anomaly", "asks whether anomaly mode is on"},
    {"observe.engine_threads", "counts the threads that the engine keeps for itself"},
    {"observe.live_objects", "counts the scripted objects that the engine keeps alive"},
    {"observe.stream_events", "counts the events recorded on streams"},
    {"observe.stream_waits", "counts the waits of streams for events"},
    {"observe.programs", "counts the programs of compiled passes"},
    {"observe.replays", "counts the passes that found their program"},
    {"observe.compiles", "counts the passes for which a program was made"},
    {"observe.compiles_for", "counts them by what was new about them"},
    {"threads", "several threads that use the engine"},
    {"device.sim", "the simulated device"},
    {"device.other", "a second device type, with another number of devices"},
    {"device.cuda", "CUDA devices"},
    {"device.set", "a change of the current device"},
    {"streams", "streams: current ones, waits, synchronisation"},
    {"streams.captured",
     "a stream that is captured while a program runs, and waits for nothing outside"},
    {"layout.strides", "tensors with strides of their own"},
    {"layout.sparse", "sparse tensors"},
    {"layout.sparse.on_device", "sparse tensors on devices"},
    {"grad.preset", "a leaf made with a .grad"},
    {"grad.set", "a .grad set or cleared by a step"},
    {"change.handle", "in-place changes of a tensor"},
    {"change.view", "in-place changes through a view"},
    {"change.detached", "in-place changes through a detached alias"},
    {"change.data", "in-place changes through an alias with its own version counter"},
    {"keep.handle", "a script that keeps a tensor it was given"},
    {"keep.view", "a script that keeps a view of a tensor it was given"},
    {"keep.detached", "a script that keeps a detached alias of a tensor it was given"},
    {"keep.data", "a script that keeps a data alias of a tensor it was given"},
    {"drop", "handles dropped by a step"},
    {"requires_grad", "requires_grad turned on or off by a step"},
    {"recording_mode", "gradient recording turned on or off by a step"},
    {"anomaly", "anomaly mode"},
    {"anomaly.unchecked", "anomaly mode without the check for NaN"},
    {"anomaly.report",
     "the error of anomaly mode says where the node was made, and in whose backward"},
    {"user_state", "a thread-local slot that the engine carries to its threads"},
    {"strict_validation",
     "the option by which every difference from the recorded shape is an error"},
    {"nesting_limit", "the setting for nested passes on one thread"},
    {"compiled", "passes that are compiled and replayed"},
    {"compiled.forget", "programs of compiled passes that are forgotten by a step"},
    {"engine.start", "starting the engine"},
    {"engine.stop", "stopping the engine"},
    {"fork", "forking the process"},
    {"engine.stop_limit", "a limit for the wait of a stop"},
    {"error.foreign", "exceptions of types outside the standard hierarchy"},
    {"pass.announced", "gradients that are announced to a pass and delivered from outside"},
    {"pass.asynchronous", "a pass whose call returns at once and whose result comes by a future"},
    {"graph.redirect", "an edge of a node that is made to lead elsewhere"},
    {"hook.saved.close", "saved-tensor hooks that are left before their context ends"},
    {"device.refusal", "a device that refuses to be used by a new thread"},
    {"hook.returns_list", "a hook on one tensor that returns a list of tensors"},
    {"reducer", "averages of gradients over ranks"},
    {"reducer.find_unused", "a reducer that looks for parameters which a pass does not use"},
    {"reducer.static_graph", "a reducer that counts gradients in the first of many equal passes"},
    {"reducer.views", "gradients that are views of what is reduced"},
    {"reducer.rebuild", "buckets rebuilt in the order in which gradients arrive"},
    {"reducer.buckets", "buckets that are given to a reducer"},
    {"reducer.limit",
     "a rank that waits no longer than a limit, and is told when another one fails"},
    {"reducer.reset", "a reducer that is told to forget an unfinished pass"},
    {"reducer.ask.buckets", "asks a reducer for its buckets"},
    {"reducer.ask.launches", "asks a reducer for the order of its reductions"},
    {"reducer.ask.ready", "asks a reducer for the order in which parameters became ready"},
    {"reducer.ask.collectives", "asks a reducer how often ranks have met"},
}};

class Finder {
 public:
  void find_in(const Scenario& scenario);
  std::set<std::string> names() const;
  bool uses_devices() const {
    return found_[device_sim] || found_[device_other] || found_[device_cuda] || found_[streams];
  }

 private:
  void note(Feature feature) { found_.set(feature); }
  void note_if(bool condition, Feature feature) {
    if (condition) found_.set(feature);
  }
  // The feature of a group that belongs to an enumerator.
  template <typename Enum>
  void note_in(Feature first, Enum value) {
    found_.set(first + static_cast<std::size_t>(value));
  }

  void note_device(Device device);
  void note_tensor(const TensorValue& tensor);
  void note_tensor(const std::optional<TensorValue>& tensor) {
    if (tensor) note_tensor(*tensor);
  }
  void note_leaf(const Leaf& leaf);
  void note_node(const Node& node);
  void note_script(const Script& script);
  void note_expressions(const std::vector<Expression>& expressions);
  void note_hook(const Hook& hook, const Scenario& scenario);
  void note_nested(const Scenario& scenario);

  void note_step(const ForwardStep&, const Scenario&) {}
  void note_step(const PassStep& step, const Scenario& scenario);
  void note_step(const SetGradStep& step, const Scenario&) {
    note(grad_set);
    note_tensor(step.grad);
  }
  void note_step(const ReadStep&, const Scenario&) {}
  void note_step(const ChangeStep& step, const Scenario&) { note_in(change_first, step.through); }
  void note_step(const KeepStep& step, const Scenario&) { note_in(keep_first, step.through); }
  void note_step(const DeliverStep& step, const Scenario&) {
    note(announced);
    note_tensor(step.gradient.constant);
  }
  void note_step(const WaitStep&, const Scenario&) { note(asynchronous); }
  void note_step(const WhenDoneStep&, const Scenario&) { note(asynchronous); }
  void note_step(const RedirectStep&, const Scenario&) { note(redirect); }
  void note_step(const CloseHooksStep&, const Scenario&) { note(close_hooks); }
  void note_step(const ForgetProgramsStep&, const Scenario&) { note(forget_programs); }
  void note_step(const ReducerStep& step, const Scenario&) {
    note_if(step.what == ReducerStep::What::reset, reducer_reset);
    if (step.what == ReducerStep::What::ask) note_in(reducer_ask_first, step.question);
  }
  void note_reducer(const Reducer& wanted);
  void note_step(const DropStep&, const Scenario&) { note(drop); }
  void note_step(const RequiresGradStep&, const Scenario&) { note(requires_grad); }
  void note_step(const WithStep& step, const Scenario&);
  void note_step(const TryStep&, const Scenario&) {}
  void note_step(const ParallelStep&, const Scenario&) { note(threads); }
  void note_step(const RepeatStep&, const Scenario&) {}
  void note_step(const BarrierStep&, const Scenario&) {}
  void note_step(const LockStep&, const Scenario&) {}
  void note_step(const ThrowStep& step, const Scenario&) { note_if(step.foreign, error_foreign); }
  void note_step(const QueueCallbackStep&, const Scenario&) { note(callbacks); }
  void note_step(const HookStep& step, const Scenario&) { note(step.add ? hook_add : hook_remove); }
  void note_step(const ObserveStep& step, const Scenario&) { note_in(observe_first, step.what); }
  void note_step(const EngineStep& step, const Scenario&) {
    note(step.what == EngineStep::What::start ? engine_start : engine_stop);
    note_if(step.limit.has_value(), stop_limit);
  }
  void note_step(const ForkStep&, const Scenario&) { note(fork_feature); }
  void note_step(const StreamStep&, const Scenario&) { note(streams); }

  std::bitset<feature_count> found_;
  std::bitset<scalar_type_words.size()> types_;
  std::bitset<operation_count> operations_;
};

void Finder::note_device(Device device) {
  switch (device.type) {
    case DeviceType::cpu:
      return;
    case DeviceType::sim:
      return note(device_sim);
    case DeviceType::other:
      return note(device_other);
    case DeviceType::cuda:
      return note(device_cuda);
  }
}

void Finder::note_tensor(const TensorValue& tensor) {
  types_.set(static_cast<std::size_t>(tensor.type));
  note_device(tensor.device);
  const bool sparse = tensor.layout == Layout::sparse;
  note_if(sparse, layout_sparse);
  note_if(sparse && tensor.device.type != DeviceType::cpu, layout_sparse_on_device);
  note_if(has_own_strides(tensor), layout_strides);
}

void Finder::note_leaf(const Leaf& leaf) {
  note_tensor(leaf.initial);
  note_tensor(leaf.grad);
  note_if(leaf.grad.has_value(), grad_preset);
  note_if(leaf.stream != no_id, streams);
}

void Finder::note_node(const Node& node) {
  for (const Attribute& attribute : node.attributes) {
    if (const auto* type = std::get_if<ScalarType>(&attribute)) {
      types_.set(static_cast<std::size_t>(*type));
    }
    if (const auto* device = std::get_if<Device>(&attribute)) note_device(*device);
    const auto* flag = std::get_if<bool>(&attribute);
    note_if(node.operation == Operation::embedding && flag && *flag,
            layout_sparse);  // its gradient
  }
  if (!node.custom) {
    operations_.set(static_cast<std::size_t>(node.operation));
    return;
  }
  const CustomNode& custom = *node.custom;
  note(custom_node);
  note_if(!custom.saves.empty(), custom_saves);
  for (const ValueId saved : custom.saves) {
    const auto holds = [&](const std::vector<ValueId>& values) {
      return std::find(values.begin(), values.end(), saved) != values.end();
    };
    note_if(!holds(node.inputs) && !holds(node.outputs), custom_saves_leaf);
  }
  note_if(custom.destroyed != no_id, destructor_node);
  note_if(custom.materialise, custom_materialise);
  note_if(!custom.differentiable, custom_once_differentiable);
  note_expressions(custom.forward);
  note_script(custom.backward);
  if (!custom.backward.returns) return;
  for (const Expression& expression : *custom.backward.returns) {
    note_if(expression.kind == Expression::Kind::undefined, custom_undefined);
  }
}

void Finder::note_script(const Script& script) {
  if (script.returns) note_expressions(*script.returns);
}

void Finder::note_expressions(const std::vector<Expression>& expressions) {
  for (const Expression& expression : expressions) {
    note_tensor(expression.constant);
    note_if(expression.kind == Expression::Kind::pool, custom_pool);
    note_if(expression.expand || expression.cast || expression.move_to, custom_conversion);
    if (expression.cast) types_.set(static_cast<std::size_t>(*expression.cast));
    if (expression.move_to) note_device(*expression.move_to);
  }
}

void Finder::note_hook(const Hook& hook, const Scenario& scenario) {
  note_in(hook_tensor, hook.kind);
  note_if(hook.node != no_id && is_accumulator(scenario, hook.node), hook_on_accumulator);
  note_script(hook.script);
  note_script(hook.unpack_script);
  note_if(hook.destroyed != no_id, destructor_hook);
  const bool on_one = hook.kind == HookKind::tensor || hook.kind == HookKind::capture ||
                      hook.kind == HookKind::saved;
  const auto is_list = [](const Script& s) { return s.returns && s.returns->size() != 1; };
  note_if(on_one && (is_list(hook.script) || is_list(hook.unpack_script)), hook_returns_list);
}

void Finder::note_step(const PassStep& step, const Scenario& scenario) {
  const auto is_leaf = [&](ValueId value) {
    return scenario.values[static_cast<std::size_t>(value)].origin == Value::Origin::leaf;
  };
  const bool backward = step.kind == PassStep::Kind::backward;
  note(backward ? pass_backward : pass_grad);
  note_if(backward && step.inputs, pass_inputs);
  note_if(
      backward && step.inputs && !std::all_of(step.inputs->begin(), step.inputs->end(), is_leaf),
      pass_inputs_non_leaf);
  note_if(step.keep_graph, pass_keep);
  note_if(step.create_graph, pass_create_graph);
  note_if(step.allow_unused, pass_allow_unused);
  note_if(step.materialise, pass_materialise);
  note_if(step.roots.empty(), pass_no_roots);
  note_if(!step.announced.empty(), announced);
  note_if(step.future != no_id, asynchronous);
  for (const Root& root : step.roots) {
    note_if(is_leaf(root.value), pass_leaf_root);
    note_if(!root.seed.constant && root.seed.value == no_id, pass_undefined_seed);
    note_tensor(root.seed.constant);
  }
}

void Finder::note_step(const WithStep& step, const Scenario&) {
  note_if(step.recording.has_value(), recording_mode);
  note_if(step.anomaly.has_value(), anomaly);
  note_if(step.check_nan == false, anomaly_unchecked);
  note_if(step.user_state.has_value(), user_state);
  note_if(step.user_state_destroyed != no_id, destructor_user_state);
  note_if(step.stream != no_id, streams);
  note_if(step.captured, streams_captured);
  note_if(step.device.has_value(), device_set);
  if (step.device) note_device(*step.device);
}

// Passes in scripts.
void Finder::note_nested(const Scenario& scenario) {
  const auto look = [&](const Steps& steps) {
    for_each_step(steps, [&](const Step& step) {
      note_if(std::holds_alternative<PassStep>(step.action), pass_nested);
    });
  };
  for (const Node& node : scenario.nodes) {
    if (node.custom) look(node.custom->backward.steps);
  }
  for (const Hook& hook : scenario.hooks) {
    look(hook.script.steps);
    look(hook.unpack_script.steps);
  }
  for (const Callback& callback : scenario.callbacks) look(callback.steps);
}

void Finder::note_reducer(const Reducer& wanted) {
  note(reducer);
  note_if(wanted.find_unused, reducer_find_unused);
  note_if(wanted.static_graph, reducer_static_graph);
  note_if(wanted.views, reducer_views);
  note_if(wanted.rebuild, reducer_rebuild);
  note_if(!wanted.buckets.empty(), reducer_buckets);
  note_if(wanted.limit.has_value(), reducer_limit);
}

void Finder::find_in(const Scenario& scenario) {
  for (const Reducer& wanted : scenario.reducers) note_reducer(wanted);
  note_if(scenario.configuration.strict_validation, strict_validation);
  note_if(scenario.configuration.nesting_limit.has_value(), nesting_limit);
  for (const Refusal& refusal : scenario.configuration.refusals) {
    note(refusals);
    note_device(refusal.device);
  }
  for (const Stream& stream : scenario.streams) note_device(stream.device);
  for (const Leaf& leaf : scenario.leaves) note_leaf(leaf);
  for (const Node& node : scenario.nodes) note_node(node);
  for (const Hook& hook : scenario.hooks) note_hook(hook, scenario);
  for_each_step(scenario, [&](const Step& step) {
    std::visit([&](const auto& action) { note_step(action, scenario); }, step.action);
  });
  note_nested(scenario);
}

std::set<std::string> Finder::names() const {
  std::set<std::string> names;
  for (std::size_t i = 0; i < feature_count; ++i) {
    if (found_[i]) names.emplace(features[i].name);
  }
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i]) names.insert("operation." + std::string(all_operations()[i].name));
  }
  for (std::size_t i = 0; i < types_.size(); ++i) {
    if (types_[i]) names.insert("type." + std::string(scalar_type_words[i]));
  }
  return names;
}

// Whether a claim, possibly of a whole group ("operation.*"), covers the feature.
bool covers(std::string_view claim, std::string_view feature) {
  if (claim == feature) return true;
  return claim.size() >= 2 && claim.substr(claim.size() - 2) == ".*" &&
         feature.substr(0, claim.size() - 1) == claim.substr(0, claim.size() - 1);
}

}  // namespace

std::span<const FeatureSpec> all_features() {
  return features;
}

bool is_feature(std::string_view name) {
  constexpr std::string_view operation = "operation.";
  constexpr std::string_view type = "type.";
  if (name.substr(0, operation.size()) == operation) {
    const OperationSpec* spec = find_operation(name.substr(operation.size()));
    return spec != nullptr && spec->operation != Operation::custom;
  }
  if (name.substr(0, type.size()) == type) {
    return scalar_type_from_text(name.substr(type.size())).has_value();
  }
  return std::any_of(features.begin(), features.end(),
                     [&](const FeatureSpec& feature) { return feature.name == name; });
}

std::set<std::string> required_features(const Scenario& scenario) {
  Finder finder;
  finder.find_in(scenario);
  std::set<std::string> names = finder.names();
  names.insert(scenario.requires_features.begin(), scenario.requires_features.end());
  return names;
}

bool uses_devices(const Scenario& scenario) {
  Finder finder;
  finder.find_in(scenario);
  return finder.uses_devices();
}

std::vector<std::string> missing_features(const std::set<std::string>& required,
                                          const std::vector<std::string>& claimed) {
  std::vector<std::string> missing;
  for (const std::string& feature : required) {
    const bool claimed_one = std::any_of(claimed.begin(), claimed.end(),
                                         [&](const auto& claim) { return covers(claim, feature); });
    if (!claimed_one) missing.push_back(feature);
  }
  return missing;
}

}  // namespace gradcts
