#include "conformance/runner/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "conformance/checker/checker.h"
#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

Verdict error(std::string detail) {
  return {VerdictKind::error, {}, std::move(detail)};
}

VerdictKind kind_of(WorkerAnswer::Kind kind) {
  if (kind == WorkerAnswer::Kind::crash) return VerdictKind::crash;
  if (kind == WorkerAnswer::Kind::hang) return VerdictKind::hang;
  return VerdictKind::error;
}

std::string explain(const WorkerAnswer& answer) {
  if (answer.kind == WorkerAnswer::Kind::failure) {
    return fmt::format("the adapter could not run the scenario: {}", answer.text);
  }
  return answer.text;
}

Verdict judge_outcome(const Scenario& scenario, const Expectation& expectation,
                      const Outcome& outcome) {
  if (!outcome.unsupported.empty()) {
    return error(
        fmt::format("the adapter claims every feature that this scenario needs, and then lacks: {}",
                    outcome.unsupported));
  }
  if (!expectation.cannot_tell.empty()) {
    return error(fmt::format("the oracle cannot tell: {}", expectation.cannot_tell));
  }
  return check({scenario, expectation, outcome});
}

// ------------------------------------------------------------------------------------------------
// Fingerprints

bool is_concurrent(const Scenario& scenario) {
  bool concurrent = !scenario.streams.empty();
  const auto off_cpu = [](const TensorValue& tensor) {
    return tensor.device.type != DeviceType::cpu;
  };
  for (const Leaf& leaf : scenario.leaves) concurrent |= off_cpu(leaf.initial);
  for (const Node& node : scenario.nodes) {
    concurrent |= node.operation == Operation::to_device;
    if (!node.custom) continue;
    for (const Expression& output : node.custom->forward) {
      concurrent |= output.constant && off_cpu(*output.constant);
      concurrent |= output.move_to && output.move_to->type != DeviceType::cpu;
    }
  }
  for_each_step(scenario, [&](const Step& step) {
    concurrent |= std::holds_alternative<ParallelStep>(step.action);
    const auto* pass = std::get_if<PassStep>(&step.action);
    concurrent |= pass && pass->future != no_id;
  });
  return concurrent;
}

// Right engines may take any of their threads, and use any words.
void forget_names(Outcome& outcome) {
  outcome.state.engine_threads.reset();
  for (StepResult& step : outcome.steps) {
    step.thread = std::min<std::int16_t>(step.thread, 1);
    if (step.error) step.error->text.clear();
  }
  for (Event& event : outcome.events) event.thread = std::min<std::int16_t>(event.thread, 1);
}

// Steps that may end in several ways, or may not be reached.
void forget_free_steps(const Expectation& expectation, Outcome& outcome) {
  for (const ExpectedStep& expected : expectation.steps) {
    const std::size_t ways = expected.allowed_errors.size() + (expected.result.error ? 0 : 1);
    if (expected.required && ways <= 1) continue;
    std::erase_if(outcome.steps, [&](const StepResult& step) {
      return step.step == expected.result.step &&
             (expected.any_order || step.occurrence == expected.result.occurrence);
    });
  }
}

// Values of a step that the oracle does not fix, or that come in any order.
void forget_free_values(const Expectation& expectation, Outcome& outcome) {
  for (const ExpectedStep& expected : expectation.steps) {
    for (StepResult& step : outcome.steps) {
      if (step.step != expected.result.step) continue;
      const bool same = step.occurrence == expected.result.occurrence;
      for (std::size_t i = 0; i < step.values.size(); ++i) {
        const bool unknown = same && i < expected.value_known.size() && !expected.value_known[i];
        if (expected.any_order || unknown) step.values[i].reset();
      }
    }
  }
  for (std::size_t i = 0;
       i < std::min(outcome.leaf_grads.size(), expectation.leaf_grad_known.size()); ++i) {
    if (!expectation.leaf_grad_known[i]) outcome.leaf_grads[i].reset();
  }
}

// Threads and devices order events as they like.
void forget_order(Outcome& outcome) {
  outcome.events.clear();
  for (StepResult& step : outcome.steps) {
    step.thread = 0;
    if (step.error) step.error->token.clear();
  }
  std::ranges::stable_sort(outcome.steps, [](const StepResult& a, const StepResult& b) {
    return std::pair(a.step, a.occurrence) < std::pair(b.step, b.occurrence);
  });
}

Outcome comparable(const Expectation& expectation, Outcome outcome, bool concurrent) {
  forget_names(outcome);
  if (!concurrent) return outcome;
  forget_free_steps(expectation, outcome);
  forget_free_values(expectation, outcome);
  forget_order(outcome);
  return outcome;
}

}  // namespace

Expectation expect_safely(const Scenario& scenario, const Dialect& dialect) {
  try {
    return expect(scenario, dialect);
  } catch (const std::exception& problem) {
    Expectation none;
    none.cannot_tell = problem.what();
    if (none.cannot_tell.empty()) none.cannot_tell = "it failed without a reason";
    return none;
  }
}

Judgement judge(const Scenario& scenario, const Expectation& expectation,
                const WorkerAnswer& answer) {
  if (answer.kind != WorkerAnswer::Kind::outcome) {
    return {{kind_of(answer.kind), {}, explain(answer)}, std::nullopt};
  }
  Judgement judgement;
  try {
    judgement.outcome = read_outcome(answer.content, scenario);
  } catch (const std::exception& problem) {
    judgement.verdict = error(fmt::format("the outcome is malformed: {}", problem.what()));
    return judgement;
  }
  try {
    judgement.verdict = judge_outcome(scenario, expectation, *judgement.outcome);
  } catch (const std::exception& problem) {
    judgement.verdict = error(fmt::format("the checker failed: {}", problem.what()));
  }
  return judgement;
}

std::string fingerprint(const Scenario& scenario, const Expectation& expectation,
                        const Outcome& outcome) {
  return write_outcome(comparable(expectation, outcome, is_concurrent(scenario)), scenario).dump(1);
}

}  // namespace gradcts
