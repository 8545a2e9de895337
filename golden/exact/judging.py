"""The bound of a stated value: how many numbers of the type away an engine's number may be."""

from __future__ import annotations

import math
from fractions import Fraction

from . import reals
from .error_bounds import NoBound, Tracked
from .reals import Real, exact_fraction, exponent_of, is_special, same, to_mpf
from .rounding import Format, round_to

EXACT, CORRECTLY_ROUNDED = 0, 0.5


class Disagreement(Exception):
    """The two computations of one value differ: a mistake in this generator."""


def place_of(a: Fraction, fmt: Format) -> Fraction:
    """Where a real stands among the numbers of the format, which have the whole places."""
    if a == 0:
        return Fraction(0)
    exponent = max(exponent_of(a), fmt.least_exponent)
    within = abs(a) / fmt.spacing(exponent)
    place = within + (exponent - fmt.least_exponent) * (1 << (fmt.precision - 1))
    return -place if a < 0 else place


def _fraction(a: Real, fmt: Format) -> Fraction:
    """As a fraction; what is far below the least number counts as 0, since exp(-1e300) has no fraction
    that a memory could hold."""
    if reals.is_zero(a) or exponent_of(a) < fmt.least_exponent - 1000:
        return Fraction(0)
    return exact_fraction(a)


def bound_of(truth: Real, tracked: Tracked) -> float:
    """0: exact; 0.5: the nearest number and no other; else the largest number of steps away."""
    fmt = tracked.fmt
    rounded = round_to(truth, fmt)
    _check_agreement(truth, tracked)
    if tracked.computed is not None:
        if not same(tracked.computed, rounded):
            raise NoBound(f"an engine has {tracked.computed}, not {rounded}")
        return EXACT if same(rounded, truth) else CORRECTLY_ROUNDED
    if is_special(rounded) and rounded != 0:
        raise NoBound("an uncertain number next to infinity")
    error = _fraction(reals.real(tracked.error), fmt)
    steps = _steps(_fraction(truth, fmt), _fraction(rounded, fmt), error, fmt)
    if steps > MOST_STEPS[fmt.name]:
        raise NoBound(f"{steps} steps leave no digit to compare")
    return float(steps) if steps else CORRECTLY_ROUNDED


# The widest bounds that still say something: they leave 4 bits of the half types to compare, 12 of
# float32, 32 of float64.
MOST_STEPS = {"bfloat16": 1 << 4, "float16": 1 << 7, "float32": 1 << 12, "float64": 1 << 21}


def _steps(truth: Fraction, rounded: Fraction, error: Fraction, fmt: Format) -> int:
    """Of all numbers within the error of the truth, the distance of the farthest from the rounded."""
    centre = place_of(rounded, fmt)
    above = math.floor(place_of(truth + error, fmt)) - centre
    below = centre - math.ceil(place_of(truth - error, fmt))
    return max(int(above), int(below), 0)


def _check_agreement(truth: Real, tracked: Tracked) -> None:
    """Forward jets and the backward pass in 60 digits are separate ways to one number."""
    other = tracked.truth
    if same(truth, other):
        return
    if (is_special(truth) and truth != 0) or (is_special(other) and other != 0):
        raise Disagreement(f"{truth} by jets, {other} by the backward formulas")
    difference = abs(to_mpf(truth) - to_mpf(other))
    scale = max(abs(to_mpf(truth)), abs(to_mpf(other)))
    if difference > scale * to_mpf(Fraction(1, 10**35)) and difference > tracked.error / 10**10:
        raise Disagreement(f"{truth} by jets, {other} by the backward formulas")
