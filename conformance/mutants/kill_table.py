"""The table of docs/mutants.md, between its two marks."""
import collections

import generated
import judges
from patch_files import ROOT

PAGE = ROOT / "docs" / "mutants.md"
BEGIN, END = "<!-- table: made by ci/mutants -->", "<!-- end of the table -->"
GENERATED = "<!-- generated: made by mutants.py generate -->", "<!-- end of the generated -->"
JUDGES = "<!-- judges: made by mutants.py judges -->", "<!-- end of the judges -->"


def row(mutant, entry):
    if not entry["killed"]:
        outcome = [f"**survived**: {mutant.survives or 'nobody knows why'}", "", str(entry["cases"]),
                   f"{entry['seconds']:.2f}", ""]
    else:
        unit = " schedules" if entry["by"] == "schedules" else ""
        outcome = [f"`{entry['scenario']}`" if entry["scenario"] else entry["verdict"],
                   f"{entry['clause']} ({entry['verdict']})", f"{entry['cases']}{unit}",
                   f"{entry['seconds']:.2f}", str(entry["nodes"])]
    cells = [mutant.name, mutant.kind, ", ".join(mutant.clauses), *outcome]
    return "| " + " | ".join(cells) + " |"


def summary(mutants, entries):
    lines = ["| kind | mutants | killed | of these by schedules alone |", "|---|---|---|---|"]
    groups = collections.defaultdict(list)
    for mutant in mutants:
        groups[mutant.kind].append(entries[mutant.name])
        groups["~"].append(entries[mutant.name])
    for kind, group in sorted(groups.items()):
        killed = [entry for entry in group if entry["killed"]]
        by_schedules = sum(entry["by"] == "schedules" for entry in killed)
        lines.append(f"| {'all' if kind == '~' else kind} | {len(group)} | {len(killed)} | {by_schedules} |")
    return lines


def table(mutants, entries):
    mutants = [mutant for mutant in mutants if mutant.name in entries]
    return [
        *summary(mutants, entries), "",
        "| mutant | kind | breaks | smallest scenario that notices | finding | cases until noticed | seconds "
        "| nodes |",
        "|---|---|---|---|---|---|---|---|",
        *(row(mutant, entries[mutant.name]) for mutant in mutants)]


def replaced(text, begin, end, lines):
    """What stands between two marks is replaced; the marks stay."""
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return "\n".join([before + begin, "", *lines, "", end]) + after


def write_page(mutants, entries):
    text = replaced(PAGE.read_text(), BEGIN, END, table(mutants, entries))
    text = replaced(text, *GENERATED, generated.RECORD.table(generated.RECORD.read()))
    PAGE.write_text(replaced(text, *JUDGES, judges.table(judges.RECORD.read())))
