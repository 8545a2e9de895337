#include "reference_engine/device/basic_runtime.h"

#include "reference_engine/error.h"

namespace gradcts::reference {

BasicRuntime::BasicRuntime(DeviceType type, int count)
    : type_(type), count_(count), stream_counts_(static_cast<std::size_t>(count), 1) {}

void BasicRuntime::check_exists(Device device) const {
  if (device.index >= 0 && device.index < count_) return;
  throw Error(ErrorCategory::invalid_argument,
              "device " + to_string(device) + " does not exist: there are " +
                  std::to_string(count_) + " of type " + to_string(type_));
}

void BasicRuntime::check_usable(Device device) const {
  check_exists(device);
  LockGuard lock(basic_mutex_);
  const auto refusal = refusals_.find(device);
  if (refusal == refusals_.end() || refusal->second == 0) return;
  --refusal->second;
  throw Error(ErrorCategory::device_failure, "device " + to_string(device) + " refuses to be used");
}

void BasicRuntime::refuse(Device device, int times) {
  check_exists(device);
  LockGuard lock(basic_mutex_);
  refusals_[device] = times;
}

Stream BasicRuntime::make_stream(Device device) {
  check_exists(device);
  LockGuard lock(basic_mutex_);
  return {device, stream_counts_[static_cast<std::size_t>(device.index)]++};
}

std::uint32_t BasicRuntime::stream_count(Device device) const {
  LockGuard lock(basic_mutex_);
  return stream_counts_[static_cast<std::size_t>(device.index)];
}

void refuse_device(Device device, int times) {
  auto* basic = dynamic_cast<BasicRuntime*>(&runtime(device.type));
  if (basic) basic->refuse(device, times);
}

StreamCounts stream_counts(DeviceType type) {
  const auto* basic = dynamic_cast<const BasicRuntime*>(&runtime(type));
  return basic ? basic->counts() : StreamCounts{};
}

}  // namespace gradcts::reference
