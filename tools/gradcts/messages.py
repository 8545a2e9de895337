"""Bad input of every kind against every command, and the page that says what each prints.

usage: messages.py GRADCTS ENGINES PAGE [--write] [unittest arguments]
ENGINES holds the fake engines of the runner's tests. PAGE is docs/messages.md: its tables must be what is printed
now; --write puts them there.

For each case: one clear line, the status of wrong use (or, for engines and places, of what cannot work), nothing on
standard output, no crash, an end within two minutes.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

GRADCTS, ENGINES, PAGE = "", "", ""
SCENARIO = {
    "schema": "gradcts.scenario/1", "id": "mine/square", "title": "a square", "clauses": ["ACC-1"],
    "leaves": [{"name": "x", "value": 3}],
    "nodes": [{"name": "y", "op": "mul", "inputs": ["x", "x"]}],
    "program": [{"do": "forward"}, {"do": "backward", "roots": [{"value": "y", "seed": 2}]},
                {"do": "read", "grads": ["x"], "expect": {"values": [12]}}],
}
GOOD = json.dumps(SCENARIO)
HUGE = object()  # of 200 GB, which takes no place on the disk


def changed(old, new):
    assert old in GOOD, old
    return GOOD.replace(old, new)


# What no file of JSON may be, and the same for each kind of file.
BROKEN = [
    ("an empty file", ""),
    ("binary data", bytes(range(256)) * 16),
    ("text that is not UTF-8", b'{"schema": "caf\xe9"}'),
    ("a file that was cut short", GOOD[:60]),
    ("two values in a file", GOOD + GOOD),
    ("the same field twice", '{"schema": "a", "schema": "b"}'),
    ("100,000 opened lists", "[" * 100_000),
    ("a number that no computer holds", '{"schema": 1e999}'),
    ("200 GB", HUGE),
    ("no object at all", "42"),
    ("a folder", None),
]
BAD_SCENARIOS = BROKEN + [
    ("another version of the format", changed("scenario/1", "scenario/2")),
    ("an unknown field", changed('"id"', '"colour": "red", "id"')),
    ("a field of another type", changed('"a square"', "7")),
    ("a missing field", changed('"title": "a square", ', "")),
    ("a name that nothing has", changed('["x", "x"]', '["x", "w"]')),
    ("a name twice", changed('"nodes": [', '"nodes": [{"name": "y", "op": "neg", "inputs": ["x"]}, ')),
    ("nodes that need each other", changed('["x", "x"]', '["x", "y"]')),
    ("a device out of range", changed('"value": 3', '"value": {"device": "sim:99999999999999999999", "shape": [], "values": [3]}')),
    ("a size below zero", changed('"value": 3', '"value": {"shape": [-1], "values": [3]}')),
    ("a number too large for what it is", changed('"value": 3', '"value": {"type": "int64", "shape": [], "values": [99999999999999999999]}')),
    ("a value that is no float64", changed('"value": 3', '"value": 1e400')),
    ("more numbers than the shape has", changed('"value": 3', '"value": {"shape": [2], "values": [1, 2, 3]}')),
    ("a shape beyond all memory", changed('"value": 3', '"value": {"shape": [4294967296, 4294967296], "fill": 1}')),
]
BAD_EXPECTATIONS = BROKEN + [
    ("another version of the format", '{"schema": "gradcts.expectations/9", "expectations": []}'),
    ("a clause that does not exist", json.dumps({"schema": "gradcts.expectations/1", "expectations": [
        {"id": "mine/square", "verdict": "fail", "clause": "NO-1", "reason": "r"}]})),
    ("no reason", json.dumps({"schema": "gradcts.expectations/1", "expectations": [
        {"id": "mine/square", "verdict": "fail", "clause": "ACC-1"}]})),
    ("a scenario that does not exist", json.dumps({"schema": "gradcts.expectations/1", "expectations": [
        {"id": "mine/gone", "verdict": "fail", "clause": "ACC-1", "reason": "r"}]})),
]
BAD_REPORTS = BROKEN + [
    ("a scenario", GOOD),
    ("another version of the format", '{"record": "header", "schema": "gradcts.report/9"}\n'),
    ("a report without its header", '{"record": "summary"}\n'),
    ("a header without an engine", '{"record": "header", "schema": "gradcts.report/1"}\n'),
]
BAD_FLAGS = [
    ("run -j 0",), ("run -j 99999999999999999999",), ("run --timeout soon",), ("run --timeout 0",), ("run --timeout nan",),
    ("run --timeout inf",), ("run --repeat -1",), ("run --max-failures 0",), ("run --shard 5/4",), ("run --shard 1/0",),
    ("run --shard a/b",), ("run --clause NO-1",), ("run --dialect klingon",), ("run --report pdf=x",), ("run --report junit=",),
    ("run --expect e.json --no-expect",), ("run --nonsense",), ("run --engine nosuch",), ("list --nonsense",),
    ("show",), ("show nosuch/scenario",), ("show mine.json --dialect klingon",), ("replay mine.json --dialect klingon",),
    ("replay mine.json --repeat 0",), ("replay mine.json another.json",), ("explore mine.json --strategy luck",),
    ("explore mine.json --bound 101",), ("explore mine.json --schedules 0",), ("explore mine.json --seed -1",),
    ("shrink mine.json --tries -1",), ("shrink mine.json --timeout 0",), ("emit mine.json --as haiku",),
    ("emit mine.json --as python --dialect klingon",),
    ("fuzz",), ("fuzz --out found",), ("fuzz --out found --time 0",), ("fuzz --out found --cases -1",),
    ("fuzz --out found --cases 1 --shard 3/2",), ("fuzz --show many",), ("fuzz --show -1",), ("fuzz --describe 0",),
    ("fuzz --out found --merge nosuch",), ("report",), ("report html=page.html",), ("report page.html run.jsonl",),
    ("frobnicate",),
]


class Case:
    """What is given in words, and the commands that are given it; {} is the file."""

    def __init__(self, given, *commands):
        self.given, self.commands = given, commands


SCENARIO_COMMANDS = ("run --suites {}", "list --suites {}", "show {}", "replay {}", "explore {}", "shrink {}", "emit {}",
                     "lint {}")


class Bench:
    """A fresh folder in which commands are tried."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="gradcts-messages-")
        self.write("mine.json", GOOD)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        path = self.path(name)
        if content is None:
            os.mkdir(path)
        elif content is HUGE:
            with open(path, "wb") as file:
                file.truncate(200 << 30)
        else:
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def run(self, words, shell=False, limit=120):
        command = f"exec '{GRADCTS}' {words}" if shell else [GRADCTS, *words.split()]
        return subprocess.run(command, shell=shell, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=limit, check=False,
                              env={**os.environ, "GRADCTS_ENGINE_PATH": ENGINES, "LC_ALL": "C"})

    def plain(self, text):
        return text.replace(self.folder + "/", "").replace(ENGINES + "/", "")


def row(*cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def code(text):
    """One line; evidence behind it is joined by a sign for its line ends."""
    text = " ⏎ ".join(line.strip() for line in text.split("\n"))
    return f"`` {text} ``" if "`" in text else f"`{text}`"


class Messages(unittest.TestCase):
    """Each test makes one table of the page."""

    maxDiff = None

    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.close)

    def complaint(self, words, status, shell=False):
        """The one line that a command says instead of working."""
        result = self.bench.run(words, shell)
        said = f"gradcts {words}: status {result.returncode}\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}"
        self.assertIn(result.returncode, status, said)
        if words.startswith("lint") and result.stdout:  # its problems are its result
            lines = result.stdout.splitlines()
            self.assertEqual(len(lines), 1, said)
            return self.bench.plain(lines[0]), 1
        evidence = r"(  .*\n)*" if "--engine" in words else ""  # what an engine printed before it died
        self.assertRegex(result.stderr, rf"\Agradcts: [^\n]+\n{evidence}\Z", said)
        self.assertEqual(result.stdout, "", said)
        line = self.bench.plain(result.stderr[len("gradcts: "):-1])
        self.assertLess(len(line), 400, said)
        line = re.sub(r"(no engine '.*'; there are: ).*", r"\1...", line)  # whichever were built
        return line, result.returncode

    def check_page(self, name, table):
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        self.assertIn(begin, page)
        before, rest = page.split(begin)
        old, after = rest.split(end)
        if WRITE:
            with open(PAGE, "w", encoding="utf-8") as file:
                file.write(before + begin + table + end + after)
            return
        self.assertEqual(table, old, f"{PAGE} says something else; messages.py ... --write renews it")

    def bad_files(self, name, contents, commands, status=(1, 2)):
        """The same input to each command gives the same line."""
        table = row("what the file is", "what is said") + row("---", "---")
        for given, content in contents:
            path = self.bench.write("bad.json", content)
            lines = {}
            for command in commands:
                with self.subTest(given=given, command=command):
                    line, _ = self.complaint(command.format("bad.json"), status)
                    lines.setdefault(line, []).append(command.split()[0])
            said = []
            for line, names in sorted(lines.items(), key=lambda item: -len(item[1])):
                said.append(code(line) + (f" ({', '.join(names)})" if len(lines) > 1 else ""))
            table += row(given, "<br>".join(said))
            shutil.rmtree(path) if content is None else os.remove(path)
        line, _ = self.complaint(commands[0].format("bad.json"), status)
        self.check_page(name, table + row("no file at all", code(line)))

    def test_scenarios(self):
        self.bad_files("scenarios", BAD_SCENARIOS, SCENARIO_COMMANDS)

    def test_expectations(self):
        self.bad_files("expectations", BAD_EXPECTATIONS, ("run --engine fake --suites mine.json --expect {}",))

    def test_known_findings(self):
        self.bad_files("known", BROKEN, ("fuzz --engine fake --cases 1 --out found --known {}",))
        self.assertFalse(os.path.exists(self.bench.path("found")))

    def test_reports(self):
        run = "run --engine fake --suites mine.json --quiet --report json=good.jsonl"
        self.assertEqual(self.bench.run(run).returncode, 0)
        self.bad_files("reports", BAD_REPORTS, ("report html=page.html {}", "report html=page.html good.jsonl --against {}"))
        self.assertFalse(os.path.exists(self.bench.path("page.html")))

    def test_flags(self):
        table = row("command", "what is said") + row("---", "---")
        for words, in BAD_FLAGS:
            with self.subTest(words):
                line, _ = self.complaint(words, (2,))
                table += row(code("gradcts " + words), code(line))
        self.check_page("flags", table)

    def test_engines(self):
        table = row("engine", "what is said", "status") + row("---", "---", "---")
        write = self.bench.write
        write("empty.so", "")
        write("text.so", "not a library")
        write("binary.so", bytes(range(256)) * 64)
        write("plain.py", "#!/usr/bin/env python3\n")
        for name, content in (("nothing.py", "#!/no/such/interpreter\n"), ("leaves.sh", "#!/bin/sh\nexit 0\n"),
                              ("talks.sh", "#!/bin/sh\nread line; echo hello\n"), ("complains.sh", "#!/bin/sh\necho 'no licence' >&2\nexit 4\n"),
                              ("binary.sh", "#!/bin/sh\nread line; head -c 4000 /dev/zero; echo\n"),
                              ("deep.sh", "#!/bin/sh\nread line; head -c 100000 /dev/zero | tr '\\0' '['; echo\n"),
                              ("endless.sh", "#!/bin/sh\nread line; exec cat /dev/zero\n")):
            os.chmod(write(name, content), 0o755)
        os.mkdir(self.bench.path("folder"))
        for given, engine in (("a name that nothing has", "nosuch"), ("a path with nothing", "./nosuch.so"), ("a folder", "./folder"),
                              ("an empty library", "./empty.so"), ("a text", "./text.so"), ("binary data", "./binary.so"),
                              ("a library that is no engine", "no"), ("one of another version", "old"),
                              ("a program that may not be run", "./plain.py"), ("one without its interpreter", "./nothing.py"),
                              ("one that leaves at once", "./leaves.sh"), ("one that complains and leaves", "./complains.sh"),
                              ("one that answers a text", "./talks.sh"), ("zeros", "./binary.sh"), ("100,000 opened lists", "./deep.sh"),
                              ("an answer without end", "./endless.sh")):
            with self.subTest(given):
                line, status = self.complaint(f"run --suites mine.json --engine {engine}", (2, 3))
                again, _ = self.complaint(f"replay mine.json --engine {engine}", (status,))
                self.assertEqual(line, again)
                table += row(given, code(line), str(status))
        self.check_page("engines", table)

    OUTPUTS = ("run --engine fake --suites mine.json --report junit={}", "run --engine fake --suites mine.json --report json={}",
               "run --engine fake --suites mine.json --report html={}", "replay mine.json --engine fake --outcome {}",
               "replay mine.json --engine fake --trace {}", "shrink mine.json --engine fake --out {}", "emit mine.json --out {}",
               "report html={} good.jsonl", "show mine.json --svg {}")

    def test_places(self):
        """Where nothing can be written, by every option that names a file."""
        self.bench.run("run --engine fake --suites mine.json --report json=good.jsonl")
        self.bench.write("file", "")
        os.mkdir(self.bench.path("folder"))
        table = row("place", "what is said") + row("---", "---")
        for given, place in (("in a folder that is not there", "no/such/file"), ("below a file", "file/below"),
                             ("a folder", "folder"), ("where the system forbids it", "/proc/gradcts")):
            lines = {}
            for command in self.OUTPUTS:
                with self.subTest(given=given, command=command):
                    line, _ = self.complaint(command.format(place), (2,))
                    lines.setdefault(line, []).append(command.split()[0])
            self.assertEqual(len(lines), 1, lines)
            table += row(given, code(line))
        line, _ = self.complaint("fuzz --cases 1 --out file/below", (2, 3))
        table += row("`fuzz --out`, below a file", code(line))
        with self.subTest("standard output"):
            for words in ("show mine.json", "emit mine.json", "manual", "lint mine.json", "run --engine fake --suites mine.json", "list"):
                line, _ = self.complaint(words + " > /dev/full", (3,), shell=True)
                self.assertTrue(line.startswith("standard output: cannot be written"), line)
            table += row("standard output, on a full disk", code(line))
        self.check_page("places", table)

    def test_a_reader_that_leaves(self):
        """`gradcts list | head -1` ends quietly."""
        result = subprocess.run(f"'{GRADCTS}' list | head -1", shell=True, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.stderr, "")
        self.assertEqual(len(result.stdout.splitlines()), 1)


# An engine that is slow to nobody's harm: at its N-th scenario it sends its runner a signal.
# It goes on when its runner has heard of the signal: a handler runs once, and is taken off.
SIGNALS_ITS_RUNNER = """#!/usr/bin/env python3
import json, os, signal, sys
seen = 0

def is_caught(process, number):
    with open(f"/proc/{process}/status") as file:
        caught = next(line for line in file if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (number - 1) & 1

for line in sys.stdin:
    request = json.loads(line)
    answer = {"answer": request["request"]}
    if "hello" in request:
        answer |= {"hello": "gradcts.worker/1", "description": {"schema": "gradcts.description/1", "name": "slow",
                   "version": "1", "dialect": "reference", "features": ["operation.*", "type.*", "pass.backward"],
                   "trace": "scripted"}}
    else:
        seen += 1
        if seen == int(os.environ["AFTER"]):
            number = getattr(signal, os.environ["SIGNAL"])
            os.kill(os.getppid(), number)
            while is_caught(os.getppid(), number):
                pass
        scenario = request["run"]
        answer |= {"outcome": {"schema": "gradcts.outcome/1", "scenario": scenario["id"],
                   "steps": [{"step": i} for i in range(2)],
                   "events": [{"kind": "pass_begin", "subject": 1}, {"kind": "pass_end", "subject": 1}],
                   "leaf_grads": {"x": int(os.environ["GRAD"])}, "state": {"live_objects": 0}}}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""


class Interrupted(unittest.TestCase):
    """What a run has by then is kept, and it says that it is not complete."""

    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.close)
        os.chmod(self.bench.write("slow.py", SIGNALS_ITS_RUNNER), 0o755)
        scenarios = []
        for i in range(20):
            scenario = {**SCENARIO, "id": f"{i:02}"}
            del scenario["schema"]
            scenario["program"] = SCENARIO["program"][:2]
            scenarios.append(scenario)
        self.bench.write("suite.json", json.dumps({"schema": "gradcts.suite/1", "area": "mine", "scenarios": scenarios}))
        self.bench.write("one.json", json.dumps({**SCENARIO, "program": SCENARIO["program"][:2]}))

    def run_with(self, words, signal_name, after, grad=12):
        environment = {"SIGNAL": signal_name, "AFTER": str(after), "GRAD": str(grad)}
        return subprocess.run([GRADCTS, *words.split()], cwd=self.bench.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120, check=False, env={**os.environ, **environment})

    def test_a_run(self):
        for name in ("SIGINT", "SIGTERM"):
            with self.subTest(name):
                reports = "--report json=run.jsonl --report junit=run.xml --report html=run.html"
                result = self.run_with(f"run --suites suite.json --engine ./slow.py {reports}", name, 5)
                self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
                self.assertIn("interrupted: the run is not complete", result.stdout)
                with open(self.bench.path("run.jsonl"), encoding="utf-8") as file:
                    records = [json.loads(line) for line in file]
                ids = [record["id"] for record in records if record["record"] == "scenario"]
                self.assertEqual(ids, [f"mine/{i:02}" for i in range(len(ids))])
                self.assertTrue(5 <= len(ids) < 20, ids)
                self.assertEqual(records[-1]["record"], "summary")
                for report in ("run.xml", "run.html"):
                    self.assertIn("mine/00", pathlib.Path(self.bench.path(report)).read_text(encoding="utf-8"))

    def test_a_reader_that_leaves(self):
        """The reports of a run are written all the same."""
        command = f"'{GRADCTS}' run --suites suite.json --engine fake --repeat 3 --report json=run.jsonl --report html=run.html"
        result = subprocess.run(["bash", "-o", "pipefail", "-c", command + " | head -c 1"], cwd=self.bench.folder,
                                capture_output=True, text=True, timeout=120, check=False,
                                env={**os.environ, "GRADCTS_ENGINE_PATH": ENGINES})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with open(self.bench.path("run.jsonl"), encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        self.assertEqual(len(records), 22)
        self.assertEqual(records[-1]["exit_status"], 0)
        self.assertIn("mine/19", pathlib.Path(self.bench.path("run.html")).read_text(encoding="utf-8"))

    def test_shrinking(self):
        result = self.run_with("shrink one.json --engine ./slow.py --out small.json", "SIGINT", 5, grad=13)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertTrue(result.stderr.endswith("gradcts: interrupted; what was written is the smallest so far\n"), result.stderr)
        with open(self.bench.path("small.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["schema"], "gradcts.scenario/1")

    def test_a_campaign(self):
        """It goes on with --resume, and has then done what it would have done at once."""
        campaign = subprocess.Popen([GRADCTS, "fuzz", "--time", "600", "--no-shrink", "--out", self.bench.path("found")],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            store = self.bench.path("found/campaign.sqlite")
            while not self.chunks(store):
                self.assertIsNone(campaign.poll(), "it ended by itself")
            campaign.send_signal(signal.SIGTERM)
            out, err = campaign.communicate(timeout=120)
        finally:
            campaign.kill()
        self.assertEqual(campaign.returncode, 3, out + err)
        self.assertRegex(err, r"\Agradcts: interrupted; `--resume` goes on with the campaign in .*\n\Z")
        kept = self.chunks(store)
        self.assertEqual(self.bench.run("fuzz --cases 64 --no-shrink --resume --out found").returncode, 0)
        self.assertEqual(self.chunks(store), kept)

    @staticmethod
    def chunks(store):
        try:
            with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
                return database.execute("select count(*) from chunk").fetchone()[0]
        except sqlite3.Error:
            return 0


def on_small_disk(disk, command):
    script = f"mount -t tmpfs -o size=64k small '{disk}' && cd '{disk}' && {command}"
    return subprocess.run(["unshare", "-rm", "sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120, check=False, env={**os.environ, "GRADCTS_ENGINE_PATH": ENGINES})


def need_small_disk():
    with tempfile.TemporaryDirectory() as disk:
        if on_small_disk(disk, "true").returncode != 0:
            print("messages.py: no disk can be mounted here", file=sys.stderr)
            sys.exit(77)


class FullDisk(unittest.TestCase):
    """On a disk of 64 kB. The test needs the right to mount one."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.disk = folder.name

    def on_small_disk(self, command):
        return on_small_disk(self.disk, command)

    def test_reports(self):
        """A report that does not fit takes none of the others with it."""
        elsewhere = tempfile.TemporaryDirectory()
        self.addCleanup(elsewhere.cleanup)
        junit = os.path.join(elsewhere.name, "run.xml")
        result = self.on_small_disk(f"'{GRADCTS}' run acc --report json=run.jsonl --report junit={junit}; "
                                    f"status=$?; wc -c < run.jsonl; exit $status")
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertEqual(result.stderr, "gradcts: run.jsonl: cannot be written: No space left on device\n")
        self.assertGreater(int(result.stdout.splitlines()[-1]), 30_000, "what fits is kept")
        self.assertIn("testcase", pathlib.Path(junit).read_text(encoding="utf-8"))

    def test_a_file_is_whole_or_not_there(self):
        result = self.on_small_disk(f"'{GRADCTS}' run root --report html=page.html; status=$?; ls; exit $status")
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertEqual(result.stderr, "gradcts: page.html: cannot be written: No space left on device\n")
        self.assertNotIn("page.html", result.stdout.splitlines())

    def test_a_campaign(self):
        result = self.on_small_disk(f"'{GRADCTS}' fuzz --cases 10000 --no-shrink --out .")
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertRegex(result.stderr, r"\Agradcts: [^\n]*full[^\n]*\n\Z")


if __name__ == "__main__":
    GRADCTS, ENGINES, PAGE = (os.path.abspath(argument) for argument in sys.argv[1:4])
    WRITE = "--write" in sys.argv
    if "FullDisk" in sys.argv:
        need_small_disk()
    unittest.main(argv=[sys.argv[0]] + [word for word in sys.argv[4:] if word != "--write"])
