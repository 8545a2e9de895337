// Judges of what happened inside: how often, with which gradients, in which order.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "conformance/checker/compare.h"
#include "conformance/checker/describe.h"
#include "conformance/checker/judges.h"

namespace gradcts {

namespace {

bool is_node_event(EventKind kind) {
  return kind == EventKind::node_enter || kind == EventKind::node_exit;
}

const Event* actual_event(const Evidence& evidence, std::size_t expected) {
  const std::int32_t index = evidence.events[expected];
  return index == unmatched ? nullptr : &evidence.outcome.events[static_cast<std::size_t>(index)];
}

// How often events of one kind and subject happened, and how often they had to and could.
struct Count {
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::int64_t observed = 0;
  const char* clause = nullptr;
};
// By subject, making of the node, kind.
using Counts = std::map<std::tuple<std::int32_t, std::int32_t, EventKind>, Count>;

template <typename IsMine>
bool all_as_expected(const Evidence& evidence, IsMine is_mine) {
  const auto& expected = evidence.expectation.events;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].required && is_mine(expected[i].event.kind) && !actual_event(evidence, i))
      return false;
  }
  return std::none_of(
      evidence.surplus_events.begin(), evidence.surplus_events.end(), [&](std::int32_t index) {
        return is_mine(evidence.outcome.events[static_cast<std::size_t>(index)].kind);
      });
}

template <typename IsMine>
Counts count(const Evidence& evidence, IsMine is_mine) {
  Counts counts;
  const auto entry = [&](const Event& event) -> Count& {
    return counts[{event.subject, is_node_event(event.kind) ? event.instance : 0, event.kind}];
  };
  for (const ExpectedEvent& expected : evidence.expectation.events) {
    if (!is_mine(expected.event.kind)) continue;
    Count& count = entry(expected.event);
    count.least += expected.required ? 1 : 0;
    ++count.most;
    count.clause = expected.clause;
  }
  for (const Event& event : evidence.outcome.events) {
    if (is_mine(event.kind)) ++entry(event).observed;
  }
  return counts;
}

std::string range_of(EventKind kind, const Count& count) {
  if (count.least == count.most) return count_of(kind, count.least);
  return fmt::format("{} to {}", count.least, count_of(kind, count.most));
}

std::string range_of(const NumberRange& range) {
  if (range.least == range.most) return std::to_string(range.least);
  return fmt::format("{} to {}", range.least, range.most);
}

// The clause of an event that the oracle knows nothing of.
const char* clause_of(EventKind kind) {
  switch (kind) {
    case EventKind::node_enter:
    case EventKind::node_exit:
      return "TOPO-1";
    case EventKind::post_accumulate_hook:
      return "HOOK-1";
    case EventKind::capture_hook:
      return "HOOK-7";
    case EventKind::multi_hook:
      return "HOOK-8";
    case EventKind::pack:
    case EventKind::unpack:
      return "HOOK-9";
    case EventKind::callback:
      return "CB-1";
    case EventKind::pass_begin:
    case EventKind::pass_end:
      return "REENT-1";
    case EventKind::observe:
      return "TOPO-1";
    case EventKind::destroyed:
      return "LIFE-1";
    default:
      return "HOOK-2";
  }
}

template <typename IsMine>
void judge_counts(const Evidence& evidence, std::string_view clauses, IsMine is_mine,
                  Findings& findings) {
  if (all_as_expected(evidence, is_mine)) return;
  for (const auto& [key, count] : count(evidence, is_mine)) {
    if (count.least <= count.observed && count.observed <= count.most) continue;
    const auto [subject, making, kind] = key;
    std::string where = describe_subject(evidence.scenario, kind, subject);
    if (making > 0) where += fmt::format(" (making {})", making + 1);
    const char* own = count.clause ? count.clause : clause_of(kind);
    findings.push_back({choose_clause(evidence.scenario, clauses, own), where,
                        range_of(kind, count), count_of(kind, count.observed)});
  }
}

template <typename IsMine>
void judge_event_values(const Evidence& evidence, std::string_view clauses, const char* own,
                        IsMine is_mine, Findings& findings) {
  if (evidence.expectation.inexact) return;
  const auto& expected = evidence.expectation.events;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Event& event = expected[i].event;
    const Event* actual = actual_event(evidence, i);
    if (!expected[i].compare_values || !actual || !is_mine(event.kind)) continue;
    const auto clause = [&] { return choose_clause(evidence.scenario, clauses, own); };
    if (actual->values.size() != event.values.size()) {
      findings.push_back({clause(), describe_event(evidence.scenario, event),
                          fmt::format("{} gradients", event.values.size()),
                          fmt::format("{} gradients", actual->values.size())});
      continue;
    }
    for (std::size_t v = 0; v < event.values.size(); ++v) {
      const auto wrong = difference(event.values[v], actual->values[v], 0);
      if (!wrong) continue;
      findings.push_back(
          {clause(), fmt::format("{}, gradient {}", describe_event(evidence.scenario, event), v),
           describe(event.values[v]), fmt::format("{} ({})", describe(actual->values[v]), *wrong)});
    }
  }
}

}  // namespace

void judge_runs(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  judge_counts(evidence, clauses, is_node_event, findings);
}

void judge_calls(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  judge_counts(
      evidence, clauses, [](EventKind kind) { return !is_node_event(kind); }, findings);
}

void judge_node_gradients(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  judge_event_values(evidence, clauses, "ACC-1", is_node_event, findings);
}

void judge_hook_gradients(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  judge_event_values(
      evidence, clauses, "HOOK-4", [](EventKind kind) { return !is_node_event(kind); }, findings);
}

void judge_observations(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  const auto& expected = evidence.expectation.events;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Event* actual = actual_event(evidence, i);
    if (!actual || expected[i].number_fits(actual->number)) continue;
    const bool stated = expected[i].stated.has_value();
    const std::string number =
        stated ? range_of(*expected[i].stated) : std::to_string(expected[i].event.number);
    // What the author states is about the clauses that the scenario cites.
    const std::string clause = stated && expected[i].event.kind == EventKind::observe
                                   ? evidence.scenario.clauses[0]
                                   : choose_clause(evidence.scenario, clauses, expected[i].clause);
    findings.push_back({clause, describe_event(evidence.scenario, expected[i].event), number,
                        std::to_string(actual->number)});
  }
}

// A thread of the engine serves one device, and the main thread none but the CPU.
void judge_threads(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  constexpr std::int16_t main_thread = 0;
  struct Use {
    Device device;
    const Event* first = nullptr;
  };
  std::map<std::int16_t, Use> threads{{main_thread, {}}};
  const auto& expected = evidence.expectation.events;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Event* actual = actual_event(evidence, i);
    if (!actual || !expected[i].device) continue;
    const Device device = *expected[i].device;
    const auto clause = [&] { return choose_clause(evidence.scenario, clauses, expected[i].clause); };
    const bool is_on_main = !expected[i].any_order && expected[i].event.thread == main_thread;
    if (device.type == DeviceType::cpu && is_on_main && actual->thread != main_thread) {
      findings.push_back({clause(), describe_event(evidence.scenario, *actual),
                          "on the thread that called", "on another thread"});
      continue;
    }
    const Use& use = threads.try_emplace(actual->thread, Use{device, actual}).first->second;
    if (use.device == device) continue;
    const std::string other =
        use.first ? fmt::format("{}, for {},", describe_event(evidence.scenario, *use.first),
                                to_text(use.device))
                  : "the program";
    findings.push_back({clause(), describe_event(evidence.scenario, *actual),
                        fmt::format("on a thread for {} alone", to_text(device)),
                        fmt::format("on a thread that {} was on as well", other)});
  }
}

// Each constraint carries its own clause, so that what the scenario cites does not matter.
void judge_order(const Evidence& evidence, std::string_view, Findings& findings) {
  for (const OrderConstraint& constraint : evidence.expectation.order) {
    const std::int32_t before = evidence.events[static_cast<std::size_t>(constraint.before)];
    const std::int32_t after = evidence.events[static_cast<std::size_t>(constraint.after)];
    if (before == unmatched || after == unmatched || before < after) continue;
    const auto name = [&](std::int32_t index) {
      const auto& events = evidence.expectation.events;
      return describe_event(evidence.scenario, events[static_cast<std::size_t>(index)].event);
    };
    const std::string first = name(constraint.before);
    const std::string second = name(constraint.after);
    findings.push_back({constraint.clause, second, "after " + first, "before " + first});
  }
}

}  // namespace gradcts
