// Tensors of the reference engine as plain data.
#pragma once

#include <optional>

#include "conformance/scenario/tensor_value.h"
#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference_adapter {

reference::ScalarType to_engine(ScalarType type);
reference::Device to_engine(Device device);
reference::Tensor to_engine(const TensorValue& value);
std::optional<TensorValue> from_engine(const reference::Tensor& tensor);

}  // namespace gradcts::reference_adapter
