"""Does the explorer alone find a mutant: after how many schedules, of which scenario?

The mutants whose mistake is a matter of several threads, or of waiting: whoever else noticed them. Taken are the
scenarios of the clauses that the patch names, first those in which a trial noticed it, then those with threads of their
own, then the smallest, on the mutant of the engine that is rebuilt for chosen schedules; of each scenario as many
schedules as in a trial (trials.py), by partial-order sampling from seed 1 on. What was found is kept in explored.json, a
mutant at a time, and shown in docs/schedules.md.
"""
import json
import pathlib
import tempfile

from engine_build import BuildFailed
from patch_files import BadPatch, ROOT

KINDS = ("race", "hang", "shutdown")
SCENARIOS = 12  # of a clause
SECONDS_FOR_A_SCENARIO = 300  # by far more than it takes: what is found must not depend on what else the machine does
FILE = ROOT / "conformance" / "mutants" / "explored.json"
PAGE = ROOT / "docs" / "schedules.md"
BEGIN, END = "<!-- table: made by mutants.py explore -->", "<!-- end of the table -->"


def scenarios_of(mutant, suite, proofs):
    """Those in which a trial noticed the mutant; then those of its clauses, in the order of `testing`."""
    chosen = [name for clause in mutant.clauses for name in suite.testing(clause)[:SCENARIOS]]
    return list(dict.fromkeys([*proofs.values(), *chosen]))


def explore(mutant, rebuilt, suite, proofs):
    """{"found", "schedules": taken until the first that failed, this one included, or of all that passed,
    "seconds"}; and of what was found "scenario", "how", "nodes"."""
    with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as name:
        folder = pathlib.Path(name) / "rebuilt"  # by the folder's name the command knows such an engine
        folder.mkdir()
        try:
            library = rebuilt.make(mutant, folder)
        except (BadPatch, BuildFailed) as problem:
            raise SystemExit(f"mutants: {problem}")
        schedules, seconds = 0, 0
        for scenario in scenarios_of(mutant, suite, proofs):
            taken, lasted, how = suite.explore(scenario, library, SECONDS_FOR_A_SCENARIO)
            schedules, seconds = schedules + taken, seconds + lasted
            if how:
                return {"found": True, "schedules": schedules, "seconds": round(seconds, 1), "scenario": scenario,
                        "how": how, "nodes": suite.nodes[scenario]}
        return {"found": False, "schedules": schedules, "seconds": round(seconds, 1)}


def in_words(explored):
    if not explored["found"]:
        return f"not found in {explored['schedules']} schedules, {explored['seconds']} s"
    return f"{explored['scenario']} ({explored['how']}): schedule {explored['schedules']}, {explored['seconds']} s"


def read():
    if not FILE.exists():
        return {}
    return {entry.pop("mutant"): entry for entry in json.loads(FILE.read_text())["mutants"]}


def write(entries, mutants):
    """Keeps the entries of the mutants that there are, and shows them in the page."""
    kinds = {mutant.name: mutant.kind for mutant in mutants if mutant.name in entries}
    lines = [json.dumps({"mutant": name, **entries[name]}) for name in sorted(kinds)]
    FILE.write_text('{"mutants": [\n' + ",\n".join(lines) + "\n]}\n")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + table(entries, kinds) + after)


def table(entries, kinds):
    found = sum(entries[name]["found"] for name in kinds)
    rows = [row(name, kind, entries[name]) for name, kind in sorted(kinds.items(), key=lambda item: item[::-1])]
    return "\n".join([
        BEGIN, "", f"{found} of {len(kinds)} found.", "",
        "| mutant | kind | found in | as | schedules until found | seconds |", "|---|---|---|---|---|---|", *rows, "", END])


def row(name, kind, entry):
    where = f"`{entry['scenario']}`" if entry["found"] else "**not found**"
    return f"| {name} | {kind} | {where} | {entry.get('how', '')} | {entry['schedules']:,} | {entry['seconds']} |"
