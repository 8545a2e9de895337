"""Mutants as files: NAME.patch is a few header lines and a unified diff against the reference engine.

    Report: B046            the report of a real engine whose mistake this is, or `none`
    Kind: hook              what goes wrong: value, hang, race, crash, leak, order, hook, error, shutdown, ...
    Clauses: HOOK-5         the clauses that the mistake breaks
    Mistake: one sentence
    Survives: why nobody notices yet; left out where somebody does

Only the reference engine may be changed, and its adapter where it is what a node's author writes.
"""
import dataclasses
import pathlib
import re
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
FIELDS = ("Report", "Kind", "Clauses", "Mistake")
OPTIONAL = ("Survives",)
FOLDERS = ("reference_engine/", "conformance/adapters/reference/")
KINDS = ("crash", "error", "hang", "hook", "leak", "order", "race", "shutdown", "state", "stream", "value")


class BadPatch(Exception):
    """A patch file that cannot be used; the text is one line for a person."""


@dataclasses.dataclass
class Mutant:
    name: str
    path: pathlib.Path
    report: str
    kind: str
    clauses: list
    mistake: str
    survives: str  # the reason; empty where it is to be killed
    files: list  # touched, relative to the project


def read(path):
    """The mutant of one patch file; raises BadPatch."""
    header, _, diff = path.read_text().partition("\n--- ")
    fields = {}
    for number, line in enumerate(header.splitlines(), 1):
        name, colon, value = line.partition(":")
        if not colon and not line.strip():
            continue
        if name not in FIELDS + OPTIONAL or name in fields:
            raise BadPatch(f"{path.name}:{number}: expected one each of {', '.join(FIELDS)}; found '{line}'")
        fields[name] = value.strip()
    missing = [name for name in FIELDS if not fields.get(name)]
    if missing:
        raise BadPatch(f"{path.name}: no '{missing[0]}:' line before the diff")
    if fields["Kind"] not in KINDS:
        raise BadPatch(f"{path.name}: no kind '{fields['Kind']}'; there are {', '.join(KINDS)}")
    if not re.fullmatch(r"B\d{3}|none", fields["Report"]):
        raise BadPatch(f"{path.name}: Report is an id like B046, or none; found '{fields['Report']}'")
    files = re.findall(r"^\+\+\+ b/(\S+)", "--- " + diff, re.MULTILINE)
    if not files:
        raise BadPatch(f"{path.name}: holds no diff")
    outside = [name for name in files if not name.startswith(FOLDERS)]
    if outside:
        raise BadPatch(f"{path.name}: changes {outside[0]}, which is no part of {' or '.join(FOLDERS)}")
    clauses = [clause.strip() for clause in fields["Clauses"].split(",")]
    return Mutant(path.stem, path, fields["Report"], fields["Kind"], clauses, fields["Mistake"],
                  fields.get("Survives", ""), files)


def read_all(folder=FOLDER):
    """All mutants in the order of their names; raises BadPatch."""
    return [read(path) for path in sorted(folder.glob("*.patch"))]


def apply(mutant, overlay):
    """Writes the touched files, changed, below `overlay`; raises BadPatch when the diff does not fit."""
    for name in mutant.files:
        target = overlay / name
        target.parent.mkdir(parents=True, exist_ok=True)
        source = ROOT / name
        if not source.exists():
            raise BadPatch(f"{mutant.path.name}: there is no {name}")
        target.write_bytes(source.read_bytes())
    done = subprocess.run(["patch", "--silent", "--no-backup-if-mismatch", "--reject-file=-", "-p1", "-d",
                           str(overlay), "-i", str(mutant.path)], capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stdout + done.stderr).strip().splitlines()[-1]
        raise BadPatch(f"{mutant.path.name}: does not apply: {last}")
