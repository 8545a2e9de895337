// Node: one step of the backward pass; Edge: where a gradient goes next.
//
// A node has input *slots*, one for each output of the forward step that it belongs to, and edges,
// one for each input of the forward step. The engine sums what arrives at a slot, calls apply()
// with one gradient a slot, and sends what it returns along the edges.
//
//   forward   x ──►┐
//                  Mul ──► out            backward   Mul (slot 0: gradient of out)
//             y ──►┘                                  ├─ edge 0 ──► producer of x
//                                                     └─ edge 1 ──► producer of y
//
// Who makes a node: subclass Node, give it edges with set_next_edges(), and attach it to the
// forward step's outputs with record_history() (graph/autograd.h). After that neither edges nor
// slots change.
//
// Thread safety (THREAD-2, `node`): several passes may run one node at a time. A node that changes
// its own state in apply() locks it, and holds no lock while it starts a pass or calls user code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "reference_engine/graph/gradients.h"
#include "reference_engine/graph/hooks.h"
#include "reference_engine/graph/input_metadata.h"
#include "reference_engine/memory/disposal.h"
#include "reference_engine/memory/intrusive_pointer.h"
#include "reference_engine/sync/atomic.h"

namespace gradcts::reference {

class Node;
class RetainedGradient;
using NodePointer = IntrusivePointer<Node>;

// A slot of a node. A null edge leads nowhere: what is sent along it is dropped (TOPO-3).
struct Edge {
  NodePointer node;
  std::uint32_t slot = 0;

  explicit operator bool() const { return static_cast<bool>(node); }
  friend bool operator==(const Edge&, const Edge&) = default;
};
using Edges = absl::InlinedVector<Edge, 2>;

// Hooks of a node; made when the first one is added, since most nodes have none.
struct NodeHooks;

class Node : public Disposable {
 public:
  // Takes the thread's next sequence number, so that nodes made later run earlier (ORDER-1).
  Node();
  ~Node() override;

  // One gradient a slot in, undefined where none arrived (TOPO-5); one gradient an edge out.
  // Gradient recording is on exactly if the pass was asked to create a graph.
  virtual Gradients apply(Gradients&& gradients) = 0;

  virtual std::string name() const = 0;

  // Where the output of the slot stands in the graph: as a rule at this node.
  virtual Edge output_place(std::uint32_t slot) { return {NodePointer(this), slot}; }

  // Lets go of what was saved for apply(), which must then throw Error(graph_released) if it needs
  // it (KEEP-1). Called after the node ran in a pass that does not keep the graph.
  virtual void release_saved() {}

  // ---- Structure: fixed once the node is attached to an output ---------------------------------

  void set_next_edges(Edges edges);
  const Edges& next_edges() const { return next_edges_; }

  // Adds a slot for an output of this kind; returns its number.
  std::uint32_t add_slot(InputMetadata metadata);
  // Only while no one else has seen the node.
  void set_slot(std::uint32_t number, InputMetadata metadata) {
    slots_[number] = std::move(metadata);
  }
  std::uint32_t slot_count() const { return static_cast<std::uint32_t>(slots_.size()); }
  const InputMetadata& slot(std::uint32_t number) const { return slots_[number]; }

  // Where the node runs: the device and stream of its first slot (DEV-3, STREAM-1).
  Stream stream() const { return slots_.empty() ? Stream{} : slots_[0].stream; }
  bool runs_on_cpu() const { return runs_on_cpu_; }

  // Slots that got nothing are filled with zeros before apply() (VAL-6).
  void set_materialise(bool materialise) { materialise_ = materialise; }
  bool materialise() const { return materialise_; }

  // Every difference from the recorded shape and type of an edge's target is an error, instead of
  // being summed or cast away (VAL-2, strict option).
  void set_strict_validation(bool strict) { strict_validation_ = strict; }
  bool strict_validation() const { return strict_validation_; }

  // ---- Order ----

  std::uint64_t sequence_number() const { return sequence_number_; }

  // Above that of everything the node points to (TOPO-6), so that a search may stop early
  // (PRUNE-7).
  std::uint64_t topological_number() const {
    return topological_number_.load(std::memory_order_relaxed);
  }

  // ---- Hooks: may be added and removed at any time, from any thread ----------------------------

  HookHandle add_pre_hook(NodePreHook hook);
  HookHandle add_post_hook(NodePostHook hook);
  HookHandle add_tensor_hook(std::uint32_t slot, TensorHook hook);

  // Null where the node has no hooks at all.
  NodeHooks* hooks() const { return hooks_.load(std::memory_order_acquire); }
  NodeHooks& make_hooks();

  // ---- Lifetime: see IntrusivePointer ----

  void retain() const;
  void release() const;

 protected:
  // A node with a sequence number of its own choice, whose lifetime is another object's if
  // `lifetime` is given: references to the node are references to that tensor. See
  // Note [A leaf and its accumulator].
  Node(std::uint64_t sequence_number, TensorImpl* lifetime);

 private:
  friend class NodeClaim;
  friend class NodeMark;

  // What a pass looks at for every node comes first, so that it lies in the fewest cache lines.
  CountAtomic<std::uint64_t> claim_{0};  // engine/node_claim.h
  CountAtomic<std::uint64_t> mark_{0};   // compiled/graph_walk.h
  mutable CountAtomic<std::uint32_t> references_{0};
  bool runs_on_cpu_ = true;
  bool materialise_ = false;
  bool strict_validation_ = false;
  std::uint64_t sequence_number_;
  CountAtomic<NodeHooks*> hooks_{nullptr};
  Edges next_edges_;
  absl::InlinedVector<InputMetadata, 1> slots_;
  CountAtomic<std::uint64_t> topological_number_{0};
  TensorImpl* lifetime_ = nullptr;
};

template <typename NodeType, typename... Arguments>
IntrusivePointer<NodeType> make_node(Arguments&&... arguments) {
  return make_intrusive<NodeType>(std::forward<Arguments>(arguments)...);
}

}  // namespace gradcts::reference
