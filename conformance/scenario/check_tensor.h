// The rules that a tensor of a scenario or an outcome keeps.
#pragma once

#include "conformance/scenario/path.h"
#include "conformance/scenario/tensor_value.h"

namespace gradcts {

// Throws FormatError at `path` unless the number of values fits the shape, every value is exact in
// the type, strides and coordinates fit shape and values, and the device exists in the language.
void check_tensor(const TensorValue& tensor, const Path& path);

// Throws unless the sizes are not negative and the number of elements stays within reason.
void check_size(const Shape& shape, const Path& path);

bool has_own_strides(const TensorValue& tensor);          // strides that are not the row-major ones
std::int64_t stored_elements(const TensorValue& tensor);  // how many elements `values` holds

}  // namespace gradcts
