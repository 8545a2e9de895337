"""Random numbers that are the same on every machine and independent from case to case."""

from __future__ import annotations

import hashlib
import math
import random
from fractions import Fraction

from exact.reals import Real, is_special
from exact.rounding import format_of, is_complex, round_to

SEED = 20261129


def to_json(number: Real) -> int | float | str:
    """A real of some type as it stands in a scenario; every type fits into a float."""
    if is_special(number):
        if math.isnan(number):
            return "nan"
        if math.isinf(number):
            return "inf" if number > 0 else "-inf"
        return -0.0 if math.copysign(1, number) < 0 else 0
    value = float(number)
    assert Fraction(value) == number, f"{number} is not exact"
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def tensor_json(scalar_type: str, shape: list[int], values: list, *, strides=None,
                device: str = "cpu", sparse_rows: list[int] | None = None):
    """The shortest form of a tensor in the scenario language."""
    plain = scalar_type == "float64" and strides is None and device == "cpu" and sparse_rows is None
    if plain and shape == []:
        return values[0]
    if plain and len(shape) == 1 and values:
        return values
    result: dict = {} if scalar_type == "float64" else {"type": scalar_type}
    if device != "cpu":
        result["device"] = device
    result["shape"] = shape
    if strides is not None:
        result["strides"] = strides
    if sparse_rows is not None:
        result["sparse"] = {"indices": [sparse_rows]}
        size = len(values) // shape[0]
        values = [value for row in sparse_rows for value in values[row * size:(row + 1) * size]]
    result["values"] = values
    return result


class Numbers:
    """A stream of numbers that belongs to one name (the id of a case)."""

    def __init__(self, name: str):
        digest = hashlib.sha256(f"{SEED} {name}".encode()).digest()
        self._bits = random.Random(int.from_bytes(digest[:16], "big"))

    def whole(self, low: int, high: int) -> int:
        """Uniform from low to high, both included."""
        return low + self._bits.getrandbits(53) % (high - low + 1)

    def uniform(self, low: float, high: float) -> Fraction:
        return Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(
            self._bits.getrandbits(64) + 1, 2**64 + 1)

    def number(self, scalar_type: str, low: float, high: float):
        """With all the digits of the type, as JSON; a pair for a complex type."""
        fmt = format_of(scalar_type)
        parts = [to_json(round_to(self.uniform(low, high), fmt))
                 for _ in range(2 if is_complex(scalar_type) else 1)]
        return parts if is_complex(scalar_type) else parts[0]

    def signed(self, scalar_type: str, low: float, high: float):
        """Of either sign, with a modulus (of each part) from low to high."""
        value = self.number(scalar_type, low, high)
        if isinstance(value, list):
            return [-part if self.whole(0, 1) else part for part in value]
        return -value if self.whole(0, 1) else value

    def tensor(self, scalar_type: str, shape: list[int], low: float, high: float, *,
               signed: bool = True, strides: list[int] | None = None):
        draw = self.signed if signed else self.number
        return self.like(scalar_type, shape, lambda: draw(scalar_type, low, high), strides)

    def like(self, scalar_type: str, shape: list[int], draw, strides=None):
        """A tensor of drawn values; what a stride of 0 repeats is drawn once."""
        steps = [1] * len(shape) if strides is None else [int(s != 0) for s in strides]
        kept = [size if step else min(size, 1) for size, step in zip(shape, steps)]
        drawn = [draw() for _ in range(math.prod(kept))]
        values = [drawn[_position(index, kept, steps)] for index in _indices(shape)]
        return tensor_json(scalar_type, shape, values, strides=strides)


def _indices(shape: list[int]):
    if not shape:
        yield []
        return
    for first in range(shape[0]):
        for rest in _indices(shape[1:]):
            yield [first, *rest]


def _position(index: list[int], shape: list[int], steps: list[int]) -> int:
    place = 0
    for i, size, step in zip(index, shape, steps):
        place = place * size + i * step
    return place
