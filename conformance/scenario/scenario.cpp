#include "conformance/scenario/scenario.h"

#include <fmt/format.h>

#include "conformance/scenario/words.h"

namespace gradcts {
namespace {

// The step lists of a scenario in the order of numbering, each with its place in the JSON form.
template <typename Use>
void for_each_list(const Scenario& scenario, Use&& use) {
  use(scenario.program, [] { return std::string("program"); });
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    if (!scenario.nodes[i].custom) continue;
    use(scenario.nodes[i].custom->backward.steps,
        [i] { return fmt::format("nodes[{}].backward.steps", i); });
  }
  for (std::size_t i = 0; i < scenario.hooks.size(); ++i) {
    const Hook& hook = scenario.hooks[i];
    const std::string place = fmt::format("hooks[{}]", i);
    const bool pair = hook.kind == HookKind::saved;
    use(hook.script.steps, [&] { return place + (pair ? ".pack.steps" : ".steps"); });
    use(hook.unpack_script.steps, [&] { return place + ".unpack.steps"; });
  }
  for (std::size_t i = 0; i < scenario.callbacks.size(); ++i) {
    use(scenario.callbacks[i].steps, [i] { return fmt::format("callbacks[{}].steps", i); });
  }
}

class Numberer {
 public:
  explicit Numberer(Scenario& scenario) : scenario_(scenario) {}

  void operator()(Step& step) {
    step.id = next_++;
    note_results(step);
  }

  StepId count() const { return next_; }

 private:
  void note_results(const Step& step) {
    if (const auto* pass = std::get_if<PassStep>(&step.action)) {
      for (std::size_t i = 0; i < pass->results.size(); ++i) {
        note(pass->results[i], step.id, static_cast<std::int32_t>(i));
      }
    }
    if (const auto* keep = std::get_if<KeepStep>(&step.action)) note(keep->as, step.id, 0);
  }

  void note(ValueId value, StepId producer, std::int32_t index) {
    // Ids may still be wrong here: validation comes after numbering.
    if (value < 0 || value >= static_cast<ValueId>(scenario_.values.size())) return;
    Value& made = scenario_.values[static_cast<std::size_t>(value)];
    made.producer = producer;
    made.index = index;
  }

  Scenario& scenario_;
  StepId next_ = 0;
};

// The place of `wanted` inside `steps`, as text after the list's own place; empty: not in there.
std::string place_inside(const Steps& steps, StepId wanted) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string here = fmt::format("[{}]", i);
    if (steps[i].id == wanted) return here;
    std::string found;
    std::size_t thread = 0;
    for_each_body(steps[i], [&](const Steps& body) {
      const bool parallel = std::holds_alternative<ParallelStep>(steps[i].action);
      const std::string list = parallel ? fmt::format(".threads[{}].steps", thread++) : ".steps";
      const std::string inside = place_inside(body, wanted);
      if (!inside.empty()) found = here + list + inside;
    });
    if (!found.empty()) return found;
  }
  return "";
}

struct Verb {
  std::string_view operator()(const ForwardStep&) const { return "forward"; }
  std::string_view operator()(const PassStep& step) const {
    return step.kind == PassStep::Kind::backward ? "backward" : "grad";
  }
  std::string_view operator()(const SetGradStep&) const { return "set_grad"; }
  std::string_view operator()(const ReadStep&) const { return "read"; }
  std::string_view operator()(const ChangeStep&) const { return "change"; }
  std::string_view operator()(const KeepStep&) const { return "keep"; }
  std::string_view operator()(const DropStep&) const { return "drop"; }
  std::string_view operator()(const RequiresGradStep&) const { return "requires_grad"; }
  std::string_view operator()(const WithStep&) const { return "with"; }
  std::string_view operator()(const TryStep&) const { return "try"; }
  std::string_view operator()(const ParallelStep&) const { return "parallel"; }
  std::string_view operator()(const RepeatStep&) const { return "repeat"; }
  std::string_view operator()(const BarrierStep&) const { return "barrier"; }
  std::string_view operator()(const LockStep& step) const {
    return step.acquire ? "lock" : "unlock";
  }
  std::string_view operator()(const ThrowStep&) const { return "throw"; }
  std::string_view operator()(const QueueCallbackStep&) const { return "queue_callback"; }
  std::string_view operator()(const HookStep& step) const {
    return step.add ? "add_hook" : "remove_hook";
  }
  std::string_view operator()(const ObserveStep&) const { return "observe"; }
  std::string_view operator()(const EngineStep& step) const {
    return step.what == EngineStep::What::start ? "start" : "stop";
  }
  std::string_view operator()(const ForkStep&) const { return "fork"; }
  std::string_view operator()(const StreamStep& step) const {
    return step.what == StreamStep::What::wait ? "wait_stream" : "synchronise";
  }
  std::string_view operator()(const DeliverStep&) const { return "deliver"; }
  std::string_view operator()(const WaitStep&) const { return "wait"; }
  std::string_view operator()(const WhenDoneStep&) const { return "when_done"; }
  std::string_view operator()(const RedirectStep&) const { return "redirect"; }
  std::string_view operator()(const CloseHooksStep&) const { return "close_hooks"; }
  std::string_view operator()(const ForgetProgramsStep&) const { return "forget_programs"; }
  std::string_view operator()(const ReducerStep& step) const {
    constexpr std::array<std::string_view, 5> verbs{"make_reducer", "drop_reducer", "prepare",
                                                    "reset_reducer", "ask_reducer"};
    return word_of(verbs, step.what);
  }
};

}  // namespace

std::string node_name(const Scenario& scenario, NodeId node) {
  if (!is_accumulator(scenario, node)) return scenario.nodes[static_cast<std::size_t>(node)].name;
  const Leaf& leaf = scenario.leaves[static_cast<std::size_t>(leaf_of(scenario, node))];
  return "accumulate:" + scenario.values[static_cast<std::size_t>(leaf.value)].name;
}

void complete_forwards(Scenario& scenario) {
  std::vector<bool> named(scenario.nodes.size(), false);
  for_each_step(scenario, [&](const Step& step) {
    const auto* forward = std::get_if<ForwardStep>(&step.action);
    if (forward == nullptr) return;
    for (const NodeId node : forward->nodes) {
      // Ids may still be wrong here: validation comes later.
      const auto index = static_cast<std::size_t>(node);
      if (index < named.size()) named[index] = true;
    }
  });
  std::vector<NodeId> rest;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (!named[i]) rest.push_back(static_cast<NodeId>(i));
  }
  for_each_step(scenario, [&](Step& step) {
    auto* forward = std::get_if<ForwardStep>(&step.action);
    if (forward != nullptr && forward->nodes.empty()) forward->nodes = rest;
  });
}

void number_steps(Scenario& scenario) {
  Numberer numberer(scenario);
  for_each_step(scenario, numberer);
  scenario.step_count = numberer.count();
}

std::string step_path(const Scenario& scenario, StepId step) {
  std::string path;
  for_each_list(scenario, [&](const Steps& steps, auto&& list_place) {
    if (!path.empty()) return;
    const std::string inside = place_inside(steps, step);
    if (!inside.empty()) path = list_place() + inside;
  });
  return path;
}

std::string_view verb_of(const Step& step) {
  return std::visit(Verb{}, step.action);
}
std::string_view to_text(HookKind kind) {
  return word_of(hook_kind_words, kind);
}
std::string_view to_text(Through through) {
  return word_of(through_words, through);
}
std::string_view to_text(ObserveStep::What what) {
  return word_of(observe_words, what);
}
std::string_view to_text(ObserveStep::Cause cause) {
  return word_of(cause_words, cause);
}

}  // namespace gradcts
