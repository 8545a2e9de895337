"""Tests of judging.py: bounds in the checker's unit."""

import math
import unittest
from fractions import Fraction

from exact.tracked import NoBound, Tracked
from exact.judging import Disagreement, bound_of_number, bound_of_pair, unit_of
from exact.reals import to_mpf
from exact.rounding import FORMATS

FLOAT64 = FORMATS["float64"]
EPSILON = Fraction(2) ** -52


def within(truth: Fraction, error: Fraction) -> Tracked:
    return Tracked(FLOAT64, truth, to_mpf(error), None, 3)


class Bounds(unittest.TestCase):
    def test_only_numbers_of_the_type_count(self):
        truth = Fraction(3, 2)
        for error, bound in ((Fraction(1, 4), 0), (Fraction(99, 100), 0), (1, 1), (Fraction(5, 2), 2)):
            self.assertEqual(bound_of_number(truth, within(truth, error * EPSILON)), bound)

    def test_the_rounding_of_the_truth_counts(self):
        truth = Fraction(3, 2) + EPSILON * Fraction(2, 5)
        self.assertEqual(bound_of_number(truth, within(truth, EPSILON * Fraction(3, 5))), 1)

    def test_below_a_power_of_two_numbers_are_half_a_unit_apart(self):
        for sign in (1, -1):
            truth = Fraction(sign)
            self.assertEqual(bound_of_number(truth, within(truth, EPSILON * Fraction(9, 10))), 1)
            self.assertEqual(bound_of_number(truth, within(truth, EPSILON * Fraction(2, 5))), Fraction(1, 2))

    def test_what_is_known_leaves_no_other_number(self):
        truth = Fraction(1, 3)
        known = Tracked(FLOAT64, truth, to_mpf(EPSILON), Fraction(1 / 3), 1)
        self.assertEqual(bound_of_number(truth, known), 0)

    def test_the_unit_of_a_complex_number_is_that_of_its_larger_part(self):
        small, large = Fraction(1, 2**20), Fraction(3, 2)
        parts = [within(small, EPSILON), within(large, EPSILON / 8)]
        self.assertEqual(bound_of_pair([small, large], parts), 1)

    def test_zero_and_subnormals_have_the_least_unit(self):
        self.assertEqual(unit_of(0.0, FLOAT64), FLOAT64.least)
        self.assertEqual(unit_of(FLOAT64.least * 5, FLOAT64), FLOAT64.least)
        self.assertEqual(unit_of(Fraction(1), FLOAT64), EPSILON)
        self.assertEqual(float(unit_of(Fraction(math.pi), FLOAT64)), math.ulp(math.pi))

    def test_nothing_to_compare(self):
        with self.assertRaises(NoBound):
            bound_of_number(Fraction(1), within(Fraction(1), Fraction(1, 100)))

    def test_two_computations_that_differ(self):
        with self.assertRaises(Disagreement):
            bound_of_number(Fraction(1), within(Fraction(2), EPSILON))


if __name__ == "__main__":
    unittest.main()
