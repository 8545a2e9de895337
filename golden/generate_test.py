"""Tests of the generator as a whole."""

import json
import unittest
from unittest import mock

from mpmath import mp

import generate
from expectations import BadCase, with_expectations
from families import Catalogue
from machine import TruthMachine, parts_of
from writer import scenario_text

CATALOGUE = Catalogue()


def scenario(nodes: list, program: list, **leaves) -> dict:
    return {"id": "test", "title": "", "clauses": [], "nodes": nodes, "program": program,
            "leaves": [{"name": name, "value": value, "requires_grad": not _is_index(value)}
                       for name, value in leaves.items()]}


def _is_index(value) -> bool:
    return isinstance(value, dict) and value.get("type") == "int64"


class Files(unittest.TestCase):
    def test_the_files_are_as_made(self):
        self.assertEqual(generate.check_sample(CATALOGUE, 10), [])

    def test_a_changed_digit_is_noticed(self):
        files = {name: text.replace('"bound": 1}', '"bound": 2}')
                 for name, text in generate.present().items()}
        with mock.patch.object(generate, "present", lambda: files):
            problems = generate.check_sample(CATALOGUE, 10)
        self.assertTrue(any("is not as made" in problem for problem in problems))

    def test_more_digits_change_nothing(self):
        for index in range(5, len(CATALOGUE), len(CATALOGUE) // 12):
            with mp.workdps(100):
                self.assertEqual(scenario_text(CATALOGUE.make(index)), self.at_usual_digits(index))

    @staticmethod
    def at_usual_digits(index):
        return scenario_text(CATALOGUE.make(index))

    def test_every_file_is_json_and_every_read_has_a_bound(self):
        for name, text in generate.present().items():
            if not name.endswith(".json"):
                continue
            for case in json.loads(text)["scenarios"]:
                reads = [step for step in case["program"] if step["do"] in ("read", "grad")]
                self.assertTrue(reads, case["id"])
                for step in reads:
                    count = sum(len(step.get(kind, [])) for kind in ("values", "grads", "results"))
                    self.assertEqual(len(step["expect"]["values"]), count)
                    self.assertIn("bound", step["expect"])


class Programs(unittest.TestCase):
    """What programs mean, by hand."""

    def read(self, nodes, program, **leaves):
        results = TruthMachine(scenario(nodes, program, **leaves)).run().results
        return [[float(v) for v in parts_of(tensor)] for tensor in results[len(program) - 1]]

    def test_a_view_shows_what_is_done_to_its_base(self):
        nodes = [{"name": "c", "op": "clone", "inputs": ["x"]},
                 {"name": "v", "op": "slice", "inputs": ["c"], "dim": 0, "start": 0, "end": 3, "step": 2},
                 {"name": "u", "op": "scale_", "inputs": ["v"], "factor": 10},
                 {"name": "y", "op": "mul", "inputs": ["c", "c"]}]
        program = [{"do": "forward"}, {"do": "backward", "roots": [{"value": "y", "seed": [1, 1, 1]}]},
                   {"do": "read", "values": ["c"], "grads": ["x"]}]
        self.assertEqual(self.read(nodes, program, x=[1, 2, 3]), [[10, 2, 30], [200, 4, 600]])

    def test_passes_add_up(self):
        nodes = [{"name": "y", "op": "mul", "inputs": ["x", "x"]}]
        backward = {"do": "backward", "roots": [{"value": "y", "seed": 1}], "keep": True}
        program = [{"do": "forward"}, backward, backward, {"do": "read", "grads": ["x"]}]
        self.assertEqual(self.read(nodes, program, x=3), [[12]])

    def test_without_create_a_gradient_is_a_constant(self):
        nodes = [{"name": "y", "op": "mul", "inputs": ["x", "x"]},
                 {"name": "z", "op": "mul", "inputs": ["g", "x"]}]
        for create, expected in ((False, 6), (True, 12)):
            program = [{"do": "forward", "nodes": ["y"]},
                       {"do": "grad", "roots": [{"value": "y", "seed": 1}], "inputs": ["x"],
                        "create": create, "keep": True, "results": ["g"]},
                       {"do": "forward", "nodes": ["z"]},
                       {"do": "backward", "roots": [{"value": "z", "seed": 1}]},
                       {"do": "read", "grads": ["x"]}]
            self.assertEqual(self.read(nodes, program, x=3), [[expected]])

    def test_gradients_of_values_on_one_path(self):
        nodes = [{"name": "y", "op": "scale", "inputs": ["x"], "factor": 2},
                 {"name": "z", "op": "mul", "inputs": ["y", "x"]}]
        program = [{"do": "forward"}, {"do": "grad", "roots": [{"value": "z", "seed": 1}],
                                       "inputs": ["y", "x"], "results": ["gy", "gx"]},
                   {"do": "read", "values": ["gy", "gx"]}]
        self.assertEqual(self.read(nodes, program, x=3), [[3], [12]])

    def test_real_and_complex_views_share_their_numbers(self):
        nodes = [{"name": "c", "op": "clone", "inputs": ["z"]},
                 {"name": "r", "op": "view_as_real", "inputs": ["c"]},
                 {"name": "im", "op": "select", "inputs": ["r"], "dim": 1, "index": 1},
                 {"name": "im1", "op": "scale_", "inputs": ["im"], "factor": 10}]
        seed = {"type": "complex128", "shape": [2], "values": [[1, 1], [1, 1]]}
        program = [{"do": "forward"}, {"do": "backward", "roots": [{"value": "c", "seed": seed}]},
                   {"do": "read", "values": ["c"], "grads": ["z"]}]
        z = {"type": "complex128", "shape": [2], "values": [[1, 2], [3, 4]]}
        self.assertEqual(self.read(nodes, program, z=z), [[1, 20, 3, 40], [1, 10, 1, 10]])

    def test_gradients_go_back_to_where_an_index_took_from(self):
        index = {"type": "int64", "shape": [3], "values": [2, 0, 2]}
        backward = {"do": "backward", "roots": [{"value": "y", "seed": [1, 10, 100]}]}
        for op in ("gather", "index_select"):
            nodes = [{"name": "y", "op": op, "inputs": ["x", "i"], "dim": 0}]
            program = [{"do": "forward"}, backward, {"do": "read", "values": ["y"], "grads": ["x"]}]
            self.assertEqual(self.read(nodes, program, x=[5, 6, 7], i=index), [[7, 5, 7], [10, 0, 101]])

    def test_only_rows_that_were_taken_are_stated_of_a_sparse_gradient(self):
        nodes = [{"name": "y", "op": "embedding", "inputs": ["x", "i"], "sparse": True}]
        index = {"type": "int64", "shape": [2], "values": [2, 2]}
        seed = {"shape": [2, 1], "values": [3, 4]}
        program = [{"do": "forward"}, {"do": "backward", "roots": [{"value": "y", "seed": seed}]},
                   {"do": "read", "grads": ["x"]}]
        weight = {"shape": [3, 1], "values": [5, 6, 7]}
        case, _ = with_expectations(scenario(nodes, program, x=weight, i=index))
        stated = case["program"][2]["expect"]["values"][0]
        self.assertEqual(stated, {"shape": [3, 1], "sparse": {"indices": [[2]]}, "values": [7]})

    def test_what_is_overwritten_gets_no_gradient(self):
        nodes = [{"name": "c", "op": "clone", "inputs": ["x"]},
                 {"name": "y", "op": "copy_", "inputs": ["c", "w"]}]
        program = [{"do": "forward"}, {"do": "backward", "roots": [{"value": "y", "seed": [2, 3]}]},
                   {"do": "read", "values": ["c"], "grads": ["x", "w"]}]
        self.assertEqual(self.read(nodes, program, x=[1, 2], w=7), [[7, 7], [0, 0], [5]])

    def test_a_case_without_an_honest_bound_is_refused(self):
        nodes = [{"name": "p", "op": "mul", "inputs": ["x", "w"]},
                 {"name": "y", "op": "sub", "inputs": ["p", "w"]}]
        program = [{"do": "forward"}, {"do": "read", "values": ["y"]}]
        with self.assertRaises(BadCase):
            with_expectations(scenario(nodes, program, x=1 + 2.0**-52, w=0.1))


if __name__ == "__main__":
    unittest.main()
