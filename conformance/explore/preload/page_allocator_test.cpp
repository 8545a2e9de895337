#include "conformance/explore/preload/page_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace gradcts::schedule {
namespace {

TEST(PageAllocator, SmallBlocksDoNotOverlap) {
  auto* first = static_cast<unsigned char*>(allocate_pages(24));
  auto* second = static_cast<unsigned char*>(allocate_pages(24));
  std::fill(first, first + 24, 1);
  std::fill(second, second + 24, 2);
  EXPECT_EQ(first[0], 1);
  EXPECT_EQ(first[23], 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second) % alignof(std::max_align_t), 0u);
}

TEST(PageAllocator, AReleasedBlockIsUsedAgain) {
  void* block = allocate_pages(1000);
  release_pages(block, 1000);
  EXPECT_EQ(allocate_pages(900), block);
}

TEST(PageAllocator, AVectorGrowsFromSmallBlocksToLargeOnes) {
  PageVector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 200'000; ++i) numbers.push_back(i * i);
  for (std::uint64_t i = 0; i < 200'000; ++i) ASSERT_EQ(numbers[i], i * i);
}

}  // namespace
}  // namespace gradcts::schedule
