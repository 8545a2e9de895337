#!/usr/bin/env python3
"""tinygrad as an engine under test, on the CPU. It has no hooks and no nodes that a user scripts.

It compiles with Clang, which knows bfloat16 from version 15 on.
"""

import contextlib
from importlib.metadata import version as installed

from gradcts_kit import Binding, Pass, PlainTensor, serve
from gradcts_kit.operations import at, part_of
from tinygrad import Tensor, dtypes

TYPES = {"float16": dtypes.float16, "float32": dtypes.float32, "float64": dtypes.float64,
         "int64": dtypes.int64, "boolean": dtypes.bool}
NAMES = {value: key for key, value in TYPES.items()}


def reduction(name, n, a):
    axes = tuple(n["dims"]) if "dims" in n else None
    return getattr(a, name)(axis=axes, keepdim=n.get("keepdim", False))


OPERATIONS = {
    "add": lambda n, a, b: a + b, "sub": lambda n, a, b: a - b, "mul": lambda n, a, b: a * b,
    "div": lambda n, a, b: a / b, "neg": lambda n, a: -a, "scale": lambda n, a: a * n["factor"],
    "power": lambda n, a: a ** n["exponent"], "maximum": lambda n, a, b: a.maximum(b),
    "minimum": lambda n, a, b: a.minimum(b), "where": lambda n, c, a, b: c.where(a, b),
    "clamp": lambda n, a: a.clamp(n.get("min"), n.get("max")),
    "sum": lambda n, a: reduction("sum", n, a), "mean": lambda n, a: reduction("mean", n, a),
    "amax": lambda n, a: reduction("max", n, a), "amin": lambda n, a: reduction("min", n, a),
    "logsumexp": lambda n, a: reduction("logsumexp", n, a), "softmax": lambda n, a: a.softmax(n["dim"]),
    "log_softmax": lambda n, a: a.log_softmax(n["dim"]), "cumsum": lambda n, a: a.cumsum(n["dim"]),
    "flip": lambda n, a: a.flip(tuple(n["dims"])), "pow": lambda n, a, b: a ** b,
    "gather": lambda n, a, b: a.gather(n["dim"], b), "index_select": lambda n, a, b: at(a, n, b),
    "scatter_add": lambda n, a, b, c: a.scatter_reduce(n["dim"], b, c, "sum"),
    "embedding": lambda n, a, b: a[b], "mm": lambda n, a, b: a @ b, "bmm": lambda n, a, b: a @ b, "view": lambda n, a: a.reshape(tuple(n["shape"])),
    "expand": lambda n, a: a.expand(tuple(n["shape"])),
    "transpose": lambda n, a: a.transpose(n["dim0"], n["dim1"]),
    "select": lambda n, a: at(a, n, n["index"]), "slice": lambda n, a: part_of(a, n),
    "unbind": lambda n, a: [at(a, n, i) for i in range(a.shape[n["dim"]])],
    "cat": lambda n, a, *others: a.cat(*others, dim=n["dim"]), "clone": lambda n, a: a.clone(),
    "detach": lambda n, a: a.detach(), "exp": lambda n, a: a.exp(), "log": lambda n, a: a.log(),
    "sin": lambda n, a: a.sin(), "cos": lambda n, a: a.cos(), "tan": lambda n, a: a.tan(),
    "erf": lambda n, a: a.erf(), "abs": lambda n, a: a.abs(), "tanh": lambda n, a: a.tanh(),
    "sigmoid": lambda n, a: a.sigmoid(), "relu": lambda n, a: a.relu(), "sqrt": lambda n, a: a.sqrt(),
    "cast": lambda n, a: a.cast(TYPES[n["type"]])}


class Tinygrad(Binding):
    NAME = "tinygrad"
    DIALECT = "reference"
    FEATURES = ["pass.backward", "pass.grad", "pass.keep", "pass.create_graph", "pass.allow_unused",
                "pass.materialise", "pass.leaf_root", "grad.*", "drop"] + \
               ["type." + name for name in TYPES] + ["operation." + name for name in OPERATIONS]

    @classmethod
    def version(cls):
        return installed("tinygrad")

    def make(self, value: PlainTensor):
        made = Tensor(value.values, dtype=TYPES[value.type], device="CPU")  # one number would be a constant
        return made.reshape(value.shape).contiguous().realize()

    def read(self, tensor):
        flat = tensor.detach().cast(dtypes.float64).reshape(-1).tolist()
        return PlainTensor(flat, tuple(tensor.shape), NAMES[tensor.dtype])

    def set_requires_grad(self, tensor, on):
        pass  # every tensor has a gradient here

    def grad_of(self, tensor):
        return tensor.grad

    def set_grad(self, tensor, grad):
        tensor.grad = grad

    def scaled(self, tensor, factor):
        return tensor * factor

    def sum(self, first, second):
        return first + second

    def product(self, first, second):
        return first * second

    def apply(self, node, inputs):
        result = OPERATIONS[node["op"]](node, *inputs)
        return result if isinstance(result, list) else [result]

    def run_pass(self, request: Pass):
        if not request.returns_gradients:
            for root, seed in zip(request.roots, request.seeds):
                root.backward(seed)
            return []
        totals = None
        for root, seed in zip(request.roots, request.seeds):
            gradients = root.gradient(*request.inputs, gradient=seed)
            totals = gradients if totals is None else [a + b for a, b in zip(totals, gradients)]
        return totals

    def settings(self, step, pack, unpack):
        return contextlib.nullcontext()


if __name__ == "__main__":
    serve(Tinygrad)
