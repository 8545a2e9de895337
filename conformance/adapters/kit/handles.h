// The program's own handles: one for each value of the scenario.
//
// They are the engine's handles themselves, so that the engine sees exactly the use counts that a
// program like the scenario's would give. Thread-safe: threads of a scenario may bind and drop
// values that others read. A handle that goes is let go outside the lock, since a whole graph may
// go with it.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "conformance/adapters/kit/sync.h"
#include "conformance/scenario/scenario.h"

namespace gradcts::kit {

template <typename Tensor>
class Handles {
 public:
  explicit Handles(std::size_t count) : handles_(count) {}

  Tensor get(ValueId id) const {
    std::lock_guard lock(mutex_);
    return handles_[static_cast<std::size_t>(id)];
  }
  void set(ValueId id, Tensor tensor) {
    std::lock_guard lock(mutex_);
    std::swap(handles_[static_cast<std::size_t>(id)], tensor);
  }
  void drop(ValueId id) { set(id, Tensor()); }


 private:
  mutable Mutex mutex_;
  std::vector<Tensor> handles_;
};

}  // namespace gradcts::kit
