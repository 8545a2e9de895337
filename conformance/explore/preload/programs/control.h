// Runs a function under control, schedule by schedule, as a runner of scenarios would.
#pragma once

#include <cstdint>
#include <string>

#include "conformance/explore/preload/programs/program.h"
#include "conformance/explore/preload/schedule.h"

namespace gradcts::schedule::programs {

struct Arguments {
  std::string program;
  gradcts_schedule_options options = {};
  std::uint64_t schedules = 1;
  std::string replay;
  bool outside = false;  // not under control: what stress testing would do
};

// NAME [--seed N] [--schedules N] [--pct] [--depth N] [--expected-steps N] [--spurious N] [--bound
// N]
// [--watchdog MS] [--replay SCHEDULE] [--outside]. Ends the process on anything else.
Arguments parse(int count, char** arguments);

// For each seed a line on standard output:
//   seed, right|wrong, steps, switches, threads, threads outside, mismatch step, hash, schedule
// and a last one: `wrong`, how many of them, and how long it took on the average.
// Returns the exit status: 0 if all were right.
int run(const Arguments& arguments, const Program& program);

}  // namespace gradcts::schedule::programs
