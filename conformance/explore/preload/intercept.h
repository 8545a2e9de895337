// What the intercepted functions share. Each of them has the name and meaning of the function that
// it stands for. A thread that is not under control gets the real one.
#pragma once

#include "conformance/explore/preload/controller.h"
#include "conformance/explore/preload/real_calls.h"

#define GRADCTS_INTERCEPT extern "C" __attribute__((visibility("default")))

namespace gradcts::schedule {

inline bool controlled() {
  return controller().controls_caller();
}

inline Deadline deadline_of(clockid_t clock, const timespec* time) {
  return {clock, to_nanoseconds(*time)};
}

}  // namespace gradcts::schedule
