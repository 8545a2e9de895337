#include "conformance/scenario/file_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

namespace gradcts {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void fail(const std::string& file, const char* what) {
  throw std::runtime_error(fmt::format("{}: {}: {}", file, what, std::strerror(errno)));
}

File open_file(const std::string& file, const char* mode) {
  return File(std::fopen(file.c_str(), mode), std::fclose);
}

// A device or a pipe, such as /dev/stdout, cannot be replaced: it is written to.
bool can_be_replaced(const std::string& file) {
  std::error_code ignored;
  return !std::filesystem::exists(file, ignored) || std::filesystem::is_regular_file(file, ignored);
}

std::string part_name(const std::string& file) {
  return fmt::format("{}.{}.part", file, getpid());
}

}  // namespace

std::string read_file(const std::string& file) {
  const File opened = open_file(file, "rb");
  if (!opened) fail(file, "cannot be read");
  std::string text;
  char part[65536];
  while (const std::size_t size = std::fread(part, 1, sizeof part, opened.get())) {
    text.append(part, size);
    if (text.size() <= largest_file) continue;
    errno = EFBIG;
    fail(file, "cannot be read");
  }
  if (std::ferror(opened.get())) fail(file, "cannot be read");
  return text;
}

void write_file(const std::string& file, std::string_view text) {
  const bool replace = can_be_replaced(file);
  const std::string target = replace ? part_name(file) : file;
  File opened = open_file(target, "wb");
  if (!opened) fail(file, "cannot be written");
  const bool written = std::fwrite(text.data(), 1, text.size(), opened.get()) == text.size();
  const bool closed = std::fclose(opened.release()) == 0;
  const bool moved =
      written && closed && (!replace || std::rename(target.c_str(), file.c_str()) == 0);
  if (moved) return;
  const int reason = errno;
  if (replace) std::remove(target.c_str());
  errno = reason;
  fail(file, "cannot be written");
}

void check_writable(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    errno = EISDIR;
    fail(file, "cannot be written");
  }
  const bool replace = can_be_replaced(file);
  const std::string target = replace ? part_name(file) : file;
  if (!open_file(target, "ab")) fail(file, "cannot be written");
  if (replace) std::remove(target.c_str());
}

}  // namespace gradcts
