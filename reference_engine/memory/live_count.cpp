#include "reference_engine/memory/live_count.h"

#include <array>
#include <vector>

#include "reference_engine/sync/atomic.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {
namespace {

// The counts of one thread: written by it alone, read by anyone. Cells are never freed, and taken
// over by later threads, so that what a thread counted stays counted after its end.
struct Cell {
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

thread_local Cell* own_cell = nullptr;

struct CellReturner {
  ~CellReturner() {
    LockGuard lock(registry().mutex);
    own_cell->taken = false;
    own_cell = nullptr;
  }
};

Cell& cell_of_new_thread() {
  own_cell = take_cell();
  // Thread-local objects that die after this one count in a cell taken anew, which then stays
  // taken.
  thread_local CellReturner returner;
  static_cast<void>(returner);
  return *own_cell;
}

}  // namespace

void count_live(LiveKind kind, std::int64_t change) {
  Cell& cell = own_cell ? *own_cell : cell_of_new_thread();
  auto& count = cell.counts[static_cast<std::size_t>(kind)];
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
