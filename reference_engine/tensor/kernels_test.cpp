// Kernels on strided, broadcast and mixed operands of every type.
#include "reference_engine/tensor/kernels.h"

#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using kernels::Binary;
using kernels::Unary;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr ScalarType floating[] = {ScalarType::float16, ScalarType::bfloat16, ScalarType::float32,
                                   ScalarType::float64};

TEST(Kernels, small_integers_are_exact_in_every_type) {
  for (ScalarType type : floating) {
    const Tensor a = from_values({1, 2, 3, 4, 5, 6}, {2, 3}, type);
    const Tensor b = from_values({10, 20}, {2, 1}, type);
    EXPECT_THAT(values(kernels::binary(Binary::add, a, b)), ElementsAre(11, 12, 13, 24, 25, 26));
    EXPECT_THAT(values(kernels::sum(a, {0}, false)), ElementsAre(5, 7, 9));
    EXPECT_THAT(values(kernels::sum(a, {0, 1}, true)), ElementsAre(21));
    EXPECT_THAT(values(kernels::mm(a, from_values({1, 0, 0, 1, 1, 1}, {3, 2}, type))),
                ElementsAre(4, 5, 10, 11));
  }
}

TEST(Kernels, complex_numbers) {
  const Tensor a = from_values({1, 2, 3, 4}, {2}, ScalarType::complex64);
  EXPECT_THAT(values(kernels::binary(Binary::mul, a, a)), ElementsAre(-3, 4, -7, 24));
  EXPECT_THAT(values(kernels::unary(Unary::conj, a)), ElementsAre(1, -2, 3, -4));
  EXPECT_THAT(values(kernels::sum(a, {0}, false)), ElementsAre(4, 6));
  EXPECT_EQ(kernels::unary(Unary::abs, a).type(), ScalarType::float32);
}

TEST(Kernels, strided_operands_and_results) {
  const Tensor a = from_values({1, 2, 3, 4, 5, 6}, {2, 3}, ScalarType::float32);
  const Tensor turned = as_strided(a, {3, 2}, {1, 3}, 0);
  EXPECT_THAT(values(turned), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(values(kernels::unary(Unary::neg, turned)), ElementsAre(-1, -4, -2, -5, -3, -6));
  kernels::binary_(Binary::add, turned, from_values({100, 200}, {2}, ScalarType::float32));
  EXPECT_THAT(values(a), ElementsAre(101, 102, 103, 204, 205, 206));
  const Tensor column = from_values_strided({1, 2, 3, 4}, {2, 2}, {1, 2}, ScalarType::float64);
  EXPECT_THAT(values(column), ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(column.is_contiguous());
}

TEST(Kernels, a_double_is_rounded_once_on_its_way_to_a_half) {
  // Just above the middle between 1 and the next float16: through float it would be a tie, and go
  // down.
  const double above_middle = 1 + std::ldexp(1, -11) + std::ldexp(1, -40);
  EXPECT_THAT(values(vector_of({above_middle}, ScalarType::float16)),
              ElementsAre(1 + std::ldexp(1, -10)));
}

TEST(Kernels, a_quotient_is_rounded_once) {
  for (const ScalarType type : {ScalarType::float16, ScalarType::float32, ScalarType::float64}) {
    const Tensor a = vector_of({49, -98}, type);
    kernels::divide_(a, 49);  // times 1/49 it would be 0.9999999999999999
    EXPECT_THAT(values(a), ElementsAre(1, -2));
  }
  const Tensor complex = from_values({49, -98}, {1}, ScalarType::complex128);
  kernels::divide_(complex, 49);
  EXPECT_THAT(values(complex), ElementsAre(1, -2));
  EXPECT_THAT(message_of([&] { kernels::divide_(from_values({1}, {1}, ScalarType::int64), 2); }),
              HasSubstr("int64"));
}

TEST(Kernels, empty_tensors) {
  const Tensor a = from_values({}, {0, 3}, ScalarType::float32);
  EXPECT_THAT(values(kernels::unary(Unary::exp, a)), ElementsAre());
  EXPECT_THAT(values(kernels::sum(a, {0}, false)), ElementsAre(0, 0, 0));
}

TEST(Kernels, what_does_not_fit_is_refused) {
  const Tensor a = vector_of({1, 2});
  EXPECT_EQ(category_of([&] {
              kernels::binary(Binary::add, a, vector_of({1, 2, 3}));
            }),
            ErrorCategory::invalid_argument);
  EXPECT_EQ(category_of([&] { from_values({1, 2}, {3}); }), ErrorCategory::invalid_argument);
}

TEST(Sparse, ACC_3_sums_in_every_mix) {
  const Tensor indices = from_values({2, 0, 2}, {1, 3}, ScalarType::int64);
  const Tensor sparse = make_sparse(indices, vector_of({1, 2, 4}), {4});
  const Tensor dense = vector_of({10, 10, 10, 10});
  EXPECT_THAT(values(sparse), ElementsAre(2, 0, 5, 0));
  EXPECT_THAT(values(kernels::add(sparse, dense)), ElementsAre(12, 10, 15, 10));
  EXPECT_THAT(values(kernels::add(dense, sparse)), ElementsAre(12, 10, 15, 10));
  const Tensor both = kernels::add(sparse, sparse);
  EXPECT_TRUE(both.is_sparse());
  EXPECT_FALSE(both.is_coalesced());
  EXPECT_THAT(values(both), ElementsAre(4, 0, 10, 0));
  const Tensor coalesced = kernels::coalesce(both);
  EXPECT_THAT(values(coalesced.indices()), ElementsAre(0, 2));
  EXPECT_THAT(values(coalesced.values()), ElementsAre(4, 10));
}

TEST(Sparse, a_multiple_keeps_its_layout) {
  const Tensor indices = from_values({0, 2}, {1, 2}, ScalarType::int64);
  const Tensor sparse = make_sparse(indices, vector_of({1, 4}), {4}, true);
  const Tensor triple = kernels::affine(sparse, 3, 0);
  EXPECT_TRUE(triple.is_sparse());
  EXPECT_TRUE(triple.is_coalesced());
  EXPECT_THAT(values(triple), ElementsAre(3, 0, 12, 0));
  EXPECT_THAT(values(sparse), ElementsAre(1, 0, 4, 0));
}

TEST(Sparse, what_needs_all_elements_is_refused) {
  const Tensor sparse =
      make_sparse(from_values({0}, {1, 1}, ScalarType::int64), vector_of({1}), {4});
  EXPECT_EQ(category_of([&] { kernels::unary(Unary::exp, sparse); }),
            ErrorCategory::invalid_argument);
  EXPECT_EQ(category_of([&] { kernels::affine(sparse, 1, 2); }), ErrorCategory::invalid_argument);
}

TEST(Sparse, entries_may_be_blocks) {
  const Tensor indices = from_values({1}, {1, 1}, ScalarType::int64);
  const Tensor sparse =
      make_sparse(indices, from_values({5, 6}, {1, 2}, ScalarType::float64), {3, 2});
  EXPECT_THAT(values(sparse), ElementsAreArray({0, 0, 5, 6, 0, 0}));
}

}  // namespace
}  // namespace gradcts::reference
