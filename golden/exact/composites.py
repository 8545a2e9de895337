"""Functions of a whole row of numbers: softmax and its kin, layer normalisation.

One formula for each, by the arithmetic's own steps. At special values the number is that of the formula
with the largest element subtracted, which is how engines keep the exponentials finite.
"""

from __future__ import annotations

from fractions import Fraction

from . import reals


class Composites:
    """Mixed into an arithmetic of real numbers."""

    def top(self, row: list):
        """The largest number, nan if there is one; a constant, since what it adds is subtracted again."""
        best = row[0]
        for x in row[1:]:
            if reals.is_nan(self.base(x)) or reals.less(self.base(best), self.base(x)):
                best = x
        return self.detached(best)

    def powers(self, row: list, top) -> list:
        return [self.exp(self.sub(x, top)) for x in row]

    def softmax(self, row: list) -> list:
        powers = self.powers(row, self.top(row))
        total = self.total(powers)
        return [self.div(power, total) for power in powers]

    def log_softmax(self, row: list) -> list:
        top = self.top(row)
        logarithm = self.log(self.total(self.powers(row, top)))
        return [self.sub(self.sub(x, top), logarithm) for x in row]

    def logsumexp(self, row: list):
        """An infinite largest number is not subtracted."""
        top = self.top(row)
        if reals.is_infinite(self.base(top)):
            return self.log(self.total([self.exp(x) for x in row]))
        return self.add(self.log(self.total(self.powers(row, top))), top)

    def layer_norm(self, row: list, weight: list, bias: list, epsilon: reals.Real) -> list:
        count = Fraction(len(row))
        mean = self.over(self.total(row), count)
        centred = [self.sub(x, mean) for x in row]
        variance = self.over(self.total([self.mul(c, c) for c in centred]), count)
        deviation = self.sqrt(self.add(variance, epsilon))
        return [self.add(self.mul(self.div(c, deviation), w), b)
                for c, w, b in zip(centred, weight, bias)]
