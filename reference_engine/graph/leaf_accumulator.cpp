#include "reference_engine/graph/leaf_accumulator.h"

#include "reference_engine/graph/accumulation.h"
#include "reference_engine/graph/autograd_state.h"
#include "reference_engine/graph/node_hooks.h"

namespace gradcts::reference {

LeafAccumulator::LeafAccumulator(const Tensor& leaf)
    : Node(sequence, leaf.impl()), leaf_(leaf.impl()) {
  add_slot(InputMetadata(leaf));
}

Gradients LeafAccumulator::apply(Gradients&& gradients) {
  Tensor gradient = std::move(gradients[0]);
  const Tensor tensor = leaf();
  AutogradState& state = make_autograd_state(tensor);
  if (!gradient.defined() || !state.requires_grad) return {};  // LEAF-7
  state.cell()->update([&](Tensor current) {
    return accumulate_into_leaf(tensor, std::move(current), std::move(gradient));
  });
  if (hooks()) {
    hooks()->post_accumulate.for_each(
        [&](const PostAccumulateHook& hook, std::int64_t) { hook(tensor); });
  }
  return {};
}

}  // namespace gradcts::reference
