// Kernels that work along a dimension: extremes, running sums, flips, and access by an index. Each
// moves the dimension to the end, so that it has rows to loop over. Tested through
// graph/along_dimensions_test.cpp and graph/indexing_test.cpp.
#include <algorithm>
#include <vector>

#include "reference_engine/error.h"
#include "reference_engine/tensor/kernels.h"
#include "reference_engine/tensor/staging.h"

namespace gradcts::reference::kernels {
namespace {

[[noreturn]] void invalid(const std::string& message) {
  throw Error(ErrorCategory::invalid_argument, message);
}

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

// `a` with its dimensions in another order.
Tensor permuted(const Tensor& a, ShapeView order) {
  Shape shape;
  Strides strides;
  for (std::int64_t dim : order) {
    shape.push_back(a.shape()[at(dim)]);
    strides.push_back(a.strides()[at(dim)]);
  }
  return as_strided(a, shape, strides, a.offset());
}

// `a` with these dimensions behind the others. A number is a row of one.
Tensor with_last(const Tensor& a, ShapeView dims) {
  Shape order;
  for (std::int64_t dim = 0; dim < a.dim(); ++dim) {
    if (std::find(dims.begin(), dims.end(), dim) == dims.end()) order.push_back(dim);
  }
  order.insert(order.end(), dims.begin(), dims.end());
  return permuted(a, order);
}

std::int64_t row_count(const Operand& r, std::int64_t row) {
  return row == 0 ? 0 : r.count / row;
}

// Calls function(row of a, row of the result) with elements of the compute type.
template <typename Function>
void for_each_row(const char* name, const Tensor& result, const Tensor& a, std::int64_t dim,
                  Function function) {
  Operand r(with_last(result, {dim})), x(with_last(a, {dim}));
  const std::int64_t row = a.shape()[at(dim)];
  launch(name, a.device(), {&r, &x}, [=] {
    visit_type(x.type, [&]<typename T>(std::type_identity<T>) {
      using C = ComputeType<T>;
      StagedInput<C> input(x, x.shape);
      StagedOutput<C> output(r);
      for (std::int64_t i = 0; i < row_count(r, row); ++i) {
        function(input.elements() + i * row, output.elements() + i * row, row);
      }
      output.finish();
    });
  });
}

// The largest, or the smallest by `sign`; NaN is larger than all.
template <typename C>
C extreme_of(const C* row, std::int64_t count, bool largest) {
  C best = row[0];
  for (std::int64_t i = 1; i < count && best == best; ++i) {
    if (row[i] != row[i] || (largest ? row[i] > best : row[i] < best)) best = row[i];
  }
  return best;
}

// ---- By an index -------------------------------------------------------------------------------

void check_index(const Tensor& a, std::int64_t dim, const Tensor& index) {
  if (index.type() != ScalarType::int64) {
    invalid("an index has elements of type int64, not " + to_string(index.type()));
  }
  bool fits = index.dim() == a.dim() && index.device() == a.device() && dim < a.dim();
  for (std::int64_t d = 0; fits && d < a.dim(); ++d) {
    fits = d == dim || index.shape()[at(d)] <= a.shape()[at(d)];
  }
  if (!fits) invalid("an index " + describe(index) + " into " + describe(a));
  const Tensor host = contiguous(to_device(index, cpu));
  const auto* elements = Operand(host).elements<const std::int64_t>();
  const std::int64_t size = a.shape()[at(dim)];
  for (std::int64_t i = 0; i < host.element_count(); ++i) {
    if (elements[i] >= 0 && elements[i] < size) continue;
    invalid("index " + std::to_string(elements[i]) + " is out of range in dimension " +
            std::to_string(dim) + " of " + describe(a));
  }
}

// The part of `a` with the sizes of the index, but for the indexed dimension.
Tensor beside_index(const Tensor& a, std::int64_t dim, const Tensor& index) {
  Shape shape = index.shape();
  shape[at(dim)] = a.shape()[at(dim)];
  return as_strided(a, shape, a.strides(), a.offset());
}

}  // namespace

Tensor extreme(Extreme which, const Tensor& a, ShapeView dims, bool keep_dims) {
  if (is_complex(a.type()) || a.is_sparse())
    invalid("no order among the elements of " + describe(a));
  Shape shape;
  std::int64_t row = 1;
  for (std::int64_t d = 0; d < a.dim(); ++d) {
    const bool reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (reduced) row *= a.shape()[at(d)];
    if (!reduced || keep_dims) shape.push_back(reduced ? 1 : a.shape()[at(d)]);
  }
  if (row == 0) invalid("the extreme of no elements, in " + describe(a));
  Tensor result = empty(shape, a.type(), a.device());
  Operand r(result), x(with_last(a, dims));
  const bool largest = which == Extreme::largest;
  launch("extreme", a.device(), {&r, &x}, [=] {
    visit_type(x.type, [&]<typename T>(std::type_identity<T>) {
      using C = ComputeType<T>;
      if constexpr (!is_complex_element<C>) {
        StagedInput<C> input(x, x.shape);
        StagedOutput<C> output(r);
        for (std::int64_t i = 0; i < r.count; ++i) {
          output.elements()[i] = extreme_of(input.elements() + i * row, row, largest);
        }
        output.finish();
      }
    });
  });
  return result;
}

Tensor cumsum(const Tensor& a, std::int64_t dim) {
  if (a.type() == ScalarType::boolean) invalid("cumsum does not take booleans");
  Tensor result = empty(a.shape(), a.type(), a.device());
  for_each_row("cumsum", result, a, dim, []<typename C>(const C* x, C* r, std::int64_t count) {
    C sum(0);
    for (std::int64_t i = 0; i < count; ++i) r[i] = sum = static_cast<C>(sum + x[i]);
  });
  return result;
}

Tensor flip(const Tensor& a, std::int64_t dim) {
  Tensor result = empty(a.shape(), a.type(), a.device());
  for_each_row("flip", result, a, dim, []<typename C>(const C* x, C* r, std::int64_t count) {
    std::reverse_copy(x, x + count, r);
  });
  return result;
}

Tensor gather(const Tensor& a, std::int64_t dim, const Tensor& index) {
  check_index(a, dim, index);
  Tensor result = empty(index.shape(), a.type(), a.device());
  Operand r(with_last(result, {dim})), x(with_last(beside_index(a, dim, index), {dim}));
  Operand places(with_last(index, {dim}));
  const std::int64_t row = index.shape()[at(dim)];
  const std::int64_t whole = a.shape()[at(dim)];
  launch("gather", a.device(), {&r, &x, &places}, [=] {
    visit_type(x.type, [&]<typename T>(std::type_identity<T>) {
      StagedInput<T> input(x, x.shape);
      StagedInput<std::int64_t> place(places, places.shape);
      StagedOutput<T> output(r);
      for (std::int64_t i = 0; i < r.count; ++i) {
        output.elements()[i] = input.elements()[i / row * whole + place.elements()[i]];
      }
      output.finish();
    });
  });
  return result;
}

Tensor scatter_add(const Tensor& a, std::int64_t dim, const Tensor& index, const Tensor& source) {
  check_index(a, dim, index);
  bool fits = source.dim() == a.dim() && source.type() == a.type() && source.device() == a.device();
  for (std::int64_t d = 0; fits && d < a.dim(); ++d) {
    fits = index.shape()[at(d)] <= source.shape()[at(d)];
  }
  if (!fits || a.type() == ScalarType::boolean) {
    invalid(describe(source) + " cannot be added to " + describe(a) + " by an index " +
            describe(index));
  }
  Tensor result = clone(a);
  const Tensor added = as_strided(source, index.shape(), source.strides(), source.offset());
  Operand r(with_last(beside_index(result, dim, index), {dim})), x(with_last(added, {dim}));
  Operand places(with_last(index, {dim}));
  const std::int64_t row = index.shape()[at(dim)];
  const std::int64_t whole = a.shape()[at(dim)];
  launch("scatter_add", a.device(), {&r, &x, &places}, [=] {
    visit_type(x.type, [&]<typename T>(std::type_identity<T>) {
      using C = ComputeType<T>;
      if constexpr (!std::is_same_v<C, bool>) {
        StagedInput<C> old(r, r.shape);
        StagedInput<C> input(x, x.shape);
        StagedInput<std::int64_t> place(places, places.shape);
        std::vector<C> sums(old.elements(), old.elements() + r.count);
        for (std::int64_t i = 0; i < x.count; ++i) {
          sums[at(i / row * whole + place.elements()[i])] += input.elements()[i];
        }
        StagedOutput<C> output(r);
        std::copy(sums.begin(), sums.end(), output.elements());
        output.finish();
      }
    });
  });
  return result;
}

}  // namespace gradcts::reference::kernels
