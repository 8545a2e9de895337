#!/usr/bin/env python3
"""Prints measured figures beside their targets.

    bench_table.py TARGETS RESULTS...

RESULTS are JSON as Google Benchmark writes it; whoever measures something else writes the same form:
{"benchmarks": [{"name": "WHAT/WHO", "cpu_time": ..., COUNTER: ...}]}. Of several repetitions the fastest
counts, since noise only ever adds time.

TARGETS is a list of rows:
    what        what is measured, in words
    value       NAME:COUNTER, or one divided by another: "A:ns / B:ns"
    at most, or at least    the target
    unit        optional
    if missed   why, as far as it is known
    needs       optional: what must be installed for the row to be measured

Exit status: 0 when something was measured, whether targets are met or not; 1 when nothing was; 2 wrong use.
"""
import json
import sys


class Trouble(Exception):
    pass


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise Trouble(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise Trouble(f"{path}: no JSON: {error}") from None


def plain_name(name):
    """Without what Google Benchmark appends: "chain/floor/repeats:5/process_time"."""
    return "/".join(part for part in name.split("/")
                    if ":" not in part and part not in ("real_time", "process_time"))


def time_of(record):
    return record["real_time" if "real_time" in record["name"].split("/") else "cpu_time"]


def read_results(paths):
    fastest = {}
    for path in paths:
        for record in read_json(path).get("benchmarks", []):
            if record.get("run_type", "iteration") != "iteration" or record.get("error_occurred"):
                continue
            name = plain_name(record["name"])
            if name not in fastest or time_of(record) < time_of(fastest[name]):
                fastest[name] = record
    return fastest


def value_of(expression, results):
    """None where something was not measured."""
    values = []
    for term in expression.split(" / "):
        name, _, counter = term.rpartition(":")
        value = results.get(name, {}).get(counter)
        if value is None:
            return None
        values.append(value)
    if len(values) == 2 and values[1] == 0:
        return None
    return values[0] / values[1] if len(values) == 2 else values[0]


def cells(row, results):
    """What, target, value, and whether it is met, with the cause where it is not."""
    unit = f" {row['unit']}" if row.get("unit") else ""
    relation, target = ("at most", row["at most"]) if "at most" in row else ("at least", row["at least"])
    wanted = f"{relation} {target:g}{unit}"
    value = value_of(row["value"], results)
    if value is None:
        return row["what"], wanted, "-", "not measured" + (f": needs {row['needs']}" if "needs" in row else "")
    met = value <= target if relation == "at most" else value >= target
    verdict = "met" if met else "MISSED: " + row.get("if missed", "cause not known")
    return row["what"], wanted, f"{value:.3g}{unit}", verdict


def table(targets, results):
    rows = [("what", "target", "value", "")] + [cells(row, results) for row in targets]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(f"{what:<{widths[0]}}  {wanted:>{widths[1]}}  {value:>{widths[2]}}  {verdict}".rstrip()
                     for what, wanted, value, verdict in rows)


def main(arguments):
    if len(arguments) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        targets = read_json(arguments[0])
        results = read_results(arguments[1:])
    except Trouble as trouble:
        print(f"bench_table: {trouble}", file=sys.stderr)
        return 2
    print(table(targets, results))
    if all(value_of(row["value"], results) is None for row in targets):
        print("bench_table: no row was measured", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
