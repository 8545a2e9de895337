// GraphTask: one pass, from the call to its result.
//
// Note [Two kinds of pass]
// ~~~~~~~~~~~~~~~~~~~~~~~~
// A pass whose nodes all run on the CPU is run by one thread from beginning to end (the caller, or
// the pool thread that stands in for it), so its table needs no lock, its counters no atomic
// operation, and a gradient can be added to its slot as soon as it is there. Nearly all passes are
// of this kind, and the cost of a node is what users of an engine pay: this is the *local* kind.
//
// Where a device takes part, nodes finish on several threads. Then deliveries are made under the
// pass's lock and only put down; the thread that will run the node adds them up, in an order that
// does not depend on which came first (ACC-5), after its stream has waited for the streams that
// wrote them (STREAM-2).
//
// Note [Life of a pass]
// ~~~~~~~~~~~~~~~~~~~~~
// outstanding() counts the queue entries that have not been finished, plus one for the owner (the
// thread that made the call). The owner alone runs callbacks and takes the result, when only its
// own one is left: so completion happens once, whoever finishes last (THREAD-3). With exit_on_error
// the owner may leave at the first error: it gives the pass up, takes what is still in its own
// queue out again, and gives back its one. Whoever then brings the count to zero frees the pass.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "reference_engine/engine/announced_gradient.h"
#include "reference_engine/engine/engine.h"
#include "reference_engine/engine/node_states.h"
#include "reference_engine/engine/pass_compiler.h"
#include "reference_engine/engine/ready_queue.h"
#include "reference_engine/graph/anomaly.h"
#include "reference_engine/graph/gradient_cell.h"
#include "reference_engine/graph/thread_local_value.h"

namespace gradcts::reference {

// A gradient on its way to a slot, in a pass that is not local.
struct Delivery {
  std::uint32_t slot;
  std::uint64_t order;  // by this, deliveries to a slot are added up
  Tensor gradient;
  Stream producer;  // where it was written
  Event written;    // to be waited for; null where that is the reader's stream
};

// One captured slot of a node.
struct PlannedCapture {
  std::uint32_t slot;
  std::uint32_t result;            // its place in what grad() returns
  std::vector<CaptureHook> hooks;  // the caller's may be gone while the pass still runs (ERR-5)
  GradientCellPointer accumulate_into;  // for inputs=: the gradient is added there, not returned
  std::uint32_t next = 0;               // the node's next capture, counted from 1; 0: none
};

struct PassOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool exit_on_error = false;
};

class GraphTask {
 public:
  GraphTask(const PassOptions& options, int depth, GraphTask* parent,
            std::shared_ptr<ReadyQueue> queue);
  GraphTask(const GraphTask&) = delete;
  GraphTask& operator=(const GraphTask&) = delete;

  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory);

  // ---- Fixed before the first push (DEV-7), so readable by all ---------------------------------

  const PassOptions options;
  const std::uint64_t id;
  const int depth;
  // The pass that this one is nested in and that outlives it: none for one that may return while a
  // node of it still runs (ERR-5).
  GraphTask* const parent;
  const std::shared_ptr<ReadyQueue> queue;  // of the CPU's nodes, and to wake the owner
  const ThreadLocalValue user_value;        // what the caller had
  const AnomalyMode anomaly;                // what the caller had
  bool is_local = true;
  bool is_pruned = false;              // only nodes that lead to an input run
  bool is_checkpoint_valid = true;     // this and all passes around it are plain
  std::vector<Stream> caller_streams;  // current at the call, for each device that takes part
  std::uint32_t planned = 0;           // nodes that take part

  // They keep the graph, and so are freed after `states`, which points into it.
  absl::InlinedVector<Root, 1> roots;
  std::vector<std::shared_ptr<AnnouncedGradient>> announced;  // waited for, until there is an error

  // The queues of the devices that take part.
  std::vector<std::pair<Device, std::shared_ptr<ReadyQueue>>> device_queues;

  // Where a node runs (DEV-3).
  ReadyQueue& queue_of(const Node& node) const;

  // Does the pass want a gradient for this node, which has not run yet? For the pass's threads.
  bool is_needed(const Node& node) const;

  // Does the node run in this pass, or has it run? For the pass's threads.
  bool runs(const Node& node) const;

  // Does, or did, gradient arrive at a node with this address?
  bool visits(const Node* address) const;

  // Was a node that was asked for found from the roots? Before anything ran.
  bool reaches(const Node& target) const;

  // Something of the pass's own for whoever asks with this key; made on first use, freed with the
  // pass.
  std::shared_ptr<void> pass_local(const void* key,
                                   const std::function<std::shared_ptr<void>()>& make);

  // ---- Of the thread that runs the pass; under `mutex` if it is not local ----------------------

  NodeStates states;
  std::vector<PlannedCapture> captures;

  // Set where the pass is replayed: then it is asked and run instead of `states` and a queue.
  std::unique_ptr<CompiledPass> compiled;

  mutable Mutex mutex;
  std::vector<std::vector<Delivery>> deliveries GRADCTS_GUARDED_BY(mutex);  // by index of the state
  std::vector<Stream> written_streams
      GRADCTS_GUARDED_BY(mutex);  // of leaves and captures (STREAM-5)
  std::vector<std::function<void()>> callbacks GRADCTS_GUARDED_BY(mutex);
  std::size_t callbacks_run GRADCTS_GUARDED_BY(mutex) = 0;
  absl::flat_hash_map<const void*, std::shared_ptr<void>> locals GRADCTS_GUARDED_BY(mutex);
  std::vector<Tensor> results;  // of grad(); each written once, by the thread that captures it

  // ---- Errors: any thread ----

  bool has_error() const { return has_error_.load(std::memory_order_acquire); }
  void set_error(std::exception_ptr error);  // the first one counts (ERR-1)
  std::exception_ptr error() const;

  // ---- Progress ----

  // Throws where nodes that take part were never ready (ERR-7). For the owner, at the end.
  void check_complete() const;

  void add_outstanding() {
    if (is_local) {
      outstanding_.store(outstanding_.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
    } else {
      outstanding_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // An entry is finished, or dropped. If that was the last one, whoever waits is woken, and this
  // may be gone when the function returns.
  void finish_one() {
    if (is_local) {
      outstanding_.store(outstanding_.load(std::memory_order_relaxed) - 1,
                         std::memory_order_relaxed);
    } else {
      finish_shared(1);
    }
  }

  // Is there nothing left to wait for? For the owner.
  bool is_finished() const {
    return outstanding_.load(std::memory_order_acquire) == 1 ||
           (options.exit_on_error && has_error());
  }

  // After an error nothing from outside is waited for. For the owner.
  void cancel_announced();

  bool is_given_up() const { return is_given_up_.load(std::memory_order_relaxed); }

  // The owner's last use. Frees the pass, now or when its last entry is finished.
  void leave();

 private:
  ~GraphTask();
  void finish_shared(std::int64_t count);

  Atomic<std::int64_t> outstanding_{1};
  Atomic<bool> has_error_{false};
  Atomic<bool> is_given_up_{false};
  mutable Mutex error_mutex_;
  std::exception_ptr error_ GRADCTS_GUARDED_BY(error_mutex_);
};

// The owner's hold on a pass: leaves it, however the call ends.
struct LeaveTask {
  void operator()(GraphTask* task) const { task->leave(); }
};
using OwnedTask = std::unique_ptr<GraphTask, LeaveTask>;

}  // namespace gradcts::reference
