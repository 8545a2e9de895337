// A custom node of a scenario, as a user of the reference engine would write it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "conformance/adapters/kit/binding.h"
#include "reference_engine/graph/node.h"
#include "reference_engine/graph/saved_tensor.h"

namespace gradcts::reference_adapter {

class Binding;

class ScriptedNode final : public reference::Node {
 public:
  ScriptedNode(const gradcts::Node& node, std::shared_ptr<kit::NodeBody<Binding>> body);

  // In the order of the request; before the node can run.
  void save(const reference::Tensor& tensor, bool is_output);
  reference::Tensor saved(std::size_t i) { return saved_[i]->unpack(*this); }

  std::string name() const override { return name_; }
  void release_saved() override;
  reference::Gradients apply(reference::Gradients&& gradients) override;

 private:
  reference::Tensor refuse_history(const reference::Tensor& tensor,
                                   const reference::Edges& edges) const;

  const std::string name_;
  const bool differentiable_;
  const std::shared_ptr<kit::NodeBody<Binding>> body_;
  std::vector<std::unique_ptr<reference::SavedTensor>> saved_;
};

}  // namespace gradcts::reference_adapter
