"""Does the fuzzer alone find a mutant: after how many cases, in what time, and how small does the case become?

Cases are numbered and depend on the seed alone, so "the first failing case" is a property of the mutant and of the
generator; the time is that of the campaign, starts of its processes included. What was found is kept in
fuzzed.json, a mutant at a time, and shown in docs/fuzz.md.
"""
import contextlib
import json
import pathlib
import sqlite3
import statistics
import subprocess
import tempfile
import time

from engine_build import BuildFailed
from patch_files import BadPatch, ROOT

SEED = 1
SECONDS_FOR_A_CASE = 5
SECONDS_FOR_A_MUTANT = 600
SECONDS_TO_SHRINK = 120
CASES_IN_CTEST = 1024  # of seed 1, on the reference engine (fuzz/CMakeLists.txt)
FILE = ROOT / "conformance" / "mutants" / "fuzzed.json"
PAGE = ROOT / "docs" / "fuzz.md"
BEGIN, END = "<!-- table: made by mutants.py fuzz -->", "<!-- end of the table -->"


def steps(most):
    """64, 256, 1024, ... up to `most`: most mutants are found early."""
    cases = 64
    while cases < most:
        yield cases
        cases *= 4
    yield most


def fuzz(mutant, engine, command, most):
    """{"found", "cases": the number of the first failing case counted from 1, or of all that passed, "seconds"}; and
    of what was found "clause", "size" of the shrunk case in "nodes", None where it does not fail again."""
    with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as name:
        folder = pathlib.Path(name)
        try:
            library = engine.make(mutant, folder)
        except (BadPatch, BuildFailed) as problem:
            raise SystemExit(f"mutants: {problem}")
        out = folder / "found"
        start = time.monotonic()
        for cases in steps(most):
            subprocess.run([command, "fuzz", "--engine", library, "--seed", str(SEED), "--cases", str(cases),
                            "--timeout", str(SECONDS_FOR_A_CASE), "--no-shrink", "--resume", "--out", out],
                           capture_output=True, timeout=SECONDS_FOR_A_MUTANT)
            first = first_failure(out / "campaign.sqlite")
            if first is not None:
                number, clause = first
                seconds = round(time.monotonic() - start, 1)
                return {"found": True, "cases": number + 1, "seconds": seconds, "clause": clause,
                        "nodes": shrunk_nodes(folder, library, command, number)}
    return {"found": False, "cases": most, "seconds": round(time.monotonic() - start, 1)}


def first_in_campaign(call, engine, folder):
    """What fails first of the cases of CTest's campaign, in words; None where all is well. `call` takes the arguments of
    the command. Few cases first, since most faults are found by one of these."""
    for cases in steps(CASES_IN_CTEST):
        done = call("fuzz", "--engine", str(engine), "--cases", str(cases), "--no-shrink", "--resume", "--out", str(folder))
        if done.returncode != 0:
            number, clause = first_failure(folder / "campaign.sqlite") or (cases, "the command ends")
            return f"case {number} ({clause})"
    return None


def first_failure(store):
    with contextlib.closing(sqlite3.connect(store)) as connection:
        return connection.execute("select number, clause from failure order by number limit 1").fetchone()


def shrunk_nodes(folder, library, command, number):
    shown = subprocess.run([command, "fuzz", "--show", str(number), "--engine", library, "--seed", str(SEED)],
                           capture_output=True, text=True, check=True)
    case, small = folder / "case.json", folder / "small.json"
    case.write_text(shown.stdout)
    try:
        subprocess.run([command, "shrink", case, "--engine", library, "--timeout", str(SECONDS_FOR_A_CASE),
                        "--out", small], capture_output=True, timeout=SECONDS_TO_SHRINK)
    except subprocess.TimeoutExpired:
        return None
    return len(json.loads(small.read_text()).get("nodes", [])) if small.exists() else None


def in_words(fuzzed):
    if not fuzzed["found"]:
        return f"not found in {fuzzed['cases']} cases, {fuzzed['seconds']} s"
    return f"{fuzzed['clause']}: case {fuzzed['cases']}, {fuzzed['seconds']} s, {fuzzed['nodes']} nodes"


def read():
    if not FILE.exists():
        return {}
    return {entry.pop("mutant"): entry for entry in json.loads(FILE.read_text())["mutants"]}


def write(entries):
    lines = [json.dumps({"mutant": name, **entry}) for name, entry in sorted(entries.items())]
    FILE.write_text('{"mutants": [\n' + ",\n".join(lines) + "\n]}\n")
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + table(entries) + after)


def median_of(entries, what):
    values = [entry[what] for entry in entries if entry.get(what) is not None]
    return f"{statistics.median(values):g}" if values else "none"


def table(entries):
    found = [entry for entry in entries.values() if entry["found"]]
    rows = [f"| {name} | {entry.get('clause') or '**not found**'} | {entry['cases']} | {entry['seconds']} "
            f"| {entry['nodes'] if entry.get('nodes') is not None else ''} |"
            for name, entry in sorted(entries.items())]
    return "\n".join([
        BEGIN, "",
        f"{len(found)} of {len(entries)} found; of these the median time is {median_of(found, 'seconds')} s, and the "
        f"median size {median_of(found, 'nodes')} nodes.", "",
        "| mutant | first broken clause | cases until found | seconds | nodes of the shrunk case |",
        "|---|---|---|---|---|", *rows, "", END])
