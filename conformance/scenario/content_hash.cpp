#include <fmt/format.h>

#include <cstdint>

#include "conformance/scenario/json_parts.h"

namespace gradcts {

// FNV-1a of 64 bits over the canonical text.
std::string content_hash(const Scenario& scenario) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : write_meaning(scenario).dump()) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace gradcts
