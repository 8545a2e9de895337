// The devices of simulated CUDA: see simulated_cuda.h.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <atomic>

#include "conformance/adapters/libtorch/simulated_cuda.h"
#include "reference_engine/device/runtime.h"

namespace gradcts::libtorch {

namespace ref = gradcts::reference;

ref::Device simulated(c10::Device device) {
  return device.has_index() ? ref::Device{sim, device.index()} : ref::current_device(sim);
}
ref::Stream simulated(c10::Stream stream) {
  return {simulated(stream.device()), static_cast<std::uint32_t>(stream.id())};
}
c10::Device cuda_device(int index) {
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}
c10::Stream cuda_stream(ref::Stream stream) {
  const auto id = static_cast<c10::StreamId>(stream.id);
  return c10::Stream(c10::Stream::UNSAFE, cuda_device(stream.device.index), id);
}

namespace {

std::atomic<bool> is_hidden{false};

int device_count() {
  return is_hidden ? 0 : ref::device_count(sim);
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(device_count());
  }

  c10::Device getDevice() const override { return cuda_device(ref::current_device(sim).index); }
  void setDevice(c10::Device device) const override {
    if (device.has_index()) ref::set_current_device(simulated(device));
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override { setDevice(device); }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device previous = getDevice();
    setDevice(device);
    return previous;
  }

  c10::Stream getStream(c10::Device device) const noexcept override {
    return cuda_stream(ref::current_stream(simulated(device)));
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return cuda_stream({simulated(device), 0});
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    const c10::Stream previous = getStream(stream.device());
    ref::set_current_stream(simulated(stream));
    return previous;
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    ref::synchronize(simulated(stream));
  }

  // An event of libtorch owns the last point that was recorded in it.
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex,
              c10::EventFlag) const override {
    if (!*event) *event = new ref::Event;
    *static_cast<ref::Event*>(*event) = ref::record_event(simulated(stream));
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event) ref::wait_event(simulated(stream), *static_cast<ref::Event*>(event));
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<ref::Event*>(event);
  }

  void recordDataPtrOnStream(const c10::DataPtr& memory, const c10::Stream& stream) const override {
    if (memory.get()) ref::runtime(sim).register_use(memory.get(), simulated(stream));
  }
};

// Never destroyed: the engine's threads use it to the end of the process.
const c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::CUDA, new Guard);

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) const override {
    const ref::Device device = ref::current_device(sim);
    auto& runtime = ref::runtime(sim);
    void* block = runtime.allocate(ref::current_stream(device), std::max<std::size_t>(bytes, 1));
    return {block, block, raw_deleter(), cuda_device(device.index)};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return [](void* block) { ref::runtime(sim).free(block); };
  }
};

// By the name under which ATen looks for them.
struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void initCUDA() const override {}
  bool hasCUDA() const override { return !is_hidden; }
  bool hasPrimaryContext(std::int64_t) const override { return true; }
  std::int64_t current_device() const override { return ref::current_device(sim).index; }
  int getNumGPUs() const override { return device_count(); }
  c10::Allocator* getCUDADeviceAllocator() const override { return &cuda_memory(); }
  void deviceSynchronize(std::int64_t index) const override {
    ref::synchronize(ref::Device{sim, static_cast<std::int16_t>(index)});
  }
};

}  // namespace

void hide_cuda() {
  is_hidden = true;
}

c10::Allocator& cuda_memory() {
  static auto* memory = new Memory;  // tensors may outlive everything
  return *memory;
}

}  // namespace gradcts::libtorch

namespace at {
using gradcts::libtorch::CUDAHooks;
REGISTER_CUDA_HOOKS(CUDAHooks);
}  // namespace at
