// What a number of sampled schedules is worth.
#pragma once

#include <cstdint>
#include <string>

namespace gradcts {

// The chance that `schedules` schedules by priorities (PCT) show a fault that needs `depth`
// orderings, in a program of `threads` threads and `steps` steps: each does with at least
// 1 / (threads * steps^(depth - 1)).
double pct_chance(std::uint64_t schedules, std::uint64_t threads, std::uint64_t steps,
                  std::uint32_t depth);

// The least share of a strategy's schedules that must fail, for one of `schedules` of them to have
// failed with 95% confidence: 1 - 0.05^(1/schedules), about 3/schedules.
double smallest_share_seen(std::uint64_t schedules);

// Both, and how much of what the strategy can show was seen (after Good and Turing: about as large
// a share of the next schedules is new as `seen_once` is of all), in one or two lines.
std::string chance_in_words(const std::string& strategy, std::uint64_t schedules,
                            std::uint64_t threads, std::uint64_t steps, std::uint32_t depth,
                            std::uint64_t seen_once);

}  // namespace gradcts
