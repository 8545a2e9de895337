// What the fuzzers of readers share. Each is a libFuzzer program: bytes that a person, an adapter or a
// broken disk may hand over go to one reader, which must take them or refuse them as its header says.
// Anything else ends the program: another exception, an abort, memory that is not its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gradcts {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "reader: %s\n", what);
  std::abort();
}

// One clear line: it names something, and does not go on.
inline void demand_one_line(const std::exception& refusal) {
  const std::string_view text = refusal.what();
  demand(!text.empty(), "a refusal without words");
  demand(text.find('\n') == std::string_view::npos, "a refusal of several lines");
}

}  // namespace gradcts
