"""The reading of patch files, and the judging of a run's records; the rest is tested by running mutants."""
import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import kill_table
import mutants
import patch_files

GOOD = """Report: B046
Kind: hook
Clauses: HOOK-5, HOOK-3
Mistake: A hook that is removed still runs.

--- a/reference_engine/engine/plan.cpp
+++ b/reference_engine/engine/plan.cpp
@@ -1,1 +1,1 @@
-#include "reference_engine/engine/plan.h"
+#include "reference_engine/engine/plan.hpp"
"""


class PatchFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "B046-removed-hook.patch"

    def refusal(self, text):
        self.path.write_text(text)
        with self.assertRaises(patch_files.BadPatch) as caught:
            patch_files.read(self.path)
        return str(caught.exception)

    def test_a_good_one(self):
        self.path.write_text(GOOD)
        mutant = patch_files.read(self.path)
        self.assertEqual((mutant.name, mutant.report, mutant.kind), ("B046-removed-hook", "B046", "hook"))
        self.assertEqual(mutant.clauses, ["HOOK-5", "HOOK-3"])
        self.assertEqual(mutant.files, ["reference_engine/engine/plan.cpp"])

    def test_bad_ones(self):
        self.assertIn("no 'Kind:' line", self.refusal(GOOD.replace("Kind: hook\n", "")))
        self.assertIn("no kind 'hocks'", self.refusal(GOOD.replace("Kind: hook", "Kind: hocks")))
        self.assertIn(":1: expected one each of", self.refusal("Bug: B1\n" + GOOD))
        self.assertIn("Report is an id", self.refusal(GOOD.replace("B046\n", "46\n", 1)))
        self.assertIn("holds no diff", self.refusal(GOOD.partition("\n--- ")[0]))
        self.assertIn("no part of reference_engine/", self.refusal(GOOD.replace("b/reference_engine", "b/fuzz")))

    def test_a_diff_that_does_not_fit(self):
        self.path.write_text(GOOD.replace('-#include "reference_engine/engine/plan.h"', "-no such line"))
        with self.assertRaisesRegex(patch_files.BadPatch, "does not apply"):
            patch_files.apply(patch_files.read(self.path), pathlib.Path(self.folder.name) / "overlay")

    def test_the_overlay_holds_the_changed_file(self):
        self.path.write_text(GOOD)
        overlay = pathlib.Path(self.folder.name) / "overlay"
        try:
            patch_files.apply(patch_files.read(self.path), overlay)
        except patch_files.BadPatch:
            self.fail("a fitting diff is refused")
        self.assertIn("plan.hpp", (overlay / "reference_engine/engine/plan.cpp").read_text())


class AllPatches(unittest.TestCase):
    def test_every_one_can_be_read_and_applies(self):
        for mutant in patch_files.read_all():
            with self.subTest(mutant.name), tempfile.TemporaryDirectory() as folder:
                patch_files.apply(mutant, pathlib.Path(folder))


def scenario(name, as_expected, clause="HOOK-5"):
    findings = [] if as_expected else [{"clause": clause}]
    return {"record": "scenario", "id": name, "as_expected": as_expected, "verdict": "pass" if as_expected else "fail",
            "clauses": [clause], "findings": findings, "seconds": 0.5}


class Judging(unittest.TestCase):
    suite = types.SimpleNamespace(name="suites", nodes={"big": 9, "small": 2})

    def test_all_as_expected_is_survival(self):
        result = mutants.Result(None)
        self.assertFalse(mutants.judge(result, self.suite, [scenario("a", True), scenario("b", True)]))
        self.assertEqual((result.killed, result.cases), (False, 2))

    def test_the_smallest_is_named_and_the_first_is_counted(self):
        result = mutants.Result(None)
        records = [scenario("a", True), scenario("big", False), scenario("b", True), scenario("small", False)]
        self.assertTrue(mutants.judge(result, self.suite, records))
        self.assertEqual((result.scenario, result.nodes, result.cases, result.seconds), ("small", 2, 2, 1.0))
        self.assertEqual((result.clause, result.noticed_by), ("HOOK-5", 2))

    def test_a_problem_of_the_run_kills_too(self):
        result = mutants.Result(None)
        records = [scenario("a", True), {"record": "problem", "id": "a", "text": "DET-1: passed at first"}]
        self.assertTrue(mutants.judge(result, self.suite, records))
        self.assertEqual(result.verdict, "problem")


class Table(unittest.TestCase):
    def test_survivors_stand_out(self):
        mutant = types.SimpleNamespace(name="m", kind="hook", clauses=["HOOK-5"], survives="no scenario")
        self.assertIn("**survived**: no scenario", kill_table.row(mutants.Result(mutant, cases=3)))


class Expected(unittest.TestCase):
    def result(self, survives, **fields):
        return mutants.Result(types.SimpleNamespace(survives=survives), **fields)

    def test_killed_or_known_to_survive(self):
        self.assertTrue(self.result("", killed=True).as_expected())
        self.assertTrue(self.result("no scenario").as_expected())
        self.assertFalse(self.result("").as_expected())
        self.assertFalse(self.result("no scenario", killed=True).as_expected())
        self.assertFalse(self.result("no scenario", trouble="does not apply").as_expected())


if __name__ == "__main__":
    unittest.main()
