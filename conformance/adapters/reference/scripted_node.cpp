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

// The same elements, whose history is that they have none.
Tensor refuse_history(const Tensor& tensor, const std::string& node) {
  const auto refusing = ref::make_node<RefusingNode>(node);
  refusing->set_next_edges({ref::gradient_edge(tensor)});
  ref::RecordingGuard no_recording(false);
  const Tensor result = ref::clone(tensor);
  ref::record_history(result, refusing);
  return result;
}

}  // namespace

ScriptedNode::ScriptedNode(const gradcts::Node& node, std::shared_ptr<kit::NodeBody<Binding>> body)
    : name_(node.name), differentiable_(node.custom->differentiable), body_(std::move(body)) {
  set_materialise(node.custom->materialise);
}

void ScriptedNode::save(const Tensor& tensor, bool is_output) {
  ref::SavedTensor& saved = saved_.emplace_back();
  is_output ? saved.save_output(tensor) : saved.save(tensor);
}

void ScriptedNode::release_saved() {
  for (auto& saved : saved_) saved.release();
}

List ScriptedNode::apply(List&& gradients) {
  List results = body_->run(*this, std::move(gradients));
  if (differentiable_ || !ref::is_recording()) return results;
  for (Tensor& result : results) {
    const bool recorded = result.defined() && ref::requires_grad(result);
    if (recorded) result = refuse_history(result, name_);
  }
  return results;
}

}  // namespace gradcts::reference_adapter
