// For tests: takes schedules of a small program in this process, or in a child where they may not
// end.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "conformance/explore/preload/schedule.h"
#include "conformance/explore/search/search.h"

namespace gradcts::testing {

using Program = std::function<bool()>;  // false: it failed

struct Taken {
  bool passed = false;
  gradcts_schedule_result result = {};
  std::string schedule;
};

// On a new thread, as scenarios are.
inline Taken take(const Program& program, gradcts_schedule_options options) {
  options.version = GRADCTS_SCHEDULE_VERSION;
  if (options.step_bound == 0) options.step_bound = 10'000;
  Taken taken;
  std::thread([&] {
    if (gradcts_schedule_begin(&options) != 0) throw std::logic_error("the options mean nothing");
    taken.passed = program();
    gradcts_schedule_end(&taken.result);
  }).join();
  taken.schedule = taken.result.schedule;
  return taken;
}

inline Taken replay(const Program& program, const std::string& schedule) {
  gradcts_schedule_options options = {};
  options.strategy = GRADCTS_SCHEDULE_REPLAY;
  options.schedule = schedule.c_str();
  return take(program, options);
}

struct Searched {
  std::uint64_t schedules = 0;
  bool failed = false;  // then `schedule` is the first that did
  std::string schedule;
  Search::Counts counts;
};

inline Searched search_all(const Program& program, SearchBounds bounds,
                           const std::function<void(const Taken&)>& see = {}) {
  replay(program, "");  // what is made once in a process
  Search search(bounds);
  Searched searched;
  while (const auto schedule = search.next()) {
    const Taken taken = replay(program, *schedule);
    ++searched.schedules;
    if (see) see(taken);
    if (!taken.passed) {
      searched.failed = true;
      searched.schedule = taken.schedule;
      break;
    }
    search.took(taken.result);
  }
  searched.counts = search.counts();
  return searched;
}

// A search that ends the process says so by its exit status: 91, 92, or 0 where all schedules
// passed.
struct Ended {
  int status = -1;
  std::string report;
};

inline Ended search_in_child(const Program& program, SearchBounds bounds) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    setenv("GRADCTS_SCHEDULE_FD", std::to_string(ends[1]).c_str(), 1);
    _exit(search_all(program, bounds).failed ? 1 : 0);
  }
  close(ends[1]);
  Ended ended;
  char block[4096];
  for (ssize_t size; (size = read(ends[0], block, sizeof block)) > 0;) {
    ended.report.append(block, static_cast<std::size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

}  // namespace gradcts::testing
