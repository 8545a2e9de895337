// Sums, by xtensor. Tested by kernels_test.cpp.
#include <vector>
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>

#include "reference_engine/error.h"
#include "reference_engine/tensor/kernels.h"
#include "reference_engine/tensor/staging.h"

namespace gradcts::reference::kernels {
namespace {

// Half types are summed in float and rounded once.
template <typename T>
using SumType = ComputeType<T>;

template <typename T>
auto contiguous_array(T* elements, ShapeView shape) {
  // The pointer is passed as a value: xtensor would keep a reference to a variable.
  return xt::adapt(static_cast<T*>(elements), static_cast<std::size_t>(element_count(shape)),
                   xt::no_ownership(), std::vector<std::size_t>(shape.begin(), shape.end()));
}

// The lazy form: the immediate one of xtensor 0.24 takes small vectors for arrays under C++17's
// rules for template parameters.
template <typename S>
void sum_elements(const S* a, ShapeView shape, const std::vector<std::size_t>& axes, S* result,
                  ShapeView result_shape) {
  auto target = contiguous_array(result, result_shape);
  xt::noalias(target) = xt::sum<S>(contiguous_array(a, shape), axes);
}

// `sums` is the shape of the result without the summed dimensions.
void run_sum(const Tensor& result, const Tensor& a, const std::vector<std::size_t>& axes,
             const Shape& sums) {
  Operand r(result), x(a);
  launch("sum", a.device(), {&r, &x}, [=] {
    visit_type(x.type, [&]<typename T>(std::type_identity<T>) {
      using S = SumType<T>;
      if constexpr (!std::is_same_v<T, bool>) {
        StagedInput<S> input(x, x.shape);
        StagedOutput<S> output(r);
        if (x.count == 0) {
          std::fill_n(output.elements(), r.count, S(0));
        } else {
          sum_elements<S>(input.elements(), x.shape, axes, output.elements(), sums);
        }
        output.finish();
      }
    });
  });
}

}  // namespace

Tensor sum(const Tensor& a, ShapeView dims, bool keep_dims) {
  check_defined(a);
  if (a.type() == ScalarType::boolean) {
    throw Error(ErrorCategory::invalid_argument, "sum does not take booleans");
  }
  std::vector<bool> summed(a.shape().size(), false);
  for (std::int64_t dim : dims) summed.at(static_cast<std::size_t>(dim)) = true;
  Shape shape;
  Shape sums;
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < summed.size(); ++i) {
    if (summed[i]) axes.push_back(i);
    if (!summed[i]) shape.push_back(a.shape()[i]);
    if (!summed[i]) sums.push_back(a.shape()[i]);
    if (summed[i] && keep_dims) shape.push_back(1);
  }
  Tensor result = empty(shape, a.type(), a.device());
  if (axes.empty()) {
    copy_(result, a);
  } else {
    run_sum(result, a, axes, sums);
  }
  return result;
}

Tensor sum_to(const Tensor& a, ShapeView shape) {
  check_defined(a);
  if (ShapeView(a.shape()) == shape) return a;
  const std::size_t lead = a.shape().size() - shape.size();
  Shape dims;
  for (std::size_t i = 0; i < a.shape().size(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && a.shape()[i] != 1)) {
      dims.push_back(static_cast<std::int64_t>(i));
    }
  }
  const Tensor summed = sum(a, dims, false);
  return as_strided(summed, shape, contiguous_strides(shape), 0);
}

}  // namespace gradcts::reference::kernels
