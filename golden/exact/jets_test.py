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
    "sqrt": mpmath.sqrt, "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
}
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
        for name, function in FUNCTIONS.items():
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

    def test_powers(self):
        point = Pair(Fraction(3, 4), Fraction(-5, 8))
        cube = JETS.c_power(point, Fraction(3))
        self.assertEqual(complex(cube.re, cube.im), complex(0.75, -0.625) ** 3)
        inverse = JETS.c_power(point, Fraction(-1))
        self.assertEqual(JETS.c_mul(inverse, point), (1, 0))


if __name__ == "__main__":
    unittest.main()
