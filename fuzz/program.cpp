// The program: forwards, passes and what happens between them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "fuzz/draft.h"

namespace gradcts::fuzz {

namespace {

constexpr std::int32_t all_items = std::numeric_limits<std::int32_t>::max();

class ProgramMaker {
 public:
  ProgramMaker(Draft& draft, const std::vector<Bytes>& records)
      : draft_(draft), plan_(draft.plan), records_(records) {}
  Steps make();

 private:
  Choices next_record() { return Choices(next_ < records_.size() ? records_[next_++] : Bytes()); }
  void add_step(Choices& choices, Steps& steps);
  void add_forward(Choices& choices, Steps& steps, std::size_t nodes);
  bool packs_are_known(const std::vector<NodeId>& nodes) const;
  void add_run(Steps& steps, const std::vector<NodeId>& nodes) const;
  void add_pass(Choices& choices, Steps& steps, std::int32_t thread = -1);
  void add_results(PassStep& pass, std::int32_t thread);
  void add_read(Choices& choices, Steps& steps);
  void add_set_grad(Choices& choices, Steps& steps);
  void add_change(Choices& choices, Steps& steps);
  void add_drop(Choices& choices, Steps& steps);
  bool may_get_grad(ValueId value) const;
  void add_requires_grad(Choices& choices, Steps& steps);
  void add_hook_step(Choices& choices, Steps& steps);
  void add_with(Choices& choices, Steps& steps);
  void add_parallel(Choices& choices, Steps& steps);
  Steps thread_steps(Choices& choices, std::int32_t thread, std::uint32_t barriers);
  void finish(Steps& steps);

  bool all_is_made() const {
    return nodes_made_ == common_.size() && (joined_ || plan_.threads == 0);
  }
  // Where the program stands: what is below the first node that is not made yet.
  Place here(std::int32_t thread) const {
    const bool made = nodes_made_ == common_.size();
    const std::int32_t item = made ? all_items : draft_.node_items[at(common_[nodes_made_])];
    return {item, 0, joined_ && thread == -1 ? any_thread : thread, false, false};
  }
  bool is_made(ValueId value, std::int32_t thread = -1) const {
    const Known& known = draft_.known[at(value)];
    const Place place = here(thread);
    const bool same =
        known.thread == -1 || place.thread == any_thread || known.thread == place.thread;
    return known.item < place.item && same && !known.dropped;
  }

  Draft& draft_;
  const Plan& plan_;
  const std::vector<Bytes>& records_;
  std::size_t next_ = 0;
  std::vector<NodeId> common_;  // nodes that the program runs, in order
  std::size_t nodes_made_ = 0;  // of these
  bool joined_ = false;         // the parallel step is over
  bool passes_ = false;         // some pass ran, so scripts may have kept something
  double cost_ = 0;             // of all passes
};

// ------------------------------------------------------------------------------------------------
// Forwards

// Everything stands inside one stream, s0; a node on another stream runs after that stream waited
// for s0, and s0 waits for it afterwards: see Note [Streams are waited for] in stream_order.h.
void ProgramMaker::add_run(Steps& steps, const std::vector<NodeId>& nodes) const {
  std::size_t i = 0;
  while (i < nodes.size()) {
    const StreamId stream = draft_.node_streams[at(nodes[i])];
    ForwardStep forward;
    while (i < nodes.size() && draft_.node_streams[at(nodes[i])] == stream) {
      forward.nodes.push_back(nodes[i++]);
    }
    if (stream <= 0) {
      steps.push_back(step_of(std::move(forward)));
      continue;
    }
    steps.push_back(step_of(StreamStep{StreamStep::What::wait, stream, 0}));
    WithStep with;
    with.stream = stream;
    with.steps.push_back(step_of(std::move(forward)));
    steps.push_back(step_of(std::move(with)));
    steps.push_back(step_of(StreamStep{StreamStep::What::wait, 0, stream}));
  }
}

// Which tensors a built-in node saves, and in which order, is the engine's affair.
bool ProgramMaker::packs_are_known(const std::vector<NodeId>& nodes) const {
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    switch (draft_.scenario.nodes[at(id)].operation) {
      case Operation::custom:
      case Operation::add:
      case Operation::sub:
      case Operation::neg:
      case Operation::scale:
      case Operation::clone:
      case Operation::sum:
        return true;
      default:
        return false;
    }
  });
}

void ProgramMaker::add_forward(Choices& choices, Steps& steps, std::size_t nodes) {
  const std::size_t end = std::min(common_.size(), nodes_made_ + nodes);
  if (end == nodes_made_) return;
  const auto begin = common_.begin();
  const std::vector<NodeId> run(begin + static_cast<std::ptrdiff_t>(nodes_made_),
                                begin + static_cast<std::ptrdiff_t>(end));
  nodes_made_ = end;
  const std::uint32_t how = choices.below(6);
  if (how < 3 || plan_.streams) return add_run(steps, run);
  WithStep with;
  if (how == 3 && plan_.saved_hooks && packs_are_known(run)) {
    with.saved_hooks = add_saved_hook(draft_, choices);
  } else if (how == 4 && plan_.anomaly) {
    with.anomaly = true;
  } else if (how == 5 && plan_.modes) {
    with.user_state = 3;
  } else {
    return add_run(steps, run);
  }
  add_run(with.steps, run);
  steps.push_back(step_of(std::move(with)));
}

// ------------------------------------------------------------------------------------------------
// Passes

void ProgramMaker::add_pass(Choices& choices, Steps& steps, std::int32_t thread) {
  double cost = 0;
  std::optional<PassStep> pass = make_pass(draft_, choices, here(thread), cost);
  if (!pass || cost_ + cost > 3 * most_cost) return;
  cost_ += cost;
  passes_ = true;
  if (pass->kind == PassStep::Kind::grad && choices.one_in(2)) add_results(*pass, thread);
  steps.push_back(step_of(std::move(*pass)));
}

void ProgramMaker::add_results(PassStep& pass, std::int32_t thread) {
  ItemSet reach = 0;
  for (const Root& root : pass.roots) reach |= draft_.of(root.value).reach;
  for (const ValueId input : *pass.inputs) {
    Known facts = draft_.of(input);
    facts.item = -1;
    facts.thread = thread == -1 ? -1 : thread;
    facts.tracked = pass.create_graph;
    facts.reach = pass.create_graph ? reach : 0;
    facts.range = draft_.most_spread();
    facts.in_script = false;
    facts.may_change = false;
    draft_.frozen.push_back(true);
    facts.storage = static_cast<std::int32_t>(draft_.frozen.size() - 1);
    const ValueId result =
        draft_.add_value(draft_.fresh_name("r"), Value::Origin::pass_result, no_id, 0, facts);
    pass.results.push_back(result);
  }
}

// ------------------------------------------------------------------------------------------------
// What happens between passes

void ProgramMaker::add_read(Choices& choices, Steps& steps) {
  ReadStep read;
  const std::uint32_t count = 1 + choices.below(3);
  for (std::uint32_t i = 0; i < count; ++i) {
    const ValueId value = pick(draft_, choices, [&](ValueId v) { return is_made(v); });
    if (value == no_id) continue;
    const bool leaf = draft_.scenario.values[at(value)].origin == Value::Origin::leaf;
    const bool retains = draft_.scenario.values[at(value)].origin == Value::Origin::node_output;
    if (leaf || (retains && plan_.retain_grad && choices.one_in(2))) read.grads.push_back(value);
    if (!leaf && !retains) read.values.push_back(value);
    if (retains && read.grads.empty()) read.values.push_back(value);
  }
  if (passes_ && plan_.keeps && choices.one_in(2)) {
    for (std::size_t i = 0; i < draft_.known.size(); ++i) {
      const auto value = static_cast<ValueId>(i);
      if (draft_.scenario.values[i].origin == Value::Origin::kept) read.values.push_back(value);
    }
  }
  if (!read.values.empty() || !read.grads.empty()) steps.push_back(step_of(std::move(read)));
}

void ProgramMaker::add_set_grad(Choices& choices, Steps& steps) {
  const auto& leaves = draft_.scenario.leaves;
  const ValueId leaf = leaves[choices.below(leaves.size())].value;
  if (draft_.of(leaf).dropped || !draft_.of(leaf).tracked) return;
  SetGradStep step{leaf, std::nullopt};
  if (choices.one_in(2)) step.grad = small_integers(draft_.of(leaf), choices.below(14));
  steps.push_back(step_of(std::move(step)));
}

// After all forwards: what they compute stays small and exact.
void ProgramMaker::add_change(Choices& choices, Steps& steps) {
  const ValueId value = pick(draft_, choices, [&](ValueId v) {
    const Known& known = draft_.of(v);
    const bool leaf = draft_.scenario.values[at(v)].origin == Value::Origin::leaf;
    return is_made(v) && !known.in_script && (leaf || known.may_change);
  });
  if (value == no_id) return;
  ChangeStep step;
  step.value = value;
  step.through = std::array{Through::handle, Through::view, Through::detached}[choices.below(3)];
  step.how = std::array{ChangeStep::How::add, ChangeStep::How::multiply,
                        ChangeStep::How::fill}[choices.below(3)];
  step.number = 2;
  steps.push_back(step_of(step));
}

// What is dropped while its `.grad` has a history keeps it, the one cycle that may stay (GRAPH2-4).
bool ProgramMaker::may_get_grad(ValueId value) const {
  const bool leaf = draft_.scenario.values[at(value)].origin == Value::Origin::leaf;
  const auto& hooks = draft_.scenario.hooks;
  return leaf || plan_.inputs || std::any_of(hooks.begin(), hooks.end(), [&](const Hook& hook) {
           return hook.kind == HookKind::retain_grad && hook.values[0] == value;
         });
}

void ProgramMaker::add_drop(Choices& choices, Steps& steps) {
  const ValueId value = pick(draft_, choices, [&](ValueId v) {
    return is_made(v) && !draft_.of(v).in_script && !(plan_.create && may_get_grad(v));
  });
  if (value == no_id) return;
  draft_.of(value).dropped = true;
  steps.push_back(step_of(DropStep{{value}}));
}

void ProgramMaker::add_requires_grad(Choices& choices, Steps& steps) {
  const auto& leaves = draft_.scenario.leaves;
  const ValueId leaf = leaves[choices.below(leaves.size())].value;
  if (draft_.of(leaf).dropped || !draft_.of(leaf).tracked) return;
  steps.push_back(step_of(RequiresGradStep{leaf, choices.one_in(3)}));
}

void ProgramMaker::add_hook_step(Choices& choices, Steps& steps) {
  if (draft_.loose_hooks.empty()) return;
  const HookId id = draft_.loose_hooks[choices.below(draft_.loose_hooks.size())];
  const Hook& hook = draft_.scenario.hooks[at(id)];
  const bool on_leaf = hook.node < -1;
  const bool made = hook.values.empty()
                        ? on_leaf || is_made(draft_.scenario.nodes[at(hook.node)].outputs[0])
                        : is_made(hook.values[0]);
  if (made) steps.push_back(step_of(HookStep{id, !choices.one_in(3)}));
}

void ProgramMaker::add_with(Choices& choices, Steps& steps) {
  WithStep with;
  const std::uint32_t kind = choices.below(5);
  if (kind == 1 && plan_.modes) with.recording = false;
  if (kind == 2 && plan_.anomaly) with.anomaly = true;
  if (kind == 3 && plan_.anomaly) {
    with.anomaly = true;
    with.check_nan = false;
  }
  if (kind == 4 && plan_.sim && !plan_.streams && plan_.device_set)
    with.device = Device{DeviceType::sim, 0};
  if (!with.recording && !with.anomaly && !with.device) with.user_state = 1 + choices.below(20);
  if (choices.one_in(3)) with.steps.push_back(observe_step(draft_, choices, here(-1)));
  add_pass(choices, with.steps);
  steps.push_back(step_of(std::move(with)));
}

// ------------------------------------------------------------------------------------------------
// Threads

Steps ProgramMaker::thread_steps(Choices& choices, std::int32_t thread, std::uint32_t barriers) {
  Steps steps;
  if (barriers > 1) steps.push_back(step_of(BarrierStep{0}));
  std::vector<NodeId> own;
  for (std::size_t i = 0; i < draft_.node_threads.size(); ++i) {
    if (draft_.node_threads[i] == thread) own.push_back(static_cast<NodeId>(i));
  }
  if (!own.empty()) steps.push_back(step_of(ForwardStep{std::move(own)}));
  if (barriers > 0) steps.push_back(step_of(BarrierStep{0}));
  if (plan_.modes && choices.one_in(3)) {
    WithStep with;
    with.user_state = 10 + thread;
    add_pass(choices, with.steps, thread);
    steps.push_back(step_of(std::move(with)));
  }
  const std::uint32_t passes = 1 + choices.below(3);
  for (std::uint32_t i = 0; i < passes; ++i) add_pass(choices, steps, thread);
  if (plan_.locks && choices.one_in(3)) {
    steps.push_back(step_of(LockStep{0, true}));
    steps.push_back(observe_step(draft_, choices, here(thread)));
    steps.push_back(step_of(LockStep{0, false}));
  }
  if (choices.one_in(3)) {
    RepeatStep repeat;
    repeat.times = 2 + static_cast<std::int64_t>(choices.below(3));
    const double before = cost_;
    add_pass(choices, repeat.steps, thread);
    cost_ += 3 * (cost_ - before);
    const bool names = std::any_of(repeat.steps.begin(), repeat.steps.end(), [](const Step& step) {
      return !std::get<PassStep>(step.action).results.empty();
    });
    if (!repeat.steps.empty() && !names) {
      steps.push_back(step_of(std::move(repeat)));
    } else if (names) {
      steps.push_back(std::move(repeat.steps[0]));
    }
  }
  return steps;
}

void ProgramMaker::add_parallel(Choices& choices, Steps& steps) {
  add_forward(choices, steps, common_.size());
  draft_.scenario.barriers = {{"b0", plan_.threads}};
  const std::uint32_t barriers = choices.below(3);
  ParallelStep parallel;
  for (std::int32_t thread = 0; thread < plan_.threads; ++thread) {
    Choices own = next_record();
    parallel.threads.push_back({fmt::format("t{}", thread), thread_steps(own, thread, barriers)});
  }
  steps.push_back(step_of(std::move(parallel)));
  joined_ = true;
}

// ------------------------------------------------------------------------------------------------

void ProgramMaker::add_step(Choices& choices, Steps& steps) {
  const bool quiet = all_is_made();
  switch (choices.below(19)) {
    case 1:
    case 2:
      if (plan_.threads > 0 && !joined_) return add_parallel(choices, steps);
      if (!quiet) return add_forward(choices, steps, common_.size());
      break;
    case 3:
    case 4:
      return add_read(choices, steps);
    case 5:
      if (plan_.set_grad) return add_set_grad(choices, steps);
      break;
    case 6:
      if (plan_.changes && quiet) return add_change(choices, steps);
      break;
    case 7:
      if (plan_.drops && quiet) return add_drop(choices, steps);
      break;
    case 8:
      if (plan_.requires_grad && quiet) return add_requires_grad(choices, steps);
      break;
    case 9:
    case 10:
      if (plan_.hook_steps) return add_hook_step(choices, steps);
      break;
    case 11:
    case 12:
      return add_with(choices, steps);
    case 13: {
      if (!plan_.scripts_throw) break;
      TryStep attempt;
      add_pass(choices, attempt.steps);
      attempt.steps.push_back(step_of(ThrowStep{draft_.fresh_name("e"), false}));
      return steps.push_back(step_of(std::move(attempt)));
    }
    case 14: {
      RepeatStep repeat;
      repeat.times = 2;
      const double before = cost_;
      add_pass(choices, repeat.steps);
      cost_ += cost_ - before;
      if (repeat.steps.empty()) return;
      return steps.push_back(step_of(std::move(repeat)));
    }
    case 15:
      if (plan_.errors && plan_.callbacks && !draft_.scenario.callbacks.empty()) {
        return steps.push_back(step_of(QueueCallbackStep{0}));  // CB-3
      }
      break;
    case 16:
      if (plan_.observes) return steps.push_back(observe_step(draft_, choices, here(-1)));
      break;
    default:
      break;
  }
  add_pass(choices, steps);
}

// Every node is run, some pass too, and the gradients are read.
void ProgramMaker::finish(Steps& steps) {
  Choices simplest{Bytes()};
  if (plan_.threads > 0 && !joined_) add_parallel(simplest, steps);
  add_forward(simplest, steps, common_.size());
  if (!passes_) add_pass(simplest, steps);
  ReadStep read;
  for (const Leaf& leaf : draft_.scenario.leaves) {
    if (!draft_.of(leaf.value).dropped) read.grads.push_back(leaf.value);
  }
  if (!read.grads.empty()) steps.push_back(step_of(std::move(read)));
  // What a pass gives after this is the engine's choice (SHUT-4), so it comes last.
  if (plan_.stop) steps.push_back(step_of(EngineStep{EngineStep::What::stop, std::nullopt}));
}

Steps ProgramMaker::make() {
  Steps steps;
  for (std::size_t i = 0; i < draft_.node_threads.size(); ++i) {
    if (draft_.node_threads[i] == -1) common_.push_back(static_cast<NodeId>(i));
  }
  // Streams of leaves are waited for before anything else.
  for (std::size_t i = 1; i < draft_.scenario.streams.size(); ++i) {
    steps.push_back(step_of(StreamStep{StreamStep::What::wait, 0, static_cast<StreamId>(i)}));
  }
  Choices first = next_record();
  const bool part = first.one_in(4);
  add_forward(first, steps, part ? common_.size() / 2 : common_.size());
  while (next_ < records_.size()) {
    Choices choices = next_record();
    add_step(choices, steps);
  }
  finish(steps);
  if (draft_.scenario.streams.empty()) return steps;
  WithStep with;
  with.stream = 0;
  with.steps = std::move(steps);
  Steps program;
  program.push_back(step_of(std::move(with)));
  return program;
}

}  // namespace

void add_program(Draft& draft, const std::vector<Bytes>& records) {
  draft.scenario.program = ProgramMaker(draft, records).make();
}

}  // namespace gradcts::fuzz
