// The compiled engine: what costs a program, what finds one again, and that it is the same.
//
// That it is the same is for the suites and for properties (fuzz/properties_test.cpp), which run
// everything on it; here is what only the engine itself can tell.
#include "reference_engine/compiled/compiler.h"

#include <barrier>
#include <set>
#include <thread>

#include "reference_engine/memory/live_count.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const auto keep = BackwardOptions{.keep_graph = true};

class Compiled : public ::testing::Test {
 protected:
  Compiled() { use(std::make_shared<Compiler>()); }
  ~Compiled() override { Engine::default_engine().set_compiler(nullptr); }

  void use(std::shared_ptr<Compiler> made) {
    compiler = std::move(made);
    compiler->set_log([this](const std::string& line) { log = line; });
    Engine::default_engine().set_compiler(compiler);
  }

  std::uint64_t compiles() const { return compiler->statistics().compiles; }
  std::uint64_t compiles_for(MissCause cause) const {
    return compiler->statistics().compiles_by_cause[static_cast<std::size_t>(cause)];
  }
  std::uint64_t hits() const { return compiler->statistics().hits; }

  std::shared_ptr<Compiler> compiler;
  std::string log;  // its last line
};

Tensor ones_of(std::int64_t size) {
  Tensor tensor = ones({size}, ScalarType::float64);
  set_requires_grad(tensor, true);
  return tensor;
}

// ---- What costs a program ----------------------------------------------------------------------

TEST_F(Compiled, COMP_1_the_first_pass_is_compiled_and_the_others_are_replayed) {
  for (int i = 1; i <= 3; ++i) {
    Tensor x = leaf({2.0 * i, 3});
    backward({mul(exp(scale(x, 0)), x)}, {vector_of({5, 7})});
    EXPECT_THAT(gradient_values(x), ElementsAre(5, 7));
  }
  EXPECT_EQ(compiles(), 1);
  EXPECT_EQ(hits(), 2);
  EXPECT_EQ(compiles_for(MissCause::none_known), 1);
  EXPECT_THAT(log, HasSubstr("no program is known"));
}

TEST_F(Compiled, COMP_3_sizes_cost_no_program) {
  for (const std::int64_t size : {4, 5, 6, 7}) {
    Tensor x = ones_of(size);
    backward({mean(mul(x, x))}, {full({}, static_cast<double>(size), ScalarType::float64)});
    EXPECT_THAT(gradient_values(x), ::testing::Each(2));
  }
  EXPECT_EQ(compiles(), 1);
}

TEST_F(Compiled, COMP_3_numbers_cost_no_program) {
  for (int number = 1; number <= 100; ++number) {
    Tensor x = leaf({1});
    backward({scale(x, number)});
    EXPECT_THAT(gradient_values(x), ElementsAre(number));
  }
  EXPECT_EQ(compiles(), 1);
}

TEST_F(Compiled, COMP_3_a_training_loop_with_a_growing_batch_and_gradients_that_come_and_go) {
  Tensor weight = full({2, 1}, 3, ScalarType::float64);
  set_requires_grad(weight, true);
  int after = 0;
  add_post_accumulate_hook(weight, [&](const Tensor& leaf) { after += gradient(leaf).defined(); });
  for (std::int64_t step = 1; step <= 20; ++step) {
    if (step % 3 == 0) set_gradient(weight, Tensor());
    const Tensor batch = ones({step, 2}, ScalarType::float64);
    backward({sum(tanh(mm(batch, weight)))});
  }
  EXPECT_EQ(after, 20);
  EXPECT_EQ(compiles(), 1);
  EXPECT_EQ(hits(), 19);
}

TEST_F(Compiled, COMP_2_another_kind_of_node_costs_a_program_and_is_named) {
  Tensor x = leaf({3});
  Tensor w = leaf({5});
  backward({mul(x, w)});
  backward({sub(x, w)});
  EXPECT_THAT(gradient_values(x), ElementsAre(6));
  EXPECT_THAT(gradient_values(w), ElementsAre(2));
  EXPECT_EQ(compiles(), 2);
  EXPECT_EQ(compiles_for(MissCause::node), 1);
  EXPECT_THAT(log, HasSubstr("at node 1, Sub: a new kind of node"));
  EXPECT_THAT(log, HasSubstr("Mul"));
}

TEST_F(Compiled, COMP_2_two_paths_to_one_node_are_no_paths_to_two) {
  const auto pass = [](bool joined) {
    Tensor x = leaf({3});
    Tensor low = custom({x}, same);
    Tensor other = joined ? low : custom({x}, same);
    backward({mul(low, other)});
    return gradient_values(x);
  };
  for (const bool joined : {false, true, false, true}) EXPECT_THAT(pass(joined), ElementsAre(6));
  EXPECT_EQ(compiles(), 2);
  EXPECT_EQ(compiles_for(MissCause::edges), 1);
  EXPECT_THAT(log, HasSubstr("edge 1 leads to slot 0 of node 2"));
}

TEST_F(Compiled, COMP_2_the_order_of_making_costs_a_program_and_is_the_order_of_running) {
  const auto pass = [](bool swapped) {
    Tensor x = leaf({3});
    std::string order;
    const auto make = [&](char name) {
      return custom({x}, [&order, name](Gradients g) { return order.push_back(name), g; });
    };
    Tensor first = make('1');
    Tensor second = make('2');
    backward({swapped ? mul(second, first) : mul(first, second)});
    return order;
  };
  for (const bool swapped : {false, true, false, true}) EXPECT_EQ(pass(swapped), "21");
  EXPECT_EQ(compiles(), 2);
  EXPECT_EQ(compiles_for(MissCause::order), 1);
  EXPECT_THAT(log, HasSubstr("made in another order"));
}

TEST_F(Compiled, COMP_2_what_is_asked_for_costs_a_program) {
  for (int i = 0; i < 2; ++i) {
    Tensor x = leaf({3});
    Tensor w = leaf({5});
    Tensor a = mul(x, w);
    Tensor b = mul(a, x);
    const auto ask = [&](std::vector<Tensor> inputs) {
      Values found;
      for (const Tensor& gradient : grad({b}, {}, inputs, {.keep_graph = true})) {
        found.push_back(values(gradient)[0]);
      }
      return found;
    };
    EXPECT_THAT(ask({x}), ElementsAre(30));
    EXPECT_THAT(ask({w}), ElementsAre(9));
    EXPECT_THAT(ask({a, x, a}), ElementsAre(3, 30, 3));
    backward({b});
    EXPECT_THAT(gradient_values(x), ElementsAre(30));
  }
  EXPECT_EQ(compiles(), 4);
  EXPECT_EQ(compiles_for(MissCause::asked), 3);
  EXPECT_EQ(hits(), 4);
}

TEST_F(Compiled, COMP_2_graphs_that_begin_alike_branch_where_they_differ) {
  const auto pass = [](int exps, int tails) {
    Tensor x = leaf({0});
    Tensor y = x;
    for (int i = 0; i < tails; ++i) y = scale(y, 2);
    y = neg(y);
    for (int i = 0; i < exps; ++i) y = scale(y, 3);
    backward({y});
    return gradient_values(x)[0];
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(pass(4, 3), -81 * 8);
    EXPECT_EQ(pass(4, 2), -81 * 4);
    EXPECT_EQ(pass(2, 3), -9 * 8);
    EXPECT_EQ(pass(3, 0), -27);
    EXPECT_EQ(pass(0, 0), -1);
  }
  EXPECT_EQ(compiles(), 5);
  EXPECT_EQ(hits(), 5);
}

// ---- The cache ---------------------------------------------------------------------------------

TEST_F(Compiled, COMP_8_programs_are_forgotten_when_told) {
  EXPECT_TRUE(compiler->empty());
  Tensor x = leaf({3});
  backward({mul(x, x)});
  EXPECT_FALSE(compiler->empty());
  compiler->clear();
  EXPECT_TRUE(compiler->empty());
  backward({mul(x, x)});
  EXPECT_EQ(compiles(), 2);
  EXPECT_EQ(hits(), 0);
}

TEST_F(Compiled, COMP_8_forgotten_while_a_pass_runs) {
  Tensor x = leaf({3});
  Tensor y = custom({mul(x, x)}, [&](Gradients g) { return compiler->clear(), g; });
  backward({y}, {}, keep);
  backward({y});
  EXPECT_THAT(gradient_values(x), ElementsAre(12));
  EXPECT_TRUE(compiler->empty());
}

TEST_F(Compiled, COMP_8_of_too_many_programs_the_one_unused_for_longest_goes) {
  use(std::make_shared<Compiler>(2));
  Tensor x = leaf({1});
  const auto pass = [&](int nodes) {
    Tensor y = x;
    for (int i = 0; i < nodes; ++i) y = neg(y);
    backward({y});
  };
  pass(1);
  pass(2);
  pass(1);
  pass(3);  // instead of 2
  EXPECT_EQ(compiler->statistics().evictions, 1);
  EXPECT_EQ(compiler->statistics().programs, 2);
  pass(1);
  pass(3);
  EXPECT_EQ(hits(), 3);
  pass(2);
  EXPECT_EQ(compiles(), 4);
}

TEST_F(Compiled, COMP_8_the_log_tells_what_is_not_compiled) {
  Tensor x = leaf({3});
  backward({to_device(mul(to_device(x, sim0), to_device(x, sim0)), cpu)});
  EXPECT_THAT(gradient_values(x), ElementsAre(6));
  EXPECT_EQ(compiler->statistics().not_compiled, 1);
  EXPECT_TRUE(compiler->empty());
  EXPECT_THAT(log, HasSubstr("not compiled: its nodes run on several devices"));
}

TEST_F(Compiled, the_text_of_a_program_tells_each_step) {
  std::string text;
  compiler->set_program_log([&](const std::string& program) { text = program; });
  Tensor x = leaf({3});
  Tensor y = mul(x, x);
  retain_grad(y);
  grad({custom({y}, same, "Last")}, {}, {y});
  EXPECT_EQ(
      text,
      "program of 2 steps, 2 places\n"
      "  root 0 -> place 0\n"
      "  1: node 1, Last: place 0 -> place 1 (handed over)\n"
      "  2: node 2, Mul: place 1; hooks (HOOK-1); captured (PRUNE-6); does not run (COMP-6)\n");
}

// ---- Lifetimes ---------------------------------------------------------------------------------

TEST_F(Compiled, COMP_9_saved_tensors_go_along_the_way_as_without_a_compiler) {
  const auto alive_along_the_way = [] {
    std::vector<std::int64_t> alive;
    Tensor x = leaf({2});
    Tensor y = x;
    for (int i = 0; i < 10; ++i) {
      y = custom({exp(y)},
                 [&](Gradients g) { return alive.push_back(live_count(LiveKind::tensor)), g; });
    }
    backward({y});
    return alive;
  };
  const auto compiled = alive_along_the_way();
  const auto replayed = alive_along_the_way();
  EXPECT_EQ(hits(), 1);
  Engine::default_engine().set_compiler(nullptr);
  const auto eager = alive_along_the_way();
  EXPECT_GE(eager.front(), eager.back() + 8);
  EXPECT_EQ(compiled, eager);
  EXPECT_EQ(replayed, eager);
}

TEST_F(Compiled, LIFE_1_a_program_keeps_nothing_of_the_graph_alive) {
  const std::int64_t nodes = live_count(LiveKind::node);
  const std::int64_t tensors = live_count(LiveKind::tensor);
  {
    Tensor x = leaf({2});
    backward({mul(exp(x), x)});
  }
  EXPECT_FALSE(compiler->empty());
  EXPECT_EQ(live_count(LiveKind::node), nodes);
  EXPECT_EQ(live_count(LiveKind::tensor), tensors);
}

TEST_F(Compiled, COMP_7_an_error_leaves_nothing_behind) {
  Tensor x = leaf({3});
  bool fails = true;
  const auto build = [&] {
    return custom({mul(x, x)}, [&](Gradients g) {
      if (fails) throw std::runtime_error("not now");
      return g;
    });
  };
  const std::int64_t passes = live_count(LiveKind::pass);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(message_of([&] { backward({build()}); }), "not now");
  EXPECT_EQ(live_count(LiveKind::pass), passes);
  EXPECT_FALSE(current_pass());
  EXPECT_FALSE(gradient(x).defined());
  fails = false;
  backward({build()});
  EXPECT_THAT(gradient_values(x), ElementsAre(6));
  EXPECT_EQ(compiles(), 1);
}

// ---- On a device -------------------------------------------------------------------------------

Tensor leaf_on(Device device, double number) {
  return leaf({number}, ScalarType::float64, device);
}

Tensor seed_on(Device device) {
  return vector_of({1}, ScalarType::float64, device);
}

TEST_F(Compiled, COMP_1_a_pass_on_one_device_is_replayed_by_its_worker) {
  std::set<std::thread::id> threads;
  for (const Device device : {sim0, sim1, cpu}) {
    Tensor x = leaf_on(device, 3);
    Tensor y =
        custom({x}, [&](Gradients g) { return threads.insert(std::this_thread::get_id()), g; });
    backward({mul(y, x)}, {seed_on(device)});
    EXPECT_THAT(gradient_values(x), ElementsAre(6));
  }
  EXPECT_EQ(threads.size(), 3);
  EXPECT_EQ(compiles(), 1);
  EXPECT_EQ(hits(), 2);
  EXPECT_EQ(compiler->statistics().not_compiled, 0);
}

// The eager engine adds up what came from several nodes by their place in its plan: 2^53 + 1 + 1 is
// another number in another order.
TEST_F(Compiled, COMP_1_sums_on_a_device_are_made_in_the_engines_order) {
  const auto gradient = [] {
    Tensor x = leaf_on(sim0, 1);
    Tensor y = scale(x, 1);
    Tensor sum = add(add(scale(y, 1), scale(y, 9007199254740992.0)), add(scale(y, 1), scale(y, 1)));
    backward({sum, scale(y, 1)}, {seed_on(sim0), seed_on(sim0)});
    return gradient_values(x);
  };
  const auto compiled = gradient();
  const auto replayed = gradient();
  EXPECT_EQ(hits(), 1);
  Engine::default_engine().set_compiler(nullptr);
  const auto eager = gradient();
  EXPECT_EQ(compiled, eager);
  EXPECT_EQ(replayed, eager);
}

TEST_F(Compiled, COMP_7_a_replay_on_a_device_inside_another_one) {
  Tensor x = leaf_on(sim0, 1);
  std::function<void(int)> pass = [&](int depth) {
    backward({custom({x},
                     [&, depth](Gradients g) {
                       if (depth > 0) pass(depth - 1);
                       return g;
                     })},
             {seed_on(sim0)});
  };
  pass(200);
  EXPECT_THAT(gradient_values(x), ElementsAre(201));
  EXPECT_EQ(compiles(), 1);
}

TEST_F(Compiled, ERR_1_a_node_on_a_device_that_throws_in_a_replay) {
  for (int i = 0; i < 2; ++i) {
    Tensor x = leaf_on(sim0, 1);
    Tensor y = custom({x}, [](Gradients) -> Gradients { throw std::runtime_error("no"); });
    const Tensor root = mul(y, y);
    EXPECT_EQ(message_of([&] { backward({root}, {seed_on(sim0)}); }), "no");
    EXPECT_FALSE(gradient(x).defined());
  }
  EXPECT_EQ(hits(), 1);
}

// ---- Nested and side by side -------------------------------------------------------------------

TEST_F(Compiled, COMP_7_a_pass_inside_a_replay_of_the_same_program) {
  Tensor x = leaf({1});
  std::function<void(int)> pass = [&](int depth) {
    backward({custom({x}, [&, depth](Gradients g) {
      if (depth > 0) pass(depth - 1);
      return g;
    })});
  };
  pass(200);
  EXPECT_THAT(gradient_values(x), ElementsAre(201));
  EXPECT_EQ(compiles(), 1);
}

// The inner walk marks the nodes of the outer pass anew.
TEST_F(Compiled, COMP_7_a_pass_inside_one_over_the_same_nodes) {
  Tensor x = leaf({3});
  Tensor w = leaf({5});
  Tensor low = mul(x, w);
  Tensor skipped = custom({w}, same);
  Tensor again = mul(low, skipped);
  std::vector<bool> runs;
  bool inner = false;
  Tensor top = custom({low, skipped}, [&](Gradients g) {
    if (!inner) {
      inner = true;
      backward({again}, {}, keep);
    }
    for (const Tensor& tensor : {low, skipped}) runs.push_back(will_run(*producer(tensor)));
    return Gradients{g[0], g[0]};
  });
  EXPECT_THAT(values(grad({top}, {}, {x})[0]), ElementsAre(5));
  EXPECT_THAT(runs, ElementsAre(true, false));
}

TEST_F(Compiled, COMP_7_threads_replay_one_program_at_a_time) {
  constexpr int callers = 4;
  Tensor shared = leaf({1});
  std::barrier together(callers);
  const auto call = [&] {
    for (int i = 0; i < 50; ++i) {
      Tensor own = leaf({2});
      Tensor y =
          custom({mul(own, shared)}, [&](Gradients g) { return together.arrive_and_wait(), g; });
      backward({y});
      EXPECT_THAT(gradient_values(own), ElementsAre(1));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i) threads.emplace_back(call);
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(gradient_values(shared), ElementsAre(2 * 50 * callers));
  EXPECT_EQ(compiles(), 1);
}

}  // namespace
}  // namespace gradcts::reference
