// CUDA for libtorch on a machine without a GPU: two devices "cuda:0" and "cuda:1" of the process,
// registered when the adapter is loaded, before libtorch's engine looks for devices.
//
// Note [CUDA without a GPU]
// ~~~~~~~~~~~~~~~~~~~~~~~~~
// Everything that libtorch's engine does with devices goes through interfaces that a CUDA build of
// it fills, and that a build without CUDA leaves empty. The adapter fills them with the simulated
// device of the reference engine (reference_engine/device/simulated_runtime.h): work runs as late as
// the recorded events allow, so a wait that the engine forgets is a wrong number.
//
//   c10's guard of a device type   current device and stream, events, waits, use of memory on
//                                  streams, number of devices: devices.cpp
//   ATen's CUDAHooks               "there is CUDA, and each device is in use": without these the
//                                  engine leaves out the streams of the caller (devices.cpp)
//   the allocator                  memory of the simulated device, owned by the current stream
//   operations on CUDA tensors     one function for all (operations): it puts the same operation of
//                                  the CPU, on the same memory, on the current stream
//
// Thread safety: all of it as in libtorch itself: from any thread; current devices and streams
// belong to a thread.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

#include "reference_engine/device/basic_runtime.h"

namespace gradcts::libtorch {

inline constexpr reference::DeviceType sim = reference::DeviceType::sim;

// The simulated device and stream behind libtorch's, and back. A device without an index is the
// current one.
reference::Device simulated(c10::Device device);
reference::Stream simulated(c10::Stream stream);
c10::Device cuda_device(int index);
c10::Stream cuda_stream(reference::Stream stream);

// From now on there are no devices, for a process that forks and uses none: real CUDA does not work
// in a forked one either, and the engine would start its devices' threads there. Before the first
// pass.
void hide_cuda();

// Memory for tensors on the current device, owned by its current stream.
c10::Allocator& cuda_memory();

}  // namespace gradcts::libtorch
