#include "conformance/explore/preload/strategy.h"

#include <algorithm>

namespace gradcts::schedule {

ThreadNumber RandomWalk::disturb(Threads sleepers) {
  if (disturb_per_mille_ == 0 || disturb_limit_ == 0 || sleepers.empty()) return nobody;
  if (random_.below(1000) >= disturb_per_mille_) return nobody;
  --disturb_limit_;
  return any_of(sleepers);
}

// Note [Priorities with change points]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// A random walk switches all the time, and so rarely lets one thread stand still while another goes
// a long way: yet that is what many races need. Here every thread has a random priority and the
// highest one runs; at depth - 1 random steps the running thread falls behind all others. A bug
// that needs `depth` orderings among n threads and k steps is found by one schedule with chance at
// least 1 / (n * k^(depth - 1)) (Burckhardt, Kothari, Musuvathi, Nagarakatte: "A Randomized
// Scheduler with Probabilistic Guarantees of Finding Bugs", 2010).
//
// Priorities alone are unfair: a thread that polls (trylock in a loop, a sleep) would poll for ever
// while the one that it waits for never runs. So a thread that yields, and one that took
// `patience` steps in a row while others could run, falls behind as well.
namespace {
constexpr std::uint64_t patience = 2000;
}  // namespace

PriorityChanges::PriorityChanges(std::uint64_t seed, std::uint32_t disturb_per_mille,
                                 std::uint32_t depth, std::uint64_t expected_steps,
                                 std::uint32_t disturb_limit)
    : RandomWalk(seed, disturb_per_mille, disturb_limit) {
  for (std::uint32_t i = 1; i < depth; ++i) {
    change_points_.push_back(1 + random_.below(expected_steps));
  }
}

void PriorityChanges::added(ThreadNumber thread) {
  const auto index = static_cast<std::size_t>(thread);
  if (priorities_.size() <= index) priorities_.resize(index + 1);
  priorities_[index] = static_cast<std::int64_t>(random_.next() >> 2);
}

void PriorityChanges::fall_behind(ThreadNumber thread) {
  priorities_[static_cast<std::size_t>(thread)] = --lowest_;
  in_a_row_ = 0;
}

bool PriorityChanges::is_change_point(std::uint64_t step) const {
  return std::ranges::find(change_points_, step) != change_points_.end();
}

ThreadNumber PriorityChanges::next(std::uint64_t step, ThreadNumber running, Threads runnable) {
  if (running != nobody && (is_change_point(step) || in_a_row_ >= patience)) fall_behind(running);
  const auto priority = [this](ThreadNumber t) { return priorities_[static_cast<std::size_t>(t)]; };
  const ThreadNumber chosen = *std::ranges::max_element(runnable, {}, priority);
  if (runnable.size() > 1) count_in_a_row(chosen);
  return chosen;
}

void PriorityChanges::count_in_a_row(ThreadNumber chosen) {
  in_a_row_ = chosen == last_ ? in_a_row_ + 1 : 0;
  last_ = chosen;
}

ThreadNumber Replay::follow(Threads threads, bool by_itself) {
  const std::optional<Choice> choice = reader_.peek();
  if (!choice || mismatch_step_ != 0) return nobody;
  if (choice->by_itself == by_itself && std::ranges::binary_search(threads, choice->thread)) {
    reader_.advance();
    return choice->thread;
  }
  mismatch_step_ = step_;
  return nobody;
}

ThreadNumber Replay::disturb(Threads sleepers) {
  const std::optional<Choice> choice = reader_.peek();
  return choice && choice->by_itself ? follow(sleepers, true) : nobody;
}

ThreadNumber Replay::wake(Threads waiters) {
  const ThreadNumber chosen = follow(waiters, false);
  return chosen != nobody ? chosen : waiters.front();
}

ThreadNumber Replay::next(std::uint64_t step, ThreadNumber running, Threads runnable) {
  step_ = step;
  const ThreadNumber chosen = follow(runnable, false);
  step_ = step + 1;
  if (chosen == nobody) return stay(running, runnable);
  in_a_row_ = 0;
  return chosen;
}

ThreadNumber Replay::stay(ThreadNumber running, Threads runnable) {
  const bool can_stay = std::ranges::binary_search(runnable, running);
  if (can_stay && (runnable.size() == 1 || ++in_a_row_ < patience)) return running;
  in_a_row_ = 0;
  if (!can_stay) return runnable.front();
  const auto next = std::ranges::upper_bound(runnable, running);
  return next != runnable.end() ? *next : runnable.front();
}

}  // namespace gradcts::schedule
