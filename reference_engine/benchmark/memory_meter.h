// Counts the memory that operator new hands out in this program. Elements of tensors are not among
// it.
#pragma once

#include <cstddef>

namespace gradcts::reference::benchmark {

// The most that was in use at a time while `body` ran, beyond what was in use before.
template <typename Body>
std::size_t peak_bytes(Body&& body);

void start_meter();
std::size_t stop_meter();

template <typename Body>
std::size_t peak_bytes(Body&& body) {
  start_meter();
  body();
  return stop_meter();
}

}  // namespace gradcts::reference::benchmark
