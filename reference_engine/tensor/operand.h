// What a kernel sees of a tensor: a pointer, a shape, strides. Plain data, so that work for a
// stream can carry it; it keeps nothing alive (see Work in device/runtime.h).
#pragma once

#include <initializer_list>

#include "reference_engine/device/runtime.h"
#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

struct Operand {
  // Of a dense tensor; throws Error(invalid_argument) for a sparse one, which has no elements of
  // its own.
  explicit Operand(const Tensor& tensor);

  template <typename T>
  T* elements() const {
    return static_cast<T*>(data);
  }

  void* data;  // of the element with all indices 0
  void* block;
  std::int64_t count;
  Shape shape;
  Strides strides;
  ScalarType type;
  bool is_contiguous;
};

// What a kernel computes, where a device may have one of its own for it (see Elementwise).
struct Computes {
  Elementwise::Function function = Elementwise::Function::none;
  double factor = 1;
  double term = 0;
};

// The work's form with these operands, the result first; none where they are not contiguous
// floating-point elements of one type and one shape.
Elementwise elementwise_form(const Computes& computes,
                             std::initializer_list<const Operand*> operands);

// Runs the kernel now, for the CPU, or puts it on the current stream of the device. The first
// operand is written, the others are read.
template <typename Kernel>
void launch(const char* name, Device device, std::initializer_list<const Operand*> operands,
            Kernel&& kernel, const Computes& computes = {}) {
  if (device.is_cpu()) {
    kernel();
    return;
  }
  Work work{name, {}, std::forward<Kernel>(kernel), elementwise_form(computes, operands)};
  for (const Operand* operand : operands) {
    work.accesses.push_back({operand->block, work.accesses.empty()});
  }
  runtime(device.type).enqueue(current_stream(device), std::move(work));
}

}  // namespace gradcts::reference
