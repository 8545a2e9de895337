// What an engine's author announces, and what happens without.
#include "conformance/explore/preload/points.h"

#include <unistd.h>

#include <atomic>
#include <thread>

#include "conformance/explore/preload/programs/program.h"

namespace gradcts::schedule::programs {
namespace {

// An update of an atomic in two steps is not one update. Only the points let a thread run between
// them.
bool count_in_two_steps(bool announce) {
  std::atomic<int> count = 0;
  const auto add = [&] {
    if (announce) GRADCTS_POINT(&count);
    const int seen = count;
    if (announce) GRADCTS_POINT(&count);
    count = seen + 1;
  };
  std::thread one(add), two(add);
  one.join();
  two.join();
  return count == 2;
}

// A wait of one's own making, for an atomic flag.
bool announced_wait() {
  std::atomic<bool> ready = false;
  std::thread producer([&] {
    ready = true;
    GRADCTS_WAKE(&ready);
  });
  while (!ready) {
    if (!GRADCTS_WAIT(&ready)) std::this_thread::yield();
  }
  producer.join();
  return true;
}

bool announced_wait_without_a_wake() {
  std::atomic<bool> ready = false;
  std::thread producer([&] { ready = true; });
  while (!ready) {
    if (!GRADCTS_WAIT(&ready)) std::this_thread::yield();
  }
  producer.join();
  return true;
}

// One thread waits for what another writes into a pipe.
bool pipe_between_threads(bool announce) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  std::thread writer([&] { [[maybe_unused]] const ssize_t size = write(ends[1], "x", 1); });
  char byte = 0;
  if (announce) GRADCTS_LEAVE();
  [[maybe_unused]] const ssize_t size = read(ends[0], &byte, 1);
  if (announce) GRADCTS_ENTER();
  writer.join();
  close(ends[0]);
  close(ends[1]);
  return byte == 'x';
}

// Spins on what nobody will ever change.
bool endless_polling() {
  std::atomic<bool> never = false;
  while (!never) std::this_thread::yield();
  return true;
}

}  // namespace

const std::vector<Program> of_points = {
    {"count_in_two_steps", [] { return count_in_two_steps(true); }},
    {"count_in_two_steps_unannounced", [] { return count_in_two_steps(false); }},
    {"announced_wait", announced_wait},
    {"announced_wait_without_a_wake", announced_wait_without_a_wake},
    {"pipe_between_threads", [] { return pipe_between_threads(true); }},
    {"pipe_between_threads_unannounced", [] { return pipe_between_threads(false); }},
    {"endless_polling", endless_polling},
};

}  // namespace gradcts::schedule::programs
