"""Tests of the command as people use it: exact lines, exit statuses, files.

usage: command_test.py GRADCTS ENGINES LIARS [unittest arguments]
ENGINES holds the fake engines of the runner's tests, LIARS the engines that lie (it may be missing).
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

GRADCTS, ENGINES, LIARS = "", "", ""


def square(scenario_id, **changes):
    """y = x * x at 3, backward with seed 2: x.grad is 12."""
    scenario = {
        "schema": "gradcts.scenario/1", "id": scenario_id, "title": "a square", "clauses": ["ACC-1"],
        "leaves": [{"name": "x", "value": 3}],
        "nodes": [{"name": "y", "op": "mul", "inputs": ["x", "x"]}],
        "program": [{"do": "forward"},
                    {"do": "backward", "roots": [{"value": "y", "seed": 2}]},
                    {"do": "read", "grads": ["x"], "expect": {"values": [12]}}],
    }
    return copy.deepcopy({**scenario, **changes})


def suite(*scenarios):
    """A suite of the area `fake`."""
    entries = []
    for scenario in scenarios:
        entry = dict(scenario)
        del entry["schema"]
        entries.append(entry)
    return {"schema": "gradcts.suite/1", "area": "fake", "scenarios": entries}


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def gradcts(self, *arguments, environment=None):
        return subprocess.run([GRADCTS, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=300, check=False,
                              env={**os.environ, **(environment or {})})

    def expect_status(self, status, *arguments, **options):
        result = self.gradcts(*arguments, **options)
        self.assertEqual(result.returncode, status,
                         f"gradcts {' '.join(arguments)}\n{result.stdout}\n{result.stderr}")
        return result

    def expect_complaint(self, status, *arguments, **options):
        """One line on standard error, and nothing else; returns it without the name in front."""
        result = self.expect_status(status, *arguments, **options)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"\Agradcts: [^\n]+\n\Z")
        return result.stderr[len("gradcts: "):-1]

    def fake(self, name="fake"):
        return os.path.join(ENGINES, f"libgradcts-{name}.so")


class WrongUse(CommandTest):
    def test_flags(self):
        self.assertIn("--nonsense", self.expect_complaint(2, "run", "--nonsense"))
        self.assertRegex(self.expect_complaint(2, "frobnicate"),
                         r"\Ano command 'frobnicate'; there are: run, list, show, replay, lint, [a-z, -]+\Z")
        self.assertIn("--shard '5/4'", self.expect_complaint(2, "run", "--shard", "5/4"))
        self.assertIn("no clause or area 'NO-1'", self.expect_complaint(2, "run", "--clause", "NO-1"))
        self.assertIn("expected junit=FILE, json=FILE or html=FILE", self.expect_complaint(2, "run", "--report", "pdf=x"))
        self.expect_complaint(2, "run", "-j", "0")
        self.expect_complaint(2, "run", "--timeout", "soon")
        self.expect_complaint(2, "show")

    def test_nothing_at_all(self):
        result = self.expect_status(2)
        self.assertIn("Exit status:", result.stderr)

    def test_help_and_version(self):
        self.assertIn("Exit status:", self.expect_status(0, "--help").stdout)
        self.assertRegex(self.expect_status(0, "--version").stdout, r"\Agradcts \d+\.\d+\.\d+\n\Z")
        for command in self.commands():
            text = self.expect_status(0, command, "--help").stdout
            self.assertRegex(text, rf"Examples?:\n(  .*\n)*  .*gradcts {command}", f"{command} --help has no example")
        self.assertNotIn("worker\n", self.expect_status(0, "--help").stdout)

    def commands(self):
        line = self.expect_complaint(2, "no-such-command")
        return line.split("there are: ")[1].split(", ")

    def test_unknown_engine(self):
        line = self.expect_complaint(2, "run", "--engine", "nosuch", environment={"GRADCTS_ENGINE_PATH": ENGINES})
        self.assertRegex(line, r"\Ano engine 'nosuch'; there are: .*fake.*, no, .*old")
        line = self.expect_complaint(2, "run", "--engine", "/no/such/engine.so")
        self.assertEqual(line, "no engine at '/no/such/engine.so': no such file")

    def test_a_file_that_is_no_library(self):
        engine = self.write("engine.so", "not a library")
        line = self.expect_complaint(3, "run", "--engine", engine)
        self.assertRegex(line, r"\Aengine does not load: .*engine\.so: file too short\Z")

    def test_a_program_that_cannot_be_started(self):
        engine = self.write("engine.py", "#!/no/such/interpreter\n")
        self.assertIn("a program must be executable (chmod +x", self.expect_complaint(2, "run", "--engine", engine))
        os.chmod(engine, 0o755)
        self.assertRegex(self.expect_complaint(3, "run", "--engine", engine), "engine does not start: .*No such file")

    def test_a_library_that_is_no_engine(self):
        self.assertIn("exports no 'gradcts_adapter'", self.expect_complaint(3, "run", "--engine", self.fake("no")))

    def test_another_interface_version(self):
        self.assertTrue(self.expect_complaint(3, "run", "--engine", self.fake("old")).endswith(
            "speaks interface version 999; this gradcts speaks 1"))

    def test_unwritable_reports(self):
        for report in ("junit", "json", "html"):
            line = self.expect_complaint(2, "run", "--engine", self.fake(), "--report", f"{report}=/no/such/folder/file")
            self.assertEqual(line, "/no/such/folder/file: cannot be written: No such file or directory")

    def test_scenarios_that_are_not_there(self):
        self.assertIn("no scenario and no file 'no/such'", self.expect_complaint(2, "show", "no/such"))
        self.assertIn("no such file or folder", self.expect_complaint(2, "run", "--suites", "/no/such"))
        self.assertIn("GRADCTS_SUITES", self.expect_complaint(2, "list", environment={"GRADCTS_SUITES": "/no/such"}))

    def test_a_file_with_several_scenarios_is_not_one(self):
        path = self.write("suite.json", suite(square("a"), square("b")))
        self.assertIn("holds 2 scenarios", self.expect_complaint(2, "show", path))


class BadScenarios(CommandTest):
    """Each file is refused by every command, with one line that names the file and the place."""

    def expect_refused(self, content, *parts):
        path = self.write("bad.json", content)
        for command in (["run", "--engine", self.fake(), "--suites", path], ["show", path],
                        ["replay", path, "--engine", self.fake()]):
            line = self.expect_complaint(2, *command)
            self.assertTrue(line.startswith(path), line)
            for part in parts:
                self.assertIn(part, line)
        result = self.expect_status(1, "lint", path)
        self.assertEqual(len(result.stdout.splitlines()), 1, result.stdout)
        for part in (path, *parts):
            self.assertIn(part, result.stdout)

    def test_syntax(self):
        self.expect_refused('{"schema": "gradcts.scenario/1",\n "id": }', "line 2")

    def test_unknown_field(self):
        self.expect_refused(square("fake/a", colour="red"), "colour")

    def test_dangling_name(self):
        self.expect_refused(square("fake/a", nodes=[{"name": "y", "op": "mul", "inputs": ["x", "w"]}]),
                            "nodes[0].inputs[1]", "w")

    def test_cycle(self):
        self.expect_refused(square("fake/a", nodes=[{"name": "y", "op": "neg", "inputs": ["z"]},
                                                    {"name": "z", "op": "neg", "inputs": ["y"]}]), "nodes")

    def test_wrong_type(self):
        self.expect_refused(square("fake/a", title=7), "title")

    def test_duplicate_key(self):
        self.expect_refused('{"schema": "gradcts.scenario/1", "id": "a", "id": "b"}', "id")

    def test_empty_and_binary(self):
        self.expect_refused("")
        path = self.path("bad.json")
        with open(path, "wb") as file:
            file.write(bytes(range(256)))
        self.expect_complaint(2, "show", path)

    def test_deep_nesting(self):
        self.expect_refused("[" * 100000)


class Lint(CommandTest):
    def problems(self, content):
        path = self.write("suite.json", content)
        result = self.expect_status(1, "lint", path)
        lines = result.stdout.splitlines()
        for line in lines:
            self.assertTrue(line.startswith(path + ": "), line)
        return [line[len(path) + 2:] for line in lines]

    def test_good(self):
        path = self.write("suite.json", suite(square("a"), square("b")))
        self.assertEqual(self.expect_status(0, "lint", path).stdout, "2 scenarios in 1 file: no problems\n")

    def test_unknown_clause_and_report(self):
        problems = self.problems(suite(square("a"), square("b", clauses=["ACC-1", "ACC-77"], reports=["B026", "C3"])))
        self.assertEqual(len(problems), 2)
        self.assertTrue(problems[0].startswith("scenarios[1] (fake/b): clauses[1]: no clause 'ACC-77'"), problems[0])
        self.assertTrue(problems[1].startswith("scenarios[1] (fake/b): reports[1]: 'C3' is no report"), problems[1])

    def test_one_bad_scenario_does_not_hide_another(self):
        problems = self.problems(suite(square("a", title=1), square("b", colour=1), square("c")))
        self.assertEqual(len(problems), 2)
        self.assertTrue(problems[0].startswith("scenarios[0] (fake/a): title"), problems[0])
        self.assertTrue(problems[1].startswith("scenarios[1] (fake/b): unknown field 'colour'"), problems[1])

    def test_duplicate_id(self):
        problems = self.problems(suite(square("a"), square("a")))
        self.assertEqual(len(problems), 1)
        self.assertTrue(problems[0].startswith("scenarios[1] (fake/a): id: duplicate id 'fake/a'"), problems[0])

    def test_an_expectation_that_the_oracle_does_not_share(self):
        scenario = square("a")
        scenario["program"][2]["expect"] = {"values": [13]}
        problems = self.problems(suite(scenario))
        self.assertEqual(problems, ["scenarios[0] (fake/a): program[2].expect: states 13, the oracle says 12"])

    def test_stale_expectations_of_an_engine(self):
        self.write("suites/a.json", suite(square("a")))
        self.write("suites/expectations/fake.json", {
            "schema": "gradcts.expectations/1",
            "expectations": [{"id": "fake/gone", "verdict": "fail", "clause": "ACC-1", "reason": "r"}]})
        result = self.expect_status(1, "lint", self.path("suites"))
        self.assertIn("'fake/gone' matches no scenario", result.stdout)


class Run(CommandTest):
    def run_fake(self, status, *arguments, scenarios=None):
        ids = ("a", "b/one", "b/two")
        path = self.write("suites/suite.json", suite(*(scenarios or [square(i) for i in ids])))
        return self.expect_status(status, "run", "--engine", self.fake(), "--suites", os.path.dirname(path), *arguments)

    def records(self, path):
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def ids(self, path):
        return [record["id"] for record in self.records(path) if record["record"] == "scenario"]

    def test_a_pass(self):
        result = self.run_fake(0)
        self.assertIn("3 scenarios", result.stdout)
        self.assertIn("all as expected", result.stdout)
        self.assertEqual(result.stderr, "")
        self.assertNotIn("\033", result.stdout)

    def test_a_dialect_in_place_of_the_declared_one(self):
        self.assertIn("(dialect reference)", self.run_fake(0).stdout)
        self.assertIn("(dialect pytorch-1.13)", self.run_fake(0, "--dialect", "pytorch-1.13").stdout)

    def test_patterns(self):
        report = self.path("report.jsonl")
        self.run_fake(0, "fake/b", "--report", f"json={report}")
        self.assertEqual(self.ids(report), ["fake/b/one", "fake/b/two"])
        self.run_fake(0, "--skip", "fake/b", "--report", f"json={report}")
        self.assertEqual(self.ids(report), ["fake/a"])
        self.run_fake(0, "--clause", "ACC", "*/two", "--report", f"json={report}")
        self.assertEqual(self.ids(report), ["fake/b/two"])

    def test_nothing_executed_is_a_failure(self):
        result = self.run_fake(1, "nosuch")
        self.assertIn("nothing was executed: no scenario is selected", result.stdout)
        self.assertIn("no scenario matches 'nosuch'", result.stderr)
        self.assertNotIn("unexpected", result.stdout)  # no table without rows
        lacking = square("a", leaves=[{"name": "x", "value": {"device": "sim:0", "shape": [], "values": [3]}}])
        lacking["program"][2].pop("expect")
        result = self.run_fake(1, scenarios=[lacking])
        self.assertIn("nothing was executed: the engine claims the features of no selected scenario", result.stdout)
        self.assertIn("device.sim", result.stdout)

    def test_shards_partition(self):
        seen = []
        for part in (1, 2):
            report = self.path(f"report{part}.jsonl")
            self.run_fake(0, "--shard", f"{part}/2", "--report", f"json={report}")
            seen += self.ids(report)
        self.assertEqual(sorted(seen), ["fake/a", "fake/b/one", "fake/b/two"])

    def test_reports_are_read_by_others(self):
        xml_file, json_file = self.path("report.xml"), self.path("report.jsonl")
        self.run_fake(1, "--report", f"junit={xml_file}", "--report", f"json={json_file}",
                      scenarios=[square("a"), square("crash/abort"), square("flaky")])
        root = xml.etree.ElementTree.parse(xml_file).getroot()
        self.assertEqual(root.get("tests"), "3")
        self.assertEqual([case.get("name") for case in root.iter("testcase")],
                         ["fake/a", "fake/crash/abort", "fake/flaky"])
        error = root.find(".//error")
        self.assertIn("SIGABRT", error.get("message"))
        self.assertIn("gradcts replay fake/crash/abort", error.text)
        records = self.records(json_file)
        self.assertEqual([record["record"] for record in records], ["header"] + ["scenario"] * 3 + ["summary"])
        self.assertEqual(records[2]["verdict"], "crash")
        self.assertRegex(records[2]["hash"], r"\A[0-9a-f]{16}\Z")
        self.assertEqual(records[-1]["counts"]["crash"], 1)
        self.assertEqual(records[-1]["exit_status"], 1)

    def test_a_failure_says_how_to_see_it_again(self):
        result = self.run_fake(1, "--timeout", "20", scenarios=[square("a"), square("crash/null")])
        command = [line.strip() for line in result.stdout.splitlines() if "gradcts replay" in line][0]
        replay = self.expect_status(1, *command.split()[1:])
        self.assertIn("CRASH fake/crash/null", replay.stdout)
        self.assertIn("SIGSEGV", replay.stdout)

    def test_expectations(self):
        entry = {"id": "fake/crash/null", "verdict": "crash", "clause": "ACC-1", "reason": "known since 1.0"}
        expect = self.write("expect.json", {"schema": "gradcts.expectations/1", "expectations": [entry]})
        scenarios = [square("a"), square("crash/null")]
        result = self.run_fake(0, "--expect", expect, scenarios=scenarios)
        self.assertIn("1 expected failure", result.stdout)
        self.assertIn(f"expectations: {expect} (1 entry)", result.stdout)
        passing = self.write("expect.json", {"schema": "gradcts.expectations/1", "expectations": [
            entry, {**entry, "id": "fake/a"}]})
        result = self.run_fake(1, "--expect", passing, scenarios=scenarios)
        self.assertIn("UNEXPECTED PASS fake/a", result.stdout)
        stale = self.write("expect.json", {"schema": "gradcts.expectations/1", "expectations": [
            {**entry, "id": "fake/gone"}]})
        result = self.run_fake(2, "--expect", stale, scenarios=scenarios)
        self.assertIn("'fake/gone' matches no scenario", result.stderr)
        odd = self.write("expect.json", {"schema": "gradcts.expectations/1", "expectations": [
            {**entry, "colour": "red"}]})
        result = self.run_fake(2, "--expect", odd, scenarios=scenarios)
        self.assertIn("expectations[0].colour: unknown field", result.stderr)

    def test_expectations_beside_the_suites_are_used(self):
        entry = {"pattern": "fake/crash", "verdict": "crash", "clause": "ACC-1", "reason": "known"}
        self.write("suites/expectations/fake.json", {"schema": "gradcts.expectations/1", "expectations": [entry]})
        scenarios = [square("a"), square("crash/null")]
        self.assertIn("expectations/fake.json (1 entry)", self.run_fake(0, scenarios=scenarios).stdout)
        self.run_fake(1, "--no-expect", scenarios=scenarios)


class ListAndShow(CommandTest):
    def setUp(self):
        super().setUp()
        self.suites = self.write("suite.json", suite(square("a"), square("b", clauses=["ROOT-1"])))

    def listed(self, *arguments):
        entries = json.loads(self.expect_status(0, "list", *arguments, "--json", "--suites", self.suites).stdout)
        self.assertIsInstance(entries, list)
        self.assertTrue(entries)
        self.assertTrue(all(isinstance(entry["id"], str) for entry in entries))
        self.assertEqual(len({entry["id"] for entry in entries}), len(entries))
        plain = self.expect_status(0, "list", *arguments, "--suites", self.suites).stdout
        for entry in entries:
            self.assertIn(entry["id"], plain)
        return {entry["id"]: entry for entry in entries}

    def test_lists(self):
        self.assertEqual(list(self.listed("--scenarios")), ["fake/a", "fake/b"])
        self.assertEqual(list(self.listed()), ["fake/a", "fake/b"])
        clauses = self.listed("--clauses")
        self.assertEqual(clauses["ROOT-1"]["scenarios"], ["fake/b"])
        self.assertEqual(clauses["ROOT-2"]["scenarios"], [])
        self.assertIn("B008-stop-ends-busy-threads", [proof["mutant"] for proof in clauses["SHUT-2"]["proofs"]])
        self.assertEqual(clauses["ORDER-4"]["proofs"], [])
        self.assertIn("what is free", clauses["ORDER-4"]["unproven"])
        self.assertIn("mul", self.listed("--operations"))
        self.assertIn("hook.tensor", self.listed("--features"))
        self.assertIn("reference", self.listed("--dialects"))

    def test_engines(self):
        result = self.expect_status(0, "list", "--engines", "--json", environment={"GRADCTS_ENGINE_PATH": ENGINES})
        engines = {entry["id"]: entry for entry in json.loads(result.stdout)}
        self.assertEqual(engines["fake"]["version"], "1.0")
        self.assertIn("interface version 999", engines["old"]["problem"])

    def test_show(self):
        text = self.expect_status(0, "show", "fake/a", "--suites", self.suites).stdout
        for part in ("a square", "ACC-1", "x = float64 () [3]", "y = mul(x, x)", "x.grad = 12"):
            self.assertIn(part, text)
        self.assertIn("digraph", self.expect_status(0, "show", "fake/a", "--suites", self.suites, "--dot").stdout)

    def test_the_json_of_a_scenario_is_a_scenario(self):
        text = self.expect_status(0, "show", "fake/a", "--suites", self.suites, "--json").stdout
        path = self.write("plain.json", text)
        self.assertEqual(self.expect_status(0, "show", path, "--json").stdout, text)

    def test_svg(self):
        svg = self.path("graph.svg")
        no_dot = self.expect_complaint(2, "show", "fake/a", "--suites", self.suites, "--svg", svg,
                                       environment={"PATH": self.folder.name})
        self.assertEqual(no_dot, "an SVG needs Graphviz: its command 'dot' is not installed")
        dot = self.write("dot", '#!/bin/sh\nfile=${2#-o}\ncat > "$file"\n')
        os.chmod(dot, 0o755)
        self.expect_status(0, "show", "fake/a", "--suites", self.suites, "--svg", svg,
                           environment={"PATH": f"{self.folder.name}:/usr/bin:/bin"})
        with open(svg, encoding="utf-8") as file:
            self.assertIn("digraph", file.read())

    def test_replay_shows_all_and_writes_the_outcome(self):
        outcome = self.path("outcome.json")
        result = self.expect_status(0, "replay", "fake/a", "--suites", self.suites, "--engine", self.fake(),
                                    "--outcome", outcome)
        for part in ("PASS fake/a", "results of the steps", "trace", "node_enter y", "x.grad = 12"):
            self.assertIn(part, result.stdout)
        with open(outcome, encoding="utf-8") as file:
            self.assertIn("steps", json.load(file))


class Reports(CommandTest):
    """Files that are made of a run. What the page looks like is tested in a browser, with the reports."""

    def setUp(self):
        super().setUp()
        self.suites = self.write("suite.json", suite(square("a"), square("b")))

    def test_html(self):
        page, run = self.path("page.html"), self.path("run.jsonl")
        self.expect_status(0, "run", "--engine", self.fake(), "--suites", self.suites, "--report", f"html={page}",
                           "--report", f"json={run}")
        later = self.path("later.html")
        result = self.expect_status(0, "report", f"html={later}", run, run, "--against", run)
        self.assertEqual(result.stdout, f"{later}: 2 runs\n")
        for path in (page, later):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertIn("fake/a", text)
            self.assertNotRegex(text, r"(src|href)=.?https?:", "the page loads nothing")

    def test_reports_of_what_is_no_run(self):
        page = "html=" + self.path("page.html")
        bad = self.write("bad.jsonl", "no report\n")
        self.assertTrue(self.expect_complaint(2, "report", page, bad).startswith(f"{bad}: line 1: "))
        self.assertIn("cannot be read", self.expect_complaint(2, "report", page, self.path("none.jsonl")))
        self.assertIn("expected html=FILE", self.expect_complaint(2, "report", "pdf=x", bad))
        run, other = self.path("run.jsonl"), self.path("other.jsonl")
        self.expect_status(0, "run", "--engine", self.fake(), "--suites", self.suites, "--report", f"json={run}")
        with open(run, encoding="utf-8") as file:
            text = file.read()
        self.write("other.jsonl", text.replace('"engine":"fake"', '"engine":"another"'))
        self.assertIn("is of engine 'another'", self.expect_complaint(2, "report", page, run, "--against", other))
        self.assertFalse(os.path.exists(self.path("page.html")), "nothing is written when something is wrong")

    def test_trace(self):
        trace = self.path("trace.json")
        self.expect_status(0, "replay", "fake/a", "--suites", self.suites, "--engine", self.fake(), "--trace", trace)
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        self.assertIn("y", [event["name"] for event in events if event["ph"] == "X"])
        self.assertIn("/no/such/folder/t: cannot be written",
                      self.expect_complaint(2, "replay", "fake/a", "--suites", self.suites, "--trace", "/no/such/folder/t"))

    def test_quiet(self):
        quiet = ("run", "--engine", self.fake(), "--quiet", "--suites")
        self.assertEqual(self.expect_status(0, *quiet, self.suites).stdout, "")
        path = self.write("crash.json", suite(square("a"), square("crash/null")))
        result = self.expect_status(1, *quiet, path)
        self.assertIn("CRASH fake/crash/null", result.stdout)
        self.assertIn("1 not as expected", result.stdout)


class Shell(CommandTest):
    """The manual page and the completion, both made of the help."""

    def complete(self, *words):
        return self.expect_status(0, "complete", "--", *words).stdout.splitlines()

    def test_completion(self):
        self.assertIn("replay", self.complete("re"))
        self.assertNotIn("complete", self.complete("comp"))
        self.assertIn("--engine", self.complete("run", "--e"))
        self.assertIn("html=", self.complete("run", "--report", ""))
        self.assertIn("ROOT-2", self.complete("run", "--clause", "ROOT"))
        suites = self.write("suite.json", suite(square("a"), square("b/one"), square("b/two")))
        self.assertEqual(self.complete("run", "--suites", suites, "fa"), ["fake/"])
        self.assertEqual(self.complete("show", "--suites", suites, "fake/"), ["fake/a", "fake/b/"])
        self.assertEqual(self.complete("show", "--suites", suites, "fake/b/t"), ["fake/b/two"])
        self.assertEqual(self.complete("run", "--expect", ""), [], "a file: the shell's own business")
        result = self.expect_status(0, "complete", "--", "run", "--engine", "f", environment={"GRADCTS_ENGINE_PATH": ENGINES})
        self.assertIn("fake", result.stdout.splitlines())

    def test_bash_completes(self):
        script = self.write("completion", self.expect_status(0, "completion").stdout)
        ask = (f"source {script}; COMP_WORDS=({GRADCTS} rep); COMP_CWORD=1; _gradcts 2>/dev/null; "
               "printf '%s\\n' \"${COMPREPLY[@]}\"")
        result = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(result.stdout.split(), ["replay", "report"])

    def test_manual(self):
        page = self.expect_status(0, "manual").stdout
        self.assertTrue(page.startswith('.TH GRADCTS 1'))
        help_text = self.expect_status(0, "run", "--help").stdout
        for part in (r"\-\-shard", r"\-\-no\-expect", ".SS replay", ".SH EXIT STATUS", "everything as expected"):
            self.assertIn(part, page)
        self.assertIn("may be repeated", help_text)
        self.assertIn("may be repeated", page)
        for line in page.splitlines():
            self.assertRegex(line, r"\A([^.']|\.(TH|SH|SS|TP|PP|nf|fi)\b|\Z)", "no line is taken for a command of troff")


class Liars(CommandTest):
    """Engines that lie, each caught by the verdict that fits."""

    def setUp(self):
        super().setUp()
        if not os.path.isdir(LIARS):
            self.skipTest("no lying engines in this build")

    def verdicts(self, liar, *patterns):
        engine = os.path.join(LIARS, f"libgradcts-lying-{liar}.so")
        if not os.path.exists(engine):
            self.skipTest(f"no engine {liar} in this build")
        report = self.path("report.jsonl")
        result = self.gradcts("run", "--engine", engine, "--timeout", "2", "--report", f"json={report}", *patterns)
        if not os.path.exists(report):
            return result, []
        with open(report, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        return result, [record for record in records if record["record"] == "scenario"]

    def expect_caught(self, liar, allowed, status):
        result, records = self.verdicts(liar, "root", "acc")
        kinds = {record["verdict"] for record in records} - {"pass", "unsupported"}
        self.assertTrue(kinds, f"{liar} was not caught\n{result.stdout}")
        self.assertTrue(kinds <= allowed, f"{liar}: {kinds}\n{result.stdout}")
        self.assertEqual(result.returncode, status)
        return [record for record in records if record["verdict"] in kinds]

    def test_wrong_answers_fail(self):
        for liar in ("always-wrong", "drops-an-edge", "counts-twice"):
            with self.subTest(liar):
                for record in self.expect_caught(liar, {"fail"}, 1):
                    self.assertTrue(record["findings"])

    def test_a_hang_shows_stacks(self):
        result, records = self.verdicts("hangs", "root/one-root")
        hangs = [record for record in records if record["verdict"] == "hang"]
        self.assertTrue(hangs, result.stdout)
        self.assertRegex(hangs[0]["detail"], r'thread \d+ "gradcts worker"')
        self.assertEqual(result.returncode, 1)

    def test_a_death_shows_signal_and_stack(self):
        for record in self.expect_caught("dies", {"crash"}, 1):
            self.assertRegex(record["detail"], r"killed by signal \d+ \(SIG")
            self.assertIn("libgradcts-lying-dies.so", record["detail"])

    def test_too_many_claims(self):
        result, records = self.verdicts("claims-too-much")
        kinds = {record["verdict"] for record in records} - {"pass", "unsupported"}
        self.assertTrue(kinds and kinds <= {"fail", "error"}, f"{kinds}\n{result.stdout}")

    def test_answers_to_another_request_and_garbage(self):
        for liar in ("answers-another", "speaks-garbage"):
            with self.subTest(liar):
                self.expect_caught(liar, {"error"}, 3)

    def test_another_version(self):
        result, _ = self.verdicts("wrong-version")
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr, r"\Agradcts: [^\n]*interface version[^\n]*\n\Z")

    def test_an_engine_may_print(self):
        result, records = self.verdicts("prints", "root")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("pass", {record["verdict"] for record in records})


if __name__ == "__main__":
    GRADCTS, ENGINES, LIARS = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:])
