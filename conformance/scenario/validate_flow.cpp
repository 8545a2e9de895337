// Values over time: nothing is used before it is made or after it is dropped.
//
// The program is followed step by step. When a script runs is the engine's affair, so what a script
// makes counts as made from the first pass on, and a script may use whatever is made anywhere but
// in itself. Threads see each other's values after a barrier.
#include <fmt/format.h>

#include "conformance/scenario/validate_parts.h"

namespace gradcts {
namespace {

using Set = std::vector<bool>;

void unite(Set& into, const Set& other) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = into[i] || other[i];
}

struct State {
  Set made;
  Set dropped;
  const Set* from_siblings = nullptr;  // what the threads beside this one make
};

class Flow {
 public:
  explicit Flow(const Scenario& scenario)
      : s_(scenario), by_scripts_(scenario.values.size(), false) {}

  void check();

 private:
  void check_script(const Script& script, const Path& path, bool in_node);
  void walk(const Steps& steps, const Path& path, State& state);

  void follow(const ForwardStep& step, const Path& path, State& state);
  void follow(const PassStep& step, const Path& path, State& state);
  void follow(const SetGradStep& step, const Path& path, State& state);
  void follow(const ReadStep& step, const Path& path, State& state);
  void follow(const ChangeStep& step, const Path& path, State& state);
  void follow(const KeepStep& step, const Path& path, State& state) {
    if (step.grad_of != no_id) use(step.grad_of, path / "grad_of", state);
    make(step.as, state);
  }
  void follow(const DropStep& step, const Path& path, State& state);
  void follow(const RequiresGradStep& step, const Path& path, State& state);
  void follow(const WithStep& step, const Path& path, State& state);
  void follow(const TryStep& step, const Path& path, State& state);
  void follow(const ParallelStep& step, const Path& path, State& state);
  void follow(const RepeatStep& step, const Path& path, State& state);
  void follow(const BarrierStep& step, const Path& path, State& state);
  void follow(const LockStep&, const Path&, State&) {}
  void follow(const ThrowStep&, const Path&, State&) {}
  void follow(const QueueCallbackStep&, const Path&, State&) {}
  void follow(const HookStep& step, const Path& path, State& state);
  void follow(const ObserveStep&, const Path&, State&) {}
  void follow(const EngineStep&, const Path&, State&) {}
  void follow(const ForkStep& step, const Path& path, State& state);
  void follow(const StreamStep&, const Path&, State&) {}
  void follow(const DeliverStep& step, const Path& path, State& state);
  void follow(const WaitStep&, const Path&, State& state) { unite(state.made, by_scripts_); }
  void follow(const WhenDoneStep&, const Path&, State&) {}
  void follow(const RedirectStep& step, const Path& path, State& state) {
    if (step.to != no_id) use(step.to, path / "to", state);
  }
  void follow(const CloseHooksStep&, const Path&, State&) {}
  void follow(const ForgetProgramsStep&, const Path&, State&) {}
  void follow(const ReducerStep& step, const Path& path, State& state) {
    use_all(step.outputs, path / "outputs", state);
  }

  void use(ValueId value, const Path& path, const State& state);
  void use_all(const std::vector<ValueId>& values, const Path& path, const State& state) {
    for (std::size_t i = 0; i < values.size(); ++i) use(values[i], path[i], state);
  }
  void make(ValueId value, State& state) {
    state.made[static_cast<std::size_t>(value)] = true;
    state.dropped[static_cast<std::size_t>(value)] = false;
  }
  const Node& node(NodeId id) const { return s_.nodes[static_cast<std::size_t>(id)]; }

  const Scenario& s_;
  Set by_scripts_;
  std::vector<int> makers_;  // for each value, how many steps of the scenario make it
};

// Calls use(value) for each value that these steps themselves make.
template <typename Use>
void for_each_made(const Scenario& s, const Steps& steps, Use&& use) {
  for_each_step(steps, [&](const Step& step) {
    if (const auto* forward = std::get_if<ForwardStep>(&step.action)) {
      for (const NodeId node : forward->nodes) {
        for (const ValueId output : s.nodes[static_cast<std::size_t>(node)].outputs) use(output);
      }
    }
    if (const auto* pass = std::get_if<PassStep>(&step.action)) {
      for (const ValueId result : pass->results) use(result);
    }
    if (const auto* keep = std::get_if<KeepStep>(&step.action)) use(keep->as);
  });
}

std::string how_made(const Scenario& s, const Value& value) {
  switch (value.origin) {
    case Value::Origin::leaf:
      return "";
    case Value::Origin::node_output:
      return "a forward of '" + s.nodes[static_cast<std::size_t>(value.producer)].name + "'";
    case Value::Origin::pass_result:
      return "the grad step that names it as a result";
    case Value::Origin::kept:
      return "a pass that runs the script which keeps it";
  }
  return "";
}

void Flow::use(ValueId value, const Path& path, const State& state) {
  const auto index = static_cast<std::size_t>(value);
  const Value& v = s_.values[index];
  if (!state.made[index]) {
    fail(path, "'" + v.name + "' is used before it is made; expected " + how_made(s_, v) +
                   " before this step");
  }
  if (state.dropped[index]) fail(path, "'" + v.name + "' was dropped before this step");
}

void Flow::follow(const ForwardStep& step, const Path& path, State& state) {
  for (const NodeId id : step.nodes) {
    for (const ValueId input : node(id).inputs) {
      const auto index = static_cast<std::size_t>(input);
      if (!state.made[index] || state.dropped[index]) {
        fail(path, fmt::format("this forward runs '{}', whose input '{}' {}", node(id).name,
                               s_.values[index].name,
                               state.made[index] ? "was dropped" : "is not made yet"));
      }
    }
    for (const ValueId output : node(id).outputs) make(output, state);
  }
}

void Flow::follow(const PassStep& step, const Path& path, State& state) {
  const Path roots(path, "roots");
  for (std::size_t i = 0; i < step.roots.size(); ++i) {
    const Path root = roots[i];
    use(step.roots[i].value, root / "value", state);
    const ValueId seed = step.roots[i].seed.value;
    if (seed != no_id) use(seed, root / "seed" / "from", state);
  }
  if (step.inputs) use_all(*step.inputs, path / "inputs", state);
  const Path announced(path, "announced");
  for (std::size_t i = 0; i < step.announced.size(); ++i) {
    use(s_.announcements[static_cast<std::size_t>(step.announced[i])].to, announced[i], state);
  }
  for (const ValueId result : step.results) make(result, state);
  unite(state.made, by_scripts_);
}

void Flow::follow(const DeliverStep& step, const Path& path, State& state) {
  const Announcement& announcement = s_.announcements[static_cast<std::size_t>(step.announcement)];
  use(announcement.to, path / "announcement", state);
  if (step.gradient.value != no_id) use(step.gradient.value, path / "gradient" / "from", state);
}

void Flow::follow(const SetGradStep& step, const Path& path, State& state) {
  use(step.leaf, path / "leaf", state);
}

void Flow::follow(const ReadStep& step, const Path& path, State& state) {
  use_all(step.values, path / "values", state);
  use_all(step.grads, path / "grads", state);
}

void Flow::follow(const ChangeStep& step, const Path& path, State& state) {
  use(step.value, path / "value", state);
}

void Flow::follow(const DropStep& step, const Path& path, State& state) {
  const Path values(path, "values");
  for (std::size_t i = 0; i < step.values.size(); ++i) {
    use(step.values[i], values[i], state);
    state.dropped[static_cast<std::size_t>(step.values[i])] = true;
  }
}

void Flow::follow(const RequiresGradStep& step, const Path& path, State& state) {
  use(step.value, path / "value", state);
}

void Flow::follow(const WithStep& step, const Path& path, State& state) {
  if (step.saved_hooks != no_id) unite(state.made, by_scripts_);
  walk(step.steps, path / "steps", state);
}

void Flow::follow(const TryStep& step, const Path& path, State& state) {
  walk(step.steps, path / "steps", state);
}

void Flow::follow(const ParallelStep& step, const Path& path, State& state) {
  const std::size_t count = step.threads.size();
  std::vector<Set> makes(count, Set(s_.values.size(), false));
  for (std::size_t i = 0; i < count; ++i) {
    for_each_made(s_, step.threads[i].steps,
                  [&](ValueId value) { makes[i][static_cast<std::size_t>(value)] = true; });
  }
  const Path threads(path, "threads");
  const State before = state;
  for (std::size_t i = 0; i < count; ++i) {
    Set siblings = before.from_siblings ? *before.from_siblings : Set(s_.values.size(), false);
    for (std::size_t j = 0; j < count; ++j) {
      if (j != i) unite(siblings, makes[j]);
    }
    State own = before;
    own.from_siblings = &siblings;
    walk(step.threads[i].steps, threads[i] / "steps", own);
    unite(state.made, own.made);
    unite(state.dropped, own.dropped);
  }
}

// Twice, so that what one round drops is missed in the next.
void Flow::follow(const RepeatStep& step, const Path& path, State& state) {
  walk(step.steps, path / "steps", state);
  if (step.times > 1) walk(step.steps, path / "steps", state);
}

void Flow::follow(const BarrierStep&, const Path&, State& state) {
  if (state.from_siblings != nullptr) unite(state.made, *state.from_siblings);
}

void Flow::follow(const HookStep& step, const Path& path, State& state) {
  const Hook& hook = s_.hooks[static_cast<std::size_t>(step.hook)];
  for (const ValueId value : hook.values) use(value, path / "hook", state);
  if (hook.node == no_id || is_accumulator(s_, hook.node)) return;
  if (state.made[static_cast<std::size_t>(node(hook.node).outputs[0])]) return;
  fail(path / "hook", "'" + hook.name + "' is on the node '" + node(hook.node).name +
                          "', which no step has run before");
}

void Flow::follow(const ForkStep& step, const Path& path, State& state) {
  State child = state;
  walk(step.steps, path / "steps", child);
}

void Flow::walk(const Steps& steps, const Path& path, State& state) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Path step_path = path[i];
    std::visit([&](const auto& action) { follow(action, step_path, state); }, steps[i].action);
  }
}

void Flow::check_script(const Script& script, const Path& path, bool in_node) {
  const bool multiplies = script.returns && !in_node;
  if (script.steps.empty() && !multiplies) return;
  std::vector<int> elsewhere = makers_;
  for_each_made(s_, script.steps,
                [&](ValueId value) { --elsewhere[static_cast<std::size_t>(value)]; });
  State state{Set(s_.values.size()), Set(s_.values.size(), false), nullptr};
  for (std::size_t i = 0; i < elsewhere.size(); ++i) state.made[i] = elsewhere[i] > 0;
  walk(script.steps, path / "steps", state);
  if (!multiplies) return;  // a node multiplies by what it saves, which exists as long as the node
  const Path returns(path, "returns");
  for (std::size_t i = 0; i < script.returns->size(); ++i) {
    const auto& terms = (*script.returns)[i].terms;
    for (std::size_t j = 0; j < terms.size(); ++j) {
      if (terms[j].times != no_id) use(terms[j].times, (returns[i] / "terms")[j] / "times", state);
    }
  }
}

void Flow::check() {
  makers_.assign(s_.values.size(), 0);
  State state{Set(s_.values.size(), false), Set(s_.values.size(), false), nullptr};
  for (const Leaf& leaf : s_.leaves) {
    state.made[static_cast<std::size_t>(leaf.value)] = true;
    ++makers_[static_cast<std::size_t>(leaf.value)];
  }
  for_each_made(s_, s_.program, [&](ValueId v) { ++makers_[static_cast<std::size_t>(v)]; });
  const auto note_script = [&](const Steps& steps) {
    for_each_made(s_, steps, [&](ValueId v) {
      ++makers_[static_cast<std::size_t>(v)];
      by_scripts_[static_cast<std::size_t>(v)] = true;
    });
  };
  for (const Node& n : s_.nodes) {
    if (n.custom) note_script(n.custom->backward.steps);
  }
  for (const Hook& hook : s_.hooks) {
    note_script(hook.script.steps);
    note_script(hook.unpack_script.steps);
  }
  for (const Callback& callback : s_.callbacks) note_script(callback.steps);

  const Path document;
  walk(s_.program, document / "program", state);
  const Path nodes(document, "nodes");
  for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
    if (!s_.nodes[i].custom) continue;
    const Path path = nodes[i];
    check_script(s_.nodes[i].custom->backward, path / "backward", true);
  }
  const Path hooks(document, "hooks");
  for (std::size_t i = 0; i < s_.hooks.size(); ++i) {
    const Hook& hook = s_.hooks[i];
    const Path path = hooks[i];
    check_script(hook.script, hook.kind == HookKind::saved ? path / "pack" : path, false);
    check_script(hook.unpack_script, path / "unpack", false);
  }
  const Path callbacks(document, "callbacks");
  for (std::size_t i = 0; i < s_.callbacks.size(); ++i) {
    check_script({s_.callbacks[i].steps, std::nullopt}, callbacks[i], false);
  }
}

}  // namespace

void check_flow(const Scenario& scenario) {
  Flow(scenario).check();
}

}  // namespace gradcts
