"""A binding for engines that differentiate functions and know no tensors with history (JAX, autograd).

It keeps the tape that such engines do without: for each operation of the program its function and inputs.
A pass replays the part between the pass's inputs and roots as one function and asks the engine for the
vector-Jacobian product of that. What is the engine's stays the engine's: the derivative, the order in which
the scripted nodes run, the sums of gradients, validation, errors. Only `.grad`, which such engines lack, is
this file's: the sum of what the passes gave, added by the engine.
"""

from __future__ import annotations

import contextlib
import threading
from abc import abstractmethod

from gradcts_kit.binding import Binding, CustomNode, Pass


class Variable:
    """A tensor of the program: the engine's array, and where it came from."""

    def __init__(self, array, entry=None):
        self.array = array
        self.entry = entry  # None: a leaf or a constant
        self.requires_grad = entry is not None
        self.grad = None


class Entry:
    """An operation on the tape: function(*arrays) gives the arrays of the outputs."""

    def __init__(self, number: int, function, inputs: list[Variable]):
        self.number = number
        self.function = function
        self.inputs = inputs
        self.outputs = []  # keys of the outputs: variables would be a cycle


class FunctionalBinding(Binding):
    """Asks of an engine: arrays, operations, `vjp` and `custom`."""

    def __init__(self, scenario):
        super().__init__(scenario)
        self._lock = threading.Lock()
        self._count = 0

    # ---- What an adapter writes ----

    @abstractmethod
    def make_array(self, value): ...

    @abstractmethod
    def read_array(self, array): ...

    @abstractmethod
    def operation(self, node: dict, arrays: list) -> list:
        """The outputs of a built-in operation, differentiable."""

    @abstractmethod
    def vjp(self, function, arrays: list):
        """(outputs, pull): function takes and returns lists; pull(seeds) gives one gradient an array."""

    @abstractmethod
    def custom(self, node: CustomNode, outputs: list, saved: list):
        """A function of arrays with the value `outputs` whose backward is node.backward(gradients, saved)."""

    # ---- The contract, by these ----

    def make(self, value):
        return Variable(self.make_array(value))

    def read(self, tensor):
        return self.read_array(tensor.array)

    def set_requires_grad(self, tensor, on):
        tensor.requires_grad = on

    def grad_of(self, tensor):
        return tensor.grad

    def set_grad(self, tensor, grad):
        tensor.grad = grad

    def scaled(self, tensor, factor):
        return Variable(tensor.array * factor)

    def sum(self, first, second):
        return Variable(first.array + second.array)

    def product(self, first, second):
        return Variable(first.array * second.array)

    def apply(self, node, inputs):
        return self._record(lambda arrays: self.operation(node, arrays), inputs)

    def make_custom(self, node: CustomNode):
        outputs = [output.array for output in node.outputs]
        places = {"input": node.inputs, "output": node.outputs}
        saved = [Variable(places[where][index].array) for where, index in node.saves]
        inputs, node.inputs, node.outputs = node.inputs, None, None
        function = self.custom(node, outputs, saved)
        return self._record(lambda arrays: function(*arrays), inputs, outputs)

    def _record(self, function, inputs, outputs=None):
        if outputs is None:
            outputs = function([variable.array for variable in inputs])
        if not any(variable.requires_grad for variable in inputs):
            return [Variable(array) for array in outputs]
        with self._lock:
            self._count += 1
            entry = Entry(self._count, function, list(inputs))
        variables = [Variable(array, entry) for array in outputs]
        entry.outputs = [id(variable) for variable in variables]
        return variables

    def run_pass(self, request: Pass):
        leaves, entries = reached(request.roots)
        targets = leaves if request.inputs is None else request.inputs
        unique = {id(variable): variable for variable in targets}
        needed = leading_to(unique, entries)
        # A target that other targets lie below is computed as well: its gradient is that of what is added.
        added = {key for key, variable in unique.items() if variable.entry in needed}
        at = [variable.array * 0 if key in added else variable.array for key, variable in unique.items()]

        def roots_of(arrays):
            given = dict(zip(unique, arrays))
            known = {key: array for key, array in given.items() if key not in added}
            for entry in needed:
                results = entry.function([known.get(id(v), v.array) for v in entry.inputs])
                for key, array in zip(entry.outputs, results):
                    known[key] = array + given[key] if key in added else array
            return [known.get(id(root), root.array) for root in request.roots]

        _, pull = self.vjp(roots_of, at)
        gradients = dict(zip(unique, pull([seed.array for seed in request.seeds])))
        if request.returns_gradients:
            return [Variable(gradients[id(variable)]) for variable in request.inputs]
        for key, variable in unique.items():
            self._accumulate(variable, Variable(gradients[key]))
        return []

    def _accumulate(self, variable, gradient):
        with self._lock:
            variable.grad = gradient if variable.grad is None else self.sum(variable.grad, gradient)

    def settings(self, step, pack, unpack):
        return contextlib.nullcontext()


def reached(roots) -> tuple[list[Variable], list[Entry]]:
    """The leaves below the roots that require a gradient, and the entries in order."""
    leaves, entries, seen = [], {}, set()
    pending = list(reversed(roots))
    while pending:
        variable = pending.pop()
        if id(variable) in seen:
            continue
        seen.add(id(variable))
        if variable.entry is None and variable.requires_grad:
            leaves.append(variable)
        if variable.entry is not None and variable.entry.number not in entries:
            entries[variable.entry.number] = variable.entry
            pending += variable.entry.inputs
    return leaves, [entries[number] for number in sorted(entries)]


def leading_to(targets: dict, entries: list[Entry]) -> dict:
    """The entries from which a target can be reached, in order; as keys."""
    leading = {}
    for entry in entries:
        if any(id(variable) in targets or variable.entry in leading for variable in entry.inputs):
            leading[entry] = None
    return leading
