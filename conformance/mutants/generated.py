"""Generated mutants of the engine's sources, all of a file in one object.

The usual tools write a file for each mutant, and each costs the compiler's time and a link; that is most of
what a trial costs here. So the mutants of a source are put into one copy of it, each behind a question: `if (a <
b)` becomes `if (MUTANT(17) ? (a <= b) : (a < b))`, and the environment says which number is on. One build gives
all of them. What is changed are conditions, values that are returned, statements and flags, where each stands
on one line; what does not compile is left out, line by line.
"""
import collections
import copy
import dataclasses
import json
import pathlib
import random
import re
import tempfile
import types

from engine_build import BuildFailed
from patch_files import FOLDER, ROOT
from trials import SECONDS_FOR_A_HANG, SECONDS_FOR_A_SCENARIO

FOLDERS = ("engine", "graph")
QUICK_AREAS = ("acc", "async", "cb", "graph2", "hook", "keep", "leaf", "order", "prune", "root", "tls", "val")
RECORD = FOLDER / "generated.json"
BETWEEN = " @ "  # the parts of a change's key
SWITCH = """#pragma once
#include <cstdlib>
namespace gradcts_mutants {
inline const int on = std::getenv("GRADCTS_MUTANT") ? std::atoi(std::getenv("GRADCTS_MUTANT")) : 0;
}
#define MUTANT(number) (gradcts_mutants::on == (number))
"""
# What may change without being wrong: room that is asked for, orders of memory, moves instead of copies, counters for
# tests, words for people.
HARMLESS = re.compile(r"reserve\(|memory_order|static_cast<void>|noinline|count_live|static_assert|\"|std::move\(|= (delete|default);")
EXCHANGED = (("<=", "<"), (">=", ">"), ("==", "!="), ("!=", "=="), ("<", "<="), (">", ">="), ("&&", "||"), ("||", "&&"))
KEYWORDS = ("return", "const", "auto", "using", "static", "if", "for", "while", "case", "break", "continue", "throw",
            "delete", "class", "struct", "friend", "explicit", "public", "private", "else", "switch", "do", "goto",
            "namespace", "template", "typedef", "default", "constexpr", "mutable", "virtual", "thread_local")


@dataclasses.dataclass
class Change:
    file: str
    line: int  # counted from 1
    what: str  # the operator: "negated", "< to <=", "left out", ...
    original: str
    changed: str  # the condition, value or statement; empty where it is left out
    kind: str  # condition, value, statement
    number: int = 0

    def key(self):
        return BETWEEN.join([self.file, self.original.strip(), self.what, self.changed.strip()])


def closing(text, start):
    """The place of the bracket that closes the one at `start`; -1 where the line ends before."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    return -1


def operators(expression):
    """Each way to exchange one operator: what it is, and the expression then. Operators stand between spaces."""
    for old, new in EXCHANGED:
        for match in re.finditer(rf"(?<= ){re.escape(old)}(?= )", expression):
            yield f"{old} to {new}", expression[:match.start()] + new + expression[match.end():]
    for old, new in (("true", "false"), ("false", "true")):
        for match in re.finditer(rf"\b{old}\b", expression):
            yield f"{old} to {new}", expression[:match.start()] + new + expression[match.end():]
    for old, new in ((" + 1", " - 1"), (" - 1", " + 1"), (" + 1", ""), (" - 1", "")):
        for match in re.finditer(rf"{re.escape(old)}\b", expression):
            yield f"'{old.strip()}' to '{new.strip()}'", expression[:match.start()] + new + expression[match.end():]


def condition_of(line):
    """(before, condition, after) of an if or while on one line; None where it declares something."""
    match = re.search(r"\b(?:if|while) \(", line)
    if not match:
        return None
    start, end = match.end(), closing(line, match.end() - 1)
    condition = line[start:end]
    if end < 0 or ";" in condition or re.search(r"[^=!<>]=[^=]", condition):
        return None
    return line[:start], condition, line[end:]


def value_of(line):
    """The same of `return value;` and of `const bool name = value;`."""
    match = re.match(r"(\s*(?:return |(?:const )?bool \w+ = ))([^{}\[\]]+)(;)$", line)
    return match.groups() if match else None


def is_statement(line, previous):
    text = line.strip()
    if not text.endswith(";") or not re.match(r"[A-Za-z_+*(-]", text) or previous.strip()[-1:] not in ("", ";", "{", "}", ":"):
        return False
    if re.match(r"(\w+)", text) and re.match(r"(\w+)", text)[1] in KEYWORDS:
        return False
    return not re.match(r"[\w:<>,\s*&]+[\s*&]+\w+\s*(=[^=]|\(|;|\{)", text)  # a declaration


def changes_of_line(line, previous):
    """(kind, what, changed)"""
    found = condition_of(line)
    if found:
        yield "condition", "negated", f"!({found[1]})"
        for what, changed in operators(found[1]):
            yield "condition", what, changed
        return
    found = value_of(line)
    if found:
        for what, changed in operators(found[1]):
            yield "value", what, changed
        return
    if is_statement(line, previous):
        yield "statement", "left out", ""
        text = line.strip()
        for old, new in (("+=", "-="), ("-=", "+="), ("|=", "="), ("++", "--"), ("--", "++")):
            if old in text:
                yield "statement", f"{old} to {new}", text.replace(old, new, 1)
        yield from (("statement", what, changed) for what, changed in operators(text))


def changes_of(file):
    lines = (ROOT / file).read_text().splitlines()
    for number, line in enumerate(lines, 1):
        code = line.split("//")[0].rstrip()
        if not code.strip() or code.lstrip().startswith("#") or HARMLESS.search(code):
            continue
        previous = next((text.split("//")[0].rstrip() for text in reversed(lines[:number - 1])
                         if text.split("//")[0].strip()), "")
        for kind, what, changed in changes_of_line(code, previous):
            yield Change(file, number, what, code, changed, kind)


def all_changes():
    """In a fixed order, numbered from 1."""
    changes = []
    for folder in FOLDERS:
        for path in sorted((ROOT / "reference_engine" / folder).glob("*.cpp")):
            if not path.name.endswith("_test.cpp"):
                changes += changes_of(str(path.relative_to(ROOT)))
    for number, change in enumerate(changes, 1):
        change.number = number
    return changes


def sample(changes, count, seed):
    return sorted(random.Random(seed).sample(changes, min(count, len(changes))), key=lambda change: change.number)


def with_changes(line, changes):
    """The line with all of its changes, each behind its question."""
    if changes[0].kind == "statement":
        for change in changes:
            line = f"{{ if (MUTANT({change.number})) {{ {change.changed} }} else {{ {line.strip()} }} }}"
        return line
    parts = condition_of(line) if changes[0].kind == "condition" else value_of(line)
    before, expression, after = parts
    cast = "bool" if changes[0].kind == "condition" else ""
    chosen = "".join(f"MUTANT({change.number}) ? {cast}({change.changed}) : " for change in changes)
    return f"{before}{chosen}{cast}({expression}){after}"


def write_source(file, changes, overlay):
    lines = (ROOT / file).read_text().splitlines()
    by_line = collections.defaultdict(list)
    for change in changes:
        by_line[change.line].append(change)
    for number, group in by_line.items():
        lines[number - 1] = with_changes(lines[number - 1].split("//")[0].rstrip(), group)
    target = overlay / file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines) + "\n")


def compile_file(engine, file, changes, folder):
    """The object with those changes that compile, and these."""
    left = list(changes)
    while True:
        write_source(file, left, folder / "source")
        mutant = types.SimpleNamespace(name="generated", files=[file])
        try:
            output = engine.objects_of(mutant)[0]
            extra = ["-O1", "-include", str(folder / "switch.h")]
            return output, engine.compile(output, folder, mutant, extra), left
        except BuildFailed as failure:
            named = {int(number) for number in re.findall(rf"{re.escape(file)}:(\d+)", failure.output)}
            kept = [change for change in left if change.line not in named]
            left = kept if len(kept) < len(left) else []


def build(engine, changes, folder):
    """A library with all the changes, and those that are in it."""
    (folder / "switch.h").write_text(SWITCH)
    by_file = collections.defaultdict(list)
    for change in changes:
        by_file[change.file].append(change)
    made, kept = {}, []
    for file, group in by_file.items():
        output, path, left = compile_file(engine, file, group, folder)
        made[output] = path
        kept += left
        print(f"{file}: {len(left)} of {len(group)} changes compile", flush=True)
    return engine.link("generated", made, folder), kept


# ---- Trials ------------------------------------------------------------------------------------


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
    """The scenario that notices, of the first of the suites that has one; None where all is as expected."""
    for suite in suites:
        suite = copy.copy(suite)
        suite.environment = suite.environment | {"GRADCTS_MUTANT": str(change.number)}
        suite.failures = 1  # so a hang ends the run: on a busy machine it may be none, and hides what comes after it
        found = noticed(suite, library, SECONDS_FOR_A_SCENARIO)
        if found and found.get("verdict") == "hang":
            found = noticed(suite, library, SECONDS_FOR_A_HANG)
        if found:
            return found["id"]
    return None


# ---- The record --------------------------------------------------------------------------------


def read():
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def write(entries):
    lines = [f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in sorted(entries.items())]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def counts(entries):
    """Of those that count: killed, and survivors without a reason why nobody could notice."""
    counted = [entry for entry in entries.values() if not entry.get("equivalent")]
    return len(counted), sum(bool(entry["scenario"]) for entry in counted)


def table(entries):
    total, killed = counts(entries)
    alike = [entry for entry in entries.values() if entry.get("equivalent")]
    lines = [f"{len(entries)} ran; {len(alike)} cannot be told from the engine, with a reason each; of the {total} that "
             f"count {killed} were killed ({100 * killed / max(total, 1):.1f} %).", "",
             "| folder | count | killed |", "|---|---|---|"]
    by_file = collections.defaultdict(list)
    for key, entry in entries.items():
        if not entry.get("equivalent"):
            by_file[key.split(BETWEEN)[0].removeprefix("reference_engine/")].append(entry)
    for file, group in sorted(by_file.items()):
        lines.append(f"| `{file}` | {len(group)} | {sum(bool(entry['scenario']) for entry in group)} |")
    lines += ["", "| not killed | change | why |", "|---|---|---|"]
    for key, entry in sorted(entries.items()):
        if entry["scenario"]:
            continue
        file, original, what, _ = (part.replace("|", "\\|") for part in key.split(BETWEEN))
        why = entry.get("equivalent") or entry.get("survives") or "nobody knows yet"
        lines.append(f"| `{file.removeprefix('reference_engine/')}` | `{original}`: {what} | {why} |")
    return lines
