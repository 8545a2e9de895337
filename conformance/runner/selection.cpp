#include "conformance/runner/selection.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "conformance/spec/spec.h"

namespace gradcts {
namespace {

bool matches_any(const std::vector<std::string>& patterns, const std::string& id) {
  return std::ranges::any_of(patterns, [&](const auto& p) { return pattern_matches(p, id); });
}

bool tests_clause(const Scenario& scenario, const std::string& wanted) {
  return std::ranges::any_of(scenario.clauses, [&](const std::string& clause) {
    return clause == wanted || clause.starts_with(wanted + "-");
  });
}

bool is_selected(const Scenario& scenario, const Selection& selection) {
  if (!selection.patterns.empty() && !matches_any(selection.patterns, scenario.id)) return false;
  if (matches_any(selection.skip, scenario.id)) return false;
  return selection.clauses.empty() ||
         std::ranges::any_of(selection.clauses,
                             [&](const auto& clause) { return tests_clause(scenario, clause); });
}

}  // namespace

bool pattern_matches(const std::string& pattern, const std::string& id) {
  std::string glob = pattern;
  while (glob.ends_with('/')) glob.pop_back();
  for (std::size_t end = id.size(); end != std::string::npos; end = id.rfind('/', end - 1)) {
    if (fnmatch(glob.c_str(), id.substr(0, end).c_str(), 0) == 0) return true;
    if (end == 0) break;
  }
  return false;
}

Shard read_shard(const std::string& text) {
  Shard shard;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard.index);
  const bool slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = slash ? std::from_chars(first.ptr + 1, end, shard.count) : first;
  const bool whole = slash && second.ec == std::errc() && second.ptr == end;
  if (!whole || shard.index < 1 || shard.index > shard.count) {
    throw std::invalid_argument(
        fmt::format("--shard '{}': expected I/N with 1 <= I <= N, for example 1/4", text));
  }
  return shard;
}

std::vector<std::size_t> select(const std::vector<const Scenario*>& scenarios,
                                const Selection& selection) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    if (is_selected(*scenarios[i], selection)) chosen.push_back(i);
  }
  std::ranges::sort(chosen, {},
                    [&](std::size_t i) -> const std::string& { return scenarios[i]->id; });
  std::vector<std::size_t> part;
  for (std::size_t i = selection.shard.index - 1; i < chosen.size(); i += selection.shard.count) {
    part.push_back(chosen[i]);
  }
  std::ranges::sort(part);
  return part;
}

std::vector<std::string> dead_patterns(const std::vector<const Scenario*>& scenarios,
                                       const Selection& selection) {
  std::vector<std::string> dead;
  for (const std::string& pattern : selection.patterns) {
    if (std::ranges::none_of(scenarios, [&](const Scenario* scenario) {
          return pattern_matches(pattern, scenario->id);
        })) {
      dead.push_back(pattern);
    }
  }
  return dead;
}

void check_clause(const std::string& clause) {
  const bool known =
      find_clause(clause) != nullptr ||
      std::ranges::any_of(all_areas(), [&](const Area& area) { return area.id == clause; });
  if (!known) {
    throw std::invalid_argument(
        fmt::format("no clause or area '{}'; `gradcts list --clauses` shows them", clause));
  }
}

}  // namespace gradcts
