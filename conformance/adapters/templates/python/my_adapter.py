#!/usr/bin/env python3
"""An adapter in Python: copy it, put your engine in, claim more features as you go.

The kit must be found: PYTHONPATH=PREFIX/share/gradcts/python gradcts run --engine ./my_adapter.py root topo
"""

import my_engine
from gradcts_kit import Binding, Pass, PlainTensor, serve


class MyBinding(Binding):
    NAME = "my-python-engine"
    DIALECT = "reference"
    # Next: "custom.node", with make_custom; most scenarios need it. `gradcts list --features` has all.
    FEATURES = ["pass.backward", "operation.add", "operation.mul", "operation.scale", "type.float64"]

    @classmethod
    def version(cls):
        return "1"

    def __init__(self, scenario):
        super().__init__(scenario)
        self.tape = my_engine.Tape()

    def make(self, value: PlainTensor):
        tensor = my_engine.Tensor(list(value.values))
        tensor.shape = value.shape
        return tensor

    def read(self, tensor):
        return PlainTensor(tensor.values, tensor.shape)

    def set_requires_grad(self, tensor, on):
        tensor.requires_grad = on

    def grad_of(self, tensor):
        return None if tensor.grad is None else self.like(tensor, tensor.grad)

    def set_grad(self, tensor, grad):
        tensor.grad = None if grad is None else list(grad.values)

    @staticmethod
    def like(tensor, values):
        made = my_engine.Tensor(values)
        made.shape = tensor.shape
        return made

    # Scripts compute with these; the engine does not differentiate twice, so they record nothing.
    def scaled(self, tensor, factor):
        return self.like(tensor, [x * factor for x in tensor.values])

    def sum(self, first, second):
        return self.like(first, [x + y for x, y in zip(first.values, second.values)])

    def product(self, first, second):
        return self.like(first, [x * y for x, y in zip(first.values, second.values)])

    def apply(self, node, inputs):
        if node["op"] == "scale":
            output = my_engine.scale(self.tape, inputs[0], node["factor"])
        else:
            output = {"add": my_engine.add, "mul": my_engine.mul}[node["op"]](self.tape, *inputs)
        output.shape = inputs[0].shape
        return [output]

    def run_pass(self, request: Pass):
        my_engine.backward(request.roots, [seed.values for seed in request.seeds])

    def classify(self, error):
        if "released" in str(error):
            return "graph_released"
        return "invalid_argument" if "does not require a gradient" in str(error) else "other"


if __name__ == "__main__":
    serve(MyBinding)
