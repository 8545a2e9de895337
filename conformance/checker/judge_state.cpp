// Judges of what is left when everything is over.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/checker/compare.h"
#include "conformance/checker/describe.h"
#include "conformance/checker/judges.h"

namespace gradcts {

namespace {

std::string name_of(const Evidence& evidence, std::size_t leaf) {
  const ValueId value = evidence.scenario.leaves[leaf].value;
  return fmt::format("gradient of leaf {}",
                     evidence.scenario.values[static_cast<std::size_t>(value)].name);
}

}  // namespace

void judge_leaf_gradients(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  const auto& expected = evidence.expectation.leaf_grads;
  const auto& actual = evidence.outcome.leaf_grads;
  const std::string clause = choose_clause(evidence.scenario, clauses, "LEAF-2");
  if (expected.size() != actual.size()) {
    findings.push_back({clause, "the gradients of the leaves", fmt::format("{}", expected.size()),
                        fmt::format("{}", actual.size())});
    return;
  }
  if (evidence.expectation.inexact) return;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!evidence.expectation.leaf_grad_known[i]) continue;
    const auto wrong = difference(expected[i], actual[i], 0);
    if (!wrong) continue;
    findings.push_back({clause, name_of(evidence, i), describe(expected[i]),
                        fmt::format("{} ({})", describe(actual[i]), *wrong)});
  }
}

void judge_leaf_layout(const Evidence& evidence, std::string_view, Findings& findings) {
  const auto& actual = evidence.outcome.leaf_grads;
  const auto& strides = evidence.expectation.leaf_grad_strides;
  for (std::size_t i = 0; i < strides.size() && i < actual.size(); ++i) {
    if (!strides[i] || !evidence.expectation.leaf_grad_known[i]) continue;
    if (!actual[i] || actual[i]->layout != Layout::strided) continue;
    if (actual[i]->shape.size() != strides[i]->size()) continue;
    if (same_strides(actual[i]->shape, *strides[i], actual[i]->strides)) continue;
    const std::string observed = actual[i]->strides.empty()
                                     ? "row-major"
                                     : fmt::format("({})", fmt::join(actual[i]->strides, ","));
    findings.push_back({"LEAF-4", name_of(evidence, i),
                        fmt::format("strides ({})", fmt::join(*strides[i], ",")),
                        fmt::format("strides {}", observed)});
  }
}

void judge_live_objects(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  const std::int64_t alive = evidence.outcome.state.live_objects;
  if (alive == 0) return;
  findings.push_back({choose_clause(evidence.scenario, clauses, "LIFE-1"), "after the scenario",
                      "no node, hook or callback is alive", fmt::format("{} alive", alive)});
}

void judge_thread_state(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  for (const std::string& change : evidence.outcome.state.state_changes) {
    findings.push_back({choose_clause(evidence.scenario, clauses, "ERR-4"),
                        "the caller's thread-local state", "the same after a pass as before it",
                        change});
  }
}

// Memory that goes back too early lacks a registration; whatever else meets lacks a wait. What a
// call that failed has written need not be waited for (STREAM-5).
void judge_device_memory(const Evidence& evidence, std::string_view clauses, Findings& findings) {
  const auto& steps = evidence.outcome.steps;
  if (std::any_of(steps.begin(), steps.end(), [](const auto& step) { return step.error; })) return;
  for (const UnorderedAccess& unordered : evidence.outcome.state.unordered_accesses) {
    const bool is_freed = unordered.access.kind == DeviceAccess::Kind::free;
    const std::string clause =
        is_freed ? "STREAM-3" : choose_clause(evidence.scenario, clauses, "STREAM-2");
    findings.push_back(
        {clause, "memory of a device", describe_missing(unordered), describe(unordered)});
  }
}

}  // namespace gradcts
