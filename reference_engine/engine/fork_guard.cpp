#include "reference_engine/engine/fork_guard.h"

#include <pthread.h>

#include "reference_engine/sync/atomic.h"

namespace gradcts::reference {
namespace {

CountAtomic<bool> is_forked{false};

void mark_child() {
  is_forked.store(true, std::memory_order_relaxed);
}

}  // namespace

void note_worker_started() {
  static const int registered = pthread_atfork(nullptr, nullptr, mark_child);
  static_cast<void>(registered);
}

bool is_forked_after_workers() {
  return is_forked.load(std::memory_order_relaxed);
}

}  // namespace gradcts::reference
