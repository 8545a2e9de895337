// Graphs of nodes that pass their gradient on, for comparing engines. A shape is plain data; each
// engine builds it from nodes of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace gradcts::reference::benchmark {

// Node 0 is the root. Every node sums what arrives at its one slot and sends it along all of its
// edges, which lead to nodes with higher numbers.
struct GraphShape {
  std::vector<std::vector<std::size_t>> edges;

  std::size_t nodes() const { return edges.size(); }
};

GraphShape chain(std::size_t nodes);
GraphShape fan(std::size_t width);                        // root, `width` nodes, one node again
GraphShape layers(std::size_t count, std::size_t width);  // all-to-all between neighbours
GraphShape ladder(std::size_t rungs);                     // two edges between neighbours

// A graph in one engine.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual void backward() = 0;                  // from the root, keeping the graph
  virtual void grad(std::size_t node) = 0;      // of one node
  virtual void add_hook(std::size_t node) = 0;  // a pre-hook that changes nothing
};

std::unique_ptr<Graph> make_reference_graph(const GraphShape& shape);

// The same with an engine of its own that compiles: each pass finds its program (compiled), and is
// the sum of finding it (looked up) and replaying it (replayed); or finds none (captured).
std::unique_ptr<Graph> make_compiled_graph(const GraphShape& shape);
std::unique_ptr<Graph> make_looked_up_graph(const GraphShape& shape);
std::unique_ptr<Graph> make_replayed_graph(const GraphShape& shape);
std::unique_ptr<Graph> make_captured_graph(const GraphShape& shape);

// A plain loop over the nodes of the reference engine in topological order: what a pass costs
// without an engine. It has no hooks and no grad().
std::unique_ptr<Graph> make_floor_graph(const GraphShape& shape);

// Null where libtorch was not there when this was built.
std::unique_ptr<Graph> make_libtorch_graph(const GraphShape& shape);

// A node whose pass is the outermost of `depth` passes, each started by the node of the one around
// it. Only backward() does anything.
std::unique_ptr<Graph> make_nested_reference(int depth);
std::unique_ptr<Graph> make_nested_libtorch(int depth);  // null where there is no libtorch

}  // namespace gradcts::reference::benchmark
