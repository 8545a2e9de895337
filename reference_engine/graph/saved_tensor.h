// A tensor that a node keeps from the forward step for its backward.
//
// Guarantees. What unpack() returns has the elements and the place in the graph that the tensor had
// when it was saved, or unpack() throws: Error(saved_tensor_modified) if it was changed in place
// since, also through a view or a detached alias (KEEP-3); Error(graph_released) after release()
// (KEEP-1). A node may save its own output without a cycle (GRAPH2-4). Hooks that are current when
// a tensor is saved pack it, and the same pair unpacks it (HOOK-9).
//
// Thread safety: several passes may unpack at a time; releasing meanwhile is safe.
#pragma once

#include <functional>
#include <memory>

#include "reference_engine/graph/node.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {

// `pack` turns a tensor (without history) into anything; `unpack` turns that back into a tensor of
// the same shape, type and device, and one of another kind is Error(hook_result).
struct SavedTensorHooks {
  std::function<std::shared_ptr<void>(const Tensor&)> pack;
  std::function<Tensor(const std::shared_ptr<void>&)> unpack;
};

class SavedTensor {
 public:
  SavedTensor() = default;  // of an undefined tensor

  explicit SavedTensor(const Tensor& tensor) { save(tensor); }

  // Once, before other threads can see the node.
  void save(const Tensor& tensor);

  // The same for an output of the node that saves it, to which it must be attached already
  // (record_history).
  void save_output(const Tensor& output);

  // `owner` is the node that saved the tensor.
  Tensor unpack(Node& owner) const;

  void release();

 private:
  struct Packed;
  struct Content;
  static std::shared_ptr<Content> make_content(const Tensor& tensor);

  mutable Mutex mutex_;
  std::shared_ptr<const Content> content_ GRADCTS_GUARDED_BY(mutex_);
  bool released_ GRADCTS_GUARDED_BY(mutex_) = false;
};

// Pairs of hooks are per thread and nest; the innermost applies. Closing a context from inside its
// own hook is allowed.
void push_saved_tensor_hooks(SavedTensorHooks hooks);
void pop_saved_tensor_hooks();

class SavedTensorHooksGuard {
 public:
  explicit SavedTensorHooksGuard(SavedTensorHooks hooks) {
    push_saved_tensor_hooks(std::move(hooks));
  }
  ~SavedTensorHooksGuard() { pop_saved_tensor_hooks(); }
  SavedTensorHooksGuard(const SavedTensorHooksGuard&) = delete;
  SavedTensorHooksGuard& operator=(const SavedTensorHooksGuard&) = delete;
};

}  // namespace gradcts::reference
