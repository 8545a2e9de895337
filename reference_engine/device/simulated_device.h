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

#include "reference_engine/device/device.h"

namespace gradcts::reference {

// Makes the type (sim or other) a simulated device type with so many devices; replaces what was
// there. From the start, sim has 2 devices and other has 1. Not while a tensor of the type lives.
void use_simulated_devices(DeviceType type, int count);

}  // namespace gradcts::reference
