// Passes that fail: when the call returns, what is left behind, and what is never touched again.
#include <atomic>
#include <latch>
#include <thread>

#include "reference_engine/testing/threads.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Failure {};

Gradients fail(Gradients) {
  throw Failure();
}

// Until all that is queued for the device so far is finished: a node that is the first of its
// thread comes last (ORDER-1).
void drain(Device device) {
  std::thread([&] { backward({scale(leaf({1}, ScalarType::float64, device), 1)}); }).join();
}

// A device's node that is inside of apply() when the CPU's node throws, and stays there until it is
// told to go on. A second one waits for the same thread.
class FailsElsewhere {
 public:
  FailsElsewhere() {
    const auto hold = [this](Gradients g) {
      inside_.count_down();
      go_on_.wait();
      finished_ = true;
      return g;
    };
    const auto throws = [this](Gradients) -> Gradients {
      inside_.wait();
      throw Failure();
    };
    const auto note = [this](Gradients g) { return queued_ran_ = true, g; };
    const Tensor queued = custom({to_device(x_, sim0)}, note);
    const Tensor held = custom({to_device(x_, sim0)}, hold);  // made later, so it runs first
    failing_ = custom({x_}, throws);
    out_ = add(add(to_device(queued, cpu), to_device(held, cpu)), failing_);
  }

  const Tensor& out() const { return out_; }
  void go_on() { go_on_.count_down(); }
  bool finished() const { return finished_; }
  bool queued_ran() const { return queued_ran_; }
  Tensor& x() { return x_; }

 private:
  Tensor x_ = leaf({1});
  Tensor failing_;
  Tensor out_;
  std::latch inside_{1};
  std::latch go_on_{1};
  std::atomic<bool> finished_{false};
  std::atomic<bool> queued_ran_{false};
};

TEST(Errors, ERR_5_the_call_returns_when_no_node_is_running) {
  std::latch inside(1);
  std::latch failing(1);
  std::atomic<bool> finished{false};
  Tensor x = leaf({1});
  const Tensor held = custom({to_device(x, sim0)}, [&](Gradients g) {
    inside.count_down();
    failing.wait();
    for (int i = 0; i < 200; ++i) std::this_thread::yield();  // who does not wait is gone by then
    finished = true;
    return g;
  });
  const Tensor bad = custom({x}, [&](Gradients) -> Gradients {
    struct AtUnwinding {
      std::latch& latch;
      ~AtUnwinding() { latch.count_down(); }
    } at_unwinding{failing};
    inside.wait();
    throw Failure();
  });
  EXPECT_THROW(backward({add(to_device(held, cpu), bad)}), Failure);
  EXPECT_TRUE(finished);
}

TEST(Errors, ERR_5_exit_on_error_returns_while_a_node_still_runs) {
  FailsElsewhere graph;
  EXPECT_THROW(backward({graph.out()}, {}, {.exit_on_error = true}), Failure);
  EXPECT_FALSE(graph.finished());
  EXPECT_FALSE(current_pass());
  graph.go_on();
  drain(sim0);
  EXPECT_TRUE(graph.finished());
}

TEST(Errors, ERR_2_ERR_3_what_is_left_in_a_queue_never_runs) {
  FailsElsewhere graph;
  EXPECT_THROW(backward({graph.out()}, {}, {.exit_on_error = true}), Failure);
  backward({scale(graph.x(), 3)});  // the CPU is free for other passes
  graph.go_on();
  drain(sim0);
  EXPECT_FALSE(graph.queued_ran());
  EXPECT_THAT(gradient_values(graph.x()), ElementsAre(3));
}

TEST(Errors, ERR_6_a_pass_that_was_left_early_keeps_nothing_alive) {
  drain(sim0);
  const auto before = live_counts();
  {
    FailsElsewhere graph;
    EXPECT_THROW(backward({graph.out()}, {}, {.exit_on_error = true}), Failure);
    graph.go_on();
    drain(sim0);
  }
  EXPECT_EQ(live_counts(), before);
}

// The caller's list of captures is gone when the second hook runs.
TEST(Errors, ERR_5_capture_hooks_outlive_a_call_that_returned_early) {
  struct Dies {
    explicit Dies(std::atomic<bool>& flag) : is_dead(flag) {}
    ~Dies() { is_dead = true; }
    std::atomic<bool>& is_dead;
  };
  std::latch inside(1);
  std::latch go_on(1);
  std::atomic<bool> is_dead{false};
  std::atomic<bool> second_ran{false};
  Tensor x = leaf({1});
  const Tensor mid = scale(to_device(x, sim0), 1);
  const Tensor bad = custom({mul(x, x)}, [&](Gradients) -> Gradients {
    inside.wait();
    throw Failure();
  });
  {
    const Tensor out = add(to_device(mid, cpu), bad);
    std::vector<Capture> captures = {{gradient_edge(mid), {}}, {gradient_edge(x), {}}};
    captures[0].hooks.push_back([&](const Tensor&) -> std::optional<Tensor> {
      inside.count_down();
      go_on.wait();
      return std::nullopt;
    });
    auto dies = std::make_shared<Dies>(is_dead);
    captures[0].hooks.push_back(
        [&is_dead, &second_ran, dies = std::move(dies)](const Tensor&) -> std::optional<Tensor> {
          EXPECT_FALSE(is_dead);
          second_ran = true;
          return std::nullopt;
        });
    const Root root{gradient_edge(out), vector_of({1})};
    EXPECT_THROW(Engine::default_engine().grad({&root, 1}, captures, {.exit_on_error = true}),
                 Failure);
  }
  go_on.count_down();
  drain(sim0);
  EXPECT_TRUE(second_ran);
  EXPECT_TRUE(is_dead);
}

TEST(Errors, ERR_3_a_nested_early_exit_leaves_nothing_in_the_queue) {
  Tensor x = leaf({1});
  Tensor w = leaf({1});
  bool ran = false;
  const Tensor outer = custom({x}, [&](Gradients g) {
    const RecordingGuard recording(true);
    const Tensor ready = custom({w}, [&](Gradients inner) { return ran = true, inner; });
    const Tensor bad = custom({w}, fail);  // made later, so it runs first
    EXPECT_THROW(backward({add(ready, bad)}, {}, {.exit_on_error = true}), Failure);
    return g;
  });
  backward({add(outer, scale(x, 2))});
  EXPECT_FALSE(ran);
  EXPECT_THAT(gradient_values(x), ElementsAre(3));
  EXPECT_FALSE(gradient(w).defined());
}

TEST(Errors, ERR_4_the_threads_state_is_as_it_was) {
  for (const bool exit_on_error : {false, true}) {
    const auto value = std::make_shared<int>(7);
    set_thread_local_value(value);
    const RecordingGuard recording(false);
    Tensor x = leaf({1});
    Tensor y;
    {
      const RecordingGuard inner(true);
      y = custom({x}, [](Gradients) -> Gradients {
        set_recording(true);
        set_thread_local_value(nullptr);
        set_current_device(sim1);
        throw Failure();
      });
    }
    EXPECT_THROW(backward({y}, {}, {.exit_on_error = exit_on_error}), Failure);
    EXPECT_FALSE(is_recording());
    EXPECT_EQ(thread_local_value(), value);
    EXPECT_EQ(current_device(DeviceType::sim), sim0);
    EXPECT_FALSE(current_pass());
    EXPECT_TRUE(is_checkpoint_valid());
    set_thread_local_value(nullptr);
  }
}

// ---- Passes that cannot be completed -----------------------------------------------------------

// A ring of two nodes, of which each waits for the other one.
TEST(Errors, ERR_7_a_pass_that_ends_with_nodes_unserved_names_one) {
  for (const Device device : {cpu, sim0}) {
    Tensor x = leaf({1}, ScalarType::float64, device);
    const Tensor first = custom({x}, same, "First");
    const Tensor second = custom({first}, same, "Second");
    const NodePointer node = producer(first);
    node->set_next_edges({{producer(second), 0}});
    const auto call = [&] { backward({scale(second, 1)}); };
    EXPECT_EQ(category_of(call), ErrorCategory::incomplete_pass);
    EXPECT_THAT(message_of(call), HasSubstr("before node Second was ready: 1 deliveries"));
    node->set_next_edges({});  // no ring is left
    backward({scale(x, 1)});
    EXPECT_THAT(gradient_values(x), ElementsAre(1));
  }
}

TEST(Errors, ERR_7_a_delivery_that_nobody_waits_for_names_both_nodes) {
  for (const Device device : {cpu, sim0}) {
    Tensor x = leaf({1}, ScalarType::float64, device);
    const Tensor other = custom({x}, same, "Stranger");
    Node* node = nullptr;
    const Tensor y = custom(
        {x},
        [&](Gradients g) {
          node->set_next_edges({{producer(other), 0}});
          return g;
        },
        "Changeable");
    node = producer(y).get();
    const auto call = [&] { backward({y}); };
    EXPECT_EQ(category_of(call), ErrorCategory::incomplete_pass);
    node->set_next_edges({{accumulator(x), 0}});
    EXPECT_THAT(message_of(call), ::testing::AllOf(HasSubstr("node Changeable delivered to node"),
                                                   HasSubstr("Stranger")));
    backward({scale(x, 1)});
    EXPECT_THAT(gradient_values(x), ElementsAre(1));
  }
}

// ---- What tasks hold ---------------------------------------------------------------------------

// Tells where it died.
struct Records {
  explicit Records(std::thread::id& thread) : died_on(thread) {}
  ~Records() { died_on = std::this_thread::get_id(); }
  std::thread::id& died_on;
};

// Wherever the pass went, and however it ended, the caller's is the last reference to its value
// when the call returns: so the value dies on the caller's thread.
TEST(Errors, TLS_2_no_other_thread_keeps_what_the_pass_held) {
  Engine engine;
  engine.set_nesting_limit(1);
  bool fails = false;
  std::function<void(int)> nest = [&](int depth) {
    const RecordingGuard recording(true);
    Tensor x = leaf({1});
    const Tensor y = custom({to_device(x, depth % 2 == 0 ? sim0 : sim1)}, [&](Gradients g) {
      if (depth > 0) nest(depth - 1);
      if (depth == 0 && fails) throw Failure();
      return g;
    });
    const Root root{gradient_edge(to_device(y, cpu)), vector_of({1})};
    engine.backward({&root, 1});
  };
  for (int i = 0; i < 50; ++i) {
    fails = i % 3 == 0;
    std::thread::id died_on;
    set_thread_local_value(std::make_shared<Records>(died_on));
    try {
      nest(i % 4);
    } catch (const Failure&) {
    }
    EXPECT_EQ(thread_local_value().use_count(), 1);
    set_thread_local_value(nullptr);
    EXPECT_EQ(died_on, std::this_thread::get_id());
  }
}

TEST(Errors, TLS_2_callbacks_and_results_are_let_go_by_the_caller) {
  for (const bool fails : {false, true}) {
    std::thread::id died_on;
    Tensor x = leaf({1});
    const Tensor y = custom({to_device(x, sim0)}, [&](Gradients g) {
      queue_callback([records = std::make_shared<Records>(died_on)] {});
      if (fails) throw Failure();
      return g;
    });
    try {
      backward({to_device(y, cpu)});
    } catch (const Failure&) {
    }
    EXPECT_EQ(died_on, std::this_thread::get_id());
  }
}

// A caller's thread that is gone as soon as its pass over devices is over.
TEST(Errors, THREAD_4_threads_that_end_right_after_their_pass) {
  drain(sim0);
  const auto before = live_counts();
  const auto threads_before = thread_count();
  for (int i = 0; i < 200; ++i) {
    std::thread([&] {
      Tensor x = leaf({1});
      const Tensor y = custom({to_device(x, sim0)}, i % 2 == 0 ? same : fail);
      try {
        backward({to_device(y, cpu)}, {}, {.exit_on_error = i % 4 == 3});
      } catch (const Failure&) {
      }
    }).join();
  }
  drain(sim0);
  EXPECT_EQ(live_counts(), before);
  until([&] { return thread_count() <= threads_before; });
}

}  // namespace
}  // namespace gradcts::reference
