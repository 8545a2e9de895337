// What the runtimes of this project have in common: a fixed number of devices, refusals on demand,
// and counts of what was asked of them, so that the same checks run on each of them (DEV-5,
// STREAM-6).
//
// Thread safety: all functions, from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "reference_engine/device/runtime.h"
#include "reference_engine/sync/atomic.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {

// What was put on a type's streams so far, by the engine and by whoever else asked for it.
struct StreamCounts {
  std::uint64_t events_recorded = 0;
  std::uint64_t waits = 0;
};

class BasicRuntime : public DeviceRuntime {
 public:
  BasicRuntime(DeviceType type, int count);

  int device_count() const final { return count_; }
  void check_usable(Device device) const override;
  Stream make_stream(Device device) final;

  // The next so many times that a thread wants to make the device current are refused with
  // Error(device_failure), as by a driver that fails to initialise (DEV-5).
  void refuse(Device device, int times);

  StreamCounts counts() const { return {events_recorded_, waits_}; }

 protected:
  void check_exists(Device device) const;  // throws Error(invalid_argument)
  std::uint32_t stream_count(Device device) const;
  void count_event() { ++events_recorded_; }
  void count_wait() { ++waits_; }

 private:
  const DeviceType type_;
  const int count_;
  mutable Mutex basic_mutex_;
  mutable std::map<Device, int> refusals_ GRADCTS_GUARDED_BY(basic_mutex_);  // to come
  std::vector<std::uint32_t> stream_counts_ GRADCTS_GUARDED_BY(basic_mutex_);
  CountAtomic<std::uint64_t> events_recorded_{0};
  CountAtomic<std::uint64_t> waits_{0};
};

// Of the type's runtime, where it is one of these: refuses as above, or does nothing; counts, or
// zeros.
void refuse_device(Device device, int times);
StreamCounts stream_counts(DeviceType type);

}  // namespace gradcts::reference
