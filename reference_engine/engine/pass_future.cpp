#include "reference_engine/engine/pass_future.h"

#include <cstdio>

namespace gradcts::reference {

std::vector<Tensor> PassFuture::wait() const {
  LockGuard lock(mutex_);
  while (!is_done_) changed_.wait(mutex_);
  if (error_) std::rethrow_exception(error_);
  return gradients_;
}

bool PassFuture::is_done() const {
  LockGuard lock(mutex_);
  return is_done_;
}

void PassFuture::then(Callback callback) {
  {
    LockGuard lock(mutex_);
    if (!is_done_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  call(callback);
}

void PassFuture::complete(std::vector<Tensor> gradients, std::exception_ptr error) {
  std::vector<Callback> callbacks;
  {
    LockGuard lock(mutex_);
    is_done_ = true;
    gradients_ = std::move(gradients);
    error_ = std::move(error);
    callbacks.swap(callbacks_);
    changed_.notify_all();
  }
  for (const Callback& callback : callbacks) call(callback);
}

void PassFuture::call(const Callback& callback) const {
  try {
    callback(*this);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "a callback of a pass threw: %s\n", error.what());
  } catch (...) {
    std::fprintf(stderr, "a callback of a pass threw\n");
  }
}

}  // namespace gradcts::reference
