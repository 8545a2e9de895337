// The strategy that the options of schedule.h ask for.
#pragma once

#include <string>
#include <variant>

#include "conformance/explore/preload/schedule.h"
#include "conformance/explore/preload/strategy.h"

namespace gradcts::schedule {

// Zero in any field but `version` becomes its default.
gradcts_schedule_options with_defaults(gradcts_schedule_options options);

class ChosenStrategy {
 public:
  // False if the options mean nothing: unknown version or strategy, a schedule that cannot be read.
  bool choose(const gradcts_schedule_options& options, const Scheduler& scheduler);

  // After choose().
  Strategy& get();
  std::uint64_t mismatch_step() const;  // of a replay; else 0
  std::string in_words() const;         // one line, for the report

  const gradcts_schedule_options& options() const { return options_; }

 private:
  gradcts_schedule_options options_ = {};
  std::variant<std::monostate, RandomWalk, PriorityChanges, PartialOrderSampling, Replay> strategy_;
};

}  // namespace gradcts::schedule
