// Memory that a thread keeps for its next pass.
//
// The memory of a large block goes back to the system when it is freed and comes again page by page
// when it is next wanted, and the allocator's own caches are too small for passes that nest. So a
// thread keeps some blocks of each size that passes use, and hands them out again.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "reference_engine/memory/per_thread.h"

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
    std::vector<void*>& kept = blocks();
    if (kept.empty()) return ::operator new(bytes);
    void* block = kept.back();
    kept.pop_back();
    ASAN_UNPOISON_MEMORY_REGION(block, bytes);
    return block;
  }

  static void give_back(void* block) {
    std::vector<void*>& kept = blocks();
    if (kept.size() == most) return ::operator delete(block);
    kept.push_back(block);
    ASAN_POISON_MEMORY_REGION(block, bytes);
  }

 private:
  struct Blocks {
    Blocks() { kept.reserve(most); }
    ~Blocks() {
      for (void* block : kept) {
        ASAN_UNPOISON_MEMORY_REGION(block, bytes);
        ::operator delete(block);
      }
    }
    std::vector<void*> kept;
  };

  static std::vector<void*>& blocks() { return PerThread<Blocks>::get().kept; }
};

}  // namespace gradcts::reference
