#include "reference_engine/memory/disposal.h"

namespace gradcts::reference {
namespace {

// Trivial, so that it is still there when thread-local objects with destructors dispose of things.
struct ThreadDisposal {
  bool running;
  Disposable* waiting;
};
thread_local ThreadDisposal disposal{false, nullptr};

}  // namespace

void dispose(Disposable* object) {
  if (disposal.running) {
    object->next_to_free_ = disposal.waiting;
    disposal.waiting = object;
    return;
  }
  disposal.running = true;
  while (object) {
    delete object;
    object = disposal.waiting;
    if (object) disposal.waiting = object->next_to_free_;
  }
  disposal.running = false;
}

}  // namespace gradcts::reference
