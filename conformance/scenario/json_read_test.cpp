// What the reader refuses, with the exact words. Each test edits one right scenario.
#include <gtest/gtest.h>

#include "conformance/scenario/json.h"

namespace gradcts {
namespace {

constexpr std::string_view right = R"({
  "schema": "gradcts.scenario/1",
  "id": "a/b",
  "title": "A scenario to be broken",
  "clauses": ["TOPO-1"],
  "configuration": {"nesting_limit": 60},
  "streams": [{"name": "s", "device": "sim:0"}],
  "barriers": [{"name": "b", "parties": 2}],
  "locks": [{"name": "m"}],
  "announcements": [{"name": "a", "to": "y"}],
  "futures": [{"name": "later"}],
  "leaves": [{"name": "x", "value": 2}],
  "nodes": [
    {"name": "y", "op": "mul", "inputs": ["x", "x"]},
    {"name": "z", "op": "power", "inputs": ["y"], "exponent": 3},
    {"name": "f", "op": "custom", "inputs": ["z"], "saves": ["z"],
     "backward": {"steps": [{"do": "keep", "as": "k"}],
                  "returns": [{"terms": [{"slot": 0, "factor": 2, "times": "z"}]}]}}
  ],
  "hooks": [
    {"name": "h", "kind": "tensor", "on": "y", "returns": [10]},
    {"name": "p", "kind": "node_pre", "on": "accumulate:x"},
    {"name": "s", "kind": "saved", "pack": {}, "unpack": {}},
    {"name": "c", "kind": "capture"}
  ],
  "callbacks": [{"name": "done"}],
  "program": [
    {"do": "forward"},
    {"do": "backward", "roots": [{"value": "f", "seed": 3}], "keep": true},
    {"do": "grad", "roots": [{"value": "f", "seed": 3}], "inputs": ["x"], "results": ["g"],
     "capture_hooks": [{"input": 0, "hook": "c"}]},
    {"do": "change", "value": "y", "add": 1},
    {"do": "read", "grads": ["x"], "expect": {"values": [36]}},
    {"do": "grad", "roots": [{"value": "z", "seed": 3}], "inputs": ["x"], "announced": ["a"],
     "future": "later"},
    {"do": "deliver", "announcement": "a", "gradient": {"from": "x"}},
    {"do": "wait", "future": "later"},
    {"do": "keep", "grad_of": "x", "as": "d"},
    {"do": "observe", "what": "live_objects", "expect": {"number": 1}},
    {"do": "redirect", "node": "f", "to": "x"},
    {"do": "with", "user_state": 3, "user_state_destroyed": "done", "steps": []},
    {"do": "stop", "limit": 0.5},
    {"do": "backward", "roots": [{"value": "f", "seed": 3}],
     "expect": {"error": "gradient_shape", "names": ["f", 0, [2, 3]], "follows": {"DEV-2": "lazy"}}}
  ]
})";

template <typename Edit>
std::string edit_refusal(Edit&& edit) {
  Json json = parse_json(right);
  edit(json);
  try {
    read_scenario(json);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "accepted";
}

// The value at a JSON pointer replaced by a JSON text.
std::string replaced(const std::string& pointer, std::string_view text) {
  return edit_refusal([&](Json& json) { json[Json::json_pointer(pointer)] = parse_json(text); });
}

std::string without(const std::string& pointer) {
  return edit_refusal([&](Json& json) {
    const Json::json_pointer place(pointer);
    json[place.parent_pointer()].erase(place.back());
  });
}

TEST(ReadScenario, AcceptsTheRightOne) {
  EXPECT_EQ(edit_refusal([](Json&) {}), "accepted");
}

TEST(ReadScenario, TheDocumentItself) {
  EXPECT_EQ(edit_refusal([](Json& j) { j = Json::array(); }), "expected an object, found a list");
  EXPECT_EQ(without("/schema"), "field 'schema' is missing");
  EXPECT_EQ(replaced("/schema", "\"gradcts.scenario/2\""),
            "schema: expected 'gradcts.scenario/1', found 'gradcts.scenario/2'");
  EXPECT_EQ(replaced("/nodess", "[]"), "unknown field 'nodess'; did you mean 'nodes'?");
  EXPECT_EQ(replaced("/comment", "1"), "unknown field 'comment'");
  EXPECT_EQ(without("/program"), "field 'program' is missing");
  EXPECT_EQ(without("/clauses"), "field 'clauses' is missing");
  EXPECT_EQ(replaced("/title", "7"), "title: expected a string, found the number 7");
  EXPECT_EQ(replaced("/clauses", "\"TOPO-1\""),
            "clauses: expected a list, found the string \"TOPO-1\"");
  EXPECT_EQ(replaced("/trace", "\"none\""),
            "trace: unknown word 'none'; expected one of: all, scripted");
}

TEST(ReadScenario, Resources) {
  EXPECT_EQ(replaced("/configuration/nesting_limit", "0"),
            "configuration.nesting_limit: expected at least 1, found the number 0");
  EXPECT_EQ(replaced("/configuration/strict_validation", "1"),
            "configuration.strict_validation: expected true or false, found the number 1");
  EXPECT_EQ(replaced("/barriers/0/parties", "1"),
            "barriers[0].parties: expected at least 2, found the number 1");
  EXPECT_EQ(
      replaced("/barriers/0/parties", "18446744073709551615"),
      "barriers[0].parties: expected a smaller integer, found the number 18446744073709551615");
  EXPECT_EQ(without("/streams/0/device"), "streams[0]: field 'device' is missing");
  EXPECT_EQ(replaced("/locks/0", "\"m\""), "locks[0]: expected an object, found the string \"m\"");
}

TEST(ReadScenario, LeavesAndNodes) {
  EXPECT_EQ(without("/leaves/0/value"), "leaves[0]: field 'value' is missing");
  EXPECT_EQ(
      replaced("/leaves/0/value", "null"),
      "leaves[0].value: expected a tensor (a number, a list of numbers or an object), found null");
  EXPECT_EQ(replaced("/leaves/0/stream", "\"t\""), "leaves[0].stream: there is no stream 't'");
  EXPECT_EQ(without("/nodes/0/name"), "nodes[0]: field 'name' is missing");
  EXPECT_EQ(replaced("/nodes/0", "3"), "nodes[0]: expected an object, found the number 3");
  EXPECT_EQ(without("/nodes/0/op"), "nodes[0]: field 'op' is missing");
  EXPECT_EQ(replaced("/nodes/0/op", "\"mull\""),
            "nodes[0].op: there is no operation 'mull'; did you mean 'mul'?");
  EXPECT_EQ(without("/nodes/0/inputs"), "nodes[0]: field 'inputs' is missing");
  EXPECT_EQ(replaced("/nodes/0/inputs/1", "\"w\""), "nodes[0].inputs[1]: there is no value 'w'");
  EXPECT_EQ(replaced("/nodes/0/inptus", "[]"),
            "nodes[0]: unknown field 'inptus'; did you mean 'inputs'?");
  EXPECT_EQ(replaced("/nodes/0/exponent", "3"), "nodes[0]: unknown field 'exponent'");
  EXPECT_EQ(without("/nodes/1/exponent"), "nodes[1]: field 'exponent' is missing");
  EXPECT_EQ(replaced("/nodes/1/exponent", "\"three\""),
            "nodes[1].exponent: expected a number, found the string \"three\"");
  EXPECT_EQ(replaced("/nodes/1/outputs", "\"z\""),
            "nodes[1].outputs: expected a list, found the string \"z\"");
}

TEST(ReadScenario, NamesNearby) {
  const auto edit = [](Json& j) {
    j["leaves"][0]["name"] = "weight";
    j["nodes"][0]["inputs"] = {"weight", "wieght"};
    j["hooks"][1]["on"] = "accumulate:weight";
  };
  EXPECT_EQ(edit_refusal(edit),
            "nodes[0].inputs[1]: there is no value 'wieght'; did you mean 'weight'?");
}

TEST(ReadScenario, Expressions) {
  const std::string place = "/nodes/2/backward/returns/0";
  EXPECT_EQ(replaced(place, "[]"),
            "nodes[2].backward.returns[0]: expected an expression (null, a number or an object), "
            "found a list");
  EXPECT_EQ(
      replaced(place, "{}"),
      "nodes[2].backward.returns[0]: expected exactly one of 'terms', 'pass', 'tensor', 'pool'");
  EXPECT_EQ(
      replaced(place, R"({"pass": 0, "tensor": 1})"),
      "nodes[2].backward.returns[0]: expected exactly one of 'terms', 'pass', 'tensor', 'pool'");
  EXPECT_EQ(replaced(place, R"({"terms": [{"factor": 2}]})"),
            "nodes[2].backward.returns[0].terms[0]: field 'slot' is missing");
  EXPECT_EQ(replaced(place, R"({"pass": -1})"),
            "nodes[2].backward.returns[0].pass: expected at least 0, found the number -1");
  EXPECT_EQ(replaced(place, R"({"pass": 0, "cast": "float"})").substr(0, 59),
            "nodes[2].backward.returns[0].cast: unknown word 'float'; ex");
}

TEST(ReadScenario, Hooks) {
  EXPECT_EQ(replaced("/hooks/0/kind", "\"tensors\"").substr(0, 52),
            "hooks[0].kind: unknown word 'tensors'; expected one ");
  EXPECT_EQ(without("/hooks/0/on"), "hooks[0]: field 'on' is missing");
  EXPECT_EQ(replaced("/hooks/0/on", "\"w\""), "hooks[0].on: there is no value 'w'");
  EXPECT_EQ(replaced("/hooks/1/on", "\"accumulate:w\""),
            "hooks[1].on: there is no node 'accumulate:w'; did you mean 'accumulate:x'?");
  EXPECT_EQ(replaced("/hooks/3/on", "\"x\""),
            "hooks[3].on: a hook of kind capture is on nothing: a step names it");
  EXPECT_EQ(replaced("/hooks/0/pack", "{}"), "hooks[0]: only a saved hook has 'pack'");
  EXPECT_EQ(replaced("/hooks/2/returns", "[]"),
            "hooks[2]: a saved hook has 'pack' and 'unpack', not 'returns'");
  EXPECT_EQ(replaced("/hooks/0/added", "\"later\""),
            "hooks[0].added: unknown word 'later'; expected one of: at_creation, by_step");
}

TEST(ReadScenario, Steps) {
  EXPECT_EQ(replaced("/program/0", "\"forward\""),
            "program[0]: expected a step (an object), found the string \"forward\"");
  EXPECT_EQ(without("/program/0/do"), "program[0]: field 'do' is missing");
  EXPECT_EQ(replaced("/program/0/do", "\"foward\""),
            "program[0].do: there is no step 'foward'; did you mean 'forward'?");
  EXPECT_EQ(replaced("/program/0/nodes", "[]"),
            "program[0].nodes: expected at least one node; leave 'nodes' out to run all");
  EXPECT_EQ(replaced("/program/0/nodes", "[\"x\"]"), "program[0].nodes[0]: there is no node 'x'");
  EXPECT_EQ(replaced("/program/1/results", "[]"), "program[1]: unknown field 'results'");
  EXPECT_EQ(without("/program/1/roots"), "program[1]: field 'roots' is missing");
  EXPECT_EQ(without("/program/1/roots/0/seed"), "program[1].roots[0]: field 'seed' is missing");
  EXPECT_EQ(replaced("/program/1/roots/0/seed", R"({"from": "w"})"),
            "program[1].roots[0].seed.from: there is no value 'w'");
  EXPECT_EQ(without("/program/2/inputs"), "program[2]: field 'inputs' is missing");
  EXPECT_EQ(replaced("/program/2/capture_hooks/0/hook", "\"w\""),
            "program[2].capture_hooks[0].hook: there is no hook 'w'");
  EXPECT_EQ(replaced("/program/3/fill", "2"),
            "program[3]: expected exactly one of 'add', 'multiply', 'fill'");
  EXPECT_EQ(
      replaced("/program/3/through", "\"alias\""),
      "program[3].through: unknown word 'alias'; expected one of: handle, view, detached, data");
  EXPECT_EQ(replaced("/program/4/expect/error", "\"shape\"").substr(0, 46),
            "program[4].expect.error: unknown word 'shape';");
}

// The step replaced by one of another kind.
std::string step(std::string_view text) {
  return replaced("/program/3", text);
}

TEST(ReadScenario, FieldsOfEachStep) {
  EXPECT_EQ(step(R"({"do": "set_grad", "leaf": "x"})"), "program[3]: field 'grad' is missing");
  EXPECT_EQ(step(R"({"do": "requires_grad", "value": "x"})"), "program[3]: field 'on' is missing");
  EXPECT_EQ(step(R"({"do": "with", "anomaly": "on", "steps": []})"),
            "program[3].anomaly: expected true or false, found the string \"on\"");
  EXPECT_EQ(step(R"({"do": "with", "user_state": 1.5, "steps": []})"),
            "program[3].user_state: expected an integer, found the number 1.5");
  EXPECT_EQ(step(R"({"do": "parallel", "threads": [{"steps": []}]})"),
            "program[3].threads[0]: field 'name' is missing");
  EXPECT_EQ(step(R"({"do": "repeat", "steps": []})"), "program[3]: field 'times' is missing");
  EXPECT_EQ(step(R"({"do": "repeat", "times": 0, "steps": []})"),
            "program[3].times: expected at least 1, found the number 0");
  EXPECT_EQ(step(R"({"do": "barrier", "barrier": "q"})"),
            "program[3].barrier: there is no barrier 'q'");
  EXPECT_EQ(step(R"({"do": "lock", "lock": "q"})"), "program[3].lock: there is no lock 'q'");
  EXPECT_EQ(step(R"({"do": "unlock"})"), "program[3]: field 'lock' is missing");
  EXPECT_EQ(step(R"({"do": "throw"})"), "program[3]: field 'token' is missing");
  EXPECT_EQ(step(R"({"do": "queue_callback", "callback": "doen"})"),
            "program[3].callback: there is no callback 'doen'; did you mean 'done'?");
  EXPECT_EQ(step(R"({"do": "add_hook", "hook": "q"})"), "program[3].hook: there is no hook 'q'");
  EXPECT_EQ(step(R"({"do": "observe", "what": "weather"})").substr(0, 40),
            "program[3].what: unknown word 'weather';");
  EXPECT_EQ(step(R"({"do": "stop", "now": true})"), "program[3]: unknown field 'now'");
  EXPECT_EQ(step(R"({"do": "wait_stream", "stream": "s"})"), "program[3]: field 'for' is missing");
  EXPECT_EQ(step(R"({"do": "synchronise", "stream": "q"})"),
            "program[3].stream: there is no stream 'q'");
  EXPECT_EQ(step(R"({"do": "try", "steps": [{"do": "drop", "values": ["q"]}]})"),
            "program[3].steps[0].values[0]: there is no value 'q'");
}

TEST(ReadScenario, NamesThatStandTwice) {
  EXPECT_EQ(replaced("/program/2/results/0", "\"k\""),
            "program[2].results[0]: the name 'k' is taken by another value: "
            "nodes[2].backward.steps[0].as");
  EXPECT_EQ(replaced("/nodes/2/outputs", "[\"f\", \"f\"]"),
            "nodes[2].outputs[1]: the name 'f' is taken by another value: nodes[2].outputs[0]");
  EXPECT_EQ(replaced("/hooks/2/name", "\"h\""),
            "hooks[2].name: the name 'h' is taken by another hook: hooks[0].name");
}

TEST(ReadScenario, WhatComesFromOutside) {
  EXPECT_EQ(replaced("/announcements/0/to", "\"yy\""),
            "announcements[0].to: there is no value 'yy'; did you mean 'y'?");
  EXPECT_EQ(without("/futures"), "program[5].future: there is no future 'later'");
  EXPECT_EQ(replaced("/futures/1", R"({"name": "never"})"),
            "futures[1]: expected exactly one pass with this future");
  EXPECT_EQ(replaced("/announcements/1", R"({"name": "b", "to": "y"})"),
            "announcements[1]: expected exactly one pass that is told of it");
  EXPECT_EQ(replaced("/program/5/results", R"(["r"])"),
            "program[5].results: the gradients of an asynchronous pass come by its future; a wait "
            "step reports them");
  EXPECT_EQ(replaced("/program/6/error", "\"lost\""),
            "program[6]: expected one of 'gradient' and 'error'");
  EXPECT_EQ(without("/program/6/gradient"), "program[6]: expected one of 'gradient' and 'error'");
  EXPECT_EQ(replaced("/program/7", R"({"do": "read", "values": ["x"]})"),
            "futures[0]: no step waits for this future");
  EXPECT_EQ(replaced("/program/7/expect", R"({"values": [1, 2]})"),
            "program[7].expect.values: the step gives 1 value, found 2");
}

TEST(ReadScenario, WhatTheAuthorStates) {
  EXPECT_EQ(replaced("/program/8/slot", "0"),
            "program[8].slot: expected one of 'slot' and 'grad_of'");
  EXPECT_EQ(replaced("/program/9/expect/number", R"({"least": 2, "most": 1})"),
            "program[9].expect.number: no number is at least 'least' and at most 'most'");
  EXPECT_EQ(replaced("/program/7/expect", R"({"number": 1})"),
            "program[7].expect.number: a wait step observes no number");
  EXPECT_EQ(replaced("/program/10/edge", "1"), "program[10].edge: there is no edge 1");
  EXPECT_EQ(without("/program/11/user_state"),
            "program[11].user_state_destroyed: expected 'user_state' beside it");
  EXPECT_EQ(replaced("/program/12/limit", "-1"), "program[12].limit: expected a number of seconds");
  EXPECT_EQ(
      replaced("/program/13/expect/or_error", "\"stopped\""),
      "program[13].expect.or_error: expected beside 'values', or alone: the error or no error");
  EXPECT_EQ(replaced("/program/4/expect/names", "[0]"),
            "program[4].expect.names: only an error names something; expected 'error' beside it");
  EXPECT_EQ(replaced("/program/13/expect/names/0", "\"\""),
            "program[13].expect.names[0]: expected a word");
  EXPECT_EQ(replaced("/nodes/2/saves/0", "\"y\""),
            "nodes[2].saves[0]: a node saves its own inputs or outputs, or a leaf; 'y' is none of "
            "these");
}

}  // namespace
}  // namespace gradcts
