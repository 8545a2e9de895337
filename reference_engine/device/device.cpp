#include "reference_engine/device/device.h"

namespace gradcts::reference {

std::string to_string(DeviceType type) {
  switch (type) {
    case DeviceType::cpu:
      return "cpu";
    case DeviceType::sim:
      return "sim";
    case DeviceType::other:
      return "other";
    case DeviceType::cuda:
      return "cuda";
  }
  return "unknown";
}

std::string to_string(Device device) {
  if (device.is_cpu()) return "cpu";
  return to_string(device.type) + ":" + std::to_string(device.index);
}

}  // namespace gradcts::reference
