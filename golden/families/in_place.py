"""Programs that change tensors in place: alone, through views, and seen through views."""

from __future__ import annotations

from functools import partial
from typing import Iterator

from case import Case, Recipe
from families.points import SEEDS, LeftOut, SpecialRecipe, special_points
from operations import OPERATIONS
from random_numbers import tensor_json

PAIRS = ("add_", "sub_", "mul_", "div_", "copy_")
UNARY = {"scale_": {"factor": -1.75}, "neg_": {}, "exp_": {}, "tanh_": {}, "relu_": {},
         "fill_": {"value": 2.5}}

# Shape class: the shape that is changed, that of the other operand, the strides of the leaf.
SHAPES = {
    "scalar": ([], [], None), "empty": ([0, 2], [0, 2], None), "broadcast": ([2, 3], [3], None),
    "broadcast-scalar": ([2, 3], [], None), "strided": ([2, 3], [2, 3], [1, 2]),
}


def recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for op in (*PAIRS, *UNARY):
        for scalar_type in OPERATIONS[op].types:
            yield partial(_change, op, scalar_type, "matrix", [2, 3], [2, 3])
        for i, (name, (shape, other, strides)) in enumerate(SHAPES.items()):
            if op in PAIRS or not name.startswith("broadcast"):
                yield partial(_change, op, ("float64", "float32")[i % 2], name, shape, other, strides)
        yield partial(_through_view, op, "float64")
        yield partial(_seen_by_view, op, "float32")
        for scalar_type in ("float64", "bfloat16"):
            yield _special(op, scalar_type, left_out)
    for op in ("exp_", "tanh_", "div_"):
        yield partial(_second, op, "float64")
        yield partial(_second, op, "float32")
    for scalar_type in ("float64", "bfloat16"):
        yield partial(_nan, "relu_", scalar_type)
    for target, source in (("float64", "float32"), ("bfloat16", "float32"), ("float32", "float64")):
        yield partial(_copy_between_types, target, source)
    yield partial(_overwritten, "copy_", "float64")
    yield partial(_overwritten, "fill_", "float64")
    yield partial(_parts_of_complex, "float64")
    yield partial(_complex_of_parts, "complex128")
    yield partial(_chain, "float64")
    yield partial(_several_views, "float64")
    yield partial(_view_of_view, "float64")


def _case(op: str, tail: str, what: str, scalar_type: str, covers=(), order=1, attempt=0) -> Case:
    return Case(op.replace("_", "-in-place"), tail, f"{op}: {what}", op, scalar_type, covers, order,
                attempt)


def _numbers(case: Case, shape: list[int], strides=None):
    return case.numbers.tensor(case.type, shape, 0.25, 2, strides=strides)


def _apply(case: Case, op: str, name: str, target: str, other: str) -> str:
    if op in UNARY:
        return case.node(name, op, target, **UNARY[op])
    return case.node(name, op, target, other)


def _leaves(case: Case, op: str, shape: list[int], other: list[int], strides=None) -> list[str]:
    names = [case.leaf("x", _numbers(case, shape, strides))]
    if op in PAIRS:
        names.append(case.leaf("w", _numbers(case, other)))
    return names


def _change(op: str, scalar_type: str, name: str, shape: list[int], other: list[int], strides=None,
            attempt: int = 0) -> Case:
    case = _case(op, f"{scalar_type}/{name}", f"{name}, {scalar_type}", scalar_type, (name,), 1,
                 attempt)
    leaves = _leaves(case, op, shape, other, strides)
    case.node("c", "clone", "x")
    _apply(case, op, "y", "c", "w")
    case.forward()
    case.backward(("y", _numbers(case, shape)))
    case.read("y", grads=leaves)
    return case


def _through_view(op: str, scalar_type: str, attempt: int) -> Case:
    """A view is changed; its base shows it in values and gradients."""
    case = _case(op, f"{scalar_type}/through-view", "through a view of every second row", scalar_type,
                 ("view", "sliced"), 1, attempt)
    case.clauses = ("GRAPH2-1", "HOOK-6")
    leaves = _leaves(case, op, [4, 2], [2, 2])
    factors = case.leaf("f", _numbers(case, [4, 2]))
    case.node("c", "clone", "x")
    case.node("v", "slice", "c", dim=0, start=1, end=4, step=2)
    _apply(case, op, "u", "v", "w")
    case.node("y", "mul", "c", "f")
    case.forward()
    case.backward(("y", _numbers(case, [4, 2])))
    case.read("c", "y", grads=[*leaves, factors])
    return case


def _seen_by_view(op: str, scalar_type: str, attempt: int) -> Case:
    """The base is changed after the view was made."""
    case = _case(op, f"{scalar_type}/seen-by-view", "seen through a view made before", scalar_type,
                 ("view",), 1, attempt)
    case.clauses = ("GRAPH2-1", "HOOK-6")
    leaves = _leaves(case, op, [2, 3], [3])
    factors = case.leaf("f", _numbers(case, [3, 2]))
    case.node("c", "clone", "x")
    case.node("v", "transpose", "c", dim0=0, dim1=1)
    _apply(case, op, "u", "c", "w")
    case.node("y", "mul", "v", "f")
    case.forward()
    case.backward(("y", _numbers(case, [3, 2])))
    case.read("v", "y", grads=[*leaves, factors])
    return case


def _second(op: str, scalar_type: str, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/derivative-2", "second derivative", scalar_type, ("vector",),
                 2, attempt)
    case.leaf("x", _numbers(case, [3]))
    case.node("c", "mul", "x", "x")
    if op in PAIRS:
        case.leaf("w", _numbers(case, [3]))
    _apply(case, op, "y", "c", "w")
    case.forward()
    case.grad([("y", _numbers(case, [3]))], ["x"], ["g1"], create=True)
    case.grad([("g1", _numbers(case, [3]))], ["x"], ["g2"])
    case.read("y", "g1", "g2")
    return case


def _chain(scalar_type: str, attempt: int) -> Case:
    case = _case("scale_", f"{scalar_type}/chain", "four changes of one tensor", scalar_type,
                 ("vector",), 1, attempt)
    case.leaf("x", _numbers(case, [4]))
    case.leaf("w", _numbers(case, [4]))
    case.node("c", "clone", "x")
    case.node("c1", "scale_", "c", factor=0.5)
    case.node("c2", "add_", "c1", "w")
    case.node("c3", "exp_", "c2")
    case.node("y", "sub", "c3", "x")
    case.forward()
    case.backward(("y", _numbers(case, [4])))
    case.read("y", grads=["x", "w"])
    return case


def _several_views(scalar_type: str, attempt: int) -> Case:
    """Two views that do not overlap are changed, each with its own numbers."""
    case = _case("mul_", f"{scalar_type}/several-views", "two views of one base", scalar_type,
                 ("view", "sliced"), 1, attempt)
    case.clauses = ("GRAPH2-1", "HOOK-6")
    for name in ("x", "u", "w"):
        case.leaf(name, _numbers(case, [6] if name == "x" else [2]))
    case.node("c", "clone", "x")
    case.node("a", "slice", "c", dim=0, start=0, end=2)
    case.node("b", "slice", "c", dim=0, start=3, end=5)
    case.node("a1", "mul_", "a", "u")
    case.node("b1", "add_", "b", "w")
    case.node("y", "sin", "c")
    case.forward()
    case.backward(("y", _numbers(case, [6])))
    case.read("c", "y", grads=["x", "u", "w"])
    return case


def _nan(op: str, scalar_type: str, attempt: int) -> Case:
    """The value is nan; no gradient is stated."""
    case = _case(op, f"{scalar_type}/nan", "nan", scalar_type, ("nan",), 1, attempt)
    case.leaf("x", tensor_json(scalar_type, [2], ["nan", -1]))
    case.node("c", "clone", "x")
    _apply(case, op, "y", "c", "w")
    case.forward()
    case.read("y")
    return case


def _copy_between_types(target: str, source: str, attempt: int) -> Case:
    """The value is rounded to the changed tensor's type, the gradient to the other's."""
    case = _case("copy_", f"{target}/of-{source}", f"{source} into {target}", target,
                 ("broadcast", source), 1, attempt)
    case.clauses = ("GRAPH2-1", "VAL-3")
    case.leaf("x", _numbers(case, [2, 2]))
    case.leaf("w", case.numbers.tensor(source, [2], 0.25, 2))
    case.node("c", "clone", "x")
    case.node("y", "copy_", "c", "w")
    case.forward()
    case.backward(("y", _numbers(case, [2, 2])))
    case.read("y", grads=["x", "w"])
    return case


def _overwritten(op: str, scalar_type: str, attempt: int) -> Case:
    """What a row was before counts where it was used, and no longer where it was overwritten."""
    case = _case(op, f"{scalar_type}/overwritten", "a row is used, then overwritten, then used", scalar_type,
                 ("view",), 1, attempt)
    case.clauses = ("GRAPH2-1", "HOOK-6")
    leaves = _leaves(case, op, [2, 2], [2])
    case.node("c", "clone", "x")
    case.node("before", "exp", "c")
    case.node("row", "select", "c", dim=0, index=1)
    _apply(case, op, "changed", "row", "w")
    case.node("y", "mul", "before", "c")
    case.forward()
    case.backward(("y", _numbers(case, [2, 2])))
    case.read("c", "y", grads=leaves)
    return case


def _parts_of_complex(scalar_type: str, attempt: int) -> Case:
    """The imaginary parts of complex numbers are changed through a real view."""
    case = _case("mul_", f"{scalar_type}/parts-of-complex", "through a view of complex numbers as real",
                 scalar_type, ("view",), 1, attempt)
    case.clauses = ("GRAPH2-1", "HOOK-6")
    case.leaf("z", case.numbers.tensor("complex128", [3], 0.25, 2))
    case.leaf("w", _numbers(case, [3]))
    case.node("c", "clone", "z")
    case.node("r", "view_as_real", "c")
    case.node("im", "select", "r", dim=1, index=1)
    case.node("im1", "mul_", "im", "w")
    case.node("y", "mul", "c", "c")
    case.forward()
    case.backward(("y", case.numbers.tensor("complex128", [3], 0.25, 2)))
    case.read("c", "y", grads=["z", "w"])
    return case


def _complex_of_parts(scalar_type: str, attempt: int) -> Case:
    """A real tensor is changed through its view as complex numbers."""
    case = _case("mul_", f"{scalar_type}/complex-of-parts", "through a view of real numbers as complex",
                 scalar_type, ("view",), 1, attempt)
    case.clauses = ("GRAPH2-1", "HOOK-6")
    case.leaf("x", case.numbers.tensor("float64", [2, 2], 0.25, 2))
    case.leaf("w", _numbers(case, [2]))
    case.node("c", "clone", "x")
    case.node("z", "view_as_complex", "c")
    case.node("z1", "mul_", "z", "w")
    case.node("y", "mul", "c", "c")
    case.forward()
    case.backward(("y", case.numbers.tensor("float64", [2, 2], 0.25, 2)))
    case.read("c", "y", grads=["x", "w"])
    return case


def _view_of_view(scalar_type: str, attempt: int) -> Case:
    case = _case("add_", f"{scalar_type}/view-of-view", "a view of a view", scalar_type, ("view",), 1,
                 attempt)
    case.clauses = ("GRAPH2-1", "HOOK-6")
    case.leaf("x", _numbers(case, [2, 3]))
    case.leaf("w", _numbers(case, [2]))
    case.node("c", "clone", "x")
    case.node("t", "transpose", "c", dim0=0, dim1=1)
    case.node("s", "select", "t", dim=0, index=1)
    case.node("s1", "add_", "s", "w")
    case.node("y", "mul", "c", "c")
    case.forward()
    case.backward(("y", _numbers(case, [2, 3])))
    case.read("c", "y", grads=["x", "w"])
    return case


def _special(op: str, scalar_type: str, left_out: list[LeftOut]) -> Recipe:
    points = special_points(scalar_type)
    if op == "relu_":
        del points["nan"]  # see _nan

    def build(values: list, covers: tuple) -> Case:
        case = _case(op, f"{scalar_type}/special", f"special points of {scalar_type}", scalar_type,
                     covers)
        count = len(values)
        halves = [0.5] * count
        x, w = (halves, values) if op == "copy_" else (values, halves)
        leaves = [case.leaf("x", tensor_json(scalar_type, [count], x))]
        if op in PAIRS:
            leaves.append(case.leaf("w", tensor_json(scalar_type, [count], w)))
        case.node("c", "clone", "x")
        _apply(case, op, "y", "c", "w")
        case.forward()
        seeds = [SEEDS[i % len(SEEDS)] for i in range(count)]
        case.backward(("y", tensor_json(scalar_type, [count], seeds)))
        case.read("y", grads=leaves)
        return case

    return SpecialRecipe(points, build, left_out)
