"""Built-in operations for engines whose arrays look like NumPy's; others use the helpers."""

from __future__ import annotations

import math


def part_of(array, node: dict):
    """The operation `slice`."""
    index = [slice(None)] * array.ndim
    index[node["dim"]] = slice(node["start"], node["end"], node.get("step", 1))
    return array[tuple(index)]


def at(array, node: dict, position):
    """The part of the array at a position of a dimension, which goes away; or at several, in an array."""
    index = [slice(None)] * array.ndim
    index[node["dim"]] = position
    return array[tuple(index)]


def numpy_operations(np) -> dict:
    """By name: functions of the node, for its attributes, and the arrays. `np`: what differentiates."""
    def reduce(function, n, a):
        return function(a, axis=tuple(n["dims"]) if "dims" in n else None, keepdims=n.get("keepdim", False))

    return {
        "add": lambda n, a, b: a + b, "sub": lambda n, a, b: a - b, "mul": lambda n, a, b: a * b,
        "div": lambda n, a, b: a / b, "neg": lambda n, a: -a, "scale": lambda n, a: a * n["factor"],
        "power": lambda n, a: a ** n["exponent"], "maximum": lambda n, a, b: np.maximum(a, b),
        "minimum": lambda n, a, b: np.minimum(a, b), "where": lambda n, c, a, b: np.where(c, a, b),
        "clamp": lambda n, a: np.clip(a, n.get("min", -math.inf), n.get("max", math.inf)),
        "sum": lambda n, a: reduce(np.sum, n, a), "mean": lambda n, a: reduce(np.mean, n, a),
        "amax": lambda n, a: reduce(np.max, n, a), "amin": lambda n, a: reduce(np.min, n, a),
        "cumsum": lambda n, a: np.cumsum(a, n["dim"]), "pow": lambda n, a, b: a ** b,
        "mm": lambda n, a, b: np.matmul(a, b), "bmm": lambda n, a, b: np.matmul(a, b),
        "index_select": lambda n, a, b: at(a, n, b), "embedding": lambda n, a, b: a[b], "view": lambda n, a: np.reshape(a, tuple(n["shape"])),
        "expand": lambda n, a: np.broadcast_to(a, tuple(n["shape"])),
        "transpose": lambda n, a: np.swapaxes(a, n["dim0"], n["dim1"]),
        "select": lambda n, a: at(a, n, n["index"]), "slice": lambda n, a: part_of(a, n),
        "unbind": lambda n, a: [at(a, n, i) for i in range(a.shape[n["dim"]])],
        "cat": lambda n, *all: np.concatenate(all, n["dim"]), "clone": lambda n, a: np.array(a),
        "exp": lambda n, a: np.exp(a), "log": lambda n, a: np.log(a), "sin": lambda n, a: np.sin(a),
        "cos": lambda n, a: np.cos(a), "tan": lambda n, a: np.tan(a), "expm1": lambda n, a: np.expm1(a),
        "log1p": lambda n, a: np.log1p(a), "abs": lambda n, a: np.abs(a), "conj": lambda n, a: np.conj(a),
        "tanh": lambda n, a: np.tanh(a), "sqrt": lambda n, a: np.sqrt(a)}
