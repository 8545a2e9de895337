// Sparse gradients of leaves: when one is taken over, and when it is copied.
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;

// Rows 2 and 0 of a matrix of 3 rows of one element, or row 1 alone, which is coalesced.
Tensor sparse_rows(bool coalesced) {
  if (coalesced) {
    return make_sparse(from_values({1}, {1, 1}, ScalarType::int64),
                       from_values({5}, {1, 1}, ScalarType::float64), {3, 1}, true);
  }
  return make_sparse(from_values({2, 0}, {1, 2}, ScalarType::int64),
                     from_values({5, 7}, {2, 1}, ScalarType::float64), {3, 1});
}

// A pass that sends this gradient to the leaf.
void send(const Tensor& x, Tensor gradient) {
  const Tensor y = custom({x}, [&](Gradients) { return Gradients{std::move(gradient)}; });
  const Root root{gradient_edge(y), Tensor()};
  Engine::default_engine().backward({&root, 1});
}

Tensor matrix_leaf() {
  Tensor x = from_values({0, 0, 0}, {3, 1}, ScalarType::float64);
  set_requires_grad(x, true);
  return x;
}

TEST(SparseLeaf, LEAF_5_an_unshared_gradient_is_taken_over) {
  for (const bool coalesced : {false, true}) {
    const Tensor x = matrix_leaf();
    Tensor given = sparse_rows(coalesced);
    const void* const elements = given.values().storage().data();
    const void* const places = given.indices().storage().data();
    send(x, std::move(given));
    const Tensor result = gradient(x);
    ASSERT_TRUE(result.is_sparse());
    EXPECT_EQ(result.values().storage().data(), elements);
    EXPECT_EQ(result.indices().storage().data(), places);
    EXPECT_EQ(result.is_coalesced(), coalesced);
  }
}

TEST(SparseLeaf, LEAF_5_what_others_see_is_copied_and_keeps_flags) {
  enum class Shared { handle, indices, values, alias };
  for (const bool coalesced : {false, true}) {
    for (const Shared shared : {Shared::handle, Shared::indices, Shared::values, Shared::alias}) {
      const Tensor x = matrix_leaf();
      Tensor given = sparse_rows(coalesced);
      const Tensor kept = shared == Shared::handle    ? given
                          : shared == Shared::indices ? given.indices()
                          : shared == Shared::values  ? given.values()
                                                      : given.alias();
      const void* const elements = given.values().storage().data();
      const void* const places = given.indices().storage().data();
      const Values before = values(kept);
      send(x, std::move(given));
      const Tensor result = gradient(x);
      ASSERT_TRUE(result.is_sparse());
      EXPECT_NE(result.values().storage().data(), elements);
      EXPECT_NE(result.indices().storage().data(), places);
      EXPECT_EQ(result.is_coalesced(), coalesced);
      EXPECT_EQ(values(result), values(sparse_rows(coalesced)));
      fill_(result.values(), 100);
      EXPECT_EQ(values(kept), before);
    }
  }
}

// (B143) Two leaves that get one sparse gradient do not share it.
TEST(SparseLeaf, LEAF_5_LEAF_3_leaves_share_no_gradient) {
  const Tensor a = matrix_leaf();
  const Tensor b = matrix_leaf();
  const Tensor y = custom({a, b}, [](Gradients) { return Gradients(2, sparse_rows(false)); });
  const Root root{gradient_edge(y), Tensor()};
  Engine::default_engine().backward({&root, 1});
  fill_(gradient(a).values(), 100);
  EXPECT_THAT(gradient_values(b), ElementsAre(7, 0, 5));
}

TEST(SparseLeaf, LEAF_5_under_create_graph_it_is_copied_and_stays_sparse) {
  const Tensor x = matrix_leaf();
  Tensor given = sparse_rows(true);  // nobody else's, and not taken over all the same
  const void* const elements = given.values().storage().data();
  const Tensor y = custom({x}, [&](Gradients) { return Gradients{std::move(given)}; });
  const Root root{gradient_edge(y), Tensor()};
  Engine::default_engine().backward({&root, 1}, {.create_graph = true});
  EXPECT_TRUE(gradient(x).is_sparse());
  EXPECT_TRUE(gradient(x).is_coalesced());
  EXPECT_NE(gradient(x).values().storage().data(), elements);
}

TEST(SparseLeaf, LEAF_5_ACC_3_sums_of_sparse_and_dense_gradients) {
  for (const bool sparse_first : {true, false}) {
    const Tensor x = matrix_leaf();
    const Tensor dense = from_values({10, 20, 30}, {3, 1}, ScalarType::float64);
    const Tensor kept = sparse_rows(false);
    send(x, sparse_first ? kept : dense);
    send(x, sparse_first ? dense : kept);
    EXPECT_FALSE(gradient(x).is_sparse());
    EXPECT_THAT(gradient_values(x), ElementsAre(17, 20, 35));
    EXPECT_THAT(values(dense), ElementsAre(10, 20, 30));
    EXPECT_THAT(values(kept), ElementsAre(7, 0, 5));
  }
  const Tensor x = matrix_leaf();
  send(x, sparse_rows(false));
  send(x, sparse_rows(true));
  EXPECT_TRUE(gradient(x).is_sparse());
  EXPECT_FALSE(gradient(x).is_coalesced());
  EXPECT_THAT(gradient_values(x), ElementsAre(7, 5, 5));
}

}  // namespace
}  // namespace gradcts::reference
