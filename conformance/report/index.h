// Ids of a scenario as indices into its lists.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradcts {

inline std::size_t index(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

}  // namespace gradcts
