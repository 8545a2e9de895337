// Gradients on their way between streams, in a pass that is not local (Note [Two kinds of pass] in
// graph_task.h). The same for nodes from a queue (node_run.h) and for steps of a replay
// (compiled/replay.h), so that both have the same waits and the same sums (STREAM-2, ACC-5).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "reference_engine/device/stream.h"
#include "reference_engine/engine/node_evaluation.h"

namespace gradcts::reference {

// Puts a gradient down for whoever runs the edge's node; nothing where it is undefined. The event
// is recorded now, on the stream that has just written, and only if another one will read.
// Deliveries to a slot are added up in the order of `order`.
void put_down(std::vector<Delivery>& deliveries, const Edge& edge, std::uint64_t order,
              Tensor gradient, Stream producer);

// The same with the current stream of the gradient's device as the producer.
void put_down(std::vector<Delivery>& deliveries, const Edge& edge, std::uint64_t order,
              Tensor gradient);

// By the place of the node in the plan of the pass, and of the edge among the node's.
inline std::uint64_t delivery_order(std::uint32_t planned, std::size_t edge) {
  return (std::uint64_t{planned} + 1) << 32 | edge;
}

// Adds up what was put down, on the current thread and the node's stream, in an order that does not
// depend on which came first.
Gradients add_up(const Node& node, std::vector<Delivery> deliveries);

bool any_defined(const Gradients& gradients);

// Streams of the node's slots are current while it runs, each on its device (STREAM-1).
class NodeStreams {
 public:
  explicit NodeStreams(const Node& node);
  ~NodeStreams();
  NodeStreams(const NodeStreams&) = delete;
  NodeStreams& operator=(const NodeStreams&) = delete;

 private:
  StreamGuard first_;
  absl::InlinedVector<Stream, 2> previous_;
};

// One node, on its streams, from what was put down for it to what it returns, which is given to
// `deliver`; a node that is only captured delivers nothing, and after an error nothing is wanted.
template <typename Deliver>
void run_on_streams(GraphTask& task, Node& node, std::uint32_t first_capture, bool runs,
                    std::vector<Delivery> deliveries, Deliver&& deliver) {
  const NodeStreams streams(node);
  Gradients inputs = add_up(node, std::move(deliveries));
  receive(task, node, first_capture, inputs);
  if (!runs) return;
  const bool writes_leaf = node.next_edges().empty() && any_defined(inputs);
  Gradients outputs = evaluate(task, node, inputs);
  if (writes_leaf) note_written(task, node.stream());
  if (!task.has_error()) deliver(outputs);
}

}  // namespace gradcts::reference
