// Passes that are driven from outside: announced gradients, and passes that run elsewhere.
#include <atomic>
#include <latch>
#include <thread>

#include "reference_engine/graph/anomaly.h"
#include "reference_engine/testing/threads.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Announced = std::vector<std::shared_ptr<AnnouncedGradient>>;

std::shared_ptr<AnnouncedGradient> announce(const Tensor& tensor) {
  return std::make_shared<AnnouncedGradient>(gradient_edge(tensor));
}

// ---- Announced gradients -----------------------------------------------------------------------

TEST(Announced, ASYNC_1_a_pass_waits_for_what_other_threads_deliver) {
  constexpr int count = 8;
  Tensor x = leaf({1});
  Announced announced;
  for (int i = 0; i < count; ++i) announced.push_back(announce(scale(x, 1)));
  const Tensor shared = scale(x, 1);
  for (int i = 0; i < count; ++i) announced.push_back(announce(shared));
  const Tensor y = scale(x, 1);
  std::latch started(1);
  add_tensor_hook(y, [&](const Tensor&) { return started.count_down(), std::nullopt; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 2 * count; ++i) {
    threads.emplace_back([&, i] {
      if (i % 2 == 0) started.wait();  // the others may deliver before the pass begins
      announced[static_cast<std::size_t>(i)]->deliver(vector_of({std::ldexp(1, i)}));
    });
  }
  backward({y}, {vector_of({std::ldexp(1, 2 * count)})}, {.announced = announced});
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(gradient_values(x), ElementsAre(std::ldexp(1, 2 * count + 1) - 1));
}

TEST(Announced, ASYNC_1_a_node_waits_for_what_is_announced) {
  Tensor x = leaf({1});
  std::vector<Values> seen;
  const Tensor y = custom({x}, [&](Gradients g) { return seen.push_back(values(g[0])), g; });
  const auto announced = announce(y);
  const Tensor z = scale(y, 2);
  std::latch delivered_the_other(1);
  add_tensor_hook(z, [&](const Tensor&) { return delivered_the_other.count_down(), std::nullopt; });
  std::thread thread([&] {
    delivered_the_other.wait();
    announced->deliver(vector_of({100}));
    announced->deliver(vector_of({1000}));  // good for one
  });
  backward({z}, {}, {.announced = {announced}});
  thread.join();
  EXPECT_THAT(seen, ElementsAre(Values{102}));
}

TEST(Announced, ASYNC_1_a_pass_without_roots_and_one_that_is_pruned) {
  Tensor x = leaf({1});
  Tensor w = leaf({1});
  const Tensor y = scale(x, 2);
  const auto wanted = announce(y);
  wanted->deliver(vector_of({5}));
  EXPECT_THAT(values(grad({}, {}, {x}, {.announced = {wanted}})[0]), ElementsAre(10));
  const auto first = announce(scale(x, 2));
  const auto unwanted = announce(scale(w, 3));
  std::thread thread([&] {
    unwanted->deliver(vector_of({1}));
    first->deliver(vector_of({7}));
  });
  const auto result = grad({}, {}, {x}, {.announced = {first, unwanted}});
  thread.join();
  EXPECT_THAT(values(result[0]), ElementsAre(14));
  EXPECT_FALSE(gradient(w).defined());
}

TEST(Announced, ASYNC_1_a_failure_elsewhere_is_the_error_of_the_pass) {
  Tensor x = leaf({1});
  const auto announced = announce(scale(x, 1));
  const auto other = announce(scale(x, 1));
  std::latch started(1);
  const Tensor y = scale(x, 1);
  add_tensor_hook(y, [&](const Tensor&) { return started.count_down(), std::nullopt; });
  std::thread thread([&] {
    started.wait();
    announced->fail(std::make_exception_ptr(17));
    announced->fail(std::make_exception_ptr(18));
    announced->deliver(vector_of({1}));
  });
  // `other` never comes: after an error nothing is waited for.
  EXPECT_THROW(backward({y}, {}, {.announced = {announced, other}}), int);
  thread.join();
  other->deliver(vector_of({1}));
  const auto before = gradient_values(x);
  backward({scale(x, 1)});
  EXPECT_THAT(gradient_values(x), ElementsAre((before.empty() ? 0 : before[0]) + 1));
}

TEST(Announced, ASYNC_1_one_that_does_not_fit_names_the_node) {
  Tensor x = leaf({1, 2});
  const auto announced = announce(scale(x, 1));
  announced->deliver(vector_of({1, 2, 3}));
  const auto call = [&] { backward({}, {}, {.announced = {announced}}); };
  EXPECT_THAT(message_of(call), HasSubstr("announced for node Scale"));
}

TEST(Announced, ERR_6_a_failed_pass_lets_go_of_what_never_came) {
  for (const bool exit_on_error : {false, true}) {
    const auto before = live_counts();
    {
      Tensor x = leaf({1});
      const Tensor bad = custom({x}, [](Gradients) -> Gradients { throw 1; });
      const auto announced = announce(scale(x, 1));
      const auto options =
          BackwardOptions{.exit_on_error = exit_on_error, .announced = {announced}};
      EXPECT_THROW(backward({bad}, {}, options), int);
    }
    EXPECT_EQ(live_counts(), before);
  }
}

TEST(Announced, STREAM_8_the_stream_that_wrote_is_waited_for) {
  Tensor x = leaf({1}, ScalarType::float64, sim0);
  const Tensor y = scale(x, 2);
  const auto announced = announce(y);
  std::thread transport([&] {
    const StreamGuard side(make_stream(sim0));
    announced->deliver(full({1}, 21, ScalarType::float64, sim0));  // not yet written
  });
  backward({}, {}, {.announced = {announced}});
  transport.join();
  EXPECT_THAT(gradient_values(x), ElementsAre(42));
}

// ---- Passes that run elsewhere -----------------------------------------------------------------

TEST(Future, ASYNC_2_waiters_and_callbacks_get_the_result_once) {
  constexpr int count = 8;
  Tensor x = leaf({3});
  std::latch go_on(1);
  const Tensor y = custom({mul(x, x)}, [&](Gradients g) {
    go_on.wait();
    return g;
  });
  const auto future = Engine::default_engine().start_grad({{gradient_edge(y), vector_of({1})}},
                                                          {{gradient_edge(x), {}}});
  std::vector<std::atomic<int>> calls(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    future->then([&calls, i](const PassFuture& done) {
      EXPECT_THAT(values(done.wait()[0]), ElementsAre(6));
      ++calls[i];
      if (i % 2 == 0) throw std::runtime_error("a callback that throws");
      if (i % 3 == 0) throw 3;
    });
  }
  std::vector<std::thread> waiters;
  for (int i = 0; i < count; ++i) {
    waiters.emplace_back([&] { EXPECT_THAT(values(future->wait()[0]), ElementsAre(6)); });
  }
  EXPECT_FALSE(future->is_done());
  go_on.count_down();
  for (auto& waiter : waiters) waiter.join();
  EXPECT_TRUE(future->is_done());
  for (std::size_t i = count; i < 2 * count; ++i) {
    future->then([&calls, i](const PassFuture&) { ++calls[i]; });
  }
  until([&] { return std::all_of(calls.begin(), calls.end(), [](auto& n) { return n > 0; }); });
  Engine::default_engine().start_backward({})->wait();  // the thread has called what it calls
  for (const auto& number : calls) EXPECT_EQ(number, 1);
}

TEST(Future, ASYNC_2_an_error_reaches_every_waiter_and_callback) {
  Tensor x = leaf({3});
  const Tensor y = custom({x}, [](Gradients) -> Gradients { throw 17; });
  const auto future = Engine::default_engine().start_backward({{gradient_edge(y), vector_of({1})}});
  std::latch called(1);
  future->then([&](const PassFuture& done) {
    EXPECT_THROW(done.wait(), int);
    called.count_down();
  });
  EXPECT_THROW(future->wait(), int);
  EXPECT_THROW(future->wait(), int);
  called.wait();
}

TEST(Future, ASYNC_2_a_callback_may_start_the_next_pass_and_wait_for_it) {
  Tensor x = leaf({3});
  std::latch called(1);
  const auto start = [&] {
    return Engine::default_engine().start_backward({{gradient_edge(scale(x, 2)), vector_of({1})}});
  };
  start()->then([&](const PassFuture&) {
    start()->wait();
    called.count_down();
  });
  called.wait();
  EXPECT_THAT(gradient_values(x), ElementsAre(4));
}

// Who waits may count on it that the graph is let go (LIFE-1).
TEST(Future, LIFE_1_the_graph_is_let_go_when_the_result_is_there) {
  const auto token = std::make_shared<int>(0);
  std::latch go_on(1);
  PassFuturePointer future;
  {
    Tensor x = leaf({1});
    const Tensor y = custom({x}, [token, &go_on](Gradients g) {
      go_on.wait();
      return g;
    });
    set_thread_local_value(token);
    future = Engine::default_engine().start_backward({{gradient_edge(y), vector_of({1})}});
    set_thread_local_value(nullptr);
  }
  std::latch called(1);
  future->then([&](const PassFuture&) {
    EXPECT_EQ(token.use_count(), 1);
    called.count_down();
  });
  EXPECT_GT(token.use_count(), 1);
  go_on.count_down();
  future->wait();
  EXPECT_EQ(token.use_count(), 1);
  called.wait();
}

TEST(Future, TLS_1_a_started_pass_sees_the_callers_state) {
  const Stream side = make_stream(sim0);
  const StreamGuard guard(side);
  const AnomalyGuard anomaly(true, false);
  set_thread_local_value(std::make_shared<int>(7));
  Tensor x = leaf({1});
  const Tensor y = custom({x}, [&](Gradients g) {
    EXPECT_EQ(*static_cast<const int*>(thread_local_value().get()), 7);
    EXPECT_EQ(current_stream(sim0), side);
    EXPECT_TRUE(anomaly_mode().is_enabled);
    EXPECT_EQ(current_pass()->depth, 0);
    return g;
  });
  Engine::default_engine().start_backward({{gradient_edge(y), vector_of({1})}})->wait();
  set_thread_local_value(nullptr);
  EXPECT_THAT(gradient_values(x), ElementsAre(1));
}

}  // namespace
}  // namespace gradcts::reference
