"""gather, scatter_add, index_select and embedding: what an index takes, and where gradients go back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Iterator

from case import Case, Recipe
from families.points import LeftOut, special_points
from operations import ALL_TYPES
from random_numbers import tensor_json

INDEXED = ("gather", "scatter_add", "index_select", "embedding")


@dataclass(frozen=True)
class Use:
    """The shapes of the indexed tensor and of the index, and the index itself."""

    name: str
    shape: tuple[int, ...]
    taken: tuple[int, ...]
    index: tuple[int, ...]
    dim: int = 0
    strides: tuple[int, ...] | None = None
    covers: tuple[str, ...] = ("matrix",)


USES = {
    "gather": (
        Use("matrix", (2, 3), (2, 2), (2, 0, 1, 1), 1),
        Use("repeated", (3, 2), (4, 2), (1, 1, 1, 0, 1, 1, 2, 1), 0, covers=("repeated",)),
        Use("single", (2, 3), (1, 1), (2,), 1, covers=("single",)),
        Use("vector", (5,), (3,), (4, 0, 2), covers=("vector",)),
        Use("empty", (2, 3), (2, 0), (), 1, covers=("empty",)),
        Use("outer", (2, 2, 2), (2, 1, 2), (1, 0, 0, 1), 1),
        Use("strided", (2, 3), (2, 2), (0, 2, 2, 1), 1, (1, 2), ("strided",)),
        Use("expanded", (2, 3), (2, 2), (0, 2, 0, 1), 1, (0, 1), ("expanded",)),
    ),
    "scatter_add": (
        Use("matrix", (2, 3), (2, 2), (2, 0, 1, 2), 1),
        Use("repeated", (3, 2), (4, 2), (1, 1, 1, 0, 1, 1, 1, 1), 0, covers=("repeated",)),
        Use("single", (2, 3), (1, 1), (2,), 1, covers=("single",)),
        Use("vector", (5,), (3,), (4, 0, 4), covers=("vector", "repeated")),
        Use("empty", (2, 3), (2, 0), (), 1, covers=("empty",)),
        Use("outer", (2, 2, 2), (2, 1, 2), (1, 0, 0, 1), 1),
        Use("strided", (2, 3), (2, 2), (0, 2, 2, 2), 1, (1, 2), ("strided",)),
        Use("expanded", (2, 3), (2, 2), (0, 2, 0, 1), 1, (0, 1), ("expanded",)),
    ),
    "index_select": (
        Use("matrix", (2, 3), (2,), (2, 0), 1),
        Use("repeated", (3, 2), (5,), (1, 1, 0, 1, 1), 0, covers=("repeated",)),
        Use("single", (2, 3), (1,), (1,), 0, covers=("single",)),
        Use("vector", (5,), (3,), (4, 0, 2), covers=("vector",)),
        Use("empty", (2, 3), (0,), (), 1, covers=("empty",)),
        Use("outer", (2, 3, 2), (2,), (2, 1), 1),
        Use("strided", (2, 3), (3,), (0, 2, 2), 1, (1, 2), ("strided",)),
        Use("expanded", (2, 3), (2,), (1, 0), 0, (0, 1), ("expanded",)),
    ),
    "embedding": (
        Use("matrix", (4, 2), (2,), (3, 0)),
        Use("repeated", (3, 2), (2, 3), (1, 1, 0, 1, 2, 1), covers=("repeated",)),
        Use("single", (3, 2), (1,), (2,), covers=("single",)),
        Use("scalar", (3, 2), (), (1,), covers=("scalar", "single")),
        Use("empty", (3, 2), (0,), (), covers=("empty",)),
        Use("strided", (3, 2), (2,), (2, 0), 0, (1, 3), ("strided",)),
        Use("expanded", (3, 2), (2,), (2, 0), 0, (0, 1), ("expanded",)),
    ),
}


def recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for op in INDEXED:
        for scalar_type in ALL_TYPES:
            yield partial(_use, op, scalar_type, USES[op][0])
        for i, use in enumerate(USES[op][1:]):
            yield partial(_use, op, ("float64", "float32")[i % 2], use)
        for scalar_type in ("float32", "bfloat16", "complex64"):
            yield partial(_use, op, scalar_type, USES[op][1])
        yield partial(_of_view, op, "float64")
        for scalar_type in ("float64", "bfloat16"):
            yield partial(_special, op, scalar_type)
        yield partial(_second, op, "float64")
    for scalar_type in ("float64", "float32", "bfloat16", "complex128"):
        for use in USES["embedding"][:2]:
            yield partial(_sparse, scalar_type, use)
    yield partial(_sparse, "float64", USES["embedding"][2])
    yield partial(_sparse_twice, "float64")
    yield partial(_sparse_passes, "float32")
    yield partial(_sparse_and_dense, "float64")
    yield partial(_same_source, "float64")


def _case(op: str, tail: str, what: str, scalar_type: str, covers=(), order=1, attempt=0) -> Case:
    return Case(op, tail, f"{op}: {what}", op, scalar_type, covers, order, attempt)


def _numbers(case: Case, shape, strides=None):
    return case.numbers.tensor(case.type, list(shape), 0.25, 2, strides=list(strides) if strides else None)


def _index(case: Case, shape, values, name: str = "index") -> str:
    return case.leaf(name, {"type": "int64", "shape": list(shape), "values": list(values)},
                     requires_grad=False)


def _apply(case: Case, name: str, source: str, use: Use, **attributes) -> tuple[list[str], list[int]]:
    """Adds the node; returns the leaves that get gradients beyond the source, and the result's shape."""
    op = case.operation
    if op == "scatter_add":
        case.leaf("src", _numbers(case, use.taken))
        case.node(name, op, source, "index", "src", dim=use.dim)
        return ["src"], list(use.shape)
    if op == "embedding":
        case.node(name, op, source, "index", **attributes)
        return [], [*use.taken, use.shape[1]]
    case.node(name, op, source, "index", dim=use.dim)
    if op == "gather":
        return [], list(use.taken)
    return [], [use.taken[0] if d == use.dim else size for d, size in enumerate(use.shape)]


def _use(op: str, scalar_type: str, use: Use, attempt: int) -> Case:
    """The result is multiplied, so that gradients differ from seeds."""
    case = _case(op, f"{scalar_type}/{use.name}", f"{use.name}, {scalar_type}", scalar_type, use.covers, 1,
                 attempt)
    case.leaf("x", _numbers(case, use.shape, use.strides))
    _index(case, use.taken, use.index)
    others, shape = _apply(case, "y", "x", use)
    return _finish(case, ["x", *others], shape)


def _finish(case: Case, leaves: list[str], shape: list[int]) -> Case:
    case.forward()
    case.backward(("y", _numbers(case, shape)))
    case.read("y", grads=leaves)
    return case


def _of_view(op: str, scalar_type: str, attempt: int) -> Case:
    case = _case(op, f"{scalar_type}/view", "a slice of a transposed matrix", scalar_type,
                 ("view", "sliced"), 1, attempt)
    case.leaf("x", _numbers(case, [3, 6]))
    use = USES[op][0]
    _index(case, use.taken, use.index)
    case.node("t", "transpose", "x", dim0=0, dim1=1)
    rows, columns = use.shape
    case.node("v", "slice", "t", dim=0, start=1, end=1 + rows)
    case.node("w", "slice", "v", dim=1, start=0, end=columns)
    others, shape = _apply(case, "y", "w", use)
    return _finish(case, ["x", *others], shape)


def _special(op: str, scalar_type: str, attempt: int) -> Case:
    """Moving changes no bit; what scatter_add adds to is 0 here."""
    groups = special_points(scalar_type)
    values = [value for group in groups.values() for value in group]
    count = len(values)
    case = _case(op, f"{scalar_type}/special", f"special values of {scalar_type}", scalar_type,
                 tuple(groups), 1, attempt)
    shape = [count, 1] if op == "embedding" else [count]
    use = Use("special", tuple(shape), (count,), tuple(range(count))[::-1])
    if op == "scatter_add":
        case.leaf("x", tensor_json(scalar_type, shape, [0] * count))
        case.leaf("src", tensor_json(scalar_type, shape, values))
        _index(case, [count], use.index)
        case.node("y", op, "x", "index", "src", dim=0)
        leaves, result = ["x", "src"], shape
    else:
        case.leaf("x", tensor_json(scalar_type, shape, values))
        _index(case, [count], use.index)
        others, result = _apply(case, "y", "x", use)
        leaves = ["x", *others]
    case.forward()
    case.backward(("y", tensor_json(scalar_type, result, (values * 2)[:math.prod(result)])))
    case.read("y", grads=leaves)
    return case


def _second(op: str, scalar_type: str, attempt: int) -> Case:
    """An index is linear: second derivatives pass through it and through its backward."""
    use = USES[op][1]
    case = _case(op, f"{scalar_type}/derivative-2", "through a product, derivative 2", scalar_type,
                 ("repeated",), 2, attempt)
    case.leaf("x", _numbers(case, use.shape))
    _index(case, use.taken, use.index)
    case.node("s", "mul", "x", "x")
    others, shape = _apply(case, "t", "s", use)
    case.node("y", "mul", "t", "t")
    case.forward()
    leaves = ["x", *others]
    case.grad([("y", _numbers(case, shape))], leaves, [f"g{leaf}" for leaf in leaves], create=True)
    case.grad([("gx", _numbers(case, use.shape))], leaves, [f"h{leaf}" for leaf in leaves])
    case.read("y")
    return case


def _same_source(scalar_type: str, attempt: int) -> Case:
    """A tensor is added to itself at other positions: its gradient comes by both ways."""
    case = _case("scatter_add", f"{scalar_type}/same-operand", "one value on both sides", scalar_type,
                 ("same",), 1, attempt)
    case.clauses = ("GRAPH2-1", "ACC-1")
    case.leaf("x", _numbers(case, [4]))
    _index(case, [4], [1, 1, 3, 0])
    case.node("y", "scatter_add", "x", "index", "x", dim=0)
    return _finish(case, ["x"], [4])


# embedding with sparse gradients

def _sparse(scalar_type: str, use: Use, attempt: int) -> Case:
    case = _case("embedding", f"{scalar_type}/sparse-{use.name}", f"sparse gradient, {use.name}", scalar_type,
                 ("sparse", *use.covers), 1, attempt)
    case.leaf("x", _numbers(case, use.shape))
    _index(case, use.taken, use.index)
    _, shape = _apply(case, "y", "x", use, sparse=True)
    return _finish(case, ["x"], shape)


def _sparse_twice(scalar_type: str, attempt: int) -> Case:
    case = _case("embedding", f"{scalar_type}/sparse-two-uses", "two sparse uses: the sum stays sparse",
                 scalar_type, ("sparse", "repeated"), 1, attempt)
    case.clauses = ("GRAPH2-1", "ACC-1")
    _two_uses(case, [{"sparse": True}, {"sparse": True}])
    return _finish(case, ["x"], [2, 2])


def _sparse_and_dense(scalar_type: str, attempt: int) -> Case:
    case = _case("embedding", f"{scalar_type}/sparse-and-dense", "a sparse and a dense use: a dense sum",
                 scalar_type, ("sparse", "repeated"), 1, attempt)
    case.clauses = ("GRAPH2-1", "ACC-1")
    _two_uses(case, [{"sparse": True}, {}])
    return _finish(case, ["x"], [2, 2])


def _two_uses(case: Case, attributes: list[dict]) -> None:
    case.leaf("x", _numbers(case, [4, 2]))
    for i, values in enumerate(([3, 1], [1, 0])):
        _index(case, [2], values, f"index{i}")
        case.node(f"e{i}", "embedding", "x", f"index{i}", **attributes[i])
    case.node("y", "mul", "e0", "e1")


def _sparse_passes(scalar_type: str, attempt: int) -> Case:
    """The second pass adds its rows to a sparse .grad."""
    case = _case("embedding", f"{scalar_type}/sparse-two-passes", "two passes add up in a sparse .grad",
                 scalar_type, ("sparse",), 1, attempt)
    case.clauses = ("GRAPH2-1", "LEAF-2")
    case.leaf("x", _numbers(case, [4, 2]))
    for i, values in enumerate(([3, 1], [1, 0])):
        _index(case, [2], values, f"index{i}")
        case.node(f"e{i}", "embedding", "x", f"index{i}", sparse=True)
    case.forward()
    for i in range(2):
        case.backward((f"e{i}", _numbers(case, [2, 2])))
    case.read("e0", "e1", grads=["x"])
    return case
