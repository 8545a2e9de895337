// Atomics. `Atomic` is for what threads decide by: another back end makes each operation a point
// where threads may switch. `CountAtomic` is for reference counts, statistics and identifiers, on
// which no order between threads depends; it stays the plain one.
#pragma once

#include <atomic>

namespace gradcts::reference {

template <typename T>
using Atomic = std::atomic<T>;

template <typename T>
using CountAtomic = std::atomic<T>;

}  // namespace gradcts::reference
