"""What the last trial of each mutant gave, as data: kills.json. It is made by `mutants.py run --write`, a
mutant at a time, and two things are made from it: the table of docs/mutants.md, and the proofs that
`gradcts list --clauses` names, which are compiled in (conformance/spec).
"""
import json

from patch_files import FOLDER

FILE = FOLDER / "kills.json"
FIELDS = ("killed", "by", "scenario", "clause", "verdict", "nodes", "cases", "seconds", "proofs")


def read():
    """Mutant's name to its entry."""
    if not FILE.exists():
        return {}
    return {entry.pop("mutant"): entry for entry in json.loads(FILE.read_text())["mutants"]}


def entry_of(result):
    entry = {name: getattr(result, name) for name in FIELDS}
    entry["seconds"] = round(result.seconds, 2)
    return entry


def write(entries):
    lines = [json.dumps({"mutant": name, **entry}) for name, entry in sorted(entries.items())]
    FILE.write_text('{"mutants": [\n' + ",\n".join(lines) + "\n]}\n")


def update(results, mutants):
    """Puts new results in, and takes those of mutants that are gone out; all entries."""
    entries = read()
    names = {mutant.name for mutant in mutants}
    for result in results:
        if not result.trouble:
            entries[result.mutant.name] = entry_of(result)
    entries = {name: entry for name, entry in entries.items() if name in names}
    write(entries)
    return entries


def problems(mutants, entries, clauses):
    """Where patches, kills.json and clauses do not agree; `clauses` as `gradcts list --clauses --json` tells."""
    found = []
    known = {clause["id"]: clause for clause in clauses}
    for mutant in mutants:
        entry = entries.get(mutant.name)
        found += [f"{mutant.name}: there is no clause {clause}" for clause in mutant.clauses if clause not in known]
        if entry is None:
            found.append(f"{mutant.name}: was never run: `ci/mutants {mutant.name} --write`")
            continue
        if mutant.survives:
            continue
        missing = [clause for clause in mutant.clauses if clause not in entry["proofs"]]
        found += [f"{mutant.name}: breaks {clause}, and no scenario of that clause noticed" for clause in missing]
        for clause, scenario in entry["proofs"].items():
            if clause in known and scenario not in known[clause]["scenarios"]:
                found.append(f"{mutant.name}: noticed by {scenario}, which does not test {clause} any more")
    names = {mutant.name for mutant in mutants}
    found += [f"{name}: is in kills.json, and there is no such patch" for name in entries if name not in names]
    for clause in clauses:
        if not clause["scenarios"] and not clause["unproven"]:
            found.append(f"{clause['id']}: no scenario tests it")
        proven, reason = bool(clause["proofs"]), clause["unproven"]
        if not proven and not reason:
            found.append(f"{clause['id']}: no mutant breaks it: nothing shows that a wrong engine would fail")
        if proven and reason:
            found.append(f"{clause['id']}: has a reason for being unproven, and a proof")
    return found
