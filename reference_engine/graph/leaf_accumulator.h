// The node that adds a gradient into a leaf's `.grad` (LEAF-1 to LEAF-8).
//
// Note [A leaf and its accumulator]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// A graph must keep the leaf that it accumulates into, and a leaf must always lead to one and the
// same accumulator, with the hooks on it. Two pointers, one of them weak, would do, and then the
// accumulator and its hooks vanish whenever no graph is there (B047). Here the two are one object
// as far as lifetime goes: the leaf owns its accumulator, and a reference to the accumulator *is* a
// reference to the leaf. So there is no cycle, no weak pointer and no lock, and hooks stay as long
// as the leaf does.
#pragma once

#include "reference_engine/graph/node.h"

namespace gradcts::reference {

class LeafAccumulator : public Node {
 public:
  // Accumulators run before all other nodes (ORDER-1).
  static constexpr std::uint64_t sequence = ~std::uint64_t{0};

  explicit LeafAccumulator(const Tensor& leaf);

  Gradients apply(Gradients&& gradients) override;
  std::string name() const override { return "LeafAccumulator"; }

  Tensor leaf() const { return Tensor(IntrusivePointer<TensorImpl>(leaf_)); }

 private:
  TensorImpl* leaf_;  // owns this
};

}  // namespace gradcts::reference
