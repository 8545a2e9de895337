#include "conformance/adapters/reference/plain_data.h"

#include <algorithm>

#include "reference_engine/graph/operations.h"
#include "reference_engine/graph/recording.h"

namespace gradcts::reference_adapter {

namespace ref = gradcts::reference;

// Both lists of types and of devices have the same order.
ref::ScalarType to_engine(ScalarType type) {
  return static_cast<ref::ScalarType>(type);
}
ref::Device to_engine(Device device) {
  return {static_cast<ref::DeviceType>(device.type), device.index};
}

namespace {

static_assert(static_cast<int>(ScalarType::boolean) == static_cast<int>(ref::ScalarType::boolean));
static_assert(static_cast<int>(DeviceType::cuda) == static_cast<int>(ref::DeviceType::cuda));

absl::Span<const double> elements(const TensorValue& value) {
  return {value.values.data(), value.values.size()};
}

ref::Tensor strided(const TensorValue& value, ref::ShapeView shape) {
  return ref::from_values(elements(value), shape, to_engine(value.type), to_engine(value.device));
}

// A dimension of stride 0 is expanded from its first element.
ref::Tensor with_strides(const TensorValue& value) {
  if (std::find(value.strides.begin(), value.strides.end(), 0) == value.strides.end()) {
    return ref::from_values_strided(elements(value), value.shape, value.strides,
                                    to_engine(value.type), to_engine(value.device));
  }
  ref::Tensor first = strided(value, value.shape);
  ref::Strides strides = value.strides;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] != 0) continue;
    first = ref::slice(first, static_cast<std::int64_t>(i), 0, 1);
    strides[i] = 1;
  }
  const auto dense = ref::from_values_strided(ref::to_values(first), first.shape(), strides,
                                              to_engine(value.type), to_engine(value.device));
  return ref::expand(dense, value.shape);
}

ref::Tensor sparse(const TensorValue& value) {
  const SparseCoordinates& coordinates = *value.coordinates;
  const std::int64_t dims = coordinates.sparse_dimensions;
  const auto entries = static_cast<std::int64_t>(coordinates.indices.size()) / dims;
  const std::vector<double> numbers(coordinates.indices.begin(), coordinates.indices.end());
  const auto indices =
      ref::from_values(numbers, {dims, entries}, ref::ScalarType::int64, to_engine(value.device));
  ref::Shape shape{entries};
  shape.insert(shape.end(), value.shape.begin() + dims, value.shape.end());
  return ref::make_sparse(indices, strided(value, shape), value.shape, coordinates.coalesced);
}

void read_values(const ref::Tensor& tensor, TensorValue& value) {
  const bool plain = tensor.device().is_cpu() && tensor.is_contiguous() &&
                     tensor.type() == ref::ScalarType::float64;
  if (plain) {
    const auto* data = static_cast<const double*>(tensor.storage().data()) + tensor.offset();
    value.values.assign(data, data + tensor.element_count());
    return;
  }
  const std::vector<double> values = ref::to_values(tensor);
  value.values.assign(values.begin(), values.end());
}

void read_sparse(const ref::Tensor& tensor, TensorValue& value) {
  value.layout = Layout::sparse;
  SparseCoordinates coordinates;
  coordinates.sparse_dimensions = tensor.sparse_dim();
  for (const double index : ref::to_values(tensor.indices())) {
    coordinates.indices.push_back(static_cast<std::int64_t>(index));
  }
  coordinates.coalesced = tensor.is_coalesced();
  value.coordinates = std::move(coordinates);
  read_values(tensor.values(), value);
}

}  // namespace

ref::Tensor to_engine(const TensorValue& value) {
  if (value.layout == Layout::sparse) return sparse(value);
  return value.strides.empty() ? strided(value, value.shape) : with_strides(value);
}

std::optional<TensorValue> from_engine(const ref::Tensor& tensor) {
  if (!tensor.defined()) return std::nullopt;
  TensorValue value;
  value.type = static_cast<ScalarType>(tensor.type());
  value.device = {static_cast<DeviceType>(tensor.device().type),
                  static_cast<std::int8_t>(tensor.device().index)};
  value.shape = tensor.shape();
  if (tensor.is_sparse()) {
    read_sparse(tensor, value);
  } else {
    if (!tensor.is_contiguous()) value.strides = tensor.strides();
    read_values(tensor, value);
  }
  return value;
}

}  // namespace gradcts::reference_adapter
