// What a piece of work computes, in a form for which a device may have a kernel of its own. Plain
// data.
#pragma once

#include <cstdint>

namespace gradcts::reference {

// result[i] from a[i] and b[i], for i < count: contiguous elements of one type. A device's kernel
// gives the numbers that the work's own function (Work in runtime.h) gives, bit for bit, NaNs'
// payloads aside.
struct Elementwise {
  enum class Function : std::uint8_t { none, fill, copy, add, sub, mul, affine };
  enum class Element : std::uint8_t { float32, float64 };

  Function function = Function::none;  // then the work has no such form
  Element element = Element::float32;
  void* result = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  std::int64_t count = 0;
  double factor = 1;  // affine: factor * a + term; fill: term
  double term = 0;
};

}  // namespace gradcts::reference
