#include "fuzz/covering.h"

#include <algorithm>

namespace gradcts::fuzz {

namespace {

bool is_prime(std::uint64_t number) {
  for (std::uint64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number >= 2;
}

}  // namespace

std::uint64_t prime_for(const std::vector<std::uint64_t>& levels) {
  std::uint64_t prime = std::max<std::uint64_t>(2, levels.size());
  for (const std::uint64_t count : levels) prime = std::max(prime, count);
  while (!is_prime(prime)) ++prime;
  return prime;
}

std::vector<std::uint64_t> covering_row(const std::vector<std::uint64_t>& levels,
                                        std::uint64_t prime, std::uint64_t a, std::uint64_t b) {
  std::vector<std::uint64_t> row;
  for (std::uint64_t factor = 0; factor < levels.size(); ++factor) {
    const std::uint64_t value = factor == 0 ? a : factor == 1 ? b : (a + (factor - 1) * b) % prime;
    row.push_back(value % levels[factor]);
  }
  return row;
}

}  // namespace gradcts::fuzz
