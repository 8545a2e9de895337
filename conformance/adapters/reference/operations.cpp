#include "conformance/adapters/reference/operations.h"

#include <limits>
#include <string>
#include <utility>

#include "conformance/adapters/kit/errors.h"
#include "conformance/adapters/kit/operation_table.h"
#include "conformance/adapters/reference/plain_data.h"
#include "reference_engine/graph/operations.h"

namespace gradcts::reference_adapter {

namespace ref = gradcts::reference;
using kit::attribute;
using ref::Tensor;
using List = ref::Gradients;

namespace {

std::int64_t integer(const Node& node, std::size_t i) {
  return attribute<std::int64_t>(node, i);
}
double number(const Node& node) {
  return attribute<double>(node, 0);
}

Tensor clamp(const Node& node, const Tensor& x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return ref::clamp(x, attribute(node, 0, -infinity), attribute(node, 1, infinity));
}

using Reduction = Tensor (*)(const Tensor& x, ref::ShapeView dims, bool keep_dims);
template <Reduction function>
Tensor reduce(const List& in, const Node& node) {
  const auto* dims = std::get_if<IntegerList>(&node.attributes[0]);
  IntegerList all;
  for (std::int64_t i = 0; i < in[0].dim(); ++i) all.push_back(i);
  return function(in[0], dims ? *dims : all, attribute<bool>(node, 1));
}

Tensor slice(const Node& n, const Tensor& x) {
  return ref::slice(x, integer(n, 0), integer(n, 1), integer(n, 2),
                    attribute<std::int64_t>(n, 3, 1));
}

template <auto function>
Tensor one(const List& in, const Node&) {
  return function(in[0]);
}
template <auto function>
Tensor two(const List& in, const Node&) {
  return function(in[0], in[1]);
}
template <auto function>
Tensor along(const List& in, const Node& node) {
  return function(in[0], integer(node, 0));
}
// In place: the result is the first operand.
template <auto function>
Tensor in_place(const List& in, const Node&) {
  function(in[0]);
  return in[0];
}
template <auto function>
Tensor into_first(const List& in, const Node&) {
  function(in[0], in[1]);
  return in[0];
}

using Apply = Tensor (*)(const List& in, const Node& n);
constexpr kit::OperationTable<Apply> operations{
    {Operation::add, two<ref::add>},
    {Operation::sub, two<ref::sub>},
    {Operation::mul, two<ref::mul>},
    {Operation::div, two<ref::div>},
    {Operation::neg, one<ref::neg>},
    {Operation::scale, [](const List& in, const Node& n) { return ref::scale(in[0], number(n)); }},
    {Operation::power, [](const List& in, const Node& n) { return ref::pow(in[0], number(n)); }},
    {Operation::pow, [](const List& in, const Node&) { return ref::pow(in[0], in[1]); }},
    {Operation::maximum, two<ref::maximum>},
    {Operation::minimum, two<ref::minimum>},
    {Operation::where, [](const List& in, const Node&) { return ref::where(in[0], in[1], in[2]); }},
    {Operation::clamp, [](const List& in, const Node& n) { return clamp(n, in[0]); }},
    {Operation::sum, reduce<ref::sum>},
    {Operation::mean, reduce<ref::mean>},
    {Operation::amax, reduce<ref::amax>},
    {Operation::amin, reduce<ref::amin>},
    {Operation::logsumexp, reduce<ref::logsumexp>},
    {Operation::softmax, along<ref::softmax>},
    {Operation::log_softmax, along<ref::log_softmax>},
    {Operation::layer_norm,
     [](const List& in, const Node& n) { return ref::layer_norm(in[0], in[1], in[2], number(n)); }},
    {Operation::cumsum, along<ref::cumsum>},
    {Operation::flip,
     [](const List& in, const Node& n) { return ref::flip(in[0], attribute<IntegerList>(n, 0)); }},
    {Operation::mm, two<ref::mm>},
    {Operation::bmm, two<ref::bmm>},
    {Operation::view,
     [](const List& in, const Node& n) {
       return ref::reshape(in[0], attribute<IntegerList>(n, 0));
     }},
    {Operation::expand,
     [](const List& in, const Node& n) {
       return ref::expand(in[0], attribute<IntegerList>(n, 0));
     }},
    {Operation::transpose,
     [](const List& in, const Node& n) {
       return ref::transpose(in[0], integer(n, 0), integer(n, 1));
     }},
    {Operation::select,
     [](const List& in, const Node& n) {
       return ref::select(in[0], integer(n, 0), integer(n, 1));
     }},
    {Operation::slice, [](const List& in, const Node& n) { return slice(n, in[0]); }},
    {Operation::view_as_real, one<ref::view_as_real>},
    {Operation::view_as_complex, one<ref::view_as_complex>},
    {Operation::cat, [](const List& in, const Node& n) { return ref::cat(in, integer(n, 0)); }},
    {Operation::clone, one<ref::clone>},
    {Operation::detach, one<ref::detach>},
    {Operation::gather,
     [](const List& in, const Node& n) { return ref::gather(in[0], integer(n, 0), in[1]); }},
    {Operation::scatter_add,
     [](const List& in, const Node& n) {
       return ref::scatter_add(in[0], integer(n, 0), in[1], in[2]);
     }},
    {Operation::index_select,
     [](const List& in, const Node& n) { return ref::index_select(in[0], integer(n, 0), in[1]); }},
    {Operation::embedding,
     [](const List& in, const Node& n) {
       return ref::embedding(in[0], in[1], attribute<bool>(n, 0));
     }},
    {Operation::exp, one<ref::exp>},
    {Operation::log, one<ref::log>},
    {Operation::expm1, one<ref::expm1>},
    {Operation::log1p, one<ref::log1p>},
    {Operation::sin, one<ref::sin>},
    {Operation::cos, one<ref::cos>},
    {Operation::tan, one<ref::tan>},
    {Operation::tanh, one<ref::tanh>},
    {Operation::sigmoid, one<ref::sigmoid>},
    {Operation::erf, one<ref::erf>},
    {Operation::relu, one<ref::relu>},
    {Operation::abs, one<ref::abs>},
    {Operation::sqrt, one<ref::sqrt>},
    {Operation::conj,
     [](const List& in, const Node&) {
       return ref::is_complex(in[0].type()) ? ref::conj(in[0]) : ref::clone(in[0]);
     }},
    {Operation::cast,
     [](const List& in, const Node& n) {
       return ref::cast(in[0], to_engine(attribute<ScalarType>(n, 0)));
     }},
    {Operation::to_device,
     [](const List& in, const Node& n) {
       return ref::to_device(in[0], to_engine(attribute<Device>(n, 0)));
     }},
    {Operation::add_in_place, into_first<ref::add_>},
    {Operation::sub_in_place, into_first<ref::sub_>},
    {Operation::mul_in_place, into_first<ref::mul_>},
    {Operation::div_in_place, into_first<ref::div_>},
    {Operation::neg_in_place, in_place<ref::neg_>},
    {Operation::scale_in_place,
     [](const List& in, const Node& n) { return ref::scale_(in[0], number(n)), in[0]; }},
    {Operation::exp_in_place, in_place<ref::exp_>},
    {Operation::tanh_in_place, in_place<ref::tanh_>},
    {Operation::relu_in_place, in_place<ref::relu_>},
    {Operation::copy_in_place, into_first<ref::copy_>},
    {Operation::fill_in_place,
     [](const List& in, const Node& n) { return ref::fill_(in[0], number(n)), in[0]; }},
};

}  // namespace

void apply_operation(const Node& node, const List& inputs, List& outputs) {
  if (node.operation == Operation::unbind) {
    for (Tensor& part : ref::unbind(inputs[0], integer(node, 0))) {
      outputs.push_back(std::move(part));
    }
  } else if (const Apply function = operations[node.operation]) {
    outputs.push_back(function(inputs, node));
  } else {
    throw kit::NotOffered("operation " + std::string(spec_of(node.operation).name));
  }
}

}  // namespace gradcts::reference_adapter
