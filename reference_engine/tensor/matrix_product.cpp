// Matrix products, by Eigen. Tested by kernels_test.cpp.
#include "reference_engine/error.h"
#include "reference_engine/tensor/kernels.h"
#include "reference_engine/tensor/staging.h"

namespace gradcts::reference::kernels {
namespace {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Each element is the sum over the inner dimension in rising order, so that it is the same on every
// machine; half types are multiplied and summed in float.
template <typename C>
void multiply(const C* a, const C* b, C* r, std::int64_t rows, std::int64_t inner,
              std::int64_t columns) {
  const Eigen::Map<const Matrix<C>> left(a, rows, inner);
  const Eigen::Map<const Matrix<C>> right(b, inner, columns);
  Eigen::Map<Matrix<C>> product(r, rows, columns);
  product = left.lazyProduct(right);
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  if (a.dim() != 2 || b.dim() != 2 || a.shape()[1] != b.shape()[0] || a.device() != b.device()) {
    throw Error(ErrorCategory::invalid_argument,
                "no matrix product of " + describe(a) + " and " + describe(b));
  }
  const ScalarType type = promote(a.type(), b.type());
  Tensor result = empty({a.shape()[0], b.shape()[1]}, type, a.device());
  Operand r(result), x(a), y(b);
  launch("mm", a.device(), {&r, &x, &y}, [=] {
    visit_type(type, [&]<typename T>(std::type_identity<T>) {
      using C = ComputeType<T>;
      if constexpr (!std::is_same_v<C, bool>) {
        StagedInput<C> left(x, x.shape);
        StagedInput<C> right(y, y.shape);
        StagedOutput<C> output(r);
        multiply<C>(left.elements(), right.elements(), output.elements(), x.shape[0], x.shape[1],
                    y.shape[1]);
        output.finish();
      }
    });
  });
  return result;
}

}  // namespace gradcts::reference::kernels
