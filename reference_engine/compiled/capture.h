// Making a program from a plan.
#pragma once

#include "reference_engine/compiled/graph_walk.h"
#include "reference_engine/compiled/program.h"

namespace gradcts::reference {

// Plans the pass as the engine does, and runs the plan dry: nodes become ready, are taken from the
// engine's ready queue and written down. Afterwards the task has no plan any more, and can be
// replayed. Runs no user code; whatever it throws, nothing is left behind (COMP-7).
ProgramPointer make_program(GraphTask& task, const std::vector<Target>* targets,
                            const GraphWalk& walk);

}  // namespace gradcts::reference
