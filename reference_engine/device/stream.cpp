#include "reference_engine/device/stream.h"

#include "reference_engine/device/runtime.h"
#include "reference_engine/memory/per_thread.h"

namespace gradcts::reference {
namespace {

CurrentDevices& current() {
  return PerThread<CurrentDevices>::get();
}

std::size_t slot(DeviceType type) {
  return static_cast<std::size_t>(type);
}

}  // namespace

std::string to_string(Stream stream) {
  return to_string(stream.device) + "/stream " + std::to_string(stream.id);
}

int device_count(DeviceType type) {
  return type == DeviceType::cpu ? 1 : runtime(type).device_count();
}

Stream make_stream(Device device) {
  return device.is_cpu() ? Stream{} : runtime(device.type).make_stream(device);
}

Device current_device(DeviceType type) {
  return {type, current().index[slot(type)]};
}

void set_current_device(Device device) {
  if (device.is_cpu()) return;
  runtime(device.type).check_usable(device);
  current().index[slot(device.type)] = device.index;
}

Stream current_stream(Device device) {
  if (device.is_cpu()) return {};
  const auto& streams = current().stream[slot(device.type)];
  const auto index = static_cast<std::size_t>(device.index);
  return {device, index < streams.size() ? streams[index] : 0};
}

void set_current_stream(Stream stream) {
  if (stream.device.is_cpu()) return;
  auto& streams = current().stream[slot(stream.device.type)];
  const auto index = static_cast<std::size_t>(stream.device.index);
  if (index >= streams.size()) {
    if (stream.id == 0) return;
    streams.resize(index + 1);
  }
  streams[index] = stream.id;
}

Event record_event(Stream stream) {
  return stream.device.is_cpu() ? nullptr : runtime(stream.device.type).record(stream);
}

void wait_event(Stream stream, const Event& event) {
  if (!event) return;
  const Stream recorded = event->stream;
  if (recorded.device.type == stream.device.type) {
    runtime(stream.device.type).wait(stream, event);
  } else {
    synchronize(recorded);  // types of device know nothing of each other's events
  }
}

void synchronize(Stream stream) {
  if (!stream.device.is_cpu()) runtime(stream.device.type).synchronize(stream);
}

void synchronize(Device device) {
  if (!device.is_cpu()) runtime(device.type).synchronize(device);
}

void wait_stream(Stream waiting, Stream producing) {
  if (waiting != producing) wait_event(waiting, record_event(producing));
}

DeviceGuard::DeviceGuard(Device device) : previous_(current_device(device.type)) {
  set_current_device(device);
}

DeviceGuard::~DeviceGuard() {
  // It was current before, so it needs no check, and a destructor must not throw.
  current().index[slot(previous_.type)] = previous_.index;
}

StreamGuard::StreamGuard(Stream stream)
    : device_(stream.device), previous_(current_stream(stream.device)) {
  set_current_stream(stream);
}

const CurrentDevices& current_devices() {
  return current();
}

CurrentDevicesGuard::CurrentDevicesGuard(const CurrentDevices& devices) : previous_(current()) {
  current() = devices;
}

CurrentDevicesGuard::~CurrentDevicesGuard() {
  if (current() != previous_) current() = previous_;
}

StreamGuard::~StreamGuard() {
  set_current_stream(previous_);
}

}  // namespace gradcts::reference
