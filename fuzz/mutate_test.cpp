#include "fuzz/mutate.h"

#include <gtest/gtest.h>

#include <set>

#include "conformance/scenario/validate.h"
#include "fuzz/generate.h"

namespace gradcts::fuzz {
namespace {

constexpr std::size_t longest = header_size + most_records * record_size;

TEST(Mutate, KeepsToTheLengthAndDoesTheSameForTheSameSeed) {
  const std::vector<std::uint8_t> bytes = case_bytes(1, 0);
  const std::vector<std::uint8_t> other = case_bytes(1, 1);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const std::size_t most : {std::size_t{0}, std::size_t{7}, std::size_t{200}, longest}) {
      const auto changed = mutated(bytes, most, seed);
      EXPECT_LE(changed.size(), most);
      EXPECT_EQ(changed, mutated(bytes, most, seed));
      const auto both = crossed(bytes, other, most, seed);
      EXPECT_LE(both.size(), most);
      EXPECT_EQ(both, crossed(bytes, other, most, seed));
    }
  }
}

TEST(Mutate, ChangesWholeRecords) {
  const std::vector<std::uint8_t> bytes = case_bytes(1, 0);
  std::set<std::size_t> lengths;
  std::size_t same = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto changed = mutated(bytes, longest, seed);
    lengths.insert(changed.size());
    same += changed == bytes ? 1U : 0U;
    EXPECT_EQ((changed.size() - header_size) % record_size, 0U);
    validate(decode(changed));
  }
  EXPECT_GE(lengths.size(), 5U);  // records come and go
  EXPECT_LE(same, 20U);
}

TEST(Mutate, GrowsACaseFromNothing) {
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t seed = 0; seed < 100; ++seed) bytes = mutated(bytes, longest, seed);
  EXPECT_GT(decode(bytes).nodes.size(), 1U);
}

TEST(Mutate, CrossesTwoCases) {
  const std::vector<std::uint8_t> one(header_size + 4 * record_size, 1);
  const std::vector<std::uint8_t> other(header_size + 4 * record_size, 2);
  bool mixed = false;
  for (std::uint64_t seed = 0; seed < 50 && !mixed; ++seed) {
    const auto both = crossed(one, other, longest, seed);
    const std::set<std::uint8_t> seen(both.begin() + header_size, both.end());
    mixed = seen.size() == 2;
  }
  EXPECT_TRUE(mixed);
}

}  // namespace
}  // namespace gradcts::fuzz
