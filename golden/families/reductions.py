"""Reductions, running sums and matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Iterator

from case import Case, Recipe
from families.points import SEEDS, LeftOut, SpecialRecipe, seeds, special_points
from operations import ALL_TYPES, REAL_TYPES
from random_numbers import tensor_json


@dataclass(frozen=True)
class Reduction:
    name: str
    shape: tuple[int, ...]
    result: tuple[int, ...]
    dims: tuple[int, ...] | None = None
    keepdim: bool = False
    strides: tuple[int, ...] | None = None
    covers: str = "matrix"

    @property
    def attributes(self) -> dict:
        given = {} if self.dims is None else {"dims": list(self.dims)}
        return {**given, **({"keepdim": True} if self.keepdim else {})}


EXTREMES = ("amax", "amin")

REDUCTIONS = (
    Reduction("all", (2, 3), ()),
    Reduction("rows", (2, 3), (3,), (0,)),
    Reduction("columns-kept", (3, 2), (3, 1), (1,), True),
    Reduction("two-dims", (2, 3, 2), (3,), (0, 2)),
    Reduction("scalar", (), (), covers="scalar"),
    Reduction("vector", (7,), (), (0,), covers="vector"),
    Reduction("empty", (0, 3), (3,), (0,), covers="empty"),
    Reduction("empty-result", (2, 0), (0,), (0,), covers="empty"),
    Reduction("strided", (3, 4), (4,), (0,), strides=(1, 3), covers="strided"),
    Reduction("expanded", (3, 2), (2,), (0,), strides=(0, 1), covers="expanded"),
    Reduction("all-kept", (2, 2), (1, 1), None, True),
)


def recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for op in ("sum", "mean"):
        for scalar_type in ALL_TYPES:
            yield partial(_reduce, op, scalar_type, REDUCTIONS[0])
            if op == "sum" or scalar_type in ("float64", "bfloat16"):
                yield partial(_reduce, op, scalar_type, REDUCTIONS[1])
        for i, reduction in enumerate(REDUCTIONS[2:]):
            yield partial(_reduce, op, ("float64", "float32")[i % 2], reduction)
        for scalar_type in ("float64", "float32"):
            yield partial(_many, op, scalar_type)
        for scalar_type in REAL_TYPES[::-1]:
            yield _special(op, scalar_type, left_out)
        yield partial(_of_product, op, "float64")
        yield partial(_of_view, op, "float32")
    yield from _extreme_recipes(left_out)
    yield from _cumsum_recipes(left_out)
    yield from _mm_recipes(left_out)
    yield from _bmm_recipes(left_out)


def _case(op: str, tail: str, what: str, scalar_type: str, covers=(), order=1, attempt=0) -> Case:
    return Case(op, tail, f"{op}: {what}", op, scalar_type, covers, order, attempt)


def _numbers(case: Case, scalar_type: str, shape, strides=None, signed: bool = True):
    return case.numbers.tensor(scalar_type, list(shape), 0.25, 3, signed=signed, strides=strides)


def _reduce(op: str, scalar_type: str, reduction: Reduction, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/{reduction.name}", f"{reduction.name}, {scalar_type}",
                 scalar_type, (reduction.covers,), 1, attempt)
    strides = list(reduction.strides) if reduction.strides else None
    case.leaf("x", _numbers(case, scalar_type, reduction.shape, strides))
    case.node("y", op, "x", **reduction.attributes)
    case.forward()
    case.backward(("y", _numbers(case, scalar_type, reduction.result)))
    case.read("y", grads=["x"])
    return case


def _many(op: str, scalar_type: str, attempt: int) -> Case:
    """Long enough for engines to change the order of additions."""
    case = _case(op, f"{scalar_type}/many", "64 positive numbers", scalar_type, ("vector",), 1,
                 attempt)
    case.leaf("x", _numbers(case, scalar_type, [64], signed=False))
    case.node("y", op, "x")
    case.forward()
    case.backward(("y", _numbers(case, scalar_type, [])))
    case.read("y", grads=["x"])
    return case


def _of_view(op: str, scalar_type: str, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/view", "a slice of a transposed matrix", scalar_type,
                 ("view", "sliced"), 1, attempt)
    case.leaf("x", _numbers(case, scalar_type, [3, 5]))
    case.node("t", "transpose", "x", dim0=0, dim1=1)
    case.node("v", "slice", "t", dim=0, start=0, end=5, step=2)
    case.node("y", op, "v", dims=[0])
    case.forward()
    case.backward(("y", _numbers(case, scalar_type, [3])))
    case.read("y", grads=["x"])
    return case


def _of_product(op: str, scalar_type: str, attempt: int) -> Case:
    """The derivative of a reduction is constant: in second derivatives it passes gradients on."""
    case = _case(op, f"{scalar_type}/derivative-2", "through a product, derivative 2", scalar_type,
                 ("matrix",), 2, attempt)
    case.leaf("a", _numbers(case, scalar_type, [2, 3]))
    case.leaf("b", _numbers(case, scalar_type, [2, 3]))
    case.node("p", "mul", "a", "b")
    case.node("q", "mul", "p", "a")
    case.node("y", op, "q", dims=[1])
    case.forward()
    case.grad([("y", _numbers(case, scalar_type, [2]))], ["a", "b"], ["ga", "gb"], create=True)
    case.grad([("ga", _numbers(case, scalar_type, [2, 3]))], ["a", "b"], ["gga", "ggb"])
    case.read("y", "ga", "gb", "gga", "ggb")
    return case


def _special(op: str, scalar_type: str, left_out: list[LeftOut]) -> Recipe:
    """Each row holds special values; a row is one point."""
    names = special_points(scalar_type)
    huge, least, inf = names["huge"][0], names["subnormal"][0], names["inf"][0]
    points = {name: [(value, 1.5, 0.25) for value in values] for name, values in names.items()}
    points["0"] = [(0, 0, 0), (0, -0.0, 0)]
    points["-0"] = [(-0.0, -0.0, -0.0)]
    points["subnormal"] += [(least, least, -least)]
    points["huge"] = [(huge, 0, 0), (huge / 4, huge / 4, huge / 4), (huge, huge, huge),
                      (huge, -huge, 0), (huge, huge, -huge)]
    points["inf"] += [(inf, inf, 1), (inf, "-inf", 1)]
    return _rows(op, scalar_type, points, left_out)


def _rows(op: str, scalar_type: str, points: dict[str, list], left_out: list[LeftOut]) -> Recipe:
    """Each point is a row of three numbers."""
    along = {"dim": 1} if op == "cumsum" else {"dims": [1]}

    def build(rows: list, covers: tuple) -> Case:
        case = _case(op, f"{scalar_type}/special", f"rows with special values, {scalar_type}",
                     scalar_type, covers)
        count = len(rows)
        case.leaf("x", tensor_json(scalar_type, [count, 3], [v for row in rows for v in row]))
        case.node("y", op, "x", **along)
        case.forward()
        shape = [count, 3] if op == "cumsum" else [count]
        upstream = seeds(3) * count if op == "cumsum" else seeds(count)
        case.backward(("y", tensor_json(scalar_type, shape, upstream)))
        case.read("y", grads=["x"])
        return case

    return SpecialRecipe(points, build, left_out)


# amax, amin: nothing is rounded, but where equal numbers share the gradient.

def _extreme_recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for op in EXTREMES:
        for scalar_type in REAL_TYPES:
            yield partial(_reduce, op, scalar_type, REDUCTIONS[0])
            yield partial(_ties, op, scalar_type)
            yield _extreme_special(op, scalar_type, left_out)
            yield partial(_extreme_nan, op, scalar_type)
        for i, reduction in enumerate(REDUCTIONS[1:]):
            if reduction.name != "empty":  # of nothing there is no largest number
                yield partial(_reduce, op, ("float64", "float32")[i % 2], reduction)
        yield partial(_of_view, op, "float32")


def _ties(op: str, scalar_type: str, attempt: int) -> Case:
    """Two, three and no equal ones in a row, and another number between them."""
    case = _case(op, f"{scalar_type}/ties", f"equal numbers, {scalar_type}", scalar_type, ("tie",), 1,
                 attempt)
    sign = 1 if op == "amax" else -1
    rows = [[2, -1, 2, 0.5], [1.5, 1.5, -3, 1.5], [1, 2, 3, 4], [-1, -1, -1, -1]]
    case.leaf("x", tensor_json(scalar_type, [4, 4], [sign * v for row in rows for v in row]))
    case.node("y", op, "x", dims=[1])
    case.forward()
    case.backward(("y", _numbers(case, scalar_type, [4])))
    case.read("y", grads=["x"])
    return case


def _extreme_special(op: str, scalar_type: str, left_out: list[LeftOut]) -> Recipe:
    names = special_points(scalar_type)
    del names["nan"]  # see _extreme_nan
    points = {name: [row for value in values for row in ((value, 1.5, 0.25), (value, -1.5, -0.25))]
              for name, values in names.items()}
    points["-0"] = [(-0.0, 0, -1), (-0.0, 0, 1)]
    points["inf"] += [("inf", "-inf", "inf")]
    return _rows(op, scalar_type, points, left_out)


def _extreme_nan(op: str, scalar_type: str, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/nan", f"nan among the numbers, {scalar_type}", scalar_type, ("nan",),
                 1, attempt)
    case.leaf("x", tensor_json(scalar_type, [2, 3], ["nan", 1, 2, "-inf", "nan", "inf"]))
    case.node("y", op, "x", dims=[1])
    case.forward()
    case.read("y")
    return case


# cumsum

CUMSUMS = (
    Reduction("rows", (3, 2), (3, 2), (0,)),
    Reduction("outer", (2, 3, 2), (2, 3, 2), (1,)),
    Reduction("vector", (6,), (6,), (0,), covers="vector"),
    Reduction("empty", (0, 3), (0, 3), (0,), covers="empty"),
    Reduction("strided", (3, 4), (3, 4), (0,), strides=(1, 3), covers="strided"),
    Reduction("expanded", (3, 2), (3, 2), (0,), strides=(0, 1), covers="expanded"),
)


def _cumsum_recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for scalar_type in ALL_TYPES:
        yield partial(_cumsum, scalar_type, CUMSUMS[0])
    for i, sums in enumerate(CUMSUMS[1:]):
        yield partial(_cumsum, ("float64", "float32")[i % 2], sums)
    for scalar_type in ("float64", "float32"):
        yield partial(_cumsum, scalar_type, Reduction("many", (32,), (32,), (0,), covers="vector"))
    for scalar_type in REAL_TYPES[::-1]:
        yield _cumsum_special(scalar_type, left_out)
    yield partial(_cumsum_of_view, "float32")


def _cumsum(scalar_type: str, sums: Reduction, attempt: int) -> Case:
    case = _case("cumsum", f"{scalar_type}/{sums.name}", f"{sums.name}, {scalar_type}", scalar_type,
                 (sums.covers,), 1, attempt)
    strides = list(sums.strides) if sums.strides else None
    case.leaf("x", _numbers(case, scalar_type, sums.shape, strides, signed=sums.name != "many"))
    return _finish_cumsum(case, "x", list(sums.shape), sums.dims[0])


def _finish_cumsum(case: Case, source: str, shape: list[int], dim: int) -> Case:
    case.node("y", "cumsum", source, dim=dim)
    case.forward()
    case.backward(("y", _numbers(case, case.type, shape)))
    case.read("y", grads=["x"])
    return case


def _cumsum_of_view(scalar_type: str, attempt: int) -> Case:
    case = _case("cumsum", f"{scalar_type}/view", "a slice of a transposed matrix", scalar_type,
                 ("view", "sliced"), 1, attempt)
    case.leaf("x", _numbers(case, scalar_type, [3, 5]))
    case.node("t", "transpose", "x", dim0=0, dim1=1)
    case.node("v", "slice", "t", dim=0, start=0, end=5, step=2)
    return _finish_cumsum(case, "v", [3, 3], 0)


def _cumsum_special(scalar_type: str, left_out: list[LeftOut]) -> Recipe:
    names = special_points(scalar_type)
    huge, least = names["huge"][0], names["subnormal"][0]
    points = {name: [(value, 1.5, 0.25) for value in values] for name, values in names.items()}
    points["subnormal"] += [(least, least, -least)]
    points["huge"] = [(huge / 4, huge / 4, -huge / 4), (huge, huge, 1)]
    points["inf"] += [("inf", "-inf", 1)]
    return _rows("cumsum", scalar_type, points, left_out)


# Products of matrices

MM_SHAPES = {
    "matrix": ((2, 3), (3, 2)), "scalar": ((1, 1), (1, 1)), "vector": ((1, 4), (4, 1)),
    "outer": ((3, 1), (1, 2)), "empty": ((0, 2), (2, 3)), "empty-inner": ((2, 0), (0, 2)),
}


def _mm_recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for scalar_type in ALL_TYPES:
        yield partial(_mm, scalar_type, "matrix")
    for i, name in enumerate(MM_SHAPES):
        if name != "matrix":
            yield partial(_mm, ("float32", "float64")[i % 2], name)
    yield partial(_mm_strided, "float64")
    yield partial(_mm_views, "float32")
    yield partial(_mm_same, "float64")
    for scalar_type in ("float64", "float32", "complex128"):
        yield partial(_mm_second, scalar_type)
    for scalar_type in ("float64", "float32"):
        yield _mm_special(scalar_type, left_out)


def _mm(scalar_type: str, name: str, attempt: int) -> Case:
    left, right = MM_SHAPES[name]
    covers = "empty" if name.startswith("empty") else name
    case = _case("mm", f"{scalar_type}/{name}", f"{name}, {scalar_type}", scalar_type, (covers,), 1,
                 attempt)
    case.leaf("a", _numbers(case, scalar_type, left))
    case.leaf("b", _numbers(case, scalar_type, right))
    return _finish_mm(case, "a", "b", [left[0], right[1]])


def _finish_mm(case: Case, a: str, b: str, shape: list[int]) -> Case:
    case.node("y", "mm", a, b)
    case.forward()
    case.backward(("y", _numbers(case, case.type, shape)))
    case.read("y", grads=[leaf["name"] for leaf in case.leaves])
    return case


def _mm_strided(scalar_type: str, attempt: int) -> Case:
    case = _case("mm", f"{scalar_type}/strided", "column-major and expanded operands", scalar_type,
                 ("strided", "expanded"), 1, attempt)
    case.leaf("a", _numbers(case, scalar_type, [2, 3], [1, 2]))
    case.leaf("b", _numbers(case, scalar_type, [3, 2], [0, 1]))
    return _finish_mm(case, "a", "b", [2, 2])


def _mm_views(scalar_type: str, attempt: int) -> Case:
    case = _case("mm", f"{scalar_type}/views", "transposed and sliced operands", scalar_type,
                 ("view", "sliced"), 1, attempt)
    case.leaf("a", _numbers(case, scalar_type, [3, 2]))
    case.leaf("b", _numbers(case, scalar_type, [3, 5]))
    case.node("at", "transpose", "a", dim0=0, dim1=1)
    case.node("bs", "slice", "b", dim=1, start=0, end=5, step=2)
    return _finish_mm(case, "at", "bs", [2, 3])


def _mm_same(scalar_type: str, attempt: int) -> Case:
    case = _case("mm", f"{scalar_type}/same-operand", "a matrix squared", scalar_type, ("same",), 1,
                 attempt)
    case.clauses = ("GRAPH2-1", "TOPO-2", "ACC-1")
    case.leaf("a", _numbers(case, scalar_type, [2, 2]))
    return _finish_mm(case, "a", "a", [2, 2])


def _mm_second(scalar_type: str, attempt: int) -> Case:
    case = _case("mm", f"{scalar_type}/derivative-2", "second derivatives", scalar_type, ("matrix",),
                 2, attempt)
    case.leaf("a", _numbers(case, scalar_type, [2, 2]))
    case.leaf("b", _numbers(case, scalar_type, [2, 2]))
    case.node("p", "mm", "a", "b")
    case.node("y", "mm", "p", "a")
    case.forward()
    case.grad([("y", _numbers(case, scalar_type, [2, 2]))], ["a", "b"], ["ga", "gb"], create=True)
    case.grad([("ga", _numbers(case, scalar_type, [2, 2])),
               ("gb", _numbers(case, scalar_type, [2, 2]))], ["a", "b"], ["gga", "ggb"])
    case.read("y", "ga", "gb", "gga", "ggb")
    return case


def _mm_special(scalar_type: str, left_out: list[LeftOut]) -> Recipe:
    """Rows with special values times a column: each row is a point."""
    names = special_points(scalar_type)
    huge, least, inf = names["huge"][0], names["subnormal"][0], names["inf"][0]
    points = {name: [(value, 1) for value in values] for name, values in names.items()}
    points["inf"] += [(inf, "-inf"), (1, inf)]
    points["huge"] += [(huge, huge)]
    points["subnormal"] += [(least, least)]

    def build(rows: list, covers: tuple) -> Case:
        case = _case("mm", f"{scalar_type}/special", f"rows with special values, {scalar_type}",
                     scalar_type, covers)
        count = len(rows)
        case.leaf("a", tensor_json(scalar_type, [count, 2], [v for row in rows for v in row]))
        case.leaf("b", tensor_json(scalar_type, [2, 1], [2, 0]), requires_grad=False)
        case.node("y", "mm", "a", "b")
        case.forward()
        seeds = [SEEDS[i % len(SEEDS)] for i in range(count)]
        case.backward(("y", tensor_json(scalar_type, [count, 1], seeds)))
        case.read("y", grads=["a"])
        return case

    return SpecialRecipe(points, build, left_out)


# Batches of products

BMM_SHAPES = {
    "matrix": ((2, 2, 3), (2, 3, 2)), "scalar": ((1, 1, 1), (1, 1, 1)), "vector": ((3, 1, 2), (3, 2, 1)),
    "empty": ((0, 2, 2), (0, 2, 3)), "empty-inner": ((2, 1, 0), (2, 0, 2)),
}


def _bmm_recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for scalar_type in ALL_TYPES:
        yield partial(_bmm, scalar_type, "matrix")
    for i, name in enumerate(BMM_SHAPES):
        if name != "matrix":
            yield partial(_bmm, ("float32", "float64")[i % 2], name)
    yield partial(_bmm_strided, "float64")
    yield partial(_bmm_views, "float32")
    yield partial(_bmm_same, "float64")
    for scalar_type in ("float64", "float32", "complex128"):
        yield partial(_bmm_second, scalar_type)
    for scalar_type in ("float64", "float32"):
        yield _bmm_special(scalar_type, left_out)


def _bmm(scalar_type: str, name: str, attempt: int) -> Case:
    left, right = BMM_SHAPES[name]
    covers = "empty" if name.startswith("empty") else name
    case = _case("bmm", f"{scalar_type}/{name}", f"{name}, {scalar_type}", scalar_type, (covers,), 1,
                 attempt)
    case.leaf("a", _numbers(case, scalar_type, left))
    case.leaf("b", _numbers(case, scalar_type, right))
    return _finish_bmm(case, "a", "b", [left[0], left[1], right[2]])


def _finish_bmm(case: Case, a: str, b: str, shape: list[int]) -> Case:
    case.node("y", "bmm", a, b)
    case.forward()
    case.backward(("y", _numbers(case, case.type, shape)))
    case.read("y", grads=[leaf["name"] for leaf in case.leaves])
    return case


def _bmm_strided(scalar_type: str, attempt: int) -> Case:
    case = _case("bmm", f"{scalar_type}/strided", "column-major and expanded operands", scalar_type,
                 ("strided", "expanded"), 1, attempt)
    case.leaf("a", _numbers(case, scalar_type, [2, 2, 3], [6, 1, 2]))
    case.leaf("b", _numbers(case, scalar_type, [2, 3, 2], [0, 2, 1]))
    return _finish_bmm(case, "a", "b", [2, 2, 2])


def _bmm_views(scalar_type: str, attempt: int) -> Case:
    case = _case("bmm", f"{scalar_type}/views", "transposed and sliced operands", scalar_type,
                 ("view", "sliced"), 1, attempt)
    case.leaf("a", _numbers(case, scalar_type, [2, 3, 2]))
    case.leaf("b", _numbers(case, scalar_type, [3, 3, 2]))
    case.node("at", "transpose", "a", dim0=1, dim1=2)
    case.node("bs", "slice", "b", dim=0, start=0, end=3, step=2)
    return _finish_bmm(case, "at", "bs", [2, 2, 2])


def _bmm_same(scalar_type: str, attempt: int) -> Case:
    case = _case("bmm", f"{scalar_type}/same-operand", "a batch squared", scalar_type, ("same",), 1, attempt)
    case.clauses = ("GRAPH2-1", "TOPO-2", "ACC-1")
    case.leaf("a", _numbers(case, scalar_type, [2, 2, 2]))
    return _finish_bmm(case, "a", "a", [2, 2, 2])


def _bmm_second(scalar_type: str, attempt: int) -> Case:
    shape = [2, 2, 2]
    case = _case("bmm", f"{scalar_type}/derivative-2", "second derivatives", scalar_type, ("matrix",), 2,
                 attempt)
    case.leaf("a", _numbers(case, scalar_type, shape))
    case.leaf("b", _numbers(case, scalar_type, shape))
    case.node("p", "bmm", "a", "b")
    case.node("y", "bmm", "p", "a")
    case.forward()
    case.grad([("y", _numbers(case, scalar_type, shape))], ["a", "b"], ["ga", "gb"], create=True)
    case.grad([("ga", _numbers(case, scalar_type, shape)), ("gb", _numbers(case, scalar_type, shape))],
              ["a", "b"], ["gga", "ggb"])
    case.read("y", "ga", "gb", "gga", "ggb")
    return case


def _bmm_special(scalar_type: str, left_out: list[LeftOut]) -> Recipe:
    """Each product is a row with a special value times a column."""
    names = special_points(scalar_type)
    inf, huge, least = names["inf"][0], names["huge"][0], names["subnormal"][0]
    points = {name: [(value, 1) for value in values] for name, values in names.items()}
    points["inf"] += [(inf, "-inf"), (1, inf)]
    points["huge"] += [(huge, huge)]
    points["subnormal"] += [(least, least)]

    def build(rows: list, covers: tuple) -> Case:
        case = _case("bmm", f"{scalar_type}/special", f"rows with special values, {scalar_type}",
                     scalar_type, covers)
        count = len(rows)
        case.leaf("a", tensor_json(scalar_type, [count, 1, 2], [v for row in rows for v in row]))
        case.leaf("b", tensor_json(scalar_type, [count, 2, 1], [2, 0] * count), requires_grad=False)
        case.node("y", "bmm", "a", "b")
        case.forward()
        case.backward(("y", tensor_json(scalar_type, [count, 1, 1], seeds(count))))
        case.read("y", grads=["a"])
        return case

    return SpecialRecipe(points, build, left_out)
