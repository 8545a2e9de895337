"""Softmax, its kin and layer normalisation as engines compute them: several algorithms, one bound.

Where engines take different ways, each way is followed and the widest error counts. Covered are, for rows
whose exponentials do not overflow where the largest number is not subtracted:

  softmax       exp(x - max) or exp(x), divided by their sum or times its reciprocal;
                backward y (g - s) and y g - y s, where s is the sum of g y
  log_softmax   (x - max) - log(sum), x - (max + log(sum)), x - log(sum of exp(x));
                backward g - p s with p = exp(y) or p = softmax, where s is the sum of g
  logsumexp     max + log(sum), log(sum of exp(x)); backward g p with p = exp(x - y) or p = softmax
  layer_norm    the mean as a sum or as a running mean; the variance in two passes or running (Welford);
                (x - m) r and x r - m r, where r = 1 / sqrt(v + eps); backward in the three forms below

Sums may have any order. Not covered: sums that are scaled again whenever the maximum changes, and the
variance as mean of squares less square of the mean, which loses digits that no bound could give back.
A second derivative is that of the first form of the first one's.
"""

from __future__ import annotations

from fractions import Fraction

from mpmath import mpf

from . import reals
from .composites import Composites
from .reals import ONE, is_zero, same
from .tracked import UNIT, NoBound, Tracked, bounded, from_exact, overflowed, size_of, ulp_of_size


class EngineComposites(Composites):
    """Mixed into the arithmetic of tracked numbers."""

    def either(self, forms: list[Tracked]) -> Tracked:
        """A number that engines compute in one of several ways; derivatives are those of the first."""
        first = forms[0]
        agreed = all(f.computed is not None and same(f.computed, first.representative) for f in forms)
        if not agreed and any(overflowed(f) for f in forms):
            raise NoBound("one algorithm overflows where another does not")
        result = Tracked(first.fmt, first.truth, max(f.error for f in forms),
                         first.computed if agreed else None, max(f.roundings for f in forms))
        self._record([first], [result], lambda gs: [gs[0]])
        return result

    def _off_by(self, a: Tracked, error: mpf) -> Tracked:
        """The same number, with at least so much error."""
        if overflowed(a):
            return a
        result = Tracked(a.fmt, a.truth, max(a.error, error), None, a.roundings + 1)
        self._record([a], [result], lambda gs: [gs[0]])
        return result

    def powers(self, row: list[Tracked], top: Tracked) -> list[Tracked]:
        """Also for the largest, whose exp(0) is 1, an engine may have exp(x) with the error of a function."""
        powers = super().powers(row, top)
        return [self._off_by(p, ulp_of_size(mpf(1), p.fmt)) if p.exact and p.truth == 1 else p
                for p in powers]

    def _shares(self, row: list[Tracked]) -> list[Tracked]:
        powers = self.powers(row, self.top(row))
        total = self.total(powers)
        return [self._quotient(power, total) for power in powers]

    def _quotient(self, a: Tracked, b: Tracked) -> Tracked:
        """By a division, or by a product with the rounded 1/b: 1.5 ulps."""
        quotient = self.div(a, b)
        if a.exact and is_zero(a.truth):
            return quotient
        return self._off_by(quotient, quotient.error + ulp_of_size(size_of(quotient.truth), a.fmt)) \
            if not reals.is_special(quotient.truth) else quotient

    def _outputs(self, values: list[Tracked], inputs: list[Tracked], vjp) -> list[Tracked]:
        """The numbers without the steps that made them: an operation of its own with its own backward."""
        outputs = [self.detached(value) for value in values]
        zero = self.constant(inputs[0].fmt, 0.0)
        self._record(inputs, outputs, lambda gs: vjp([zero if g is None else g for g in gs], outputs))
        return outputs

    def softmax(self, row: list[Tracked]) -> list[Tracked]:
        def vjp(gs, ys):
            products = [self.mul(g, y) for g, y in zip(gs, ys)]
            total = self.total(products)
            return [self.either([self.sub(p, self.mul(y, total)), self.mul(y, self.sub(g, total))])
                    for g, y, p in zip(gs, ys, products)]
        return self._outputs(self._shares(row), row, vjp)

    def log_softmax(self, row: list[Tracked]) -> list[Tracked]:
        top = self.top(row)
        logarithm = self.log(self.total(self.powers(row, top)))
        whole = self._logsumexp(row)
        values = [self.either([self.sub(self.sub(x, top), logarithm), self.sub(x, whole)]) for x in row]
        shares = self._shares(row)

        def vjp(gs, ys):
            total = self.total(gs)
            return [self.sub(g, self.mul(self.either([self.exp(y), share]), total))
                    for g, y, share in zip(gs, ys, shares)]
        return self._outputs(values, row, vjp)

    def logsumexp(self, row: list[Tracked]) -> Tracked:
        shares = self._shares(row)

        def vjp(gs, ys):
            return [self.mul(gs[0], self.either([self.exp(self.sub(x, ys[0])), share]))
                    for x, share in zip(row, shares)]
        return self._outputs([self._logsumexp(row)], row, vjp)[0]

    def _logsumexp(self, row: list[Tracked]) -> Tracked:
        """As a sum, or as one logarithm with the error of a function: another half ulp."""
        value = super().logsumexp(row)
        return self._off_by(value, value.error + ulp_of_size(size_of(value.truth), value.fmt) / 2) \
            if not reals.is_special(value.truth) else value

    # Layer normalisation

    def layer_norm(self, row, weight, bias, epsilon) -> list[Tracked]:
        fmt, count = row[0].fmt, Fraction(len(row))
        mean, centred = self._centred(row)
        variance = self.over(self.total([self.mul(c, c) for c in centred]), count)
        deviation = self.sqrt(self.add(variance, self.constant(fmt, epsilon)))
        scale = self.div(self.constant(fmt, ONE), deviation)
        normal = [self.mul(c, scale) for c in centred]
        values = [self.add(self.mul(z, w), b) for z, w, b in zip(normal, weight, bias)]

        def vjp(gs, ys):
            hs = [self.mul(g, w) for g, w in zip(gs, weight)]
            forms = (self._by_normal(hs, normal, scale, count),
                     self._expanded(hs, row, mean, scale, count),
                     self._step_by_step(hs, centred, scale, count))
            by_row = [self.either(list(ways)) for ways in zip(*forms)]
            return by_row + [self.mul(g, z) for g, z in zip(gs, normal)] + gs
        return self._outputs(values, [*row, *weight, *bias], vjp)

    def _centred(self, row: list[Tracked]) -> tuple[Tracked, list[Tracked]]:
        """Mean, and x - mean. A running mean m += (x - m) / k has the error of its steps, each at most
        (1 + 3 |x - m| / (k |m|)) half-ulps of the size of m: together at most (n + 1) / 2 + 6 half-ulps at
        the size of the largest number. x r - m r rounds both products, at the size of x and of m."""
        unit = UNIT[row[0].fmt.name]
        mean = self.over(self.total(row), Fraction(len(row)))
        centred = [self.sub(x, mean) for x in row]
        if mean.exact and all(c.exact and is_zero(c.truth) for c in centred):
            return mean, centred  # equal numbers: no algorithm has anything to round
        largest = max(size_of(x.truth) + x.error for x in row)
        inherited = max(x.error for x in row)
        mean = self._off_by(mean, inherited + (len(row) + 6) * unit * largest)
        return mean, [self._minus_mean(x, mean, unit) for x in row]

    def _minus_mean(self, x: Tracked, mean: Tracked, unit: mpf) -> Tracked:
        difference = self.sub(x, mean)
        sizes = size_of(x.truth) + x.error + size_of(mean.truth) + mean.error + size_of(difference.truth)
        return self._off_by(difference, x.error + mean.error + unit * sizes)

    def _by_normal(self, hs, normal, scale, count) -> list[Tracked]:
        """r (h - mean of h - z mean of h z)"""
        first = self.over(self.total(hs), count)
        second = self.over(self.total([self.mul(h, z) for h, z in zip(hs, normal)]), count)
        return [self.mul(scale, self.sub(self.sub(h, first), self.mul(z, second)))
                for h, z in zip(hs, normal)]

    def _expanded(self, hs, row, mean, scale, count) -> list[Tracked]:
        """r h + b x + c with b = (m sum(h) - sum(h x)) r^3 / n and c = -b m - r sum(h) / n"""
        plain = self.total(hs)
        by_x = self.total([self.mul(h, x) for h, x in zip(hs, row)])
        cube = self.mul(self.mul(scale, scale), scale)
        b = self.over(self.mul(self.sub(self.mul(plain, mean), by_x), cube), count)
        c = self.sub(self.neg(self.mul(b, mean)), self.over(self.mul(plain, scale), count))
        return [self.total([self.mul(scale, h), self.mul(b, x), c]) for h, x in zip(hs, row)]

    def _step_by_step(self, hs, centred, scale, count) -> list[Tracked]:
        """The steps of the formula backward: t = r h - c sum(h c) r^3 / n, less its mean."""
        by_scale = self.total([self.mul(h, c) for h, c in zip(hs, centred)])
        cube = self.mul(self.mul(scale, scale), scale)
        slope = self.over(self.mul(by_scale, cube), count)
        terms = [self.sub(self.mul(h, scale), self.mul(c, slope)) for h, c in zip(hs, centred)]
        mean = self.over(self.total(terms), count)
        return [self.sub(term, mean) for term in terms]
