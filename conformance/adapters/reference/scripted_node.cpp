#include "conformance/adapters/reference/scripted_node.h"

#include <utility>

#include "conformance/adapters/reference/reference_binding.h"
#include "reference_engine/graph/operations.h"

namespace gradcts::reference_adapter {

namespace ref = gradcts::reference;
using ref::Tensor;
using List = ref::Gradients;

namespace {

// The node of a second derivative that does not exist.
class RefusingNode final : public ref::Node {
 public:
  explicit RefusingNode(std::string first) : first_(std::move(first)) {}
  std::string name() const override { return first_ + " (second derivative)"; }
  List apply(List&&) override {
    throw ref::Error(ref::ErrorCategory::not_differentiable,
                     first_ + " cannot be differentiated twice");
  }

 private:
  const std::string first_;
};

}  // namespace

ScriptedNode::ScriptedNode(const gradcts::Node& node, std::shared_ptr<kit::NodeBody<Binding>> body)
    : name_(node.name), differentiable_(node.custom->differentiable), body_(std::move(body)) {
  set_materialise(node.custom->materialise);
}

void ScriptedNode::save(const Tensor& tensor, bool is_output) {
  ref::SavedTensor& saved = *saved_.emplace_back(std::make_unique<ref::SavedTensor>());
  is_output ? saved.save_output(tensor) : saved.save(tensor);
}

void ScriptedNode::release_saved() {
  for (const auto& saved : saved_) saved->release();
}

List ScriptedNode::apply(List&& gradients) {
  if (differentiable_ || !ref::is_recording()) return body_->run(*this, std::move(gradients));
  // What comes out depends on the node's inputs and on the gradients; both derivatives are errors.
  ref::Edges edges = next_edges();
  for (const ref::Edge& edge : ref::gradient_edges(gradients)) edges.push_back(edge);
  List results = body_->run(*this, std::move(gradients));
  for (Tensor& result : results) {
    if (result.defined()) result = refuse_history(result, edges);
  }
  return results;
}

// The same elements, whose derivative is an error.
Tensor ScriptedNode::refuse_history(const Tensor& tensor, const ref::Edges& edges) const {
  const auto refusing = ref::make_node<RefusingNode>(name_);
  refusing->set_next_edges(edges);
  NoRecording no_recording;
  const Tensor result = ref::clone(tensor);
  ref::record_history(result, refusing);
  return result;
}

}  // namespace gradcts::reference_adapter
