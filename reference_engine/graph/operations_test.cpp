// Every differentiable operation against differences of its own values, to second order.
#include "reference_engine/graph/operations.h"

#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;

struct Case {
  std::string name;
  std::function<Tensor(const Tensor&)> function;
  Values at = {0.3, -1.2, 2.1, 0.7, 1.9, -0.4};
  Shape shape = {2, 3};
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

class OperationTest : public ::testing::TestWithParam<Case> {
 protected:
  // A sum with weights, so that no two elements count alike.
  static Tensor weighted(const Tensor& y) {
    Values weights;
    for (std::int64_t i = 0; i < y.element_count(); ++i) {
      weights.push_back(1 + 0.25 * static_cast<double>(i));
    }
    return sum(mul(y, from_values(weights, y.shape(), ScalarType::float64)));
  }
  static Tensor input(const Values& at) {
    Tensor x = from_values(at, GetParam().shape, ScalarType::float64);
    set_requires_grad(x, true);
    return x;
  }
  static Tensor loss(const Tensor& x) { return weighted(GetParam().function(x)); }
  static Tensor gradient_at(const Tensor& x) {
    return grad({loss(x)}, {}, {x},
                {.keep_graph = true, .create_graph = true, .materialise_unused = true})[0];
  }

  // Central differences of `function` by each element.
  static Values differences(const std::function<double(const Values&)>& function) {
    constexpr double step = 1e-5;
    Values result;
    for (std::size_t i = 0; i < GetParam().at.size(); ++i) {
      Values above = GetParam().at;
      Values below = GetParam().at;
      above[i] += step;
      below[i] -= step;
      result.push_back((function(above) - function(below)) / (2 * step));
    }
    return result;
  }

  // The error of a central difference is of the order of step^2 and rounding / step: about 1e-10.
  static void expect_close(const Values& actual, const Values& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      EXPECT_NEAR(actual[i], expected[i], 1e-6 * (1 + std::abs(expected[i]))) << "element " << i;
    }
  }
};

TEST_P(OperationTest, GRAPH2_1_first_derivative) {
  expect_close(values(gradient_at(input(GetParam().at))),
               differences([](const Values& at) { return values(loss(input(at)))[0]; }));
}

TEST_P(OperationTest, GRAPH2_1_second_derivative) {
  const auto loss_of_gradient = [](const Values& at) { return weighted(gradient_at(input(at))); };
  Tensor x = input(GetParam().at);
  Tensor again = weighted(gradient_at(x));
  if (!requires_grad(again)) GTEST_SKIP() << "the function is linear";
  expect_close(values(grad({again}, {}, {x}, {.materialise_unused = true})[0]),
               differences([&](const Values& at) { return values(loss_of_gradient(at))[0]; }));
}

Tensor constant(const Values& values, ShapeView shape) {
  return from_values(values, shape, ScalarType::float64);
}

const Values positive = {0.3, 1.2, 2.1, 0.7, 1.9, 0.4};
const Values six = {2, -1, 0.5, 3, 1.5, -2};

INSTANTIATE_TEST_SUITE_P(
    All, OperationTest,
    ::testing::Values(
        Case{"add", [](const Tensor& x) { return add(mul(x, x), x); }},
        Case{"add_broadcast", [](const Tensor& x) { return add(x, select(mul(x, x), 0, 1)); }},
        Case{"sub", [](const Tensor& x) { return sub(x, mul(x, x)); }},
        Case{"mul", [](const Tensor& x) { return mul(x, mul(x, x)); }},
        Case{"mul_broadcast", [](const Tensor& x) { return mul(x, slice(x, 1, 0, 1)); }},
        Case{"div", [](const Tensor& x) { return div(x, add_scalar(mul(x, x), 1)); }},
        Case{"neg", [](const Tensor& x) { return neg(mul(x, x)); }},
        Case{"scale", [](const Tensor& x) { return scale(mul(x, x), -2.5); }},
        Case{"pow_integer", [](const Tensor& x) { return pow(x, 3); }},
        Case{"pow_negative", [](const Tensor& x) { return pow(x, -2); }},
        Case{"pow_real", [](const Tensor& x) { return pow(x, 2.5); }, positive},
        Case{"exp", [](const Tensor& x) { return exp(x); }},
        Case{"log", [](const Tensor& x) { return log(x); }, positive},
        Case{"sin", [](const Tensor& x) { return sin(x); }},
        Case{"cos", [](const Tensor& x) { return cos(x); }},
        Case{"tanh", [](const Tensor& x) { return tanh(x); }},
        Case{"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
        Case{"relu", [](const Tensor& x) { return relu(mul(x, x)); }},
        Case{"sqrt", [](const Tensor& x) { return sqrt(x); }, positive},
        Case{"abs", [](const Tensor& x) { return mul(abs(x), x); }},
        Case{"maximum", [](const Tensor& x) { return mul(maximum(x, constant(six, {2, 3})), x); }},
        Case{"minimum", [](const Tensor& x) { return mul(minimum(x, mul(x, x)), x); }},
        Case{"clamp", [](const Tensor& x) { return mul(clamp(x, -1, 1.5), x); }},
        Case{"where",
             [](const Tensor& x) {
               const Tensor c = from_values({1, 0, 1, 1, 0, 0}, {2, 3}, ScalarType::boolean);
               return where(c, mul(x, x), sin(x));
             }},
        Case{"mm", [](const Tensor& x) { return mm(x, transpose(mul(x, x), 0, 1)); }},
        Case{"sum_all", [](const Tensor& x) { return sum(mul(x, x)); }},
        Case{"sum_dim", [](const Tensor& x) { return sum(mul(x, x), {-1}, false); }},
        Case{"sum_keep", [](const Tensor& x) { return mul(x, sum(x, {0}, true)); }},
        Case{"mean", [](const Tensor& x) { return mean(mul(x, x)); }},
        Case{"mean_dim", [](const Tensor& x) { return mean(mul(x, x), {0}, false); }},
        Case{"reshape", [](const Tensor& x) { return reshape(mul(x, x), {3, -1}); }},
        Case{"reshape_copy",
             [](const Tensor& x) { return reshape(transpose(mul(x, x), 0, 1), {6}); }},
        Case{"expand", [](const Tensor& x) { return mul(expand(x, {2, 2, 3}), x); }},
        Case{"transpose", [](const Tensor& x) { return transpose(mul(x, x), 0, 1); }},
        Case{"select", [](const Tensor& x) { return select(mul(x, x), 1, -1); }},
        Case{"slice", [](const Tensor& x) { return slice(mul(x, x), 1, 0, 3, 2); }},
        Case{"unbind",
             [](const Tensor& x) {
               const auto rows = unbind(x, 0);
               return mul(rows[0], rows[1]);
             }},
        Case{"unbind_one", [](const Tensor& x) { return unbind(mul(x, x), 0)[1]; }},
        Case{"cat",
             [](const Tensor& x) {
               const std::vector<Tensor> parts = {mul(x, x), x, slice(x, 1, 0, 1)};
               return cat(parts, 1);
             }},
        Case{"clone", [](const Tensor& x) { return clone(mul(x, x)); }},
        Case{"cast", [](const Tensor& x) { return cast(mul(x, x), ScalarType::float64); }},
        Case{"add_in_place",
             [](const Tensor& x) {
               Tensor a = mul(x, x);
               add_(a, x);
               return a;
             }},
        Case{"mul_in_place",
             [](const Tensor& x) {
               Tensor a = clone(x);
               mul_(a, x);
               return a;
             }},
        Case{"exp_in_place",
             [](const Tensor& x) {
               Tensor a = scale(x, 0.5);
               exp_(a);
               return a;
             }},
        Case{"mul_in_place_on_view",
             [](const Tensor& x) {
               Tensor a = clone(x);
               mul_(select(a, 0, 0), select(x, 0, 1));
               return mul(a, a);
             }},
        Case{"exp_on_view_of_view",
             [](const Tensor& x) {
               Tensor a = clone(x);
               Tensor view = slice(select(a, 0, 1), 0, 1, 3);
               exp_(view);
               return mul(reshape(a, {6}), cat(std::vector<Tensor>{view, view, view}, 0));
             }},
        Case{"copy_into_constant_view",
             [](const Tensor& x) {
               Tensor a = zeros({2, 3}, ScalarType::float64);
               copy_(select(a, 1, 0), select(mul(x, x), 1, 2));
               return mul(a, x);
             }},
        Case{"base_and_an_older_view",
             [](const Tensor& x) {
               Tensor a = clone(x);
               Tensor row = select(a, 0, 0);
               mul_(a, x);
               return mul(row, row);
             }},
        Case{"fill_in_place", [](const Tensor& x) {
               Tensor a = mul(x, x);
               fill_(select(a, 0, 0), 3);
               return mul(a, x);
             }}),
    [](const auto& info) { return info.param.name; });

TEST(Operations, corners_follow_the_stated_conventions) {
  Tensor x = leaf({0, 1, 2});
  const auto slope = [&](const Tensor& y) { return values(grad({sum(y)}, {}, {x})[0]); };
  EXPECT_THAT(slope(relu(x)), ElementsAre(0, 1, 1));
  EXPECT_THAT(slope(abs(x)), ElementsAre(0, 1, 1));
  EXPECT_THAT(slope(clamp(x, 0, 1)), ElementsAre(1, 1, 0));
  EXPECT_THAT(slope(maximum(x, vector_of({1, 1, 1}))), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(slope(minimum(x, vector_of({1, 1, 1}))), ElementsAre(1, 0.5, 0));
}

TEST(Operations, each_records_one_node) {
  Tensor x = leaf({1, 2});
  EXPECT_EQ(producer(mul(x, x))->name(), "Mul");
  EXPECT_EQ(producer(mean(x))->next_edges()[0].node, accumulator(x));
  EXPECT_EQ(producer(unbind(x, 0)[1])->slot_count(), 2u);
}

TEST(Operations, complex_gradients_follow_the_convention) {
  Tensor z = from_values({1, 2}, {1}, ScalarType::complex128);
  set_requires_grad(z, true);
  // |z|^2 = z * conj(z), whose gradient is 2 z.
  Tensor square = mul(z, conj(z));
  EXPECT_THAT(values(grad({square}, {}, {z})[0]), ElementsAre(2, 4));
  Tensor x = leaf({3});
  EXPECT_THAT(values(grad({mul(z, x)}, {from_values({1, 1}, {1}, ScalarType::complex128)}, {x})[0]),
              ElementsAre(3));
}

TEST(Operations, undefined_operands_are_refused) {
  const Tensor none;
  const Tensor x = vector_of({1, 2});
  const std::function<void()> uses[] = {
      [&] { exp(none); },          [&] { log(none); },
      [&] { conj(none); },         [&] { add(x, none); },
      [&] { sub(none, x); },       [&] { mul(none, x); },
      [&] { div(x, none); },       [&] { maximum(x, none); },
      [&] { scale(none, 2); },     [&] { pow(none, 2); },
      [&] { clamp(none, 0, 1); },  [&] { where(none, x, x); },
      [&] { mm(none, x); },        [&] { sum(none); },
      [&] { mean(none); },         [&] { sum_to(none, {1}); },
      [&] { reshape(none, {1}); }, [&] { expand(none, {1}); },
      [&] { select(none, 0, 0); }, [&] { unbind(none, 0); },
      [&] { cat({x, none}, 0); },  [&] { clone(none); },
      [&] { detach(none); },       [&] { cast(none, ScalarType::float64); },
      [&] { to_dense(none); },     [&] { to_device(none, cpu); },
      [&] { add_(none, x); },      [&] { exp_(none); },
      [&] { fill_(none, 1); },     [&] { copy_(x, none); },
  };
  for (const auto& use : uses) EXPECT_EQ(category_of(use), ErrorCategory::invalid_argument);
}

TEST(InPlace, leaves_and_expanded_tensors_are_refused) {
  Tensor x = leaf({1, 2});
  EXPECT_EQ(category_of([&] { add_(x, x); }), ErrorCategory::in_place);
  EXPECT_EQ(category_of([&] { add_(view_alias(x), x); }), ErrorCategory::in_place);
  EXPECT_EQ(category_of([&] { fill_(expand(vector_of({1}), {3}), 2); }), ErrorCategory::in_place);
  RecordingGuard guard(false);
  add_(x, x);
  EXPECT_THAT(values(x), ElementsAre(2, 4));
}

TEST(InPlace, KEEP_3_a_later_change_of_a_saved_output_is_noticed) {
  Tensor x = leaf({1});
  Tensor y = exp(x);
  scale_(y, 2);
  EXPECT_EQ(category_of([&] { backward({y}); }), ErrorCategory::saved_tensor_modified);
  Tensor a = clone(x);
  exp_(a);
  scale_(a, 2);
  EXPECT_EQ(category_of([&] { backward({a}); }), ErrorCategory::saved_tensor_modified);
  Tensor b = exp(x);
  detach(b).bump_version();
  EXPECT_EQ(category_of([&] { backward({b}); }), ErrorCategory::saved_tensor_modified);
}

}  // namespace
}  // namespace gradcts::reference
