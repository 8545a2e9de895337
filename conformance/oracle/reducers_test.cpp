// Reducers (RED), and where nothing is said of them.
#include <gmock/gmock.h>

#include "conformance/oracle/oracle_test_support.h"

namespace gradcts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

// ---- Programs

std::string on(const std::string& verb, int rank = 0, const std::string& more = "") {
  return "{'do': '" + verb + "', 'reducer': 'r', 'rank': " + std::to_string(rank) + more + "}";
}

std::string ask(const std::string& what) {
  return on("ask_reducer", 0, ", 'what': '" + what + "'");
}

std::string pass(const std::string& root, const std::string& seed = "1") {
  return "{'do': 'backward', 'roots': [{'value': '" + root + "', 'seed': " + seed + "}]}";
}

std::string read(const std::string& grads) {
  return "{'do': 'read', 'grads': [" + grads + "]}";
}

std::string steps(const std::vector<std::string>& all) {
  std::string joined;
  for (const std::string& step : all) joined += (joined.empty() ? "" : ", ") + step;
  return joined;
}

// A pass from `cba` brings gradients to c, b and a, one from `ca` to c and a; one from `twice` to
// a, b, again a, and c. One from `fails` fails before it brings anything.
std::string one_rank(const std::string& options, const std::vector<std::string>& program) {
  return "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}, {'name': 'c', 'value': "
         "1}, {'name': 'other', 'value': 1},"
         "           {'name': 'k', 'value': 1, 'requires_grad': false}],"
         "'nodes': [{'name': 'ka', 'op': 'add', 'inputs': ['k', 'a']},"
         "          {'name': 'ba', 'op': 'add', 'inputs': ['ka', 'b']},"
         "          {'name': 'cba', 'op': 'add', 'inputs': ['ba', 'c']},"
         "          {'name': 'ca', 'op': 'add', 'inputs': ['ka', 'c']},"
         "          {'name': 'nested', 'op': 'custom', 'inputs': ['c'], 'backward': {'steps': [" +
         steps({pass("b"), pass("a")}) +
         "]}},"
         "          {'name': 'twice', 'op': 'add', 'inputs': ['nested', 'a']},"
         "          {'name': 'fails', 'op': 'custom', 'inputs': ['other'], 'backward': {'steps': "
         "[{'do': 'throw', 'token': 'bad'}]}}],"
         "'reducers': [{'name': 'r', 'ranks': [['a', 'b', 'c']]" +
         options + "}], 'program': [{'do': 'forward'}, " + on("make_reducer") + ", " +
         steps(program) + "]";
}

// Leaf a is of rank 0, and leaf b of rank 1.
std::string two_ranks(const std::vector<std::string>& program) {
  return "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}],"
         "'reducers': [{'name': 'r', 'ranks': [['a'], ['b']]}], 'program': [" +
         on("make_reducer", 0) + ", " + on("make_reducer", 1) + ", " + steps(program) + "]";
}

std::string together(const std::vector<std::string>& rank0, const std::vector<std::string>& rank1) {
  return "{'do': 'parallel', 'threads': [{'name': 'rank0', 'steps': [" + steps(rank0) +
         "]}, {'name': 'rank1', 'steps': [" + steps(rank1) + "]}]}";
}

// ---- Buckets

TEST(Buckets, RED_1_ThoseThatAreGivenRightAreTaken) {
  const Told told(one_rank(", 'buckets': [[2, 0], [1]]", {ask("buckets")}));
  EXPECT_THAT(told.numbers("ask_reducer"), ElementsAre(0, 1, 0));
}

// Behind those whose gradients came stands what was unused.
TEST(Buckets, RED_1_FollowTheOrderOfTheFirstPassFromTheSecondOnWhereAskedFor) {
  const std::string prepare = on("prepare", 0, ", 'outputs': ['ca']");
  for (const bool rebuilds : {false, true}) {
    const Told told(
        one_rank(std::string(", 'bucket_bytes': [1], 'find_unused': true, 'rebuild': ") +
                     (rebuilds ? "true" : "false"),
                 {prepare, ask("buckets"), pass("ca"), ask("collectives"), prepare, ask("buckets"),
                  pass("ca"), ask("collectives"), prepare, pass("ca"), ask("collectives")}));
    const auto answer = [&](int n) { return told.numbers("ask_reducer", n); };
    EXPECT_THAT(answer(0), ElementsAre(0, 1, 2));
    EXPECT_THAT(answer(2), rebuilds ? ElementsAre(1, 2, 0) : ElementsAre(0, 1, 2));
    // Three buckets and the map of what is used; once the order.
    EXPECT_THAT(answer(1), ElementsAre(4));
    EXPECT_THAT(answer(3), ElementsAre(rebuilds ? 9 : 8));
    EXPECT_THAT(answer(4), ElementsAre(rebuilds ? 13 : 12));
  }
}

// ---- Becoming ready

TEST(Ready, RED_5_WhatWasUnusedIsWaitedForWhereTheOutputsLeadToIt) {
  const Told told(one_rank(", 'find_unused': true",
                           {on("prepare", 0, ", 'outputs': ['ca']"), pass("ca"), ask("ready"),
                            on("prepare", 0, ", 'outputs': ['cba']"), pass("cba"), ask("ready")}));
  EXPECT_THAT(told.numbers("ask_reducer", 0), ElementsAre(2, 0));
  EXPECT_THAT(told.numbers("ask_reducer", 1), ElementsAre(2, 1, 0));
}

TEST(Ready, RED_10_InAStaticGraphWhenTheLastGradientOfAPassCame) {
  const std::string prepare = on("prepare");
  const Told told(
      one_rank(", 'static_graph': true", {prepare, pass("twice"), ask("collectives"), prepare,
                                          pass("twice"), ask("ready"), ask("collectives")}));
  EXPECT_THAT(told.numbers("ask_reducer", 1), ElementsAre(1, 0, 2));
  // What is used is asked for in the first pass alone.
  EXPECT_THAT(told.numbers("ask_reducer", 0), ElementsAre(2));
  EXPECT_THAT(told.numbers("ask_reducer", 2), ElementsAre(3));
}

TEST(Ready, RED_6_APassOfAStaticGraphThatBringsLessThanTheFirstIsUnfinished) {
  const std::string prepare = on("prepare");
  const Told told(
      one_rank(", 'static_graph': true", {prepare, pass("twice"), prepare, pass("cba"), prepare}));
  EXPECT_EQ(told.error("prepare", 1), std::nullopt);
  EXPECT_THAT(told.error("prepare", 2), Optional(ErrorCategory::reducer));
}

TEST(Ready, RED_9_APassThatFailsBeforeItBringsAnythingIsNoneOfIts) {
  const Told told(
      one_rank(", 'find_unused': true", {on("prepare", 0, ", 'outputs': ['cba']"), pass("fails"),
                                         pass("cba"), ask("collectives"), read("'a'")}));
  EXPECT_THAT(told.error("backward"), Optional(ErrorCategory::user));
  EXPECT_THAT(told.numbers("ask_reducer"), ElementsAre(2));
  EXPECT_THAT(told.step("read").value_known, ElementsAre(true));
}

// ---- What an average is of, and what is not known

TEST(Averages, LEAF_4_AGradThatWasThereKeepsItsLayout) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': {'shape': [2, 2], 'values': [1, 2, 3, 4]},"
      "            'grad': {'shape': [2, 2], 'strides': [1, 2], 'values': [1, 2, 3, 4]}}],"
      "'reducers': [{'name': 'r', 'ranks': [['x']]}], 'program': [" +
      steps({on("make_reducer"), on("prepare"), pass("x", "{'shape': [2, 2], 'fill': 1}")}) + "]");
  EXPECT_THAT(told.expectation.leaf_grads[0]->values, ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(told.expectation.leaf_grad_strides[0], (Shape{1, 2}));
}

TEST(Averages, RED_3_OfAGradientThatIsNotKnownAreNotKnownOnAnyRank) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': 1}, {'name': 'b', 'value': 1}, {'name': 'c', 'value': 1}],"
      "'nodes': [{'name': 'z', 'op': 'add', 'inputs': ['a', 'c']}],"
      "'hooks': [{'name': 'h', 'kind': 'node_pre', 'on': 'accumulate:c', 'steps': [{'do': 'throw', "
      "'token': 'bad'}]}],"
      "'reducers': [{'name': 'r', 'ranks': [['a'], ['b']]}], 'program': [{'do': 'forward'}, " +
      steps({on("make_reducer", 0), on("make_reducer", 1), pass("z"), read("'a', 'b'"),
             together({on("prepare", 0), pass("a")}, {on("prepare", 1), pass("b")}),
             read("'a', 'b'")}) +
      "]");
  EXPECT_THAT(told.step("read", 0).value_known, ElementsAre(false, true));
  EXPECT_THAT(told.step("read", 1).value_known, ElementsAre(false, false));
}

TEST(Averages, RED_11_WhereARankDoesNotComeGradientsAreNotKnown) {
  const Told told(two_ranks({together({on("prepare", 0), pass("a")}, {}), read("'a'")}));
  EXPECT_THAT(told.error("backward"), Optional(ErrorCategory::reducer));
  EXPECT_THAT(told.step("read").value_known, ElementsAre(false));
}

// Part of it may have been reduced, and stand in the gradients where they are views.
TEST(Averages, RED_8_OfAReducerThatIsDroppedInTheMiddleAreNotKnown) {
  const auto known = [](const std::string& options, const std::vector<std::string>& before) {
    const Told told(
        one_rank(options, {steps(before), on("drop_reducer"), pass("cba"), read("'a'")}));
    const auto& known_values = told.step("read").value_known;
    return known_values.empty() || known_values[0];
  };
  const std::string prepare = on("prepare", 0, ", 'outputs': ['ca']");
  EXPECT_TRUE(known(", 'static_graph': true", {prepare}));
  EXPECT_FALSE(known(", 'find_unused': true", {prepare}));  // b is ready
  EXPECT_FALSE(known(", 'static_graph': true", {prepare, pass("twice"), prepare, pass("a")}));
}

TEST(Averages, RED_8_AreNotMadeByReducersThatAreGone) {
  const std::vector<std::string> rank0 = {on("prepare", 0), on("drop_reducer", 0), pass("a", "2")};
  const std::vector<std::string> rank1 = {on("prepare", 1), on("drop_reducer", 1), pass("b", "6")};
  const Told told(two_ranks({together(rank0, rank1), read("'a', 'b'")}));
  EXPECT_THAT(told.numbers("read"), ElementsAre(2, 6));
}

TEST(Reducers, WhatCannotBeTold) {
  const auto two = [](const std::vector<std::string>& rank0) {
    return reason_of(two_ranks({together(rank0, {on("prepare", 1), pass("b")})}));
  };
  const std::string prepare = on("prepare");
  const std::string goes_on = "goes on before the others can have come";
  EXPECT_THAT(two({prepare, pass("a"), prepare}), HasSubstr(goes_on));
  EXPECT_THAT(two({prepare, on("reset_reducer"), prepare}), HasSubstr(goes_on));
  EXPECT_THAT(two({prepare, pass("a"), read("'a'")}), HasSubstr("is used before the other ranks"));
  EXPECT_THAT(reason_of(two_ranks({together({prepare, pass("a")}, {}), ask("collectives")})),
              HasSubstr("how often ranks met"));
  EXPECT_THAT(reason_of(one_rank("", {on("drop_reducer"), prepare})),
              HasSubstr("used where it was not made"));
  EXPECT_THAT(reason_of(one_rank("", {on("make_reducer")})), HasSubstr("made twice"));
}

// Whether they are averaged: where one comes, and where one was there and nothing came.
TEST(Reducers, SparseGradientsCannotBeTold) {
  const std::string sparse = "{'shape': [2], 'values': [1], 'sparse': {'indices': [[1]]}}";
  const auto reason = [&](const std::string& grad, const std::string& steps_of_rank1) {
    return reason_of("'leaves': [{'name': 'a', 'value': [1, 1]}, {'name': 'b', 'value': [1, 1]" +
                     grad +
                     "}], 'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['b'], 'backward': "
                     "{'returns': [{'tensor': " +
                     sparse +
                     "}]}}], 'reducers': [{'name': 'r', 'ranks': [['a'], ['b']], 'find_unused': "
                     "true}], 'program': [{'do': 'forward'}, " +
                     steps({on("make_reducer", 0), on("make_reducer", 1),
                            together({on("prepare", 0, ", 'outputs': ['a']"), pass("a", "[1, 1]")},
                                     {steps_of_rank1})}) +
                     "]");
  };
  EXPECT_EQ(reason("", on("prepare", 1, ", 'outputs': ['y']") + ", " + pass("y", "[1, 1]")),
            "a sparse gradient in a bucket");
  EXPECT_EQ(reason(", 'grad': " + sparse, on("prepare", 1)), "a sparse gradient in a bucket");
}

}  // namespace
}  // namespace gradcts
