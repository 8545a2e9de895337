#include "conformance/runner/result.h"

namespace gradcts {

std::size_t RunSummary::count(VerdictKind kind) const {
  const auto found = counts.find(kind);
  return found == counts.end() ? 0 : found->second;
}

std::size_t RunSummary::executed() const {
  std::size_t sum = 0;
  for (const auto& [kind, number] : counts) {
    if (kind != VerdictKind::unsupported) sum += number;
  }
  return sum;
}

int RunSummary::exit_status() const {
  if (interrupted || errors_not_as_expected > 0) return 3;
  return not_as_expected > 0 || !problems.empty() || executed() == 0 ? 1 : 0;
}

}  // namespace gradcts
