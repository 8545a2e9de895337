// Names of devices. What a device can do is in runtime.h.
#pragma once

#include <cstdint>
#include <string>

namespace gradcts::reference {

// `sim` is the simulated accelerator: memory and streams of its own, and work that runs late.
// `other` is a second simulated type with another number of devices, so that two types can be mixed
// up and caught (VAL-4, DEV-5).
enum class DeviceType : std::uint8_t { cpu, sim, other, cuda };
inline constexpr int device_type_count = 4;

struct Device {
  DeviceType type = DeviceType::cpu;
  std::int16_t index = 0;

  bool is_cpu() const { return type == DeviceType::cpu; }
  friend bool operator==(const Device&, const Device&) = default;
  friend auto operator<=>(const Device&, const Device&) = default;
};

inline constexpr Device cpu{};

std::string to_string(DeviceType type);
std::string to_string(Device device);  // "sim:1"; "cpu" without a number

}  // namespace gradcts::reference
