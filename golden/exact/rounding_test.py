"""Tests of rounding.py: against the machine's own conversions, and at the corners by hand."""

import random
import struct
import unittest
from fractions import Fraction

import numpy as np
from mpmath import mp, mpf

from exact.reals import INF, OutsideDomain, is_negative
from exact.rounding import FORMATS, representable, round_to

TWO = Fraction(2)
FLOAT16, BFLOAT16, FLOAT32, FLOAT64 = (FORMATS[n] for n in ("float16", "bfloat16", "float32", "float64"))


class RoundingTest(unittest.TestCase):
    def test_random_fractions_round_as_python_rounds_them_to_float64(self):
        numbers = random.Random(1)
        for _ in range(2000):
            exact = Fraction(numbers.getrandbits(200) + 1, numbers.getrandbits(numbers.randint(1, 900)) + 1)
            self.assertEqual(round_to(exact, FLOAT64), Fraction(float(exact)))

    def test_doubles_round_as_numpy_converts_them(self):
        numbers = random.Random(2)
        for fmt, kind, least, most in ((FLOAT16, np.float16, -28, 16), (FLOAT32, np.float32, -152, 128)):
            for _ in range(2000):
                value = numbers.uniform(1, 2) * 2.0 ** numbers.randint(least, most)
                with np.errstate(over="ignore"):
                    expected = float(kind(value))
                found = round_to(Fraction(value), fmt)
                self.assertEqual(float(found), expected, value)

    def test_bfloat16_is_the_upper_half_of_float32(self):
        numbers = random.Random(3)
        for _ in range(500):
            bits = numbers.getrandbits(15) << 16
            value = struct.unpack("f", struct.pack("I", bits))[0]
            if value == 0 or value != value or value == INF:
                continue
            self.assertTrue(representable(Fraction(value), BFLOAT16))
            self.assertEqual(round_to(Fraction(value) * (1 + TWO**-10), BFLOAT16), Fraction(value))

    def test_ties_go_to_the_even_neighbour(self):
        for fmt in FORMATS.values():
            step = 2 * fmt.unit
            self.assertEqual(round_to(1 + step / 2, fmt), 1)
            self.assertEqual(round_to(1 + 3 * step / 2, fmt), 1 + 2 * step)
            self.assertEqual(round_to(-1 - step / 2 - TWO**-2000, fmt), -1 - step)

    def test_below_half_the_least_number_is_zero_and_keeps_the_sign(self):
        for fmt in FORMATS.values():
            self.assertEqual(round_to(fmt.least / 2, fmt), 0)
            self.assertTrue(is_negative(round_to(-fmt.least / 2, fmt)))
            self.assertEqual(round_to(fmt.least * 5 / 8, fmt), fmt.least)
            self.assertEqual(round_to(fmt.least * 3 / 2, fmt), 2 * fmt.least)

    def test_overflow_begins_half_a_step_above_the_largest(self):
        for fmt in FORMATS.values():
            half = fmt.spacing(fmt.most_exponent) / 2
            self.assertEqual(round_to(fmt.largest + half - 1 / TWO**100, fmt), fmt.largest)
            self.assertEqual(round_to(fmt.largest + half, fmt), INF)
            self.assertEqual(round_to(-fmt.largest * 2, fmt), -INF)

    def test_exponents_that_no_fraction_could_hold(self):
        self.assertEqual(round_to(mp.exp(mpf(10) ** 300), FLOAT64), INF)
        self.assertEqual(round_to(mp.exp(-mpf(10) ** 300), FLOAT64), 0)

    def test_a_number_too_near_to_the_middle_is_refused(self):
        with self.assertRaises(OutsideDomain):
            round_to(mpf(1) + mpf(2) ** -53, FLOAT64)

    def test_representable(self):
        self.assertTrue(representable(FLOAT16.least, FLOAT16))
        self.assertFalse(representable(FLOAT16.least / 2, FLOAT16))
        self.assertFalse(representable(Fraction(2049), FLOAT16))
        self.assertTrue(representable(Fraction(2050), FLOAT16))
        self.assertFalse(representable(Fraction(65536), FLOAT16))


if __name__ == "__main__":
    unittest.main()
