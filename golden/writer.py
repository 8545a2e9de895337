"""The files: suites of cases, and beside each a table that says where its bounds come from."""

from __future__ import annotations

import json

from exact.reals import DIGITS
from expectations import Golden
from random_numbers import SEED

VERSION = 1
SUITE_SCHEMA = "gradcts.suite/1"


def _line(value) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def scenario_text(golden: Golden) -> str:
    """One line for each leaf, node and step, so that files diff well."""
    scenario = golden.scenario
    lines = [f'"id": {_line(scenario["id"])}', f'"title": {_line(scenario["title"])}',
             f'"clauses": {_line(scenario["clauses"])}, "trace": {_line(scenario["trace"])}']
    for key in ("leaves", "nodes", "program"):
        entries = ",\n       ".join(_line(entry) for entry in scenario[key])
        lines.append(f'"{key}": [\n       {entries}]')
    return "    {" + ",\n     ".join(lines) + "}"


def suite_text(area: str, goldens: list[Golden]) -> str:
    blocks = ",\n".join(scenario_text(golden) for golden in goldens)
    return (f'{{\n  "schema": {_line(SUITE_SCHEMA)},\n  "area": {_line("golden/" + area)},\n'
            f'  "scenarios": [\n{blocks}\n  ]\n}}\n')


def bounds_lines(golden: Golden) -> str:
    """For each value that is read: its bound and the reason."""
    return "".join(f"{golden.case.full_id}\t{d.tensor}\t{d.bound}\t{d.reason}\n"
                   for d in golden.derivations)


def bounds_text(area: str, goldens: list[Golden]) -> str:
    head = (f"# Bounds of golden/cases/{area}.json: case, value, bound in units in the last place, why.\n"
            f"{provenance()}")
    return head + "".join(bounds_lines(golden) for golden in goldens)


def provenance() -> str:
    """What the bytes of a file depend on; no library's version is among it."""
    return (f"# Made by golden/generate.py, version {VERSION}, seed {SEED}; exact fractions where the\n"
            f"# operations allow, else {DIGITS} digits (mpmath); rounded once, to nearest even.\n")
