#include "conformance/explore/rebuilt/delays.h"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "conformance/explore/preload/random.h"

namespace gradcts::schedule {
namespace {

constexpr std::uint64_t one_operation_in = 32;
constexpr std::uint64_t doublings = 11;  // 1 us to 1 ms, each power of two as often as another

std::uint64_t seed() {
  const char* text = std::getenv("GRADCTS_DELAYS");
  std::uint64_t number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

std::uint64_t seed_of_next_thread() {
  static const std::uint64_t first = scramble(seed());
  static std::atomic<std::uint64_t> threads{0};
  return first + threads.fetch_add(1);
}

}  // namespace

bool delays_are_asked_for() {
  return std::getenv("GRADCTS_DELAYS") != nullptr;
}

void stand_still_by_chance() {
  thread_local Random chance(seed_of_next_thread());
  if (chance.below(one_operation_in) != 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(1) * (1 << chance.below(doublings)));
}

}  // namespace gradcts::schedule
