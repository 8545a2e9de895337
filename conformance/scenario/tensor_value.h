// A tensor as plain data: what a scenario states and what an outcome reports.
//
// No arithmetic and no sharing: a TensorValue is a value. Engines make their own tensors from it
// and report their own tensors as it. Plain structs; safe to copy and to read from any thread.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradcts {

enum class ScalarType : std::uint8_t {
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
  int64,    // indices; never differentiable
  boolean,  // conditions; never differentiable
};

enum class DeviceType : std::uint8_t {
  cpu,
  sim,    // the simulated accelerator
  other,  // a second accelerator type with another number of devices
  cuda,
};

// Written "cpu", "sim:0", "other:1", "cuda:0". The index of cpu is always 0.
struct Device {
  DeviceType type = DeviceType::cpu;
  std::int8_t index = 0;
  bool operator==(const Device&) const = default;
};

enum class Layout : std::uint8_t { strided, sparse };

using Shape = absl::InlinedVector<std::int64_t, 4>;

// The coordinates of a sparse (COO) tensor. `indices` is row-major of shape
// (sparse_dimensions, number of entries); the tensor's `values` then have the shape
// (number of entries, the remaining dimensions...).
struct SparseCoordinates {
  std::int64_t sparse_dimensions = 1;
  std::vector<std::int64_t> indices;
  bool coalesced = false;
  bool operator==(const SparseCoordinates&) const = default;
};

struct TensorValue {
  ScalarType type = ScalarType::float64;
  Device device;
  Layout layout = Layout::strided;
  Shape shape;  // empty: zero-dimensional
  // Empty: row-major and contiguous. Else one stride for each dimension, in elements; a stride of 0
  // means that the dimension is expanded.
  Shape strides;
  // Strided: the elements in row-major order of the indices, whatever the strides. Complex types
  // hold the real and the imaginary part of each element, one after the other. Every other type is
  // exactly representable as a double.
  absl::InlinedVector<double, 4> values;
  std::optional<SparseCoordinates> coordinates;  // set exactly when layout is sparse

  std::int64_t element_count() const;  // product of the shape
  bool is_complex() const {
    return type == ScalarType::complex64 || type == ScalarType::complex128;
  }

  static TensorValue scalar(double value, ScalarType type = ScalarType::float64);
  static TensorValue vector(std::initializer_list<double> values,
                            ScalarType type = ScalarType::float64);
  static TensorValue filled(Shape shape, double value, ScalarType type = ScalarType::float64);
};

// Bitwise equality of everything but strides: two NaN of one bit pattern are equal, 0 and -0
// differ.
bool same_bits(const TensorValue& a, const TensorValue& b);

std::string_view to_text(ScalarType type);
std::string_view to_text(DeviceType type);
std::string to_text(Device device);
std::optional<ScalarType> scalar_type_from_text(std::string_view text);
std::optional<Device> device_from_text(std::string_view text);

// "float64 (2,3) [1 2 3 4 5 6]": for people; long values are cut.
std::string to_text(const TensorValue& value);

}  // namespace gradcts
