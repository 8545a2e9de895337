#include "fuzz/shapes.h"

namespace gradcts::fuzz {

namespace {

// Non-empty sets of the k nodes above node k.
std::uint64_t sets_of_users(int k) {
  return (std::uint64_t{1} << k) - 1;
}

}  // namespace

std::size_t Shape::edges() const {
  std::size_t count = 0;
  for (const auto& used : uses) count += used.size();
  return count;
}

std::vector<int> Shape::sinks() const {
  std::vector<int> found;
  for (int node = 0; node < nodes; ++node) {
    if (uses[static_cast<std::size_t>(node)].empty()) found.push_back(node);
  }
  return found;
}

std::uint64_t count_shapes(int nodes) {
  std::uint64_t count = 1;
  for (int k = 1; k < nodes; ++k) count *= sets_of_users(k);
  return count;
}

// The number has one digit for each node but the root: the set of its users, counted from 1.
Shape make_shape(int nodes, std::uint64_t number) {
  Shape shape;
  shape.nodes = nodes;
  shape.uses.resize(static_cast<std::size_t>(nodes));
  for (int k = 1; k < nodes; ++k) {
    const std::uint64_t users = 1 + number % sets_of_users(k);
    number /= sets_of_users(k);
    for (int user = 0; user < k; ++user) {
      if ((users >> user & 1) != 0) shape.uses[static_cast<std::size_t>(user)].push_back(k);
    }
  }
  return shape;
}

}  // namespace gradcts::fuzz
