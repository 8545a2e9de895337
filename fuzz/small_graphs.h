// Every small graph: all shapes up to some size, with every choice of what can be laid over them.
//
// A case is a shape (shapes.h), a row of a covering array (covering.h) and the scenario that they
// mean. The factors of a row are the members of Variant. Cases are numbered, small shapes first:
// the first case that fails has a shape of the fewest nodes.
//
// Nodes are scripted: each input gets the gradient times a factor of its own, times the saved first
// input; so every edge shows in the numbers, and a second derivative goes through the graph again.
// Values of the forward stay 2 and -1, so that all numbers are small integers, and exact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/scenario/scenario.h"
#include "fuzz/claims.h"
#include "fuzz/shapes.h"

namespace gradcts::fuzz {

// At most one thing out of the ordinary at one place of the graph.
struct Oddity {
  enum class Kind : std::uint8_t {
    none,
    undefined,    // the node gives no gradient to one of the nodes it uses
    double_edge,  // the node uses another one twice
    error,        // the node throws when it runs for the first time
    second_root,  // the node is a root as well; the root itself twice (ROOT-3)
  };
  Kind kind = Kind::none;
  int node = 0;
  int used = 0;  // of the edges: which of the nodes that it uses
};

// At most one hook.
struct SmallHook {
  enum class Kind : std::uint8_t {
    none,
    tensor,
    retain_grad,
    node_pre,
    node_post,
    leaf_tensor,  // these four on the leaf of a sink
    leaf_pre,
    leaf_post,
    leaf_post_accumulate,
  };
  Kind kind = Kind::none;
  int node = 0;
};

// What the pass asks for.
struct Question {
  enum class Way : std::uint8_t { backward, inputs, grad, grad_with_capture_hook };
  enum class Of : std::uint8_t {
    leaves,
    node,        // one node
    everything,  // all nodes and leaves
    twice,       // the first leaf, two times
    unused,      // the first leaf and one that is not reached: an error
    allowed,     // the same, but allowed
  };
  Way way = Way::backward;
  Of of = Of::leaves;
  int node = 0;
};

enum class HookAction : std::uint8_t { keeps, multiplies, makes_undefined };
enum class Again : std::uint8_t {
  no,
  kept,     // a second pass over a graph that was kept
  refused,  // one over a graph that was not
  create,   // the pass is recorded, and a second one starts from its first result
};
enum class Leaves : std::uint8_t {
  own,         // each sink has one
  shared,      // all sinks have the same
  everywhere,  // each node has one
  constants,   // each sink has one, and each node one that requires no gradient
};

struct Variant {
  Oddity oddity;
  SmallHook hook;
  Question question;
  Again again = Again::no;
  Leaves leaves = Leaves::own;
  HookAction action = HookAction::keeps;
  int outputs = 1;  // of each node; with two, users take them in turn
};

// Campaigns and the ids of cases mean something else when the choices change: count up.
inline constexpr int small_graphs_version = 1;

// Shapes up to this size get every pair of choices; larger ones every choice, and 31 or so in a row
// every pair.
inline constexpr int most_nodes_in_pairs = 4;

class SmallGraphs {
 public:
  // Shapes of 1 to `most_nodes` nodes; choices that need what is not claimed are left out.
  explicit SmallGraphs(int most_nodes, Claims claims = {});

  std::uint64_t shapes() const { return starts_.size() - 1; }
  std::uint64_t size() const { return starts_.back(); }

  // Case `number`, below size(). Its id is "small/NODES/SHAPE/ROW".
  Scenario scenario(std::uint64_t number) const;

 private:
  struct Place {
    int nodes;
    std::uint64_t shape;
  };
  Place place_of(std::uint64_t shape) const;

  Claims claims_;
  std::vector<std::uint64_t> starts_;  // for each shape its first case, and the end
};

}  // namespace gradcts::fuzz
