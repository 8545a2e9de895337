// The gradients that flow into or out of a node, one a slot or edge; undefined ones are "none".
//
// A small vector, with room for two inside. It is moved several times for each node that runs, and
// so is written to be moved as two or three words: a Tensor is one pointer, and moving it is
// copying that and forgetting the source. Size and capacity are one word, because a processor that
// has just written half of a word is slow to read the whole.
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
  Gradients(Gradients&& other) noexcept { take(other); }  // leaves the other one empty
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

  std::size_t size() const { return static_cast<std::uint32_t>(counts_); }
  bool empty() const { return size() == 0; }
  Tensor* data() { return is_inside() ? inside() : outside_; }
  const Tensor* data() const { return is_inside() ? inside() : outside_; }
  iterator begin() { return data(); }
  iterator end() { return data() + size(); }
  const_iterator begin() const { return data(); }
  const_iterator end() const { return data() + size(); }
  Tensor& operator[](std::size_t index) { return data()[index]; }
  const Tensor& operator[](std::size_t index) const { return data()[index]; }
  Tensor& back() { return data()[size() - 1]; }
  const Tensor& back() const { return data()[size() - 1]; }

  void push_back(Tensor gradient) {
    if (size() == capacity()) reserve(2 * capacity());
    new (data() + size()) Tensor(std::move(gradient));
    ++counts_;
  }

  // New ones are undefined.
  void resize(std::size_t count) {
    reserve(count);
    Tensor* gradients = data();
    for (std::size_t i = size(); i < count; ++i) new (gradients + i) Tensor();
    std::destroy(gradients + std::min(count, size()), gradients + size());
    set_counts(count, capacity());
  }

  void clear() { free(); }

  void reserve(std::size_t count) {
    if (count > capacity()) grow(count);
  }

 private:
  static constexpr std::size_t room_inside = 2;
  static constexpr std::uint64_t none_inside = std::uint64_t{room_inside} << 32;

  std::size_t capacity() const { return counts_ >> 32; }
  void set_counts(std::size_t size, std::size_t capacity) {
    counts_ = std::uint64_t{capacity} << 32 | size;
  }

  bool is_inside() const { return capacity() == room_inside; }
  Tensor* inside() { return reinterpret_cast<Tensor*>(inside_); }
  const Tensor* inside() const { return reinterpret_cast<const Tensor*>(inside_); }

  void grow(std::size_t count) {
    auto* memory = static_cast<Tensor*>(::operator new(count * sizeof(Tensor)));
    std::uninitialized_move(begin(), end(), memory);
    const std::size_t had = size();
    free();
    outside_ = memory;
    set_counts(had, count);
  }

  void take(Gradients& other) noexcept {
    counts_ = std::exchange(other.counts_, none_inside);
    std::memcpy(static_cast<void*>(inside_), other.inside_, sizeof(Tensor));
    if (size() > 1) {
      std::memcpy(static_cast<void*>(inside() + 1), other.inside() + 1, sizeof(Tensor));
    }
  }

  void free() noexcept {
    if (counts_ == none_inside) return;
    std::destroy(begin(), end());
    if (!is_inside()) ::operator delete(outside_);
    counts_ = none_inside;
  }

  std::uint64_t counts_ =
      none_inside;  // capacity above, size below; more than room_inside: outside
  union {
    Tensor* outside_;
    alignas(Tensor) unsigned char inside_[room_inside * sizeof(Tensor)];
  };
};

}  // namespace gradcts::reference
