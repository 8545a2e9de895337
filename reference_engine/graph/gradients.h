// The gradients that flow into or out of a node, one a slot or edge; undefined ones are "none".
//
// A small vector, with room for two inside. It is moved several times for each node that runs, and
// so is written to be moved as three words: a Tensor is one pointer, and moving it is copying that
// and forgetting the source.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>

#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

class Gradients {
 public:
  using value_type = Tensor;
  using iterator = Tensor*;
  using const_iterator = const Tensor*;

  Gradients() {}
  explicit Gradients(std::size_t count) { resize(count); }
  Gradients(std::size_t count, const Tensor& gradient) {
    reserve(count);
    for (std::size_t i = 0; i < count; ++i) push_back(gradient);
  }
  Gradients(std::initializer_list<Tensor> gradients) {
    reserve(gradients.size());
    for (const Tensor& gradient : gradients) push_back(gradient);
  }
  template <std::forward_iterator Iterator>
  Gradients(Iterator first, Iterator last) {
    reserve(static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first) push_back(*first);
  }
  Gradients(const Gradients& other) : Gradients(other.begin(), other.end()) {}
  Gradients(Gradients&& other) noexcept { take(other); }
  ~Gradients() { free(); }

  Gradients& operator=(const Gradients& other) {
    if (this != &other) *this = Gradients(other);
    return *this;
  }
  Gradients& operator=(Gradients&& other) noexcept {
    if (this == &other) return *this;
    free();
    take(other);
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Tensor* data() { return is_inside() ? inside() : outside_; }
  const Tensor* data() const { return is_inside() ? inside() : outside_; }
  iterator begin() { return data(); }
  iterator end() { return data() + size_; }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size_; }
  Tensor& operator[](std::size_t index) { return data()[index]; }
  const Tensor& operator[](std::size_t index) const { return data()[index]; }
  Tensor& back() { return data()[size_ - 1]; }
  const Tensor& back() const { return data()[size_ - 1]; }

  void push_back(Tensor gradient) {
    if (size_ == capacity_) reserve(2 * std::size_t{capacity_});
    new (data() + size_) Tensor(std::move(gradient));
    ++size_;
  }

  // New ones are undefined.
  void resize(std::size_t count) {
    reserve(count);
    Tensor* gradients = data();
    for (std::size_t i = size_; i < count; ++i) new (gradients + i) Tensor();
    std::destroy(gradients + std::min<std::size_t>(count, size_), gradients + size_);
    size_ = static_cast<std::uint32_t>(count);
  }

  void clear() { resize(0); }

  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }

 private:
  static constexpr std::uint32_t room_inside = 2;

  bool is_inside() const { return capacity_ == room_inside; }
  Tensor* inside() { return reinterpret_cast<Tensor*>(inside_); }
  const Tensor* inside() const { return reinterpret_cast<const Tensor*>(inside_); }

  void grow(std::size_t count) {
    auto* memory = static_cast<Tensor*>(::operator new(count * sizeof(Tensor)));
    std::uninitialized_move(begin(), end(), memory);
    const std::uint32_t size = size_;
    free();
    outside_ = memory;
    size_ = size;
    capacity_ = static_cast<std::uint32_t>(count);
  }

  void take(Gradients& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, room_inside);
    std::memcpy(static_cast<void*>(inside_), other.inside_, sizeof(inside_));
  }

  void free() noexcept {
    if (size_ == 0 && is_inside()) return;
    std::destroy(begin(), end());
    if (!is_inside()) ::operator delete(outside_);
    size_ = 0;
    capacity_ = room_inside;
  }

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = room_inside;  // more than that: outside
  union {
    Tensor* outside_;
    alignas(Tensor) unsigned char inside_[room_inside * sizeof(Tensor)];
  };
};

}  // namespace gradcts::reference
