// Takes the place of libtorch_graphs.cpp where libtorch was not found.
#include "reference_engine/benchmark/graphs.h"

namespace gradcts::reference::benchmark {

std::unique_ptr<Graph> make_libtorch_graph(const GraphShape&) {
  return nullptr;
}

std::unique_ptr<Graph> make_nested_libtorch(int) {
  return nullptr;
}

}  // namespace gradcts::reference::benchmark
