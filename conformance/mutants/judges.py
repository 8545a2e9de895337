"""Changes by rule of the judges' sources, the checker and the oracle: do the suite's own tests notice each?

First the unit tests of checker, oracle and runner. What these let pass is given to all scenarios on the reference
engine, and then to the random cases of CTest's campaign: the oracle and an engine that shares no code with it must
agree. Only those are asked that come by the change when none is on.
"""
import json
import os
import pathlib
import re
import resource
import subprocess
import tempfile

import changes
import fuzzing
from change_record import REASONS, Record
from engine_build import EngineBuild
from patch_files import FOLDER, ROOT

RECORD = Record(FOLDER / "judges.json", "test", "conformance/")
# Unit tests, with which of them, in the order of what they take; and those over all scenarios, which come last.
UNIT_TESTS = (("oracle_test", "*"), ("checker_test", "-Suites.*"), ("gradcts_runner_test", "*"))
LONG_TESTS = (("checker_test", "Suites.*"),)
COMMAND = "gradcts"
FOLDERS = ("checker", "oracle")
SUITES = ROOT / "conformance" / "suites"
ON_THE_ENGINE = "reference: "  # before the scenario that notices
ON_RANDOM_CASES = "campaign: "  # before the case that notices
# Words for people; and what may change without being wrong: room that is asked for, moves instead of copies.
HARMLESS = re.compile(r"reserve\(|static_cast<void>|static_assert|std::move\(|= (delete|default);|text \+=")
SECONDS = 10  # of a processor, for a program; the slowest takes 2
SECONDS_WITHOUT_WORK = 600
QUICK = 0.04  # seconds of a processor, for a test; most take a hundredth
SECONDS_FOR_A_SCENARIO = 120  # a judge makes no engine hang: what looks like it is a busy machine
MEMORY = 4 << 30  # a loop without an end fills it


def all_changes():
    """In a fixed order, numbered from 1. Of the oracle conditions, values and loops; of the checker statements too."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / "conformance" / folder).glob("*.cpp"))]
    files = [str(path.relative_to(ROOT)) for path in paths if not path.name.endswith("_test.cpp")
             and path.name not in ("describe.cpp", "perfect_outcome.cpp")]  # words, and a part of the tests
    found = changes.numbered(files, HARMLESS)
    return [change for change in found if change.kind != "statement" or "/checker/" in change.file]


class Failed(Exception):
    """A program is not all as expected without a change: it says nothing about changes."""


class UnitTests:
    """Tests of one program. Those that can notice a change run until one fails: the quick ones together, then the others."""

    def __init__(self, program, which):
        self.program = program
        listed = run([program, "--gtest_list_tests", f"--gtest_filter={which}"]).stdout
        self.reached = {name: set() for name in tests_listed(listed)}  # test to the changes that it comes by
        self.seconds = {}

    def command(self, names):
        return [self.program, "--gtest_fail_fast", f"--gtest_filter={':'.join(names)}"]

    def look(self, name, notes):
        done = run(self.command([name]), notes=notes)
        if done.returncode != 0:
            raise Failed(f"{name} fails without a change: {done.stdout}{done.stderr}")

    def notices(self, change):
        names = [name for name, reached in self.reached.items() if change.number in reached]
        quick = [name for name in names if self.seconds[name] <= QUICK]
        for group in ([quick] if quick else []) + [[name] for name in names if name not in quick]:
            done = run(self.command(group), change)
            if done.returncode != 0:
                return f"{self.program.name}: {failed_test(done.stdout)}"
        return None


class Scenarios:
    """All scenarios on the reference engine, an area at a time, those first that take the least."""

    def __init__(self, command, engine):
        self.command, self.engine = command, engine
        self.reached = {path: set() for path in sorted(SUITES.iterdir())
                        if path.is_dir() and path.name != "expectations"}
        self.seconds = {}

    def run(self, area, folder, change=None, notes=None):
        """The scenario that is not as expected, or what else is wrong; None where all is well."""
        report = folder / "report.jsonl"
        done = run([self.command, "run", "--engine", self.engine, "--suites", area, "--timeout", str(SECONDS_FOR_A_SCENARIO),
                    "--max-failures", "1", "--report", f"json={report}"], change, notes)
        return None if done.returncode == 0 else failed_scenario(report, done)

    def look(self, area, notes):
        wrong = self.run(area, notes.parent, notes=notes)
        if wrong:
            raise Failed(f"{wrong} is not as expected without a change")

    def notices(self, change):
        for area, reached in self.reached.items():
            if change.number in reached:
                with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as folder:
                    wrong = self.run(area, pathlib.Path(folder), change)
                if wrong:
                    return ON_THE_ENGINE + wrong
        return None


class Campaign:
    """The random cases of CTest's campaign on the reference engine. Its workers do not tell what they came by."""

    def __init__(self, command):
        self.command = command
        self.reached, self.seconds = {"campaign": set()}, {}

    def run(self, folder, change=None, notes=None):
        return fuzzing.first_in_campaign(lambda *arguments: run([self.command, *arguments], change, notes), "reference",
                                         folder)

    def look(self, _, notes):
        wrong = self.run(notes.parent, notes=notes)
        if wrong:
            raise Failed(f"{wrong} fails without a change")

    def notices(self, change):
        with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as folder:
            wrong = self.run(pathlib.Path(folder), change)
        return wrong and ON_RANDOM_CASES + wrong


class Programs:
    """The unit tests and the command, with all the changes in them; those that are; and who comes by which."""

    def __init__(self, build, chosen, folder, jobs):
        names = [COMMAND, *(name for name, _ in UNIT_TESTS)]
        builds = {name: EngineBuild(build, name) for name in names}
        made, self.changes = changes.compile_all(builds[COMMAND], chosen, folder, jobs)
        paths = {}
        for name, program in builds.items():
            objects = program.objects_among(made)
            if objects:
                inside = folder / name
                inside.mkdir()
                paths[name] = program.link(name, {output: made[output] for output in objects}, inside)
        short, long = ([UnitTests(paths[name], which) for name, which in tests if name in paths]
                       for tests in (UNIT_TESTS, LONG_TESTS))
        engine = build / "lib" / "gradcts" / "libgradcts-reference.so"
        self.stages = [*short, Scenarios(paths[COMMAND], engine), *long, Campaign(paths[COMMAND])] if paths else []
        for stage in self.stages:
            look_all(stage)

    def noticed(self, change):
        """Who notices first; None where all is as expected."""
        return next((by for stage in self.stages if (by := stage.notices(change))), None)


def look_all(stage):
    """Runs each part of a stage without a change, and notes by which changes it comes; the quickest are the first then.
    Nothing else is to run meanwhile."""
    for part in stage.reached:
        with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as folder:
            begin, notes = processor_seconds(), pathlib.Path(folder) / "reached"
            stage.look(part, notes)
            stage.seconds[part] = processor_seconds() - begin
            stage.reached[part] = set(map(int, notes.read_text().split()))
    stage.reached = {part: stage.reached[part] for part in sorted(stage.seconds, key=stage.seconds.get)}


def processor_seconds():
    """What programs took so far: unlike the clock, the same beside other work."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command, change=None, notes=None):
    """A program that does not end counts as killed, as it does in CTest. It may take so much of a processor, since a
    busy machine lets it wait. `notes` is the file for the changes that it comes by."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    asked = {"GRADCTS_SUITES": str(SUITES)}  # of a program that lies somewhere else, too
    asked |= {"GRADCTS_MUTANT": str(change.number)} if change else {}
    asked |= {"GRADCTS_REACHED": str(notes)} if notes else {}
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS_WITHOUT_WORK,
                              preexec_fn=limit, env=os.environ | asked)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, -1, (late.stdout or b"").decode(errors="replace"), "no end")


def tests_listed(output):
    """Full names, of what `--gtest_list_tests` prints."""
    names, suite = [], ""
    for line in output.splitlines():
        text = line.split("#")[0].rstrip()
        if text.startswith("  "):
            names.append(suite + text.strip())
        elif text.endswith("."):
            suite = text
    return names


def failed_test(output):
    """The first test that failed, or in which the program ended."""
    failed = re.search(r"^\[  FAILED  \] (\w\S*)", output, re.MULTILINE)
    begun = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
    return failed[1].rstrip(",") if failed else begun[-1] if begun else "no test begins"


def failed_scenario(report, done):
    """The same of a run of the suites."""
    records = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    wrong = next((record for record in records
                  if record["record"] == "problem" or not record.get("as_expected", True)), None)
    return wrong["id"] if wrong else (done.stderr.strip().splitlines() or ["the command ends"])[-1]


def entry_of(change, test, known):
    """The reason that a person gave stays, as long as nobody notices."""
    kept = {} if test else {name: known[name] for name in REASONS if name in known}
    return {"line": change.line, "test": test} | kept


def table(entries):
    noticed = [entry["test"] for entry in entries.values() if entry["test"]]
    on_engine = sum(test.startswith(ON_THE_ENGINE) for test in noticed)
    by_random_cases = sum(test.startswith(ON_RANDOM_CASES) for test in noticed)
    ran = [f"{sum(change.key() in entries for change in found)} of the {len(found)} changes of the {name}"
           for name in FOLDERS for found in [[change for change in all_changes() if f"/{name}/" in change.file]]]
    return [f"Tried were {' and '.join(ran)}. Unit tests noticed {len(noticed) - on_engine - by_random_cases}; scenarios on "
            f"the reference engine {on_engine} more, and random cases {by_random_cases}.", "", *RECORD.table(entries)]
