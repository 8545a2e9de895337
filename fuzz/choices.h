// Choices read from bytes: the one source of decisions of the decoder.
//
// Every byte string is a full sequence of choices: past its end every choice is 0, and 0 is always
// the simplest one. So cutting bytes off, or making them 0, makes a case simpler, and nothing is
// refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gradcts::fuzz {

using Bytes = std::span<const std::uint8_t>;

class Choices {
 public:
  explicit Choices(Bytes bytes) : bytes_(bytes) {}

  // 0 .. n-1, for n up to 256.
  std::uint32_t below(std::size_t n) { return n <= 1 ? 0 : next() % static_cast<std::uint32_t>(n); }
  // True for one byte in n.
  bool one_in(std::uint32_t n) { return next() % n == n - 1; }

 private:
  std::uint32_t next() { return place_ < bytes_.size() ? bytes_[place_++] : 0U; }

  Bytes bytes_;
  std::size_t place_ = 0;
};

}  // namespace gradcts::fuzz
