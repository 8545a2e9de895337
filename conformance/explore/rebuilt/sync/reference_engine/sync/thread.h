// Stands in for the engine's own header of this name.
#pragma once

#include <functional>
#include <utility>

#include "conformance/explore/rebuilt/synchronisation.h"

namespace gradcts::reference {

inline void start_detached_thread(std::function<void()> body) {
  if (schedule::is_controlled()) {
    schedule::start_thread(std::move(body));
  } else {
    schedule::delayed_thread(std::move(body)).detach();
  }
}

}  // namespace gradcts::reference
