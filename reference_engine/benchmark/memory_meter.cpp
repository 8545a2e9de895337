#include "reference_engine/benchmark/memory_meter.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// Off while times are taken. Passes that are measured run on one thread.
bool is_metering = false;
std::ptrdiff_t in_use = 0;
std::ptrdiff_t most = 0;

void* allocate(std::size_t bytes) {
  void* memory = std::malloc(bytes ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  if (is_metering) {
    in_use += static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
    if (in_use > most) most = in_use;
  }
  return memory;
}

void release(void* memory) {
  if (is_metering && memory) in_use -= static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory);
}

namespace gradcts::reference::benchmark {

void start_meter() {
  in_use = most = 0;
  is_metering = true;
}

std::size_t stop_meter() {
  is_metering = false;
  return static_cast<std::size_t>(most);
}

}  // namespace gradcts::reference::benchmark
