// The in-place operations. Tested by in_place_test.cpp.
#include "reference_engine/error.h"
#include "reference_engine/graph/in_place.h"
#include "reference_engine/graph/operation.h"
#include "reference_engine/graph/operations.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

// What was there before does not matter any more: its gradient is zero.
Gradients overwrite_backward(Operation& op, const Gradients& g) {
  Gradients result(op.next_edges().size());
  if (op.needs(0)) {
    const InputMetadata& before = op.input(0);
    result[0] = zeros(before.shape, before.type, before.device());
  }
  if (result.size() > 1 && op.needs(1)) {
    const Device device = op.input(1).device();
    result[1] = to_device(op.fit(1, g[0]), device);
  }
  return result;
}
constexpr OperationKind fill_kind{"Fill", overwrite_backward};
constexpr OperationKind copy_kind{"Copy", overwrite_backward};

Tensor filled(const Tensor& before, double value) {
  Tensor result = full(before.shape(), value, before.type(), before.device());
  record(fill_kind, result, {before});
  return result;
}

Tensor copied(const Tensor& before, const Tensor& source) {
  Tensor result = empty(before.shape(), before.type(), before.device());
  kernels::copy_(result, source);
  record(copy_kind, result, {before, source});
  return result;
}

}  // namespace

void add_(const Tensor& a, const Tensor& b) {
  change_in_place(a, [&](const Tensor& x) { return add(x, b); });
}
void sub_(const Tensor& a, const Tensor& b) {
  change_in_place(a, [&](const Tensor& x) { return sub(x, b); });
}
void mul_(const Tensor& a, const Tensor& b) {
  change_in_place(a, [&](const Tensor& x) { return mul(x, b.is_same(a) ? x : b); });
}
void div_(const Tensor& a, const Tensor& b) {
  change_in_place(a, [&](const Tensor& x) { return div(x, b.is_same(a) ? x : b); });
}
void scale_(const Tensor& a, double factor) {
  change_in_place(a, [=](const Tensor& x) { return scale(x, factor); });
}
void neg_(const Tensor& a) {
  change_in_place(a, [](const Tensor& x) { return neg(x); });
}
void sin_(const Tensor& a) {
  change_in_place(a, [](const Tensor& x) { return sin(x); });
}
void zero_(const Tensor& a) {
  fill_(a, 0);
}
void fill_(const Tensor& a, double value) {
  change_in_place(a, [=](const Tensor& x) { return filled(x, value); });
}
void copy_(const Tensor& a, const Tensor& source) {
  change_in_place(a, [&](const Tensor& x) { return copied(x, source); });
}

}  // namespace gradcts::reference
