// gather, scatter_add, index_select and embedding: values and gradients on small integers, where
// all is exact.
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;

Tensor matrix(const Values& values, ShapeView shape, ScalarType type = ScalarType::float64) {
  Tensor result = from_values(values, shape, type);
  set_requires_grad(result, true);
  return result;
}

Tensor index(const Values& values, ShapeView shape) {
  return from_values(values, shape, ScalarType::int64);
}

Tensor seed(const Values& values, const Tensor& like) {
  return from_values(values, like.shape(), like.type());
}

constexpr ScalarType float_types[] = {ScalarType::float16, ScalarType::bfloat16,
                                      ScalarType::float32, ScalarType::float64};

TEST(Gather, GRAPH2_1_reads_by_an_index_and_adds_up_where_it_read) {
  for (ScalarType type : float_types) {
    const Tensor a = matrix({1, 2, 3, 4, 5, 6}, {2, 3}, type);
    const Tensor y = gather(a, 1, index({2, 2, 0, 1}, {2, 2}));
    EXPECT_THAT(values(y), ElementsAre(3, 3, 4, 5));
    backward({y}, {seed({10, 20, 30, 40}, y)});
    EXPECT_THAT(gradient_values(a), ElementsAre(0, 0, 30, 30, 40, 0));
  }
  const Tensor z = matrix({1, 2, 3, 4}, {2}, ScalarType::complex64);
  const Tensor y = gather(z, -1, index({1, 1, 0}, {3}));
  EXPECT_THAT(values(y), ElementsAre(3, 4, 3, 4, 1, 2));
  backward({y}, {seed({1, 2, 3, 4, 5, 6}, y)});
  EXPECT_THAT(gradient_values(z), ElementsAre(5, 6, 4, 6));
}

TEST(Gather, takes_an_index_that_is_smaller_beside_and_strided_operands) {
  const Tensor a = matrix({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor y = gather(transpose(a, 0, 1), 0, index({2, 0}, {2, 1}));
  EXPECT_THAT(values(y), ElementsAre(3, 1));
  backward({y}, {seed({10, 20}, y)});
  EXPECT_THAT(gradient_values(a), ElementsAre(20, 0, 10, 0, 0, 0));
}

TEST(Gather, GRAPH2_1_second_derivative) {
  const Tensor a = matrix({2, 3}, {2});
  const Tensor y = gather(mul(a, a), 0, index({1, 1, 0}, {3}));
  const auto first =
      grad({y}, {seed({1, 2, 4}, y)}, {a}, {.keep_graph = true, .create_graph = true});
  EXPECT_THAT(values(first[0]), ElementsAre(16, 18));
  EXPECT_THAT(values(grad({first[0]}, {vector_of({1, 10})}, {a})[0]), ElementsAre(8, 60));
}

TEST(ScatterAdd, GRAPH2_1_adds_where_the_index_says) {
  for (ScalarType type : float_types) {
    const Tensor a = matrix({1, 2, 3}, {3}, type);
    const Tensor source = matrix({10, 20, 40}, {3}, type);
    const Tensor y = scatter_add(a, 0, index({2, 0, 2}, {3}), source);
    EXPECT_THAT(values(y), ElementsAre(21, 2, 53));
    backward({y}, {seed({5, 6, 7}, y)});
    EXPECT_THAT(gradient_values(a), ElementsAre(5, 6, 7));
    EXPECT_THAT(gradient_values(source), ElementsAre(7, 5, 7));
  }
}

TEST(ScatterAdd, what_lies_beyond_the_index_has_no_part) {
  const Tensor a = matrix({0, 0, 0, 0}, {2, 2});
  const Tensor source = matrix({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor y = scatter_add(a, 1, index({1, 1}, {1, 2}), source);
  EXPECT_THAT(values(y), ElementsAre(0, 3, 0, 0));
  backward({y}, {seed({5, 6, 7, 8}, y)});
  EXPECT_THAT(gradient_values(source), ElementsAre(6, 6, 0, 0, 0, 0));
}

TEST(IndexSelect, GRAPH2_1_takes_parts_and_adds_up) {
  const Tensor a = matrix({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor y = index_select(a, 1, index({2, 0, 2, 2}, {4}));
  EXPECT_THAT(values(y), ElementsAre(3, 1, 3, 3, 6, 4, 6, 6));
  backward({y}, {seed({1, 2, 4, 8, 16, 32, 64, 128}, y)});
  EXPECT_THAT(gradient_values(a), ElementsAre(2, 0, 13, 32, 0, 208));
}

TEST(Embedding, GRAPH2_1_takes_rows_by_an_index_of_any_shape) {
  for (const bool sparse : {false, true}) {
    const Tensor weight = matrix({1, 2, 3, 4, 5, 6}, {3, 2});
    const Tensor y = embedding(weight, index({2, 0, 2, 2}, {2, 2}), sparse);
    EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
    EXPECT_THAT(values(y), ElementsAre(5, 6, 1, 2, 5, 6, 5, 6));
    backward({y}, {seed({1, 2, 4, 8, 16, 32, 64, 128}, y)});
    EXPECT_EQ(gradient(weight).is_sparse(), sparse);
    EXPECT_THAT(gradient_values(weight), ElementsAre(4, 8, 0, 0, 81, 162));
  }
}

TEST(Embedding, GRAPH2_1_a_sparse_gradient_is_differentiable) {
  const Tensor weight = matrix({1, 2, 3, 4}, {2, 2});
  const Tensor y = embedding(mul(weight, weight), index({1, 1}, {2}), true);
  const auto first =
      grad({y}, {seed({1, 2, 4, 8}, y)}, {weight}, {.keep_graph = true, .create_graph = true});
  EXPECT_THAT(values(first[0]), ElementsAre(0, 0, 30, 80));
  const Tensor seeds = from_values({1, 1, 1, 1}, {2, 2}, ScalarType::float64);
  EXPECT_THAT(values(grad({first[0]}, {seeds}, {weight})[0]), ElementsAre(0, 0, 10, 20));
}

TEST(Embedding, LEAF_5_sparse_ones_stay_sparse_until_a_dense_one_comes) {
  const Tensor weight = matrix({1, 2, 3, 4}, {2, 2});
  const Tensor once = embedding(weight, index({1}, {1}), true);
  const Tensor again = embedding(weight, index({1, 0}, {2}), true);
  backward({once, again}, {seed({1, 2}, once), seed({4, 8, 16, 32}, again)});
  EXPECT_TRUE(gradient(weight).is_sparse());
  EXPECT_THAT(gradient_values(weight), ElementsAre(16, 32, 5, 10));
  const Tensor dense = embedding(weight, index({0}, {1}), false);
  backward({dense}, {seed({100, 200}, dense)});
  EXPECT_FALSE(gradient(weight).is_sparse());
  EXPECT_THAT(gradient_values(weight), ElementsAre(116, 232, 5, 10));
}

TEST(Indexing, KEEP_3_a_changed_index_is_noticed) {
  const Tensor a = matrix({1, 2, 3}, {3});
  const Tensor places = index({0, 2}, {2});
  const Tensor y = index_select(a, 0, places);
  fill_(places, 1);
  EXPECT_EQ(category_of([&] {
              backward({y}, {seed({1, 1}, y)});
            }),
            ErrorCategory::saved_tensor_modified);
}

TEST(Indexing, what_is_out_of_range_or_does_not_fit_is_refused) {
  const Tensor a = matrix({1, 2, 3, 4}, {2, 2});
  const auto refused = [](const std::function<void()>& call) {
    return category_of(call) == ErrorCategory::invalid_argument;
  };
  EXPECT_TRUE(refused([&] { gather(a, 0, index({2}, {1, 1})); }));
  EXPECT_TRUE(refused([&] { gather(a, 0, index({-1}, {1, 1})); }));
  EXPECT_TRUE(refused([&] { gather(a, 0, index({0}, {1})); }));
  EXPECT_TRUE(refused([&] { gather(a, 0, index({0, 0, 0}, {1, 3})); }));
  EXPECT_TRUE(refused([&] { gather(a, 0, from_values({0}, {1, 1}, ScalarType::float64)); }));
  EXPECT_TRUE(refused([&] { gather(a, 2, index({0}, {1, 1})); }));
  EXPECT_TRUE(refused([&] { scatter_add(a, 0, index({0, 0}, {2, 1}), select(a, 0, 0)); }));
  EXPECT_TRUE(refused([&] { index_select(a, 0, index({0}, {1, 1})); }));
  EXPECT_TRUE(refused([&] { index_select(a, 0, index({2}, {1})); }));
  EXPECT_TRUE(refused([&] { embedding(a, index({2}, {1}), false); }));
  EXPECT_TRUE(refused([&] { embedding(select(a, 0, 0), index({0}, {1}), false); }));
}

}  // namespace
}  // namespace gradcts::reference
