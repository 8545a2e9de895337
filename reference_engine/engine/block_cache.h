// Memory that a thread keeps for its next pass.
//
// The memory of a large block goes back to the system when it is freed and comes again page by page
// when it is next wanted, and the allocator's own caches are too small for passes that nest. So a
// thread keeps some blocks of each size that passes use, and hands them out again.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) static_cast<void>(address)
#define ASAN_UNPOISON_MEMORY_REGION(address, size) static_cast<void>(address)
#endif

namespace gradcts::reference {

// Blocks of `bytes` bytes, of which a thread keeps at most `most`. A block may be freed on another
// thread than the one that took it. AddressSanitizer sees a use of a block that is only kept.
template <std::size_t bytes, std::size_t most>
class BlockCache {
 public:
  static void* take() {
    if (is_gone_ || blocks_.kept.empty()) return ::operator new(bytes);
    void* block = blocks_.kept.back();
    blocks_.kept.pop_back();
    ASAN_UNPOISON_MEMORY_REGION(block, bytes);
    return block;
  }

  static void give_back(void* block) {
    if (is_gone_ || blocks_.kept.size() == most) return ::operator delete(block);
    blocks_.kept.push_back(block);
    ASAN_POISON_MEMORY_REGION(block, bytes);
  }

 private:
  struct Blocks {
    Blocks() { kept.reserve(most); }
    ~Blocks() {
      is_gone_ = true;
      for (void* block : kept) {
        ASAN_UNPOISON_MEMORY_REGION(block, bytes);
        ::operator delete(block);
      }
    }
    std::vector<void*> kept;
  };

  inline static thread_local bool is_gone_ = false;  // passes may end later than this on the thread
  inline static thread_local Blocks blocks_;
};

}  // namespace gradcts::reference
