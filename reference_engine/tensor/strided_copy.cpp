#include "reference_engine/tensor/strided_copy.h"

#include <algorithm>
#include <vector>
#include <xtensor/xadapt.hpp>
#include <xtensor/xbroadcast.hpp>
#include <xtensor/xnoalias.hpp>

#include "reference_engine/tensor/element.h"

namespace gradcts::reference {
namespace {

std::vector<std::size_t> xtensor_shape(ShapeView shape) {
  return {shape.begin(), shape.end()};
}

// Pointers are passed as values: xtensor would keep a reference to a variable.
template <typename T>
auto strided_array(T* elements, ShapeView shape, ShapeView strides) {
  return xt::adapt(static_cast<T*>(elements), static_cast<std::size_t>(element_count(shape)),
                   xt::no_ownership(), xtensor_shape(shape),
                   std::vector<std::ptrdiff_t>(strides.begin(), strides.end()));
}

template <typename T>
auto contiguous_array(T* elements, ShapeView shape) {
  return xt::adapt(static_cast<T*>(elements), static_cast<std::size_t>(element_count(shape)),
                   xt::no_ownership(), xtensor_shape(shape));
}

}  // namespace

template <typename T>
void gather_elements(const Operand& from, ShapeView shape, T* to) {
  if (from.is_contiguous && ShapeView(from.shape) == shape) {
    std::copy_n(from.elements<T>(), from.count, to);
    return;
  }
  if (element_count(shape) == 0) return;
  auto target = contiguous_array(to, shape);
  xt::noalias(target) = xt::broadcast(
      strided_array(from.elements<const T>(), from.shape, from.strides), xtensor_shape(shape));
}

template <typename T>
void scatter_elements(const T* from, const Operand& to) {
  if (to.is_contiguous) {
    std::copy_n(from, to.count, to.elements<T>());
    return;
  }
  auto target = strided_array(to.elements<T>(), to.shape, to.strides);
  xt::noalias(target) = contiguous_array(from, to.shape);
}

#define GRADCTS_INSTANTIATE(T)                                     \
  template void gather_elements<T>(const Operand&, ShapeView, T*); \
  template void scatter_elements<T>(const T*, const Operand&);
GRADCTS_INSTANTIATE(Half)
GRADCTS_INSTANTIATE(BFloat16)
GRADCTS_INSTANTIATE(float)
GRADCTS_INSTANTIATE(double)
GRADCTS_INSTANTIATE(Complex64)
GRADCTS_INSTANTIATE(Complex128)
GRADCTS_INSTANTIATE(std::int64_t)
GRADCTS_INSTANTIATE(bool)
#undef GRADCTS_INSTANTIATE

}  // namespace gradcts::reference
