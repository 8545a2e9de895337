"""Tensors of any kind of scalar, with the storage that views share."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass


def row_major(shape: list[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


@dataclass
class Tensor:
    """Elements are cells of a storage list. A complex tensor's element is a Pair of scalars."""

    type: str
    shape: list[int]
    cells: list
    strides: list[int]
    offset: int = 0
    device: str = "cpu"

    @staticmethod
    def make(scalar_type: str, shape: list[int], elements: list) -> "Tensor":
        assert len(elements) == math.prod(shape), (shape, len(elements))
        return Tensor(scalar_type, list(shape), list(elements), row_major(list(shape)))

    def places(self) -> list[int]:
        """The cell of each element, in row-major order."""
        ranges = [range(0, size * stride, stride) if stride else [0] * size
                  for size, stride in zip(self.shape, self.strides)]
        return [self.offset + sum(steps) for steps in itertools.product(*ranges)]

    def elements(self) -> list:
        return [self.cells[place] for place in self.places()]

    def assign(self, elements: list) -> None:
        for place, element in zip(self.places(), elements, strict=True):
            self.cells[place] = element

    def alias(self, shape, strides, offset=None) -> "Tensor":
        return Tensor(self.type, list(shape), self.cells, list(strides),
                      self.offset if offset is None else offset, self.device)

    def same(self, elements: list, scalar_type: str | None = None) -> "Tensor":
        """A new tensor of this shape."""
        result = Tensor.make(scalar_type or self.type, self.shape, elements)
        result.device = self.device
        return result


def broadcast_shape(*shapes: list[int]) -> list[int]:
    rank = max(map(len, shapes))
    padded = [[1] * (rank - len(shape)) + list(shape) for shape in shapes]
    result = []
    for sizes in zip(*padded):
        size = next((s for s in sizes if s != 1), 1)
        assert all(s in (1, size) for s in sizes), shapes
        result.append(size)
    return result


def expanded(a: Tensor, shape: list[int]) -> Tensor:
    """A view of a larger shape, with strides of 0."""
    lead = len(shape) - len(a.shape)
    strides = [0] * lead
    for size, own, stride in zip(shape[lead:], a.shape, a.strides):
        assert own in (1, size), (a.shape, shape)
        strides.append(stride if own == size else 0)
    return a.alias(shape, strides)


def grouped(a: Tensor, dims: list[int] | None, keepdim: bool) -> tuple[list[int], list[list]]:
    """For a reduction: the result's shape, and the elements that make each of its elements."""
    rank = len(a.shape)
    reduced = set(range(rank)) if dims is None else {d % rank for d in dims}
    kept = [d for d in range(rank) if d not in reduced]
    shape = [1 if d in reduced else a.shape[d] for d in range(rank) if keepdim or d not in reduced]
    groups: dict[tuple, list] = {
        index: [] for index in itertools.product(*[range(a.shape[d]) for d in kept])}
    every = itertools.product(*[range(size) for size in a.shape])
    for index, element in zip(every, a.elements()):
        groups[tuple(index[d] for d in kept)].append(element)
    return shape, list(groups.values())
