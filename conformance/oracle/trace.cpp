#include "conformance/oracle/trace.h"

#include <algorithm>
#include <span>

namespace gradcts::oracle {

void join(Cursor& cursor, const Cursor& more, const char* clause) {
  for (const Point& point : more) {
    const bool present = std::any_of(cursor.begin(), cursor.end(),
                                     [&](const Point& own) { return own.event == point.event; });
    if (!present) cursor.push_back({point.event, clause ? clause : point.clause});
  }
}

Trace::Seen& Trace::seen(Table& table, std::size_t row, std::int32_t column) {
  std::vector<Seen>& entries = table[row];
  const auto index = static_cast<std::size_t>(column);
  if (entries.size() <= index) entries.resize(std::max(index + 1, 2 * entries.size()));
  return entries[index];
}

Trace::Seen& Trace::seen(const Event& event) {
  return seen(events_, static_cast<std::size_t>(event.kind), event.subject);
}

std::int32_t Trace::emit(EventKind kind, std::int32_t subject, std::int32_t instance,
                         const char* clause, const char* order) {
  const std::int32_t index = event_count();
  ExpectedEvent& expected = expectation_.events.emplace_back();
  expected.event.kind = kind;
  expected.event.subject = subject;
  expected.event.instance = instance;
  expected.event.thread = static_cast<std::int16_t>(thread);
  expected.required = required;
  expected.clause = clause;
  for (const Point& point : cursor) {
    expectation_.order.push_back({point.event, index, point.clause ? point.clause : order});
  }
  cursor = {{index, nullptr}};
  return index;
}

std::int32_t Trace::node(EventKind kind, NodeId subject, std::int32_t instance) {
  return emit(kind, subject, instance, "TOPO-1", "TOPO-1");
}

std::int32_t Trace::other(EventKind kind, std::int32_t subject, const char* clause,
                          const char* order) {
  const std::int32_t occurrence = seen(events_, static_cast<std::size_t>(kind), subject).times++;
  return emit(kind, subject, occurrence, clause, order);
}

ExpectedStep& Trace::step(StepId id) {
  ExpectedStep& step = expectation_.steps.emplace_back();
  step.result.step = id;
  step.result.occurrence = seen(steps_, 0, id).times++;
  step.result.thread = static_cast<std::int16_t>(thread);
  step.required = required;
  step_events_.push_back(cursor.empty() ? -1 : cursor.front().event);
  return step;
}

// Note [Which is which]
// Expected events of one kind and subject are told apart by their order alone: the first is the
// first. That fails where two of them are unordered (the same node in two passes that run side by
// side), or where an earlier one may be missing. Those match in any order.

// Whether the constraints put one event before another, or before = -1, the start, which is before
// all. They are in the order of what they constrain.
bool Trace::is_ordered(std::int32_t before, std::int32_t after) {
  ++searches_;
  todo_.assign(1, after);
  while (!todo_.empty()) {
    const std::int32_t event = todo_.back();
    todo_.pop_back();
    if (event == before || before <= follows_all_to_[static_cast<std::size_t>(event)]) return true;
    const auto index = static_cast<std::size_t>(event);
    for (std::size_t i = first_order_[index]; i < first_order_[index + 1]; ++i) {
      const std::int32_t next = expectation_.order[i].before;
      if (next < before || visited_[static_cast<std::size_t>(next)] == searches_) continue;
      visited_[static_cast<std::size_t>(next)] = searches_;
      todo_.push_back(next);
    }
  }
  return false;
}

void Trace::compare_with_last(Seen& entry, std::int32_t event, bool is_required) {
  if (!entry.mixed) entry.mixed = !entry.last_required || !is_ordered(entry.last, event);
  entry.last = event;
  entry.last_required = is_required;
}

// Note [Most events follow all before them]
// `follows_all_to_[e]` is the last event such that e follows it and everything before it. Most
// questions are answered by it at once: after a pass of one thread everything follows all of it.
// Where several lines of events meet (the accumulators of a pass, at its end), it goes on along
// those lines: `line_[e]` is the line that e stands on, each event of which follows the one before
// it on the line.
void Trace::find_what_follows_all() {
  const std::int32_t count = event_count();
  follows_all_to_.assign(at(count), -1);
  line_.assign(at(count), no_id);
  std::vector<std::int32_t> last_on_line;  // by line
  std::vector<std::int32_t> reached;       // by line: the last event on it that e follows
  for (std::int32_t e = 0; e < count; ++e) {
    std::int32_t& all = follows_all_to_[at(e)];
    const std::span<const OrderConstraint> followed(expectation_.order.data() + first_order_[at(e)],
                                                    expectation_.order.data() + first_order_[at(e) + 1]);
    for (const auto& [before, after, clause] : followed) {
      all = std::max(all, follows_all_to_[at(before)]);
      const std::int32_t line = line_[at(before)];
      reached[at(line)] = std::max(reached[at(line)], before);
      if (last_on_line[at(line)] == before) line_[at(e)] = line;
    }
    while (all + 1 < e && reached[at(line_[at(all + 1)])] > all) ++all;
    for (const auto& constraint : followed) reached[at(line_[at(constraint.before)])] = -1;
    if (line_[at(e)] == no_id) {
      line_[at(e)] = static_cast<std::int32_t>(last_on_line.size());
      last_on_line.push_back(e);
      reached.push_back(-1);
    }
    last_on_line[at(line_[at(e)])] = e;
  }
}

void Trace::find_mixed() {
  const auto count = static_cast<std::size_t>(event_count());
  first_order_.assign(count + 1, 0);
  for (const OrderConstraint& constraint : expectation_.order) {
    ++first_order_[static_cast<std::size_t>(constraint.after) + 1];
  }
  for (std::size_t i = 0; i < count; ++i) first_order_[i + 1] += first_order_[i];
  visited_.assign(count, 0);
  find_what_follows_all();
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) {
    Seen& entry = seen(event(i).event);
    entry.devices_differ |= entry.last != -1 && event(entry.last).device != event(i).device;
    compare_with_last(entry, i, event(i).required);
  }
  for (std::size_t i = 0; i < expectation_.steps.size(); ++i) {
    const ExpectedStep& step = expectation_.steps[i];
    compare_with_last(seen(steps_, 0, step.result.step), step_events_[i], step.required);
  }
}

void Trace::settle() {
  find_mixed();
  for (ExpectedEvent& expected : expectation_.events) {
    const Seen& entry = seen(expected.event);
    expected.any_order = entry.mixed;
    // Of a leaf's accumulation in two passes, say, of which one is nested on a device: whichever
    // came first may be either.
    if (entry.mixed && entry.devices_differ) expected.device.reset();
  }
  for (ExpectedStep& step : expectation_.steps) {
    step.any_order = seen(steps_, 0, step.result.step).mixed;
  }
  std::erase_if(expectation_.order, [&](const OrderConstraint& constraint) {
    return event(constraint.before).any_order || event(constraint.after).any_order;
  });
}

}  // namespace gradcts::oracle
