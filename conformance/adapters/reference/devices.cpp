#include "conformance/adapters/reference/devices.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#ifdef GRADCTS_HAS_CUDA
#include "reference_engine/device/cuda_devices.h"
#endif

namespace gradcts::reference_adapter {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

#ifdef GRADCTS_HAS_CUDA

namespace ref = gradcts::reference;

constexpr int sim_count = 2;  // as many as scenarios name

void spin_as_asked(const std::string& value) {
  if (value.empty()) return;
  unsigned long long seed = 0;
  int microseconds = 0;
  char rest = 0;
  if (std::sscanf(value.c_str(), "%llu:%d%c", &seed, &microseconds, &rest) != 2 ||
      microseconds < 0) {
    throw std::runtime_error("GRADCTS_CUDA_SPIN is '" + value + "', not SEED:MICROSECONDS");
  }
  ref::spin_before_work(ref::DeviceType::sim, seed, microseconds);
}

ChosenDevices use_cuda() {
  const std::string trouble = ref::cuda_trouble();
  if (!trouble.empty()) throw std::runtime_error("GRADCTS_REFERENCE_DEVICE is cuda: " + trouble);
  const int gpus = ref::gpu_count();
  ref::use_cuda_devices(ref::DeviceType::sim, sim_count);
  ref::use_cuda_devices(ref::DeviceType::cuda, gpus);
  spin_as_asked(variable("GRADCTS_CUDA_SPIN"));
  return {"sim on " + std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs"), {"device.cuda"}};
}

#else

ChosenDevices use_cuda() {
  throw std::runtime_error("GRADCTS_REFERENCE_DEVICE is cuda: this engine was built without CUDA");
}

#endif

ChosenDevices choose() {
  const std::string wanted = variable("GRADCTS_REFERENCE_DEVICE");
  if (wanted.empty() || wanted == "sim") return {"", {"streams.captured"}};
  if (wanted == "cuda") return use_cuda();
  throw std::runtime_error("GRADCTS_REFERENCE_DEVICE is '" + wanted + "', not sim or cuda");
}

}  // namespace

const ChosenDevices& choose_devices() {
  static const ChosenDevices chosen = choose();
  return chosen;
}

}  // namespace gradcts::reference_adapter
