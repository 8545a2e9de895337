#include "conformance/report/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "conformance/report/trace.h"
#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

// f and g take x; f's forward runs on stream a, g's on stream b, and top takes both.
Scenario two_streams() {
  return read_scenario(parse_json(R"({
    "schema": "gradcts.scenario/1", "id": "stream/two", "title": "Two streams", "clauses": ["STREAM-2"],
    "streams": [{"name": "a", "device": "sim:0"}, {"name": "b", "device": "sim:0"}],
    "leaves": [{"name": "x", "value": {"device": "sim:0", "shape": [], "values": [1]}}],
    "nodes": [{"name": "f", "op": "custom", "inputs": ["x"], "backward": {"steps": [{"do": "observe", "what": "stream"}]}},
              {"name": "g", "op": "custom", "inputs": ["f"]}],
    "program": [{"do": "with", "stream": "a", "steps": [{"do": "forward", "nodes": ["f"]}]},
                {"do": "with", "stream": "b", "steps": [{"do": "forward", "nodes": ["g"]}]},
                {"do": "backward", "roots": [{"value": "g", "seed": {"device": "sim:0", "shape": [], "values": [1]}}]}]})"));
}

StepId step_of(const Scenario& scenario, std::string_view verb) {
  StepId found = no_id;
  for_each_step(scenario, [&](const Step& step) {
    if (verb_of(step) == verb) found = step.id;
  });
  return found;
}

Event event(EventKind kind, std::int32_t subject, std::int16_t thread, std::int64_t number = 0) {
  Event result;
  result.kind = kind;
  result.subject = subject;
  result.thread = thread;
  result.number = number;
  return result;
}

// The caller's pass, g and f on a thread of the device.
Outcome two_threads(const Scenario& scenario) {
  const StepId pass = step_of(scenario, "backward");
  Outcome outcome;
  outcome.events = {event(EventKind::pass_begin, pass, 0), event(EventKind::node_enter, 1, 1),
                    event(EventKind::node_exit, 1, 1),     event(EventKind::node_enter, 0, 1),
                    event(EventKind::node_exit, 0, 1),     event(EventKind::pass_end, pass, 0)};
  return outcome;
}

auto bar(std::size_t lane, std::size_t begin, std::size_t end, int depth, const std::string& name) {
  return AllOf(Field(&Bar::lane, lane), Field(&Bar::begin, begin), Field(&Bar::end, end),
               Field(&Bar::depth, depth), Field(&Bar::name, name));
}

auto arrow(std::size_t from_lane, std::size_t from, std::size_t to_lane, std::size_t to,
           const char* reason) {
  return AllOf(Field(&Arrow::from_lane, from_lane), Field(&Arrow::from_time, from),
               Field(&Arrow::to_lane, to_lane), Field(&Arrow::to_time, to),
               Field(&Arrow::reason, HasSubstr(reason)));
}

TEST(Timeline, ThreadsAndStreamsHaveLanes) {
  const Scenario scenario = two_streams();
  const Timeline timeline = make_timeline(scenario, two_threads(scenario));
  EXPECT_THAT(
      timeline.lanes,
      ElementsAre(Field(&Lane::name, "main thread"), Field(&Lane::name, "thread 1"),
                  Field(&Lane::name, "stream a (sim:0)"), Field(&Lane::name, "stream b (sim:0)")));
  EXPECT_THAT(timeline.bars,
              ElementsAre(bar(0, 0, 6, 0, "step 4 (backward)"), bar(1, 1, 3, 0, "g"),
                          bar(3, 1, 3, 0, "g"), bar(1, 3, 5, 0, "f"), bar(2, 3, 5, 0, "f")));
}

TEST(Timeline, ArrowsSayWhatWaitsForWhat) {
  const Scenario scenario = two_streams();
  const Timeline timeline = make_timeline(scenario, two_threads(scenario));
  EXPECT_THAT(
      timeline.arrows,
      ElementsAre(arrow(0, 1, 1, 1, "starts g"), arrow(1, 5, 0, 5, "step 4 (backward) waits"),
                  arrow(3, 3, 2, 3, "stream a (sim:0) waits for stream b (sim:0)")));
}

TEST(Timeline, GradientsThatGoFromThreadToThreadAreArrows) {
  const Scenario scenario = two_streams();
  Outcome outcome = two_threads(scenario);
  outcome.events[3].thread = outcome.events[4].thread = 2;
  const Timeline timeline = make_timeline(scenario, outcome);
  EXPECT_THAT(timeline.arrows, ::testing::Contains(arrow(1, 3, 2, 3, "gradient from g to f")));
}

TEST(Timeline, WhatABackwardObservesDecidesItsStream) {
  const Scenario scenario = two_streams();
  Outcome outcome = two_threads(scenario);
  const Event seen = event(EventKind::observe, step_of(scenario, "observe"), 1, 1);
  outcome.events.insert(outcome.events.begin() + 4, seen);
  const Timeline timeline = make_timeline(scenario, outcome);
  EXPECT_THAT(timeline.bars, ::testing::Contains(bar(3, 3, 6, 0, "f")))
      << "f ran on b, where it belongs on a";
  EXPECT_THAT(timeline.bars, ::testing::Contains(bar(1, 4, 5, 1, "stream = 1"))) << "inside of f";
}

TEST(Timeline, AnEndThatWasLostIsSaid) {
  const Scenario scenario = two_streams();
  Outcome outcome = two_threads(scenario);
  outcome.events.erase(outcome.events.begin() + 4);
  const Timeline timeline = make_timeline(scenario, outcome);
  const Bar& last = timeline.bars[3];
  EXPECT_EQ(last.name, "f");
  EXPECT_FALSE(last.ended);
  EXPECT_THAT(last.detail, HasSubstr("its end was never reported"));
}

TEST(Timeline, ShowsNoMoreThanAsked) {
  const Scenario scenario = two_streams();
  const Timeline timeline = make_timeline(scenario, two_threads(scenario), 2);
  EXPECT_EQ(timeline.length, 2u);
  EXPECT_EQ(timeline.events, 6u);
  EXPECT_THAT(timeline.bars, ElementsAre(bar(0, 0, 2, 0, "step 4 (backward)"), bar(1, 1, 2, 0, "g"),
                                         bar(3, 1, 2, 0, "g")));
}

TEST(Trace, IsInTheTraceEventFormat) {
  const Scenario scenario = two_streams();
  const Json trace = trace_json(scenario, make_timeline(scenario, two_threads(scenario)));
  std::map<std::string, int> phases;
  std::map<int, int> flows;
  std::set<std::string> names;
  for (const Json& event : trace["traceEvents"]) {
    ++phases[event["ph"]];
    EXPECT_TRUE(event["pid"].is_number() && event["tid"].is_number() && event["name"].is_string());
    if (event["ph"] == "X") {
      EXPECT_GE(event["dur"], 1);
    }
    if (event["ph"] == "s") ++flows[event["id"]];
    if (event["ph"] == "f") --flows[event["id"]];
    if (event["ph"] == "M" && event["name"] == "thread_name") names.insert(event["args"]["name"]);
  }
  EXPECT_EQ(phases["X"], 5);
  EXPECT_EQ(phases["s"], 3);
  EXPECT_EQ(phases["f"], 3);
  for (const auto& [id, open] : flows) EXPECT_EQ(open, 0) << "flow " << id;
  EXPECT_THAT(names,
              ElementsAre("main thread", "stream a (sim:0)", "stream b (sim:0)", "thread 1"));
}

}  // namespace
}  // namespace gradcts
