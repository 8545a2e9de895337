"""Tests of error_bounds.py: real arithmetic must stay within the bounds, and not far within."""

import itertools
import math
import random
import unittest
from fractions import Fraction

import numpy as np

from exact import reals
from exact.complex_formulas import Pair
from exact.error_bounds import Tracking
from exact.tracked import NoBound
from exact.reals import exact_fraction, real
from exact.rounding import FORMATS, round_to

FLOAT32, FLOAT64 = FORMATS["float32"], FORMATS["float64"]


def tracked(tracking, value, fmt=FLOAT64):
    return tracking.constant(fmt, real(float(value)))


def error_of(found: float, result) -> float:
    """The error of a computed number as a part of its bound."""
    truth = exact_fraction(result.truth) if result.truth != 0 else Fraction(0)
    return float(abs(Fraction(float(found)) - truth)) / float(result.error)


class Exactness(unittest.TestCase):
    def setUp(self):
        self.t = Tracking()

    def test_exact_operations_are_known_to_be_exact(self):
        product = self.t.mul(tracked(self.t, 1.5), tracked(self.t, 2.5))
        total = self.t.total([product, tracked(self.t, 4), tracked(self.t, -0.25)])
        self.assertTrue(total.exact)
        self.assertEqual(total.truth, Fraction(15, 2))

    def test_one_rounding_gives_the_nearest_number(self):
        third = self.t.div(tracked(self.t, 1), tracked(self.t, 3))
        self.assertFalse(third.exact)
        self.assertEqual(third.computed, Fraction(1 / 3))

    def test_exact_points_of_functions(self):
        zero = tracked(self.t, 0)
        for name, value in (("exp", 1), ("sin", 0), ("cos", 1), ("tanh", 0), ("sigmoid", 0.5)):
            self.assertEqual(getattr(self.t, name)(zero).computed, value)
        self.assertTrue(self.t.sqrt(tracked(self.t, 6.25)).exact)
        self.assertFalse(self.t.sqrt(tracked(self.t, 2)).exact)

    def test_operands_too_near_to_matter(self):
        sigmoid = self.t.sigmoid(tracked(self.t, 1000))
        self.assertEqual(sigmoid.computed, 1)


class AgainstArithmetic(unittest.TestCase):
    def test_sums_in_every_order_stay_within(self):
        numbers = random.Random(4)
        for _ in range(20):
            terms = [np.float32(numbers.uniform(-2, 2)) for _ in range(6)]
            t = Tracking()
            result = t.total([tracked(t, term, FLOAT32) for term in terms])
            worst = max(error_of(sum(order, np.float32(0)), result)
                        for order in itertools.permutations(terms))
            self.assertLessEqual(worst, 1)

    def test_formulas_stay_within(self):
        numbers = random.Random(5)
        for _ in range(300):
            a, b = numbers.uniform(0.5, 2), numbers.uniform(-2, 2)
            t = Tracking()
            x, y = tracked(t, a), tracked(t, b)
            cases = (
                (math.exp(a) * b, t.mul(t.exp(x), y)),
                (math.tanh(b) * math.tanh(b) - a, t.sub(t.mul(t.tanh(y), t.tanh(y)), x)),
                (math.sin(a * b) / a, t.div(t.sin(t.mul(x, y)), x)),
                (math.log(a) + math.sqrt(a) * b, t.add(t.log(x), t.mul(t.sqrt(x), y))),
                (1 / (1 + math.exp(-b)), t.sigmoid(y)),
            )
            for found, result in cases:
                self.assertLessEqual(error_of(found, result), 1)

    def test_new_functions_stay_within(self):
        numbers = random.Random(8)
        for _ in range(200):
            a, b = numbers.uniform(0.5, 2), numbers.uniform(-1.4, 1.4)
            t = Tracking()
            x, y = tracked(t, a), tracked(t, b)
            cases = ((math.tan(b), t.tan(y)), (math.expm1(b), t.expm1(y)), (math.log1p(a), t.log1p(x)),
                     (math.erf(b), t.erf(y)), (math.pow(a, b), t.pow(x, y)),
                     (math.pow(a * a, b * a), t.pow(t.mul(x, x), t.mul(y, x))),
                     (math.hypot(a, b), t.c_abs(Pair(x, y))))
            for found, result in cases:
                self.assertLessEqual(error_of(found, result), 1)

    def test_the_bound_of_a_product_is_reached_nearly(self):
        numbers, t, worst = random.Random(6), Tracking(), 0.0
        for _ in range(2000):
            a, b, c = (np.float32(numbers.uniform(1, 2)) for _ in range(3))
            x, y, z = (tracked(t, v, FLOAT32) for v in (a, b, c))
            worst = max(worst, error_of(a * b * c, t.mul(t.mul(x, y), z)))
        self.assertGreater(worst, 0.6)

    def test_complex_division_stays_within(self):
        numbers = random.Random(7)
        for _ in range(200):
            a, b = (complex(numbers.uniform(-2, 2), numbers.uniform(-2, 2)) for _ in range(2))
            t = Tracking()
            quotient = t.c_div(*[Pair(tracked(t, v.real), tracked(t, v.imag)) for v in (a, b)])
            found = a / b
            self.assertLessEqual(error_of(found.real, quotient.re), 1)
            self.assertLessEqual(error_of(found.imag, quotient.im), 1)


class Rows(unittest.TestCase):
    """Functions of a row in float32 by each of the algorithms that the bound is to cover. Every second
    row is far from 0, where the algorithms round differently."""

    def setUp(self):
        self.numbers = np.random.default_rng(9)

    def row(self, offset=0):
        return (self.numbers.uniform(-3, 3, 6) + offset).astype(np.float32)

    def assert_within(self, found, results):
        for number, result in zip(found, results, strict=True):
            self.assertEqual(number.dtype, np.float32)
            self.assertLessEqual(error_of(number, result), 1)

    def test_softmax(self):
        for i in range(60):
            x, g = self.row(), self.row(i % 2 * 200)
            t = Tracking()
            row = [tracked(t, v, FLOAT32) for v in x]
            ys = t.softmax(row)
            for powers in (np.exp(x - x.max()), np.exp(x)):
                for shares in (powers / powers.sum(), powers * (np.float32(1) / powers.sum())):
                    self.assert_within(shares, ys)
                    total = (g * shares).sum()
                    grads = t.gradient([(y, tracked(t, v, FLOAT32)) for y, v in zip(ys, g)], row)
                    self.assert_within(shares * (g - total), grads)
                    self.assert_within(g * shares - shares * total, grads)

    def test_log_softmax_and_logsumexp(self):
        for i in range(60):
            x, g = self.row(i % 2 * 70), self.row()
            t = Tracking()
            row = [tracked(t, v, FLOAT32) for v in x]
            ys, whole = t.log_softmax(row), t.logsumexp(row)
            top, shifted = x.max(), np.log(np.exp(x - x.max()).sum())
            sums = (top + shifted, np.log(np.exp(x).sum()))
            self.assert_within(sums, [whole] * 2)
            grads = t.gradient([(y, tracked(t, v, FLOAT32)) for y, v in zip(ys, g)], row)
            for values in (x - top - shifted, x - sums[0], x - sums[1]):
                self.assert_within(values, ys)
                self.assert_within(g - np.exp(values) * g.sum(), grads)
            by_whole = t.gradient([(whole, tracked(t, g[0], FLOAT32))], row)
            for value in sums:
                self.assert_within(g[0] * np.exp(x - value), by_whole)

    def test_layer_norm(self):
        for i in range(60):
            x, g, w, b = self.row(i % 2 * 100), self.row(), self.row(), self.row()
            t = Tracking()
            row, weight, bias = ([tracked(t, v, FLOAT32) for v in a] for a in (x, w, b))
            eps, n = np.float32(2**-10), np.float32(len(x))
            ys = t.layer_norm(row, weight, bias, Fraction(1, 1024))
            grads = t.gradient([(y, tracked(t, v, FLOAT32)) for y, v in zip(ys, g)], row)
            for mean, variance in ((x.mean(), ((x - x.mean()) ** 2).mean()), _running(x)):
                scale = np.float32(1) / np.sqrt(variance + eps)
                for normal in ((x - mean) * scale, x * scale - mean * scale):
                    self.assert_within(normal * w + b, ys)
                    h = g * w
                    self.assert_within(scale * (h - h.mean() - normal * (h * normal).mean()), grads)
                    slope = (h.sum() * mean - (h * x).sum()) * scale * scale * scale / n
                    rest = -slope * mean - h.sum() * scale / n
                    self.assert_within(scale * h + slope * x + rest, grads)


def _running(x):
    """Mean and variance one number after the other (Welford)."""
    mean = squares = np.float32(0)
    for k, v in enumerate(x, 1):
        before = v - mean
        mean = mean + before / np.float32(k)
        squares = squares + before * (v - mean)
    return mean, squares / np.float32(len(x))


class Gradients(unittest.TestCase):
    def test_the_backward_pass_has_the_true_derivative(self):
        t = Tracking()
        x, w = tracked(t, 0.75), tracked(t, -1.25)
        y = t.mul(t.tanh(t.mul(x, w)), x)
        gx, gw = t.gradient([(y, tracked(t, 2))], [x, w])
        p = 0.75 * -1.25
        slope = 1 - math.tanh(p) ** 2
        self.assertAlmostEqual(float(gx.truth), 2 * (math.tanh(p) + 0.75 * slope * -1.25), places=12)
        self.assertAlmostEqual(float(gw.truth), 2 * 0.75 * slope * 0.75, places=12)

    def test_no_path_no_gradient(self):
        t = Tracking()
        x, other = tracked(t, 1), tracked(t, 2)
        self.assertEqual(t.gradient([(t.exp(x), tracked(t, 1))], [other]), [None])

    def test_backward_twice(self):
        t = Tracking()
        x = tracked(t, 0.5)
        first, = t.gradient([(t.power(x, Fraction(3)), tracked(t, 1))], [x])
        second, = t.gradient([(first, tracked(t, 1))], [x])
        self.assertEqual(exact_fraction(second.truth), 3)


class NoHonestBound(unittest.TestCase):
    def test_a_comparison_that_rounding_may_turn_round(self):
        t = Tracking()
        product = t.mul(tracked(t, 0.1), tracked(t, 3))
        with self.assertRaises(NoBound):
            t.less(product, tracked(t, 0.3))
        self.assertTrue(t.less(product, tracked(t, 0.4)))

    def test_a_pole_within_reach(self):
        t = Tracking()
        near = t.mul(tracked(t, 1.5707963267948966 / 3), tracked(t, 3.0000000000000004))
        near.error = reals.to_mpf(Fraction(1, 2**50))
        with self.assertRaises(NoBound):
            t.tan(near)

    def test_cancellation_widens_the_bound(self):
        t = Tracking()
        inexact = t.mul(tracked(t, 0.1), tracked(t, 3))
        difference = t.sub(inexact, tracked(t, 0.3))
        self.assertGreater(difference.error, abs(reals.to_mpf(difference.truth)) / 8)

    def test_what_may_overflow_has_no_bound(self):
        t = Tracking()
        large = tracked(t, float(FLOAT64.largest))
        inexact = t.mul(tracked(t, 1 / 3), tracked(t, 3.0000000000000004))
        with self.assertRaises(NoBound):
            t.mul(large, inexact)

    def test_an_overflow_on_the_way_that_changes_the_result(self):
        t = Tracking()
        large = tracked(t, 2.0**600)
        with self.assertRaises(NoBound):
            t.scale(t.mul(large, large), Fraction(1, 2**1000))

    def test_a_certain_overflow_is_infinite(self):
        t = Tracking()
        self.assertEqual(t.exp(tracked(t, 1000)).computed, reals.INF)
        self.assertEqual(round_to(t.exp(tracked(t, 1000)).truth, FLOAT64), reals.INF)


if __name__ == "__main__":
    unittest.main()
