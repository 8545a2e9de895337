// Whole files as text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gradcts {

// What is larger is refused: documents are read into memory whole, and take some twenty times of it.
inline constexpr std::size_t largest_file = std::size_t{64} << 20;

// Throws std::runtime_error with one clear line: "FILE: cannot be read: REASON".
std::string read_file(const std::string& file);

// Replaces the file at once: another reader sees the old content or the whole new one, never a
// part. Throws std::runtime_error with one clear line.
void write_file(const std::string& file, std::string_view text);

// Throws as write_file would, without touching the file.
void check_writable(const std::string& file);

}  // namespace gradcts
