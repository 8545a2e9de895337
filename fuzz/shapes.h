// Every rooted shape of a graph: nodes and edges alone, before hooks, leaves or a program.
//
// Note [Shapes]
// A shape has nodes 0, 1, ... in the reverse of the order in which they are made: node 0 is the
// root and made last. An edge leads from a node to one that was made before it. Every node but the
// root is used by some node above it, so all are reached from the root. Two graphs that look alike
// and were made in different orders are two shapes: the order of making decides the order of
// running (ORDER-1). Node k is used by some non-empty set of the k nodes above it, whatever the
// others are used by; so there are (2^1 - 1)(2^2 - 1)...(2^(n-1) - 1) shapes of n nodes, 10,106 up
// to 6 nodes.
#pragma once

#include <cstdint>
#include <vector>

namespace gradcts::fuzz {

struct Shape {
  int nodes = 1;
  // For each node those that it uses, in ascending order.
  std::vector<std::vector<int>> uses;

  std::size_t edges() const;
  std::vector<int> sinks() const;  // nodes that use no other; at least one
};

// With one of more nodes a 64-bit number would no longer count them.
inline constexpr int most_shape_nodes = 11;

std::uint64_t count_shapes(int nodes);

// The shape with this number, from 0 on and below count_shapes(nodes).
Shape make_shape(int nodes, std::uint64_t number);

}  // namespace gradcts::fuzz
