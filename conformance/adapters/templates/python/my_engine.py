"""The engine under test: replace it by yours. This one knows lists of numbers, three operations, a tape."""

from __future__ import annotations


class Tensor:
    def __init__(self, values: list[float], node=None):
        self.values = values
        self.node = node  # that made it; None: a leaf or a constant
        self.requires_grad = node is not None
        self.grad = None


class Node:
    def __init__(self, inputs: list[Tensor], backward):
        self.inputs = inputs
        self.backward = backward  # one list of numbers for each input, from one; None: a pass has used it
        self.number = -1


class Tape:
    def __init__(self):
        self.nodes = 0

    def record(self, values: list[float], inputs: list[Tensor], backward) -> Tensor:
        if not any(tensor.requires_grad for tensor in inputs):
            return Tensor(values)
        node = Node(inputs, backward)
        node.number = self.nodes = self.nodes + 1
        return Tensor(values, node)


def add(tape: Tape, a: Tensor, b: Tensor) -> Tensor:
    return tape.record([x + y for x, y in zip(a.values, b.values)], [a, b], lambda g: [g, g])


def mul(tape: Tape, a: Tensor, b: Tensor) -> Tensor:
    def backward(g):
        return [[x * y for x, y in zip(g, b.values)], [x * y for x, y in zip(g, a.values)]]
    return tape.record([x * y for x, y in zip(a.values, b.values)], [a, b], backward)


def scale(tape: Tape, a: Tensor, factor: float) -> Tensor:
    return tape.record([x * factor for x in a.values], [a], lambda g: [[x * factor for x in g]])


def backward(roots: list[Tensor], seeds: list[list[float]]):
    """Gradients go into the leaves. Of the nodes that are ready the newest runs first."""
    pending = {}  # node to the sum of what flowed in

    def deliver(tensor: Tensor, gradient: list[float]):
        if tensor.node is not None:
            before = pending.get(tensor.node)
            pending[tensor.node] = [x + y for x, y in zip(before, gradient)] if before else gradient
        elif tensor.requires_grad:
            before = tensor.grad or [0.0] * len(gradient)
            tensor.grad = [x + y for x, y in zip(before, gradient)]

    for root, seed in zip(roots, seeds):
        if not root.requires_grad:
            raise ValueError("a root does not require a gradient")
        deliver(root, seed)
    while pending:
        node = max(pending, key=lambda node: node.number)
        if node.backward is None:
            raise ValueError("the graph was released by an earlier pass")
        gradients = node.backward(pending.pop(node))
        node.backward = None
        for tensor, gradient in zip(node.inputs, gradients):
            deliver(tensor, gradient)
