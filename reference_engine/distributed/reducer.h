// Reducer: averages the gradients of parameters over the ranks of a group, while the backward pass
// still runs.
//
//   prepare(outputs)          what is not reached from the outputs counts as ready (RED-5)
//   backward(loss)            accumulators run: .grad is copied into its place in a bucket;
//                             buckets that are full are reduced, in index order (RED-2)
//   end of the pass           a final callback waits for the sums, divides, writes .grad (RED-3)
//
// A pass without a prepare() before it accumulates and does not synchronise; the next synchronised
// pass averages everything that has come together (RED-7). All ranks must call prepare() equally
// often, for the same parameters in the same order.
//
// The pass meant here is the outermost one: a parameter that is used in nested passes (checkpoints)
// has its average when the outermost backward() returns. Several passes may bring the gradients of
// one synchronised pass, one after the other or side by side (callers on several threads): it is
// over when all gradients have come and the last of those passes ends. If one of them fails, it
// fails as a whole.
//
// Note [What `.grad` holds]
// ~~~~~~~~~~~~~~~~~~~~~~~~~
// What is averaged is all of `.grad`, with what it held before the pass: an average of sums is a
// sum of averages. A parameter without a gradient contributes zeros. With find_unused or
// static_graph the ranks also add up who has used what since the last synchronisation; a parameter
// that nobody used keeps the `.grad` that it had, be it none (RED-5).
//
// Thread safety: the reducer is used by one thread at a time; its hooks run on the engine's
// threads. It may be destroyed while no pass runs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference_engine/distributed/buckets.h"
#include "reference_engine/distributed/process_group.h"

namespace gradcts::reference {

struct Parameter {
  Tensor leaf;       // requires grad, strided
  std::string name;  // for messages; empty: its number
};

// A bucket on its way, for a communication hook: the gradients of its parameters side by side.
struct FullBucket {
  std::size_t index;
  Tensor contents;
  std::string what;  // "bucket 1 of 3", for the group
};

// Replaces the reduction: starts what leaves the *average* in the bucket's contents when waited
// for. Called for bucket after bucket, with no lock held.
using CommunicationHook =
    std::function<CollectiveWorkPointer(ProcessGroup& group, const FullBucket& bucket)>;

struct ReducerOptions {
  // Sizes at which buckets are full (assign_buckets). A small first one starts the reduction early.
  std::vector<std::size_t> bucket_bytes = {std::size_t{1} << 20, std::size_t{25} << 20};

  // Instead of them: which parameters are in which bucket.
  std::optional<BucketAssignment> buckets = std::nullopt;

  // Look for parameters that the outputs do not lead to. Costs a walk and one more collective.
  bool find_unused = false;

  // Every step has the same graph, and one outermost pass. The first one counts how often each
  // parameter's gradient comes, and is reduced at its end; later ones reduce as soon as it has come
  // that often. So a parameter may be used in several nested passes, and unused ones are known
  // without a walk (B190).
  bool static_graph = false;

  // `.grad` becomes a view of the bucket, so that nothing is copied.
  bool gradients_as_views = false;

  // After the first synchronised pass, assign buckets anew in the order in which gradients came on
  // rank 0. Costs one collective, once.
  bool rebuild_buckets = false;

  CommunicationHook communication_hook = nullptr;
};

// Of the last synchronised pass (RED-10).
struct ReducerStatistics {
  struct ParameterStatistics {
    std::optional<std::size_t> place;                     // how many were ready before it
    std::optional<std::chrono::nanoseconds> ready_after;  // since prepare(); none: not yet ready
    bool used = false;                                    // got a gradient on this rank
  };
  std::vector<ParameterStatistics> parameters;
  std::vector<std::size_t> launches;  // buckets, in the order in which their reduction started
  std::int64_t passes = 0;            // synchronised ones so far
  std::int64_t collectives = 0;       // so far: buckets, maps of what is used, orders of arrival
  std::int64_t bytes_copied = 0;      // so far, between gradients and buckets
};

class Reducer {
 public:
  // Throws Error(reducer) where a parameter is no leaf that requires grad, comes twice, or buckets
  // are invalid. Nothing is left on the parameters then.
  Reducer(std::vector<Parameter> parameters, ProcessGroupPointer group,
          ReducerOptions options = {});

  // Takes the hooks off (RED-8). An unfinished reduction is given up, so that no rank waits for it.
  ~Reducer();
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // The next backward pass is synchronised. `outputs` are what the step computed, for find_unused;
  // otherwise they are not looked at. If the last synchronised pass left parameters without a
  // gradient, Error(reducer) names them; after that, and after a pass that failed, all is as if
  // that pass had not been (RED-9).
  void prepare(absl::Span<const Tensor> outputs = {});

  // Names of the parameters that the synchronised pass still waits for. Empty: it is over, or none
  // was announced (B195).
  std::vector<std::string> missing() const;

  // Forgets an unfinished synchronised pass, and gives the round up, if there is one. For a step
  // that failed before its first gradient came, of which the reducer cannot know.
  void reset();

  // From now on with other ranks. An unfinished pass is reset (B198).
  void set_group(ProcessGroupPointer group);

  const BucketAssignment& buckets() const;
  ReducerStatistics statistics() const;

 private:
  class State;
  std::shared_ptr<State> state_;  // shared with hooks that run
};

}  // namespace gradcts::reference
