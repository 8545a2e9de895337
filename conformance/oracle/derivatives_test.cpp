// The derivative rules, against closed forms up to the third order and against finite differences.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "conformance/oracle/oracle_test_support.h"

namespace gradcts {
namespace {

using testing::ElementsAre;

// ---- Closed forms
// -----------------------------------------------------------------------------------------

struct ClosedForm {
  std::string name;
  std::string node;  // makes y from x
  double x;
  std::function<double(double)> first, second, third;
};

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

std::vector<ClosedForm> closed_forms() {
  const auto e = [](double x) { return std::exp(x); };
  const auto s = [](double x) { return std::sin(x); };
  const auto c = [](double x) { return std::cos(x); };
  const auto sech2 = [](double x) { return 1 - std::tanh(x) * std::tanh(x); };
  const auto sec2 = [](double x) { return 1 + std::tan(x) * std::tan(x); };
  const auto gauss = [](double x) { return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x); };
  const auto grown = [](double x) { return 1 + std::log(x); };
  return {
      {"exp", "'op': 'exp', 'inputs': ['x']", 0.7, e, e, e},
      {"log", "'op': 'log', 'inputs': ['x']", 1.3, [](double x) { return 1 / x; },
       [](double x) { return -1 / (x * x); }, [](double x) { return 2 / (x * x * x); }},
      {"sin", "'op': 'sin', 'inputs': ['x']", 0.4, c, [=](double x) { return -s(x); },
       [=](double x) { return -c(x); }},
      {"cos", "'op': 'cos', 'inputs': ['x']", 0.4, [=](double x) { return -s(x); },
       [=](double x) { return -c(x); }, s},
      {"tanh", "'op': 'tanh', 'inputs': ['x']", 0.3, sech2,
       [=](double x) { return -2 * std::tanh(x) * sech2(x); },
       [=](double x) { return (6 * std::tanh(x) * std::tanh(x) - 2) * sech2(x); }},
      {"sigmoid", "'op': 'sigmoid', 'inputs': ['x']", 0.8,
       [](double x) { return logistic(x) * (1 - logistic(x)); },
       [](double x) { return logistic(x) * (1 - logistic(x)) * (1 - 2 * logistic(x)); },
       [](double x) {
         const double p = logistic(x);
         return p * (1 - p) * (1 - 6 * p + 6 * p * p);
       }},
      {"sqrt", "'op': 'sqrt', 'inputs': ['x']", 2.5, [](double x) { return 0.5 / std::sqrt(x); },
       [](double x) { return -0.25 * std::pow(x, -1.5); },
       [](double x) { return 0.375 * std::pow(x, -2.5); }},
      {"expm1", "'op': 'expm1', 'inputs': ['x']", 0.7, e, e, e},
      {"log1p", "'op': 'log1p', 'inputs': ['x']", 1.3, [](double x) { return 1 / (1 + x); },
       [](double x) { return -std::pow(1 + x, -2); },
       [](double x) { return 2 * std::pow(1 + x, -3); }},
      {"tan", "'op': 'tan', 'inputs': ['x']", 0.4, sec2,
       [=](double x) { return 2 * std::tan(x) * sec2(x); },
       [=](double x) { return 2 * sec2(x) * (1 + 3 * std::tan(x) * std::tan(x)); }},
      {"erf", "'op': 'erf', 'inputs': ['x']", 0.6, gauss,
       [=](double x) { return -2 * x * gauss(x); },
       [=](double x) { return (4 * x * x - 2) * gauss(x); }},
      {"pow", "'op': 'pow', 'inputs': ['x', 'x']", 1.5,
       [=](double x) { return std::pow(x, x) * grown(x); },
       [=](double x) { return std::pow(x, x) * (grown(x) * grown(x) + 1 / x); },
       [=](double x) {
         return std::pow(x, x) * (std::pow(grown(x), 3) + 3 * grown(x) / x - 1 / (x * x));
       }},
      {"power", "'op': 'power', 'inputs': ['x'], 'exponent': 5", 1.5,
       [](double x) { return 5 * std::pow(x, 4); }, [](double x) { return 20 * std::pow(x, 3); },
       [](double x) { return 60 * x * x; }},
      {"mul", "'op': 'mul', 'inputs': ['x', 'x']", 3, [](double x) { return 2 * x; },
       [](double) { return 2.0; }, [](double) { return 0.0; }},
      {"div", "'op': 'div', 'inputs': ['one', 'x']", 1.5, [](double x) { return -1 / (x * x); },
       [](double x) { return 2 / (x * x * x); }, [](double x) { return -6 / (x * x * x * x); }},
  };
}

TEST(Derivatives, FirstToThirdMatchTheClosedForm) {
  for (const ClosedForm& form : closed_forms()) {
    const std::string pass =
        "'inputs': ['x'], 'keep': true, 'create': true, 'allow_unused': true, 'materialise': "
        "true, ";
    const Told told("'leaves': [{'name': 'x', 'value': " + std::to_string(form.x) +
                    "}, {'name': 'one', 'value': 1, 'requires_grad': false}],"
                    "'nodes': [{'name': 'y', " +
                    form.node +
                    "}, {'name': 'z', 'op': 'scale', 'inputs': ['y'], 'factor': 2}],"
                    "'program': [{'do': 'forward'},"
                    "{'do': 'grad', 'roots': [{'value': 'z', 'seed': 3}], " +
                    pass +
                    "'results': ['g1']},"
                    "{'do': 'grad', 'roots': [{'value': 'g1', 'seed': 5}], " +
                    pass +
                    "'results': ['g2']},"
                    "{'do': 'grad', 'roots': [{'value': 'g2', 'seed': 7}], " +
                    pass + "'results': ['g3']}]");
    const double x = std::stod(std::to_string(form.x));
    const auto near = [](double expected) {
      return testing::DoubleNear(expected, 1e-12 * std::abs(expected));
    };
    EXPECT_THAT(told.numbers("grad", 0), ElementsAre(near(6 * form.first(x)))) << form.name;
    EXPECT_THAT(told.numbers("grad", 1), ElementsAre(near(30 * form.second(x)))) << form.name;
    if (form.name == "mul")
      continue;  // the second derivative of x * x does not depend on x any more
    EXPECT_THAT(told.numbers("grad", 2), ElementsAre(near(210 * form.third(x)))) << form.name;
  }
}

TEST(Derivatives, B028_ANodeThatCannotBeDifferentiatedTwiceSaysSo) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 2}],"
      "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'], 'saves': ['x'], 'differentiable': "
      "false,"
      "           'backward': {'returns': [{'terms': [{'slot': 0, 'factor': 3, 'times': 'x'}]}]}}],"
      "'program': [{'do': 'forward'},"
      "  {'do': 'grad', 'roots': [{'value': 'f', 'seed': 1}], 'inputs': ['x'], 'create': true, "
      "'keep': true, 'results': ['g']},"
      "  {'do': 'grad', 'roots': [{'value': 'g', 'seed': 1}], 'inputs': ['x']}]");
  EXPECT_THAT(told.numbers("grad", 0), ElementsAre(6));
  EXPECT_EQ(told.error("grad", 1), ErrorCategory::not_differentiable);
}

TEST(Derivatives, ACustomNodeIsDifferentiatedThroughItsScript) {
  const Told told(
      "'leaves': [{'name': 'x', 'value': 2}],"
      "'nodes': [{'name': 'f', 'op': 'custom', 'inputs': ['x'], 'saves': ['x'],"
      "           'backward': {'returns': [{'terms': [{'slot': 0, 'factor': 3, 'times': 'x'}]}]}}],"
      "'program': [{'do': 'forward'},"
      "  {'do': 'grad', 'roots': [{'value': 'f', 'seed': 1}], 'inputs': ['x'], 'create': true, "
      "'keep': true, 'results': ['g']},"
      "  {'do': 'grad', 'roots': [{'value': 'g', 'seed': 5}], 'inputs': ['x']}]");
  EXPECT_THAT(told.numbers("grad", 1), ElementsAre(15));
}

TEST(Derivatives, ComplexGradientsFollowTheConjugateConvention) {
  // L = Re(z * w) has dL/dRe z + i dL/dIm z = conj(w).
  const Told told(
      "'leaves': [{'name': 'z', 'value': {'type': 'complex128', 'shape': [], 'values': [[1, 2]]}},"
      "           {'name': 'w', 'value': {'type': 'complex128', 'shape': [], 'values': [[3, 4]]}}],"
      "'nodes': [{'name': 'y', 'op': 'mul', 'inputs': ['z', 'w']}, {'name': 'r', 'op': 'cast', "
      "'inputs': ['y'], 'type': 'float64'}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'r', 'seed': 1}]}, "
      "{'do': 'read', 'values': ['r'], 'grads': ['z']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(-5, 3, -4));
}

// ---- Values
// ----------------------------------------------------------------------------------------

// What an operation makes of two numbers, in its parts.
std::vector<double> made_of(const std::string& operation, const std::string& a,
                            const std::string& b = "1") {
  const auto leaf = [](const std::string& name, const std::string& value) {
    const bool is_complex = value.find('[') != std::string::npos;
    return "{'name': '" + name + "', 'value': {'type': '" +
           (is_complex ? "complex128" : "float64") + "', 'shape': [], 'values': [" + value + "]}}";
  };
  return Told("'leaves': [" + leaf("a", a) + ", " + leaf("b", b) + "], 'nodes': [{'name': 'y', " +
              operation + "}], 'program': [{'do': 'forward'}, {'do': 'read', 'values': ['y']}]")
      .numbers("read");
}

testing::Matcher<std::vector<double>> is_near(double real, double imaginary) {
  return ElementsAre(testing::DoubleNear(real, 1e-12), testing::DoubleNear(imaginary, 1e-12));
}

TEST(Values, OfComplexNumbersBesideRealOnes) {
  const std::string div = "'op': 'div', 'inputs': ['a', 'b']";
  EXPECT_THAT(made_of(div, "[5, 0]", "[1, 2]"), is_near(1, -2));
  EXPECT_THAT(made_of(div, "5", "[1, 2]"), is_near(1, -2));
  EXPECT_THAT(made_of(div, "[3, 4]", "[2, 0]"), is_near(1.5, 2));
  EXPECT_THAT(made_of(div, "[3, 4]", "2"), is_near(1.5, 2));
  const std::string pow = "'op': 'pow', 'inputs': ['a', 'b']";
  EXPECT_THAT(made_of(pow, "[0, 2]", "2"), is_near(-4, 0));
  EXPECT_THAT(made_of(pow, "2", "[0, 1]"), is_near(std::cos(std::log(2)), std::sin(std::log(2))));
  EXPECT_THAT(made_of(pow, "[0, 1]", "[0, 1]"), is_near(std::exp(-std::numbers::pi / 2), 0));
}

// A quotient of complex numbers has lost the sign of a zero.
TEST(Values, OfRealNumbersAreDividedAsSuch) {
  EXPECT_TRUE(std::signbit(made_of("'op': 'div', 'inputs': ['a', 'b']", "-0.0", "1")[0]));
}

// 0 to a power is 0 where the power is positive, 1 where it is 0, and else no number.
TEST(Values, OfZeroToAPower) {
  const std::string pow = "'op': 'pow', 'inputs': ['a', 'b']";
  EXPECT_THAT(made_of(pow, "[0, 0]", "[2, 1]"), ElementsAre(0, 0));
  EXPECT_THAT(made_of(pow, "[0, 0]", "[0, 0]"), ElementsAre(1, 0));
  for (const std::string power : {"[-1, 0]", "[0, 1]"}) {
    EXPECT_FALSE(std::isfinite(made_of(pow, "[0, 0]", power)[0])) << power;
  }
  EXPECT_THAT(made_of(pow, "0", "0"), ElementsAre(1));
}

// -0 is not above 0.
TEST(Values, OfReluAreNeverNegative) {
  EXPECT_FALSE(std::signbit(made_of("'op': 'relu', 'inputs': ['a']", "-0.0")[0]));
  EXPECT_TRUE(std::signbit(made_of("'op': 'neg', 'inputs': ['a']", "0")[0]));
}

TEST(Values, AConjugateIsACopyByOneNode) {
  for (const std::string type : {"float64", "complex128"}) {
    const std::string value = type == "float64" ? "3" : "[3, 4]";
    const Told told("'leaves': [{'name': 'x', 'value': {'type': '" + type +
                    "', 'shape': [], 'values': [" + value +
                    "]}}], 'nodes': [{'name': 'y', 'op': 'conj', 'inputs': ['x']}],"
                    "'program': [{'do': 'forward'}, {'do': 'change', 'value': 'x', 'add': 1},"
                    "  {'do': 'backward', 'roots': [{'value': 'y', 'seed': {'type': '" +
                    type + "', 'shape': [], 'values': [" + value +
                    "]}}]}, {'do': 'read', 'values': ['y'], 'grads': ['x']}]");
    EXPECT_EQ(told.runs("y"), 1);
    EXPECT_THAT(told.numbers("read"), type == "float64"
                                          ? testing::Matcher<std::vector<double>>(ElementsAre(3, 3))
                                          : ElementsAre(3, -4, 3, -4));
  }
  const Told sparse(
      "'leaves': [{'name': 'x', 'requires_grad': false, 'value': {'type': 'complex128', 'shape': "
      "[2], 'sparse': {'indices': [[1]]}, 'values': [[3, 4]]}}],"
      "'nodes': [{'name': 'y', 'op': 'conj', 'inputs': ['x']}],"
      "'program': [{'do': 'forward'}, {'do': 'read', 'values': ['y']}]");
  EXPECT_EQ(sparse.step("read").result.values[0]->layout, Layout::sparse);
  EXPECT_THAT(sparse.numbers("read"), ElementsAre(3, -4));
}

TEST(Derivatives, ResultsAreRoundedToTheirType) {
  const auto sum_of = [](const std::string& type, double large) {
    const std::string head = "'value': {'type': '" + type + "', 'shape': [], 'values': [";
    return Told("'leaves': [{'name': 'a', " + head + std::to_string(large) + "]}}, {'name': 'b', " +
                head +
                "1]}}], 'nodes': [{'name': 'y', 'op': 'add', 'inputs': ['a', 'b']}],"
                "'program': [{'do': 'forward'}, {'do': 'read', 'values': ['y']}]")
        .numbers("read")[0];
  };
  EXPECT_EQ(sum_of("float16", 2048), 2048);
  EXPECT_EQ(sum_of("bfloat16", 256), 256);
  EXPECT_EQ(sum_of("float32", 16777216), 16777216);
  EXPECT_EQ(sum_of("float16", 1024), 1025);
  const Told complex(
      "'leaves': [{'name': 'z', 'value': {'type': 'complex64', 'shape': [], 'values': [[1.5, "
      "16777215]]}}],"
      "'nodes': [{'name': 'y', 'op': 'scale', 'inputs': ['z'], 'factor': 1.5}],"
      "'program': [{'do': 'forward'}, {'do': 'read', 'values': ['y']}]");
  EXPECT_THAT(complex.numbers("read"), ElementsAre(2.25, 25165822));
  // Sums over several elements are rounded once, at their end.
  const Told product(
      "'leaves': [{'name': 'a', 'value': {'type': 'float16', 'shape': [1, 2], 'values': [2048, "
      "1]}}, {'name': 'b', 'value': {'type': 'float16', 'shape': [2, 1], 'values': [1, 1]}}],"
      "'nodes': [{'name': 'y', 'op': 'mm', 'inputs': ['a', 'b']}],"
      "'program': [{'do': 'forward'}, {'do': 'read', 'values': ['y']}]");
  EXPECT_THAT(product.numbers("read"), ElementsAre(2048));
}

// No clause says what flows at a nan. The value is told all the same.
TEST(Derivatives, TheGradientAtNaNCannotBeTold) {
  const auto program = [](const std::string& operation, const std::string& steps) {
    return "'leaves': [{'name': 'a', 'value': {'shape': [2], 'values': ['nan', 1]}}, {'name': 'b', "
           "'value': 0}], 'nodes': [{'name': 'c', 'op': 'clone', 'inputs': ['a']}, {'name': 'y', " +
           operation + "}], 'program': [{'do': 'forward'}" + steps + "]";
  };
  for (const std::string operation :
       {"'op': 'maximum', 'inputs': ['a', 'b']", "'op': 'minimum', 'inputs': ['b', 'a']",
        "'op': 'relu', 'inputs': ['a']", "'op': 'relu_', 'inputs': ['c']",
        "'op': 'amax', 'inputs': ['a']", "'op': 'amin', 'inputs': ['a']"}) {
    const Told told(program(operation, ", {'do': 'read', 'values': ['y']}"));
    EXPECT_TRUE(std::isnan(told.numbers("read").at(0))) << operation;
    const bool reduces = operation.find("'am") != std::string::npos;
    const Scenario scenario =
        scenario_of(program(operation, ", {'do': 'backward', 'roots': [{'value': 'y', 'seed': " +
                                           std::string(reduces ? "2" : "[2, 3]") + "}]}"));
    EXPECT_NE(expect(scenario, make_dialect("reference")).cannot_tell, "") << operation;
  }
}

// ---- Finite differences
// -----------------------------------------------------------------------------------

struct Sample {
  std::string name;
  std::string node;              // makes 'y' from 'a' and perhaps 'b'
  std::string shape_a, shape_b;  // JSON
  std::vector<double> a, b;
};

std::string tensor(const std::string& shape, const std::vector<double>& values) {
  std::string text = "{'shape': " + shape + ", 'values': [";
  for (std::size_t i = 0; i < values.size(); ++i) {
    char number[40];
    std::snprintf(number, sizeof number, "%s%.17g", i ? ", " : "", values[i]);
    text += number;
  }
  return text + "]}";
}

// The scenario of L = sum(sin(y)) with its gradients, so that what flows back is uneven.
Told run(const Sample& sample, const std::vector<double>& a, const std::vector<double>& b) {
  return Told(
      "'leaves': [{'name': 'a', 'value': " + tensor(sample.shape_a, a) +
      "}, {'name': 'b', 'value': " + tensor(sample.shape_b, b) +
      "}],"
      "'nodes': [{'name': 'y', " +
      sample.node +
      "}, {'name': 's', 'op': 'sin', 'inputs': ['y']},"
      "          {'name': 'l', 'op': 'sum', 'inputs': ['s']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'l', 'seed': 1}]},"
      "            {'do': 'read', 'values': ['l'], 'grads': ['a', 'b']}]");
}

void check_against_differences(const Sample& sample) {
  constexpr double step = 1e-6;
  const std::vector<double> told = run(sample, sample.a, sample.b).numbers("read");
  const auto loss = [&](std::size_t index, double change) {
    std::vector<double> a = sample.a;
    std::vector<double> b = sample.b;
    (index < a.size() ? a[index] : b[index - a.size()]) += change;
    return run(sample, a, b).numbers("read")[0];
  };
  const std::size_t inputs = sample.node.find("'b'") == std::string::npos
                                 ? sample.a.size()
                                 : sample.a.size() + sample.b.size();
  for (std::size_t i = 0; i < inputs; ++i) {
    const double slope = (loss(i, step) - loss(i, -step)) / (2 * step);
    EXPECT_NEAR(told.at(1 + i), slope, 1e-7 * std::max(1.0, std::abs(slope)))
        << sample.name << " at " << i;
  }
}

TEST(Derivatives, EveryOperationMatchesFiniteDifferences) {
  const std::vector<double> six{0.3, -1.2, 2.5, 0.7, 1.9, -0.4};
  const std::vector<double> positive{0.3, 1.2, 2.5, 0.7, 1.9, 0.4};
  const std::string two_three = "[2, 3]";
  const auto one = [&](std::string op, std::string attributes = "", std::vector<double> a = {}) {
    return Sample{op,
                  "'op': '" + op + "', 'inputs': ['a']" + attributes,
                  two_three,
                  "[]",
                  a.empty() ? std::vector<double>{0.3, -1.2, 2.5, 0.7, 1.9, -0.4} : a,
                  {1.5}};
  };
  const auto two = [&](std::string op, std::string shape, std::vector<double> b) {
    return Sample{op, "'op': '" + op + "', 'inputs': ['a', 'b']", two_three, shape, six, b};
  };
  const std::vector<Sample> samples{
      two("add", "[3]", {1.5, 0.2, -0.8}),
      two("sub", "[2, 1]", {1.5, 0.2}),
      two("mul", "[]", {1.5}),
      two("div", "[3]", {1.5, 0.6, -0.8}),
      two("maximum", "[3]", {0.1, 0.2, 3.0}),
      two("minimum", "[1, 3]", {0.1, 0.2, 3.0}),
      two("mm", "[3, 2]", six),
      two("mul", two_three, positive),
      one("neg"),
      one("scale", ", 'factor': -2.5"),
      one("power", ", 'exponent': 3"),
      one("power", ", 'exponent': -0.5", positive),
      one("clamp", ", 'min': -1, 'max': 2"),
      one("clamp", ", 'min': 0.5"),
      one("sum", ", 'dims': [0]"),
      one("sum", ", 'dims': [1], 'keepdim': true"),
      one("sum"),
      one("mean", ", 'dims': [1]"),
      one("mean"),
      one("view", ", 'shape': [3, 2]"),
      one("expand", ", 'shape': [4, 2, 3]"),
      one("transpose", ", 'dim0': 0, 'dim1': 1"),
      one("select", ", 'dim': 1, 'index': 2"),
      one("slice", ", 'dim': 1, 'start': 0, 'end': 3, 'step': 2"),
      one("clone"),
      one("exp"),
      one("log", "", positive),
      one("sin"),
      one("cos"),
      one("tanh"),
      one("sigmoid"),
      one("relu"),
      one("sqrt", "", positive),
      Sample{"pow", "'op': 'pow', 'inputs': ['a', 'b']", two_three, two_three, positive, six},
      one("amax", ", 'dims': [1]"),
      one("amin", ", 'dims': [0], 'keepdim': true"),
      one("logsumexp", ", 'dims': [0, 1]"),
      one("logsumexp", ", 'dims': [1], 'keepdim': true"),
      one("softmax", ", 'dim': 1"),
      one("log_softmax", ", 'dim': 0"),
      one("cumsum", ", 'dim': -1"),
      one("flip", ", 'dims': [0, 1]"),
      one("expm1"),
      one("log1p", "", positive),
      one("tan"),
      one("erf"),
      one("abs"),
      Sample{"layer_norm",
             "'op': 'layer_norm', 'inputs': ['a', 'b', 'b'], 'eps': 0.5",
             two_three,
             "[3]",
             six,
             {1.5, 0.2, -0.8}},
      Sample{"bmm", "'op': 'bmm', 'inputs': ['a', 'b']", "[2, 1, 3]", "[2, 3, 1]", six, positive},
      Sample{"cat",
             "'op': 'cat', 'inputs': ['a', 'b', 'a'], 'dim': 1",
             two_three,
             "[2, 1]",
             six,
             {1.5, 0.2}},
  };
  for (const Sample& sample : samples) check_against_differences(sample);
}

TEST(Derivatives, WhereTakesTheGradientOfTheChosenOne) {
  const Told told(
      "'leaves': [{'name': 'c', 'value': {'type': 'boolean', 'shape': [3], 'values': [1, 0, 1]}, "
      "'requires_grad': false},"
      "           {'name': 'a', 'value': [1, 2, 3]}, {'name': 'b', 'value': 9}],"
      "'nodes': [{'name': 'y', 'op': 'where', 'inputs': ['c', 'a', 'b']}],"
      "'program': [{'do': 'forward'}, {'do': 'backward', 'roots': [{'value': 'y', 'seed': [4, 5, "
      "6]}]},"
      "            {'do': 'read', 'values': ['y'], 'grads': ['a', 'b']}]");
  EXPECT_THAT(told.numbers("read"), ElementsAre(1, 9, 3, 4, 0, 6, 5));
}

TEST(Derivatives, CornersShareOrPassAsStated) {
  const Told told(
      "'leaves': [{'name': 'a', 'value': [0, 2, 3]}, {'name': 'b', 'value': [0, 2, 1]}],"
      "'nodes': [{'name': 'm', 'op': 'maximum', 'inputs': ['a', 'b']}, {'name': 'r', 'op': 'relu', "
      "'inputs': ['a']},"
      "          {'name': 'c', 'op': 'clamp', 'inputs': ['a'], 'min': 0, 'max': 2}],"
      "'program': [{'do': 'forward'},"
      "  {'do': 'grad', 'roots': [{'value': 'm', 'seed': [2, 2, 2]}], 'inputs': ['a', 'b']},"
      "  {'do': 'grad', 'roots': [{'value': 'r', 'seed': [2, 2, 2]}], 'inputs': ['a']},"
      "  {'do': 'grad', 'roots': [{'value': 'c', 'seed': [2, 2, 2]}], 'inputs': ['a']}]");
  EXPECT_THAT(told.numbers("grad", 0), ElementsAre(1, 1, 2, 1, 1, 0));
  EXPECT_THAT(told.numbers("grad", 1), ElementsAre(0, 2, 2));
  EXPECT_THAT(told.numbers("grad", 2), ElementsAre(2, 2, 0));
}

}  // namespace
}  // namespace gradcts
