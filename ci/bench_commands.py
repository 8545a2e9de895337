#!/usr/bin/env python3
"""Measures what only whole commands show, and prints it as Google Benchmark would write it.

    bench_commands.py GRADCTS

Controlled schedules a second of one core, of the engine that is rebuilt for them (two callers of 21 passes each, and two
ranks that reduce three buckets) and of libtorch under the preloaded library (the two callers); the seconds that the whole
suite takes on the reference engine. Where an engine is not there, its figure is left out.
"""
import json
import re
import subprocess
import sys

CALLERS = "thread/callers/own-graphs/2"
PASSES = 42  # of these callers
RANKS = "red/buckets/order/launches"
REPETITIONS = 3


def figure(command, pattern):
    """What several runs say; None where the command cannot be run."""
    found = []
    for _ in range(REPETITIONS):
        run = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        match = re.search(pattern, run.stdout)
        if run.returncode != 0 or not match:
            print(f"ci/bench: {' '.join(command)}: {run.stderr.strip() or run.stdout.strip()}", file=sys.stderr)
            return None
        found.append(float(match[1].replace(",", "")))
    return found


def schedules(gradcts, scenario, engine):
    return figure([gradcts, "explore", scenario, "--engine", engine, "--strategy", "pos", "--schedules", "1000"],
                  r"\(([\d,]+) a second\)")


def main(gradcts):
    records = []

    def add(name, counter, values, best, times=1):
        if values:
            records.append({"name": name, "cpu_time": 0, counter: best(values) * times})

    add("explore/reference", "schedules_a_second", schedules(gradcts, CALLERS, "reference"), max)
    add("explore/ranks", "schedules_a_second", schedules(gradcts, RANKS, "reference"), max)
    add("explore/libtorch", "passes_a_second", schedules(gradcts, CALLERS, "libtorch"), max, PASSES)
    add("suite/reference", "seconds",
        figure([gradcts, "run", "--engine", "reference"], r"scenarios in ([\d.]+) s"), min)
    json.dump({"benchmarks": records}, sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    main(sys.argv[1])
