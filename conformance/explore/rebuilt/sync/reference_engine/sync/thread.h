// Stands in for the engine's own header of this name.
#pragma once

#include <functional>
#include <thread>
#include <utility>

#include "conformance/explore/rebuilt/meeting_point.h"

namespace gradcts::reference {

inline void start_detached_thread(std::function<void()> body) {
  if (schedule::is_controlled()) {
    schedule::start_thread(std::move(body));
  } else {
    std::thread(std::move(body)).detach();
  }
}

}  // namespace gradcts::reference
