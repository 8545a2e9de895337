#include <cstdio>

#include "conformance/explore/preload/programs/control.h"

using namespace gradcts::schedule::programs;

int main(int count, char** arguments) {
  const Arguments parsed = parse(count, arguments);
  for (const auto* programs : {&of_completion, &of_conditions, &of_locks, &of_points, &of_processes,
                               &of_threads, &of_time, &of_waits}) {
    for (const Program& program : *programs) {
      if (parsed.program == program.name) return run(parsed, program);
    }
  }
  std::fprintf(stderr, "programs: no program '%s'\n", parsed.program.c_str());
  return 2;
}
