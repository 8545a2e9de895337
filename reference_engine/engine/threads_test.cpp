// Several callers at once, and long chains on small stacks.
#include <pthread.h>

#include <latch>
#include <thread>

#include "reference_engine/memory/live_count.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;

constexpr int callers = 8;
constexpr int rounds = 200;

void on_threads(const std::function<void(int)>& body) {
  std::latch start(callers);
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Threads, LEAF_6_a_shared_leaf_loses_no_update) {
  Tensor x = leaf({1});
  on_threads([&](int) {
    for (int i = 0; i < rounds; ++i) backward({scale(x, 1)});
  });
  EXPECT_THAT(gradient_values(x), ElementsAre(callers * rounds));
}

TEST(Threads, THREAD_1_a_shared_graph) {
  Tensor x = leaf({2});
  Tensor y = mul(x, x);
  Tensor shared = add(mul(y, y), y);
  on_threads([&](int) {
    for (int i = 0; i < rounds; ++i) backward({shared}, {}, {.keep_graph = true});
  });
  EXPECT_THAT(gradient_values(x), ElementsAre((4 * 8 + 4) * callers * rounds));
}

TEST(Threads, THREAD_1_a_shared_graph_over_a_device_with_different_inputs) {
  Tensor x = leaf({2});
  Tensor w = leaf({3});
  Tensor y = mul(to_device(x, {DeviceType::sim, 0}), to_device(w, {DeviceType::sim, 0}));
  Tensor out = to_device(y, cpu);
  on_threads([&](int caller) {
    for (int i = 0; i < rounds / 4; ++i) {
      const Tensor& input = caller % 2 == 0 ? x : w;
      const Values expected = {caller % 2 == 0 ? 3.0 : 2.0};
      EXPECT_EQ(values(grad({out}, {}, {input}, {.keep_graph = true})[0]), expected);
    }
  });
}

TEST(Threads, TOPO_6_building_on_one_leaf) {
  Tensor x = leaf({1});
  on_threads([&](int) {
    for (int i = 0; i < rounds; ++i) {
      Tensor y = scale(x, 1);
      EXPECT_GT(producer(y)->topological_number(), accumulator(x)->topological_number());
    }
  });
}

TEST(Threads, THREAD_4_callers_that_end_right_after_their_pass) {
  const auto before = live_count(LiveKind::node);
  for (int i = 0; i < 20; ++i) {
    on_threads([](int) {
      Tensor x = leaf({1});
      backward({scale(x, 2)});
      EXPECT_THAT(gradient_values(x), ElementsAre(2));
    });
  }
  EXPECT_EQ(live_count(LiveKind::node), before);
}

// Runs the body on a stack of 256 KB.
void on_small_stack(std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                  (*static_cast<std::function<void()>*>(argument))();
                  return nullptr;
                },
                &body),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

constexpr int long_chain = 1'000'000;

TEST(Disposal, TOPO_8_a_chain_of_edges_runs_and_is_freed) {
  on_small_stack([] {
    Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < long_chain; ++i) y = scale(y, 1);
    backward({y});
    EXPECT_THAT(gradient_values(x), ElementsAre(1));
    y.reset();
  });
}

TEST(Disposal, TOPO_8_a_chain_of_saved_tensors) {
  on_small_stack([] {
    Tensor y = leaf({1});
    for (int i = 0; i < long_chain / 4; ++i) y = mul(y, y);
    y.reset();
  });
}

TEST(Disposal, TOPO_8_a_chain_of_hook_captures) {
  on_small_stack([] {
    Tensor previous = scale(leaf({1}), 1);
    for (int i = 0; i < long_chain / 10; ++i) {
      Tensor next = scale(leaf({1}), 1);
      add_tensor_hook(next, [previous](const Tensor&) { return std::nullopt; });
      previous = next;
    }
    previous.reset();
  });
}

TEST(Disposal, TOPO_8_a_chain_of_gradients_with_history) {
  on_small_stack([] {
    Tensor previous = leaf({1});
    for (int i = 0; i < long_chain / 10; ++i) {
      Tensor next = leaf({1});
      set_gradient(next, scale(previous, 1));
      previous = next;
    }
    previous.reset();
  });
}

}  // namespace
}  // namespace gradcts::reference
