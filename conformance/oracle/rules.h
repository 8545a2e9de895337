// Rules: what the files of functions share, and the functions that have files of their own.
// Internal to functions.h.
#pragma once

#include "conformance/oracle/functions.h"

namespace gradcts::oracle {

// ---- functions.cpp
void need_dense(const Tensor& tensor, const char* operation);
Device common_device(const Tensor& a, const Tensor& b);
// The gradient of an operand from that of the broadcast, promoted result.
Tensor* fit(Graph& graph, Tensor* gradient, const Tensor& operand);
Tensor* conjugate(Graph& graph, Tensor* a);  // a itself where it is real
// Each element times its real weight; weight 0 gives 0 whatever the element, also for infinity.
Tensor* weigh(Graph& graph, Tensor* a, const std::shared_ptr<const Array>& weights);
Tensor* divide_by(Graph& graph, Tensor* a, double divisor);
Tensor* shift(Graph& graph, Tensor* a, double term);  // a + term
Tensor* sub(Graph& graph, Tensor* a, Tensor* b);
Tensor* div(Graph& graph, Tensor* a, Tensor* b);
Tensor* exponential(Graph& graph, Tensor* a);
Tensor* square_root(Graph& graph, Tensor* a);
Number relu_of(Number value);
Gradients relu_rule(Graph& graph, Tensor* result, const Gradients& gradients);
double number(const Attribute& attribute, double otherwise);
// Which dimensions a list names; all where it is left out.
std::vector<bool> reduced_dimensions(const Shape& shape, const Attribute& dims);
Shape reduced_shape(const Shape& shape, const std::vector<bool>& reduced, bool keep);

// An elementwise function of two, broadcast and promoted; no node.
template <typename Function>
Tensor* binary(Graph& graph, Tensor* a, Tensor* b, Function function) {
  Array left = elements_of(*a);
  Array right = elements_of(*b);
  const ScalarType type = promote(left, right);
  const Shape shape = broadcast_shape(a->shape, b->shape);
  return graph.make(elementwise(type, broadcast(left, shape), broadcast(right, shape), function),
                    common_device(*a, *b));
}

// A real function of real numbers where both parts of a complex one are independent of it.
template <typename Complex, typename Real>
auto on_type(const Tensor& a, Complex complex_function, Real real_function) {
  const bool complex_type = is_complex(a.type);
  return [=](Number v) -> Number {
    return complex_type ? complex_function(v) : Number(real_function(v.real()));
  };
}

// ---- views.cpp
// A dimension counted from the start.
std::size_t dimension(std::int64_t dim, std::size_t rank);
Tensor* reshape(Graph& graph, Tensor* a, const IntegerList& sizes);
Tensor* expand_view(Graph& graph, Tensor* a, const IntegerList& sizes);
Tensor* transpose(Graph& graph, Tensor* a, std::int64_t dim0, std::int64_t dim1);
Tensor* select(Graph& graph, Tensor* a, std::int64_t dim, std::int64_t index);
Tensor* slice(Graph& graph, Tensor* a, std::int64_t dim, std::int64_t begin, std::int64_t end,
              std::int64_t step);
Gradients unbind(Graph& graph, Tensor* a, std::int64_t dim);
Tensor* view_as_real(Graph& graph, Tensor* a);
Tensor* view_as_complex(Graph& graph, Tensor* a);

// ---- in_place.cpp
Tensor* apply_in_place(Graph& graph, const Node& node, const Gradients& inputs);

// ---- along_dimensions.cpp
Tensor* extreme(Graph& graph, Tensor* a, const Attribute& dims, bool keep, bool largest);
Tensor* logsumexp(Graph& graph, Tensor* a, const Attribute& dims, bool keep);
Tensor* softmax(Graph& graph, Tensor* a, std::int64_t dim);
Tensor* log_softmax(Graph& graph, Tensor* a, std::int64_t dim);
Tensor* layer_norm(Graph& graph, Tensor* a, Tensor* weight, Tensor* bias, double eps);
Tensor* running_sum(Graph& graph, Tensor* a, std::size_t dim, bool from_the_end);
Tensor* flip(Graph& graph, Tensor* a, const std::vector<bool>& flipped);

// ---- indexing.cpp
Tensor* gather(Graph& graph, Tensor* a, std::int64_t dim, Tensor* index);
Tensor* scatter_add(Graph& graph, Tensor* a, std::int64_t dim, Tensor* index, Tensor* source);
Tensor* index_select(Graph& graph, Tensor* a, std::int64_t dim, Tensor* index);
Tensor* embedding(Graph& graph, Tensor* weight, Tensor* index, bool sparse);

}  // namespace gradcts::oracle
