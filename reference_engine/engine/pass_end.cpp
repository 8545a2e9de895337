#include "reference_engine/engine/pass_end.h"

#include "reference_engine/engine/graph_task.h"
#include "reference_engine/engine/thread_context.h"

namespace gradcts::reference {
namespace {

// Lies in the pass and goes with it: if the callback has not run by then, the pass has failed.
class PassEnd {
 public:
  explicit PassEnd(std::function<void(bool)> end) : end_(std::move(end)) {}
  PassEnd(const PassEnd&) = delete;
  PassEnd& operator=(const PassEnd&) = delete;
  ~PassEnd() {
    try {
      call(false);
    } catch (...) {  // the pass's own error is on its way
    }
  }

  void call(bool completed) {
    const auto end = std::exchange(end_, nullptr);
    if (end) end(completed);
  }

 private:
  std::function<void(bool)> end_;
};

}  // namespace

bool at_end_of_outermost_pass(const void* key, std::function<void(bool completed)> end) {
  GraphTask* task = thread_context().task;
  if (!task) {
    throw Error(ErrorCategory::outside_pass,
                "at_end_of_outermost_pass() was called outside of a pass");
  }
  while (task->parent) task = task->parent;
  std::weak_ptr<PassEnd> made;  // weak: a callback that never runs must not keep it
  task->pass_local(key, [&] {
    auto pass_end = std::make_shared<PassEnd>(std::move(end));
    made = pass_end;
    return pass_end;
  });
  if (made.expired()) return false;
  LockGuard lock(task->mutex);
  task->callbacks.push_back([made] {
    if (const auto pass_end = made.lock()) pass_end->call(true);
  });
  return true;
}

}  // namespace gradcts::reference
