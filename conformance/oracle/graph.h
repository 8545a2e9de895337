// Graph: the oracle's tensors and backward nodes, and the one way to record a node.
//
// Everything lives until the oracle is done: what a scenario drops or releases is only marked, so
// that pointers are plain and no order of destruction matters. An undefined gradient is a null
// pointer.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "conformance/oracle/array.h"
#include "conformance/scenario/scenario.h"

namespace gradcts::oracle {

struct Tensor;
struct GraphNode;
class Graph;

// Objects that live until the oracle is done, and never move.
template <typename Object>
class Arena {
 public:
  Object& make() {
    if (left_ == 0) {
      chunks_.push_back(std::make_unique<Object[]>(chunk));
      left_ = chunk;
    }
    return chunks_.back()[chunk - left_--];
  }

 private:
  static constexpr std::size_t chunk = 32;
  std::vector<std::unique_ptr<Object[]>> chunks_;
  std::size_t left_ = 0;
};

using Gradients = absl::InlinedVector<Tensor*, 2>;

// Where a gradient goes: a slot of a node. Null: nowhere (TOPO-3).
struct Edge {
  GraphNode* node = nullptr;
  std::int32_t slot = 0;
};

// Counts in-place changes; tensors that share it see each other's changes (KEEP-3).
struct Version {
  std::int32_t number = 0;
};

// Real numbers: one for an element, or the two parts of a complex one, so that a view may look at
// parts.
struct Storage {
  absl::InlinedVector<double, 6> parts;
};

struct Tensor {
  ScalarType type = ScalarType::float64;
  Device device;
  Shape shape;
  Storage* storage = nullptr;
  Map parts;  // which parts of the storage, element by element in row-major order; null: all of
              // them
  Version* version = nullptr;
  std::shared_ptr<const SparseCoordinates> sparse;  // set: a sparse tensor, elements kept densely
  std::optional<Shape> strides;  // of a leaf or a `.grad`, where a clause fixes them (LEAF-4)

  bool requires_grad = false;        // of a leaf
  Edge origin;                       // the node that made it; null: a leaf
  GraphNode* accumulator = nullptr;  // of a leaf, made on first use
  Tensor* base = nullptr;            // a view with history: what it is a view of
  std::int32_t base_rewrites = 0;    // how many in-place changes of the base its history knows of
  std::int32_t rewrites = 0;         // of a base: recorded in-place changes through any view

  Tensor* grad = nullptr;
  bool grad_unknown = false;  // an unordered error left it undetermined
  bool retains_grad = false;
  std::int64_t retains_since = 0;  // Graph::clock
};

// What a slot expects: the kind of the forward output that it belongs to.
struct Slot {
  ScalarType type = ScalarType::float64;
  Device device;
  Shape shape;
  Tensor* tensor = nullptr;  // the output itself, for retain-grad
};

struct SavedTensor {
  Tensor* tensor = nullptr;
  std::int32_t version = 0;
  HookId hook = no_id;         // packed by this hook: no check of the version is made (HOOK-9)
  Tensor* packed = nullptr;    // what the pack hook returned
  Tensor* unpacked = nullptr;  // what the unpack hook returned, while the node runs
};

// One registration of a hook. Taken out of its list only between passes, so that a list may change
// while it runs (HOOK-5).
struct Registration {
  HookId hook = no_id;
  bool removed = false;
  std::int64_t added_at = 0;  // Graph::clock: tells what was added while a list runs
};
using Registrations = std::vector<Registration>;

struct NodeHooks {
  std::vector<Registrations> tensor;  // one list a slot, multi-hooks among them
  Registrations pre;
  Registrations post;
  Registrations post_accumulate;
};

// From the gradients of the outputs to those of the inputs.
using Backward = std::function<Gradients(Graph&, GraphNode&, const Gradients&)>;

struct GraphNode {
  NodeId id = no_id;  // no_id: made inside a pass or a rule; shows in no event
  std::int32_t instance = 0;
  std::int32_t thread = 0;    // who made it: sequence numbers of one thread compare (ORDER-1)
  std::int64_t sequence = 0;  // order of making
  StreamId stream = no_id;    // current when it was made (STREAM-1)
  Tensor* leaf = nullptr;     // set: the accumulator of this leaf
  bool scripted = false;      // a custom node
  bool materialises = false;  // VAL-6
  bool rewrites = false;      // of a base whose view changed: its second edge is the view's
  bool on_view = false;       // an in-place change of a view: engines make their own nodes for it
  bool refuses = false;       // its backward is an error
  bool may_save = false;      // of a rule: engines save something there, or do not
  GraphNode* base_node = nullptr;  // of `on_view`: what the base's history is since
  bool released = false;           // KEEP-1
  bool release_unknown = false;
  absl::InlinedVector<Edge, 2> edges;  // one for each input of the forward
  absl::InlinedVector<Slot, 1> slots;  // one for each output
  absl::InlinedVector<SavedTensor, 2> saved;
  Backward backward;
  std::unique_ptr<NodeHooks> hooks;

  NodeHooks& make_hooks();
  // Whether a second pass through it may be an error (KEEP-1).
  bool may_be_used_up() const { return may_save || !saved.empty(); }
  // What the derivative sees of a tensor that it saved.
  Tensor* unpacked(Tensor* tensor) const {
    for (const SavedTensor& entry : saved) {
      if (entry.tensor == tensor && entry.unpacked) return entry.unpacked;
    }
    return tensor;
  }
};

class Graph {
 public:
  // The state of the running thread, switched by the interpreter and by passes.
  bool recording = true;
  std::int32_t thread = 0;
  StreamId stream = no_id;
  // A gradient of relu was computed: its derivative of 0 may be a history that gives zeros.
  bool some_slope_is_constant = false;

  // ---- Tensors
  Tensor* make(Array array, Device device = {});
  Tensor* make(const TensorValue& value);
  // Another handle on elements of the same storage, without history.
  Tensor* alias(const Tensor& tensor);
  Tensor* view(const Tensor& tensor, const Map& elements, Shape shape);
  // The same parts as elements of another type.
  Tensor* view_as(const Tensor& tensor, ScalarType type, Shape shape);
  void give_own_version(Tensor& tensor) { tensor.version = make_version(); }

  // ---- History
  // A tensor whose gradient goes somewhere; also a view that has not looked at its base's new
  // history yet.
  static bool tracked(const Tensor& tensor) {
    const bool base_changed = tensor.base && tensor.base_rewrites != tensor.base->rewrites;
    return tensor.requires_grad || tensor.origin.node != nullptr || base_changed;
  }
  Edge edge_of(Tensor& tensor);
  GraphNode* accumulator_of(Tensor& leaf);
  // Makes the node of an operation and attaches it to the outputs; null when recording is off or no
  // input is tracked.
  GraphNode* record(const Gradients& inputs, const Gradients& outputs, Backward backward);
  bool records(const Gradients& inputs) const;
  GraphNode* make_node(const Gradients& inputs, Backward backward);
  void attach(GraphNode& node, Tensor& output);
  void save(GraphNode& node, Tensor* tensor);
  // Set while saved-tensor hooks are open on the running thread: packs what is saved.
  std::function<void(SavedTensor&)> pack;

  std::int64_t tick() { return ++clock_; }

 private:
  Version* make_version() { return &versions_.make(); }
  void renew_history(Tensor& view);

  Arena<Tensor> tensors_;
  Arena<Storage> storages_;
  Arena<Version> versions_;
  Arena<GraphNode> nodes_;
  std::int64_t clock_ = 0;
};

// The elements, in row-major order. A sparse tensor gives its dense elements.
Array elements_of(const Tensor& tensor);
// Writes through to the storage; does not touch the version.
void write_elements(Tensor& tensor, const Numbers& values);
TensorValue to_value(const Tensor& tensor);

}  // namespace gradcts::oracle
