#!/usr/bin/env python3
"""autograd (HIPS) as an engine under test: each pass is a make_vjp, each custom node a primitive.

Its rule for complex numbers carries the derivative and not its conjugate: seeds and results are conjugated.
"""

from importlib.metadata import version as installed

import autograd.numpy as anp
import numpy as np
from autograd import make_vjp
from autograd.builtins import tuple as sequence
from autograd.extend import defvjp_argnums, primitive
from gradcts_kit import CustomNode, PlainTensor, serve
from gradcts_kit.functional import FunctionalBinding, Variable
from gradcts_kit.operations import numpy_operations

TYPES = {"float16": np.float16, "float32": np.float32, "float64": np.float64, "complex64": np.complex64,
         "complex128": np.complex128, "int64": np.int64, "boolean": np.bool_}
NAMES = {np.dtype(value): key for key, value in TYPES.items()}

OPERATIONS = numpy_operations(anp)


def conjugate(array):
    return np.conj(array) if np.iscomplexobj(array) else array


@primitive
def scripted(request, *arrays):
    return tuple(request[1])


def pull_of_scripted(wanted, answer, arguments, options):
    node, outputs, saved = arguments[0]

    def pull(gradients):
        results = node.backward([Variable(conjugate(gradients[i])) for i in range(len(outputs))], saved)
        arrays = [conjugate(result.array) for result in results]
        return arrays if len(wanted) == len(arguments) - 1 else [arrays[position - 1] for position in wanted]
    return pull


defvjp_argnums(scripted, pull_of_scripted)


class Autograd(FunctionalBinding):
    NAME = "autograd"
    DIALECT = "reference"
    CHOICES = {"PRUNE-5": "not-run"}  # nothing below what a derivative is taken by is computed
    FEATURES = ["pass.backward", "pass.grad", "pass.inputs", "pass.inputs.non_leaf", "pass.keep",
                "pass.allow_unused", "pass.materialise", "pass.nested", "pass.leaf_root", "custom.node",
                "custom.saves", "custom.conversion", "threads", "keep.handle", "drop",
                "error.foreign"] + ["type." + name for name in TYPES] + \
               ["operation." + name for name in OPERATIONS]

    @classmethod
    def version(cls):
        return installed("autograd")

    def make_array(self, value):
        wide = np.complex128 if value.is_complex else np.float64
        return np.array(value.values, wide).reshape(value.shape).astype(TYPES[value.type])

    def read_array(self, array):
        array = np.asarray(array)
        wide = np.complex128 if np.iscomplexobj(array) else np.float64
        return PlainTensor(array.astype(wide).flatten().tolist(), array.shape, NAMES[array.dtype])

    def operation(self, node, arrays):
        result = OPERATIONS[node["op"]](node, *arrays)
        return result if isinstance(result, list) else [result]

    def expanded(self, tensor, shape):
        return Variable(np.broadcast_to(tensor.array, tuple(shape)))

    def cast(self, tensor, type):
        return Variable(tensor.array.astype(TYPES[type]))

    def vjp(self, function, arrays):
        pull, outputs = make_vjp(lambda inputs: sequence(function(list(inputs))))(tuple(arrays))
        return outputs, lambda seeds: [conjugate(g) for g in pull(tuple(conjugate(s) for s in seeds))]

    def custom(self, node: CustomNode, outputs, saved):
        return lambda *arrays: scripted((node, outputs, saved), *arrays)

    def classify(self, error):
        if "broadcast" in str(error):
            return "gradient_shape"
        return "gradient_type" if "Cannot cast" in str(error) else "other"


if __name__ == "__main__":
    serve(Autograd)
