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
from exact.rounding import is_complex
from tensors import Tensor, broadcast_shape, expanded, grouped, row_major

REAL_TYPES = ("float16", "bfloat16", "float32", "float64")
ALL_TYPES = REAL_TYPES + ("complex64", "complex128")


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
        raise NotImplementedError


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
    """maximum, minimum. Equal: half each. nan in either: the result is nan."""
    def choose(arithmetic, row, attributes, scalar_type):
        a, b = row
        x, y = arithmetic.base(a), arithmetic.base(b)
        if reals.is_nan(x) or reals.is_nan(y):
            return arithmetic.numbers.add(a, b)
        if reals.equal(x, y):
            return arithmetic.numbers.half_each(a, b)
        return a if reals.less(y, x) == larger else b
    return choose


def _where(arithmetic, row, attributes, scalar_type):
    condition, a, b = row
    return a if condition else b


def _clamp(arithmetic, row, attributes, scalar_type):
    x = arithmetic.base(row[0])
    if reals.is_nan(x):  # neither within the limits nor outside: the value stays, no gradient passes
        return arithmetic.constant(scalar_type, x)
    for name, outside in (("min", lambda limit: reals.less(x, limit)),
                          ("max", lambda limit: reals.less(limit, x))):
        if name in attributes and outside(limit := reals.real(attributes[name])):
            return arithmetic.constant(scalar_type, limit)
    return row[0]


def _relu(arithmetic, row, attributes, scalar_type):
    x = arithmetic.base(row[0])
    if reals.less(0.0, x) or reals.is_nan(x):
        return row[0]
    return arithmetic.constant(scalar_type, 0.0)


def _sum(arithmetic, inputs, attributes):
    a, = inputs
    shape, groups = grouped(a, attributes.get("dims"), attributes.get("keepdim", False))
    return [Tensor.make(a.type, shape, [arithmetic.total(a.type, group) for group in groups])]


def _mean(arithmetic, inputs, attributes):
    total, = _sum(arithmetic, inputs, attributes)
    if not total.cells:
        return [total]
    count = Fraction(len(inputs[0].elements()), len(total.cells))
    if count == 0:  # 0 / 0
        return [total.same([arithmetic.constant(total.type, reals.NAN)] * len(total.cells))]
    over = arithmetic.of(total.type, "over")
    return [total.same([over(t, count) for t in total.elements()])]


def _mm(arithmetic, inputs, attributes):
    a, b = inputs
    (rows, inner), (_, columns) = a.shape, b.shape
    x, y = a.elements(), b.elements()
    mul = arithmetic.of(a.type, "mul")
    cells = [arithmetic.total(a.type, [mul(x[i * inner + k], y[k * columns + j])
                                       for k in range(inner)])
             for i in range(rows) for j in range(columns)]
    return [Tensor.make(a.type, [rows, columns], cells)]


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
    result = Tensor.make(inputs[0].type, shape, [None] * math.prod(shape))
    start = 0
    for a in inputs:
        part = result.alias(a.shape, result.strides, start * result.strides[dim])
        part.assign(a.elements())
        start += a.shape[dim]
    return [result]


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
    Operation("maximum", 2, choosing(_extreme(True)), REAL_TYPES),
    Operation("minimum", 2, choosing(_extreme(False)), REAL_TYPES),
    Operation("where", 3, choosing(_where)),
    Operation("clamp", 1, choosing(_clamp), REAL_TYPES),
    Operation("sum", 1, _sum),
    Operation("mean", 1, _mean),
    Operation("mm", 2, _mm),
    Operation("view", 1, _view, makes_view=True),
    Operation("expand", 1, _expand, makes_view=True),
    Operation("transpose", 1, _transpose, makes_view=True),
    Operation("select", 1, _select, makes_view=True),
    Operation("slice", 1, _slice, makes_view=True),
    Operation("unbind", 1, _unbind, makes_view=True),
    Operation("cat", None, _cat),
    Operation("clone", 1, _copy),
    Operation("detach", 1, _detach),
    Operation("exp", 1, elementwise("exp")),
    Operation("log", 1, elementwise("log")),
    Operation("sin", 1, elementwise("sin")),
    Operation("cos", 1, elementwise("cos")),
    Operation("tanh", 1, elementwise("tanh")),
    Operation("sigmoid", 1, elementwise("sigmoid")),
    Operation("relu", 1, choosing(_relu), REAL_TYPES),
    Operation("sqrt", 1, elementwise("sqrt")),
    Operation("cast", 1, _cast),
    Operation("to_device", 1, _copy),
    Operation("add_", 2, elementwise("add"), in_place=True),
    Operation("sub_", 2, elementwise("sub"), in_place=True),
    Operation("mul_", 2, elementwise("mul"), in_place=True),
    Operation("scale_", 1, with_number("scale", "factor"), in_place=True),
    Operation("exp_", 1, elementwise("exp"), in_place=True),
)
OPERATIONS = {entry.name: entry for entry in _ENTRIES}
