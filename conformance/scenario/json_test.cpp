// Round trips and canonical writing.
#include <gtest/gtest.h>

#include "conformance/scenario/json.h"
#include "conformance/scenario/scenario_samples.h"

namespace gradcts {
namespace {

TensorValue tensor(std::string_view text) {
  return read_tensor(parse_json(text), "t");
}
std::string rewritten(std::string_view text) {
  return write_tensor(tensor(text)).dump();
}

TEST(TensorJson, ShortFormsStandForThemselves) {
  for (const auto* text :
       {"2", "-2.5", "\"nan\"", "\"-inf\"", "[1,2,3]", "[]", "-0.0", "1e+300",
        R"({"type":"float32","shape":[2,3],"values":[1,2,3,4,5,6]})",
        R"({"shape":[2,3],"strides":[1,2],"values":[1,2,3,4,5,6]})",
        R"({"shape":[2],"strides":[0],"values":[4,4]})",
        R"({"type":"complex64","shape":[2],"values":[[1,0],[0,"inf"]]})",
        R"({"shape":[4,2],"sparse":{"indices":[[0,3]],"coalesced":true},"values":[1,2,3,4]})",
        R"({"shape":[2,2],"sparse":{"indices":[[1,1],[0,0]]},"values":[5,6]})",
        R"({"device":"sim:0","shape":[],"values":[2]})", R"({"shape":[10],"fill":7})",
        R"({"type":"boolean","shape":[2],"values":[0,1]})"}) {
    EXPECT_EQ(rewritten(text), text);
  }
}

TEST(TensorJson, LongFormsBecomeShort) {
  EXPECT_EQ(rewritten(R"({"type": "float64", "device": "cpu", "shape": [], "values": [3.0]})"),
            "3");
  EXPECT_EQ(rewritten(R"({"shape": [2, 2], "fill": 7})"), R"({"shape":[2,2],"values":[7,7,7,7]})");
  EXPECT_EQ(rewritten(R"({"shape": [2, 3], "strides": [3, 1], "fill": 0})"),
            R"({"shape":[2,3],"values":[0,0,0,0,0,0]})");
  EXPECT_EQ(rewritten("[1,1,1,1,1,1,1,1,1]"), R"({"shape":[9],"fill":1})");
}

TEST(TensorJson, TheShapeMayBeLeftOut) {
  EXPECT_EQ(tensor(R"({"type": "float32", "fill": 2})").shape.size(), 0);
  EXPECT_EQ(tensor(R"({"type": "float32", "values": [1, 2]})").shape, Shape{2});
}

TEST(ScenarioJson, EverythingComesBack) {
  const Json written = write_scenario(everything());
  const Scenario read = read_scenario(parse_json(written.dump()));
  EXPECT_EQ(write_scenario(read).dump(2), written.dump(2));
  EXPECT_EQ(read.step_count, everything().step_count);
  EXPECT_EQ(read.values.size(), everything().values.size());
}

TEST(ScenarioJson, LeavesDefaultsOut) {
  ScenarioBuilder b("a/b");
  const ValueId x = b.leaf("x", 2);
  b.backward({{b.mul(x, x, "y"), 3}});
  EXPECT_EQ(write_scenario(b.build()).dump(),
            R"({"schema":"gradcts.scenario/1","id":"a/b","title":"a/b","clauses":["TOPO-1"],)"
            R"("leaves":[{"name":"x","value":2}],)"
            R"("nodes":[{"name":"y","op":"mul","inputs":["x","x"]}],)"
            R"("program":[{"do":"forward"},{"do":"backward","roots":[{"value":"y","seed":3}]}]})");
}

TEST(ScenarioJson, NamesTheNodesOfAForwardThatRunsOnlySome) {
  ScenarioBuilder b("a/b");
  const ValueId y = b.clone(b.leaf("x", 2), "y");
  const ValueId z = b.clone(y, "z");
  b.forward({y});
  b.forward({z});
  b.forward({z});
  const Json program = write_scenario(b.build())["program"];
  EXPECT_EQ(program.dump(),
            R"([{"do":"forward"},{"do":"forward","nodes":["z"]},{"do":"forward","nodes":["z"]}])");
}

TEST(ContentHash, IsTheSameEverywhere) {
  ScenarioBuilder b("a/b");
  b.leaf("x", 2);
  EXPECT_EQ(content_hash(b.build()), "e493e5b9b7692bf6");
}

TEST(ContentHash, IgnoresWhatIsForPeople) {
  Scenario scenario = everything();
  const std::string before = content_hash(scenario);
  scenario.id = "other/id";
  scenario.title = "Another title";
  scenario.clauses = {"ACC-1"};
  scenario.reports.clear();
  for_each_step(scenario, [](Step& step) { step.expect.reset(); });
  EXPECT_EQ(content_hash(scenario), before);
}

TEST(ContentHash, SeesAChangeOfMeaning) {
  Scenario scenario = everything();
  const std::string before = content_hash(scenario);
  scenario.leaves[0].initial = TensorValue::scalar(3);
  EXPECT_NE(content_hash(scenario), before);
}

// ------------------------------------------------------------------------------------------------
// Outcomes

Outcome some_outcome(const Scenario& scenario) {
  Outcome outcome;
  outcome.steps.push_back(
      {3, 0, 0, ErrorReport{ErrorCategory::user, "boom", true, "it broke"}, {}});
  outcome.steps.push_back({3, 1, 2, std::nullopt, {TensorValue::scalar(3), std::nullopt}});
  outcome.events.push_back({EventKind::node_enter, accumulator_of(scenario, 1), 1, 2, 0, {}});
  outcome.events.push_back({EventKind::tensor_hook, 0, 0, 0, 0, {TensorValue::vector({1, 2})}});
  outcome.events.push_back({EventKind::callback, 0, 0, 0, 0, {}});
  outcome.events.push_back({EventKind::observe, 4, 0, 0, -1, {}});
  outcome.leaf_grads.resize(scenario.leaves.size());
  outcome.leaf_grads[0] = TensorValue::scalar(596);
  using Kind = DeviceAccess::Kind;
  const DeviceAccess access{Kind::free, "s1", "", "step 3"};
  const DeviceAccess earlier{Kind::read, "sim:0", "mul", "node y"};
  outcome.state = {2, {"the recording mode was on and is off"}, {{access, earlier, true}}, 3};
  return outcome;
}

std::string outcome_refusal(const Json& json) {
  try {
    read_outcome(json, everything());
  } catch (const FormatError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(OutcomeJson, ComesBack) {
  const Scenario scenario = everything();
  const Json written = write_outcome(some_outcome(scenario), scenario);
  const Outcome read = read_outcome(parse_json(written.dump()), scenario);
  EXPECT_EQ(write_outcome(read, scenario).dump(2), written.dump(2));
  EXPECT_EQ(read.steps[0].error->token, "boom");
  EXPECT_EQ(read.events[0].subject, accumulator_of(scenario, 1));
  EXPECT_EQ(read.events[3].number, -1);
  EXPECT_EQ(read.state.engine_threads, 3);
  ASSERT_EQ(read.state.unordered_accesses.size(), 1u);
  EXPECT_EQ(read.state.unordered_accesses[0].access.kind, DeviceAccess::Kind::free);
  EXPECT_EQ(read.state.unordered_accesses[0].earlier.of, "node y");
  EXPECT_TRUE(read.state.unordered_accesses[0].freed_between);
}

TEST(OutcomeJson, UnsupportedStandsAlone) {
  Outcome outcome;
  outcome.unsupported = "no streams";
  const Json json = write_outcome(outcome, everything());
  EXPECT_EQ(json.dump(), R"({"schema":"gradcts.outcome/1","scenario":")" + everything().id +
                             R"(","unsupported":"no streams"})");
  EXPECT_EQ(read_outcome(json, everything()).unsupported, "no streams");
  Json more = json;
  more["steps"] = Json::array();
  EXPECT_EQ(outcome_refusal(more), "unsupported: expected a reason, and no other result beside it");
}

// One edit of a right outcome at a time.
std::string refusal_of(void (*edit)(Json&)) {
  const Scenario scenario = everything();
  Json json = write_outcome(some_outcome(scenario), scenario);
  edit(json);
  return outcome_refusal(json);
}

TEST(OutcomeJson, RefusesWhatIsNotOfTheScenario) {
  EXPECT_EQ(refusal_of([](Json& j) { j["schema"] = "gradcts.outcome/2"; }),
            "schema: expected 'gradcts.outcome/1', found 'gradcts.outcome/2'");
  EXPECT_EQ(refusal_of([](Json& j) { j["scenario"] = "another/one"; }),
            "scenario: the answer is for 'another/one', the request was '" + everything().id + "'");
  EXPECT_EQ(refusal_of([](Json& j) { j["steps"][0]["step"] = 1000; }),
            "steps[0].step: expected at most 61, found the number 1000");
  EXPECT_EQ(refusal_of([](Json& j) { j["events"][0]["subject"] = "q"; }),
            "events[0].subject: there is no node 'q' in the scenario");
  EXPECT_EQ(refusal_of([](Json& j) { j["events"][1]["subject"] = "q"; }),
            "events[1].subject: there is no hook 'q' in the scenario");
  EXPECT_EQ(refusal_of([](Json& j) { j["events"][2]["subject"] = "q"; }),
            "events[2].subject: there is no callback 'q' in the scenario");
  EXPECT_EQ(refusal_of([](Json& j) { j["events"][3]["subject"] = "q"; }),
            "events[3].subject: expected an integer, found the string \"q\"");
}

TEST(OutcomeJson, RefusesAnAnswerInPart) {
  EXPECT_EQ(refusal_of([](Json& j) { j["leaf_grads"].erase("c"); }),
            "leaf_grads: field 'c' is missing");
  EXPECT_EQ(refusal_of([](Json& j) { j.erase("state"); }), "field 'state' is missing");
  EXPECT_EQ(refusal_of([](Json& j) { j["state"].erase("live_objects"); }),
            "state: field 'live_objects' is missing");
}

TEST(OutcomeJson, RefusesASecondResultOfOneOccurrence) {
  EXPECT_EQ(refusal_of([](Json& j) { j["steps"][1].erase("occurrence"); }),
            "steps[1]: a second result for occurrence 0 of step 3");
}

TEST(OutcomeJson, RefusesUnknownWords) {
  EXPECT_EQ(refusal_of([](Json& j) { j["events"][0]["kind"] = "node_eneter"; }).substr(0, 59),
            "events[0].kind: unknown word 'node_eneter'; expected one of");
  EXPECT_EQ(refusal_of([](Json& j) { j["steps"][0]["eror"] = 1; }),
            "steps[0]: unknown field 'eror'; did you mean 'error'?");
  EXPECT_EQ(refusal_of([](Json& j) { j["leaf_grads"]["z"] = 1; }), "leaf_grads: unknown field 'z'");
}

}  // namespace
}  // namespace gradcts
