#include "conformance/explore/preload/programs/control.h"

#include <dlfcn.h>
#include <sched.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace gradcts::schedule::programs {
namespace {

[[noreturn]] void refuse(const char* what) {
  std::fprintf(stderr, "programs: %s\n", what);
  std::exit(2);
}

template <typename Function>
Function* preloaded(const char* name) {
  void* function = dlsym(RTLD_DEFAULT, name);
  if (function == nullptr) refuse("libgradcts-schedule.so is not preloaded");
  return reinterpret_cast<Function*>(function);
}

// Only one thread runs at a time: a second core would only make each switch slower.
void pin_to_one_core() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(sched_getcpu(), &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

struct Schedule {
  bool right;
  gradcts_schedule_result result;
};

Schedule take_schedule(const gradcts_schedule_options& options, bool (*program)()) {
  static auto* const begin = preloaded<gradcts_schedule_begin_function>("gradcts_schedule_begin");
  static auto* const end = preloaded<gradcts_schedule_end_function>("gradcts_schedule_end");
  if (begin(&options) != 0) refuse("the options are refused");
  Schedule schedule = {program(), {}};
  if (end(&schedule.result) != 0) refuse("control cannot end");
  return schedule;
}

// The first schedule of a process differs from the next: pools are made, caches are filled. It is
// taken under control too, so that what it leaves behind is the same each time; without any switch
// that is not forced, since that finds the fewest bugs.
void warm_up(const Arguments& arguments, bool (*program)()) {
  gradcts_schedule_options options = arguments.options;
  options.strategy = GRADCTS_SCHEDULE_REPLAY;
  options.schedule = "";
  take_schedule(options, program);
}

bool run_under_control(const Arguments& arguments, std::uint64_t seed, bool (*program)()) {
  gradcts_schedule_options options = arguments.options;
  options.seed = seed;
  options.schedule = arguments.replay.c_str();
  const auto [right, result] = take_schedule(options, program);
  std::printf("%" PRIu64 " %s %" PRIu64 " %" PRIu64 " %u %u %" PRIu64 " %016" PRIx64 " %s\n", seed,
              right ? "right" : "wrong", result.steps, result.switches, result.threads,
              result.threads_outside, result.mismatch_step, result.hash, result.schedule);
  return right;
}

// The place of a number that is given as `--name N`.
bool store(const std::string& name, std::uint64_t value, Arguments& arguments) {
  gradcts_schedule_options& options = arguments.options;
  const std::pair<const char*, std::uint64_t*> large[] = {
      {"--seed", &options.seed},
      {"--schedules", &arguments.schedules},
      {"--expected-steps", &options.expected_steps},
      {"--bound", &options.step_bound},
  };
  const std::pair<const char*, std::uint32_t*> small[] = {
      {"--depth", &options.depth},
      {"--spurious", &options.spurious_per_mille},
      {"--watchdog", &options.watchdog_ms},
  };
  for (const auto& [known, place] : large) {
    if (name == known) return *place = value, true;
  }
  for (const auto& [known, place] : small) {
    if (name == known) return *place = static_cast<std::uint32_t>(value), true;
  }
  return false;
}

}  // namespace

Arguments parse(int count, char** arguments) {
  Arguments parsed;
  parsed.options.version = GRADCTS_SCHEDULE_VERSION;
  if (count < 2) refuse("which program?");
  parsed.program = arguments[1];
  for (int i = 2; i < count; ++i) {
    const std::string name = arguments[i];
    if (name == "--pct") {
      parsed.options.strategy = GRADCTS_SCHEDULE_PCT;
    } else if (name == "--outside") {
      parsed.outside = true;
    } else if (++i == count) {
      refuse("a value is missing");
    } else if (name == "--replay") {
      parsed.options.strategy = GRADCTS_SCHEDULE_REPLAY;
      parsed.replay = arguments[i];
    } else if (!store(name, std::strtoull(arguments[i], nullptr, 10), parsed)) {
      refuse("unknown argument");
    }
  }
  return parsed;
}

int run(const Arguments& arguments, const Program& program) {
  if (program.start_up != nullptr) program.start_up();
  if (!arguments.outside) {
    pin_to_one_core();
    warm_up(arguments, program.run);
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < arguments.schedules; ++i) {
    const std::uint64_t seed = arguments.options.seed + i;
    const bool right =
        arguments.outside ? program.run() : run_under_control(arguments, seed, program.run);
    wrong += !right;
  }
  const std::chrono::duration<double, std::micro> time = Clock::now() - begin;
  std::printf("wrong %" PRIu64 " of %" PRIu64 ", %.1f us each\n", wrong, arguments.schedules,
              time.count() / static_cast<double>(arguments.schedules));
  return wrong == 0 ? 0 : 1;
}

}  // namespace gradcts::schedule::programs
