"""The table of recorded results: which repetition counts, what is met, what was not measured."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("bench_table.py")
TARGETS = pathlib.Path(__file__).with_name("bench_targets.json")

# As Google Benchmark 1.7 writes it, but for the fields that nobody reads.
RESULTS = {"context": {"num_cpus": 2}, "benchmarks": [
    {"name": "chain/ours/repeats:2", "run_type": "iteration", "real_time": 9.0, "cpu_time": 50.0, "ns_a_node": 50.0},
    {"name": "chain/ours/repeats:2", "run_type": "iteration", "real_time": 99.0, "cpu_time": 40.0, "ns_a_node": 40.0},
    {"name": "chain/ours/repeats:2_mean", "run_type": "aggregate", "aggregate_name": "mean",
     "real_time": 1.0, "cpu_time": 1.0, "ns_a_node": 1.0},
    {"name": "chain/floor/iterations:1", "run_type": "iteration", "real_time": 9.0, "cpu_time": 8.0, "ns_a_node": 8.0},
    {"name": "callers/ours/process_time/real_time", "run_type": "iteration", "real_time": 20.0, "cpu_time": 1.0,
     "passes_a_second": 3.0},
    {"name": "callers/ours/process_time/real_time", "run_type": "iteration", "real_time": 10.0, "cpu_time": 2.0,
     "passes_a_second": 6.0},
    {"name": "broken/ours", "run_type": "iteration", "error_occurred": True, "real_time": 1.0, "cpu_time": 1.0,
     "ns_a_node": 1.0},
]}


class Table(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_on(self, targets, results=RESULTS):
        (self.folder / "targets.json").write_text(json.dumps(targets))
        (self.folder / "results.json").write_text(json.dumps(results))
        return subprocess.run([sys.executable, SCRIPT, self.folder / "targets.json", self.folder / "results.json"],
                              capture_output=True, text=True, check=False)

    def line(self, **row):
        done = self.run_on([{"what": "it", **row}])
        self.assertEqual(done.stderr, "")
        return " ".join(done.stdout.splitlines()[1].split())

    def test_a_ratio_of_the_fastest_repetitions(self):
        self.assertEqual(self.line(value="chain/ours:ns_a_node / chain/floor:ns_a_node", **{"at most": 5}, unit="x"),
                         "it at most 5 x 5 x met")

    def test_a_miss_says_why(self):
        row = {"value": "chain/ours:ns_a_node / chain/floor:ns_a_node", "at most": 4, "if missed": "too much work"}
        self.assertEqual(self.line(**row), "it at most 4 5 MISSED: too much work")
        del row["if missed"]
        self.assertEqual(self.line(**row), "it at most 4 5 MISSED: cause not known")

    def test_at_least(self):
        value = "callers/ours:passes_a_second"  # the fastest by the clock, not by the processor's time
        self.assertEqual(self.line(value=value, **{"at least": 6}), "it at least 6 6 met")
        self.assertEqual(self.line(value=value, **{"at least": 6.5}), "it at least 6.5 6 MISSED: cause not known")

    def test_what_was_not_measured(self):
        done = self.run_on([{"what": "it", "value": "chain/theirs:ns_a_node / chain/ours:ns_a_node", "at least": 1},
                            {"what": "other", "value": "broken/ours:ns_a_node", "at least": 1},
                            {"what": "ours", "value": "chain/ours:ns_a_node", "at most": 40}])
        self.assertEqual(done.returncode, 0)
        self.assertEqual([line.split()[-1] for line in done.stdout.splitlines()[1:]], ["measured", "measured", "met"])

    def test_what_a_row_needs(self):
        done = self.run_on([{"what": "it", "value": "chain/ours:ns_a_node / chain/theirs:ns_a_node", "at most": 1,
                             "needs": "their library"}])
        self.assertTrue(done.stdout.splitlines()[1].endswith("not measured: needs their library"))

    def test_nothing_is_a_value_but_no_divisor(self):
        results = {"benchmarks": [{"name": "copies/ours", "run_type": "iteration", "cpu_time": 1.0, "bytes": 0}]}
        done = self.run_on([{"what": "it", "value": "copies/ours:bytes", "at most": 0},
                            {"what": "it", "value": "copies/ours:bytes / copies/ours:bytes", "at most": 0}], results)
        self.assertEqual([" ".join(line.split()) for line in done.stdout.splitlines()[1:]],
                         ["it at most 0 0 met", "it at most 0 - not measured"])

    def test_a_run_that_measured_nothing_is_a_failure(self):
        done = self.run_on([{"what": "it", "value": "chain/ours:ns_a_node", "at most": 1}], {"benchmarks": []})
        self.assertEqual(done.returncode, 1)
        self.assertIn("no row was measured", done.stderr)

    def test_wrong_use(self):
        self.assertEqual(subprocess.run([sys.executable, SCRIPT], capture_output=True, check=False).returncode, 2)
        done = subprocess.run([sys.executable, SCRIPT, TARGETS, self.folder / "absent.json"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("absent.json: No such file", done.stderr)

    def test_the_targets_are_well_formed(self):
        for row in json.loads(TARGETS.read_text()):
            with self.subTest(row["what"]):
                self.assertEqual(len({"at most", "at least"} & set(row)), 1)
                self.assertLessEqual(set(row), {"what", "value", "unit", "at most", "at least", "if missed", "needs"})
                self.assertTrue(all(term.count(":") == 1 for term in row["value"].split(" / ")))


if __name__ == "__main__":
    unittest.main()
