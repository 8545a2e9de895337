#include "reference_engine/graph/saved_tensor.h"

#include <vector>

#include "reference_engine/error.h"
#include "reference_engine/graph/autograd.h"
#include "reference_engine/graph/autograd_state.h"
#include "reference_engine/graph/recording.h"
#include "reference_engine/memory/per_thread.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

using HooksPointer = std::shared_ptr<const SavedTensorHooks>;

std::vector<HooksPointer>& hooks_of_thread() {
  return PerThread<std::vector<HooksPointer>>::get();
}

// Runs without recording, and on a copy: what a hook does to its argument must not reach the
// forward step, even if it is about to be refused (B052).
std::shared_ptr<void> pack(const SavedTensorHooks& hooks, const Tensor& tensor) {
  RecordingGuard guard(false);
  const Tensor argument = kernels::clone(tensor);
  const std::uint32_t version = argument.version();
  auto packed = hooks.pack(argument);
  if (argument.version() != version) {
    throw Error(ErrorCategory::hook_result,
                "a pack hook for saved tensors changed its argument in place: " + describe(tensor));
  }
  return packed;
}

}  // namespace

// What a pair of hooks made of a tensor.
struct SavedTensor::Packed {
  HooksPointer hooks;
  std::shared_ptr<void> value;
  InputMetadata kind;  // of the tensor

  // Throws where the hook returns another kind of tensor: the node would read what is not there.
  Tensor unpack(const Node& owner) const {
    Tensor tensor = hooks->unpack(value);
    if (tensor.defined() && tensor.shape() == kind.shape && tensor.type() == kind.type &&
        tensor.device() == kind.device()) {
      return tensor;
    }
    throw Error(ErrorCategory::hook_result, "an unpack hook for saved tensors of node " +
                                                owner.name() + " returned a tensor " +
                                                describe(tensor) + ", expected " + describe(kind));
  }
};

struct SavedTensor::Content {
  Tensor tensor;  // without its place in the graph, unless it is a leaf; undefined if packed
  Edge edge;      // that place
  bool is_output = false;  // then the place is a slot of the owner
  std::uint32_t slot = 0;
  std::uint32_t version = 0;
  std::unique_ptr<const Packed> packed;  // null where no hooks were set
};

std::shared_ptr<SavedTensor::Content> SavedTensor::make_content(const Tensor& tensor) {
  auto content = std::make_shared<Content>();
  content->version = tensor.version();
  if (!hooks_of_thread().empty()) {
    const HooksPointer hooks = hooks_of_thread().back();  // held: it may close its context (B051)
    content->packed.reset(new Packed{hooks, pack(*hooks, tensor), InputMetadata(tensor)});
  }
  return content;
}

void SavedTensor::save(const Tensor& tensor) {
  if (!tensor.defined()) return;
  auto content = make_content(tensor);
  const AutogradState* state = autograd_state(tensor);
  if (content->packed) {
    content->edge = gradient_edge(tensor);
  } else if (state != nullptr && state->producer) {
    // An in-place operation may give the tensor a new history that leads here: no cycle (LIFE-1).
    content->edge = state->producer;
    content->tensor = tensor.alias();
  } else if (!requires_grad(tensor)) {  // it may be given a first history, to the same effect
    content->tensor = tensor.alias();
  } else {
    content->tensor = tensor;
  }
  LockGuard lock(mutex_);
  content_ = std::move(content);
}

void SavedTensor::save_output(const Tensor& output) {
  auto content = make_content(output);
  content->is_output = true;
  content->slot = gradient_edge(output).slot;
  if (!content->packed) content->tensor = output.alias();
  LockGuard lock(mutex_);
  content_ = std::move(content);
}

Tensor SavedTensor::unpack(Node& owner) const {
  std::shared_ptr<const Content> content;
  {
    LockGuard lock(mutex_);
    if (released_) {
      throw Error(ErrorCategory::graph_released,
                  "a second backward pass through node " + owner.name() +
                      ", whose saved tensors were released by the first one; to go through a graph "
                      "twice, pass keep_graph = true the first time");
    }
    content = content_;
  }
  if (!content) return {};
  Tensor tensor = content->packed ? content->packed->unpack(owner) : content->tensor;
  if (!content->packed && tensor.version() != content->version) {
    throw Error(ErrorCategory::saved_tensor_modified,
                "node " + owner.name() + " saved a tensor " + describe(tensor) + " at version " +
                    std::to_string(content->version) +
                    ", which was changed in place since: it is at "
                    "version " +
                    std::to_string(tensor.version()));
  }
  if (!content->is_output && !content->edge) return tensor;
  Edge edge = content->is_output ? owner.output_place(content->slot) : content->edge;
  if (!edge || !is_recording()) return tensor;
  tensor = tensor.alias();
  make_autograd_state(tensor).producer = std::move(edge);
  return tensor;
}

void SavedTensor::release() {
  std::shared_ptr<const Content> content;  // let go after the lock
  LockGuard lock(mutex_);
  content = std::move(content_);
  released_ = released_ || content != nullptr;
}

void push_saved_tensor_hooks(SavedTensorHooks hooks) {
  hooks_of_thread().push_back(std::make_shared<const SavedTensorHooks>(std::move(hooks)));
}

void pop_saved_tensor_hooks() {
  auto& stack = hooks_of_thread();
  if (stack.empty()) {
    throw Error(ErrorCategory::invalid_argument,
                "no hooks for saved tensors are set on this thread");
  }
  HooksPointer last = std::move(stack.back());
  stack.pop_back();
}

}  // namespace gradcts::reference
