"""Tests of coverage.py, and that the page in the repository leaves no cell empty without a reason."""

import re
import unittest
from types import SimpleNamespace

import coverage
from families import Catalogue
from families.points import SpecialRecipe
from generate import FOLDER
from operations import OPERATIONS

CATALOGUE = Catalogue()


def tables(page: str) -> dict[tuple[str, str], str]:
    """The cell of each operation and column; reasons in words."""
    notes = dict(re.findall(r"^(\d+)\. (.*)$", page, re.MULTILINE))
    cells, columns = {}, []
    for line in page.splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| operation | types"):
            break  # the points that were left out
        if line.startswith("| operation"):
            columns = row[1:]
        elif line.startswith("| `"):
            for column, cell in zip(columns, row[1:], strict=True):
                number = re.fullmatch(r"\[(\d+)\]", cell)
                cells[row[0].strip("`"), column] = notes[number[1]] if number else cell
    return cells


def planned() -> list:
    """All cases without their expectations; of special points the first alone."""
    cases = []
    for recipe, _ in CATALOGUE._recipes:
        if isinstance(recipe, SpecialRecipe):
            first = next(point for group in recipe.points.values() for point in group)
            cases.append(recipe.build([first], ()))
        else:
            cases.append(recipe(attempt=0))
    return [SimpleNamespace(case=case) for case in cases]


class Coverage(unittest.TestCase):
    page = (FOLDER / "coverage.md").read_text()
    cells = tables(page)

    def test_every_cell_has_cases_or_the_reason_for_none(self):
        for operation in OPERATIONS:
            for _, columns in coverage.TABLES:
                for column in columns:
                    cell = self.cells[operation, column]
                    if not cell.isdigit() or cell == "0":
                        self.assertEqual(cell, coverage.reason(operation, column), (operation, column))

    def test_the_page_counts_the_cases_that_there_are(self):
        self.assertIn(f"\n{len(CATALOGUE)} cases;", self.page)
        counts = coverage.cells(planned())
        for title, columns in coverage.TABLES:
            if title == "Special values":  # which points have an expectation shows when they are made
                continue
            for operation in OPERATIONS:
                for column in columns:
                    if counts[operation, column]:
                        self.assertEqual(self.cells[operation, column], str(counts[operation, column]),
                                         (operation, column))

    def test_a_cell_that_loses_its_cases_is_noticed(self):
        goldens = [g for g in planned() if (g.case.operation, g.case.type) != ("softmax", "float16")]
        with self.assertRaisesRegex(coverage.Uncovered, "'softmax', 'float16'"):
            coverage.page(goldens, [])

    def test_the_vocabulary_is_that_of_the_scenario_language(self):
        page = (FOLDER.parent / "docs" / "scenario.md").read_text()
        table = page[page.index("### Operations"):page.index("### Custom nodes")]
        names = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
        self.assertEqual(sorted(names), sorted(OPERATIONS))


if __name__ == "__main__":
    unittest.main()
