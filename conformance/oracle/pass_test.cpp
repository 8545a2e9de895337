// What a pass demands and what it leaves free: order, what need not run, and what cannot be told.
#include <gmock/gmock.h>

#include "conformance/oracle/oracle_test_support.h"

namespace gradcts {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::UnorderedElementsAre;

const std::string on_sim = "{'device': 'sim:0', 'shape': [], 'values': [1]}";

// ---- Order
// ---------------------------------------------------------------------------------------

// Of two independent branches the newer is first.
std::string branches(const std::string& more = "") {
  return "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}, {'name': 'd', "
         "'value': " +
         on_sim +
         "}], 'nodes': [{'name': 'old', 'op': 'custom', 'inputs': ['a']},"
         "  {'name': 'new', 'op': 'custom', 'inputs': ['b']},"
         "  {'name': 'far', 'op': 'custom', 'inputs': ['d']},"
         "  {'name': 'near', 'op': 'to_device', 'inputs': ['far'], 'device': 'cpu'},"
         "  {'name': 'sum', 'op': 'add', 'inputs': ['old', 'new']},"
         "  {'name': 'all', 'op': 'add', 'inputs': ['sum', 'near']}]," +
         more;
}

// By two threads, and the rest by the main thread.
std::string made_by(const std::string& first, const std::string& second, const std::string& rest) {
  return "{'do': 'parallel', 'threads': [{'name': 'one', 'steps': [{'do': 'forward', 'nodes': [" +
         first + "]}]}, {'name': 'two', 'steps': [{'do': 'forward', 'nodes': [" + second +
         "]}]}]}, {'do': 'forward', 'nodes': [" + rest + "]}";
}

TEST(OrderOfAPass, ORDER_1_HoldsOnOneQueueAmongNodesOfOneThread) {
  const std::string pass = ", {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]}]";
  const Told one(branches("'program': [{'do': 'forward'}" + pass));
  EXPECT_TRUE(one.ordered("exit new", "enter old"));
  const Told another(
      branches("'program': [" + made_by("'far', 'near'", "'old', 'new', 'sum'", "'all'") + pass));
  EXPECT_TRUE(another.ordered("exit new", "enter old")) << "all made by another thread";
  const Told two(
      branches("'program': [" + made_by("'old'", "'new'", "'sum', 'far', 'near', 'all'") + pass));
  EXPECT_FALSE(two.ordered("exit new", "enter old"));
  EXPECT_FALSE(two.ordered("exit old", "enter new"));
  EXPECT_TRUE(two.ordered("exit sum", "enter old"));
  EXPECT_TRUE(two.ordered("exit accumulate:a", "end"));
}

TEST(OrderOfAPass, ORDER_1_IsLostWhereADeviceTakesPart) {
  const std::string program =
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'all', 'seed': 1}], "
      "'inputs': [";
  const Told both(branches(program + "'a', 'b', 'd']}]"));
  EXPECT_FALSE(both.ordered("exit new", "enter old"));
  EXPECT_FALSE(both.ordered("exit new", "enter far"));
  EXPECT_TRUE(both.ordered("exit far", "end"));
  const Told cpu(branches(program + "'a', 'b']}]"));
  EXPECT_TRUE(cpu.ordered("exit new", "enter old")) << "the device's node is not needed";
}

TEST(OrderOfAPass, TOPO_1_PassesThroughWhatLeavesNoEvents) {
  const Told told(
      "'trace': 'scripted', 'leaves': [{'name': 'x', 'value': 1}, {'name': 'd', 'value': " +
      on_sim +
      "}],"
      "'nodes': [{'name': 'low', 'op': 'custom', 'inputs': ['x']},"
      "  {'name': 'silent', 'op': 'neg', 'inputs': ['low']},"
      "  {'name': 'top', 'op': 'custom', 'inputs': ['silent']},"
      "  {'name': 'moved', 'op': 'to_device', 'inputs': ['d'], 'device': 'cpu'},"
      "  {'name': 'all', 'op': 'add', 'inputs': ['top', 'moved']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'all', 'seed': 1}]}]");
  EXPECT_THAT(told.happenings(),
              ElementsAre("begin", "enter top", "exit top", "enter low", "exit low", "end"));
  EXPECT_TRUE(told.ordered("exit top", "enter low"));
}

TEST(OrderOfAPass, CB_1_TheEndFollowsWhatCameBeforeNodesWithoutEvents) {
  const Told told(
      "'trace': 'scripted', 'leaves': [{'name': 'x', 'value': 1}],"
      "'nodes': [{'name': 'silent', 'op': 'neg', 'inputs': ['x']},"
      "  {'name': 'top', 'op': 'custom', 'inputs': ['silent']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'top', 'seed': 1}]}]");
  EXPECT_THAT(told.happenings(), ElementsAre("begin", "enter top", "exit top", "end"));
  EXPECT_EQ(std::string(told.expectation.order.back().clause), "CB-1");
}

// ---- Visits that wait for a pass on a device, where others may run meanwhile (REENT-2, any-ready)

Dialect any_ready() {
  return make_dialect("reference", {{"REENT-2", "any-ready"}});
}

// Four nodes that are ready together, of which the first and the third wait.
std::string waiting(const std::string& more = "") {
  const std::string waits =
      ", 'backward': {'steps': [{'do': 'backward', 'roots': [{'value': 'inner', 'seed': " + on_sim +
      "}]}]}}";
  return "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}, {'name': 'c', 'value': "
         "1}, {'name': 'd', 'value': 1}, {'name': 'p', 'value': " +
         on_sim +
         "}], 'nodes': [{'name': 'inner', 'op': 'custom', 'inputs': ['p']},"
         "  {'name': 'fourth', 'op': 'custom', 'inputs': ['a']},"
         "  {'name': 'third', 'op': 'custom', 'inputs': ['b']" +
         waits +
         ", {'name': 'second', 'op': 'custom', 'inputs': ['c']},"
         "  {'name': 'first', 'op': 'custom', 'inputs': ['d']" +
         waits +
         ", {'name': 'top', 'op': 'custom', 'inputs': ['fourth', 'third', 'second', 'first']}]," +
         more +
         "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'top', 'seed': "
         "1}]}]";
}

TEST(WaitingVisits, CB_1_TheEndFollowsAllThatMayRunMeanwhile) {
  const Told told(scenario_of(waiting()), any_ready());
  for (const std::string last :
       {"first", "second", "third", "fourth", "accumulate:a", "accumulate:c", "accumulate:d"}) {
    EXPECT_TRUE(told.ordered("exit " + last, "end")) << last;
  }
}

TEST(WaitingVisits, ERR_2_WhatFailsMayDoSoInsideTheFirstOne) {
  const Told told(scenario_of(waiting("'hooks': [{'name': 'h', 'kind': 'node_pre', 'on': 'fourth', "
                                      "'steps': [{'do': 'throw', 'token': 'bad'}]}],")),
                  any_ready());
  EXPECT_EQ(told.runs("top"), 1);
  EXPECT_EQ(told.runs("first"), 1) << "it is the first by ORDER-1";
  EXPECT_EQ(told.runs("second"), 0);
  EXPECT_EQ(told.runs("third"), 0);
}

// Which of the two comes first is free: where it is the one that fails, the other does not begin.
TEST(WaitingVisits, ERR_2_OfAccumulatorsThatAreReadyTogetherTheOneThatFailsMayBeTheFirst) {
  const Told told(
      scenario_of("'leaves': [{'name': 'w', 'value': 2}, {'name': 'x', 'value': 3}, {'name': 'z', "
                  "'value': 4}, {'name': 'd', 'value': " +
                  on_sim +
                  "}], 'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['w', 'x', 'z']}],"
                  "'hooks': [{'name': 'sees', 'kind': 'tensor', 'on': 'w'},"
                  "  {'name': 'waits', 'kind': 'tensor', 'on': 'x', 'steps': [{'do': 'backward', "
                  "'roots': [{'value': 'd', 'seed': " +
                  on_sim +
                  "}]}]}, {'name': 'fails', 'kind': 'tensor', 'on': 'z', 'steps': ["
                  "    {'do': 'throw', 'token': 'bad'}]}],"
                  "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', "
                  "'seed': 5}]}]"),
      any_ready());
  EXPECT_FALSE(told.events_of("sees")[0]->required);
  EXPECT_FALSE(told.events_of("waits")[0]->required);
}

TEST(WaitingVisits, CB_1_WhichQueuesItsCallbackFirstCannotBeTold) {
  const std::string body = waiting(
      "'callbacks': [{'name': 'c1'}, {'name': 'c2'}], 'hooks': ["
      "{'name': 'h1', 'kind': 'node_post', 'on': 'first', 'steps': [{'do': 'queue_callback', "
      "'callback': 'c1'}]}, {'name': 'h2', 'kind': 'node_post', 'on': 'second', 'steps': [{'do': "
      "'queue_callback', 'callback': 'c2'}]}],");
  EXPECT_EQ(reason_of(body), "");
  EXPECT_EQ(expect(scenario_of(body), any_ready()).cannot_tell,
            "callbacks of nodes that are not ordered");
}

TEST(WaitingVisits, CB_1_ACallbackThatWaitsIsNone) {
  const Told told(
      scenario_of("'leaves': [{'name': 'x', 'value': 3}, {'name': 'd', 'value': " + on_sim +
                  "}], 'callbacks': [{'name': 'c', 'steps': [{'do': 'backward', 'roots': ["
                  "  {'value': 'd', 'seed': " +
                  on_sim +
                  "}]}]}], 'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'x', 'steps': ["
                  "  {'do': 'queue_callback', 'callback': 'c'}]}],"
                  "'program': [{'do': 'backward', 'roots': [{'value': 'x', 'seed': 5}]}]"),
      any_ready());
  EXPECT_TRUE(told.ordered("exit accumulate:x", "c"));
  EXPECT_TRUE(told.ordered("c", "enter accumulate:d"));
  EXPECT_EQ(told.runs("accumulate:x"), 1);
}

// ---- What scripts see of visits without an order among them (ORDER-4)

// 'old' and 'new' are made by two threads, and 'sum' leads to both.
std::string unordered(const std::string& step_of_old, const std::string& pass,
                      const std::string& step_of_sum = "") {
  return "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}, {'name': 'z', 'value': "
         "1}], 'nodes': [{'name': 'e', 'op': 'mul', 'inputs': ['b', 'b']},"
         "  {'name': 'old', 'op': 'custom', 'inputs': ['a'], 'backward': {'steps': [" +
         step_of_old +
         "]}}, {'name': 'new', 'op': 'custom', 'inputs': ['e']},"
         "  {'name': 'sum', 'op': 'custom', 'inputs': ['old', 'new'], 'backward': {'steps': [" +
         step_of_sum + "]}}], 'program': [" + made_by("'old'", "'e', 'new'", "'sum'") +
         ", {'roots': [{'value': 'sum', 'seed': 1}], " + pass + "}]";
}

TEST(UnorderedVisits, KEEP_1_AGraphThatTheOuterPassReleasesCannotBeTold) {
  const std::string through =
      "{'do': 'grad', 'roots': [{'value': 'e', 'seed': 2}], 'inputs': ['b'], 'keep': true}";
  EXPECT_EQ(reason_of(unordered(through, "'do': 'backward'")),
            "a graph that is released while another pass may be in it");
  EXPECT_EQ(reason_of(unordered(through, "'do': 'backward', 'keep': true")), "");
  EXPECT_EQ(reason_of(unordered(through, "'do': 'grad', 'inputs': ['a', 'e']")), "")
      << "what is only captured is not released (PRUNE-2)";
}

TEST(UnorderedVisits, PRUNE_2_WhatTheOuterPassDoesNotVisitMayBeReleased) {
  const std::string releases =
      "{'do': 'grad', 'roots': [{'value': 'e', 'seed': 2}], 'inputs': ['b']}";
  EXPECT_EQ(reason_of(unordered(releases, "'do': 'grad', 'inputs': ['a']")), "");
  EXPECT_EQ(reason_of(unordered(releases, "'do': 'grad', 'inputs': ['a', 'b'], 'keep': true")),
            "a graph that is released while another pass may be in it");
}

TEST(UnorderedVisits, TOPO_1_WhatOneThatLeadsToTheOtherDidIsKnown) {
  const std::string adds = "{'do': 'backward', 'roots': [{'value': 'z', 'seed': 5}]}";
  const std::string reads = "{'do': 'read', 'grads': ['z']}";
  const Told after(unordered(reads, "'do': 'backward'", adds));
  EXPECT_THAT(after.numbers("read"), ElementsAre(5));
  EXPECT_THAT(after.step("read").value_known, ElementsAre(true));
  const Told before(unordered(adds, "'do': 'backward'", reads));
  EXPECT_THAT(before.numbers("read"), ElementsAre(Told::undefined));
  EXPECT_THAT(before.step("read").value_known, ElementsAre(true));
}

TEST(UnorderedVisits, KEEP_2_AGraphThatBothKeepIsReleasedByNone) {
  const auto hook = [](const std::string& leaf) {
    return "{'name': 'h" + leaf + "', 'kind': 'node_pre', 'on': 'accumulate:" + leaf +
           "', 'steps': [{'do': 'grad', 'roots': [{'value': 'e', 'seed': 2}], 'inputs': ['x'], "
           "'keep': true}]}";
  };
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4}],"
      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x', 'z']},"
      "  {'name': 'e', 'op': 'mul', 'inputs': ['x', 'x']}], 'hooks': [" +
      hook("x") + ", " + hook("z") +
      "], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': "
      "5}]}]");
  EXPECT_THAT(told.numbers("grad", 0), ElementsAre(12));
  EXPECT_THAT(told.numbers("grad", 1), ElementsAre(12));
}

// ---- What runs
// ------------------------------------------------------------------------------------

TEST(WhatRuns, PRUNE_4_OnlyAGradThatWantsAllMayBeRefusedBeforehand) {
  const std::string graph =
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4}],"
      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x']}],"
      "'program': [{'do': 'forward'}, {'roots': [{'value': 'y', 'seed': 5}], 'inputs': ['x', "
      "'z'], ";
  EXPECT_EQ(Told(graph + "'do': 'grad'}]").runs("y"), 0);
  EXPECT_EQ(Told(graph + "'do': 'grad', 'allow_unused': true}]").runs("y"), 1);
  EXPECT_EQ(Told(graph + "'do': 'grad', 'materialise': true}]").runs("y"), 1);
  EXPECT_EQ(Told(graph + "'do': 'backward'}]").runs("y"), 1);
}

TEST(WhatRuns, PRUNE_2_NorDoHooksRunWhereNothingIsNeeded) {
  const Told told(
      branches("'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'old'},"
               "  {'name': 'i', 'kind': 'tensor', 'on': 'new'}],"
               "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': "
               "'sum', 'seed': 1}], 'inputs': ['b']}]"));
  EXPECT_THAT(told.happenings(), Not(Contains("h")));
  EXPECT_THAT(told.happenings(), Contains("i"));
}

TEST(WhatRuns, PRUNE_8_AnInputWithoutAHistoryIsNotNeeded) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'c', 'value': 4, 'requires_grad': false}],"
      "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['c', 'x'], 'backward': {'steps': [{'do': "
      "'observe', 'what': 'needed'}], 'returns': [null, 1]}}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'f', 'seed': 1}]}]");
  EXPECT_EQ(told.events_of("observe")[0]->event.number, 2);
}

TEST(WhatRuns, DEV_5_ADeviceRefusesOnlyThosePassesThatNeedIt) {
  const std::string graph = "'configuration': {'refusals': [{'device': 'sim:0', 'times': 1}]}," +
                            branches(
                                "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': "
                                "[{'value': 'all', 'seed': 1}], 'inputs': [");
  EXPECT_EQ(Told(graph + "'a', 'b']}]").error("grad"), std::nullopt);
  EXPECT_EQ(Told(graph + "'a', 'd']}]").error("grad"), ErrorCategory::device_failure);
}

TEST(WhatRuns, ERR_2_WhatTheFailingNodeWaitsForIsCertainAmongNodesOfTwoThreads) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}],"
      "'nodes': [{'name': 'bad', 'op': 'custom', 'inputs': ['a'], 'backward': {'steps': [{'do': "
      "'throw', 'token': 'boom'}]}}, {'name': 'other', 'op': 'custom', 'inputs': ['b']},"
      "  {'name': 'sum', 'op': 'custom', 'inputs': ['bad', 'other']}],"
      "'program': [" +
      made_by("'bad'", "'other'", "'sum'") +
      ", {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]}]");
  EXPECT_EQ(told.runs("sum"), 1);
  EXPECT_EQ(told.runs("other"), 0);
}

// ---- Arguments
// ------------------------------------------------------------------------------------

// 'n' is undefined, and 'c' has no history.
std::string with_nothing(const std::string& step, const std::string& announced_to = "") {
  const std::string deliver = "{'do': 'deliver', 'announcement': 'a', 'gradient': 1}, ";
  return (announced_to.empty()
              ? ""
              : "'announcements': [{'name': 'a', 'to': '" + announced_to + "'}],") +
         "'leaves': [{'name': 'x', 'value': 3}, {'name': 'u', 'value': 4}, {'name': 'c', 'value': "
         "5, 'requires_grad': false}],"
         "'nodes': [{'name': 'y', 'op': 'mul', 'inputs': ['x', 'x']}],"
         "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y', 'seed': 3}],"
         "  'inputs': ['x', 'u'], 'allow_unused': true, 'keep': true, 'results': ['g', 'n']}, " +
         (announced_to.empty() ? "" : deliver) + "{" + step + "}]";
}

TEST(ArgumentsOfAPass, WhatIsUndefinedOrHasNoHistoryIsNone) {
  const std::string roots = "'roots': [{'value': 'y', 'seed': 3}], ";
  for (const std::string name : {"n", "c"}) {
    for (const std::string& body : {
             with_nothing("'do': 'backward', 'roots': [{'value': '" + name + "', 'seed': 1}]"),
             with_nothing("'do': 'backward', " + roots + "'announced': ['a']", name),
             with_nothing("'do': 'backward', " + roots + "'inputs': ['" + name + "']"),
         }) {
      EXPECT_EQ(Told(body).error("backward"), ErrorCategory::invalid_argument) << body;
    }
  }
  const std::string grad = "'do': 'grad', " + roots + "'inputs': ";
  EXPECT_EQ(reason_of(with_nothing(grad + "['c']")), "");
  for (const std::string option : {", 'allow_unused': true", ", 'materialise': true"}) {
    EXPECT_EQ(Told(with_nothing(grad + "['n']" + option)).error("grad", 1),
              ErrorCategory::invalid_argument);
    EXPECT_EQ(reason_of(with_nothing(grad + "['c']" + option)), "an input that needs no gradient");
  }
}

TEST(ArgumentsOfAPass, AWrongSeedIsNoUnusedInput) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': [3, 4]}],"
      "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}],"
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y', 'seed': [1, 1, 1]}],"
      "  'inputs': ['x']}]");
  EXPECT_THAT(told.step("grad").allowed_errors,
              UnorderedElementsAre(ErrorCategory::gradient_shape));
}

TEST(ArgumentsOfAPass, TheHistoryOfASeedMattersOnlyWhereThePassIsRecorded) {
  const std::string body =
      "'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'],"
      "  'backward': {'returns': [{'pass': 0}]}}],"
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y', 'seed': {'from': "
      "'y'}}], 'inputs': ['x'], 'keep': true, 'results': ['g']},"
      "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': {'from': 'g'}}]";
  EXPECT_EQ(reason_of(body + "}]"), "");
  EXPECT_EQ(reason_of(body + ", 'create': true}]"), "whether a gradient has a history");
}

TEST(ArgumentsOfAPass, ASeedThatNobodyDeliveredYetCannotBeTold) {
  EXPECT_EQ(reason_of("'announcements': [{'name': 'a', 'to': 'x'}],"
                      "'leaves': [{'name': 'x', 'value': 3}],"
                      "'program': [{'do': 'backward', 'roots': [], 'announced': ['a']}]"),
            "a gradient that is delivered later, in the order of writing");
}

// ---- Hooks
// ----------------------------------------------------------------------------------------

// A graph x -> y, the hooks, and a pass.
std::string hooked(const std::string& hooks) {
  return "'leaves': [{'name': 'x', 'value': 5}],"
         "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
         "'hooks': [" +
         hooks +
         "], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': "
         "1}],"
         " 'keep': true}, {'do': 'read', 'grads': ['x']}]";
}

TEST(HooksOfAPass, HOOK_5_APostHookThatIsAddedMeanwhileRuns) {
  const std::string post = "{'kind': 'node_post', 'on': 'y', 'name': ";
  const Told told(hooked(post + "'h', 'steps': [{'do': 'add_hook', 'hook': 'late'}]}, " + post +
                         "'late', 'added': 'by_step'}"));
  EXPECT_TRUE(told.ordered("h", "late"));
  const std::string pre = "{'kind': 'node_pre', 'on': 'y', 'name': ";
  EXPECT_EQ(reason_of(hooked(pre + "'h', 'steps': [{'do': 'add_hook', 'hook': 'late'}]}, " + pre +
                             "'late', 'added': 'by_step'}")),
            "a hook added to a list of hooks that is running");
}

TEST(HooksOfAPass, HOOK_5_WhatIsRemovedDoesNotRunInEitherOrderOfCaptures) {
  for (const char* alternative : {"hooks-first", "capture-first"}) {
    for (const char* kind : {"node_pre", "tensor", "node_post"}) {
      const std::string hook = "{'kind': '" + std::string(kind) + "', 'on': 'y', 'name': ";
      const Told told(scenario_of(hooked(hook +
                                         "'h', 'steps': [{'do': 'remove_hook', 'hook': "
                                         "'gone'}]}, " +
                                         hook + "'gone'}")),
                      make_dialect("reference", {{"HOOK-1", alternative}}));
      EXPECT_THAT(told.happenings(), Contains("h")) << kind;
      EXPECT_THAT(told.happenings(), Not(Contains("gone"))) << kind;
    }
  }
}

// With capture-first the hooks of a tensor and its retain-grad stand where the first of them was
// added, among the pre-hooks of its node.
TEST(HooksOfAPass, HOOK_1_WithCaptureFirstATensorsHooksStandWhereItsFirstWasAdded) {
  const std::string pre = "{'name': 'pre', 'kind': 'node_pre', 'on': 'y', 'returns': [3]}";
  const std::string tensor = "{'name': 'h', 'kind': 'tensor', 'on': 'y', 'returns': [10]}";
  const std::string retain = "{'name': 'r', 'kind': 'retain_grad', 'on': 'y'}";
  struct Order {
    std::string hooks;
    std::vector<double> grads;  // of y, where it is retained, and of x
    double pre;                 // what the pre-hook is given
  };
  const std::vector<Order> orders = {
      {pre + "," + tensor, {Told::undefined, 60}, 1},
      {tensor + "," + pre, {Told::undefined, 60}, 10},
      {pre + "," + retain, {3, 6}, 1},
      {retain + "," + pre, {1, 6}, 1},
      {retain + "," + pre + "," + tensor, {10, 60}, 10},
      {pre + "," + retain + "," + tensor, {30, 60}, 1},
  };
  for (const Order& order : orders) {
    std::string body = hooked(order.hooks);
    body.replace(body.find("'grads': ['x']"), 14, "'grads': ['y', 'x']");
    const Told told(scenario_of(body), make_dialect("reference", {{"HOOK-1", "capture-first"}}));
    EXPECT_EQ(told.numbers("read"), order.grads) << order.hooks;
    EXPECT_EQ(told.given("pre"), order.pre) << order.hooks;
  }
}

TEST(HooksOfAPass, HOOK_8_TwoOutputsOfANodeAreToldApart) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': [1, 2]}],"
      "'nodes': [{'name': 'u', 'op': 'unbind', 'inputs': ['a'], 'outputs': ['a0', 'a1'], 'dim': "
      "0}], 'hooks': [{'name': 'm', 'kind': 'multi', 'on': ['a0', 'a1']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'a0', 'seed': 4}, "
      "{'value': 'a1', 'seed': 5}]}]");
  ASSERT_EQ(told.events_of("m").size(), 1U);
  EXPECT_EQ(told.given("m", 0), 4);
  EXPECT_EQ(told.given("m", 1), 5);
  EXPECT_TRUE(told.events_of("m")[0]->compare_values);
}

TEST(HooksOfAPass, HOOK_8_WhereOneTensorLeadsToTheOthersItsPlaceIsCertain) {
  const std::string several = "{'name': 'm', 'kind': 'multi', 'on': ['y', 'x']";
  const Told told(hooked(several + "}"));
  EXPECT_TRUE(told.ordered("exit y", "m"));
  EXPECT_TRUE(told.ordered("m", "enter accumulate:x"));
  const Told failing(hooked(several + ", 'steps': [{'do': 'throw', 'token': 'bad'}]}"));
  EXPECT_EQ(failing.error("backward"), ErrorCategory::user);
  const Told tied(
      "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}],"
      "'nodes': [{'name': 'y', 'op': 'add', 'inputs': ['a', 'b']}],"
      "'hooks': [{'name': 'm', 'kind': 'multi', 'on': ['a', 'b']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 3}]}]");
  EXPECT_FALSE(tied.ordered("m", "enter accumulate:a"));
  EXPECT_FALSE(tied.ordered("m", "enter accumulate:b"));
  EXPECT_TRUE(tied.ordered("m", "end"));
}

// ---- More hooks
// -----------------------------------------------------------------------------------

// x -> y by a node that gives `returns`, and a hook on y or on its node.
std::string answered(const std::string& hook, const std::string& returns = "1") {
  return "'leaves': [{'name': 'x', 'value': [5, 6]}],"
         "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']},"
         "  {'name': 'top', 'op': 'custom', 'inputs': ['y'], 'backward': {'returns': [" +
         returns + "]}}], 'hooks': [" + hook +
         "], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'top', 'seed': "
         "[1, 2]}]}, {'do': 'read', 'grads': ['x']}]";
}

TEST(HooksOfAPass, HOOK_3_AnotherKindOfTensorIsAnErrorOrCannotBeTold) {
  const auto returning_tensor = [](const std::string& kind, const std::string& tensor) {
    return answered("{'name': 'h', 'kind': '" + kind +
                    "', 'on': 'y', 'returns': [{'tensor': " + tensor + "}]}");
  };
  for (const std::string tensor : {
           "{'type': 'float32', 'shape': [2], 'values': [1, 1]}",
           "{'device': 'sim:0', 'shape': [2], 'values': [1, 1]}",
           "{'shape': [3], 'values': [1, 1, 1]}",
       }) {
    EXPECT_EQ(Told(returning_tensor("tensor", tensor)).error("backward"),
              ErrorCategory::hook_result)
        << tensor;
  }
  const std::string wide = "{'shape': [2, 2], 'values': [1, 1, 1, 1]}";
  EXPECT_EQ(reason_of(returning_tensor("tensor", wide)),
            "a hook's result that could be summed to the gradient's shape");
  for (const std::string kind : {"node_pre", "node_post"}) {
    EXPECT_EQ(reason_of(returning_tensor(kind, wide)), "a node hook's result of another shape");
  }
  for (const std::string kind : {"tensor", "node_pre"}) {
    EXPECT_EQ(reason_of(answered("{'name': 'h', 'kind': '" + kind +
                                     "', 'on': 'y', 'returns': ["
                                     "{'tensor': {'shape': [2], 'values': [1, 1]}}]}",
                                 "null")),
              "a hook that puts a gradient in place of none")
        << kind;
  }
}

TEST(HooksOfAPass, HOOK_7_ACaptureHookReturnsOneTensor) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 1}], 'hooks': [{'name': 'c', 'kind': 'capture', "
      "'returns': []}], 'program': [{'do': 'grad', 'roots': [{'value': 'x', 'seed': 1}], 'inputs': "
      "['x'], 'capture_hooks': [{'input': 0, 'hook': 'c'}]}]");
  EXPECT_EQ(told.error("grad"), ErrorCategory::hook_result);
}

// A built-in node need not compute what nothing needs; one of the scenario's own does what it says.
TEST(HooksOfAPass, HOOK_4_WhatAPostHookSeesIsKnownWhereEachInputNeedsItsGradient) {
  const auto compared = [](const std::string& op, const std::string& inputs, bool c_needs) {
    const Told told(
        "'leaves': [{'name': 'x', 'value': 3}, {'name': 'c', 'value': 4, "
        "'requires_grad': " +
        std::string(c_needs ? "true" : "false") + "}], 'nodes': [{'name': 'y', 'op': '" + op +
        "', 'inputs': ['x', 'c']" + (op == "custom" ? ", 'backward': {'returns': [1, 1]}" : "") +
        "}], 'hooks': [{'name': 'h', 'kind': 'node_post', 'on': 'y'}],"
        "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', "
        "'seed': 5}]" +
        inputs + "}]");
    return told.events_of("h")[0]->compare_values;
  };
  EXPECT_TRUE(compared("add", "", true));
  EXPECT_FALSE(compared("add", ", 'inputs': ['x']", true));
  EXPECT_FALSE(compared("add", "", false));
  EXPECT_TRUE(compared("custom", ", 'inputs': ['x']", true));
  EXPECT_TRUE(compared("custom", "", false));
}

TEST(HooksOfAPass, APostAccumulateHookThatDoesSomethingWhereNothingCameCannotBeTold) {
  EXPECT_EQ(reason_of(answered("{'name': 'h', 'kind': 'post_accumulate', 'on': 'x', 'steps': ["
                               "{'do': 'read', 'values': ['x']}]}",
                               "null")),
            "a post-accumulate hook where nothing was accumulated");
}

// ---- Inputs of a backward
// ---------------------------------------------------------------------------

TEST(InputsOfABackward, PRUNE_5_AreAccumulatedOnceWhereTheyAreDefined) {
  const auto grads = [](const std::string& hooks, const std::string& returns) {
    std::string body = answered(hooks, returns);
    const std::string roots = "'seed': [1, 2]}]";
    body.insert(body.find(roots) + roots.size(), ", 'inputs': ['y']");
    body.replace(body.find("'grads': ['x']"), 14, "'grads': ['y', 'x']");
    return Told(body).numbers("read");
  };
  EXPECT_THAT(grads("", "1"), ElementsAre(1, 2, Told::undefined));
  EXPECT_THAT(grads("", "null"), ElementsAre(Told::undefined, Told::undefined));
  EXPECT_THAT(grads("{'name': 'r', 'kind': 'retain_grad', 'on': 'y'}", "1"),
              ElementsAre(1, 2, Told::undefined));
}

TEST(InputsOfABackward, ROOT_5_APassOfAnnouncementsAloneHasUnusedInputs) {
  const Told told(
      "'announcements': [{'name': 'a', 'to': 'x'}], 'leaves': [{'name': 'x', 'value': 3}, {'name': "
      "'z', 'value': 4}], 'program': [{'do': 'deliver', 'announcement': 'a', 'gradient': 1},"
      "  {'do': 'grad', 'roots': [], 'announced': ['a'], 'inputs': ['x', 'z']}]");
  EXPECT_EQ(told.error("grad"), ErrorCategory::unused_input);
}

// ---- Errors
// ---------------------------------------------------------------------------------------

TEST(ErrorsOfAPass, ERR_2_OfAccumulatorsThatAreReadyTogetherTheOthersMayHaveRun) {
  const auto runs = [](const std::string& throwing) {
    std::string hooks;
    for (const char leaf : throwing) {
      hooks += std::string(hooks.empty() ? "" : ", ") + "{'name': 'h" + leaf +
               "', 'kind': 'node_pre', 'on': 'accumulate:" + leaf +
               "', 'steps': [{'do': 'throw', 'token': 't" + leaf + "'}]}";
    }
    const Told told(
        "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}, {'name': 'c', "
        "'value': 1}, {'name': 'd', 'value': 1}],"
        "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['d']},"
        "  {'name': 'g', 'op': 'custom', 'inputs': ['a', 'b', 'f']},"
        "  {'name': 'top', 'op': 'custom', 'inputs': ['c', 'g']}], 'hooks': [" +
        hooks +
        "], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': "
        "'top', 'seed': 1}]}]");
    std::string certain;
    for (const char leaf : std::string("abcd")) {
      certain += told.runs(std::string("accumulate:") + leaf) == 1 ? leaf : '-';
    }
    EXPECT_EQ(told.runs("top"), 1);
    EXPECT_EQ(told.runs("f"), throwing == "d" ? 1 : 0);
    const bool fails_alone = throwing.size() == 1;
    for (const char leaf : throwing) {
      EXPECT_EQ(told.events_of(std::string("h") + leaf)[0]->required, fails_alone);
    }
    EXPECT_THAT(told.happenings(), Contains("enter accumulate:b")) << "it may run";
    EXPECT_THAT(told.happenings(),
                throwing == "d" ? testing::Matcher<std::vector<std::string>>(Contains("enter f"))
                                : Not(Contains("enter f")));
    return certain;
  };
  EXPECT_EQ(runs("a"), "--c-") << "b is ready with a, c was before, d comes later";
  EXPECT_EQ(runs("ab"), "--c-") << "either may be first";
  EXPECT_EQ(runs("d"), "abc-");
}

TEST(ErrorsOfAPass, ORDER_1_ALeafThatIsReadyWithTheFailingNodeWasFirst) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': 1}, {'name': 'c', 'value': 1}],"
      "'nodes': [{'name': 'g', 'op': 'custom', 'inputs': ['a'], 'backward': {'steps': [{'do': "
      "'throw', 'token': 'bad'}]}}, {'name': 'top', 'op': 'custom', 'inputs': ['c', 'g']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'top', 'seed': 1}]}]");
  EXPECT_EQ(told.runs("accumulate:c"), 1);
}

// The first of its gradients was delivered when the second one leads nowhere.
TEST(ErrorsOfAPass, ERR_2_ALeafDoesNotStartAfterTheNodeThatFeedsItFailed) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'y', 'value': 4}, {'name': 'z', 'value': 5}],"
      "'nodes': [{'name': 'a', 'op': 'custom', 'inputs': ['x', 'y'], 'backward': {'steps': ["
      "  {'do': 'redirect', 'node': 'a', 'edge': 1, 'to': 'z'}]}}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'a', 'seed': 5}]}]");
  EXPECT_EQ(told.error("backward"), ErrorCategory::incomplete);
  EXPECT_THAT(told.happenings(), Not(Contains("enter accumulate:x")));
}

TEST(ErrorsOfAPass, ERR_1_OfTwoErrorsFromOutsideEitherIsReported) {
  const Told told(
      "'announcements': [{'name': 'a', 'to': 'm'}, {'name': 'b', 'to': 'x'}],"
      "'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'm', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'program': [{'do': 'forward'}, {'do': 'deliver', 'announcement': 'a', 'error': 'lost'},"
      "  {'do': 'deliver', 'announcement': 'b', 'error': 'gone'},"
      "  {'do': 'backward', 'roots': [{'value': 'm', 'seed': 5}], 'announced': ['a', 'b']}]");
  EXPECT_THAT(told.step("backward").allowed_tokens, testing::IsSupersetOf({"lost", "gone"}));
}

TEST(ErrorsOfAPass, ERR_1_AnErrorFromOutsideOrOneOfANodeIsReported) {
  const Told told(
      "'announcements': [{'name': 'a', 'to': 'm'}], 'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'm', 'op': 'scale', 'inputs': ['x'], 'factor': 2},"
      "  {'name': 't', 'op': 'custom', 'inputs': ['m'], 'backward': {'steps': [{'do': 'throw', "
      "'token': 'boom'}]}}],"
      "'program': [{'do': 'forward'}, {'do': 'deliver', 'announcement': 'a', 'error': 'lost'},"
      "  {'do': 'backward', 'roots': [{'value': 't', 'seed': 5}], 'announced': ['a']}]");
  EXPECT_THAT(told.step("backward").allowed_tokens, testing::IsSupersetOf({"lost", "boom"}));
}

TEST(ErrorsOfAPass, PRUNE_4_OfANodeInAPassThatMayBeRefusedEitherIsReported) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4}],"
      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': [{'do': "
      "'throw', 'token': 'boom'}]}}],"
      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y', 'seed': 5}], "
      "'inputs': ['x', 'z']}]");
  EXPECT_THAT(told.step("grad").allowed_errors,
              UnorderedElementsAre(ErrorCategory::user, ErrorCategory::unused_input));
  EXPECT_EQ(told.runs("y"), 0);
}

TEST(ErrorsOfAPass, ABuiltInNodeThatFailsNeedNotBegin) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 2}], 'nodes': [{'name': 'y', 'op': 'mul', 'inputs': ['x', "
      "'x']}], 'program': [{'do': 'forward'}, {'do': 'repeat', 'times': 2, 'steps': [{'do': "
      "'backward', 'roots': [{'value': 'y', 'seed': 1}]}]}]");
  EXPECT_EQ(told.error("backward", 1), ErrorCategory::graph_released);
  EXPECT_EQ(told.runs("y"), 1);
  EXPECT_EQ(told.events_of("exit y").size(), 1U);
}

TEST(ErrorsOfAPass, KEEP_5_WhatWaitsForTheFailingNodeWasNotReleased) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': 2}, {'name': 'b', 'value': 1}],"
      "'nodes': [{'name': 'low', 'op': 'mul', 'inputs': ['a', 'a']},"
      "  {'name': 'bad', 'op': 'custom', 'inputs': ['low'], 'backward': {'steps': [{'do': "
      "'throw', 'token': 'boom'}]}}, {'name': 'other', 'op': 'custom', 'inputs': ['b']},"
      "  {'name': 'sum', 'op': 'custom', 'inputs': ['bad', 'other']}], 'program': [" +
      made_by("'low', 'bad'", "'other'", "'sum'") +
      ", {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]},"
      "  {'do': 'backward', 'roots': [{'value': 'low', 'seed': 3}]}, {'do': 'read', 'grads': "
      "['a']}]");
  EXPECT_EQ(told.error("backward", 0), ErrorCategory::user);
  EXPECT_THAT(told.numbers("read"), ElementsAre(12));
}

TEST(ErrorsOfAPass, KEEP_5_WhatARefusedPassReleasedCannotBeTold) {
  EXPECT_EQ(reason_of("'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4}],"
                      "'nodes': [{'name': 'e', 'op': 'mul', 'inputs': ['x', 'x']}],"
                      "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'e', "
                      "'seed': 5}], 'inputs': ['x', 'z']},"
                      "  {'do': 'backward', 'roots': [{'value': 'e', 'seed': 1}]}]"),
            "a node that ran or did not in a pass that failed");
}

// Two edges lead from each node to the next: the paths are without number.
TEST(ErrorsOfAPass, TOPO_7_WhatTheFailingNodeWaitsForIsFoundInTime) {
  std::string nodes =
      "{'name': 'f0', 'op': 'custom', 'inputs': ['a'], 'backward': {'steps': ["
      "{'do': 'throw', 'token': 'boom'}]}}";
  std::string made = "'f0'";
  for (int i = 1; i <= 60; ++i) {
    const std::string below = "'f" + std::to_string(i - 1) + "'";
    const std::string own = "'f" + std::to_string(i) + "'";
    nodes += ", {'name': " + own + ", 'op': 'custom', 'inputs': [" + below + ", " + below + "]}";
    made += ", " + own;
  }
  const Told told("'leaves': [{'name': 'a', 'value': 0}, {'name': 'b', 'value': 1}], 'nodes': [" +
                  nodes +
                  ", {'name': 'other', 'op': 'custom', 'inputs': ['b']},"
                  "  {'name': 'sum', 'op': 'custom', 'inputs': ['f60', 'other']}], 'program': [" +
                  made_by(made, "'other'", "'sum'") +
                  ", {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 0}]}]");
  EXPECT_EQ(told.runs("f1"), 1);
  EXPECT_EQ(told.runs("other"), 0);
}

TEST(ErrorsOfAPass, HOOK_8_AHookOverTensorsThatCameForCertainIsCertain) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'low', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': [{'do': "
      "'throw', 'token': 'boom'}]}}, {'name': 'mid', 'op': 'custom', 'inputs': ['low']},"
      "  {'name': 'top', 'op': 'custom', 'inputs': ['mid']}],"
      "'hooks': [{'name': 'm', 'kind': 'multi', 'on': ['top', 'mid']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'top', 'seed': 1}]}]");
  EXPECT_EQ(told.error("backward"), ErrorCategory::user);
  EXPECT_TRUE(told.events_of("m")[0]->required);
}

// SHUT-4: an error, or a fresh start.
TEST(ErrorsOfAPass, SHUT_4_WhatAPassAfterStopCallsNeedNotBeCalled) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}], 'callbacks': [{'name': 'c'}],"
      "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'x', 'steps': [{'do': 'queue_callback', "
      "'callback': 'c'}]}, {'name': 'p', 'kind': 'post_accumulate', 'on': 'x'}],"
      "'program': [{'do': 'stop'}, {'do': 'backward', 'roots': [{'value': 'x', 'seed': 5}]}]");
  for (const std::string name : {"h", "p", "c"}) {
    EXPECT_FALSE(told.events_of(name)[0]->required) << name;
  }
}

// ---- What a node saved
// ---------------------------------------------------------------------------

TEST(SavedTensors, KEEP_1_AReleasedNodeOfWhichNothingIsNeededCannotBeTold) {
  const auto second_pass = [](const std::string& inputs) {
    return "'leaves': [{'name': 'x', 'value': 3}],"
           "'nodes': [{'name': 'y', 'op': 'mul', 'inputs': ['x', 'x']},"
           "  {'name': 't', 'op': 'neg', 'inputs': ['y']}],"
           "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': "
           "1}]}, {'do': 'backward', 'roots': [{'value': 't', 'seed': 1}], 'inputs': [" +
           inputs + "]}]";
  };
  EXPECT_EQ(reason_of(second_pass("'y'")), "a released node of which nothing is needed");
  EXPECT_EQ(Told(second_pass("'x'")).error("backward", 1), ErrorCategory::graph_released);
}

TEST(SavedTensors, HOOK_9_WhatAHookPackedMayChangeLater) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}, {'name': 'w', 'value': 4}],"
      "'nodes': [{'name': 'y', 'op': 'mul', 'inputs': ['x', 'w']}],"
      "'hooks': [{'name': 'h', 'kind': 'saved', 'pack': {'returns': [1]}, 'unpack': {'returns': "
      "[1]}}],"
      "'program': [{'do': 'with', 'saved_hooks': 'h', 'steps': [{'do': 'forward'}]},"
      "  {'do': 'change', 'value': 'x', 'add': 5},"
      "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}, {'do': 'read', 'grads': "
      "['w']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(3));
}

// Which saved tensor a built-in operation needs for which gradient is its affair; what the
// scenario's own node saved is named by the scenario.
TEST(SavedTensors, KEEP_3_AChangedOneThatPerhapsNothingNeedsCannotBeTold) {
  const auto changed_x = [](const std::string& node, const std::string& inputs) {
    return "'leaves': [{'name': 'x', 'value': 3}, {'name': 'w', 'value': 4}],"
           "'nodes': [{'name': 'y', 'inputs': ['x', 'w'], " +
           node +
           "}], 'program': [{'do': 'forward'}, {'do': 'change', 'value': 'x', 'add': 5},"
           "  {'do': 'grad', 'roots': [{'value': 'y', 'seed': 1}], 'inputs': [" +
           inputs + "]}]";
  };
  const std::string custom = "'op': 'custom', 'saves': ['x']";
  EXPECT_EQ(reason_of(changed_x("'op': 'mul'", "'x'")),
            "a changed tensor that perhaps nothing needs");
  EXPECT_EQ(Told(changed_x("'op': 'mul'", "'x', 'w'")).error("grad"),
            ErrorCategory::saved_modified);
  EXPECT_EQ(Told(changed_x(custom, "'w'")).error("grad"), ErrorCategory::saved_modified);
}

// ---- Validation
// ----------------------------------------------------------------------------------

// The errors that are right for a gradient of a leaf.
std::vector<ErrorCategory> errors_of(const std::string& leaf, const std::string& gradient,
                                     bool strict = false) {
  const Told told(
      "'configuration': {'strict_validation': " + std::string(strict ? "true" : "false") +
      "}, 'leaves': [{'name': 'x', 'value': " + leaf +
      "}, {'name': 'r', 'value': 1}],"
      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['r', 'x'], 'forward': ["
      "  {'terms': [{'slot': 0}]}], 'backward': {'returns': [null, {'tensor': " +
      gradient +
      "}]}}], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': "
      "'y', 'seed': 5}]}]");
  return told.step("backward").allowed_errors;
}

TEST(ValidationInAPass, VAL_4_AGradientOfNoDimensionsIsMovedUnlessEveryDifferenceIsAnError) {
  const std::string moved = "{'device': 'sim:0', 'shape': [], 'values': [1]}";
  const std::string two = "{'device': 'sim:0', 'shape': [2], 'values': [1, 2]}";
  EXPECT_THAT(errors_of("3", moved), testing::IsEmpty());
  EXPECT_THAT(errors_of("3", moved, true), ElementsAre(ErrorCategory::gradient_device));
  EXPECT_THAT(errors_of("[3, 4]", two), ElementsAre(ErrorCategory::gradient_device));
  EXPECT_THAT(errors_of("[3, 4]", moved), ElementsAre(ErrorCategory::gradient_shape));
  EXPECT_THAT(errors_of("3", two, true),
              UnorderedElementsAre(ErrorCategory::gradient_device, ErrorCategory::gradient_shape));
}

TEST(ValidationInAPass, VAL_3_OneComplexTypeIsCastToAnotherAndIntegersCannotBeTold) {
  const auto returning = [](const std::string& type) {
    return "'leaves': [{'name': 'x', 'value': {'type': 'complex128', 'shape': [], 'values': [[1, "
           "2]]}}], 'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'], 'backward': {"
           "  'returns': [{'terms': [{'slot': 0}], 'cast': '" +
           type +
           "'}]}}], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', "
           "'seed': {'type': 'complex128', 'shape': [], 'values': [[3, 4]]}}]}, {'do': 'read', "
           "'grads': ['x']}]";
  };
  const Told told(returning("complex64"));
  EXPECT_THAT(told.numbers("read"), ElementsAre(3, 4));
  EXPECT_EQ(told.step("read").result.values[0]->type, ScalarType::complex128);
  EXPECT_EQ(reason_of(returning("int64")), "a gradient of integers");
}

// ---- What an asynchronous pass is given
// ---------------------------------------------------------------

TEST(ArgumentsOfAPass, ASYNC_2_WhatIsDroppedBeforeTheWaitCannotBeTold) {
  const auto dropping = [](const std::string& steps) {
    return "'futures': [{'name': 'f'}], 'leaves': [{'name': 'x', 'value': 3}],"
           "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}],"
           "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}],"
           " 'future': 'f'}, " +
           steps + "]";
  };
  const std::string drop = "{'do': 'drop', 'values': ['y']}";
  const std::string wait = "{'do': 'wait', 'future': 'f'}";
  EXPECT_EQ(reason_of(dropping(drop + ", " + wait)),
            "a value that is dropped or made again before the pass from it is waited for");
  EXPECT_EQ(reason_of(dropping(wait + ", " + drop)), "");
}

// ---- Callbacks
// ------------------------------------------------------------------------------------

// Hooks on two nodes, or accumulators, queue one callback each.
std::string queued_by(const std::string& first, const std::string& second) {
  const auto hook = [](const std::string& node, const std::string& callback) {
    return "{'name': 'h_" + callback + "', 'kind': 'node_pre', 'on': '" + node +
           "', 'steps': [{'do': 'queue_callback', 'callback': '" + callback + "'}]}";
  };
  return "'callbacks': [{'name': 'c1'}, {'name': 'c2'}], 'hooks': [" + hook(first, "c1") + ", " +
         hook(second, "c2") + "], 'program': [";
}

TEST(CallbacksOfAPass, CB_1_OfNodesWithoutAnOrderCannotBeTold) {
  const std::string reason = "callbacks of nodes that are not ordered";
  const std::string forward = "{'do': 'forward'}";
  const auto told = [](const std::string& first, const std::string& second, const std::string& made,
                       const std::string& root) {
    return reason_of(branches(queued_by(first, second) + made +
                              ", {'do': 'backward', 'roots': [{'value': '" + root +
                              "', 'seed': 1}]}]"));
  };
  EXPECT_EQ(told("new", "old", forward, "sum"), "");
  EXPECT_EQ(told("new", "old", forward, "all"), reason) << "a device takes part";
  EXPECT_EQ(told("all", "far", forward, "all"), "") << "one leads to the other";
  const std::string two = made_by("'old'", "'new'", "'sum', 'far', 'near', 'all'");
  EXPECT_EQ(told("new", "old", two, "sum"), reason) << "two threads made them";
  EXPECT_EQ(told("sum", "old", two, "sum"), "") << "one leads to the other";
  EXPECT_EQ(told("accumulate:b", "accumulate:a", forward, "sum"), "")
      << "ready one after the other";
}

TEST(CallbacksOfAPass, CB_1_OfAccumulatorsThatAreReadyTogetherCannotBeTold) {
  const auto told = [](const std::string& first, const std::string& second) {
    return reason_of(
        "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}],"
        "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['b']},"
        "  {'name': 'g', 'op': 'custom', 'inputs': ['a', 'f', 'b']}]," +
        queued_by(first, second) +
        "{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'g', 'seed': 1}]}]");
  };
  EXPECT_EQ(told("accumulate:a", "f"), "") << "a leaf before a node";
  EXPECT_EQ(told("accumulate:a", "accumulate:b"), "") << "b waits for f";
  EXPECT_EQ(
      reason_of("'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}],"
                "'nodes': [{'name': 'g', 'op': 'custom', 'inputs': ['a', 'b']}]," +
                queued_by("accumulate:a", "accumulate:b") +
                "{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'g', 'seed': 1}]}]"),
      "callbacks of nodes that are not ordered");
}

// A hook over several tensors, and one on a node: the first may be called at any of its nodes.
TEST(CallbacksOfAPass, CB_1_OfAHookOverNodesWithoutAnOrderCannotBeTold) {
  const std::string reason = "callbacks of nodes that are not ordered";
  const auto told = [](const std::string& over, const std::string& queued, const std::string& hook,
                       const std::string& made) {
    return reason_of(branches(
        "'callbacks': [{'name': 'c1'}, {'name': 'c2'}, {'name': 'c3'}], 'hooks': [{'name': 'over', "
        "'kind': 'multi', 'on': [" + over + "], 'steps': [" + queued + "]}, {'name': 'other', " +
        hook + ", 'steps': [{'do': 'queue_callback', 'callback': 'c3'}]}], 'program': [" + made +
        ", {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]}]"));
  };
  const std::string branch = "'old', 'new'";
  const std::string c1 = "{'do': 'queue_callback', 'callback': 'c1'}";
  const std::string c2 = ", {'do': 'queue_callback', 'callback': 'c2'}";
  const std::string forward = "{'do': 'forward'}";
  const std::string two = made_by("'old'", "'new'", "'sum', 'far', 'near', 'all'");
  for (const std::string on : {"'old'", "'new'"}) {
    const std::string other = "'kind': 'node_pre', 'on': " + on;
    EXPECT_EQ(told(branch, c1, other, forward), "") << on;
    EXPECT_EQ(told(branch, c1, other, two), reason) << on;
  }
  const std::string before = "'kind': 'tensor', 'on': 'sum'";
  EXPECT_EQ(told(branch, c1 + c2, before, two), "") << "both in one call, after what leads to it";
  EXPECT_EQ(told("'sum', 'old'", c1, "'kind': 'tensor', 'on': 'old'", two), "")
      << "sum leads to old, where the hook is called";
  const std::string also = "'kind': 'multi', 'on': ['new', 'old']";
  EXPECT_EQ(told(branch, c1, also, two), "") << "over the same nodes, in order of registration";
}

TEST(CallbacksOfAPass, CB_5_WhatFollowsOneThatFailedCannotBeTold) {
  const std::string reason = "a callback after one that failed";
  const auto told = [](const std::string& steps_of_first, const std::string& queued) {
    return reason_of(
        "'leaves': [{'name': 'x', 'value': 3}], 'callbacks': [{'name': 'c1', 'steps': "
        "[" +
        steps_of_first +
        "]}, {'name': 'c2'}], 'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'x', "
        "'steps': [{'do': 'queue_callback', 'callback': 'c1'}" +
        queued + "]}], 'program': [{'do': 'backward', 'roots': [{'value': 'x', 'seed': 1}]}]");
  };
  const std::string fails = "{'do': 'throw', 'token': 'bad'}";
  const std::string queues = "{'do': 'queue_callback', 'callback': 'c2'}";
  EXPECT_EQ(told(fails, ", " + queues), reason);
  EXPECT_EQ(told(queues + ", " + fails, ""), reason);
  EXPECT_EQ(told(fails, ""), "");
}

// ---- Changed views
// --------------------------------------------------------------------------------

std::string changed(const std::string& hooks, const std::string& program) {
  return "'leaves': [{'name': 'x', 'value': [2, 3]}, {'name': 'w', 'value': 5}, {'name': 'z', "
         "'value': 7}],"
         "'nodes': [{'name': 'c', 'op': 'clone', 'inputs': ['x']},"
         "  {'name': 'v', 'op': 'select', 'inputs': ['c'], 'dim': 0, 'index': 1},"
         "  {'name': 'u', 'op': 'mul_', 'inputs': ['v', 'w']},"
         "  {'name': 'apart', 'op': 'neg', 'inputs': ['z']}],"
         "'hooks': [" +
         hooks + "], 'program': [{'do': 'forward'}, {'do': 'add_hook', 'hook': 'late'}, " +
         program + "]";
}
// A hook on a node, as it is before or after the change.
std::string hook_on(const std::string& node, const std::string& more = "") {
  const bool after = node == "u";
  return std::string(after ? ""
                           : "{'name': 'late', 'kind': 'tensor', 'on': 'z', 'added': "
                             "'by_step'}, ") +
         "{'name': '" + (after ? "late" : "h") + "', 'kind': 'tensor', 'on': '" + node + "'" +
         (after ? ", 'added': 'by_step'" : "") + more + "}";
}
const std::string pass_of_base = "{'do': 'backward', 'roots': [{'value': 'c', 'seed': [1, 1]}]}";

TEST(ChangedViews, ErrorsAndChangesByHooksOfWhatNeedNotRunCannotBeTold) {
  const std::string fails = ", 'steps': [{'do': 'throw', 'token': 'bad'}]";
  EXPECT_EQ(reason_of(changed(hook_on("v", fails), pass_of_base)),
            "an error at a node that may not run");
  EXPECT_NE(reason_of(changed(hook_on("v", ", 'returns': [3]"), pass_of_base)), "");
  EXPECT_EQ(reason_of(changed(hook_on("u", ", 'returns': [3]"), pass_of_base)),
            "a gradient changed by a hook of a node that a change may go past");
  EXPECT_EQ(reason_of(changed(hook_on("z", ", 'returns': [3]"), pass_of_base)), "");
}

const std::string pass_of_view = "{'do': 'backward', 'roots': [{'value': 'u', 'seed': 1}]}";

// The change's own node may be another one of the engine's, and the view's need not run.
TEST(ChangedViews, TOPO_1_WhatTheBaseWasBeforeRunsInAPassFromTheView) {
  const Told told(changed(hook_on("z"), pass_of_view + ", {'do': 'read', 'grads': ['x', 'w']}"));
  EXPECT_EQ(told.runs("c"), 1);
  EXPECT_EQ(told.runs("accumulate:x"), 1);
  EXPECT_EQ(told.runs("v"), 0);
  EXPECT_FALSE(told.events_of("enter u")[0]->required);
  EXPECT_FALSE(told.events_of("exit u")[0]->required);
  EXPECT_THAT(told.numbers("read"), ElementsAre(0, 5, 3));
}

// The view's own way to the base is gone, and an engine may have another.
TEST(ChangedViews, AViewThatWasCutOffFromItsBaseCannotBeTold) {
  const std::string cut = "{'do': 'redirect', 'node': 'v'}, ";
  for (const std::string& pass : {pass_of_view, pass_of_base}) {
    EXPECT_EQ(reason_of(changed(hook_on("z"), cut + pass)),
              "a changed view that was cut off from its base");
  }
  const std::string below = "{'do': 'redirect', 'node': 'c'}, ";
  EXPECT_EQ(reason_of(changed(hook_on("z"), below + pass_of_view)), "");
}

// An engine has both changes in the history of the base, where they need each other.
TEST(ChangedViews, TOPO_1_AnEarlierChangeOfTheViewRunsToo) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': [2, 3]}, {'name': 'w', 'value': 5}, {'name': 'z', "
      "'value': 7}],"
      "'nodes': [{'name': 'c', 'op': 'clone', 'inputs': ['x']},"
      "  {'name': 'v', 'op': 'select', 'inputs': ['c'], 'dim': 0, 'index': 1},"
      "  {'name': 'once', 'op': 'mul_', 'inputs': ['v', 'w']},"
      "  {'name': 'u', 'op': 'mul_', 'inputs': ['once', 'z']}],"
      "'program': [{'do': 'forward'}, " +
      pass_of_view + ", {'do': 'read', 'grads': ['x', 'w', 'z']}]");
  for (const std::string node : {"c", "accumulate:x", "accumulate:w", "accumulate:z"}) {
    EXPECT_EQ(told.runs(node), 1) << node;
  }
  EXPECT_THAT(told.numbers("read"), ElementsAre(0, 35, 21, 15));
  EXPECT_THAT(told.step("read").value_known, ElementsAre(true, true, true));
}

TEST(ChangedViews, KEEP_3_OfAChangeThatFailsTheHooksNeedNotRunForTheBase) {
  const std::string change = "{'do': 'change', 'value': 'w', 'add': 1}, ";
  const Told base(changed(hook_on("u"), change + pass_of_base));
  EXPECT_EQ(base.error("backward"), ErrorCategory::saved_modified);
  EXPECT_FALSE(base.events_of("late")[0]->required);
  const Told view(changed(hook_on("u"), change + pass_of_view));
  EXPECT_EQ(view.error("backward"), ErrorCategory::saved_modified);
  EXPECT_TRUE(view.events_of("late")[0]->required);
  EXPECT_FALSE(view.events_of("exit u")[0]->required) << "another node of the engine's may fail";
  const Told silent("'trace': 'scripted'," + changed(hook_on("u"), change + pass_of_view));
  EXPECT_THAT(silent.happenings(), Not(Contains("exit u")));
}

TEST(ChangedViews, AnErrorOrACallbackOfItsHookIsCertainOnlyInAPassFromTheView) {
  const std::string fails = ", 'steps': [{'do': 'throw', 'token': 'bad'}]";
  EXPECT_EQ(reason_of(changed(hook_on("u", fails), pass_of_base)),
            "an error of a hook that may not run");
  EXPECT_EQ(Told(changed(hook_on("u", fails), pass_of_view)).error("backward"),
            ErrorCategory::user);
  const std::string queues = ", 'steps': [{'do': 'queue_callback', 'callback': 'k'}]";
  const auto is_required = [&](const std::string& pass) {
    const Told told("'callbacks': [{'name': 'k'}]," + changed(hook_on("u", queues), pass));
    return told.events_of("k")[0]->required;
  };
  EXPECT_FALSE(is_required(pass_of_base));
  EXPECT_TRUE(is_required(pass_of_view));
}

TEST(ChangedViews, AViewBehindAnotherNeedNotRunEither) {
  const auto body = [](const std::string& returns) {
    return "'leaves': [{'name': 'x', 'value': [2, 3]}, {'name': 'w', 'value': 5}],"
           "'nodes': [{'name': 'c', 'op': 'clone', 'inputs': ['x']},"
           "  {'name': 'whole', 'op': 'view', 'inputs': ['c'], 'shape': [2]},"
           "  {'name': 'v', 'op': 'select', 'inputs': ['whole'], 'dim': 0, 'index': 1},"
           "  {'name': 'u', 'op': 'mul_', 'inputs': ['v', 'w']}],"
           "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'whole'" +
           returns + "}], 'program': [{'do': 'forward'}, " + pass_of_base + "]";
  };
  EXPECT_FALSE(Told(body("")).events_of("h")[0]->required);
  EXPECT_EQ(reason_of(body(", 'returns': [3]")),
            "a gradient changed by a hook of a node that a change may go past");
}

// The base was changed once more since: what is retained is the newest one's (HOOK-6).
TEST(ChangedViews, HOOK_6_AnEarlierBaseRetainsNothing) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': [2, 3]}, {'name': 'w', 'value': 5}],"
      "'nodes': [{'name': 'c', 'op': 'clone', 'inputs': ['x']},"
      "  {'name': 'v', 'op': 'select', 'inputs': ['c'], 'dim': 0, 'index': 1},"
      "  {'name': 'u', 'op': 'mul_', 'inputs': ['v', 'w']},"
      "  {'name': 'm', 'op': 'scale', 'inputs': ['u'], 'factor': 3},"
      "  {'name': 'o', 'op': 'select', 'inputs': ['c'], 'dim': 0, 'index': 0},"
      "  {'name': 'q', 'op': 'mul_', 'inputs': ['o', 'w']}],"
      "'hooks': [{'name': 'r', 'kind': 'retain_grad', 'on': 'c'}], 'program': [{'do': 'forward'},"
      "  {'do': 'backward', 'roots': [{'value': 'm', 'seed': 1}]}, {'do': 'read', 'grads': ['c', "
      "'x']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(Told::undefined, 0, 15));
}

TEST(ChangedViews, WhatAPassOfAHookAddsIsFreeWhereTheHookNeedNotRun) {
  const std::string adds = ", 'steps': [{'do': 'backward', 'roots': [{'value': 'z', 'seed': 5}]}]";
  for (const std::string node : {"v", "u"}) {
    const Told told(
        changed(hook_on(node, adds), pass_of_base + ", {'do': 'read', 'grads': ['w', 'z']}"));
    EXPECT_EQ(told.step("read").value_known, (std::vector<bool>{true, false})) << node;
  }
}

TEST(ChangedViews, HooksOverOneAndOthersCannotBeTold) {
  for (const std::string& hooks :
       {hook_on("z") + ", {'name': 'm', 'kind': 'multi', 'on': ['v', 'x']}",
        std::string("{'name': 'late', 'kind': 'multi', 'on': ['u', 'x'], 'added': 'by_step'}")}) {
    EXPECT_EQ(reason_of(changed(hooks, pass_of_base)),
              "a hook over several tensors, one of them of a node that may not run")
        << hooks;
  }
}

TEST(ChangedViews, HooksOfTheBaseAreToldInAPassFromTheBase) {
  for (const std::string& hooks :
       {hook_on("z") + ", {'name': 'b', 'kind': 'retain_grad', 'on': 'c'}",
        std::string("{'name': 'late', 'kind': 'tensor', 'on': 'c', 'added': 'by_step'}")}) {
    EXPECT_EQ(reason_of(changed(hooks, pass_of_base)), "") << hooks;
    EXPECT_EQ(reason_of(changed(hooks, "{'do': 'backward', 'roots': [{'value': 'u', 'seed': 1}]}")),
              "hooks of a base, in a pass from its changed view")
        << hooks;
  }
}

TEST(ChangedViews, AskedForFromItsBaseCannotBeTold) {
  EXPECT_EQ(reason_of(changed(hook_on("z"),
                              "{'do': 'grad', 'roots': [{'value': 'c', 'seed': [1, "
                              "1]}], 'inputs': ['u']}")),
            "the gradient of a changed view, asked for from its base");
  const Told apart(changed(hook_on("z"),
                           "{'do': 'grad', 'roots': [{'value': 'apart', 'seed': 1}], "
                           "'inputs': ['z', 'c'], 'allow_unused': true}"));
  EXPECT_THAT(apart.numbers("grad"), ElementsAre(-1, Told::undefined)) << "neither is in the pass";
}

TEST(ChangedViews, WhatAnAnnouncementLeadsToRunsBesideOne) {
  const Told told("'announcements': [{'name': 'a', 'to': 'apart'}]," +
                  changed(hook_on("z"),
                          "{'do': 'deliver', 'announcement': 'a', 'gradient': 1}, {'do': "
                          "'backward', 'roots': [{'value': 'c', 'seed': [1, 1]}], 'announced': "
                          "['a']}"));
  EXPECT_EQ(told.runs("apart"), 1);
  EXPECT_EQ(told.runs("v"), 0);
}

// ---- Leaves
// ---------------------------------------------------------------------------------------

TEST(LayoutOfGradients, LEAF_4_IsTheLeafsWhereThatIsDenseAndFreeElsewhere) {
  const auto strides_of = [](const std::string& strides) {
    const Told told(
        "'leaves': [{'name': 'x', 'value': {'shape': [2, 2], 'strides': " + strides +
        ", 'values': [1, 2, 3, 4]}}], 'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}],"
        "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y',"
        "  'seed': {'shape': [2, 2], 'fill': 1}}]}]");
    return told.expectation.leaf_grad_strides[0];
  };
  EXPECT_EQ(strides_of("[2, 1]"), (Shape{2, 1}));
  EXPECT_EQ(strides_of("[1, 2]"), (Shape{1, 2}));
  EXPECT_EQ(strides_of("[4, 1]"), std::nullopt);
  EXPECT_EQ(strides_of("[1, 4]"), std::nullopt);
}

// A leaf of three elements, and nodes that give it a sparse and a dense gradient.
std::string leaf_of_three(const std::string& leaf, const std::string& program) {
  return "'leaves': [{'name': 'x', 'value': [1, 1, 1]" + leaf +
         "}], 'nodes': [{'name': 's', 'op': 'custom', 'inputs': ['x'], 'backward': {'returns': ["
         "  {'tensor': {'shape': [3], 'sparse': {'indices': [[0, 2]]}, 'values': [1, 5]}}]}},"
         "  {'name': 'd', 'op': 'neg', 'inputs': ['x']}], 'program': [{'do': 'forward'}, " +
         program + "]";
}
const std::string pass_of_sparse =
    "{'do': 'backward', 'roots': [{'value': 's', 'seed': [1, 1, 1]}]}";
const std::string pass_of_dense =
    "{'do': 'backward', 'roots': [{'value': 'd', 'seed': [1, 1, 1]}]}";

TEST(LayoutOfGradients, LEAF_4_ASparseOneHasNoneAndADenseOneKeepsItsOwn) {
  const auto strides_of = [](const std::string& leaf, const std::string& program) {
    return Told(leaf_of_three(leaf, program)).expectation.leaf_grad_strides[0];
  };
  const std::string preset = ", 'grad': [10, 20, 30]";
  EXPECT_EQ(strides_of("", pass_of_sparse), std::nullopt);
  EXPECT_EQ(strides_of("", pass_of_sparse + ", " + pass_of_dense), std::nullopt);
  EXPECT_EQ(strides_of("", pass_of_dense), Shape{1});
  EXPECT_EQ(strides_of(preset, pass_of_sparse), Shape{1});
  EXPECT_EQ(strides_of(preset,
                       "{'do': 'backward', 'roots': [{'value': 'd', 'seed': [1, 1, 1]}], "
                       "'create': true}"),
            std::nullopt)
      << "a new tensor (LEAF-2)";
}

TEST(SumsOfGradients, LEAF_2_WhoeverHoldsADenseOneSeesWhatASparseOneAdds) {
  const Told told(leaf_of_three(", 'grad': [10, 20, 30]",
                                "{'do': 'keep', 'grad_of': 'x', 'as': 'g'}, " + pass_of_sparse +
                                    ", {'do': 'read', 'values': ['g']}"));
  EXPECT_THAT(told.numbers("read"), ElementsAre(11, 20, 35));
}

// Sparse ones cannot be added up in the same memory, and one that becomes dense is another tensor.
TEST(SumsOfGradients, LEAF_2_WhoeverHoldsASparseOneMayOrMayNotSeeTheSum) {
  const auto is_known = [](const std::string& second) {
    const Told told(leaf_of_three(
        "", pass_of_sparse + ", {'do': 'keep', 'grad_of': 'x', 'as': 'before'}, " + second +
                ", {'do': 'keep', 'grad_of': 'x', 'as': 'after'},"
                "  {'do': 'read', 'values': ['before', 'after']}"));
    EXPECT_TRUE(told.step("read").value_known[1]);
    EXPECT_TRUE(told.expectation.leaf_grad_known[0]);
    return told.step("read").value_known[0];
  };
  EXPECT_FALSE(is_known(pass_of_sparse));
  EXPECT_FALSE(is_known(pass_of_dense));
  EXPECT_TRUE(is_known("{'do': 'backward', 'roots': [{'value': 'd', 'seed': [1, 1, 1]}], "
                       "'create': true}"))
      << "out of place";
}

// ACC-2: LEAF-2 speaks of leaves alone.
TEST(SumsOfGradients, ACC_2_WhoeverHoldsARetainedOneKeepsWhatItWas) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 3}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}],"
      "'hooks': [{'name': 'r', 'kind': 'retain_grad', 'on': 'y'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 5}]},"
      "  {'do': 'keep', 'grad_of': 'y', 'as': 'g'},"
      "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': 2}]},"
      "  {'do': 'read', 'values': ['g'], 'grads': ['y']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(5, 7));
  EXPECT_THAT(told.step("read").value_known, ElementsAre(true, true));
}

}  // namespace
}  // namespace gradcts
