// What happened in a run of one scenario, laid out in time: lanes, bars on them, arrows between
// them.
//
// Time is the logical clock of the outcome: event i takes the time from i to i + 1. What has a
// begin and an end (a node, a pass) spans from the one to the other, and bars on one thread nest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"

namespace gradcts {

struct Lane {
  enum class Kind : std::uint8_t { thread, stream };
  Kind kind = Kind::thread;
  std::string name;  // "main thread", "thread 1", "stream s1 (sim:0)"
};

struct Bar {
  std::size_t lane = 0;
  std::size_t begin = 0, end = 0;  // in time; begin < end
  int depth = 0;                   // how many bars of its lane it stands in
  EventKind kind = EventKind::node_enter;
  std::int32_t subject = no_id;
  std::string name;       // "y", "step 1 (backward)", "tensor hook h"
  std::string detail;     // the values that came with it, and what is odd about it
  std::size_t event = 0;  // that it begins with
  bool ended = true;      // false: its end was never reported
};

// Something on one lane that waits for something on another.
struct Arrow {
  std::size_t from_lane = 0, from_time = 0;
  std::size_t to_lane = 0, to_time = 0;
  std::string reason;  // "gradient of y", "end of the pass"
};

struct Timeline {
  std::vector<Lane> lanes;  // threads in order of their numbers, then streams
  std::vector<Bar> bars;    // in order of their begins
  std::vector<Arrow> arrows;
  std::size_t length = 0;  // events that are shown
  std::size_t events = 0;  // events that there are
};

// Note [Lanes of streams]
// Events say on which thread the host was; no engine says on which stream the work went. A node's
// work is shown on the stream that its backward observed, and without an observation on the one
// that it must run on (STREAM-1): the current stream of its forward.

// The first `limit` events.
Timeline make_timeline(const Scenario& scenario, const Outcome& outcome,
                       std::size_t limit = static_cast<std::size_t>(-1));

}  // namespace gradcts
