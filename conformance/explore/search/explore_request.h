// What a process that explores is asked, and what it answers: one JSON text in, lines of JSON out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "conformance/scenario/json.h"

namespace gradcts {

struct ExploreRequest {
  std::string engine;  // the path of its library
  Json scenario;       // gradcts.scenario/1
  std::string
      strategy;  // "exhaustive", "pct", "pos", "random", or "replay": `schedule` and no other
  std::string schedule;
  std::uint32_t bound = 2;       // exhaustive: preemptions; pct: orderings
  std::uint64_t schedules = 0;   // at most; 0: no limit
  double seconds = 0;            // then none is begun any more; 0: no limit
  std::uint64_t seed = 0;        // of the first one; the next have the next seeds
  std::uint32_t spurious = 0;    // waits of a schedule that end by themselves, at most
  std::uint64_t step_bound = 0;  // of a schedule
  bool keeps_frontier = false;   // exhaustive: what is left open is part of the answer
  std::string frontier;          // exhaustive: what an earlier search has left open
};

struct ExploreCounts {
  std::uint64_t schedules = 0;
  std::uint64_t meanings = 0;   // that differ by more than the order of what commutes
  std::uint64_t seen_once = 0;  // of these
  std::uint64_t steps = 0;      // of all schedules
  std::uint64_t most_steps = 0;
  std::uint64_t most_threads = 0;
  std::uint64_t outside = 0;  // schedules in which threads outside control made themselves felt
  double seconds = 0;
  // Of a search:
  std::uint64_t states = 0;
  std::uint64_t seen_before = 0;
  std::uint64_t beginnings = 0;
  std::uint64_t open = 0;
  int complete_to = -1;  // preemptions
};

struct ExploreAnswer {
  enum class Kind { progress, ended, failed, unusable };
  Kind kind = Kind::progress;
  ExploreCounts counts;
  // failed:
  std::string how;  // "outcome", "deadlock", "step bound", "stall"
  std::string schedule;
  std::uint64_t steps = 0;
  Json outcome;          // of "outcome": what the engine answered, to be judged
  std::string text;      // the report of a schedule that could not end; unusable: one clear line
  std::string frontier;  // of a search that is not complete
};

Json write_request(const ExploreRequest& request);
ExploreRequest read_request(const Json& json);
Json write_answer(const ExploreAnswer& answer);
ExploreAnswer read_answer(const Json& json);

}  // namespace gradcts
