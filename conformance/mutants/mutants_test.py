"""The reading of patch files, and the judging of a run's records; the rest is tested by running mutants."""
import pathlib
import re
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import change_record
import changes
import judges
import kill_table
import mutants
import patch_files
import record
import trials

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
        self.assertIn("no part of reference_engine/ or conformance/adapters/reference/", self.refusal(GOOD.replace("b/reference_engine", "b/fuzz")))

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

    def judged(self, *records):
        result = trials.Result(None)
        return result, trials.judge(result, self.suite, records)

    def test_all_as_expected_is_survival(self):
        result, noticed = self.judged(scenario("a", True), scenario("b", True))
        self.assertEqual((noticed, result.killed, result.cases), ([], False, 2))

    def test_the_smallest_is_named_and_the_first_is_counted(self):
        result, noticed = self.judged(scenario("a", True), scenario("big", False), scenario("b", True),
                                      scenario("small", False))
        self.assertEqual(noticed, ["big", "small"])
        self.assertEqual((result.scenario, result.nodes, result.cases, result.seconds), ("small", 2, 2, 1.0))
        self.assertEqual((result.clause, result.by), ("HOOK-5", "suites"))

    def test_who_noticed_first_stays(self):
        result, _ = self.judged(scenario("small", False))
        trials.judge(result, self.suite, [scenario("big", False)])
        self.assertEqual((result.scenario, result.cases), ("small", 1))

    def test_a_problem_of_the_run_kills_too(self):
        result, noticed = self.judged(scenario("a", True),
                                      {"record": "problem", "id": "a", "text": "DET-1: passed at first"})
        self.assertEqual((noticed, result.verdict), (["a"], "problem"))


class ScriptedSuite(trials.Suite):
    """Answers with what it was given, run by run."""

    def __init__(self, *runs):
        self.runs, self.asked, self.nodes = list(runs), [], {"big": 9, "small": 2}

    def run_once(self, library, folder, seconds, *selection):
        self.asked.append((seconds, *selection))
        return self.runs.pop(0), ""


class Hangs(unittest.TestCase):
    def hang(self, name):
        return scenario(name, False) | {"verdict": "hang"}

    def test_one_is_looked_at_again(self):
        suite = ScriptedSuite([self.hang("big"), self.hang("small")], [self.hang("small")])
        records, _ = suite.run("library", "folder", "--clause", "HOOK-5")
        self.assertEqual(suite.asked[1], (trials.SECONDS_FOR_A_HANG, "small"))
        self.assertEqual([record["as_expected"] for record in records], [False, False])

    def test_one_that_ends_after_all_tells_what_is_wrong(self):
        suite = ScriptedSuite([self.hang("big"), self.hang("small")], [scenario("small", False)])
        records, _ = suite.run("library", "folder")
        self.assertEqual([record["verdict"] for record in records], ["hang", "fail"])

    def test_a_busy_machine_is_no_hang(self):
        summary = {"record": "summary"}
        suite = ScriptedSuite([self.hang("small"), scenario("big", False), summary], [scenario("small", True), summary])
        records, _ = suite.run("library", "folder")
        self.assertEqual([record.get("as_expected") for record in records], [True, False, None])


class Explorations(unittest.TestCase):
    def test_scenarios_with_threads_come_first(self):
        suite = ScriptedSuite()
        suite.nodes = {"small": 1, "other": 0, "big": 9, "both": 3}
        suite.clauses = {"small": ["DEV-1"], "other": ["DEV-2"], "big": ["DEV-1"], "both": ["DEV-1"]}
        suite.with_threads = {"big", "both"}
        self.assertEqual(suite.testing("DEV-1"), ["both", "big", "small"])

    def test_a_failure(self):
        text = "HANG x/y\n  thread 0: waits\nx/y: 1,098 schedules (pos, seeds from 1), 6.9 s (158 a second): FAILED (deadlock)\n"
        self.assertEqual(trials.read_exploration(text), (1098, 6.9, "deadlock"))

    def test_none_fails(self):
        text = "x/y: 300 schedules (pos, seeds from 1), 12 meanings, 1.5 s (200 a second): none fails\n  with 95%: 1%\n"
        self.assertEqual(trials.read_exploration(text), (300, 1.5, ""))

    def test_a_crash(self):
        self.assertEqual(trials.read_exploration("CRASH x/y\nx/y: crash\n"), (1, 0, "crash"))


def mutant(survives="", clauses=("HOOK-5",)):
    return types.SimpleNamespace(name="m", kind="hook", clauses=list(clauses), survives=survives)


def entry(**fields):
    return record.entry_of(trials.Result(None)) | fields


class Table(unittest.TestCase):
    def test_survivors_stand_out(self):
        self.assertIn("**survived**: no scenario", kill_table.row(mutant("no scenario"), entry(cases=3)))

    def test_schedules_are_named(self):
        row = kill_table.row(mutant(), entry(killed=True, by="schedules", cases=41, scenario="a/b"))
        self.assertIn("| `a/b` |", row)
        self.assertIn("| 41 schedules |", row)

    def test_kinds_are_counted(self):
        entries = {"m": entry(killed=True, by="schedules")}
        self.assertIn("| all | 1 | 1 | 1 |", kill_table.summary([mutant()], entries))


class Expected(unittest.TestCase):
    def result(self, survives, **fields):
        return trials.Result(mutant(survives), **fields)

    def test_killed_or_known_to_survive(self):
        self.assertTrue(self.result("", killed=True, proofs={"HOOK-5": "a"}).as_expected())
        self.assertTrue(self.result("no scenario").as_expected())
        self.assertFalse(self.result("").as_expected())
        self.assertFalse(self.result("no scenario", killed=True).as_expected())
        self.assertFalse(self.result("no scenario", trouble="does not apply").as_expected())

    def test_killed_by_another_clause_is_not_enough(self):
        result = self.result("", killed=True)
        self.assertFalse(result.as_expected())
        self.assertIn("MISSED    by all scenarios of HOOK-5", mutants.in_words(result))


class Changes(unittest.TestCase):
    """What is changed in a statement, and how all changes stand in it."""

    def changes(self, code, previous=""):
        return [(what, changed) for _, _, what, changed in changes.changes_of_statement(code, previous)]

    def test_statements_stand_on_one_line(self):
        text = "if (a &&  // why\n    b)\n  f(\n      c);\n\nfor (int i = 0;\n     i < 3; ++i) {\n"
        self.assertEqual(list(changes.statements(text)),
                         [(1, 4, "if (a && b) f(c);"), (6, 7, "for (int i = 0; i < 3; ++i) {")])

    def test_conditions(self):
        self.assertEqual(self.changes("  if (a < b && f(c)) return;"),
                         [("negated", "!(a < b && f(c))"), ("never", "false"), ("< to <=", "a <= b && f(c)"),
                          ("&& to ||", "a < b || f(c)"), ("without 'a < b'", "f(c)"), ("without 'f(c)'", "a < b")])
        self.assertEqual(self.changes("  while (const auto job = next()) {"), [])
        self.assertEqual(self.changes("  if constexpr (a < b) {"), [])

    def test_operands_are_those_of_one_pair_of_brackets(self):
        self.assertEqual([changed for what, changed in changes.operators("f(x || y, z) && !(b || c)")
                          if what.startswith("without")],
                         ["!(b || c)", "f(x || y, z)", "f(y, z) && !(b || c)", "f(x, z) && !(b || c)",
                          "f(x || y, z) && !(c)", "f(x || y, z) && !(b)"])

    def test_loops(self):
        self.assertEqual(self.changes("for (int i = 0; i < n; ++i) {"),
                         [("negated", "!(i < n)"), ("never", "false"), ("< to <=", "i <= n")])
        self.assertEqual(self.changes("for (int i : list) {"), [("never", "")])

    def test_values(self):
        self.assertEqual(self.changes("  return a == b;"), [("== to !=", "a != b")])
        self.assertEqual(self.changes("  if (x) return false;")[2:], [("false to true", "true")])
        self.assertEqual(self.changes("  return std::vector<int>{1 < 2};"), [])
        self.assertEqual(self.changes("  const int n = f(a) ? b : c;"), [("'?' negated", "!(f(a)) ? b : c")])
        self.assertEqual(self.changes('  return f("a < b");'), [], "words")

    def test_statements(self):
        self.assertEqual(self.changes("  ++count_;", "{"), [("left out", ""), ("++ to --", "--count_;")])
        self.assertEqual(self.changes("  ++count_;", "  if (a)"), [], "the body of something")
        self.assertEqual(self.changes("  int a = b;", "{"), [], "a declaration")
        self.assertEqual(self.changes("  std::vector<Edge> edges(1);", "{"), [], "a declaration")

    def put(self, code):
        """The code with all of its changes, numbered from 1."""
        found = [changes.Change("f", 1, what, code, changed, kind, place, number) for number, (kind, place, what, changed)
                 in enumerate(changes.changes_of_statement(code, "{"), 1)]
        return changes.with_changes(code, found)

    def test_all_changes_stand_in_one_statement(self):
        self.assertEqual(self.put("  if (a) b();"),
                         "  if (MUTANT(1) ? bool(!(a)) : MUTANT(2) ? bool(false) : bool(a)) b();")
        self.assertEqual(self.put("  return a < b;"), "  return MUTANT(1) ? (a <= b) : (a < b);")
        self.assertEqual(self.put("  return a && b;"), "  return MUTANT(1) ? bool(a || b) : MUTANT(2) ? bool(b) : "
                         "MUTANT(3) ? bool(a) : bool(a && b);")
        self.assertEqual(self.put("  if (a) return b == c;"),
                         "  if (MUTANT(1) ? bool(!(a)) : MUTANT(2) ? bool(false) : bool(a)) "
                         "return MUTANT(3) ? (b != c) : (b == c);")
        self.assertEqual(self.put("  for (int i : list) f(i);"), "  for (int i : list) if (MUTANT(1)) break; else f(i);")
        self.assertEqual(self.put("  f();"), "{ if (MUTANT(1)) {  } else { f(); } }")

    def test_what_reads_alike_is_told_apart(self):
        with tempfile.TemporaryDirectory(dir=patch_files.ROOT) as folder:
            path = pathlib.Path(folder) / "a.cpp"
            path.write_text("if (a) b();\nif (a) b();\n")
            found = list(changes.changes_of(str(path.relative_to(patch_files.ROOT)), re.compile("harmless")))
        self.assertEqual([(change.line, change.what, change.again) for change in found],
                         [(1, "negated", 1), (1, "never", 1), (2, "negated", 2), (2, "never", 2)])
        self.assertEqual(len({change.key() for change in found}), 4)

    def test_an_edit_elsewhere_draws_the_same(self):
        drawn = [changes.Change("f", line, "never", f"if (a{line})", "false", "condition", number=line)
                 for line in range(100)]
        first = {change.key() for change in changes.sample(drawn, 10, 1)}
        again = {change.key() for change in changes.sample(drawn[1:], 10, 1)}
        self.assertEqual(len(first), 10)
        self.assertLessEqual(len(first - again), 1)
        self.assertNotEqual(first, {change.key() for change in changes.sample(drawn, 10, 2)})

    def test_what_the_compiler_names_is_left_out(self):
        both = [changes.Change("a/f.cpp", line, "", "", "", "value") for line in (3, 30)]
        self.assertEqual(changes.without_named(both, "/tmp/x/a/f.cpp:30:7: note: b\n/tmp/x/a/f.cpp:3:9: error: c"), both[1:])
        self.assertEqual(changes.without_named(both, "/tmp/x/a/f.cpp:30:7: note: b"), both[:1])
        self.assertEqual(changes.without_named(both, "no words"), [])


class Records(unittest.TestCase):
    record = change_record.Record(None, "test", "conformance/")

    def test_the_table_counts_what_can_be_told(self):
        entries = {"conformance/f @ a @ b @ c": {"test": "x/y"}, "conformance/f @ a || b @ b @ d @ 2": {"test": None},
                   "conformance/f @ a @ b @ e": {"test": None, "equivalent": "nobody asks"},
                   "conformance/f @ a @ b @ f": {"test": None, "outside": "nobody can ask"}}
        self.assertEqual(self.record.counts(entries), (2, 1))
        self.assertIn("4 ran; 1 cannot be told from the original, 1 are about what", self.record.table(entries)[0])
        self.assertIn("of the 2 that count 1 were killed (50.0 %)", self.record.table(entries)[0])
        self.assertIn("| `f` | `a \\|\\| b`: b | nobody knows yet |", self.record.table(entries))

    def test_changes_of_a_statement_with_one_reason_are_a_row(self):
        entries = {f"conformance/f @ a < b @ {what} @ c": {"test": None, "survives": reason}
                   for what, reason in (("negated", "x"), ("never", "x"), ("< to <=", "y"))}
        self.assertEqual(self.record.table(entries)[-2:],
                         ["| `f` | `a < b`: < to <= | y |", "| `f` | `a < b`: negated, never | x |"])

    def test_many_with_one_reason_are_counted(self):
        entries = {f"conformance/f @ a < {n} @ {what} @ c": {"test": None, "survives": "x"}
                   for n in range(9) for what in ("negated", "never")}
        self.assertEqual(self.record.table(entries)[-1], "| `f` | 18 changes of 9 statements | x |")


class Judges(unittest.TestCase):
    """Who noticed, from what a program printed."""

    def test_a_test_that_fails(self):
        self.assertEqual(judges.failed_test("[ RUN      ] A.b\n[       OK ] A.b (0 ms)\n[ RUN      ] A.c\nno\n"
                                            "[  FAILED  ] A.c (0 ms)\n[  FAILED  ] 1 test, listed below:\n"), "A.c")

    def test_a_test_that_ends_the_program(self):
        self.assertEqual(judges.failed_test("[ RUN      ] A.b\n[       OK ] A.b (0 ms)\n[ RUN      ] A.c\n"), "A.c")
        self.assertEqual(judges.failed_test(""), "no test begins")

    def unit_tests(self, fails):
        """Of a program with three tests, of which two come by change 7; it says which ones it runs, and may fail."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "a_test"
        path.write_text("""#!/bin/sh
            case "$*" in *list_tests*) printf 'A.\\n  b\\n  c  # of a kind\\nB/C.\\n  d/0\\n'; exit;; esac
            case "$*" in *A.b) echo 8;; *) echo 7;; esac >> ${GRADCTS_REACHED:-/dev/null}
            echo "[ RUN      ] ${2#*=}"
            """ + f"test {fails} = 0\n")
        path.chmod(0o755)
        return judges.UnitTests(path, "*")

    def test_only_tests_that_come_by_a_change_are_asked(self):
        tests = self.unit_tests("${GRADCTS_MUTANT:-0}")
        judges.look_all(tests)
        self.assertEqual(tests.reached, {"A.b": {8}, "B/C.d/0": {7}, "A.c": {7}})
        tests.seconds = {name: 2 * judges.QUICK if name == "A.c" else 0 for name in tests.reached}
        self.assertEqual(tests.notices(types.SimpleNamespace(number=7)), "a_test: B/C.d/0", "A.c takes longer")
        self.assertIsNone(tests.notices(types.SimpleNamespace(number=9)))

    def test_a_program_that_fails_without_a_change_says_nothing(self):
        with self.assertRaisesRegex(judges.Failed, "A.b"):
            judges.look_all(self.unit_tests(fails=1))

    def test_a_reason_stays_as_long_as_nobody_notices(self):
        change = changes.Change("f", 7, "", "", "", "value")
        self.assertEqual(judges.entry_of(change, None, {"test": None, "equivalent": "why"}),
                         {"line": 7, "test": None, "equivalent": "why"})
        self.assertEqual(judges.entry_of(change, "A.b", {"test": None, "survives": "why"}), {"line": 7, "test": "A.b"})

    def test_statements_of_the_checker_alone(self):
        kinds = {(change.file.split("/")[1], change.kind) for change in judges.all_changes()}
        self.assertIn(("checker", "statement"), kinds)
        self.assertNotIn(("oracle", "statement"), kinds)


class Clauses(unittest.TestCase):
    """Both directions: each patch's clauses are noticed, and each clause has a patch."""

    def problems(self, mutants=None, entries=None, **clause):
        clauses = [{"id": "HOOK-5", "area": "HOOK", "scenarios": ["a"], "proofs": [{}], "unproven": ""} | clause]
        mutants = [mutant()] if mutants is None else mutants
        entries = {"m": entry(proofs={"HOOK-5": "a"})} if entries is None else entries
        return "\n".join(record.problems(mutants, entries, clauses))

    def test_all_is_well(self):
        self.assertEqual(self.problems(), "")
        self.assertEqual(self.problems(unproven="it is free", proofs=[]), "")

    def test_patches(self):
        self.assertIn("was never run", self.problems(entries={}))
        self.assertIn("breaks HOOK-5, and no scenario", self.problems(entries={"m": entry()}))
        self.assertIn("no clause HOOK-99", self.problems([mutant(clauses=["HOOK-5", "HOOK-99"])]))
        self.assertIn("does not test HOOK-5 any more", self.problems(scenarios=["b"]))
        self.assertIn("there is no such patch", self.problems([]))

    def test_clauses(self):
        self.assertIn("HOOK-5: no mutant breaks it", self.problems(proofs=[]))
        self.assertIn("HOOK-5: no scenario tests it", self.problems(scenarios=[]))
        self.assertIn("a reason for being unproven, and a proof", self.problems(unproven="it is free"))


if __name__ == "__main__":
    unittest.main()
