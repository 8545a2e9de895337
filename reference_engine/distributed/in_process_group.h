// Ranks as threads of one process. Sums are computed by the rank that comes last, in the order of
// the ranks; there is no thread behind it, and no wait but on the engine's own condition variables,
// so a run under the explorer is decided by its schedule alone.
//
// A rank whose object is gone counts as dead: what waits for it fails at once.
#pragma once

#include <chrono>
#include <vector>

#include "reference_engine/distributed/process_group.h"

namespace gradcts::reference {

// One seat for each rank. `limit` is how long a wait lasts at most.
std::vector<ProcessGroupPointer> make_in_process_group(int size, std::chrono::milliseconds limit);

}  // namespace gradcts::reference
