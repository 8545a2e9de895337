// Stands in for the engine's own header of this name: each operation is a step of the schedule.
#pragma once

#include "conformance/explore/rebuilt/synchronisation.h"

namespace gradcts::reference {

template <typename T>
using Atomic = schedule::ScheduledAtomic<T>;

// No order between threads depends on these: no steps, as the engine's header says.
template <typename T>
using CountAtomic = schedule::DelayedCount<T>;

}  // namespace gradcts::reference
