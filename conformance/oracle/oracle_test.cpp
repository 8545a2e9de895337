// The oracle against what the public reports say is right, worked out by hand.
#include "conformance/oracle/oracle.h"

#include <gmock/gmock.h>

#include "conformance/oracle/oracle_test_support.h"

namespace gradcts {
namespace {

using testing::ElementsAre;
using testing::Optional;
using testing::UnorderedElementsAre;
constexpr double undefined = Told::undefined;

TEST(Roots, B026_ARootThatFeedsTheOtherRunsOnceWithTheSum) {
  for (const char* roots : {"[{'value': 'y', 'seed': 1}, {'value': 'z', 'seed': 1}]",
                            "[{'value': 'z', 'seed': 1}, {'value': 'y', 'seed': 1}]"}) {
    const Told told(
        "'leaves': [{'name': 'x', 'value': 2}],"
        "'nodes': [{'name': 'y', 'op': 'mul', 'inputs': ['x', 'x']},"
        "          {'name': 'z', 'op': 'power', 'inputs': ['y'], 'exponent': 3}],"
        "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': " +
        std::string(roots) + "}, {'do': 'read', 'grads': ['x']}]");
    EXPECT_THAT(told.numbers("read"), ElementsAre(196));
    EXPECT_EQ(told.runs("y"), 1);
    EXPECT_EQ(told.runs("accumulate:x"), 1);
  }
}

TEST(Roots, B031_RootsThatFeedEachOther) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}],"
      "'nodes': [{'name': 'c', 'op': 'add', 'inputs': ['a', 'b']},"
      "          {'name': 'd', 'op': 'add', 'inputs': ['c', 'c']},"
      "          {'name': 'e', 'op': 'add', 'inputs': ['d', 'd']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'e', 'seed': 1},"
      "  {'value': 'c', 'seed': 1}, {'value': 'd', 'seed': 1}]}, {'do': 'read', 'grads': ['a']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(7));
}

TEST(Roots, OneSlotSeededTwiceAddsTheSeeds) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 2}], 'nodes': [{'name': 'y', 'op': 'scale', 'inputs': "
      "['x'], 'factor': 3}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 5}, "
      "{'value': 'y', 'seed': 7}]},"
      "            {'do': 'read', 'grads': ['x']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(36));
  EXPECT_EQ(told.runs("y"), 1);
}

TEST(Accumulation, B033_ASecondPassAddsToLeavesOnly) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': 3}],"
      "'nodes': [{'name': 'b', 'op': 'scale', 'inputs': ['a'], 'factor': 2},"
      "          {'name': 'c', 'op': 'mul', 'inputs': ['b', 'b']}],"
      "'program': [{'do': 'forward'},"
      "  {'do': 'backward', 'roots': [{'value': 'c', 'seed': 1}], 'keep': true}, {'do': 'read', "
      "'grads': ['a']},"
      "  {'do': 'backward', 'roots': [{'value': 'c', 'seed': 1}], 'keep': true}, {'do': 'read', "
      "'grads': ['a']}]");
  EXPECT_THAT(told.numbers("read", 0), ElementsAre(24));
  EXPECT_THAT(told.numbers("read", 1), ElementsAre(48));
}

TEST(Accumulation, B149_TwoLeavesOfOneSum) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 2}, {'name': 'y', 'value': 3}],"
      "'nodes': [{'name': 'z', 'op': 'add', 'inputs': ['x', 'y']},"
      "          {'name': 'p', 'op': 'div', 'inputs': ['x', 'z']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'p', 'seed': 1}]},"
      "            {'do': 'read', 'grads': ['x', 'y']}]");
  const auto grads = told.numbers("read");
  EXPECT_DOUBLE_EQ(grads[0], 3.0 / 25);
  EXPECT_DOUBLE_EQ(grads[1], -2.0 / 25);
}

TEST(Accumulation, B150_GradNeverTouchesDotGrad) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 2}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2},"
      "          {'name': 'z', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]},"
      "  {'do': 'grad', 'roots': [{'value': 'z', 'seed': 1}], 'inputs': ['x']}, {'do': 'read', "
      "'grads': ['x']}]");
  EXPECT_THAT(told.numbers("grad"), ElementsAre(2));
  EXPECT_THAT(told.numbers("read"), ElementsAre(2));
  EXPECT_EQ(told.runs("accumulate:x"), 1);
}

TEST(Accumulation, B151_AGradSetByTheUserCounts) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 1, 'grad': 10}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}, "
      "{'do': 'read', 'grads': ['x']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(12));
}

TEST(Accumulation, SparseWithSparseStaysSparseAndAMixIsDense) {
  const std::string sparse =
      "{'tensor': {'shape': [3], 'sparse': {'indices': [[0, 2]], 'coalesced': true}, 'values': [1, "
      "5]}}";
  const std::string dense = "{'tensor': {'shape': [3], 'values': [10, 20, 30]}}";
  for (const bool mixed : {false, true}) {
    const Told told(
        "'leaves': [{'name': 'x', 'value': [1, 1, 1]}],"
        "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'], 'backward': {'returns': [" +
        sparse +
        "]}},"
        "          {'name': 'g', 'op': 'custom', 'inputs': ['x'], 'backward': {'returns': [" +
        (mixed ? dense : sparse) +
        "]}}],"
        "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'f', 'seed': [1, 1, "
        "1]},"
        "  {'value': 'g', 'seed': [1, 1, 1]}]}]");
    const TensorValue& grad = *told.expectation.leaf_grads[0];
    EXPECT_EQ(grad.layout, mixed ? Layout::strided : Layout::sparse);
    if (mixed) {
      EXPECT_THAT(grad.values, ElementsAre(11, 20, 35));
    } else {
      EXPECT_THAT(grad.values, ElementsAre(2, 10));
    }
  }
}

const std::string mid_graph =
    "'leaves': [{'name': 'x', 'value': 5}],"
    "'nodes': [{'name': 'mid', 'op': 'mul', 'inputs': ['x', 'x']},"
    "          {'name': 'out', 'op': 'scale', 'inputs': ['mid'], 'factor': 3}],";

TEST(Pruning, B118_WhatIsOnlyCapturedIsNeitherRunNorReleased) {
  const Told told(mid_graph +
                  "'program': [{'do': 'forward'},"
                  "  {'do': 'grad', 'roots': [{'value': 'out', 'seed': 1}], 'inputs': ['mid']},"
                  "  {'do': 'backward', 'roots': [{'value': 'mid', 'seed': 1}]}, {'do': 'read', "
                  "'grads': ['x']}]");
  EXPECT_THAT(told.numbers("grad"), ElementsAre(3));
  EXPECT_THAT(told.numbers("read"), ElementsAre(10));
  EXPECT_EQ(told.runs("mid"), 1);
}

TEST(Pruning, B119_BackwardIntoANonLeafRunsItsNodeAsTheDialectSays) {
  const std::string body =
      mid_graph +
      "'program': [{'do': 'forward'},"
      "  {'do': 'backward', 'roots': [{'value': 'out', 'seed': 2}], 'inputs': ['mid']},"
      "  {'do': 'read', 'grads': ['mid', 'x']}]";
  for (const char* choice : {"run", "not-run"}) {
    const Told told(scenario_of(body), make_dialect("reference", {{"PRUNE-5", choice}}));
    EXPECT_THAT(told.numbers("read"), ElementsAre(6, undefined));
    EXPECT_EQ(told.runs("mid"), choice == std::string("run") ? 1 : 0);
    EXPECT_EQ(told.runs("accumulate:x"), 0);
  }
}

TEST(Pruning, B124_InputsThatFollowOneAnotherOnAPath) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 1}],"
      "'nodes': [{'name': 'o2', 'op': 'scale', 'inputs': ['x'], 'factor': 2},"
      "          {'name': 'o3', 'op': 'scale', 'inputs': ['o2'], 'factor': 3},"
      "          {'name': 'o4', 'op': 'scale', 'inputs': ['o3'], 'factor': 5}],"
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'o4', 'seed': 1}], "
      "'inputs': ['o2', 'o3', 'o2']}]");
  EXPECT_THAT(told.numbers("grad"), ElementsAre(15, 5, 15));
  EXPECT_EQ(told.runs("o3"), 1);
  EXPECT_EQ(told.runs("o2"), 0);
}

TEST(Pruning, B128_B130_AnUnusedInputIsAnErrorUndefinedOrZeros) {
  const std::string graph =
      "'leaves': [{'name': 'x', 'value': 2}, {'name': 'u', 'value': [7, 7]}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y', 'seed': 3}], "
      "'inputs': ['x', 'u']";
  EXPECT_THAT(Told(graph + "}]").error("grad"), Optional(ErrorCategory::unused_input));
  EXPECT_THAT(Told(graph + ", 'allow_unused': true}]").numbers("grad"), ElementsAre(6, undefined));
  EXPECT_THAT(Told(graph + ", 'allow_unused': true, 'materialise': true}]").numbers("grad"),
              ElementsAre(6, 0, 0));
}

TEST(Pruning, M4_AnEmptyListOfInputsIsAnError) {
  const Told told(mid_graph +
                  "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'out', "
                  "'seed': 2}], 'inputs': []}]");
  EXPECT_THAT(told.error("backward"), Optional(ErrorCategory::invalid_argument));
}

TEST(Pruning, B146_BackwardAddsIntoANonLeafInEachPass) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'h', 'op': 'scale', 'inputs': ['x'], 'factor': 2},"
      "          {'name': 'y', 'op': 'mul', 'inputs': ['h', 'h']}],"
      "'program': [{'do': 'forward'}, {'do': 'repeat', 'times': 2, 'steps': ["
      "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}], 'inputs': ['h'], 'keep': true},"
      "  {'do': 'read', 'grads': ['h', 'x']}]}]");
  EXPECT_THAT(told.numbers("read", 0), ElementsAre(12, undefined));
  EXPECT_THAT(told.numbers("read", 1), ElementsAre(24, undefined));
}

TEST(Pruning, ANodeIsAskedForWhatIsNeededInThisPass) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'w', 'value': 4}],"
      "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x', 'w'], 'backward': {'steps': [{'do': "
      "'observe', 'what': 'needed'}]}}],"
      "'program': [{'do': 'forward'},"
      "  {'do': 'grad', 'roots': [{'value': 'f', 'seed': 1}], 'inputs': ['x'], 'keep': true},"
      "  {'do': 'grad', 'roots': [{'value': 'f', 'seed': 1}], 'inputs': ['w'], 'keep': true},"
      "  {'do': 'backward', 'roots': [{'value': 'f', 'seed': 1}]}]");
  std::vector<std::int64_t> seen;
  for (const ExpectedEvent& event : told.expectation.events) {
    if (event.event.kind == EventKind::observe) seen.push_back(event.event.number);
  }
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
}

const std::string hooked_graph =
    "'leaves': [{'name': 'x', 'value': 5}],"
    "'nodes': [{'name': 'mid', 'op': 'scale', 'inputs': ['x'], 'factor': 2},"
    "          {'name': 'out', 'op': 'scale', 'inputs': ['mid'], 'factor': 3}],"
    "'hooks': [{'name': 'post', 'kind': 'node_post', 'on': 'mid'},"
    "          {'name': 'pre', 'kind': 'node_pre', 'on': 'mid'},"
    "          {'name': 'retain', 'kind': 'retain_grad', 'on': 'mid'},"
    "          {'name': 'first', 'kind': 'tensor', 'on': 'mid', 'returns': [10]},"
    "          {'name': 'second', 'kind': 'tensor', 'on': 'mid'}],";

TEST(Hooks, B041_OrderAtANode) {
  const Told told(
      hooked_graph +
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'out', 'seed': 1}]},"
      "            {'do': 'read', 'grads': ['x', 'mid']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(60, 30));
  EXPECT_EQ(told.given("first"), 3);
  EXPECT_EQ(told.given("second"), 30);
  EXPECT_EQ(told.given("pre"), 30);
  EXPECT_EQ(told.given("post"), 60);
  EXPECT_TRUE(told.ordered("first", "second"));
  EXPECT_TRUE(told.ordered("second", "pre"));
  EXPECT_TRUE(told.ordered("second", "enter mid"));
  EXPECT_TRUE(told.ordered("pre", "post"));
  EXPECT_TRUE(told.ordered("exit out", "first"));
  EXPECT_TRUE(told.ordered("post", "enter accumulate:x"));
  EXPECT_FALSE(told.ordered("enter mid", "pre"))
      << "built-in nodes are traced by the engine's own hooks";
}

TEST(Hooks, B041_WhereANodeIsOnlyCapturedTensorHooksAloneRun) {
  const std::string body =
      hooked_graph +
      "'program': [{'do': 'forward'},"
      "  {'do': 'grad', 'roots': [{'value': 'out', 'seed': 1}], 'inputs': ['mid']}]";
  const Told modern(body);
  EXPECT_THAT(modern.numbers("grad"), ElementsAre(30));
  EXPECT_THAT(modern.happenings(),
              ElementsAre("begin", "enter out", "exit out", "first", "second", "end"));
  const Told older(scenario_of(body), make_dialect("reference", {{"HOOK-1", "capture-first"}}));
  EXPECT_THAT(older.numbers("grad"), ElementsAre(3));
  EXPECT_THAT(older.happenings(), ElementsAre("begin", "enter out", "exit out", "end"));
}

TEST(Hooks, WithCaptureFirstTensorHooksArePreHooksInOrderOfRegistration) {
  const std::string body =
      hooked_graph +
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'out', 'seed': 1}]}]";
  const Told older(scenario_of(body), make_dialect("reference", {{"HOOK-1", "capture-first"}}));
  EXPECT_TRUE(older.ordered("pre", "first"));
  EXPECT_EQ(older.given("pre"), 3);
  EXPECT_EQ(older.given("post"), 60);
}

TEST(Hooks, WithCaptureFirstRetainGradStandsWithTheTensorsHooks) {
  const std::string body =
      "'leaves': [{'name': 'x', 'value': 5}],"
      "'nodes': [{'name': 'mid', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'mid', 'returns': [10]},"
      "          {'name': 'pre', 'kind': 'node_pre', 'on': 'mid', 'returns': [5]},"
      "          {'name': 'retain', 'kind': 'retain_grad', 'on': 'mid'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'mid', 'seed': 1}]},"
      "            {'do': 'read', 'grads': ['mid', 'x']}]";
  for (const char* alternative : {"hooks-first", "capture-first"}) {
    const Told told(scenario_of(body), make_dialect("reference", {{"HOOK-1", alternative}}));
    EXPECT_THAT(told.numbers("read"), ElementsAre(10, 100));
  }
}

TEST(Nested, REENT_2_WithAnyReadyWhoWaitsForADeviceMayRunOuterNodes) {
  const std::string body =
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'y', 'value': 4},"
      "           {'name': 'p', 'value': {'device': 'sim:0', 'shape': [], 'values': [2]}}],"
      "'nodes': [{'name': 'inner', 'op': 'custom', 'inputs': ['p']},"
      "          {'name': 'older', 'op': 'custom', 'inputs': ['x']},"
      "          {'name': 'newer', 'op': 'custom', 'inputs': ['y'], 'backward': {'steps':"
      "           [{'do': 'backward', 'roots': [{'value': 'inner', 'seed': {'device': 'sim:0',"
      "             'shape': [], 'values': [3]}}]}]}},"
      "          {'name': 'top', 'op': 'custom', 'inputs': ['older', 'newer']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'top', 'seed': 5}]}]";
  const Told strict(body);
  EXPECT_TRUE(strict.ordered("exit newer", "enter older"));
  const Told loose(scenario_of(body), make_dialect("reference", {{"REENT-2", "any-ready"}}));
  EXPECT_TRUE(loose.ordered("enter newer", "enter older"));
  EXPECT_FALSE(loose.ordered("exit newer", "enter older"));
  EXPECT_TRUE(loose.ordered("exit inner", "exit newer"));
}

// A device's queue may be given the root of a pass that will be refused.
TEST(Nested, REENT_2_WithAnyReadyARefusedPassOfADeviceMayBeWaitedFor) {
  const std::string body =
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'y', 'value': 4},"
      "           {'name': 'p', 'value': {'device': 'sim:0', 'shape': [], 'values': [2]}}],"
      "'nodes': [{'name': 'older', 'op': 'custom', 'inputs': ['x']},"
      "          {'name': 'newer', 'op': 'custom', 'inputs': ['y'], 'backward': {'steps':"
      "           [{'do': 'grad', 'roots': [{'value': 'p', 'seed': {'device': 'sim:0',"
      "             'shape': [], 'values': [3]}}], 'inputs': ['older']}]}},"
      "          {'name': 'top', 'op': 'custom', 'inputs': ['older', 'newer']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'top', 'seed': 5}]}]";
  const auto may_enter_older = [&](const char* alternative) {
    const Told told(scenario_of(body), make_dialect("reference", {{"REENT-2", alternative}}));
    return std::any_of(told.expectation.events.begin(), told.expectation.events.end(),
                       [](const ExpectedEvent& expected) {
                         return expected.event.kind == EventKind::node_enter &&
                                expected.event.subject == 0 && !expected.required;
                       });
  };
  EXPECT_FALSE(may_enter_older("nested-only"));
  EXPECT_TRUE(may_enter_older("any-ready"));
}

TEST(Nested, DEV_1_WhatMayBeOfEitherPassHasNoThread) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'p', 'value':"
      "            {'device': 'sim:0', 'shape': [], 'values': [2]}}],"
      "'nodes': [{'name': 'both', 'op': 'custom', 'inputs': ['x']},"
      "          {'name': 'outer', 'op': 'custom', 'inputs': ['p'], 'backward': {'steps':"
      "           [{'do': 'backward', 'keep': true, 'roots': [{'value': 'both', 'seed': 3}]}]}}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'keep': true, 'roots':"
      "  [{'value': 'both', 'seed': 5}, {'value': 'outer', 'seed':"
      "    {'device': 'sim:0', 'shape': [], 'values': [5]}}]}]");
  int of_either_pass = 0;
  for (const ExpectedEvent& event : told.expectation.events) {
    if (!event.any_order) continue;
    ++of_either_pass;
    EXPECT_FALSE(event.device);
  }
  EXPECT_GE(of_either_pass, 2);
}

TEST(Hooks, HooksOfTwoOutputsOfANodeAreUnordered) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': [1, 2]}],"
      "'nodes': [{'name': 'u', 'op': 'unbind', 'inputs': ['a'], 'outputs': ['a0', 'a1'], 'dim': "
      "0}],"
      "'hooks': [{'name': 'h1', 'kind': 'tensor', 'on': 'a1'}, {'name': 'h0', 'kind': 'tensor', "
      "'on': 'a0'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'a0', 'seed': 4}, "
      "{'value': 'a1', 'seed': 5}]}]");
  EXPECT_FALSE(told.ordered("h0", "h1"));
  EXPECT_FALSE(told.ordered("h1", "h0"));
  EXPECT_TRUE(told.ordered("h0", "enter u"));
  EXPECT_TRUE(told.ordered("h1", "enter u"));
}

TEST(Hooks, B042_AfterAnInPlaceChangeHooksStayAndRetainGradFollows) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 5}],"
      "'nodes': [{'name': 'a', 'op': 'clone', 'inputs': ['x']},"
      "          {'name': 'a2', 'op': 'scale_', 'inputs': ['a'], 'factor': 2},"
      "          {'name': 'b', 'op': 'clone', 'inputs': ['a2']}],"
      "'hooks': [{'name': 'h1', 'kind': 'tensor', 'on': 'a'}, {'name': 'r', 'kind': 'retain_grad', "
      "'on': 'a'},"
      "          {'name': 'h2', 'kind': 'tensor', 'on': 'a2'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'b', 'seed': 1}]},"
      "            {'do': 'read', 'grads': ['a', 'x']}]");
  EXPECT_EQ(told.given("h1"), 2);
  EXPECT_EQ(told.given("h2"), 1);
  EXPECT_THAT(told.numbers("read"), ElementsAre(1, 2));
}

TEST(Hooks, B043_AnUndefinedGradientIsPassedAsUndefined) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': [1, 2]}],"
      "'nodes': [{'name': 'u', 'op': 'unbind', 'inputs': ['a'], 'outputs': ['a0', 'a1'], 'dim': "
      "0}],"
      "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'a0'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'a1', 'seed': 4}]}, "
      "{'do': 'read', 'grads': ['a']}]");
  EXPECT_EQ(told.given("h"), undefined);
  EXPECT_THAT(told.numbers("read"), ElementsAre(0, 4));
}

TEST(Hooks, B050_AHookOverSeveralTensorsFiresOnceWithThoseThatTakePart) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}, {'name': 'c', 'value': 1}],"
      "'nodes': [{'name': 'y', 'op': 'add', 'inputs': ['a', 'b']}],"
      "'hooks': [{'name': 'm', 'kind': 'multi', 'on': ['a', 'b', 'c']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 3}]}]");
  EXPECT_EQ(told.given("m", 0), 3);
  EXPECT_EQ(told.given("m", 1), 3);
  EXPECT_EQ(told.given("m", 2), undefined);
  EXPECT_THAT(told.happenings(), testing::Contains("m").Times(1));
}

TEST(Hooks, B053_OrderAtALeaf) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 1}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'hooks': [{'name': 'q', 'kind': 'node_post', 'on': 'accumulate:x'},"
      "          {'name': 'a1', 'kind': 'post_accumulate', 'on': 'x', 'steps': [{'do': 'read', "
      "'grads': ['x']}]},"
      "          {'name': 'a2', 'kind': 'post_accumulate', 'on': 'x', 'steps': [{'do': 'set_grad', "
      "'leaf': 'x', 'grad': null}]},"
      "          {'name': 't', 'kind': 'tensor', 'on': 'x'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 3}]}]");
  EXPECT_TRUE(told.ordered("t", "a1"));
  EXPECT_TRUE(told.ordered("a1", "a2"));
  EXPECT_TRUE(told.ordered("a2", "q"));
  EXPECT_THAT(told.numbers("read"), ElementsAre(6));
  EXPECT_EQ(told.expectation.leaf_grads[0], std::nullopt);
}

TEST(Hooks, M3_ACaptureHookChangesWhatIsCapturedAlone) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 1}],"
      "'nodes': [{'name': 'mid', 'op': 'scale', 'inputs': ['x'], 'factor': 5},"
      "          {'name': 'out', 'op': 'scale', 'inputs': ['mid'], 'factor': 3}],"
      "'hooks': [{'name': 'c', 'kind': 'capture', 'returns': [2]}],"
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'out', 'seed': 1}], "
      "'inputs': ['mid', 'x'],"
      "             'capture_hooks': [{'input': 0, 'hook': 'c'}]}]");
  EXPECT_THAT(told.numbers("grad"), ElementsAre(6, 15));
  EXPECT_EQ(told.given("c"), 3);
}

TEST(Hooks, AWrongNumberOfResultsIsAnError) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 1}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'y', 'returns': []}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 3}]}]");
  EXPECT_THAT(told.error("backward"), Optional(ErrorCategory::hook_result));
  EXPECT_EQ(told.runs("y"), 0);
}

// One custom node whose backward returns what is asked for, to a leaf of three float32 numbers.
std::string returning(const std::string& expression, const std::string& more = "") {
  return more +
         "'leaves': [{'name': 'x', 'value': {'type': 'float32', 'shape': [3], 'values': [1, 2, "
         "3]}}],"
         "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'], 'backward': {'returns': [" +
         expression +
         "]}}],"
         "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'f', 'seed':"
         " {'type': 'float32', 'shape': [3], 'values': [1, 1, 1]}}]}, {'do': 'read', 'grads': "
         "['x']}]";
}

TEST(Validation, B131_ShapesTypesDevicesAndCounts) {
  const Told summed(
      returning("{'tensor': {'type': 'float32', 'shape': [2, 3], 'values': [1, 2, 3, 4, 5, 6]}}"));
  EXPECT_THAT(summed.numbers("read"), ElementsAre(5, 7, 9));
  const Told cast(returning("{'tensor': [1, 2, 3]}"));
  EXPECT_EQ(cast.step("read").result.values[0]->type, ScalarType::float32);
  EXPECT_THAT(Told(returning("{'tensor': {'type': 'float32', 'shape': [1], 'values': [1]}}"))
                  .error("backward"),
              Optional(ErrorCategory::gradient_shape));
  EXPECT_THAT(
      Told(returning("{'tensor': {'type': 'float32', 'shape': [4], 'values': [1, 2, 3, 4]}}"))
          .error("backward"),
      Optional(ErrorCategory::gradient_shape));
  EXPECT_THAT(Told(returning("{'tensor': {'type': 'float32', 'device': 'sim:0', 'shape': [3], "
                             "'values': [1, 2, 3]}}"))
                  .error("backward"),
              Optional(ErrorCategory::gradient_device));
  EXPECT_THAT(Told(returning("1, 1")).error("backward"), Optional(ErrorCategory::gradient_count));
  EXPECT_THAT(Told(returning("")).error("backward"), Optional(ErrorCategory::gradient_count));
}

TEST(Validation, B133_StrictEveryDifferenceIsAnError) {
  const std::string wide = "{'tensor': {'type': 'float32', 'shape': [5, 3], 'fill': 2}}";
  EXPECT_THAT(Told(returning(wide)).numbers("read"), ElementsAre(10, 10, 10));
  EXPECT_THAT(
      Told(returning(wide, "'configuration': {'strict_validation': true},")).error("backward"),
      Optional(ErrorCategory::gradient_shape));
}

TEST(Validation, B134_AComplexGradientForARealInput) {
  const std::string body = returning(
      "{'tensor': {'type': 'complex64', 'shape': [3], 'values': [[1, 9], [2, 9], [3, 9]]}}");
  EXPECT_THAT(Told(body).error("backward"), Optional(ErrorCategory::gradient_type));
  const Told real(scenario_of(body), make_dialect("reference", {{"VAL-3", "real-part"}}));
  EXPECT_THAT(real.numbers("read"), ElementsAre(1, 2, 3));
}

TEST(Validation, B127_UndefinedPassesUncheckedAndMaterialisedIsZeros) {
  EXPECT_THAT(Told(returning("null")).numbers("read"), ElementsAre(undefined));
  for (const bool materialise : {false, true}) {
    const Told told(
        "'leaves': [{'name': 'x', 'value': [1, 2]}],"
        "'nodes': [{'name': 's', 'op': 'custom', 'inputs': ['x'], 'outputs': ['o1', 'o2'], "
        "'materialise': " +
        std::string(materialise ? "true" : "false") +
        ", 'backward': {'returns': [{'terms': [{'slot': 0}, {'slot': 1, 'factor': 3}]}]}}],"
        "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'o1', 'seed': [4, "
        "5]}]}, {'do': 'read', 'grads': ['x']}]");
    EXPECT_EQ(told.given("enter s", 1), materialise ? 0 : undefined);
    EXPECT_THAT(told.numbers("read"), ElementsAre(4, 5));
  }
}

TEST(Errors, AfterAnErrorNoFurtherNodeStarts) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 1}, {'name': 'w', 'value': 1}],"
      "'nodes': [{'name': 'good', 'op': 'scale', 'inputs': ['x'], 'factor': 2},"
      "          {'name': 'bad', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': [{'do': "
      "'throw', 'token': 'boom'}]}},"
      "          {'name': 'first', 'op': 'scale', 'inputs': ['w'], 'factor': 7},"
      "          {'name': 'sum', 'op': 'add', 'inputs': ['good', 'bad']},"
      "          {'name': 'all', 'op': 'add', 'inputs': ['sum', 'first']}],"
      "'callbacks': [{'name': 'c'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'all', 'seed': 1}]},"
      "            {'do': 'read', 'grads': ['x', 'w']}]");
  EXPECT_THAT(told.error("backward"), Optional(ErrorCategory::user));
  EXPECT_EQ(told.step("backward").result.error->token, "boom");
  EXPECT_EQ(told.runs("good"), 0);
  // 'first' was made after 'bad' and before 'sum', so it runs before 'bad', and its leaf as well.
  EXPECT_THAT(told.numbers("read"), ElementsAre(undefined, 7));
}

TEST(Errors, OnSeveralQueuesOnlyWhatTheFailingNodeWaitsForIsCertain) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 1}, {'name': 'w', 'value': {'device': 'sim:0', 'shape': "
      "[], 'values': [1]}}],"
      "'nodes': [{'name': 'bad', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': [{'do': "
      "'throw', 'token': 'boom'}]}},"
      "          {'name': 'far', 'op': 'scale', 'inputs': ['w'], 'factor': 2},"
      "          {'name': 'near', 'op': 'to_device', 'inputs': ['far'], 'device': 'cpu'},"
      "          {'name': 'sum', 'op': 'add', 'inputs': ['bad', 'near']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]}]");
  EXPECT_EQ(told.runs("sum"), 1);
  EXPECT_EQ(told.runs("bad"), 1);
  EXPECT_EQ(told.runs("far"), 0);
  EXPECT_THAT(told.happenings(), testing::Contains("enter far"));
  EXPECT_FALSE(told.expectation.leaf_grad_known[1]);
}

TEST(Keeping, KEEP1_OnlyReleasedNodesThatNeedSavedTensorsFail) {
  const auto twice = [](const std::string& op) {
    return "'leaves': [{'name': 'x', 'value': 2}], 'nodes': [" + op +
           "], 'program': [{'do': 'forward'}, {'do': 'repeat', 'times': 2, 'steps': ["
           "{'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}]}, {'do': 'read', 'grads': "
           "['x']}]";
  };
  const Told mul(twice("{'name': 'y', 'op': 'mul', 'inputs': ['x', 'x']}"));
  EXPECT_EQ(mul.error("backward", 0), std::nullopt);
  EXPECT_THAT(mul.error("backward", 1), Optional(ErrorCategory::graph_released));
  EXPECT_THAT(mul.numbers("read"), ElementsAre(4));
  const Told add(twice("{'name': 'y', 'op': 'add', 'inputs': ['x', 'x']}"));
  EXPECT_EQ(add.error("backward", 1), std::nullopt);
  EXPECT_THAT(add.numbers("read"), ElementsAre(4));
  const Told custom(twice("{'name': 'y', 'op': 'custom', 'inputs': ['x'], 'saves': ['x']}"));
  EXPECT_THAT(custom.error("backward", 1), Optional(ErrorCategory::graph_released));
}

TEST(Keeping, M6_AChangeOfASavedTensorIsSeenThroughSharedCounters) {
  for (const char* through : {"handle", "view", "detached", "data"}) {
    const Told told(
        "'leaves': [{'name': 'x', 'value': 2}], 'nodes': [{'name': 'y', 'op': 'mul', 'inputs': "
        "['x', 'x']}],"
        "'program': [{'do': 'forward'}, {'do': 'change', 'value': 'x', 'add': 5, 'through': '" +
        std::string(through) +
        "'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}, {'do': 'read', 'grads': "
        "['x']}]");
    if (through == std::string("data")) {
      EXPECT_THAT(told.numbers("read"), ElementsAre(14));
    } else {
      EXPECT_THAT(told.error("backward"), Optional(ErrorCategory::saved_modified));
    }
  }
}

TEST(InPlace, ALeafThatRequiresGradIsRefusedUnlessNothingIsRecorded) {
  const std::string body =
      "'leaves': [{'name': 'x', 'value': 2}], 'nodes': [{'name': 'y', 'op': 'scale_', 'inputs': "
      "['x'], 'factor': 3}],";
  EXPECT_THAT(Told(body + "'program': [{'do': 'forward'}]").error("forward"),
              Optional(ErrorCategory::in_place));
  const Told quiet(body +
                   "'program': [{'do': 'with', 'recording': false, 'steps': [{'do': 'forward', "
                   "'nodes': ['y']}]}, {'do': 'read', 'values': ['x']}]");
  EXPECT_THAT(quiet.numbers("read"), ElementsAre(6));
}

TEST(InPlace, AChangeOfAViewShowsInItsBase) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': [1, 2, 3]}],"
      "'nodes': [{'name': 'base', 'op': 'scale', 'inputs': ['x'], 'factor': 1},"
      "          {'name': 'v', 'op': 'select', 'inputs': ['base'], 'dim': 0, 'index': 1},"
      "          {'name': 'other', 'op': 'slice', 'inputs': ['base'], 'dim': 0, 'start': 1, 'end': "
      "3},"
      "          {'name': 'v2', 'op': 'scale_', 'inputs': ['v'], 'factor': 10},"
      "          {'name': 'twice', 'op': 'scale', 'inputs': ['other'], 'factor': 2},"
      "          {'name': 'total', 'op': 'sum', 'inputs': ['base']},"
      "          {'name': 'part', 'op': 'sum', 'inputs': ['twice']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'total', 'seed': 1}, "
      "{'value': 'part', 'seed': 1}]},"
      "            {'do': 'read', 'values': ['base', 'other'], 'grads': ['x']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(1, 20, 3, 20, 3, 1, 30, 3));
}

TEST(InPlace, LEAF_4_TheGradientOfWhatWasCopiedIsOnItsDevice) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'p', 'value':"
      "            {'device': 'sim:0', 'shape': [], 'values': [2]}}],"
      "'nodes': [{'name': 'y', 'op': 'clone', 'inputs': ['x']},"
      "          {'name': 'z', 'op': 'copy_', 'inputs': ['y', 'p']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'z', 'seed': 5}]},"
      "            {'do': 'read', 'grads': ['p']}]");
  const TensorValue& grad = *told.step("read").result.values[0];
  EXPECT_EQ(grad.device, (Device{DeviceType::sim, 0}));
  EXPECT_THAT(grad.values, ElementsAre(5));
}

TEST(Order, LeavesRunBeforeOrdinaryNodesAndNewerNodesBeforeOlder) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}],"
      "'nodes': [{'name': 'old', 'op': 'scale', 'inputs': ['a'], 'factor': 2},"
      "          {'name': 'new', 'op': 'scale', 'inputs': ['b'], 'factor': 2},"
      "          {'name': 'sum', 'op': 'add', 'inputs': ['old', 'new']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]}]");
  EXPECT_THAT(told.happenings(),
              ElementsAre("begin", "enter sum", "exit sum", "enter new", "exit new",
                          "enter accumulate:b", "exit accumulate:b", "enter old", "exit old",
                          "enter accumulate:a", "exit accumulate:a", "end"));
  EXPECT_TRUE(told.ordered("exit accumulate:b", "enter old"));
  EXPECT_TRUE(told.ordered("exit new", "enter old"));
}

TEST(Order, AccumulatorsThatAreReadyTogetherAreFree) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}],"
      "'nodes': [{'name': 'sum', 'op': 'add', 'inputs': ['a', 'b']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]}]");
  EXPECT_FALSE(told.ordered("exit accumulate:a", "enter accumulate:b"));
  EXPECT_FALSE(told.ordered("exit accumulate:b", "enter accumulate:a"));
  EXPECT_TRUE(told.ordered("exit accumulate:a", "end"));
}

TEST(Nesting, ANestedPassLiesInsideItsNode) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 2}, {'name': 'w', 'value': 2}],"
      "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': ["
      "            {'do': 'with', 'recording': true, 'steps': [{'do': 'forward', 'nodes': "
      "['inner']}]},"
      "            {'do': 'backward', 'roots': [{'value': 'inner', 'seed': 1}]},"
      "            {'do': 'observe', 'what': 'depth'}]}},"
      "          {'name': 'inner', 'op': 'mul', 'inputs': ['w', 'w']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'f', 'seed': 3}]},"
      "            {'do': 'read', 'grads': ['w', 'x']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(4, 3));
  EXPECT_THAT(told.happenings(),
              ElementsAre("begin", "enter f", "begin", "enter inner", "exit inner",
                          "enter accumulate:w", "exit accumulate:w", "end", "observe", "exit f",
                          "enter accumulate:x", "exit accumulate:x", "end"));
  EXPECT_TRUE(told.ordered("enter f", "enter inner"));
  EXPECT_TRUE(told.ordered("exit accumulate:w", "exit f"));
}

TEST(Nesting, GoesThousandsOfLevelsDeep) {
  std::string nodes = "{'name': 'r0', 'op': 'scale', 'inputs': ['x'], 'factor': 2}";
  for (int i = 1; i <= 5000; ++i) {
    nodes += ", {'name': 'r" + std::to_string(i) +
             "', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': [{'do': 'backward', "
             "'roots': [{'value': 'r" +
             std::to_string(i - 1) + "', 'seed': 1}]}]}}";
  }
  const Told told("'leaves': [{'name': 'x', 'value': 1}], 'nodes': [" + nodes +
                  "], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': "
                  "'r5000', 'seed': 1}]},"
                  "{'do': 'read', 'grads': ['x']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(5002));
}

// The smallest number of scripts that an ordinary stack is not trusted with.
TEST(Nesting, GoesThroughHundredsOfHooks) {
  constexpr int depth = 400;
  const auto start = [](int i) {
    return "{'do': 'backward', 'roots': [{'value': 'x" + std::to_string(i) + "', 'seed': 1}]}";
  };
  std::string leaves, hooks;
  for (int i = 0; i < depth; ++i) {
    const std::string number = std::to_string(i);
    leaves += "{'name': 'x" + number + "', 'value': 1}, ";
    hooks += (i == 0 ? "" : ", ") + std::string("{'name': 'h") + number +
             "', 'kind': 'tensor', 'on': 'x" + number + "', 'steps': [" + start(i + 1) + "]}";
  }
  const std::string last = "'x" + std::to_string(depth) + "'";
  const Told told("'leaves': [" + leaves + "{'name': " + last + ", 'value': 1}], 'hooks': [" +
                  hooks + "], 'program': [" + start(0) + ", {'do': 'read', 'grads': [" + last +
                  "]}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(1));
}

TEST(Nesting, WithoutEndCannotBeTold) {
  const Scenario scenario = scenario_of(
      "'leaves': [{'name': 'x', 'value': 1}],"
      "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': ["
      "  {'do': 'backward', 'roots': [{'value': 'f', 'seed': 1}]}]}}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'f', 'seed': 1}]}]");
  const Expectation expectation = expect(scenario, make_dialect("reference"));
  EXPECT_EQ(expectation.cannot_tell, "passes nested without end");
  EXPECT_LT(expectation.events.size(), 2000U);  // it is given up soon
}

TEST(Callbacks, RunAtTheEndOfTheInnermostPassInOrder) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 2}],"
      "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': ["
      "            {'do': 'queue_callback', 'callback': 'outer'}, {'do': 'queue_callback', "
      "'callback': 'last'},"
      "            {'do': 'with', 'recording': true, 'steps': [{'do': 'forward', 'nodes': ['g']}]},"
      "            {'do': 'backward', 'roots': [{'value': 'g', 'seed': 1}]}]}},"
      "          {'name': 'g', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': [{'do': "
      "'queue_callback', 'callback': 'inner'}]}}],"
      "'callbacks': [{'name': 'outer', 'steps': [{'do': 'queue_callback', 'callback': 'added'}]}, "
      "{'name': 'last'},"
      "              {'name': 'inner'}, {'name': 'added'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'f', 'seed': 3}]}]");
  EXPECT_TRUE(told.ordered("inner", "exit f"));
  EXPECT_TRUE(told.ordered("exit accumulate:x", "outer"));
  EXPECT_TRUE(told.ordered("outer", "last"));
  EXPECT_TRUE(told.ordered("last", "added"));
}

TEST(Callbacks, QueuedOutsideAPassIsAnError) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 2}], 'callbacks': [{'name': 'c'}],"
      "'program': [{'do': 'queue_callback', 'callback': 'c'}]");
  EXPECT_THAT(told.error("queue_callback"), Optional(ErrorCategory::outside_pass));
}

TEST(Anomaly, ANaNIsAnErrorOnlyWhileCheckingIsOn) {
  const std::string graph =
      "'leaves': [{'name': 'x', 'value': 2}],"
      "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'], 'backward': {'returns': "
      "[{'tensor': 'nan'}]}}],"
      "'program': [{'do': 'forward'}, {'do': 'with', 'anomaly': true, 'check_nan': CHECK, 'steps': "
      "["
      "  {'do': 'backward', 'roots': [{'value': 'f', 'seed': 3}]}]}]";
  const auto with_check = [&](const std::string& value) {
    std::string body = graph;
    body.replace(body.find("CHECK"), 5, value);
    body.replace(body.find("'nan'"), 5, "{'shape': [], 'values': ['nan']}");
    return body;
  };
  EXPECT_THAT(Told(with_check("true")).error("backward"), Optional(ErrorCategory::nan_gradient));
  EXPECT_EQ(Told(with_check("false")).error("backward"), std::nullopt);
}

TEST(Threads, LeavesSharedByThreadsSumUpAndTheirEventsMatchInAnyOrder) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 2}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}, {'name': 'z', 'op': "
      "'scale', 'inputs': ['x'], 'factor': 3}],"
      "'program': [{'do': 'forward'}, {'do': 'parallel', 'threads': ["
      "  {'name': 'a', 'steps': [{'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}]},"
      "  {'name': 'b', 'steps': [{'do': 'backward', 'roots': [{'value': 'z', 'seed': 1}]}]}]},"
      "  {'do': 'read', 'grads': ['x']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(5));
  for (const ExpectedEvent& event : told.expectation.events) {
    EXPECT_EQ(event.any_order, told.name_of(event.event).find("accumulate") != std::string::npos);
  }
  EXPECT_FALSE(told.ordered("exit y", "enter z"));
}

std::string in_two_threads(const std::string& first, const std::string& second) {
  return "'leaves': [{'name': 'x', 'value': 2}], 'nodes': [{'name': 'y', 'op': 'scale', 'inputs': "
         "['x'], 'factor': 2}],"
         "'program': [{'do': 'forward'}, {'do': 'parallel', 'threads': [{'name': 'a', 'steps': [" +
         first + "]}, {'name': 'b', 'steps': [" + second + "]}]}]";
}

TEST(Threads, WhatDependsOnTheirOrderIsNotKnownOrCannotBeTold) {
  const std::string pass = "{'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}";
  const Told alone(
      in_two_threads(pass + ", {'do': 'read', 'grads': ['x']}", "{'do': 'read', 'values': ['y']}"));
  EXPECT_THAT(alone.step("read").value_known, ElementsAre(true));
  const Told both(in_two_threads(pass + ", {'do': 'read', 'grads': ['x']}", pass));
  EXPECT_THAT(both.step("read").value_known, ElementsAre(false));
  EXPECT_TRUE(both.expectation.leaf_grad_known[0]);
  const Told reset(in_two_threads(pass, "{'do': 'set_grad', 'leaf': 'x', 'grad': 7}"));
  EXPECT_FALSE(reset.expectation.leaf_grad_known[0]);
  const Scenario changed = scenario_of(in_two_threads("{'do': 'change', 'value': 'y', 'add': 1}",
                                                      "{'do': 'read', 'values': ['y']}"));
  EXPECT_NE(expect(changed, make_dialect("reference")).cannot_tell, "");
}

// The visit of `keeps` and a hook of another root, with a pass over `keeps` of its own, each keep.
std::string kept_twice(const std::string& value, const std::string& seed) {
  return "'leaves': [{'name': 'x', 'value': 1}, {'name': 'other', 'value': " + value +
         "}], 'nodes': [{'name': 'keeps', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps':"
         "  [{'do': 'keep', 'as': 'kept'}]}}],"
         "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'other', 'steps':"
         "  [{'do': 'backward', 'roots': [{'value': 'keeps', 'seed': 5}], 'keep': true}]}],"
         "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'keeps', 'seed': 1},"
         "  {'value': 'other', 'seed': " + seed + "}], 'keep': true},"
         "  {'do': 'read', 'values': ['kept']}]";
}

TEST(Threads, WhatTwoVisitsWithoutAnOrderKeepIsThatOfEither) {
  const std::string device = "{'device': 'sim:0', 'shape': [], 'values': [1]}";
  const Told ordered(kept_twice("1", "1"));
  EXPECT_THAT(ordered.step("read").value_known, ElementsAre(true));
  EXPECT_THAT(ordered.numbers("read"), ElementsAre(1)) << "the accumulator of `other` runs first";
  const Told unordered(kept_twice(device, device));
  EXPECT_THAT(unordered.step("read").value_known, ElementsAre(false));
}

// Whether the pass goes through the change depends on the threads' order.
TEST(Threads, AChangeInPlaceByOneAndAPassOfAnotherCannotBeTold) {
  const Expectation expectation = expect(
      scenario_of("'leaves': [{'name': 'x', 'value': 3}],"
                  "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x']},"
                  "          {'name': 'twice', 'op': 'scale_', 'inputs': ['y'], 'factor': 2}],"
                  "'program': [{'do': 'forward', 'nodes': ['y']}, {'do': 'parallel', 'threads': ["
                  "  {'name': 'a', 'steps': [{'do': 'forward', 'nodes': ['twice']}]},"
                  "  {'name': 'b', 'steps': [{'do': 'backward', 'roots': [{'value': 'y',"
                  "    'seed': 1}]}]}]}]"),
      make_dialect("reference"));
  EXPECT_EQ(expectation.cannot_tell, "a tensor that one thread changes and another uses");
}

TEST(Fork, AChildStartsFromTheParentsStateAndLeavesItAlone) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 2}],"
      "'nodes': [{'name': 'y', 'op': 'mul', 'inputs': ['x', 'x']}],"
      "'program': [{'do': 'forward'}, {'do': 'fork', 'steps': ["
      "    {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}, {'do': 'read', 'grads': "
      "['x']}]},"
      "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': 3}]}, {'do': 'read', 'grads': "
      "['x']}]");
  EXPECT_THAT(told.numbers("read", 0), ElementsAre(4));
  EXPECT_THAT(told.numbers("read", 1), ElementsAre(12));
}

// The error of a pass in a child that is forked after a pass.
std::optional<ErrorCategory> error_in_child(const std::string& configuration, const std::string& nodes, const std::string& root,
                             const std::string& options = "", const std::string& after = "") {
  const Told told(configuration + "'leaves': [{'name': 'x', 'value': 2}], 'nodes': [" + nodes +
                  "], 'program': [{'do': 'forward'}, {'do': 'backward', 'keep': true, 'roots': [{'value': '" + root +
                  "', 'seed': 1}]" + options + "}, {'do': 'fork', 'steps': [{'do': 'grad', 'roots': [{'value': '" + root +
                  "', 'seed': 1}], 'inputs': ['x']}]}" + after + "]");
  return told.error("grad");
}

TEST(Fork, FORK_1_AChildOfAProcessWithThreadsOfTheEngineIsToldSo) {
  const std::string on_the_cpu = "{'name': 'y', 'op': 'mul', 'inputs': ['x', 'x']}";
  const std::string inside = on_the_cpu +
                             ", {'name': 'd', 'op': 'to_device', 'inputs': ['y'], 'device': 'sim:0'},"
                             "{'name': 'top', 'op': 'to_device', 'inputs': ['d'], 'device': 'cpu'}";
  const std::string nested =
      on_the_cpu +
      ", {'name': 'a', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': [{'do': 'backward', 'keep': true,"
      "   'roots': [{'value': 'y', 'seed': 1}]}]}},"
      "{'name': 'top', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': [{'do': 'backward', 'keep': true,"
      "   'roots': [{'value': 'a', 'seed': 1}]}]}}";
  EXPECT_EQ(error_in_child("", on_the_cpu, "y"), std::nullopt);
  EXPECT_EQ(error_in_child("", inside, "top"), ErrorCategory::forked);
  EXPECT_EQ(error_in_child("'configuration': {'nesting_limit': 2},", nested, "top"), std::nullopt);
  EXPECT_EQ(error_in_child("'configuration': {'nesting_limit': 1},", nested, "top"), ErrorCategory::forked);
  EXPECT_EQ(error_in_child("'futures': [{'name': 'f'}],", on_the_cpu, "y", ", 'future': 'f'",
                           ", {'do': 'wait', 'future': 'f'}"),
            ErrorCategory::forked);
}

TEST(CannotTell, NeverGuesses) {
  const Scenario scenario = scenario_of(
      "'leaves': [{'name': 'x', 'value': 1}],"
      "'nodes': [{'name': 'y', 'op': 'cast', 'inputs': ['x'], 'type': 'float64'}], 'program': "
      "[{'do': 'forward'}]");
  EXPECT_NE(expect(scenario, make_dialect("reference")).cannot_tell, "");
}

TEST(Outside, ASYNC_1_WhatIsAnnouncedIsADelivery) {
  const Told told(
      "'announcements': [{'name': 'a', 'to': 'm'}], 'futures': [{'name': 'f'}],"
      "'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'm', 'op': 'scale', 'inputs': ['x'], 'factor': 2},"
      "          {'name': 't', 'op': 'scale', 'inputs': ['m'], 'factor': 30}],"
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 't', 'seed': 5}],"
      "  'inputs': ['x'], 'announced': ['a'], 'future': 'f'},"
      "  {'do': 'deliver', 'announcement': 'a', 'gradient': 7}, {'do': 'wait', 'future': 'f'}]");
  EXPECT_THAT(told.numbers("wait"), ElementsAre(314));
  EXPECT_EQ(told.runs("m"), 1);
}

TEST(Outside, ASYNC_1_AnErrorInPlaceOfAGradientLeavesFreeHowFarThePassGot) {
  const Told told(
      "'announcements': [{'name': 'a', 'to': 'm'}], 'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'm', 'op': 'scale', 'inputs': ['x'], 'factor': 2},"
      "          {'name': 't', 'op': 'scale', 'inputs': ['m'], 'factor': 30}],"
      "'program': [{'do': 'forward'}, {'do': 'deliver', 'announcement': 'a', 'error': 'lost'},"
      "  {'do': 'backward', 'roots': [{'value': 't', 'seed': 5}], 'announced': ['a']}]");
  EXPECT_EQ(told.error("backward"), ErrorCategory::user);
  EXPECT_EQ(told.step("backward").result.error->token, "lost");
  EXPECT_EQ(told.runs("t"), 0);
}

TEST(InPlace, TheNodeOfAChangedViewIsNeededForItsOtherUsesOnly) {
  const std::string graph =
      "'leaves': [{'name': 'x', 'value': [1, 2, 3]}, {'name': 'w', 'value': [10, 20]}],"
      "'nodes': [{'name': 'c', 'op': 'clone', 'inputs': ['x']},"
      "  {'name': 'v', 'op': 'slice', 'inputs': ['c'], 'dim': 0, 'start': 0, 'end': 2},"
      "  {'name': 'old', 'op': 'scale', 'inputs': ['v'], 'factor': 3},"
      "  {'name': 'u', 'op': 'add_', 'inputs': ['v', 'w']},"
      "  {'name': 'y', 'op': 'scale', 'inputs': ['c'], 'factor': 2}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': [1, 1, "
      "1]}";
  const Told from_base(graph + "]}]");
  EXPECT_EQ(from_base.runs("v"), 0);
  EXPECT_EQ(from_base.runs("c"), 1);
  EXPECT_EQ(from_base.runs("accumulate:w"), 1);
  const Told from_both(graph + ", {'value': 'old', 'seed': [1, 1]}]}]");
  EXPECT_EQ(from_both.runs("v"), 1);
}

TEST(Errors, ERR_7_AChangedGraphIsIncomplete) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'low', 'op': 'custom', 'inputs': ['x']},"
      "          {'name': 'a', 'op': 'custom', 'inputs': ['low']},"
      "          {'name': 't', 'op': 'custom', 'inputs': ['a'],"
      "           'backward': {'steps': [{'do': 'redirect', 'node': 'a'}]}}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 't', 'seed': 5}]}]");
  EXPECT_EQ(told.error("backward"), ErrorCategory::incomplete);
  EXPECT_EQ(told.runs("a"), 1);
  EXPECT_EQ(told.runs("low"), 0);
}

TEST(Errors, AValueWhoseStepFailedIsRefusedByWhateverUsesIt) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'],"
      "           'backward': {'steps': [{'do': 'throw', 'token': 'bad'}]}},"
      "          {'name': 'g', 'op': 'exp', 'inputs': ['h']}],"
      "'program': [{'do': 'forward', 'nodes': ['f']}, {'do': 'grad', 'roots': [{'value': 'f',"
      "  'seed': 5}], 'inputs': ['x'], 'results': ['h']}, {'do': 'forward', 'nodes': ['g']},"
      "  {'do': 'read', 'values': ['h']}]");
  EXPECT_EQ(told.error("forward", 1), ErrorCategory::invalid_argument);
  EXPECT_THAT(told.numbers("read"), ElementsAre(undefined));
}

TEST(Statements, StandForThoseWhoFollowTheAlternative) {
  const std::string body =
      "'program': [{'do': 'observe', 'what': 'engine_threads',"
      "  'expect': {'number': {'least': 1, 'most': 2}, 'follows': {'DEV-2': 'lazy'}}}]";
  const Told lazy(body);
  EXPECT_FALSE(lazy.expectation.events[0].number_fits(0));
  EXPECT_TRUE(lazy.expectation.events[0].number_fits(2));
  const Told eager(body, "pytorch-1.13");
  EXPECT_TRUE(eager.expectation.events[0].number_fits(0));
}

TEST(Leaves, LEAF_2_AKeptGradSeesWhatIsAddedInPlace) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 5}],"
      "  'keep': true}, {'do': 'keep', 'grad_of': 'x', 'as': 'g'},"
      "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}], 'keep': true},"
      "  {'do': 'read', 'values': ['g']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(12));
}

// An engine that refuses the pass beforehand keeps nothing; one that runs it first does.
TEST(Errors, WhatAScriptKeptInAPassThatMayBeRefusedIsFree) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4}],"
      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'],"
      "           'backward': {'steps': [{'do': 'keep', 'as': 'k'}]}}],"
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y', 'seed': 5}],"
      "  'inputs': ['x', 'z']}, {'do': 'read', 'values': ['k', 'x']}]");
  EXPECT_EQ(told.error("grad"), ErrorCategory::unused_input);
  EXPECT_EQ(told.step("read").value_known, (std::vector<bool>{false, true}));
}

TEST(Errors, OfAWrongRootAndAWrongSeedEitherIsReported) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': [3, 5]}, {'name': 'c', 'value': 4, 'requires_grad': "
      "false}],"
      "'program': [{'do': 'backward', 'roots': [{'value': 'x', 'seed': [1, 2, 3]},"
      "  {'value': 'c', 'seed': 5}]}]");
  EXPECT_THAT(told.step("backward").allowed_errors,
              UnorderedElementsAre(ErrorCategory::invalid_argument, ErrorCategory::gradient_shape));
}

// Accumulators that are ready together tie: the one that fails may be the first.
TEST(Errors, AHookOverSeveralTensorsIsFreeWhereOneOfThemMayComeToNothing) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4}],"
      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x', 'z']}],"
      "'hooks': [{'name': 'several', 'kind': 'multi', 'on': ['x', 'z']},"
      "  {'name': 'h', 'kind': 'tensor', 'on': 'z', 'steps': [{'do': 'throw', 'token': 'bad'}]}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 5}]}]");
  for (const ExpectedEvent* event : told.events_of("several")) {
    EXPECT_FALSE(event->required);
  }
}

TEST(Hooks, WhatAPostHookSeesForAnInputWithoutGradientIsFree) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'c', 'value': 4, 'requires_grad': false}],"
      "'nodes': [{'name': 'y', 'op': 'add', 'inputs': ['x', 'c']}],"
      "'hooks': [{'name': 'h', 'kind': 'node_post', 'on': 'y'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 5}]}]");
  for (const ExpectedEvent* event : told.events_of("h")) {
    EXPECT_FALSE(event->compare_values);
  }
}

// LEAF-7 says what becomes of `.grad`, and nothing of these hooks.
TEST(Hooks, APostAccumulateHookIsFreeWhereNothingWasAccumulated) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'], 'backward': {'returns': [null]}}],"
      "'hooks': [{'name': 'h', 'kind': 'post_accumulate', 'on': 'x'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 5}]}]");
  for (const ExpectedEvent* event : told.events_of("h")) {
    EXPECT_FALSE(event->required);
  }
}

TEST(Errors, OnStreamsWhatAFailedPassAccumulatedIsFree) {
  const std::string body =
      "'leaves': [{'name': 'x', 'value': {'device': 'sim:0', 'shape': [], 'values': [3]}}],"
      "'hooks': [{'name': 'h', 'kind': 'node_post', 'on': 'accumulate:x',"
      "           'steps': [{'do': 'throw', 'token': 'bad'}]}],"
      "'program': [{'do': 'backward', 'roots': [{'value': 'x',"
      "  'seed': {'device': 'sim:0', 'shape': [], 'values': [5]}}]}, {'do': 'read', 'grads': "
      "['x']}]";
  const Told plain(body);
  EXPECT_EQ(plain.step("read").value_known, (std::vector<bool>{true}));
  const Told streams("'streams': [{'name': 's', 'device': 'sim:0'}]," + body);
  EXPECT_EQ(streams.step("read").value_known, (std::vector<bool>{false}));
}

TEST(InPlace, TheGradientOfABaseAskedForFromItsChangedViewCannotBeTold) {
  const Expectation expectation =
      expect(scenario_of("'leaves': [{'name': 'x', 'value': [3, 4]}],"
                         "'nodes': [{'name': 'a', 'op': 'custom', 'inputs': ['x']},"
                         "  {'name': 'v', 'op': 'view', 'inputs': ['a'], 'shape': [2]},"
                         "  {'name': 'twice', 'op': 'scale_', 'inputs': ['v'], 'factor': 2}],"
                         "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'v',"
                         "  'seed': [5, 7]}], 'inputs': ['a']}]"),
             make_dialect("reference"));
  EXPECT_EQ(expectation.cannot_tell, "the gradient of a base, asked for from its changed view");
}

// The gradient of a changed view comes to its base by way of the view's node, or past it.
TEST(InPlace, WhatHooksOfAChangedViewSeeIsFree) {
  const std::string body =
      "'leaves': [{'name': 'x', 'value': [3, 4]}],"
      "'nodes': [{'name': 'a', 'op': 'custom', 'inputs': ['x']},"
      "  {'name': 'v', 'op': 'view', 'inputs': ['a'], 'shape': [2]},"
      "  {'name': 'old', 'op': 'custom', 'inputs': ['v']},"
      "  {'name': 'twice', 'op': 'scale_', 'inputs': ['v'], 'factor': 2}],"
      "'hooks': [{'name': 'h', 'kind': 'node_pre', 'on': 'v'";
  const std::string program =
      "}], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'old',"
      "  'seed': [1, 2]}, {'value': 'v', 'seed': [5, 7]}]}]";
  const Told told(body + program);
  for (const ExpectedEvent* event : told.events_of("h")) {
    EXPECT_FALSE(event->compare_values);
  }
  const Expectation changed =
      expect(scenario_of(body + ", 'returns': [3]" + program), make_dialect("reference"));
  EXPECT_NE(changed.cannot_tell, "");
}

// Its hook fires at another node than the one whose gradient may go past.
TEST(InPlace, WhatAHookOverAChangedViewAndOthersSeesIsFree) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': [3, 4]}],"
      "'nodes': [{'name': 'a', 'op': 'custom', 'inputs': ['x']},"
      "  {'name': 'v', 'op': 'view', 'inputs': ['a'], 'shape': [2]},"
      "  {'name': 'old', 'op': 'custom', 'inputs': ['v']},"
      "  {'name': 'twice', 'op': 'scale_', 'inputs': ['v'], 'factor': 2}],"
      "'hooks': [{'name': 'h', 'kind': 'multi', 'on': ['v', 'a']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'old',"
      "  'seed': [1, 2]}, {'value': 'v', 'seed': [5, 7]}]}]");
  ASSERT_THAT(told.events_of("h"), testing::SizeIs(1));
  EXPECT_FALSE(told.events_of("h")[0]->compare_values);
}

// A change goes past the node of its view: whether its hook starts a pass is free.
TEST(InPlace, WhatAPassOfANodeThatNeedNotRunAddsIsFree) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': [3, 4]}, {'name': 'z', 'value': 4}],"
      "'nodes': [{'name': 'a', 'op': 'custom', 'inputs': ['x']},"
      "  {'name': 'v', 'op': 'view', 'inputs': ['a'], 'shape': [2]},"
      "  {'name': 'twice', 'op': 'scale_', 'inputs': ['v'], 'factor': 2}],"
      "'hooks': [{'name': 'h', 'kind': 'node_pre', 'on': 'v', 'steps': [{'do': 'backward',"
      "  'roots': [{'value': 'z', 'seed': 5}]}]}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'v',"
      "  'seed': [5, 7]}]}, {'do': 'read', 'grads': ['x', 'z']}]");
  EXPECT_EQ(told.step("read").value_known, (std::vector<bool>{true, false}));
}

// ---- What scripts leave behind in a pass that may be refused beforehand (PRUNE-4)

const std::string refused_pass =
    "'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4}],"
    "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x']},"
    "          {'name': 'e', 'op': 'exp', 'inputs': ['z']}],"
    "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y', 'seed': 5}],"
    "  'inputs': ['x', 'z']}, {'do': 'backward', 'roots': [{'value': 'e', 'seed': 0}]}],";

TEST(Refused, AHookThatAScriptAddsCannotBeTold) {
  EXPECT_EQ(reason_of(refused_pass +
                      "'hooks': [{'name': 'late', 'kind': 'tensor', 'on': 'z', 'added': 'by_step'},"
                      "  {'name': 'h', 'kind': 'tensor', 'on': 'y', 'steps': ["
                      "    {'do': 'add_hook', 'hook': 'late'}]}]"),
            "a lasting change by a script that perhaps does not run");
}

TEST(Refused, ANodeThatAScriptMakesAgainCannotBeTold) {
  EXPECT_EQ(reason_of(refused_pass + "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'y', 'steps':"
                                     "  [{'do': 'forward', 'nodes': ['e']}]}]"),
            "a lasting change by a script that perhaps does not run");
}

TEST(Refused, AGraphThatAPassOfAScriptReleasesIsReleasedOrNot) {
  EXPECT_EQ(
      reason_of(refused_pass + "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'y', 'steps':"
                               "  [{'do': 'backward', 'roots': [{'value': 'e', 'seed': 0}]}]}]"),
      "a node that ran or did not in a pass that failed");
}

TEST(Refused, TheErrorOfACallbackIsOneOfTwo) {
  const Told told(refused_pass +
                  "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'y', 'steps': ["
                  "  {'do': 'queue_callback', 'callback': 'c'}]}],"
                  "'callbacks': [{'name': 'c', 'steps': [{'do': 'throw', 'token': 'bad'}]}]");
  EXPECT_THAT(told.step("grad").allowed_errors,
              UnorderedElementsAre(ErrorCategory::user, ErrorCategory::unused_input));
}

// ---- Accumulators that are ready together (ORDER-4)

const std::string two_accumulators =
    "'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4}],"
    "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x', 'z']},"
    "          {'name': 'e', 'op': 'exp', 'inputs': ['x']}],"
    "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 5}]},"
    "  {'do': 'backward', 'roots': [{'value': 'x', 'seed': 5}]}],";

TEST(Tied, WhatANestedPassOfOneAddsAHookOfTheOtherMaySee) {
  const Told told(two_accumulators +
                  "'hooks': [{'name': 'h', 'kind': 'post_accumulate', 'on': 'z', 'steps': ["
                  "    {'do': 'backward', 'roots': [{'value': 'x', 'seed': 1}]}]},"
                  "  {'name': 'see', 'kind': 'node_post', 'on': 'accumulate:x', 'steps': ["
                  "    {'do': 'read', 'grads': ['x']}]}]");
  EXPECT_EQ(told.step("read").value_known, (std::vector<bool>{false}));
  EXPECT_TRUE(told.step("read", 2).value_known.empty() || told.step("read", 2).value_known[0]);
}

TEST(Tied, AHookThatOneAddsToTheOtherCannotBeTold) {
  EXPECT_EQ(reason_of(two_accumulators +
                      "'hooks': [{'name': 'late', 'kind': 'tensor', 'on': 'z', 'added': 'by_step'},"
                      "  {'name': 'h', 'kind': 'node_pre', 'on': 'accumulate:x', 'steps': ["
                      "    {'do': 'add_hook', 'hook': 'late'}]}]"),
            "hooks that change while their node may run");
}

TEST(Tied, ANodeThatOneMakesAnewAndTheOtherGoesThroughCannotBeTold) {
  EXPECT_EQ(reason_of(two_accumulators +
                      "'hooks': [{'name': 'goes', 'kind': 'node_pre', 'on': 'accumulate:z',"
                      "    'steps': [{'do': 'grad', 'roots': [{'value': 'e', 'seed': 0}],"
                      "      'inputs': ['x'], 'keep': true}]},"
                      "  {'name': 'makes', 'kind': 'node_pre', 'on': 'accumulate:x',"
                      "    'steps': [{'do': 'with', 'recording': true, 'steps': ["
                      "      {'do': 'forward', 'nodes': ['e']}]}]}]"),
            "a node that two scripts may make in any order");
}

TEST(Tied, WhetherANodeRunsThatTheOtherMakesAnewIsFree) {
  const auto numbers = [](const std::string& making) {
    const Told told(two_accumulators +
                    "'hooks': [{'name': 'asks', 'kind': 'node_pre', 'on': 'accumulate:z', 'steps': ["
                    "    {'do': 'observe', 'what': 'will_run', 'node': 'e'}]},"
                    "  {'name': 'makes', 'kind': 'node_pre', 'on': 'accumulate:x', 'steps': [" +
                    making + "]}]");
    return told.events_of("observe")[0]->compare_number;
  };
  EXPECT_TRUE(numbers(""));
  EXPECT_FALSE(numbers("{'do': 'with', 'recording': true, 'steps': ["
                       "  {'do': 'forward', 'nodes': ['e']}]}"));
}

TEST(Tied, AGraphThatBothGoThroughAndOneReleasesCannotBeTold) {
  EXPECT_EQ(reason_of(two_accumulators +
                      "'hooks': [{'name': 'keeps', 'kind': 'node_pre', 'on': 'accumulate:z',"
                      "    'steps': [{'do': 'grad', 'roots': [{'value': 'e', 'seed': 0}],"
                      "      'inputs': ['x'], 'keep': true}]},"
                      "  {'name': 'releases', 'kind': 'node_pre', 'on': 'accumulate:x',"
                      "    'steps': [{'do': 'grad', 'roots': [{'value': 'e', 'seed': 0}],"
                      "      'inputs': ['x']}]}]"),
            "a graph that is released while another pass may be in it");
}

// Which of the two comes last, and so fails, is free.
TEST(Tied, AnErrorOfAHookOverBothCannotBeTold) {
  EXPECT_EQ(reason_of(two_accumulators +
                      "'hooks': [{'name': 'h', 'kind': 'multi', 'on': ['x', 'z'], 'steps': ["
                      "    {'do': 'throw', 'token': 'bad'}]}]"),
            "an error of a hook over several tensors that have no order");
}

// VAL-2 sums it to an element, which VAL-4 moves; or VAL-4 refuses it before.
TEST(Validation, AGradientOfAnotherDeviceThatIsSummedToOneElementCannotBeTold) {
  EXPECT_EQ(reason_of("'leaves': [{'name': 'x', 'value': 3}],"
                      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'], 'backward': {"
                      "  'returns': [{'tensor': {'device': 'sim:0', 'shape': [2],"
                      "    'values': [1, 1]}}]}}],"
                      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y',"
                      "  'seed': 5}]}]"),
            "a gradient of another device that is summed to one element");
}

// Leaf hooks run inside the accumulator there: while one waits for a pass on a device, the other
// accumulator may begin and end.
TEST(Order, WhatMayRunInsideAPausedVisitNeedNotFollowItsFirstEvent) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4}, {'name': 'd', 'value': {"
      "  'device': 'sim:0', 'shape': [], 'values': [1]}}],"
      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x', 'z']}],"
      "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'x', 'steps': [{'do': 'backward',"
      "  'roots': [{'value': 'd', 'seed': {'device': 'sim:0', 'shape': [], 'values': [2]}}]}]}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 5}]}]",
      "pytorch-1.13");
  EXPECT_FALSE(told.ordered("enter accumulate:x", "enter accumulate:z"));
  EXPECT_TRUE(told.ordered("exit y", "enter accumulate:z"));
}

// ---- Several wrong arguments: an error about any of them is right

TEST(Arguments, OfAWrongSeedAndAnInputWithoutAHistoryEitherIsReported) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': [3, 4]}, {'name': 'c', 'value': 2, 'requires_grad': "
      "false}],"
      "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}],"
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y', 'seed': [1, 1, 1]}],"
      "  'inputs': ['c']}]");
  EXPECT_THAT(told.step("grad").allowed_errors,
              ::testing::IsSupersetOf({ErrorCategory::invalid_argument, ErrorCategory::unused_input,
                                       ErrorCategory::gradient_shape}));
}

TEST(Arguments, OfAWrongSeedAndAnInputThatIsNotReachedEitherIsReported) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': [3, 4]}, {'name': 'z', 'value': 2}],"
      "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}],"
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y', 'seed': [1, 1, 1]}],"
      "  'inputs': ['z']}]");
  EXPECT_THAT(
      told.step("grad").allowed_errors,
      ::testing::IsSupersetOf({ErrorCategory::unused_input, ErrorCategory::gradient_shape}));
}

TEST(Questions, WhetherANodeWithoutAHistoryRunsCannotBeTold) {
  EXPECT_EQ(reason_of("'leaves': [{'name': 'c', 'value': 2, 'requires_grad': false}],"
                      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['c']}],"
                      "'program': [{'do': 'forward'}, {'do': 'observe', 'what': 'will_run',"
                      "  'node': 'y'}]"),
            "a node without history");
}

// An engine may give the seed itself, or a copy of it.
TEST(Results, WhetherAGradientThatWasTheSeedHasItsHistoryCannotBeTold) {
  EXPECT_EQ(reason_of("'leaves': [{'name': 'x', 'value': 3}],"
                      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'],"
                      "  'backward': {'returns': [{'pass': 0}]}}],"
                      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y',"
                      "  'seed': {'from': 'y'}}], 'inputs': ['x'], 'results': ['g']},"
                      "  {'do': 'backward', 'roots': [{'value': 'g', 'seed': 1}]}]"),
            "whether a gradient has a history");
}

// The second derivative of relu is 0 by a history that gives zeros, or by none.
TEST(Results, WhetherAGradientThatDependsOnNothingHasAHistoryCannotBeTold) {
  EXPECT_EQ(reason_of("'leaves': [{'name': 'x', 'value': 3}],"
                      "'nodes': [{'name': 'y', 'op': 'relu', 'inputs': ['x']}],"
                      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y',"
                      "  'seed': 5}], 'inputs': ['x'], 'create': true, 'results': ['g']},"
                      "  {'do': 'backward', 'roots': [{'value': 'g', 'seed': 1}]}]"),
            "whether a gradient has a history");
}

// A derivative that changes nothing gives the seed itself, or a tensor made from it.
TEST(Results, WhetherAGradientThatEqualsTheSeedIsTheSeedCannotBeTold) {
  const auto reason = [](const std::string& create, const std::string& next) {
    return reason_of("'leaves': [{'name': 'x', 'value': [3, 4]}, {'name': 'w', 'value': [5, 6]}],"
                     "'nodes': [{'name': 'y', 'op': 'expand', 'inputs': ['x'], 'shape': [2]}],"
                     "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'g', 'added': 'by_step'}],"
                     "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y',"
                     "    'seed': {'from': 'w'}}], 'inputs': ['x'], 'results': ['g']" +
                     create + "}, " + next + "]");
  };
  const std::string created = ", 'create': true";
  const std::string asks =
      "{'do': 'grad', 'roots': [{'value': 'g', 'seed': [1, 1]}], 'inputs': ['g']}";
  EXPECT_EQ(reason("", asks), "whether a gradient has a history");
  EXPECT_EQ(reason(created, asks), "a gradient that may be the seed itself");
  EXPECT_EQ(reason(created, "{'do': 'add_hook', 'hook': 'h'}"),
            "a gradient that may be the seed itself");
  EXPECT_EQ(reason(created, "{'do': 'backward', 'roots': [{'value': 'g', 'seed': [1, 1]}]}"), "");
}

// A combination is never one of its slots, even if it equals it; `pass` is.
TEST(Results, OnlyWhatIsPassedOnIsTheTensorThatCame) {
  const auto error = [](const std::string& returns) {
    const Told told(
        "'leaves': [{'name': 'x', 'value': 3}, {'name': 'w', 'value': 4}],"
        "'hooks': [{'name': 'twice', 'kind': 'tensor', 'on': 'x', 'returns': [2]},"
        "  {'name': 'h', 'kind': 'tensor', 'on': 'x', 'steps': ["
        "    {'do': 'keep', 'slot': 0, 'as': 'k'}], 'returns': [" +
        returns +
        "]}],"
        "'program': [{'do': 'grad', 'roots': [{'value': 'x', 'seed': {'from': 'w'}}],"
        "    'inputs': ['x'], 'create': true, 'results': ['g']},"
        "  {'do': 'grad', 'roots': [{'value': 'k', 'seed': 5}], 'inputs': ['g']}]");
    return told.error("grad", 1);
  };
  EXPECT_EQ(error("{'pass': 0}"), std::nullopt);
  EXPECT_EQ(error("1"), ErrorCategory::unused_input);
}

TEST(Results, WhatANodeGivesToEachOfItsInputsIsATensorOfItsOwn) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4}],"
      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x', 'z']}],"
      "'hooks': [{'name': 'twice', 'kind': 'tensor', 'on': 'y', 'returns': [2]}],"
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y',"
      "    'seed': {'from': 'y'}}], 'inputs': ['x', 'z'], 'create': true,"
      "    'results': ['g', 'k']},"
      "  {'do': 'grad', 'roots': [{'value': 'g', 'seed': 5}], 'inputs': ['k']}]");
  EXPECT_EQ(told.error("grad", 1), ErrorCategory::unused_input);
}

TEST(Twice, ARefusalOfAnUndefinedGradientCannotBeTold) {
  EXPECT_EQ(reason_of("'leaves': [{'name': 'x', 'value': 3}],"
                      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'],"
                      "  'differentiable': false}],"
                      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y',"
                      "  'seed': 5}], 'inputs': ['x'], 'create': true, 'results': ['g']},"
                      "  {'do': 'backward', 'roots': [{'value': 'g', 'seed': null}]}]"),
            "a second derivative that is refused, of a gradient that is undefined");
}

// ---- Changed views: the base may depend on the view, or the view on the base

const std::string changed_view =
    "'leaves': [{'name': 'x', 'value': [2, 3]}, {'name': 'w', 'value': 5}],"
    "'nodes': [{'name': 'c', 'op': 'clone', 'inputs': ['x']},"
    "  {'name': 'v', 'op': 'select', 'inputs': ['c'], 'dim': 0, 'index': 1},"
    "  {'name': 'u', 'op': 'mul_', 'inputs': ['v', 'w']}],";

TEST(ChangedView, ItsHooksNeedNotRunForItsBase) {
  const Told told(changed_view +
                  "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'u', 'added': 'by_step'}],"
                  "'program': [{'do': 'forward'}, {'do': 'add_hook', 'hook': 'h'},"
                  "  {'do': 'backward', 'roots': [{'value': 'c', 'seed': [1, 1]}], 'keep': true},"
                  "  {'do': 'backward', 'roots': [{'value': 'u', 'seed': 1}]}]");
  const std::vector<const ExpectedEvent*> calls = told.events_of("h");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_FALSE(calls[0]->required);
  EXPECT_TRUE(calls[1]->required);
}

TEST(ChangedView, HooksOfItsBaseCannotBeToldForTheView) {
  EXPECT_EQ(reason_of(changed_view + "'hooks': [{'name': 'h', 'kind': 'retain_grad', 'on': 'c'}],"
                                     "'program': [{'do': 'forward'},"
                                     "  {'do': 'backward', 'roots': [{'value': 'u', 'seed': 1}]}]"),
            "hooks of a base, in a pass from its changed view");
}

TEST(ChangedView, CallbacksThatHooksOfItsViewQueueNeedNotRun) {
  const Told told(changed_view +
                  "'hooks': [{'name': 'h', 'kind': 'node_pre', 'on': 'v', 'steps': ["
                  "    {'do': 'queue_callback', 'callback': 'c1'}]}],"
                  "'callbacks': [{'name': 'c1', 'steps': [{'do': 'queue_callback',"
                  "    'callback': 'c2'}]}, {'name': 'c2', 'steps': []}],"
                  "'program': [{'do': 'forward'},"
                  "  {'do': 'backward', 'roots': [{'value': 'c', 'seed': [1, 1]}]}]");
  EXPECT_FALSE(told.events_of("c1")[0]->required);
  EXPECT_FALSE(told.events_of("c2")[0]->required);
  EXPECT_FALSE(told.step("queue_callback", 0).required);
  EXPECT_FALSE(told.step("queue_callback", 1).required);
}

TEST(ChangedView, AnErrorOfSuchACallbackCannotBeTold) {
  EXPECT_EQ(reason_of(changed_view +
                      "'hooks': [{'name': 'h', 'kind': 'node_pre', 'on': 'v', 'steps': ["
                      "    {'do': 'queue_callback', 'callback': 'bad'}]}],"
                      "'callbacks': [{'name': 'bad', 'steps': [{'do': 'throw', 'token': 't'}]}],"
                      "'program': [{'do': 'forward'},"
                      "  {'do': 'backward', 'roots': [{'value': 'c', 'seed': [1, 1]}]}]"),
            "an error of a callback that may not run");
}

TEST(ChangedView, WhetherItRunsForItsBaseIsFree) {
  const Told told(changed_view.substr(0, changed_view.size() - 2) +
                  ", {'name': 'z', 'op': 'custom', 'inputs': ['c', 'u'], 'backward': {'steps': ["
                  "    {'do': 'observe', 'what': 'will_run', 'node': 'u'},"
                  "    {'do': 'observe', 'what': 'will_run', 'node': 'v'}]}},"
                  "  {'name': 'y', 'op': 'custom', 'inputs': ['c'], 'backward': {'steps': ["
                  "    {'do': 'observe', 'what': 'will_run', 'node': 'u'},"
                  "    {'do': 'observe', 'what': 'will_run', 'node': 'c'}]}}],"
                  "'program': [{'do': 'forward'},"
                  "  {'do': 'backward', 'roots': [{'value': 'z', 'seed': [1, 1]}], 'keep': true},"
                  "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': [1, 1]}]}]");
  std::vector<std::string> seen;
  for (const ExpectedEvent* event : told.events_of("observe")) {
    seen.push_back(event->compare_number ? std::to_string(event->event.number) : "free");
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"1", "free", "free", "1"}));
}

// ---- Derivatives of derivatives

// Whether an engine saves the mask by which it chooses, or nothing.
TEST(Twice, ASecondPassThroughAChoiceThatWasReleasedCannotBeTold) {
  EXPECT_EQ(reason_of("'leaves': [{'name': 'x', 'value': 3}],"
                      "'nodes': [{'name': 'y', 'op': 'minimum', 'inputs': ['x', 'x']}],"
                      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y',"
                      "  'seed': {'from': 'y'}}], 'inputs': ['x'], 'keep': true, 'create': true,"
                      "  'results': ['g']},"
                      "  {'do': 'backward', 'roots': [{'value': 'g', 'seed': 1}]},"
                      "  {'do': 'backward', 'roots': [{'value': 'g', 'seed': 1}]}]"),
            "a released node of a derivative, which may have saved nothing");
}

// A derivative of a gradient, used twice; the second time after it was released.
std::string second_pass_through_the_derivative_of(const std::string& node) {
  return "'leaves': [{'name': 'x', 'value': 1}],"
         "'nodes': [{'name': 'y', 'inputs': ['x'], " +
         node +
         "}],"
         "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y',"
         "  'seed': {'from': 'x'}}], 'inputs': ['x'], 'create': true, 'results': ['g']},"
         "  {'do': 'backward', 'roots': [{'value': 'g', 'seed': 3}]},"
         "  {'do': 'backward', 'roots': [{'value': 'g', 'seed': 6}]},"
         "  {'do': 'read', 'grads': ['x']}]";
}

// Whether an engine makes a tensor of the factor, and saves it. A sign is nothing to save.
TEST(Twice, ASecondPassThroughAReleasedFactorCannotBeTold) {
  EXPECT_EQ(reason_of(second_pass_through_the_derivative_of("'op': 'scale', 'factor': 3")),
            "a released node of a derivative, which may have saved nothing");
  for (const char* operation : {"'op': 'neg'", "'op': 'sum'"}) {
    const Told told(second_pass_through_the_derivative_of(operation));
    EXPECT_THAT(told.error("backward", 1), testing::Eq(std::nullopt)) << operation;
  }
}

}  // namespace
}  // namespace gradcts
