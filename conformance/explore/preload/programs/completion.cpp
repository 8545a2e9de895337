// Two threads finish the two tasks of a pass; the last one completes it. The race of a real engine
// (B011): every access is atomic or under the lock, so no race detector objects.
#include <atomic>
#include <mutex>
#include <thread>

#include "conformance/explore/preload/programs/program.h"

namespace gradcts::schedule::programs {
namespace {

class Pass {
 public:
  // Counts down, and then tests what another thread may have changed meanwhile.
  void finish_task_racily() {
    --outstanding_;
    std::lock_guard guard(mutex_);
    if (outstanding_ == 0) ++completions_;
  }

  // Tests what its own countdown returned.
  void finish_task() {
    const bool last = outstanding_.fetch_sub(1) == 1;
    std::lock_guard guard(mutex_);
    if (last) ++completions_;
  }

  bool completed_once() const { return completions_ == 1; }

 private:
  std::atomic<int> outstanding_{2};
  std::mutex mutex_;
  int completions_ = 0;
};

bool run_pass(void (Pass::*finish)()) {
  Pass pass;
  std::thread other([&] { (pass.*finish)(); });
  (pass.*finish)();
  other.join();
  return pass.completed_once();
}

}  // namespace

const std::vector<Program> of_completion = {
    {"completion_race", [] { return run_pass(&Pass::finish_task_racily); }},
    {"completion", [] { return run_pass(&Pass::finish_task); }},
};

}  // namespace gradcts::schedule::programs
