// In-place operations: the result is stored in the changed tensor, which takes its history over.
#include <algorithm>
#include <cmath>

#include "conformance/oracle/rules.h"

namespace gradcts::oracle {

namespace {

void check_in_place(const Graph& graph, const Tensor& a) {
  const Tensor& owner = a.base ? *a.base : a;
  if (graph.recording && owner.requires_grad) {
    throw Refused{ErrorCategory::in_place};
  }
  if (a.parts) {
    Elements sorted = *a.parts;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      throw Refused{ErrorCategory::in_place};
    }
  }
}

// The base of a changed view has a new history: its own elements, with those of the view put over
// them.
void rewrite_base(Graph& graph, Tensor& changed) {
  Tensor& base = changed.base ? *changed.base : changed;
  ++base.rewrites;
  changed.base_rewrites = base.rewrites;
  if (&base == &changed) return;
  const Map map = parts_in(base, changed);
  const bool complex_base = is_complex(base.type);
  const bool complex_view = is_complex(changed.type);
  auto outside = std::make_shared<Array>(
      Array{ScalarType::float64, shape_of_parts(base.shape, complex_base), {}});
  outside->values.resize(static_cast<std::size_t>(count(outside->shape)), Number(1));
  for (std::int32_t place : *map) outside->values[static_cast<std::size_t>(place)] = 0;
  const Shape shape = shape_of_parts(changed.shape, complex_view);
  GraphNode* node =
      graph.make_node({&base, &changed}, [=](Graph& g, GraphNode& n, const Gradients& d) {
        Tensor* parts = parts_of(g, d[0]);
        Tensor* inside = take(g, parts, map, shape);
        Gradients result{nullptr, complex_view ? joined(g, inside) : inside};
        if (n.edges[0].node) {
          Tensor* rest = weigh(g, parts, outside);
          result[0] = complex_base ? joined(g, rest) : rest;
        }
        return result;
      });
  node->rewrites = true;
  node->edges[1].node->base_node = node;
  graph.attach(*node, base);
}

// Stores the result of the operation in `a`, which takes its history over.
Tensor* store(Graph& graph, Tensor* a, Tensor* result) {
  if (result->shape != a->shape || is_complex(result->type) != is_complex(a->type)) {
    throw Refused{ErrorCategory::invalid_argument};
  }
  Array elements = elements_of(*result);
  elements.type = a->type;  // the result may be of a wider one
  round_to_type(elements);
  write_elements(*a, elements.values);
  ++a->version->number;
  GraphNode* node = result->origin.node;
  if (!node) return a;
  node->on_view = a->base != nullptr;
  node->slots.clear();
  a->origin = {};
  graph.attach(*node, *a);
  for (SavedTensor& saved : node->saved) {
    if (saved.tensor == result) {
      saved.tensor = a;
      saved.version = a->version->number;
    }
  }
  rewrite_base(graph, *a);
  return a;
}

// A function whose derivative is told by its result, which is the changed tensor.
template <typename Function>
Tensor* by_result_in_place(Graph& graph, Tensor* a, Function function,
                           Gradients (*rule)(Graph&, Tensor* result, const Gradients&)) {
  Tensor* out = graph.make(elementwise(elements_of(*a), function), a->device);
  GraphNode* node = graph.record({a}, {out}, [a, rule](Graph& g, GraphNode& n, const Gradients& d) {
    return rule(g, n.unpacked(a), d);
  });
  if (node) graph.save(*node, out);
  return store(graph, a, out);
}

Gradients exponential_rule(Graph& g, Tensor* result, const Gradients& d) {
  return {mul(g, d[0], conjugate(g, result))};
}

Gradients hyperbolic_tangent_rule(Graph& g, Tensor* result, const Gradients& d) {
  Tensor* square = mul(g, result, result);
  return {mul(g, d[0], conjugate(g, shift(g, scale(g, square, -1), 1)))};
}

// The old elements are saved as a copy where they are needed, since they are overwritten. The copy
// keeps their place in the graph, for derivatives of the derivative.
Tensor* before_change(Graph& graph, const Tensor& a) {
  Tensor* old = graph.make(elements_of(a), a.device);
  if (graph.recording) old->origin = a.origin;
  return old;
}

Tensor* multiply_in_place(Graph& graph, Tensor* a, Tensor* b) {
  Tensor* old = before_change(graph, *a);
  Tensor* out = binary(graph, a, b, times);
  GraphNode* node =
      graph.record({a, b}, {out}, [a, old, b](Graph& g, GraphNode& n, const Gradients& d) {
        return Gradients{
            n.edges[0].node ? fit(g, mul(g, d[0], conjugate(g, n.unpacked(b))), *a) : nullptr,
            n.edges[1].node ? fit(g, mul(g, d[0], conjugate(g, n.unpacked(old))), *b) : nullptr};
      });
  if (node && node->edges[0].node) graph.save(*node, b);
  if (node && node->edges[1].node) graph.save(*node, old);
  return store(graph, a, out);
}

Tensor* divide_in_place(Graph& graph, Tensor* a, Tensor* b) {
  Tensor* old = before_change(graph, *a);
  Tensor* out = binary(graph, a, b, over);
  GraphNode* node =
      graph.record({a, b}, {out}, [a, old, b](Graph& g, GraphNode& n, const Gradients& d) {
        Gradients result(2, nullptr);
        Tensor* divisor = n.unpacked(b);
        if (n.edges[0].node) result[0] = fit(g, div(g, d[0], conjugate(g, divisor)), *a);
        if (n.edges[1].node) {
          Tensor* slope = div(g, div(g, n.unpacked(old), divisor), divisor);
          result[1] = fit(g, scale(g, mul(g, d[0], conjugate(g, slope)), -1), *b);
        }
        return result;
      });
  if (node) graph.save(*node, b);
  if (node && node->edges[1].node) graph.save(*node, old);
  return store(graph, a, out);
}

// What is overwritten has the gradient zero.
Tensor* copy_in_place(Graph& graph, Tensor* a, Tensor* b) {
  need_dense(*b, "copy_");
  if (!expands_to(b->shape, a->shape)) throw Refused{ErrorCategory::invalid_argument};
  Array copy = broadcast(elements_of(*b), a->shape);
  copy.type = a->type;
  round_to_type(copy);
  Tensor* out = graph.make(std::move(copy), a->device);
  const Slot before{a->type, a->device, a->shape, nullptr};
  graph.record({a, b}, {out}, [b, before](Graph& g, GraphNode& n, const Gradients& d) {
    return Gradients{n.edges[0].node ? zeros(g, before) : nullptr,
                     n.edges[1].node ? to_device(g, fit(g, d[0], *b), b->device) : nullptr};
  });
  return store(graph, a, out);
}

Tensor* fill_in_place(Graph& graph, Tensor* a, double value) {
  Tensor* out =
      graph.make(elementwise(elements_of(*a), [=](Number) { return Number(value); }), a->device);
  const Slot before{a->type, a->device, a->shape, nullptr};
  graph.record({a}, {out}, [before](Graph& g, GraphNode&, const Gradients&) {
    return Gradients{zeros(g, before)};
  });
  return store(graph, a, out);
}

}  // namespace

Tensor* apply_in_place(Graph& graph, const Node& node, const Gradients& inputs) {
  Tensor* a = inputs[0];
  check_in_place(graph, *a);
  graph.edge_of(*a);
  switch (node.operation) {
    case Operation::add_in_place:
      return store(graph, a, add(graph, a, inputs[1]));
    case Operation::sub_in_place:
      return store(graph, a, sub(graph, a, inputs[1]));
    case Operation::mul_in_place:
      return multiply_in_place(graph, a, inputs[1]);
    case Operation::div_in_place:
      return divide_in_place(graph, a, inputs[1]);
    case Operation::neg_in_place:
      return store(graph, a, neg(graph, a));
    case Operation::scale_in_place:
      return store(graph, a, scale(graph, a, number(node.attributes[0], 1)));
    case Operation::exp_in_place:
      return by_result_in_place(graph, a,
                                on_type(
                                    *a, [](Number v) -> Number { return std::exp(v); },
                                    [](double v) { return std::exp(v); }),
                                exponential_rule);
    case Operation::tanh_in_place:
      return by_result_in_place(graph, a,
                                on_type(
                                    *a, [](Number v) -> Number { return std::tanh(v); },
                                    [](double v) { return std::tanh(v); }),
                                hyperbolic_tangent_rule);
    case Operation::relu_in_place:
      return by_result_in_place(graph, a, relu_of, relu_rule);
    case Operation::copy_in_place:
      return copy_in_place(graph, a, inputs[1]);
    case Operation::fill_in_place:
      return fill_in_place(graph, a, number(node.attributes[0], 0));
    default:
      throw CannotTell("an operation in place without a rule");
  }
}

}  // namespace gradcts::oracle
