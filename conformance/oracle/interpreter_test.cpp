// What steps do outside of the passes themselves, what scripts may see of each other, and what of
// that cannot be told.
#include "conformance/oracle/interpreter.h"

#include <gmock/gmock.h>

#include "conformance/oracle/oracle_test_support.h"

namespace gradcts::interpreter_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const std::string on_sim = "{'device': 'sim:0', 'shape': [], 'values': [1]}";

Told with_dialect(const std::string& body, const char* clause, const char* alternative) {
  return Told(scenario_of(body), make_dialect("reference", {{clause, alternative}}));
}

std::string leaves(const std::string& more = "") {
  return "'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4},"
         "  {'name': 'c', 'value': 5, 'requires_grad': false}" +
         more + "],";
}

// ---- Forwards -----------------------------------------------------------------------------------

TEST(Forwards, ACustomNodeThatPassesItsInputOnGivesThatVeryTensor) {
  const auto read = [](const std::string& forward) {
    const Told told(leaves() +
                    "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'], 'forward': [" +
                    forward +
                    "]}], 'program': [{'do': 'forward'}, {'do': 'change', 'value': 'y', 'add': 10},"
                    "  {'do': 'read', 'values': ['x', 'y']}]");
    return told.numbers("read");
  };
  EXPECT_THAT(read("{'pass': 0}"), ElementsAre(13, 13));
  EXPECT_THAT(read("1"), ElementsAre(3, 13));
}

TEST(Forwards, AChangeInPlaceThatIsNotRecordedLeavesTheNodeToItsForward) {
  const Told told(
      leaves() +
      "'nodes': [{'name': 'a', 'op': 'scale', 'inputs': ['x'], 'factor': 2},"
      "  {'name': 'b', 'op': 'scale_', 'inputs': ['a'], 'factor': 3}],"
      "'program': [{'do': 'forward', 'nodes': ['a']}, {'do': 'with', 'recording': false, 'steps': ["
      "    {'do': 'forward', 'nodes': ['b']}]},"
      "  {'do': 'backward', 'roots': [{'value': 'b', 'seed': 1}]}]");
  EXPECT_EQ(told.runs("a"), 1);
  EXPECT_EQ(told.runs("b"), 0);
}

// CB-4 gives a callback the caller's mode, GRAPH2-2 hooks and nodes the pass's.
TEST(Forwards, InACallbackThatMayOrMayNotRecordCannotBeTold) {
  const auto reason = [](const std::string& input, const std::string& create) {
    return reason_of(
        leaves() +
        "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'], 'backward': {'steps': ["
        "    {'do': 'queue_callback', 'callback': 'k'}]}},"
        "  {'name': 'late', 'op': 'neg', 'inputs': ['" +
        input +
        "']}], 'callbacks': [{'name': 'k', 'steps': [{'do': 'forward', 'nodes': ['late']}]}],"
        "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]" +
        create + "}]");
  };
  EXPECT_EQ(reason("x", ""), "a forward in a callback that may or may not record");
  EXPECT_EQ(reason("c", ""), "") << "nothing to record";
  EXPECT_EQ(reason("x", ", 'create': true"), "") << "both modes record";
}

// ---- Expressions --------------------------------------------------------------------------------

TEST(Expressions, WhatIsUndefinedIsNotConverted) {
  for (const std::string conversion :
       {"'expand': [2]", "'cast': 'float32'", "'move_to': 'sim:0'"}) {
    const Told told(leaves() +
                    "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'], 'backward': {"
                    "  'returns': [{'terms': [{'slot': 0}], " +
                    conversion +
                    "}]}}], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': ["
                    "  {'value': 'y', 'seed': null}]}, {'do': 'read', 'grads': ['x']}]");
    EXPECT_EQ(told.error("backward"), std::nullopt) << conversion;
    EXPECT_THAT(told.numbers("read"), ElementsAre(Told::undefined)) << conversion;
  }
}

TEST(Expressions, WhatIsMovedToItsOwnDeviceIsTheSameTensor) {
  const Told told(leaves() +
                  "'hooks': [{'name': 'twice', 'kind': 'tensor', 'on': 'x', 'returns': [2]},"
                  "  {'name': 'h', 'kind': 'tensor', 'on': 'x', 'steps': ["
                  "    {'do': 'keep', 'slot': 0, 'as': 'k'}],"
                  "    'returns': [{'pass': 0, 'move_to': 'cpu'}]}],"
                  "'program': [{'do': 'grad', 'roots': [{'value': 'x', 'seed': {'from': 'z'}}],"
                  "    'inputs': ['x'], 'create': true, 'results': ['g']},"
                  "  {'do': 'grad', 'roots': [{'value': 'k', 'seed': 5}], 'inputs': ['g']}]");
  EXPECT_EQ(told.error("grad", 1), std::nullopt);
}

// ---- Second derivatives -------------------------------------------------------------------------

std::string not_differentiable(const std::string& returns, const std::string& pass,
                               const std::string& root) {
  return leaves() +
         "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x', 'z'], 'differentiable': false,"
         "  'backward': {'returns': [" +
         returns +
         "]}}], 'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y',"
         "    'seed': 5}], 'inputs': ['x', 'z'], 'allow_unused': true, 'results': ['g', 'k']" +
         pass + "}, {'do': 'backward', 'roots': [{'value': '" + root + "', 'seed': 1}]}]";
}

TEST(SecondDerivatives, GRAPH2_3_AreRefusedOfWhatANodeGaveInARecordedPass) {
  const std::string create = ", 'create': true";
  EXPECT_EQ(Told(not_differentiable("1, 1", create, "k")).error("backward"),
            ErrorCategory::not_differentiable);
  EXPECT_EQ(Told(not_differentiable("null, 1", create, "k")).error("backward"),
            ErrorCategory::not_differentiable)
      << "beside one that is undefined";
  EXPECT_EQ(Told(not_differentiable("1, 1", "", "k")).error("backward"),
            ErrorCategory::invalid_argument)
      << "a gradient without a history";
}

TEST(SecondDerivatives, OfAConstantGradientThereAreNone) {
  const Told told(leaves() +
                  "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}],"
                  "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y',"
                  "    'seed': 5}], 'inputs': ['x'], 'create': true, 'results': ['g']},"
                  "  {'do': 'backward', 'roots': [{'value': 'g', 'seed': 1}]}]");
  EXPECT_EQ(told.error("backward"), ErrorCategory::invalid_argument);
}

// What is materialised is what is not reached, zeros without history, and not the gradient of relu.
TEST(SecondDerivatives, PRUNE_4_OfAConstantThatMayHaveAHistoryCannotBeTold) {
  const auto body = [](const std::string& root, const std::string& gradient) {
    return leaves() +
           "'nodes': [{'name': 'y', 'op': 'relu', 'inputs': ['x']},"
           "  {'name': 'product', 'op': 'mul', 'inputs': ['x', 'y']}],"
           "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': '" +
           root +
           "', 'seed': 5}], 'inputs': ['x', 'z'], 'create': true, 'materialise': true,"
           "    'results': ['g', 'k']}, {'do': 'backward', 'roots': [{'value': '" +
           gradient + "', 'seed': 1}]}]";
  };
  EXPECT_EQ(reason_of(body("y", "g")), "whether a gradient has a history");
  EXPECT_EQ(reason_of(body("product", "g")), "") << "it depends on x";
  EXPECT_EQ(Told(body("y", "k")).error("backward"), ErrorCategory::invalid_argument);
}

TEST(SecondDerivatives, HOOK_1_AHookOnAGradientIsAddedWhenThePassHasMadeIt) {
  const Told told(leaves() +
                  "'nodes': [{'name': 'y', 'op': 'mul', 'inputs': ['x', 'x']}],"
                  "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'g'}],"
                  "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y',"
                  "    'seed': 5}], 'inputs': ['x'], 'create': true, 'results': ['g']},"
                  "  {'do': 'backward', 'roots': [{'value': 'g', 'seed': 7}]}]");
  EXPECT_THAT(told.events_of("h"), SizeIs(1));
  EXPECT_EQ(told.given("h"), 7);
}

// A pass through one node from the seed w, and what the oracle says of a use of the gradient.
std::string reason_of_use(const std::string& w, const std::string& node, const std::string& create,
                          const std::string& use, const std::string& more_nodes = "") {
  return reason_of("'leaves': [{'name': 'x', 'value': [3, 4]}, {'name': 'w', 'value': " + w +
                   "}], 'nodes': [{'name': 'y', 'inputs': ['x'], " + node + "}" + more_nodes +
                   "], 'program': [{'do': 'forward', 'nodes': ['y']}, {'do': 'grad', 'roots': ["
                   "    {'value': 'y', 'seed': {'from': 'w'}}], 'inputs': ['x'],"
                   "    'results': ['g']" +
                   create + "}, " + use + "]");
}
const std::string unchanged = "'op': 'expand', 'shape': [2]";

TEST(Results, OnlyTheSeedItselfOrACopyOfItMayHaveItsHistory) {
  const auto reason = [](const std::string& w, const std::string& node) {
    return reason_of_use(w, node, "",
                         "{'do': 'backward', 'roots': [{'value': 'g', 'seed': [1, 1]}]}");
  };
  EXPECT_EQ(reason("[5, 6]", unchanged), "whether a gradient has a history");
  EXPECT_EQ(reason("[5, 6], 'requires_grad': false", unchanged), "");
  EXPECT_EQ(reason("{'device': 'sim:0', 'shape': [2], 'values': [5, 6]}",
                   "'op': 'to_device', 'device': 'sim:0'"),
            "");
  EXPECT_EQ(reason("{'shape': [1, 2], 'values': [5, 6]}", "'op': 'view', 'shape': [1, 2]"), "");
  EXPECT_EQ(reason("{'type': 'float32', 'shape': [2], 'values': [5, 6]}",
                   "'op': 'cast', 'type': 'float32'"),
            "");
}

TEST(Results, ASYNC_1_WhatIsDeliveredIsASeed) {
  const auto reason = [](const std::string& gradient, const std::string& root = "") {
    return reason_of("'announcements': [{'name': 'a', 'to': 'x'}]," + leaves() +
                     "'program': [{'do': 'deliver', 'announcement': 'a', 'gradient': " + gradient +
                     "}, {'do': 'grad', 'roots': [" + root +
                     "], 'announced': ['a'], 'inputs': ['x'], 'results': ['g']},"
                     "  {'do': 'backward', 'roots': [{'value': 'g', 'seed': 1}]}]");
  };
  EXPECT_EQ(reason("{'from': 'z'}"), "whether a gradient has a history");
  EXPECT_EQ(reason("{'from': 'c'}"), "");
  EXPECT_EQ(reason("4"), "");
  EXPECT_EQ(reason("null", "{'value': 'x', 'seed': 4}"), "");
}

TEST(Results, WhatMayBeTheSeedItselfIsNotChangedInPlace) {
  const auto reason = [&](const std::string& operation) {
    return reason_of_use("[5, 6]", unchanged, ", 'create': true",
                         "{'do': 'forward', 'nodes': ['e']}",
                         ", {'name': 'e', 'op': '" + operation + "', 'inputs': ['g']}");
  };
  EXPECT_EQ(reason("exp_"), "a gradient that may be the seed itself");
  EXPECT_EQ(reason("exp"), "");
}

// No number equals one that is none.
TEST(Results, ASeedOfNaNIsTheSeedAllTheSame) {
  EXPECT_EQ(
      reason_of_use("{'shape': [2], 'values': ['nan', 1]}",
                    "'op': 'custom', 'backward': {'returns': [{'pass': 0}]}", ", 'create': true",
                    "{'do': 'grad', 'roots': [{'value': 'g', 'seed': [1, 1]}], 'inputs': ['g']}"),
      "a gradient that may be the seed itself");
}

// ---- Hooks --------------------------------------------------------------------------------------

// 'n' is undefined, and 'c' has no history.
std::string hook_on(const std::string& hook, const std::string& steps) {
  return leaves() + "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x']}], 'hooks': [" + hook +
         "], 'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y', 'seed': 1}],"
         "  'inputs': ['x', 'z'], 'allow_unused': true, 'keep': true, 'results': ['g', 'n']}, " +
         steps + "]";
}

TEST(HooksByStep, OnWhatIsUndefinedOrHasNoHistoryAreRefused) {
  for (const std::string target : {"'n'", "'c'"}) {
    for (const std::string kind : {"tensor", "retain_grad", "post_accumulate", "multi"}) {
      const std::string on = kind == "multi" ? "['x', " + target + "]" : target;
      const Told told(
          hook_on("{'name': 'h', 'kind': '" + kind + "', 'on': " + on + ", 'added': 'by_step'}",
                  "{'do': 'add_hook', 'hook': 'h'}"));
      EXPECT_EQ(told.error("add_hook"), ErrorCategory::invalid_argument) << kind << target;
    }
  }
}

TEST(HooksByStep, InAScriptToo) {
  const Told told(
      hook_on("{'name': 'h', 'kind': 'tensor', 'on': 'n', 'added': 'by_step'},"
              "{'name': 'adds', 'kind': 'node_pre', 'on': 'accumulate:x', 'steps': ["
              "  {'do': 'try', 'steps': [{'do': 'add_hook', 'hook': 'h'}]}]}",
              "{'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}"));
  EXPECT_EQ(told.error("add_hook"), ErrorCategory::invalid_argument);
}

TEST(HooksByStep, OneThatIsRefusedIsNoLastingChange) {
  const auto reason = [](const std::string& target) {
    return reason_of(
        hook_on("{'name': 'h', 'kind': 'tensor', 'on': '" + target +
                    "', 'added': 'by_step'},"
                    "{'name': 'adds', 'kind': 'node_pre', 'on': 'y', 'steps': ["
                    "  {'do': 'try', 'steps': [{'do': 'add_hook', 'hook': 'h'}]}]}",
                "{'do': 'grad', 'roots': [{'value': 'y', 'seed': 1}], 'inputs': ['x', 'z']}"));
  };
  EXPECT_EQ(reason("z"), "a lasting change by a script that perhaps does not run");
  EXPECT_EQ(reason("c"), "");
}

std::string retaining(const std::string& hooks, const std::string& of) {
  return leaves() + "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['x'], 'factor': 2}]," +
         "'hooks': [" + hooks +
         "], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y',"
         "  'seed': 1}]}, {'do': 'read', 'grads': ['" +
         of + "']}]";
}

TEST(RetainGrad, HOOK_1_StandsWithCaptureFirstWhereItWasFirstAskedFor) {
  const auto retain = [](const std::string& name) {
    return "{'name': '" + name + "', 'kind': 'retain_grad', 'on': 'y'}";
  };
  const std::string pre = "{'name': 'pre', 'kind': 'node_pre', 'on': 'y', 'returns': [3]}";
  const std::string twice = retain("r") + "," + pre + "," + retain("again");
  EXPECT_THAT(with_dialect(retaining(twice, "y"), "HOOK-1", "capture-first").numbers("read"),
              ElementsAre(1));
}

TEST(RetainGrad, HOOK_1_OnALeafIsNothing) {
  const std::string hooks =
      "{'name': 'r', 'kind': 'retain_grad', 'on': 'x'},"
      "{'name': 'pre', 'kind': 'node_pre', 'on': 'accumulate:x'},"
      "{'name': 't', 'kind': 'tensor', 'on': 'x', 'returns': [10]}";
  const Told told = with_dialect(retaining(hooks, "x"), "HOOK-1", "capture-first");
  EXPECT_EQ(told.given("pre"), 2) << "before the tensor's first hook";
  EXPECT_THAT(told.numbers("read"), ElementsAre(20));
}

// A view of what had no history yet has the history that its base was given since.
const std::string late_view =
    "'leaves': [{'name': 'c', 'value': [1, 2], 'requires_grad': false}, {'name': 'w', 'value': 5}],"
    "'nodes': [{'name': 'base', 'op': 'clone', 'inputs': ['c']},"
    "  {'name': 'v', 'op': 'view', 'inputs': ['base'], 'shape': [2]},"
    "  {'name': 'changed', 'op': 'mul_', 'inputs': ['base', 'w']}],";

TEST(RetainGrad, HOOK_6_OfAViewThatGotItsHistoryByItsBase) {
  const Told told(late_view +
                  "'hooks': [{'name': 'r', 'kind': 'retain_grad', 'on': 'v', 'added': 'by_step'}],"
                  "'program': [{'do': 'forward'}, {'do': 'add_hook', 'hook': 'r'},"
                  "  {'do': 'backward', 'roots': [{'value': 'v', 'seed': [3, 4]}]},"
                  "  {'do': 'read', 'grads': ['v', 'w']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(3, 4, 11));
}

std::string requiring(const std::string& value, const std::string& on) {
  return leaves() +
         "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}], 'program': [{'do': 'forward'},"
         "  {'do': 'requires_grad', 'value': '" +
         value + "', 'on': " + on + "}]";
}

TEST(RequiresGrad, IsTurnedOffOfLeavesAlone) {
  EXPECT_EQ(Told(requiring("y", "false")).error("requires_grad"), ErrorCategory::invalid_argument);
  EXPECT_EQ(Told(requiring("x", "false")).error("requires_grad"), std::nullopt);
  EXPECT_EQ(Told(requiring("c", "false")).error("requires_grad"), std::nullopt);
  const Told told(late_view +
                  "'program': [{'do': 'forward'},"
                  "  {'do': 'requires_grad', 'value': 'v', 'on': false}]");
  EXPECT_EQ(told.error("requires_grad"), ErrorCategory::invalid_argument);
}

TEST(RequiresGrad, TurnedOnWhereThereIsAHistoryCannotBeTold) {
  EXPECT_EQ(reason_of(requiring("y", "true")), "requires_grad of what has a history");
  EXPECT_EQ(reason_of(requiring("x", "true")), "");
  EXPECT_EQ(reason_of(requiring("c", "true")), "");
}

TEST(RequiresGrad, OfIntegersCannotBeTold) {
  EXPECT_EQ(reason_of("'leaves': [{'name': 'i', 'value': {'type': 'int64', 'shape': [],"
                      "  'values': [1]}, 'requires_grad': false}],"
                      "'program': [{'do': 'requires_grad', 'value': 'i', 'on': true}]"),
            "requires_grad of integers");
}

// A node that saves x, made while the pair of hooks is open, and a pass.
std::string saving(const std::string& pair, const std::string& before = "") {
  return leaves() +
         "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'], 'saves': ['x'], 'backward': {"
         "  'returns': [{'terms': [{'slot': 0, 'times': 'x'}]}]}}],"
         "'callbacks': [{'name': 'gone'}], 'hooks': [{'name': 'h', 'kind': 'saved', " +
         pair + "}], 'program': [" + before +
         "{'do': 'with', 'saved_hooks': 'h', 'steps': [{'do': 'forward'}]},"
         "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]},"
         "  {'do': 'read', 'grads': ['x']}]";
}

TEST(SavedHooks, HOOK_9_GiveOneTensorOrNothing) {
  EXPECT_THAT(Told(saving("'pack': {'returns': [10]}, 'unpack': {'returns': [2]}")).numbers("read"),
              ElementsAre(60));
  EXPECT_THAT(Told(saving("'pack': {}, 'unpack': {}")).numbers("read"), ElementsAre(3));
  for (const std::string wrong : {"[]", "[1, 1]"}) {
    EXPECT_EQ(Told(saving("'pack': {'returns': " + wrong + "}")).error("forward"),
              ErrorCategory::hook_result)
        << wrong;
  }
  for (const std::string wrong : {"[]", "[null]", "[1, 1]"}) {
    EXPECT_EQ(Told(saving("'unpack': {'returns': " + wrong + "}")).error("backward"),
              ErrorCategory::hook_result)
        << wrong;
  }
}

// What is packed is the hook's affair, and its other half may make a tensor of it.
TEST(SavedHooks, HOOK_9_OneThatPacksNothingCannotBeTold) {
  EXPECT_EQ(reason_of(saving("'pack': {'returns': [null]}")), "a pack hook that packs nothing");
}

TEST(SavedHooks, ERR_1_AForwardWhosePackFailsGivesNothing) {
  std::string body = saving("'pack': {'steps': [{'do': 'throw', 'token': 'bad'}]}");
  body.replace(body.find("'grads': ['x']"), 14, "'values': ['y']");
  const Told told(body);
  EXPECT_EQ(told.error("forward"), ErrorCategory::user);
  EXPECT_EQ(told.error("backward"), ErrorCategory::invalid_argument);
  EXPECT_THAT(told.numbers("read"), ElementsAre(Told::undefined));
}

TEST(SavedHooks, HOOK_9_WhatWasClosedIsOpenedAnew) {
  const Told told(saving("'pack': {}",
                         "{'do': 'with', 'saved_hooks': 'h', 'steps': ["
                         "  {'do': 'close_hooks', 'hook': 'h'}]}, "));
  EXPECT_THAT(told.happenings(), Contains("h"));
}

TEST(Destroyed, LIFE_1_EachRegistrationOfAHookGoes) {
  const Told saved(saving("'pack': {}, 'destroyed': 'gone'"));
  EXPECT_THAT(saved.events_of("gone"), SizeIs(1));
  const Told capture(leaves() +
                     "'callbacks': [{'name': 'gone'}],"
                     "'hooks': [{'name': 'h', 'kind': 'capture', 'destroyed': 'gone'}],"
                     "'program': [{'do': 'grad', 'roots': [{'value': 'x', 'seed': 1}], 'inputs': "
                     "    ['x'], 'capture_hooks': [{'input': 0, 'hook': 'h'}]}]");
  EXPECT_THAT(capture.events_of("gone"), SizeIs(1));
}

// ---- Statements of a scenario's author ----------------------------------------------------------

std::string stated(const std::string& expect) {
  return leaves() + "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}]," +
         "'program': [{'do': 'forward'}, {'do': 'grad', 'roots': [{'value': 'y', 'seed': 1}],"
         "  'inputs': ['x'], 'expect': {" +
         expect + "}}]";
}

TEST(Statements, ACC_5_ValuesForEnginesThatAddInOrderAreUnknownForOthers) {
  const auto known = [](const std::string& follows, const char* alternative) {
    return with_dialect(stated("'values': [-1], 'follows': {" + follows + "}"), "ACC-5",
                        alternative)
        .step("grad")
        .value_known;
  };
  EXPECT_THAT(known("'ACC-5': 'ordered'", "arrival"), ElementsAre(false));
  EXPECT_THAT(known("'ACC-5': 'ordered'", "ordered"), ElementsAre(true));
  EXPECT_THAT(known("'DEV-2': 'all-devices'", "arrival"), ElementsAre(true));
}

TEST(Statements, ValuesWithABoundAreTheTruth) {
  const Told told(stated("'values': [-1.5], 'bound': 2"));
  EXPECT_THAT(told.numbers("grad"), ElementsAre(-1.5));
  EXPECT_EQ(told.step("grad").bound, 2);
  EXPECT_TRUE(told.expectation.inexact);
}

TEST(Statements, NamesStandForThoseWhoFollowTheAlternative) {
  const std::string body = leaves() +
                           "'program': [{'do': 'throw', 'token': 't', 'expect': {'error': 'user',"
                           "  'names': ['t'], 'follows': {'DEV-2': 'lazy'}}}]";
  EXPECT_THAT(with_dialect(body, "DEV-2", "lazy").step("throw").names, SizeIs(1));
  EXPECT_THAT(with_dialect(body, "DEV-2", "all-devices").step("throw").names, IsEmpty());
}

TEST(Statements, OfANumberCountOnlyWhereTheOracleKnowsNone) {
  const auto event = [](const std::string& what, const std::string& expect) {
    const Told told("'program': [{'do': 'observe', 'what': '" + what + "', 'expect': {" + expect +
                    "}}]");
    return *told.events_of("observe")[0];
  };
  const std::string range = "'number': {'least': 0, 'most': 5}";
  EXPECT_FALSE(event("inside_pass", range).number_fits(5));
  EXPECT_TRUE(event("inside_pass", range).number_fits(0));
  EXPECT_TRUE(event("engine_threads", range).number_fits(5));
  EXPECT_FALSE(event("engine_threads", range).number_fits(6));
  EXPECT_TRUE(event("engine_threads", "'or_error': 'user'").number_fits(6));
}

TEST(Observed, STREAM_1_TheStreamOfAnotherDeviceIsNotKnown) {
  const Told told(
      "'streams': [{'name': 's', 'device': 'sim:0'}], 'program': ["
      "  {'do': 'with', 'stream': 's', 'steps': [{'do': 'observe', 'what': 'stream'},"
      "    {'do': 'with', 'device': 'sim:1', 'steps': [{'do': 'observe', 'what': 'stream'}]}]}]");
  const auto events = told.events_of("observe");
  EXPECT_TRUE(events[0]->compare_number);
  EXPECT_EQ(events[0]->event.number, 0);
  EXPECT_FALSE(events[1]->compare_number);
}

TEST(Observed, PRUNE_8_WhatIsNeededIsForTheNodeItselfToAsk) {
  const std::string asks = "'steps': [{'do': 'observe', 'what': 'needed'}]";
  const auto known = [](const std::string& of_node, const std::string& of_hook) {
    const Told told(
        leaves() + "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'], 'backward': {" +
        of_node + "}}], 'hooks': [{'name': 'h', 'kind': 'node_pre', 'on': 'y'" + of_hook +
        "}], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': ["
        "  {'value': 'y', 'seed': 1}]}]");
    return told.events_of("observe")[0]->compare_number;
  };
  EXPECT_TRUE(known(asks, ""));
  EXPECT_FALSE(known("", ", " + asks));
}

// ---- What an error left free, and kinds that no clause speaks of --------------------------------

TEST(Undetermined, WhatWasKeptIsUsedByNothing) {
  EXPECT_EQ(reason_of(leaves() +
                      "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x'], 'backward': {"
                      "    'steps': [{'do': 'keep', 'as': 'k'}]}},"
                      "  {'name': 'e', 'op': 'exp', 'inputs': ['k']}],"
                      "'program': [{'do': 'forward', 'nodes': ['y']}, {'do': 'grad', 'roots': ["
                      "    {'value': 'y', 'seed': 5}], 'inputs': ['x', 'z']},"
                      "  {'do': 'forward', 'nodes': ['e']}]"),
            "a value that an error left undetermined");
}

TEST(Undetermined, AGradientIsNotKept) {
  EXPECT_EQ(reason_of("'leaves': [{'name': 'x', 'value': 1}, {'name': 'w', 'value': " + on_sim +
                      "}], 'nodes': [{'name': 'bad', 'op': 'custom', 'inputs': ['x'], 'backward': {"
                      "    'steps': [{'do': 'throw', 'token': 'boom'}]}},"
                      "  {'name': 'near', 'op': 'to_device', 'inputs': ['w'], 'device': 'cpu'},"
                      "  {'name': 'sum', 'op': 'add', 'inputs': ['bad', 'near']}],"
                      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': ["
                      "    {'value': 'sum', 'seed': 1}]}, {'do': 'keep', 'grad_of': 'w',"
                      "    'as': 'k'}]"),
            "a gradient that an error left undetermined");
}

// HOOK-4: a built-in node need not compute what nothing needs.
TEST(Undetermined, WhatAPostHookKeepsOfAnInputWithoutAHistory) {
  const Told told(leaves() +
                  "'nodes': [{'name': 'y', 'op': 'add', 'inputs': ['x', 'c']}],"
                  "'hooks': [{'name': 'h', 'kind': 'node_post', 'on': 'y', 'steps': ["
                  "    {'do': 'keep', 'slot': 1, 'as': 'k'}]}],"
                  "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y',"
                  "    'seed': 5}]}, {'do': 'read', 'values': ['k', 'x']}]");
  EXPECT_THAT(told.step("read").value_known, ElementsAre(false, true));
}

TEST(Changes, OfASparseTensorCannotBeTold) {
  EXPECT_EQ(reason_of("'leaves': [{'name': 's', 'requires_grad': false, 'value': {'shape': [2],"
                      "  'values': [1], 'sparse': {'indices': [[1]]}}}],"
                      "'program': [{'do': 'change', 'value': 's', 'add': 1}]"),
            "a change of a sparse tensor");
}

// ---- Nested passes ------------------------------------------------------------------------------

// 'outer' starts a pass from 'inner', which is on the device; 'older' is ready meanwhile.
std::string nested(const std::string& device, const std::string& more = "") {
  const std::string one = "{'device': '" + device + "', 'shape': [], 'values': [1]}";
  return more +
         "'leaves': [{'name': 'x', 'value': 3}, {'name': 'z', 'value': 4}, {'name': 'p',"
         "  'value': " +
         one +
         "}], 'nodes': [{'name': 'inner', 'op': 'custom', 'inputs': ['p']},"
         "  {'name': 'older', 'op': 'custom', 'inputs': ['x']},"
         "  {'name': 'outer', 'op': 'custom', 'inputs': ['z'], 'backward': {'steps': ["
         "    {'do': 'backward', 'roots': [{'value': 'inner', 'seed': " +
         one +
         "}]}]}}, {'name': 'top', 'op': 'custom', 'inputs': ['older', 'outer']}],"
         "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'top',"
         "  'seed': 5}]}, {'do': 'observe', 'what': 'depth'}]";
}

TEST(NestedPasses, REENT_2_OnTheCallersQueueNobodyWaits) {
  EXPECT_TRUE(
      with_dialect(nested("cpu"), "REENT-2", "any-ready").ordered("exit outer", "enter older"));
  EXPECT_FALSE(
      with_dialect(nested("sim:0"), "REENT-2", "any-ready").ordered("exit outer", "enter older"));
}

TEST(NestedPasses, REENT_3_UpToTheLimitADevicesNodesRunOnItsThread) {
  const auto device = [](const std::string& limit) {
    return Told(nested("sim:0", "'configuration': {'nesting_limit': " + limit + "},"))
        .events_of("enter inner")[0]
        ->device;
  };
  EXPECT_EQ(device("2"), (Device{DeviceType::sim, 0}));
  EXPECT_EQ(device("1"), std::nullopt) << "a thread of the pool may stand in";
}

// The clause of a constraint between two events, by their names.
std::string clause_between(const Told& told, const std::string& before, const std::string& after) {
  const auto named = [&](std::int32_t event, const std::string& name) {
    return told.name_of(told.expectation.events[static_cast<std::size_t>(event)].event) == name;
  };
  for (const OrderConstraint& order : told.expectation.order) {
    if (named(order.before, before) && named(order.after, after)) return order.clause;
  }
  return "none";
}

TEST(NestedPasses, REENT_1_EndBeforeTheirNodeGoesOnAndOthersBeforeTheCallReturns) {
  const Told told(nested("cpu"));
  EXPECT_EQ(clause_between(told, "end", "exit outer"), "REENT-1");
  EXPECT_EQ(clause_between(told, "end", "observe"), "CB-1");
}

TEST(NestedPasses, NoDeeperThanIsAllowedCanBeTold) {
  const Scenario scenario = scenario_of(nested("cpu"));
  const Dialect dialect = make_dialect("reference");
  Expectation expectation;
  oracle::Interpreter(scenario, dialect, expectation, 2).run();
  EXPECT_THROW(oracle::Interpreter(scenario, dialect, expectation, 1).run(), oracle::CannotTell);
}

TEST(NestedPasses, SHUT_4_AfterAStopCannotBeTold) {
  std::string body = nested("cpu");
  const std::string forward = "{'do': 'forward'}, ";
  body.insert(body.find(forward) + forward.size(), "{'do': 'stop'}, ");
  EXPECT_EQ(reason_of(body), "a nested pass after stop");
}

// ---- Devices of nodes ---------------------------------------------------------------------------

// 'y' is on the device, and 'top' gives it its gradient.
std::string led_by(const std::string& y, const std::string& returns) {
  return "'leaves': [{'name': 'p', 'value': " + on_sim +
         "}], 'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['p'], " + y +
         "}, {'name': 'top', 'op': 'custom', 'inputs': ['y'], 'backward': {'returns': [" + returns +
         "]}}], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': ["
         "  {'value': 'top', 'seed': " +
         on_sim + "}]}]";
}

TEST(DevicesOfNodes, DEV_3_WithFirstBufferTheGradientsLeadThere) {
  const auto devices = [](const std::string& body) {
    std::string all;
    for (const char* alternative : {"metadata", "first-buffer"}) {
      const Told told = with_dialect(body, "DEV-3", alternative);
      const auto device = told.events_of("enter y")[0]->device;
      all += (device ? to_text(*device) : "free") + " ";
    }
    return all;
  };
  const std::string plain = "'materialise': false";
  EXPECT_EQ(devices(led_by(plain, "1")), "sim:0 sim:0 ");
  EXPECT_EQ(devices(led_by(plain, "null")), "sim:0 free ");
  EXPECT_EQ(devices(led_by("'materialise': true", "null")), "sim:0 free ");
  EXPECT_EQ(devices(led_by("'outputs': ['y', 'near'], 'forward': [1, {'terms': [{'slot': 0}],"
                           "  'move_to': 'cpu'}], 'backward': {'returns': [1]}",
                           "1")),
            "sim:0 free ")
      << "a gradient of another device may be the first";
}

// ---- Scripts that no clause orders --------------------------------------------------------------

// Accumulators that are ready together (ORDER-4), each with a hook.
std::string tied(const std::string& of_x, const std::string& of_z) {
  const auto hook = [](const std::string& leaf, const std::string& steps) {
    return "{'name': 'h" + leaf + "', 'kind': 'node_pre', 'on': 'accumulate:" + leaf +
           "', 'steps': [" + steps + "]}";
  };
  return leaves(", {'name': 'u', 'value': 6}") +
         "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x', 'z']},"
         "  {'name': 'e', 'op': 'exp', 'inputs': ['u']}, {'name': 'f', 'op': 'neg', 'inputs':"
         "  ['u']}], 'hooks': [{'name': 'late', 'kind': 'node_pre', 'on': 'accumulate:z',"
         "    'added': 'by_step'}, " +
         hook("x", of_x) + "," + hook("z", of_z) +
         "], 'program': [{'do': 'forward', 'nodes': ['y', 'e', 'f']}, {'do': 'backward', 'roots': ["
         "  {'value': 'y', 'seed': 5}]}]";
}

std::string forward_of(const std::string& node) {
  return "{'do': 'with', 'recording': true, 'steps': [{'do': 'forward', 'nodes': ['" + node +
         "']}]}";
}

TEST(Unordered, HOOK_5_AHookOnANodeThatTheOtherAddsCannotBeTold) {
  EXPECT_EQ(reason_of(tied("{'do': 'add_hook', 'hook': 'late'}", "")),
            "hooks that change while their node may run");
}

TEST(Unordered, ANodeIsMadeByOneOfTwo) {
  EXPECT_EQ(reason_of(tied(forward_of("e"), forward_of("e"))),
            "a node that two scripts may make in any order");
  EXPECT_EQ(reason_of(tied(forward_of("e"), forward_of("f"))), "");
}

TEST(Unordered, ALeafIsSetByOneWhereTheOtherAddsNothing) {
  EXPECT_EQ(reason_of(tied("", "{'do': 'set_grad', 'leaf': 'x', 'grad': 1}")),
            "a leaf that is set while a pass may add to it");
  EXPECT_EQ(reason_of(tied("", "{'do': 'set_grad', 'leaf': 'u', 'grad': 1}")), "");
}

TEST(Unordered, AGradientIsReadWhereTheOtherAddsNothing) {
  EXPECT_THAT(Told(tied("", "{'do': 'read', 'grads': ['x']}")).step("read").value_known,
              ElementsAre(false));
  EXPECT_THAT(Told(tied("", "{'do': 'read', 'grads': ['z']}")).step("read").value_known,
              ElementsAre(true));
}

TEST(Unordered, AValueThatOneAloneKeepsIsKnown) {
  std::string body = tied("", "{'do': 'keep', 'as': 'k'}");
  body.replace(body.rfind(']'), 1, ", {'do': 'read', 'values': ['k', 'x']}]");
  EXPECT_THAT(Told(body).step("read").value_known, ElementsAre(true, true));
}

// The second value is not there to be read, so the step's result holds none.
TEST(Unordered, AStepThatFailedReadNothing) {
  const std::string reads = "{'do': 'try', 'steps': [{'do': 'read', 'grads': ['x', 'n']}]}";
  const std::string makes_n =
      "{'do': 'grad', 'roots': [{'value': 'y', 'seed': 1}], 'inputs': ['x', 'u'],"
      "  'allow_unused': true, 'keep': true, 'results': ['g', 'n']}, ";
  std::string body = tied("", reads);
  body.insert(body.find("{'do': 'backward'"), makes_n);
  EXPECT_EQ(Told(body).error("read"), ErrorCategory::invalid_argument);
  const std::string pass = "{'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]}";
  const Told threads(leaves(", {'name': 'u', 'value': 6}") +
                     "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x', 'z']}], 'program': ["
                     "  {'do': 'forward'}, " +
                     makes_n + "{'do': 'parallel', 'threads': [{'name': 'a', 'steps': [" + reads +
                     "]}, {'name': 'b', 'steps': [" + pass + "]}]}]");
  EXPECT_EQ(threads.error("read"), ErrorCategory::invalid_argument);
}

TEST(Unordered, ThreadsThatReadAGradientDoNotDisturbEachOther) {
  const std::string reads = "{'do': 'read', 'grads': ['x']}";
  const Told told(leaves() + "'program': [{'do': 'parallel', 'threads': [{'name': 'a', 'steps': [" +
                  reads + "]}, {'name': 'b', 'steps': [" + reads + "]}]}]");
  EXPECT_THAT(told.step("read", 0).value_known, ElementsAre(true));
  EXPECT_THAT(told.step("read", 1).value_known, ElementsAre(true));
}

// Nodes that two threads made, and the script of the newer one.
std::string of_two_threads(const std::string& script) {
  const auto thread = [](const std::string& node) {
    return "{'name': '" + node + "', 'steps': [{'do': 'forward', 'nodes': ['" + node + "']}]}";
  };
  const auto saving_node = [](const std::string& name, const std::string& leaf) {
    return "{'name': '" + name + "', 'op': 'custom', 'inputs': ['" + leaf + "'], 'saves': ['" +
           leaf + "']}, ";
  };
  return leaves(", {'name': 'u', 'value': 6}") + "'nodes': [" + saving_node("old", "x") +
         saving_node("apart", "u") +
         "{'name': 'new', 'op': 'custom', 'inputs': ['z'], 'backward': {'steps': [" + script +
         "]}}, {'name': 'sum', 'op': 'add', 'inputs': ['old', 'new']}],"
         "'program': [{'do': 'parallel', 'threads': [" +
         thread("old") + ", " + thread("new") +
         "]}, {'do': 'forward', 'nodes': ['apart', 'sum']},"
         "  {'do': 'backward', 'roots': [{'value': 'sum', 'seed': 1}]}]";
}

TEST(Unordered, KEEP_1_ANodeThatRunsWithoutKeepIsNotGoneThroughMeanwhile) {
  const auto through = [](const std::string& node, const std::string& leaf) {
    return of_two_threads("{'do': 'grad', 'keep': true, 'roots': [{'value': '" + node +
                          "', 'seed': 1}], 'inputs': ['" + leaf + "']}");
  };
  EXPECT_EQ(reason_of(through("old", "x")),
            "a graph that is released while another pass may be in it");
  EXPECT_EQ(reason_of(through("apart", "u")), "");
}

TEST(Unordered, AScriptThatOnlyReadsSeesOrNotWhatOthersAdd) {
  const Told told(of_two_threads("{'do': 'read', 'grads': ['x', 'u']}"));
  EXPECT_THAT(told.step("read").value_known, ElementsAre(false, true));
}

// ---- Driven from outside ------------------------------------------------------------------------

// x -> y, and an asynchronous pass that asks for x and is told of m.
std::string asynchronous(const std::string& program, const std::string& more = "") {
  return more +
         "'futures': [{'name': 'f'}], 'announcements': [{'name': 'a', 'to': 'm'}],"
         "'callbacks': [{'name': 'k'}]," +
         leaves() +
         "'nodes': [{'name': 'm', 'op': 'neg', 'inputs': ['x']},"
         "  {'name': 'y', 'op': 'neg', 'inputs': ['m']}],"
         "'program': [{'do': 'forward'}, " +
         program + "]";
}
const std::string deliver = "{'do': 'deliver', 'announcement': 'a', 'gradient': 1}";
const std::string start =
    "{'do': 'grad', 'roots': [{'value': 'y', 'seed': 1}], 'inputs': ['x'], 'announced': ['a'],"
    "  'future': 'f'}";
const std::string wait = "{'do': 'wait', 'future': 'f'}";

TEST(FromOutside, ASYNC_2_ItsArgumentsStayUntilItIsWaitedFor) {
  const auto reason = [](const std::string& between) {
    return reason_of(asynchronous(deliver + ", " + start + ", " + between + wait));
  };
  EXPECT_EQ(reason(""), "");
  for (const std::string value : {"x", "m", "y"}) {
    EXPECT_EQ(reason("{'do': 'drop', 'values': ['" + value + "']}, "),
              "a value that is dropped or made again before the pass from it is waited for")
        << value;
  }
}

TEST(FromOutside, ASYNC_1_OneDeliveryAndOnePass) {
  EXPECT_EQ(reason_of(asynchronous(deliver + ", " + deliver + ", " + start + ", " + wait)),
            "a gradient that is delivered twice");
  EXPECT_EQ(reason_of(asynchronous(deliver + ", {'do': 'repeat', 'times': 2, 'steps': [" + start +
                                   "]}, " + wait)),
            "an asynchronous pass that is started twice");
}

TEST(FromOutside, ASYNC_2_WhatIsWaitedForWasStarted) {
  EXPECT_EQ(reason_of(asynchronous(deliver + ", " + wait + ", " + start)),
            "a wait for a pass that was not started");
  EXPECT_EQ(reason_of(asynchronous("{'do': 'when_done', 'future': 'f', 'callback': 'k'}, " +
                                   deliver + ", " + start + ", " + wait)),
            "a callback of a pass that was not started");
}

TEST(FromOutside, ASYNC_2_APassThatIsStartedInsideAnotherCannotBeTold) {
  EXPECT_EQ(
      reason_of(asynchronous(
          deliver + ", {'do': 'backward', 'roots': [{'value': 'z', 'seed': 1}]}, " + wait,
          "'hooks': [{'name': 'h', 'kind': 'tensor', 'on': 'z', 'steps': [" + start + "]}],")),
      "an asynchronous pass that is started inside a pass");
}

// ---- Ranks --------------------------------------------------------------------------------------

// Of two ranks only the first comes.
std::string one_rank(const std::string& expect, const std::string& more = "") {
  return "'leaves': [{'name': 'a0', 'value': 3}, {'name': 'a1', 'value': 4}],"
         "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['a0']}],"
         "'reducers': [{'name': 'r', 'ranks': [['a0'], ['a1']], 'limit': 1}],"
         "'program': [{'do': 'forward'},"
         "  {'do': 'make_reducer', 'reducer': 'r', 'rank': 0},"
         "  {'do': 'make_reducer', 'reducer': 'r', 'rank': 1},"
         "  {'do': 'prepare', 'reducer': 'r', 'rank': 0},"
         "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': 1}]" +
         expect + "}" + more + "]";
}

TEST(Ranks, RED_11_AnErrorThatIsKnownAtTheEndNamesWhatItsStepStates) {
  const Told told(one_rank(", 'expect': {'error': 'reducer', 'names': ['rank 1']}"));
  EXPECT_EQ(told.error("backward"), ErrorCategory::reducer);
  EXPECT_THAT(told.step("backward").names, SizeIs(1));
  EXPECT_THAT(Told(one_rank("")).step("backward").names, IsEmpty());
}

TEST(Ranks, FORK_1_WhatWaitedBeforeAForkIsNoResultOfTheChild) {
  const Told told(one_rank("",
                           ", {'do': 'fork', 'steps': [{'do': 'parallel', 'threads': ["
                           "  {'name': 'rank1', 'steps': [{'do': 'read', 'values': ['y']}]}]}]}"));
  EXPECT_THAT(told.numbers("read"), ElementsAre(-3));
  EXPECT_EQ(told.error("backward"), ErrorCategory::reducer);
}

// ---- Forks --------------------------------------------------------------------------------------

std::string forking(const std::string& program) {
  return leaves() + "'nodes': [{'name': 'y', 'op': 'neg', 'inputs': ['x']}], 'program': [" +
         "{'do': 'forward'}, " + program + "]";
}
const std::string pass = "{'do': 'backward', 'keep': true, 'roots': [{'value': 'y', 'seed': 1}]}";
const std::string read_x = "{'do': 'read', 'grads': ['x']}";

TEST(Forks, FORK_1_AChildDoesNothingOfOtherForks) {
  const Told told(forking("{'do': 'fork', 'steps': [" + pass + ", " + pass + ", " + read_x +
                          "]}, {'do': 'fork', 'steps': [" + pass + ", " + read_x + "]}"));
  EXPECT_THAT(told.numbers("read", 0), ElementsAre(-2));
  EXPECT_THAT(told.numbers("read", 1), ElementsAre(-1));
}

TEST(Forks, FORK_1_EachChildOfARepeatedForkStartsWhereItIsForked) {
  const Told told(forking("{'do': 'repeat', 'times': 3, 'steps': [{'do': 'fork', 'steps': [" +
                          read_x + "]}, " + pass + "]}"));
  EXPECT_THAT(told.numbers("read", 0), ElementsAre(Told::undefined));
  EXPECT_THAT(told.numbers("read", 1), ElementsAre(-1));
  EXPECT_THAT(told.numbers("read", 2), ElementsAre(-2));
}

}  // namespace
}  // namespace gradcts::interpreter_test
