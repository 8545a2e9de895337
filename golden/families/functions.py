"""Operations of one tensor, element by element: every type, every shape class, special points."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Iterator

from case import Case, Recipe
from exact.rounding import COMPONENT, is_complex
from families.points import SpecialRecipe, seeds, special_points
from operations import ALL_TYPES, COMPLEX_TYPES, OPERATIONS
from random_numbers import tensor_json


@dataclass(frozen=True)
class Function:
    """An operation with its attributes, and where its argument may lie (each part, if complex)."""

    operation: str
    low: float
    high: float
    signed: bool = True
    attributes: dict = field(default_factory=dict)
    variant: str = ""  # part of the id where an operation has several
    order: int = 3     # highest derivative with a case of its own
    complex_low: float | None = None
    complex_high: float | None = None
    higher: tuple[str, ...] = ALL_TYPES  # types with derivatives beyond the first
    nan_gradient: bool = True            # whether a gradient is stated where the argument is nan

    @property
    def types(self) -> tuple[str, ...]:
        return OPERATIONS[self.operation].types

    def result_type(self, scalar_type: str) -> str:
        return COMPONENT.get(scalar_type, scalar_type) if self.operation == "abs" else scalar_type

    def id(self, tail: str) -> str:
        return f"{self.variant}/{tail}" if self.variant else tail

    def described(self) -> str:
        given = " ".join(f"{key} {value}" for key, value in self.attributes.items())
        return f"{self.operation} {given}".strip()

    def argument(self, case: Case, scalar_type: str, shape: list[int], strides=None):
        low, high, signed = self.low, self.high, self.signed
        if is_complex(scalar_type):
            low, high = self.complex_low or low, self.complex_high or high
            signed = True
        return case.numbers.tensor(scalar_type, shape, low, high, signed=signed, strides=strides)


def _power(exponent: float, name: str, **fields) -> Function:
    return Function("power", 0.3, 2.5, attributes={"exponent": exponent}, variant=name, **fields)


def _clamp(name: str, limits: dict) -> Function:
    return Function("clamp", 0.1, 4, attributes=limits, variant=name, order=1, nan_gradient=False)


FUNCTIONS = (
    Function("neg", 0.1, 4, order=1),
    Function("scale", 0.1, 4, attributes={"factor": -1.75}, order=1),
    Function("exp", 0.1, 3),
    Function("expm1", 0.1, 3),
    Function("log", 0.2, 8, signed=False, complex_low=0.9, complex_high=4),
    Function("log1p", 0.1, 8, signed=False),
    Function("sin", 0.1, 6, complex_high=2),
    Function("cos", 0.1, 6, complex_high=2),
    Function("tan", 0.1, 1.3, complex_low=0.3, complex_high=1.2),
    Function("tanh", 0.1, 2, complex_low=0.3, complex_high=1.2),
    Function("erf", 0.1, 1.5),
    Function("sigmoid", 0.1, 4, complex_high=2),
    Function("sqrt", 0.2, 9, signed=False),
    Function("relu", 0.1, 4, order=1, nan_gradient=False),
    Function("abs", 0.1, 4, higher=("complex128",), nan_gradient=False),
    Function("conj", 0.1, 4, order=1),
    _clamp("both", {"min": -1.5, "max": 2}),
    _clamp("min", {"min": -1.5}),
    _clamp("max", {"max": 2}),
    _power(3, "cube"),
    _power(2, "square"),
    _power(0.5, "root", signed=False),
    _power(-1, "inverse"),
    _power(-2, "inverse-square"),
    _power(2.5, "fraction", signed=False),
    _power(1, "one", order=1),
    _power(0, "zero", order=1),
)

# Variants beyond the first of an operation have fewer cases: the shape classes say nothing new there.
MAIN = {function.operation: function for function in reversed(FUNCTIONS)}

# Shape class: shape of the leaf, its strides, and nodes between leaf and operation.
SHAPES = {
    "scalar": ([], None, ()),
    "empty": ([2, 0], None, ()),
    "vector": ([5], None, ()),
    "strided": ([2, 3], [1, 2], ()),
    "expanded": ([2, 3], [0, 1], ()),
    "view": ([3, 2], None, (("transpose", {"dim0": 0, "dim1": 1}),)),
    "sliced": ([7, 2], None, (("slice", {"dim": 0, "start": 1, "end": 7, "step": 2}),)),
}


def recipes(left_out: list) -> Iterator[Recipe]:
    for function in FUNCTIONS:
        main = MAIN[function.operation] is function
        for scalar_type in function.types:
            if main or scalar_type in ("float64", "bfloat16"):
                yield partial(_plain, function, scalar_type)
        if main:
            for i, shape_class in enumerate(SHAPES):
                types = ("float64", "float32") if function.operation != "conj" else COMPLEX_TYPES
                yield partial(_shaped, function, types[i % 2], shape_class)
        for order in range(2, function.order + 1):
            for scalar_type in _types_of_order(function, order):
                yield partial(_higher, function, order, scalar_type)
        for scalar_type in ("float64", "float32", "bfloat16", "float16"):
            if scalar_type in function.types and (main or scalar_type in ("float64", "float16")):
                yield _special(function, scalar_type, left_out)
                if main and not function.nan_gradient:
                    yield partial(_nan, function, scalar_type)
                if function.operation == "log1p":
                    yield partial(_largest, function, scalar_type)
    for operation in ("abs", "conj"):
        yield partial(_complex_zero, MAIN[operation])


def _types_of_order(function: Function, order: int) -> list[str]:
    types = ("float64", "float32", "complex128") if order == 2 else ("float64", "complex128")
    return [scalar_type for scalar_type in types
            if scalar_type in function.types and scalar_type in function.higher]


def _case(function: Function, tail: str, what: str, scalar_type: str, covers=(), order=1,
          attempt=0) -> Case:
    return Case(function.operation, function.id(tail), f"{function.described()}: {what}",
                function.operation, scalar_type, covers, order, attempt)


def _plain(function: Function, scalar_type: str, attempt: int) -> Case:
    case = _case(function, f"{scalar_type}/matrix", f"a matrix of {scalar_type}", scalar_type,
                 ("matrix",), 1, attempt)
    case.leaf("x", function.argument(case, scalar_type, [2, 3]))
    case.node("y", function.operation, "x", **function.attributes)
    case.forward()
    seed = case.numbers.tensor(function.result_type(scalar_type), [2, 3], 0.25, 2)
    case.grad([("y", seed)], ["x"], ["gx"])
    case.read("y", "gx")
    return case


def _shaped(function: Function, scalar_type: str, shape_class: str, attempt: int) -> Case:
    shape, strides, before = SHAPES[shape_class]
    case = _case(function, f"{scalar_type}/{shape_class}", f"{shape_class} input", scalar_type,
                 (shape_class,), 1, attempt)
    case.leaf("x", function.argument(case, scalar_type, shape, strides))
    source = "x"
    for op, attributes in before:
        source = case.node("v", op, source, **attributes)
        shape = [3, 2] if op == "slice" else shape[::-1]
    case.node("y", function.operation, source, **function.attributes)
    case.forward()
    case.backward(("y", case.numbers.tensor(function.result_type(scalar_type), shape, 0.25, 2)))
    case.read("y", grads=["x"])
    return case


def _higher(function: Function, order: int, scalar_type: str, attempt: int) -> Case:
    """The derivative of that order along random directions."""
    case = _case(function, f"{scalar_type}/derivative-{order}", f"derivative {order}", scalar_type,
                 ("vector",), order, attempt)
    case.leaf("x", function.argument(case, scalar_type, [3]))
    case.node("y", function.operation, "x", **function.attributes)
    case.forward()
    source = "y"
    for i in range(1, order + 1):
        kind = function.result_type(scalar_type) if i == 1 else scalar_type
        seed = case.numbers.tensor(kind, [3], 0.25, 2)
        case.grad([(source, seed)], ["x"], [f"g{i}"], **({"create": True} if i < order else {}))
        source = f"g{i}"
    case.read(*[f"g{i}" for i in range(1, order + 1)])
    return case


def _special(function: Function, scalar_type: str, left_out: list) -> Recipe:
    points = special_points(scalar_type)
    if not function.nan_gradient:
        del points["nan"]  # see _nan
    if function.operation == "log1p":
        points["huge"] = []  # see _largest
    if function.operation == "clamp":
        points["tie"] = [-1.5, 2]
    if function.attributes.get("exponent") == 0.5:  # engines take the root, and differ from pow at
        points["inf"], points["-0"] = ["inf"], []   # -inf (nan, not inf) and -0 (gradient -inf, not inf)

    def build(values: list, covers=()) -> Case:
        case = _case(function, f"{scalar_type}/special", f"special points of {scalar_type}",
                     scalar_type, covers)
        count = len(values)
        case.leaf("x", tensor_json(scalar_type, [count], values))
        case.node("y", function.operation, "x", **function.attributes)
        case.forward()
        case.backward(("y", tensor_json(scalar_type, [count], seeds(count))))
        case.read("y", grads=["x"])
        return case

    return SpecialRecipe(points, build, left_out)


def _nan(function: Function, scalar_type: str, attempt: int) -> Case:
    """The value is nan; engines differ in which branch it takes, and no gradient is stated."""
    case = _case(function, f"{scalar_type}/nan", "nan", scalar_type, ("nan",), 1, attempt)
    case.leaf("x", tensor_json(scalar_type, [2], ["nan", -1]))
    case.node("y", function.operation, "x", **function.attributes)
    case.forward()
    case.read("y")
    return case


def _largest(function: Function, scalar_type: str, attempt: int) -> Case:
    """A case of its own, since libraries are known to overflow too early here."""
    case = _case(function, f"{scalar_type}/largest", f"the largest {scalar_type}", scalar_type, ("huge",), 1,
                 attempt)
    largest = special_points(scalar_type)["huge"][0]
    case.leaf("x", tensor_json(scalar_type, [2], [largest, 1]))
    case.node("y", function.operation, "x")
    case.forward()
    case.backward(("y", tensor_json(scalar_type, [2], seeds(2))))
    case.read("y", grads=["x"])
    return case


def _complex_zero(function: Function, attempt: int) -> Case:
    """Zeros of either sign, and numbers with one part of 0."""
    case = _case(function, "complex128/special", "zeros and numbers on the axes", "complex128",
                 ("0", "-0", "1", "-1"), 1, attempt)
    values = [[0, 0], [-0.0, 0], [1, 0], [-1, 0], [0, 2.5], [0, -3]]
    case.leaf("x", tensor_json("complex128", [len(values)], values))
    case.node("y", function.operation, "x")
    case.forward()
    case.backward(("y", case.numbers.tensor(function.result_type("complex128"), [len(values)], 0.25, 2)))
    case.read("y", grads=["x"])
    return case
