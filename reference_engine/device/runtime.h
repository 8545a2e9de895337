// What a type of device must offer to be used by tensors and by the engine.
//
// One object a device type, registered for the life of the process; all its functions may be called
// from any thread. The simulated device (simulated_runtime.h) is the model: it runs work late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "absl/container/inlined_vector.h"
#include "reference_engine/device/device.h"
#include "reference_engine/device/elementwise.h"
#include "reference_engine/device/stream.h"

namespace gradcts::reference {

// A point in a stream. Runtimes derive their own.
class EventState {
 public:
  explicit EventState(Stream where) : stream(where) {}
  virtual ~EventState() = default;

  const Stream stream;
};

// One access of a piece of work to a block of device memory, for runtimes that check the order of
// accesses.
struct MemoryAccess {
  const void* block;  // as returned by allocate()
  bool writes;
};

// Work for a stream. `run` refers to device memory by plain pointers: who enqueues it must hold the
// memory until the work is on the stream, and register it with the stream if another one owns it.
// It is called, and destroyed, by some thread of the runtime, and must not use any runtime there.
struct Work {
  const char* name;
  absl::InlinedVector<MemoryAccess, 4> accesses;
  std::function<void()> run;
  Elementwise elementwise = {};  // what `run` does, if it has this form
};

class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  virtual int device_count() const = 0;

  // Called before a thread makes the device current; throws to refuse it (DEV-5).
  virtual void check_usable(Device device) const = 0;

  virtual Stream make_stream(Device device) = 0;
  virtual Event record(Stream stream) = 0;
  virtual void wait(Stream stream, const Event& event) = 0;  // an event of this type
  virtual void synchronize(Stream stream) = 0;
  virtual void synchronize(Device device) = 0;
  virtual void enqueue(Stream stream, Work work) = 0;

  // Memory belongs to the stream it was allocated for: it may be handed out again to that stream as
  // soon as it is freed, and waits for other streams only if their use was registered (STREAM-3).
  virtual void* allocate(Stream stream, std::size_t bytes) = 0;
  virtual void free(void* block) = 0;
  virtual void register_use(void* block, Stream stream) = 0;
};

// The runtime of a type; throws Error(invalid_argument) where none is registered.
DeviceRuntime& runtime(DeviceType type);

// Registers the runtime of a type, or replaces it. Not while anything uses the type (DEV-5).
void register_runtime(DeviceType type, std::shared_ptr<DeviceRuntime> runtime);

}  // namespace gradcts::reference
