#include "conformance/explore/preload/page_allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "conformance/explore/preload/futex.h"

namespace gradcts::schedule {
namespace {

constexpr std::size_t chunk_bytes = 1 << 20;
constexpr std::size_t smallest_block = 64;
constexpr std::size_t largest_block = chunk_bytes / 4;  // beyond it, each block is a mapping

struct FreeBlock {
  FreeBlock* next;
};

constinit FutexLock lock;
constinit std::byte* chunk = nullptr;
constinit std::size_t left_in_chunk = 0;
constinit FreeBlock* free_blocks[std::bit_width(largest_block)] = {};

std::byte* map(std::size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) std::abort();
  return static_cast<std::byte*>(pages);
}

std::size_t block_size(std::size_t bytes) {
  return std::bit_ceil(std::max(bytes, smallest_block));
}

FreeBlock*& free_blocks_of(std::size_t size) {
  return free_blocks[std::bit_width(size) - 1];
}

std::byte* from_chunk(std::size_t size) {
  if (size > left_in_chunk) {
    chunk = map(chunk_bytes);
    left_in_chunk = chunk_bytes;
  }
  left_in_chunk -= size;
  return chunk + left_in_chunk;
}

}  // namespace

void* allocate_pages(std::size_t bytes) {
  const std::size_t size = block_size(bytes);
  if (size > largest_block) return map(size);
  FutexGuard guard(lock);
  FreeBlock*& first = free_blocks_of(size);
  if (first == nullptr) return from_chunk(size);
  FreeBlock* block = first;
  first = block->next;
  return block;
}

void release_pages(void* block, std::size_t bytes) {
  const std::size_t size = block_size(bytes);
  if (size > largest_block) {
    munmap(block, size);
    return;
  }
  FutexGuard guard(lock);
  auto* free_block = static_cast<FreeBlock*>(block);
  free_block->next = free_blocks_of(size);
  free_blocks_of(size) = free_block;
}

}  // namespace gradcts::schedule
