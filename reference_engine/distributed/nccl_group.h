// Ranks as GPUs of one machine, by NCCL: threads of one process, each with a CUDA device of its own
// (cuda_devices.h). Built where CMake finds CUDA and NCCL.
//
// Collectives run on a stream that the group has for each device. Tensors of the floating types and
// int64, on the rank's device. A communicator that is broken stays so: after a rank has failed or
// given up, everything that is not reduced yet fails on all ranks with the first reason, and the
// caller makes another group (process_group.h, Note [Rounds]). NCCL does not check that ranks
// reduce the same things: where they do not, the limit ends it.
#pragma once

#include <chrono>
#include <vector>

#include "reference_engine/distributed/process_group.h"

namespace gradcts::reference {

// One seat for each device, in their order. `limit` is how long a wait lasts at most. Throws
// Error(reducer) where two of the devices lie on one GPU, which NCCL does not offer, and
// Error(rank_failure) where NCCL cannot connect them.
std::vector<ProcessGroupPointer> make_nccl_group(absl::Span<const Device> devices,
                                                 std::chrono::milliseconds limit);

}  // namespace gradcts::reference
