// Each judge: an outcome that is right passes, and one that differs in a single thing fails by the
// right clause.
#include "conformance/checker/checker.h"

#include <gmock/gmock.h>

#include <functional>

#include "conformance/checker/compare.h"
#include "conformance/checker/perfect_outcome.h"
#include "conformance/oracle/oracle_test_support.h"

namespace gradcts {
namespace {

// A scenario with something of everything, and the outcome of an engine that does it right.
class Checker : public testing::Test {
 protected:
  void use(const std::string& body, const std::string& clauses) {
    scenario_ = scenario_of(body, clauses);
    expectation_ = expect(scenario_, make_dialect("reference"));
    ASSERT_EQ(expectation_.cannot_tell, "");
    outcome_ = perfect_outcome(scenario_, expectation_);
    ASSERT_EQ(verdict().kind, VerdictKind::pass) << first_line();
  }

  Verdict verdict() const { return check({scenario_, expectation_, outcome_}); }
  std::string first_line() const {
    const Verdict v = verdict();
    if (v.findings.empty()) return std::string(to_text(v.kind));
    const Finding& f = v.findings[0];
    return f.clause + " | " + f.where + " | " + f.expected + " | " + f.observed;
  }
  std::vector<std::string> clauses() const {
    std::vector<std::string> all;
    for (const Finding& finding : verdict().findings) all.push_back(finding.clause);
    return all;
  }
  // What is found when the outcome is changed like this; the outcome is put back after.
  std::string found(const std::function<void()>& change) {
    const Outcome right = outcome_;
    change();
    const std::string line = first_line();
    outcome_ = right;
    return line;
  }

  StepResult& step(std::string_view verb, int n = 0) {
    for (StepResult& result : outcome_.steps) {
      const Step* step = nullptr;
      for_each_step(scenario_, [&](const Step& s) { step = s.id == result.step ? &s : step; });
      if (verb_of(*step) == verb && n-- == 0) return result;
    }
    throw std::out_of_range("no such step");
  }
  Event& event(EventKind kind, std::int32_t subject) {
    for (Event& event : outcome_.events) {
      if (event.kind == kind && event.subject == subject) return event;
    }
    throw std::out_of_range("no such event");
  }
  void remove(EventKind kind, std::int32_t subject) {
    std::erase_if(outcome_.events,
                  [&](const Event& e) { return e.kind == kind && e.subject == subject; });
  }
  void swap(Event& a, Event& b) { std::swap(a, b); }

  Scenario scenario_;
  Expectation expectation_;
  Outcome outcome_;
};

const std::string everything =
    "'leaves': [{'name': 'x', 'value': [1, 2]}, {'name': 'w', 'value': [3, 4]}],"
    "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': ["
    "            {'do': 'queue_callback', 'callback': 'c'}, {'do': 'observe', 'what': 'depth'}]}},"
    "          {'name': 'g', 'op': 'mul', 'inputs': ['f', 'w']}],"
    "'hooks': [{'name': 'h1', 'kind': 'tensor', 'on': 'f'}, {'name': 'h2', 'kind': 'tensor', 'on': "
    "'f'}],"
    "'callbacks': [{'name': 'c'}],"
    "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'g', 'seed': [5, 6]}]},"
    "            {'do': 'read', 'grads': ['x', 'w']},"
    "            {'do': 'try', 'steps': [{'do': 'throw', 'token': 'boom'}]}]";

class CheckerOfEverything : public Checker {
 protected:
  void SetUp() override { use(everything, "'LIFE-1'"); }
};

TEST_F(CheckerOfEverything, AnythingRan) {
  EXPECT_EQ(found([&] { outcome_ = Outcome(); }),
            "TOPO-1 | the whole scenario | something runs | no step and no event");
  EXPECT_EQ(found([&] { outcome_.steps.clear(); }),
            "ERR-7 | program[0] (forward) | the step ends with a result | no result");
}

TEST_F(CheckerOfEverything, Steps) {
  EXPECT_EQ(found([&] { outcome_.steps.erase(outcome_.steps.begin()); }),
            "ERR-7 | program[0] (forward) | the step ends with a result | no result");
  EXPECT_EQ(found([&] {
              outcome_.steps.push_back(outcome_.steps[0]);
              outcome_.steps.back().occurrence = 1;
            }),
            "TOPO-1 | program[0] (forward), 2nd time | the step does not run | a result");
  expectation_.steps[0].required = false;
  EXPECT_EQ(found([&] { outcome_.steps.erase(outcome_.steps.begin()); }), "pass");
}

TEST_F(CheckerOfEverything, Errors) {
  EXPECT_EQ(found([&] {
              step("backward").error = ErrorReport{ErrorCategory::gradient_shape, "", false, "odd"};
            }),
            "VAL-2 | program[1] (backward) | no error | error gradient_shape: odd");
  EXPECT_EQ(found([&] { step("try").error = std::nullopt; }),
            "ERR-1 | program[3] (try) | error user 'boom' | no error");
  EXPECT_EQ(found([&] { step("try").error->category = ErrorCategory::other; }),
            "ERR-1 | program[3] (try) | error user 'boom' | error other 'boom'");
  EXPECT_EQ(found([&] { step("try").error->token = "crash"; }),
            "ERR-1 | program[3] (try) | error user 'boom' | error user 'crash'");
  EXPECT_EQ(found([&] { step("try").error->foreign = true; }),
            "ERR-1 | program[3] (try) | error user 'boom' | error user 'boom' of a foreign type");
  EXPECT_EQ(found([&] { step("try").error->text = "any words"; }), "pass");
}

TEST_F(CheckerOfEverything, Values) {
  EXPECT_EQ(found([&] { step("read").values[1]->values[0] = 7; }),
            "ACC-1 | program[2] (read), value 1 | float64 (2) [5 12] | float64 (2) [7 12] (7 "
            "instead of 5)");
  EXPECT_EQ(found([&] { step("read").values[0] = std::nullopt; }),
            "ACC-1 | program[2] (read), value 0 | float64 (2) [15 24] | undefined (undefined "
            "instead of a tensor)");
  EXPECT_EQ(found([&] { step("read").values.pop_back(); }),
            "ACC-1 | program[2] (read) | 2 values | 1 values");
  for (ExpectedStep& expected : expectation_.steps) expected.value_known = std::vector<bool>();
  EXPECT_EQ(found([&] { step("read").values[1]->values[0] = 7; }).substr(0, 5), "ACC-1")
      << "without a list all are known";
}

TEST_F(CheckerOfEverything, LeafGradients) {
  EXPECT_EQ(
      found([&] { outcome_.leaf_grads[1]->values[1] = 0; }),
      "LEAF-2 | gradient of leaf w | float64 (2) [5 12] | float64 (2) [5 0] (0 instead of 12)");
  EXPECT_EQ(found([&] { outcome_.leaf_grads.pop_back(); }),
            "LEAF-2 | the gradients of the leaves | 2 | 1");
  EXPECT_EQ(found([&] { outcome_.leaf_grads.emplace_back(); }),
            "LEAF-2 | the gradients of the leaves | 2 | 3");
}

TEST_F(CheckerOfEverything, Runs) {
  EXPECT_EQ(found([&] { remove(EventKind::node_enter, 1); }), "TOPO-1 | node g | 1 run | 0 runs");
  EXPECT_EQ(found([&] { outcome_.events.push_back(event(EventKind::node_enter, 3)); }),
            "TOPO-1 | node accumulate:w | 1 run | 2 runs");
  EXPECT_EQ(found([&] { remove(EventKind::node_exit, 0); }), "TOPO-1 | node f | 1 end | 0 ends");
  EXPECT_EQ(found([&] { event(EventKind::node_enter, 0).instance = 1; }),
            "TOPO-1 | node f | 1 run | 0 runs");
}

TEST_F(CheckerOfEverything, Calls) {
  EXPECT_EQ(found([&] { remove(EventKind::tensor_hook, 1); }),
            "HOOK-2 | hook h2 | 1 call | 0 calls");
  EXPECT_EQ(found([&] {
              outcome_.events.push_back(event(EventKind::callback, 0));
              outcome_.events.back().instance = 1;
            }),
            "CB-1 | callback c | 1 call | 2 calls");
  EXPECT_EQ(found([&] { remove(EventKind::pass_end, 1); }),
            "REENT-1 | program[1] (backward) | 1 pass | 0 passes");
}

TEST_F(CheckerOfEverything, WhatNobodyExpectedIsFoundWhereverItIsSorted) {
  for (const EventKind kind : {EventKind::node_enter, EventKind::destroyed}) {
    EXPECT_NE(found([&] {
                Event& more = outcome_.events.emplace_back();
                more.kind = kind;
                more.subject = kind == EventKind::destroyed ? 1 : -1;
              }),
              "pass");
  }
}

TEST_F(CheckerOfEverything, NodeGradients) {
  EXPECT_EQ(found([&] { event(EventKind::node_enter, 0).values[0]->values[0] = 1; }),
            "ACC-1 | enter of node f, gradient 0 | float64 (2) [15 24] | float64 (2) [1 24] (1 "
            "instead of 15)");
  EXPECT_EQ(found([&] { event(EventKind::node_exit, 0).values.clear(); }),
            "ACC-1 | exit of node f | 1 gradients | 0 gradients");
}

TEST_F(CheckerOfEverything, HookGradients) {
  EXPECT_EQ(found([&] { event(EventKind::tensor_hook, 0).values[0]->values[1] = 1; }),
            "HOOK-4 | call of hook h1, gradient 0 | float64 (2) [15 24] | float64 (2) [15 1] (1 "
            "instead of 24)");
}

TEST_F(CheckerOfEverything, Observations) {
  EXPECT_EQ(found([&] {
              for (Event& e : outcome_.events) e.number += e.kind == EventKind::observe ? 1 : 0;
            }),
            "REENT-1 | nodes[0].backward.steps[1] (observe) | 0 | 1");
}

TEST_F(CheckerOfEverything, Order) {
  EXPECT_EQ(
      found([&] { swap(event(EventKind::tensor_hook, 0), event(EventKind::tensor_hook, 1)); }),
      "HOOK-1 | call of hook h2 | after call of hook h1 | before call of hook h1");
  EXPECT_EQ(found([&] {
              swap(event(EventKind::node_exit, 1), event(EventKind::node_enter, 0));
            }).substr(0, 7),
            "TOPO-1 ");
  EXPECT_EQ(
      found([&] { swap(event(EventKind::callback, 0), event(EventKind::pass_end, 1)); }),
      "CB-1 | end of program[1] (backward) | after call of callback c | before call of callback c");
}

TEST_F(CheckerOfEverything, State) {
  EXPECT_EQ(found([&] { outcome_.state.live_objects = 2; }),
            "LIFE-1 | after the scenario | no node, hook or callback is alive | 2 alive");
  EXPECT_EQ(found([&] { outcome_.state.state_changes = {"depth 1 instead of 0"}; }),
            "ERR-4 | the caller's thread-local state | the same after a pass as before it | depth "
            "1 instead of 0");
}

TEST_F(CheckerOfEverything, UnorderedAccessesAreNamedWithTheWaitThatIsMissing) {
  use("'leaves': [{'name': 'x', 'value': 1}],"
      "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}],"
      "'program': [{'do': 'forward'}]",
      "'LIFE-1'");
  using Kind = DeviceAccess::Kind;
  auto& unordered = outcome_.state.unordered_accesses;
  EXPECT_EQ(
      found([&] {
        unordered = {{{Kind::read, "sim:0", "scale", "node b"}, {Kind::write, "s1", "mul", ""}}};
      }),
      "STREAM-2 | memory of a device | the default stream of sim:0 waits for an event recorded "
      "on stream s1 after 'mul' | nothing orders the read by 'scale' (node b) on the default "
      "stream of sim:0 after the write by 'mul' on stream s1");
  EXPECT_EQ(
      found([&] {
        unordered = {{{Kind::free, "s1", "", "step 3"}, {Kind::read, "s2", "mul", "node a"}}};
      }),
      "STREAM-3 | memory of a device | the use of the memory by stream s2 is registered, or "
      "stream s1 waits for an event recorded on stream s2 after 'mul' (node a) | memory of "
      "stream s1 is freed (step 3), and nothing says that the read by 'mul' (node a) on stream "
      "s2 is over");
}

TEST_F(CheckerOfEverything, WhatAFailedStepLeftUnorderedIsFree) {
  use("'leaves': [{'name': 'x', 'value': 1}],"
      "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}],"
      "'program': [{'do': 'forward'}]",
      "'LIFE-1'");
  outcome_.state.unordered_accesses.push_back({});
  EXPECT_EQ(verdict().findings.size(), 1u);
  outcome_.steps[0].error = ErrorReport{};
  for (const Finding& finding : verdict().findings) EXPECT_NE(finding.where, "memory of a device");
}

TEST_F(CheckerOfEverything, AWrongValueIsBlamedOnTheCitedClause) {
  use(everything, "'LIFE-1', 'ROOT-2', 'TOPO-2'");
  EXPECT_EQ(found([&] { step("read").values[0]->values[0] = 7; }).substr(0, 7), "ROOT-2 ");
  EXPECT_EQ(found([&] { remove(EventKind::node_enter, 1); }).substr(0, 7), "ROOT-2 ");
}

TEST_F(CheckerOfEverything, AtMostTwentyFindingsAreKept) {
  for (int i = 0; i < 30; ++i) outcome_.state.state_changes.push_back("changed");
  EXPECT_EQ(verdict().kind, VerdictKind::fail);
  EXPECT_EQ(verdict().findings.size(), 20u);
}

TEST_F(CheckerOfEverything, WhatIsExpectedNamesItsOwnClause) {
  for (ExpectedEvent& expected : expectation_.events) expected.clause = "PRUNE-2";
  EXPECT_EQ(found([&] { remove(EventKind::tensor_hook, 1); }),
            "PRUNE-2 | hook h2 | 1 call | 0 calls");
}

TEST_F(CheckerOfEverything, ValuesThatAreNotComparedMayBeAny) {
  for (ExpectedEvent& expected : expectation_.events) expected.compare_values = false;
  EXPECT_EQ(found([&] { event(EventKind::tensor_hook, 0).values.clear(); }), "pass");
}

TEST_F(CheckerOfEverything, ARangeOfOneNumberIsThatNumber) {
  for (ExpectedEvent& expected : expectation_.events) {
    if (expected.event.kind == EventKind::observe) expected.stated = NumberRange{0, 0};
  }
  EXPECT_EQ(found([&] {
              for (Event& e : outcome_.events) e.number += e.kind == EventKind::observe ? 1 : 0;
            }),
            "LIFE-1 | nodes[0].backward.steps[1] (observe) | 0 | 1");
}

// What the author states of an observation is about what the scenario cites; a destructor's thread
// has a clause of its own.
TEST_F(CheckerOfEverything, ANumberThatTheKindOfEventStatesKeepsItsClause) {
  Event& destroyed = outcome_.events.emplace_back();
  destroyed.kind = EventKind::destroyed;
  destroyed.subject = 0;
  ExpectedEvent& expected = expectation_.events.emplace_back();
  expected.event = destroyed;
  expected.stated = NumberRange{0, 0};
  expected.clause = "LIFE-2";
  EXPECT_EQ(found([&] { outcome_.events.back().number = 1; }),
            "LIFE-2 | destruction that calls callback c | 0 | 1");
}

TEST_F(CheckerOfEverything, UnsupportedAndCannotTellAreNoPass) {
  outcome_.unsupported = "hook.tensor";
  EXPECT_EQ(verdict().kind, VerdictKind::unsupported);
  EXPECT_EQ(verdict().detail, "hook.tensor");
  expectation_.cannot_tell = "a reason";
  EXPECT_EQ(verdict().kind, VerdictKind::error);
  EXPECT_EQ(verdict().detail, "the oracle cannot tell: a reason");
}

TEST_F(Checker, NodesOfOneQueueKeepTheOrderOfTheirNumbers) {
  use("'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}],"
      "'nodes': [{'name': 'old', 'op': 'scale', 'inputs': ['a'], 'factor': 2},"
      "          {'name': 'new', 'op': 'scale', 'inputs': ['b'], 'factor': 2},"
      "          {'name': 'sum', 'op': 'add', 'inputs': ['old', 'new']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]}]",
      "'ORDER-1'");
  std::vector<Event> order;
  for (std::size_t i : {0, 1, 2, 7, 8, 3, 4, 5, 6, 9, 10, 11}) order.push_back(outcome_.events[i]);
  outcome_.events = order;
  EXPECT_EQ(first_line(),
            "ORDER-1 | enter of node old | after exit of node new | before exit of node new");
}

TEST_F(Checker, AccumulatorsThatAreReadyTogetherComeInAnyOrder) {
  use("'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}],"
      "'nodes': [{'name': 'sum', 'op': 'add', 'inputs': ['a', 'b']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]}]",
      "'ORDER-4'");
  swap(event(EventKind::node_enter, 1), event(EventKind::node_enter, 2));
  swap(event(EventKind::node_exit, 1), event(EventKind::node_exit, 2));
  EXPECT_EQ(first_line(), "pass");
}

TEST_F(Checker, LeafLayout) {
  use("'leaves': [{'name': 'x', 'value': {'shape': [2, 3], 'strides': [1, 2], 'values': [1, 2, 3, "
      "4, 5, 6]}}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': "
      "{'shape': [2, 3], 'fill': 2}}]}]",
      "'LEAF-4'");
  EXPECT_EQ(found([&] {
              outcome_.leaf_grads[0]->strides = {3, 1};
            }),
            "LEAF-4 | gradient of leaf x | strides (1,2) | strides (3,1)");
  EXPECT_EQ(found([&] { outcome_.leaf_grads[0]->strides.clear(); }),
            "LEAF-4 | gradient of leaf x | strides (1,2) | strides row-major");
  // Of what is no such gradient at all no strides are asked for.
  const auto other = [&](const std::optional<TensorValue>& gradient) {
    const auto right = std::exchange(outcome_.leaf_grads[0], gradient);
    const std::vector<std::string> named = clauses();
    outcome_.leaf_grads[0] = right;
    return named;
  };
  TensorValue sparse = *outcome_.leaf_grads[0];
  sparse.layout = Layout::sparse;
  sparse.strides.clear();
  sparse.coordinates = SparseCoordinates{1, {0, 1}, true};
  EXPECT_THAT(other(std::nullopt), testing::ElementsAre("LEAF-2"));
  EXPECT_THAT(other(sparse), testing::ElementsAre("LEAF-2"));
  EXPECT_THAT(other(TensorValue::scalar(2)), testing::ElementsAre("LEAF-2"));
  TensorValue deeper = *outcome_.leaf_grads[0];
  deeper.shape = {2, 3, 1};
  deeper.strides = {1, 2, 1};
  EXPECT_THAT(other(deeper), testing::ElementsAre("LEAF-2"));
  TensorValue flat = *outcome_.leaf_grads[0];
  flat.shape = {6};
  flat.strides = {2};
  EXPECT_THAT(other(flat), testing::ElementsAre("LEAF-2"));
  expectation_.leaf_grad_known[0] = false;
  EXPECT_EQ(found([&] { outcome_.leaf_grads[0]->strides = {3, 1}; }), "pass");
  expectation_.leaf_grad_known[0] = true;
  expectation_.leaf_grad_strides[0] = std::nullopt;
  EXPECT_EQ(found([&] { outcome_.leaf_grads[0]->strides = {3, 1}; }), "pass");
}

TEST_F(Checker, WhatAnErrorLeavesOpenIsNotJudged) {
  use("'leaves': [{'name': 'x', 'value': 1}, {'name': 'w', 'value': {'device': 'sim:0', 'shape': "
      "[], 'values': [1]}}],"
      "'nodes': [{'name': 'bad', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': [{'do': "
      "'throw', 'token': 'boom'}]}},"
      "          {'name': 'far', 'op': 'scale', 'inputs': ['w'], 'factor': 2},"
      "          {'name': 'near', 'op': 'to_device', 'inputs': ['far'], 'device': 'cpu'},"
      "          {'name': 'sum', 'op': 'add', 'inputs': ['bad', 'near']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]}, "
      "{'do': 'read', 'grads': ['w']}]",
      "'ERR-2'");
  remove(EventKind::node_enter, 1);
  remove(EventKind::node_exit, 1);
  outcome_.leaf_grads[1] = std::nullopt;
  step("read").values[0] = std::nullopt;
  EXPECT_EQ(first_line(), "pass");
  EXPECT_EQ(found([&] { remove(EventKind::node_enter, 3); }), "ERR-2 | node sum | 1 run | 0 runs");
  Event far;
  far.kind = EventKind::node_enter;
  far.subject = 1;
  outcome_.events.insert(outcome_.events.end(), {far, far});
  EXPECT_EQ(first_line(), "ERR-2 | node far | 0 to 1 run | 2 runs");
}

// Of two nodes that fail on two queues either may be first, and each error has its own type.
TEST_F(Checker, EachOfTwoUnorderedErrorsKeepsItsType) {
  use("'leaves': [{'name': 'x', 'value': 1}, {'name': 'w', 'value': {'device': 'sim:0', 'shape': "
      "[], 'values': [1]}}],"
      "'nodes': [{'name': 'here', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': [{'do': "
      "'throw', 'token': 'plain'}]}},"
      "          {'name': 'there', 'op': 'custom', 'inputs': ['w'], 'backward': {'steps': [{'do': "
      "'throw', 'token': 'strange', 'foreign': true}]}},"
      "          {'name': 'near', 'op': 'to_device', 'inputs': ['there'], 'device': 'cpu'},"
      "          {'name': 'sum', 'op': 'add', 'inputs': ['here', 'near']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]}]",
      "'ERR-1'");
  ErrorReport& error = *step("backward").error;
  for (const auto& [token, foreign] : {std::pair("plain", false), std::pair("strange", true)}) {
    error.token = token;
    error.foreign = foreign;
    EXPECT_EQ(first_line(), "pass") << token;
  }
  error.token = "another";
  EXPECT_EQ(first_line(),
            "ERR-1 | program[1] (backward) | error user 'strange' of a foreign type or "
            "'plain' | error user 'another' of a foreign type");
}

TEST_F(CheckerOfEverything, AnErrorOfTheEngineMayTakeThePlaceOfTheScenariosOwn) {
  for (ExpectedStep& expected : expectation_.steps) {
    if (!expected.result.error) continue;
    expected.allowed_errors.push_back(ErrorCategory::unused_input);
    expected.clause = "PRUNE-4";
  }
  EXPECT_EQ(found([&] {
              step("try").error = {ErrorCategory::unused_input, "", false, ""};
            }),
            "pass");
  EXPECT_EQ(found([&] {
              step("try").error = {ErrorCategory::hook_result, "", false, ""};
            }),
            "PRUNE-4 | program[3] (try) | error user 'boom' or unused_input | error hook_result");
}

TEST_F(Checker, WithABoundOnlyTheStatedValuesAreJudgedAndWithinIt) {
  use("'leaves': [{'name': 'x', 'value': 1}],"
      "'nodes': [{'name': 'y', 'op': 'exp', 'inputs': ['x']}],"
      "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'x'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]},"
      "            {'do': 'read', 'grads': ['x'], 'expect': {'values': [2.718281828459045], "
      "'bound': 2}}]",
      "'GRAPH2-1'");
  double& value = step("read").values[0]->values[0];
  const double right = value;
  value = std::nextafter(std::nextafter(right, 9), 9);
  outcome_.leaf_grads[0]->values[0] = value;
  EXPECT_EQ(first_line(), "pass");
  value = std::nextafter(value, 9);
  EXPECT_EQ(
      first_line(),
      "GRAPH2-1 | program[2] (read), value 0 | float64 () [2.718281828459045] | float64 () "
      "[2.7182818284590464] (2.7182818284590464 instead of 2.7182818284590451, 3 units in the "
      "last place apart)");
  value = right;
  for (Event& e : outcome_.events) {
    for (auto& gradient : e.values) gradient = TensorValue::scalar(7);
  }
  ASSERT_FALSE(event(EventKind::tensor_hook, 0).values.empty());
  EXPECT_EQ(first_line(), "pass");
}

TEST_F(Checker, ResultsOfSeveralThreadsMatchInAnyOrder) {
  use("'leaves': [{'name': 'x', 'value': 2}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}, {'name': 'z', 'op': "
      "'scale', 'inputs': ['x'], 'factor': 3}],"
      "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'x'}],"
      "'program': [{'do': 'forward'}, {'do': 'parallel', 'threads': ["
      "  {'name': 'a', 'steps': [{'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}]},"
      "  {'name': 'b', 'steps': [{'do': 'backward', 'roots': [{'value': 'z', 'seed': 1}]}]}]}]",
      "'THREAD-1'");
  std::vector<Event*> calls;
  for (Event& e : outcome_.events) {
    if (e.kind == EventKind::tensor_hook) calls.push_back(&e);
  }
  ASSERT_EQ(calls.size(), 2u);
  std::swap(calls[0]->values, calls[1]->values);
  EXPECT_EQ(first_line(), "pass");
  calls[0]->values = calls[1]->values;
  EXPECT_EQ(first_line().substr(0, 7), "HOOK-4 ");
}

// Beside what has no order the rest keeps its own: first by first.
TEST_F(Checker, WhatHasAnOrderKeepsItBesideWhatHasNone) {
  use("'leaves': [{'name': 'x', 'value': 2}, {'name': 'w', 'value': 2}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}, {'name': 'z', 'op': "
      "'scale', 'inputs': ['x'], 'factor': 3}, {'name': 'v', 'op': 'scale', 'inputs': ['w'], "
      "'factor': 3}],"
      "'hooks': [{'name': 'alone', 'kind': 'tensor', 'on': 'w'}, {'name': 'h', 'kind': 'tensor', "
      "'on': 'x'}, {'name': 'i', 'kind': 'tensor', 'on': 'x'}],"
      "'program': [{'do': 'forward'},"
      "  {'do': 'backward', 'roots': [{'value': 'v', 'seed': 1}], 'keep': true},"
      "  {'do': 'backward', 'roots': [{'value': 'v', 'seed': 2}]},"
      "  {'do': 'parallel', 'threads': ["
      "  {'name': 'a', 'steps': [{'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}]},"
      "  {'name': 'b', 'steps': [{'do': 'backward', 'roots': [{'value': 'z', 'seed': 1}]}]}]}]",
      "'THREAD-1'");
  const auto calls_of = [&](std::int32_t hook) {
    std::vector<Event*> calls;
    for (Event& e : outcome_.events) {
      if (e.kind == EventKind::tensor_hook && e.subject == hook) calls.push_back(&e);
    }
    return calls;
  };
  for (const std::int32_t unordered : {1, 2}) {
    const auto calls = calls_of(unordered);
    ASSERT_EQ(calls.size(), 2u);
    std::swap(calls[0]->values, calls[1]->values);
    EXPECT_EQ(first_line(), "pass") << unordered;
  }
  const auto calls = calls_of(0);
  ASSERT_EQ(calls.size(), 2u);
  std::swap(calls[0]->values, calls[1]->values);
  EXPECT_EQ(first_line().substr(0, 7), "HOOK-4 ");
}

TEST_F(Checker, WhatBreaksACaptureIsAWaitTooManyAndAtItsEndOneTooFew) {
  use("'streams': [{'name': 's', 'device': 'sim:0'}],"
      "'leaves': [{'name': 'x', 'value': {'device': 'sim:0', 'shape': [1], 'values': [2]}, "
      "'stream': 's'}],"
      "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}],"
      "'program': [{'do': 'with', 'stream': 's', 'captured': true, 'steps': [{'do': 'forward'},"
      "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': {'device': 'sim:0', 'shape': [1], "
      "'values': [3]}}]}]}]",
      "'STREAM-1'");
  const ErrorReport error{ErrorCategory::stream_capture, "", false, "words"};
  EXPECT_EQ(found([&] { step("backward").error = error; }),
            "STREAM-6 | program[0].steps[1] (backward) | no error | error stream_capture: words");
  EXPECT_EQ(found([&] { step("with").error = error; }),
            "STREAM-5 | program[0] (with) | no error | error stream_capture: words");
}

TEST_F(Checker, OccurrencesOfAStepAreToldApart) {
  use("'leaves': [{'name': 'x', 'value': 2}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'y', 'steps': [{'do': 'read', 'grads': "
      "['x']}]}],"
      "'program': [{'do': 'forward'},"
      "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}], 'keep': true},"
      "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}]",
      "'LIFE-1'");
  const auto first = std::find_if(outcome_.steps.begin(), outcome_.steps.end(),
                                  [&](const StepResult& r) { return &r == &step("read"); });
  ASSERT_EQ(first->occurrence, 0);
  outcome_.steps.erase(first);
  EXPECT_EQ(first_line(),
            "ERR-7 | hooks[0].steps[0] (read) | the step ends with a result | no result");
}

TEST_F(Checker, NodesThatAreMadeAgainAreToldApart) {
  use("'leaves': [{'name': 'x', 'value': 2}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]},"
      "  {'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}]",
      "'LIFE-1'");
  std::erase_if(outcome_.events, [](const Event& e) {
    return e.kind == EventKind::node_enter && e.subject == 0 && e.instance == 1;
  });
  EXPECT_EQ(first_line(), "TOPO-1 | node y (making 2) | 1 run | 0 runs");
}

// Values are asked for where no error took their place.
TEST_F(Checker, AStepThatMustFailHasNoValues) {
  use("'leaves': [{'name': 'x', 'value': 2}, {'name': 'w', 'value': 2}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'program': [{'do': 'forward'},"
      "  {'do': 'grad', 'roots': [{'value': 'y', 'seed': 1}], 'inputs': ['x'], 'keep': true},"
      "  {'do': 'grad', 'roots': [{'value': 'y', 'seed': 1}], 'inputs': ['w'],"
      "   'expect': {'error': 'unused_input', 'names': ['w']}}]",
      "'LIFE-1'");
  StepResult& right = step("grad", 0);
  right.values.clear();
  right.error = {ErrorCategory::other, "", false, "odd"};
  EXPECT_THAT(clauses(), testing::ElementsAre("ERR-1"));
  right.error.reset();
  right.values = {TensorValue::scalar(2)};
  StepResult& failed = step("grad", 1);
  failed.error.reset();
  failed.values = {TensorValue::scalar(2)};
  EXPECT_THAT(clauses(), testing::ElementsAre("PRUNE-4"));
}

TEST_F(Checker, AStepThatMayFailOrNotIsRightBothWays) {
  use("'leaves': [{'name': 'x', 'value': 2}], 'nodes': [{'name': 'y', 'op': 'scale', 'inputs': "
      "['x'], 'factor': 2}],"
      "'program': [{'do': 'forward'}, {'do': 'stop'}, {'do': 'backward', 'roots': [{'value': 'y', "
      "'seed': 1}]}]",
      "'SHUT-4'");
  outcome_.events.clear();
  outcome_.leaf_grads[0] = std::nullopt;
  step("backward").error = ErrorReport{ErrorCategory::stopped, "", false, ""};
  EXPECT_EQ(first_line(), "pass");
  step("backward").error->category = ErrorCategory::other;
  EXPECT_EQ(first_line().substr(0, 7), "SHUT-4 ");
}

// ---- Compare
// ------------------------------------------------------------------------------------------------

TEST(Compare, ExactIsEqualAsNumbers) {
  const TensorValue one = TensorValue::scalar(1);
  EXPECT_EQ(difference(one, one, 0), std::nullopt);
  EXPECT_NE(difference(one, TensorValue::scalar(std::nextafter(1.0, 2)), 0), std::nullopt);
  EXPECT_EQ(difference(TensorValue::scalar(NAN), TensorValue::scalar(-NAN), 0), std::nullopt);
  EXPECT_NE(difference(TensorValue::scalar(NAN), one, 0), std::nullopt);
  EXPECT_NE(difference(one, TensorValue::scalar(NAN), 0), std::nullopt);
  EXPECT_EQ(difference(TensorValue::scalar(0), TensorValue::scalar(-0.0), 0), std::nullopt);
  EXPECT_NE(difference(TensorValue::scalar(INFINITY), TensorValue::scalar(-INFINITY), 0),
            std::nullopt);
}

TEST(Compare, EveryPropertyCounts) {
  const TensorValue base = TensorValue::vector({1, 2});
  EXPECT_EQ(difference(base, TensorValue::vector({1, 2}, ScalarType::float32), 0),
            "type float32 instead of float64");
  EXPECT_EQ(difference(base, TensorValue::scalar(1), 0), "shape () instead of (2)");
  TensorValue moved = base;
  moved.device = {DeviceType::sim, 1};
  EXPECT_EQ(difference(base, moved, 0), "on sim:1 instead of cpu");
  TensorValue shorter = base;
  shorter.values.pop_back();
  EXPECT_EQ(difference(base, shorter, 0), "1 numbers instead of 2");
  EXPECT_EQ(difference(std::nullopt, std::optional(base), 0), "a tensor instead of undefined");
}

TEST(Compare, SparseTensorsAreComparedByWhatTheyAddUpTo) {
  TensorValue merged = TensorValue::vector({5});
  merged.shape = {3};
  merged.layout = Layout::sparse;
  merged.coordinates = SparseCoordinates{1, {2}, true};
  TensorValue split = merged;
  split.values = {2, 3};
  split.coordinates = SparseCoordinates{1, {2, 2}, false};
  EXPECT_EQ(difference(split, merged, 0), std::nullopt);
  EXPECT_EQ(difference(merged, split, 0), "no longer marked coalesced");
  split.values = {2, 4};
  EXPECT_EQ(difference(split, merged, 0), "5 instead of 6");
  TensorValue dense = TensorValue::vector({0, 0, 5});
  EXPECT_EQ(difference(merged, dense, 0), "dense instead of sparse");
  // What is left to add up has the value of the sum in its type.
  split.type = merged.type = ScalarType::float32;
  split.values = {16777216, 1};
  merged.values = {16777216};
  merged.coordinates->coalesced = false;
  EXPECT_EQ(difference(merged, split, 0), std::nullopt);
}

TEST(Compare, BlocksOfSparseTensorsStandAtTheirCoordinates) {
  TensorValue sparse = TensorValue::vector({1, 2, 3, 4}, ScalarType::float32);
  sparse.shape = {3, 2, 2};
  sparse.layout = Layout::sparse;
  sparse.coordinates = SparseCoordinates{2, {2, 0, 0, 1}, false};  // at (2, 0) and (0, 1)
  TensorValue turned = sparse;
  turned.values = {3, 4, 1, 2};
  turned.coordinates = SparseCoordinates{2, {0, 2, 1, 0}, true};
  EXPECT_EQ(difference(turned, turned, 0), std::nullopt);
  EXPECT_EQ(difference(sparse, turned, 0), std::nullopt);
  turned.coordinates = SparseCoordinates{2, {0, 2, 0, 1}, false};
  EXPECT_EQ(difference(sparse, turned, 0), "3 instead of 0");
  TensorValue empty = sparse;
  empty.values.clear();
  empty.coordinates = SparseCoordinates{2, {}, false};
  EXPECT_EQ(difference(sparse, empty, 0), "0 instead of 3");
}

TEST(Compare, NumbersOfSparseComplexTensorsAreOfTwoParts) {
  TensorValue sparse = TensorValue::vector({1, 2});
  sparse.type = ScalarType::complex128;
  sparse.shape = {2};
  sparse.layout = Layout::sparse;
  sparse.coordinates = SparseCoordinates{1, {1}, false};
  TensorValue other = sparse;
  other.values = {1, 3};
  EXPECT_EQ(difference(sparse, sparse, 0), std::nullopt);
  EXPECT_EQ(difference(sparse, other, 0), "3 instead of 2");
}

TEST(Compare, PartsOfAComplexNumberShareTheUnitOfTheLargerOne) {
  const auto number = [](double real, double imaginary) {
    TensorValue value = TensorValue::vector({8, 8, real, imaginary});
    value.type = ScalarType::complex128;
    value.shape = {2};
    return value;
  };
  const double unit = std::ldexp(1, -52);
  EXPECT_EQ(difference(number(1, 0), number(1, unit), 1), std::nullopt);
  EXPECT_EQ(difference(number(0, 1), number(unit, 1), 1), std::nullopt);
  EXPECT_NE(difference(number(1, 0), number(1, 2 * unit), 1), std::nullopt);
  EXPECT_NE(difference(number(0, 1), number(2 * unit, 1), 1), std::nullopt);
}

TEST(Compare, ABoundIsMeasuredInUnitsOfTheType) {
  EXPECT_EQ(unit_in_last_place(1, ScalarType::float64), std::ldexp(1, -52));
  EXPECT_EQ(unit_in_last_place(1, ScalarType::float32), std::ldexp(1, -23));
  EXPECT_EQ(unit_in_last_place(1, ScalarType::float16), std::ldexp(1, -10));
  EXPECT_EQ(unit_in_last_place(3, ScalarType::bfloat16), std::ldexp(1, -6));
  EXPECT_EQ(unit_in_last_place(0, ScalarType::float64), std::ldexp(1, -1074));
  EXPECT_EQ(unit_in_last_place(INFINITY, ScalarType::float64), 0);
  const TensorValue half = TensorValue::scalar(1, ScalarType::float16);
  const TensorValue next = TensorValue::scalar(1 + std::ldexp(1, -10), ScalarType::float16);
  EXPECT_EQ(difference(half, next, 1), std::nullopt);
  EXPECT_NE(difference(half, next, 0.5), std::nullopt);
}

TEST(Compare, StridesOfDimensionsOfSizeOneDoNotCount) {
  EXPECT_TRUE(same_strides({2, 1}, {1, 9}, {1, 5}));
  EXPECT_FALSE(same_strides({2, 2}, {1, 2}, {2, 1}));
  EXPECT_TRUE(same_strides({2, 2}, {2, 1}, {}));
  EXPECT_TRUE(same_strides({2, 0}, {1, 1}, {3, 1}));
  EXPECT_TRUE(same_strides({0, 2}, {1, 1}, {3, 2}));
}

class CheckerOfThreads : public Checker {
 protected:
  void SetUp() override {
    use("'leaves': [{'name': 'x', 'value': {'device': 'sim:0', 'shape': [], 'values': [1]}},"
        "           {'name': 'y', 'value': {'device': 'sim:1', 'shape': [], 'values': [1]}},"
        "           {'name': 'z', 'value': 1}],"
        "'nodes': [{'name': 'on_0', 'op': 'custom', 'inputs': ['x']},"
        "          {'name': 'on_1', 'op': 'custom', 'inputs': ['y']},"
        "          {'name': 'on_cpu', 'op': 'custom', 'inputs': ['z']}],"
        "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': ["
        "  {'value': 'on_0', 'seed': {'device': 'sim:0', 'shape': [], 'values': [1]}},"
        "  {'value': 'on_1', 'seed': {'device': 'sim:1', 'shape': [], 'values': [1]}},"
        "  {'value': 'on_cpu', 'seed': 1}]}]",
        "'DEV-1'");
  }
};

TEST_F(CheckerOfThreads, DevicesHaveTheirOwn) {
  const std::int16_t of_0 = event(EventKind::node_enter, 0).thread;
  EXPECT_EQ(
      found([&] { event(EventKind::node_enter, 0).thread = 0; }),
      "DEV-1 | enter of node on_0 | on a thread for sim:0 alone | on a thread that the program "
      "was on as well");
  EXPECT_EQ(
      found([&] { event(EventKind::node_enter, 1).thread = of_0; }),
      "DEV-1 | enter of node on_0 | on a thread for sim:0 alone | on a thread that enter of node "
      "on_1, for sim:1, was on as well");
  EXPECT_EQ(found([&] { event(EventKind::node_enter, 0).thread = 77; }), "pass")
      << "an engine that is started anew has other threads";
  EXPECT_EQ(found([&] { event(EventKind::node_enter, 2).thread = of_0; }),
            "DEV-1 | enter of node on_cpu | on the thread that called | on another thread");
  for (ExpectedEvent& expected : expectation_.events) expected.any_order = true;
  EXPECT_EQ(found([&] { event(EventKind::node_enter, 2).thread = 77; }), "pass")
      << "which thread called is not known";
}

// Both scripts of the first pass may fail, or one of them keeps the other from running. So the
// result of the last pass, another error, is one of two or of three.
TEST_F(Checker, ResultsWithoutAnOrderMatchByTheirError) {
  use("'leaves': [{'name': 'x', 'value': {'device': 'sim:0', 'shape': [], 'values': [1]}},"
      "           {'name': 'y', 'value': 1}, {'name': 'z', 'value': 1}],"
      "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': ["
      "            {'do': 'backward', 'roots': [{'value': 'z', 'seed': 1}]}]}},"
      "          {'name': 'g', 'op': 'custom', 'inputs': ['y'], 'backward': {'steps': ["
      "            {'do': 'throw', 'token': 'bad'}]}}],"
      "'hooks': [{'name': 'h', 'kind': 'node_pre', 'on': 'accumulate:z', 'returns': [1, 1]}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'keep': true, 'roots': ["
      "    {'value': 'f', 'seed': {'device': 'sim:0', 'shape': [], 'values': [1]}},"
      "    {'value': 'g', 'seed': 1}]},"
      "  {'do': 'requires_grad', 'value': 'z', 'on': false}, {'do': 'backward', 'roots': ["
      "    {'value': 'f', 'seed': {'device': 'sim:0', 'shape': [], 'values': [1]}}]}]",
      "'ERR-2'");
  const StepId nested = scenario_.nodes[0].custom->backward.steps[0].id;
  EXPECT_EQ(found([&] {
              const auto of_nested = [&](const StepResult& result) {
                return result.step == nested;
              };
              auto& steps = outcome_.steps;
              steps.erase(std::find_if(steps.begin(), steps.end(), of_nested));
              std::find_if(steps.begin(), steps.end(), of_nested)->occurrence = 0;
            }),
            "pass");
}

class CheckerOfStatements : public Checker {
 protected:
  void SetUp() override {
    use("'leaves': [{'name': 'x', 'value': [1, 2, 3]}],"
        "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'], 'backward': {'returns': ["
        "            {'tensor': [7, 7]}]}}],"
        "'program': [{'do': 'forward'},"
        "  {'do': 'observe', 'what': 'live_objects', 'expect': {'number': {'least': 1, 'most': "
        "2}}},"
        "  {'do': 'backward', 'roots': [{'value': 'f', 'seed': [1, 2, 3]}],"
        "   'expect': {'error': 'gradient_shape', 'names': ['f', 0, [2], [3]]}}]",
        "'VAL-2'");
  }
  // What must be named, in place of the above.
  void use_names(std::vector<Mention> names) {
    for (ExpectedStep& expected : expectation_.steps) {
      if (expected.result.error) expected.names = names;
    }
  }
  std::string with_text(std::string text) {
    return found([&] { step("backward").error->text = std::move(text); });
  }
};

TEST_F(CheckerOfStatements, NumbersInARange) {
  const StepId observe = scenario_.program[1].id;
  EXPECT_EQ(found([&] { event(EventKind::observe, observe).number = 2; }), "pass");
  EXPECT_EQ(found([&] { event(EventKind::observe, observe).number = 3; }),
            "VAL-2 | program[1] (observe) | 1 to 2 | 3");
}

TEST_F(CheckerOfStatements, WhatAnErrorNames) {
  EXPECT_EQ(with_text("node f, gradient 0: [2] does not fit [3]"), "pass");
  EXPECT_EQ(with_text("index 0 of f: got (2), expected (3)"), "pass");
  EXPECT_EQ(with_text("node of, gradient 0: [2] does not fit [3]"),
            "VAL-2 | program[2] (backward) | an error that names 'f' | 'node of, gradient 0: [2] "
            "does not fit [3]'");
  EXPECT_EQ(with_text("node f, 10: [2] does not fit [3]"),
            "VAL-2 | program[2] (backward) | an error that names the number 0 | 'node f, 10: [2] "
            "does not fit [3]'");
  EXPECT_EQ(with_text("node f, 0: [22] does not fit [3]"),
            "VAL-2 | program[2] (backward) | an error that names the shape (2) | 'node f, 0: [22] "
            "does not fit [3]'");
  EXPECT_EQ(with_text("0 is where f has [2] for [3]"), "pass");
  EXPECT_EQ(with_text("f: [2] instead of [3], at 0"), "pass");
  EXPECT_EQ(with_text("[2] instead of [3], at 0 of f"), "pass");
  EXPECT_NE(with_text("node f_1, 0: [2] does not fit [3]"), "pass");
  EXPECT_NE(with_text("node my_f, 0: [2] does not fit [3]"), "pass");
}

TEST_F(CheckerOfStatements, WordsWithSignsAtTheirEndsBeginAndEndThere) {
  use_names({".grad", "mul("});
  EXPECT_EQ(with_text("x.grad of mul(2)"), "pass");
  EXPECT_NE(with_text("x.gradient of mul(2)"), "pass");
}

TEST_F(CheckerOfStatements, AShapeWithoutDimensionsIsNamedByEveryText) {
  use_names({Mention(std::in_place_type<Shape>)});
  EXPECT_EQ(with_text("no number"), "pass");
}

// What a wrong error, or none, does not name is not asked for.
TEST_F(CheckerOfStatements, OnlyTheRightErrorNamesSomething) {
  step("backward").error->category = ErrorCategory::other;
  step("backward").error->text = "no name";
  EXPECT_EQ(clauses().size(), 1u);
  step("backward").error.reset();
  EXPECT_EQ(clauses().size(), 1u);
}

TEST_F(CheckerOfStatements, ATextIsBlamedOnTheErrorsClauseWhereNoneIsCited) {
  scenario_.clauses = {"LIFE-1"};
  for (ExpectedStep& expected : expectation_.steps) expected.clause = "HOOK-3";
  EXPECT_EQ(with_text("no name").substr(0, 7), "HOOK-3 ");
  for (ExpectedStep& expected : expectation_.steps) expected.clause = nullptr;
  EXPECT_EQ(with_text("no name").substr(0, 6), "VAL-2 ");
}

}  // namespace
}  // namespace gradcts
