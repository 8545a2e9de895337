// The engine on the CPU: roots, traversal, order, keeping. Other areas have test files of their
// own.
#include "reference_engine/engine/engine.h"

#include "reference_engine/graph/leaf_accumulator.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const auto keep = BackwardOptions{.keep_graph = true};

TEST(Engine, ROOT_1_one_root_gets_its_seed) {
  Tensor x = leaf({2, 3});
  Tensor y = mul(x, x);
  backward({y}, {vector_of({5, 7})});
  EXPECT_THAT(gradient_values(x), ElementsAre(20, 42));
}

TEST(Engine, ROOT_2_a_root_that_feeds_another_runs_once_in_every_order) {
  for (const bool swapped : {false, true}) {
    Tensor x = leaf({2});
    int runs = 0;
    Tensor y = custom({mul(x, x)}, [&](Gradients g) { return ++runs, g; });
    Tensor z = mul(mul(y, y), y);
    const std::vector<Tensor> roots = swapped ? std::vector{z, y} : std::vector{y, z};
    backward(roots);
    EXPECT_EQ(runs, 1);
    EXPECT_THAT(gradient_values(x), ElementsAre(4 * (1 + 3 * 16)));
  }
}

TEST(Engine, ROOT_2_three_roots_that_feed_each_other) {
  Tensor a = leaf({1});
  Tensor b = leaf({1});
  Tensor c = add(a, b);
  Tensor d = add(c, c);
  Tensor e = add(d, d);
  backward({e, c, d});
  EXPECT_THAT(gradient_values(a), ElementsAre(7));
  EXPECT_THAT(gradient_values(b), ElementsAre(7));
}

TEST(Engine, ROOT_3_seeds_of_one_slot_add) {
  Tensor x = leaf({1});
  Tensor y = scale(x, 3);
  backward({y, y, y}, {vector_of({1}), vector_of({10}), vector_of({100})});
  EXPECT_THAT(gradient_values(x), ElementsAre(333));
}

TEST(Engine, ROOT_4_a_bad_seed_names_its_root) {
  Tensor x = leaf({1, 2});
  Tensor y = scale(x, 3);
  const auto call = [&] { backward({y, y}, {vector_of({1, 1}), vector_of({1, 2, 3})}); };
  EXPECT_EQ(category_of(call), ErrorCategory::gradient_shape);
  EXPECT_THAT(message_of(call), HasSubstr("root 1"));
  EXPECT_FALSE(gradient(x).defined());
}

TEST(Engine, ROOT_5_no_roots_means_nothing) {
  Tensor x = leaf({1});
  backward({});
  EXPECT_FALSE(grad({}, {}, {x})[0].defined());
}

TEST(Engine, ROOT_6_a_leaf_as_root_and_a_root_as_capture) {
  Tensor x = leaf({1});
  backward({x}, {vector_of({9})});
  EXPECT_THAT(gradient_values(x), ElementsAre(9));
  Tensor y = scale(x, 2);
  EXPECT_THAT(values(grad({y}, {vector_of({4})}, {y})[0]), ElementsAre(4));
}

TEST(Engine, TOPO_2_two_edges_are_two_deliveries) {
  Tensor x = leaf({3});
  int runs = 0;
  Tensor y = custom({x}, [&](Gradients g) { return ++runs, g; });
  backward({add(y, y)});
  EXPECT_EQ(runs, 1);
  EXPECT_THAT(gradient_values(x), ElementsAre(2));
}

TEST(Engine, TOPO_3_a_null_edge_delivers_nothing) {
  Tensor x = leaf({3});
  Tensor constant = vector_of({5});
  backward({add(mul(x, constant), constant)});
  EXPECT_THAT(gradient_values(x), ElementsAre(5));
  EXPECT_FALSE(gradient(constant).defined());
}

TEST(Engine, TOPO_5_a_node_runs_although_all_its_slots_are_undefined) {
  Tensor x = leaf({3});
  bool ran = false;
  Tensor y = custom({x}, [&](Gradients g) {
    ran = !g[0].defined();
    return g;
  });
  Tensor z = custom({y}, [](Gradients) { return Gradients(1); });
  backward({z});
  EXPECT_TRUE(ran);
  EXPECT_FALSE(gradient(x).defined());
}

TEST(Engine, TOPO_7_shared_joins_are_linear) {
  Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = add(y, y);
  EXPECT_THAT(values(grad({y}, {}, {x})[0]), ElementsAre(std::ldexp(1, 60)));
}

TEST(Engine, ORDER_1_later_nodes_first_and_accumulators_before_all) {
  std::vector<std::string> order;
  const auto log = [&](const char* name) {
    return [&order, name](Gradients g) { return order.push_back(name), g; };
  };
  Tensor w = leaf({1});
  Tensor x = leaf({1});
  add_tensor_hook(w, [&](const Tensor&) { return order.push_back("leaf"), std::nullopt; });
  Tensor a = custom({x}, log("a"));
  Tensor b = custom({x}, log("b"));
  Tensor c = custom({w}, log("c"));
  backward({add(add(a, b), c)});
  EXPECT_THAT(order, ElementsAre("c", "leaf", "b", "a"));
}

TEST(Engine, ACC_1_fan_in_is_exact) {
  for (int count = 1; count <= 70; ++count) {
    Tensor x = leaf({1});
    Tensor y = scale(x, 2);
    Tensor sum = scale(y, 1);
    for (int i = 1; i < count; ++i) sum = add(sum, scale(y, 1));
    backward({sum});
    EXPECT_THAT(gradient_values(x), ElementsAre(2.0 * count));
  }
}

TEST(Engine, ACC_2_a_kept_gradient_is_not_added_into) {
  Tensor x = leaf({1});
  Tensor kept;
  Tensor a = scale(x, 1);
  Tensor b = scale(x, 1);
  add_tensor_hook(a, [&](const Tensor& g) {
    kept = detach(g);
    return std::nullopt;
  });
  backward({add(a, b)}, {vector_of({3})});
  EXPECT_THAT(values(kept), ElementsAre(3));
  EXPECT_THAT(gradient_values(x), ElementsAre(6));
}

TEST(Engine, LEAF_2_a_gradient_that_the_user_set_counts) {
  Tensor x = leaf({1});
  set_gradient(x, vector_of({10}));
  backward({scale(x, 2)});
  EXPECT_THAT(gradient_values(x), ElementsAre(12));
}

TEST(Engine, LEAF_3_leaves_share_no_gradient) {
  Tensor a = leaf({1});
  Tensor b = leaf({1});
  backward({add(a, b)});
  fill_(gradient(a), 50);
  EXPECT_THAT(gradient_values(b), ElementsAre(1));
}

TEST(Engine, LEAF_7_a_leaf_that_stopped_requiring_grad_is_skipped) {
  Tensor x = leaf({1});
  Tensor y = scale(x, 2);
  set_requires_grad(x, false);
  backward({y});
  EXPECT_FALSE(gradient(x).defined());
}

TEST(Engine, LEAF_8_intermediate_sums_start_at_zero_in_every_pass) {
  Tensor a = leaf({3});
  Tensor b = scale(a, 2);
  Tensor c = mul(b, b);
  backward({c}, {}, keep);
  EXPECT_THAT(gradient_values(a), ElementsAre(24));
  backward({c});
  EXPECT_THAT(gradient_values(a), ElementsAre(48));
}

TEST(Engine, KEEP_1_a_second_pass_says_how_to_keep_the_graph) {
  Tensor x = leaf({2});
  Tensor z = mul(x, x);
  backward({z});
  const auto again = [&] { backward({add_scalar(z, 1)}); };
  EXPECT_EQ(category_of(again), ErrorCategory::graph_released);
  EXPECT_THAT(message_of(again), HasSubstr("keep_graph"));
}

TEST(Engine, KEEP_3_a_saved_tensor_that_was_changed_is_noticed) {
  Tensor x = leaf({2});
  Tensor a = scale(x, 1);
  Tensor y = mul(a, a);
  fill_(select(a, 0, 0), 7);
  EXPECT_EQ(category_of([&] { backward({y}); }), ErrorCategory::saved_tensor_modified);
}

TEST(Engine, PRUNE_1_grad_keeps_the_order_and_leaves_gradients) {
  Tensor x = leaf({2});
  Tensor y = leaf({3});
  set_gradient(x, vector_of({100}));
  const auto result = grad({mul(x, y)}, {}, {y, x, y});
  EXPECT_THAT(values(result[0]), ElementsAre(2));
  EXPECT_THAT(values(result[1]), ElementsAre(3));
  EXPECT_THAT(values(result[2]), ElementsAre(2));
  EXPECT_THAT(gradient_values(x), ElementsAre(100));
}

TEST(Engine, PRUNE_2_what_lies_below_the_inputs_is_not_released) {
  Tensor x = leaf({3});
  Tensor mid = mul(x, x);
  Tensor out = scale(mid, 3);
  EXPECT_THAT(values(grad({out}, {}, {mid})[0]), ElementsAre(3));
  backward({mid});
  EXPECT_THAT(gradient_values(x), ElementsAre(6));
}

TEST(Engine, PRUNE_3_inputs_on_one_path) {
  Tensor x = leaf({1});
  Tensor a = scale(x, 2);
  Tensor b = scale(a, 3);
  const auto result = grad({scale(b, 5)}, {}, {a, b});
  EXPECT_THAT(values(result[0]), ElementsAre(15));
  EXPECT_THAT(values(result[1]), ElementsAre(5));
}

TEST(Engine, PRUNE_4_an_input_that_is_not_reached) {
  Tensor x = leaf({1});
  Tensor u = leaf({1, 1});
  const auto call = [&](const GradOptions& options) {
    return grad({scale(x, 2)}, {}, {x, u}, options);
  };
  EXPECT_EQ(category_of([&] { call({}); }), ErrorCategory::unused_input);
  EXPECT_THAT(message_of([&] { call({}); }), HasSubstr("input 1"));
  EXPECT_FALSE(call({.allow_unused = true})[1].defined());
  const Tensor zero = call({.materialise_unused = true})[1];
  EXPECT_THAT(values(zero), ElementsAre(0, 0));
  EXPECT_FALSE(requires_grad(zero));
}

TEST(Engine, PRUNE_5_backward_with_inputs_accumulates_into_those_alone) {
  Tensor x = leaf({2});
  Tensor other = leaf({2});
  Tensor h = scale(x, 2);
  Tensor out = mul(mul(h, h), other);
  for (int round = 1; round <= 2; ++round) {
    backward({out}, {}, {.keep_graph = true, .inputs = std::vector{h}});
    EXPECT_THAT(gradient_values(h), ElementsAre(16.0 * round));
  }
  EXPECT_FALSE(gradient(x).defined());
  EXPECT_FALSE(gradient(other).defined());
  const auto empty = [&] { backward({out}, {}, {.inputs = std::vector<Tensor>{}}); };
  EXPECT_EQ(category_of(empty), ErrorCategory::invalid_argument);
}

TEST(Engine, PRUNE_7_a_recent_input_above_a_long_chain_is_cheap) {
  Tensor x = leaf({1});
  int visited = 0;
  Tensor y = custom({x}, [&](Gradients g) { return ++visited, g; });
  Tensor mid = scale(y, 1);
  EXPECT_THAT(values(grad({scale(mid, 4)}, {}, {mid})[0]), ElementsAre(4));
  EXPECT_EQ(visited, 0);
}

TEST(Engine, PRUNE_8_a_node_asks_which_edges_are_needed) {
  Tensor x = leaf({1});
  Tensor w = leaf({1});
  std::vector<bool> asked;
  Node* node = nullptr;
  Tensor y = custom({x, w}, [&](Gradients g) {
    asked = {is_edge_needed(*node, 0), is_edge_needed(*node, 1)};
    return Gradients{g[0], g[0]};
  });
  node = producer(y).get();
  grad({y}, {}, {x});
  EXPECT_THAT(asked, ElementsAre(true, false));
  grad({y}, {}, {w});
  EXPECT_THAT(asked, ElementsAre(false, true));
  backward({y});
  EXPECT_THAT(asked, ElementsAre(true, true));
}

TEST(Engine, GRAPH2_1_derivatives_of_a_power_up_to_the_fourth) {
  Tensor x = leaf({3});
  Tensor y = pow(x, 4);
  const std::vector<double> expected = {108, 108, 72, 24};
  for (double value : expected) {
    y = grad({y}, {}, {x}, {.create_graph = true})[0];
    EXPECT_THAT(values(y), ElementsAre(value));
  }
}

TEST(Engine, GRAPH2_2_recording_in_nodes_is_create_graph) {
  for (const bool create : {false, true}) {
    for (const bool callers : {false, true}) {
      Tensor x = leaf({3});
      std::vector<bool> seen;
      Tensor y = custom({x}, [&](Gradients g) { return seen.push_back(is_recording()), g; });
      add_tensor_hook(y, [&](const Tensor&) {
        seen.push_back(is_recording());
        queue_callback([&] { seen.push_back(is_recording()); });
        return std::nullopt;
      });
      {
        RecordingGuard guard(callers);
        backward({y}, {}, {.create_graph = create});
        EXPECT_EQ(is_recording(), callers);
      }
      EXPECT_THAT(seen, ElementsAre(create, create, create));
      set_gradient(x, Tensor());
    }
  }
}

TEST(Engine, ERR_1_any_exception_reaches_the_caller) {
  Tensor x = leaf({3});
  Tensor y = custom({x}, [](Gradients) -> Gradients { throw 17; });
  try {
    backward({y});
    FAIL();
  } catch (int number) {
    EXPECT_EQ(number, 17);
  }
  EXPECT_FALSE(current_pass());
  backward({scale(x, 2)});
  EXPECT_THAT(gradient_values(x), ElementsAre(2));
}

TEST(Engine, ERR_2_after_an_error_nothing_starts) {
  Tensor x = leaf({3});
  bool ran = false;
  Tensor good = custom({x}, [&](Gradients g) { return ran = true, g; });
  Tensor bad = custom({x}, [](Gradients) -> Gradients { throw std::runtime_error("bad"); });
  EXPECT_EQ(message_of([&] { backward({add(good, bad)}); }), "bad");
  EXPECT_FALSE(ran);
}

TEST(Engine, CB_1_callbacks_run_in_order_and_may_add_more) {
  Tensor x = leaf({3});
  std::vector<int> order;
  Tensor y = custom({x}, [&](Gradients g) {
    queue_callback([&] {
      order.push_back(1);
      queue_callback([&] { order.push_back(3); });
    });
    queue_callback([&] { order.push_back(2); });
    return g;
  });
  backward({y});
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_EQ(category_of([] { queue_callback([] {}); }), ErrorCategory::outside_pass);
}

TEST(Engine, REENT_3_nested_passes_of_any_depth) {
  for (const int depth : {1, 59, 60, 61, 62, 200, 1000}) {
    Engine& engine = Engine::default_engine();
    Tensor x = leaf({1});
    int deepest = 0;
    std::function<Gradients(Gradients)> nest = [&](Gradients g) {
      const int level = current_pass()->depth;
      deepest = std::max(deepest, level);
      if (level < depth) {
        Tensor y = custom({x}, nest);
        const Root root{gradient_edge(y), vector_of({1})};
        engine.backward({&root, 1});
      }
      return g;
    };
    backward({custom({x}, nest)});
    EXPECT_EQ(deepest, depth);
    EXPECT_THAT(gradient_values(x), ElementsAre(depth + 1.0));
  }
  EXPECT_LE(Engine::default_engine().pool_thread_count(), 1000 / 60 + 1);
}

TEST(Engine, TLS_1_the_callers_value_is_seen_and_changes_do_not_leak) {
  set_thread_local_value(std::make_shared<int>(7));
  std::vector<int> seen;
  const auto look = [&](Gradients g) {
    seen.push_back(*static_cast<const int*>(thread_local_value().get()));
    set_thread_local_value(std::make_shared<int>(99));
    return g;
  };
  Tensor x = leaf({1});
  backward({custom({custom({x}, look)}, look)});
  EXPECT_THAT(seen, ElementsAre(7, 7));
  EXPECT_EQ(*static_cast<const int*>(thread_local_value().get()), 7);
  set_thread_local_value(nullptr);
}

TEST(Engine, LIFE_1_nothing_is_left) {
  const auto before = live_counts();
  {
    Tensor x = leaf({1, 2});
    Tensor y = exp(mul(x, x));
    backward({sum(y)}, {}, keep);
    Tensor bad = custom({y}, [](Gradients) -> Gradients { throw 1; });
    EXPECT_ANY_THROW(backward({sum(bad)}));
    grad({sum(y)}, {}, {x}, {.create_graph = true});
  }
  EXPECT_EQ(live_counts(), before);
}

TEST(Engine, VAL_1_a_wrong_count_names_the_node_and_the_counts) {
  Tensor x = leaf({1});
  Tensor y = custom(
      {x}, [](Gradients) { return Gradients(2); }, "Two");
  const auto call = [&] { backward({y}); };
  EXPECT_EQ(category_of(call), ErrorCategory::gradient_count);
  EXPECT_THAT(message_of(call), HasSubstr("Two"));
  EXPECT_THAT(message_of(call), HasSubstr("expected 1 but got 2"));
}

TEST(Engine, VAL_2_an_expandable_shape_is_summed) {
  Tensor x = leaf({1, 2, 3});
  Tensor y = custom({x}, [](Gradients) { return Gradients{ones({2, 3}, ScalarType::float64)}; });
  backward({y}, {vector_of({1, 1, 1})});
  EXPECT_THAT(gradient_values(x), ElementsAre(2, 2, 2));
  Tensor z = custom({x}, [](Gradients) { return Gradients{ones({4}, ScalarType::float64)}; });
  EXPECT_EQ(category_of([&] {
              backward({z}, {vector_of({1, 1, 1})});
            }),
            ErrorCategory::gradient_shape);
}

TEST(Engine, VAL_3_a_floating_type_is_cast_and_complex_is_refused) {
  Tensor x = leaf({1}, ScalarType::float32);
  backward({custom({x}, [](Gradients) { return Gradients{ones({1}, ScalarType::float64)}; })});
  EXPECT_EQ(gradient(x).type(), ScalarType::float32);
  Tensor y = custom({x}, [](Gradients) { return Gradients{ones({1}, ScalarType::complex64)}; });
  EXPECT_EQ(category_of([&] { backward({y}); }), ErrorCategory::gradient_type);
}

}  // namespace
}  // namespace gradcts::reference
