"""Tests of ci/matrix: what it changes, and that what is wrong in a configuration shows in its cell.

Usage: matrix_test.py BUILD [TestCase...]
"""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "ci"))
import matrix_changes as changes  # noqa: E402

BUILD = sys.argv[1]


def scenario():
    return {
        "leaves": [{"name": "x", "value": 2}, {"name": "w", "value": [1, 2], "grad": [0, 0]}],
        "nodes": [{"name": "f", "op": "custom", "inputs": ["w", "x"], "saves": ["w"], "backward": {
            "steps": [{"do": "grad", "roots": [{"value": "x", "seed": 3}], "inputs": ["x"], "keep": True}],
            "returns": [{"terms": [{"slot": 0, "times": "w"}]}, {"tensor": 7}]}}],
        "program": [
            {"do": "forward"},
            {"do": "try", "steps": [{"do": "backward", "roots": [{"value": "f", "seed": {"from": "x"}}]}]},
            {"do": "set_grad", "leaf": "w", "grad": [4, 5]},
            {"do": "read", "grads": ["x"], "expect": {"values": [12]}}],
    }


class Changes(unittest.TestCase):
    def test_flags_reach_passes_in_scripts(self):
        changed = changes.flag("keep", True)(scenario())
        self.assertTrue(changed["program"][1]["steps"][0]["keep"])
        self.assertNotIn("expect", changed["program"][3])
        self.assertNotIn("keep", scenario()["program"][1]["steps"][0])
        cleared = changes.flag("keep", False)(scenario())
        self.assertFalse(cleared["nodes"][0]["backward"]["steps"][0]["keep"])
        self.assertIsNone(changes.flag("create", False)(scenario()))

    def test_a_limit_of_its_own_stays(self):
        self.assertEqual(changes.nesting(2)(scenario())["configuration"], {"nesting_limit": 2})
        self.assertIsNone(changes.nesting(2)({"configuration": {"nesting_limit": 1}}))

    def test_what_the_author_alone_knows_is_left_out(self):
        known = scenario()
        known["program"][0]["expect"] = {"or_error": "invalid_argument"}
        self.assertIsNone(changes.flag("keep", True)(known))

        destroyed = scenario()
        destroyed["nodes"][0]["destroyed"] = "c"
        self.assertIsNone(changes.flag("keep", True)(destroyed))
        rounded = {**scenario(), "clauses": ["ACC-5"]}
        self.assertIsNone(changes.devices(1)(rounded))

    def test_every_tensor_is_on_a_device(self):
        changed = changes.devices(2)(scenario())
        x, w = changed["leaves"]
        self.assertEqual((x["value"]["device"], w["value"]["device"], w["grad"]["device"]),
                         ("sim:0", "sim:1", "sim:1"))
        self.assertEqual(w["value"]["shape"], [2])
        copied, f = changed["nodes"]
        self.assertEqual((copied["op"], copied["inputs"], copied["device"]), ("to_device", ["w"], "sim:0"))
        self.assertEqual((f["inputs"], f["saves"]), ([copied["name"], "x"], [copied["name"]]))
        terms, tensor = f["backward"]["returns"]
        self.assertEqual((terms["terms"][0]["times"], tensor["tensor"]["device"]), (copied["name"], "sim:0"))
        first, _, attempt, preset, _ = changed["program"]
        self.assertEqual(first["nodes"], [copied["name"]])
        self.assertEqual(attempt["steps"][0]["roots"][0]["seed"], {"from": "x"})
        self.assertEqual(preset["grad"]["device"], "sim:1")

    def test_what_is_on_a_device_already_stays(self):
        placed = scenario()
        placed["leaves"][0]["value"] = {"device": "sim:1", "values": [2]}
        self.assertIsNone(changes.devices(1)(placed))


class Command(unittest.TestCase):
    def matrix(self, *arguments):
        return subprocess.run([ROOT / "ci" / "matrix", "--build", BUILD, *arguments], text=True, timeout=600,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_a_lying_engine_fails_in_every_configuration(self):
        liar = f"{BUILD}/lib/gradcts/lying/libgradcts-lying-drops-an-edge.so"
        ran = self.matrix("--engine", liar, "--only", "root/several", "keep", "create", "nesting-2", "devices-1")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        for name in ("keep", "create", "nesting-2", "devices-1"):
            self.assertRegex(ran.stdout, rf"failed: {name} +root/several")

    def test_a_configuration_that_checks_nothing_is_no_success(self):
        ran = self.matrix("--only", "root/several", "schedules")
        self.assertEqual(ran.returncode, 3, ran.stdout)
        self.assertIn("nothing was checked: schedules", ran.stdout)

    def test_a_pattern_must_match(self):
        ran = self.matrix("--only", "root/sideways", "keep")
        self.assertEqual(ran.returncode, 2, ran.stdout)
        self.assertIn("root/sideways", ran.stderr)

    def test_an_unknown_configuration_is_named(self):
        ran = self.matrix("sideways")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("sideways", ran.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
