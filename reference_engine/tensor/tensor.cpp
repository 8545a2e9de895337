#include "reference_engine/tensor/tensor.h"

#include <algorithm>

#include "reference_engine/device/runtime.h"
#include "reference_engine/error.h"
#include "reference_engine/memory/live_count.h"
#include "reference_engine/tensor/element.h"
#include "reference_engine/tensor/kernels.h"
#include "reference_engine/tensor/operand.h"

namespace gradcts::reference {

// ---- TensorImpl --------------------------------------------------------------------------------

TensorImpl::TensorImpl(IntrusivePointer<Storage> storage, ShapeView shape, ShapeView strides,
                       std::int64_t offset, ScalarType type)
    : type_(type),
      layout_(Layout::strided),
      device_(storage->device()),
      storage_(std::move(storage)),
      offset_(offset),
      element_count_(reference::element_count(shape)),
      shape_(shape.begin(), shape.end()),
      strides_(strides.begin(), strides.end()) {
  update_contiguous();
  count_live(LiveKind::tensor, 1);
}

TensorImpl::TensorImpl(Tensor indices, Tensor values, ShapeView shape, bool coalesced)
    : type_(values.type()),
      layout_(Layout::sparse),
      device_(values.device()),
      element_count_(reference::element_count(shape)),
      shape_(shape.begin(), shape.end()),
      sparse_(new SparseParts{std::move(indices), std::move(values), coalesced}) {
  count_live(LiveKind::tensor, 1);
}

TensorImpl::~TensorImpl() {
  count_live(LiveKind::tensor, -1);
  if (autograd_) dispose(autograd_);
}

void TensorImpl::destroy() const {
  delete this;
}

void TensorImpl::update_contiguous() {
  contiguous_ = true;
  std::int64_t step = 1;
  for (std::size_t i = shape_.size(); i-- > 0;) {
    if (shape_[i] == 1) continue;
    if (strides_[i] != step) contiguous_ = false;
    step *= shape_[i];
  }
  if (element_count_ == 0) contiguous_ = true;
}

void TensorImpl::set_autograd(std::unique_ptr<AutogradSlot> slot) {
  if (autograd_) dispose(autograd_);
  autograd_ = slot.release();
}

void TensorImpl::replace_elements(const TensorImpl& other) {
  storage_ = other.storage_;
  offset_ = other.offset_;
  strides_ = other.strides_;
  if (other.sparse_) sparse_ = std::make_unique<SparseParts>(*other.sparse_);
  update_contiguous();
}

// ---- Tensor ------------------------------------------------------------------------------------

std::uint32_t Tensor::version() const {
  return is_sparse() ? values().version() : storage().version();
}

void Tensor::bump_version() const {
  if (is_sparse()) {
    values().bump_version();
  } else {
    storage().bump_version();
  }
}

bool Tensor::is_unshared() const {
  if (impl_->use_count() != 1) return false;
  if (is_sparse()) return indices().is_unshared() && values().is_unshared();
  return storage().use_count() == 1 && !storage().is_static() && storage().is_of_current_stream();
}

Tensor Tensor::alias() const {
  if (is_sparse()) return make_sparse(indices(), values(), shape(), is_coalesced());
  return as_strided(*this, shape(), strides(), offset());
}

// ---- Making tensors ----------------------------------------------------------------------------

namespace {

Tensor empty_strided(ShapeView shape, ShapeView strides, ScalarType type, Device device) {
  const auto bytes = static_cast<std::size_t>(element_count(shape)) * element_size(type);
  return Tensor(
      make_intrusive<TensorImpl>(Storage::allocate(device, bytes), shape, strides, 0, type));
}

[[noreturn]] void invalid(const std::string& message) {
  throw Error(ErrorCategory::invalid_argument, message);
}

}  // namespace

Tensor empty(ShapeView shape, ScalarType type, Device device) {
  return empty_strided(shape, contiguous_strides(shape), type, device);
}

Tensor full(ShapeView shape, double value, ScalarType type, Device device) {
  Tensor result = empty(shape, type, device);
  kernels::fill_(result, value);
  return result;
}

Tensor zeros(ShapeView shape, ScalarType type, Device device) {
  return full(shape, 0, type, device);
}

Tensor ones(ShapeView shape, ScalarType type, Device device) {
  return full(shape, 1, type, device);
}

Tensor from_values(absl::Span<const double> values, ShapeView shape, ScalarType type,
                   Device device) {
  const std::size_t parts = is_complex(type) ? 2 : 1;
  const auto count = static_cast<std::size_t>(element_count(shape));
  if (values.size() != count * parts) {
    invalid(std::to_string(values.size()) + " values for a tensor " + to_string(type) +
            to_string(shape) + ", which takes " + std::to_string(count * parts));
  }
  Tensor host = empty(shape, type, cpu);
  visit_type(type, [&]<typename T>(std::type_identity<T>) {
    T* elements = Operand(host).elements<T>();
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (is_complex_element<T>) {
        using Part = typename T::value_type;
        elements[i] = T(static_cast<Part>(values[2 * i]), static_cast<Part>(values[2 * i + 1]));
      } else {
        elements[i] = convert_element<T>(values[i]);
      }
    }
  });
  return kernels::to_device(host, device);
}

Tensor from_values_strided(absl::Span<const double> values, ShapeView shape, ShapeView strides,
                           ScalarType type, Device device) {
  if (strides.size() != shape.size() || !is_dense_and_non_overlapping(shape, strides)) {
    invalid("strides " + to_string(strides) + " do not make shape " + to_string(shape) +
            " a dense block");
  }
  Tensor result = empty_strided(shape, strides, type, device);
  kernels::copy_(result, from_values(values, shape, type, device));
  return result;
}

Tensor as_strided(const Tensor& tensor, ShapeView shape, ShapeView strides, std::int64_t offset) {
  return Tensor(make_intrusive<TensorImpl>(IntrusivePointer<Storage>(&tensor.storage()), shape,
                                           strides, offset, tensor.type()));
}

namespace {

Tensor of_other_type(const Tensor& tensor, ScalarType type, ShapeView shape, ShapeView strides,
                     std::int64_t offset) {
  return Tensor(make_intrusive<TensorImpl>(IntrusivePointer<Storage>(&tensor.storage()), shape,
                                           strides, offset, type));
}

}  // namespace

Tensor as_real(const Tensor& tensor) {
  if (!is_complex(tensor.type()) || tensor.is_sparse()) {
    invalid(describe(tensor) + " has no real and imaginary parts to look at");
  }
  Shape shape = tensor.shape();
  Strides strides = tensor.strides();
  for (std::int64_t& stride : strides) stride *= 2;
  shape.push_back(2);
  strides.push_back(1);
  return of_other_type(tensor, real_type(tensor.type()), shape, strides, 2 * tensor.offset());
}

bool has_pairs(const Tensor& tensor) {
  const bool has_complex =
      tensor.type() == ScalarType::float32 || tensor.type() == ScalarType::float64;
  if (!has_complex || tensor.is_sparse() || tensor.dim() == 0) return false;
  if (tensor.shape().back() != 2 || tensor.strides().back() != 1 || tensor.offset() % 2 != 0)
    return false;
  return std::all_of(tensor.strides().begin(), tensor.strides().end() - 1,
                     [](std::int64_t stride) { return stride % 2 == 0; });
}

Tensor as_complex(const Tensor& tensor) {
  if (!has_pairs(tensor)) {
    invalid(describe(tensor) + " has no last dimension of pairs that lie side by side");
  }
  Shape shape = tensor.shape();
  Strides strides = tensor.strides();
  shape.pop_back();
  strides.pop_back();
  for (std::int64_t& stride : strides) stride /= 2;
  const bool single = tensor.type() == ScalarType::float32;
  return of_other_type(tensor, single ? ScalarType::complex64 : ScalarType::complex128, shape,
                       strides, tensor.offset() / 2);
}

Tensor make_sparse(Tensor indices, Tensor values, ShapeView shape, bool coalesced) {
  if (indices.type() != ScalarType::int64 || indices.dim() != 2 || values.dim() < 1 ||
      indices.shape()[1] != values.shape()[0] ||
      static_cast<std::size_t>(indices.shape()[0] + values.dim() - 1) != shape.size()) {
    invalid("indices " + describe(indices) + " and values " + describe(values) +
            " do not make a sparse tensor of shape " + to_string(shape));
  }
  return Tensor(
      make_intrusive<TensorImpl>(std::move(indices), std::move(values), shape, coalesced));
}

// ---- Reading tensors ---------------------------------------------------------------------------

std::vector<double> to_values(const Tensor& tensor) {
  const Tensor dense = tensor.is_sparse() ? kernels::to_dense(tensor) : tensor;
  const Tensor host = kernels::contiguous(kernels::to_device(dense, cpu));
  std::vector<double> values;
  visit_type(host.type(), [&]<typename T>(std::type_identity<T>) {
    const T* elements = Operand(host).elements<T>();
    for (std::int64_t i = 0; i < host.element_count(); ++i) {
      if constexpr (is_complex_element<T>) {
        values.push_back(elements[i].real());
        values.push_back(elements[i].imag());
      } else {
        values.push_back(convert_element<double>(elements[i]));
      }
    }
  });
  return values;
}

void register_use(const Tensor& tensor, Stream stream) {
  if (tensor.device().type != stream.device.type || stream.device.is_cpu()) return;
  if (tensor.is_sparse()) {
    register_use(tensor.indices(), stream);
    register_use(tensor.values(), stream);
  } else if (tensor.storage().stream() != stream) {
    tensor.storage().mark_crossed();
    runtime(stream.device.type).register_use(tensor.storage().data(), stream);
  }
}

std::string describe(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return (tensor.is_sparse() ? "sparse " : "") + to_string(tensor.type()) +
         to_string(tensor.shape()) + " on " + to_string(tensor.device());
}

namespace {

const Tensor& checked_dense(const Tensor& tensor) {
  if (tensor.is_sparse())
    invalid(describe(tensor) + " where only a dense tensor can be worked with");
  return tensor;
}

}  // namespace

Operand::Operand(const Tensor& tensor)
    : data(static_cast<char*>(checked_dense(tensor).storage().data()) +
           tensor.offset() * static_cast<std::int64_t>(element_size(tensor.type()))),
      block(tensor.storage().data()),
      count(tensor.element_count()),
      shape(tensor.shape()),
      strides(tensor.strides()),
      type(tensor.type()),
      is_contiguous(tensor.is_contiguous()) {}

Elementwise elementwise_form(const Computes& computes,
                             std::initializer_list<const Operand*> operands) {
  if (computes.function == Elementwise::Function::none) return {};
  const Operand& result = **operands.begin();
  if (result.type != ScalarType::float32 && result.type != ScalarType::float64) return {};
  for (const Operand* operand : operands) {
    if (!operand->is_contiguous || operand->type != result.type) return {};
    if (operand->shape != result.shape) return {};
  }
  const auto input = [&](std::size_t i) -> const void* {
    return i < operands.size() ? operands.begin()[i]->data : nullptr;
  };
  const bool is_double = result.type == ScalarType::float64;
  return {
      computes.function, is_double ? Elementwise::Element::float64 : Elementwise::Element::float32,
      result.data,       input(1),
      input(2),          result.count,
      computes.factor,   computes.term};
}

}  // namespace gradcts::reference
