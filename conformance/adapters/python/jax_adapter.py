#!/usr/bin/env python3
"""JAX as an engine under test, on the CPU: each pass is a jax.vjp, each custom node a jax.custom_vjp.

JAX's rule for complex numbers carries the derivative and not its conjugate: seeds and results are conjugated.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
from gradcts_kit import CustomNode, PlainTensor, serve
from gradcts_kit.functional import FunctionalBinding, Variable
from gradcts_kit.operations import numpy_operations
from jax.custom_derivatives import SymbolicZero

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

TYPES = {name: getattr(jnp, name) for name in ("float16", "bfloat16", "float32", "float64", "complex64",
                                               "complex128", "int64")} | {"boolean": jnp.bool_}
NAMES = {np.dtype(value): key for key, value in TYPES.items()}


def cast(a, kind):
    real = not jnp.issubdtype(kind, jnp.complexfloating) and jnp.iscomplexobj(a)
    return (a.real if real else a).astype(kind)


OPERATIONS = numpy_operations(jnp) | {
    "detach": lambda n, a: jax.lax.stop_gradient(a), "sigmoid": lambda n, a: jax.nn.sigmoid(a),
    "relu": lambda n, a: jax.nn.relu(a), "cast": lambda n, a: cast(a, TYPES[n["type"]]),
    "erf": lambda n, a: jax.lax.erf(a), "flip": lambda n, a: jnp.flip(a, n["dims"]),
    "softmax": lambda n, a: jax.nn.softmax(a, n["dim"]),
    "log_softmax": lambda n, a: jax.nn.log_softmax(a, n["dim"]),
    "logsumexp": lambda n, a: jax.nn.logsumexp(a, tuple(n["dims"]), keepdims=n.get("keepdim", False))}


def conjugate(array):
    return jnp.conj(array) if jnp.iscomplexobj(array) else array


class Jax(FunctionalBinding):
    NAME = "jax"
    DIALECT = "reference"
    CHOICES = {"PRUNE-5": "not-run"}  # nothing below what a derivative is taken by is computed
    FEATURES = ["pass.backward", "pass.grad", "pass.inputs", "pass.inputs.non_leaf", "pass.keep",
                "pass.allow_unused", "pass.materialise", "pass.nested", "pass.leaf_root", "custom.node",
                "custom.saves", "custom.conversion", "threads", "keep.handle", "drop", "error.foreign",
                "type.*"] + ["operation." + name for name in OPERATIONS]

    @classmethod
    def version(cls):
        return jax.__version__

    def make_array(self, value):
        wide = np.complex128 if value.is_complex else np.float64
        return jnp.asarray(np.array(value.values, wide).reshape(value.shape)).astype(TYPES[value.type])

    def read_array(self, array):
        wide = np.complex128 if jnp.iscomplexobj(array) else np.float64
        return PlainTensor(np.asarray(array).astype(wide).flatten().tolist(), array.shape,
                           NAMES[np.dtype(array.dtype)])

    def operation(self, node, arrays):
        result = OPERATIONS[node["op"]](node, *arrays)
        return list(result) if isinstance(result, list) else [result]

    def expanded(self, tensor, shape):
        return Variable(jnp.broadcast_to(tensor.array, shape))

    def cast(self, tensor, type):
        return Variable(cast(tensor.array, TYPES[type]))

    def vjp(self, function, arrays):
        outputs, pull = jax.vjp(function, arrays)
        return outputs, lambda seeds: [conjugate(g) for g in pull([conjugate(s) for s in seeds])[0]]

    def custom(self, node: CustomNode, outputs, saved):
        def backward(_, gradients):
            slots = [None if isinstance(g, SymbolicZero) else Variable(conjugate(g)) for g in gradients]
            results = node.backward(slots, saved)
            return tuple(None if r is None else conjugate(r.array) for r in results)

        function = jax.custom_vjp(lambda *arrays: list(outputs))
        function.defvjp(lambda *arrays: (list(outputs), None), backward, symbolic_zeros=True)
        return function

    def classify(self, error):
        words = str(error)
        seed = re.search(r"got (\w+)(\[[^]]*\]), but expected (\w+)(\[[^]]*\])", words)
        if seed:
            return "gradient_shape" if seed[2] != seed[4] else "gradient_type"
        if "Custom VJP bwd rule" in words:
            for phrase, category in (("structure", "gradient_count"), ("shape", "gradient_shape"),
                                     ("dtype", "gradient_type")):
                if phrase in words:
                    return category
        return "other"


if __name__ == "__main__":
    serve(Jax)
