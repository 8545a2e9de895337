// In-place operations: what they save, what they cut off, and views of other types.
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;

Tensor complex_leaf(const Values& parts) {
  Tensor z =
      from_values(parts, {static_cast<std::int64_t>(parts.size()) / 2}, ScalarType::complex128);
  set_requires_grad(z, true);
  return z;
}

Values kept_gradient_by(const Tensor& x, const Tensor& y, const Values& seed) {
  return values(grad({y}, {from_values(seed, y.shape(), y.type())}, {x}, {.keep_graph = true})[0]);
}

TEST(InPlace, GRAPH2_1_division_and_negation) {
  const Tensor x = leaf({6, 8});
  const Tensor d = leaf({2, 4});
  Tensor a = clone(x);
  div_(a, d);
  neg_(a);
  EXPECT_THAT(values(a), ElementsAre(-3, -2));
  backward({a}, {vector_of({4, 16})});
  EXPECT_THAT(gradient_values(x), ElementsAre(-2, -4));
  EXPECT_THAT(gradient_values(d), ElementsAre(6, 8));
}

TEST(InPlace, dividing_by_itself) {
  const Tensor x = leaf({4});
  Tensor a = clone(x);
  div_(a, a);
  EXPECT_THAT(kept_gradient_by(x, a, {3}), ElementsAre(0));
}

TEST(InPlace, KEEP_3_a_saved_result_that_is_changed_later_is_noticed) {
  for (void (*function)(const Tensor&) : {exp_, tanh_, relu_}) {
    const Tensor x = leaf({1, 2});
    Tensor a = clone(x);
    function(a);
    scale_(a, 2);
    EXPECT_EQ(category_of([&] { backward({sum(a)}); }), ErrorCategory::saved_tensor_modified);
    Tensor base = clone(x);
    function(select(base, 0, 0));
    scale_(base, 2);
    EXPECT_EQ(category_of([&] { backward({sum(base)}); }), ErrorCategory::saved_tensor_modified);
  }
}

TEST(InPlace, GRAPH2_1_a_saved_result_on_a_view_is_differentiable) {
  const Tensor x = leaf({0, 0});
  Tensor base = clone(x);
  exp_(select(base, 0, 0));
  const auto first =
      grad({base}, {vector_of({3, 5})}, {x}, {.keep_graph = true, .create_graph = true});
  EXPECT_THAT(values(first[0]), ElementsAre(3, 5));
  const auto second =
      grad({first[0]}, {vector_of({2, 2})}, {x}, {.keep_graph = true, .create_graph = true});
  EXPECT_THAT(values(second[0]), ElementsAre(6, 0));
  EXPECT_THAT(values(grad({second[0]}, {vector_of({7, 7})}, {x})[0]), ElementsAre(42, 0));
}

TEST(InPlace, GRAPH2_1_what_is_overwritten_has_a_gradient_of_zero) {
  const Tensor x = leaf({1, 2});
  const Tensor source = leaf({5});
  Tensor a = clone(x);
  copy_(a, source);
  EXPECT_THAT(values(a), ElementsAre(5, 5));
  backward({a}, {vector_of({3, 4})});
  EXPECT_THAT(gradient_values(x), ElementsAre(0, 0));
  EXPECT_THAT(gradient_values(source), ElementsAre(7));
  Tensor b = clone(x);
  fill_(select(b, 0, 1), 9);
  EXPECT_THAT(values(b), ElementsAre(1, 9));
  EXPECT_THAT(kept_gradient_by(x, b, {3, 4}), ElementsAre(3, 0));
}

TEST(InPlace, copying_keeps_the_type) {
  const Tensor x = leaf({1, 2}, ScalarType::float32);
  const Tensor source = leaf({0.1, 3});
  Tensor a = clone(x);
  copy_(a, source);
  EXPECT_EQ(a.type(), ScalarType::float32);
  EXPECT_THAT(values(a), ElementsAre(0.1f, 3));
  backward({a}, {vector_of({3, 4}, ScalarType::float32)});
  EXPECT_EQ(gradient(source).type(), ScalarType::float64);
  EXPECT_THAT(gradient_values(source), ElementsAre(3, 4));
}

TEST(InPlace, GRAPH2_1_an_operand_of_a_wider_type_on_a_view) {
  const Tensor x = leaf({1, 2}, ScalarType::float32);
  const Tensor factor = leaf({3});
  Tensor base = clone(x);
  mul_(slice(base, 0, 1, 2), factor);
  EXPECT_THAT(values(base), ElementsAre(1, 6));
  backward({base}, {vector_of({5, 7}, ScalarType::float32)});
  EXPECT_THAT(gradient_values(x), ElementsAre(5, 21));
  EXPECT_THAT(gradient_values(factor), ElementsAre(14));
}

TEST(InPlace, GRAPH2_1_a_reshaped_view_and_a_gradient_of_other_strides) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor base = clone(reshape(x, {2, 2}));
  scale_(reshape(base, {4}), 3);
  // The gradient of the base arrives transposed, and with strides of 0.
  EXPECT_THAT(kept_gradient_by(x, transpose(base, 0, 1), {1, 2, 4, 8}), ElementsAre(3, 12, 6, 24));
  EXPECT_THAT(kept_gradient_by(x, sum(base, {1}, false), {1, 10}), ElementsAre(3, 3, 30, 30));
}

TEST(ComplexParts, GRAPH2_1_views_both_ways) {
  const Tensor z = complex_leaf({1, 2, 3, 4});
  const Tensor parts = view_as_real(z);
  EXPECT_EQ(parts.shape(), (Shape{2, 2}));
  EXPECT_THAT(values(parts), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(kept_gradient_by(z, mul(parts, parts), {1, 10, 100, 1000}),
              ElementsAre(2, 40, 600, 8000));
  Tensor x = leaf({1, 2, 3, 4});
  const Tensor pairs = view_as_complex(reshape(x, {2, 2}));
  EXPECT_EQ(pairs.type(), ScalarType::complex128);
  EXPECT_THAT(kept_gradient_by(x, mul(pairs, pairs), {1, 0, 0, 1}), ElementsAre(2, -4, 8, 6));
}

TEST(ComplexParts, GRAPH2_1_a_change_of_the_parts_changes_the_base) {
  const Tensor z = complex_leaf({1, 2, 3, 4});
  Tensor base = clone(z);
  const Tensor parts = view_as_real(base);
  scale_(select(parts, 1, 1), 10);
  EXPECT_THAT(values(base), ElementsAre(1, 20, 3, 40));
  EXPECT_THAT(kept_gradient_by(z, base, {1, 2, 3, 4}), ElementsAre(1, 20, 3, 40));
  EXPECT_THAT(kept_gradient_by(z, parts, {1, 2, 3, 4}), ElementsAre(1, 20, 3, 40));
  scale_(base, 2);
  EXPECT_THAT(values(parts), ElementsAre(2, 40, 6, 80));
  EXPECT_THAT(kept_gradient_by(z, parts, {1, 2, 3, 4}), ElementsAre(2, 40, 6, 80));
}

TEST(ComplexParts, GRAPH2_1_a_change_of_pairs_changes_a_real_base) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor base = clone(reshape(x, {2, 2}));
  mul_(view_as_complex(base), from_values({0, 1}, {1}, ScalarType::complex128));
  EXPECT_THAT(values(base), ElementsAre(-2, 1, -4, 3));
  // Also of a gradient that is expanded: the pairs of that are no view.
  EXPECT_THAT(kept_gradient_by(x, base, {1, 2, 4, 8}), ElementsAre(2, -1, 8, -4));
  EXPECT_THAT(kept_gradient_by(x, sum(base), {1}), ElementsAre(1, -1, 1, -1));
}

TEST(ComplexParts, LEAF_rules_hold_through_the_view) {
  const Tensor z = complex_leaf({1, 2});
  EXPECT_EQ(category_of([&] { scale_(view_as_real(z), 2); }), ErrorCategory::in_place);
}

TEST(ComplexParts, what_has_no_such_view_is_refused) {
  const auto refused = [](const std::function<void()>& call) {
    return category_of(call) == ErrorCategory::invalid_argument;
  };
  EXPECT_TRUE(refused([&] { view_as_real(leaf({1, 2})); }));
  EXPECT_TRUE(refused([&] { view_as_complex(complex_leaf({1, 2})); }));
  EXPECT_TRUE(refused([&] { view_as_complex(leaf({1, 2, 3})); }));
  EXPECT_TRUE(refused([&] { view_as_complex(leaf({1, 2}, ScalarType::float16)); }));
  const Tensor columns = transpose(reshape(leaf({1, 2, 3, 4}), {2, 2}), 0, 1);
  EXPECT_TRUE(refused([&] { view_as_complex(columns); }));
  EXPECT_TRUE(refused([&] { view_as_complex(slice(leaf({1, 2, 3}), 0, 1, 3)); }));
}

}  // namespace
}  // namespace gradcts::reference
