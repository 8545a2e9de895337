// Tensors of libtorch as plain data. For the one source file of the adapter.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "conformance/scenario/tensor_value.h"

namespace gradcts::libtorch {

using at::Tensor;

// In the order of gradcts::ScalarType.
inline constexpr at::ScalarType types[] = {at::kHalf,   at::kBFloat16,     at::kFloat,
                                           at::kDouble, at::kComplexFloat, at::kComplexDouble,
                                           at::kLong,   at::kBool};

inline at::ScalarType type_of(ScalarType type) {
  return types[static_cast<std::size_t>(type)];
}
inline ScalarType type_of(const Tensor& tensor) {
  const auto* found = std::find(std::begin(types), std::end(types), tensor.scalar_type());
  if (found == std::end(types)) throw std::logic_error("a tensor of an unknown type");
  return static_cast<ScalarType>(found - std::begin(types));
}

inline at::IntArrayRef sizes(const Shape& shape) {
  return {shape.data(), shape.size()};
}
inline Shape shape_of(at::IntArrayRef sizes) {
  return Shape(sizes.begin(), sizes.end());
}

// Scenarios' `sim:N` is `cuda:N`, which is simulated (simulated_cuda.h).
inline at::Device device_of(Device device) {
  if (device.type == DeviceType::cpu) return at::kCPU;
  if (device.type == DeviceType::sim) return {at::kCUDA, device.index};
  throw std::logic_error("a device that libtorch does not have here");
}
inline Device device_of(at::Device device) {
  return device.is_cpu() ? Device{} : Device{DeviceType::sim, device.index()};
}

// Elements in row-major order as a dense tensor.
inline Tensor dense(const TensorValue& value, at::IntArrayRef shape) {
  auto result = at::empty(shape, value.is_complex() ? at::kComplexDouble : at::kDouble);
  std::copy(value.values.begin(), value.values.end(), static_cast<double*>(result.data_ptr()));
  const bool non_blocking = true;  // as late on a device as it may be
  return result.to(device_of(value.device), type_of(value.type), non_blocking);
}

inline Tensor sparse(const TensorValue& value) {
  const auto& [dims, coordinates, coalesced] = *value.coordinates;
  const auto entries = static_cast<std::int64_t>(coordinates.size()) / dims;
  auto indices = at::empty({dims, entries}, at::kLong);
  std::copy(coordinates.begin(), coordinates.end(), indices.data_ptr<std::int64_t>());
  std::vector<std::int64_t> shape{entries};
  shape.insert(shape.end(), value.shape.begin() + dims, value.shape.end());
  auto result = at::_sparse_coo_tensor_unsafe(indices, dense(value, shape), sizes(value.shape));
  return result._coalesced_(coalesced);
}

// The same elements with other strides; a dimension of stride 0 is expanded from its first element.
inline Tensor with_strides(const Tensor& tensor, const Shape& strides) {
  Tensor first = tensor;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] == 0) first = first.narrow(static_cast<std::int64_t>(i), 0, 1);
  }
  auto result = at::empty_strided(first.sizes(), sizes(strides), tensor.options());
  return result.copy_(first).expand(tensor.sizes());
}

inline void read_elements(const Tensor& tensor, TensorValue& value) {
  const auto wide = value.is_complex() ? at::kComplexDouble : at::kDouble;
  const Tensor elements = tensor.cpu().contiguous().to(wide).resolve_conj();
  const auto* data = static_cast<const double*>(elements.data_ptr());
  value.values.assign(data, data + elements.numel() * (value.is_complex() ? 2 : 1));
}

inline void read_sparse(const Tensor& tensor, TensorValue& value) {
  value.layout = Layout::sparse;
  const Tensor indices = tensor._indices().contiguous();
  const auto* data = indices.data_ptr<std::int64_t>();
  value.coordinates =
      SparseCoordinates{tensor.sparse_dim(), {data, data + indices.numel()}, tensor.is_coalesced()};
  read_elements(tensor._values(), value);
}

}  // namespace gradcts::libtorch
