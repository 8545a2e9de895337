#include "reference_engine/compiled/graph_walk.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

namespace gradcts::reference {
namespace {

// Under the lock of all walks. Numbers wrap around after 2^32 walks: a node would have to be met by
// no walk meanwhile to be mistaken for one that is known.
std::uint32_t next_walk() {
  static std::uint32_t last = 0;
  if (++last == 0) ++last;
  return last;
}

// Of 0 targets nothing is wanted, so nothing is walked.
std::uint64_t lowest_of(const std::vector<Target>& targets) {
  std::uint64_t lowest = std::numeric_limits<std::uint64_t>::max();
  for (const Target& target : targets) {
    lowest = std::min(lowest, target.node->topological_number());
  }
  return lowest;
}

std::string where_to(EdgeKey edge) {
  if (edge.target == EdgeKey::nowhere) return "nowhere";
  if (edge.target == EdgeKey::below) return "below what was asked for";
  return "to slot " + std::to_string(edge.slot) + " of node " + std::to_string(edge.target);
}

}  // namespace

std::string name_of(const NodeKey& key) {
  if (!key.type) return "the roots";
  if (key.kind) return key.kind->name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(key.type->name(), nullptr, nullptr, &status), std::free);
  const std::string full = status == 0 ? name.get() : key.type->name();
  const std::size_t space = full.rfind("::");
  return space == std::string::npos ? full : full.substr(space + 2);
}

Mutex& GraphWalk::mutex() {
  static Mutex& mutex = *new Mutex;  // passes may run while the process ends
  return mutex;
}

GraphWalk::GraphWalk(const GraphTask& task, const std::vector<Target>* targets)
    : id_(next_walk()),
      roots_(task.roots),
      device_(task.roots.empty() ? Device{} : task.roots[0].edge.node->stream().device),
      lowest_(targets ? lowest_of(*targets) : 0) {
  nodes_.push_back(nullptr);
}

bool GraphWalk::record(std::uint32_t number, KeyRun& keys) {
  if (number == 0) {
    keys.nodes.push_back({nullptr, nullptr, 0, static_cast<std::uint32_t>(roots_.size())});
    for (const Root& root : roots_) keys.edges.push_back(record_edge(root.edge));
    return true;
  }
  const Node& node = *nodes_[number];
  if (!runs_here(node)) return false;
  const std::type_info& type = typeid(node);
  const Edges& edges = node.next_edges();
  keys.nodes.push_back(
      {&type, kind_of(node, type), node.slot_count(), static_cast<std::uint32_t>(edges.size())});
  for (const Edge& edge : edges) keys.edges.push_back(record_edge(edge));
  return true;
}

EdgeKey GraphWalk::record_edge(const Edge& edge) {
  if (!edge) return {};
  if (is_below(*edge.node)) return {EdgeKey::below, 0};
  const std::uint32_t known = number(*edge.node);
  if (known != 0) return {known, edge.slot};
  add(*edge.node);
  return {static_cast<std::uint32_t>(nodes_.size() - 1), edge.slot};
}

void GraphWalk::forget_after(std::size_t count) {
  for (std::size_t i = count; i < nodes_.size(); ++i) NodeMark::clear(*nodes_[i]);
  nodes_.resize(count);
}

bool GraphWalk::is_of_another_kind(std::uint32_t number, const NodeKey& key) const {
  if (number == 0) return false;
  const Node& node = *nodes_[number];
  const std::type_info& type = typeid(node);
  return key.type != &type || key.kind != kind_of(node, type);
}

std::string GraphWalk::difference(std::uint32_t number, const NodeKey& key, const EdgeKey* edges) {
  const std::size_t before = nodes_.size();
  KeyRun found;
  if (!record(number, found)) return "a node on another device";
  forget_after(before);
  const NodeKey& node = found.nodes[0];
  const std::string known = "; known graphs have ";
  const std::string where =
      number == 0 ? "" : "at node " + std::to_string(number) + ", " + name_of(node) + ": ";
  if (node.type != key.type || node.kind != key.kind) {
    return where + "a new kind of node" + known + name_of(key);
  }
  if (node.slots != key.slots) {
    return where + std::to_string(node.slots) + " outputs" + known + std::to_string(key.slots);
  }
  if (node.edges != key.edges) {
    const char* what = number == 0 ? " roots" : " edges";
    return where + std::to_string(node.edges) + what + known + std::to_string(key.edges);
  }
  for (std::uint32_t i = 0; i < node.edges; ++i) {
    const EdgeKey edge = found.edges[i];
    if (edge.target == edges[i].target && edge.slot == edges[i].slot) continue;
    const char* what = number == 0 ? "root " : "edge ";
    return where + what + std::to_string(i) + " leads " + where_to(edge) + "; in known graphs " +
           where_to(edges[i]);
  }
  return "nothing";
}

}  // namespace gradcts::reference
