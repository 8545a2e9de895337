"""Operations of two tensors, element by element, with broadcasting; and `where`."""

from __future__ import annotations

from functools import partial
from typing import Iterator

from case import Case, Recipe
from families.points import SEEDS, LeftOut, SpecialRecipe, special_points
from exact.rounding import is_complex
from operations import OPERATIONS, REAL_TYPES
from random_numbers import tensor_json

PAIRS = ("add", "sub", "mul", "div", "pow", "maximum", "minimum")
SMOOTH = ("mul", "div", "pow")  # with second derivatives other than 0

# Shape class: shapes and strides of the two operands.
SHAPES = {
    "scalar": (([], None), ([], None)),
    "empty": (([0, 3], None), ([0, 3], None)),
    "broadcast-left": (([3], None), ([2, 3], None)),
    "broadcast-right": (([2, 3], None), ([2, 1], None)),
    "broadcast-both": (([2, 1], None), ([1, 3], None)),
    "broadcast-scalar": (([2, 3], None), ([], None)),
    "broadcast-empty": (([0, 3], None), ([1], None)),
    "strided": (([2, 3], [1, 2]), ([2, 3], None)),
    "expanded": (([2, 3], [0, 1]), ([2, 3], [1, 0])),
}


def recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for op in PAIRS:
        for scalar_type in OPERATIONS[op].types:
            yield partial(_shaped, op, scalar_type, "matrix", ([2, 3], None), ([2, 3], None))
        for i, (name, (left, right)) in enumerate(SHAPES.items()):
            yield partial(_shaped, op, ("float32", "float64")[i % 2], name, left, right)
        yield partial(_shaped, op, "bfloat16", "broadcast-both", *SHAPES["broadcast-both"])
        yield partial(_through_views, op, "float64")
        if op != "div":  # its gradient is 0, and an engine's only rounding
            yield partial(_same_operand, op, "float64")
        if op in SMOOTH:
            for scalar_type in ("float64", "float32", "complex128"):
                yield partial(_second, op, scalar_type)
            yield partial(_third, op, "float64")
            yield partial(_complex_broadcast, op)
        if op == "pow":
            yield partial(_largest, "float64")
            yield partial(_largest, "float32")
        for scalar_type in REAL_TYPES[::-1]:
            yield _special(op, scalar_type, left_out)
            if op in ("maximum", "minimum"):
                yield partial(_nan, op, scalar_type)
    yield from _where_recipes()


def _case(op: str, tail: str, what: str, scalar_type: str, covers=(), order=1, attempt=0) -> Case:
    return Case(op, tail, f"{op}: {what}", op, scalar_type, covers, order, attempt)


def _operand(case: Case, scalar_type: str, shape, strides=None):
    """The base of a real power is positive."""
    positive = case.operation == "pow" and not case.leaves and not is_complex(scalar_type)
    return case.numbers.tensor(scalar_type, shape, 0.5, 3, signed=not positive, strides=strides)


def _broadcast(left: list[int], right: list[int]) -> list[int]:
    rank = max(len(left), len(right))
    pairs = zip([1] * (rank - len(left)) + left, [1] * (rank - len(right)) + right)
    return [a if b == 1 else b for a, b in pairs]


def _shaped(op: str, scalar_type: str, name: str, left, right, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/{name}", f"{name} operands of {scalar_type}", scalar_type,
                 (name,), 1, attempt)
    case.leaf("a", _operand(case, scalar_type, *left))
    case.leaf("b", _operand(case, scalar_type, *right))
    case.node("y", op, "a", "b")
    case.forward()
    shape = _broadcast(left[0], right[0])
    case.backward(("y", case.numbers.tensor(scalar_type, shape, 0.25, 2)))
    case.read("y", grads=["a", "b"])
    return case


def _through_views(op: str, scalar_type: str, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/views", "a transposed and a sliced operand", scalar_type,
                 ("view", "sliced"), 1, attempt)
    case.leaf("a", _operand(case, scalar_type, [3, 2]))
    case.leaf("b", _operand(case, scalar_type, [2, 7]))
    case.node("at", "transpose", "a", dim0=0, dim1=1)
    case.node("bs", "slice", "b", dim=1, start=0, end=7, step=3)
    case.node("y", op, "at", "bs")
    case.forward()
    case.grad([("y", case.numbers.tensor(scalar_type, [2, 3], 0.25, 2))], ["a", "b"], ["ga", "gb"])
    case.read("y", "ga", "gb")
    return case


def _same_operand(op: str, scalar_type: str, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/same-operand", "both operands are one value", scalar_type,
                 ("same",), 1, attempt)
    case.clauses = ("GRAPH2-1", "TOPO-2", "ACC-1")
    case.leaf("a", _operand(case, scalar_type, [3]))
    case.node("y", op, "a", "a")
    case.forward()
    case.backward(("y", case.numbers.tensor(scalar_type, [3], 0.25, 2)))
    case.read("y", grads=["a"])
    return case


def _second(op: str, scalar_type: str, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/derivative-2", "second and mixed derivatives", scalar_type,
                 ("broadcast-right",), 2, attempt)
    case.leaf("a", _operand(case, scalar_type, [2, 2]))
    case.leaf("b", _operand(case, scalar_type, [2]))
    case.node("y", op, "a", "b")
    case.forward()
    seed = partial(case.numbers.tensor, scalar_type, low=0.25, high=2)
    case.grad([("y", seed([2, 2]))], ["a", "b"], ["ga", "gb"], create=True)
    case.grad([("ga", seed([2, 2])), ("gb", seed([2]))], ["a", "b"], ["gga", "ggb"])
    case.read("ga", "gb", "gga", "ggb")
    return case


def _third(op: str, scalar_type: str, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/derivative-3", "third derivatives", scalar_type, ("vector",), 3,
                 attempt)
    case.leaf("a", _operand(case, scalar_type, [2]))
    case.leaf("b", _operand(case, scalar_type, [2]))
    if op == "pow":
        case.node("y", op, "a", "b")
    else:
        case.node("b2", "mul", "b", "b")
        case.node("b3", "mul", "b2", "b")
        case.node("y", op, "a", "b3")
    case.forward()
    seed = partial(case.numbers.tensor, scalar_type, [2], 0.25, 2)
    case.grad([("y", seed())], ["b"], ["g1"], create=True)
    case.grad([("g1", seed())], ["b"], ["g2"], create=True)
    case.grad([("g2", seed())], ["a", "b"], ["g3a", "g3b"])
    case.read("g1", "g2", "g3a", "g3b")
    return case


def _complex_broadcast(op: str, attempt: int) -> Case:
    return _shaped(op, "complex64", "broadcast-both", *SHAPES["broadcast-both"], attempt)


# Pairs of special values, by their names in the coverage table.
PARTNERS = {"0": 1.5, "-0": 1.5, "1": 1.5, "-1": 1.5, "subnormal": 0.5, "huge": 0.5, "inf": 1.5,
            "nan": 1.5}


def _special(op: str, scalar_type: str, left_out: list[LeftOut]) -> Recipe:
    names = special_points(scalar_type)
    inf, huge, least = names["inf"][0], names["huge"][0], names["subnormal"][0]
    points = {name: [pair for value in values
                     for pair in ((value, PARTNERS[name]), (PARTNERS[name], value))]
              for name, values in names.items()}
    points["inf"] += [(inf, inf), (inf, "-inf"), (inf, 0), (0, inf)]
    points["0"] += [(0, 0), (0, -0.0), (-0.0, -0.0)]
    points["huge"] += [(huge, huge), (huge, -huge)]
    points["subnormal"] += [(least, least), (least, huge), (huge, least)]
    if op == "pow":
        points = _powers(names)
    if op in ("maximum", "minimum"):
        points["tie"] = [(1.5, 1.5), (-2, -2), (0, 0), (0, -0.0), (inf, inf), (least, least)]

        del points["nan"]  # whose gradient it is has no answer: see _nan

    def build(pairs: list, covers: tuple) -> Case:
        case = _case(op, f"{scalar_type}/special", f"special points of {scalar_type}", scalar_type,
                     covers)
        count = len(pairs)
        case.leaf("a", tensor_json(scalar_type, [count], [a for a, _ in pairs]))
        case.leaf("b", tensor_json(scalar_type, [count], [b for _, b in pairs]))
        case.node("y", op, "a", "b")
        case.forward()
        seeds = [SEEDS[i % len(SEEDS)] for i in range(count)]
        case.backward(("y", tensor_json(scalar_type, [count], seeds)))
        case.read("y", grads=["a", "b"])
        return case

    return SpecialRecipe(points, build, left_out)


def _largest(scalar_type: str, attempt: int) -> Case:
    """A case of its own, since libraries are known to overflow too early here."""
    case = _case("pow", f"{scalar_type}/largest", f"the largest {scalar_type} to the power of 1", scalar_type,
                 ("huge",), 1, attempt)
    largest = special_points(scalar_type)["huge"][0]
    count = 16  # enough for libraries to use vectors
    case.leaf("a", tensor_json(scalar_type, [count], [largest, 1.5] * (count // 2)))
    case.leaf("b", tensor_json(scalar_type, [count], [1, 2] * (count // 2)), requires_grad=False)
    case.node("y", "pow", "a", "b")
    case.forward()
    case.backward(("y", tensor_json(scalar_type, [count], [0.5, -3] * (count // 2))))
    case.read("y", grads=["a"])
    return case


def _powers(names: dict[str, list]) -> dict[str, list]:
    """Where pow has a corner or a limit. Left out: exponents of 0 or infinity and a base of 1 with nan, which
    IEEE 754 makes 1 whatever the other operand; 0 to a negative power, where some engines have nan."""
    inf, huge, least = names["inf"][0], names["huge"][0], names["subnormal"][0]
    return {"0": [(0, 1), (0, 2), (0, 2.5), (1.5, 0), (0, 0)], "-0": [(-0.0, 2), (-0.0, 3)],
            "1": [(1, 2.5), (1, -3), (2.5, 1)], "-1": [(-1, 2), (-1, 3), (-2, 3), (-1.5, -1), (-2, 0.5)],
            "subnormal": [(least, 1), (least, 0.5), (1.5, least)],
            "huge": [(huge / 1024, 1), (huge, 2), (huge, -1)], "inf": [(inf, 2), (inf, -1)],
            "nan": [("nan", 2), (2, "nan")]}


def _nan(op: str, scalar_type: str, attempt: int) -> Case:
    """The value is nan, wherever it stands; no gradient is stated."""
    case = _case(op, f"{scalar_type}/nan", "nan in either operand", scalar_type, ("nan",), 1, attempt)
    case.leaf("a", tensor_json(scalar_type, [4], ["nan", 1.5, "nan", "inf"]))
    case.leaf("b", tensor_json(scalar_type, [4], [1.5, "nan", "nan", "nan"]))
    case.node("y", op, "a", "b")
    case.forward()
    case.read("y")
    return case


# where: the condition is a tensor of booleans, broadcast like the others.

WHERE_SHAPES = {
    "scalar": ([], [], []), "empty": ([0], [0], [0]), "matrix": ([2, 3], [2, 3], [2, 3]),
    "broadcast-left": ([2, 3], [3], [2, 3]), "broadcast-right": ([2, 3], [2, 3], [2, 1]),
    "broadcast-both": ([2, 3], [2, 1], [1, 3]), "broadcast-scalar": ([3], [2, 3], []),
}


def _where_recipes() -> Iterator[Recipe]:
    for scalar_type in OPERATIONS["where"].types:
        yield partial(_where, scalar_type, "matrix")
    for i, name in enumerate(WHERE_SHAPES):
        if name != "matrix":
            yield partial(_where, ("float64", "float32")[i % 2], name)
    yield partial(_where_strided, "float64")
    yield partial(_where_views, "float32")
    yield partial(_where_same, "float64")
    for scalar_type in ("float64", "bfloat16"):
        yield partial(_where_special, scalar_type)


def _condition(case: Case, shape: list[int]):
    return case.numbers.like("boolean", shape, lambda: case.numbers.whole(0, 1))


def _finish_where(case: Case, shape: list[int]) -> Case:
    case.node("y", "where", "c", "a", "b")
    case.forward()
    case.backward(("y", case.numbers.tensor(case.type, shape, 0.25, 2)))
    case.read("y", grads=["a", "b"])
    return case


def _where(scalar_type: str, name: str, attempt: int) -> Case:
    case = _case("where", f"{scalar_type}/{name}", f"{name} operands of {scalar_type}", scalar_type,
                 (name,), 1, attempt)
    c, a, b = WHERE_SHAPES[name]
    case.leaf("c", _condition(case, c), requires_grad=False)
    case.leaf("a", _operand(case, scalar_type, a))
    case.leaf("b", _operand(case, scalar_type, b))
    return _finish_where(case, _broadcast(_broadcast(c, a), b))


def _where_strided(scalar_type: str, attempt: int) -> Case:
    case = _case("where", f"{scalar_type}/strided", "strided and expanded operands", scalar_type,
                 ("strided", "expanded"), 1, attempt)
    case.leaf("c", _condition(case, [2, 3]), requires_grad=False)
    case.leaf("a", _operand(case, scalar_type, [2, 3], [1, 2]))
    case.leaf("b", _operand(case, scalar_type, [2, 3], [0, 1]))
    return _finish_where(case, [2, 3])


def _where_views(scalar_type: str, attempt: int) -> Case:
    case = _case("where", f"{scalar_type}/views", "a transposed and a sliced operand", scalar_type,
                 ("view", "sliced"), 1, attempt)
    case.leaf("c", _condition(case, [2, 3]), requires_grad=False)
    case.leaf("at", _operand(case, scalar_type, [3, 2]))
    case.leaf("bs", _operand(case, scalar_type, [4, 3]))
    case.node("a", "transpose", "at", dim0=0, dim1=1)
    case.node("b", "slice", "bs", dim=0, start=0, end=4, step=2)
    case.node("y", "where", "c", "a", "b")
    case.forward()
    case.backward(("y", case.numbers.tensor(scalar_type, [2, 3], 0.25, 2)))
    case.read("y", grads=["at", "bs"])
    return case


def _where_same(scalar_type: str, attempt: int) -> Case:
    case = _case("where", f"{scalar_type}/same-operand", "one value on both sides", scalar_type,
                 ("same",), 1, attempt)
    case.leaf("c", _condition(case, [4]), requires_grad=False)
    case.leaf("a", _operand(case, scalar_type, [4]))
    case.node("y", "where", "c", "a", "a")
    case.forward()
    case.backward(("y", case.numbers.tensor(scalar_type, [4], 0.25, 2)))
    case.read("y", grads=["a"])
    return case


def _where_special(scalar_type: str, attempt: int) -> Case:
    """What is not chosen plays no part, whatever it is."""
    points = special_points(scalar_type)
    values = [value for group in points.values() for value in group]
    count = len(values)
    case = _case("where", f"{scalar_type}/special", "special values, chosen and not chosen",
                 scalar_type, tuple(points), 1, attempt)
    chosen = [i % 2 for i in range(count)]
    case.leaf("c", {"type": "boolean", "shape": [count], "values": chosen}, requires_grad=False)
    case.leaf("a", tensor_json(scalar_type, [count], values))
    case.leaf("b", tensor_json(scalar_type, [count], values[::-1]))
    return _finish_where(case, [count])
