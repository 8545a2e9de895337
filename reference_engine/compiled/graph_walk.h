// A walk over the graph of a pass, breadth first from the roots, that compares or collects keys.
//
// Note [Marks]
// ~~~~~~~~~~~~
// A walk must know whether it meets a node for the first time, and under which number it knows it;
// two paths that lead to one node are another graph than two paths to two nodes. A map for that
// would cost more than the rest of the walk. So a node has one word in which the last walk that met
// it notes itself and the node's number. One lock is held by whoever walks, whatever compiler it is
// of: so within a walk no mark is overwritten. It is held for some ten nanoseconds a node, while
// nobody's code is called.
//
// A pass that is replayed still asks by its marks which number a node has. They may be overwritten
// by then, which is seen; then it makes a map (replay.h).
#pragma once

#include <cstdint>
#include <string>

#include "reference_engine/compiled/graph_key.h"
#include "reference_engine/engine/graph_task.h"
#include "reference_engine/engine/plan.h"

namespace gradcts::reference {

using NumberedNodes = absl::InlinedVector<Node*, 16>;

class NodeMark {
 public:
  // The number under which a walk knows the node; 0 if it has not met it, or another one did since.
  static std::uint32_t number(const Node& node, std::uint32_t walk) {
    const std::uint64_t mark = node.mark_.load(std::memory_order_relaxed);
    return mark >> 32 == walk ? static_cast<std::uint32_t>(mark) : 0;
  }
  static void set(Node& node, std::uint32_t walk, std::uint32_t number) {
    node.mark_.store(std::uint64_t{walk} << 32 | number, std::memory_order_relaxed);
  }
  static void clear(Node& node) { node.mark_.store(0, std::memory_order_relaxed); }
};

class GraphWalk {
 public:
  // Held from before a walk is made until its marks are no longer needed.
  static Mutex& mutex();

  // Only what leads to the targets is walked, if there are any (PRUNE-7).
  GraphWalk(const GraphTask& task, const std::vector<Target>* targets);

  std::uint32_t id() const { return id_; }

  // On which all nodes run that are matched or recorded: that of the first root.
  Device device() const { return device_; }

  // By number; the first one is null and stands for the roots. All of them, when every one of them
  // was matched or recorded.
  const NumberedNodes& nodes() const { return nodes_; }
  NumberedNodes take_nodes() { return std::move(nodes_); }

  // The node's number; 0 if it was not met.
  std::uint32_t number(const Node& node) const { return NodeMark::number(node, id_); }

  // Is the next node, of this number, as the key says? Its edges' nodes are then numbered; if not,
  // nothing is changed.
  bool match(std::uint32_t number, const NodeKey& key, const EdgeKey* edges) {
    if (number == 0) return match_edges(key, edges, roots_.size(), RootEdge{roots_.data()});
    const Node& node = *nodes_[number];
    const std::type_info& type = typeid(node);
    if (key.type != &type || key.slots != node.slot_count() || !runs_here(node)) return false;
    if (key.kind && key.kind != &static_cast<const Operation&>(node).kind()) return false;
    const Edges& next = node.next_edges();
    return match_edges(key, edges, next.size(), next.begin());
  }

  // Adds the next node's key. False, and the walk is over, if the node runs on another device.
  bool record(std::uint32_t number, KeyRun& keys);

  // Is the node of another kind than the key, or only connected otherwise?
  bool is_of_another_kind(std::uint32_t number, const NodeKey& key) const;

  // In what the node differs from the key, where it does: "at node 2, Exp: a new kind of node; ..."
  std::string difference(std::uint32_t number, const NodeKey& key, const EdgeKey* edges);

 private:
  struct RootEdge {
    const Root* root;
    const Edge& operator*() const { return root->edge; }
    RootEdge& operator++() {
      ++root;
      return *this;
    }
  };

  template <typename EdgeIterator>
  bool match_edges(const NodeKey& key, const EdgeKey* keys, std::size_t count, EdgeIterator edge) {
    if (key.edges != count) return false;
    const std::size_t before = nodes_.size();
    for (std::size_t i = 0; i < count; ++i, ++edge) {
      if (match_edge(*edge, keys[i])) continue;
      forget_after(before);
      return false;
    }
    return true;
  }

  bool match_edge(const Edge& edge, EdgeKey key) {
    if (!edge) return key.target == EdgeKey::nowhere;
    if (is_below(*edge.node)) return key.target == EdgeKey::below;
    if (key.slot != edge.slot) return false;
    if (key.target == nodes_.size()) return add(*edge.node);
    return key.target < nodes_.size() && nodes_[key.target] == edge.node.get();
  }

  // False if the node has a number already.
  bool add(Node& node) {
    if (NodeMark::number(node, id_) != 0) return false;
    NodeMark::set(node, id_, static_cast<std::uint32_t>(nodes_.size()));
    nodes_.push_back(&node);
    return true;
  }

  bool runs_here(const Node& node) const {
    return node.runs_on_cpu() ? device_.is_cpu() : node.stream().device == device_;
  }

  bool is_below(const Node& node) const {
    return lowest_ != 0 && node.topological_number() < lowest_;
  }

  void forget_after(std::size_t count);
  EdgeKey record_edge(const Edge& edge);

  const std::uint32_t id_;
  const absl::Span<const Root> roots_;
  const Device device_;
  std::uint64_t lowest_ = 0;  // topological number of what was asked for; 0: everything is walked
  NumberedNodes nodes_;
};

}  // namespace gradcts::reference
