// Streams and events as the rest of the engine sees them: small values, free functions and guards.
// Each forwards to the runtime of the device's type (runtime.h). The CPU has one stream, the
// default one, on which everything is finished as soon as it was started: its events are null.
//
// Thread safety: the current device and the current streams belong to the thread. Everything else
// may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reference_engine/device/device.h"

namespace gradcts::reference {

// A queue of work of one device; id 0 is the device's default stream.
struct Stream {
  Device device;
  std::uint32_t id = 0;

  friend bool operator==(const Stream&, const Stream&) = default;
  friend auto operator<=>(const Stream&, const Stream&) = default;
};

std::string to_string(Stream stream);  // "sim:0/stream 2"

// A point in a stream, or null: a point that has been reached already.
class EventState;
using Event = std::shared_ptr<EventState>;

int device_count(DeviceType type);
Stream make_stream(Device device);

// The device of the type that this thread works on, and the stream of the device that it puts work
// on. A type may refuse an index: then the setter throws what the runtime throws (DEV-5).
Device current_device(DeviceType type);
void set_current_device(Device device);
Stream current_stream(Device device);
void set_current_stream(Stream stream);

Event record_event(Stream stream);
void wait_event(Stream stream, const Event& event);
void synchronize(Stream stream);  // until all work put on the stream so far is done
void synchronize(Device device);  // the same for all streams of the device

// Makes `waiting` wait for all work that is on `producing` now; nothing where they are one stream.
void wait_stream(Stream waiting, Stream producing);

// Sets the current device of the type, and restores it.
class DeviceGuard {
 public:
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Device previous_;
};

// Sets the stream's device as current and the stream as the device's current one; restores both.
class StreamGuard {
 public:
  explicit StreamGuard(Stream stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  DeviceGuard device_;
  Stream previous_;
};

// What is current on a thread, of all devices.
struct CurrentDevices {
  std::array<std::int16_t, device_type_count> index{};
  std::array<std::vector<std::uint32_t>, device_type_count>
      stream;  // by device; absent: the default

  friend bool operator==(const CurrentDevices&, const CurrentDevices&) = default;
};
const CurrentDevices& current_devices();

// Sets all of it, and restores what was there (ERR-4, DEV-4). Without an argument: only restores.
class CurrentDevicesGuard {
 public:
  CurrentDevicesGuard() : previous_(current_devices()) {}
  explicit CurrentDevicesGuard(const CurrentDevices& devices);
  ~CurrentDevicesGuard();
  CurrentDevicesGuard(const CurrentDevicesGuard&) = delete;
  CurrentDevicesGuard& operator=(const CurrentDevicesGuard&) = delete;

 private:
  const CurrentDevices previous_;
};

}  // namespace gradcts::reference
