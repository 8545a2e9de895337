#!/usr/bin/python3
"""A second opinion on the golden cases: how far PyTorch and JAX are from the stated values.

  cross_check.py [--engine torch|jax] [PATTERN]   prints every value beyond its bound
  cross_check.py [--engine torch|jax] --write     also writes cross_check/ENGINE.md; with a PATTERN of
                                                  whole areas ("golden/pow/*") only their lines of it

The stated values do not come from here. A value beyond its bound is a limit of the engine, which
EXPLANATIONS names, or a finding. Exit status 1: one of them is not explained.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import json
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from exact.judging import unit_of  # noqa: E402
from exact.reals import real  # noqa: E402
from exact.rounding import format_of, is_complex  # noqa: E402


@dataclass(frozen=True)
class Value:
    """One tensor that was read, and the largest distance of its numbers in units."""

    case: str
    bound: float
    distance: float
    problem: str = ""  # why there is no number


def scenarios() -> list[tuple[str, dict]]:
    """(id, scenario) of all files, in order."""
    result = []
    for path in sorted((FOLDER / "cases").glob("*.json")):
        suite = json.loads(path.read_text())
        result += [(f"{suite['area']}/{s['id']}", s) for s in suite["scenarios"]]
    return result


def _stated(tensor) -> tuple[str, list[int], list]:
    if isinstance(tensor, list):
        tensor = {"values": tensor}
    elif not isinstance(tensor, dict):
        tensor = {"shape": [], "values": [tensor]}
    kind = tensor.get("type", "float64")
    values = tensor["values"]
    flat = [float(p) for v in values for p in v] if is_complex(kind) else [float(v) for v in values]
    if "sparse" not in tensor:
        return kind, tensor.get("shape", [len(values)]), flat
    rows, shape = tensor["sparse"]["indices"][0], tensor["shape"]
    width = len(flat) // len(rows)
    dense = [0.0] * (width * shape[0])
    for i, row in enumerate(rows):
        dense[row * width:(row + 1) * width] = flat[i * width:(i + 1) * width]
    return "sparse " + kind, shape, dense


def distance(expected: list[float], actual: list[float], kind: str) -> float:
    """The largest distance in units of the expected numbers, by the checker's rule."""
    fmt, worst = format_of(kind), 0.0
    for i, (e, a) in enumerate(zip(expected, actual, strict=True)):
        if e == a or (math.isnan(e) and math.isnan(a)):
            continue
        peers = expected[i - i % 2:i - i % 2 + 2] if is_complex(kind) else [e]
        unit = max(float(unit_of(real(p), fmt)) for p in peers)
        gap = abs(e - a) / unit
        worst = max(worst, math.inf if math.isnan(gap) else gap)
    return worst


def check(case: str, scenario: dict, engine) -> list[Value]:
    steps = [step for step in scenario["program"] if "expect" in step]
    try:
        reads = engine.reads(scenario)
    except Exception as error:  # whatever an engine throws is its answer
        return [Value(case, 0, math.inf, str(error).splitlines()[0][:160])]
    result = []
    for step, tensors in zip(steps, reads, strict=True):
        bound = step["expect"]["bound"]
        for stated, (kind, shape, values) in zip(step["expect"]["values"], tensors, strict=True):
            want_kind, want_shape, numbers = _stated(stated)
            if (kind, shape) != (want_kind, want_shape):
                result.append(Value(case, bound, math.inf,
                                    f"{kind} {shape} instead of {want_kind} {want_shape}"))
                continue
            kind = kind.removeprefix("sparse ")
            gap = distance(numbers, values, kind)
            rest = _normal_elements(scenario, numbers, kind) if gap > bound else []
            only = gap > bound and distance([numbers[i] for i in rest], [values[i] for i in rest],
                                            kind) <= bound
            result.append(Value(case, bound, gap, SUBNORMAL if only else ""))
    return result


SUBNORMAL = "only where a number is subnormal"


def _normal_elements(scenario: dict, numbers: list[float], kind: str) -> list[int]:
    """Where neither the stated number nor what stands in the same place of a leaf is subnormal."""
    if is_complex(kind):
        return list(range(len(numbers)))
    columns = [_stated(leaf["value"])[2] for leaf in scenario["leaves"]]
    columns = [numbers] + [c for c in columns if c and len(c) % max(len(numbers), 1) == 0]
    limit = float(format_of(kind).least_normal)
    return [i for i in range(len(numbers))
            if not any(0 < abs(x) < limit for c in columns
                       for x in c[i * len(c) // len(numbers):(i + 1) * len(c) // len(numbers)])]


# Why an engine is beyond a bound or refuses a case: (engine, pattern of ids, word in the problem, reason).
EXPLANATIONS = (
    ("torch", "*/float16/*", "not implemented for 'Half'", "no float16 on the CPU for this function"),
    ("torch", "*/two-passes/float16", "not implemented for 'Half'", "no float16 on the CPU"),
    ("torch", "golden/embedding/complex*", "does not support automatic differentiation",
     "embeddings of complex numbers are not differentiated"),
    ("torch", "golden/layer_norm/float64/derivative-3", "", "the third derivative of layer_norm is wrong"),
    ("torch", "golden/log1p/*/largest", "", "the vector library's log1p is inf above 1e307 (float32: 1e38)"),
    ("torch", "golden/pow/*/largest", "", "the vector library's pow is inf already for the largest number"),
    ("jax", "*", SUBNORMAL, "XLA on the CPU takes subnormal numbers for 0"),
    ("jax", "golden/clamp/*/special", "", "half of the gradient passes at a limit, and at a subnormal"),
    ("jax", "golden/view_as_real/*/special", "", "XLA on the CPU takes subnormal numbers for 0"),
    ("jax", "golden/abs/*/special", "", "all of the gradient passes at 0"),
    ("jax", "golden/pow/*/special", "", "subnormals are 0, also on the way; 0 ** 0 has the gradient 0 * inf"),
    ("jax", "golden/erf/float32/*", "", "a rational approximation of XLA, within 2 units"),
    ("jax", "golden/embedding/*", "instead of sparse", "no sparse gradients"),
    ("jax", "golden/models/bag-of-words/*", "instead of sparse", "no sparse gradients"),
    ("jax", "golden/div*", "", "a broadcast divisor becomes a product with its reciprocal: XLA"),
    ("jax", "golden/sqrt/*/special", "", "g * (0.5 / y): a rounding more than g / (2 y); subnormals are 0"),
    ("jax", "golden/programs/intermediate/*", "", "inputs that depend on each other count as independent"),
    ("jax", "*", "views is changed in place", "arrays have no storage to share: not expressible"),
)


def explanation(engine: str, value: Value) -> str:
    for name, pattern, word, why in EXPLANATIONS:
        if name == engine and fnmatch.fnmatch(value.case, pattern) and word in value.problem:
            return why
    return "not explained"


Section = tuple[str, list[str]]  # of an area: its row of the page, and its rows beyond the bound


def page(version: str, sections: dict[str, Section]) -> str:
    """The areas in the order of the files, whose cases are counted."""
    cases = [case.split("/")[1] for case, _ in scenarios()]
    areas = [area for area in dict.fromkeys(cases) if area in sections]
    rows = [sections[area][0] for area in areas]
    beyond = [line for area in areas for line in sections[area][1]]
    values = sum(int(row.split(" | ")[1]) for row in rows)
    lines = [f"# Golden cases on {version}", "",
             f"{sum(case in sections for case in cases)} cases, {values} values, {len(beyond)} beyond their"
             " bound or refused. Distances are",
             "in units in the last place of the stated number. Made by `golden/cross_check.py --write`;"
             " functions of",
             "the machine's libraries take part, so that another machine may differ within the bounds.", "",
             "| area | values | equal | largest distance | largest share of a bound |", "|---|---|---|---|---|"]
    lines += rows + ["", "## Beyond the bound", "", "| case | distance | bound | why |", "|---|---|---|---|"]
    return "\n".join(lines + beyond) + "\n"


def sections_of(engine: str, values: list[Value]) -> dict[str, Section]:
    by_area: dict[str, list[Value]] = {}
    for value in values:
        by_area.setdefault(value.case.split("/")[1], []).append(value)
    return {area: (_row(area, found), [f"| {v.case} | {_told(v)} | {v.bound} | {explanation(engine, v)} |"
                                       for v in found if v.distance > v.bound])
            for area, found in by_area.items()}


def sections_in(text: str) -> dict[str, Section]:
    """Those of a page that is there, so that a few areas can be run again."""
    summary, beyond = text.split("## Beyond the bound")
    rows = [line for line in summary.splitlines() if line.startswith("| ") and not line.startswith("| area")]
    lines = [line for line in beyond.splitlines() if line.startswith("| golden/")]
    return {area: (row, [line for line in lines if line.startswith(f"| golden/{area}/")])
            for row in rows for area in [row.split(" | ")[0].removeprefix("| ")]}


def _told(value: Value) -> str:
    if math.isinf(value.distance) and value.problem not in ("", SUBNORMAL):
        return value.problem
    return f"{value.distance:.3g} {value.problem}".strip()


def _row(area: str, values: list[Value]) -> str:
    within = [v for v in values if v.distance <= v.bound]
    equal = sum(v.distance == 0 for v in within)
    farthest = max((v.distance for v in within), default=0)
    share = max((v.distance / v.bound for v in within if v.bound), default=0)
    return f"| {area} | {len(values)} | {equal} | {farthest:.3g} | {share:.2g} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=("torch", "jax"), default="torch")
    parser.add_argument("--write", action="store_true", help="write cross_check/ENGINE.md")
    parser.add_argument("--sample", type=int, metavar="N", help="N cases, spread over all of them")
    parser.add_argument("pattern", nargs="?", default="*")
    options = parser.parse_args()
    if options.write and (options.sample or not re.fullmatch(r"\*|golden/[^/]+/\*", options.pattern)):
        parser.error('--write goes with whole areas: a pattern such as "golden/pow/*", and no --sample')
    engine = importlib.import_module(f"engines_{options.engine}")
    cases = [pair for pair in scenarios() if fnmatch.fnmatch(pair[0], options.pattern)]
    size = min(options.sample or len(cases), len(cases))
    chosen = [cases[i * len(cases) // size] for i in range(size)]
    values = [value for case, scenario in chosen for value in check(case, scenario, engine)]
    beyond = [value for value in values if value.distance > value.bound]
    for value in beyond:
        print(f"{value.case}: {value.distance:.3g} > {value.bound} {value.problem}: "
              f"{explanation(options.engine, value)}")
    print(f"{engine.version()}: {len(values)} values, {len(beyond)} beyond their bound")
    if options.write:
        path = FOLDER / "cross_check" / f"{options.engine}.md"
        before = sections_in(path.read_text()) if len(chosen) < len(scenarios()) else {}
        path.write_text(page(engine.version(), before | sections_of(options.engine, values)))
    unexplained = any(explanation(options.engine, value) == "not explained" for value in beyond)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
