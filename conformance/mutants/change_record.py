"""What became of changes by rule, as data: for each change who noticed it, or a reason why nobody did.

A person writes the reason, and it stays when the change is tried again: `"equivalent"` says why no program can tell the change
from the original, `"outside"` what scenarios cannot use of the library (a function that adapters never call), and neither
counts; `"survives"` says what is missing.
"""
import collections
import json

from changes import BETWEEN


MANY = 8  # statements of a source that share a reason
NOT_COUNTED = ("equivalent", "outside")
REASONS = (*NOT_COUNTED, "survives")


class Record:
    def __init__(self, path, noticed_by, prefix):
        self.path, self.noticed_by, self.prefix = path, noticed_by, prefix

    def read(self):
        """A change's key to its entry."""
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def write(self, entries):
        lines = [f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in sorted(entries.items())]
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n")

    def counts(self, entries):
        """Of those that count: all, and the killed."""
        counted = [entry for entry in entries.values() if is_counted(entry)]
        return len(counted), sum(bool(entry[self.noticed_by]) for entry in counted)

    def table(self, entries):
        total, killed = self.counts(entries)
        alike, outside = (sum(bool(entry.get(name)) for entry in entries.values()) for name in NOT_COUNTED)
        and_outside = f", {outside} are about what scenarios cannot use" if outside else ""
        lines = [f"{len(entries)} ran; {alike} cannot be told from the original{and_outside}, with a reason each; of the "
                 f"{total} that count {killed} were killed ({100 * killed / max(total, 1):.1f} %).", "",
                 "| source | count | killed |", "|---|---|---|"]
        by_file = collections.defaultdict(list)
        for key, entry in entries.items():
            if is_counted(entry):
                by_file[self._short(key.split(BETWEEN)[0])].append(entry)
        for file, group in sorted(by_file.items()):
            lines.append(f"| `{file}` | {len(group)} | {sum(bool(entry[self.noticed_by]) for entry in group)} |")
        lines += ["", "| not killed | changes | why |", "|---|---|---|"]
        alike = collections.defaultdict(lambda: collections.defaultdict(list))  # of a source, with one reason
        for key, entry in sorted(entries.items()):
            if not entry[self.noticed_by]:
                file, original, what, *_ = (part.replace("|", "\\|") for part in key.split(BETWEEN))
                alike[self._short(file), why(entry) or "nobody knows yet"][original].append(what)
        for (file, reason), statements in alike.items():
            for words in in_words(statements):
                lines.append(f"| `{file}` | {words} | {reason} |")
        return lines

    def _short(self, file):
        return file.removeprefix(self.prefix)


def in_words(statements):
    """A line for each statement, with its changes; where there are many, their numbers alone."""
    if len(statements) > MANY:
        return [f"{sum(map(len, statements.values()))} changes of {len(statements)} statements"]
    return [f"`{original}`: {', '.join(dict.fromkeys(what))}" for original, what in statements.items()]


def is_counted(entry):
    return not any(entry.get(name) for name in NOT_COUNTED)


def why(entry):
    """Why nobody notices; empty where nobody knows."""
    return next((entry[name] for name in REASONS if entry.get(name)), "")
