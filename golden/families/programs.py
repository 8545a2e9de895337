"""Shapes of programs: several uses of one value, several passes, seeds that are values, gradients of
gradients across operations. Also `custom` as it is when nothing is scripted: the sum of its inputs."""

from __future__ import annotations

from functools import partial
from typing import Iterator

from case import Case, Recipe
from families.points import LeftOut, SpecialRecipe, seeds, special_points
from operations import ALL_TYPES
from random_numbers import tensor_json

CUSTOM_SHAPES = {"scalar": ([], None), "empty": ([2, 0], None), "vector": ([3], None),
                 "strided": ([2, 3], [1, 2]), "expanded": ([2, 3], [0, 1])}


def recipes(left_out: list[LeftOut]) -> Iterator[Recipe]:
    for scalar_type in ALL_TYPES:
        yield partial(_custom, scalar_type, "matrix", [2, 3])
    for i, (name, (shape, strides)) in enumerate(CUSTOM_SHAPES.items()):
        yield partial(_custom, ("float64", "float32")[i % 2], name, shape, strides)
    yield partial(_custom_views, "float64")
    for scalar_type in ("float64", "bfloat16"):
        yield _custom_special(scalar_type, left_out)
    for scalar_type in ("float64", "float32", "bfloat16", "complex128"):
        yield partial(_diamond, scalar_type)
    for uses in (2, 3, 7, 20):
        yield partial(_many_uses, "float32", uses)
    yield partial(_many_uses, "float64", 20)
    yield partial(_many_uses, "float16", 5)
    yield partial(_deep, "float64")
    yield partial(_deep, "float32")
    for scalar_type in ("float64", "float32", "float16"):
        yield partial(_two_passes, scalar_type)
    yield partial(_intermediate, "float64")
    yield partial(_several_roots, "float64")
    yield partial(_several_roots, "complex64")
    for scalar_type in ("float64", "float32", "complex128"):
        yield partial(_pushforward, scalar_type)
        yield partial(_hessian_product, scalar_type)
    yield partial(_penalty, "float64")
    yield partial(_penalty, "float32")
    for order in (3, 4):
        yield partial(_of_order, "float64", order)
    yield partial(_mixed_third, "float64")
    yield partial(_loss_of_complex, "complex128")
    yield partial(_loss_of_complex, "complex64")


def _case(area: str, op: str, tail: str, title: str, scalar_type: str, covers=(), order=1,
          attempt=0) -> Case:
    return Case(area, tail, title, op, scalar_type, covers, order, attempt)


def _numbers(case: Case, shape: list[int], strides=None):
    return case.numbers.tensor(case.type, shape, 0.4, 1.6, strides=strides)


def _custom(scalar_type: str, name: str, shape: list[int], strides=None, attempt: int = 0) -> Case:
    case = _case("custom", "custom", f"{scalar_type}/{name}", f"custom: {name}, {scalar_type}",
                 scalar_type, (name,), 1, attempt)
    for leaf in ("a", "b", "c"):
        case.leaf(leaf, _numbers(case, shape, strides))
    case.node("s", "custom", "a", "b", "c")
    case.node("y", "mul", "s", "b")
    case.forward()
    case.backward(("y", _numbers(case, shape)))
    case.read("s", "y", grads=["a", "b", "c"])
    return case


def _custom_views(scalar_type: str, attempt: int) -> Case:
    case = _case("custom", "custom", f"{scalar_type}/views", "custom: a transposed and a sliced input",
                 scalar_type, ("view", "sliced"), 1, attempt)
    case.leaf("a", _numbers(case, [3, 2]))
    case.leaf("b", _numbers(case, [2, 6]))
    case.node("at", "transpose", "a", dim0=0, dim1=1)
    case.node("bs", "slice", "b", dim=1, start=0, end=6, step=2)
    case.node("y", "custom", "at", "bs")
    case.forward()
    case.backward(("y", _numbers(case, [2, 3])))
    case.read("y", grads=["a", "b"])
    return case


def _custom_special(scalar_type: str, left_out: list[LeftOut]) -> Recipe:
    def build(values: list, covers: tuple) -> Case:
        case = _case("custom", "custom", f"{scalar_type}/special",
                     f"custom: special points of {scalar_type}", scalar_type, covers)
        count = len(values)
        case.leaf("a", tensor_json(scalar_type, [count], values))
        case.leaf("b", tensor_json(scalar_type, [count], [0.5] * count))
        case.node("y", "custom", "a", "b")
        case.forward()
        case.backward(("y", tensor_json(scalar_type, [count], seeds(count))))
        case.read("y", grads=["a", "b"])
        return case

    return SpecialRecipe(special_points(scalar_type), build, left_out)


def _diamond(scalar_type: str, attempt: int) -> Case:
    case = _case("programs", "mul", f"diamond/{scalar_type}", "two paths from one value meet again",
                 scalar_type, (), 1, attempt)
    case.clauses = ("GRAPH2-1", "TOPO-1", "ACC-1")
    case.leaf("x", _numbers(case, [3]))
    case.node("l", "sin", "x")
    case.node("r", "mul", "x", "x")
    case.node("y", "mul", "l", "r")
    case.forward()
    case.backward(("y", _numbers(case, [3])))
    case.read("y", grads=["x"])
    return case


def _many_uses(scalar_type: str, uses: int, attempt: int) -> Case:
    """The gradient is a sum whose order is the engine's affair; the bound covers every order."""
    case = _case("programs", "mul", f"many-uses/{scalar_type}/{uses}", f"{uses} uses of one value",
                 scalar_type, (), 1, attempt)
    case.clauses = ("GRAPH2-1", "ACC-1")
    case.leaf("x", _numbers(case, [2]))
    roots = []
    for i in range(uses):
        case.leaf(f"w{i}", _numbers(case, [2]), requires_grad=False)
        roots.append((case.node(f"y{i}", "mul", "x", f"w{i}"), _numbers(case, [2])))
    case.forward()
    case.backward(*roots)
    case.read(grads=["x"])
    return case


def _deep(scalar_type: str, attempt: int) -> Case:
    case = _case("programs", "sin", f"chain/{scalar_type}", "a chain of twelve functions", scalar_type,
                 (), 1, attempt)
    case.leaf("x", _numbers(case, [2]))
    source = "x"
    for i, op in enumerate(("sin", "exp", "tanh", "sigmoid", "cos", "sqrt") * 2):
        source = case.node(f"v{i}", op, source)
    case.forward()
    case.backward((source, _numbers(case, [2])))
    case.read(source, grads=["x"])
    return case


def _two_passes(scalar_type: str, attempt: int) -> Case:
    """A second pass over a kept graph adds to .grad."""
    case = _case("programs", "exp", f"two-passes/{scalar_type}", "two passes add up in .grad",
                 scalar_type, (), 1, attempt)
    case.clauses = ("GRAPH2-1", "LEAF-2", "KEEP-2")
    case.leaf("x", _numbers(case, [3]))
    case.leaf("w", _numbers(case, [3]))
    case.node("e", "exp", "x")
    case.node("y", "mul", "e", "w")
    case.forward()
    case.backward(("y", _numbers(case, [3])), keep=True)
    case.read(grads=["x", "w"])
    case.backward(("y", _numbers(case, [3])))
    case.read(grads=["x", "w"])
    return case


def _intermediate(scalar_type: str, attempt: int) -> Case:
    case = _case("programs", "mul", f"intermediate/{scalar_type}",
                 "gradients by values in the middle, which depend on each other", scalar_type, (), 1,
                 attempt)
    case.clauses = ("GRAPH2-1", "PRUNE-3", "PRUNE-6")
    case.leaf("x", _numbers(case, [2]))
    case.node("a", "exp", "x")
    case.node("b", "mul", "a", "x")
    case.node("y", "mul", "b", "a")
    case.forward()
    case.grad([("y", _numbers(case, [2]))], ["b", "a", "x"], ["gb", "ga", "gx"])
    case.read("gb", "ga", "gx")
    return case


def _several_roots(scalar_type: str, attempt: int) -> Case:
    case = _case("programs", "mul", f"several-roots/{scalar_type}", "three roots, one above another",
                 scalar_type, (), 1, attempt)
    case.clauses = ("GRAPH2-1", "ROOT-2")
    case.leaf("x", _numbers(case, [2]))
    case.leaf("w", _numbers(case, [2]))
    case.node("a", "mul", "x", "w")
    case.node("b", "exp", "a")
    case.node("c", "sub", "b", "x")
    case.forward()
    case.backward(*[(name, _numbers(case, [2])) for name in ("a", "b", "c")])
    case.read("c", grads=["x", "w"])
    return case


def _pushforward(scalar_type: str, attempt: int) -> Case:
    """The derivative of a gradient by its seed is the directional derivative."""
    case = _case("programs", "sin", f"pushforward/{scalar_type}",
                 "a gradient is differentiated by its seed", scalar_type, (), 2, attempt)
    case.leaf("x", _numbers(case, [2]))
    case.leaf("v", _numbers(case, [2]))
    case.node("s", "sin", "x")
    case.node("y", "mul", "s", "x")
    case.forward()
    case.grad([("y", {"from": "v"})], ["x"], ["gx"], create=True)
    case.grad([("gx", _numbers(case, [2]))], ["v", "x"], ["gv", "gxx"])
    case.read("gx", "gv", "gxx")
    return case


def _hessian_product(scalar_type: str, attempt: int) -> Case:
    case = _case("programs", "exp", f"hessian/{scalar_type}", "a Hessian times a vector", scalar_type,
                 (), 2, attempt)
    case.leaf("x", _numbers(case, [2, 2]))
    case.leaf("w", _numbers(case, [2, 2]))
    case.node("p", "mm", "x", "w")
    case.node("e", "exp", "p")
    case.node("y", "sum", "e")
    case.forward()
    case.grad([("y", _numbers(case, []))], ["x"], ["g"], create=True)
    case.grad([("g", _numbers(case, [2, 2]))], ["x", "w"], ["hx", "hw"])
    case.read("y", "g", "hx", "hw")
    return case


def _penalty(scalar_type: str, attempt: int) -> Case:
    """A loss that contains a gradient: the squared norm of d/dx tanh(x w)."""
    case = _case("programs", "tanh", f"gradient-penalty/{scalar_type}",
                 "a backward through a gradient penalty", scalar_type, (), 2, attempt)
    case.leaf("x", _numbers(case, [2, 2]))
    case.leaf("w", _numbers(case, [2, 2]))
    case.node("p", "mm", "x", "w")
    case.node("t", "tanh", "p")
    case.node("square", "power", "gx", exponent=2)
    case.node("penalty", "sum", "square")
    case.node("total", "sum", "t")
    case.node("loss", "add", "penalty", "total")
    case.forward("p", "t")
    case.grad([("t", _numbers(case, [2, 2]))], ["x"], ["gx"], create=True)
    case.forward("square", "penalty", "total", "loss")
    case.backward(("loss", _numbers(case, [])))
    case.read("gx", "loss", grads=["x", "w"])
    return case


def _of_order(scalar_type: str, order: int, attempt: int) -> Case:
    case = _case("programs", "exp", f"order-{order}/{scalar_type}",
                 f"derivatives of exp(x) sin(x) up to order {order}", scalar_type, (), order, attempt)
    case.leaf("x", _numbers(case, [2]))
    case.node("e", "exp", "x")
    case.node("s", "sin", "x")
    case.node("y", "mul", "e", "s")
    case.forward()
    source = "y"
    for i in range(1, order + 1):
        case.grad([(source, _numbers(case, [2]))], ["x"], [f"g{i}"],
                  **({"create": True} if i < order else {}))
        source = f"g{i}"
    case.read(*[f"g{i}" for i in range(1, order + 1)])
    return case


def _mixed_third(scalar_type: str, attempt: int) -> Case:
    case = _case("programs", "div", f"mixed-third/{scalar_type}", "d3/dx dy dz of sin(x y) / z",
                 scalar_type, (), 3, attempt)
    for name in ("x", "y", "z"):
        case.leaf(name, _numbers(case, [2]))
    case.node("p", "mul", "x", "y")
    case.node("s", "sin", "p")
    case.node("q", "div", "s", "z")
    case.forward()
    case.grad([("q", _numbers(case, [2]))], ["x"], ["gx"], create=True)
    case.grad([("gx", _numbers(case, [2]))], ["y"], ["gxy"], create=True)
    case.grad([("gxy", _numbers(case, [2]))], ["x", "y", "z"], ["gxyx", "gxyy", "gxyz"])
    case.read("gx", "gxy", "gxyx", "gxyy", "gxyz")
    return case


def _loss_of_complex(scalar_type: str, attempt: int) -> Case:
    """A real loss of complex numbers: the gradient is d/dRe + i d/dIm."""
    real_type = {"complex64": "float32", "complex128": "float64"}[scalar_type]
    case = _case("programs", "cast", f"loss-of-complex/{scalar_type}",
                 "a real parameter times a complex one, squared, summed", scalar_type, (), 1, attempt)
    case.leaf("z", _numbers(case, [3]))
    case.leaf("a", case.numbers.tensor(real_type, [3], 0.4, 1.6))
    case.node("ac", "cast", "a", type=scalar_type)
    case.node("p", "mul", "z", "ac")
    case.node("q", "mul", "p", "p")
    case.node("y", "sum", "q")
    case.forward()
    case.backward(("y", _numbers(case, [])))
    case.read("y", grads=["z", "a"])
    return case
