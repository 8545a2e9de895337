// Which parameters are reduced together (RED-1).
#pragma once

#include <cstddef>
#include <vector>

#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

// For each bucket the indices of its tensors.
using BucketAssignment = std::vector<std::vector<std::size_t>>;

// Puts tensors into buckets in their order, those of one type and device together. A bucket is full
// when it has at least as many bytes as its limit; the n-th bucket of a type and device has the
// n-th limit, and the last limit stands for all further ones. Buckets are in the order of their
// first tensors. `order` names the tensors in another order to go by; empty: as they are.
// No limit at all is Error(reducer).
BucketAssignment assign_buckets(absl::Span<const Tensor> tensors,
                                absl::Span<const std::size_t> limits,
                                absl::Span<const std::size_t> order = {});

// Throws Error(reducer) unless each tensor is in exactly one bucket, no bucket is empty, and those
// of a bucket have one type and one device.
void check_buckets(const BucketAssignment& buckets, absl::Span<const Tensor> tensors);

}  // namespace gradcts::reference
