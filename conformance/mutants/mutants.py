#!/usr/bin/env python3
"""Known mistakes, put into the reference engine one at a time: does the suite notice?

    mutants.py check           each patch applies and compiles
    mutants.py run             builds each mutant, runs the suite on it, prints who noticed
    mutants.py run --write     and writes the table into docs/mutants.md

A mutant is killed when the suite is not all as expected on it. Scenarios run in the order of their ids on a
fresh worker, with a time limit each, until a few have failed: enough to name the smallest.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from engine_build import BuildFailed, EngineBuild
from kill_table import write_page
from patch_files import ROOT, BadPatch, read_all

SECONDS_FOR_A_SCENARIO = 5
FAILURES = 12      # then the run stops: the smallest of these is named
SECONDS_FOR_A_RUN = 180


@dataclasses.dataclass
class Result:
    mutant: object
    killed: bool = False
    trouble: str = ""          # does not apply, does not compile, ...
    by: str = ""               # suites, golden
    scenario: str = ""         # the smallest one that noticed
    clause: str = ""
    verdict: str = ""
    nodes: int = 0
    cases: int = 0             # run until the first that noticed, this one included
    seconds: float = 0         # the same, engine's start included
    noticed_by: int = 0        # scenarios, until the run was stopped

    def as_expected(self):
        return not self.trouble and self.killed != bool(self.mutant.survives)


class Suite:
    """The scenarios of a folder, run by the command of the build."""

    def __init__(self, build, name, folder):
        self.command = str(build / "bin" / "gradcts")
        self.name, self.folder = name, str(folder)
        listed = self._call("list", "--scenarios", "--json", "--suites", self.folder)
        self.nodes = {entry["id"]: entry.get("nodes", 0) for entry in json.loads(listed.stdout)}

    def _call(self, *arguments, timeout=None):
        return subprocess.run([self.command, *arguments], capture_output=True, text=True, timeout=timeout)

    def run(self, library, folder):
        """The records of the run's report, results in order; and what the command complained of, if anything."""
        report = folder / f"{self.name}.jsonl"
        try:
            done = self._call("run", "--engine", str(library), "--suites", self.folder, "--no-expect",
                              "--timeout", str(SECONDS_FOR_A_SCENARIO), "--max-failures", str(FAILURES),
                              "--report", f"json={report}", timeout=SECONDS_FOR_A_RUN)
        except subprocess.TimeoutExpired:
            return [], f"the run did not end within {SECONDS_FOR_A_RUN} s"
        if not report.exists():
            return [], done.stderr.strip()
        return [json.loads(line) for line in report.read_text().splitlines()], done.stderr.strip()


def judge(result, suite, records):
    """Fills in the result from a run's records; true when somebody noticed."""
    scenarios = [record for record in records if record["record"] == "scenario"]
    failed = [record for record in scenarios if not record["as_expected"]]
    problems = [record for record in records if record["record"] == "problem"]
    result.cases += len(scenarios)
    if not failed and not problems:
        result.seconds += sum(record["seconds"] for record in scenarios)
        return False
    result.killed, result.by = True, suite.name
    if failed:
        first = scenarios.index(failed[0])
        result.cases += first + 1 - len(scenarios)
        result.seconds += sum(record["seconds"] for record in scenarios[:first + 1])
        smallest = min(failed, key=lambda record: suite.nodes.get(record["id"], 0))
        result.scenario, result.verdict = smallest["id"], smallest["verdict"]
        result.nodes = suite.nodes.get(smallest["id"], 0)
        findings = smallest["findings"]
        result.clause = findings[0]["clause"] if findings else ", ".join(smallest["clauses"])
        result.noticed_by = len(failed)
    else:
        result.scenario, result.verdict = problems[0]["id"], "problem"
        result.clause = problems[0]["text"][:60]
    return True


def run_one(mutant, engine, suites):
    result = Result(mutant)
    with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as name:
        folder = pathlib.Path(name)
        try:
            library = engine.make(mutant, folder)
        except (BadPatch, BuildFailed) as problem:
            result.trouble = str(problem)
            return result
        for suite in suites:
            records, complaint = suite.run(library, folder)
            if not records:
                result.killed, result.by, result.verdict = True, suite.name, complaint
                return result
            if judge(result, suite, records):
                return result
    return result


def check_one(mutant, engine):
    result = Result(mutant)
    with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as name:
        try:
            engine.check(mutant, pathlib.Path(name))
        except (BadPatch, BuildFailed) as problem:
            result.trouble = str(problem)
    return result


def checked_in_words(result):
    return f"BROKEN  {result.trouble}" if result.trouble else "applies and compiles"


def in_words(result):
    if result.trouble:
        return f"BROKEN    {result.trouble}"
    if not result.killed:
        known = result.mutant.survives
        return f"survived  as known: {known}" if known else f"SURVIVED  {result.cases} cases"
    if result.mutant.survives:
        return f"KILLED    though its patch says that it survives; by {result.scenario} ({result.clause})"
    return (f"killed    by {result.scenario or result.verdict} ({result.clause}, {result.verdict}), "
            f"case {result.cases}, {result.seconds:.1f} s")


def all_of(mutants, jobs, work, words):
    """Results in order; a line for each as it is done."""
    results = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(work, mutant): mutant for mutant in mutants}
        for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
            result = future.result()
            results[result.mutant.name] = result
            print(f"[{done}/{len(mutants)}] {result.mutant.name:44} {words(result)}", flush=True)
    return [results[mutant.name] for mutant in mutants]


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["check", "run"])
    parser.add_argument("names", nargs="*", help="only these mutants (a part of the name is enough)")
    parser.add_argument("--build", default=ROOT / "build" / "release", type=pathlib.Path,
                        help="a build with gradcts and the reference engine (default: build/release)")
    parser.add_argument("--sample", type=int, metavar="N", help="N of them, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write the table into docs/mutants.md")
    return parser.parse_args(arguments)


def chosen(mutants, options):
    if options.names:
        mutants = [m for m in mutants if any(name in m.name for name in options.names)]
    if options.sample is not None and options.sample < len(mutants):
        mutants = sorted(random.Random(options.seed).sample(mutants, options.sample), key=lambda m: m.name)
    if not mutants:
        raise SystemExit("mutants: none is selected")
    return mutants


def main(arguments):
    options = parse(arguments)
    try:
        mutants = chosen(read_all(), options)
    except BadPatch as problem:
        raise SystemExit(f"mutants: {problem}")
    engine = EngineBuild(options.build)
    started = time.monotonic()
    if options.command == "check":
        results = all_of(mutants, options.jobs, lambda mutant: check_one(mutant, engine), checked_in_words)
        broken = [result for result in results if result.trouble]
        print(f"mutants: {len(results)} checked, {len(broken)} broken, {time.monotonic() - started:.0f} s")
        return 1 if broken else 0
    suites = [Suite(options.build, "suites", ROOT / "conformance" / "suites"),
              Suite(options.build, "golden", ROOT / "golden" / "cases")]
    results = all_of(mutants, options.jobs, lambda mutant: run_one(mutant, engine, suites), in_words)
    killed = sum(result.killed for result in results)
    broken = sum(bool(result.trouble) for result in results)
    wrong = sum(not result.as_expected() for result in results)
    print(f"mutants: {len(results)} run, {killed} killed, {len(results) - killed - broken} survived, "
          f"{broken} broken, {wrong} not as expected, {time.monotonic() - started:.0f} s")
    if options.write:
        write_page(results, time.monotonic() - started)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
