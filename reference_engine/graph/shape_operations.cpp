// Reductions, views, copies, types and devices. Tested by operations_test.cpp.
#include <algorithm>

#include "reference_engine/error.h"
#include "reference_engine/graph/autograd_state.h"
#include "reference_engine/graph/dimensions.h"
#include "reference_engine/graph/operation.h"
#include "reference_engine/graph/operations.h"
#include "reference_engine/graph/recording.h"
#include "reference_engine/graph/view_operations.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

[[noreturn]] void invalid(const std::string& message) {
  throw Error(ErrorCategory::invalid_argument, message);
}

// ---- Reductions --------------------------------------------------------------------------------

Gradients sum_backward(Operation& op, const Gradients& g) {
  const Shape& shape = op.input(0).shape;
  return one(expand(with_kept_dims(g[0], shape, op.parameters.numbers), shape));
}
constexpr OperationKind sum_kind{"Sum", sum_backward};

Gradients mean_backward(Operation& op, const Gradients& g) {
  const Shape& shape = op.input(0).shape;
  const double count = op.parameters.first;
  const Tensor share = div(g[0], full({}, count, g[0].type(), g[0].device()));
  return one(expand(with_kept_dims(share, shape, op.parameters.numbers), shape));
}
constexpr OperationKind mean_kind{"Mean", mean_backward};

Gradients sum_to_backward(Operation& op, const Gradients& g) {
  return one(expand(g[0], op.input(0).shape));
}
constexpr OperationKind sum_to_kind{"SumTo", sum_to_backward};

// ---- Views -------------------------------------------------------------------------------------

Gradients reshape_backward(Operation& op, const Gradients& g) {
  return one(reshape(g[0], op.input(0).shape));
}
constexpr OperationKind reshape_kind{"Reshape", reshape_backward};

Gradients expand_backward(Operation& op, const Gradients& g) {
  return one(sum_to(g[0], op.input(0).shape));
}
constexpr OperationKind expand_kind{"Expand", expand_backward};

Gradients transpose_backward(Operation& op, const Gradients& g) {
  return one(transpose(g[0], op.parameters.numbers[0], op.parameters.numbers[1]));
}
constexpr OperationKind transpose_kind{"Transpose", transpose_backward};

Gradients part_backward(Operation& op, const Gradients& g) {
  const InputMetadata& whole = op.input(0);
  return one(embed(g[0], whole.shape, whole.type, op.parameters.steps));
}
constexpr OperationKind select_kind{"Select", part_backward};
constexpr OperationKind slice_kind{"Slice", part_backward};
constexpr OperationKind as_real_kind{"AsReal", part_backward};
constexpr OperationKind as_complex_kind{"AsComplex", part_backward};
constexpr OperationKind view_kind{"View", part_backward};

Gradients alias_backward(Operation&, const Gradients& g) {
  return one(g[0]);
}
constexpr OperationKind alias_kind{"Alias", alias_backward, true};

const OperationKind& kind_of(ViewStep::Kind kind) {
  switch (kind) {
    case ViewStep::Kind::alias:
      return alias_kind;
    case ViewStep::Kind::reshape:
      return reshape_kind;
    case ViewStep::Kind::expand:
      return expand_kind;
    case ViewStep::Kind::transpose:
      return transpose_kind;
    case ViewStep::Kind::select:
      return select_kind;
    case ViewStep::Kind::slice:
      return slice_kind;
    case ViewStep::Kind::as_real:
      return as_real_kind;
    case ViewStep::Kind::as_complex:
      return as_complex_kind;
  }
  return view_kind;
}

Tensor view(const Tensor& a, ViewStep step) {
  kernels::check_defined(a);
  Tensor result = make_view(a, step);
  if (auto op = record(kind_of(step.kind), result, {a})) {
    op->parameters.numbers = step.numbers;
    op->parameters.steps = {step};
  }
  if (is_recording()) record_view(result, a, step);
  return result;
}

// Of a gradient, whose strides may be any.
Tensor take_steps(Tensor a, const ViewSteps& steps) {
  for (const ViewStep& step : steps) a = view(is_viewable(a, step) ? a : clone(a), step);
  return a;
}

Gradients embed_backward(Operation& op, const Gradients& g) {
  return one(take_steps(g[0], op.parameters.steps));
}
constexpr OperationKind embed_kind{"Embed", embed_backward};

Gradients replace_part_backward(Operation& op, const Gradients& g) {
  Gradients result(2);
  const auto& steps = op.parameters.steps;
  if (op.needs(0)) {
    const Tensor part = take_steps(detach(g[0]), steps);
    result[0] = replace_part(g[0], steps, zeros(part.shape(), part.type(), part.device()));
  }
  if (op.needs(1)) result[1] = take_steps(g[0], steps);
  return result;
}
constexpr OperationKind replace_part_kind{"ReplacePart", replace_part_backward};

Gradients unbind_backward(Operation& op, const Gradients& g) {
  const InputMetadata& input = op.input(0);
  Tensor result = zeros(input.shape, input.type, input.device());
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (!g[i].defined()) continue;
    const ViewStep step{ViewStep::Kind::select,
                        {op.parameters.numbers[0], static_cast<std::int64_t>(i)}};
    result = replace_part(result, {step}, g[i]);
  }
  return one(result);
}
constexpr OperationKind unbind_kind{"Unbind", unbind_backward};

Gradients cat_backward(Operation& op, const Gradients& g) {
  Gradients result(op.next_edges().size());
  const std::int64_t dim = op.parameters.numbers[0];
  for (std::uint32_t i = 0; i < result.size(); ++i) {
    const std::int64_t begin = op.parameters.numbers[i + 1];
    const std::int64_t end = op.parameters.numbers[i + 2];
    if (op.needs(i)) result[i] = op.fit(i, slice(g[0], dim, begin, end));
  }
  return result;
}
constexpr OperationKind cat_kind{"Cat", cat_backward};

// ---- Copies, types, devices --------------------------------------------------------------------

Gradients clone_backward(Operation&, const Gradients& g) {
  return one(g[0]);
}
constexpr OperationKind clone_kind{"Clone", clone_backward, true};

Gradients cast_backward(Operation& op, const Gradients& g) {
  return one(cast(g[0], op.input(0).type));
}
constexpr OperationKind cast_kind{"Cast", cast_backward, true};

Gradients to_device_backward(Operation& op, const Gradients& g) {
  return one(to_device(g[0], op.input(0).device()));
}
constexpr OperationKind to_device_kind{"ToDevice", to_device_backward, true};

constexpr OperationKind to_dense_kind{"ToDense", clone_backward, true};

}  // namespace

// ---- Reductions --------------------------------------------------------------------------------

Tensor sum(const Tensor& a, ShapeView dims, bool keep_dims) {
  const Shape normal = normal_dims(a, dims);
  Tensor result = kernels::sum(a, normal, keep_dims);
  if (auto op = record(sum_kind, result, {a})) op->parameters.numbers = normal;
  return result;
}

Tensor sum(const Tensor& a) {
  return sum(a, all_dims(a), false);
}

Tensor mean(const Tensor& a, ShapeView dims, bool keep_dims) {
  const Shape normal = normal_dims(a, dims);
  double count = 1;
  for (std::int64_t dim : normal) {
    count *= static_cast<double>(a.shape()[static_cast<std::size_t>(dim)]);
  }
  Tensor result = kernels::binary(kernels::Binary::div, kernels::sum(a, normal, keep_dims),
                                  full({}, count, a.type(), a.device()));
  if (auto op = record(mean_kind, result, {a})) {
    op->parameters.numbers = normal;
    op->parameters.first = count;
  }
  return result;
}

Tensor mean(const Tensor& a) {
  return mean(a, all_dims(a), false);
}

Tensor sum_to(const Tensor& a, ShapeView shape) {
  kernels::check_defined(a);
  if (ShapeView(a.shape()) == shape) return a;
  if (!is_expandable_to(shape, a.shape())) {
    invalid(describe(a) + " cannot be summed to " + to_string(shape));
  }
  Tensor result = kernels::sum_to(a, shape);
  record(sum_to_kind, result, {a});
  return result;
}

// ---- Views -------------------------------------------------------------------------------------

Tensor reshape(const Tensor& a, ShapeView shape) {
  kernels::check_defined(a);
  Shape sizes(shape.begin(), shape.end());
  const auto open = std::find(sizes.begin(), sizes.end(), -1);
  if (open != sizes.end()) {
    *open = 1;
    const std::int64_t rest = element_count(sizes);
    *open = rest == 0 ? 0 : a.element_count() / rest;
  }
  if (element_count(sizes) != a.element_count()) {
    invalid(describe(a) + " cannot be reshaped to " + to_string(shape));
  }
  const ViewStep step{ViewStep::Kind::reshape, sizes};
  if (is_viewable(a, step)) return view(a, step);
  Tensor result = make_view(kernels::clone(a), step);
  record(reshape_kind, result, {a});
  return result;
}

Tensor expand(const Tensor& a, ShapeView shape) {
  return view(a, {ViewStep::Kind::expand, Shape(shape.begin(), shape.end())});
}

Tensor transpose(const Tensor& a, std::int64_t dim0, std::int64_t dim1) {
  return view(a, {ViewStep::Kind::transpose, {normal_dim(a, dim0), normal_dim(a, dim1)}});
}

Tensor select(const Tensor& a, std::int64_t dim, std::int64_t index) {
  dim = normal_dim(a, dim);
  const std::int64_t size = a.shape()[static_cast<std::size_t>(dim)];
  const std::int64_t normal = index < 0 ? index + size : index;
  if (normal < 0 || normal >= size) {
    invalid("index " + std::to_string(index) + " in dimension " + std::to_string(dim) + " of " +
            describe(a));
  }
  return view(a, {ViewStep::Kind::select, {dim, normal}});
}

Tensor slice(const Tensor& a, std::int64_t dim, std::int64_t begin, std::int64_t end,
             std::int64_t step) {
  dim = normal_dim(a, dim);
  const std::int64_t size = a.shape()[static_cast<std::size_t>(dim)];
  if (step < 1) invalid("a slice with step " + std::to_string(step));
  const auto inside = [size](std::int64_t index) {
    return std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size);
  };
  const std::int64_t first = inside(begin);
  return view(a, {ViewStep::Kind::slice, {dim, first, std::max(first, inside(end)), step}});
}

std::vector<Tensor> unbind(const Tensor& a, std::int64_t dim) {
  dim = normal_dim(a, dim);
  OperationPointer op;
  if (is_recorded({a})) {
    op = make_node<Operation>(unbind_kind, gradient_edges({a}));
    op->parameters.numbers = {dim};
  }
  std::vector<Tensor> results;
  for (std::int64_t i = 0; i < a.shape()[static_cast<std::size_t>(dim)]; ++i) {
    const ViewStep step{ViewStep::Kind::select, {dim, i}};
    results.push_back(make_view(a, step));
    if (op) record_history(results.back(), op);
    if (is_recording()) record_view(results.back(), a, step);
  }
  return results;
}

Tensor view_as_real(const Tensor& a) {
  return view(a, {ViewStep::Kind::as_real, {}});
}

Tensor view_as_complex(const Tensor& a) {
  return view(a, {ViewStep::Kind::as_complex, {}});
}

Tensor cat(absl::Span<const Tensor> tensors, std::int64_t dim) {
  if (tensors.empty()) invalid("cat of no tensors");
  for (const Tensor& tensor : tensors) kernels::check_defined(tensor);
  dim = normal_dim(tensors[0], dim);
  const auto d = static_cast<std::size_t>(dim);
  Shape shape = tensors[0].shape();
  Shape numbers{dim, 0};
  ScalarType type = tensors[0].type();
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() != tensors[0].dim())
      invalid("cat of tensors with other numbers of dimensions");
    numbers.push_back(numbers.back() + tensor.shape()[d]);
    type = promote(type, tensor.type());
  }
  shape[d] = numbers.back();
  Tensor result = empty(shape, type, tensors[0].device());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ViewStep step{ViewStep::Kind::slice, {dim, numbers[i + 1], numbers[i + 2], 1}};
    kernels::copy_(make_view(result, step), tensors[i]);
  }
  if (auto op = record(cat_kind, result, tensors)) op->parameters.numbers = numbers;
  return result;
}

Tensor embed(const Tensor& part, ShapeView shape, ScalarType type, const ViewSteps& steps) {
  Tensor result = zeros(shape, type, part.device());
  const auto is_expand = [](const ViewStep& step) { return step.kind == ViewStep::Kind::expand; };
  const auto last = std::find_if(steps.rbegin(), steps.rend(), is_expand);
  if (last != steps.rend()) {
    // Elements that share a place add up: so in two parts, before and after the expansion.
    const ViewSteps before(steps.begin(), last.base() - 1), after(last.base(), steps.end());
    const Tensor expanded = embed(part, last->numbers, type, after);
    return embed(sum_to(expanded, make_view(result, before).shape()), shape, type, before);
  }
  kernels::copy_(make_view(result, steps), part);
  if (auto op = record(embed_kind, result, {part})) op->parameters.steps = steps;
  return result;
}

Tensor replace_part(const Tensor& whole, const ViewSteps& steps, const Tensor& part) {
  Tensor result = kernels::clone(whole);
  kernels::copy_(make_view(result, steps), part);
  if (auto op = record(replace_part_kind, result, {whole, part})) op->parameters.steps = steps;
  return result;
}

NodePointer make_view_node(const Edge& base, const InputMetadata& view, const ViewSteps& steps) {
  auto node = make_node<Operation>(view_kind, Edges{base});
  node->parameters.steps = steps;
  node->add_slot(view);
  return node;
}

Tensor view_of(const Tensor& whole, const ViewSteps& steps) {
  return take_steps(whole, steps);
}

// ---- Copies, types, devices --------------------------------------------------------------------

Tensor clone(const Tensor& a) {
  Tensor result = kernels::clone(a);
  record(clone_kind, result, {a});
  return result;
}

Tensor detach(const Tensor& a) {
  kernels::check_defined(a);
  return a.alias();
}

Tensor view_alias(const Tensor& a) {
  return view(a, {ViewStep::Kind::alias, {}});
}

Tensor cast(const Tensor& a, ScalarType type) {
  kernels::check_defined(a);
  if (a.type() == type) return a;
  Tensor result = kernels::cast(a, type);
  record(cast_kind, result, {a});
  return result;
}

Tensor to_device(const Tensor& a, Device device) {
  kernels::check_defined(a);
  if (a.device() == device) return a;
  Tensor result = kernels::to_device(a, device);
  record(to_device_kind, result, {a});
  return result;
}

Tensor to_dense(const Tensor& a) {
  kernels::check_defined(a);
  if (!a.is_sparse()) return a;
  Tensor result = kernels::to_dense(a);
  record(to_dense_kind, result, {a});
  return result;
}

}  // namespace gradcts::reference
