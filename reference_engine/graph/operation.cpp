#include "reference_engine/graph/operation.h"

#include <algorithm>

#include "reference_engine/graph/autograd.h"
#include "reference_engine/graph/operations.h"
#include "reference_engine/graph/running_node.h"

namespace gradcts::reference {

Operation::Operation(const OperationKind& kind, Edges edges) : kind_(kind) {
  set_next_edges(std::move(edges));
}

Gradients Operation::apply(Gradients&& gradients) {
  const auto is_defined = [](const Tensor& gradient) { return gradient.defined(); };
  if (std::none_of(gradients.begin(), gradients.end(), is_defined)) {
    for (const SavedTensor& saved : saved_) saved.unpack(*this);  // KEEP-1, KEEP-3: for its errors
    return Gradients(next_edges().size());
  }
  if (!kind_.takes_sparse) {
    for (Tensor& gradient : gradients) {
      if (gradient.defined() && gradient.is_sparse()) gradient = to_dense(gradient);
    }
  }
  return kind_.backward(*this, gradients);
}

void Operation::release_saved() {
  for (SavedTensor& saved : saved_) saved.release();
}

bool Operation::needs(std::uint32_t edge) const {
  return is_edge_needed(*this, edge);
}

const InputMetadata& Operation::input(std::uint32_t edge) const {
  const Edge& next = next_edges()[edge];
  return next.node->slot(next.slot);
}

Tensor Operation::fit(std::uint32_t edge, const Tensor& gradient) const {
  const InputMetadata& expected = input(edge);
  return cast(sum_to(gradient, expected.shape), expected.type);
}

OperationPointer record(const OperationKind& kind, const Tensor& result,
                        absl::Span<const Tensor> inputs) {
  if (!is_differentiable(result.type()) || !is_recorded(inputs)) return nullptr;
  auto operation = make_node<Operation>(kind, gradient_edges(inputs));
  record_history(result, operation);
  return operation;
}

OperationPointer record(const OperationKind& kind, const Tensor& result,
                        std::initializer_list<Tensor> inputs) {
  return record(kind, result, absl::Span<const Tensor>(inputs.begin(), inputs.size()));
}

}  // namespace gradcts::reference
