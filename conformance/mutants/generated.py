"""Changes by rule of the reference engine's sources: do the suites notice each, or else the random cases of CTest's
campaign?"""
import copy
import pathlib
import re
import tempfile

import changes
import fuzzing
from change_record import Record
from patch_files import FOLDER, ROOT
from trials import SECONDS_FOR_A_HANG, SECONDS_FOR_A_SCENARIO

FOLDERS = ("engine", "graph")
QUICK_AREAS = ("acc", "async", "cb", "graph2", "hook", "keep", "leaf", "order", "prune", "root", "tls", "val")
RECORD = Record(FOLDER / "generated.json", "scenario", "reference_engine/")
# What may change without being wrong: room that is asked for, orders of memory, moves instead of copies, counters for
# tests, words for people.
HARMLESS = re.compile(r"reserve\(|memory_order|static_cast<void>|noinline|count_live|static_assert|\"|std::move\(|= (delete|default);")


def all_changes():
    """In a fixed order, numbered from 1."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / "reference_engine" / folder).glob("*.cpp"))]
    files = [str(path.relative_to(ROOT)) for path in paths if not path.name.endswith("_test.cpp")]
    return changes.numbered(files, HARMLESS)


def build(engine, chosen, folder, jobs):
    """A library with all the changes, and those that are in it."""
    made, kept = changes.compile_all(engine, chosen, folder, jobs)
    return engine.link("generated", made, folder), kept


def write_quick_suite(suites, folder):
    """Links to the suites that take no time to read and run: most changes are noticed by one of these."""
    for path in sorted(pathlib.Path(suites).glob("*/*.json")):
        if path.parent.name in QUICK_AREAS:
            target = folder / path.parent.name / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path)


def noticed(suite, library, seconds):
    """The first record that is not as expected, or None."""
    with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as folder:
        records, complaint = suite.run_once(library, pathlib.Path(folder), seconds)
    if not records:
        return {"id": complaint or "nothing ran"}
    return next((record for record in records
                 if record["record"] == "problem" or not record.get("as_expected", True)), None)


def try_one(change, library, suites):
    """The scenario that notices, of the first of the suites that has one, or the random case; None where all is well."""
    for suite in suites:
        suite = copy.copy(suite)
        suite.environment = suite.environment | {"GRADCTS_MUTANT": str(change.number)}
        suite.failures = 1  # so a hang ends the run: on a busy machine it may be none, and hides what comes after it
        found = noticed(suite, library, SECONDS_FOR_A_SCENARIO)
        if found and found.get("verdict") == "hang":
            found = noticed(suite, library, SECONDS_FOR_A_HANG)
        if found:
            return found["id"]
    with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as folder:
        found = fuzzing.first_in_campaign(suite.call, library, pathlib.Path(folder))
    return found and f"campaign: {found}"


def entry_of(_, scenario, known):
    """The reason that a person gave stays, as long as nobody notices."""
    return ({} if scenario else known) | {"scenario": scenario}
