// Compiled without fused multiply-add, so that the numbers are those of the CPU's loops.
#include "reference_engine/device/cuda_kernels.h"

#include <algorithm>

namespace gradcts::reference {
namespace {

constexpr int threads_of_a_block = 256;
constexpr std::int64_t most_blocks = 1024;

template <typename T, typename Function>
__global__ void map(T* result, const T* a, const T* b, std::int64_t count, Function function) {
  const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * gridDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += step) result[i] = function(a, b, i);
}

__global__ void spin(std::uint64_t nanoseconds) {
  std::uint64_t begin = 0;
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

template <typename T, typename Function>
void launch(cudaStream_t stream, const Elementwise& work, Function function) {
  const std::int64_t wanted = (work.count + threads_of_a_block - 1) / threads_of_a_block;
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, most_blocks));
  map<<<blocks, threads_of_a_block, 0, stream>>>(
      static_cast<T*>(work.result), static_cast<const T*>(work.a), static_cast<const T*>(work.b),
      work.count, function);
}

// factor * a + term, where a factor of 1 and a term of 0 are left out: they would turn -0 into 0.
template <typename T>
void launch_affine(cudaStream_t stream, const Elementwise& work) {
  const T factor = static_cast<T>(work.factor);
  const T term = static_cast<T>(work.term);
  const bool scales = work.factor != 1;
  const bool adds = work.term != 0;
  launch<T>(stream, work, [=] __device__(const T* a, const T*, std::int64_t i) {
    const T product = scales ? factor * a[i] : a[i];
    return adds ? product + term : product;
  });
}

template <typename T>
void launch_typed(cudaStream_t stream, const Elementwise& work) {
  using Function = Elementwise::Function;
  const T term = static_cast<T>(work.term);
  switch (work.function) {
    case Function::none:
      return;
    case Function::fill:
      return launch<T>(stream, work,
                       [=] __device__(const T*, const T*, std::int64_t) { return term; });
    case Function::copy:
      return launch<T>(stream, work,
                       [] __device__(const T* a, const T*, std::int64_t i) { return a[i]; });
    case Function::add:
      return launch<T>(stream, work, [] __device__(const T* a, const T* b, std::int64_t i) {
        return a[i] + b[i];
      });
    case Function::sub:
      return launch<T>(stream, work, [] __device__(const T* a, const T* b, std::int64_t i) {
        return a[i] - b[i];
      });
    case Function::mul:
      return launch<T>(stream, work, [] __device__(const T* a, const T* b, std::int64_t i) {
        return a[i] * b[i];
      });
    case Function::affine:
      return launch_affine<T>(stream, work);
  }
}

}  // namespace

cudaError_t launch_elementwise(cudaStream_t stream, const Elementwise& work) {
  if (work.element == Elementwise::Element::float64) {
    launch_typed<double>(stream, work);
  } else {
    launch_typed<float>(stream, work);
  }
  return cudaGetLastError();
}

cudaError_t launch_spin(cudaStream_t stream, std::uint64_t nanoseconds) {
  spin<<<1, 1, 0, stream>>>(nanoseconds);
  return cudaGetLastError();
}

}  // namespace gradcts::reference
