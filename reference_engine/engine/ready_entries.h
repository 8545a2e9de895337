// The heap of a ready queue, with two shortcuts.
//
// Note [Runs of entries]
// ~~~~~~~~~~~~~~~~~~~~~~
// Nodes nearly always become ready in an order: along a chain one at a time, under a wide node all
// at once from the last made to the first or the other way round. A heap pays for its log n at
// every entry, and with 10^6 entries each step is a miss in the cache. So an entry that is no
// better than the last one of `falling` is appended there (a queue, taken from the front), one that
// is no worse than the last one of `rising` there (a stack, taken from the back), and only what
// fits neither goes into the heap. The best entry is the best of three. Everything is a plain
// vector, and the order is that of one heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradcts::reference {

class GraphTask;
struct NodeState;

struct ReadyEntry {
  std::uint64_t priority;
  GraphTask* task;
  NodeState* state;  // null: the whole pass, which is replayed

  int depth() const { return static_cast<int>(priority >> sequence_bits); }

  // Deeper passes first, then later nodes; accumulators have the highest sequence number.
  static constexpr int sequence_bits = 44;
  static std::uint64_t make_priority(int depth, std::uint64_t sequence_number) {
    constexpr std::uint64_t highest = (std::uint64_t{1} << sequence_bits) - 1;
    return static_cast<std::uint64_t>(depth) << sequence_bits | std::min(sequence_number, highest);
  }
};

// Entries of equal priority come in an order that depends on nothing but the pushes before
// (ORDER-3).
class ReadyEntries {
 public:
  bool empty() const { return !has_single_ && in_runs_ == 0; }

  void push(const ReadyEntry& entry) {
    if (!empty()) return push_to_others(entry.priority, entry.task, entry.state);
    single_.priority = entry.priority;
    single_.task = entry.task;
    single_.state = entry.state;
    has_single_ = true;
  }

  // Not empty.
  int best_depth() const { return (has_single_ ? single_ : best_of_runs()).depth(); }

  // Not empty.
  ReadyEntry take_best() {
    if (!has_single_) return take_from_runs();
    has_single_ = false;
    return single_;
  }

  // Takes out the entries of a pass; returns their number.
  std::size_t remove(const GraphTask& task) {
    const auto is_of_task = [&](const ReadyEntry& entry) { return entry.task == &task; };
    if (has_single_) {
      has_single_ = single_.task != &task;
      return has_single_ ? 0 : 1;
    }
    falling_.erase(falling_.begin(), falling_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
    const std::size_t removed = std::erase_if(falling_, is_of_task) +
                                std::erase_if(rising_, is_of_task) +
                                std::erase_if(heap_, is_of_task);
    std::make_heap(heap_.begin(), heap_.end(), is_worse);
    in_runs_ -= removed;
    return removed;
  }

 private:
  static bool is_worse(const ReadyEntry& a, const ReadyEntry& b) { return a.priority < b.priority; }

  // Takes values, so that the caller need not put an entry together in memory.
  [[gnu::noinline]] void push_to_others(std::uint64_t priority, GraphTask* task, NodeState* state) {
    if (has_single_) {
      has_single_ = false;
      push_to_runs(single_);
    }
    push_to_runs({priority, task, state});
  }

  void push_to_runs(const ReadyEntry& entry) {
    ++in_runs_;
    if (falling_.empty() || entry.priority <= falling_.back().priority) {
      falling_.push_back(entry);
    } else if (rising_.empty() || entry.priority >= rising_.back().priority) {
      rising_.push_back(entry);
    } else {
      heap_.push_back(entry);
      std::push_heap(heap_.begin(), heap_.end(), is_worse);
    }
  }

  const ReadyEntry& best_of_runs() const {
    const ReadyEntry* best = falling_.empty() ? nullptr : &falling_[first_];
    if (!rising_.empty() && (!best || is_worse(*best, rising_.back()))) best = &rising_.back();
    if (!heap_.empty() && (!best || is_worse(*best, heap_.front()))) best = &heap_.front();
    return *best;
  }

  [[gnu::noinline]] ReadyEntry take_from_runs() {
    --in_runs_;
    const ReadyEntry* best = &best_of_runs();
    const ReadyEntry taken = *best;
    if (!falling_.empty() && best == &falling_[first_]) {
      take_falling();
    } else if (!rising_.empty() && best == &rising_.back()) {
      rising_.pop_back();
    } else {
      std::pop_heap(heap_.begin(), heap_.end(), is_worse);
      heap_.pop_back();
    }
    return taken;
  }

  void take_falling() {
    if (++first_ != falling_.size()) return;
    falling_.clear();
    first_ = 0;
  }

  ReadyEntry single_{};  // with has_single_, the only entry
  bool has_single_ = false;
  std::size_t in_runs_ = 0;
  std::vector<ReadyEntry> falling_;
  std::size_t first_ = 0;  // of falling_, which is empty as a vector where nothing is left
  std::vector<ReadyEntry> rising_;
  std::vector<ReadyEntry> heap_;
};

}  // namespace gradcts::reference
