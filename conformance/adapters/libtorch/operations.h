// The built-in operations of scenarios on libtorch. For the one source file of the adapter.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "conformance/adapters/kit/operation_table.h"
#include "conformance/adapters/libtorch/plain_data.h"

namespace gradcts::libtorch {

using kit::attribute;
using List = std::vector<Tensor>;

inline std::int64_t integer(const Node& node, std::size_t i) {
  return attribute<std::int64_t>(node, i);
}
inline double number(const Node& node) {
  return attribute<double>(node, 0);
}
inline c10::optional<at::Scalar> bound(const Node& node, std::size_t index) {
  const auto* found = std::get_if<double>(&node.attributes[index]);
  return found ? c10::optional<at::Scalar>(*found) : c10::nullopt;
}

inline Tensor reduce(const Node& node, const Tensor& x) {
  const auto* dims = std::get_if<IntegerList>(&node.attributes[0]);
  const bool keep = attribute<bool>(node, 1);
  if (!dims && !keep && node.operation == Operation::sum) return x.sum();
  if (!dims && !keep && node.operation == Operation::mean) return x.mean();
  IntegerList all;
  for (std::int64_t i = 0; !dims && i < x.dim(); ++i) all.push_back(i);
  const at::IntArrayRef over = sizes(dims ? *dims : all);
  if (node.operation == Operation::amax) return x.amax(over, keep);
  if (node.operation == Operation::amin) return x.amin(over, keep);
  if (node.operation == Operation::logsumexp) return x.logsumexp(over, keep);
  return node.operation == Operation::mean ? x.mean(over, keep) : x.sum(over, keep);
}

inline Tensor layer_norm(const List& in, double eps) {
  return at::layer_norm(in[0], {in[0].sizes().back()}, in[1], in[2], eps);
}

// A copy in any case: conj() of a complex tensor is a view that is conjugated when it is read.
inline Tensor conjugated(const Tensor& x) {
  return x.is_complex() ? x.conj_physical() : x.clone();
}

inline Tensor slice(const Node& n, const Tensor& x) {
  return x.slice(integer(n, 0), integer(n, 1), integer(n, 2), attribute<std::int64_t>(n, 3, 1));
}

inline Tensor cast(const Tensor& x, ScalarType type) {
  return x.to(type_of(type), /*non_blocking=*/false, /*copy=*/true);
}

using Apply = Tensor (*)(const List& in, const Node& n);
inline constexpr kit::OperationTable<Apply> operations{
    {Operation::add, [](const List& in, const Node&) { return in[0].add(in[1]); }},
    {Operation::sub, [](const List& in, const Node&) { return in[0].sub(in[1]); }},
    {Operation::mul, [](const List& in, const Node&) { return in[0].mul(in[1]); }},
    {Operation::div, [](const List& in, const Node&) { return in[0].div(in[1]); }},
    {Operation::neg, [](const List& in, const Node&) { return in[0].neg(); }},
    {Operation::scale, [](const List& in, const Node& n) { return in[0].mul(number(n)); }},
    {Operation::power, [](const List& in, const Node& n) { return in[0].pow(number(n)); }},
    {Operation::pow, [](const List& in, const Node&) { return in[0].pow(in[1]); }},
    {Operation::maximum, [](const List& in, const Node&) { return in[0].maximum(in[1]); }},
    {Operation::minimum, [](const List& in, const Node&) { return in[0].minimum(in[1]); }},
    {Operation::where, [](const List& in, const Node&) { return at::where(in[0], in[1], in[2]); }},
    {Operation::clamp,
     [](const List& in, const Node& n) { return in[0].clamp(bound(n, 0), bound(n, 1)); }},
    {Operation::sum, [](const List& in, const Node& n) { return reduce(n, in[0]); }},
    {Operation::mean, [](const List& in, const Node& n) { return reduce(n, in[0]); }},
    {Operation::amax, [](const List& in, const Node& n) { return reduce(n, in[0]); }},
    {Operation::amin, [](const List& in, const Node& n) { return reduce(n, in[0]); }},
    {Operation::logsumexp, [](const List& in, const Node& n) { return reduce(n, in[0]); }},
    {Operation::softmax,
     [](const List& in, const Node& n) { return in[0].softmax(integer(n, 0)); }},
    {Operation::log_softmax,
     [](const List& in, const Node& n) { return in[0].log_softmax(integer(n, 0)); }},
    {Operation::layer_norm,
     [](const List& in, const Node& n) { return layer_norm(in, number(n)); }},
    {Operation::cumsum, [](const List& in, const Node& n) { return in[0].cumsum(integer(n, 0)); }},
    {Operation::flip,
     [](const List& in, const Node& n) { return in[0].flip(sizes(attribute<IntegerList>(n, 0))); }},
    {Operation::mm, [](const List& in, const Node&) { return in[0].mm(in[1]); }},
    {Operation::bmm, [](const List& in, const Node&) { return in[0].bmm(in[1]); }},
    {Operation::view,
     [](const List& in, const Node& n) { return in[0].view(sizes(attribute<IntegerList>(n, 0))); }},
    {Operation::expand,
     [](const List& in, const Node& n) {
       return in[0].expand(sizes(attribute<IntegerList>(n, 0)));
     }},
    {Operation::transpose,
     [](const List& in, const Node& n) { return in[0].transpose(integer(n, 0), integer(n, 1)); }},
    {Operation::select,
     [](const List& in, const Node& n) { return in[0].select(integer(n, 0), integer(n, 1)); }},
    {Operation::slice, [](const List& in, const Node& n) { return slice(n, in[0]); }},
    {Operation::view_as_real, [](const List& in, const Node&) { return at::view_as_real(in[0]); }},
    {Operation::view_as_complex,
     [](const List& in, const Node&) { return at::view_as_complex(in[0]); }},
    {Operation::cat, [](const List& in, const Node& n) { return at::cat(in, integer(n, 0)); }},
    {Operation::clone, [](const List& in, const Node&) { return in[0].clone(); }},
    {Operation::detach, [](const List& in, const Node&) { return in[0].detach(); }},
    {Operation::gather,
     [](const List& in, const Node& n) { return in[0].gather(integer(n, 0), in[1]); }},
    {Operation::scatter_add,
     [](const List& in, const Node& n) { return in[0].scatter_add(integer(n, 0), in[1], in[2]); }},
    {Operation::index_select,
     [](const List& in, const Node& n) { return in[0].index_select(integer(n, 0), in[1]); }},
    {Operation::embedding,
     [](const List& in, const Node& n) {
       return at::embedding(in[0], in[1], /*padding_idx=*/-1, /*scale_grad_by_freq=*/false,
                            attribute<bool>(n, 0));
     }},
    {Operation::exp, [](const List& in, const Node&) { return in[0].exp(); }},
    {Operation::log, [](const List& in, const Node&) { return in[0].log(); }},
    {Operation::expm1, [](const List& in, const Node&) { return in[0].expm1(); }},
    {Operation::log1p, [](const List& in, const Node&) { return in[0].log1p(); }},
    {Operation::sin, [](const List& in, const Node&) { return in[0].sin(); }},
    {Operation::cos, [](const List& in, const Node&) { return in[0].cos(); }},
    {Operation::tan, [](const List& in, const Node&) { return in[0].tan(); }},
    {Operation::tanh, [](const List& in, const Node&) { return in[0].tanh(); }},
    {Operation::sigmoid, [](const List& in, const Node&) { return in[0].sigmoid(); }},
    {Operation::erf, [](const List& in, const Node&) { return in[0].erf(); }},
    {Operation::relu, [](const List& in, const Node&) { return in[0].relu(); }},
    {Operation::abs, [](const List& in, const Node&) { return in[0].abs(); }},
    {Operation::sqrt, [](const List& in, const Node&) { return in[0].sqrt(); }},
    {Operation::conj, [](const List& in, const Node&) { return conjugated(in[0]); }},
    {Operation::cast,
     [](const List& in, const Node& n) { return cast(in[0], attribute<ScalarType>(n, 0)); }},
    {Operation::to_device,
     [](const List& in, const Node& n) {
       return in[0].to(in[0].options().device(device_of(attribute<Device>(n, 0))), false, true);
     }},
    {Operation::add_in_place, [](const List& in, const Node&) { return in[0].add_(in[1]); }},
    {Operation::sub_in_place, [](const List& in, const Node&) { return in[0].sub_(in[1]); }},
    {Operation::mul_in_place, [](const List& in, const Node&) { return in[0].mul_(in[1]); }},
    {Operation::div_in_place, [](const List& in, const Node&) { return in[0].div_(in[1]); }},
    {Operation::neg_in_place, [](const List& in, const Node&) { return in[0].neg_(); }},
    {Operation::scale_in_place,
     [](const List& in, const Node& n) { return in[0].mul_(number(n)); }},
    {Operation::exp_in_place, [](const List& in, const Node&) { return in[0].exp_(); }},
    {Operation::tanh_in_place, [](const List& in, const Node&) { return in[0].tanh_(); }},
    {Operation::relu_in_place, [](const List& in, const Node&) { return in[0].relu_(); }},
    {Operation::copy_in_place, [](const List& in, const Node&) { return in[0].copy_(in[1]); }},
    {Operation::fill_in_place,
     [](const List& in, const Node& n) { return in[0].fill_(number(n)); }},
};

}  // namespace gradcts::libtorch
