#!/usr/bin/python3
"""Makes the golden cases, or checks that the files are what it would make.

  generate.py                     writes cases/, bounds/ and coverage.md beside this file
  generate.py --check             makes everything again and compares byte for byte
  generate.py --check --sample N  the same for N cases, spread over all of them

Exit status: 0 as expected, 1 something differs, 2 wrong use.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import coverage  # noqa: E402
from families import Catalogue  # noqa: E402
from writer import bounds_lines, bounds_text, scenario_text, suite_text  # noqa: E402


def everything(catalogue: Catalogue) -> dict[str, str]:
    """The content of every file, by its path below this folder."""
    by_area = defaultdict(list)
    for index in range(len(catalogue)):
        golden = catalogue.make(index)
        by_area[golden.case.area].append(golden)
    files = {}
    for area, goldens in by_area.items():
        files[f"cases/{area}.json"] = suite_text(area, goldens)
        files[f"bounds/{area}.tsv"] = bounds_text(area, goldens)
    goldens = [golden for group in by_area.values() for golden in group]
    ids = [golden.case.full_id for golden in goldens]
    assert len(set(ids)) == len(ids), [i for i in ids if ids.count(i) > 1]
    files["coverage.md"] = coverage.page(goldens, catalogue.left_out)
    return files


def present() -> dict[str, str]:
    paths = [*FOLDER.glob("cases/*.json"), *FOLDER.glob("bounds/*.tsv"), FOLDER / "coverage.md"]
    return {str(path.relative_to(FOLDER)): path.read_text() for path in sorted(paths)
            if path.exists()}


def write(files: dict[str, str]) -> None:
    for name in present().keys() - files.keys():
        (FOLDER / name).unlink()
    for name, text in files.items():
        path = FOLDER / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def check_all(catalogue: Catalogue) -> list[str]:
    made, found = everything(catalogue), present()
    problems = [f"{name}: not made by the generator" for name in found.keys() - made.keys()]
    problems += [f"{name}: {_difference(text, found.get(name, ''))}"
                 for name, text in made.items() if text != found.get(name)]
    return problems


def _difference(made: str, found: str) -> str:
    for number, (a, b) in enumerate(zip(made.splitlines(), found.splitlines()), 1):
        if a != b:
            return f"line {number} differs\n  made:  {a}\n  found: {b}"
    return "another number of lines"


def check_sample(catalogue: Catalogue, size: int) -> list[str]:
    found, problems = present(), []
    count = sum(text.count('\n    {"id": ') for text in found.values())
    if count != len(catalogue):
        problems.append(f"the files have {count} cases, the generator makes {len(catalogue)}")
    size = min(size, len(catalogue))
    for index in sorted({i * len(catalogue) // size for i in range(size)}):
        golden = catalogue.make(index)
        for name, text in ((f"cases/{golden.case.area}.json", scenario_text(golden)),
                           (f"bounds/{golden.case.area}.tsv", bounds_lines(golden))):
            if text not in found.get(name, ""):
                problems.append(f"{name}: the case {golden.case.full_id} is not as made")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--sample", type=int, metavar="N", help="check N cases only")
    options = parser.parse_args()
    if options.sample is not None and (not options.check or options.sample < 1):
        parser.error("--sample N goes with --check, and N is at least 1")
    catalogue = Catalogue()
    if not options.check:
        write(everything(catalogue))
        print(f"{len(catalogue)} cases written")
        return 0
    problems = check_sample(catalogue, options.sample) if options.sample else check_all(catalogue)
    print("\n".join(problems) if problems else f"as made ({len(catalogue)} cases in all)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
