#include "conformance/explore/preload/page_allocator.h"

#include <sys/mman.h>

#include <cstdlib>

#include "conformance/explore/preload/futex.h"

namespace gradcts::schedule {
namespace {

constexpr std::size_t chunk_bytes = 1 << 20;
constexpr std::size_t large_bytes = chunk_bytes / 4;
constexpr std::size_t alignment = alignof(std::max_align_t);

constinit FutexLock lock;
constinit std::byte* chunk = nullptr;
constinit std::size_t left_in_chunk = 0;

std::byte* map(std::size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) std::abort();
  return static_cast<std::byte*>(pages);
}

}  // namespace

void* allocate_pages(std::size_t bytes) {
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (bytes >= large_bytes) return map(bytes);
  FutexGuard guard(lock);
  if (bytes > left_in_chunk) {
    chunk = map(chunk_bytes);
    left_in_chunk = chunk_bytes;
  }
  left_in_chunk -= bytes;
  return chunk + left_in_chunk;
}

void release_pages(void* block, std::size_t bytes) {
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (bytes >= large_bytes) munmap(block, bytes);
}

}  // namespace gradcts::schedule
