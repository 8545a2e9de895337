#include "fuzz/shrink.h"

#include <gtest/gtest.h>

#include "conformance/scenario/builder.h"
#include "conformance/scenario/json.h"
#include "conformance/scenario/suite.h"
#include "conformance/scenario/validate.h"
#include "fuzz/cut.h"
#include "fuzz/generate.h"
#include "fuzz/stream_order.h"

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

// A program that runs a node on another stream than the rest, and reads at the end.
Scenario on_two_streams(const std::string& leave_out = "") {
  const std::vector<std::pair<std::string, std::string>> program{
      {"leaf", R"({"do": "wait_stream", "stream": "a", "for": "b"})"},
      {"", R"({"do": "read", "values": ["x"]})"},
      {"in", R"({"do": "wait_stream", "stream": "b", "for": "a"})"},
      {"", R"({"do": "with", "stream": "b", "steps": [{"do": "forward", "nodes": ["y"]}]})"},
      {"out", R"({"do": "wait_stream", "stream": "a", "for": "b"})"},
      {"", R"({"do": "backward", "roots": [{"value": "y", "seed": {"device": "sim:0",
               "shape": [], "values": [5]}}]})"},
      {"read", R"({"do": "read", "grads": ["x"]})"}};
  std::string steps;
  for (const auto& [name, step] : program) {
    if (!name.empty() && name == leave_out) continue;
    steps += (steps.empty() ? "" : ", ") + step;
  }
  const std::string script =
      leave_out == "script" ? "" : R"(, {"do": "wait_stream", "stream": "a", "for": "b"})";
  return read_scenario(parse_json(R"({"schema": "gradcts.scenario/1", "id": "fuzz/streams",
    "title": "Two streams", "clauses": ["STREAM-2"],
    "streams": [{"name": "a", "device": "sim:0"}, {"name": "b", "device": "sim:0"}],
    "leaves": [{"name": "x", "value": {"device": "sim:0", "shape": [], "values": [3]},
                "stream": "b"}],
    "nodes": [{"name": "y", "op": "custom", "inputs": ["x"], "backward": {"steps": [
      {"do": "backward", "roots": [{"value": "x", "seed": {"device": "sim:0", "shape": [],
       "values": [2]}}]})" + script +
                                  R"(]}}],
    "program": [{"do": "with", "stream": "a", "steps": [)" +
                                  steps + "]}]}"));
}

TEST(StreamOrder, NeedsEachWait) {
  EXPECT_TRUE(orders_its_streams(on_two_streams()));
  for (const char* wait : {"leaf", "in", "out", "read", "script"}) {
    EXPECT_FALSE(orders_its_streams(on_two_streams(wait))) << wait;
  }
}

TEST(StreamOrder, AScriptReadsNothingAndWritesNoBufferAgain) {
  const std::string text = write_scenario(on_two_streams()).dump();
  const auto with = [&](const std::string& part, const std::string& more) {
    std::string changed = text;
    const auto place = changed.find(part);
    EXPECT_NE(place, std::string::npos);
    changed.insert(place + part.size(), more);
    return read_scenario(parse_json(changed));
  };
  EXPECT_TRUE(orders_its_streams(with(R"("backward":{)", "")));
  EXPECT_FALSE(
      orders_its_streams(with(R"("backward":{"steps":[)", R"({"do": "read", "values": ["x"]},)")));
  EXPECT_FALSE(orders_its_streams(
      with(R"("backward":{)", R"("returns": [{"pool": {"device": "sim:0", "shape": [],
           "values": [2]}}],)")));
}

TEST(StreamOrder, AHookStartsItsPassesOnTheFirstStream) {
  const std::string pass = R"({"do": "backward", "roots": [{"value": "x", "seed": {
      "device": "sim:0", "shape": [], "values": [2]}}]})";
  const auto with_hook = [&](const std::string& steps) {
    Json json = write_scenario(on_two_streams());
    json["hooks"] =
        parse_json(R"([{"name": "h", "kind": "node_pre", "on": "y", "steps": [)" + steps + "]}]");
    return read_scenario(json);
  };
  EXPECT_FALSE(orders_its_streams(
      with_hook(pass + R"(, {"do": "wait_stream", "stream": "a", "for": "b"})")));
  EXPECT_TRUE(
      orders_its_streams(with_hook(R"({"do": "with", "stream": "a", "steps": [)" + pass + "]}")));
}

TEST(StreamOrder, TheDefaultStreamIsOneOfThem) {
  Scenario scenario = on_two_streams();
  scenario.leaves[0].stream = no_id;
  EXPECT_FALSE(orders_its_streams(scenario));
}

// Fails as long as some pass and some forward on a stream of its own are left.
TEST(Shrink, KeepsStreamsOrdered) {
  const auto fails = [](const Scenario& s) -> std::string {
    const bool pass = has_step<PassStep>(s, [](const PassStep&) { return true; });
    const bool second = has_step<WithStep>(s, [](const WithStep& with) {
      return with.stream > 0 && !with.steps.empty() &&
             std::holds_alternative<ForwardStep>(with.steps[0].action);
    });
    return pass && second ? "STREAM-2" : "";
  };
  int shrunk_cases = 0;
  for (std::uint64_t i = 0; shrunk_cases < 5; ++i) {
    const Scenario scenario = random_scenario(11, i);
    if (fails(scenario).empty()) continue;
    ++shrunk_cases;
    const Shrunk shrunk = shrink(scenario, fails);
    EXPECT_TRUE(orders_its_streams(shrunk.scenario)) << write_scenario(shrunk.scenario).dump(1);
    // Both of these, the stream that they stand in, and the wait for it; what comes last is read.
    EXPECT_LE(shrunk.scenario.step_count, 10) << write_scenario(shrunk.scenario).dump(1);
  }
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

bool has_statements(const Scenario& scenario) {
  bool found = false;
  for_each_step(scenario, [&](const Step& step) { found |= step.expect.has_value(); });
  return found;
}

// Fails where two passes are waited for; the statement about the third is not needed.
TEST(Shrink, TakesFuturesAndStatementsAway) {
  const Scenario scenario = read_scenario(parse_json(R"({
    "schema": "gradcts.scenario/1", "id": "test/futures", "title": "Three", "clauses": ["ASYNC-2"],
    "futures": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
    "leaves": [{"name": "x", "value": 1}], "nodes": [{"name": "y", "op": "neg", "inputs": ["x"]}],
    "program": [{"do": "forward"},
      {"do": "grad", "roots": [{"value": "y", "seed": 1}], "inputs": ["x"], "keep": true, "future": "a"},
      {"do": "grad", "roots": [{"value": "y", "seed": 2}], "inputs": ["x"], "keep": true, "future": "b"},
      {"do": "grad", "roots": [{"value": "y", "seed": 3}], "inputs": ["x"], "keep": true, "future": "c"},
      {"do": "wait", "future": "a"}, {"do": "wait", "future": "c", "expect": {"values": [-3]}},
      {"do": "wait", "future": "b"}]})"));
  const Shrunk shrunk = shrink(scenario, [](const Scenario& s) {
    int waits = 0;
    for_each_step(
        s, [&](const Step& step) { waits += std::holds_alternative<WaitStep>(step.action); });
    return waits >= 2 ? "ASYNC-2" : "";
  });
  EXPECT_EQ(shrunk.scenario.futures.size(), 2U);
  EXPECT_FALSE(has_statements(shrunk.scenario));
}

// Whatever is taken out, the rest is valid, or is refused.
// The scenario with one more of each kind of thing, before all others: their numbers change.
Json with_more_in_front(Json scenario) {
  const auto first = [&](const char* list, Json item) {
    if (!scenario.contains(list)) scenario[list] = Json::array();
    scenario[list].insert(scenario[list].begin(), std::move(item));
  };
  first("leaves", {{"name", "more_leaf"}, {"value", 1}});
  first("nodes", {{"name", "more_node"}, {"op", "custom"}, {"inputs", {"more_leaf"}}});
  first("hooks", {{"name", "more_hook"}, {"kind", "tensor"}, {"on", "more_node"}});
  first("callbacks", {{"name", "more_callback"}});
  first("streams", {{"name", "more_stream"}, {"device", "sim:0"}});
  first("barriers", {{"name", "more_barrier"}, {"parties", 2}});
  first("locks", {{"name", "more_lock"}});
  first("announcements", {{"name", "more_announcement"}, {"to", "more_leaf"}});
  first("futures", {{"name", "more_future"}});
  first("reducers",
        {{"name", "more_reducer"}, {"ranks", Json::array({Json::array({"more_leaf"})})}});
  first("program", {{"do", "wait"}, {"future", "more_future"}});
  first("program", {{"do", "backward"},
                    {"roots", {{{"value", "more_node"}, {"seed", 1}}}},
                    {"announced", {"more_announcement"}},
                    {"future", "more_future"}});
  first("program", {{"do", "forward"}, {"nodes", {"more_node"}}});
  return scenario;
}

TEST(Cut, NothingElseChanges) {
  Cut first;
  first.leaves = first.nodes = first.hooks = first.callbacks = first.streams = {0};
  first.barriers = first.locks = first.announcements = first.futures = first.reducers = {0};
  for (const SuiteEntry& entry : load_suites(GRADCTS_SUITES)) {
    const Json json = write_scenario(entry.scenario);
    EXPECT_EQ(write_scenario(without(read_scenario(with_more_in_front(json)), first)), json)
        << entry.scenario.id;
  }
}

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
