// Small programs, right and wrong ones, that schedule_test.cpp runs under control. Each is a
// function that returns whether what it saw was right; main.cpp runs it once for each schedule.
#pragma once

#include <vector>

namespace gradcts::schedule::programs {

struct Program {
  const char* name;
  bool (*run)();
  void (*start_up)() = nullptr;  // once, before control begins for the first time
};

// Those of a file, each in its file.
extern const std::vector<Program> of_completion;
extern const std::vector<Program> of_conditions;
extern const std::vector<Program> of_locks;
extern const std::vector<Program> of_points;
extern const std::vector<Program> of_processes;
extern const std::vector<Program> of_threads;
extern const std::vector<Program> of_time;
extern const std::vector<Program> of_waits;

}  // namespace gradcts::schedule::programs
