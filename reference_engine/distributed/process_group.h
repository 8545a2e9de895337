// A group of ranks that compute sums together: what a Reducer needs of a network.
//
// Each rank has one ProcessGroup object, its seat in the group. The k-th collective of a rank
// belongs with the k-th of every other rank, whatever they are called: who starts them in another
// order reduces the wrong things together, and a group that can see that says so.
//
// Note [Rounds]
// ~~~~~~~~~~~~~
// When a step fails on one rank, the others wait for sums that will never come. So the rank gives
// its *round* up: whatever of that round is unfinished fails on the other ranks at once, with its
// reason. They give their round up in turn, and when all have, the next round begins with a clean
// count. A back end over a network may be unable to begin anew: then everything fails with the
// first reason, and the caller makes another group.
//
// Thread safety: one thread at a time uses a rank's object; wait() may be called from another one.
#pragma once

#include <memory>
#include <string>

#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

// A collective that was started.
class CollectiveWork {
 public:
  virtual ~CollectiveWork() = default;

  // Returns when the result is there, and makes the current stream of the tensor's device wait for
  // it. Throws Error(rank_failure), naming the collective, and the rank where the back end knows
  // it, if another rank left, gave up, did something else, or did not come within the group's time
  // limit. Never waits for longer.
  virtual void wait() = 0;
};
using CollectiveWorkPointer = std::shared_ptr<CollectiveWork>;

class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Starts to replace the elements of `tensor` by their sum over all ranks, added up in the same
  // order on each, so that all ranks get the same bits. The tensor is contiguous, and belongs to
  // the group until wait() has returned. The work follows what is on the current stream of its
  // device now. `what` names the collective in messages: "bucket 1 of 3".
  virtual CollectiveWorkPointer all_reduce(const Tensor& tensor, const std::string& what) = 0;

  // Gives the round up. See Note [Rounds].
  virtual void give_up(const std::string& reason) = 0;
};
using ProcessGroupPointer = std::shared_ptr<ProcessGroup>;

}  // namespace gradcts::reference
