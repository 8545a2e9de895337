#include "fuzz/shrink.h"

#include <gtest/gtest.h>

#include "conformance/scenario/builder.h"
#include "conformance/scenario/json.h"
#include "conformance/scenario/validate.h"
#include "fuzz/cut.h"
#include "fuzz/generate.h"

namespace gradcts::fuzz {
namespace {

template <typename Action, typename Fits>
bool has_step(const Scenario& scenario, Fits fits) {
  bool found = false;
  for_each_step(scenario, [&](const Step& step) {
    const auto* action = std::get_if<Action>(&step.action);
    found = found || (action != nullptr && fits(*action));
  });
  return found;
}

// "Fails" when a node with a pre-hook is in the graph of some create_graph pass.
std::string fails_for_a_hook_and_a_flag(const Scenario& scenario) {
  const bool hook = std::any_of(scenario.hooks.begin(), scenario.hooks.end(), [&](const Hook& h) {
    return h.kind == HookKind::node_pre && !is_accumulator(scenario, h.node);
  });
  const bool create =
      has_step<PassStep>(scenario, [](const PassStep& p) { return p.create_graph; });
  return hook && create ? "HOOK-1" : "";
}

TEST(Shrink, KeepsWhatMattersAndNothingElse) {
  int shrunk_cases = 0;
  for (std::uint64_t i = 0; shrunk_cases < 5; ++i) {
    const Scenario scenario = random_scenario(11, i);
    if (fails_for_a_hook_and_a_flag(scenario).empty()) continue;
    ++shrunk_cases;
    const Shrunk shrunk = shrink(scenario, fails_for_a_hook_and_a_flag);
    EXPECT_EQ(shrunk.failure, "HOOK-1");
    EXPECT_FALSE(shrunk.flaky);
    // One leaf, one node, one hook; a forward and a pass.
    EXPECT_EQ(size_of(shrunk.scenario), 5U) << write_scenario(shrunk.scenario).dump(1);
  }
}

TEST(Shrink, TakesThreadsAway) {
  ScenarioBuilder b("fuzz/threads");
  const ValueId x = b.leaf("x", {1, 2});
  const ValueId y = b.mul(x, x);
  const BarrierId barrier = b.barrier_for(3);
  b.forward();
  const auto caller = [&] {
    b.barrier(barrier);
    b.backward({{y, TensorValue::vector({3, 5})}}, {.keep = true});
  };
  b.parallel({caller, caller, caller});
  const auto threads_with_passes = [](const Scenario& s) {
    std::ptrdiff_t count = 0;
    for_each_step(s, [&](const Step& step) {
      const auto* parallel = std::get_if<ParallelStep>(&step.action);
      if (parallel == nullptr) return;
      count = std::count_if(parallel->threads.begin(), parallel->threads.end(), [](const auto& t) {
        return !t.steps.empty() && std::holds_alternative<PassStep>(t.steps.back().action);
      });
    });
    return count;
  };
  const auto fails = [&](const Scenario& s) -> std::string {
    return threads_with_passes(s) >= 2 ? "THREAD-1" : "";
  };
  const Shrunk shrunk = shrink(b.build(), fails);
  EXPECT_EQ(threads_with_passes(shrunk.scenario), 2);
  EXPECT_TRUE(shrunk.scenario.barriers.empty());
}

TEST(Shrink, LeavesAloneWhatFailsNowAndThen) {
  const Scenario scenario = random_scenario(11, 0);
  int runs = 0;
  const Shrunk shrunk =
      shrink(scenario, [&](const Scenario&) { return runs++ % 2 == 0 ? "ACC-1" : ""; });
  EXPECT_TRUE(shrunk.flaky);
  EXPECT_EQ(write_scenario(shrunk.scenario), write_scenario(scenario));
}

TEST(Shrink, SaysWhenNothingFails) {
  const Shrunk shrunk = shrink(random_scenario(11, 0), [](const Scenario&) { return ""; });
  EXPECT_EQ(shrunk.failure, "");
  EXPECT_EQ(shrunk.tries, 1U);
}

// Whatever is taken out, the rest is valid, or is refused.
TEST(Cut, GivesValidScenarios) {
  int kept = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const Scenario scenario = random_scenario(13, i);
    const auto attempt = [&](const Cut& cut) {
      try {
        validate(without(scenario, cut));
        ++kept;
      } catch (const FormatError&) {
      }
    };
    for (std::size_t node = 0; node < scenario.nodes.size(); ++node) {
      Cut cut;
      cut.nodes = {static_cast<NodeId>(node)};
      for (const ValueId output : scenario.nodes[node].outputs) {
        cut.instead.emplace_back(output, scenario.nodes[node].inputs[0]);
      }
      attempt(cut);
    }
    for (std::size_t hook = 0; hook < scenario.hooks.size(); ++hook) {
      Cut cut;
      cut.hooks = {static_cast<HookId>(hook)};
      attempt(cut);
    }
  }
  EXPECT_GT(kept, 1000);
}

}  // namespace
}  // namespace gradcts::fuzz
