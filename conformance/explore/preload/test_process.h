// Runs a program under the preloaded library and collects what came out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradcts::schedule {

// The line that a program prints for a schedule.
struct Line {
  std::uint64_t seed = 0;
  bool right = false;
  std::uint64_t steps = 0;
  std::uint64_t switches = 0;
  unsigned threads = 0;
  unsigned threads_outside = 0;
  std::uint64_t mismatch_step = 0;
  std::string hash;
  std::string schedule;
};

struct Outcome {
  int status = -1;          // exit status; 128 + the signal that ended it
  std::vector<Line> lines;  // one for each schedule that ended
  std::string last_line;
  std::string report;  // what the library wrote
};

// `command` is the program and its arguments.
Outcome run_preloaded(const std::string& command);

// The field of the report that begins its line with this name; empty if there is none.
std::string field(const std::string& report, const std::string& name);

}  // namespace gradcts::schedule
