#include "conformance/explore/preload/chosen_strategy.h"

#include <optional>
#include <utility>

namespace gradcts::schedule {
namespace {

template <typename Number>
void default_to(Number& field, Number value) {
  if (field == 0) field = value;
}

}  // namespace

gradcts_schedule_options with_defaults(gradcts_schedule_options options) {
  default_to(options.depth, 3u);
  default_to(options.expected_steps, std::uint64_t{1000});
  default_to(options.step_bound, std::uint64_t{1'000'000});
  default_to(options.watchdog_ms, 10'000u);
  default_to(options.spurious_limit, UINT32_MAX);
  return options;
}

bool ChosenStrategy::choose(const gradcts_schedule_options& given, const Scheduler& scheduler) {
  if (given.version != GRADCTS_SCHEDULE_VERSION) return false;
  options_ = with_defaults(given);
  const std::uint64_t seed = options_.seed;
  const std::uint32_t spurious = options_.spurious_per_mille, limit = options_.spurious_limit;
  switch (options_.strategy) {
    case GRADCTS_SCHEDULE_RANDOM:
      strategy_.emplace<RandomWalk>(seed, spurious, limit);
      return true;
    case GRADCTS_SCHEDULE_PCT:
      strategy_.emplace<PriorityChanges>(seed, spurious, options_.depth, options_.expected_steps,
                                         limit);
      return true;
    case GRADCTS_SCHEDULE_POS:
      strategy_.emplace<PartialOrderSampling>(scheduler, seed, spurious, limit);
      return true;
    case GRADCTS_SCHEDULE_REPLAY: {
      if (options_.schedule == nullptr) return false;
      std::optional<Trace> trace = Trace::parse(options_.schedule);
      if (trace) strategy_.emplace<Replay>(std::move(*trace));
      return trace.has_value();
    }
  }
  return false;
}

Strategy& ChosenStrategy::get() {
  if (auto* priorities = std::get_if<PriorityChanges>(&strategy_)) return *priorities;
  if (auto* sampling = std::get_if<PartialOrderSampling>(&strategy_)) return *sampling;
  if (auto* replay = std::get_if<Replay>(&strategy_)) return *replay;
  return std::get<RandomWalk>(strategy_);
}

std::uint64_t ChosenStrategy::mismatch_step() const {
  const auto* replay = std::get_if<Replay>(&strategy_);
  return replay != nullptr ? replay->mismatch_step() : 0;
}

std::string ChosenStrategy::in_words() const {
  std::string text;
  switch (options_.strategy) {
    case GRADCTS_SCHEDULE_RANDOM:
      text = "random walk, seed " + std::to_string(options_.seed);
      break;
    case GRADCTS_SCHEDULE_PCT:
      text = "priorities (PCT), seed " + std::to_string(options_.seed) + ", depth " +
             std::to_string(options_.depth) + ", expected steps " +
             std::to_string(options_.expected_steps);
      break;
    case GRADCTS_SCHEDULE_POS:
      text = "partial-order sampling (POS), seed " + std::to_string(options_.seed);
      break;
    default:
      return "replay";
  }
  if (options_.spurious_per_mille == 0) return text;
  return text + ", spurious per mille " + std::to_string(options_.spurious_per_mille);
}

}  // namespace gradcts::schedule
