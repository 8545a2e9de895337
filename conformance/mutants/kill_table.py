"""The table of docs/mutants.md, between its two marks."""
import collections

from patch_files import ROOT

PAGE = ROOT / "docs" / "mutants.md"
BEGIN, END = "<!-- table: made by ci/mutants -->", "<!-- end of the table -->"


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
    return "\n".join([
        BEGIN, "", *summary(mutants, entries), "",
        "| mutant | kind | breaks | smallest scenario that notices | finding | cases until noticed | seconds "
        "| nodes |",
        "|---|---|---|---|---|---|---|---|",
        *(row(mutant, entries[mutant.name]) for mutant in mutants), "", END])


def write_page(mutants, entries):
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + table(mutants, entries) + after)
