// Kernels that move elements without computing: copies, casts, moves between devices.
#include "reference_engine/error.h"
#include "reference_engine/tensor/kernels.h"
#include "reference_engine/tensor/staging.h"

namespace gradcts::reference::kernels {
namespace {

void copy_on_device(const Tensor& a, const Tensor& source) {
  Operand r(a), x(source);
  const auto kernel = [=] {
    visit_type(r.type, [&]<typename T>(std::type_identity<T>) {
      StagedInput<T> input(x, r.shape);
      if (r.is_contiguous) {
        std::copy_n(input.elements(), r.count, r.elements<T>());
      } else {
        scatter_elements<T>(input.elements(), r);
      }
    });
  };
  launch("copy", a.device(), {&r, &x}, kernel, {Elementwise::Function::copy});
}

void copy_bytes(const Operand& from, const Operand& to) {
  const std::size_t bytes = static_cast<std::size_t>(from.count) * element_size(from.type);
  std::copy_n(static_cast<const char*>(from.data), bytes, static_cast<char*>(to.data));
}

// The host may change or free its memory as soon as this returns, while the device reads late: the
// work takes a copy of the elements along.
void copy_to_device(const Tensor& host, const Tensor& result) {
  const Tensor elements = clone(host);
  Operand r(result), x(elements);
  launch("copy to device", result.device(), {&r},
         [=, kept = IntrusivePointer<Storage>(&elements.storage())] { copy_bytes(x, r); });
}

void copy_to_host(const Tensor& source, const Tensor& host) {
  Operand r(host), x(source);
  // What is written lies on the host: only the read is an access to device memory.
  const Stream stream = current_stream(source.device());
  const auto copy = [=] { copy_bytes(x, r); };
  runtime(stream.device.type).enqueue(stream, {"copy to host", {{x.block, false}}, copy});
  synchronize(stream);
}

// Whoever copies need not know that two streams do it: each waits for the other, so that the source
// may be changed as soon as this returns.
void copy_between(const Tensor& source, const Tensor& result) {
  const Stream reader = current_stream(result.device());
  const Stream owner = current_stream(source.device());
  wait_stream(reader, owner);
  register_use(source, reader);
  Operand r(result), x(source);
  const auto kernel = [=] { copy_bytes(x, r); };
  launch("copy between devices", result.device(), {&r, &x}, kernel, {Elementwise::Function::copy});
  wait_stream(owner, reader);
}

Tensor copy_across(const Tensor& a, Device device) {
  const Tensor source = contiguous(a);
  Tensor result = empty(source.shape(), source.type(), device);
  if (source.device().is_cpu()) {
    copy_to_device(source, result);
  } else if (device.is_cpu()) {
    copy_to_host(source, result);
  } else if (device.type == source.device().type) {
    copy_between(source, result);
  } else {
    copy_to_device(copy_across(source, cpu), result);
  }
  return result;
}

}  // namespace

void copy_(const Tensor& a, const Tensor& source) {
  check_defined(a, source);
  if (!is_expandable_to(source.shape(), a.shape())) {
    throw Error(ErrorCategory::invalid_argument, "shape " + to_string(source.shape()) +
                                                     " cannot be copied into shape " +
                                                     to_string(a.shape()));
  }
  copy_on_device(a, to_device(source, a.device()));
  a.bump_version();
}

Tensor contiguous(const Tensor& a) {
  return a.is_contiguous() ? a : clone(a);
}

Tensor clone(const Tensor& a) {
  check_defined(a);
  if (a.is_sparse()) {
    return make_sparse(clone(a.indices()), clone(a.values()), a.shape(), a.is_coalesced());
  }
  Tensor result = empty(a.shape(), a.type(), a.device());
  copy_on_device(result, a);
  return result;
}

Tensor clone_strided(const Tensor& a, ShapeView strides) {
  Tensor block = empty(a.shape(), a.type(), a.device());
  Tensor result = as_strided(block, a.shape(), strides, 0);
  copy_on_device(result, a);
  return result;
}

Tensor cast(const Tensor& a, ScalarType type) {
  check_defined(a);
  if (a.type() == type) return a;
  if (a.is_sparse()) {
    return make_sparse(a.indices(), cast(a.values(), type), a.shape(), a.is_coalesced());
  }
  Tensor result = empty(a.shape(), type, a.device());
  copy_on_device(result, a);
  return result;
}

Tensor to_device(const Tensor& a, Device device) {
  check_defined(a);
  if (a.device() == device) return a;
  if (a.is_sparse()) {
    return make_sparse(copy_across(a.indices(), device), copy_across(a.values(), device), a.shape(),
                       a.is_coalesced());
  }
  return copy_across(a, device);
}

}  // namespace gradcts::reference::kernels
