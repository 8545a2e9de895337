"""Special points: the values at which conventions and limits of the types show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from case import Case
from exact.reals import INF, NAN
from exact.rounding import FORMATS
from expectations import BadCase, with_expectations
from random_numbers import to_json

# Upstream gradients of special elements: small, of both signs, exact in every type.
SEEDS = (2, -3, 0.5, -1.25, 1.5, -0.75, 3)


def special_points(scalar_type: str) -> dict[str, list]:
    """Name in the coverage table: the numbers that it stands for."""
    fmt = FORMATS[scalar_type]
    least, largest = to_json(12 * fmt.least), to_json(fmt.largest)
    return {
        "0": [0], "-0": [-0.0], "1": [1], "-1": [-1], "subnormal": [least, -least],
        "huge": [largest, -largest], "inf": [to_json(INF), to_json(-INF)], "nan": [to_json(NAN)],
    }


@dataclass(frozen=True)
class LeftOut:
    """A special point without an honest expectation; the coverage table shows why."""

    case: Case
    name: str
    point: object
    reason: str


@dataclass(frozen=True)
class SpecialRecipe:
    """A case of all points that have an expectation when each stands alone; the others go to
    `left_out`. Nothing here is random. build(points, names for the coverage table) makes the case."""

    points: dict[str, list]
    build: Callable[[list, tuple], Case]
    left_out: list[LeftOut]
    attempts = 1

    def __call__(self, attempt: int) -> Case:
        taken = [(name, point) for name, group in self.points.items() for point in group
                 if _has_expectation(self.build([point], ()), name, point, self.left_out)]
        names = tuple(dict.fromkeys(name for name, _ in taken))
        return self.build([point for _, point in taken], names)


def _has_expectation(case: Case, name: str, point, left_out: list[LeftOut]) -> bool:
    try:
        with_expectations(case.scenario)
    except BadCase as problem:
        left_out.append(LeftOut(case, name, point, str(problem).split(": ", 1)[1]))
        return False
    return True


def seeds(count: int) -> list:
    return [SEEDS[i % len(SEEDS)] for i in range(count)]
