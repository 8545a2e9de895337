"""Operations that move elements: views, cat, clone, detach, conversions. All but conversions are exact."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Iterator

from case import Case, Recipe
from exact.rounding import COMPONENT, FORMATS, is_complex
from families.points import LeftOut, special_points
from operations import ALL_TYPES
from random_numbers import tensor_json, to_json


@dataclass(frozen=True)
class Move:
    """One use of an operation: attributes, the input's and the output's shape."""

    operation: str
    name: str
    shape: list[int]
    result: list[int]
    attributes: dict = field(default_factory=dict)
    strides: list[int] | None = None
    covers: str = "matrix"


MOVES = (
    Move("view", "flatten", [2, 3], [6], {"shape": [6]}),
    Move("view", "split", [6], [3, 1, 2], {"shape": [3, 1, 2]}, covers="vector"),
    Move("view", "scalar", [], [1, 1], {"shape": [1, 1]}, covers="scalar"),
    Move("view", "empty", [0, 3], [3, 0, 2], {"shape": [3, 0, 2]}, covers="empty"),
    Move("expand", "row", [3], [2, 3], {"shape": [2, 3]}, covers="vector"),
    Move("expand", "column", [2, 1], [2, 4], {"shape": [2, 4]}),
    Move("expand", "scalar", [], [2, 3], {"shape": [2, 3]}, covers="scalar"),
    Move("expand", "empty", [1, 3], [0, 3], {"shape": [0, 3]}, covers="empty"),
    Move("expand", "strided", [2, 1, 3], [2, 2, 3], {"shape": [2, 2, 3]}, [1, 1, 2], "strided"),
    Move("transpose", "matrix", [2, 3], [3, 2], {"dim0": 0, "dim1": 1}),
    Move("transpose", "outer", [2, 3, 2], [2, 3, 2], {"dim0": 0, "dim1": 2}),
    Move("transpose", "empty", [0, 3], [3, 0], {"dim0": 0, "dim1": 1}, covers="empty"),
    Move("transpose", "strided", [2, 3], [3, 2], {"dim0": 1, "dim1": 0}, [1, 2], "strided"),
    Move("select", "row", [2, 3], [3], {"dim": 0, "index": 1}),
    Move("select", "column", [2, 3], [2], {"dim": 1, "index": 2}),
    Move("select", "vector", [4], [], {"dim": 0, "index": 0}, covers="vector"),
    Move("select", "empty", [2, 0], [0], {"dim": 0, "index": 1}, covers="empty"),
    Move("select", "strided", [2, 3], [2], {"dim": 1, "index": 1}, [1, 2], "strided"),
    Move("slice", "middle", [5, 2], [3, 2], {"dim": 0, "start": 1, "end": 4}),
    Move("slice", "stepped", [2, 7], [2, 3], {"dim": 1, "start": 1, "end": 7, "step": 2}),
    Move("slice", "vector", [6], [2], {"dim": 0, "start": 0, "end": 6, "step": 4}, covers="vector"),
    Move("slice", "empty", [4], [0], {"dim": 0, "start": 2, "end": 2}, covers="empty"),
    Move("slice", "strided", [3, 3], [3, 2], {"dim": 1, "start": 1, "end": 3}, [1, 3], "strided"),
    Move("clone", "matrix", [2, 3], [2, 3]),
    Move("clone", "scalar", [], [], covers="scalar"),
    Move("clone", "empty", [0, 2], [0, 2], covers="empty"),
    Move("clone", "strided", [2, 3], [2, 3], {}, [1, 2], "strided"),
    Move("clone", "expanded", [2, 3], [2, 3], {}, [0, 1], "expanded"),
    Move("flip", "rows", [3, 2], [3, 2], {"dims": [0]}),
    Move("flip", "both", [2, 3], [2, 3], {"dims": [1, 0]}),
    Move("flip", "vector", [5], [5], {"dims": [0]}, covers="vector"),
    Move("flip", "empty", [0, 3], [0, 3], {"dims": [1]}, covers="empty"),
    Move("flip", "strided", [2, 3], [2, 3], {"dims": [1]}, [1, 2], "strided"),
)
FIRST = {move.operation: move for move in reversed(MOVES)}


ONE_INPUT = ("view", "expand", "transpose", "select", "slice", "flip", "clone", "unbind", "cat", "detach",
             "cast", "to_device")


def recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for i, move in enumerate(MOVES):
        if FIRST[move.operation] is move:
            for scalar_type in ALL_TYPES:
                yield partial(_move, move, scalar_type)
            for scalar_type in ("float64", "bfloat16"):
                yield partial(_special, move, scalar_type)
        else:
            yield partial(_move, move, ("float64", "float32")[i % 2])
    yield from _unbind_recipes()
    yield from _cat_recipes()
    yield from _conversion_recipes()
    yield from _complex_view_recipes()
    for op in ("unbind", "cat", "detach", "to_device"):
        yield partial(_plain_special, op, "float64")
    for op in ONE_INPUT:
        yield partial(_of_view, op, "float64", "sliced")
        if op != "view":  # no view of a tensor whose elements share memory
            yield partial(_of_view, op, "float32", "expanded")


def _unbind_recipes() -> Iterator[Recipe]:
    for scalar_type in ALL_TYPES:
        yield partial(_unbind, scalar_type, "matrix", [3, 2], 0, [0, 2])
    yield partial(_unbind, "float64", "columns", [2, 3], 1, [1])
    yield partial(_unbind, "float32", "vector", [3], 0, [0, 1, 2])
    yield partial(_unbind, "float64", "empty", [2, 0], 0, [0, 1])
    yield partial(_unbind, "float64", "strided", [2, 3], 0, [1], [1, 2])


def _cat_recipes() -> Iterator[Recipe]:
    for scalar_type in ALL_TYPES:
        yield partial(_cat, scalar_type, "matrix", [[2, 2], [1, 2], [2, 2]], 0)
    yield partial(_cat, "float64", "columns", [[2, 1], [2, 3]], 1)
    yield partial(_cat, "float32", "vector", [[2], [3]], 0)
    yield partial(_cat, "float64", "empty", [[0, 2], [2, 2], [0, 2]], 0)
    yield partial(_cat, "float64", "strided", [[2, 3], [2, 3]], 1, [1, 2])
    yield partial(_cat_twice, "float64")


def _conversion_recipes() -> Iterator[Recipe]:
    for source in ALL_TYPES:
        for target in ALL_TYPES:
            if source != target and not (is_complex(source) and not is_complex(target)):
                yield partial(_cast, source, target)
    for source, target in (("float64", "float16"), ("float64", "bfloat16"), ("float64", "float32"),
                           ("float32", "bfloat16")):
        yield partial(_cast_special, source, target)
    shapes = (("scalar", [], None), ("empty", [0, 2], None), ("strided", [2, 3], [1, 2]))
    for name, shape, strides in shapes:
        yield partial(_cast_shape, name, shape, strides)
    for scalar_type in ALL_TYPES:
        yield partial(_to_device, scalar_type, "matrix", [2, 2])
        yield partial(_detach, scalar_type, "matrix", [2, 2])
    for name, shape, strides in shapes:
        yield partial(_to_device, "float64", name, shape, strides)
        yield partial(_detach, "float64", name, shape, strides)


def _case(op: str, tail: str, what: str, scalar_type: str, covers=(), attempt=0) -> Case:
    return Case(op, tail, f"{op}: {what}", op, scalar_type, covers, 1, attempt)


def _numbers(case: Case, scalar_type: str, shape: list[int], strides=None):
    return case.numbers.tensor(scalar_type, shape, 0.25, 3, strides=strides)


def _move(move: Move, scalar_type: str, attempt: int) -> Case:
    """The result is used twice, so that its gradient is a sum."""
    case = _case(move.operation, f"{scalar_type}/{move.name}", f"{move.name}, {scalar_type}",
                 scalar_type, (move.covers,), attempt)
    case.leaf("x", _numbers(case, scalar_type, move.shape, move.strides))
    case.leaf("w", _numbers(case, scalar_type, move.result))
    case.node("y", move.operation, "x", **move.attributes)
    case.node("z", "mul", "y", "w")
    case.forward()
    seeds = [_numbers(case, scalar_type, move.result) for _ in range(2)]
    case.backward(("z", seeds[0]), ("y", seeds[1]))
    case.read("y", grads=["w", "x"])
    return case


def _special(move: Move, scalar_type: str, attempt: int) -> Case:
    """Moving changes no bit of a value; gradients of special values come through as well."""
    groups = special_points(scalar_type)
    values = [value for group in groups.values() for value in group] + [0.5]
    case = _case(move.operation, f"{scalar_type}/special", f"special values of {scalar_type}",
                 scalar_type, tuple(groups), attempt)
    case.leaf("x", tensor_json(scalar_type, [2, len(values) // 2], values))
    source, result = "x", [2, len(values) // 2]
    if move.operation in ("view", "expand"):
        result = [len(values)] if move.operation == "view" else [1, *result]
        attributes = {"shape": result}
    else:
        attributes = {k: min(v, 1) if k == "start" else v for k, v in move.attributes.items()}
        result = {"transpose": result[::-1], "select": result[1:], "slice": [1, result[1]],
                  "clone": result, "flip": result}[move.operation]
    case.node("y", move.operation, source, **attributes)
    case.forward()
    count = 1
    for size in result:
        count *= size
    case.backward(("y", tensor_json(scalar_type, result, values[::-1][:count])))
    case.read("y", grads=["x"])
    return case


def _unbind(scalar_type: str, name: str, shape: list[int], dim: int, used: list[int], strides=None,
            attempt: int = 0) -> Case:
    """Parts that are not used get no gradient: zeros in their place."""
    case = _case("unbind", f"{scalar_type}/{name}", f"{name}, {scalar_type}", scalar_type, (name,),
                 attempt)
    case.leaf("x", _numbers(case, scalar_type, shape, strides))
    outputs = [f"y{i}" for i in range(shape[dim])]
    case.node("y", "unbind", "x", outputs=outputs, dim=dim)
    part = shape[:dim] + shape[dim + 1:]
    case.forward()
    case.backward(*[(outputs[i], _numbers(case, scalar_type, part)) for i in used])
    case.read(*outputs, grads=["x"])
    return case


def _cat(scalar_type: str, name: str, shapes: list[list[int]], dim: int, strides=None,
         attempt: int = 0) -> Case:
    case = _case("cat", f"{scalar_type}/{name}", f"{name}, {scalar_type}", scalar_type, (name,),
                 attempt)
    names = [case.leaf(f"x{i}", _numbers(case, scalar_type, shape, strides))
             for i, shape in enumerate(shapes)]
    case.node("y", "cat", *names, dim=dim)
    result = list(shapes[0])
    result[dim] = sum(shape[dim] for shape in shapes)
    case.forward()
    case.backward(("y", _numbers(case, scalar_type, result)))
    case.read("y", grads=names)
    return case


def _cat_twice(scalar_type: str, attempt: int) -> Case:
    case = _case("cat", f"{scalar_type}/same-twice", "one value twice: its gradient is a sum",
                 scalar_type, ("same",), attempt)
    case.clauses = ("GRAPH2-1", "ACC-1")
    case.leaf("x", _numbers(case, scalar_type, [2]))
    case.node("y", "cat", "x", "x", "x", dim=0)
    case.forward()
    case.backward(("y", _numbers(case, scalar_type, [6])))
    case.read("y", grads=["x"])
    return case


def _detach(scalar_type: str, name: str, shape: list[int], strides=None, attempt: int = 0) -> Case:
    """The detached factor counts as a constant."""
    case = _case("detach", f"{scalar_type}/{name}", f"x * detach(x), {name}, {scalar_type}",
                 scalar_type, (name,), attempt)
    case.leaf("x", _numbers(case, scalar_type, shape, strides))
    case.node("d", "detach", "x")
    case.node("y", "mul", "x", "d")
    case.forward()
    case.backward(("y", _numbers(case, scalar_type, shape)))
    case.read("d", "y", grads=["x"])
    return case


def _cast(source: str, target: str, attempt: int) -> Case:
    """The value is rounded to the target, the gradient to the source."""
    case = _case("cast", f"{source}/to-{target}", f"{source} to {target}", source,
                 ("matrix", target), attempt)
    case.clauses = ("GRAPH2-1", "VAL-3")
    case.leaf("x", _numbers(case, source, [2, 3]))
    case.node("y", "cast", "x", type=target)
    case.forward()
    case.backward(("y", _numbers(case, target, [2, 3])))
    case.read("y", grads=["x"])
    return case


def _cast_shape(name: str, shape: list[int], strides, attempt: int) -> Case:
    case = _case("cast", f"float64/{name}-to-float32", f"{name} input", "float64", (name,), attempt)
    case.leaf("x", _numbers(case, "float64", shape, strides))
    case.node("y", "cast", "x", type="float32")
    case.forward()
    case.backward(("y", _numbers(case, "float32", shape)))
    case.read("y", grads=["x"])
    return case


def _cast_special(source: str, target: str, attempt: int) -> Case:
    """Special values, ties to even, overflow, and numbers that are subnormal in the target alone."""
    fmt = FORMATS[target]
    groups = special_points(target)
    values = [value for group in groups.values() for value in group]
    one = 2 * fmt.unit  # the spacing at 1
    values += [to_json(v) for v in (1 + one / 2, 1 + 3 * one / 2, fmt.least / 2, 3 * fmt.least / 2,
                                    fmt.least * 5 / 8, fmt.largest * (1 + fmt.unit / 4),
                                    fmt.largest + _half_step(fmt))]
    case = _case("cast", f"{source}/to-{target}-special", f"special values, {source} to {target}",
                 source, (*groups, "tie"), attempt)
    case.clauses = ("GRAPH2-1", "VAL-3")
    case.leaf("x", tensor_json(source, [len(values)], values))
    case.node("y", "cast", "x", type=target)
    case.forward()
    case.backward(("y", _numbers(case, target, [len(values)])))
    case.read("y", grads=["x"])
    return case


def _half_step(fmt):
    """From the largest number to where rounding begins to overflow."""
    return fmt.spacing(fmt.most_exponent) / 2


def _to_device(scalar_type: str, name: str, shape: list[int], strides=None,
               attempt: int = 0) -> Case:
    """To a simulated device, a product there, and back."""
    case = _case("to_device", f"{scalar_type}/{name}", f"{name}, {scalar_type}", scalar_type, (name,),
                 attempt)
    case.clauses = ("GRAPH2-1", "DEV-1", "STREAM-2")
    case.leaf("x", _numbers(case, scalar_type, shape, strides))
    case.node("d", "to_device", "x", device="sim:0")
    case.node("p", "mul", "d", "d")
    case.node("y", "to_device", "p", device="cpu")
    case.forward()
    case.backward(("y", _numbers(case, scalar_type, shape)))
    case.read("d", "y", grads=["x"])
    return case


# Views of complex numbers as real ones, and back

COMPLEX_VIEWS = {
    "matrix": ([2, 3], None), "scalar": ([], None), "empty": ([0, 2], None), "vector": ([3], None),
    "strided": ([2, 3], [1, 2]), "expanded": ([2, 3], [0, 1]),
}


def _complex_view_recipes() -> Iterator[Recipe]:
    for scalar_type in ("complex64", "complex128"):
        for name in ("matrix",) if scalar_type == "complex64" else COMPLEX_VIEWS:
            yield partial(_as_real, scalar_type, name)
            yield partial(_as_complex, COMPONENT[scalar_type], name)
    for op in ("view_as_real", "view_as_complex"):
        yield partial(_complex_view_of_view, op)
        yield partial(_complex_view_special, op)
    yield partial(_there_and_back, "complex128")


def _as_real(scalar_type: str, name: str, attempt: int) -> Case:
    shape, strides = COMPLEX_VIEWS[name]
    case = _case("view_as_real", f"{scalar_type}/{name}", f"{name}, {scalar_type}", scalar_type, (name,),
                 attempt)
    case.leaf("x", _numbers(case, scalar_type, shape, strides))
    return _weighted(case, "x", COMPONENT[scalar_type], [*shape, 2])


def _as_complex(scalar_type: str, name: str, attempt: int) -> Case:
    """The strides of the leaf are those of the parts."""
    shape, strides = COMPLEX_VIEWS[name]
    case = _case("view_as_complex", f"{scalar_type}/{name}", f"{name}, {scalar_type}", scalar_type, (name,),
                 attempt)
    parts = None if strides is None else [*[2 * stride for stride in strides], 1]
    case.leaf("x", _numbers(case, scalar_type, [*shape, 2], parts))
    return _weighted(case, "x", _complex_of(scalar_type), shape)


def _complex_of(component: str) -> str:
    return next(name for name, part in COMPONENT.items() if part == component)


def _weighted(case: Case, source: str, result_type: str, shape: list[int]) -> Case:
    case.leaf("w", _numbers(case, result_type, shape))
    case.node("y", case.operation, source)
    case.node("z", "mul", "y", "w")
    case.forward()
    case.backward(("z", _numbers(case, result_type, shape)))
    case.read("y", grads=["w", "x"])
    return case


def _complex_view_of_view(op: str, attempt: int) -> Case:
    scalar_type = "complex128" if op == "view_as_real" else "float64"
    case = _case(op, f"{scalar_type}/view", "a slice of a transposed matrix", scalar_type, ("view", "sliced"),
                 attempt)
    tail = [] if op == "view_as_real" else [2]
    case.leaf("x", _numbers(case, scalar_type, [3, 5, *tail]))
    case.node("t", "transpose", "x", dim0=0, dim1=1)
    case.node("v", "slice", "t", dim=0, start=1, end=5, step=2)
    if op == "view_as_real":
        return _weighted(case, "v", "float64", [2, 3, 2])
    return _weighted(case, "v", "complex128", [2, 3])


def _complex_view_special(op: str, attempt: int) -> Case:
    groups = special_points("float64")
    values = [value for group in groups.values() for value in group] + [0.5]
    pairs = [list(two) for two in zip(values[::2], values[1::2])]
    as_real = op == "view_as_real"
    scalar_type = "complex128" if as_real else "float64"
    case = _case(op, f"{scalar_type}/special", "special values as parts", scalar_type, tuple(groups), attempt)
    real = tensor_json("float64", [len(pairs), 2], values)
    whole = tensor_json("complex128", [len(pairs)], pairs)
    back_real = tensor_json("float64", [len(pairs), 2], values[::-1])
    back_whole = tensor_json("complex128", [len(pairs)], pairs[::-1])
    case.leaf("x", whole if as_real else real)
    case.node("y", op, "x")
    case.forward()
    case.backward(("y", back_real if as_real else back_whole))
    case.read("y", grads=["x"])
    return case


def _there_and_back(scalar_type: str, attempt: int) -> Case:
    """The parts change places: i times the conjugate."""
    case = _case("view_as_complex", "float64/parts-exchanged", "parts of complex numbers change places",
                 "float64", ("view",), attempt)
    case.leaf("x", _numbers(case, scalar_type, [3]))
    case.node("r", "view_as_real", "x")
    case.node("f", "flip", "r", dims=[1])
    case.node("y", "view_as_complex", "f")
    case.node("z", "mul", "y", "x")
    case.forward()
    case.backward(("z", _numbers(case, scalar_type, [3])))
    case.read("y", "z", grads=["x"])
    return case


# Attributes for an input of shape [2, 3], and the shape of the result.
ON_MATRIX = {
    "view": ({"shape": [6]}, [6]), "expand": ({"shape": [2, 2, 3]}, [2, 2, 3]),
    "transpose": ({"dim0": 0, "dim1": 1}, [3, 2]), "select": ({"dim": 1, "index": 1}, [2]),
    "slice": ({"dim": 1, "start": 0, "end": 3, "step": 2}, [2, 2]), "clone": ({}, [2, 3]),
    "flip": ({"dims": [0, 1]}, [2, 3]),
    "unbind": ({"dim": 0}, [3]), "cat": ({"dim": 0}, [2, 3]), "detach": ({}, [2, 3]),
    "cast": ({"type": "complex64"}, [2, 3]), "to_device": ({"device": "sim:0"}, [2, 3]),
}


def _of_view(op: str, scalar_type: str, name: str, attempt: int) -> Case:
    """The input is a slice of a larger tensor, or a leaf whose rows are one row."""
    case = _case(op, f"{scalar_type}/{name}-input", f"{name} input", scalar_type, (name,), attempt)
    if name == "sliced":
        case.leaf("x", _numbers(case, scalar_type, [4, 3]))
        case.node("v", "slice", "x", dim=0, start=1, end=3)
    else:
        case.leaf("x", _numbers(case, scalar_type, [2, 3], [0, 1]))
        if op == "detach":
            case.node("v", "clone", "x")
    source = case.nodes[-1]["name"] if case.nodes else "x"
    return _finish(case, op, source, scalar_type)


def _plain_special(op: str, scalar_type: str, attempt: int) -> Case:
    groups = special_points(scalar_type)
    values = [value for group in groups.values() for value in group]
    case = _case(op, f"{scalar_type}/special", f"special values of {scalar_type}", scalar_type,
                 tuple(groups), attempt)
    case.leaf("x", tensor_json(scalar_type, [2, 6], values + [0.5]))
    return _finish(case, op, "x", scalar_type, [6] if op == "unbind" else [2, 6])


def _finish(case: Case, op: str, source: str, scalar_type: str, shape=None) -> Case:
    attributes, result = ON_MATRIX[op]
    outputs = {"outputs": ["y", "rest"]} if op == "unbind" else {}
    case.node("n" if outputs else "y", op, source, **outputs, **attributes)
    seed = _numbers(case, attributes.get("type", scalar_type), shape or result)
    if op == "to_device":
        seed = {**(seed if isinstance(seed, dict) else {"values": seed}), "device": "sim:0"}
    case.forward()
    if op == "detach":  # without history: the gradient comes by the other way
        case.backward((source, seed))
    else:
        case.backward(("y", seed))
    case.read("y", grads=["x"])
    return case
