#include "conformance/adapters/lying/liar.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "conformance/adapters/kit/export.h"
#include "conformance/adapters/kit/support.h"
#include "conformance/adapters/reference/reference_adapter.h"
#include "conformance/scenario/features.h"

namespace gradcts::lying {

namespace {

using Values = std::vector<std::optional<TensorValue>>;

void for_all(Values& values, auto change) {
  for (auto& value : values) {
    if (!value) continue;
    for (double& number : value->values) number = change(number);
  }
}

// Also wrong where no number is reported.
void be_off_by_one(Outcome& outcome) {
  const auto add_one = [](double number) { return number + 1; };
  for (StepResult& step : outcome.steps) for_all(step.values, add_one);
  for (Event& event : outcome.events) for_all(event.values, add_one);
  for_all(outcome.leaf_grads, add_one);
  std::erase_if(outcome.events,
                [](const Event& event) { return event.kind == EventKind::pass_end; });
}

// What the steps say about `.grad` of a leaf: calls change(value) for each reading.
void for_each_reading(Outcome& outcome, const Scenario& scenario, auto change) {
  for (StepResult& result : outcome.steps) {
    for_each_step(scenario, [&](const Step& step) {
      const auto* read = std::get_if<ReadStep>(&step.action);
      if (step.id != result.step || !read || result.error) return;
      for (std::size_t i = 0; i < read->grads.size(); ++i) {
        change(read->grads[i], result.values[read->values.size() + i]);
      }
    });
  }
}

void drop_an_edge(Outcome& outcome, const Scenario& scenario) {
  for (std::size_t leaf = scenario.leaves.size(); leaf-- > 0;) {
    if (!outcome.leaf_grads[leaf]) continue;
    outcome.leaf_grads[leaf].reset();
    const NodeId accumulator = accumulator_of(scenario, static_cast<std::int32_t>(leaf));
    std::erase_if(outcome.events, [&](const Event& event) {
      return (event.kind == EventKind::node_enter || event.kind == EventKind::node_exit) &&
             event.subject == accumulator;
    });
    for_each_reading(outcome, scenario, [&](ValueId value, std::optional<TensorValue>& grad) {
      if (value == scenario.leaves[leaf].value) grad.reset();
    });
    return;
  }
}

void count_twice(Outcome& outcome, const Scenario& scenario) {
  const auto twice = [](double number) { return 2 * number; };
  for_all(outcome.leaf_grads, twice);
  for_each_reading(outcome, scenario, [&](ValueId, std::optional<TensorValue>& grad) {
    if (!grad) return;
    for (double& number : grad->values) number = twice(number);
  });
}

[[noreturn]] void hang() {
  std::promise<void> never;
  never.get_future().wait();
  std::terminate();
}

[[noreturn]] void die() {
  std::raise(SIGSEGV);
  std::terminate();
}

// The thread waits for ever.
void leak(Outcome& outcome) {
  ++outcome.state.live_objects;
  std::thread(hang).detach();
}

void lie_about(Lie lie, Outcome& outcome, const Scenario& scenario) {
  switch (lie) {
    case Lie::always_wrong:
      return be_off_by_one(outcome);
    case Lie::drops_an_edge:
      return drop_an_edge(outcome, scenario);
    case Lie::counts_twice:
      return count_twice(outcome, scenario);
    case Lie::hangs:
      hang();
    case Lie::dies:
      die();
    case Lie::leaks:
      return leak(outcome);
    case Lie::prints:
      std::puts("{\"this\": \"is noise\"}");
      return;
    case Lie::claims_too_much:
    case Lie::answers_another:
    case Lie::speaks_garbage:
    case Lie::wrong_version:
      return;
  }
}

// Nothing may be printed while the library loads, so that only a run shows the lie.
Description description_of(Lie lie, std::string_view name) {
  Description description = describe_reference();
  description.name = name;
  if (lie != Lie::claims_too_much) return description;
  description.features = {"operation.*", "type.*"};
  for (const FeatureSpec& feature : all_features()) {
    description.features.emplace_back(feature.name);
  }
  return description;
}

constexpr std::string_view names[] = {
    "lying-always-wrong",  "lying-drops-an-edge",   "lying-counts-twice",    "lying-hangs",
    "lying-dies",          "lying-claims-too-much", "lying-answers-another", "lying-speaks-garbage",
    "lying-wrong-version", "lying-leaks",           "lying-prints"};

std::string run_and_lie(Lie lie, std::string_view request) {
  const auto scenario = std::make_shared<const Scenario>(read_scenario(parse_json(request)));
  const Description description = description_of(lie, names[static_cast<int>(lie)]);
  Outcome outcome;
  outcome.unsupported = kit::missing_features_text(*scenario, description);
  if (outcome.unsupported.empty()) {
    outcome = run_on_reference(scenario);
    lie_about(lie, outcome, *scenario);
  }
  std::string answer = write_outcome(outcome, *scenario).dump();
  if (lie == Lie::speaks_garbage) return answer.substr(0, answer.size() / 2);
  if (lie != Lie::answers_another) return answer;
  static std::string before = answer;
  return std::exchange(before, answer);
}

template <Lie lie>
int describe(gradcts_reply reply, void* context) {
  return kit::answer(reply, context, [] {
    return write_description(description_of(lie, names[static_cast<int>(lie)])).dump();
  });
}

template <Lie lie>
int run(const char* scenario, std::size_t size, gradcts_reply reply, void* context) {
  return kit::answer(reply, context, [&] { return run_and_lie(lie, {scenario, size}); });
}

template <Lie lie>
const gradcts_adapter_functions* functions() {
  constexpr std::uint32_t version = GRADCTS_INTERFACE_VERSION;
  static constexpr gradcts_adapter_functions result{
      lie == Lie::wrong_version ? version + 1000 : version, describe<lie>, run<lie>};
  return &result;
}

}  // namespace

const gradcts_adapter_functions* adapter_of(Lie lie) {
  switch (lie) {
    case Lie::always_wrong:
      return functions<Lie::always_wrong>();
    case Lie::drops_an_edge:
      return functions<Lie::drops_an_edge>();
    case Lie::counts_twice:
      return functions<Lie::counts_twice>();
    case Lie::hangs:
      return functions<Lie::hangs>();
    case Lie::dies:
      return functions<Lie::dies>();
    case Lie::claims_too_much:
      return functions<Lie::claims_too_much>();
    case Lie::answers_another:
      return functions<Lie::answers_another>();
    case Lie::speaks_garbage:
      return functions<Lie::speaks_garbage>();
    case Lie::wrong_version:
      return functions<Lie::wrong_version>();
    case Lie::leaks:
      return functions<Lie::leaks>();
    case Lie::prints:
      return functions<Lie::prints>();
  }
  return nullptr;
}

}  // namespace gradcts::lying
