// Ids of a scenario as indices into its lists.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradcts::fuzz {

inline std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

}  // namespace gradcts::fuzz
