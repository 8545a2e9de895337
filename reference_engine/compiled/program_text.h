// A program in words.
#pragma once

#include <string>

#include "reference_engine/compiled/graph_walk.h"
#include "reference_engine/compiled/program.h"

namespace gradcts::reference {

// One line a seed and step: who runs, on what, and where what it returns goes. `nodes` are those of
// the pass that it was made for; they give names and say what hangs on them now.
//
//   seeds: root 0 -> place 0
//   1: Mul (node 1) takes place 0 -> place 1, place 2        ORDER-1
//   2: LeafAccumulator (node 2) takes place 1
std::string text_of(const Program& program, const NumberedNodes& nodes);

// For the log.
std::string compiled_line(const Program& program, const std::string& reason);

}  // namespace gradcts::reference
