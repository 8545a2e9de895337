"""Complex functions by their real and imaginary parts.

Written with real operations alone, so that differentiating them needs no rule about complex numbers:
the derivative by each part follows from the real ones, and with it the convention (docs/golden.md).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from .reals import HALF, ONE, is_zero


class Pair(NamedTuple):
    """A complex number; the parts are scalars of the arithmetic in use."""

    re: object
    im: object


class ComplexByParts:
    """Mixed into an arithmetic that has the real functions."""

    def c_add(self, a: Pair, b: Pair) -> Pair:
        return Pair(self.add(a.re, b.re), self.add(a.im, b.im))

    def c_sub(self, a: Pair, b: Pair) -> Pair:
        return Pair(self.sub(a.re, b.re), self.sub(a.im, b.im))

    def c_neg(self, a: Pair) -> Pair:
        return Pair(self.neg(a.re), self.neg(a.im))

    def c_scale(self, a: Pair, factor) -> Pair:
        return Pair(self.scale(a.re, factor), self.scale(a.im, factor))

    def c_over(self, a: Pair, count: Fraction) -> Pair:
        return Pair(self.over(a.re, count), self.over(a.im, count))

    def c_total(self, terms: list[Pair]) -> Pair:
        return Pair(self.total([t.re for t in terms]), self.total([t.im for t in terms]))

    def c_mul(self, a: Pair, b: Pair) -> Pair:
        return Pair(self.sub(self.mul(a.re, b.re), self.mul(a.im, b.im)),
                    self.add(self.mul(a.re, b.im), self.mul(a.im, b.re)))

    def c_div(self, a: Pair, b: Pair) -> Pair:
        square = self.add(self.mul(b.re, b.re), self.mul(b.im, b.im))
        product = self.c_mul(a, Pair(b.re, self.neg(b.im)))
        return Pair(self.div(product.re, square), self.div(product.im, square))

    def c_exp(self, a: Pair) -> Pair:
        size = self.exp(a.re)
        return Pair(self.mul(size, self.cos(a.im)), self.mul(size, self.sin(a.im)))

    def c_log(self, a: Pair) -> Pair:
        square = self.add(self.mul(a.re, a.re), self.mul(a.im, a.im))
        return Pair(self.scale(self.log(square), HALF), self.atan2(a.im, a.re))

    def _cosh_sinh(self, b) -> tuple:
        up, down = self.exp(b), self.exp(self.neg(b))
        return self.scale(self.add(up, down), HALF), self.scale(self.sub(up, down), HALF)

    def c_sin(self, a: Pair) -> Pair:
        cosh, sinh = self._cosh_sinh(a.im)
        return Pair(self.mul(self.sin(a.re), cosh), self.mul(self.cos(a.re), sinh))

    def c_cos(self, a: Pair) -> Pair:
        cosh, sinh = self._cosh_sinh(a.im)
        return Pair(self.mul(self.cos(a.re), cosh), self.neg(self.mul(self.sin(a.re), sinh)))

    def c_tanh(self, a: Pair) -> Pair:
        square = self.c_exp(self.c_add(a, a))
        return self.c_div(Pair(self.sub(square.re, ONE), square.im),
                          Pair(self.add(square.re, ONE), square.im))

    def c_sigmoid(self, a: Pair) -> Pair:
        down = self.c_exp(self.c_neg(a))
        return self.c_div(Pair(ONE, 0.0), Pair(self.add(ONE, down.re), down.im))

    def c_sqrt(self, a: Pair) -> Pair:
        return self.c_exp(self.c_scale(self.c_log(a), HALF))

    def c_power(self, a: Pair, exponent: Fraction) -> Pair:
        if exponent.denominator != 1:
            return self.c_exp(self.c_scale(self.c_log(a), exponent))
        result = Pair(ONE, 0.0)
        for _ in range(abs(int(exponent))):
            result = self.c_mul(result, a)
        return result if exponent >= 0 else self.c_div(Pair(ONE, 0.0), result)

    def c_pow(self, a: Pair, b: Pair) -> Pair:
        return self.c_exp(self.c_mul(b, self.c_log(a)))

    def c_tan(self, a: Pair) -> Pair:
        """-i tanh(i a)."""
        turned = self.c_tanh(Pair(self.neg(a.im), a.re))
        return Pair(turned.im, self.neg(turned.re))

    def c_conj(self, a: Pair) -> Pair:
        return Pair(a.re, self.neg(a.im))

    def c_abs(self, a: Pair):
        """The modulus, a real number; its derivative at 0 is 0."""
        if is_zero(self.base(a.re)) and is_zero(self.base(a.im)):
            return self.constant(0.0)
        return self.sqrt(self.add(self.mul(a.re, a.re), self.mul(a.im, a.im)))
