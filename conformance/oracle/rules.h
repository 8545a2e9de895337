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
std::size_t dimension(std::int64_t dim, std::size_t rank);
// Which dimensions a list names; all where it is left out.
std::vector<bool> reduced_dimensions(const Shape& shape, const Attribute& dims);
Shape reduced_shape(const Shape& shape, const std::vector<bool>& reduced, bool keep);

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
