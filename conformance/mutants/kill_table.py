"""The table of docs/mutants.md, between its two marks."""
import collections

from patch_files import ROOT

PAGE = ROOT / "docs" / "mutants.md"
BEGIN, END = "<!-- table: made by ci/mutants -->", "<!-- end of the table -->"


def row(result):
    mutant = result.mutant
    if result.trouble:
        outcome = [f"broken: {result.trouble}", "", "", "", ""]
    elif not result.killed:
        outcome = [f"**survived**: {mutant.survives or 'nobody knows why'}", "", str(result.cases), f"{result.seconds:.2f}", ""]
    else:
        outcome = [f"`{result.scenario}`" if result.scenario else result.verdict,
                   f"{result.clause} ({result.verdict})", str(result.cases), f"{result.seconds:.2f}",
                   str(result.nodes)]
    return "| " + " | ".join([mutant.name, mutant.kind, ", ".join(mutant.clauses), *outcome]) + " |"


def summary(results):
    lines = ["| kind | mutants | killed |", "|---|---|---|"]
    kinds = collections.Counter(result.mutant.kind for result in results)
    for kind in sorted(kinds):
        killed = sum(result.killed for result in results if result.mutant.kind == kind)
        lines.append(f"| {kind} | {kinds[kind]} | {killed} |")
    lines.append(f"| all | {len(results)} | {sum(result.killed for result in results)} |")
    return lines


def table(results, seconds):
    return "\n".join([
        BEGIN, "", *summary(results), "",
        f"Building and running all of them took {seconds / 60:.0f} minutes.", "",
        "| mutant | kind | breaks | smallest scenario that notices | finding | cases until noticed | seconds | nodes |",
        "|---|---|---|---|---|---|---|---|", *map(row, results), "", END])


def write_page(results, seconds):
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + table(results, seconds) + after)
