#include "conformance/explore/search/chance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gradcts {

double pct_chance(std::uint64_t schedules, std::uint64_t threads, std::uint64_t steps,
                  std::uint32_t depth) {
  if (threads == 0 || steps == 0) return 0;
  const double one = 1 / (static_cast<double>(threads) *
                          std::pow(static_cast<double>(steps), static_cast<double>(depth) - 1));
  return -std::expm1(static_cast<double>(schedules) * std::log1p(-std::min(one, 1.0)));
}

double smallest_share_seen(std::uint64_t schedules) {
  return schedules == 0 ? 1 : -std::expm1(std::log(0.05) / static_cast<double>(schedules));
}

std::string chance_in_words(const std::string& strategy, std::uint64_t schedules,
                            std::uint64_t threads, std::uint64_t steps, std::uint32_t depth,
                            std::uint64_t seen_once) {
  std::string text = fmt::format(
      "with 95% confidence: no fault that shows in {:.2g} of this strategy's schedules; "
      "about {:.2g} of further ones would mean something new\n",
      smallest_share_seen(schedules),
      static_cast<double>(seen_once) / static_cast<double>(schedules));
  if (strategy != "pct") return text;
  for (std::uint32_t d = 1; d <= depth; ++d) {
    text += fmt::format("a fault that needs {} ordering{} was found with chance at least {:.2g}\n",
                        d, d == 1 ? "" : "s", pct_chance(schedules, threads, steps, d));
  }
  return text;
}

}  // namespace gradcts
