// What a node's slot expects: the kind of the forward output that it belongs to.
#pragma once

#include <string>

#include "reference_engine/device/stream.h"
#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

struct InputMetadata {
  InputMetadata() = default;

  // The kind of this tensor, and the stream that is current for its device now (STREAM-1).
  explicit InputMetadata(const Tensor& tensor);

  Device device() const { return stream.device; }

  Shape shape;
  Stream stream;
  ScalarType type = ScalarType::float32;
};

std::string describe(const InputMetadata& metadata);  // "float32[2, 3] on sim:0"

}  // namespace gradcts::reference
