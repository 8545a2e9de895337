// Several callers at once, and long chains on small stacks.
#include <latch>
#include <thread>

#include "reference_engine/graph/saved_tensor.h"
#include "reference_engine/testing/threads.h"
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

TEST(Threads, THREAD_1_a_shared_graph_over_a_device) {
  Tensor x = leaf({2});
  Tensor w = leaf({3});
  Tensor y = mul(to_device(x, sim0), to_device(w, sim0));
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
  const auto before = live_counts();
  for (int i = 0; i < 20; ++i) {
    on_threads([](int) {
      Tensor x = leaf({1});
      backward({scale(x, 2)});
      EXPECT_THAT(gradient_values(x), ElementsAre(2));
    });
  }
  EXPECT_EQ(live_counts(), before);
}

// Sanitizers remember where each block was made and freed, and slow that down fifty-fold.
constexpr int long_chain = is_sanitized ? 100'000 : 1'000'000;

// Makes a chain on a small stack, frees it by its end, and nothing is left of it.
void make_and_free(const std::function<Tensor()>& make) {
  on_small_stack([&] {
    const auto before = live_counts();
    Tensor end = make();
    EXPECT_GE(live_count(LiveKind::node), before[1] + long_chain);
    end.reset();
    EXPECT_EQ(live_counts(), before);
  });
}

TEST(Disposal, TOPO_8_a_chain_of_edges_runs_and_is_freed) {
  make_and_free([] {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < long_chain; ++i) y = scale(y, 1);
    backward({y});
    EXPECT_THAT(gradient_values(x), ElementsAre(1));
    EXPECT_THAT(values(grad({y}, {}, {x})[0]), ElementsAre(1));
    return y;
  });
}

TEST(Disposal, TOPO_8_a_chain_of_saved_tensors) {
  make_and_free([] {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < long_chain; ++i) y = mul(y, x);
    backward({y}, {}, {.keep_graph = true});
    EXPECT_THAT(gradient_values(x), ElementsAre(long_chain + 1.0));
    return y;
  });
}

// Each link is what the node's hook for saved tensors packed, and nothing else.
TEST(Disposal, TOPO_8_a_chain_of_packed_tensors) {
  make_and_free([] {
    const Tensor x = leaf({1});
    Tensor previous = scale(x, 5);
    {
      const SavedTensorHooksGuard guard({[&](const Tensor&) -> std::shared_ptr<void> {
                                           return std::make_shared<Tensor>(previous);
                                         },
                                         [](const std::shared_ptr<void>& packed) {
                                           return *static_cast<const Tensor*>(packed.get());
                                         }});
      for (int i = 0; i < long_chain; ++i) previous = pow(x, 2);
    }
    backward({previous}, {}, {.keep_graph = true});
    EXPECT_THAT(gradient_values(x), ElementsAre(2));
    return previous;
  });
}

TEST(Disposal, TOPO_8_a_chain_of_hook_captures) {
  make_and_free([] {
    const Tensor x = leaf({1});
    Tensor previous = scale(x, 1);
    for (int i = 0; i < long_chain; ++i) {
      Tensor next = scale(x, 1);
      add_tensor_hook(next, [previous](const Tensor&) { return std::nullopt; });
      previous = next;
    }
    backward({previous});
    EXPECT_THAT(gradient_values(x), ElementsAre(1));
    return previous;
  });
}

TEST(Disposal, TOPO_8_a_chain_of_what_nodes_captured) {
  make_and_free([] {
    const Tensor x = leaf({1});
    Tensor previous = scale(x, 1);
    for (int i = 0; i < long_chain; ++i) {
      previous = custom({x}, [previous](Gradients g) { return g; });
    }
    backward({previous});
    EXPECT_THAT(gradient_values(x), ElementsAre(1));
    return previous;
  });
}

TEST(Disposal, TOPO_8_a_chain_of_gradients_with_history) {
  make_and_free([] {
    Tensor previous = leaf({1});
    for (int i = 0; i < long_chain; ++i) {
      Tensor next = leaf({1});
      set_gradient(next, scale(previous, 1));
      previous = next;
    }
    backward({gradient(previous)});
    return previous;
  });
}

// ---- Nested passes -----------------------------------------------------------------------------

// New threads have stacks of this many bytes.
class StackOfNewThreads {
 public:
  explicit StackOfNewThreads(std::size_t bytes) {
    pthread_getattr_default_np(&previous_);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  ~StackOfNewThreads() {
    pthread_setattr_default_np(&previous_);
    pthread_attr_destroy(&previous_);
  }
  StackOfNewThreads(const StackOfNewThreads&) = delete;
  StackOfNewThreads& operator=(const StackOfNewThreads&) = delete;

 private:
  pthread_attr_t previous_;
};

// 60 levels, and a multiple of that for a sanitizer's frames.
constexpr std::size_t nesting_stack = is_sanitized ? 2'048 * 1024 : 256 * 1024;

// Passes that nest so deep, each in a node of the one before, on the device's thread.
void run_nested(Engine& engine, Device device, int depth) {
  Tensor x = leaf({1}, ScalarType::float64, device);
  std::function<Gradients(Gradients)> nest = [&](Gradients g) {
    if (current_pass()->depth == depth) return g;
    const RecordingGuard recording(true);
    const Root root{gradient_edge(custom({x}, nest)), ones({1}, ScalarType::float64, device)};
    engine.backward({&root, 1});
    return g;
  };
  const Root root{gradient_edge(custom({x}, nest)), ones({1}, ScalarType::float64, device)};
  engine.backward({&root, 1});
  EXPECT_THAT(gradient_values(x), ElementsAre(depth + 1.0));
}

TEST(Nesting, REENT_3_5000_levels_on_small_stacks_and_once_more) {
  constexpr int depth = 5000;
  const auto before = thread_count();
  for (const Device device : {cpu, sim0}) {
    const StackOfNewThreads small(nesting_stack);
    Engine engine;
    std::thread([&] {
      run_nested(engine, device, depth);
      const int threads = engine.pool_thread_count();
      EXPECT_LE(threads, depth / engine.nesting_limit() + 1);
      run_nested(engine, device, depth);
      EXPECT_EQ(engine.pool_thread_count(), threads);
    }).join();
  }
  until([&] { return thread_count() <= before; });
}

}  // namespace
}  // namespace gradcts::reference
