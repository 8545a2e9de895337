// Scripts, hooks, callbacks and passes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "conformance/scenario/words.h"
#include "fuzz/draft.h"

namespace gradcts::fuzz {

namespace {

bool is_visible(const Known& known, const Place& place) {
  const bool same_thread =
      known.thread == -1 || place.thread == any_thread || known.thread == place.thread;
  return known.item < place.item && same_thread && !known.dropped;
}

// What a script uses stays as it is: see Note [Always valid].
void use_in_script(Draft& draft, ValueId value) {
  Known& known = draft.of(value);
  known.in_script = true;
  draft.frozen[at(known.storage)] = true;
}

// ------------------------------------------------------------------------------------------------
// Passes

class PassMaker {
 public:
  PassMaker(Draft& draft, Choices& choices, const Place& place)
      : draft_(draft), plan_(draft.plan), choices_(choices), place_(place) {}
  std::optional<PassStep> make(double& cost);

 private:
  const Known& of(ValueId value) const { return draft_.known[at(value)]; }
  ValueId root();
  Seed seed_of(const Known& root);
  ValueId input(ItemSet reach);
  void choose_inputs(PassStep& pass, ItemSet reach);
  void choose_flags(PassStep& pass);
  void add_capture_hooks(PassStep& pass);

  Draft& draft_;
  const Plan& plan_;
  Choices& choices_;
  const Place& place_;
};

ValueId PassMaker::root() {
  return pick(draft_, choices_, [&](ValueId value) {
    return is_visible(of(value), place_) && of(value).tracked &&
           draft_.cost_of(of(value).reach) < most_cost;
  });
}

Seed PassMaker::seed_of(const Known& root) {
  Seed seed;
  if (plan_.undefined_seeds && choices_.one_in(4)) return seed;
  if (choices_.one_in(8) && !place_.in_script) {
    const ValueId from = pick(draft_, choices_, [&](ValueId value) {
      const bool result = draft_.scenario.values[at(value)].origin == Value::Origin::pass_result;
      const bool defined = !result || plan_.undefined_seeds;
      return defined && is_visible(of(value), place_) && of(value).shape == root.shape &&
             of(value).type == root.type && of(value).device == root.device &&
             of(value).range <= 16;
    });
    if (from != no_id) {
      seed.value = from;
      return seed;
    }
  }
  seed.constant = small_integers(root, 1 + choices_.below(12));
  // One error at a time: which of two is reported is free.
  if (plan_.errors && !plan_.inputs && !plan_.requires_grad && choices_.one_in(16)) {
    seed.constant = TensorValue::filled({5}, 2, root.type);
    seed.constant->device = root.device;
  }
  return seed;
}

ValueId PassMaker::input(ItemSet reach) {
  const bool anywhere = choices_.one_in(8);
  const auto fits = [&](ValueId value) {
    const Known& known = of(value);
    const bool reached = known.item >= 0 && ((reach >> known.item) & 1U) != 0;
    return is_visible(known, place_) && known.tracked && (anywhere || reached);
  };
  return pick(draft_, choices_, fits);
}

void PassMaker::choose_inputs(PassStep& pass, ItemSet reach) {
  const bool grad = pass.kind == PassStep::Kind::grad;
  if (!grad && !(plan_.inputs && choices_.one_in(3))) return;
  std::vector<ValueId> inputs;
  const std::uint32_t count = 1 + choices_.below(3);
  for (std::uint32_t i = 0; i < count; ++i) {
    const ValueId value = input(reach);
    if (value == no_id) continue;
    const bool leaf = draft_.scenario.values[at(value)].origin == Value::Origin::leaf;
    // Two threads may add into one leaf, but not into another value's `.grad`. Whether a value that
    // retains its gradient gets it twice when it is asked for, no clause says.
    if (!grad && !leaf && (plan_.threads > 0 || plan_.retain_grad)) continue;
    inputs.push_back(value);
    if (place_.in_script) use_in_script(draft_, value);
  }
  if (inputs.empty()) {
    pass.kind = PassStep::Kind::backward;
    return;
  }
  pass.inputs = std::move(inputs);
}

void PassMaker::choose_flags(PassStep& pass) {
  // What several queues or threads go through at a time is kept: who releases it first is free.
  const bool nests = plan_.nested || plan_.checkpoints;
  const bool shared = plan_.threads > 0 || (plan_.sim && nests);
  pass.keep_graph = shared || !choices_.one_in(place_.in_script ? 8 : 4);
  pass.create_graph = plan_.create && choices_.one_in(3);
  if (pass.kind != PassStep::Kind::grad) return;
  pass.allow_unused = choices_.one_in(3);
  pass.materialise = choices_.one_in(4) && plan_.zeros_for_unused;
  // Whether an input that nothing is asked for is an error, ROOT-5 and PRUNE-4 see differently.
  if (pass.roots.empty()) {
    pass.allow_unused = true;
    pass.materialise = false;
  }
}

void PassMaker::add_capture_hooks(PassStep& pass) {
  if (!plan_.capture_hooks || pass.kind != PassStep::Kind::grad || pass.inputs->empty()) return;
  if (!choices_.one_in(2)) return;
  const auto input = static_cast<std::int32_t>(choices_.below(pass.inputs->size()));
  Hook hook;
  hook.kind = HookKind::capture;
  hook.name = draft_.fresh_name("h");
  const Known& captured = of((*pass.inputs)[at(input)]);
  if (captured.item < 0) return;
  if (choices_.one_in(2)) {
    hook.script.returns.emplace();
    hook.script.returns->emplace_back();
    hook.script.returns->back().terms = {{0, 2, no_id}};
  }
  const Place place{captured.item, 1, place_.thread, false, true};
  hook.script.steps = script_steps(draft_, choices_, place);
  draft_.scenario.hooks.push_back(std::move(hook));
  pass.capture_hooks.push_back({input, static_cast<HookId>(draft_.scenario.hooks.size() - 1)});
}

std::optional<PassStep> PassMaker::make(double& cost) {
  PassStep pass;
  if (plan_.grads && choices_.one_in(2)) pass.kind = PassStep::Kind::grad;
  const bool several = choices_.one_in(3);
  const std::uint32_t roots = several ? (choices_.one_in(8) ? 0 : 2 + choices_.below(2)) : 1;
  ItemSet reach = 0;
  for (std::uint32_t i = 0; i < roots; ++i) {
    const ValueId value = root();
    if (value == no_id) continue;
    reach |= of(value).reach;
    if (place_.in_script) use_in_script(draft_, value);
    pass.roots.push_back({value, seed_of(of(value))});
  }
  if (pass.roots.empty() && roots > 0) return std::nullopt;
  choose_inputs(pass, reach);
  choose_flags(pass);
  add_capture_hooks(pass);
  cost = 1 + draft_.cost_of(reach);
  return pass;
}

// ------------------------------------------------------------------------------------------------
// Scripts

class ScriptMaker {
 public:
  ScriptMaker(Draft& draft, Choices& choices, const Place& place)
      : draft_(draft), plan_(draft.plan), choices_(choices), place_(place) {}
  Steps make();

 private:
  void add(std::uint32_t kind, Steps& steps);
  void nest(Steps& steps);
  void call_back(Steps& steps);
  void keep(Steps& steps);
  void change_hooks(Steps& steps);
  void read(Steps& steps);
  void run_again(Steps& steps);
  bool may_keep_itself(const Node& node) const;
  Step failure();

  Draft& draft_;
  const Plan& plan_;
  Choices& choices_;
  const Place place_;
};

void ScriptMaker::nest(Steps& steps) {
  double cost = 0;
  std::optional<PassStep> pass = make_pass(draft_, choices_, place_, cost);
  double& own = draft_.cost[at(place_.item)];
  if (!pass || own + cost > most_cost / 4) return;
  own += cost;
  // The pass hands over to the stream that is current here; the program reads on s0.
  if (plan_.streams && !place_.in_node) {
    WithStep with;
    with.stream = 0;
    with.steps.push_back(step_of(std::move(*pass)));
    return steps.push_back(step_of(std::move(with)));
  }
  steps.push_back(step_of(std::move(*pass)));
  for (std::size_t i = 1; i < draft_.scenario.streams.size(); ++i) {
    steps.push_back(step_of(StreamStep{StreamStep::What::wait, 0, static_cast<StreamId>(i)}));
  }
}

void ScriptMaker::call_back(Steps& steps) {
  // Nodes on two devices queue at the same time, and callbacks run in the order in which they are
  // queued.
  if (draft_.scenario.callbacks.size() >= (plan_.sim ? 1 : 4)) return;
  const auto id = static_cast<CallbackId>(draft_.scenario.callbacks.size());
  draft_.scenario.callbacks.push_back({fmt::format("c{}", id), {}});
  const Place inside{place_.item, 0, place_.thread, false, true};
  Steps inner = script_steps(draft_, choices_, inside);
  draft_.scenario.callbacks[at(id)].steps = std::move(inner);
  steps.push_back(step_of(QueueCallbackStep{id}));
  if (choices_.one_in(6)) steps.push_back(step_of(QueueCallbackStep{id}));
}

void ScriptMaker::keep(Steps& steps) {
  if (place_.slots == 0) return;
  Known facts;
  facts.usable = false;
  const ValueId value =
      draft_.add_value(draft_.fresh_name("k"), Value::Origin::kept, no_id, 0, facts);
  const auto slot = static_cast<std::int32_t>(choices_.below(at(place_.slots)));
  const Through way =
      std::array{Through::handle, Through::view, Through::detached}[choices_.below(3)];
  steps.push_back(step_of(KeepStep{slot, no_id, way, value}));
}

void ScriptMaker::change_hooks(Steps& steps) {
  for (const HookId id : draft_.loose_hooks) {
    const Hook& hook = draft_.scenario.hooks[at(id)];
    const std::int32_t item = hook.values.empty() ? -1 : draft_.of(hook.values[0]).item;
    const bool below = item >= 0 && item < place_.item;
    if (!below || choices_.one_in(2)) continue;
    steps.push_back(step_of(HookStep{id, !choices_.one_in(3)}));
    return;
  }
}

void ScriptMaker::read(Steps& steps) {
  const ValueId value =
      pick(draft_, choices_, [&](ValueId v) { return is_visible(draft_.of(v), place_); });
  if (value == no_id) return;
  use_in_script(draft_, value);
  ReadStep step;
  const bool leaf = draft_.scenario.values[at(value)].origin == Value::Origin::leaf;
  if (leaf && plan_.threads == 0 && !plan_.sim && choices_.one_in(2)) {
    step.grads = {value};
  } else {
    step.values = {value};
  }
  steps.push_back(step_of(std::move(step)));
}

// Whoever makes it anew drops what was there, and what is dropped while its `.grad` has a history
// keeps it, the one cycle that may stay (GRAPH2-4).
bool ScriptMaker::may_keep_itself(const Node& node) const {
  const auto& hooks = draft_.scenario.hooks;
  const bool retains = std::any_of(hooks.begin(), hooks.end(), [&](const Hook& hook) {
    return hook.kind == HookKind::retain_grad && std::find(node.outputs.begin(), node.outputs.end(),
                                                           hook.values[0]) != node.outputs.end();
  });
  return plan_.create && (plan_.inputs || retains);
}

// As a checkpoint does: a forward once more, recorded, and a pass over what it made.
void ScriptMaker::run_again(Steps& steps) {
  for (std::size_t id = draft_.scenario.nodes.size(); id-- > 0;) {
    const Node& node = draft_.scenario.nodes[id];
    if (draft_.node_items[id] >= place_.item || spec_of(node.operation).in_place) continue;
    if (may_keep_itself(node)) continue;
    double& own = draft_.cost[at(place_.item)];
    const Known& output = draft_.of(node.outputs[0]);
    const double cost = 1 + draft_.cost_of(output.reach);
    if (!output.tracked || own + cost > most_cost / 4) return;
    own += cost;
    WithStep with;
    with.recording = true;
    with.steps.push_back(step_of(ForwardStep{{static_cast<NodeId>(id)}}));
    PassStep pass;
    pass.keep_graph = true;
    pass.roots.push_back({node.outputs[0], {small_integers(output, 2), no_id}});
    with.steps.push_back(step_of(std::move(pass)));
    for (const ValueId value : node.inputs) use_in_script(draft_, value);
    for (const ValueId value : node.outputs) use_in_script(draft_, value);
    steps.push_back(step_of(std::move(with)));
    return;
  }
}

Step ScriptMaker::failure() {
  return step_of(ThrowStep{draft_.fresh_name("e"), choices_.one_in(4)});
}

void ScriptMaker::add(std::uint32_t kind, Steps& steps) {
  const bool throws = plan_.scripts_throw;
  if (kind <= 4 && plan_.nested) return nest(steps);
  if (kind <= 6 && plan_.callbacks) return call_back(steps);
  if (kind == 7 && throws) return steps.push_back(failure());
  if (kind == 8 && plan_.keeps) return keep(steps);
  if (kind == 9 && plan_.hook_steps) return change_hooks(steps);
  if (kind == 10 && throws) {
    TryStep attempt;
    if (plan_.nested) nest(attempt.steps);
    attempt.steps.push_back(failure());
    return steps.push_back(step_of(std::move(attempt)));
  }
  if (kind == 11 && plan_.modes) {
    WithStep with;
    if (choices_.one_in(2)) with.user_state = 1 + choices_.below(9);
    if (!with.user_state || choices_.one_in(3)) with.recording = choices_.one_in(2);
    with.steps.push_back(observe_step(draft_, choices_, place_));
    if (plan_.nested) nest(with.steps);
    return steps.push_back(step_of(std::move(with)));
  }
  if (kind == 12 && plan_.locks) {
    steps.push_back(step_of(LockStep{0, true}));
    steps.push_back(observe_step(draft_, choices_, place_));
    return steps.push_back(step_of(LockStep{0, false}));
  }
  if (kind == 13 && !plan_.streams) return read(steps);
  if (kind == 14 && plan_.checkpoints) return run_again(steps);
  if (plan_.observes) steps.push_back(observe_step(draft_, choices_, place_));
}

Steps ScriptMaker::make() {
  Steps steps;
  const std::uint32_t count = std::array{0U, 0U, 1U, 1U, 2U}[choices_.below(5)];
  for (std::uint32_t i = 0; i < count; ++i) add(choices_.below(16), steps);
  return steps;
}

// ------------------------------------------------------------------------------------------------
// Hooks

class HookMaker {
 public:
  HookMaker(Draft& draft, Choices& choices, ValueId value, NodeId node)
      : draft_(draft), plan_(draft.plan), choices_(choices), value_(value), node_(node) {}
  void add(HookKind kind);
  std::optional<HookKind> choose();

 private:
  std::int32_t slots(HookKind kind) const;
  void give_returns(Hook& hook, std::int32_t slots, bool list);
  Expression result(std::int32_t slot);
  bool is_leaf() const { return node_ < 0; }

  Draft& draft_;
  const Plan& plan_;
  Choices& choices_;
  const ValueId value_;
  const NodeId node_;
};

std::optional<HookKind> HookMaker::choose() {
  switch (choices_.below(12)) {
    case 1:
    case 2:
      if (plan_.tensor_hooks) return HookKind::tensor;
      break;
    case 3:
    case 4:
      if (plan_.pre_hooks) return HookKind::node_pre;
      break;
    case 5:
    case 6:
      if (plan_.post_hooks) return HookKind::node_post;
      break;
    case 7:
      if (plan_.retain_grad) return HookKind::retain_grad;
      break;
    case 8:
    case 9:
      if (plan_.multi_hooks) return HookKind::multi;
      if (plan_.post_accumulate && is_leaf()) return HookKind::post_accumulate;
      break;
    case 10:
      if (plan_.post_accumulate && is_leaf()) return HookKind::post_accumulate;
      break;
    default:
      break;
  }
  return std::nullopt;
}

std::int32_t HookMaker::slots(HookKind kind) const {
  const auto count = [&](bool inputs) {
    const Node& node = draft_.scenario.nodes[at(node_)];
    return static_cast<std::int32_t>(inputs ? node.inputs.size() : node.outputs.size());
  };
  if (kind == HookKind::tensor) return 1;
  if (kind == HookKind::node_pre) return is_leaf() ? 1 : count(false);
  if (kind == HookKind::node_post) return is_leaf() ? 0 : count(true);
  return 0;
}

Expression HookMaker::result(std::int32_t slot) {
  Expression result;
  const std::uint32_t kind = choices_.below(6);
  if (kind == 5) {
    result.kind = Expression::Kind::pass;
    result.slot = slot;
    return result;
  }
  result.terms = {{slot, std::array{1.0, 2.0, 3.0, -1.0, 0.0}[kind], no_id}};
  return result;
}

void HookMaker::give_returns(Hook& hook, std::int32_t slots, bool list) {
  Known& known = draft_.of(value_);
  if (!choices_.one_in(2) || !draft_.is_exact(3 * known.spread, known.range)) return;
  std::vector<Expression> returns;
  for (std::int32_t i = 0; i < slots; ++i) returns.push_back(result(i));
  if (plan_.errors && choices_.one_in(8)) {
    if (list) {  // of these only the count is checked
      returns.emplace_back();
      returns.back().kind = Expression::Kind::undefined;
    } else if (!returns.empty()) {
      returns[0] = Expression();
      returns[0].kind = Expression::Kind::constant;
      returns[0].constant = TensorValue::filled({5}, 1, known.type);
    }
  }
  hook.script.returns = std::move(returns);
  const std::int32_t item = known.item;
  for (Known& other : draft_.known) {  // all outputs of the node
    if (other.item == item) other.spread *= 3;
  }
}

void HookMaker::add(HookKind kind) {
  Hook hook;
  hook.kind = kind;
  hook.name = draft_.fresh_name("h");
  const bool on_node = kind == HookKind::node_pre || kind == HookKind::node_post;
  if (on_node) hook.node = node_;
  if (!on_node) hook.values = {value_};
  const Known known = draft_.of(value_);
  if (kind == HookKind::multi) {
    const ValueId more = pick(draft_, choices_, [&](ValueId value) {
      const Known& other = draft_.of(value);
      // Of two leaves either may be the last.
      const bool leaf = draft_.scenario.values[at(value)].origin == Value::Origin::leaf;
      return other.tracked && other.item < known.item && other.thread == known.thread &&
             !(leaf && is_leaf());
    });
    if (more != no_id) hook.values.push_back(more);
  }
  const std::int32_t count = slots(kind);
  if (kind == HookKind::tensor || on_node) give_returns(hook, count, on_node);
  if (kind != HookKind::retain_grad) {
    const bool several = kind == HookKind::multi;  // runs where its last gradient comes
    const Place place{several ? 0 : known.item,
                      several ? static_cast<std::int32_t>(hook.values.size()) : count, known.thread,
                      on_node, true};
    hook.script.steps = script_steps(draft_, choices_, place);
  }
  const auto id = static_cast<HookId>(draft_.scenario.hooks.size());
  if (plan_.hook_steps && kind != HookKind::multi && choices_.one_in(3)) {
    hook.at_creation = !choices_.one_in(2);
    use_in_script(draft_, value_);
    draft_.loose_hooks.push_back(id);
  }
  draft_.scenario.hooks.push_back(std::move(hook));
}

}  // namespace

std::optional<PassStep> make_pass(Draft& draft, Choices& choices, const Place& place,
                                  double& cost) {
  return PassMaker(draft, choices, place).make(cost);
}

Steps script_steps(Draft& draft, Choices& choices, const Place& place) {
  return ScriptMaker(draft, choices, place).make();
}

Step observe_step(Draft& draft, Choices& choices, const Place& place) {
  using What = ObserveStep::What;
  constexpr std::array all{
      What::depth,    What::user_state, What::checkpoint_valid, What::inside_pass, What::needed,
      What::will_run, What::anomaly,    What::recording,        What::device,      What::stream};
  ObserveStep step;
  step.what = all[choices.below(all.size())];
  if (step.what == What::needed && !place.knows_needed) step.what = What::depth;
  if (!draft.plan.sim && step.what == What::device) step.what = What::recording;
  // On which stream a leaf's accumulator was made, an engine decides by itself; so on which a pass
  // that its hooks start is called.
  if (step.what == What::stream && (!place.in_node || draft.plan.nested)) {
    step.what = What::recording;
  }
  const auto is_claimed = [&] {
    return draft.claims.has(fmt::format("observe.{}", word_of(observe_words, step.what)));
  };
  if (!is_claimed()) step.what = What::recording;
  if (step.what == What::will_run) {
    const ValueId value = pick(draft, choices, [&](ValueId v) {
      return is_visible(draft.of(v), place) && draft.of(v).tracked && draft.of(v).item >= 0;
    });
    if (value == no_id) {
      step.what = What::depth;
    } else {
      const Value& asked = draft.scenario.values[at(value)];
      step.node = asked.origin == Value::Origin::leaf ? stand_in(asked.producer) : asked.producer;
      draft.of(value).in_script = true;
    }
  }
  return step_of(step);
}

void add_hooks(Draft& draft, Choices& choices, ValueId value, NodeId node) {
  HookMaker maker(draft, choices, value, node);
  if (const auto kind = maker.choose()) maker.add(*kind);
  if (const auto kind = maker.choose()) maker.add(*kind);
}

HookId add_saved_hook(Draft& draft, Choices& choices) {
  Hook hook;
  hook.kind = HookKind::saved;
  hook.name = draft.fresh_name("h");
  const auto scaled = [](double factor) {
    std::vector<Expression> returns(1);
    returns[0].terms = {{0, factor, no_id}};
    return returns;
  };
  if (choices.one_in(2)) {  // what is unpacked is what was saved
    hook.script.returns = scaled(2);
    hook.unpack_script.returns = scaled(0.5);
  }
  const Place place{0, 1, any_thread, false, true};
  if (!draft.plan.keeps) {
    hook.unpack_script.steps.push_back(observe_step(draft, choices, place));
  }
  draft.scenario.hooks.push_back(std::move(hook));
  return static_cast<HookId>(draft.scenario.hooks.size() - 1);
}

}  // namespace gradcts::fuzz
