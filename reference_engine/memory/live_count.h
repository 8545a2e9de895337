// How many tensors, nodes and passes are alive in the process (LIFE-1).
//
// Each thread counts for itself and a question adds the threads up, so that counting costs callers
// on separate graphs nothing in common. Exact whenever no other thread makes or frees such objects
// meanwhile.
#pragma once

#include <cstdint>

namespace gradcts::reference {

enum class LiveKind : std::uint8_t { tensor, node, pass };
inline constexpr int live_kind_count = 3;

std::int64_t live_count(LiveKind kind);

// To be called by constructors (+1) and destructors (-1).
void count_live(LiveKind kind, std::int64_t change);

}  // namespace gradcts::reference
