// The same mutator for AFL++, which loads it: AFL_CUSTOM_MUTATOR_LIBRARY=libgradcts-afl-mutator.so.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "fuzz/mutate.h"

namespace {

struct Mutator {
  std::mt19937_64 random;
  std::vector<std::uint8_t> result;  // until the next call
};

}  // namespace

extern "C" {

void* afl_custom_init(void*, unsigned seed) {
  return new Mutator{std::mt19937_64(seed), {}};
}

void afl_custom_deinit(void* mutator) {
  delete static_cast<Mutator*>(mutator);
}

std::size_t afl_custom_fuzz(void* state, std::uint8_t* data, std::size_t size, std::uint8_t** out,
                            std::uint8_t* other, std::size_t other_size, std::size_t most) {
  auto& mutator = *static_cast<Mutator*>(state);
  const std::uint64_t seed = mutator.random();
  using namespace gradcts::fuzz;
  const bool cross = other != nullptr && mutator.random() % 4 == 0;
  mutator.result = cross ? crossed({data, size}, {other, other_size}, most, seed)
                         : mutated({data, size}, most, seed);
  *out = mutator.result.data();
  return mutator.result.size();
}

}  // extern "C"
