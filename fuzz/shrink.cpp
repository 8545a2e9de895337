#include "fuzz/shrink.h"

#include <algorithm>

#include "conformance/scenario/json.h"
#include "fuzz/cut.h"
#include "fuzz/index.h"
#include "fuzz/stream_order.h"

namespace gradcts::fuzz {

namespace {

bool is_concurrent(const Scenario& s) {
  bool concurrent = !s.streams.empty();
  for (const Leaf& leaf : s.leaves) concurrent |= leaf.initial.device.type != DeviceType::cpu;
  for (const Node& node : s.nodes) concurrent |= node.operation == Operation::to_device;
  for_each_step(s, [&](const Step& step) {
    concurrent |= std::holds_alternative<ParallelStep>(step.action);
  });
  return concurrent;
}

// Calls use(list) on every list of steps, inner ones too.
template <typename Use>
void for_each_list(Steps& steps, Use& use) {
  use(steps);
  for (Step& step : steps) {
    for_each_body(step, [&](Steps& body) { for_each_list(body, use); });
  }
}
template <typename Use>
void for_each_list(Scenario& s, Use use) {
  for_each_list(s.program, use);
  for (Node& node : s.nodes) {
    if (node.custom) for_each_list(node.custom->backward.steps, use);
  }
  for (Hook& hook : s.hooks) {
    for_each_list(hook.script.steps, use);
    for_each_list(hook.unpack_script.steps, use);
  }
  for (Callback& callback : s.callbacks) for_each_list(callback.steps, use);
}

// Calls use(tensor) on every tensor of the scenario.
template <typename Use>
void for_each_tensor(Scenario& s, Use use) {
  const auto all = [&](std::vector<Expression>& list) {
    for (Expression& expression : list) {
      if (expression.constant) use(*expression.constant);
    }
  };
  for (Leaf& leaf : s.leaves) {
    use(leaf.initial);
    if (leaf.grad) use(*leaf.grad);
  }
  for (Node& node : s.nodes) {
    if (!node.custom) continue;
    all(node.custom->forward);
    if (node.custom->backward.returns) all(*node.custom->backward.returns);
  }
  for (Hook& hook : s.hooks) {
    if (hook.script.returns) all(*hook.script.returns);
    if (hook.unpack_script.returns) all(*hook.unpack_script.returns);
  }
  for_each_step(s, [&](Step& step) {
    if (auto* pass = std::get_if<PassStep>(&step.action)) {
      for (Root& root : pass->roots) {
        if (root.seed.constant) use(*root.seed.constant);
      }
    }
    if (auto* set = std::get_if<SetGradStep>(&step.action)) {
      if (set->grad) use(*set->grad);
    }
  });
}

class Shrinker {
 public:
  Shrinker(const Scenario& scenario, const FailureOf& failure_of, std::size_t most_tries, int runs)
      : best_(scenario),
        failure_of_(failure_of),
        most_tries_(most_tries),
        runs_when_concurrent_(runs),
        streams_are_ordered_(orders_its_streams(scenario)) {}
  Shrunk run();

 private:
  bool fails_always(const Scenario& s);
  bool attempt(Scenario candidate, const Cut& cut = {});
  // Calls edit(copy, i) for i = count-1 .. 0; an edit says whether it changed anything.
  template <typename Edit>
  void try_each(std::size_t count, Edit edit);
  template <typename Edit>
  void try_each_step(Edit edit);
  void drop_statements();
  void take_out_steps();
  void take_out_things();
  void take_out_nodes();
  void simplify_steps();
  void simplify_nodes();
  void simplify_hooks();
  void simplify_all();
  void unwrap();

  Scenario best_;
  const FailureOf& failure_of_;
  const std::size_t most_tries_;
  const int runs_when_concurrent_;
  const bool streams_are_ordered_;  // and stay so, or a case would fail for another reason
  std::string failure_;
  std::size_t tries_ = 0;
  bool progress_ = false;
};

bool Shrinker::fails_always(const Scenario& s) {
  const int runs = is_concurrent(s) ? runs_when_concurrent_ : 1;
  for (int i = 0; i < runs; ++i) {
    ++tries_;
    if (failure_of_(s) != failure_) return false;
  }
  return true;
}

bool Shrinker::attempt(Scenario candidate, const Cut& cut) {
  if (tries_ >= most_tries_) return false;
  try {
    candidate = without(std::move(candidate), cut);
  } catch (const FormatError&) {
    return false;
  }
  if (streams_are_ordered_ && !orders_its_streams(candidate)) return false;
  if (!fails_always(candidate)) return false;
  best_ = std::move(candidate);
  progress_ = true;
  return true;
}

template <typename Edit>
void Shrinker::try_each(std::size_t count, Edit edit) {
  for (std::size_t i = count; i-- > 0;) {
    Scenario candidate = best_;
    if (edit(candidate, i)) attempt(std::move(candidate));
  }
}

// Steps are found again by their place among all, since candidates change the others.
template <typename Edit>
void Shrinker::try_each_step(Edit edit) {
  for (std::size_t i = at(best_.step_count); i-- > 0;) {
    if (i >= at(best_.step_count)) continue;
    Scenario candidate = best_;
    bool changed = false;
    for_each_step(candidate, [&](Step& step) {
      if (step.id == static_cast<StepId>(i)) changed = edit(step);
    });
    if (changed) attempt(std::move(candidate));
  }
}

// What the author of a scenario states of its results is no longer so of another one.
void Shrinker::drop_statements() {
  Scenario candidate = best_;
  bool changed = false;
  for_each_step(candidate, [&](Step& step) {
    changed |= step.expect.has_value();
    step.expect.reset();
  });
  if (changed) attempt(std::move(candidate));
}

void Shrinker::take_out_steps() {
  for (std::size_t i = at(best_.step_count); i-- > 0;) {
    if (i >= at(best_.step_count)) continue;
    Scenario candidate = best_;
    std::size_t taken = 0;
    for_each_list(candidate, [&](Steps& steps) {
      taken +=
          std::erase_if(steps, [&](const Step& step) { return step.id == static_cast<StepId>(i); });
    });
    if (taken > 0) attempt(std::move(candidate));
  }
}

// `with`, `try`, `repeat` and a lonely thread give way to what is in them.
void Shrinker::unwrap() {
  for (std::size_t i = at(best_.step_count); i-- > 0;) {
    if (i >= at(best_.step_count)) continue;
    Scenario candidate = best_;
    bool changed = false;
    for_each_list(candidate, [&](Steps& steps) {
      const auto place = std::find_if(steps.begin(), steps.end(), [&](const Step& step) {
        return step.id == static_cast<StepId>(i);
      });
      if (place == steps.end() || changed) return;
      Steps body;
      for_each_body(*place, [&](Steps& inner) {
        for (Step& step : inner) body.push_back(std::move(step));
      });
      if (body.empty()) return;
      const auto next = steps.erase(place);
      steps.insert(next, std::make_move_iterator(body.begin()),
                   std::make_move_iterator(body.end()));
      changed = true;
    });
    if (changed) attempt(std::move(candidate));
  }
  try_each_step([](Step& step) {
    auto* repeat = std::get_if<RepeatStep>(&step.action);
    if (repeat == nullptr || repeat->times <= 1) return false;
    --repeat->times;
    return true;
  });
}

void Shrinker::take_out_things() {
  const auto one_of = [&](const auto& things, std::vector<std::int32_t> Cut::*list) {
    for (std::size_t i = things.size(); i-- > 0;) {
      if (i >= things.size()) continue;  // one may take others with it
      Cut cut;
      cut.*list = {static_cast<std::int32_t>(i)};
      attempt(best_, cut);
    }
  };
  one_of(best_.hooks, &Cut::hooks);
  one_of(best_.callbacks, &Cut::callbacks);
  one_of(best_.streams, &Cut::streams);
  one_of(best_.barriers, &Cut::barriers);
  one_of(best_.locks, &Cut::locks);
  one_of(best_.announcements, &Cut::announcements);
  one_of(best_.futures, &Cut::futures);
  one_of(best_.reducers, &Cut::reducers);
  // Threads, with one party less at the barriers.
  for (std::size_t thread = 8; thread-- > 0;) {
    Scenario candidate = best_;
    bool changed = false;
    for_each_step(candidate, [&](Step& step) {
      auto* parallel = std::get_if<ParallelStep>(&step.action);
      if (parallel == nullptr || parallel->threads.size() <= std::max<std::size_t>(thread, 1))
        return;
      parallel->threads.erase(parallel->threads.begin() + static_cast<std::ptrdiff_t>(thread));
      changed = true;
    });
    for (Barrier& barrier : candidate.barriers) --barrier.parties;
    if (changed) attempt(std::move(candidate));
  }
}

// A node gives way to one of its inputs, a leaf to another leaf.
void Shrinker::take_out_nodes() {
  const auto cut_values = [](const std::vector<ValueId>& gone, ValueId instead) {
    Cut cut;
    for (const ValueId value : gone) cut.instead.emplace_back(value, instead);
    return cut;
  };
  for (std::size_t i = best_.nodes.size(); i-- > 0;) {
    if (i >= best_.nodes.size()) continue;
    const Node node = best_.nodes[i];
    Cut alone;
    alone.nodes = {static_cast<NodeId>(i)};
    if (attempt(best_, alone)) continue;
    for (const ValueId input : node.inputs) {
      Cut cut = cut_values(node.outputs, input);
      cut.nodes = {static_cast<NodeId>(i)};
      if (attempt(best_, cut)) break;
    }
  }
  for (std::size_t i = best_.leaves.size(); i-- > 0 && best_.leaves.size() > 1;) {
    if (i >= best_.leaves.size()) continue;
    const ValueId value = best_.leaves[i].value;
    Cut alone;
    alone.leaves = {static_cast<std::int32_t>(i)};
    if (attempt(best_, alone)) continue;
    for (std::size_t j = 0; j < best_.leaves.size(); ++j) {
      if (j == i) continue;
      Cut cut = cut_values({value}, best_.leaves[j].value);
      cut.leaves = {static_cast<std::int32_t>(i)};
      if (attempt(best_, cut)) break;
    }
  }
}

// ---- Parts of steps

template <typename Edit>
bool edit_pass(Step& step, Edit edit) {
  auto* pass = std::get_if<PassStep>(&step.action);
  return pass != nullptr && edit(*pass);
}

bool switch_off(bool& flag) {
  return std::exchange(flag, false);
}

void Shrinker::simplify_steps() {
  for (std::size_t root = 4; root-- > 0;) {
    try_each_step([&](Step& step) {
      return edit_pass(step, [&](PassStep& pass) {
        if (pass.roots.size() <= std::max<std::size_t>(root, 1)) return false;
        pass.roots.erase(pass.roots.begin() + static_cast<std::ptrdiff_t>(root));
        return true;
      });
    });
    try_each_step([&](Step& step) {
      return edit_pass(step, [&](PassStep& pass) {
        if (!pass.inputs || pass.inputs->size() <= std::max<std::size_t>(root, 1)) return false;
        const auto place = static_cast<std::ptrdiff_t>(root);
        pass.inputs->erase(pass.inputs->begin() + place);
        if (!pass.results.empty()) pass.results.erase(pass.results.begin() + place);
        std::erase_if(pass.capture_hooks, [&](CaptureHook& hook) {
          const bool gone = hook.input == static_cast<std::int32_t>(root);
          if (hook.input > static_cast<std::int32_t>(root)) --hook.input;
          return gone;
        });
        return true;
      });
    });
  }
  for (bool PassStep::*flag : {&PassStep::keep_graph, &PassStep::create_graph,
                               &PassStep::allow_unused, &PassStep::materialise}) {
    try_each_step([&](Step& step) {
      return edit_pass(step, [&](PassStep& pass) { return switch_off(pass.*flag); });
    });
  }
  try_each_step([](Step& step) {
    return edit_pass(step, [](PassStep& pass) { return !std::exchange(pass.results, {}).empty(); });
  });
  // grad becomes backward, and then without inputs.
  try_each_step([](Step& step) {
    return edit_pass(step, [](PassStep& pass) {
      if (pass.kind == PassStep::Kind::backward) return std::exchange(pass.inputs, {}).has_value();
      pass = PassStep{PassStep::Kind::backward,
                      pass.roots,
                      {},
                      pass.keep_graph,
                      pass.create_graph,
                      false,
                      false,
                      {},
                      {},
                      pass.announced,
                      pass.future};
      return true;
    });
  });
  try_each_step([](Step& step) {
    auto* read = std::get_if<ReadStep>(&step.action);
    if (read == nullptr || read->values.size() + read->grads.size() <= 1) return false;
    (read->values.empty() ? read->grads : read->values).pop_back();
    return true;
  });
  try_each_step([](Step& step) {
    auto* read = std::get_if<ReadStep>(&step.action);
    if (read == nullptr || read->values.size() + read->grads.size() <= 1) return false;
    auto& list = read->values.empty() ? read->grads : read->values;
    list.erase(list.begin());
    return true;
  });
}

void Shrinker::simplify_nodes() {
  const auto custom = [&](auto edit) {
    try_each(best_.nodes.size(), [&](Scenario& s, std::size_t i) {
      if (i >= s.nodes.size() || !s.nodes[i].custom) return false;
      return edit(s.nodes[i], *s.nodes[i].custom);
    });
  };
  custom([](Node&, CustomNode& c) { return std::exchange(c.backward.returns, {}).has_value(); });
  custom([](Node&, CustomNode& c) { return !std::exchange(c.forward, {}).empty(); });
  custom([](Node&, CustomNode& c) { return !std::exchange(c.saves, {}).empty(); });
  custom([](Node&, CustomNode& c) { return switch_off(c.materialise); });
  custom([](Node&, CustomNode& c) { return !std::exchange(c.differentiable, true); });
  for (std::size_t input = 3; input-- > 0;) {
    custom([&](Node& node, CustomNode& c) {
      if (node.inputs.size() <= std::max<std::size_t>(input, 1) || !c.forward.empty()) return false;
      if (c.backward.returns && c.backward.returns->size() == node.inputs.size()) {
        c.backward.returns->erase(c.backward.returns->begin() + static_cast<std::ptrdiff_t>(input));
      }
      node.inputs.erase(node.inputs.begin() + static_cast<std::ptrdiff_t>(input));
      return true;
    });
  }
  // Anything becomes a custom node that passes sums on.
  try_each(best_.nodes.size(), [&](Scenario& s, std::size_t i) {
    if (i >= s.nodes.size() || s.nodes[i].custom) return false;
    s.nodes[i].operation = Operation::custom;
    s.nodes[i].attributes.clear();
    s.nodes[i].custom.emplace();
    return true;
  });
  // A single output.
  try_each(best_.nodes.size(), [&](Scenario& s, std::size_t i) {
    if (i >= s.nodes.size() || s.nodes[i].outputs.size() < 2 || !s.nodes[i].custom) return false;
    if (!s.nodes[i].custom->forward.empty() || s.nodes[i].custom->backward.returns) return false;
    const ValueId gone = s.nodes[i].outputs.back();
    const ValueId instead = s.nodes[i].outputs.front();
    Cut cut;
    cut.instead = {{gone, instead}};
    s.nodes[i].outputs.pop_back();
    attempt(s, cut);
    return false;
  });
}

void Shrinker::simplify_hooks() {
  const auto hook = [&](auto edit) {
    try_each(best_.hooks.size(),
             [&](Scenario& s, std::size_t i) { return i < s.hooks.size() && edit(s.hooks[i]); });
  };
  hook([](Hook& h) { return std::exchange(h.script.returns, {}).has_value(); });
  hook([](Hook& h) { return std::exchange(h.unpack_script.returns, {}).has_value(); });
  hook([](Hook& h) { return !std::exchange(h.at_creation, true); });
  hook([](Hook& h) {
    if (h.values.size() < 2) return false;
    h.values.pop_back();
    return true;
  });
}

// The whole scenario at once: one device, one type, no dimensions, defaults.
void Shrinker::simplify_all() {
  const auto all = [&](auto edit) {
    Scenario candidate = best_;
    edit(candidate);
    if (write_scenario(candidate) != write_scenario(best_)) attempt(std::move(candidate));
  };
  all([](Scenario& s) { s.configuration = {}; });
  all([](Scenario& s) { s.trace = Trace::all; });
  all([](Scenario& s) {
    for_each_tensor(s, [](TensorValue& tensor) {
      tensor = TensorValue::scalar(tensor.values.empty() ? 1 : tensor.values[0], tensor.type);
    });
    for (Leaf& leaf : s.leaves) leaf.stream = no_id;
  });
  all([](Scenario& s) {
    for (Leaf& leaf : s.leaves) leaf.stream = no_id;
    for_each_tensor(s, [](TensorValue& tensor) { tensor.device = {}; });
    for_each_step(s, [](Step& step) {
      if (auto* with = std::get_if<WithStep>(&step.action)) with->device.reset();
    });
  });
  all([](Scenario& s) {
    for_each_tensor(s, [](TensorValue& t) { t.type = ScalarType::float64; });
  });
  all([](Scenario& s) { for_each_tensor(s, [](TensorValue& t) { t.strides.clear(); }); });
  try_each(best_.leaves.size(), [](Scenario& s, std::size_t i) {
    return i < s.leaves.size() && std::exchange(s.leaves[i].grad, {}).has_value();
  });
  try_each(best_.leaves.size(), [](Scenario& s, std::size_t i) {
    return i < s.leaves.size() && !std::exchange(s.leaves[i].requires_grad, true);
  });
}

Shrunk Shrinker::run() {
  failure_ = failure_of_(best_);
  ++tries_;
  if (failure_.empty()) return {best_, failure_, false, tries_};
  for (int i = 1; i < runs_when_concurrent_; ++i) {
    ++tries_;
    if (failure_of_(best_) != failure_) return {best_, failure_, true, tries_};
  }
  drop_statements();
  do {
    progress_ = false;
    take_out_steps();
    take_out_things();
    take_out_nodes();
    unwrap();
    simplify_steps();
    simplify_nodes();
    simplify_hooks();
    simplify_all();
  } while (progress_ && tries_ < most_tries_);
  return {best_, failure_, false, tries_};
}

}  // namespace

std::size_t size_of(const Scenario& scenario) {
  return scenario.nodes.size() + scenario.leaves.size() + scenario.hooks.size() +
         at(scenario.step_count);
}

Shrunk shrink(const Scenario& scenario, const FailureOf& failure_of, std::size_t most_tries,
              int runs) {
  return Shrinker(scenario, failure_of, most_tries, runs).run();
}

}  // namespace gradcts::fuzz
