#include "reference_engine/device/cuda_devices.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reference_engine/device/basic_runtime.h"
#include "reference_engine/device/cuda_kernels.h"
#include "reference_engine/error.h"

namespace gradcts::reference {
namespace {

// CUDA's state does not outlive a fork: the child must not touch it.
CountAtomic<bool> is_forked_child{false};

[[noreturn]] void throw_cuda(const char* what, cudaError_t error) {
  throw Error(ErrorCategory::device_failure,
              std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}

void check(const char* what, cudaError_t error) {
  if (error != cudaSuccess) throw_cuda(what, error);
}

void check_not_forked() {
  if (!is_forked_child.load(std::memory_order_relaxed)) return;
  throw Error(ErrorCategory::forked,
              "CUDA devices cannot be used in a process that was forked after their first use");
}

// Page-locked memory of the host that all GPUs reach, handed out in stream order.
cudaMemPool_t make_pool(int gpus) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeHost, 0};
  cudaMemPool_t pool = nullptr;
  check("no memory pool on the host", cudaMemPoolCreate(&pool, &properties));
  for (int gpu = 0; gpu < gpus; ++gpu) {
    cudaMemAccessDesc access{};
    access.location = {cudaMemLocationTypeDevice, gpu};
    access.flags = cudaMemAccessFlagsProtReadWrite;
    check("no access to the memory pool", cudaMemPoolSetAccess(pool, &access, 1));
  }
  std::uint64_t keep_all = ~std::uint64_t{0};
  check("no threshold of the memory pool",
        cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
  // Else a stream may be made to wait for another one whose block it takes: that hides a missing
  // wait.
  int no = 0;
  check("no choice of the memory pool",
        cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &no));
  return pool;
}

class CudaRuntime : public BasicRuntime {
 public:
  CudaRuntime(DeviceType type, int count, int gpus)
      : BasicRuntime(type, count),
        gpus_(gpus),
        free_events_(static_cast<std::size_t>(gpus)),
        pool_(make_pool(gpus)) {}

  Event record(Stream stream) override;
  void wait(Stream stream, const Event& event) override;
  void synchronize(Stream stream) override;
  void synchronize(Device device) override;
  void enqueue(Stream stream, Work work) override;
  void* allocate(Stream stream, std::size_t bytes) override;
  void free(void* memory) override;
  void register_use(void* memory, Stream stream) override;

  void spin_before_work(std::uint64_t seed, int microseconds);
  void spin_now(Stream stream, std::uint64_t nanoseconds);

  // The stream's handle; CUDA's stream is made when it is first asked for. Enters its device.
  cudaStream_t enter(Stream stream);

 private:
  class Point;
  struct Block {
    Stream owner;
    std::vector<Stream> users;  // others, registered
  };
  struct RealStream {
    cudaStream_t handle;
    std::mt19937_64 random;  // for the spinning
  };
  struct HostWork {
    std::function<void()> run;
    CudaRuntime& runtime;
  };

  int gpu_of(Device device) const { return device.index % gpus_; }
  // Makes the device's GPU current for the calling thread, as most calls of CUDA want it.
  void enter(Device device) const { check("no such GPU", cudaSetDevice(gpu_of(device))); }
  std::uint64_t draw_spin(Stream stream);
  void run_on_host(cudaStream_t stream, std::function<void()> run);
  static void CUDART_CB run_host_work(void* work) noexcept;
  void rethrow_failure();

  cudaEvent_t take_event(int gpu);
  void give_back(int gpu, cudaEvent_t event);

  const int gpus_;
  Mutex mutex_;
  std::map<Stream, RealStream> streams_ GRADCTS_GUARDED_BY(mutex_);
  std::vector<std::vector<cudaEvent_t>> free_events_ GRADCTS_GUARDED_BY(mutex_);  // by GPU
  std::unordered_map<void*, Block> blocks_ GRADCTS_GUARDED_BY(mutex_);
  std::exception_ptr failure_ GRADCTS_GUARDED_BY(mutex_);  // of work on the host, not yet thrown
  std::uint64_t spin_seed_ GRADCTS_GUARDED_BY(mutex_) = 0;
  int spin_microseconds_ GRADCTS_GUARDED_BY(mutex_) = 0;
  const cudaMemPool_t pool_;
};

// ---- Streams and events ------------------------------------------------------------------------

class CudaRuntime::Point : public EventState {
 public:
  Point(Stream where, CudaRuntime& runtime, int gpu)
      : EventState(where), handle(runtime.take_event(gpu)), runtime_(runtime), gpu_(gpu) {}
  // Whoever waits for it waits for what it stood for when the wait was asked for.
  ~Point() override { runtime_.give_back(gpu_, handle); }

  const cudaEvent_t handle;

 private:
  CudaRuntime& runtime_;
  const int gpu_;
};

// Id 0 is no legacy default stream: that one waits for all others, and would hide a missing wait.
cudaStream_t CudaRuntime::enter(Stream stream) {
  check_not_forked();
  check_exists(stream.device);
  enter(stream.device);
  LockGuard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found != streams_.end()) return found->second.handle;
  cudaStream_t handle = nullptr;
  check("no stream", cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking));
  streams_.emplace(stream, RealStream{handle, std::mt19937_64(spin_seed_ + stream.id)});
  return handle;
}

cudaEvent_t CudaRuntime::take_event(int gpu) {
  LockGuard lock(mutex_);
  auto& free = free_events_[static_cast<std::size_t>(gpu)];
  if (!free.empty()) {
    const cudaEvent_t event = free.back();
    free.pop_back();
    return event;
  }
  cudaEvent_t event = nullptr;
  check("no event", cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

void CudaRuntime::give_back(int gpu, cudaEvent_t event) {
  LockGuard lock(mutex_);
  free_events_[static_cast<std::size_t>(gpu)].push_back(event);
}

Event CudaRuntime::record(Stream stream) {
  count_event();
  const cudaStream_t handle = enter(stream);
  auto point = std::make_shared<Point>(stream, *this, gpu_of(stream.device));
  check("an event was not recorded", cudaEventRecord(point->handle, handle));
  return point;
}

void CudaRuntime::wait(Stream stream, const Event& event) {
  count_wait();
  const auto& point = static_cast<const Point&>(*event);
  check("a stream does not wait", cudaStreamWaitEvent(enter(stream), point.handle, 0));
}

void CudaRuntime::synchronize(Stream stream) {
  check("work on a stream failed", cudaStreamSynchronize(enter(stream)));
  rethrow_failure();
}

void CudaRuntime::synchronize(Device device) {
  check_exists(device);
  const std::uint32_t count = stream_count(device);
  for (std::uint32_t id = 0; id < count; ++id) synchronize(Stream{device, id});
}

// ---- Work --------------------------------------------------------------------------------------

void CudaRuntime::enqueue(Stream stream, Work work) {
  const cudaStream_t handle = enter(stream);
  if (const std::uint64_t nanoseconds = draw_spin(stream)) spin_now(stream, nanoseconds);
  if (work.elementwise.function != Elementwise::Function::none) {
    check("a kernel did not start", launch_elementwise(handle, work.elementwise));
  } else {
    run_on_host(handle, std::move(work.run));
  }
}

void CudaRuntime::run_on_host(cudaStream_t stream, std::function<void()> run) {
  auto work = std::make_unique<HostWork>(HostWork{std::move(run), *this});
  check("a host function did not start", cudaLaunchHostFunc(stream, run_host_work, work.get()));
  work.release();  // it deletes itself
}

// Host functions must not call CUDA, and nothing may be thrown out of them.
void CUDART_CB CudaRuntime::run_host_work(void* pointer) noexcept {
  const std::unique_ptr<HostWork> work(static_cast<HostWork*>(pointer));
  try {
    work->run();
  } catch (...) {
    LockGuard lock(work->runtime.mutex_);
    work->runtime.failure_ = std::current_exception();
  }
}

void CudaRuntime::rethrow_failure() {
  std::exception_ptr failure;
  {
    LockGuard lock(mutex_);
    failure.swap(failure_);
  }
  if (failure) std::rethrow_exception(failure);
}

void CudaRuntime::spin_now(Stream stream, std::uint64_t nanoseconds) {
  check("a kernel did not start", launch_spin(enter(stream), nanoseconds));
}

void CudaRuntime::spin_before_work(std::uint64_t seed, int microseconds) {
  LockGuard lock(mutex_);
  spin_seed_ = seed;
  spin_microseconds_ = microseconds;
  for (auto& [stream, real] : streams_) real.random.seed(seed + stream.id);
}

std::uint64_t CudaRuntime::draw_spin(Stream stream) {
  LockGuard lock(mutex_);
  if (spin_microseconds_ == 0) return 0;
  return streams_.at(stream).random() % (static_cast<std::uint64_t>(spin_microseconds_) * 1000);
}

// ---- Memory ------------------------------------------------------------------------------------

void* CudaRuntime::allocate(Stream stream, std::size_t bytes) {
  void* memory = nullptr;
  check("no memory",
        cudaMallocFromPoolAsync(&memory, std::max<std::size_t>(bytes, 16), pool_, enter(stream)));
  LockGuard lock(mutex_);
  blocks_[memory] = {stream, {}};
  return memory;
}

// The owner's stream waits for the registered readers and then frees: its later work comes after
// them as well, which costs time where they are slow and is what the order of the stream means.
// Nothing is thrown, since destructors call this; in a forked child there is nothing to free.
void CudaRuntime::free(void* memory) try {
  if (is_forked_child.load(std::memory_order_relaxed)) return;
  Block block;
  {
    LockGuard lock(mutex_);
    const auto found = blocks_.find(memory);
    block = std::move(found->second);
    blocks_.erase(found);
  }
  for (const Stream user : block.users) {
    const cudaStream_t reader = enter(user);
    const Point used(user, *this, gpu_of(user.device));
    check("an event was not recorded", cudaEventRecord(used.handle, reader));
    check("a stream does not wait", cudaStreamWaitEvent(enter(block.owner), used.handle, 0));
  }
  check("memory was not freed", cudaFreeAsync(memory, enter(block.owner)));
} catch (const Error&) {
  // CUDA is broken or gone, as at the end of the process; whoever asks it next is told.
}

void CudaRuntime::register_use(void* memory, Stream stream) {
  LockGuard lock(mutex_);
  Block& block = blocks_.at(memory);
  if (block.owner == stream) return;
  if (std::find(block.users.begin(), block.users.end(), stream) == block.users.end()) {
    block.users.push_back(stream);
  }
}

}  // namespace

// ---- Devices -----------------------------------------------------------------------------------

std::string cuda_trouble() {
  int gpus = 0;
  const cudaError_t error = cudaGetDeviceCount(&gpus);
  if (error != cudaSuccess) return std::string("no GPU: ") + cudaGetErrorString(error);
  if (gpus == 0) return "no GPU: CUDA's driver finds none";
  for (int gpu = 0; gpu < gpus; ++gpu) {
    int has_pools = 0;
    cudaDeviceGetAttribute(&has_pools, cudaDevAttrHostMemoryPoolsSupported, gpu);
    if (!has_pools) return "GPU " + std::to_string(gpu) + " has no memory pools on the host";
  }
  return "";
}

int gpu_count() {
  int gpus = 0;
  return cudaGetDeviceCount(&gpus) == cudaSuccess ? gpus : 0;
}

void use_cuda_devices(DeviceType type, int count) {
  const std::string trouble = cuda_trouble();
  if (!trouble.empty()) throw Error(ErrorCategory::device_failure, trouble);
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { is_forked_child.store(true); });
  if (registered != 0) throw Error(ErrorCategory::device_failure, "no handler for forks");
  register_runtime(type, std::make_shared<CudaRuntime>(type, count, gpu_count()));
}

void spin_before_work(DeviceType type, std::uint64_t seed, int microseconds) {
  dynamic_cast<CudaRuntime&>(runtime(type)).spin_before_work(seed, microseconds);
}

void spin_on(Stream stream, int microseconds) {
  dynamic_cast<CudaRuntime&>(runtime(stream.device.type))
      .spin_now(stream, static_cast<std::uint64_t>(microseconds) * 1000);
}

CUstream_st* enter_cuda(Stream stream) {
  return dynamic_cast<CudaRuntime&>(runtime(stream.device.type)).enter(stream);
}

}  // namespace gradcts::reference
