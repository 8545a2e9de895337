// Trace: writes down what is expected to happen, and in which order.
//
// A cursor stands for "now" on one thread of the program: the events that everything from here on
// must follow. Emitting an event constrains it to follow the cursor, which then is that event. A
// pass moves the cursor about, since its nodes are ordered by more than one line.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <optional>
#include <vector>

#include "conformance/oracle/oracle.h"

namespace gradcts::oracle {

// An expected event, and the clause that puts it before what follows. Null: the clause of what
// follows.
struct Point {
  std::int32_t event = 0;
  const char* clause = nullptr;
};
using Cursor = absl::InlinedVector<Point, 2>;

// Adds points, without duplicates.
void join(Cursor& cursor, const Cursor& more, const char* clause = nullptr);

class Trace {
 public:
  explicit Trace(Expectation& expectation) : expectation_(expectation) {
    expectation.steps.reserve(usual_steps);
    expectation.events.reserve(usual_events);
    expectation.order.reserve(2 * usual_events);
  }

  Cursor cursor;
  std::int32_t thread = 0;  // of the program
  bool required = true;     // whether what is emitted now must happen

  // `clause` is what the event itself stands for; `order` is why it follows the cursor, where the
  // points of the cursor do not say. For nodes the instance is the making of the node; for others
  // it is counted here.
  std::int32_t node(EventKind kind, NodeId subject, std::int32_t instance);
  std::int32_t other(EventKind kind, std::int32_t subject, const char* clause, const char* order);

  ExpectedEvent& event(std::int32_t index) {
    return expectation_.events[static_cast<std::size_t>(index)];
  }
  std::int32_t event_count() const { return static_cast<std::int32_t>(expectation_.events.size()); }

  // Adds a result of a step; its occurrence is counted here.
  ExpectedStep& step(StepId id);

  // Marks what has no order among its like, and drops constraints on it.
  void settle();

 private:
  struct Seen {
    std::int32_t times = 0;
    bool mixed = false;      // what is like it has no order, or may be missing
    std::int32_t last = -1;  // the event, or the event before the step, that was seen last
    bool last_required = true;
    bool devices_differ = false;
  };
  using Table = std::vector<std::vector<Seen>>;
  static constexpr std::size_t usual_steps = 16;  // for speed alone
  static constexpr std::size_t usual_events = 64;

  static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
  static Seen& seen(Table& table, std::size_t row, std::int32_t column);
  std::int32_t emit(EventKind kind, std::int32_t subject, std::int32_t instance, const char* clause,
                    const char* order);
  Seen& seen(const Event& event);
  void find_what_follows_all();
  void find_mixed();
  void compare_with_last(Seen& entry, std::int32_t event, bool is_required);
  bool is_ordered(std::int32_t before, std::int32_t after);

  Expectation& expectation_;
  std::vector<std::int32_t> step_events_;  // by expected step: the event that it follows, or -1
  std::vector<std::size_t> first_order_;   // by event: the first constraint on what it follows
  std::vector<std::int32_t> follows_all_to_;  // by event: see Note [Most events follow all before them]
  std::vector<std::int32_t> line_;            // by event: likewise
  std::vector<std::int32_t> visited_;         // by event: the search that came to it last
  std::vector<std::int32_t> todo_;            // of a search
  std::int32_t searches_ = 0;
  Table events_{16};  // by kind, then subject
  Table steps_{1};    // by step
};

}  // namespace gradcts::oracle
