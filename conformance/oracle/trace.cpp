#include "conformance/oracle/trace.h"

#include <algorithm>

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
  if (entries.size() <= index) entries.resize(index + 1);
  return entries[index];
}

Trace::Seen& Trace::seen(const Event& event) {
  return seen(events_, static_cast<std::size_t>(event.kind), event.subject);
}

void Trace::note(Seen& entry) {
  if (entry.times > 0 && entry.thread != thread) entry.mixed = true;
  entry.thread = thread;
  ++entry.times;
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
  note(seen(events_, static_cast<std::size_t>(kind), subject));
  return emit(kind, subject, instance, "TOPO-1", "TOPO-1");
}

std::int32_t Trace::other(EventKind kind, std::int32_t subject, const char* clause,
                          const char* order) {
  Seen& entry = seen(events_, static_cast<std::size_t>(kind), subject);
  const std::int32_t occurrence = entry.times;
  note(entry);
  return emit(kind, subject, occurrence, clause, order);
}

ExpectedStep& Trace::step(StepId id) {
  Seen& entry = seen(steps_, 0, id);
  ExpectedStep& step = expectation_.steps.emplace_back();
  step.result.step = id;
  step.result.occurrence = entry.times;
  step.result.thread = static_cast<std::int16_t>(thread);
  step.required = required;
  note(entry);
  return step;
}

void Trace::settle() {
  bool mixed = false;
  for (ExpectedEvent& expected : expectation_.events) {
    expected.any_order = seen(expected.event).mixed;
    mixed |= expected.any_order;
  }
  for (ExpectedStep& step : expectation_.steps) {
    step.any_order = seen(steps_, 0, step.result.step).mixed;
  }
  if (!mixed) return;
  std::erase_if(expectation_.order, [&](const OrderConstraint& constraint) {
    return event(constraint.before).any_order || event(constraint.after).any_order;
  });
}

}  // namespace gradcts::oracle
