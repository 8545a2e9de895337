// The functions of cuda_devices.h over the simulated device, which is late by itself and needs no
// spinning: so the stress program for GPUs is a test on every machine, of itself and of the engine.
#include "reference_engine/device/cuda_devices.h"
#include "reference_engine/device/simulated_runtime.h"

namespace gradcts::reference {

std::string cuda_trouble() {
  return "";
}

int gpu_count() {
  return 1;
}

void use_cuda_devices(DeviceType type, int count) {
  register_runtime(type, std::make_shared<SimulatedRuntime>(type, count));
}

void spin_before_work(DeviceType, std::uint64_t, int) {}

void spin_on(Stream, int) {}

}  // namespace gradcts::reference
