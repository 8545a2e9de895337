// The ends of engines: stop(), threads that are left to themselves, child processes.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <latch>
#include <memory>
#include <thread>

#include "reference_engine/engine/pass_compiler.h"
#include "reference_engine/engine/plan.h"
#include "reference_engine/engine/thread_counter.h"
#include "reference_engine/testing/threads.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// How long stop() may wait, in all.
class WaitLimit {
 public:
  explicit WaitLimit(const char* seconds) { setenv(name, seconds, 1); }
  ~WaitLimit() { unsetenv(name); }
  WaitLimit(const WaitLimit&) = delete;
  WaitLimit& operator=(const WaitLimit&) = delete;

 private:
  static constexpr const char* name = "GRADCTS_SHUTDOWN_WAIT_LIMIT";
};
constexpr const char* no_limit = "100000";

// A pass over one node, which calls the function on the device's thread.
Root root_on(Device device, const Tensor& x, std::function<void()> function) {
  const Tensor y = custom({x}, [function = std::move(function)](Gradients g) {
    function();
    return g;
  });
  return {gradient_edge(y), ones({1}, ScalarType::float64, device)};
}

void run_on(
    Engine& engine, Device device, std::function<void()> function = [] {}) {
  const Tensor x = leaf({1}, ScalarType::float64, device);
  const Root root = root_on(device, x, std::move(function));
  engine.backward({&root, 1});
  EXPECT_THAT(gradient_values(x), ElementsAre(1));
}

// Passes on the CPU, each in a node of the one before; the innermost calls the function.
void run_nested(Engine& engine, int depth, const std::function<void()>& function) {
  run_on(engine, cpu, [&] {
    if (depth == 0) return function();
    run_nested(engine, depth - 1, function);
  });
}

PassFuturePointer start_on(
    Engine& engine, Device device, std::function<void()> function = [] {}) {
  const Tensor x = leaf({1}, ScalarType::float64, device);
  return engine.start_backward({root_on(device, x, std::move(function))});
}

bool is_stopped(Engine& engine) {
  try {
    engine.backward({});
    return false;
  } catch (const Error& error) {
    return error.category() == ErrorCategory::stopped;
  }
}

// What every way into the engine says.
std::vector<ErrorCategory> categories_of_all_entries(Engine& engine) {
  const Tensor x = leaf({1});
  const Root root = root_on(cpu, x, [] {});
  const std::vector<Capture> captures = {{gradient_edge(x), {}}};
  return {category_of([&] {
            engine.backward({&root, 1});
          }),
          category_of([&] {
            engine.grad({&root, 1}, captures);
          }),
          category_of([&] { engine.start_backward({root})->wait(); }),
          category_of([&] { engine.start_grad({root}, captures)->wait(); })};
}

// ---- stop() ------------------------------------------------------------------------------------

TEST(Shutdown, SHUT_1_stop_ends_every_thread) {
  const WaitLimit limit(no_limit);
  const auto before = thread_count();
  Engine engine;
  engine.set_nesting_limit(1);
  run_on(engine, sim0);
  run_on(engine, sim1);
  run_nested(engine, 3, [] {});
  start_on(engine, sim0)->wait();
  EXPECT_EQ(engine.device_thread_count(), 2);
  EXPECT_GE(engine.pool_thread_count(), 1);
  engine.stop();
  EXPECT_EQ(engine.device_thread_count(), 0);
  EXPECT_EQ(engine.pool_thread_count(), 0);
  until([&] { return thread_count() <= before; });
}

TEST(Shutdown, SHUT_1_stop_waits_for_nodes_that_run) {
  const WaitLimit limit(no_limit);
  Engine engine;
  std::latch inside(1);
  std::latch go_on(1);
  std::atomic<bool> finished{false};
  std::thread caller([&] {
    run_on(engine, sim0, [&] {
      inside.count_down();
      go_on.wait();
      finished = true;
    });
  });
  inside.wait();
  std::thread releaser([&] {
    until([&] { return is_stopped(engine); });
    go_on.count_down();
  });
  engine.stop();
  EXPECT_TRUE(finished);
  EXPECT_EQ(engine.device_thread_count(), 0);
  caller.join();
  releaser.join();
}

TEST(Shutdown, SHUT_1_stop_waits_for_passes_that_run_elsewhere) {
  const WaitLimit limit(no_limit);
  Engine engine;
  std::latch inside(1);
  std::latch go_on(1);
  const auto future = start_on(engine, cpu, [&] {
    inside.count_down();
    go_on.wait();
  });
  inside.wait();
  std::thread releaser([&] {
    until([&] { return is_stopped(engine); });
    go_on.count_down();
  });
  engine.stop();
  EXPECT_EQ(engine.pool_thread_count(), 0);
  future->wait();
  releaser.join();
}

// Notices come for as long as the wait lasts, and none of them makes it last longer.
TEST(Shutdown, SHUT_1_the_limit_is_a_total) {
  ThreadCounter counter;
  counter.add();
  std::atomic<bool> is_over{false};
  std::thread others([&] {
    while (!is_over) {
      counter.add();
      counter.remove();
    }
  });
  counter.wait_for_none(std::chrono::steady_clock::now() + std::chrono::milliseconds(1));
  is_over = true;
  others.join();
  EXPECT_EQ(counter.count(), 1);
}

TEST(Shutdown, SHUT_1_SHUT_2_a_limit_of_0_leaves_threads_in_nodes) {
  const WaitLimit limit("0");
  const auto before = thread_count();
  {
    Engine engine;
    engine.set_nesting_limit(1);
    std::latch inside(2);
    std::latch go_on(1);
    const auto hold = [&] {
      inside.count_down();
      go_on.wait();
    };
    std::thread device_caller([&] { run_on(engine, sim0, hold); });
    std::thread nested_caller([&] { run_nested(engine, 2, hold); });
    inside.wait();
    engine.stop();
    EXPECT_EQ(engine.device_thread_count(), 1);
    EXPECT_GE(engine.pool_thread_count(), 1);
    EXPECT_TRUE(is_stopped(engine));
    go_on.count_down();
    device_caller.join();  // with the right gradients: run_on() looks
    nested_caller.join();
  }
  until([&] { return thread_count() <= before; });
}

TEST(Shutdown, SHUT_2_what_a_running_pass_uses_outlives_its_engine) {
  const WaitLimit limit("0");
  const auto before = thread_count();
  std::latch inside(1);
  std::latch go_on(1);
  const Tensor x = leaf({1});
  const Tensor mid = custom({to_device(x, sim0)}, [&](Gradients g) {
    inside.count_down();
    go_on.wait();
    return g;
  });
  const Tensor y = to_device(mid, cpu);
  auto engine = std::make_unique<Engine>();
  const auto future = engine->start_backward({{gradient_edge(y), vector_of({7})}});
  inside.wait();
  engine.reset();
  EXPECT_FALSE(future->is_done());
  go_on.count_down();
  future->wait();
  EXPECT_THAT(gradient_values(x), ElementsAre(7));
  until([&] { return thread_count() <= before; });
}

// Plans as usual, and goes with what the engine consists of.
class GoesWithTheEngine : public PassCompiler {
 public:
  explicit GoesWithTheEngine(std::atomic<bool>& is_gone) : is_gone_(is_gone) {}
  ~GoesWithTheEngine() override { is_gone_ = true; }
  void plan(GraphTask& task, const std::vector<Target>* targets) override {
    plan_pass(task, targets);
  }

 private:
  std::atomic<bool>& is_gone_;
};

TEST(Shutdown, SHUT_2_an_engine_is_destroyed_while_another_caller_is_in_a_pass) {
  for (const Device device : {cpu, sim0}) {
    const WaitLimit limit(device == cpu ? no_limit : "0");  // a caller is no thread of the engine
    const auto before = thread_count();
    std::latch inside(1);
    std::latch go_on(1);
    std::atomic<bool> is_gone{false};
    auto engine = std::make_unique<Engine>();
    engine->set_compiler(std::make_shared<GoesWithTheEngine>(is_gone));
    std::thread caller([&inside, &go_on, &engine = *engine, device] {
      run_on(engine, device, [&] {
        inside.count_down();
        go_on.wait();
      });
    });
    inside.wait();
    engine.reset();
    EXPECT_FALSE(is_gone);
    go_on.count_down();
    caller.join();  // with the right gradients: run_on() looks
    EXPECT_TRUE(is_gone);
    until([&] { return thread_count() <= before; });
  }
}

TEST(Shutdown, SHUT_1_stopping_from_several_threads_is_stopping_once) {
  const WaitLimit limit(no_limit);
  Engine engine;
  run_on(engine, sim0);
  start_on(engine, cpu)->wait();
  std::latch start(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      engine.stop();
      EXPECT_EQ(engine.device_thread_count(), 0);
      EXPECT_EQ(engine.pool_thread_count(), 0);
    });
  }
  for (auto& thread : threads) thread.join();
  engine.stop();
  EXPECT_TRUE(is_stopped(engine));
}

TEST(Shutdown, SHUT_3_a_thousand_engines_leave_no_thread) {
  const WaitLimit limit(no_limit);
  const auto before = thread_count();
  for (int i = 0; i < 1000; ++i) {
    Engine engine;
    if (i % 4 == 0) continue;  // stopped before anything ran
    run_on(engine, i % 2 == 0 ? sim0 : sim1);
    if (i % 3 == 0) start_on(engine, cpu);  // stopped at once
  }
  until([&] { return thread_count() <= before; });
}

TEST(Shutdown, SHUT_3_a_stop_that_meets_the_first_pass) {
  const WaitLimit limit(no_limit);
  for (int i = 0; i < 200; ++i) {
    Engine engine;
    std::latch start(2);
    std::thread caller([&] {
      start.arrive_and_wait();
      try {
        run_on(engine, sim0);
      } catch (const Error& error) {
        EXPECT_EQ(error.category(), ErrorCategory::stopped);
      }
    });
    start.arrive_and_wait();
    engine.stop();
    EXPECT_TRUE(is_stopped(engine));
    caller.join();
  }
}

// The moment in which a pass has been let in and does not yet count on device threads.
class StopsWhilePlanning : public PassCompiler {
 public:
  explicit StopsWhilePlanning(Engine& engine) : engine_(engine) {}
  void plan(GraphTask& task, const std::vector<Target>* targets) override {
    plan_pass(task, targets);
    engine_.stop();
  }

 private:
  Engine& engine_;
};

TEST(Shutdown, SHUT_3_a_stop_while_a_pass_is_planned) {
  const WaitLimit limit(no_limit);
  for (const bool has_thread : {false, true}) {
    Engine engine;
    if (has_thread) run_on(engine, sim0);
    engine.set_compiler(std::make_shared<StopsWhilePlanning>(engine));
    EXPECT_EQ(category_of([&] { run_on(engine, sim0); }), ErrorCategory::stopped);
    EXPECT_EQ(engine.device_thread_count(), 0);
  }
  Engine engine;
  engine.set_compiler(std::make_shared<StopsWhilePlanning>(engine));
  run_on(engine, cpu);  // needs no thread that could be gone
  EXPECT_TRUE(is_stopped(engine));
}

TEST(ShutdownDeathTest, SHUT_3_engines_may_be_destroyed_after_main) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static Tensor early;
        static Engine engine;
        static Tensor late;
        run_on(engine, sim0);
        run_on(Engine::default_engine(), sim1);
        early = custom({leaf({1}, ScalarType::float64, sim0)}, same);
        late = custom({leaf({1})}, same);
        start_on(engine, cpu)->wait();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Shutdown, SHUT_4_a_pass_after_stop_says_so_at_every_entry) {
  Engine engine;
  run_on(engine, sim0);
  engine.stop();
  EXPECT_THAT(categories_of_all_entries(engine), Each(ErrorCategory::stopped));
  EXPECT_THAT(message_of([&] { engine.backward({}); }), HasSubstr("stopped"));
}

TEST(Shutdown, SHUT_4_a_pass_inside_of_one_that_was_running_completes) {
  const WaitLimit limit("0");
  Engine engine;
  run_on(engine, sim0, [&] {
    engine.stop();
    run_on(engine, cpu);
    run_on(engine, sim0);
    run_on(engine, sim1);
  });
  EXPECT_TRUE(is_stopped(engine));
  until([&] { return engine.device_thread_count() == 0; });
}

// ---- fork() ------------------------------------------------------------------------------------

// The exit status of a child process that runs the body, or of the signal that ended it.
int status_of_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a child that hangs fails
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(Fork, FORK_1_after_threads_started_every_entry_is_an_error) {
  Engine engine;
  run_on(engine, sim0);
  start_on(engine, cpu)->wait();
  until([&] { return engine.pool_thread_count() == 1; });
  const int status = status_of_child([&] {
    const std::vector<ErrorCategory> found = categories_of_all_entries(engine);
    return found == std::vector(found.size(), ErrorCategory::forked);
  });
  EXPECT_EQ(status, 0);
  run_on(engine, sim0);  // the parent goes on
  start_on(engine, cpu)->wait();
}

TEST(Fork, FORK_1_a_child_may_destroy_the_engine) {
  auto engine = std::make_unique<Engine>();
  run_on(*engine, sim0);
  EXPECT_EQ(status_of_child([&] {
              engine.reset();
              return true;
            }),
            0);
  run_on(*engine, sim0);
}

// In a process of its own: in this one, threads may have started.
TEST(ForkDeathTest, FORK_1_a_child_works_when_the_cpu_alone_was_used) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Engine engine;
        run_on(engine, cpu);
        const int status = status_of_child([&] {
          run_on(engine, cpu);
          run_on(engine, sim0);
          start_on(engine, cpu)->wait();
          return engine.device_thread_count() == 1;
        });
        run_on(engine, sim0);
        std::exit(status);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gradcts::reference
