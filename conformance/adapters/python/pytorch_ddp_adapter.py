#!/usr/bin/env python3
"""PyTorch's DistributedDataParallel as an engine under test, over Gloo on the loopback interface, each rank being a
process of its own.

Every rank runs the whole program, but of a `parallel` step only its own threads; what a rank's parameters hold is
asked of that rank. Static graphs are not claimed: in them DistributedDataParallel begins the average in a node that it
puts behind the outputs of its forward, and a scenario's backward starts from the outputs themselves. Nor are bucket
sizes told to it: its first limit is fixed at 1 MiB.
"""

import concurrent.futures
import copy
import multiprocessing
import os
import re
import tempfile
import unittest.mock

import torch
from gradcts_kit import RankReducer, run, serve
from gradcts_kit.scenario import Scenario
from pytorch_adapter import PyTorch
from pytorch_reducers import LIMIT


class Outputs(torch.nn.Module):
    """A module whose forward the scenario has run already."""

    def __init__(self, parameters: dict):
        super().__init__()
        self._parameters.update(parameters)  # leaves of the scenario, which are plain tensors

    def forward(self, *outputs):
        return outputs


class RankWrapper(RankReducer):
    def __init__(self, reducer: dict, rank: int, parameters: list):
        # It would write rank 0's values into all ranks' parameters, which have them already: changes in place, after
        # which the scenario's graph could not be used.
        with unittest.mock.patch("torch.nn.parallel.distributed._sync_module_states"):
            self.wrapper = torch.nn.parallel.DistributedDataParallel(
                Outputs(dict(zip(reducer["ranks"][rank], parameters, strict=True))),
                find_unused_parameters=reducer.get("find_unused", False),
                gradient_as_bucket_view=reducer.get("views", False))

    def prepare(self, outputs):
        self.wrapper(*outputs)


class DistributedDataParallel(PyTorch):
    NAME = "pytorch-ddp"
    FEATURES = sorted(set(PyTorch.FEATURES) - {"reducer.static_graph", "fork"})
    rank = 0  # of this process

    def runs_here(self, thread):
        match = re.match(r"rank(\d+)", thread["name"])
        return match is None or int(match[1]) == self.rank

    def make_reducer(self, reducer, rank, parameters):
        return RankWrapper(reducer, rank, parameters)


def run_rank(scenario: dict, rank: int, size: int, store: str) -> dict:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size,
                                         timeout=LIMIT)
    DistributedDataParallel.rank = rank
    return run(scenario, DistributedDataParallel)


def run_ranks(scenario: dict, binding) -> dict:
    """The outcome of all ranks as one."""
    size = max((len(entry["ranks"]) for entry in scenario.get("reducers", [])), default=1)
    with (tempfile.TemporaryDirectory() as folder,
          concurrent.futures.ProcessPoolExecutor(size, multiprocessing.get_context("fork")) as workers):
        ranks = [workers.submit(run_rank, scenario, rank, size, os.path.join(folder, "store"))
                 for rank in range(size)]
        return joined([rank.result() for rank in ranks], scenario)


def joined(outcomes: list, scenario: dict) -> dict:
    owners = {leaf: rank for entry in scenario.get("reducers", [])
              for rank, leaves in enumerate(entry["ranks"]) for leaf in leaves}
    reads = {step["id"]: step.get("values", []) + step.get("grads", [])
             for step in Scenario(copy.deepcopy(scenario)).steps if step["do"] == "read"}
    steps = []
    for parts in zip(*(until_main(outcome["steps"]) for outcome in outcomes), strict=True):
        for *of_rank, _ in parts:
            steps += of_rank
        mains = [part[-1] for part in parts]
        names = reads.get(mains[0]["step"], [])
        values = [mains[owners.get(name, 0)]["values"][place] for place, name in enumerate(names)]
        steps.append({**mains[0], "values": values})
    events = [event for outcome in outcomes for event in outcome["events"]]
    return {**outcomes[0], "steps": steps,
            # The threads of a later `parallel` have higher numbers.
            "events": sorted(events, key=lambda event: event["thread"]),
            "leaf_grads": {leaf: outcomes[owners.get(leaf, 0)]["leaf_grads"][leaf]
                           for leaf in outcomes[0]["leaf_grads"]},
            "state": {"live_objects": sum(outcome["state"]["live_objects"] for outcome in outcomes),
                      "state_changes": [line for outcome in outcomes for line in outcome["state"]["state_changes"]]}}


def until_main(steps: list) -> list:
    """The steps in parts, each of which ends with one of the main thread, which every rank took."""
    parts = [[]]
    for entry in steps:
        parts[-1].append(entry)
        if entry["thread"] == 0:
            parts.append([])
    return parts[:-1]


if __name__ == "__main__":
    serve(DistributedDataParallel, run_ranks)
