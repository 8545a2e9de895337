// A simulated accelerator: streams whose work runs late, as late as the recorded events allow.
//
// Enqueued work waits until somebody synchronises; then just enough of other streams runs for the
// asked-for stream to get on. So whoever forgets to wait for a stream reads old numbers, every
// time. Memory follows the rules of a stream-ordered allocator, and is used again at once: a freed
// block is handed out to the next request of its stream, without waiting for streams whose use
// nobody registered.
//
// Thread safety: all functions, from any thread.
#pragma once

#include <cstdint>

#include "reference_engine/device/device.h"

namespace gradcts::reference {

// Makes the type (sim or other) a simulated device type with so many devices; replaces what was
// there. From the start, sim has 2 devices and other has 1. Not while a tensor of the type lives.
void use_simulated_devices(DeviceType type, int count);

// The next so many times that a thread wants to make the device current are refused with
// Error(device_failure), as by a driver that fails to initialise (DEV-5).
void refuse_simulated_device(Device device, int times);

// What was put on a simulated type's streams so far, for checks on the number of events (STREAM-6).
struct SimulatedDeviceCounts {
  std::uint64_t events_recorded;
  std::uint64_t waits;
};
SimulatedDeviceCounts simulated_device_counts(DeviceType type);

}  // namespace gradcts::reference
