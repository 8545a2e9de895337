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

Tensor reduce(const Node& node, const Tensor& x) {
  const bool mean = node.operation == Operation::mean;
  const auto* dims = std::get_if<IntegerList>(&node.attributes[0]);
  const bool keep = attribute<bool>(node, 1);
  if (!dims && !keep) return mean ? ref::mean(x) : ref::sum(x);
  IntegerList all;
  for (std::int64_t i = 0; i < x.dim(); ++i) all.push_back(i);
  const ref::ShapeView over = dims ? *dims : all;
  return mean ? ref::mean(x, over, keep) : ref::sum(x, over, keep);
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
// In place: the result is the first operand.
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
    {Operation::maximum, two<ref::maximum>},
    {Operation::minimum, two<ref::minimum>},
    {Operation::where, [](const List& in, const Node&) { return ref::where(in[0], in[1], in[2]); }},
    {Operation::clamp, [](const List& in, const Node& n) { return clamp(n, in[0]); }},
    {Operation::sum, [](const List& in, const Node& n) { return reduce(n, in[0]); }},
    {Operation::mean, [](const List& in, const Node& n) { return reduce(n, in[0]); }},
    {Operation::mm, two<ref::mm>},
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
    {Operation::cat, [](const List& in, const Node& n) { return ref::cat(in, integer(n, 0)); }},
    {Operation::clone, one<ref::clone>},
    {Operation::detach, one<ref::detach>},
    {Operation::exp, one<ref::exp>},
    {Operation::log, one<ref::log>},
    {Operation::sin, one<ref::sin>},
    {Operation::cos, one<ref::cos>},
    {Operation::tanh, one<ref::tanh>},
    {Operation::sigmoid, one<ref::sigmoid>},
    {Operation::relu, one<ref::relu>},
    {Operation::sqrt, one<ref::sqrt>},
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
    {Operation::scale_in_place,
     [](const List& in, const Node& n) { return ref::scale_(in[0], number(n)), in[0]; }},
    {Operation::exp_in_place, [](const List& in, const Node&) { return ref::exp_(in[0]), in[0]; }},
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
