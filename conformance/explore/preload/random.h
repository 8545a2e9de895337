// The one source of chance: the same seed gives the same numbers, on every machine.
#pragma once

#include <cstdint>

namespace gradcts::schedule {

// Scrambles all 64 bits, so that neighbouring inputs have unrelated results.
constexpr std::uint64_t scramble(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// A counter, scrambled (the construction known as SplitMix64).
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed = 0) : state_(scramble(seed)) {}

  constexpr std::uint64_t next() { return scramble(state_ += 0x9e3779b97f4a7c15u); }

  // A number from 0 to bound - 1, evenly enough: bounds are tiny beside 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace gradcts::schedule
