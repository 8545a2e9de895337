// A pass that runs elsewhere, and its result (ASYNC-2).
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "reference_engine/sync/mutex.h"
#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

// Thread-safe.
class PassFuture {
 public:
  using Callback = std::function<void(const PassFuture&)>;

  // Waits for the end of the pass; gives its gradients, or throws its exception, as often as it is
  // asked.
  std::vector<Tensor> wait() const;
  bool is_done() const;

  // Runs the callback once, when the pass is over: on the thread that ends it, or at once if it is
  // over already. What a callback throws is reported on the standard error stream, and stops
  // nothing.
  void then(Callback callback);

  // ---- For the engine ----

  void complete(std::vector<Tensor> gradients, std::exception_ptr error);

 private:
  void call(const Callback& callback) const;

  mutable Mutex mutex_;
  mutable ConditionVariable changed_;
  bool is_done_ GRADCTS_GUARDED_BY(mutex_) = false;
  std::vector<Tensor> gradients_ GRADCTS_GUARDED_BY(mutex_);
  std::exception_ptr error_ GRADCTS_GUARDED_BY(mutex_);
  std::vector<Callback> callbacks_ GRADCTS_GUARDED_BY(mutex_);
};

using PassFuturePointer = std::shared_ptr<PassFuture>;

}  // namespace gradcts::reference
