#!/usr/bin/python3
"""Shows that the golden cases are sharp: a stated number that is moved beyond its bound fails exactly its
case.

  last_bit.py GRADCTS [--engine NAME] [--sample N]

In a copy of N cases, spread over all of them, every second case gets one stated number that is wrong: moved
by the least number of units that no right engine can meet, which is its last bit where the bound is 0. What
passed must fail in these cases and in no other.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from exact.judging import unit_of  # noqa: E402
from exact.reals import real  # noqa: E402
from exact.rounding import format_of, is_complex  # noqa: E402


def all_cases() -> list[dict]:
    """Scenarios with their full ids."""
    result = []
    for path in sorted((FOLDER / "cases").glob("*.json")):
        suite = json.loads(path.read_text())
        result += [{**s, "id": f"{suite['area']}/{s['id']}"} for s in suite["scenarios"]]
    return result


def move(scenario: dict) -> dict | None:
    """The scenario with one wrong number; None when nothing finite is stated."""
    changed = copy.deepcopy(scenario)
    for step in changed["program"]:
        for i, tensor in enumerate(step.get("expect", {}).get("values", [])):
            moved = _moved_tensor(tensor, step["expect"]["bound"])
            if moved is not None:
                step["expect"]["values"][i] = moved
                return changed
    return None


def _moved_tensor(tensor, bound: float):
    if not isinstance(tensor, (list, dict)):
        return None if isinstance(tensor, str) else _moved_number(tensor, bound, "float64")
    kind = tensor.get("type", "float64") if isinstance(tensor, dict) else "float64"
    values = tensor["values"] if isinstance(tensor, dict) else tensor
    for i, value in enumerate(values):
        parts = value if is_complex(kind) else [value]
        if any(isinstance(part, str) for part in parts):
            continue
        larger = max(range(len(parts)), key=lambda p: abs(parts[p]))
        moved = list(parts)
        moved[larger] = _moved_number(parts[larger], bound, kind)
        values[i] = moved if is_complex(kind) else moved[0]
        return tensor
    return None


def _moved_number(number: float, bound: float, kind: str) -> float:
    """Towards 0, where the unit does not grow. An engine is at most `bound` units from the number, so
    that more than twice as many keep it more than `bound` from the moved one."""
    unit = float(unit_of(real(number), format_of(kind)))
    return number - math.copysign((math.floor(2 * bound) + 1) * unit, number)


def verdicts(gradcts: str, engine: str, scenarios: list[dict]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        for i, scenario in enumerate(scenarios):
            text = json.dumps({"schema": "gradcts.scenario/1", **scenario})
            (Path(folder) / f"{i}.json").write_text(text)
        report = Path(folder) / "report.jsonl"
        run = subprocess.run([gradcts, "run", "--suites", folder, "--engine", engine, "--no-expect",
                              "--report", f"json={report}"], capture_output=True, text=True)
        if not report.exists():
            raise SystemExit(run.stderr)
        records = [json.loads(line) for line in report.read_text().splitlines()]
    return {r["id"]: r["verdict"] for r in records if r["record"] == "scenario"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gradcts", help="the command")
    parser.add_argument("--engine", default="reference")
    parser.add_argument("--sample", type=int, default=60)
    options = parser.parse_args()
    cases = all_cases()
    size = min(options.sample, len(cases))
    chosen = [cases[i * len(cases) // size] for i in range(size)]
    before = verdicts(options.gradcts, options.engine, chosen)
    moved = {s["id"]: m for s in chosen[::2] if (m := move(s)) and before[s["id"]] == "pass"}
    after = verdicts(options.gradcts, options.engine, [moved.get(s["id"], s) for s in chosen])
    wrong = [f"{name}: {after[name]}" for name in before
             if after[name] != ("fail" if name in moved else before[name])]
    print("\n".join(wrong))
    print(f"{len(moved)} of {size} cases have a wrong number; {len(wrong)} verdicts are not as they must be")
    return 1 if wrong or not moved else 0


if __name__ == "__main__":
    sys.exit(main())
