#include "reference_engine/engine/ready_entries.h"

#include <gtest/gtest.h>

#include <random>

namespace gradcts::reference {
namespace {

ReadyEntry entry(int depth, std::uint64_t sequence) {
  return {ReadyEntry::make_priority(depth, sequence), nullptr, nullptr};
}

std::vector<std::uint64_t> drained(ReadyEntries& entries) {
  std::vector<std::uint64_t> priorities;
  while (!entries.empty()) priorities.push_back(entries.take_best().priority);
  return priorities;
}

TEST(ReadyEntries, ORDER_1_depth_before_sequence_accumulators_first) {
  const std::uint64_t accumulator = ~std::uint64_t{0};
  EXPECT_GT(entry(1, 0).priority, entry(0, accumulator).priority);
  EXPECT_GT(entry(0, accumulator).priority, entry(0, 1'000'000'000).priority);
  EXPECT_EQ(entry(5000, accumulator).depth(), 5000);
}

TEST(ReadyEntries, best_first_whatever_the_order_of_pushes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    ReadyEntries entries;
    std::vector<std::uint64_t> expected;
    for (int i = 0; i < 50; ++i) {
      entries.push(entry(static_cast<int>(random() % 2), random() % 20));
    }
    while (!entries.empty()) expected.push_back(entries.take_best().priority);
    EXPECT_TRUE(std::is_sorted(expected.rbegin(), expected.rend()));
    EXPECT_EQ(expected.size(), 50u);
  }
}

TEST(ReadyEntries, pushes_and_takes_in_turn_give_what_a_heap_gives) {
  std::mt19937 random(11);
  ReadyEntries entries;
  std::vector<std::uint64_t> heap;
  for (int i = 0; i < 5000; ++i) {
    if (heap.empty() || random() % 3 != 0) {
      const ReadyEntry pushed = entry(0, random() % 100);
      entries.push(pushed);
      heap.push_back(pushed.priority);
      std::push_heap(heap.begin(), heap.end());
    } else {
      std::pop_heap(heap.begin(), heap.end());
      ASSERT_EQ(entries.take_best().priority, heap.back());
      heap.pop_back();
    }
  }
}

TEST(ReadyEntries, runs_in_both_directions) {
  ReadyEntries entries;
  for (std::uint64_t i = 0; i < 100; ++i) entries.push(entry(0, i));
  for (std::uint64_t i = 100; i-- > 0;) entries.push(entry(0, i));
  const auto priorities = drained(entries);
  EXPECT_EQ(priorities.size(), 200u);
  EXPECT_TRUE(std::is_sorted(priorities.rbegin(), priorities.rend()));
}

TEST(ReadyEntries, ERR_3_the_entries_of_a_pass_are_taken_out) {
  ReadyEntries entries;
  // Passes are compared by address and not looked into.
  auto* one = reinterpret_cast<GraphTask*>(&entries);
  for (std::uint64_t i : {5, 3, 9, 4, 7}) {
    entries.push({ReadyEntry::make_priority(0, i), i % 2 == 1 ? one : nullptr, nullptr});
  }
  entries.take_best();
  EXPECT_EQ(entries.remove(*one), 3u);
  EXPECT_EQ(drained(entries), (std::vector<std::uint64_t>{4}));
}

}  // namespace
}  // namespace gradcts::reference
