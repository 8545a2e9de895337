// Reducers: what averaging over ranks means (RED).
//
// The threads that stand for ranks run here one after the other. So a rank whose gradients are
// complete waits, and when the last one's are, all `.grad`s become their average at once. A
// scenario in which a rank goes on before the others can have come does not say what is right here:
// it joins its threads first.
#pragma once

#include <vector>

#include "conformance/oracle/graph.h"

namespace gradcts::oracle {

class Reducers {
 public:
  Reducers(const Scenario& scenario, Graph& graph);

  // The steps of a program; each may throw Thrown.
  void make(const ReducerStep& step, std::vector<Tensor*> parameters);
  void drop(const ReducerStep& step);
  void reset(const ReducerStep& step);
  void prepare(const ReducerStep& step, StepId id, const std::vector<Tensor*>& outputs);
  TensorValue answer(const ReducerStep& step);
  static const char* clause_of(ReducerStep::Question question);

  // A gradient came to a leaf, defined or not. Throws Thrown where it must not.
  void note_arrival(Tensor& leaf, bool is_defined);

  // An outermost pass is over.
  void end_pass(StepId pass, bool succeeded);

  // Throws CannotTell where the leaf's `.grad` is still to become an average.
  void refuse_early_use(const Tensor& leaf) const;

  // The ranks are joined: who still waits, waits for nothing. Returns the steps that must fail.
  std::vector<StepId> settle();

 private:
  struct Parameter {
    Tensor* leaf = nullptr;
    bool is_ready = false;
    std::int32_t arrivals = 0;
    std::int32_t expected = 1;     // in a static graph
    bool is_used = false;          // since the last average
    bool is_used_anywhere = true;  // in a static graph
  };
  struct Rank {
    enum class State : std::uint8_t { idle, open, waiting, failed };
    bool is_made = false;
    State state = State::idle;
    bool is_touched = false;  // a gradient came in the pass that runs
    StepId waits_in = no_id;
    std::vector<Parameter> parameters;
    std::vector<std::int32_t> arrived;  // in the order of becoming ready
    std::vector<std::vector<std::int32_t>> buckets;
    std::int64_t passes = 0;
    std::int64_t collectives = 0;
    bool collectives_known = true;
    std::size_t launches = 0;
  };
  struct Group {
    const Reducer* reducer = nullptr;
    std::vector<Rank> ranks;
    std::vector<std::int32_t> order;  // in which rank 0's parameters became ready, the last time
  };

  Rank& rank_of(const ReducerStep& step);
  static void fail(Rank& rank);
  static bool is_complete(const Rank& rank);
  static bool counts(const Reducer& reducer, const Rank& rank);
  void arrive(const Reducer& reducer, Rank& rank, std::int32_t index);
  void open(const Group& group, Rank& rank, const std::vector<Tensor*>& outputs);
  void wait(Group& group, Rank& rank, StepId in);
  void average(Group& group);
  void average_parameter(Group& group, std::size_t index, bool asks);
  static bool asks_for_use(const Group& group);

  Graph& graph_;
  std::vector<Group> groups_;
};

}  // namespace gradcts::oracle
