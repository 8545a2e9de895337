#include "conformance/oracle/pass.h"

#include <absl/cleanup/cleanup.h>

#include <algorithm>
#include <limits>
#include <set>

namespace gradcts::oracle {

namespace {

constexpr std::size_t usual_nodes = 32;  // for speed alone

// Points that pass through a node without events are kept to this many; the rest of the order is
// then not written down.
constexpr std::size_t most_points_passed_on = 64;

bool has_nan(const Tensor& tensor) {
  const Array array = elements_of(tensor);
  return std::any_of(array.values.begin(), array.values.end(), [](Number v) { return v != v; });
}

template <typename Value>
void add_new(std::vector<Value>& values, const std::vector<Value>& more) {
  for (const Value& value : more) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
}

// The first, or any of the others.
Thrown any_of(const std::vector<Thrown>& wrong) {
  Thrown first = wrong[0];
  for (std::size_t i = 1; i < wrong.size(); ++i) {
    add_new(first.allowed, {wrong[i].error.category});
    add_new(first.allowed, wrong[i].allowed);
  }
  return first;
}

bool dense_without_overlap(const Shape& shape, const Shape& strides) {
  Elements places = *strided_map(shape, strides);
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] != static_cast<std::int32_t>(i)) return false;
  }
  return true;
}

}  // namespace

Pass::Pass(Interpreter& interpreter, const PassStep& step)
    : in_(interpreter), graph_(interpreter.graph()), trace_(interpreter.trace()), step_(step) {
  begin_ = trace_.cursor;
  started_ = now();
  capture_first_ = in_.follows("HOOK-1", "capture-first");
  entries_.reserve(usual_nodes);
  index_.reserve(usual_nodes);
}

std::optional<Thrown> Pass::run() {
  try {
    return run_all();
  } catch (Thrown& thrown) {
    return std::move(thrown);
  }
}

std::optional<Thrown> Pass::run_all() {
  check_arguments();
  reach();
  choose();
  find_queues();
  find_refused_devices();
  deliver_seeds();
  trace_.required = trace_.required && !may_be_refused();
  serve();
  gather_order();
  settle_unordered();
  if (!outside_failures_.empty()) return failure_from_outside();
  if (!failures_.empty()) return unordered_failure();
  check_all_served();
  trace_.cursor = all_.empty() ? begin_ : all_;
  join(trace_.cursor, loose_);
  run_callbacks();
  return take_results();
}

// PRUNE-4: an engine that sees beforehand that an input cannot be reached need not run anything.
bool Pass::may_be_refused() const {
  if (step_.kind != PassStep::Kind::grad || step_.allow_unused || step_.materialise) return false;
  return std::any_of(requested_.begin(), requested_.end(),
                     [&](Tensor* input) { return !index_.contains(graph_.edge_of(*input).node); });
}

// ---- Setting up
// -----------------------------------------------------------------------------------------

// Where several arguments are wrong, an error about any of them is right.
void Pass::check_arguments() {
  std::vector<Thrown> wrong;
  for (const Root& root : step_.roots) {
    if (!Graph::tracked(*in_.value(root.value))) {
      wrong.push_back(error_of(ErrorCategory::invalid_argument, "ROOT-1"));
    }
  }
  for (const AnnouncementId id : step_.announced) {
    const Tensor* to = in_.value(in_.scenario().announcements[static_cast<std::size_t>(id)].to);
    if (!to || !Graph::tracked(*to)) {
      wrong.push_back(error_of(ErrorCategory::invalid_argument, "ASYNC-1"));
    }
  }
  if (step_.inputs) check_inputs(wrong);
  if (wrong.empty()) return;
  check_seeds(wrong);
  throw any_of(wrong);
}

void Pass::check_inputs(std::vector<Thrown>& wrong) const {
  if (step_.inputs->empty()) wrong.push_back(error_of(ErrorCategory::invalid_argument, "PRUNE-5"));
  for (ValueId input : *step_.inputs) {
    if (Graph::tracked(*in_.value(input))) continue;
    if (step_.allow_unused || step_.materialise) throw CannotTell("an input that needs no gradient");
    wrong.push_back(error_of(ErrorCategory::invalid_argument, "PRUNE-4", {ErrorCategory::unused_input}));
  }
}

// One for each root; for roots without a history none.
Gradients Pass::check_seeds(std::vector<Thrown>& wrong) {
  Gradients seeds(step_.roots.size(), nullptr);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    const Root& root = step_.roots[i];
    Tensor* tensor = in_.value(root.value);
    if (!Graph::tracked(*tensor)) continue;
    const Edge edge = graph_.edge_of(*tensor);
    try {
      seeds[i] = validated(seed_of(root), edge.node->slots[static_cast<std::size_t>(edge.slot)]);
    } catch (Thrown& thrown) {
      wrong.push_back(std::move(thrown));
    }
  }
  return seeds;
}

std::int32_t Pass::entry_of(GraphNode* node) {
  const auto [place, added] = index_.try_emplace(node, static_cast<std::int32_t>(entries_.size()));
  if (added) {
    Entry& entry = entries_.emplace_back();
    entry.node = node;
    entry.slots.resize(node->slots.size(), nullptr);
  }
  return place->second;
}

// TOPO-2: a node waits for one delivery an edge, and one a root.
void Pass::reach() {
  for (const Root& root : step_.roots) {
    const Edge edge = graph_.edge_of(*in_.value(root.value));
    ++entries_[static_cast<std::size_t>(entry_of(edge.node))].waits_for;
  }
  for (const Edge& edge : announced_edges()) {
    ++entries_[static_cast<std::size_t>(entry_of(edge.node))].waits_for;
  }
  for (std::size_t next = 0; next < entries_.size(); ++next) {
    const GraphNode& node = *entries_[next].node;
    for (const Edge& edge : node.edges) {
      if (edge.node) ++entries_[static_cast<std::size_t>(entry_of(edge.node))].waits_for;
    }
  }
}

// ASYNC-1: what is announced is counted on like the delivery of a root.
std::vector<Edge> Pass::announced_edges() const {
  std::vector<Edge> edges;
  for (const AnnouncementId id : step_.announced) {
    const Announcement& announcement = in_.scenario().announcements[static_cast<std::size_t>(id)];
    edges.push_back(graph_.edge_of(*in_.value(announcement.to)));
  }
  return edges;
}

// Whether the history of a changed view goes to what its base was before, or to an earlier change
// of the same view: a step may have led an edge on the way elsewhere.
bool Pass::leads_to_its_base(const GraphNode& change) {
  const GraphNode* base = change.base_node->edges[0].node;
  const GraphNode* node = change.edges[0].node;
  while (node && node != base && node->base_node != base) {
    node = node->edges.empty() ? nullptr : node->edges[0].node;
  }
  return node || !base;
}

// An in-place change of a view changes its base: how the part of the base is found again is the
// engine's affair. So the node that made the view need not run for the sake of the change, nor its
// hooks; it must for every other use, and then its hooks see the gradients of these uses, with or
// without that of the change. Nor need the changed view's own hooks run for the sake of the base:
// an engine may have the change at the base's node, and the view behind it. Either way the gradient
// of the view comes to what the base was before the change.
void Pass::find_optional() {
  const bool none = std::none_of(entries_.begin(), entries_.end(),
                                 [](const Entry& entry) { return entry.node->on_view; });
  if (none) return;
  std::vector<std::int32_t> todo;
  for (Entry& entry : entries_) {
    entry.optional = true;
    entry.through_base = entry.node->on_view;
  }
  for (const Entry& entry : entries_) {
    if (!entry.node->on_view) continue;
    if (!leads_to_its_base(*entry.node)) {
      throw CannotTell("a changed view that was cut off from its base");
    }
    const GraphNode* view = entry.node->edges[0].node;
    if (view) entries_[static_cast<std::size_t>(index_.at(view))].bypassed = true;
  }
  const auto need = [&](const GraphNode* node) {
    const std::int32_t index = index_.at(node);
    if (!std::exchange(entries_[static_cast<std::size_t>(index)].optional, false)) return;
    todo.push_back(index);
  };
  const auto need_itself = [&](const GraphNode* node) {
    entries_[static_cast<std::size_t>(index_.at(node))].through_base = false;
    need(node);
  };
  const auto need_base_before = [&](const GraphNode& change) {
    const GraphNode* before = change.base_node->edges[0].node;
    if (!before) return;
    // After an earlier change: that one, since of the same view it is in the view's history alone.
    need(before->rewrites ? before->edges[1].node : before);
  };
  for (const Root& root : step_.roots) need_itself(graph_.edge_of(*in_.value(root.value)).node);
  for (const Edge& edge : announced_edges()) need_itself(edge.node);
  while (!todo.empty()) {
    const GraphNode& node = *entries_[static_cast<std::size_t>(todo.back())].node;
    todo.pop_back();
    if (node.on_view) need_base_before(node);
    for (std::size_t i = node.on_view ? 1 : 0; i < node.edges.size(); ++i) {
      if (!node.edges[i].node) continue;
      node.rewrites ? need(node.edges[i].node) : need_itself(node.edges[i].node);
    }
  }
}

// An engine may have the change of a view at its base's node, and the view behind it.
void Pass::refuse_hooks_of_bases() const {
  for (const Entry& entry : entries_) {
    const GraphNode* base = entry.node->base_node;
    if (!base || index_.contains(base)) continue;
    const Tensor& tensor = *base->slots[0].tensor;
    if (base->hooks || (tensor.retains_grad && tensor.origin.node == base)) {
      throw CannotTell("hooks of a base, in a pass from its changed view");
    }
  }
}

void Pass::choose() {
  refuse_hooks_of_bases();
  find_optional();
  if (!step_.inputs) {
    for (Entry& entry : entries_) entry.runs = entry.accumulates = true;
    return;
  }
  for (ValueId input : *step_.inputs) {
    request(static_cast<std::int32_t>(requested_.size()), in_.value(input));
  }
  captured_.resize(requested_.size(), nullptr);
  spread_need();
  if (step_.kind != PassStep::Kind::backward || !in_.follows("PRUNE-5", "run")) return;
  for (Entry& entry : entries_) entry.runs |= !entry.captures.empty();
}

// A leaf among the inputs of a backward is simply run; everything else is captured where it
// arrives.
void Pass::request(std::int32_t index, Tensor* input) {
  const bool again = std::find(requested_.begin(), requested_.end(), input) != requested_.end();
  requested_.push_back(input);
  const Edge edge = graph_.edge_of(*input);
  const auto place = index_.find(edge.node);
  // Whether the base depends on its changed view, or the view on the base, is a way of telling.
  if (edge.node->rewrites && index_.contains(edge.node->edges[1].node)) {
    throw CannotTell("the gradient of a base, asked for from its changed view");
  }
  if (place == index_.end()) return;
  for (const Entry& other : entries_) {
    if (other.node->rewrites && other.node->edges[1].node == edge.node) {
      throw CannotTell("the gradient of a changed view, asked for from its base");
    }
  }
  Entry& entry = entries_[static_cast<std::size_t>(place->second)];
  if (step_.kind == PassStep::Kind::grad) {
    entry.captures.push_back({index, edge.slot});
  } else if (edge.node->leaf) {
    entry.runs = entry.accumulates = true;
  } else if (!again) {
    entry.captures.push_back({index, edge.slot});
  }
}

// PRUNE-2: a node must run when something below it is run or captured. Takes the nodes in an order
// in which each comes after all that point to it, and goes through them backwards.
void Pass::spread_need() {
  std::vector<std::int32_t> waits;
  for (const Entry& entry : entries_) waits.push_back(entry.waits_for);
  for (const Root& root : step_.roots) {
    --waits[static_cast<std::size_t>(index_.at(graph_.edge_of(*in_.value(root.value)).node))];
  }
  for (const Edge& edge : announced_edges()) {
    --waits[static_cast<std::size_t>(index_.at(edge.node))];
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i] == 0) order.push_back(i);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const Edge& edge : entries_[order[next]].node->edges) {
      if (!edge.node) continue;
      const auto target = static_cast<std::size_t>(index_.at(edge.node));
      if (--waits[target] == 0) order.push_back(target);
    }
  }
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    for (const Edge& edge : entries_[*i].node->edges) {
      if (edge.node && entries_[static_cast<std::size_t>(index_.at(edge.node))].is_visited()) {
        entries_[*i].runs = true;
      }
    }
  }
}

// DEV-5: the first pass that needs a device which refuses fails.
void Pass::find_refused_devices() {
  for (const Entry& entry : entries_) {
    if (!entry.is_visited()) continue;
    const Device device = entry.node->slots[0].device;
    if (device.type == DeviceType::cpu || in_.may_use(device)) continue;
    outside_failures_.push_back(error_of(ErrorCategory::device_failure, "DEV-5"));
    return;
  }
}

void Pass::find_queues() {
  one_queue_ = step_.announced.empty();  // what is delivered comes at any time
  const GraphNode* first = nullptr;
  for (const Entry& entry : entries_) {
    if (!entry.is_visited()) continue;
    for (const Slot& slot : entry.node->slots) {
      one_queue_ = one_queue_ && slot.device.type == DeviceType::cpu;
    }
    if (entry.node->leaf) continue;
    if (!first) first = entry.node;
    one_maker_ = one_maker_ && first->thread == entry.node->thread;
  }
  leaves_its_queue_ = !one_queue_;
  for (const Root& root : step_.roots) {  // a device's queue may be given one that nobody needs
    leaves_its_queue_ |= in_.value(root.value)->device.type != DeviceType::cpu;
  }
}

Tensor* Pass::seed_of(const Root& root) {
  if (root.seed.constant) return graph_.make(*root.seed.constant);
  if (root.seed.value == no_id) return nullptr;
  if (step_.create_graph) in_.need_history(root.seed.value);
  return in_.determined(root.seed.value);
}

// ROOT-4: all seeds are validated before anything runs; the error names the root.
void Pass::deliver_seeds() {
  std::vector<Thrown> wrong;
  const Gradients seeds = check_seeds(wrong);
  if (!wrong.empty() && may_be_refused()) {
    wrong.push_back(error_of(ErrorCategory::unused_input, "PRUNE-4"));
  }
  if (!wrong.empty()) throw any_of(wrong);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    deliver(no_id, graph_.edge_of(*in_.value(step_.roots[i].value)), seeds[i]);
  }
  const std::vector<Edge> edges = announced_edges();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Interpreter::Delivery* delivery = in_.delivery(step_.announced[i]);
    if (!delivery) throw CannotTell("a gradient that is delivered later, in the order of writing");
    const Slot& slot = edges[i].node->slots[static_cast<std::size_t>(edges[i].slot)];
    try {
      if (delivery->error) throw Thrown(*delivery->error);
      deliver(no_id, edges[i], validated(delivery->gradient, slot));
    } catch (Thrown& thrown) {
      outside_failures_.push_back(std::move(thrown));
    }
  }
}

// ---- Questions
// --------------------------------------------------------------------------------------------

std::optional<bool> Pass::will_run(const GraphNode* node) const {
  const auto place = index_.find(node);
  if (place == index_.end()) return false;
  const Entry& entry = entries_[static_cast<std::size_t>(place->second)];
  if (entry.optional || entry.through_base) return std::nullopt;
  return entry.runs;
}

std::int64_t Pass::needed(const GraphNode& node) const {
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < node.edges.size(); ++i) {
    const auto place = index_.find(node.edges[i].node);
    if (place == index_.end()) continue;
    if (entries_[static_cast<std::size_t>(place->second)].is_visited())
      bits |= std::int64_t{1} << i;
  }
  return bits;
}

bool Pass::is_plain_backward() const {
  return !step_.inputs;  // those of a grad are always given
}

// ---- Running
// ----------------------------------------------------------------------------------------------

void Pass::deliver(std::int32_t from, const Edge& edge, Tensor* gradient) {
  if (!edge.node) return;  // TOPO-3
  const auto place = index_.find(edge.node);
  if (place == index_.end()) throw error_of(ErrorCategory::incomplete, "ERR-7");
  const std::int32_t index = place->second;
  Entry& entry = entries_[static_cast<std::size_t>(index)];
  if (entry.waits_for == 0) throw error_of(ErrorCategory::incomplete, "ERR-7");
  --entry.waits_for;
  if (!entry.is_visited()) return;
  Tensor*& sum = entry.slots[static_cast<std::size_t>(edge.slot)];
  if (gradient) sum = sum ? add(graph_, sum, gradient) : gradient;  // ACC-1
  if (from != no_id && !(one_queue_ && one_maker_)) entry.producers.push_back(from);
  if (entry.waits_for == 0) {
    entry.ready_at = visits_;
    ready_.push_back(index);
    std::push_heap(ready_.begin(), ready_.end(),
                   [&](std::int32_t a, std::int32_t b) { return runs_before(b, a); });
  }
}

// ORDER-1: leaf accumulators before ordinary nodes, then the higher sequence number. Accumulators
// tie.
bool Pass::runs_before(std::int32_t a, std::int32_t b) const {
  const GraphNode& first = *entries_[static_cast<std::size_t>(a)].node;
  const GraphNode& second = *entries_[static_cast<std::size_t>(b)].node;
  const bool first_is_leaf = first.leaf != nullptr;
  const bool second_is_leaf = second.leaf != nullptr;
  if (first_is_leaf != second_is_leaf) return first_is_leaf;
  if (first_is_leaf) return a < b;
  return first.sequence > second.sequence;
}

std::int32_t Pass::take_first() {
  std::pop_heap(ready_.begin(), ready_.end(),
                [&](std::int32_t a, std::int32_t b) { return runs_before(b, a); });
  const std::int32_t first = ready_.back();
  ready_.pop_back();
  return first;
}

void Pass::serve() {
  while (!ready_.empty()) {
    const std::int32_t index = take_first();
    try {
      visit(index);
    } catch (Thrown& thrown) {
      fail(index, std::move(thrown));
    } catch (const Refused& refused) {
      fail(index, error_of(refused.category, refused.clause));
    }
  }
}

// Visits a node, and writes down what it follows and what follows it.
void Pass::visit(std::int32_t index) {
  Entry& entry = entries_[static_cast<std::size_t>(index)];
  ++visits_;
  current_ = index;
  entry.visited = true;
  follow_order(entry);
  entry.begun = now();
  in_.enter_node(*entry.node);
  const bool may_be_missing = entry.optional || entry.through_base;
  const bool required = std::exchange(trace_.required, trace_.required && !may_be_missing);
  is_certain_ = !may_be_missing;
  Gradients outputs;
  {
    const absl::Cleanup over = [&] {
      trace_.required = required;
      note_order(entry);
    };
    outputs = visit_parts(entry);
  }
  if (entry.optional) make_uncertain(entry);
  if (entry.through_base) make_uncertain(entry.begun, entry.ended);
  const GraphNode& node = *entry.node;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    pass_on(entry, node.edges[i]);
    deliver(index, node.edges[i], outputs[i]);
  }
}

// What hooks see, and keep, of a gradient that may go past its view's node.
void Pass::free_values_since(const Moment& begin) {
  for (std::int32_t i = begin.events; i < trace_.event_count(); ++i) {
    trace_.event(i).compare_values = false;
  }
  in_.make_kept_uncertain(begin.effects);
}

// What a hook of the node gives, or nothing.
std::optional<Gradients> Pass::call_hook(const Entry& entry, HookId hook, EventKind kind,
                                         const Gradients& values) {
  try {
    std::optional<Gradients> returned = in_.run_hook(hook, kind, values);
    if (returned && (entry.optional || entry.bypassed || entry.through_base)) {
      throw CannotTell("a gradient changed by a hook of a node that a change may go past");
    }
    return returned;
  } catch (const Thrown&) {
    if (entry.through_base) throw CannotTell("an error of a hook that may not run");
    throw;
  }
}

// What the consumer of an edge must follow.
void Pass::pass_on(const Entry& entry, const Edge& edge) {
  const auto place = index_.find(edge.node);
  if (place == index_.end()) return;
  Entry& consumer = entries_[static_cast<std::size_t>(place->second)];
  if (!consumer.is_visited()) return;
  const bool left_events = entry.ended.events > entry.begun.events;
  if (left_events) {
    join(consumer.after, entry.last, "TOPO-1");
  } else if (consumer.after.size() + entry.after.size() <= most_points_passed_on) {
    join(consumer.after, entry.after, "TOPO-1");
  }
}

void Pass::follow_order(const Entry& entry) {
  Cursor cursor = entry.after;
  join(cursor, ordinary_, "ORDER-1");
  if (!entry.node->leaf) join(cursor, accumulators_, "ORDER-1");
  if (cursor.empty()) cursor = begin_;
  trace_.cursor = std::move(cursor);
}

void Pass::note_order(Entry& entry) {
  entry.ended = now();
  if (entry.bypassed) free_values_since(entry.begun);
  if (entry.ended.events == entry.begun.events) return;
  entry.last = trace_.cursor;
  if (!(one_queue_ && one_maker_)) {
    for (const Point& point : entry.last) all_.push_back({point.event, "CB-1"});
    return;
  }
  if (paused_at_ != no_id) {
    if (pause_is_in_script_) {
      ordinary_ = {{paused_at_, nullptr}};
      accumulators_.clear();
    }
    join(all_, entry.last);
    return;
  }
  if (entry.node->leaf) {
    for (const Point& point : entry.last) accumulators_.push_back(point);
  } else {
    ordinary_ = entry.last;
    accumulators_.clear();
  }
}

// What the end follows where each visit follows the one before; else visits add to it one by one.
void Pass::gather_order() {
  if (!(one_queue_ && one_maker_) || paused_at_ != no_id) return;
  all_ = ordinary_;
  join(all_, accumulators_);
}

Gradients Pass::visit_parts(Entry& entry) {
  if (capture_first_) {
    capture(entry);
    return entry.runs ? run_node(entry) : Gradients();
  }
  call_all_tensor_hooks(entry);
  for (std::size_t slot = 0; slot < entry.slots.size(); ++slot) retain(entry, slot);
  capture(entry);
  return entry.runs ? run_node(entry) : Gradients();
}

// HOOK-5: what is removed does not start any more. Whether what was added meanwhile runs in this
// round is free, unless it is a post hook.
template <typename Call>
void Pass::for_each_registration(Registrations& list, bool takes_additions, Call call) {
  const std::int64_t start = graph_.tick();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].removed) continue;
    if (list[i].added_at > start && !takes_additions) {
      throw CannotTell("a hook added to a list of hooks that is running");
    }
    call(list[i].hook);
  }
}

void Pass::call_tensor_hooks(Entry& entry, std::size_t slot) {
  GraphNode& node = *entry.node;
  Tensor*& gradient = entry.slots[slot];
  for_each_registration(node.hooks->tensor[slot], false, [&](HookId hook) {
    if (in_.scenario().hooks[static_cast<std::size_t>(hook)].kind == HookKind::multi) {
      call_multi_hook(hook, node, static_cast<std::int32_t>(slot), gradient);
      return;
    }
    const auto returned = call_hook(entry, hook, EventKind::tensor_hook, {gradient});
    if (!returned) return;
    if (returned->size() != 1) throw error_of(ErrorCategory::hook_result, "HOOK-3");
    gradient = hook_result(gradient, (*returned)[0]);
  });
}

// The hooks of one tensor run in order of registration; those of two outputs of a node are
// unordered.
void Pass::call_all_tensor_hooks(Entry& entry) {
  if (!entry.node->hooks) return;
  const Cursor start = trace_.cursor;
  Cursor end;
  for (std::size_t slot = 0; slot < entry.node->hooks->tensor.size(); ++slot) {
    if (entry.node->hooks->tensor[slot].empty()) continue;
    trace_.cursor = start;
    call_tensor_hooks(entry, slot);
    join(end, trace_.cursor);
  }
  trace_.cursor = end.empty() ? start : end;
}

// What runs between the captures and the node. With `capture-first` tensor hooks are pre-hooks of
// the node like the others: those of one tensor stand together, with its retain-grad as the last,
// where the first of them was added.
void Pass::call_pre_hooks(Entry& entry) {
  if (!capture_first_) {
    if (entry.node->hooks) {
      call_node_hooks(entry.node->hooks->pre, EventKind::node_pre_hook, entry.slots);
    }
    return;
  }
  std::vector<std::pair<std::int64_t, std::size_t>> tensors = tensors_by_first_hook(*entry.node);
  std::size_t next = 0;
  const auto call_tensors_before = [&](std::int64_t time) {
    for (; next < tensors.size() && tensors[next].first < time; ++next) {
      if (entry.node->hooks) call_tensor_hooks(entry, tensors[next].second);
      retain(entry, tensors[next].second);
    }
  };
  Registrations none;
  Registrations& hooks = entry.node->hooks ? entry.node->hooks->pre : none;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    call_tensors_before(hooks[i].added_at);
    if (hooks[i].removed) continue;
    call_node_hook(hooks[i].hook, EventKind::node_pre_hook, entry.slots);
  }
  call_tensors_before(std::numeric_limits<std::int64_t>::max());
}

// When the first hook of an output was added, and which output; only those with hooks or
// retain-grad.
std::vector<std::pair<std::int64_t, std::size_t>> Pass::tensors_by_first_hook(
    const GraphNode& node) const {
  std::vector<std::pair<std::int64_t, std::size_t>> tensors;
  for (std::size_t slot = 0; slot < node.slots.size(); ++slot) {
    const Tensor* tensor = node.slots[slot].tensor;
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    if (node.hooks && !node.hooks->tensor[slot].empty()) {
      first = node.hooks->tensor[slot][0].added_at;
    }
    if (tensor->retains_grad) first = std::min(first, tensor->retains_since);
    if (first != std::numeric_limits<std::int64_t>::max()) tensors.emplace_back(first, slot);
  }
  std::sort(tensors.begin(), tensors.end());
  return tensors;
}

// HOOK-8: once a pass, when the last participating gradient is there.
void Pass::call_multi_hook(HookId hook, const GraphNode& node, std::int32_t slot,
                           Tensor* gradient) {
  const std::vector<Edge>& targets = in_.multi_targets(hook);
  const auto found = std::find_if(multi_hooks_.begin(), multi_hooks_.end(),
                                  [&](const MultiHook& known) { return known.hook == hook; });
  if (found == multi_hooks_.end()) {
    MultiHook fresh{hook, 0, Gradients(targets.size(), nullptr), {}, {}};
    for (const Edge& target : targets) fresh.missing += hooks_run_at(target.node) ? 1 : 0;
    multi_hooks_.push_back(std::move(fresh));
    call_multi_hook(hook, node, slot, gradient);
    return;
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].node != &node || targets[i].slot != slot) continue;
    found->gradients[i] = gradient;
    --found->missing;
  }
  if (found->missing > 0) return;
  for (const Edge& target : targets) {
    if (!hooks_run_at(target.node)) continue;
    const Entry& entry = entries_[static_cast<std::size_t>(index_.at(target.node))];
    if (entry.optional || entry.through_base) {
      throw CannotTell("a hook over several tensors, one of them of a node that may not run");
    }
  }
  const Gradients gradients = found->gradients;
  const std::vector<std::int32_t> places = possibly_last(index_.at(&node), targets);
  const bool here = places.size() == 1;
  const Cursor before = trace_.cursor;
  const std::size_t queued_before = callbacks_.size();
  found->begun = now();
  try {
    in_.run_hook(hook, EventKind::multi_hook, gradients);
  } catch (const Thrown&) {
    found->ended = now();
    if (!here) throw CannotTell("an error of a hook over several tensors that have no order");
    throw;
  }
  found->ended = now();
  for (std::size_t i = queued_before; i < callbacks_.size(); ++i) callbacks_[i].queued_by = places;
  const bool bypassed = std::any_of(targets.begin(), targets.end(), [&](const Edge& target) {
    return hooks_run_at(target.node) &&
           entries_[static_cast<std::size_t>(index_.at(target.node))].bypassed;
  });
  if (bypassed) free_values_since(found->begun);
  if (here) return;
  join(loose_, trace_.cursor);
  trace_.cursor = before;
}

// Leaf accumulators that become ready together: nothing else comes before a leaf that is ready.
bool Pass::tie(const Entry& leaf, const Entry& earlier) {
  return leaf.node->leaf && leaf.ready_at == earlier.ready_at;
}

// Whether an engine may visit the other node, which came earlier here, after this one.
bool Pass::may_follow(std::int32_t index, std::int32_t other) const {
  if (index == other) return false;
  if (!(one_queue_ && one_maker_)) return !leads_to(other, index);
  if (paused_at_ != no_id) return true;
  return tie(entries_[static_cast<std::size_t>(index)], entries_[static_cast<std::size_t>(other)]);
}

// What visits without an order among them see of each other's scripts is free.
void Pass::settle_unordered() {
  const auto visit_of = [&](const Entry& entry) {
    const bool released = entry.runs && !step_.keep_graph && entry.node->may_be_used_up();
    return Interpreter::Visit{entry.node, released, entry.begun.effects, entry.ended.effects};
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!in_.has_script_effects(visit_of(entries_[i]))) continue;
    const auto index = static_cast<std::int32_t>(i);
    for (std::size_t j = 0; j < entries_.size(); ++j) {
      const auto other = static_cast<std::int32_t>(j);
      if (!entries_[j].visited || !may_follow(index, other) || !may_follow(other, index)) continue;
      in_.settle_unordered(visit_of(entries_[i]), visit_of(entries_[j]));
    }
  }
}

void Pass::pause() {
  if (current_ == no_id || paused_at_ != no_id) return;
  gather_order();
  const Entry& entry = entries_[static_cast<std::size_t>(current_)];
  paused_at_ = entry.begun.events;
  pause_is_in_script_ = entry.node->scripted;
}

// Those of the hook's entries at which an engine may call it, in order; here it was called at `last`.
std::vector<std::int32_t> Pass::possibly_last(std::int32_t last,
                                              const std::vector<Edge>& targets) const {
  std::set<std::int32_t> places{last};
  for (const Edge& target : targets) {
    if (!hooks_run_at(target.node)) continue;
    const std::int32_t other = index_.at(target.node);
    if (may_follow(last, other)) places.insert(other);
  }
  return {places.begin(), places.end()};
}

bool Pass::hooks_run_at(const GraphNode* node) const {
  const auto place = index_.find(node);
  if (place == index_.end()) return false;
  const Entry& entry = entries_[static_cast<std::size_t>(place->second)];
  return capture_first_ ? entry.runs : entry.is_visited();
}

// HOOK-6: retain-grad follows the tensor; an earlier version of it retains nothing.
void Pass::retain(Entry& entry, std::size_t slot) {
  Tensor* tensor = entry.node->slots[slot].tensor;
  if (!tensor->retains_grad || tensor->origin.node != entry.node) return;
  if (entry.slots[slot]) add_to_grad(*tensor, entry.slots[slot]);
}

// PRUNE-6, HOOK-7: what the node would have received, changed by the capture's own hooks.
void Pass::capture(Entry& entry) {
  for (const Capture& capture : entry.captures) {
    Tensor* gradient = entry.slots[static_cast<std::size_t>(capture.slot)];
    if (step_.kind == PassStep::Kind::backward) {
      // One that retains its gradient has it already (PRUNE-5: it is accumulated once).
      Tensor& tensor = *requested_[static_cast<std::size_t>(capture.request)];
      if (gradient && !tensor.retains_grad) add_to_grad(tensor, gradient);
      continue;
    }
    for (const CaptureHook& hook : step_.capture_hooks) {
      if (hook.input != capture.request) continue;
      const auto returned = in_.run_hook(hook.hook, EventKind::capture_hook, {gradient});
      if (!returned) continue;
      if (returned->size() != 1) throw error_of(ErrorCategory::hook_result, "HOOK-3");
      gradient = hook_result(gradient, (*returned)[0]);
    }
    captured_[static_cast<std::size_t>(capture.request)] = gradient;
  }
}

// HOOK-3: returning nothing keeps the gradient; another kind of tensor is an error.
Tensor* Pass::hook_result(Tensor* given, Tensor* returned) const {
  if (!returned) return given;
  if (!given) throw CannotTell("a hook that puts a gradient in place of none");
  if (returned->type != given->type || returned->device != given->device) {
    throw error_of(ErrorCategory::hook_result, "HOOK-3");
  }
  if (returned->shape != given->shape) {
    if (expands_to(given->shape, returned->shape)) {
      throw CannotTell("a hook's result that could be summed to the gradient's shape");
    }
    throw error_of(ErrorCategory::hook_result, "HOOK-3");
  }
  return returned;
}

// Whether each input with a history needs its gradient.
bool Pass::needs_all(const GraphNode& node) const {
  return std::all_of(node.edges.begin(), node.edges.end(), [&](const Edge& edge) {
    return !edge.node || entries_[static_cast<std::size_t>(index_.at(edge.node))].is_visited();
  });
}

// A built-in node need not compute a gradient that nothing needs, so what a post hook sees is free
// then.
bool Pass::computes_all(const GraphNode& node) const {
  const bool has_all = std::all_of(node.edges.begin(), node.edges.end(),
                                   [](const Edge& edge) { return edge.node != nullptr; });
  return node.scripted || (has_all && needs_all(node));
}

void Pass::call_node_hook(HookId hook, EventKind kind, Gradients& values) {
  const auto returned = call_hook(entries_[static_cast<std::size_t>(current_)], hook, kind, values);
  if (!returned) return;
  if (returned->size() != values.size()) throw error_of(ErrorCategory::hook_result, "HOOK-3");
  for (std::size_t i = 0; i < values.size(); ++i) {
    Tensor* result = (*returned)[i];
    // Of a node's hooks the clause checks count and type: another shape shows where it is used.
    if (result && values[i] && result->shape != values[i]->shape) {
      throw CannotTell("a node hook's result of another shape");
    }
    values[i] = result ? hook_result(values[i], result) : nullptr;
  }
}

void Pass::call_node_hooks(Registrations& list, EventKind kind, Gradients& values) {
  const bool post = kind == EventKind::node_post_hook;
  for_each_registration(list, post, [&](HookId hook) { call_node_hook(hook, kind, values); });
}

void Pass::call_post_hooks(GraphNode& node, Gradients& outputs) {
  const std::int32_t first = trace_.event_count();
  const std::int32_t effects = in_.effect_count();
  const auto settle = [&] {
    if (computes_all(node)) return;
    in_.make_kept_uncertain(effects);
    for (std::int32_t i = first; i < trace_.event_count(); ++i) {
      ExpectedEvent& event = trace_.event(i);
      if (event.event.kind == EventKind::node_post_hook) event.compare_values = false;
    }
  };
  const absl::Cleanup settled = settle;
  call_node_hooks(node.hooks->post, EventKind::node_post_hook, outputs);
}

// The node itself between its pre-hooks and its post hooks. A built-in node is traced by hooks of
// the engine, so its enter and exit are not ordered against the scenario's own node hooks.
Gradients Pass::run_node(Entry& entry) {
  GraphNode& node = *entry.node;
  in_.note_nested(Interpreter::Nested::visit, &node);
  const Cursor before = trace_.cursor;
  std::int32_t enter = no_id;
  if (node.id != no_id && !node.scripted && in_.scenario().trace == gradcts::Trace::all) {
    enter = in_.trace_enter(node, entry.slots);
    if (node.on_view) trace_.event(enter).required = false;
    trace_.cursor = before;
  }
  absl::Cleanup failed = [&] {
    if (enter != no_id) trace_.event(enter).required = false;
    if (enter != no_id && node.on_view) {  // what failed may be another node of the engine's
      trace_.event(trace_.node(EventKind::node_exit, node.id, node.instance)).required = false;
    }
  };
  const std::int32_t start = trace_.event_count();
  call_pre_hooks(entry);
  if (enter != no_id && trace_.event_count() == start) trace_.cursor.clear();
  if (enter != no_id) join(trace_.cursor, {{enter, "HOOK-1"}});
  Gradients outputs = run_itself(entry);
  std::move(failed).Cancel();
  Cursor exit;
  if (enter != no_id) {
    const Cursor inside = trace_.cursor;
    const std::int32_t last = trace_.node(EventKind::node_exit, node.id, node.instance);
    if (node.on_view) trace_.event(last).required = false;
    exit = trace_.cursor;
    trace_.cursor = inside;
  }
  if (node.hooks) call_post_hooks(node, outputs);
  if (!step_.keep_graph) node.released = true;  // KEEP-1; not after an error (KEEP-5)
  if (node.released && node.may_be_used_up()) in_.note_nested(Interpreter::Nested::release, &node);
  check_nan(outputs);
  if (!exit.empty()) {
    if (trace_.cursor[0].event == enter) trace_.cursor.clear();  // the exit follows it
    join(trace_.cursor, exit);
  }
  return outputs;
}

Gradients Pass::run_itself(Entry& entry) {
  GraphNode& node = *entry.node;
  if (node.leaf) {
    accumulate(entry);
    return {};
  }
  materialise(node, entry.slots);
  check_saved(node);
  in_.unpack_saved(node);
  Gradients outputs;
  const bool nothing = std::all_of(entry.slots.begin(), entry.slots.end(),
                                   [](const Tensor* slot) { return slot == nullptr; });
  if (nothing && node.refuses) {  // GRAPH2-3 or TOPO-5
    throw CannotTell("a second derivative that is refused, of a gradient that is undefined");
  }
  if (nothing && !node.scripted) {
    outputs.resize(node.edges.size(), nullptr);  // TOPO-5
  } else {
    outputs = node.backward(graph_, node, entry.slots);
  }
  validate(node, outputs);
  return outputs;
}

// VAL-6
void Pass::materialise(const GraphNode& node, Gradients& slots) const {
  if (!node.materialises) return;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i]) slots[i] = zeros(graph_, node.slots[i]);
  }
}

void Pass::check_saved(const GraphNode& node) const {
  if (!node.may_be_used_up()) return;
  if (node.release_unknown) throw CannotTell("a node that ran or did not in a pass that failed");
  if (node.released && needed(node) == 0)
    throw CannotTell("a released node of which nothing is needed");
  if (node.released && node.may_save) {
    throw CannotTell("a released node of a derivative, which may have saved nothing");
  }
  if (node.released) throw error_of(ErrorCategory::graph_released, "KEEP-1");
  for (const SavedTensor& saved : node.saved) {
    if (saved.hook == no_id && saved.version != saved.tensor->version->number) {
      // Which of them a built-in operation needs for a part of its gradients is its affair.
      if (!node.scripted && !needs_all(node)) {
        throw CannotTell("a changed tensor that perhaps nothing needs");
      }
      throw error_of(ErrorCategory::saved_modified, "KEEP-3");
    }
  }
}

// ---- Leaves
// -------------------------------------------------------------------------------------------------

void Pass::accumulate(Entry& entry) {
  GraphNode& node = *entry.node;
  Tensor* gradient = entry.slots[0];
  const bool skipped = !gradient || !node.leaf->requires_grad;  // LEAF-7
  if (!skipped) add_to_grad(*node.leaf, gradient);
  if (node.leaf->requires_grad) in_.note_arrival(*node.leaf, gradient != nullptr);
  if (!node.hooks) return;
  for_each_registration(node.hooks->post_accumulate, true, [&](HookId hook) {
    // Whether it is called then, no clause says.
    const auto& steps = in_.scenario().hooks[static_cast<std::size_t>(hook)].script.steps;
    if (skipped && !steps.empty()) {
      throw CannotTell("a post-accumulate hook where nothing was accumulated");
    }
    const bool required = std::exchange(trace_.required, trace_.required && !skipped);
    in_.run_hook(hook, EventKind::post_accumulate_hook, {});
    trace_.required = required;
  });
}

// LEAF-1, LEAF-2. Sharing of buffers must not show, so the oracle always makes a new tensor.
void Pass::add_to_grad(Tensor& tensor, Tensor* gradient) {
  in_.note_added_to_grad(&tensor);
  Tensor* old = tensor.grad;
  std::optional<Shape> strides;
  if (old) {
    strides = old->strides;
    tensor.grad = add(graph_, old, gradient);
    // LEAF-2: in place, so that whoever holds the old `.grad` sees the sum; a sparse one, which may
    // become dense, is changed in place by some engines alone.
    const bool in_place = !graph_.recording && !old->sparse && !tensor.origin.node;
    if (in_place) {
      write_elements(*old, elements_of(*tensor.grad).values);
      ++old->version->number;
      tensor.grad = old;
    } else if (!graph_.recording && !tensor.origin.node) {
      in_.make_holders_uncertain(*old);
    }
  } else {
    if (tensor.strides && dense_without_overlap(tensor.shape, *tensor.strides)) {
      strides = tensor.strides;
    }
    tensor.grad = clone(graph_, gradient);
  }
  const bool free = graph_.recording || tensor.grad->sparse;
  tensor.grad->strides = free ? std::nullopt : strides;  // LEAF-4
}

// ---- Validation
// ---------------------------------------------------------------------------------------------

void Pass::validate(const GraphNode& node, Gradients& outputs) {
  if (outputs.size() != node.edges.size()) throw error_of(ErrorCategory::gradient_count, "VAL-1");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Edge& edge = node.edges[i];
    if (!edge.node) continue;
    outputs[i] = validated(outputs[i], edge.node->slots[static_cast<std::size_t>(edge.slot)]);
  }
}

namespace {

void check_shape(const Tensor& gradient, const Slot& slot, bool strict) {
  if (gradient.shape == slot.shape) return;
  if (strict || !expands_to(slot.shape, gradient.shape)) {
    throw error_of(ErrorCategory::gradient_shape, "VAL-2");
  }
}

}  // namespace

// VAL-2 to VAL-6. Where several things are wrong, any of their errors is right.
Tensor* Pass::validated(Tensor* gradient, const Slot& slot) {
  if (!gradient) return nullptr;
  const bool strict = in_.scenario().configuration.strict_validation;
  std::vector<Thrown> wrong;
  try {
    check_shape(*gradient, slot, strict);
  } catch (Thrown& thrown) {
    wrong.push_back(std::move(thrown));
  }
  if (gradient->type != slot.type) {
    if (!is_differentiable(gradient->type)) throw CannotTell("a gradient of integers");
    const bool complex_for_real = is_complex(gradient->type) && !is_complex(slot.type);
    if (strict || (complex_for_real && !in_.follows("VAL-3", "real-part"))) {
      wrong.push_back(error_of(ErrorCategory::gradient_type, "VAL-3"));
    }
  }
  const bool moves = gradient->device != slot.device;
  if (moves && !strict && slot.shape.empty() && !gradient->shape.empty()) {
    throw CannotTell("a gradient of another device that is summed to one element");
  }
  if (moves && (strict || !gradient->shape.empty())) {
    wrong.push_back(error_of(ErrorCategory::gradient_device, "VAL-4"));
  }
  if (!wrong.empty()) throw any_of(wrong);
  Tensor* result = cast(graph_, sum_to(graph_, gradient, slot.shape), slot.type);
  return result->device == slot.device ? result : to_device(graph_, result, slot.device);
}

void Pass::check_nan(const Gradients& outputs) const {
  if (!in_.modes().anomaly || !in_.modes().check_nan) return;
  for (const Tensor* output : outputs) {
    if (output && has_nan(*output)) throw error_of(ErrorCategory::nan_gradient, "ANOM-1");
  }
}

// ---- Ending
// -------------------------------------------------------------------------------------------------

// ERR-2: no further node starts. Only what is unordered against the failing node may still have
// run: leaf accumulators that were ready together; what may run inside a visit that was paused; or,
// on several queues, all that the node does not wait for.
void Pass::fail(std::int32_t index, Thrown thrown) {
  const Entry& failed = entries_[static_cast<std::size_t>(index)];
  if (failed.optional) throw CannotTell("an error at a node that may not run");
  failures_.push_back({index, std::move(thrown)});
  if (!(one_queue_ && one_maker_) || paused_at_ != no_id) return;
  std::erase_if(ready_, [&](std::int32_t other) {
    const Entry& entry = entries_[static_cast<std::size_t>(other)];
    return !failed.node->leaf || !entry.node->leaf;  // leaves that are ready are so together
  });
  std::make_heap(ready_.begin(), ready_.end(),
                 [&](std::int32_t a, std::int32_t b) { return runs_before(b, a); });
}

// ERR-7. A node that waits for deliveries which do not come any more.
void Pass::check_all_served() const {
  for (const Entry& entry : entries_) {
    if (entry.is_visited() && !entry.visited) throw error_of(ErrorCategory::incomplete, "ERR-7");
  }
}

// How far the pass got before the failure came is free.
Thrown Pass::failure_from_outside() {
  make_all_uncertain();
  trace_.cursor = begin_;
  Thrown first = outside_failures_[0];
  const auto also = [&](const Thrown& other) {
    add_new(first.allowed, {other.error.category});
    add_new(first.allowed, other.allowed);
    add_new(first.tokens, {first.error.token, other.error.token});
  };
  for (const Thrown& other : outside_failures_) also(other);
  for (const Failure& failure : failures_) also(failure.thrown);
  return first;
}

Thrown Pass::unordered_failure() {
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(entries_.size()); ++i) {
    if (!certain(i)) make_uncertain(entries_[static_cast<std::size_t>(i)]);
  }
  make_multi_hooks_uncertain();
  // STREAM-5 speaks of a call that returns: after an error nothing need have been waited for.
  if (!in_.scenario().streams.empty()) {
    in_.make_uncertain(0, 0, started_.effects, in_.effect_count());
  }
  const bool may_be_left = in_.follows("ERR-5", "at-first-error");  // with nodes that still run
  trace_.cursor = all_.empty() || may_be_left ? begin_ : all_;
  Thrown first = failures_[0].thrown;
  for (std::size_t i = 1; i < failures_.size(); ++i) {
    const Thrown& other = failures_[i].thrown;
    add_new(first.allowed, {other.error.category});
    add_new(first.allowed, other.allowed);
    add_new(first.tokens, {first.error.token, other.error.token});
    add_new(first.tokens, other.tokens);
  }
  if (may_be_refused()) {
    add_new(first.allowed, {ErrorCategory::unused_input});
    make_all_uncertain();
  }
  return first;
}

// Whether this visit happens whichever failing node fails first.
bool Pass::certain(std::int32_t index) const {
  const Entry& entry = entries_[static_cast<std::size_t>(index)];
  if (!(one_queue_ && one_maker_)) {
    return std::all_of(failures_.begin(), failures_.end(),
                       [&](const Failure& failure) { return leads_to(index, failure.entry); });
  }
  const Entry& failed = entries_[static_cast<std::size_t>(failures_[0].entry)];
  if (&entry == &failed) return failures_.size() == 1;
  if (paused_at_ != no_id && entry.begun.events > paused_at_) return false;
  return !tie(failed, entry);
}

bool Pass::leads_to(std::int32_t index, std::int32_t target) const {
  std::vector<std::int32_t> todo{target};
  std::vector<bool> seen(entries_.size(), false);
  while (!todo.empty()) {
    const std::int32_t next = todo.back();
    todo.pop_back();
    if (next == index) return true;
    if (seen[static_cast<std::size_t>(next)]) continue;
    seen[static_cast<std::size_t>(next)] = true;
    const auto& producers = entries_[static_cast<std::size_t>(next)].producers;
    todo.insert(todo.end(), producers.begin(), producers.end());
  }
  return false;
}

Pass::Moment Pass::now() const {
  return {trace_.event_count(), in_.step_count(), in_.effect_count()};
}

void Pass::make_uncertain(const Moment& begin, const Moment& end) {
  for (std::int32_t i = begin.events; i < end.events; ++i) trace_.event(i).required = false;
  in_.make_uncertain(begin.steps, end.steps, begin.effects, end.effects);
}

void Pass::make_uncertain(Entry& entry) {
  if (!entry.visited) return;
  entry.node->release_unknown |= !step_.keep_graph;
  make_uncertain(entry.begun, entry.ended);
}

// A hook over several tensors is called at one of them, and only if the others are visited too.
void Pass::make_multi_hooks_uncertain() {
  for (const MultiHook& hook : multi_hooks_) {
    const std::vector<Edge>& targets = in_.multi_targets(hook.hook);
    const bool sure = std::all_of(targets.begin(), targets.end(), [&](const Edge& target) {
      return !hooks_run_at(target.node) || certain(index_.at(target.node));
    });
    if (!sure) make_uncertain(hook.begun, hook.ended);
  }
}

// Everything that the pass did so far, its callbacks too.
void Pass::make_all_uncertain() {
  for (const Entry& entry : entries_) {
    entry.node->release_unknown |= entry.visited && !step_.keep_graph;
  }
  make_uncertain(started_, now());
}

// CB-1, CB-4, CB-6.
void Pass::run_callbacks() {
  current_ = no_id;
  if (!callbacks_are_ordered()) throw CannotTell("callbacks of nodes that are not ordered");
  for (std::size_t i = 0; i < callbacks_.size(); ++i) run_callback(i);
}

void Pass::run_callback(std::size_t index) {
  const Callback callback = callbacks_[index];  // one may add more
  const Moment begin = now();
  is_certain_ = callback.is_certain;
  try {
    in_.run_callback(callback.id);
  } catch (Thrown& thrown) {
    if (!callback.is_certain) throw CannotTell("an error of a callback that may not run");
    if (index + 1 != callbacks_.size()) throw CannotTell("a callback after one that failed");
    if (may_be_refused()) {
      add_new(thrown.allowed, {ErrorCategory::unused_input});
      make_all_uncertain();
    }
    throw;
  }
  if (!callback.is_certain) make_uncertain(begin, now());
}

// Nodes of several queues queue theirs in any order. Hooks of one node, and over the same nodes, have
// that of their registration.
bool Pass::callbacks_are_ordered() const {
  for (std::size_t i = 1; i < callbacks_.size(); ++i) {
    const std::vector<std::int32_t>& earlier = callbacks_[i - 1].queued_by;
    const std::vector<std::int32_t>& later = callbacks_[i].queued_by;
    if (earlier == later) continue;
    for (const std::int32_t first : earlier) {
      for (const std::int32_t second : later) {
        if (may_follow(second, first)) return false;
      }
    }
  }
  return true;
}

std::optional<Thrown> Pass::take_results() {
  if (step_.kind != PassStep::Kind::grad) return std::nullopt;
  results_.assign(captured_.begin(), captured_.end());
  const bool nothing_runs = step_.roots.empty() && step_.announced.empty();  // ROOT-5
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i]) continue;
    if (step_.materialise) {
      const Tensor& like = *requested_[i];
      results_[i] = zeros(graph_, {like.type, like.device, like.shape, nullptr});
    } else if (!step_.allow_unused && !nothing_runs) {
      if (may_be_refused()) make_all_uncertain();
      return error_of(ErrorCategory::unused_input, "PRUNE-4");
    }
  }
  return std::nullopt;
}

}  // namespace gradcts::oracle
