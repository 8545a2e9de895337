// The kernels of CUDA devices. The one part that needs the CUDA compiler, and knows nothing else of
// the engine.
#pragma once

#include <driver_types.h>

#include <cstdint>

#include "reference_engine/device/elementwise.h"

namespace gradcts::reference {

// Puts the work on a stream of the current CUDA device; it must have a form. The memory must be
// within the device's reach.
cudaError_t launch_elementwise(cudaStream_t stream, const Elementwise& work);

// Keeps the stream busy for so long.
cudaError_t launch_spin(cudaStream_t stream, std::uint64_t nanoseconds);

}  // namespace gradcts::reference
