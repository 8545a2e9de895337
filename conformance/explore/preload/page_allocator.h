// Memory for what grows while threads are under control. See Note [No allocation under control].
#pragma once

#include <cstddef>
#include <vector>

namespace gradcts::schedule {

// Bytes from the kernel's pages, aligned for any type. Never fails: without memory the process
// ends.
void* allocate_pages(std::size_t bytes);
// Gives large blocks back; small ones are kept for the life of the process.
void release_pages(void* block, std::size_t bytes);

// Note [No allocation under control]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// An intercepted call may come from anywhere, also from inside an allocator that guards its arenas
// with pthread mutexes. Were the scheduler to allocate there, it would wait for a lock whose holder
// waits for the scheduler. So everything that grows during a schedule is a PageVector, whose memory
// comes from mmap. Such vectors are cleared and never shrunk, hence a bump allocator that forgets
// small blocks loses at most as much as it hands out.
template <typename T>
struct PageAllocator {
  using value_type = T;

  PageAllocator() = default;
  template <typename Other>
  constexpr PageAllocator(const PageAllocator<Other>&) {}

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_pages(count * sizeof(T))); }
  void deallocate(T* block, std::size_t count) { release_pages(block, count * sizeof(T)); }

  friend bool operator==(PageAllocator, PageAllocator) { return true; }
};

template <typename T>
using PageVector = std::vector<T, PageAllocator<T>>;

}  // namespace gradcts::schedule
