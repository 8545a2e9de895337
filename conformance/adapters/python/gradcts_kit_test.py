"""The kit by itself, on an engine of a few lines (that of the template)."""

import gc
import json
import math
import pathlib
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "templates" / "python")]

from gradcts_kit import PlainTensor, run  # noqa: E402
from gradcts_kit.interpreter import LifeCounter  # noqa: E402
from gradcts_kit.operations import at, part_of  # noqa: E402
from gradcts_kit.pipe import answer  # noqa: E402
from gradcts_kit.scenario import Scenario  # noqa: E402
from my_adapter import MyBinding  # noqa: E402


def scenario(program, **fields):
    return {"schema": "gradcts.scenario/1", "id": "kit/a", "title": "t", "clauses": ["ACC-1"],
            "leaves": [{"name": "x", "value": 3}],
            "nodes": [{"name": "y", "op": "mul", "inputs": ["x", "x"]}], "program": program, **fields}


SQUARE = [{"do": "forward"}, {"do": "backward", "roots": [{"value": "y", "seed": 2}]},
          {"do": "read", "values": ["y"], "grads": ["x"]}]


class Plain(unittest.TestCase):
    def test_reads_every_form(self):
        self.assertEqual(PlainTensor.from_json(2), PlainTensor([2.0]))
        self.assertEqual(PlainTensor.from_json([1, "inf"]), PlainTensor([1.0, math.inf], (2,)))
        self.assertEqual(PlainTensor.from_json({"shape": [2, 2], "fill": 7}).values, [7.0] * 4)
        sparse = PlainTensor.from_json({"shape": [4, 2], "sparse": {"indices": [[0, 3]]}, "fill": 1})
        self.assertEqual((sparse.values, sparse.indices), ([1.0] * 4, [[0, 3]]))
        complex_one = {"type": "complex64", "shape": [1], "values": [[1, -2]]}
        self.assertEqual(PlainTensor.from_json(complex_one).values, [1 - 2j])

    def test_writes_what_it_reads(self):
        for value in ({"type": "float32", "shape": [2], "values": [1.0, "nan"]},
                      {"type": "complex64", "shape": [1], "values": [[1.0, "-inf"]]},
                      {"type": "float64", "shape": [2, 3], "values": [0.0] * 6, "strides": [1, 2]},
                      {"type": "float64", "shape": [4], "values": [1.0],
                       "sparse": {"indices": [[2]], "coalesced": True}}):
            self.assertEqual(PlainTensor.from_json(value).to_json(), value)
        self.assertEqual(json.dumps(PlainTensor([-0.0]).to_json()["values"]), "[-0.0]")


class Operations(unittest.TestCase):
    def test_dimensions_count_from_the_end(self):
        class Array:
            ndim = 3

            def __getitem__(self, index):
                return index

        everything = slice(None)
        self.assertEqual(at(Array(), {"dim": -1}, 5), (everything, everything, 5))
        self.assertEqual(part_of(Array(), {"dim": -2, "start": 1, "end": 4}), (everything, slice(1, 4, 1), everything))


class Steps(unittest.TestCase):
    def test_are_numbered_in_preorder(self):
        read = Scenario(scenario(
            [{"do": "try", "steps": [{"do": "forward"}]},
             {"do": "parallel", "threads": [{"name": "t", "steps": [{"do": "read"}]}]}],
            nodes=[{"name": "c", "op": "custom", "inputs": ["x"], "backward": {"steps": [{"do": "drop"}]}}],
            hooks=[{"name": "h", "kind": "saved", "unpack": {"steps": [{"do": "throw"}]},
                    "pack": {"steps": [{"do": "lock"}]}}],
            callbacks=[{"name": "b", "steps": [{"do": "unlock"}]}]))
        self.assertEqual([step["do"] for step in read.steps],
                         ["try", "forward", "parallel", "read", "drop", "lock", "throw", "unlock"])
        self.assertEqual([step["id"] for step in read.steps], list(range(8)))

    def test_a_forward_without_nodes_runs_those_that_no_other_names(self):
        nodes = [{"name": name, "op": "scale", "inputs": ["x"], "factor": 1} for name in "abc"]
        read = Scenario(scenario([{"do": "forward", "nodes": ["b"]}, {"do": "forward"}], nodes=nodes))
        self.assertEqual(read.program[1]["nodes"], ["a", "c"])


class Run(unittest.TestCase):
    def test_reports_steps_and_gradients(self):
        outcome = run(scenario(SQUARE), MyBinding)
        self.assertEqual([step["step"] for step in outcome["steps"]], [0, 1, 2])
        self.assertEqual([value["values"] for value in outcome["steps"][2]["values"]], [[9.0], [12.0]])
        self.assertEqual(outcome["leaf_grads"]["x"]["values"], [12.0])
        self.assertEqual([event["kind"] for event in outcome["events"]], ["pass_begin", "pass_end"])

    def test_an_error_stands_in_its_step_and_the_program_goes_on(self):
        constant = {"leaves": [{"name": "x", "value": 3, "requires_grad": False}]}
        steps = run(scenario(SQUARE, **constant), MyBinding)["steps"]
        self.assertEqual(steps[1]["error"]["category"], "invalid_argument")
        self.assertEqual(len(steps), 3)

    def test_an_error_in_a_script_releases_its_locks(self):
        failing = {"do": "try", "steps": [{"do": "lock", "lock": "m"}, {"do": "throw", "token": "t"}]}
        outcome = run(scenario([failing, failing], locks=[{"name": "m"}]), MyBinding)
        self.assertEqual([step["error"]["token"] for step in outcome["steps"] if "error" in step], ["t"] * 4)

    def test_steps_that_run_again_are_counted(self):
        repeat = [{"do": "repeat", "times": 2, "steps": SQUARE}]
        forwards = [s for s in run(scenario(repeat), MyBinding)["steps"] if s["step"] == 1]
        self.assertEqual([entry["occurrence"] for entry in forwards], [0, 1])


class Life(unittest.TestCase):
    class Counted:
        pass

    def test_what_is_kept_is_alive(self):
        kept, life = self.Counted(), LifeCounter()
        life.count(kept)
        life.count(self.Counted())
        self.assertEqual(life.wait_for_none(0), 1)

    def test_a_cycle_is_no_leak(self):
        life, counted = LifeCounter(), self.Counted()
        counted.itself = counted
        life.count(counted)
        del counted
        self.assertEqual(life.wait_for_none(0), 0)

    def test_waits_for_a_thread_that_lets_go_late(self):
        life, counted, looked = LifeCounter(), self.Counted(), threading.Event()
        counted.itself = counted
        life.count(counted)
        late = threading.Thread(target=lambda kept: looked.wait(), args=[counted])
        late.start()
        del counted
        gc.callbacks.append(lambda phase, info: looked.set() if phase == "stop" else None)
        self.addCleanup(gc.callbacks.pop)
        self.assertEqual(life.wait_for_none(60), 0)
        late.join()


class Pipe(unittest.TestCase):
    def test_echoes_the_number(self):
        hello = answer({"request": 41, "hello": "gradcts.worker/1"}, MyBinding)
        self.assertEqual((hello["answer"], hello["description"]["name"]), (41, "my-python-engine"))
        self.assertEqual(answer({"request": 42, "run": scenario(SQUARE)}, MyBinding)["answer"], 42)

    def test_refuses_another_protocol(self):
        self.assertIn("failure", answer({"request": 1, "hello": "gradcts.worker/9"}, MyBinding))

    def test_a_fault_of_the_adapter_is_a_failure(self):
        broken = scenario([{"do": "no-such-step"}])
        self.assertIn("no-such-step", json.dumps(answer({"request": 1, "run": broken}, MyBinding)))


if __name__ == "__main__":
    unittest.main()
