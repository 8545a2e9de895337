#include "reference_engine/memory/live_count.h"

#include <array>
#include <vector>

#include "reference_engine/memory/per_thread.h"
#include "reference_engine/sync/atomic.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {
namespace {

// The counts of one thread: written by it alone, read by anyone, and in a cache line of their own.
// Cells are never freed, and taken over by later threads, so that what a thread counted stays
// counted after its end.
struct alignas(64) Cell {
  std::array<CountAtomic<std::int64_t>, live_kind_count> counts{};
  bool taken = true;
};

struct Registry {
  Mutex mutex;
  std::vector<Cell*> cells GRADCTS_GUARDED_BY(mutex);
};

Registry& registry() {
  static Registry* const instance = new Registry;  // outlives every thread
  return *instance;
}

Cell* take_cell() {
  LockGuard lock(registry().mutex);
  for (Cell* cell : registry().cells) {
    if (!cell->taken) {
      cell->taken = true;
      return cell;
    }
  }
  registry().cells.push_back(new Cell);
  return registry().cells.back();
}

struct OwnCell {
  OwnCell() : cell(take_cell()) {}
  ~OwnCell() {
    LockGuard lock(registry().mutex);
    cell->taken = false;
  }
  OwnCell(const OwnCell&) = delete;
  OwnCell& operator=(const OwnCell&) = delete;

  Cell* const cell;
};

}  // namespace

void count_live(LiveKind kind, std::int64_t change) {
  auto& count = PerThread<OwnCell>::get().cell->counts[static_cast<std::size_t>(kind)];
  count.store(count.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

std::int64_t live_count(LiveKind kind) {
  LockGuard lock(registry().mutex);
  std::int64_t sum = 0;
  for (const Cell* cell : registry().cells) {
    sum += cell->counts[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace gradcts::reference
