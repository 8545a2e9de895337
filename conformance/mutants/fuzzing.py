"""Does the fuzzer alone find a mutant, and after how many cases? Cases are numbered and depend on the seed
alone, so "the first failing case" is a property of the mutant and of the generator."""
import contextlib
import pathlib
import sqlite3
import subprocess
import tempfile

from engine_build import BuildFailed
from patch_files import BadPatch

SEED = 1
SECONDS_FOR_A_CASE = 5
SECONDS_FOR_A_MUTANT = 600


def steps(most):
    """64, 256, 1024, ... up to `most`: most mutants are found early."""
    cases = 64
    while cases < most:
        yield cases
        cases *= 4
    yield most


def fuzz(mutant, engine, command, most):
    """{"found": bool, "cases": the number of the first failing case counted from 1, or of all that passed}."""
    with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as name:
        folder = pathlib.Path(name)
        try:
            library = engine.make(mutant, folder)
        except (BadPatch, BuildFailed) as problem:
            raise SystemExit(f"mutants: {problem}")
        out = folder / "found"
        for cases in steps(most):
            subprocess.run([command, "fuzz", "--engine", library, "--seed", str(SEED), "--cases", str(cases),
                            "--timeout", str(SECONDS_FOR_A_CASE), "--no-shrink", "--resume", "--out", out],
                           capture_output=True, timeout=SECONDS_FOR_A_MUTANT)
            first = first_failure(out / "campaign.sqlite")
            if first is not None:
                return {"found": True, "cases": first + 1}
    return {"found": False, "cases": most}


def first_failure(store):
    with contextlib.closing(sqlite3.connect(store)) as connection:
        return connection.execute("select min(number) from failure").fetchone()[0]


def in_words(fuzzed):
    return f"found by case {fuzzed['cases']}" if fuzzed["found"] else f"not found in {fuzzed['cases']} cases"
