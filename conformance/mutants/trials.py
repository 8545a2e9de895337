"""A mutant's trial: who notices it? First the scenarios of the clauses that its patch names, clause by
clause; where nobody did, all suites and the golden cases; and for mistakes that need threads to meet, chosen
schedules of those scenarios on the engine that is rebuilt for them (docs/schedules.md).

A clause is *proven* by a mutant when a scenario that tests the clause is not as expected on it.
"""
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import tempfile

from engine_build import BuildFailed
from patch_files import BadPatch

SECONDS_FOR_A_SCENARIO = 5
SECONDS_FOR_A_HANG = 20  # one hang is looked at again for so long: a busy machine is no hang
FAILURES = 12      # then a run stops: the smallest of these is named
SECONDS_FOR_A_RUN = 180
SCHEDULED_KINDS = ("crash", "hang", "leak", "race", "shutdown")  # these may need threads to meet in one order
SCHEDULES = 300    # of one scenario, by partial-order sampling, from seed 1 on
SECONDS_FOR_SCHEDULES = 60
EXPLORED = 6       # scenarios of a clause, those with threads of their own first
# Freed memory is filled with a pattern, so that its use is seen; glibc does so outside of its caches only.
SEES_FREED_MEMORY = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.perturb=165"}
WRONG_USE = 2      # exit status of the command


class BadRun(Exception):
    """The command could not do what it was asked; that says nothing about the mutant."""


@dataclasses.dataclass
class Result:
    mutant: object
    killed: bool = False
    trouble: str = ""          # does not apply, does not compile, ...
    by: str = ""               # clauses, suites, golden, schedules
    scenario: str = ""         # the smallest one that noticed
    clause: str = ""           # of its first finding
    verdict: str = ""
    nodes: int = 0
    cases: int = 0             # run until the first that noticed, this one included; or schedules taken
    seconds: float = 0         # the same, engine's start included
    proofs: dict = dataclasses.field(default_factory=dict)  # clause of the patch to the scenario

    def unproven(self):
        return [clause for clause in self.mutant.clauses if clause not in self.proofs]

    def as_expected(self):
        if self.trouble or self.killed == bool(self.mutant.survives):
            return False
        return not self.killed or not self.unproven()


class Suite:
    """The scenarios of a folder, run by the command of the build."""

    environment = SEES_FREED_MEMORY
    failures = FAILURES

    def __init__(self, build, name, folder):
        self.command = str(build / "bin" / "gradcts")
        self.name, self.folder = name, str(folder)
        listed = self.call("list", "--scenarios", "--json", "--suites", self.folder)
        if listed.returncode != 0:
            raise SystemExit(f"mutants: {listed.stderr.strip()}")
        entries = json.loads(listed.stdout)
        self.nodes = {entry["id"]: entry.get("nodes", 0) for entry in entries}
        self.clauses = {entry["id"]: entry["clauses"] for entry in entries}
        self.with_threads = {entry["id"] for entry in entries if "threads" in entry["features"]}

    def call(self, *arguments, timeout=None):
        return subprocess.run([self.command, *arguments], capture_output=True, text=True, timeout=timeout,
                              env=os.environ | self.environment)

    def testing(self, clause):
        """The scenarios of a clause, in the order in which they are explored: first those with threads of their own, since
        in others only the engine's threads can meet; of these and of those the smallest first."""
        ids = [name for name, clauses in self.clauses.items() if clause in clauses]
        return sorted(ids, key=lambda name: (name not in self.with_threads, self.nodes[name], name))

    def run(self, library, folder, *selection):
        """The records of the run's report, results in order; and what the command complained of, if anything."""
        records, complaint = self.run_once(library, folder, SECONDS_FOR_A_SCENARIO, *selection)
        hung = [record for record in records if record.get("verdict") == "hang"]
        if hung:
            smallest = min(hung, key=lambda record: self.nodes.get(record["id"], 0))["id"]
            again, _ = self.run_once(library, folder, SECONDS_FOR_A_HANG, smallest)
            if again and all(record["as_expected"] for record in again if record["record"] == "scenario"):
                for record in hung:
                    record["as_expected"] = True
            seen = {record["id"]: record for record in again if record["record"] == "scenario"}
            records = [seen.get(record.get("id"), record) for record in records]  # one that took long may just be wrong
        return records, complaint

    def run_once(self, library, folder, seconds, *selection):
        """The same, and a hang is what took so many seconds."""
        report = folder / f"{self.name}.jsonl"
        report.unlink(missing_ok=True)
        try:
            done = self.call("run", "--engine", str(library), "--suites", self.folder, "--no-expect",
                              "--timeout", str(seconds), "--max-failures", str(self.failures),
                              "--report", f"json={report}", *selection, timeout=SECONDS_FOR_A_RUN)
        except subprocess.TimeoutExpired:
            return [], f"the run did not end within {SECONDS_FOR_A_RUN} s"
        if done.returncode == WRONG_USE:
            raise BadRun(done.stderr.strip())
        if not report.exists():
            return [], done.stderr.strip()
        return [json.loads(line) for line in report.read_text().splitlines()], done.stderr.strip()

    def explore(self, scenario, library, limit=SECONDS_FOR_SCHEDULES):
        """Schedules taken, seconds, and how one failed ("" when none did, or when the limit was reached: a failing
        schedule is also taken again with fewer switches meanwhile)."""
        try:
            done = self.call("explore", scenario, "--engine", str(library), "--suites", self.folder,
                              "--strategy", "pos", "--schedules", str(SCHEDULES), "--seed", "1", "--timeout",
                              str(SECONDS_FOR_A_SCENARIO), timeout=limit)
        except subprocess.TimeoutExpired:
            return 0, limit, ""
        return read_exploration(done.stdout) if done.returncode in (0, 1) else (0, 0, "")


def read_exploration(text):
    """The last line that speaks of the scenario: what was taken, in what time, and how one failed."""
    last = [line for line in text.splitlines() if re.match(r"\S+/\S+: ", line)][-1]
    if last.endswith(": crash"):
        return 1, 0, "crash"
    taken = re.search(r"([\d,]+) schedules?", last)
    seconds = re.search(r"([\d.]+) s \(", last)
    how = re.search(r"FAILED \((.*)\)$", last)
    return (int(taken[1].replace(",", "")) if taken else 1, float(seconds[1]) if seconds else 0,
            how[1] if how else "")


def judge(result, suite, records):
    """Fills in the result from a run's records; the scenarios that noticed."""
    scenarios = [record for record in records if record["record"] == "scenario"]
    failed = [record for record in scenarios if not record["as_expected"]]
    problems = [record for record in records if record["record"] == "problem"]
    until = scenarios.index(failed[0]) + 1 if failed else len(scenarios)
    if not result.killed:
        result.cases += until
        result.seconds += sum(record["seconds"] for record in scenarios[:until])
    if not failed and not problems:
        return []
    if not result.killed:
        result.killed, result.by = True, suite.name
        name_smallest(result, suite, failed, problems)
    return [record["id"] for record in failed] + [record["id"] for record in problems]


def name_smallest(result, suite, failed, problems):
    if not failed:
        result.scenario, result.verdict = problems[0]["id"], "problem"
        result.clause = problems[0]["text"][:60]
        return
    smallest = min(failed, key=lambda record: suite.nodes.get(record["id"], 0))
    result.scenario, result.verdict = smallest["id"], smallest["verdict"]
    result.nodes = suite.nodes.get(smallest["id"], 0)
    findings = smallest["findings"]
    result.clause = findings[0]["clause"] if findings else ", ".join(smallest["clauses"])


class Trial:
    def __init__(self, engine, rebuilt, suites, golden):
        self.engine, self.rebuilt, self.suites, self.golden = engine, rebuilt, suites, golden

    def run(self, mutant):
        result = Result(mutant)
        with tempfile.TemporaryDirectory(prefix="gradcts-mutant-") as name:
            folder = pathlib.Path(name)
            try:
                library = self.engine.make(mutant, folder)
                for clause in mutant.clauses:
                    self._run(result, self.suites, library, folder, "--clause", clause)
                if not result.killed and not self._run(result, self.suites, library, folder):
                    self._run(result, self.golden, library, folder)
                if result.unproven() and mutant.kind in SCHEDULED_KINDS:
                    self._explore(result, folder)
            except (BadPatch, BuildFailed, BadRun) as problem:
                result.trouble = str(problem)
        return result

    def _run(self, result, suite, library, folder, *selection):
        records, complaint = suite.run(library, folder, *selection)
        if not records:
            result.killed, result.by, result.verdict = True, suite.name, complaint
            return True
        noticed = judge(result, suite, records)
        for scenario in sorted(noticed, key=lambda name: suite.nodes.get(name, 0)):
            for clause in suite.clauses.get(scenario, []):
                if clause in result.mutant.clauses:
                    result.proofs.setdefault(clause, scenario)
        return bool(noticed)

    def _explore(self, result, folder):
        rebuilt = folder / "rebuilt"  # by the folder's name the command knows such an engine
        rebuilt.mkdir()
        library = self.rebuilt().make(result.mutant, rebuilt)
        if not result.killed:
            result.cases, result.seconds = 0, 0  # of schedules alone
        for clause in result.unproven():
            for scenario in self.suites.testing(clause)[:EXPLORED]:
                taken, seconds, how = self.suites.explore(scenario, library)
                if not result.killed:
                    result.cases, result.seconds = result.cases + taken, result.seconds + seconds
                if not how:
                    continue
                result.proofs[clause] = scenario
                if not result.killed:
                    result.killed, result.by, result.scenario = True, "schedules", scenario
                    result.clause, result.verdict = clause, how
                    result.nodes = self.suites.nodes[scenario]
                break
