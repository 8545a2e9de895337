#!/usr/bin/env python3
"""Known mistakes, put into the reference engine one at a time: does the suite notice?

    mutants.py check           each patch applies and compiles
    mutants.py run             builds each mutant, runs the suite on it, prints who noticed
    mutants.py run --write     and writes conformance/mutants/kills.json and the table of docs/mutants.md
    mutants.py fuzz --write    the same for the fuzzer alone (give names: each takes minutes)
    mutants.py explore --write the same for the explorer alone, of kinds race, hang and shutdown
    mutants.py clauses         every clause is broken by a mutant that is noticed by the clause's scenarios
    mutants.py generate        changes of the engine by rule (generated.py): --sample of them, by --seed
    mutants.py judges          changes of the checker and the oracle by rule (judges.py): do their tests notice?
    mutants.py page            makes the tables again from what is recorded

A mutant is killed when the suite is not all as expected on it, and as expected when each clause that its
patch names is broken for one of the clause's scenarios (trials.py).
"""
import argparse
import concurrent.futures
import functools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import changes
import exploring
import fuzzing
import generated
import judges
import record
from change_record import why
from engine_build import BuildFailed, EngineBuild
from kill_table import write_page
from patch_files import ROOT, BadPatch, read_all
from trials import Result, Suite, Trial


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
    what = "schedule" if result.by == "schedules" else "case"
    words = (f"by {result.scenario or result.verdict} ({result.clause}, {result.verdict}), "
             f"{what} {result.cases}, {result.seconds:.1f} s")
    unproven = ", ".join(result.unproven())
    return f"killed    {words}" if not unproven else f"MISSED    by all scenarios of {unproven}; killed {words}"


def as_done(items, jobs, work):
    """Each item with what `work` gives for it, as it is done. A mistake of ours is told at once, not after all others."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(work, item): item for item in items}
        try:
            for future in concurrent.futures.as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def all_of(mutants, jobs, work, words, keep=lambda result: None):
    """Results in order; a line for each as it is done, when it is also kept."""
    results = {}
    for mutant, result in as_done(mutants, jobs, work):
        results[mutant.name] = result
        print(f"[{len(results)}/{len(mutants)}] {mutant.name:44} {words(result)}", flush=True)
        keep(result)
    return [results[mutant.name] for mutant in mutants]


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["check", "run", "fuzz", "explore", "clauses", "generate", "judges", "page"])
    parser.add_argument("names", nargs="*", help="only these mutants, or sources of changes (a part of the name is enough)")
    parser.add_argument("--build", default=ROOT / "build" / "release", type=pathlib.Path,
                        help="a build with gradcts and the reference engine (default: build/release)")
    parser.add_argument("--sample", type=int, metavar="N", help="N of them, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--survivors", action="store_true", help="generate, judges: those that nobody noticed yet")
    parser.add_argument("--killed", action="store_true", help="judges: those that somebody noticed when last tried")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="keep the results: kills.json and docs/mutants.md")
    parser.add_argument("--cases", type=int, default=2000, help="of the fuzzer, for a mutant (default 2000)")
    return parser.parse_args(arguments)


def chosen(options):
    mutants = read_all()
    if options.names:
        mutants = [m for m in mutants if any(name in m.name for name in options.names)]
    if options.sample is not None and options.sample < len(mutants):
        mutants = sorted(random.Random(options.seed).sample(mutants, options.sample), key=lambda m: m.name)
    if not mutants:
        raise SystemExit("mutants: none is selected")
    return mutants


def check(options):
    started, mutants = time.monotonic(), chosen(options)
    engine = EngineBuild(options.build)
    results = all_of(mutants, options.jobs, lambda mutant: check_one(mutant, engine), checked_in_words)
    broken = sum(bool(result.trouble) for result in results)
    print(f"mutants: {len(results)} checked, {broken} broken, {time.monotonic() - started:.0f} s")
    return 1 if broken else 0


def run(options):
    started, mutants = time.monotonic(), chosen(options)

    def keep(result):
        if options.write:  # each at once, so that a long run can be interrupted
            record.update([result], read_all())

    rebuilt = functools.cache(lambda: EngineBuild(options.build, "gradcts-rebuilt-reference"))
    trial = Trial(EngineBuild(options.build), rebuilt, Suite(options.build, "suites", ROOT / "conformance" / "suites"),
                  Suite(options.build, "golden", ROOT / "golden" / "cases"))
    results = all_of(mutants, options.jobs, trial.run, in_words, keep)
    killed = sum(result.killed for result in results)
    broken = sum(bool(result.trouble) for result in results)
    wrong = sum(not result.as_expected() for result in results)
    print(f"mutants: {len(results)} run, {killed} killed, {len(results) - killed - broken} survived, "
          f"{broken} broken, {wrong} not as expected, {time.monotonic() - started:.0f} s, "
          f"{judges.processor_seconds():.0f} s of a processor")
    if options.write:
        write_page(read_all(), record.read())
    return 1 if wrong else 0


def fuzz(options):
    engine = EngineBuild(options.build)
    for mutant in chosen(options):
        fuzzed = fuzzing.fuzz(mutant, engine, options.build / "bin" / "gradcts", options.cases)
        print(f"{mutant.name:44} {fuzzing.in_words(fuzzed)}", flush=True)
        if options.write:  # each at once, so that a long run can be interrupted
            fuzzing.write(fuzzing.read() | {mutant.name: fuzzed})
    return 0


def explore(options):
    mutants = [mutant for mutant in chosen(options) if mutant.kind in exploring.KINDS]
    rebuilt = EngineBuild(options.build, "gradcts-rebuilt-reference")
    suite, proofs = Suite(options.build, "suites", ROOT / "conformance" / "suites"), record.read()

    def explore_one(mutant):
        return exploring.explore(mutant, rebuilt, suite, proofs[mutant.name]["proofs"])

    for mutant, explored in as_done(mutants, options.jobs, explore_one):
        print(f"{mutant.name:44} {exploring.in_words(explored)}", flush=True)
        if options.write:  # each at once, so that a long run can be interrupted
            exploring.write(exploring.read() | {mutant.name: explored}, read_all())
    return 0


def clauses(options):
    listed = subprocess.run([options.build / "bin" / "gradcts", "list", "--clauses", "--json", "--suites",
                             ROOT / "conformance" / "suites"], capture_output=True, text=True, check=True)
    problems = record.problems(read_all(), record.read(), json.loads(listed.stdout))
    for problem in problems:
        print(problem)
    print(f"mutants: {len(read_all())} patches, {len(problems)} problems")
    return 1 if problems else 0


def generate(options):
    drawn = [change for change in generated.all_changes() if not options.names or
             any(name in change.file for name in options.names)]
    if options.survivors:
        entries = generated.RECORD.read()
        drawn = [change for change in drawn if not entries.get(change.key(), {"scenario": "never tried"})["scenario"]]
    else:
        drawn = changes.sample(drawn, options.sample or 400, options.seed)
    if not drawn:
        raise SystemExit("mutants: no change is selected")
    folder = ROOT / "conformance" / "suites"
    with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as name:
        quick = pathlib.Path(name) / "quick"
        generated.write_quick_suite(folder, quick)
        suites = (Suite(options.build, "quick", quick), Suite(options.build, "suites", folder),
                  Suite(options.build, "golden", ROOT / "golden" / "cases"))
        library, drawn = generated.build(EngineBuild(options.build), drawn, pathlib.Path(name), options.jobs)
        return try_all(generated, drawn, lambda change: generated.try_one(change, library, suites), options)


def judge(options):
    drawn = [change for change in judges.all_changes() if not options.names or
             any(name in change.file for name in options.names)]
    if options.survivors or options.killed:
        entries = judges.RECORD.read()
        drawn = [change for change in drawn if bool(entries.get(change.key(), {}).get("test")) == options.killed]
    if options.sample is not None:
        drawn = changes.sample(drawn, options.sample, options.seed)
    if not drawn:
        raise SystemExit("mutants: no change is selected")
    with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as name:
        programs = judges.Programs(options.build.resolve(), drawn, pathlib.Path(name), options.jobs)
        return try_all(judges, programs.changes, programs.noticed, options)


def try_all(kind, drawn, noticed, options):
    """Tries changes by rule; `kind` is the module with their record. 1 when nobody knows why one survived."""
    started, unknown = time.monotonic(), 0
    keys = {change.key() for change in kind.all_changes()}  # what the sources have no more is dropped
    entries = {key: entry for key, entry in kind.RECORD.read().items() if key in keys}
    for done, (change, by) in enumerate(as_done(drawn, options.jobs, noticed), 1):
        entry = entries[change.key()] = kind.entry_of(change, by, entries.get(change.key(), {}))
        unknown += not by and not why(entry)
        words = f"killed by {by}" if by else f"survived: {why(entry) or 'nobody knows why'}"
        print(f"[{done}/{len(drawn)}] {change.file}:{change.line} {change.what}: {words}", flush=True)
        if options.write:  # each at once, so that a long run can be interrupted
            kind.RECORD.write(entries)
    print(f"mutants: {len(drawn)} changes, {unknown} survived and nobody knows why, {time.monotonic() - started:.0f} s, "
          f"{judges.processor_seconds():.0f} s of a processor")
    if options.write:
        write_page(read_all(), record.read())
    return 1 if unknown else 0


def page(_):
    write_page(read_all(), record.read())
    return 0


def main(arguments):
    options = parse(arguments)
    commands = {"check": check, "run": run, "fuzz": fuzz, "explore": explore, "clauses": clauses, "generate": generate,
                "judges": judge, "page": page}
    try:
        return commands[options.command](options)
    except (BadPatch, judges.Failed) as problem:
        raise SystemExit(f"mutants: {problem}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
