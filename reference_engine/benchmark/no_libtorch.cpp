// Takes the place of libtorch_graphs.cpp where libtorch was not found.
#include "reference_engine/benchmark/graphs.h"

namespace gradcts::reference::benchmark {

std::unique_ptr<Graph> make_libtorch_graph(const GraphShape&) {
  return nullptr;
}

bool run_nested_libtorch(int) {
  return false;
}

}  // namespace gradcts::reference::benchmark
