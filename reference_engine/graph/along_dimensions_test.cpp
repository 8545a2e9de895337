// Extremes, logsumexp, softmax, layer_norm, running sums, flips, batches of matrices, and functions
// of one argument, at points where values and gradients are exact.
#include <cmath>
#include <limits>
#include <numbers>

#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;

constexpr ScalarType all_types[] = {ScalarType::float16, ScalarType::bfloat16, ScalarType::float32,
                                    ScalarType::float64};

Tensor shaped(const Values& values, ShapeView shape, ScalarType type = ScalarType::float64) {
  Tensor result = from_values(values, shape, type);
  set_requires_grad(result, true);
  return result;
}

Values gradient_by(const Tensor& x, const Tensor& y, const Values& seed) {
  return values(grad({y}, {from_values(seed, y.shape(), y.type())}, {x})[0]);
}

// The gradient of the gradient, by x.
Values second_by(const Tensor& x, const Tensor& y, const Values& seed, const Values& second_seed) {
  const auto first = grad({y}, {from_values(seed, y.shape(), y.type())}, {x},
                          {.keep_graph = true, .create_graph = true});
  const Tensor again = from_values(second_seed, x.shape(), x.type());
  return values(grad({first[0]}, {again}, {x}, {.materialise_unused = true})[0]);
}

TEST(Extremes, GRAPH2_1_equal_ones_share_the_gradient) {
  for (ScalarType type : all_types) {
    const Tensor x = shaped({3, 1, 3, 2, 2, 2}, {2, 3}, type);
    EXPECT_THAT(values(amax(x, {1}, false)), ElementsAre(3, 2));
    EXPECT_THAT(gradient_by(x, amax(x, {1}, false), {8, 6}), ElementsAre(4, 0, 4, 2, 2, 2));
    EXPECT_THAT(values(amin(x, {-2}, true)), ElementsAre(2, 1, 2));
    EXPECT_THAT(gradient_by(x, amin(x, {0}, true), {8, 6, 4}), ElementsAre(0, 6, 0, 8, 0, 4));
    EXPECT_THAT(values(amin(x, {0, 1}, false)), ElementsAre(1));
  }
  const Tensor x = shaped({2, 2, 1}, {3});
  const Tensor y = mul(amax(x, {0}, false), amax(x, {0}, false));
  EXPECT_THAT(second_by(x, y, {1}, {1, 0, 0}), ElementsAre(0.5, 0.5, 0));
}

TEST(Extremes, nan_is_the_largest_and_the_smallest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(values(amax(vector_of({1, nan, 3}), {0}, false))[0]));
  EXPECT_TRUE(std::isnan(values(amin(vector_of({nan, 1}), {0}, false))[0]));
}

TEST(Softmax, GRAPH2_1_of_equal_elements) {
  for (ScalarType type : all_types) {
    const Tensor x = shaped({5, 5, -3, -3}, {2, 2}, type);
    EXPECT_THAT(values(softmax(x, 1)), ElementsAre(0.5, 0.5, 0.5, 0.5));
    // y * (g - sum(g * y))
    EXPECT_THAT(gradient_by(x, softmax(x, -1), {8, 0, 2, 6}), ElementsAre(2, -2, -1, 1));
    // g - e ** y * sum(g), where e ** y is rounded; a sum of 0 shows nothing of that
    EXPECT_THAT(gradient_by(x, log_softmax(x, 1), {8, -8, 0, 0}), ElementsAre(8, -8, 0, 0));
    EXPECT_THAT(gradient_by(x, logsumexp(x, {1}, false), {0, 0}), ElementsAre(0, 0, 0, 0));
  }
  // The second derivative at equal elements of a pair is zero by symmetry.
  const Tensor x = shaped({1, 1}, {2});
  EXPECT_THAT(second_by(x, softmax(x, 0), {8, 0}, {1, 1}), ElementsAre(0, 0));
}

TEST(Softmax, does_not_overflow) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(values(softmax(vector_of({1e300, -1e300}), 0)), ElementsAre(1, 0));
  EXPECT_THAT(values(softmax(vector_of({1, -infinity}), 0)), ElementsAre(1, 0));
  EXPECT_THAT(values(log_softmax(vector_of({1e300, 0}), 0)), ElementsAre(0, -1e300));
  EXPECT_THAT(values(logsumexp(vector_of({1e300, 0}), {0}, true)), ElementsAre(1e300));
  EXPECT_THAT(values(logsumexp(vector_of({-infinity, -infinity}), {0}, true)),
              ElementsAre(-infinity));
  EXPECT_THAT(values(logsumexp(vector_of({infinity, 0}), {0}, true)), ElementsAre(infinity));
}

TEST(Logsumexp, of_one_element_is_that_element) {
  const Tensor x = shaped({1, 2, 3}, {3, 1});
  EXPECT_THAT(values(logsumexp(x, {1}, false)), ElementsAre(1, 2, 3));
  EXPECT_THAT(gradient_by(x, logsumexp(x, {1}, true), {4, 5, 6}), ElementsAre(4, 5, 6));
}

TEST(LayerNorm, GRAPH2_1_of_pairs) {
  // Mean 0, variance 1, and with eps = 3 a deviation of 2.
  const Tensor x = shaped({1, -1}, {1, 2});
  const Tensor weight = shaped({4, 8}, {2});
  const Tensor bias = shaped({1, 2}, {2});
  const Tensor y = layer_norm(x, weight, bias, 3);
  EXPECT_THAT(values(y), ElementsAre(3, -2));
  backward({y}, {from_values({2, 3}, {1, 2}, ScalarType::float64)});
  EXPECT_THAT(gradient_values(bias), ElementsAre(2, 3));
  EXPECT_THAT(gradient_values(weight), ElementsAre(1, -1.5));
  // inner (8, 24), its mean 16, the mean of inner * hat -4: (8 - 16 + 2, 24 - 16 - 2) / 2
  EXPECT_THAT(gradient_values(x), ElementsAre(-3, 3));
}

TEST(LayerNorm, what_does_not_fit_is_refused) {
  const Tensor x = shaped({1, -1}, {1, 2});
  EXPECT_EQ(category_of([&] {
              layer_norm(x, vector_of({1}), vector_of({1, 2}), 1);
            }),
            ErrorCategory::invalid_argument);
}

TEST(CumsumAndFlip, GRAPH2_1) {
  for (ScalarType type : all_types) {
    const Tensor x = shaped({1, 2, 3, 4, 5, 6}, {2, 3}, type);
    EXPECT_THAT(values(cumsum(x, 1)), ElementsAre(1, 3, 6, 4, 9, 15));
    EXPECT_THAT(values(cumsum(x, -2)), ElementsAre(1, 2, 3, 5, 7, 9));
    EXPECT_THAT(gradient_by(x, cumsum(x, 1), {1, 2, 4, 8, 16, 32}),
                ElementsAre(7, 6, 4, 56, 48, 32));
    EXPECT_THAT(values(flip(x, {0, -1})), ElementsAre(6, 5, 4, 3, 2, 1));
    EXPECT_THAT(gradient_by(x, flip(x, {1}), {1, 2, 4, 8, 16, 32}),
                ElementsAre(4, 2, 1, 32, 16, 8));
  }
  const Tensor x = shaped({1, 2}, {2});
  EXPECT_THAT(second_by(x, cumsum(mul(x, x), 0), {1, 10}, {1, 100}), ElementsAre(22, 2000));
  const Tensor y = flip(x, {0});
  scale_(y, 2);  // a copy
  EXPECT_THAT(values(x), ElementsAre(1, 2));
}

TEST(Bmm, GRAPH2_1) {
  const Tensor a = shaped({1, 2, 3, 4}, {2, 1, 2});
  const Tensor b = shaped({1, 10, 2, 20}, {2, 2, 1});
  const Tensor y = bmm(a, b);
  EXPECT_THAT(values(y), ElementsAre(21, 86));
  backward({y}, {from_values({2, 3}, {2, 1, 1}, ScalarType::float64)});
  EXPECT_THAT(gradient_values(a), ElementsAre(2, 20, 6, 60));
  EXPECT_THAT(gradient_values(b), ElementsAre(2, 4, 9, 12));
  EXPECT_EQ(category_of([&] { bmm(a, a); }), ErrorCategory::invalid_argument);
}

TEST(Pow, GRAPH2_1_by_the_base) {
  for (ScalarType type : all_types) {
    const Tensor a = shaped({2, 1, 4}, {3}, type);
    const Tensor b = from_values({3, 5, 0.5}, {3}, type);
    EXPECT_THAT(values(pow(a, b)), ElementsAre(8, 1, 2));
    EXPECT_THAT(gradient_by(a, pow(a, b), {1, 2, 4}), ElementsAre(12, 10, 1));
    EXPECT_THAT(second_by(a, pow(a, b), {1, 2, 4}, {1, 2, 16}), ElementsAre(12, 80, -2));
  }
}

TEST(Pow, GRAPH2_1_by_the_exponent) {
  const Tensor a = vector_of({1, 0, 0, 0.5});
  const Tensor b = shaped({3, 2, 0, 0}, {4});
  EXPECT_THAT(values(pow(a, b)), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(gradient_by(b, pow(a, b), {1, 1, 1, 2}), ElementsAre(0, 0, 0, 2 * std::log(0.5)));
}

TEST(Pow, GRAPH2_1_where_the_base_or_the_exponent_is_zero) {
  const Tensor a = shaped({0, 0, 0, 4}, {4});
  const Tensor b = shaped({2, 1, 0, 0}, {4});
  const Tensor y = pow(a, b);
  EXPECT_THAT(gradient_by(a, pow(a, b), {3, 3, 3, 3}), ElementsAre(0, 3, 0, 0));
  EXPECT_THAT(second_by(a, pow(a, b), {3, 3, 3, 3}, {1, 1, 1, 1}), ElementsAre(6, 0, 0, 0));
  // By a, then by b: a ** (b - 1) * (1 + b * log(a)), which is 1 / 4 at (4, 0).
  const auto first =
      grad({y}, {vector_of({3, 3, 3, 3})}, {a}, {.keep_graph = true, .create_graph = true});
  EXPECT_EQ(values(grad({select(first[0], 0, 3)}, {}, {b})[0])[3], 0.75);
}

TEST(Functions, GRAPH2_1_at_exact_points) {
  const Tensor x = shaped({0}, {1});
  EXPECT_THAT(gradient_by(x, expm1(x), {5}), ElementsAre(5));
  EXPECT_THAT(second_by(x, expm1(x), {5}, {2}), ElementsAre(10));
  EXPECT_THAT(gradient_by(x, log1p(x), {5}), ElementsAre(5));
  EXPECT_THAT(second_by(x, log1p(x), {5}, {2}), ElementsAre(-10));
  EXPECT_THAT(gradient_by(x, tan(x), {5}), ElementsAre(5));
  EXPECT_THAT(second_by(x, tan(x), {5}, {2}), ElementsAre(0));
  EXPECT_THAT(gradient_by(x, erf(x), {4}), ElementsAre(8 * std::numbers::inv_sqrtpi));
  EXPECT_THAT(second_by(x, erf(x), {4}, {1}), ElementsAre(0));
  const Tensor z = shaped({0, 3, -2, 0, 0, 0}, {3}, ScalarType::complex128);
  EXPECT_THAT(values(abs(z)), ElementsAre(3, 2, 0));
  EXPECT_EQ(abs(z).type(), ScalarType::float64);
  EXPECT_THAT(gradient_by(z, abs(z), {5, 7, 9}), ElementsAre(0, 5, -7, 0, 0, 0));
}

TEST(Functions, small_arguments_keep_their_digits) {
  const double tiny = std::ldexp(1, -40);
  const Tensor z = from_values({tiny, -tiny}, {1}, ScalarType::complex128);
  // The next term of each series is smaller by a factor of 2 ** -40.
  EXPECT_NEAR(values(expm1(z))[0], tiny, tiny * tiny);
  EXPECT_NEAR(values(expm1(z))[1], -tiny, 2 * tiny * tiny);
  EXPECT_NEAR(values(log1p(z))[0], tiny, 2 * tiny * tiny);
  EXPECT_NEAR(values(log1p(z))[1], -tiny, 2 * tiny * tiny);
}

}  // namespace
}  // namespace gradcts::reference
