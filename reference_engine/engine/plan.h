// Planning a pass, from its roots: which nodes take part, and how many deliveries each waits for.
//
// Seeds are deliveries like others. So no extra node is needed to join several roots, and a root
// that another root feeds waits for both (ROOT-1, ROOT-2).
#pragma once

#include "absl/types/span.h"
#include "reference_engine/engine/graph_task.h"

namespace gradcts::reference {

// All that the roots reach takes part (TOPO-1, TOPO-2, TOPO-4).
void plan_everything(GraphTask& task);

// Something that was asked for: a capture, or a node that has to run, or both.
struct Target {
  Node* node;
  bool run;
  std::uint32_t capture = 0;  // as in NodeState
};

// Only what leads from the roots to a target takes part; what lies below all targets is not even
// looked at (PRUNE-2, PRUNE-7, TOPO-7). Targets of one node are merged. Targets that the roots do
// not reach are left without a state.
void plan_pruned(GraphTask& task, absl::Span<const Target> targets);

// Either: nothing was asked for, so everything runs, or only what leads to the targets.
inline void plan_pass(GraphTask& task, const std::vector<Target>* targets) {
  if (targets) {
    plan_pruned(task, *targets);
  } else {
    plan_everything(task);
  }
}

}  // namespace gradcts::reference
