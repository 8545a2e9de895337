// The functions that others call: schedule.h and points.h; and the start of the library.
#include "conformance/explore/preload/intercept.h"
#include "conformance/explore/preload/points.h"

using namespace gradcts::schedule;

GRADCTS_INTERCEPT int gradcts_schedule_begin(const gradcts_schedule_options* options) {
  return controller().begin(*options);
}

GRADCTS_INTERCEPT int gradcts_schedule_end(gradcts_schedule_result* result) {
  return controller().end(*result);
}

GRADCTS_INTERCEPT void gradcts_point(const void* object) {
  if (controlled()) controller().point(Operation::point, object);
}

GRADCTS_INTERCEPT int gradcts_wait(const void* object) {
  if (!controlled()) return 0;
  controller().wait_if({.kind = WaitKind::announced, .object = object}, std::nullopt,
                       [] { return true; });
  return 1;
}

GRADCTS_INTERCEPT void gradcts_wake(const void* object) {
  controller().released(WaitKind::announced, object);
}

GRADCTS_INTERCEPT void gradcts_enter() {
  controller().enter();
}
GRADCTS_INTERCEPT void gradcts_leave() {
  controller().leave();
}

namespace {

__attribute__((constructor)) void start_up() {
  real();
  controller().start_up();
  pthread_atfork([] { controller().before_fork(); }, [] { controller().after_fork_in_parent(); },
                 [] { controller().after_fork_in_child(); });
}

}  // namespace
