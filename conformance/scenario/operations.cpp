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
    OperationSpec{Op::maximum, "maximum", 2, 2, 1, false, false, none,
                  "the larger of a and b; where they are equal each gets half of the gradient"},
    OperationSpec{Op::minimum, "minimum", 2, 2, 1, false, false, none,
                  "the smaller of a and b; where they are equal each gets half of the gradient"},
    OperationSpec{Op::where, "where", 3, 3, 1, false, false, none,
                  "b where the boolean a is true, else c"},
    OperationSpec{Op::clamp, "clamp", 1, 1, 1, false, false, clamp_attributes,
                  "a limited to min .. max; the gradient passes where min <= a <= max"},
    OperationSpec{Op::sum, "sum", 1, 1, 1, false, false, reduce_attributes,
                  "the sum over dims (all when left out)"},
    OperationSpec{Op::mean, "mean", 1, 1, 1, false, false, reduce_attributes,
                  "the mean over dims (all when left out)"},
    OperationSpec{Op::mm, "mm", 2, 2, 1, false, false, none, "the product of two matrices"},
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
    OperationSpec{Op::cat, "cat", 1, -1, 1, false, false, dim_attributes,
                  "the inputs one after the other along a dimension"},
    OperationSpec{Op::clone, "clone", 1, 1, 1, false, false, none, "a copy of a"},
    OperationSpec{Op::detach, "detach", 1, 1, 1, false, true, none,
                  "a view of a without history: makes no node"},
    OperationSpec{Op::exp, "exp", 1, 1, 1, false, false, none, "e ** a"},
    OperationSpec{Op::log, "log", 1, 1, 1, false, false, none, "the natural logarithm of a"},
    OperationSpec{Op::sin, "sin", 1, 1, 1, false, false, none, "the sine of a"},
    OperationSpec{Op::cos, "cos", 1, 1, 1, false, false, none, "the cosine of a"},
    OperationSpec{Op::tanh, "tanh", 1, 1, 1, false, false, none, "the hyperbolic tangent of a"},
    OperationSpec{Op::sigmoid, "sigmoid", 1, 1, 1, false, false, none, "1 / (1 + e ** -a)"},
    OperationSpec{Op::relu, "relu", 1, 1, 1, false, false, none,
                  "a where a > 0, else 0; the gradient at 0 is 0"},
    OperationSpec{Op::sqrt, "sqrt", 1, 1, 1, false, false, none, "the square root of a"},
    OperationSpec{Op::cast, "cast", 1, 1, 1, false, false, type_attributes,
                  "a in another type; the gradient is cast back"},
    OperationSpec{Op::to_device, "to_device", 1, 1, 1, false, false, device_attributes,
                  "a copy of a on another device; the gradient is copied back"},
    OperationSpec{Op::add_in_place, "add_", 2, 2, 1, true, false, none, "a += b"},
    OperationSpec{Op::sub_in_place, "sub_", 2, 2, 1, true, false, none, "a -= b"},
    OperationSpec{Op::mul_in_place, "mul_", 2, 2, 1, true, false, none, "a *= b"},
    OperationSpec{Op::scale_in_place, "scale_", 1, 1, 1, true, false, factor_attributes,
                  "a *= factor"},
    OperationSpec{Op::exp_in_place, "exp_", 1, 1, 1, true, false, none, "a = e ** a"},
};

constexpr bool in_order_of_the_enumeration() {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].operation != static_cast<Operation>(i)) return false;
  }
  return true;
}
static_assert(in_order_of_the_enumeration());
static_assert(operations.back().operation == Operation::exp_in_place);

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
