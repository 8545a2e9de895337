"""Tensors of any kind of scalar, with the storage that views share."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from exact.complex_formulas import Pair
from exact.rounding import is_complex


def row_major(shape: list[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


@dataclass
class Tensor:
    """Elements are cells of a storage list. A complex tensor's element is a Pair of two cells, so that a
    view of its parts shares them; strides and offset count elements."""

    type: str
    shape: list[int]
    cells: list
    strides: list[int]
    offset: int = 0
    device: str = "cpu"
    sparse_rows: list[int] | None = None  # of a sparse gradient: the rows that it stores

    @staticmethod
    def make(scalar_type: str, shape: list[int], elements: list) -> "Tensor":
        result = Tensor.room_for(scalar_type, shape, math.prod(shape), row_major(list(shape)))
        result.assign(elements)
        return result

    @staticmethod
    def room_for(scalar_type: str, shape: list[int], count: int, strides: list[int]) -> "Tensor":
        """A tensor whose elements are yet to be assigned, with room for `count` of them."""
        return Tensor(scalar_type, list(shape), [None] * (count * _width(scalar_type)), list(strides))

    def places(self) -> list[int]:
        """The cell of each element, in row-major order."""
        ranges = [range(0, size * stride, stride) if stride else [0] * size
                  for size, stride in zip(self.shape, self.strides)]
        return [self.offset + sum(steps) for steps in itertools.product(*ranges)]

    def elements(self) -> list:
        if is_complex(self.type):
            return [Pair(*self.cells[2 * place:2 * place + 2]) for place in self.places()]
        return [self.cells[place] for place in self.places()]

    def assign(self, elements: list) -> None:
        width = _width(self.type)
        for place, element in zip(self.places(), elements, strict=True):
            self.cells[width * place:width * (place + 1)] = element if width == 2 else [element]

    def alias(self, shape, strides, offset=None, scalar_type: str | None = None) -> "Tensor":
        return Tensor(scalar_type or self.type, list(shape), self.cells, list(strides),
                      self.offset if offset is None else offset, self.device)

    def same(self, elements: list, scalar_type: str | None = None) -> "Tensor":
        """A new tensor of this shape."""
        result = Tensor.make(scalar_type or self.type, self.shape, elements)
        result.device = self.device
        result.sparse_rows = self.sparse_rows
        return result


def _width(scalar_type: str) -> int:
    return 2 if is_complex(scalar_type) else 1


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


def positions(shape: list[int]):
    """The indices of all elements, in row-major order."""
    return itertools.product(*[range(size) for size in shape])


def grouped(a: Tensor, dims: list[int] | None, keepdim: bool) -> tuple[list[int], list[list]]:
    """For a reduction: the result's shape, and the elements that make each of its elements."""
    rank = len(a.shape)
    reduced = set(range(rank)) if dims is None else {d % rank for d in dims}
    kept = [d for d in range(rank) if d not in reduced]
    shape = [1 if d in reduced else a.shape[d] for d in range(rank) if keepdim or d not in reduced]
    groups: dict[tuple, list] = {index: [] for index in positions([a.shape[d] for d in kept])}
    for index, element in zip(positions(a.shape), a.elements()):
        groups[tuple(index[d] for d in kept)].append(element)
    return shape, list(groups.values())
