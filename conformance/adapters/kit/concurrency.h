// Everything in which a scenario's program waits or runs at once: its threads, barriers and locks,
// and its children. They stand in one place so that a controlled scheduler can take their place.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "conformance/adapters/kit/sync.h"
#include "conformance/scenario/scenario.h"

namespace gradcts::kit {

// Runs each function on a new thread and returns when all have ended. The functions must not throw.
void run_threads(const std::vector<std::function<void()>>& functions);

// A meeting point for a fixed number of threads, usable again at once.
class Barrier {
 public:
  explicit Barrier(std::int32_t parties) : parties_(parties) {}
  void arrive_and_wait();

 private:
  const std::int32_t parties_;
  Mutex mutex_;
  ConditionVariable all_here_;
  std::int32_t here_ = 0;
  std::int64_t meetings_ = 0;
};

// The barriers and locks of a scenario.
class MeetingPoints {
 public:
  explicit MeetingPoints(const Scenario& scenario);
  Barrier& barrier(BarrierId id) { return barriers_[static_cast<std::size_t>(id)]; }
  Mutex& lock(LockId id) { return locks_[static_cast<std::size_t>(id)]; }

 private:
  std::deque<Barrier> barriers_;
  std::deque<Mutex> locks_;
};

// Whether every other thread of the process sleeps: it waits for something, and neither runs nor is
// about to. False where the system does not tell.
bool all_others_sleep();

// Forks; the child runs `body`, hands over the text that it returns, and ends without any clean-up.
// Returns the text. Throws std::runtime_error when there is no child or the child died before it
// answered; the message names the signal.
std::string run_in_child(const std::function<std::string()>& body);

}  // namespace gradcts::kit
