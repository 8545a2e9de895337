// Tensor: a handle to an n-dimensional array, and what autograd hangs on it.
//
// A handle is one word; copies share the array. A handle that refers to nothing is *undefined*,
// which as a gradient means "none" and is neutral in sums (ACC-1).
//
// Layouts. A strided tensor looks at a storage through offset and strides; views share the storage.
// A sparse tensor is a list of coordinates: `indices` (int64, [sparse dimensions, entries]) and
// `values` ([entries, dense dimensions...]); entries with equal coordinates add up, and a
// *coalesced* one has none such, in lexicographic order.
//
// Thread safety: as for std::shared_ptr; the elements are the users' business.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "reference_engine/device/stream.h"
#include "reference_engine/memory/disposal.h"
#include "reference_engine/memory/intrusive_pointer.h"
#include "reference_engine/tensor/scalar_type.h"
#include "reference_engine/tensor/shape.h"
#include "reference_engine/tensor/storage.h"

namespace gradcts::reference {

enum class Layout : std::uint8_t { strided, sparse };

class Tensor;
class TensorImpl;

// What the graph keeps for a tensor (graph/autograd_state.h); tensors only own it.
class AutogradSlot : public Disposable {};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(IntrusivePointer<TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return static_cast<bool>(impl_); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  TensorImpl* impl() const { return impl_.get(); }
  void reset() { impl_.reset(); }

  // All below: the tensor must be defined.
  inline const Shape& shape() const;
  inline std::int64_t dim() const;
  inline std::int64_t element_count() const;
  inline ScalarType type() const;
  inline Device device() const;
  inline Layout layout() const;
  inline bool is_sparse() const;

  // Strided tensors.
  inline const Strides& strides() const;
  inline std::int64_t offset() const;
  inline Storage& storage() const;
  inline bool is_contiguous() const;

  // Sparse tensors.
  inline const Tensor& indices() const;
  inline const Tensor& values() const;
  inline bool is_coalesced() const;
  inline std::int64_t sparse_dim() const;

  // In-place changes so far (of the values, for a sparse tensor). An in-place change that autograd
  // does not see still counts: bump_version() says that it happened.
  std::uint32_t version() const;
  void bump_version() const;

  // Nobody but this handle can see the elements: no other handle, view or detached alias, no owner
  // that writes to them again, and no other stream, whose work may have been asked for by a handle
  // that is gone and still be to come (ACC-2, LEAF-1, STREAM-2).
  bool is_unshared() const;

  // Another handle to the same elements, without history (graph/operations.h has detach()).
  Tensor alias() const;

 private:
  IntrusivePointer<TensorImpl> impl_;
};

// ---- Making tensors ----------------------------------------------------------------------------

Tensor empty(ShapeView shape, ScalarType type = ScalarType::float32, Device device = cpu);
Tensor zeros(ShapeView shape, ScalarType type = ScalarType::float32, Device device = cpu);
Tensor ones(ShapeView shape, ScalarType type = ScalarType::float32, Device device = cpu);
Tensor full(ShapeView shape, double value, ScalarType type = ScalarType::float32,
            Device device = cpu);

// Elements in row-major order, each rounded to the type; a complex one is two numbers, the real
// part first. Throws Error(invalid_argument) where the number of values does not fit.
Tensor from_values(absl::Span<const double> values, ShapeView shape,
                   ScalarType type = ScalarType::float32, Device device = cpu);

// The same values in a dense block with these strides.
Tensor from_values_strided(absl::Span<const double> values, ShapeView shape, ShapeView strides,
                           ScalarType type = ScalarType::float32, Device device = cpu);

// A tensor that looks at the storage of another one.
Tensor as_strided(const Tensor& tensor, ShapeView shape, ShapeView strides, std::int64_t offset);

// The same elements in another way: the two parts of each complex one along a new last dimension,
// and the pairs of a last dimension as complex ones. Throws Error(invalid_argument) where the
// tensor is not complex; where it is not of a type that complex ones are made of, or its pairs do
// not lie side by side.
Tensor as_real(const Tensor& tensor);
Tensor as_complex(const Tensor& tensor);
bool has_pairs(const Tensor& tensor);  // does as_complex() take it?

// A sparse tensor that holds these handles. `coalesced` is believed.
Tensor make_sparse(Tensor indices, Tensor values, ShapeView shape, bool coalesced = false);

// ---- Reading tensors ---------------------------------------------------------------------------

// Elements as from_values() takes them, also of a sparse tensor (as the dense one that it means).
// Reads on the current stream of the tensor's device, and waits for it.
std::vector<double> to_values(const Tensor& tensor);

// Says that the stream uses the tensor's memory, which must not be handed out again before that is
// over (STREAM-3). Nothing where the memory is the stream's own, or the host's.
void register_use(const Tensor& tensor, Stream stream);

std::string describe(const Tensor& tensor);  // "float32[2, 3] on sim:0", "undefined"

// ---- The array behind a handle -----------------------------------------------------------------

class TensorImpl {
 public:
  TensorImpl(IntrusivePointer<Storage> storage, ShapeView shape, ShapeView strides,
             std::int64_t offset, ScalarType type);
  TensorImpl(Tensor indices, Tensor values, ShapeView shape, bool coalesced);
  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;

  void retain() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  std::uint32_t use_count() const { return references_.load(std::memory_order_acquire); }

  AutogradSlot* autograd() const { return autograd_; }
  void set_autograd(std::unique_ptr<AutogradSlot> slot);

  // Looks at other elements from now on; shape, type, device and layout stay (checked by the
  // caller).
  void replace_elements(const TensorImpl& other);

 private:
  friend class Tensor;
  struct SparseParts {
    Tensor indices;
    Tensor values;
    bool coalesced;
  };

  ~TensorImpl();
  void destroy() const;
  void update_contiguous();

  mutable std::atomic<std::uint32_t> references_{0};
  ScalarType type_;
  Layout layout_;
  bool contiguous_ = false;
  Device device_;
  IntrusivePointer<Storage> storage_;
  AutogradSlot* autograd_ = nullptr;
  std::int64_t offset_ = 0;
  std::int64_t element_count_;
  Shape shape_;
  Strides strides_;
  std::unique_ptr<SparseParts> sparse_;
};

inline const Shape& Tensor::shape() const {
  return impl_->shape_;
}
inline std::int64_t Tensor::dim() const {
  return static_cast<std::int64_t>(shape().size());
}
inline std::int64_t Tensor::element_count() const {
  return impl_->element_count_;
}
inline ScalarType Tensor::type() const {
  return impl_->type_;
}
inline Device Tensor::device() const {
  return impl_->device_;
}
inline Layout Tensor::layout() const {
  return impl_->layout_;
}
inline bool Tensor::is_sparse() const {
  return layout() == Layout::sparse;
}
inline const Strides& Tensor::strides() const {
  return impl_->strides_;
}
inline bool Tensor::is_contiguous() const {
  return impl_->contiguous_;
}
inline std::int64_t Tensor::offset() const {
  return impl_->offset_;
}
inline Storage& Tensor::storage() const {
  return *impl_->storage_;
}
inline const Tensor& Tensor::indices() const {
  return impl_->sparse_->indices;
}
inline const Tensor& Tensor::values() const {
  return impl_->sparse_->values;
}
inline bool Tensor::is_coalesced() const {
  return impl_->sparse_->coalesced;
}
inline std::int64_t Tensor::sparse_dim() const {
  return indices().shape()[0];
}

}  // namespace gradcts::reference
