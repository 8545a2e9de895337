"""Tests of jets.py: derivatives by hand, and against numerical differentiation in 60 digits."""

import unittest
from fractions import Fraction

import mpmath
from mpmath import mpc, mpf

from exact.complex_formulas import Pair
from exact.jets import Jet, Jets, variable
from exact.reals import ONE, to_mpf

JETS = Jets()
FUNCTIONS = {
    "exp": mpmath.exp, "log": mpmath.log, "sin": mpmath.sin, "cos": mpmath.cos, "tanh": mpmath.tanh,
    "sqrt": mpmath.sqrt, "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)), "tan": mpmath.tan,
}
REAL_FUNCTIONS = {**FUNCTIONS, "expm1": mpmath.expm1, "log1p": mpmath.log1p, "erf": mpmath.erf}
POINTS = (Fraction(7, 8), Fraction(13, 5), Fraction(1, 3))


def derivative(function, point, order):
    """The derivative of that order by nested jets."""
    argument = point
    for level in range(1, order + 1):
        argument = JETS.add(argument, Jet(level, -0.0, {"x": ONE}))
    result = function(argument)
    for _ in range(order):
        result = result.partials["x"]
    return to_mpf(result)


class RealDerivatives(unittest.TestCase):
    def assert_close(self, found, expected, digits):
        self.assertLess(abs(found - expected), abs(expected) * mpf(10) ** -digits + mpf(10) ** -digits)

    def test_functions_up_to_order_three(self):
        for name, function in REAL_FUNCTIONS.items():
            for point in POINTS:
                for order in (1, 2, 3):
                    expected = mpmath.diff(function, to_mpf(point), order)
                    found = derivative(getattr(JETS, name), point, order)
                    with self.subTest(name=name, point=point, order=order):
                        self.assert_close(found, expected, 15)

    def test_power_stays_a_fraction(self):
        cube = lambda x: JETS.power(x, Fraction(3))  # noqa: E731
        argument = Jet(2, Jet(1, Fraction(5), {"x": ONE}), {"x": ONE})
        result = cube(argument)
        self.assertEqual(result.partials["x"].partials["x"], Fraction(30))
        self.assertEqual(result.value.partials["x"], Fraction(75))

    def test_power_zero_is_constant_even_at_zero(self):
        result = JETS.power(variable(1, "x", 0.0), Fraction(0))
        self.assertEqual((result.value, result.partials["x"]), (1, 0))

    def test_quotient_and_product_by_hand(self):
        a, b = variable(1, "a", Fraction(3)), variable(1, "b", Fraction(4))
        quotient = JETS.div(a, b)
        self.assertEqual(quotient.partials, {"a": Fraction(1, 4), "b": Fraction(-3, 16)})
        product = JETS.mul(a, b)
        self.assertEqual(product.partials, {"a": Fraction(4), "b": Fraction(3)})

    def test_pow_by_base_and_exponent(self):
        for function in (lambda v: JETS.pow(v, Fraction(5, 2)), lambda v: JETS.pow(Fraction(5, 2), v),
                         lambda v: JETS.pow(v, v)):
            for order in (1, 2, 3):
                plain = lambda x: to_mpf(function(x))  # noqa: E731
                self.assert_close(derivative(function, Fraction(7, 8), order),
                                  mpmath.diff(plain, to_mpf(Fraction(7, 8)), order), 15)

    def test_pow_at_the_corners(self):
        a, b = variable(1, "a", 0.0), variable(1, "b", Fraction(5, 2))
        self.assertEqual(JETS.pow(a, b).partials, {"a": 0.0, "b": 0.0})
        one = JETS.pow(variable(1, "a", 0.0), variable(1, "b", 0.0))
        self.assertEqual((one.value, one.partials), (1, {"a": 0.0, "b": 0.0}))

    def test_equal_numbers_share_the_derivative(self):
        names = ("a", "b", "c")
        shared = JETS.shared([variable(1, name, Fraction(2)) for name in names])
        self.assertEqual((shared.value, shared.partials), (2, {name: Fraction(1, 3) for name in names}))

    def test_levels_are_not_confused(self):
        # d/dx (x * d/dy (x + y)) at x = 1, y = 1 is 1, not 2.
        x = variable(1, "v", Fraction(1))
        inner = JETS.add(x, variable(2, "v", Fraction(1)))
        outer = JETS.mul(x, inner.partials["v"])
        self.assertEqual(outer.partials["v"], 1)

    def test_an_absent_path_adds_nothing(self):
        a = variable(1, "a", float("inf"))
        result = JETS.mul(a, Fraction(2))
        self.assertEqual(result.partials, {"a": Fraction(2)})
        self.assertNotIn("b", result.partials)


class Rows(unittest.TestCase):
    """Functions of a row against numerical differentiation of their formulas."""

    ROW = (Fraction(3, 4), Fraction(-5, 4), Fraction(2))

    def check(self, function, plain):
        for i in range(3):
            row = [variable(1, j, x) for j, x in enumerate(self.ROW)]
            for k, result in enumerate(function(row)):
                def moved(x):
                    return plain([x if j == i else to_mpf(y) for j, y in enumerate(self.ROW)])[k]
                expected = mpmath.diff(moved, to_mpf(self.ROW[i]))
                self.assertLess(abs(to_mpf(result.partials[i]) - expected), mpf(10) ** -15)
                self.assertLess(abs(to_mpf(result.value) - moved(to_mpf(self.ROW[i]))), mpf(10) ** -50)

    def test_softmax_and_kin(self):
        def powers(row):
            return [mpmath.exp(x) for x in row]
        self.check(JETS.softmax, lambda row: [p / sum(powers(row)) for p in powers(row)])
        self.check(JETS.log_softmax, lambda row: [x - mpmath.log(sum(powers(row))) for x in row])
        self.check(lambda row: [JETS.logsumexp(row)], lambda row: [mpmath.log(sum(powers(row)))])

    def test_layer_norm(self):
        weight, bias = [Fraction(2), Fraction(-1), Fraction(1, 2)], [Fraction(1)] * 3

        def plain(row):
            mean = sum(row) / 3
            deviation = mpmath.sqrt(sum((x - mean) ** 2 for x in row) / 3 + mpf(0.25))
            return [(x - mean) / deviation * to_mpf(w) + 1 for x, w in zip(row, weight)]
        self.check(lambda row: JETS.layer_norm(row, weight, bias, Fraction(1, 4)), plain)

    def test_the_largest_number_is_subtracted(self):
        self.assertEqual(JETS.softmax([Fraction(10**6), Fraction(10**6)]), [Fraction(1, 2)] * 2)
        nan = float("nan")
        self.assertTrue(all(x != x for x in JETS.softmax([Fraction(1), nan, Fraction(2)])))


class ComplexDerivatives(unittest.TestCase):
    def test_holomorphic_functions_satisfy_cauchy_riemann_and_match(self):
        point = Pair(Fraction(3, 4), Fraction(5, 8))
        z = mpc(to_mpf(point.re), to_mpf(point.im))
        for name, function in FUNCTIONS.items():
            argument = Pair(variable(1, "re", point.re), variable(1, "im", point.im))
            result = getattr(JETS, "c_" + name)(argument)
            value = function(z)
            slope = mpmath.diff(function, z)
            with self.subTest(name=name):
                self.assertLess(abs(mpc(result.re.value, result.im.value) - value), mpf(10) ** -50)
                for part, by, expected in ((result.re, "re", slope.real), (result.im, "re", slope.imag),
                                           (result.re, "im", -slope.imag), (result.im, "im", slope.real)):
                    self.assertLess(abs(to_mpf(part.partials[by]) - expected), mpf(10) ** -15)

    def test_modulus(self):
        result = JETS.c_abs(Pair(variable(1, "re", Fraction(-3)), variable(1, "im", Fraction(4))))
        self.assertEqual((result.value, result.partials), (5, {"re": Fraction(-3, 5), "im": Fraction(4, 5)}))
        self.assertEqual(JETS.c_abs(Pair(variable(1, "re", 0.0), variable(1, "im", 0.0))), 0)

    def test_pow_of_complex_numbers(self):
        a, b = Pair(Fraction(3, 4), Fraction(5, 8)), Pair(Fraction(1, 2), Fraction(-3, 2))
        value = JETS.c_pow(a, b)
        expected = mpc(0.75, 0.625) ** mpc(0.5, -1.5)
        self.assertLess(abs(mpc(value.re, value.im) - expected), mpf(10) ** -50)

    def test_powers(self):
        point = Pair(Fraction(3, 4), Fraction(-5, 8))
        cube = JETS.c_power(point, Fraction(3))
        self.assertEqual(complex(cube.re, cube.im), complex(0.75, -0.625) ** 3)
        inverse = JETS.c_power(point, Fraction(-1))
        self.assertEqual(JETS.c_mul(inverse, point), (1, 0))


if __name__ == "__main__":
    unittest.main()
