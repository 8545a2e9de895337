// The place of a tensor's `.grad`. Separate from the tensor, so that a node can retain a gradient
// there without owning the tensor, which owns the node.
#pragma once

#include <memory>

#include "reference_engine/sync/mutex.h"
#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

class GradientCell {
 public:
  Tensor get() const {
    LockGuard lock(mutex_);
    return gradient_;
  }

  // What was there is let go after the lock: it may own a graph, and so user objects (LIFE-2).
  void set(Tensor gradient) {
    LockGuard lock(mutex_);
    std::swap(gradient_, gradient);
  }

  // Replaces the gradient by what change(current) makes of it; changes of one cell do not overlap
  // (LEAF-6). `change` runs under the lock: it computes, and calls no user code.
  template <typename Change>
  void update(Change&& change) {
    Tensor old;
    LockGuard lock(mutex_);
    old = gradient_;
    note_use(old);
    gradient_ = change(std::move(gradient_));
  }

 private:
  // Of what may have been made on another stream than the one it is added to on (STREAM-3).
  static void note_use(const Tensor& gradient) {
    if (!gradient.defined() || gradient.device().is_cpu()) return;
    register_use(gradient, current_stream(gradient.device()));
  }

  mutable Mutex mutex_;
  Tensor gradient_ GRADCTS_GUARDED_BY(mutex_);
};

using GradientCellPointer = std::shared_ptr<GradientCell>;

}  // namespace gradcts::reference
