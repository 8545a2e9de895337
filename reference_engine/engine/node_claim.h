// How a pass finds what it knows about a node, without a map.
//
// Note [Node claims]
// ~~~~~~~~~~~~~~~~~~
// A pass keeps one NodeState for each node that it will visit, in a dense table. For each edge it
// must get from the node at the other end to its state, and a hash map for that costs more than all
// the rest of the engine. So a node has one word, its *claim*, in which one pass at a time may note
// where in its table the node's state is: the pass's number above, the index below. Looking up is
// reading that word.
//
// While counting dependencies a pass tries to claim each node that it meets (compare-and-swap from
// "free"). Where another running pass was faster, the pass keeps the index in a small map of its
// own, which is empty for passes that share no nodes with others. A claim is given back when the
// node has run, at the latest when the pass ends. So:
//   - a pass reads its own claims only, and only while it holds them; nothing else is published by
//     the word, and relaxed order is enough;
//   - the node is alive while it is claimed, since the roots own all that is visited and the pass
//     holds the roots;
//   - numbers of passes wrap around after 2^32 passes: two that run at the same time would have to
//     be as far apart to be mixed up.
#pragma once

#include <cstdint>

#include "reference_engine/graph/node.h"

namespace gradcts::reference {

class NodeClaim {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  // The index that the pass has noted; `none` if it has no claim on the node.
  static std::uint32_t index(const Node& node, std::uint32_t pass) {
    const std::uint64_t claim = node.claim_.load(std::memory_order_relaxed);
    return claim >> 32 == pass ? static_cast<std::uint32_t>(claim) : none;
  }

  static bool try_claim(Node& node, std::uint32_t pass, std::uint32_t index) {
    if (node.claim_.load(std::memory_order_relaxed) != 0) return false;
    std::uint64_t free = 0;
    return node.claim_.compare_exchange_strong(free, std::uint64_t{pass} << 32 | index,
                                               std::memory_order_relaxed);
  }

  static void release(Node& node) { node.claim_.store(0, std::memory_order_relaxed); }
};

}  // namespace gradcts::reference
