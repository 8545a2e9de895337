"""Forward differentiation: jets, nested to any order, over exact reals.

A jet of level L is a value and its partial derivatives by the variables of level L; both are scalars of
lower levels: jets again (higher derivatives), or reals. A derivative taken while another is under way
has the higher level, so the two are never mixed up.

A variable without an entry is one that the number does not depend on. That is not a derivative of 0: an
absent path adds nothing, also where 0 * inf would add nan. `relu`, `where`, `clamp` and `select` switch
paths off in this way, as engines do by masking.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Callable, Union

from . import reals
from .complex_formulas import ComplexByParts
from .composites import Composites
from .reals import ONE, TWO, Real


class Jet:
    __slots__ = ("level", "value", "partials")

    def __init__(self, level: int, value: "Scalar", partials: dict):
        self.level = level
        self.value = value
        self.partials = partials


Scalar = Union[Real, Jet]


def variable(level: int, name, value: Scalar) -> Jet:
    return Jet(level, value, {name: ONE})


def level_of(a: Scalar) -> int:
    return a.level if type(a) is Jet else 0


def base(a: Scalar) -> Real:
    """The number itself, without derivatives."""
    while type(a) is Jet:
        a = a.value
    return a


def _at(a: Scalar, level: int) -> tuple[Scalar, dict]:
    """Value and partials as seen at a level: lower scalars are constants there."""
    if type(a) is Jet and a.level == level:
        return a.value, a.partials
    return a, {}


class Jets(ComplexByParts, Composites):
    """The arithmetic of jets. Every rule is the textbook derivative, itself computed with jets."""

    def constant(self, number: Real) -> Scalar:
        return number

    def base(self, a: Scalar) -> Real:
        return base(a)

    def detached(self, a: Scalar) -> Real:
        return base(a)

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        level = max(level_of(a), level_of(b))
        if level == 0:
            return reals.add(a, b)
        (x, dx), (y, dy) = _at(a, level), _at(b, level)
        partials = dict(dx)
        for name, slope in dy.items():
            partials[name] = self.add(partials[name], slope) if name in partials else slope
        return Jet(level, self.add(x, y), partials)

    def neg(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.neg(a)
        return Jet(a.level, self.neg(a.value), {n: self.neg(s) for n, s in a.partials.items()})

    def sub(self, a: Scalar, b: Scalar) -> Scalar:
        return self.add(a, self.neg(b))

    def mul(self, a: Scalar, b: Scalar) -> Scalar:
        level = max(level_of(a), level_of(b))
        if level == 0:
            return reals.mul(a, b)
        (x, dx), (y, dy) = _at(a, level), _at(b, level)
        partials = {name: self.mul(slope, y) for name, slope in dx.items()}
        for name, slope in dy.items():
            term = self.mul(x, slope)
            partials[name] = self.add(partials[name], term) if name in partials else term
        return Jet(level, self.mul(x, y), partials)

    def div(self, a: Scalar, b: Scalar) -> Scalar:
        level = max(level_of(a), level_of(b))
        if level == 0:
            return reals.div(a, b)
        (x, dx), (y, dy) = _at(a, level), _at(b, level)
        quotient = self.div(x, y)
        partials = {name: self.div(slope, y) for name, slope in dx.items()}
        if dy:
            by_y = self.neg(self.div(quotient, y))
            for name, slope in dy.items():
                term = self.mul(slope, by_y)
                partials[name] = self.add(partials[name], term) if name in partials else term
        return Jet(level, quotient, partials)

    def scale(self, a: Scalar, factor: Real) -> Scalar:
        return self.mul(a, factor)

    def over(self, a: Scalar, count: Fraction) -> Scalar:
        return self.mul(a, 1 / count)

    def total(self, terms: list[Scalar]) -> Scalar:
        if not terms:
            return 0.0
        result = terms[0]
        for term in terms[1:]:
            result = self.add(result, term)
        return result

    def shared(self, equals: list[Scalar]) -> Scalar:
        """The common value of equal numbers, each of which has an equal share of the derivative."""
        level = max(map(level_of, equals))
        if level == 0:
            return equals[0]
        seen = [_at(a, level) for a in equals]
        partials: dict = {}
        for _, slopes in seen:
            for name, slope in slopes.items():
                term = self.mul(slope, Fraction(1, len(equals)))
                partials[name] = self.add(partials[name], term) if name in partials else term
        return Jet(level, self.shared([value for value, _ in seen]), partials)

    # Comparisons: of the numbers, without derivatives.

    def less(self, a: Scalar, b: Scalar) -> bool:
        return reals.less(base(a), base(b))

    def equal(self, a: Scalar, b: Scalar) -> bool:
        return reals.equal(base(a), base(b))

    # Elementwise functions: f(x) and the chain rule with f'(x).

    def _chain(self, a: Scalar, f: Callable, slope: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
        """slope(x, y) is f'(x), where y = f(x)."""
        value = f(a.value)
        by_a = slope(a.value, value)
        return Jet(a.level, value, {n: self.mul(s, by_a) for n, s in a.partials.items()})

    def exp(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.exp(a)
        return self._chain(a, self.exp, lambda x, y: y)

    def log(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.log(a)
        return self._chain(a, self.log, lambda x, y: self.div(ONE, x))

    def sin(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.sin(a)
        return self._chain(a, self.sin, lambda x, y: self.cos(x))

    def cos(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.cos(a)
        return self._chain(a, self.cos, lambda x, y: self.neg(self.sin(x)))

    def tanh(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.tanh(a)
        return self._chain(a, self.tanh, lambda x, y: self.sub(ONE, self.mul(y, y)))

    def sigmoid(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.sigmoid(a)
        return self._chain(a, self.sigmoid, lambda x, y: self.mul(self.sub(ONE, y), y))

    def tan(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.tan(a)
        return self._chain(a, self.tan, lambda x, y: self.add(ONE, self.mul(y, y)))

    def expm1(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.expm1(a)
        return self._chain(a, self.expm1, lambda x, y: self.add(y, ONE))

    def log1p(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.log1p(a)
        return self._chain(a, self.log1p, lambda x, y: self.div(ONE, self.add(ONE, x)))

    def erf(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.erf(a)
        return self._chain(a, self.erf, lambda x, y: self.mul(
            reals.ERF_SLOPE_AT_0, self.exp(self.neg(self.mul(x, x)))))

    def sqrt(self, a: Scalar) -> Scalar:
        if type(a) is not Jet:
            return reals.sqrt(a)
        return self._chain(a, self.sqrt, lambda x, y: self.div(ONE, self.mul(TWO, y)))

    def power(self, a: Scalar, exponent: Fraction) -> Scalar:
        if type(a) is not Jet:
            return reals.power(a, exponent)
        if exponent == 0:  # constant, also at 0: the derivative is 0 and not 0 * 0 ** -1
            return Jet(a.level, self.power(a.value, exponent), {n: 0.0 for n in a.partials})
        return self._chain(a, lambda x: self.power(x, exponent),
                           lambda x, y: self.mul(exponent, self.power(x, exponent - 1)))

    def pow(self, a: Scalar, b: Scalar) -> Scalar:
        """b a^(b-1) by a, which is 0 where b is 0; a^b log a by b, which is 0 where a is 0 and b >= 0."""
        level = max(level_of(a), level_of(b))
        if level == 0:
            return reals.pow_(a, b)
        (x, dx), (y, dy) = _at(a, level), _at(b, level)
        value = self.pow(x, y)
        partials: dict = {}
        if dx:
            constant = reals.is_zero(base(y))
            by_a = 0.0 if constant else self.mul(y, self.pow(x, self.sub(y, ONE)))
            partials = {name: self.mul(slope, by_a) for name, slope in dx.items()}
        if dy:
            flat = reals.is_zero(base(x)) and not reals.less(base(y), 0.0)
            by_b = 0.0 if flat else self.mul(value, self.log(x))
            for name, slope in dy.items():
                term = self.mul(slope, by_b)
                partials[name] = self.add(partials[name], term) if name in partials else term
        return Jet(level, value, partials)

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        level = max(level_of(y), level_of(x))
        if level == 0:
            return reals.atan2(y, x)
        (b, db), (a, da) = _at(y, level), _at(x, level)
        square = self.add(self.mul(a, a), self.mul(b, b))
        partials = {name: self.mul(slope, self.div(a, square)) for name, slope in db.items()}
        for name, slope in da.items():
            term = self.neg(self.mul(slope, self.div(b, square)))
            partials[name] = self.add(partials[name], term) if name in partials else term
        return Jet(level, self.atan2(b, a), partials)
