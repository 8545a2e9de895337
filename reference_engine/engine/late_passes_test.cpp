// Passes that destructors start: of thread_local objects when their thread ends, of static objects
// when the process ends. What the engine keeps for a thread must still be there: Note [Per thread].
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "reference_engine/graph/saved_tensor.h"
#include "reference_engine/testing/threads.h"
#include "reference_engine/testing/values.h"

namespace gradcts::reference {
namespace {

using namespace testing;  // NOLINT

// No expectations in here: at the end of a process GoogleTest is gone.
void check(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

double gradient_through(const std::function<Tensor(const Tensor&)>& forward) {
  const Tensor x = leaf({3});
  backward({forward(x)});
  return gradient_values(x).at(0);
}

void nest(int depth) {
  const RecordingGuard recording(true);
  check(gradient_through([&](const Tensor& x) {
          return custom({x}, [&](Gradients g) {
            if (depth > 0) nest(depth - 1);
            return g;
          });
        }) == 1,
        "nested passes");
}

// Everything that the engine keeps for a thread is used.
void run_passes_of_every_kind() {
  const ThreadLocalValue value = thread_local_value();
  set_thread_local_value(std::make_shared<int>(7));
  const SavedTensorHooksGuard hooks(
      {[](const Tensor& t) -> std::shared_ptr<void> { return std::make_shared<Tensor>(t); },
       [](const std::shared_ptr<void>& packed) { return *static_cast<Tensor*>(packed.get()); }});
  const StreamGuard side(make_stream(sim0));
  check(gradient_through([](const Tensor& x) { return mul(x, x); }) == 6, "a pass on the CPU");
  check(gradient_through([](const Tensor& x) {
          const Tensor y = to_device(x, sim0);
          return to_device(mul(y, y), cpu);
        }) == 6,
        "a pass over a device");
  check(gradient_through([](const Tensor& x) {
          return custom({x}, [](Gradients g) {
            check(*static_cast<const int*>(thread_local_value().get()) == 7, "the caller's value");
            return g;
          });
        }) == 1,
        "a pass with a value");
  nest(Engine::default_engine().nesting_limit() + 1);
  const Tensor x = leaf({3});
  Engine::default_engine().start_backward({{gradient_edge(scale(x, 2)), vector_of({5})}})->wait();
  check(gradient_values(x).at(0) == 10, "a pass that runs elsewhere");
  set_thread_local_value(value);
}

// Calls the body when it dies.
class AtEnd {
 public:
  AtEnd() = default;
  explicit AtEnd(std::function<void()> body) : body_(std::move(body)) {}
  ~AtEnd() {
    if (body_) body_();
  }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  void set(std::function<void()> body) { body_ = std::move(body); }

 private:
  std::function<void()> body_;
};

// To be called before the thread uses the engine: what is made first dies last.
void at_end_of_thread(std::function<void()> body) {
  thread_local AtEnd end;
  end.set(std::move(body));
}

TEST(LatePasses, THREAD_4_from_the_destructor_of_a_thread_local_object) {
  for (const bool is_used_before : {false, true}) {
    const auto before = live_counts();
    std::string outcome = "nothing ran";
    std::thread([&] {
      at_end_of_thread([&] { outcome = message_of(run_passes_of_every_kind); });
      if (is_used_before) run_passes_of_every_kind();
    }).join();
    EXPECT_EQ(outcome, "no error was raised");
    EXPECT_EQ(live_counts(), before);
  }
}

// What a thread still holds at its end is let go then, also if it was put there late.
TEST(LatePasses, THREAD_4_what_the_thread_holds_may_run_a_pass_when_it_is_let_go) {
  const auto before = live_counts();
  std::vector<std::string> outcomes;
  const auto hold = [&outcomes] {
    const auto run = [&outcomes] { outcomes.push_back(message_of(run_passes_of_every_kind)); };
    set_thread_local_value(std::make_shared<AtEnd>(run));
    push_saved_tensor_hooks(
        {[object = std::make_shared<AtEnd>(run)](const Tensor&) { return nullptr; }, nullptr});
  };
  std::thread([&] {
    at_end_of_thread([&] { hold(); });
    hold();
  }).join();
  EXPECT_EQ(outcomes, std::vector<std::string>(4, "no error was raised"));
  EXPECT_EQ(live_counts(), before);
}

TEST(LatePasses, THREAD_4_SHUT_4_after_a_stop_they_are_an_error) {
  Engine engine;
  engine.stop();
  std::string outcome;
  std::thread([&] {
    at_end_of_thread([&] { outcome = message_of([&] { engine.backward({}); }); });
    backward({scale(leaf({1}), 1)});
  }).join();
  EXPECT_EQ(outcome, "the engine was stopped");
}

// In a process of its own, which ends with this: 0 if all that was to run did, and was right.
TEST(LatePassesDeathTest, SHUT_3_from_destructors_after_main) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        alarm(60);  // a process that hangs fails
        static int ran = 0;
        const auto run = [] {
          try {
            run_passes_of_every_kind();
            ++ran;
          } catch (const std::exception& error) {
            static_cast<void>(!write(STDERR_FILENO, error.what(), std::strlen(error.what())));
          }
        };
        static const AtEnd last([run] {
          run();
          _exit(ran == 3 ? 0 : 1);
        });
        at_end_of_thread(run);
        run_passes_of_every_kind();
        static const AtEnd first(run);
        std::exit(2);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gradcts::reference
