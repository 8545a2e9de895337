// Locks and barriers: a scenario may make a wrong engine hang, never a right one.
//
// Locks: each list of steps releases what it took; no lock is taken while it is held, by a script
// of a pass that runs meanwhile either; all threads take locks in one order. Barriers: the threads
// of one parallel step that wait at a barrier are as many as its parties, and meet.
#include <absl/container/inlined_vector.h>
#include <fmt/format.h>

#include <algorithm>

#include "conformance/scenario/validate_parts.h"

namespace gradcts {
namespace {

// What a pass may run: the scripts that its roots reach, and those that the scripts themselves
// reach. Wider than what will run where the graph is only known at run time.
class Reach {
 public:
  explicit Reach(const Scenario& scenario)
      : s_(scenario), nodes_(scenario.nodes.size() + scenario.leaves.size(), false) {}

  // The steps of every script that the pass may run.
  std::vector<const Steps*> scripts(const PassStep& pass) {
    add_pass(pass);
    while (!fresh_.empty()) {
      const NodeId node = fresh_.back();
      fresh_.pop_back();
      add_scripts_at(node);
    }
    return std::move(scripts_);
  }

 private:
  void add_pass(const PassStep& pass) {
    for (const Root& root : pass.roots) add_value(root.value);
    for (const Hook& hook : s_.hooks) {
      if (hook.kind == HookKind::saved) add_script(hook.unpack_script.steps);
    }
    for (const CaptureHook& capture : pass.capture_hooks) {
      add_script(s_.hooks[static_cast<std::size_t>(capture.hook)].script.steps);
    }
  }

  void add_value(ValueId id) {
    const Value& value = s_.values[static_cast<std::size_t>(id)];
    switch (value.origin) {
      case Value::Origin::leaf:
        add_node(accumulator_of(s_, value.producer));
        break;
      case Value::Origin::node_output:
        add_node(value.producer);
        break;
      case Value::Origin::pass_result:
      case Value::Origin::kept:  // its history may be anything
        for (NodeId node = 0; node < static_cast<NodeId>(nodes_.size()); ++node) add_node(node);
    }
  }

  void add_node(NodeId node) {
    if (nodes_[static_cast<std::size_t>(node)]) return;
    nodes_[static_cast<std::size_t>(node)] = true;
    fresh_.push_back(node);
  }

  void add_scripts_at(NodeId id) {
    for (const Hook& hook : s_.hooks) {
      if (is_on(hook, id)) add_script(hook.script.steps);
    }
    if (is_accumulator(s_, id)) return;
    const Node& node = s_.nodes[static_cast<std::size_t>(id)];
    for (const ValueId input : node.inputs) add_value(input);
    if (node.custom) add_script(node.custom->backward.steps);
  }

  bool is_on(const Hook& hook, NodeId id) const {
    if (hook.node == id) return true;
    return std::any_of(hook.values.begin(), hook.values.end(), [&](ValueId value_id) {
      const Value& value = s_.values[static_cast<std::size_t>(value_id)];
      if (value.origin == Value::Origin::leaf) return accumulator_of(s_, value.producer) == id;
      return value.origin != Value::Origin::node_output || value.producer == id;
    });
  }

  void add_script(const Steps& steps) {
    if (steps.empty() || std::find(scripts_.begin(), scripts_.end(), &steps) != scripts_.end()) {
      return;
    }
    scripts_.push_back(&steps);
    for_each_step(steps, [&](const Step& step) {
      if (const auto* pass = std::get_if<PassStep>(&step.action)) add_pass(*pass);
      if (const auto* queue = std::get_if<QueueCallbackStep>(&step.action)) {
        add_script(s_.callbacks[static_cast<std::size_t>(queue->callback)].steps);
      }
    });
  }

  const Scenario& s_;
  std::vector<bool> nodes_;
  std::vector<NodeId> fresh_;
  std::vector<const Steps*> scripts_;
};

class LockCheck {
 public:
  explicit LockCheck(const Scenario& scenario)
      : s_(scenario), after_(scenario.locks.size() * scenario.locks.size(), false) {}

  void walk(const Steps& steps, const Path& path);

 private:
  void walk_bodies(const Step& step, const Path& path);
  void take(LockId lock, const Path& path);
  void release(LockId lock, std::size_t held_before, const Path& path);
  void run_pass(const PassStep& pass, const Path& path);
  void order(LockId first, LockId second, const Path& path);
  const std::string& name(LockId lock) const {
    return s_.locks[static_cast<std::size_t>(lock)].name;
  }
  bool is_held(LockId lock) const {
    return std::find(held_.begin(), held_.end(), lock) != held_.end();
  }

  const Scenario& s_;
  std::vector<LockId> held_;
  std::vector<bool> after_;  // after_[a * locks + b]: b is somewhere taken while a is held
};

void LockCheck::order(LockId first, LockId second, const Path& path) {
  const std::size_t count = s_.locks.size();
  const auto a = static_cast<std::size_t>(first);
  const auto b = static_cast<std::size_t>(second);
  if (after_[b * count + a]) {
    fail(path, fmt::format("'{}' is taken while '{}' is held, elsewhere the other way round: two "
                           "threads could wait for each other",
                           name(second), name(first)));
  }
  for (std::size_t x = 0; x < count; ++x) {
    if (x != a && !after_[x * count + a]) continue;
    for (std::size_t y = 0; y < count; ++y) {
      if (y == b || after_[b * count + y]) after_[x * count + y] = true;
    }
  }
}

void LockCheck::take(LockId lock, const Path& path) {
  if (is_held(lock)) {
    fail(path, "'" + name(lock) + "' is held already; a lock cannot be taken twice");
  }
  for (const LockId held : held_) order(held, lock, path);
  held_.push_back(lock);
}

void LockCheck::release(LockId lock, std::size_t held_before, const Path& path) {
  if (held_.size() == held_before || held_.back() != lock) {
    fail(path, "'" + name(lock) + "' is not the lock that this list of steps took last");
  }
  held_.pop_back();
}

void LockCheck::run_pass(const PassStep& pass, const Path& path) {
  if (held_.empty()) return;
  for (const Steps* script : Reach(s_).scripts(pass)) {
    for_each_step(*script, [&](const Step& step) {
      const auto* lock = std::get_if<LockStep>(&step.action);
      if (lock == nullptr || !lock->acquire) return;
      if (is_held(lock->lock)) {
        fail(path, fmt::format("'{}' is held during this pass, and {} takes it", name(lock->lock),
                               step_path(s_, step.id)));
      }
      for (const LockId held : held_) order(held, lock->lock, path);
    });
  }
}

void LockCheck::walk_bodies(const Step& step, const Path& path) {
  const bool parallel = std::holds_alternative<ParallelStep>(step.action);
  const Path threads(path, "threads");
  std::size_t thread = 0;
  for_each_body(step, [&](const Steps& body) {
    walk(body, (parallel ? threads[thread++] : path) / "steps");
  });
}

void LockCheck::walk(const Steps& steps, const Path& path) {
  const std::size_t held_before = held_.size();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Path step_path = path[i];
    const Action& action = steps[i].action;
    if (const auto* lock = std::get_if<LockStep>(&action)) {
      if (lock->acquire) take(lock->lock, step_path / "lock");
      if (!lock->acquire) release(lock->lock, held_before, step_path / "lock");
    }
    const bool waits = std::holds_alternative<ParallelStep>(action) ||
                       std::holds_alternative<BarrierStep>(action) ||
                       std::holds_alternative<WaitStep>(action) ||
                       std::holds_alternative<ForkStep>(action);
    if (waits && !held_.empty()) {
      fail(step_path,
           fmt::format("'{}' is held here; a {} step may wait for a thread that needs it",
                       name(held_.back()), verb_of(steps[i])));
    }
    if (const auto* pass = std::get_if<PassStep>(&action)) run_pass(*pass, step_path);
    walk_bodies(steps[i], step_path);
  }
  if (held_.size() == held_before) return;
  fail(path, "'" + name(held_.back()) + "' is not released at the end of these steps");
}

// ------------------------------------------------------------------------------------------------
// Barriers

constexpr std::size_t most_arrivals = 100'000;

class BarrierCheck {
 public:
  explicit BarrierCheck(const Scenario& scenario)
      : s_(scenario), in_scripts_(scenario.barriers.size(), false) {}

  void check();

 private:
  using Arrivals = std::vector<BarrierId>;

  void find_script_barriers(const Steps& steps);
  bool has_more_threads() const;
  void walk(const Steps& steps, const Path& path, bool in_thread, bool in_try);
  void check_threads(const ParallelStep& step, const Path& path);
  void collect(const Steps& steps, Arrivals& arrivals, const Path& path) const;
  void check_parties(const std::vector<Arrivals>& threads, const Path& path) const;
  void simulate(const std::vector<Arrivals>& threads, const Path& path) const;

  const Scenario& s_;
  std::vector<bool> in_scripts_;
};

// When a script meets a barrier is the engine's affair: such barriers are not followed, but there
// must be a second thread that can arrive.
void BarrierCheck::find_script_barriers(const Steps& steps) {
  for_each_step(steps, [&](const Step& step) {
    const auto* barrier = std::get_if<BarrierStep>(&step.action);
    if (barrier == nullptr) return;
    in_scripts_[static_cast<std::size_t>(barrier->barrier)] = true;
    if (has_more_threads()) return;
    const Path document;
    fail(Path(document, step_path(s_, step.id)), "no second thread can arrive at this barrier");
  });
}

bool BarrierCheck::has_more_threads() const {
  bool found = false;
  for_each_step(s_, [&](const Step& step) {
    found = found || std::holds_alternative<ParallelStep>(step.action);
  });
  found = found || !s_.futures.empty();
  for (const Leaf& leaf : s_.leaves) found = found || leaf.initial.device.type != DeviceType::cpu;
  for (const Node& node : s_.nodes) found = found || node.operation == Operation::to_device;
  return found;
}

void BarrierCheck::walk(const Steps& steps, const Path& path, bool in_thread, bool in_try) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Path step_path = path[i];
    const Step& step = steps[i];
    const bool barrier = std::holds_alternative<BarrierStep>(step.action);
    if (barrier && !in_thread) {
      fail(step_path,
           "no second thread can arrive at this barrier; expected it in a parallel step");
    }
    if (barrier && in_try) {
      fail(step_path, "an error before it would leave the other threads waiting at this barrier");
    }
    if (const auto* parallel = std::get_if<ParallelStep>(&step.action)) {
      check_threads(*parallel, step_path);
      const Path threads(step_path, "threads");
      for (std::size_t j = 0; j < parallel->threads.size(); ++j) {
        walk(parallel->threads[j].steps, threads[j] / "steps", true, in_try);
      }
      continue;
    }
    const bool attempt = std::holds_alternative<TryStep>(step.action);
    for_each_body(step, [&](const Steps& body) {
      walk(body, step_path / "steps", in_thread, in_try || attempt);
    });
  }
}

// The barriers at which one thread waits, in order, without those that scripts use too.
void BarrierCheck::collect(const Steps& steps, Arrivals& arrivals, const Path& path) const {
  for (const Step& step : steps) {
    if (arrivals.size() > most_arrivals) fail(path, "too many arrivals at barriers");
    if (const auto* barrier = std::get_if<BarrierStep>(&step.action)) {
      if (!in_scripts_[static_cast<std::size_t>(barrier->barrier)]) {
        arrivals.push_back(barrier->barrier);
      }
    }
    if (std::holds_alternative<ParallelStep>(step.action)) continue;
    const auto* repeat = std::get_if<RepeatStep>(&step.action);
    const std::int64_t times = repeat == nullptr ? 1 : repeat->times;
    for_each_body(step, [&](const Steps& body) {
      Arrivals once;
      collect(body, once, path);
      for (std::int64_t round = 0; !once.empty() && round < times; ++round) {
        if (arrivals.size() > most_arrivals) fail(path, "too many arrivals at barriers");
        arrivals.insert(arrivals.end(), once.begin(), once.end());
      }
    });
  }
}

void BarrierCheck::check_parties(const std::vector<Arrivals>& threads, const Path& path) const {
  for (std::size_t barrier = 0; barrier < s_.barriers.size(); ++barrier) {
    const auto waiting =
        std::count_if(threads.begin(), threads.end(), [&](const Arrivals& arrivals) {
          return std::find(arrivals.begin(), arrivals.end(), static_cast<BarrierId>(barrier)) !=
                 arrivals.end();
        });
    const std::int32_t parties = s_.barriers[barrier].parties;
    if (waiting == 0 || waiting == parties) continue;
    fail(path,
         fmt::format("the barrier '{}' has {} parties, and {} thread{} of this step wait{} at it",
                     s_.barriers[barrier].name, parties, waiting, waiting == 1 ? "" : "s",
                     waiting == 1 ? "s" : ""));
  }
}

// Lets threads go on from barriers where all parties are, until all are through or none can move.
void BarrierCheck::simulate(const std::vector<Arrivals>& threads, const Path& path) const {
  std::vector<std::size_t> position(threads.size(), 0);
  std::vector<std::int32_t> waiting(s_.barriers.size(), 0);
  for (const Arrivals& arrivals : threads) {
    if (!arrivals.empty()) ++waiting[static_cast<std::size_t>(arrivals[0])];
  }
  for (std::size_t barrier = 0; barrier < waiting.size();) {
    if (waiting[barrier] == 0 || waiting[barrier] < s_.barriers[barrier].parties) {
      ++barrier;
      continue;
    }
    waiting[barrier] = 0;
    std::vector<std::size_t> released;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      const bool here = position[i] < threads[i].size() &&
                        threads[i][position[i]] == static_cast<BarrierId>(barrier);
      if (here) released.push_back(i);
    }
    for (const std::size_t i : released) {
      if (++position[i] < threads[i].size()) {
        ++waiting[static_cast<std::size_t>(threads[i][position[i]])];
      }
    }
    barrier = 0;
  }
  for (std::size_t barrier = 0; barrier < waiting.size(); ++barrier) {
    if (waiting[barrier] == 0) continue;
    fail(path, "the threads of this step never all meet at the barrier '" +
                   s_.barriers[barrier].name + "'");
  }
}

void BarrierCheck::check_threads(const ParallelStep& step, const Path& path) {
  std::vector<Arrivals> threads(step.threads.size());
  for (std::size_t i = 0; i < threads.size(); ++i) collect(step.threads[i].steps, threads[i], path);
  check_parties(threads, path);
  simulate(threads, path);
}

// Calls use(steps) on the steps of every script.
template <typename Use>
void for_each_script(const Scenario& s, Use&& use) {
  for (const Node& node : s.nodes) {
    if (node.custom) use(node.custom->backward.steps);
  }
  for (const Hook& hook : s.hooks) {
    use(hook.script.steps);
    use(hook.unpack_script.steps);
  }
  for (const Callback& callback : s.callbacks) use(callback.steps);
}

void BarrierCheck::check() {
  for_each_script(s_, [&](const Steps& steps) { find_script_barriers(steps); });
  const Path document;
  walk(s_.program, document / "program", false, false);
}

}  // namespace

void check_locks(const Scenario& scenario) {
  if (!scenario.locks.empty()) {
    LockCheck locks(scenario);
    const Path document;
    locks.walk(scenario.program, document / "program");
    for_each_script(scenario, [&](const Steps& steps) {
      if (steps.empty()) return;
      std::string list = step_path(scenario, steps[0].id);
      list.resize(list.size() - 3);  // without the "[0]" of its first step
      locks.walk(steps, Path(document, list));
    });
  }
  if (!scenario.barriers.empty()) BarrierCheck(scenario).check();
}

}  // namespace gradcts
