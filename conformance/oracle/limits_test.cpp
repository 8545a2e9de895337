// Around the values: what each operation saves for its derivative, what it refuses, and what the
// oracle cannot tell.
#include <gmock/gmock.h>

#include <cmath>

#include "conformance/oracle/array.h"
#include "conformance/oracle/oracle_test_support.h"

namespace gradcts {
namespace {

// ---- What is saved ------------------------------------------------------------------------------

struct Saving {
  std::string node;  // makes 'y' of 'a' and perhaps 'b', or of what stands for them
  std::string both;  // what is saved, in order, where both inputs need a gradient
  std::string only_a, only_b;
};

std::string leaf(const std::string& name, const std::string& value, bool needs) {
  return "{'name': '" + name + "', 'value': " + value +
         ", 'requires_grad': " + (needs ? "true" : "false") + "}";
}

// The names of what is packed while y is made; ? for what has none.
std::string saved_by(const std::string& node, bool a_needs, bool b_needs) {
  const Told told(
      "'leaves': [" + leaf("a", "{'shape': [2, 2], 'values': [0.5, 2, 0.25, 3]}", a_needs) + ", " +
      leaf("b", "{'shape': [2, 2], 'values': [1.5, 1, 1.25, 5]}", b_needs) + ", " +
      leaf("q", "{'shape': [1, 2, 2], 'values': [1, 2, 3, 4]}", a_needs) + ", " +
      leaf("r", "{'shape': [1, 2, 2], 'values': [6, 7, 8, 9]}", b_needs) + ", " +
      leaf("w", "{'shape': [2], 'values': [11, 12]}", b_needs) + ", " +
      leaf("i", "{'type': 'int64', 'shape': [2, 2], 'values': [1, 0, 1, 1]}", false) + ", " +
      leaf("j", "{'type': 'int64', 'shape': [2], 'values': [1, 0]}", false) + ", " +
      leaf("m", "{'type': 'boolean', 'shape': [2, 2], 'values': [1, 0, 0, 1]}", false) +
      "], 'nodes': [{'name': 'c', 'op': 'clone', 'inputs': ['a']},"
      "             {'name': 'n', 'op': 'scale', 'inputs': ['a'], 'factor': -2}, {'name': 'y', " +
      node +
      "}],"
      "'hooks': [{'name': 'h', 'kind': 'saved', 'pack': {'returns': [1]}, 'unpack': {'returns': "
      "[1]}}],"
      "'program': [{'do': 'with', 'saved_hooks': 'h', 'steps': [{'do': 'forward'}]},"
      "            {'do': 'read', 'values': ['a', 'b', 'q', 'r', 'w', 'i', 'j', 'm', 'n', 'y']}]");
  std::string names;
  const auto& read = told.step("read").result.values;
  for (const ExpectedEvent& expected : told.expectation.events) {
    if (expected.event.kind != EventKind::pack) continue;
    char name = '?';
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (read[i]->values == expected.event.values.at(0)->values) name = "abqrwijmny"[i];
    }
    names += name;
  }
  return names;
}

TEST(Saves, EachOperationItsOwn) {
  const Saving operations[] = {
      {"'add', 'inputs': ['a', 'b']", "", "", ""},
      {"'sub', 'inputs': ['a', 'b']", "", "", ""},
      {"'mul', 'inputs': ['a', 'b']", "ba", "b", "a"},
      {"'div', 'inputs': ['a', 'b']", "ba", "b", "ba"},
      {"'pow', 'inputs': ['a', 'b']", "aby", "ab", "aby"},
      {"'maximum', 'inputs': ['a', 'b']", "ab", "ab", "ab"},
      {"'minimum', 'inputs': ['a', 'b']", "ab", "ab", "ab"},
      {"'mm', 'inputs': ['a', 'b']", "ba", "b", "a"},
      {"'bmm', 'inputs': ['q', 'r']", "rq", "r", "q"},
      {"'cat', 'inputs': ['a', 'b'], 'dim': 1", "", "", ""},
      {"'where', 'inputs': ['m', 'a', 'b']", "m", "m", "m"},
      {"'layer_norm', 'inputs': ['a', 'w', 'w'], 'eps': 0.5", "aw", "aw", "aw"},
      {"'neg', 'inputs': ['a']", "", "", ""},
      {"'scale', 'inputs': ['a'], 'factor': 3", "", "", ""},
      {"'power', 'inputs': ['a'], 'exponent': 2", "a", "a", ""},
      {"'clamp', 'inputs': ['a'], 'min': 1", "a", "a", ""},
      {"'exp', 'inputs': ['a']", "y", "y", ""},
      {"'log', 'inputs': ['a']", "a", "a", ""},
      {"'sin', 'inputs': ['a']", "a", "a", ""},
      {"'cos', 'inputs': ['a']", "a", "a", ""},
      {"'tan', 'inputs': ['a']", "y", "y", ""},
      {"'tanh', 'inputs': ['a']", "y", "y", ""},
      {"'sigmoid', 'inputs': ['a']", "y", "y", ""},
      {"'relu', 'inputs': ['n']", "y", "y", ""},
      {"'sqrt', 'inputs': ['a']", "y", "y", ""},
      {"'expm1', 'inputs': ['a']", "y", "y", ""},
      {"'log1p', 'inputs': ['a']", "a", "a", ""},
      {"'erf', 'inputs': ['a']", "a", "a", ""},
      {"'abs', 'inputs': ['n']", "n", "n", ""},
      {"'sum', 'inputs': ['a']", "", "", ""},
      {"'mean', 'inputs': ['a']", "", "", ""},
      {"'amax', 'inputs': ['a'], 'dims': [1]", "ay", "ay", ""},
      {"'amin', 'inputs': ['a'], 'dims': [1]", "ay", "ay", ""},
      {"'logsumexp', 'inputs': ['a'], 'dims': [1]", "ay", "ay", ""},
      {"'softmax', 'inputs': ['a'], 'dim': 1", "y", "y", ""},
      {"'log_softmax', 'inputs': ['a'], 'dim': 1", "y", "y", ""},
      {"'cumsum', 'inputs': ['a'], 'dim': 1", "", "", ""},
      {"'flip', 'inputs': ['a'], 'dims': [0]", "", "", ""},
      {"'gather', 'inputs': ['a', 'i'], 'dim': 1", "i", "i", ""},
      {"'index_select', 'inputs': ['a', 'j'], 'dim': 1", "j", "j", ""},
      {"'scatter_add', 'inputs': ['a', 'i', 'b'], 'dim': 1", "i", "i", "i"},
      {"'embedding', 'inputs': ['a', 'j']", "j", "j", ""},
      {"'exp_', 'inputs': ['c']", "y", "y", ""},
      {"'tanh_', 'inputs': ['c']", "y", "y", ""},
      {"'relu_', 'inputs': ['c']", "y", "y", ""},
      {"'neg_', 'inputs': ['c']", "", "", ""},
      {"'add_', 'inputs': ['c', 'b']", "", "", ""},
      {"'sub_', 'inputs': ['c', 'b']", "", "", ""},
      {"'mul_', 'inputs': ['c', 'b']", "ba", "b", "a"},
      {"'div_', 'inputs': ['c', 'b']", "ba", "b", "ba"},
      {"'copy_', 'inputs': ['c', 'b']", "", "", ""},
      {"'fill_', 'inputs': ['c'], 'value': 3", "", "", ""},
  };
  for (const Saving& operation : operations) {
    const std::string node = "'op': " + operation.node;
    EXPECT_EQ(saved_by(node, true, true), operation.both) << node;
    EXPECT_EQ(saved_by(node, true, false), operation.only_a) << node;
    EXPECT_EQ(saved_by(node, false, true), operation.only_b) << node;
    EXPECT_EQ(saved_by(node, false, false), "") << node;
  }
}

// ---- What is refused, and what cannot be told ---------------------------------------------------

// Tensors of many kinds, and a node y.
std::string body_of(const std::string& node) {
  const auto constant = [](const std::string& name, const std::string& type,
                           const std::string& shape, const std::string& values) {
    return leaf(name, "{'type': '" + type + "', 'shape': " + shape + ", 'values': " + values + "}",
                false);
  };
  return "'leaves': [" + constant("a", "float64", "[2, 2]", "[1, 2, 3, 4]") + ", " +
         constant("three", "float64", "[3]", "[1, 2, 3]") + ", " +
         constant("wide", "float64", "[2, 3]", "[1, 2, 3, 4, 5, 6]") + ", " +
         constant("cube", "float64", "[1, 2, 2]", "[1, 2, 3, 4]") + ", " +
         constant("cubes", "float64", "[2, 2, 2]", "[1, 2, 3, 4, 5, 6, 7, 8]") + ", " +
         constant("none", "float64", "[0, 2]", "[]") + ", " +
         constant("one", "float64", "[]", "[5]") + ", " +
         constant("single", "float32", "[2, 2]", "[1, 2, 3, 4]") + ", " +
         constant("half", "float16", "[2]", "[1, 2]") + ", " +
         constant("brain", "bfloat16", "[2]", "[1, 2]") + ", " +
         constant("z", "complex128", "[2]", "[[1, 0], [2, 1]]") + ", " +
         constant("int", "int64", "[2, 2]", "[0, 1, 1, 0]") + ", " +
         constant("far", "int64", "[2, 2]", "[0, 1, 2, 0]") + ", " +
         constant("before", "int64", "[2, 2]", "[0, 1, -1, 0]") + ", " +
         constant("row", "int64", "[1]", "[1]") + ", " +
         constant("rows", "int64", "[3, 2]", "[0, 1, 1, 0, 1, 1]") + ", " +
         "{'name': 'moved', 'requires_grad': false, 'value': {'device': 'sim:0', 'shape': [2, 2], "
         "'values': [1, 2, 3, 4]}}, "
         "{'name': 'point', 'requires_grad': false, 'value': {'device': 'sim:0', 'shape': [], "
         "'values': [1]}}, "
         "{'name': 'sparse', 'requires_grad': false, 'value': {'shape': [2, 2], 'values': [1, 2], "
         "'sparse': {'indices': [[1]]}}}], "
         "'nodes': [{'name': 'copy', 'op': 'clone', 'inputs': ['a']}, {'name': 'small', 'op': "
         "'clone', 'inputs': ['three']}, {'name': 'expanded', 'op': 'expand', 'inputs': ['one'], "
         "'shape': [2]}, {'name': 'y', " +
         node + "}], 'program': [{'do': 'forward'}, {'do': 'read', 'values': ['y']}]";
}

TEST(Refusals, OperandsOfAnotherKind) {
  for (const std::string node : {
           "'op': 'amax', 'inputs': ['z']",
           "'op': 'amax', 'inputs': ['int']",
           "'op': 'amax', 'inputs': ['none'], 'dims': [0]",
           "'op': 'softmax', 'inputs': ['z'], 'dim': 0",
           "'op': 'layer_norm', 'inputs': ['a', 'three', 'three'], 'eps': 0.5",
           "'op': 'layer_norm', 'inputs': ['wide', 'three', 'one'], 'eps': 0.5",
           "'op': 'layer_norm', 'inputs': ['one', 'one', 'one'], 'eps': 0.5",
           "'op': 'erf', 'inputs': ['z']",
           "'op': 'mm', 'inputs': ['cube', 'cube']",
           "'op': 'bmm', 'inputs': ['a', 'a']",
           "'op': 'add', 'inputs': ['a', 'moved']",
           "'op': 'add', 'inputs': ['one', 'point']",
           "'op': 'add_', 'inputs': ['small', 'wide']",
           "'op': 'add_', 'inputs': ['copy', 'z']",
           "'op': 'copy_', 'inputs': ['small', 'a']",
           "'op': 'neg_', 'inputs': ['expanded']",
           "'op': 'gather', 'inputs': ['a', 'a'], 'dim': 0",
           "'op': 'gather', 'inputs': ['a', 'far'], 'dim': 0",
           "'op': 'gather', 'inputs': ['a', 'before'], 'dim': 0",
           "'op': 'gather', 'inputs': ['a', 'row'], 'dim': 0",
           "'op': 'gather', 'inputs': ['a', 'rows'], 'dim': 1",
           "'op': 'index_select', 'inputs': ['a', 'int'], 'dim': 0",
           "'op': 'index_select', 'inputs': ['wide', 'half'], 'dim': 1",
           "'op': 'embedding', 'inputs': ['three', 'row']",
           "'op': 'scatter_add', 'inputs': ['a', 'int', 'single'], 'dim': 0",
           "'op': 'scatter_add', 'inputs': ['a', 'int', 'three'], 'dim': 0",
           "'op': 'scatter_add', 'inputs': ['wide', 'rows', 'a'], 'dim': 0",
           "'op': 'view_as_real', 'inputs': ['a']",
           "'op': 'view_as_complex', 'inputs': ['wide']",
           "'op': 'view_as_complex', 'inputs': ['one']",
           "'op': 'view_as_complex', 'inputs': ['int']",
       }) {
    const Told told(body_of(node));
    EXPECT_TRUE(told.error("forward").has_value()) << node;
  }
}

TEST(Refusals, WhatFitsIsTaken) {
  const auto numbers = [](const std::string& node) { return Told(body_of(node)).numbers("read"); };
  using testing::ElementsAre;
  EXPECT_THAT(numbers("'op': 'amax', 'inputs': ['none'], 'dims': [1]"), ElementsAre());
  EXPECT_THAT(numbers("'op': 'gather', 'inputs': ['wide', 'int'], 'dim': 1"),
              ElementsAre(1, 2, 5, 4));
  EXPECT_THAT(numbers("'op': 'gather', 'inputs': ['a', 'rows'], 'dim': 0"),
              ElementsAre(1, 4, 3, 2, 3, 4));
  EXPECT_THAT(numbers("'op': 'index_select', 'inputs': ['a', 'row'], 'dim': 0"), ElementsAre(3, 4));
  EXPECT_THAT(numbers("'op': 'embedding', 'inputs': ['a', 'row']"), ElementsAre(3, 4));
  EXPECT_THAT(numbers("'op': 'scatter_add', 'inputs': ['a', 'int', 'wide'], 'dim': 0"),
              ElementsAre(2, 7, 7, 6));
  EXPECT_THAT(numbers("'op': 'add', 'inputs': ['moved', 'one']"), ElementsAre(6, 7, 8, 9));
  EXPECT_THAT(numbers("'op': 'add', 'inputs': ['one', 'moved']"), ElementsAre(6, 7, 8, 9));
  EXPECT_THAT(numbers("'op': 'expand', 'inputs': ['three'], 'shape': [2, -1]"),
              ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(numbers("'op': 'select', 'inputs': ['wide'], 'dim': -1, 'index': -3"),
              ElementsAre(1, 4));
  EXPECT_THAT(numbers("'op': 'slice', 'inputs': ['wide'], 'dim': 1, 'start': -2, 'end': -1"),
              ElementsAre(2, 5));
  EXPECT_THAT(numbers("'op': 'view', 'inputs': ['wide'], 'shape': [3, -1]"),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

// The last dimension of two must lie side by side in memory, and begin where a complex number does.
TEST(Refusals, OfPairsThatAreNotSideBySide) {
  const auto error = [](const std::string& value,
                        const std::string& slice = "'start': 0, 'end': 4") {
    const Told told("'leaves': [{'name': 'a', 'value': " + value +
                    ", 'requires_grad': false}], 'nodes': [{'name': 'part', 'op': 'slice', "
                    "'inputs': ['a'], 'dim': 0, " +
                    slice +
                    "}, {'name': 'y', 'op': 'view_as_complex', 'inputs': ['part']}],"
                    "'program': [{'do': 'forward'}]");
    return told.error("forward");
  };
  const auto matrix = [](const std::string& strides) {
    return "{'shape': [2, 2], 'strides': " + strides + ", 'values': [1, 2, 3, 4]}";
  };
  EXPECT_EQ(error("[1, 2, 3, 4]", "'start': 2, 'end': 4"), std::nullopt);
  EXPECT_EQ(error("[1, 2, 3, 4]", "'start': 1, 'end': 3"), ErrorCategory::invalid_argument);
  EXPECT_EQ(error("[1, 2, 3, 4]", "'start': 0, 'end': 4, 'step': 2"),
            ErrorCategory::invalid_argument);
  EXPECT_EQ(error(matrix("[2, 1]")), std::nullopt);
  EXPECT_EQ(error(matrix("[4, 1]")), std::nullopt);
  EXPECT_EQ(error(matrix("[3, 1]")), ErrorCategory::invalid_argument);
  EXPECT_EQ(error(matrix("[1, 2]")), ErrorCategory::invalid_argument);
}

// A gradient that a node's script gives, to a leaf of two times two elements.
std::string given(const std::string& first, const std::string& second = "null") {
  return "'leaves': [{'name': 'x', 'value': {'shape': [2, 2], 'values': [1, 2, 3, 4]}}],"
         "'nodes': [{'name': 'y', 'op': 'custom', 'inputs': ['x', 'x'], 'backward': {'returns': [" +
         first + ", " + second +
         "]}}], 'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': "
         "{'shape': [2, 2], 'values': [5, 6, 7, 8]}}]}]";
}

TEST(CannotTell, OfGradientsThatDoNotFitTogether) {
  const std::string rows =
      "{'tensor': {'shape': [2, 2], 'sparse': {'indices': [[1]]}, 'values': [3, "
      "4]}}";
  const std::string elements =
      "{'tensor': {'shape': [2, 2], 'sparse': {'indices': [[1], [0]]}, 'values': [5]}}";
  EXPECT_EQ(reason_of(given(rows, elements)), "mixed sparse dimensions");
  EXPECT_EQ(reason_of(given(rows, rows)), "");
  EXPECT_EQ(reason_of(given("{'pass': 0, 'expand': [3, 2]}")),
            "a shape that does not expand as asked");
  EXPECT_EQ(reason_of(given("{'pass': 0, 'expand': [3, 2, 2]}")), "");
}

TEST(CannotTell, WhatNoClauseSpeaksOf) {
  for (const std::string node : {
           "'op': 'mul', 'inputs': ['sparse', 'a']",
           "'op': 'mul', 'inputs': ['a', 'sparse']",
           "'op': 'exp', 'inputs': ['sparse']",
           "'op': 'view', 'inputs': ['sparse'], 'shape': [4]",
           "'op': 'add', 'inputs': ['a', 'three']",
           "'op': 'add', 'inputs': ['three', 'a']",
           "'op': 'add', 'inputs': ['half', 'brain']",
           "'op': 'mm', 'inputs': ['wide', 'a']",
           "'op': 'mm', 'inputs': ['a', 'three']",
           "'op': 'mm', 'inputs': ['wide', 'three']",
           "'op': 'bmm', 'inputs': ['cube', 'cubes']",
           "'op': 'bmm', 'inputs': ['cubes', 'cube']",
           "'op': 'expand', 'inputs': ['three'], 'shape': [2]",
           "'op': 'expand', 'inputs': ['wide'], 'shape': [3]",
           "'op': 'cat', 'inputs': ['a', 'single'], 'dim': 0",
           "'op': 'cast', 'inputs': ['a'], 'type': 'float64'",
           "'op': 'to_device', 'inputs': ['a'], 'device': 'cpu'",
           "'op': 'view', 'inputs': ['a'], 'shape': [3]",
           "'op': 'select', 'inputs': ['a'], 'dim': 0, 'index': 2",
           "'op': 'select', 'inputs': ['a'], 'dim': 0, 'index': -3",
           "'op': 'select', 'inputs': ['a'], 'dim': 2, 'index': 0",
           "'op': 'select', 'inputs': ['a'], 'dim': -3, 'index': 0",
       }) {
    EXPECT_NE(expect(scenario_of(body_of(node)), make_dialect("reference")).cannot_tell, "")
        << node;
  }
}

TEST(CannotTell, ThePartsOfASparseTensor) {
  EXPECT_EQ(reason_of("'leaves': [{'name': 'z', 'value': {'type': 'complex128', 'shape': [2], "
                      "'values': [[1, 2]], 'sparse': {'indices': [[1]]}}, 'requires_grad': false}],"
                      "'nodes': [{'name': 'y', 'op': 'view_as_real', 'inputs': ['z']}],"
                      "'program': [{'do': 'forward'}]"),
            "a view of a sparse tensor");
}

// ---- Types
// ----------------------------------------------------------------------------------

TEST(Rounding, ToTheNearestNumberOfTheTypeAndOfTwoToTheEvenOne) {
  const auto rounded = [](ScalarType type, double value) {
    return oracle::round_to(type, value).real();
  };
  const auto power = [](int exponent) { return std::ldexp(1, exponent); };
  struct Format {
    ScalarType type;
    int digits, least;  // binary digits; the exponent of the smallest number
    double largest;
  };
  for (const Format& format : {
           Format{ScalarType::float16, 11, -24, 65504},
           Format{ScalarType::bfloat16, 8, -133, std::ldexp(255, 120)},
           Format{ScalarType::float32, 24, -149, std::numeric_limits<float>::max()},
       }) {
    const double last = power(1 - format.digits);  // the distance from 1 to the next number
    const double least = power(format.least);
    const auto to = [&](double value) { return rounded(format.type, value); };
    for (const double kept : {0.0, 1.0, 1 + last, 2 - last, least, 3 * least, format.largest,
                              -format.largest, least / last * (1 + last), least / last - least}) {
      EXPECT_EQ(to(kept), kept);
    }
    EXPECT_EQ(to(1 + last / 2), 1);
    EXPECT_EQ(to(1 + 3 * last / 2), 1 + 2 * last);
    EXPECT_EQ(to(least / 2), 0);
    EXPECT_EQ(to(least * 1.5), 2 * least);
    const double half = std::ldexp(format.largest, -format.digits) / (2 - last);
    EXPECT_EQ(to(format.largest + half / 2), format.largest);
    EXPECT_EQ(to(format.largest + half * 2), INFINITY);
    EXPECT_EQ(to(-format.largest - half * 2), -INFINITY);
  }
  EXPECT_EQ(rounded(ScalarType::int64, -2.5), -2);
  EXPECT_EQ(rounded(ScalarType::boolean, -0.5), 1);
  EXPECT_EQ(rounded(ScalarType::float64, 0.1), 0.1);
  EXPECT_EQ(oracle::round_to(ScalarType::float32, {1, 2}), oracle::Number(1));
  EXPECT_EQ(oracle::round_to(ScalarType::float64, {1, 2}), oracle::Number(1));
  EXPECT_EQ(oracle::round_to(ScalarType::complex64, {0.1, 0.1}), oracle::Number(0.1F, 0.1F));
  EXPECT_EQ(oracle::round_to(ScalarType::complex128, {0.1, 0.1}), oracle::Number(0.1, 0.1));
}

TEST(Casts, WhatHasNoDerivativeHasNoHistory) {
  for (const std::string type : {"int64", "boolean", "float32"}) {
    const Told told(
        "'leaves': [{'name': 'x', 'value': 3}], 'nodes': [{'name': 'y', 'op': 'cast', 'inputs': "
        "['x'], 'type': '" +
        type +
        "'}, {'name': 'z', 'op': 'cast', 'inputs': ['y'], 'type': 'float64'}],"
        "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'z', 'seed': 5}]}]");
    const auto refused = std::optional(ErrorCategory::invalid_argument);
    EXPECT_EQ(told.error("backward"), type == "float32" ? std::nullopt : refused) << type;
  }
}

// ---- Bases that are parts
// --------------------------------------------------------------------------

// What was selected while nothing was recorded has no base: it is one, and holds a part of a
// storage.
TEST(Parts, AChangeThroughAViewOfAPart) {
  const Told told(
      "'leaves': [{'name': 'c', 'value': {'shape': [3, 2], 'values': [1, 2, 3, 4, 5, 6]}, "
      "'requires_grad': false},"
      "           {'name': 'x', 'value': [10, 20]}],"
      "'nodes': [{'name': 'part', 'op': 'slice', 'inputs': ['c'], 'dim': 0, 'start': 1, 'end': 3},"
      "          {'name': 'row', 'op': 'select', 'inputs': ['part'], 'dim': 0, 'index': 1},"
      "          {'name': 'changed', 'op': 'add_', 'inputs': ['row', 'x']},"
      "          {'name': 'y', 'op': 'scale', 'inputs': ['part'], 'factor': 3}],"
      "'program': [{'do': 'with', 'recording': false, 'steps': [{'do': 'forward', 'nodes': "
      "['part']}]}, {'do': 'forward', 'nodes': ['row', 'changed', 'y']},"
      "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': {'shape': [2, 2], 'values': [1, 2, 3, "
      "4]}}]},"
      "  {'do': 'read', 'values': ['c'], 'grads': ['x']}]");
  EXPECT_THAT(told.numbers("read"), testing::ElementsAre(1, 2, 3, 4, 15, 26, 9, 12));
}

// The type of the sum of two tensors; of one dimension unless `()` stands behind the type.
ScalarType promoted(const std::string& a, const std::string& b) {
  const auto value = [](std::string type) {
    const std::size_t scalar = type.find("()");
    const bool pair = type.starts_with("complex");
    const std::string number = pair ? "[1, 0]" : "1";
    return "{'type': '" + type.substr(0, scalar) +
           "', 'shape': " + (scalar == std::string::npos ? "[1]" : "[]") + ", 'values': [" +
           number + "]}";
  };
  const Told told("'leaves': [" + leaf("a", value(a), false) + ", " + leaf("b", value(b), false) +
                  "], 'nodes': [{'name': 'y', 'op': 'add', 'inputs': ['a', 'b']}], "
                  "'program': [{'do': 'forward'}, {'do': 'read', 'values': ['y']}]");
  return told.step("read").result.values.at(0)->type;
}

TEST(Promotion, KindFirstThenWidth) {
  struct Sum {
    const char* a;
    const char* b;
    ScalarType sum;
  };
  const Sum sums[] = {
      {"boolean", "boolean", ScalarType::boolean},
      {"boolean", "int64", ScalarType::int64},
      {"int64", "float16", ScalarType::float16},
      {"int64", "float64()", ScalarType::float64},
      {"float16", "float32", ScalarType::float32},
      {"bfloat16", "float32", ScalarType::float32},
      {"float32", "float64", ScalarType::float64},
      {"float32", "float64()", ScalarType::float32},
      {"float32()", "float64()", ScalarType::float64},
      {"float16", "bfloat16()", ScalarType::float16},
      {"float32", "complex64", ScalarType::complex64},
      {"float64", "complex64", ScalarType::complex128},
      {"float64()", "complex64", ScalarType::complex64},
      {"float32", "complex128", ScalarType::complex128},
      {"int64", "complex64", ScalarType::complex64},
      {"complex64", "complex128", ScalarType::complex128},
      {"complex64", "complex128()", ScalarType::complex64},
  };
  for (const Sum& sum : sums) {
    EXPECT_EQ(promoted(sum.a, sum.b), sum.sum) << sum.a << " + " << sum.b;
    EXPECT_EQ(promoted(sum.b, sum.a), sum.sum) << sum.b << " + " << sum.a;
  }
}

}  // namespace
}  // namespace gradcts
