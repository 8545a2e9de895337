"""Changes by rule of the judges' sources, the checker and the oracle: do the suite's own tests notice each?

First the unit tests of checker, oracle and runner. What these let pass is given to all scenarios on the reference
engine: the oracle and an engine that shares no code with it must agree.
"""
import json
import os
import pathlib
import re
import resource
import subprocess
import types

import changes
from change_record import Record
from engine_build import EngineBuild
from patch_files import FOLDER, ROOT

RECORD = Record(FOLDER / "judges.json", "test", "conformance/")
# Unit tests, with which of them, in the order of what they take; and those over all scenarios, which come last.
UNIT_TESTS = (("oracle_test", "*"), ("checker_test", "-Suites.*"), ("gradcts_runner_test", "*"))
LONG_TESTS = (("checker_test", "Suites.*"),)
COMMAND = "gradcts"
FOLDERS = ("checker", "oracle")
ON_THE_ENGINE = "reference: "  # before the scenario that notices
# Words for people; and what may change without being wrong: room that is asked for, moves instead of copies.
HARMLESS = re.compile(r"reserve\(|static_cast<void>|static_assert|std::move\(|= (delete|default);|text \+=")
SECONDS = 20  # of a processor, for a program; the slowest takes 4
SECONDS_WITHOUT_WORK = 600
SECONDS_FOR_A_SCENARIO = 120  # a judge makes no engine hang: what looks like it is a busy machine
MEMORY = 4 << 30  # a loop without an end fills it


def all_changes():
    """In a fixed order, numbered from 1. Of the oracle conditions, values and loops; of the checker statements too."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / "conformance" / folder).glob("*.cpp"))]
    files = [str(path.relative_to(ROOT)) for path in paths if not path.name.endswith("_test.cpp")
             and path.name not in ("describe.cpp", "perfect_outcome.cpp")]  # words, and a part of the tests
    found = changes.numbered(files, HARMLESS)
    return [change for change in found if change.kind != "statement" or "/checker/" in change.file]


class Programs:
    """The unit tests and the command, with all the changes in them; and those that are."""

    def __init__(self, build, chosen, folder, jobs):
        self.build = build
        names = [COMMAND, *(name for name, _ in UNIT_TESTS)]
        builds = self.builds = {name: EngineBuild(build, name) for name in names}
        made, self.changes = changes.compile_all(builds[COMMAND], chosen, folder, jobs)
        self.paths = {}
        for name, program in builds.items():
            inside = folder / name
            inside.mkdir()
            self.paths[name] = program.link(name, {output: made[output] for output in program.objects_among(made)}, inside)

    def noticed(self, change):
        """Who notices first; None where all is as expected."""
        return (self._noticed_by_tests(change, UNIT_TESTS) or self._noticed_on_the_engine(change)
                or self._noticed_by_tests(change, LONG_TESTS))

    def _noticed_by_tests(self, change, tests):
        for name, which in tests:
            if not self.builds[name].objects_of(types.SimpleNamespace(files=[change.file])):
                continue
            done = run([self.paths[name], "--gtest_fail_fast", f"--gtest_filter={which}"], change)
            if done.returncode != 0:
                return f"{name}: {failed_test(done.stdout)}"
        return None

    def _noticed_on_the_engine(self, change):
        report = self.paths[COMMAND].parent / f"{change.number}.jsonl"
        engine = self.build / "lib" / "gradcts" / "libgradcts-reference.so"
        done = run([self.paths[COMMAND], "run", "--engine", engine, "--suites", ROOT / "conformance" / "suites",
                    "--timeout", str(SECONDS_FOR_A_SCENARIO), "--max-failures", "1", "--report", f"json={report}"], change)
        return None if done.returncode == 0 else ON_THE_ENGINE + failed_scenario(report, done)


def run(command, change):
    """A program that does not end counts as killed, as it does in CTest. It may take so much of a processor, since a
    busy machine lets it wait."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS_WITHOUT_WORK, preexec_fn=limit,
                              env=os.environ | {"GRADCTS_MUTANT": str(change.number)})
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, -1, (late.stdout or b"").decode(errors="replace"), "no end")


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
    kept = {} if test else {name: known[name] for name in ("equivalent", "survives") if name in known}
    return {"line": change.line, "test": test} | kept


def table(entries):
    by_tests = sum(bool(entry["test"]) and not entry["test"].startswith(ON_THE_ENGINE) for entry in entries.values())
    on_engine = sum(bool(entry["test"]) and entry["test"].startswith(ON_THE_ENGINE) for entry in entries.values())
    ran = [f"{sum(change.key() in entries for change in found)} of the {len(found)} changes of the {name}"
           for name in FOLDERS for found in [[change for change in all_changes() if f"/{name}/" in change.file]]]
    return [f"Tried were {' and '.join(ran)}. Unit tests noticed {by_tests}; scenarios on the reference engine "
            f"{on_engine} more.", "", *RECORD.table(entries)]
