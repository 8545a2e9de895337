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

[[noreturn]] void refuse(const Tensor& a, const Tensor& b) {
  throw Error(ErrorCategory::invalid_argument,
              "no matrix product of " + describe(a) + " and " + describe(b));
}

// The result, whose shape fits, of the products of `batch` pairs.
Tensor products(const Tensor& a, const Tensor& b, ShapeView shape, std::int64_t batch) {
  const ScalarType type = promote(a.type(), b.type());
  const auto last = static_cast<std::size_t>(a.dim()) - 1;
  const std::int64_t rows = a.shape()[last - 1];
  const std::int64_t inner = a.shape()[last];
  const std::int64_t columns = b.shape()[last];
  Tensor result = empty(shape, type, a.device());
  Operand r(result), x(a), y(b);
  launch("matrix product", a.device(), {&r, &x, &y}, [=] {
    visit_type(type, [&]<typename T>(std::type_identity<T>) {
      using C = ComputeType<T>;
      if constexpr (!std::is_same_v<C, bool>) {
        StagedInput<C> left(x, x.shape);
        StagedInput<C> right(y, y.shape);
        StagedOutput<C> output(r);
        for (std::int64_t i = 0; i < batch; ++i) {
          multiply<C>(left.elements() + i * rows * inner, right.elements() + i * inner * columns,
                      output.elements() + i * rows * columns, rows, inner, columns);
        }
        output.finish();
      }
    });
  });
  return result;
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  check_defined(a, b);
  if (a.dim() != 2 || b.dim() != 2 || a.shape()[1] != b.shape()[0] || a.device() != b.device()) {
    refuse(a, b);
  }
  return products(a, b, {a.shape()[0], b.shape()[1]}, 1);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  if (a.dim() != 3 || b.dim() != 3 || a.shape()[0] != b.shape()[0] ||
      a.shape()[2] != b.shape()[1] || a.device() != b.device()) {
    refuse(a, b);
  }
  return products(a, b, {a.shape()[0], a.shape()[1], b.shape()[2]}, a.shape()[0]);
}

}  // namespace gradcts::reference::kernels
