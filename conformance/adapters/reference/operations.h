// The built-in operations of scenarios on the reference engine.
#pragma once

#include "conformance/scenario/scenario.h"
#include "reference_engine/graph/gradients.h"

namespace gradcts::reference_adapter {

// Appends the outputs of the node's operation. In place: the changed first input itself.
void apply_operation(const Node& node, const reference::Gradients& inputs,
                     reference::Gradients& outputs);

}  // namespace gradcts::reference_adapter
