"""Tests of the generator as a whole."""

import json
import unittest
from unittest import mock

from mpmath import mp

import generate
from expectations import BadCase, with_expectations
from families import Catalogue
from machine import TruthMachine
from writer import scenario_text

CATALOGUE = Catalogue()


def scenario(nodes: list, program: list, **leaves) -> dict:
    return {"id": "test", "title": "", "clauses": [], "nodes": nodes, "program": program,
            "leaves": [{"name": name, "value": value} for name, value in leaves.items()]}


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
        return [[float(v) for v in tensor.elements()] for tensor in results[len(program) - 1]]

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

    def test_a_case_without_an_honest_bound_is_refused(self):
        nodes = [{"name": "p", "op": "mul", "inputs": ["x", "w"]},
                 {"name": "y", "op": "sub", "inputs": ["p", "w"]}]
        program = [{"do": "forward"}, {"do": "read", "values": ["y"]}]
        with self.assertRaises(BadCase):
            with_expectations(scenario(nodes, program, x=1 + 2.0**-52, w=0.1))


if __name__ == "__main__":
    unittest.main()
