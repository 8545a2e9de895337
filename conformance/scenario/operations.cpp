#include "conformance/scenario/operations.h"

#include <array>

namespace gradcts {
namespace {

using Kind = AttributeKind;

constexpr std::array factor_attributes{AttributeSpec{"factor", Kind::number, true}};
constexpr std::array power_attributes{AttributeSpec{"exponent", Kind::number, true}};
constexpr std::array clamp_attributes{AttributeSpec{"min", Kind::number, false},
                                      AttributeSpec{"max", Kind::number, false}};
constexpr std::array reduce_attributes{AttributeSpec{"dims", Kind::integers, false},
                                       AttributeSpec{"keepdim", Kind::boolean, false}};
constexpr std::array required_dims_attributes{AttributeSpec{"dims", Kind::integers, true}};
constexpr std::array logsumexp_attributes{AttributeSpec{"dims", Kind::integers, true},
                                          AttributeSpec{"keepdim", Kind::boolean, false}};
constexpr std::array layer_norm_attributes{AttributeSpec{"eps", Kind::number, true}};
constexpr std::array embedding_attributes{AttributeSpec{"sparse", Kind::boolean, false}};
constexpr std::array fill_attributes{AttributeSpec{"value", Kind::number, true}};
constexpr std::array shape_attributes{AttributeSpec{"shape", Kind::integers, true}};
constexpr std::array transpose_attributes{AttributeSpec{"dim0", Kind::integer, true},
                                          AttributeSpec{"dim1", Kind::integer, true}};
constexpr std::array select_attributes{AttributeSpec{"dim", Kind::integer, true},
                                       AttributeSpec{"index", Kind::integer, true}};
constexpr std::array slice_attributes{
    AttributeSpec{"dim", Kind::integer, true}, AttributeSpec{"start", Kind::integer, true},
    AttributeSpec{"end", Kind::integer, true}, AttributeSpec{"step", Kind::integer, false}};
constexpr std::array dim_attributes{AttributeSpec{"dim", Kind::integer, true}};
constexpr std::array type_attributes{AttributeSpec{"type", Kind::type, true}};
constexpr std::array device_attributes{AttributeSpec{"device", Kind::device, true}};
constexpr std::span<const AttributeSpec> none{};

// operation, name, least and most inputs, outputs, in place, view, attributes, meaning
using Op = Operation;
// "Gradient not stated": no clause says what flows there, and nothing judges it.
constexpr std::array operations{
    OperationSpec{Op::custom, "custom", 1, -1, -1, false, false, none,
                  "a node whose backward is scripted"},
    OperationSpec{Op::add, "add", 2, 2, 1, false, false, none, "a + b"},
    OperationSpec{Op::sub, "sub", 2, 2, 1, false, false, none, "a - b"},
    OperationSpec{Op::mul, "mul", 2, 2, 1, false, false, none, "a * b, elementwise"},
    OperationSpec{Op::div, "div", 2, 2, 1, false, false, none, "a / b, elementwise"},
    OperationSpec{Op::neg, "neg", 1, 1, 1, false, false, none, "-a"},
    OperationSpec{Op::scale, "scale", 1, 1, 1, false, false, factor_attributes, "a * factor"},
    OperationSpec{Op::power, "power", 1, 1, 1, false, false, power_attributes, "a ** exponent"},
    OperationSpec{Op::pow, "pow", 2, 2, 1, false, false, none,
                  "a ** b, elementwise; where a is 0 and b >= 0 the gradient of b is 0"},
    OperationSpec{Op::maximum, "maximum", 2, 2, 1, false, false, none,
                  "the larger of a and b; where they are equal each gets half of the gradient; nan "
                  "where one is nan (gradient not stated)"},
    OperationSpec{Op::minimum, "minimum", 2, 2, 1, false, false, none,
                  "the smaller of a and b; where they are equal each gets half of the gradient; "
                  "nan where one is nan (gradient not stated)"},
    OperationSpec{Op::where, "where", 3, 3, 1, false, false, none,
                  "b where the boolean a is true, else c"},
    OperationSpec{Op::clamp, "clamp", 1, 1, 1, false, false, clamp_attributes,
                  "a limited to min .. max; the gradient passes where min <= a <= max; nan stays "
                  "nan (gradient not stated)"},
    OperationSpec{Op::sum, "sum", 1, 1, 1, false, false, reduce_attributes,
                  "the sum over dims (all when left out)"},
    OperationSpec{Op::mean, "mean", 1, 1, 1, false, false, reduce_attributes,
                  "the mean over dims (all when left out)"},
    OperationSpec{Op::amax, "amax", 1, 1, 1, false, false, reduce_attributes,
                  "the largest over dims (all when left out); equal ones share the gradient "
                  "evenly; nan where one is nan (gradient not stated)"},
    OperationSpec{Op::amin, "amin", 1, 1, 1, false, false, reduce_attributes,
                  "the smallest over dims (all when left out); equal ones share the gradient "
                  "evenly; nan where one is nan (gradient not stated)"},
    OperationSpec{Op::logsumexp, "logsumexp", 1, 1, 1, false, false, logsumexp_attributes,
                  "the logarithm of the sum of e ** a over dims"},
    OperationSpec{Op::softmax, "softmax", 1, 1, 1, false, false, dim_attributes,
                  "e ** a over the sum of e ** a along dim"},
    OperationSpec{Op::log_softmax, "log_softmax", 1, 1, 1, false, false, dim_attributes,
                  "the logarithm of softmax"},
    OperationSpec{Op::layer_norm, "layer_norm", 3, 3, 1, false, false, layer_norm_attributes,
                  "(a - mean) / sqrt(variance + eps) * b + c over the last dimension, with the "
                  "biased variance; b and c have that dimension's size"},
    OperationSpec{Op::cumsum, "cumsum", 1, 1, 1, false, false, dim_attributes,
                  "the running sum along dim"},
    OperationSpec{Op::flip, "flip", 1, 1, 1, false, false, required_dims_attributes,
                  "a copy of a with the order along dims turned round"},
    OperationSpec{Op::mm, "mm", 2, 2, 1, false, false, none, "the product of two matrices"},
    OperationSpec{Op::bmm, "bmm", 2, 2, 1, false, false, none,
                  "the products of two batches of matrices, one by one"},
    OperationSpec{Op::view, "view", 1, 1, 1, false, true, shape_attributes,
                  "a with another shape of as many elements"},
    OperationSpec{Op::expand, "expand", 1, 1, 1, false, true, shape_attributes,
                  "a broadcast to the shape, with strides of 0"},
    OperationSpec{Op::transpose, "transpose", 1, 1, 1, false, true, transpose_attributes,
                  "a with two dimensions swapped"},
    OperationSpec{Op::select, "select", 1, 1, 1, false, true, select_attributes,
                  "the part of a at an index of a dimension, which goes away"},
    OperationSpec{Op::slice, "slice", 1, 1, 1, false, true, slice_attributes,
                  "the part of a from start up to, not including, end of a dimension"},
    OperationSpec{Op::unbind, "unbind", 1, 1, -1, false, true, dim_attributes,
                  "one output for each index of a dimension"},
    OperationSpec{Op::view_as_real, "view_as_real", 1, 1, 1, false, true, none,
                  "a complex a as real numbers, with a last dimension of 2"},
    OperationSpec{Op::view_as_complex, "view_as_complex", 1, 1, 1, false, true, none,
                  "a real a, whose last dimension is 2 and contiguous, as complex numbers"},
    OperationSpec{Op::cat, "cat", 1, -1, 1, false, false, dim_attributes,
                  "the inputs one after the other along a dimension"},
    OperationSpec{Op::clone, "clone", 1, 1, 1, false, false, none, "a copy of a"},
    OperationSpec{Op::detach, "detach", 1, 1, 1, false, true, none,
                  "a view of a without history: makes no node"},
    OperationSpec{Op::gather, "gather", 2, 2, 1, false, false, dim_attributes,
                  "the elements of a whose position along dim the int64 b says: out[i][j] = "
                  "a[i][b[i][j]] for dim 1"},
    OperationSpec{Op::scatter_add, "scatter_add", 3, 3, 1, false, false, dim_attributes,
                  "a copy of a with c added where b says: out[i][b[i][j]] += c[i][j] for dim 1; "
                  "repeated positions add up"},
    OperationSpec{Op::index_select, "index_select", 2, 2, 1, false, false, dim_attributes,
                  "the parts of a along dim that the one-dimensional int64 b lists"},
    OperationSpec{
        Op::embedding, "embedding", 2, 2, 1, false, false, embedding_attributes,
        "the rows of the matrix a that the int64 b lists; with sparse the gradient of a is sparse"},
    OperationSpec{Op::exp, "exp", 1, 1, 1, false, false, none, "e ** a"},
    OperationSpec{Op::log, "log", 1, 1, 1, false, false, none, "the natural logarithm of a"},
    OperationSpec{Op::expm1, "expm1", 1, 1, 1, false, false, none, "e ** a - 1"},
    OperationSpec{Op::log1p, "log1p", 1, 1, 1, false, false, none,
                  "the natural logarithm of 1 + a"},
    OperationSpec{Op::sin, "sin", 1, 1, 1, false, false, none, "the sine of a"},
    OperationSpec{Op::cos, "cos", 1, 1, 1, false, false, none, "the cosine of a"},
    OperationSpec{Op::tan, "tan", 1, 1, 1, false, false, none, "the tangent of a"},
    OperationSpec{Op::tanh, "tanh", 1, 1, 1, false, false, none, "the hyperbolic tangent of a"},
    OperationSpec{Op::sigmoid, "sigmoid", 1, 1, 1, false, false, none, "1 / (1 + e ** -a)"},
    OperationSpec{Op::erf, "erf", 1, 1, 1, false, false, none, "the error function of a"},
    OperationSpec{
        Op::relu, "relu", 1, 1, 1, false, false, none,
        "a where a > 0, else 0; the gradient at 0 is 0; nan stays nan (gradient not stated)"},
    OperationSpec{Op::abs, "abs", 1, 1, 1, false, false, none,
                  "the modulus of a, real also for a complex a; the gradient at 0 is 0"},
    OperationSpec{Op::sqrt, "sqrt", 1, 1, 1, false, false, none, "the square root of a"},
    OperationSpec{Op::conj, "conj", 1, 1, 1, false, false, none, "a copy of a, conjugated"},
    OperationSpec{Op::cast, "cast", 1, 1, 1, false, false, type_attributes,
                  "a in another type; the gradient is cast back"},
    OperationSpec{Op::to_device, "to_device", 1, 1, 1, false, false, device_attributes,
                  "a copy of a on another device; the gradient is copied back"},
    OperationSpec{Op::add_in_place, "add_", 2, 2, 1, true, false, none, "a += b"},
    OperationSpec{Op::sub_in_place, "sub_", 2, 2, 1, true, false, none, "a -= b"},
    OperationSpec{Op::mul_in_place, "mul_", 2, 2, 1, true, false, none, "a *= b"},
    OperationSpec{Op::div_in_place, "div_", 2, 2, 1, true, false, none, "a /= b"},
    OperationSpec{Op::neg_in_place, "neg_", 1, 1, 1, true, false, none, "a = -a"},
    OperationSpec{Op::scale_in_place, "scale_", 1, 1, 1, true, false, factor_attributes,
                  "a *= factor"},
    OperationSpec{Op::exp_in_place, "exp_", 1, 1, 1, true, false, none,
                  "a = e ** a; saves its result"},
    OperationSpec{Op::tanh_in_place, "tanh_", 1, 1, 1, true, false, none,
                  "a = tanh(a); saves its result"},
    OperationSpec{Op::relu_in_place, "relu_", 1, 1, 1, true, false, none,
                  "a = relu(a); saves its result"},
    OperationSpec{Op::copy_in_place, "copy_", 2, 2, 1, true, false, none,
                  "a becomes b, broadcast and cast; no gradient for the old a"},
    OperationSpec{Op::fill_in_place, "fill_", 1, 1, 1, true, false, fill_attributes,
                  "a becomes value everywhere; no gradient for the old a"},
};

constexpr bool in_order_of_the_enumeration() {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].operation != static_cast<Operation>(i)) return false;
  }
  return true;
}
static_assert(in_order_of_the_enumeration());
static_assert(operations.size() == operation_count);

}  // namespace

std::span<const OperationSpec> all_operations() {
  return operations;
}

const OperationSpec& spec_of(Operation operation) {
  return operations[static_cast<std::size_t>(operation)];
}

const OperationSpec* find_operation(std::string_view name) {
  for (const OperationSpec& spec : operations) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

}  // namespace gradcts
