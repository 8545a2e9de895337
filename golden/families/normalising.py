"""Softmax, its logarithm, logsumexp and layer normalisation: functions of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Iterator

from case import Case, Recipe
from families.points import LeftOut, SpecialRecipe, seeds, special_points
from random_numbers import tensor_json

# Each number of a result comes from a whole row: a case is drawn again only if a bound is above this.
NARROW = 40

ROWS = ("softmax", "log_softmax", "logsumexp", "layer_norm")

HALF_TYPES = ("float16", "bfloat16")

# Where the worst case of all roundings leaves digits to compare at points that cannot be drawn again.
SPECIAL_TYPES = {"softmax": ("float64", "float32", "float16"), "layer_norm": ("float64", "float32"),
                 "log_softmax": ("float64", "float32", "float16"),
                 "logsumexp": ("float64", "float32", "bfloat16", "float16")}


@dataclass(frozen=True)
class Shape:
    """dim is the one that is normalised; a list for a reduction over several."""

    name: str
    shape: tuple[int, ...]
    dim: int
    strides: tuple[int, ...] | None = None
    covers: str = "matrix"


SHAPES = (
    Shape("matrix", (2, 3), 1),
    Shape("columns", (3, 2), 0),
    Shape("outer", (2, 3, 2), 1),
    Shape("vector", (4,), 0, covers="vector"),
    Shape("empty", (0, 3), 1, covers="empty"),
    Shape("strided", (2, 4), 1, (1, 2), "strided"),
    Shape("expanded", (2, 3), 1, (0, 1), "expanded"),
)


def recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for op in ROWS:
        for scalar_type in ("float64", "float32"):
            yield partial(_rows, op, scalar_type, SHAPES[0])
        for scalar_type in HALF_TYPES[:1 if op == "layer_norm" else 2]:
            yield _half(op, scalar_type)
        for i, shape in enumerate(SHAPES[1:]):
            if op != "layer_norm" or shape.dim == len(shape.shape) - 1:
                yield partial(_rows, op, ("float64", "float32")[i % 2], shape)
        if op == "layer_norm":
            yield partial(_rows, op, "float64", Shape("batch", (2, 2, 3), 2))
        yield partial(_of_view, op, "float64")
        for scalar_type in ("float64", "float32"):
            yield partial(_many, op, scalar_type)
        for order in (2, 3):
            for scalar_type in ("float64", "float32")[:4 - order]:
                yield partial(_higher, op, order, scalar_type)
        for scalar_type in SPECIAL_TYPES[op]:
            yield _special(op, scalar_type, left_out)
    yield partial(_two_dims, "float64")


def _case(op: str, tail: str, what: str, scalar_type: str, covers=(), order=1, attempt=0) -> Case:
    return Case(op, tail, f"{op}: {what}", op, scalar_type, covers, order, attempt)


def _numbers(case: Case, shape, strides=None):
    return case.numbers.tensor(case.type, list(shape), 0.25, 3, strides=strides)


def _apply(case: Case, name: str, source: str, shape: list[int], dim: int) -> tuple[list[str], list[int]]:
    """Adds the node; returns the leaves that take part and the shape of the result."""
    op = case.operation
    if op == "logsumexp":
        case.node(name, op, source, dims=[dim])
        return ["x"], [size for d, size in enumerate(shape) if d != dim]
    if op != "layer_norm":
        case.node(name, op, source, dim=dim)
        return ["x"], shape
    case.leaf("weight", _numbers(case, [shape[-1]]))
    case.leaf("bias", _numbers(case, [shape[-1]]))
    case.node(name, op, source, "weight", "bias", eps=2**-10)
    return ["x", "weight", "bias"], shape


def _finish(case: Case, source: str, shape: list[int], dim: int) -> Case:
    leaves, result = _apply(case, "y", source, shape, dim)
    case.forward()
    case.backward(("y", _numbers(case, result)))
    case.read("y", grads=leaves)
    return case


def _rows(op: str, scalar_type: str, rows: Shape, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/{rows.name}", f"{rows.name}, {scalar_type}", scalar_type,
                 (rows.covers,), 1, attempt)
    case.leaf("x", _numbers(case, rows.shape, list(rows.strides) if rows.strides else None))
    return _finish(case, "x", list(rows.shape), rows.dim)


def _half(op: str, scalar_type: str) -> Recipe:
    """Few digits: small numbers in a short row, drawn until the bounds leave something to compare. That
    of layer_norm's gradient by its row never does, and none of its bounds in bfloat16."""
    def build(attempt: int) -> Case:
        case = _case(op, f"{scalar_type}/matrix", f"matrix, {scalar_type}", scalar_type, ("matrix",), 1,
                     attempt)
        shape = [2, 3] if op == "layer_norm" else [1, 2]
        fields = {"requires_grad": False} if op == "layer_norm" else {}
        case.leaf("x", case.numbers.tensor(scalar_type, shape, 0.25, 1.5), **fields)
        leaves, result = _apply(case, "y", "x", shape, 1)
        case.forward()
        case.backward(("y", _numbers(case, result)))
        case.read("y", grads=[leaf for leaf in leaves if leaf != "x" or not fields])
        return case
    build.attempts = 60
    return build


def _of_view(op: str, scalar_type: str, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/view", "a slice of a transposed matrix", scalar_type,
                 ("view", "sliced"), 1, attempt)
    case.leaf("x", _numbers(case, [3, 3]))
    case.node("t", "transpose", "x", dim0=0, dim1=1)
    case.node("v", "slice", "t", dim=0, start=0, end=3, step=2)
    return _finish(case, "v", [2, 3], 1)


def _many(op: str, scalar_type: str, attempt: int) -> Case:
    """Long enough for engines to use vectors and other orders of addition."""
    case = _case(op, f"{scalar_type}/many", "a row of 19 numbers", scalar_type, ("vector",), 1, attempt)
    case.leaf("x", _numbers(case, [19]))
    return _finish(case, "x", [19], 0)


def _two_dims(scalar_type: str, attempt: int) -> Case:
    case = _case("logsumexp", f"{scalar_type}/two-dims", "over two dimensions, which stay", scalar_type,
                 ("matrix",), 1, attempt)
    case.leaf("x", _numbers(case, [2, 2, 2]))
    case.node("y", "logsumexp", "x", dims=[0, 2], keepdim=True)
    case.forward()
    case.backward(("y", _numbers(case, [1, 2, 1])))
    case.read("y", grads=["x"])
    return case


def _higher(op: str, order: int, scalar_type: str, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/derivative-{order}", f"derivative {order}", scalar_type, ("vector",),
                 order, attempt)
    case.leaf("x", _numbers(case, [3]))
    leaves, result = _apply(case, "y", "x", [3], 0)
    case.forward()
    source, shape = "y", result
    for i in range(1, order + 1):
        last = i == order
        names = [f"g{i}{leaf}" for leaf in (leaves if last and op != "layer_norm" else ["x"])]
        case.grad([(source, _numbers(case, shape))], ["x"], names, **({} if last else {"create": True}))
        source, shape = names[0], [3]
    return case


def _special(op: str, scalar_type: str, left_out: list[LeftOut]) -> Recipe:
    """Each row is a point."""
    names = special_points(scalar_type)
    huge, least = names["huge"][0], names["subnormal"][0]
    points = {name: [(value, 1.5, 0.25) for value in values] for name, values in names.items()}
    points["subnormal"] += [(least, least, -least)]
    points["tie"] = [(1.5, 1.5, 1.5), (1.5, 1.5, 0.25), (-3, -3, -3)]
    points["huge"] += [(huge, huge, 1), (-huge, -huge, -huge)]
    points["inf"] += [("inf", "inf", 1), ("-inf", "-inf", "-inf"), ("inf", "-inf", 1)]

    def build(rows: list, covers: tuple) -> Case:
        case = _case(op, f"{scalar_type}/special", f"rows with special values, {scalar_type}", scalar_type,
                     covers)
        shape = [len(rows), 3]
        case.leaf("x", tensor_json(scalar_type, shape, [v for row in rows for v in row]))
        if op == "layer_norm":
            case.leaf("weight", tensor_json(scalar_type, [3], [0.5, -1.5, 2]), requires_grad=False)
            case.leaf("bias", tensor_json(scalar_type, [3], [1, 0.25, -3]), requires_grad=False)
            case.node("y", op, "x", "weight", "bias", eps=2**-10)
        else:
            case.node("y", op, "x", **({"dims": [1]} if op == "logsumexp" else {"dim": 1}))
        result = shape[:1] if op == "logsumexp" else shape
        case.forward()
        upstream = seeds(result[0]) if op == "logsumexp" else seeds(3) * result[0]
        case.backward(("y", tensor_json(scalar_type, result, upstream)))
        case.read("y", grads=["x"])
        return case

    return SpecialRecipe(points, build, left_out)
