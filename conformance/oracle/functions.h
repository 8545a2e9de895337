// Functions: the vocabulary of operations.h, each with its derivative beside it.
//
// Every function computes its result and, when the graph records, one node. Derivatives are written
// with the same functions, so that under create_graph they are differentiable again, to any order
// (GRAPH2-1).
//
// Conventions. The gradient of a real loss by a complex z is dL/dRe z + i dL/dIm z, so a
// holomorphic function passes back g * conj(f'(z)). At a corner: relu and abs 0, clamp 1, maximum
// and minimum one half, amax and amin an even share. What no clause states, the gradient of these
// where an operand is nan, cannot be told.
#pragma once

#include "conformance/oracle/graph.h"

namespace gradcts::oracle {

// ---- Building blocks of the rules
Tensor* add(Graph& graph, Tensor* a, Tensor* b);
Tensor* mul(Graph& graph, Tensor* a, Tensor* b);
Tensor* scale(Graph& graph, Tensor* a, double factor);
Tensor* neg(Graph& graph, Tensor* a);
Tensor* cast(Graph& graph, Tensor* a, ScalarType type);
Tensor* to_device(Graph& graph, Tensor* a, Device device);
Tensor* clone(Graph& graph, Tensor* a);
Tensor* expand(Graph& graph, Tensor* a, const Shape& shape);
// What expanding undoes: adds up `a` to a shape that expands to a's (VAL-2).
Tensor* sum_to(Graph& graph, Tensor* a, const Shape& shape);
// result[i] = a[map[i]], and its mirror image: result[map[i]] += a[i].
Tensor* take(Graph& graph, Tensor* a, const Map& map, const Shape& shape);
Tensor* put(Graph& graph, Tensor* a, const Map& map, const Shape& shape);
Tensor* zeros(Graph& graph, const Slot& like);

// ---- Views. A complex element is two parts, so that a view of either may be of the other type.
// The parts of complex elements along a new last dimension, and the way back; real tensors as they
// are.
Tensor* parts_of(Graph& graph, Tensor* a);
Tensor* joined(Graph& graph, Tensor* a);
Shape shape_of_parts(Shape shape, bool is_complex);
// Where the parts of a view stand among those of its base.
Map parts_in(const Tensor& base, const Tensor& view);

// Runs a built-in operation of the vocabulary. The outputs carry the node that was made, if any.
Gradients apply(Graph& graph, const Node& node, const Gradients& inputs);

// Another handle of `a` with history: what a node that returns its own input gives out (B086).
Tensor* view_alias(Graph& graph, Tensor* a);

// The scenario asks for something that the engine must refuse.
struct Refused {
  ErrorCategory category;
  const char* clause = nullptr;
};

}  // namespace gradcts::oracle
