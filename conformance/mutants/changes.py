"""Changes of C++ sources by rule, all of a build in one program.

The usual tools write a file for each mutant, and each costs the compiler's time and a link; that is most of
what a trial costs here. So the changes of a source are put into one copy of it, each behind a question: `if (a <
b)` becomes `if (MUTANT(17) ? (a <= b) : (a < b))`, and the environment says which number is on (GRADCTS_MUTANT). One
build gives all of them. What is changed are conditions, values that are returned or kept, loops and statements; what
does not compile is left out.

At its end a program appends the numbers of the questions that it came by to the file that GRADCTS_REACHED names: who
never asks for a change cannot notice it.
"""
import collections
import concurrent.futures
import dataclasses
import hashlib
import re
import types

from engine_build import BuildFailed
from patch_files import ROOT

SWITCH = """#pragma once
#include <cstdio>
#include <cstdlib>
namespace gradcts_mutants {
constexpr int size = %d;
inline const int on = std::getenv("GRADCTS_MUTANT") ? std::atoi(std::getenv("GRADCTS_MUTANT")) : 0;
inline bool is_reached[size];  // written by any thread, and always the same
inline bool is_on(int number) {
  is_reached[number] = true;
  return number == on;
}
struct AtTheEnd {
  ~AtTheEnd() {
    const char* path = std::getenv("GRADCTS_REACHED");
    std::FILE* file = path ? std::fopen(path, "a") : nullptr;
    if (!file) return;
    for (int number = 1; number < size; ++number) {
      if (is_reached[number]) std::fprintf(file, "%%d\\n", number);
    }
    std::fclose(file);
  }
};
inline const AtTheEnd at_the_end;
}
#define MUTANT(number) gradcts_mutants::is_on(number)
"""
BETWEEN = " @ "  # the parts of a change's key
EXCHANGED = (("<=", "<"), (">=", ">"), ("==", "!="), ("!=", "=="), ("<", "<="), (">", ">="), ("&&", "||"), ("||", "&&"))
KEYWORDS = ("return", "const", "auto", "using", "static", "if", "for", "while", "case", "break", "continue", "throw",
            "delete", "class", "struct", "friend", "explicit", "public", "private", "else", "switch", "do", "goto",
            "namespace", "template", "typedef", "default", "constexpr", "mutable", "virtual", "thread_local")


@dataclasses.dataclass
class Change:
    file: str
    line: int  # the first of the statement's lines, counted from 1
    what: str  # the operator: "negated", "< to <=", "left out", ...
    original: str  # the statement on one line
    changed: str  # the condition or value, or the statement; empty where it is left out
    kind: str  # condition, value, loop, statement
    place: tuple = (0, 0)  # of what is changed, in `original`; a loop: where its body begins
    number: int = 0
    again: int = 1  # counts those of a file that read alike

    def key(self):
        parts = [self.file, self.original.strip(), self.what, self.changed.strip()]
        return BETWEEN.join(parts if self.again == 1 else [*parts, str(self.again)])


# ---- Statements --------------------------------------------------------------------------------


def without_comment(line):
    return line.split("//")[0].rstrip()


def statements(text):
    """(first line, last line, code): each on one line, as far as it holds no block."""
    first, code = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        line = without_comment(line)
        if not line.strip():
            continue
        if not code:
            first, code = number, line
        else:
            code += ("" if code[-1] in "([{" else " ") + line.strip()
        inside = code.count("(") > code.count(")")
        if code[-1] in "{}" or (code[-1] in ";:" and not inside) or code.lstrip().startswith("#"):
            yield first, number, code
            code = ""
    if code:
        yield first, number, code


def closing(text, start):
    """The place of the bracket that closes the one at `start`; -1 where the text ends before."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    return -1


def without_texts(code):
    """Of the same length, with nothing to be found within quotes."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: '"' + "_" * (len(found[0]) - 2) + '"', code)


def expressions(code):
    """(kind, start, end) of each condition and value that can be changed in its place."""
    bare = without_texts(code)
    for match in re.finditer(r"\b(if|while|for) \(", bare):
        start, end = match.end(), closing(bare, match.end() - 1)
        inside = bare[start:end].split(";") if end >= 0 else []
        if match[1] == "for" and len(inside) == 3 and inside[1].strip():
            first = start + len(inside[0]) + 1
            yield "condition", first + 1, first + len(inside[1])
        elif match[1] != "for" and len(inside) == 1 and not re.search(r"[^=!<>]=[^=]", inside[0]):
            yield "condition", start, end
    for match in re.finditer(r"\breturn ([^;{}]+);", bare):
        yield "value", match.start(1), match.end(1)
    match = re.match(r"\s*(?:const )?[\w:]+(?:<[^;=]*>)?[ *&]+\w+ = ([^;{}]+);$", bare)
    if match and not bare.lstrip().startswith("return "):
        yield "value", match.start(1), match.end(1)


def loop_body(code):
    """Where the body of a loop over a range begins; None for other statements."""
    match = re.match(r"\s*for \(", code)
    end = closing(code, match.end() - 1) if match else -1
    return end + 1 if end >= 0 and ";" not in code[:end] else None


def is_statement(code, previous):
    text = code.strip()
    if not text.endswith(";") or not re.match(r"[A-Za-z_+*(-]", text) or previous.strip()[-1:] not in ("", ";", "{", "}", ":"):
        return False
    if re.match(r"(\w+)", text) and re.match(r"(\w+)", text)[1] in KEYWORDS:
        return False
    return not re.match(r"[\w:<>,\s*&]+[\s*&]+\w+\s*(=[^=]|\(|;|\{)", text)  # a declaration


# ---- Changes -----------------------------------------------------------------------------------


def pieces(bare, start, end, separators):
    """(start, end, the separator after it) of what stands between separators that are in no brackets."""
    found, depth, begin, place = [], 0, start, start
    while place < end:
        depth += (bare[place] in "([{") - (bare[place] in ")]}")
        separator = next((text for text in separators if depth == 0 and bare.startswith(text, place)), None)
        if separator:
            found.append((begin, place, separator))
            begin = place = place + len(separator)
        else:
            place += 1
    return [*found, (begin, end, "")]


def parts(bare):
    """Arguments, arms of `?:` and the like, at every depth of brackets: as `pieces`."""
    insides = [(0, len(bare))]
    insides += [(match.end(), closing(bare, match.start())) for match in re.finditer(r"\(", bare)]
    for start, end in insides:
        if end > start:
            yield from pieces(bare, start, end, (", ", " ? ", " : ", " = ", " += "))


def operators(expression):
    """Each way to exchange one operator, or to leave one operand of a condition out: what it is, and the expression
    then. Operators stand between spaces."""
    bare = without_texts(expression)

    def put(start, end, text):
        return expression[:start] + text + expression[end:]

    for old, new in EXCHANGED:
        for match in re.finditer(rf"(?<= ){re.escape(old)}(?= )", bare):
            yield f"{old} to {new}", put(*match.span(), new)
    for old, new in (("true", "false"), ("false", "true")):
        for match in re.finditer(rf"\b{old}\b", bare):
            yield f"{old} to {new}", put(*match.span(), new)
    for old, new in ((" + 1", " - 1"), (" - 1", " + 1"), (" + 1", ""), (" - 1", "")):
        for match in re.finditer(rf"{re.escape(old)}\b", bare):
            yield f"'{old.strip()}' to '{new.strip()}'", put(*match.span(), new)
    for start, end, separator in parts(bare):
        if separator == " ? ":
            yield "'?' negated", put(start, end, f"!({expression[start:end]})")
        operands = pieces(bare, start, end, (" && ", " || "))
        for index, (first, last, _) in enumerate(operands if len(operands) > 1 else []):
            whole = (first, operands[1][0]) if index == 0 else (operands[index - 1][1], last)
            yield f"without '{expression[first:last]}'", put(*whole, "")


def changes_of_statement(code, previous):
    """(kind, place, what, changed)"""
    found = list(expressions(code))
    for kind, start, end in found:
        expression = code[start:end]
        if kind == "condition":
            yield kind, (start, end), "negated", f"!({expression})"
            yield kind, (start, end), "never", "false"
        for what, changed in operators(expression):
            yield kind, (start, end), what, changed
    body = loop_body(code)
    if body is not None:
        yield "loop", (body, body), "never", ""
    if is_statement(code, previous):
        whole, text = (0, len(code)), code.strip()
        yield "statement", whole, "left out", ""
        for old, new in (("+=", "-="), ("-=", "+="), ("|=", "="), ("++", "--"), ("--", "++")):
            if old in text:
                yield "statement", whole, f"{old} to {new}", text.replace(old, new, 1)
        if not found:
            yield from (("statement", whole, what, changed) for what, changed in operators(text))


def changes_of(file, harmless):
    """Those of a source; nothing is changed in statements that match the pattern `harmless`."""
    previous, seen = "", collections.Counter()
    for first, _, code in statements((ROOT / file).read_text()):
        if not code.lstrip().startswith("#") and not harmless.search(code):
            for kind, place, what, changed in changes_of_statement(code, previous):
                change = Change(file, first, what, code, changed, kind, place)
                seen[change.key()] += 1
                change.again = seen[change.key()]
                yield change
        previous = code


def numbered(files, harmless):
    changes = [change for file in files for change in changes_of(file, harmless)]
    for number, change in enumerate(changes, 1):
        change.number = number
    return changes


def sample(changes, count, seed):
    """Drawn by what each change is, so that an edit elsewhere draws the same ones."""
    def lot(change):
        return hashlib.sha256(f"{seed}{BETWEEN}{change.key()}".encode()).digest()

    return sorted(sorted(changes, key=lot)[:count], key=lambda change: change.number)


# ---- A build with all of them ------------------------------------------------------------------


def with_changes(code, changes):
    """The statement with all of its changes, each behind its question."""
    by_place = collections.defaultdict(list)
    for change in changes:
        if change.kind != "statement":
            by_place[change.place, change.kind].append(change)
    for (place, kind), group in sorted(by_place.items(), reverse=True):
        start, end = place
        if kind == "loop":
            text = "".join(f" if (MUTANT({change.number})) break; else" for change in group)
        else:
            cast = "bool" if kind == "condition" or is_truth(code[start:end]) else ""
            chosen = "".join(f"MUTANT({change.number}) ? {cast}({change.changed}) : " for change in group)
            text = f"{chosen}{cast}({code[start:end]})"
        code = code[:start] + text + code[end:]
    for change in changes:
        if change.kind == "statement":
            code = f"{{ if (MUTANT({change.number})) {{ {change.changed} }} else {{ {code.strip()} }} }}"
    return code


def is_truth(expression):
    """Whether && or || makes its value: with an operand left out it may be of another type."""
    def is_split(*separators):
        bare = without_texts(expression)
        return len(pieces(bare, 0, len(bare), separators)) > 1

    return is_split(" && ", " || ") and not is_split(" ? ")


def write_source(file, changes, overlay):
    """A copy below `overlay`, in which each statement stands on the first of its lines."""
    text = (ROOT / file).read_text()
    lines = text.splitlines()
    by_line = collections.defaultdict(list)
    for change in changes:
        by_line[change.line].append(change)
    for first, last, code in statements(text):
        if first in by_line:
            lines[first - 1:last] = [with_changes(code, by_line[first])] + [""] * (last - first)
    target = overlay / file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines) + "\n")


def compile_object(build, output, changes, folder, switch):
    """The object with those changes that compile, and these."""
    left = list(changes)
    files = sorted({change.file for change in changes})
    mutant = types.SimpleNamespace(name="generated", files=files)
    while True:
        for file in files:
            write_source(file, [change for change in left if change.file == file], folder / "source")
        try:
            return build.compile(output, folder, mutant, ["-O1", "-D_GLIBCXX_ASSERTIONS", "-include", str(switch)]), left
        except BuildFailed as failure:
            left = without_named(left, failure.output)


def without_named(changes, complaints):
    """Without those of which the compiler's errors speak, or else its notes; without all where neither does."""
    for pattern in (r"(\S+?):(\d+):\d+: (?:fatal )?error", r"(\S+?):(\d+):"):
        named = {(file, int(line)) for file, line in re.findall(pattern, complaints)}
        kept = [change for change in changes
                if not any(file.endswith(change.file) and line == change.line for file, line in named)]
        if len(kept) < len(changes):
            return kept
    return []


def compile_all(build, changes, folder, jobs=1):
    """The build's objects to those with all the changes, and the changes that are in them. Each file is to be part of
    one object."""
    switch = folder / "switch.h"
    switch.write_text(SWITCH % (1 + max((change.number for change in changes), default=0)))
    by_output = collections.defaultdict(list)
    for change in changes:
        output, = build.objects_of(types.SimpleNamespace(files=[change.file]))
        by_output[output].append(change)

    def compiled(output):
        inside = folder / output.replace("/", "_")
        inside.mkdir()
        return compile_object(build, output, by_output[output], inside, switch)

    made, kept = {}, []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for output, (path, left) in zip(by_output, pool.map(compiled, by_output)):
            made[output] = path
            kept += left
            print(f"{output.rpartition('/')[2]}: {len(left)} of {len(by_output[output])} changes compile", flush=True)
    return made, kept
