// CUDA devices behind a type of device: docs/cuda.md. Only in builds with GRADCTS_CUDA.
//
// Elements lie in page-locked host memory that the GPU reaches too, from a stream-ordered pool. So
// each operation of the engine runs, in stream order: as a kernel, if it has one (elementwise.h),
// and else as a host function on its stream. Streams, events, waits and memory are the CUDA
// runtime's.
//
// Thread safety: all functions, from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "reference_engine/device/stream.h"

struct CUstream_st;  // what a cudaStream_t points to

namespace gradcts::reference {

// Why no CUDA device can be used here, in one line; empty where one can. The first call starts
// CUDA's driver.
std::string cuda_trouble();

// The number of GPUs; 0 where there is trouble.
int gpu_count();

// Puts so many devices of the type on the GPUs, in turn: with more devices than GPUs, some share
// one, with streams and events of their own. Replaces what was there. Not while a tensor of the
// type lives. Throws Error(device_failure) with the trouble, if there is some.
void use_cuda_devices(DeviceType type, int count);

// From now on each piece of work on the type's streams first spins on the GPU, for up to so many
// microseconds, drawn anew each time: what runs early where a wait is missing is then likely to be
// early indeed. The same seed draws the same times on the same streams. 0 microseconds: no more of
// it.
void spin_before_work(DeviceType type, std::uint64_t seed, int microseconds);

// Keeps a stream of such a type busy for so long: whoever should wait for it and does not comes too
// early.
void spin_on(Stream stream, int microseconds);

// The CUDA stream behind such a stream, for libraries that put work of their own on it. Makes the
// stream's GPU the calling thread's current one, which those want.
CUstream_st* enter_cuda(Stream stream);

}  // namespace gradcts::reference
