"""The floating-point types and rounding to them: once, to nearest, ties to even."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mpmath import mpf

from .reals import (INF, DIGITS, OutsideDomain, Real, exact_fraction, exponent_of,
                    is_negative, is_special)


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: `precision` significant bits, exponents of normal numbers."""

    name: str
    precision: int
    least_exponent: int
    most_exponent: int

    def spacing(self, exponent: int) -> Fraction:
        """The distance of neighbours whose leading bit is worth 2 ** exponent."""
        return _power_of_two(max(exponent, self.least_exponent) - self.precision + 1)

    @property
    def least(self) -> Fraction:
        """The smallest subnormal number."""
        return self.spacing(self.least_exponent)

    @property
    def least_normal(self) -> Fraction:
        return _power_of_two(self.least_exponent)

    @property
    def largest(self) -> Fraction:
        return (2 - _power_of_two(1 - self.precision)) * _power_of_two(self.most_exponent)

    @property
    def unit(self) -> Fraction:
        """The largest relative error of one rounding: half a unit in the last place of 1."""
        return _power_of_two(-self.precision)


FORMATS = {
    "float16": Format("float16", 11, -14, 15),
    "bfloat16": Format("bfloat16", 8, -126, 127),
    "float32": Format("float32", 24, -126, 127),
    "float64": Format("float64", 53, -1022, 1023),
}
COMPONENT = {"complex64": "float32", "complex128": "float64"}


def format_of(scalar_type: str) -> Format:
    """The format of a type's numbers; for a complex type that of its two parts."""
    return FORMATS[COMPONENT.get(scalar_type, scalar_type)]


def is_complex(scalar_type: str) -> bool:
    return scalar_type in COMPONENT


def _power_of_two(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def ulp(a: Fraction | mpf, fmt: Format) -> Fraction:
    """One unit in the last place of a number of this size."""
    return fmt.spacing(exponent_of(a))


def round_to(a: Real, fmt: Format) -> Real:
    """The nearest number of the format, ties to even; as IEEE 754: overflow is inf, 0 keeps the sign."""
    if is_special(a):
        return a
    zero = -0.0 if is_negative(a) else 0.0
    exponent = exponent_of(a)
    # Decided before the fraction is formed: exp(-1e300) has an exponent that no memory could hold.
    if exponent < fmt.least_exponent - fmt.precision - 1:
        return zero
    if exponent > fmt.most_exponent:
        return -INF if is_negative(a) else INF
    spacing = fmt.spacing(exponent)
    steps = exact_fraction(a) / spacing
    count = round(steps)  # of a Fraction: to nearest, ties to even
    _certify(a, steps)
    if count == 0:
        return zero
    rounded = count * spacing
    if abs(rounded) > fmt.largest:
        return -INF if rounded < 0 else INF
    return rounded


# What computing with 60 digits may lose, and still the rounding must be beyond doubt.
_DOUBT = Fraction(1, 10 ** (DIGITS - 25))


def _certify(a: Real, steps: Fraction) -> None:
    """Refuses a 60-digit number so near to the middle of two neighbours that its error decides."""
    if type(a) is Fraction:
        return
    below = steps.numerator // steps.denominator
    from_middle = abs(steps - below - Fraction(1, 2))
    if from_middle <= abs(steps) * _DOUBT:
        raise OutsideDomain("the rounding of this number is not certain at 60 digits")


def representable(a: Real, fmt: Format) -> bool:
    if is_special(a):
        return True
    if type(a) is mpf and a._mpf_[3] > fmt.precision:
        return False  # more bits than the format has
    exponent = exponent_of(a)
    if not fmt.least_exponent - fmt.precision < exponent <= fmt.most_exponent:
        return False
    return (exact_fraction(a) / fmt.spacing(exponent)).denominator == 1


def steps_between(a: Real, b: Real, fmt: Format) -> int:
    """How many numbers of the format apart two of its numbers are; infinity follows the largest."""
    return abs(_position(a, fmt) - _position(b, fmt))


def _position(a: Real, fmt: Format) -> int:
    """The place of a number among all numbers of the format in order, 0 being at 0."""
    if is_special(a):
        if a == 0:
            return 0
        return (-1 if a < 0 else 1) * (_position(fmt.largest, fmt) + 1)
    exponent = max(exponent_of(a), fmt.least_exponent)
    within = abs(exact_fraction(a)) / fmt.spacing(exponent)
    place = int(within) + (exponent - fmt.least_exponent) * (1 << (fmt.precision - 1))
    return -place if a < 0 else place
