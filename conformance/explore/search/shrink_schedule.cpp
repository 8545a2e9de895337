#include "conformance/explore/search/shrink_schedule.h"

#include <algorithm>
#include <vector>

#include "conformance/explore/preload/trace.h"

namespace gradcts {
namespace {

using Runs = std::vector<schedule::Trace::Run>;

Runs runs_of(const std::string& schedule) {
  const auto trace = schedule::Trace::parse(schedule);
  return trace ? Runs(trace->runs().begin(), trace->runs().end()) : Runs();
}

std::string choices_text(const Runs& runs) {
  schedule::Trace trace;
  for (const auto& run : runs) {
    for (std::uint32_t i = 0; i < run.count; ++i) trace.append(run.choice);
  }
  return trace.text();
}

class Shrinking {
 public:
  Shrinking(std::string schedule, const StillFails& still_fails, std::size_t limit)
      : best_(std::move(schedule)), still_fails_(still_fails), left_(limit) {}

  std::string run() {
    while (left_ > 0 && (shorten() || merge() || interrupt_once())) {
    }
    return best_;
  }

 private:
  // True if the candidate fails as well and is better.
  bool try_out(const Runs& candidate) {
    if (left_ == 0) return false;
    --left_;
    const auto taken = still_fails_(choices_text(candidate));
    if (!taken || switches_in(*taken) >= switches_in(best_)) return false;
    best_ = *taken;
    return true;
  }

  // A prefix, after which nobody is interrupted. Failing schedules tend to fail by a part of what
  // interrupts them, so the shortest ones are tried first.
  bool shorten() {
    const Runs runs = runs_of(best_);
    for (std::size_t size = 0; size < runs.size(); size = size * 2 + 1) {
      if (try_out(Runs(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(size))))
        return true;
    }
    return false;
  }

  // What a thread does in two parts, at once: at the earlier place or at the later one.
  bool merge() {
    const Runs runs = runs_of(best_);
    for (std::size_t first = 0; first < runs.size(); ++first) {
      std::size_t second = first + 1;
      while (second < runs.size() && !(runs[second].choice == runs[first].choice)) ++second;
      if (second >= runs.size() || second == first + 1) continue;
      Runs later = runs, earlier = runs;
      later[second].count += later[first].count;
      later.erase(later.begin() + static_cast<std::ptrdiff_t>(first));
      if (try_out(later)) return true;
      earlier[first].count += earlier[second].count;
      earlier.erase(earlier.begin() + static_cast<std::ptrdiff_t>(second));
      if (try_out(earlier)) return true;
    }
    return false;
  }

  // One switch that is not forced, early in the schedule: most faults need no more.
  bool interrupt_once() {
    const Runs runs = runs_of(best_);
    schedule::ThreadNumber threads = 0;
    for (const auto& run : runs) threads = std::max(threads, run.choice.thread + 1);
    Runs prefix;
    for (const auto& run : runs) {
      for (std::uint32_t i = 0; i < run.count; ++i) {
        for (schedule::ThreadNumber other = 0; other < threads; ++other) {
          if (other == run.choice.thread) continue;
          prefix.push_back({{other, false}, 1});
          const bool better = try_out(prefix);
          prefix.pop_back();
          if (better) return true;
        }
        prefix.push_back({run.choice, 1});
      }
    }
    return false;
  }

  std::string best_;
  const StillFails& still_fails_;
  std::size_t left_;
};

}  // namespace

std::size_t switches_in(const std::string& schedule) {
  std::size_t switches = 0;
  schedule::ThreadNumber running = 0;
  for (const auto& run : runs_of(schedule)) {
    if (run.choice.by_itself) continue;
    switches += run.choice.thread != running;
    running = run.choice.thread;
  }
  return switches;
}

std::string shrink_schedule(std::string schedule, const StillFails& still_fails,
                            std::size_t limit) {
  return Shrinking(std::move(schedule), still_fails, limit).run();
}

}  // namespace gradcts
