#include "reference_engine/distributed/unreached.h"

#include "absl/container/flat_hash_set.h"
#include "reference_engine/graph/autograd.h"

namespace gradcts::reference {

std::vector<bool> unreached_leaves(absl::Span<const Tensor> outputs,
                                   absl::Span<const Tensor> leaves) {
  absl::flat_hash_set<const Node*> seen;
  std::vector<const Node*> open;
  const auto visit = [&](const Edge& edge) {
    if (edge && seen.insert(edge.node.get()).second) open.push_back(edge.node.get());
  };
  for (const Tensor& output : outputs) visit(gradient_edge(output));
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const Edge& edge : node->next_edges()) visit(edge);
  }
  std::vector<bool> unreached;
  for (const Tensor& leaf : leaves) unreached.push_back(!seen.contains(accumulator(leaf).get()));
  return unreached;
}

}  // namespace gradcts::reference
