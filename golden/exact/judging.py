"""The bound of a stated value: how far from it an engine's number may be.

A distance is counted in units in the last place of the stated number, as the checker does: the unit is the
distance to the next larger number of the type, and the two parts of a complex number share the unit of
the larger one. A bound of 0 leaves no other number.
"""

from __future__ import annotations

import math
from fractions import Fraction

from . import reals
from .tracked import NoBound, Tracked
from .reals import Real, exact_fraction, exponent_of, is_special, same, to_mpf
from .rounding import Format, round_to

# The widest bounds that still say something: they leave 4 bits of the half types to compare, 12 of
# float32, 32 of float64.
WIDEST = {"bfloat16": 1 << 4, "float16": 1 << 7, "float32": 1 << 12, "float64": 1 << 21}

# Bounds are rounded up to a multiple of this where not every number is a whole number of units away.
FINEST = Fraction(1, 4)


class Disagreement(Exception):
    """The two computations of one value differ: a mistake in this generator."""


def bound_of_number(truth: Real, tracked: Tracked) -> Fraction:
    rounded = _checked(truth, tracked)
    if tracked.computed is not None:
        return Fraction(0)
    fmt = tracked.fmt
    low, high = _range(truth, tracked)
    centre, unit = _fraction(rounded, fmt), unit_of(rounded, fmt)
    above, below = high - centre, centre - low
    # Numbers farther from 0 are whole units away. Towards 0 the spacing falls at a power of two.
    if centre < 0:
        above, below = below, above
    outwards = Fraction(math.floor(above / unit))
    within = abs(centre) - below >= _lower_end(rounded, fmt)
    inwards = Fraction(math.floor(below / unit)) if within else _rounded_up(below / unit)
    return _narrow_enough(max(outwards, inwards, Fraction(0)), fmt)


def bound_of_pair(truths: list[Real], tracked: list[Tracked]) -> Fraction:
    """The same for the parts of a complex number."""
    rounded = [_checked(t, k) for t, k in zip(truths, tracked, strict=True)]
    if all(k.computed is not None for k in tracked):
        return Fraction(0)
    fmt = tracked[0].fmt
    unit = max(unit_of(r, fmt) for r in rounded)
    bound = Fraction(0)
    for truth, nearest, part in zip(truths, rounded, tracked):
        if part.computed is None:
            centre = _fraction(nearest, fmt)
            bound = max(bound, *[abs(end - centre) / unit for end in _range(truth, part)])
    return _narrow_enough(_rounded_up(bound), fmt)


def unit_of(number: Real, fmt: Format) -> Fraction:
    """The distance from a number of the format to the next larger one in modulus."""
    return fmt.least if is_special(number) else fmt.spacing(exponent_of(number))


def _lower_end(number: Real, fmt: Format) -> Fraction:
    """Down to here numbers are spaced as above `number`; below 0 the other sign has the same spacing."""
    if is_special(number) or exponent_of(number) <= fmt.least_exponent:
        return -fmt.least_normal
    return Fraction(2) ** exponent_of(number)


def _rounded_up(distance: Fraction) -> Fraction:
    return math.ceil(distance / FINEST) * FINEST


def _narrow_enough(bound: Fraction, fmt: Format) -> Fraction:
    if bound > WIDEST[fmt.name]:
        raise NoBound("the worst case of all roundings leaves no digit to compare")
    return bound


def _range(truth: Real, tracked: Tracked) -> tuple[Fraction, Fraction]:
    centre = _fraction(truth, tracked.fmt)
    error = _fraction(reals.real(tracked.error), tracked.fmt)
    return centre - error, centre + error


def _fraction(a: Real, fmt: Format) -> Fraction:
    """As a fraction; what is far below the least number counts as 0, since exp(-1e300) has no fraction
    that a memory could hold."""
    if reals.is_zero(a) or exponent_of(a) < fmt.least_exponent - 1000:
        return Fraction(0)
    return exact_fraction(a)


def _checked(truth: Real, tracked: Tracked) -> Real:
    """The stated number, after all that can be checked about it."""
    rounded = round_to(truth, tracked.fmt)
    _check_agreement(truth, tracked)
    if tracked.computed is not None and not same(tracked.computed, rounded):
        raise NoBound(f"an engine has {tracked.computed}, not {rounded}")
    if tracked.computed is None and is_special(rounded) and rounded != 0:
        raise NoBound("an uncertain number next to infinity")
    return rounded


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
