// Operands made ready for a loop over contiguous elements of one type. For kernels only.
#pragma once

#include <algorithm>
#include <memory>

#include "reference_engine/tensor/element.h"
#include "reference_engine/tensor/strided_copy.h"

namespace gradcts::reference {

// The operand's elements, broadcast to the shape and converted to T: where they lie if they are so
// already, else in a copy.
template <typename T>
class StagedInput {
 public:
  StagedInput(const Operand& operand, ShapeView shape) {
    visit_type(operand.type, [&]<typename From>(std::type_identity<From>) {
      if constexpr (std::is_same_v<From, T>) {
        if (operand.is_contiguous && ShapeView(operand.shape) == shape) {
          elements_ = operand.elements<T>();
          return;
        }
      }
      copy<From>(operand, shape);
    });
  }

  const T* elements() const { return elements_; }

 private:
  template <typename From>
  void copy(const Operand& operand, ShapeView shape) {
    const auto count = static_cast<std::size_t>(element_count(shape));
    copy_ = std::make_unique<T[]>(count);
    elements_ = copy_.get();
    if constexpr (std::is_same_v<From, T>) {
      gather_elements<T>(operand, shape, copy_.get());
    } else {
      auto unconverted = std::make_unique<From[]>(count);
      gather_elements<From>(operand, shape, unconverted.get());
      std::transform(unconverted.get(), unconverted.get() + count, copy_.get(),
                     [](From value) { return convert_element<T>(value); });
    }
  }

  const T* elements_ = nullptr;
  std::unique_ptr<T[]> copy_;
};

// Room for the operand's elements as T, in row-major order; finish() puts them where the operand's
// strides and type say.
template <typename T>
class StagedOutput {
 public:
  explicit StagedOutput(const Operand& operand) : operand_(operand) {
    visit_type(operand.type, [&]<typename To>(std::type_identity<To>) {
      is_direct_ = std::is_same_v<To, T> && operand.is_contiguous;
    });
    if (!is_direct_) copy_ = std::make_unique<T[]>(static_cast<std::size_t>(operand.count));
  }

  T* elements() { return is_direct_ ? operand_.template elements<T>() : copy_.get(); }

  void finish() {
    if (is_direct_) return;
    visit_type(operand_.type, [&]<typename To>(std::type_identity<To>) {
      if constexpr (std::is_same_v<To, T>) {
        scatter_elements<T>(copy_.get(), operand_);
      } else {
        auto converted = std::make_unique<To[]>(static_cast<std::size_t>(operand_.count));
        std::transform(copy_.get(), copy_.get() + operand_.count, converted.get(),
                       [](T value) { return convert_element<To>(value); });
        scatter_elements<To>(converted.get(), operand_);
      }
    });
  }

 private:
  const Operand& operand_;
  bool is_direct_ = false;
  std::unique_ptr<T[]> copy_;
};

}  // namespace gradcts::reference
