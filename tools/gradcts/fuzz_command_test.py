"""Tests of `gradcts fuzz`, `shrink`, `emit` and `explore --shrink`: what people type, and what they then have in hand.

Usage: fuzz_command_test.py GRADCTS REFERENCE_ADAPTER LYING_ADAPTERS SOURCES COMPILER [TestCase...]
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

GRADCTS, REFERENCE, LYING, SOURCES, COMPILER = sys.argv[1:6]
LIAR = os.path.join(LYING, "libgradcts-lying-drops-an-edge.so")


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=300)


class Fuzz(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def fuzz_the_liar(self, *more):
        return run(GRADCTS, "fuzz", "--engine", LIAR, "--cases", "20", "--out", self.path("found"), *more)

    def test_a_campaign_leaves_small_cases(self):
        result = self.fuzz_the_liar()
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("20 cases", result.stdout)
        files = [name for name in os.listdir(self.path("found")) if name.endswith(".json")]
        self.assertTrue(files, result.stdout)
        with open(os.path.join(self.path("found"), files[0])) as file:
            self.assertLessEqual(len(json.load(file).get("nodes", [])), 6)

    def test_a_folder_is_not_overwritten(self):
        self.fuzz_the_liar("--no-shrink")
        again = self.fuzz_the_liar("--no-shrink")
        self.assertEqual(again.returncode, 2)
        self.assertIn("--resume", again.stderr)
        resumed = self.fuzz_the_liar("--no-shrink", "--resume")
        self.assertEqual(resumed.returncode, 1)
        self.assertIn("0 cases in", resumed.stdout)
        self.assertIn("20 cases:", resumed.stdout)
        other = self.fuzz_the_liar("--no-shrink", "--resume", "--seed", "2")
        self.assertEqual(other.returncode, 2)
        self.assertIn("seed 1, and not 2", other.stderr)

    def test_every_small_graph(self):
        right = run(GRADCTS, "fuzz", "--engine", "reference", "--exhaustive", "2", "--out", self.path("right"))
        self.assertEqual(right.returncode, 0, right.stdout + right.stderr)
        wrong = run(GRADCTS, "fuzz", "--engine", LIAR, "--exhaustive", "1", "--out", self.path("wrong"))
        self.assertEqual(wrong.returncode, 1, wrong.stderr)
        files = [name for name in os.listdir(self.path("wrong")) if name.endswith(".json")]
        self.assertTrue(files, wrong.stdout)
        with open(os.path.join(self.path("wrong"), files[0])) as file:
            self.assertRegex(json.load(file)["id"], "^small/1/0/")

    def test_a_number_past_the_last_case(self):
        result = run(GRADCTS, "fuzz", "--exhaustive", "1", "--show", "1000000")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, "there are [0-9]+ cases")

    def test_reproducers_stand_alone(self):
        with open(self.path("case.json"), "w") as file:
            file.write(run(GRADCTS, "fuzz", "--show", "0").stdout)
        small = run(GRADCTS, "shrink", self.path("case.json"), "--engine", LIAR, "--out", self.path("small.json"))
        self.assertEqual(small.returncode, 0, small.stderr)
        emitted = run(GRADCTS, "emit", self.path("small.json"), "--as", "python", "--out", self.path("small.py"))
        self.assertEqual(emitted.returncode, 0, emitted.stderr)
        right = run(sys.executable, self.path("small.py"), REFERENCE)
        self.assertEqual((right.returncode, right.stdout), (0, "right\n"), right.stderr)
        wrong = run(sys.executable, self.path("small.py"), LIAR)
        self.assertEqual(wrong.returncode, 1, wrong.stdout)
        self.assertIn("expected", wrong.stdout)
        emitted = run(GRADCTS, "emit", self.path("small.json"), "--as", "gtest", "--out", self.path("small.cpp"))
        self.assertEqual(emitted.returncode, 0, emitted.stderr)
        compiled = run(COMPILER, "-std=c++20", "-fsyntax-only", "-I", SOURCES, self.path("small.cpp"))
        self.assertEqual(compiled.returncode, 0, compiled.stderr)

    def test_what_is_known_is_said_and_kept_away_from(self):
        shown = run(GRADCTS, "fuzz", "--engine", LIAR, "--show", "0")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        with open(self.path("case.json"), "w") as file:
            file.write(shown.stdout)
        entry = {"name": "all", "says": "expected", "report": "new", "reason": "it lies", "example": {}}
        with open(self.path("known.json"), "w") as file:
            json.dump({"schema": "gradcts.known_findings/1", "known": [entry]}, file)
        arguments = (GRADCTS, "shrink", self.path("case.json"), "--engine", LIAR, "--out", self.path("small.json"))
        self.assertNotIn("known finding", run(*arguments).stderr)
        self.assertIn("case.json: known finding all, size", run(*arguments, "--known", self.path("known.json")).stderr)

    def test_a_scenario_and_its_schedule_become_small_together(self):
        found = run(GRADCTS, "explore", "thread/callers/own-graphs/2", "--engine", LIAR, "--strategy", "pos", "--shrink",
                    self.path("small.json"))
        self.assertEqual(found.returncode, 1, found.stderr)
        size, before = map(int, re.search(r"size ([0-9]+) from ([0-9]+)", found.stdout).groups())
        self.assertLess(size, before)
        command = re.search(r"gradcts (explore .*--schedule \S+)", found.stdout)[1]
        again = run(GRADCTS, *shlex.split(command))
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertIn("1 schedule: FAILED (outcome)", again.stdout)

    def test_nothing_to_shrink(self):
        with open(self.path("case.json"), "w") as file:
            file.write(run(GRADCTS, "fuzz", "--show", "0").stdout)
        result = run(GRADCTS, "shrink", self.path("case.json"), "--engine", REFERENCE)
        self.assertEqual(result.returncode, 2)
        self.assertIn("nothing to shrink", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]], verbosity=2)
