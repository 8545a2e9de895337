// A gradient that another thread delivers to a pass while it runs (ASYNC-1): from a remote part of
// the graph, say. The pass is told beforehand that it will come, and counts on it like on any other
// delivery.
#pragma once

#include <exception>

#include "reference_engine/graph/node.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {

class GraphTask;

// Thread-safe. Good for one pass (BackwardOptions::announced), which waits until deliver() or
// fail() was called, once. Both may be called before the pass begins; after the pass has failed
// they do nothing.
class AnnouncedGradient {
 public:
  explicit AnnouncedGradient(Edge edge) : edge_(std::move(edge)) {}

  const Edge& edge() const { return edge_; }

  // Written on the stream that is current for its device on the calling thread (STREAM-8). One that
  // does not fit makes the pass fail.
  void deliver(Tensor gradient);

  // Makes the pass fail with this exception.
  void fail(std::exception_ptr error);

  // ---- For the engine: by the owner of the pass ----

  void attach(GraphTask& task, std::uint32_t order);
  void cancel();  // the pass does not wait any more

 private:
  enum class Phase { open, arrived, over };

  // Returns what the pass did not take, to be let go after the lock (LIFE-2).
  Tensor hand_over() GRADCTS_REQUIRES(mutex_);

  const Edge edge_;
  Mutex mutex_;
  Phase phase_ GRADCTS_GUARDED_BY(mutex_) = Phase::open;
  Tensor gradient_ GRADCTS_GUARDED_BY(mutex_);
  Stream written_on_ GRADCTS_GUARDED_BY(mutex_);
  std::exception_ptr error_ GRADCTS_GUARDED_BY(mutex_);
  GraphTask* task_ GRADCTS_GUARDED_BY(mutex_) = nullptr;
  std::uint32_t order_ GRADCTS_GUARDED_BY(mutex_) = 0;
};

}  // namespace gradcts::reference
