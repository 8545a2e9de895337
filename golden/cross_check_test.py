"""Tests of cross_check.py and last_bit.py: distances as the checker counts them."""

import math
import unittest

import cross_check
import last_bit


class Distances(unittest.TestCase):
    def test_units_of_the_stated_number(self):
        one_up, one_down = math.nextafter(1, 2), math.nextafter(1, 0)
        self.assertEqual(cross_check.distance([1.0], [one_up], "float64"), 1)
        self.assertEqual(cross_check.distance([1.0], [one_down], "float64"), 0.5)
        self.assertEqual(cross_check.distance([1.0], [1 + 2.0**-22], "float32"), 2)
        self.assertEqual(cross_check.distance([0.0], [5e-324], "float64"), 1)

    def test_parts_of_a_complex_number_share_a_unit(self):
        self.assertEqual(cross_check.distance([1.0, 2.0**-30], [1.0, 2.0**-30 + 2.0**-53], "complex128"), 0.5)

    def test_special_values(self):
        nan, inf = math.nan, math.inf
        self.assertEqual(cross_check.distance([nan, inf, 0.0], [nan, inf, -0.0], "float64"), 0)
        for stated, found in ((1.0, nan), (nan, 1.0), (inf, 1.0), (1.0, inf), (inf, -inf)):
            self.assertEqual(cross_check.distance([stated], [found], "float64"), inf)


class Pages(unittest.TestCase):
    def test_a_page_is_read_as_it_was_written(self):
        for engine in ("torch", "jax"):
            path = cross_check.FOLDER / "cross_check" / f"{engine}.md"
            text = path.read_text()
            version = text.splitlines()[0].removeprefix("# Golden cases on ")
            self.assertEqual(cross_check.page(version, cross_check.sections_in(text)), text)

    def test_values_beyond_their_bound_are_told_with_their_area(self):
        values = [cross_check.Value("golden/add/x", 1, 0), cross_check.Value("golden/add/x", 1, 3)]
        row, beyond = cross_check.sections_of("torch", values)["add"]
        self.assertEqual(row, "| add | 2 | 1 | 0 | 0 |")
        self.assertEqual(beyond, ["| golden/add/x | 3 | 1 | not explained |"])


class Moving(unittest.TestCase):
    def test_no_right_engine_can_meet_the_moved_number(self):
        for number, bound in ((1.0, 0), (-1.5, 2), (3.0, 0.5), (5e-324, 1), (0.0, 3)):
            moved = last_bit._moved_number(number, bound, "float64")
            nearest = number + math.copysign(bound * math.ulp(number), moved - number)
            self.assertGreater(cross_check.distance([moved], [nearest], "float64"), bound)

    def test_one_number_of_a_case_changes(self):
        case = {"program": [{"do": "read", "expect": {"values": [["nan", 2, 3]], "bound": 0}}]}
        moved = last_bit.move(case)["program"][0]["expect"]["values"][0]
        self.assertEqual(moved, ["nan", 2 - 2.0**-51, 3])


if __name__ == "__main__":
    unittest.main()
