"""Real numbers as exact as they come, with the special values of IEEE 754.

A real is one of
  Fraction          an exact number other than 0,
  mpmath.mpf        a number other than 0 known to 60 decimal digits,
  float             only 0.0, -0.0, inf, -inf and nan: the values that fractions do not have.

Arithmetic stays a Fraction as long as the operation allows. Special values follow IEEE 754 (0 * inf is
nan, x / 0 is inf, the sign of a zero is kept), so a stated formula means at a special point what a
right engine computes there. No function of the C library takes part: results are the same everywhere.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Union

import mpmath
from mpmath import mp, mpf

DIGITS = 60
mp.dps = DIGITS

Real = Union[Fraction, mpf, float]

INF = math.inf
NAN = math.nan
ONE = Fraction(1)
TWO = Fraction(2)
HALF = Fraction(1, 2)

# The derivative of erf at 0, 2 / sqrt(pi).
ERF_SLOPE_AT_0 = 2 / mp.sqrt(mp.pi)

# sech(x)^2 = 1 - tanh(x)^2 loses 2|x|/ln 10 digits: up to here enough of the 60 are left, and from
# `TANH_FLAT` on the difference is below every type's least number, so that 0 is its right rounding.
TANH_SAFE, TANH_FLAT = 20, 400


class OutsideDomain(Exception):
    """The value could not be computed to enough digits: the case must use other numbers."""


def real(number: int | float | Fraction | mpf) -> Real:
    """The real that a number of a scenario stands for."""
    if isinstance(number, float) and not math.isfinite(number):
        return number
    if number == 0:
        return math.copysign(0.0, number) if isinstance(number, float) else 0.0
    return number if isinstance(number, mpf) else Fraction(number)


def is_special(a: Real) -> bool:
    """Zero, infinite or not a number."""
    return type(a) is float


def is_nan(a: Real) -> bool:
    return type(a) is float and a != a


def is_infinite(a: Real) -> bool:
    return type(a) is float and math.isinf(a)


def is_zero(a: Real) -> bool:
    return type(a) is float and a == 0


def is_negative(a: Real) -> bool:
    """Whether the sign bit is set: true of -0."""
    return math.copysign(1.0, a) < 0 if type(a) is float else a < 0


def to_mpf(a: Real) -> mpf:
    if type(a) is Fraction:
        return mpmath.mpf(a.numerator) / a.denominator
    return mpf(a)


def exact_fraction(a: Fraction | mpf) -> Fraction:
    """The fraction that a finite real other than 0 is, without any rounding."""
    if type(a) is Fraction:
        return a
    sign, mantissa, exponent, _ = a._mpf_
    mantissa = -int(mantissa) if sign else int(mantissa)
    return Fraction(mantissa) * (Fraction(2) ** int(exponent))


def _plain(a) -> Real:
    """Results that turned out to be zero become the special value 0.0."""
    return 0.0 if a == 0 else a


def _sign_of(a: Real) -> float:
    """Specials as they are, all else as 1 or -1: enough to tell what a special operand leads to."""
    if type(a) is float:
        return a
    return -1.0 if a < 0 else 1.0


def neg(a: Real) -> Real:
    return -a


def add(a: Real, b: Real) -> Real:
    if type(a) is float or type(b) is float:
        if type(a) is float and type(b) is float:
            return a + b
        special, other = (a, b) if type(a) is float else (b, a)
        return other if special == 0 else special
    if type(a) is type(b):
        return _plain(a + b)
    return _plain(to_mpf(a) + to_mpf(b))


def sub(a: Real, b: Real) -> Real:
    return add(a, -b)


def mul(a: Real, b: Real) -> Real:
    if type(a) is float or type(b) is float:
        return _sign_of(a) * _sign_of(b)
    if type(a) is type(b):
        return a * b
    return to_mpf(a) * to_mpf(b)


def div(a: Real, b: Real) -> Real:
    if type(a) is float or type(b) is float:
        x, y = _sign_of(a), _sign_of(b)
        if y != 0:
            return x / y
        if x == 0 or x != x:
            return NAN
        return math.copysign(INF, x) * math.copysign(1.0, y)
    if type(a) is type(b):
        return a / b
    return to_mpf(a) / to_mpf(b)


def exp(a: Real) -> Real:
    if type(a) is float:
        if a == 0:
            return ONE
        return 0.0 if a == -INF else a
    return mp.exp(to_mpf(a))


def log(a: Real) -> Real:
    if type(a) is float:
        if a == 0:
            return -INF
        return a if a == INF else NAN
    if a < 0:
        return NAN
    return 0.0 if a == 1 else mp.log(to_mpf(a))


def sin(a: Real) -> Real:
    if type(a) is float:
        return a if a == 0 else NAN
    return mp.sin(to_mpf(a))


def cos(a: Real) -> Real:
    if type(a) is float:
        return ONE if a == 0 else NAN
    return mp.cos(to_mpf(a))


def tanh(a: Real) -> Real:
    if type(a) is float:
        if a == 0 or a != a:
            return a
        return ONE if a > 0 else -ONE
    if TANH_SAFE < abs(a) < TANH_FLAT:
        raise OutsideDomain(f"tanh of {float(a)}: its derivative would lose too many digits")
    if abs(a) >= TANH_FLAT:
        return ONE if a > 0 else -ONE
    return mp.tanh(to_mpf(a))


def tan(a: Real) -> Real:
    if type(a) is float:
        return a if a == 0 else NAN
    return mp.tan(to_mpf(a))


def expm1(a: Real) -> Real:
    if type(a) is float:
        return -ONE if a == -INF else a
    return mp.expm1(to_mpf(a))


def log1p(a: Real) -> Real:
    if type(a) is float:
        return NAN if a == -INF else a
    if a < -1:
        return NAN
    return -INF if a == -1 else mp.log1p(to_mpf(a))


def erf(a: Real) -> Real:
    if type(a) is float:
        if a == 0 or a != a:
            return a
        return ONE if a > 0 else -ONE
    return mp.erf(to_mpf(a))


def sigmoid(a: Real) -> Real:
    return div(ONE, add(ONE, exp(neg(a))))


def sqrt(a: Real) -> Real:
    if type(a) is float:
        return a if a == 0 or a == INF else NAN
    if a < 0:
        return NAN
    if type(a) is Fraction:
        root = Fraction(math.isqrt(a.numerator), math.isqrt(a.denominator))
        if root * root == a:
            return root
    return mp.sqrt(to_mpf(a))


def atan2(y: Real, x: Real) -> Real:
    """The angle of x + iy. Only the cases that complex functions need: not both zero, both finite."""
    if is_zero(y) and not is_special(x):
        if not is_negative(x):
            return y
        return -mp.pi if is_negative(y) else +mp.pi
    return mp.atan2(to_mpf(y), to_mpf(x))


def power(a: Real, exponent: Fraction) -> Real:
    """a ** exponent as IEEE 754's pow has it; the exponent is a number of the scenario."""
    if exponent == 0:
        return ONE
    whole = exponent.denominator == 1
    if type(a) is float:
        return _power_of_special(a, exponent, odd=whole and exponent.numerator % 2 == 1)
    if whole and (type(a) is mpf or abs(exponent) <= 64):
        return a ** int(exponent)
    if a < 0:
        return NAN
    if exponent == HALF:
        return sqrt(a)
    return mp.power(to_mpf(a), to_mpf(exponent))


def _power_of_special(a: float, exponent: Fraction, odd: bool) -> float:
    if a != a:
        return a
    towards_zero = (a == 0) == (exponent > 0)
    size = 0.0 if towards_zero else INF
    return math.copysign(size, a) if odd else size


def pow_(a: Real, b: Real) -> Real:
    """a ** b as IEEE 754's pow has it."""
    if is_zero(b) or (type(a) is Fraction and a == 1):
        return ONE
    if is_nan(a) or is_nan(b):
        return NAN
    if is_infinite(b):
        return _power_to_infinity(a, b)
    whole = Fraction(b) if type(b) is Fraction else exact_fraction(b)
    if whole.denominator == 1 or type(b) is Fraction:
        return power(a, whole)
    if is_special(a):
        return _power_of_special(a, whole, odd=False)
    return NAN if a < 0 else mp.power(to_mpf(a), b)


def _power_to_infinity(a: Real, b: float) -> Real:
    size = abs(a)
    if size == 1:
        return ONE
    return INF if (size > 1) == (b > 0) else 0.0


def exponent_of(a: Fraction | mpf) -> int:
    """The e with 2**e <= |a| < 2**(e+1)."""
    if type(a) is mpf:
        _, _, exponent, bits = a._mpf_
        return int(exponent) + bits - 1
    top, bottom = abs(a.numerator), a.denominator
    e = top.bit_length() - bottom.bit_length()
    too_large = top < (bottom << e) if e >= 0 else (top << -e) < bottom
    return e - 1 if too_large else e


def less(a: Real, b: Real) -> bool:
    """a < b as IEEE 754 has it: false when either is not a number."""
    if type(a) is float or type(b) is float:
        return _sign_of(a) < _sign_of(b)
    if type(a) is type(b):
        return a < b
    if (a < 0) != (b < 0):
        return a < 0
    # Exponents first: exp(1e300) makes no fraction that a memory could hold.
    e, f = exponent_of(a), exponent_of(b)
    if e != f:
        return (e < f) == (a > 0)
    return exact_fraction(a) < exact_fraction(b)


def equal(a: Real, b: Real) -> bool:
    return not is_nan(a) and not is_nan(b) and not less(a, b) and not less(b, a)


def same(a: Real, b: Real) -> bool:
    """Equal, or both not a number."""
    return is_nan(b) if is_nan(a) else equal(a, b)
