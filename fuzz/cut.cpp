#include "fuzz/cut.h"

#include <algorithm>

#include "conformance/scenario/json.h"
#include "conformance/scenario/validate.h"
#include "fuzz/index.h"

namespace gradcts::fuzz {

namespace {

// Old id to new id; no_id: gone.
using Renaming = std::vector<std::int32_t>;

Renaming all_stay(std::size_t count) {
  Renaming ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<std::int32_t>(i);
  return ids;
}

template <typename Ids>
Renaming without_these(std::size_t count, const Ids& gone) {
  Renaming ids = all_stay(count);
  for (const std::int32_t id : gone) ids[at(id)] = no_id;
  return ids;
}

// Closes the gaps in the numbers, and takes the things out of their list.
template <typename Items>
void close_gaps(Items& items, Renaming& ids) {
  Items kept;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (ids[i] == no_id) continue;
    ids[i] = static_cast<std::int32_t>(kept.size());
    kept.push_back(std::move(items[i]));
  }
  items = std::move(kept);
}

class Cutter {
 public:
  Cutter(Scenario scenario, const Cut& cut);
  Scenario run();

 private:
  // First references are dropped (old numbers), then all are renumbered.
  void drop_references();
  bool drop_hooks();
  void drop_announcements();
  void filter_reducers();
  bool drop_unmade_values();
  void filter(Steps& steps);
  bool stays(Step& step);
  bool stays(PassStep& pass);
  void filter_inputs(PassStep& pass);
  void filter(std::vector<ValueId>& values) const;
  void filter(Script& script);
  void filter_terms(std::vector<Expression>& expressions) const;
  void filter_custom(Node& node);
  bool node_stays(NodeId node) const {
    const auto count = static_cast<NodeId>(s_.nodes.size());
    return node < count ? nodes_[at(node)] != no_id : leaves_[at(node - count)] != no_id;
  }
  void renumber();
  void renumber(Step& step);
  NodeId renumbered(NodeId node) const;
  void rename(std::int32_t& id, const Renaming& ids) const {
    if (id != no_id) id = ids[at(id)];
  }
  void rename(std::vector<std::int32_t>& list, const Renaming& ids) const {
    for (std::int32_t& id : list) rename(id, ids);
  }
  template <typename Use>
  void for_each_script(Use&& use);

  Scenario s_;
  Renaming values_, nodes_, leaves_, hooks_, callbacks_, streams_, barriers_, locks_;
  Renaming announcements_, futures_, reducers_;
  std::size_t old_nodes_ = 0;
};

Cutter::Cutter(Scenario scenario, const Cut& cut)
    : s_(std::move(scenario)),
      values_(all_stay(s_.values.size())),
      nodes_(without_these(s_.nodes.size(), cut.nodes)),
      leaves_(without_these(s_.leaves.size(), cut.leaves)),
      hooks_(without_these(s_.hooks.size(), cut.hooks)),
      callbacks_(without_these(s_.callbacks.size(), cut.callbacks)),
      streams_(without_these(s_.streams.size(), cut.streams)),
      barriers_(without_these(s_.barriers.size(), cut.barriers)),
      locks_(without_these(s_.locks.size(), cut.locks)),
      announcements_(without_these(s_.announcements.size(), cut.announcements)),
      futures_(without_these(s_.futures.size(), cut.futures)),
      reducers_(without_these(s_.reducers.size(), cut.reducers)),
      old_nodes_(s_.nodes.size()) {
  for (const NodeId node : cut.nodes) {
    for (const ValueId output : s_.nodes[at(node)].outputs) values_[at(output)] = no_id;
  }
  for (const std::int32_t leaf : cut.leaves) values_[at(s_.leaves[at(leaf)].value)] = no_id;
  for (const auto& [gone, instead] : cut.instead) values_[at(gone)] = instead;
}

template <typename Use>
void Cutter::for_each_script(Use&& use) {
  for (Node& node : s_.nodes) {
    if (node.custom) use(node.custom->backward);
  }
  for (Hook& hook : s_.hooks) {
    use(hook.script);
    use(hook.unpack_script);
  }
}

// ---- References that go

void Cutter::filter(std::vector<ValueId>& values) const {
  std::vector<ValueId> kept;
  for (const ValueId value : values) {
    if (values_[at(value)] != no_id) kept.push_back(values_[at(value)]);
  }
  values = std::move(kept);
}

void Cutter::filter_inputs(PassStep& pass) {
  std::vector<ValueId> inputs, results;
  std::vector<CaptureHook> hooks;
  for (std::size_t i = 0; i < pass.inputs->size(); ++i) {
    const ValueId input = values_[at((*pass.inputs)[i])];
    if (input == no_id) continue;
    for (const CaptureHook& hook : pass.capture_hooks) {
      if (hook.input != static_cast<std::int32_t>(i) || hooks_[at(hook.hook)] == no_id) continue;
      hooks.push_back({static_cast<std::int32_t>(inputs.size()), hook.hook});
    }
    inputs.push_back(input);
    if (!pass.results.empty()) results.push_back(pass.results[i]);
  }
  pass.inputs = std::move(inputs);
  pass.results = std::move(results);
  pass.capture_hooks = std::move(hooks);
}

bool Cutter::stays(PassStep& pass) {
  if (pass.future != no_id && futures_[at(pass.future)] == no_id) return false;
  std::erase_if(pass.announced, [&](AnnouncementId id) { return announcements_[at(id)] == no_id; });
  const bool had_roots = !pass.roots.empty();
  std::erase_if(pass.roots, [&](Root& root) {
    root.value = values_[at(root.value)];
    if (root.seed.value != no_id) {
      root.seed.value = values_[at(root.seed.value)];
      if (root.seed.value == no_id) return true;
    }
    return root.value == no_id;
  });
  if (had_roots && pass.roots.empty()) return false;
  if (!pass.inputs) return true;
  const bool had_inputs = !pass.inputs->empty();
  filter_inputs(pass);
  return !had_inputs || !pass.inputs->empty();
}

bool Cutter::stays(Step& step) {
  const auto value_stays = [&](ValueId& value) {
    value = values_[at(value)];
    return value != no_id;
  };
  Action& action = step.action;
  if (auto* forward = std::get_if<ForwardStep>(&action)) {
    std::erase_if(forward->nodes, [&](NodeId node) { return nodes_[at(node)] == no_id; });
    return !forward->nodes.empty() || s_.nodes.empty();
  }
  if (auto* pass = std::get_if<PassStep>(&action)) return stays(*pass);
  if (auto* set = std::get_if<SetGradStep>(&action)) return value_stays(set->leaf);
  if (auto* read = std::get_if<ReadStep>(&action)) {
    filter(read->values);
    filter(read->grads);
    return !read->values.empty() || !read->grads.empty();
  }
  if (auto* change = std::get_if<ChangeStep>(&action)) return value_stays(change->value);
  if (auto* keep = std::get_if<KeepStep>(&action)) {
    return values_[at(keep->as)] != no_id && (keep->grad_of == no_id || value_stays(keep->grad_of));
  }
  if (auto* drop = std::get_if<DropStep>(&action)) {
    filter(drop->values);
    return !drop->values.empty();
  }
  if (auto* on = std::get_if<RequiresGradStep>(&action)) return value_stays(on->value);
  if (auto* barrier = std::get_if<BarrierStep>(&action))
    return barriers_[at(barrier->barrier)] != no_id;
  if (auto* lock = std::get_if<LockStep>(&action)) return locks_[at(lock->lock)] != no_id;
  if (auto* queue = std::get_if<QueueCallbackStep>(&action)) {
    return callbacks_[at(queue->callback)] != no_id;
  }
  if (auto* hook = std::get_if<HookStep>(&action)) return hooks_[at(hook->hook)] != no_id;
  if (auto* observe = std::get_if<ObserveStep>(&action)) {
    return observe->node == no_id || node_stays(observe->node);
  }
  if (auto* stream = std::get_if<StreamStep>(&action)) {
    return streams_[at(stream->stream)] != no_id &&
           (stream->waits_for == no_id || streams_[at(stream->waits_for)] != no_id);
  }
  if (auto* deliver = std::get_if<DeliverStep>(&action)) {
    if (announcements_[at(deliver->announcement)] == no_id) return false;
    return deliver->gradient.value == no_id || value_stays(deliver->gradient.value);
  }
  if (auto* wait = std::get_if<WaitStep>(&action)) return futures_[at(wait->future)] != no_id;
  if (auto* then = std::get_if<WhenDoneStep>(&action)) {
    return futures_[at(then->future)] != no_id && callbacks_[at(then->callback)] != no_id;
  }
  if (auto* redirect = std::get_if<RedirectStep>(&action)) {
    return node_stays(redirect->node) && (redirect->to == no_id || value_stays(redirect->to));
  }
  if (auto* close = std::get_if<CloseHooksStep>(&action)) return hooks_[at(close->hook)] != no_id;
  if (auto* reducer = std::get_if<ReducerStep>(&action)) {
    filter(reducer->outputs);
    return reducers_[at(reducer->reducer)] != no_id;
  }
  if (auto* with = std::get_if<WithStep>(&action)) {
    if (with->stream != no_id && streams_[at(with->stream)] == no_id) {
      with->stream = no_id;
      with->captured = false;
    }
    if (with->saved_hooks != no_id && hooks_[at(with->saved_hooks)] == no_id) {
      with->saved_hooks = no_id;
    }
  }
  bool has_body = false, empty = true;
  for_each_body(step, [&](Steps& body) {
    filter(body);
    has_body = true;
    empty = empty && body.empty();
  });
  return !has_body || !empty;
}

bool changes_nothing(const Step& step) {
  const auto* with = std::get_if<WithStep>(&step.action);
  return with != nullptr && !with->recording && !with->anomaly && !with->user_state &&
         with->stream == no_id && !with->device && with->saved_hooks == no_id;
}

void Cutter::filter(Steps& steps) {
  Steps kept;
  for (Step& step : steps) {
    if (!stays(step)) continue;
    if (changes_nothing(step)) {
      Steps body = std::move(std::get<WithStep>(step.action).steps);
      for (Step& inner : body) kept.push_back(std::move(inner));
    } else {
      kept.push_back(std::move(step));
    }
  }
  steps = std::move(kept);
}

void Cutter::filter_terms(std::vector<Expression>& expressions) const {
  for (Expression& expression : expressions) {
    for (Term& term : expression.terms) {
      if (term.times != no_id) term.times = values_[at(term.times)];
    }
  }
}

void Cutter::filter(Script& script) {
  filter(script.steps);
  if (script.returns) filter_terms(*script.returns);
}

// A node saves its inputs, its outputs or leaves, and multiplies by what it saves.
void Cutter::filter_custom(Node& node) {
  CustomNode& custom = *node.custom;
  filter(custom.saves);
  filter_terms(custom.forward);
  const auto among = [](ValueId value, const std::vector<ValueId>& list) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  std::erase_if(custom.saves, [&](ValueId value) {
    return !among(value, node.inputs) && !among(value, node.outputs) &&
           s_.values[at(value)].origin != Value::Origin::leaf;
  });
  const auto drop_times = [&](std::vector<Expression>& list, const std::vector<ValueId>& allowed) {
    for (Expression& expression : list) {
      for (Term& term : expression.terms) {
        if (term.times != no_id && !among(term.times, allowed)) term.times = no_id;
      }
    }
  };
  drop_times(custom.forward, node.inputs);
  if (custom.backward.returns) drop_times(*custom.backward.returns, custom.saves);
}

bool Cutter::drop_hooks() {
  bool dropped = false;
  for (std::size_t i = 0; i < s_.hooks.size(); ++i) {
    Hook& hook = s_.hooks[i];
    if (hooks_[i] == no_id) continue;
    const bool had_values = !hook.values.empty();
    const auto is_on_leaf = [&] {
      return s_.values[at(hook.values[0])].origin == Value::Origin::leaf;
    };
    const bool was_on_leaf = had_values && is_on_leaf();
    filter(hook.values);
    std::vector<ValueId> once;  // a hook over several tensors names each once
    for (const ValueId value : hook.values) {
      if (std::find(once.begin(), once.end(), value) == once.end()) once.push_back(value);
    }
    hook.values = std::move(once);
    bool gone = had_values && hook.values.empty();
    gone = gone || (hook.node != no_id && !node_stays(hook.node));
    gone = gone || (hook.kind == HookKind::post_accumulate && was_on_leaf && !is_on_leaf());
    if (!gone) continue;
    hooks_[i] = no_id;
    dropped = true;
  }
  return dropped;
}

// Values that steps made which are gone now.
bool Cutter::drop_unmade_values() {
  std::vector<bool> made(s_.values.size(), false);
  for_each_step(s_, [&](const Step& step) {
    if (const auto* pass = std::get_if<PassStep>(&step.action)) {
      for (const ValueId result : pass->results) made[at(result)] = true;
    }
    if (const auto* keep = std::get_if<KeepStep>(&step.action)) made[at(keep->as)] = true;
  });
  bool dropped = false;
  for (std::size_t i = 0; i < s_.values.size(); ++i) {
    const bool by_step = s_.values[i].origin == Value::Origin::pass_result ||
                         s_.values[i].origin == Value::Origin::kept;
    if (!by_step || made[i] || values_[i] == no_id) continue;
    values_[i] = no_id;
    dropped = true;
  }
  return dropped;
}

// An announcement goes with what it is to; a reducer without one of its parameters is another one.
void Cutter::drop_announcements() {
  for (std::size_t i = 0; i < s_.announcements.size(); ++i) {
    ValueId& to = s_.announcements[i].to;
    if (announcements_[i] == no_id) continue;
    to = values_[at(to)];
    if (to == no_id) announcements_[i] = no_id;
  }
}

void Cutter::filter_reducers() {
  for (std::size_t i = 0; i < s_.reducers.size(); ++i) {
    if (reducers_[i] == no_id) continue;
    for (std::vector<ValueId>& rank : s_.reducers[i].ranks) {
      for (ValueId& parameter : rank) {
        parameter = values_[at(parameter)];
        if (parameter == no_id) throw FormatError("", "a reducer lost a parameter");
      }
    }
  }
}

void Cutter::drop_references() {
  do {
    drop_hooks();
    drop_announcements();
    filter_reducers();
    for (std::size_t i = 0; i < s_.nodes.size(); ++i) {
      Node& node = s_.nodes[i];
      if (nodes_[i] == no_id) {
        if (node.custom) node.custom->backward.steps.clear();
        continue;
      }
      for (ValueId& input : node.inputs) {
        input = values_[at(input)];
        if (input == no_id) throw FormatError("", "a node lost an input");
      }
      if (node.custom) filter_custom(node);
    }
    for (std::size_t i = 0; i < s_.hooks.size(); ++i) {
      if (hooks_[i] != no_id) continue;
      s_.hooks[i].script = {};
      s_.hooks[i].unpack_script = {};
    }
    for (std::size_t i = 0; i < s_.callbacks.size(); ++i) {
      if (callbacks_[i] == no_id) s_.callbacks[i].steps.clear();
    }
    for_each_script([&](Script& script) { filter(script); });
    for (Callback& callback : s_.callbacks) filter(callback.steps);
    filter(s_.program);
    // What stood for something else is itself from now on.
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] != static_cast<ValueId>(i)) values_[i] = no_id;
    }
  } while (drop_unmade_values());
}

// ---- New numbers

NodeId Cutter::renumbered(NodeId node) const {
  if (node == no_id) return no_id;
  const auto old_count = static_cast<NodeId>(old_nodes_);
  if (node < old_count) return nodes_[at(node)];
  return accumulator_of(s_, leaves_[at(node - old_count)]);
}

void Cutter::renumber(Step& step) {
  Action& action = step.action;
  if (auto* forward = std::get_if<ForwardStep>(&action)) rename(forward->nodes, nodes_);
  if (auto* pass = std::get_if<PassStep>(&action)) {
    for (Root& root : pass->roots) {
      rename(root.value, values_);
      rename(root.seed.value, values_);
    }
    if (pass->inputs) rename(*pass->inputs, values_);
    rename(pass->results, values_);
    for (CaptureHook& hook : pass->capture_hooks) rename(hook.hook, hooks_);
    rename(pass->announced, announcements_);
    rename(pass->future, futures_);
  }
  if (auto* set = std::get_if<SetGradStep>(&action)) rename(set->leaf, values_);
  if (auto* read = std::get_if<ReadStep>(&action)) {
    rename(read->values, values_);
    rename(read->grads, values_);
  }
  if (auto* change = std::get_if<ChangeStep>(&action)) rename(change->value, values_);
  if (auto* keep = std::get_if<KeepStep>(&action)) {
    rename(keep->as, values_);
    rename(keep->grad_of, values_);
  }
  if (auto* drop = std::get_if<DropStep>(&action)) rename(drop->values, values_);
  if (auto* on = std::get_if<RequiresGradStep>(&action)) rename(on->value, values_);
  if (auto* with = std::get_if<WithStep>(&action)) {
    rename(with->stream, streams_);
    rename(with->saved_hooks, hooks_);
    rename(with->user_state_destroyed, callbacks_);
  }
  if (auto* barrier = std::get_if<BarrierStep>(&action)) rename(barrier->barrier, barriers_);
  if (auto* lock = std::get_if<LockStep>(&action)) rename(lock->lock, locks_);
  if (auto* queue = std::get_if<QueueCallbackStep>(&action)) rename(queue->callback, callbacks_);
  if (auto* hook = std::get_if<HookStep>(&action)) rename(hook->hook, hooks_);
  if (auto* observe = std::get_if<ObserveStep>(&action)) observe->node = renumbered(observe->node);
  if (auto* stream = std::get_if<StreamStep>(&action)) {
    rename(stream->stream, streams_);
    rename(stream->waits_for, streams_);
  }
  if (auto* deliver = std::get_if<DeliverStep>(&action)) {
    rename(deliver->announcement, announcements_);
    rename(deliver->gradient.value, values_);
  }
  if (auto* wait = std::get_if<WaitStep>(&action)) rename(wait->future, futures_);
  if (auto* then = std::get_if<WhenDoneStep>(&action)) {
    rename(then->future, futures_);
    rename(then->callback, callbacks_);
  }
  if (auto* redirect = std::get_if<RedirectStep>(&action)) {
    redirect->node = renumbered(redirect->node);
    rename(redirect->to, values_);
  }
  if (auto* close = std::get_if<CloseHooksStep>(&action)) rename(close->hook, hooks_);
  if (auto* reducer = std::get_if<ReducerStep>(&action)) {
    rename(reducer->reducer, reducers_);
    rename(reducer->outputs, values_);
  }
}

void Cutter::renumber() {
  close_gaps(s_.values, values_);
  close_gaps(s_.nodes, nodes_);
  close_gaps(s_.leaves, leaves_);
  close_gaps(s_.hooks, hooks_);
  close_gaps(s_.callbacks, callbacks_);
  close_gaps(s_.streams, streams_);
  close_gaps(s_.barriers, barriers_);
  close_gaps(s_.locks, locks_);
  close_gaps(s_.announcements, announcements_);
  close_gaps(s_.futures, futures_);
  close_gaps(s_.reducers, reducers_);
  for (Value& value : s_.values) {
    if (value.origin == Value::Origin::leaf) rename(value.producer, leaves_);
    if (value.origin == Value::Origin::node_output) rename(value.producer, nodes_);
  }
  for (Leaf& leaf : s_.leaves) {
    rename(leaf.value, values_);
    rename(leaf.stream, streams_);
  }
  for (Announcement& announcement : s_.announcements) rename(announcement.to, values_);
  for (Reducer& reducer : s_.reducers) {
    for (std::vector<ValueId>& rank : reducer.ranks) rename(rank, values_);
  }
  const auto rename_terms = [&](std::vector<Expression>& list) {
    for (Expression& expression : list) {
      for (Term& term : expression.terms) rename(term.times, values_);
    }
  };
  for (Node& node : s_.nodes) {
    rename(node.inputs, values_);
    rename(node.outputs, values_);
    if (!node.custom) continue;
    rename(node.custom->saves, values_);
    rename(node.custom->destroyed, callbacks_);
    rename_terms(node.custom->forward);
  }
  for_each_script([&](Script& script) {
    if (script.returns) rename_terms(*script.returns);
  });
  for (Hook& hook : s_.hooks) {
    rename(hook.values, values_);
    rename(hook.destroyed, callbacks_);
    hook.node = renumbered(hook.node);
  }
  for_each_step(s_, [&](Step& step) { renumber(step); });
}

Scenario Cutter::run() {
  drop_references();
  renumber();
  number_steps(s_);
  validate(s_);
  return std::move(s_);
}

}  // namespace

Scenario without(Scenario scenario, const Cut& cut) {
  return Cutter(std::move(scenario), cut).run();
}

}  // namespace gradcts::fuzz
