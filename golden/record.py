#!/usr/bin/python3
"""Writes engines.md: all golden cases on all engines, and every exception with its reason.

  record.py GRADCTS            runs the cases on the reference engine and on libtorch, and writes the page
  record.py GRADCTS --check    compares the page with what it would write

What PyTorch and JAX gave is read from cross_check/, which cross_check.py --write makes. Exit status: 1 when
the page differs, or when an exception has no reason.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
NO_REASON = "no reason is known"


@dataclass
class Record:
    """How many cases an engine was given, and why some are not as stated or were not run."""

    engine: str
    cases: int
    exceptions: Counter = field(default_factory=Counter)
    not_run: Counter = field(default_factory=Counter)

    @property
    def as_stated(self) -> int:
        return self.cases - self.exceptions.total() - self.not_run.total()


def run_on(gradcts: str, engine: str) -> Record:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.jsonl"
        run = subprocess.run([gradcts, "run", "--suites", FOLDER / "cases", "--engine", engine, "--report",
                              f"json={report}"], capture_output=True, text=True)
        if not report.exists():
            raise SystemExit(run.stderr)
        lines = [json.loads(line) for line in report.read_text().splitlines()]
    header = next(line for line in lines if line["record"] == "header")
    scenarios = [line for line in lines if line["record"] == "scenario"]
    record = Record(f"{header['engine']} {header['version']}, by gradcts", len(scenarios))
    known = _expected(engine)
    for scenario in scenarios:
        if scenario["verdict"] == "unsupported":
            record.not_run["not claimed: " + ", ".join(scenario["missing_features"])] += 1
        elif scenario["verdict"] != "pass":
            record.exceptions[_reason(known, scenario)] += 1
    return record


def _expected(engine: str) -> list[dict]:
    path = FOLDER / "cases" / "expectations" / f"{engine}.json"
    return json.loads(path.read_text())["expectations"] if path.exists() else []


def _reason(known: list[dict], scenario: dict) -> str:
    return next((entry["reason"] for entry in known if scenario["as_expected"]
                 and fnmatch.fnmatch(scenario["id"], entry["pattern"])), NO_REASON)


def cross_checked(engine: str) -> Record:
    """From the page of the cross-check: a case counts once, with the first of its values beyond."""
    lines = (FOLDER / "cross_check" / f"{engine}.md").read_text().splitlines()
    name = lines[0].removeprefix("# Golden cases on ")
    record = Record(f"{name}, by the cross-check", int(lines[2].split(" cases")[0]))
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| golden/")]
    for why in {row[0]: row[-1] for row in reversed(rows)}.values():
        record.exceptions[NO_REASON if why == "not explained" else why] += 1
    return record


def page(records: list[Record]) -> str:
    lines = ["# Golden cases on all engines", "",
             "Made by `golden/record.py`. An exception is a case of which at least one value is beyond its",
             "bound, or which the engine refuses.", "",
             "| engine | cases | as stated | exceptions | not run |", "|---|---|---|---|---|"]
    lines += [f"| {r.engine} | {r.cases} | {r.as_stated} | {r.exceptions.total()} | {r.not_run.total()} |"
              for r in records]
    for record in records:
        if record.exceptions or record.not_run:
            lines += ["", f"## {record.engine}", "", "| cases | why |", "|---|---|"]
            both = list(record.exceptions.items()) + list(record.not_run.items())
            lines += [f"| {count} | {why} |" for why, count in sorted(both, key=lambda e: (-e[1], e[0]))]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gradcts", help="the command")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    records = [run_on(options.gradcts, engine) for engine in ("reference", "libtorch")]
    records += [cross_checked(engine) for engine in ("torch", "jax")]
    text, path = page(records), FOLDER / "engines.md"
    unexplained = [r.engine for r in records if r.exceptions[NO_REASON]]
    if unexplained:
        print(f"exceptions without a reason: {', '.join(unexplained)}", file=sys.stderr)
    if options.check:
        same = path.exists() and path.read_text() == text
        print("as made" if same else f"{path.name} is not what record.py makes")
        return 0 if same and not unexplained else 1
    path.write_text(text)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
