// Drawings of a scenario's graph: as text, for terminals and logs, and as DOT for Graphviz.
//
// Both show the backward's view: from the nodes where gradients enter down to the leaves.
#pragma once

#include <cstddef>
#include <string>

#include "conformance/scenario/scenario.h"

namespace gradcts {

// An indented tree; what was drawn before is only named again. Long chains and everything beyond
// `line_limit` lines are counted instead of drawn.
//
//   z = power(y) exponent=3   <- root of step 1 (backward)
//   └─ y = mul(x, x)
//      ├─ x leaf float64 () [2]
//      └─ x (above)
std::string graph_text(const Scenario& scenario, std::size_t line_limit = 40);

std::string graph_dot(const Scenario& scenario);

// Writes an SVG drawing with Graphviz' `dot`. Throws std::runtime_error with one clear line when
// dot is not installed or the file cannot be written.
void write_graph_svg(const Scenario& scenario, const std::string& file);

}  // namespace gradcts
