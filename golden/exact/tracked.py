"""One number of an engine in slow motion, and what one rounding does to it: see error_bounds.py."""

from __future__ import annotations

from fractions import Fraction
from typing import Callable

from mpmath import mpf

from . import reals
from .reals import Real, exponent_of, is_special, is_zero, same, to_mpf
from .rounding import FORMATS, Format, representable, round_to


class NoBound(Exception):
    """The engine's number may be anywhere: the case must use other numbers."""


class Node:
    """One operation on the tape. vjp: cotangents of the outputs to cotangents of the inputs."""

    __slots__ = ("order", "inputs", "outputs", "vjp")

    def __init__(self, order: int, inputs: list, outputs: list, vjp: Callable):
        self.order = order
        self.inputs = inputs
        self.outputs = outputs
        self.vjp = vjp


class Tracked:
    __slots__ = ("fmt", "truth", "error", "computed", "roundings", "node")

    def __init__(self, fmt: Format, truth: Real, error=0, computed: Real | None = None,
                 roundings: int = 0):
        self.fmt = fmt
        self.truth = truth
        self.error = error          # |engine's number - truth| is at most this
        self.computed = computed    # the engine's number, where certain
        self.roundings = roundings  # on the longest way here, for people
        self.node: Node | None = None

    @property
    def exact(self) -> bool:
        return self.computed is not None and self.error == 0

    @property
    def representative(self) -> Real:
        return self.truth if self.computed is None else self.computed


def size_of(a: Real) -> mpf:
    """The modulus of a finite real."""
    return mpf(0) if is_zero(a) else abs(to_mpf(a))


def overflowed(a: Tracked) -> bool:
    """The engine certainly has inf or nan here."""
    return a.computed is not None and is_special(a.computed) and a.computed != 0


def is_number_of(fmt: Format, truth: Real) -> bool:
    """Exact points of functions: exp(0) = 1, 3 ** 2 = 9. Every library has them right."""
    return type(truth) is not mpf and representable(truth, fmt)


_SPACINGS: dict = {}


def ulp_of_size(size: mpf, fmt: Format) -> mpf:
    exponent = fmt.least_exponent if size == 0 else max(exponent_of(size), fmt.least_exponent)
    exponent = min(exponent, fmt.most_exponent + 1)  # beyond, all that counts is the overflow
    key = (fmt.name, exponent)
    if key not in _SPACINGS:
        _SPACINGS[key] = to_mpf(fmt.spacing(exponent))
    return _SPACINGS[key]


LARGEST = {name: to_mpf(fmt.largest) for name, fmt in FORMATS.items()}
UNIT = {name: to_mpf(fmt.unit) for name, fmt in FORMATS.items()}


def known(fmt: Format, truth: Real, computed: Real, roundings: int) -> Tracked:
    """A result of which the engine's number is certain."""
    if is_special(computed) and computed != 0:  # inf, nan: a distance means nothing
        return Tracked(fmt, truth, 0, computed, roundings)
    difference = reals.sub(computed, truth)
    return Tracked(fmt, truth, size_of(difference), computed, roundings)


def after_overflow(operands, truth: Real, evaluate: Callable, fmt: Format) -> Tracked:
    """Operands are inf or nan on the engine, perhaps where the truth is a large number."""
    computed = evaluate(*[a.representative for a in operands])
    if not is_special(computed) and all(a.exact for a in operands):
        return from_exact(fmt, truth, 1)
    if not is_special(computed) or not same(computed, round_to(truth, fmt)):
        raise NoBound("an overflow on the way changes the result")
    return Tracked(fmt, truth, 0, computed)


def from_exact(fmt: Format, truth: Real, roundings: int) -> Tracked:
    """The result of a correctly rounded operation on exact operands."""
    rounded = round_to(truth, fmt)
    exact = is_special(truth) or same(rounded, truth)
    return known(fmt, truth, rounded, roundings - 1 if exact else roundings)


def certain(fmt: Format, truth: Real, propagated: mpf, roundings: int) -> Tracked | None:
    """The result of a correctly rounded operation, if all that the operands' errors leave possible
    rounds to one number: 1 + exp(-1000) is 1."""
    if is_special(truth) or propagated > size_of(truth) * UNIT[fmt.name] / 2:
        return None
    try:
        ends = {round_to(reals.add(truth, reals.real(sign * propagated)), fmt) for sign in (-1, 1)}
    except reals.OutsideDomain:
        return None
    if len(ends) != 1 or is_special(end := ends.pop()):
        return None
    return known(fmt, truth, end, roundings)


def bounded(fmt: Format, truth: Real, propagated: mpf, own_ulps, roundings: int) -> Tracked:
    """A result that inherits `propagated` and adds a rounding of so many ulps."""
    if is_special(truth) and truth != 0:
        raise NoBound("an uncertain operand at a pole")
    size = size_of(truth) + propagated
    error = propagated + own_ulps * ulp_of_size(size, fmt)
    largest = LARGEST[fmt.name]
    if size + error > largest:
        if size_of(truth) - error <= largest:
            raise NoBound("it may overflow or not")
        return Tracked(fmt, truth, 0, reals.INF if truth > 0 else -reals.INF, roundings)
    return Tracked(fmt, truth, error, None, roundings)
