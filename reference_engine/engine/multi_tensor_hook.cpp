#include "reference_engine/engine/multi_tensor_hook.h"

#include "reference_engine/engine/graph_task.h"
#include "reference_engine/engine/thread_context.h"
#include "reference_engine/sync/atomic.h"

namespace gradcts::reference {
namespace {

// What has arrived in one pass.
struct Arrivals {
  Mutex mutex;
  std::size_t expected GRADCTS_GUARDED_BY(mutex) = 0;
  std::size_t arrived GRADCTS_GUARDED_BY(mutex) = 0;
  std::vector<Tensor> gradients GRADCTS_GUARDED_BY(mutex);
};

// Hangs as a tensor hook on each of the tensors. It must not own their nodes, which own it: it
// knows them by address, asks whether a pass visits a node with that address, and forgets it when
// the node goes, since another may be made in its place.
class MultiHook {
 public:
  MultiHook(std::vector<const Node*> nodes, MultiTensorHook hook)
      : nodes_(nodes.begin(), nodes.end()), hook_(std::move(hook)) {}

  void forget(std::size_t index) const { nodes_[index] = nullptr; }

  void arrive(std::size_t index, const Tensor& gradient) const {
    GraphTask& task = *thread_context().task;
    const auto arrivals = arrivals_of(task);
    std::vector<Tensor> complete;
    {
      LockGuard lock(arrivals->mutex);
      arrivals->gradients[index] = gradient;
      if (++arrivals->arrived != arrivals->expected) return;
      complete = std::move(arrivals->gradients);
    }
    hook_(complete);
  }

 private:
  std::shared_ptr<Arrivals> arrivals_of(GraphTask& task) const {
    std::size_t expected = 0;
    for (const auto& known : nodes_) {
      const Node* node = known;
      expected += node != nullptr && task.visits(node) ? 1 : 0;
    }
    return std::static_pointer_cast<Arrivals>(task.pass_local(this, [&] {
      auto made = std::make_shared<Arrivals>();
      LockGuard lock(made->mutex);
      made->expected = expected;
      made->gradients.resize(nodes_.size());
      return made;
    }));
  }

  mutable std::vector<Atomic<const Node*>> nodes_;
  const MultiTensorHook hook_;
};

// The hook on one of the tensors; it goes with the tensor's node.
class Participation {
 public:
  Participation(std::shared_ptr<const MultiHook> hook, std::size_t index)
      : hook_(std::move(hook)), index_(index) {}
  ~Participation() { hook_->forget(index_); }
  Participation(const Participation&) = delete;
  Participation& operator=(const Participation&) = delete;

  void arrive(const Tensor& gradient) const { hook_->arrive(index_, gradient); }

 private:
  const std::shared_ptr<const MultiHook> hook_;
  const std::size_t index_;
};

}  // namespace

HookHandle add_multi_tensor_hook(absl::Span<const Tensor> tensors, MultiTensorHook hook) {
  std::vector<const Node*> nodes;
  for (const Tensor& tensor : tensors) nodes.push_back(gradient_edge(tensor).node.get());
  const auto multi = std::make_shared<const MultiHook>(std::move(nodes), std::move(hook));
  std::vector<HookHandle> handles;
  const auto remove = [](const std::vector<HookHandle>& added) {
    for (const HookHandle& handle : added) handle.remove();
  };
  try {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto here = std::make_shared<const Participation>(multi, i);
      handles.push_back(add_tensor_hook(tensors[i], [here](const Tensor& gradient) {
        here->arrive(gradient);
        return std::nullopt;
      }));
    }
  } catch (...) {
    remove(handles);  // a tensor was refused: the hook is on none
    throw;
  }
  return HookHandle([handles, remove] { remove(handles); });
}

}  // namespace gradcts::reference
