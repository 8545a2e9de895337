"""How far an engine may be from the truth: a running error analysis of the backward pass.

A `Tracked` is one number of an engine in slow motion: the true value, a bound of the distance of the
engine's number from it, and, where that is certain, the engine's very number. Every operation adds what
its rounding can add, at the size that its operands can have, so that cancellation, overflow and the
subnormal numbers count as they do in an engine. Nothing is first order and nothing is guessed:

  + - * / sqrt, conversion    half a unit in the last place (ulp) of the result: IEEE 754
  mean of n                  the sum, and 1.5 ulps: one division, or a product with a rounded 1/n
  sum of n numbers            n-1 roundings at the size of the sum of moduli: covers every order
  real functions              FUNCTION_ULPS
  x ** n                      one ulp, or |n| roundings where an engine may multiply repeatedly
  complex functions           COMPLEX_ULPS, in ulps of the modulus in each part
  complex division            8 half-ulps of the modulus: Smith's algorithm and the plain formula

An operation on exact numbers whose result is a number of the type is exact; one that IEEE 754 rounds
correctly then gives the nearest number. Both make a result of which no other value is right.

The backward formulas are those written beside each operation below. They are the usual ones; an engine
that rounds oftener than they do may exceed the bound, and then deserves a look.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Callable

from mpmath import mp, mpf

from . import reals
from .complex_formulas import ComplexByParts, Pair
from .engine_composites import EngineComposites
from .jets import Jet, Jets
from .reals import ONE, Real, exact_fraction, is_special, is_zero, to_mpf
from .rounding import Format, representable
from .tracked import (LARGEST, UNIT, Node, NoBound, Tracked, after_overflow, bounded, certain, from_exact,
                      is_number_of, known, overflowed, size_of, ulp_of_size)

# The error of a function on an exact argument in ulps of its result, as the GNU C library (manual,
# "Errors in Math Functions") and the vector library SLEEF ("u10") state for their own.
FUNCTION_ULPS = {"exp": 1, "expm1": 1, "log": 1, "log1p": 1, "sin": 1, "cos": 1, "tan": 1, "tanh": 2,
                 "erf": 1, "pow": 1}
COMPLEX_ULPS = 4


class Tracking(ComplexByParts, EngineComposites):
    """The arithmetic of tracked numbers; everything is recorded, backward passes as well."""

    def __init__(self):
        self._orders = itertools.count()
        self._jets = Jets()

    def constant(self, fmt: Format, number: Real) -> Tracked:
        if not representable(number, fmt):
            raise NoBound(f"{number} is no {fmt.name}")
        return Tracked(fmt, number, 0, number)

    def base(self, a: Tracked) -> Real:
        return a.truth

    def detached(self, a: Tracked) -> Tracked:
        return Tracked(a.fmt, a.truth, a.error, a.computed, a.roundings)

    # Comparisons, which an engine makes with its own numbers

    def less(self, a: Tracked, b: Tracked) -> bool:
        _check_separate(a, b)
        return reals.less(a.truth, b.truth)

    def equal(self, a: Tracked, b: Tracked) -> bool:
        _check_separate(a, b)
        return reals.equal(a.truth, b.truth)

    def _record(self, inputs: list[Tracked], outputs: list[Tracked], vjp: Callable) -> None:
        node = Node(next(self._orders), inputs, outputs, vjp)
        for output in outputs:
            output.node = node

    def _operation(self, operands, evaluate, propagate, vjp, own_ulps=mpf("0.5"),
                   correct=True) -> Tracked:
        """One operation: evaluate(reals) is the truth, propagate() what the operands' errors make."""
        fmt = operands[0].fmt
        truth = evaluate(*[a.truth for a in operands])
        roundings = 1 + max(a.roundings for a in operands)
        if any(overflowed(a) for a in operands):
            result = after_overflow(operands, truth, evaluate, fmt)
        elif all(a.exact for a in operands) and (correct or is_number_of(fmt, truth)):
            result = from_exact(fmt, truth, roundings)
        else:
            propagated = mpf(0) if all(a.error == 0 for a in operands) else propagate()
            result = certain(fmt, truth, propagated, roundings) if correct else None
            result = result or bounded(fmt, truth, propagated, own_ulps, roundings)
        self._record(list(operands), [result], lambda gs: vjp(gs[0], result))
        return result

    def add(self, a: Tracked, b: Tracked) -> Tracked:
        return self._operation((a, b), reals.add, lambda: a.error + b.error, lambda g, y: [g, g])

    def sub(self, a: Tracked, b: Tracked) -> Tracked:
        return self._operation((a, b), reals.sub, lambda: a.error + b.error,
                               lambda g, y: [g, self.neg(g)])

    def mul(self, a: Tracked, b: Tracked) -> Tracked:
        def propagated():
            return size_of(a.truth) * b.error + size_of(b.truth) * a.error + a.error * b.error
        return self._operation((a, b), reals.mul, propagated,
                               lambda g, y: [self.mul(g, b), self.mul(g, a)])

    def div(self, a: Tracked, b: Tracked) -> Tracked:
        def propagated():
            least = size_of(b.truth) - b.error
            if least <= 0:
                raise NoBound("the divisor may be 0")
            return (a.error + size_of(reals.div(a.truth, b.truth)) * b.error) / least
        return self._operation(
            (a, b), reals.div, propagated,
            lambda g, y: [self.div(g, b), self.neg(self.mul(g, self.div(self.div(a, b), b)))])

    def neg(self, a: Tracked) -> Tracked:
        computed = None if a.computed is None else reals.neg(a.computed)
        result = Tracked(a.fmt, reals.neg(a.truth), a.error, computed, a.roundings)
        self._record([a], [result], lambda gs: [self.neg(gs[0])])
        return result

    def scale(self, a: Tracked, factor: Real) -> Tracked:
        number = self.constant(a.fmt, factor)
        return self._operation((a,), lambda x: reals.mul(x, factor),
                               lambda: a.error * size_of(number.truth),
                               lambda g, y: [self.scale(g, factor)])

    def over(self, a: Tracked, count: Fraction) -> Tracked:
        """a / n for a mean: by one division, or by a product with the rounded 1/n."""
        by_two = exact_fraction(count).numerator.bit_count() == 1
        return self._operation((a,), lambda x: reals.div(x, count),
                               lambda: a.error / to_mpf(count),
                               lambda g, y: [self.over(g, count)],
                               mpf("0.5") if by_two else mpf("1.5"), correct=by_two)

    def shared(self, equals: list[Tracked]) -> Tracked:
        result = self.detached(equals[0])
        count = Fraction(len(equals))
        self._record(equals, [result], lambda gs: [self.over(gs[0], count)] * len(equals))
        return result

    def cast(self, a: Tracked, fmt: Format) -> Tracked:
        source = a.fmt
        moved = Tracked(fmt, a.truth, a.error, a.computed, a.roundings)
        result = self._operation((moved,), lambda x: x, lambda: a.error, lambda g, y: [None])
        self._record([a], [result], lambda gs: [self.cast(gs[0], source)])
        return result

    # Sums

    def total(self, terms: list[Tracked], fmt: Format | None = None) -> Tracked:
        """The sum in any order."""
        if not terms:
            return self.constant(fmt, 0.0)
        if len(terms) == 1:
            return terms[0]
        if len(terms) == 2:
            return self.add(*terms)
        result = self._sum(terms)
        self._record(list(terms), [result], lambda gs: [gs[0]] * len(terms))
        return result

    def _sum(self, terms: list[Tracked]) -> Tracked:
        fmt = terms[0].fmt
        truth: Real = terms[0].truth
        for term in terms[1:]:
            truth = reals.add(truth, term.truth)
        roundings = len(terms) - 1 + max(t.roundings for t in terms)
        if any(overflowed(t) for t in terms):
            return after_overflow(terms, truth, _sum_of_reals, fmt)
        live = [t for t in terms if not (t.exact and is_zero(t.truth))]
        if _exact_in_any_order(live, fmt):
            return known(fmt, truth, truth, 0)
        if len(live) == 2 and all(t.exact for t in live):
            return from_exact(fmt, truth, 1)
        sizes = sum((size_of(t.truth) + t.error for t in live), mpf(0))
        error = sum((t.error for t in live), mpf(0)) + (len(live) - 1) * UNIT[fmt.name] * sizes
        if sizes + error > LARGEST[fmt.name]:
            if size_of(truth) - error > LARGEST[fmt.name] * mpf("1.01") and _one_sign(live):
                return Tracked(fmt, truth, 0, reals.INF if truth > 0 else -reals.INF, roundings)
            raise NoBound("a partial sum may overflow")
        return Tracked(fmt, truth, error, None, roundings)

    # Elementwise functions

    def _function(self, name: str, a: Tracked, vjp: Callable, ulps=None, correct=False) -> Tracked:
        evaluate = getattr(reals, name)
        return self._operation((a,), evaluate, lambda: _spread(evaluate, a), vjp,
                               FUNCTION_ULPS[name] if ulps is None else ulps, correct)

    def exp(self, a: Tracked) -> Tracked:
        return self._function("exp", a, lambda g, y: [self.mul(g, y)])

    def log(self, a: Tracked) -> Tracked:
        return self._function("log", a, lambda g, y: [self.div(g, a)])

    def sin(self, a: Tracked) -> Tracked:
        return self._function("sin", a, lambda g, y: [self.mul(g, self.cos(a))])

    def cos(self, a: Tracked) -> Tracked:
        return self._function("cos", a, lambda g, y: [self.mul(g, self.neg(self.sin(a)))])

    def tanh(self, a: Tracked) -> Tracked:
        return self._function("tanh", a, lambda g, y: [self.mul(g, self._one_minus(
            self.mul(y, y)))])

    def tan(self, a: Tracked) -> Tracked:
        return self._function("tan", a, lambda g, y: [self.mul(g, self._plus_one(self.mul(y, y)))])

    def expm1(self, a: Tracked) -> Tracked:
        return self._function("expm1", a, lambda g, y: [self.mul(g, self._plus_one(y))])

    def log1p(self, a: Tracked) -> Tracked:
        return self._function("log1p", a, lambda g, y: [self.div(g, self._plus_one(a))])

    def erf(self, a: Tracked) -> Tracked:
        """The factor 2 / sqrt(pi) is a constant of the engine, within 1 ulp."""
        def vjp(g, y):
            factor = bounded(a.fmt, reals.ERF_SLOPE_AT_0, mpf(0), 1, 1)
            return [self.mul(factor, self.mul(g, self.exp(self.neg(self.mul(a, a)))))]
        return self._function("erf", a, vjp)

    def sqrt(self, a: Tracked) -> Tracked:
        return self._function("sqrt", a, lambda g, y: [self.div(g, self.scale(y, reals.TWO))],
                              mpf("0.5"), correct=True)

    def sigmoid(self, a: Tracked) -> Tracked:
        """The error is that of 1 / (1 + exp(-a)); the backward is g * (1 - y) * y."""
        one = self.constant(a.fmt, ONE)
        value = self.div(one, self.add(one, self.exp(self.neg(a))))
        result = Tracked(a.fmt, value.truth, value.error, value.computed, value.roundings)
        self._record([a], [result],
                     lambda gs: [self.mul(gs[0], self.mul(self._one_minus(result), result))])
        return result

    def power(self, a: Tracked, exponent: Fraction) -> Tracked:
        if exponent == 1:
            return a
        whole = exponent.denominator == 1
        ulps = mpf(max(1, abs(int(exponent))) if whole else 1)
        return self._operation((a,), lambda x: reals.power(x, exponent),
                               lambda: _spread(lambda x: reals.power(x, exponent), a),
                               lambda g, y: [self._power_vjp(a, exponent, g)], ulps, correct=False)

    def _power_vjp(self, a: Tracked, exponent: Fraction, g: Tracked) -> Tracked:
        if exponent == 0:
            return self.constant(a.fmt, 0.0)
        return self.mul(g, self.scale(self.power(a, exponent - 1), exponent))

    def pow(self, a: Tracked, b: Tracked) -> Tracked:
        def vjp(g, y):
            return [self._pow_by_base(a, b, g), self._pow_by_exponent(a, b, g, y)]
        return self._operation((a, b), reals.pow_, lambda: _spread_of_power(a, b), vjp,
                               FUNCTION_ULPS["pow"], correct=False)

    def _pow_by_base(self, a: Tracked, b: Tracked, g: Tracked) -> Tracked:
        zero = self.constant(a.fmt, 0.0)
        if self.equal(b, zero):
            return zero
        return self.mul(g, self.mul(b, self.pow(a, self.sub(b, self.constant(b.fmt, ONE)))))

    def _pow_by_exponent(self, a: Tracked, b: Tracked, g: Tracked, y: Tracked) -> Tracked:
        zero = self.constant(a.fmt, 0.0)
        if self.equal(a, zero) and not self.less(b, zero):
            return zero
        return self.mul(g, self.mul(y, self.log(a)))

    def _one_minus(self, a: Tracked) -> Tracked:
        return self.sub(self.constant(a.fmt, ONE), a)

    def _plus_one(self, a: Tracked) -> Tracked:
        return self.add(a, self.constant(a.fmt, ONE))

    # Complex functions: the derivative is a complex number, its conjugate carries gradients back.

    def _c_function(self, operands: list[Pair], evaluate: Callable, own: Callable[[mpf], mpf],
                    vjp: Callable[[Pair, Pair], list[Pair]]) -> Pair:
        """own(|w|) is the function's own error in each part of its result w."""
        fmt = operands[0].re.fmt
        flat = [part for pair in operands for part in pair]
        if any(overflowed(a) for a in flat):
            raise NoBound("complex functions of infinite numbers are not covered")
        truth, propagated = self._c_truth(operands, evaluate)
        modulus = reals.sqrt(reals.add(reals.mul(truth.re, truth.re), reals.mul(truth.im, truth.im)))
        if is_special(modulus) and modulus != 0:
            raise NoBound("a complex function at a pole")
        own_error = own(size_of(modulus) + propagated)
        roundings = 1 + max(a.roundings for a in flat)
        exact = all(a.exact for a in flat)
        parts = [_c_part(fmt, t, propagated + own_error, exact, roundings) for t in truth]
        result = Pair(*parts)

        def both(gs):
            zero = self.constant(fmt, 0.0)
            g = Pair(*[zero if part is None else part for part in gs])
            return [part for pair in vjp(g, result) for part in pair]
        self._record(flat, parts, both)
        return result

    def _c_truth(self, operands: list[Pair], evaluate: Callable) -> tuple[Pair, mpf]:
        """The value, and what the operands' errors make of it: |derivative| times |error|, and 5% for
        the curvature, which errors below a thousandth of the operand do not reach."""
        errors = [_modulus(pair.re.error, pair.im.error) for pair in operands]
        inputs = [Pair(Jet(1, pair.re.truth, {i: ONE}), pair.im.truth)
                  for i, pair in enumerate(operands)]
        value = evaluate(*inputs)
        propagated = mpf(0)
        for i, error in enumerate(errors):
            if error == 0:
                continue
            size = size_of(operands[i].re.truth) + size_of(operands[i].im.truth)
            if error > size / 1000:
                raise NoBound("a complex operand is too uncertain")
            slope = _modulus(*[size_of(part.partials[i]) if type(part) is Jet and i in part.partials
                               else mpf(0) for part in value])
            propagated += slope * error * mpf("1.05")
        parts = [part.value if type(part) is Jet else part for part in value]
        return Pair(*parts), propagated

    def _unary_c(self, name: str, a: Pair, vjp: Callable) -> Pair:
        fmt = a.re.fmt
        return self._c_function([a], getattr(self._jets, "c_" + name),
                                lambda size: COMPLEX_ULPS * ulp_of_size(size, fmt), vjp)

    def c_abs(self, a: Pair) -> Tracked:
        """Covers hypot, sqrt(x^2 + y^2), and the larger part times sqrt(1 + ratio^2): 3.25 ulps."""
        fmt, parts = a.re.fmt, (a.re, a.im)
        if any(overflowed(part) for part in parts):
            raise NoBound("complex functions of infinite numbers are not covered")
        if all(part.exact and is_zero(part.truth) for part in parts):
            return self.constant(fmt, 0.0)
        truth = self._jets.c_abs(Pair(a.re.truth, a.im.truth))
        on_axis = all(part.exact for part in parts) and any(is_zero(part.truth) for part in parts)
        propagated = _modulus(a.re.error, a.im.error)
        if propagated >= size_of(truth):
            raise NoBound("the modulus may be 0")
        roundings = 1 + max(part.roundings for part in parts)
        result = (known(fmt, truth, truth, 0) if on_axis
                  else bounded(fmt, truth, propagated, COMPLEX_ULPS, roundings))
        self._record([*parts], [result],
                     lambda gs: [self.mul(gs[0], self.div(part, result)) for part in parts])
        return result

    def _c_one_minus(self, a: Pair) -> Pair:
        return Pair(self._one_minus(a.re), self.neg(a.im))

    def c_div(self, a: Pair, b: Pair) -> Pair:
        unit = UNIT[a.re.fmt.name]
        least = ulp_of_size(mpf(0), a.re.fmt)

        def vjp(g: Pair, y: Pair) -> list[Pair]:
            by_b = self.c_conj(self.c_div(self.c_div(a, b), b))
            return [self.c_div(g, self.c_conj(b)), self.c_neg(self.c_mul(g, by_b))]
        return self._c_function([a, b], self._jets.c_div, lambda size: 8 * unit * size + least, vjp)

    def c_exp(self, a: Pair) -> Pair:
        return self._unary_c("exp", a, lambda g, y: [self.c_mul(g, self.c_conj(y))])

    def c_log(self, a: Pair) -> Pair:
        return self._unary_c("log", a, lambda g, y: [self.c_div(g, self.c_conj(a))])

    def c_sin(self, a: Pair) -> Pair:
        return self._unary_c("sin", a, lambda g, y: [self.c_mul(g, self.c_conj(self.c_cos(a)))])

    def c_cos(self, a: Pair) -> Pair:
        return self._unary_c(
            "cos", a, lambda g, y: [self.c_mul(g, self.c_conj(self.c_neg(self.c_sin(a))))])

    def c_tan(self, a: Pair) -> Pair:
        def vjp(g, y):
            square = self.c_mul(y, y)
            return [self.c_mul(g, self.c_conj(Pair(self._plus_one(square.re), square.im)))]
        return self._unary_c("tan", a, vjp)

    def c_tanh(self, a: Pair) -> Pair:
        return self._unary_c("tanh", a, lambda g, y: [
            self.c_mul(g, self.c_conj(self._c_one_minus(self.c_mul(y, y))))])

    def c_sigmoid(self, a: Pair) -> Pair:
        return self._unary_c("sigmoid", a, lambda g, y: [
            self.c_mul(g, self.c_conj(self.c_mul(self._c_one_minus(y), y)))])

    def c_sqrt(self, a: Pair) -> Pair:
        return self._unary_c("sqrt", a, lambda g, y: [
            self.c_div(g, self.c_conj(self.c_scale(y, reals.TWO)))])

    def c_power(self, a: Pair, exponent: Fraction) -> Pair:
        """As exp(n log a), the error of the logarithm times n counts; repeated products err less."""
        if exponent == 1:
            return a
        fmt = a.re.fmt
        logarithm = self._jets.c_log(Pair(a.re.truth, a.im.truth))
        angle = max(mpf(1), size_of(logarithm.re) + size_of(logarithm.im))
        ulps = COMPLEX_ULPS * (1 + abs(to_mpf(exponent)) * angle)

        def vjp(g: Pair, y: Pair) -> list[Pair]:
            slope = self.c_scale(self.c_power(a, exponent - 1), exponent)
            return [self.c_mul(g, self.c_conj(slope))]
        return self._c_function([a], lambda z: self._jets.c_power(z, exponent),
                                lambda size: ulps * ulp_of_size(size, fmt), vjp)

    def c_pow(self, a: Pair, b: Pair) -> Pair:
        """As exp(b log a), like c_power."""
        fmt = a.re.fmt
        logarithm = self._jets.c_log(Pair(a.re.truth, a.im.truth))
        angle = max(mpf(1), size_of(logarithm.re) + size_of(logarithm.im))
        ulps = COMPLEX_ULPS * (1 + (size_of(b.re.truth) + size_of(b.im.truth)) * angle)

        def vjp(g: Pair, y: Pair) -> list[Pair]:
            less_one = Pair(self.sub(b.re, self.constant(fmt, ONE)), b.im)
            by_a = self.c_mul(b, self.c_pow(a, less_one))
            by_b = self.c_mul(y, self.c_log(a))
            return [self.c_mul(g, self.c_conj(by_a)), self.c_mul(g, self.c_conj(by_b))]
        return self._c_function([a, b], self._jets.c_pow, lambda size: ulps * ulp_of_size(size, fmt), vjp)

    # The backward pass

    def gradient(self, roots: list[tuple[Tracked, Tracked]],
                 inputs: list[Tracked]) -> list[Tracked | None]:
        """The derivatives of sum(root * seed) by the inputs; None where no path leads."""
        nodes = _reachable([root for root, _ in roots])
        wanted = {id(a) for a in inputs}
        needed = _needed(nodes, wanted)
        arrived: dict[int, list[Tracked]] = {}
        for root, seed in roots:
            arrived.setdefault(id(root), []).append(seed)
        for node in reversed(needed):
            gs = [self.total(arrived[id(out)]) if id(out) in arrived else None
                  for out in node.outputs]
            for out, g in zip(node.outputs, gs):
                if g is not None:
                    arrived[id(out)] = [g]
            if all(g is None for g in gs):
                continue
            for source, g in zip(node.inputs, node.vjp(gs)):
                if g is not None:
                    arrived.setdefault(id(source), []).append(g)
        return [self.total(arrived[id(a)]) if id(a) in arrived else None for a in inputs]


def _modulus(re: mpf, im: mpf) -> mpf:
    return mp.sqrt(re * re + im * im)


def _c_part(fmt: Format, truth: Real, error: mpf, exact: bool, roundings: int) -> Tracked:
    if exact and is_number_of(fmt, truth):
        return Tracked(fmt, truth, 0, truth, roundings - 1)
    if size_of(truth) + error > LARGEST[fmt.name]:
        raise NoBound("a complex number overflows")
    return Tracked(fmt, truth, error, None, roundings)


def _check_separate(a: Tracked, b: Tracked) -> None:
    """That rounding cannot turn a comparison round."""
    if a is b or (a.exact and b.exact):
        return
    gap = reals.sub(a.truth, b.truth)
    if not is_special(gap) or gap == 0:
        if size_of(gap) <= a.error + b.error:
            raise NoBound("a comparison may go either way")


def _one_sign(terms: list[Tracked]) -> bool:
    return len({reals.is_negative(t.truth) for t in terms}) == 1


def _sum_of_reals(*terms: Real) -> Real:
    result = terms[0]
    for term in terms[1:]:
        result = reals.add(result, term)
    return result


def _spread(evaluate: Callable, a: Tracked) -> mpf:
    """How much a function that is monotone near a, or has slopes within 1 (sin, cos), can differ
    within the error of its argument."""
    if a.error == 0:
        return mpf(0)
    if evaluate in (reals.sin, reals.cos):
        return a.error
    if evaluate is reals.tan and _poles_below(a, a.error) != _poles_below(a, -a.error):
        raise NoBound("the argument may be a pole of the tangent")
    centre = to_mpf(a.truth) if not is_zero(a.truth) else mpf(0)
    middle = evaluate(a.truth)
    ends = [evaluate(reals.real(centre + sign * a.error)) for sign in (-1, 1)]
    if any(is_special(end) and end != 0 for end in ends):
        raise NoBound("the argument may leave the domain")
    if evaluate not in _ALWAYS_MONOTONE and a.error >= abs(centre):
        raise NoBound("the argument may be 0")
    return max(size_of(reals.sub(end, middle)) for end in ends)


def _poles_below(a: Tracked, error) -> int:
    """How many poles of the tangent, from that at -pi/2, lie below the end of the argument's range."""
    return int(mp.floor((to_mpf(a.truth) + error) / mp.pi + mpf("0.5")))


_ALWAYS_MONOTONE = (reals.exp, reals.expm1, reals.tanh, reals.log, reals.log1p, reals.sqrt, reals.erf)


def _spread_of_power(a: Tracked, b: Tracked) -> mpf:
    """b log a is linear in either operand, so that a ** b is farthest off at a corner."""
    base = size_of(a.truth)
    if (a.error or b.error) and (a.error >= base or a.truth < 0):
        raise NoBound("the base of a power may be 0, or is negative")
    middle = reals.pow_(a.truth, b.truth)
    corners = [reals.pow_(reals.add(a.truth, reals.real(s * a.error)),
                          reals.add(b.truth, reals.real(t * b.error))) for s in (-1, 1) for t in (-1, 1)]
    return max(size_of(reals.sub(corner, middle)) for corner in corners)


def _exact_in_any_order(terms: list[Tracked], fmt: Format) -> bool:
    """Whether every partial sum is a number of the format: all terms are multiples of one quantum, and
    their moduli together stay within its first 2 ** precision multiples."""
    if any(not t.exact for t in terms):
        return False
    if not terms:
        return True
    fractions = [exact_fraction(t.truth) for t in terms]
    quantum = Fraction(1, max(f.denominator for f in fractions))
    sizes = sum(abs(f) for f in fractions)
    return sizes / quantum <= 1 << fmt.precision and sizes <= fmt.largest


def _reachable(roots: list[Tracked]) -> list[Node]:
    """All nodes below the roots, in the order of their making."""
    found: dict[int, Node] = {}
    stack = [root.node for root in roots if root.node is not None]
    while stack:
        node = stack.pop()
        if node.order in found:
            continue
        found[node.order] = node
        stack.extend(a.node for a in node.inputs if a.node is not None)
    return [found[order] for order in sorted(found)]


def _needed(nodes: list[Node], wanted: set[int]) -> list[Node]:
    """Those that lead to a wanted number."""
    needed, leading = [], set(wanted)
    for node in nodes:
        if any(id(a) in leading for a in node.inputs):
            needed.append(node)
            leading.update(id(out) for out in node.outputs)
    return needed
