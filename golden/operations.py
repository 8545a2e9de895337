"""The vocabulary: what each operation means, as one entry.

An entry's `formula` works on tensors of any arithmetic: with jets it gives the truth, with tracked
numbers the bound. To add an operation, write its formula and its entry here and a case family in
families/; primitives that are no composition of others go into exact/jets.py (derivative) and
exact/error_bounds.py (error and backward formula).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Callable

from exact import reals
from exact.complex_formulas import Pair
from exact.rounding import COMPONENT, is_complex
from tensors import Tensor, broadcast_shape, expanded, grouped, positions, row_major

REAL_TYPES = ("float16", "bfloat16", "float32", "float64")
COMPLEX_TYPES = ("complex64", "complex128")
ALL_TYPES = REAL_TYPES + COMPLEX_TYPES


class Arithmetic:
    """What formulas may use: an exact arithmetic, addressed by the kind of element."""

    def __init__(self, numbers):
        self.numbers = numbers

    def of(self, tensor_type: str, name: str) -> Callable:
        """The operation for elements of a type: numbers or pairs."""
        return getattr(self.numbers, ("c_" if is_complex(tensor_type) else "") + name)

    def zero(self, tensor_type: str):
        number = self.constant(tensor_type, 0.0)
        return Pair(number, self.constant(tensor_type, 0.0)) if is_complex(tensor_type) else number

    def constant(self, tensor_type: str, number: reals.Real):
        raise NotImplementedError

    def base(self, element) -> reals.Real:
        return self.numbers.base(element)

    def total(self, tensor_type: str, elements: list):
        return self.of(tensor_type, "total")(elements) if elements else self.zero(tensor_type)

    def cast(self, element, source: str, target: str):
        """To another type: from complex to real the real part remains."""
        if is_complex(source) and is_complex(target):
            return Pair(self.cast_number(element.re, target), self.cast_number(element.im, target))
        if is_complex(source):
            return self.cast_number(element.re, target)
        number = self.cast_number(element, target)
        return Pair(number, self.constant(target, 0.0)) if is_complex(target) else number

    def cast_number(self, number, target: str):
        raise NotImplementedError

    def detach(self, element):
        if type(element) is Pair:
            return Pair(self.detach(element.re), self.detach(element.im))
        return self.numbers.detached(element)


Formula = Callable[[Arithmetic, list[Tensor], dict], list[Tensor]]


@dataclass(frozen=True)
class Operation:
    name: str
    inputs: int | None  # None: any number
    formula: Formula
    types: tuple[str, ...] = ALL_TYPES
    in_place: bool = False
    makes_view: bool = False


def elementwise(name: str) -> Formula:
    """One function of one or two broadcast tensors."""
    def formula(arithmetic: Arithmetic, inputs: list[Tensor], attributes: dict) -> list[Tensor]:
        shape = broadcast_shape(*[a.shape for a in inputs])
        function = arithmetic.of(inputs[0].type, name)
        columns = [expanded(a, shape).elements() for a in inputs]
        return [Tensor.make(inputs[0].type, shape, [function(*row) for row in zip(*columns)])]
    return formula


def with_number(name: str, attribute: str) -> Formula:
    """A function of one tensor and a number."""
    def formula(arithmetic, inputs, attributes):
        number = attributes[attribute]
        number = Fraction(number) if attribute == "exponent" else reals.real(number)
        function = arithmetic.of(inputs[0].type, name)
        return [inputs[0].same([function(a, number) for a in inputs[0].elements()])]
    return formula


def choosing(choose: Callable) -> Formula:
    """Elementwise choice by value: choose(arithmetic, row, attributes, type)."""
    def formula(arithmetic, inputs, attributes):
        shape = broadcast_shape(*[a.shape for a in inputs])
        columns = [expanded(a, shape).elements() for a in inputs]
        scalar_type = inputs[-1].type
        return [Tensor.make(scalar_type, shape, [choose(arithmetic, row, attributes, scalar_type)
                                                 for row in zip(*columns)])]
    return formula


def _extreme(larger: bool) -> Callable:
    """maximum, minimum."""
    def choose(arithmetic, row, attributes, scalar_type):
        return _extreme_of(arithmetic, list(row), larger)
    return choose


def _extreme_of(arithmetic, elements: list, larger: bool):
    """The largest or smallest. Equal ones share the gradient; nan in any: the result is nan."""
    numbers = arithmetic.numbers
    if any(reals.is_nan(arithmetic.base(a)) for a in elements):
        return numbers.total(elements)
    best = elements[0]
    for a in elements[1:]:
        if numbers.less(best, a) if larger else numbers.less(a, best):
            best = a
    equals = [a for a in elements if numbers.equal(a, best)]
    return best if len(equals) == 1 else numbers.shared(equals)


def _where(arithmetic, row, attributes, scalar_type):
    condition, a, b = row
    return a if condition else b


def _clamp(arithmetic, row, attributes, scalar_type):
    x, less = row[0], arithmetic.numbers.less
    for name, outside in (("min", lambda limit: less(x, limit)), ("max", lambda limit: less(limit, x))):
        if name in attributes:
            limit = arithmetic.constant(scalar_type, reals.real(attributes[name]))
            if outside(limit):
                return limit
    return x


def _relu(arithmetic, row, attributes, scalar_type):
    zero = arithmetic.constant(scalar_type, 0.0)
    if reals.is_nan(arithmetic.base(row[0])) or arithmetic.numbers.less(zero, row[0]):
        return row[0]
    return zero


def _abs(arithmetic, inputs, attributes):
    """Of a complex number the modulus, which is real. No gradient at 0."""
    a, = inputs
    if is_complex(a.type):
        return [a.same([arithmetic.numbers.c_abs(x) for x in a.elements()], COMPONENT[a.type])]
    zero = arithmetic.constant(a.type, 0.0)
    return [a.same([_abs_of_real(arithmetic, x, zero) for x in a.elements()])]


def _abs_of_real(arithmetic, x, zero):
    numbers = arithmetic.numbers
    if reals.is_nan(arithmetic.base(x)) or numbers.less(zero, x):
        return x
    return zero if numbers.equal(x, zero) else numbers.neg(x)


def _sum(arithmetic, inputs, attributes):
    a, = inputs
    shape, groups = grouped(a, attributes.get("dims"), attributes.get("keepdim", False))
    return [Tensor.make(a.type, shape, [arithmetic.total(a.type, group) for group in groups])]


def _mean(arithmetic, inputs, attributes):
    total, = _sum(arithmetic, inputs, attributes)
    sums = total.elements()
    if not sums:
        return [total]
    count = Fraction(len(inputs[0].elements()), len(sums))
    if count == 0:  # 0 / 0
        return [total.same([arithmetic.constant(total.type, reals.NAN)] * len(sums))]
    over = arithmetic.of(total.type, "over")
    return [total.same([over(t, count) for t in sums])]


def _extreme_over(larger: bool) -> Formula:
    """amax, amin."""
    def formula(arithmetic, inputs, attributes):
        a, = inputs
        shape, groups = grouped(a, attributes.get("dims"), attributes.get("keepdim", False))
        return [Tensor.make(a.type, shape, [_extreme_of(arithmetic, group, larger) for group in groups])]
    return formula


def _logsumexp(arithmetic, inputs, attributes):
    a, = inputs
    shape, groups = grouped(a, attributes["dims"], attributes.get("keepdim", False))
    return [Tensor.make(a.type, shape, [arithmetic.numbers.logsumexp(group) for group in groups])]


def along(function: Callable) -> Formula:
    """function(arithmetic, type, row) makes a row of as many elements, for each row along `dim`."""
    def formula(arithmetic, inputs, attributes):
        a, = inputs
        dim = attributes["dim"]
        result = Tensor.make(a.type, a.shape, a.elements())
        if 0 in a.shape:
            return [result]
        for index in positions([1 if d == dim else size for d, size in enumerate(a.shape)]):
            row = result.alias([a.shape[dim]], [result.strides[dim]],
                               sum(i * stride for i, stride in zip(index, result.strides)))
            row.assign(function(arithmetic, a.type, row.elements()))
        return [result]
    return formula


def _running_sums(arithmetic, scalar_type, row):
    return [arithmetic.total(scalar_type, row[:i]) for i in range(1, len(row) + 1)]


def _layer_norm(arithmetic, inputs, attributes):
    a, weight, bias = inputs
    size, elements = a.shape[-1], a.elements()
    epsilon = reals.real(attributes["eps"])
    rows = [elements[i:i + size] for i in range(0, len(elements), size)] if size else []
    weights, shifts = weight.elements(), bias.elements()
    return [a.same([y for row in rows
                    for y in arithmetic.numbers.layer_norm(row, weights, shifts, epsilon)])]


def _flip(arithmetic, inputs, attributes):
    a, = inputs
    strides, offset = list(a.strides), a.offset
    for dim in attributes["dims"]:
        offset += max(a.shape[dim] - 1, 0) * strides[dim]
        strides[dim] = -strides[dim]
    return [a.same(a.alias(a.shape, strides, offset).elements())]


def _mm(arithmetic, inputs, attributes):
    a, b = inputs
    shape = [a.shape[0], b.shape[1]]
    return [Tensor.make(a.type, shape, _product(arithmetic, a.type, shape, a.elements(), b.elements()))]


def _product(arithmetic, scalar_type, shape: list[int], x: list, y: list) -> list:
    rows, columns = shape
    inner = len(x) // rows if rows else 0
    mul = arithmetic.of(scalar_type, "mul")
    return [arithmetic.total(scalar_type, [mul(x[i * inner + k], y[k * columns + j])
                                           for k in range(inner)])
            for i in range(rows) for j in range(columns)]


def _bmm(arithmetic, inputs, attributes):
    a, b = inputs
    shape = [a.shape[0], a.shape[1], b.shape[2]]
    elements = [element for i in range(shape[0])
                for element in _product(arithmetic, a.type, shape[1:], _selected(a, 0, i).elements(),
                                        _selected(b, 0, i).elements())]
    return [Tensor.make(a.type, shape, elements)]


# Operations by an index. An element is reached by its position in row-major order.

def _place(position: tuple, shape: list[int]) -> int:
    return sum(i * stride for i, stride in zip(position, row_major(list(shape))))


def _moved(position: tuple, dim: int, to: int) -> tuple:
    return (*position[:dim], to, *position[dim + 1:])


def _gather(arithmetic, inputs, attributes):
    a, index = inputs
    dim, elements = attributes["dim"], a.elements()
    taken = [elements[_place(_moved(p, dim, i), a.shape)]
             for p, i in zip(positions(index.shape), index.elements())]
    return [Tensor.make(a.type, index.shape, taken)]


def _scatter_add(arithmetic, inputs, attributes):
    a, index, source = inputs
    dim = attributes["dim"]
    sums = [[element] for element in a.elements()]
    for p, i, element in zip(positions(index.shape), index.elements(), source.elements(), strict=True):
        sums[_place(_moved(p, dim, i), a.shape)].append(element)
    return [a.same([arithmetic.total(a.type, terms) for terms in sums])]


def _index_select(arithmetic, inputs, attributes):
    a, index = inputs
    dim, elements = attributes["dim"], a.elements()
    shape = list(a.shape)
    shape[dim] = len(index.elements())
    taken = index.elements()
    return [Tensor.make(a.type, shape, [elements[_place(_moved(p, dim, taken[p[dim]]), a.shape)]
                                        for p in positions(shape)])]


def _embedding(arithmetic, inputs, attributes):
    weight, index = inputs
    rows = [element for i in index.elements() for element in _selected(weight, 0, i).elements()]
    return [Tensor.make(weight.type, [*index.shape, weight.shape[1]], rows)]


def _view(arithmetic, inputs, attributes):
    a, = inputs
    shape = list(attributes["shape"])
    assert 0 in a.shape or _dense(a), "only a contiguous tensor has views of every shape"
    return [a.alias(shape, row_major(shape))]


def _dense(a: Tensor) -> bool:
    return all(size == 1 or own == plain
               for size, own, plain in zip(a.shape, a.strides, row_major(a.shape)))


def _expand(arithmetic, inputs, attributes):
    return [expanded(inputs[0], list(attributes["shape"]))]


def _transpose(arithmetic, inputs, attributes):
    a, = inputs
    order = list(range(len(a.shape)))
    i, j = attributes["dim0"], attributes["dim1"]
    order[i], order[j] = order[j], order[i]
    return [a.alias([a.shape[d] for d in order], [a.strides[d] for d in order])]


def _selected(a: Tensor, dim: int, index: int) -> Tensor:
    index %= a.shape[dim]
    rest = [d for d in range(len(a.shape)) if d != dim]
    return a.alias([a.shape[d] for d in rest], [a.strides[d] for d in rest],
                   a.offset + index * a.strides[dim])


def _select(arithmetic, inputs, attributes):
    return [_selected(inputs[0], attributes["dim"], attributes["index"])]


def _slice(arithmetic, inputs, attributes):
    a, = inputs
    dim, step = attributes["dim"], attributes.get("step", 1)
    taken = range(a.shape[dim])[attributes["start"]:attributes["end"]:step]
    shape, strides = list(a.shape), list(a.strides)
    shape[dim] = len(taken)
    start = taken.start if len(taken) else 0
    offset = a.offset + start * strides[dim]
    strides[dim] *= step
    return [a.alias(shape, strides, offset)]


def _unbind(arithmetic, inputs, attributes):
    a, = inputs
    return [_selected(a, attributes["dim"], i) for i in range(a.shape[attributes["dim"]])]


def _cat(arithmetic, inputs, attributes):
    dim = attributes["dim"]
    shape = list(inputs[0].shape)
    shape[dim] = sum(a.shape[dim] for a in inputs)
    result = Tensor.room_for(inputs[0].type, shape, math.prod(shape), row_major(shape))
    start = 0
    for a in inputs:
        part = result.alias(a.shape, result.strides, start * result.strides[dim])
        part.assign(a.elements())
        start += a.shape[dim]
    return [result]


def _view_as_real(arithmetic, inputs, attributes):
    a, = inputs
    return [a.alias([*a.shape, 2], [*[2 * stride for stride in a.strides], 1], 2 * a.offset,
                    COMPONENT[a.type])]


def _view_as_complex(arithmetic, inputs, attributes):
    a, = inputs
    strides = [*a.strides[:-1], a.offset]
    assert a.shape[-1] == 2 and a.strides[-1] == 1 and all(stride % 2 == 0 for stride in strides)
    target = next(name for name, component in COMPONENT.items() if component == a.type)
    return [a.alias(a.shape[:-1], [stride // 2 for stride in strides[:-1]], a.offset // 2, target)]


def _copied_over(arithmetic, inputs, attributes):
    """copy_: the values of the second input, in the shape and type of the first."""
    a, b = inputs
    return [a.same([arithmetic.cast(x, b.type, a.type) if a.type != b.type else x
                    for x in expanded(b, a.shape).elements()])]


def _fill(arithmetic, inputs, attributes):
    a, = inputs
    number = arithmetic.constant(a.type, reals.real(attributes["value"]))
    element = Pair(number, arithmetic.constant(a.type, 0.0)) if is_complex(a.type) else number
    return [a.same([element] * len(a.places()))]


def _copy(arithmetic, inputs, attributes):
    return [inputs[0].same(inputs[0].elements())]


def _detach(arithmetic, inputs, attributes):
    a, = inputs
    return [a.same([arithmetic.detach(element) for element in a.elements()])]


def _cast(arithmetic, inputs, attributes):
    a, = inputs
    target = attributes["type"]
    return [a.same([arithmetic.cast(x, a.type, target) for x in a.elements()], target)]


def _sum_of_inputs(arithmetic, inputs, attributes):
    """custom, as it is when nothing is scripted."""
    columns = [a.elements() for a in inputs]
    return [inputs[0].same([arithmetic.total(inputs[0].type, list(row)) for row in zip(*columns)])]


_ENTRIES = (
    Operation("custom", None, _sum_of_inputs),
    Operation("add", 2, elementwise("add")),
    Operation("sub", 2, elementwise("sub")),
    Operation("mul", 2, elementwise("mul")),
    Operation("div", 2, elementwise("div")),
    Operation("neg", 1, elementwise("neg")),
    Operation("scale", 1, with_number("scale", "factor")),
    Operation("power", 1, with_number("power", "exponent")),
    Operation("pow", 2, elementwise("pow")),
    Operation("maximum", 2, choosing(_extreme(True)), REAL_TYPES),
    Operation("minimum", 2, choosing(_extreme(False)), REAL_TYPES),
    Operation("where", 3, choosing(_where)),
    Operation("clamp", 1, choosing(_clamp), REAL_TYPES),
    Operation("sum", 1, _sum),
    Operation("mean", 1, _mean),
    Operation("amax", 1, _extreme_over(True), REAL_TYPES),
    Operation("amin", 1, _extreme_over(False), REAL_TYPES),
    Operation("logsumexp", 1, _logsumexp, REAL_TYPES),
    Operation("softmax", 1, along(lambda a, t, row: a.numbers.softmax(row)), REAL_TYPES),
    Operation("log_softmax", 1, along(lambda a, t, row: a.numbers.log_softmax(row)), REAL_TYPES),
    Operation("layer_norm", 3, _layer_norm, REAL_TYPES),
    Operation("cumsum", 1, along(_running_sums)),
    Operation("flip", 1, _flip),
    Operation("mm", 2, _mm),
    Operation("bmm", 2, _bmm),
    Operation("view", 1, _view, makes_view=True),
    Operation("expand", 1, _expand, makes_view=True),
    Operation("transpose", 1, _transpose, makes_view=True),
    Operation("select", 1, _select, makes_view=True),
    Operation("slice", 1, _slice, makes_view=True),
    Operation("unbind", 1, _unbind, makes_view=True),
    Operation("view_as_real", 1, _view_as_real, COMPLEX_TYPES, makes_view=True),
    Operation("view_as_complex", 1, _view_as_complex, ("float32", "float64"), makes_view=True),
    Operation("cat", None, _cat),
    Operation("clone", 1, _copy),
    Operation("detach", 1, _detach),
    Operation("gather", 2, _gather),
    Operation("scatter_add", 3, _scatter_add),
    Operation("index_select", 2, _index_select),
    Operation("embedding", 2, _embedding),
    Operation("exp", 1, elementwise("exp")),
    Operation("log", 1, elementwise("log")),
    Operation("expm1", 1, elementwise("expm1"), REAL_TYPES),
    Operation("log1p", 1, elementwise("log1p"), REAL_TYPES),
    Operation("sin", 1, elementwise("sin")),
    Operation("cos", 1, elementwise("cos")),
    Operation("tan", 1, elementwise("tan")),
    Operation("tanh", 1, elementwise("tanh")),
    Operation("sigmoid", 1, elementwise("sigmoid")),
    Operation("erf", 1, elementwise("erf"), REAL_TYPES),
    Operation("relu", 1, choosing(_relu), REAL_TYPES),
    Operation("abs", 1, _abs),
    Operation("sqrt", 1, elementwise("sqrt")),
    Operation("conj", 1, elementwise("conj"), COMPLEX_TYPES),
    Operation("cast", 1, _cast),
    Operation("to_device", 1, _copy),
    Operation("add_", 2, elementwise("add"), in_place=True),
    Operation("sub_", 2, elementwise("sub"), in_place=True),
    Operation("mul_", 2, elementwise("mul"), in_place=True),
    Operation("div_", 2, elementwise("div"), in_place=True),
    Operation("neg_", 1, elementwise("neg"), in_place=True),
    Operation("scale_", 1, with_number("scale", "factor"), in_place=True),
    Operation("exp_", 1, elementwise("exp"), in_place=True),
    Operation("tanh_", 1, elementwise("tanh"), in_place=True),
    Operation("relu_", 1, choosing(_relu), REAL_TYPES, in_place=True),
    Operation("copy_", 2, _copied_over, in_place=True),
    Operation("fill_", 1, _fill, in_place=True),
)
OPERATIONS = {entry.name: entry for entry in _ENTRIES}
