"""PyTorch's reducer over Gloo on the loopback interface, the ranks being threads of this process."""

import datetime

import torch
from gradcts_kit import RankReducer

LIMIT = datetime.timedelta(seconds=5)  # after which a rank that does not come is an error


class DistributedReducer(RankReducer):
    """What DistributedDataParallel is made of, used as its forward uses it."""

    def __init__(self, reducer: dict, group, parameters: list):
        limits = reducer.get("bucket_bytes", [1 << 40])
        dense = [False] * len(parameters)
        buckets, sizes = torch.distributed._compute_bucket_assignment_by_size(parameters, limits, dense)
        names = dict(enumerate(reducer["ranks"][group.rank()]))
        self.reducer = torch.distributed.Reducer(
            parameters, buckets, sizes, group, dense, limits[-1], reducer.get("find_unused", False),
            reducer.get("views", False), names, limits[0])
        self.waits_for_first_pass = reducer.get("static_graph", False)
        if self.waits_for_first_pass:
            self.reducer._set_static_graph()

    def prepare(self, outputs):
        self.reducer.prepare_for_forward()
        self.reducer._rebuild_buckets()  # also says what the last pass left
        if self.waits_for_first_pass:
            for output in outputs:
                output.register_hook(self.begin_first_pass)
        self.reducer.prepare_for_backward(outputs)

    def begin_first_pass(self, gradient):
        if self.waits_for_first_pass:
            self.waits_for_first_pass = False
            torch.autograd.Variable._execution_engine.queue_callback(self.reducer._delay_all_reduce)


class RanksAsThreads:
    """Each rank has its own end of the group."""

    FEATURES = []
    if torch.distributed.is_available() and torch.distributed.is_gloo_available():
        torch.distributed.set_debug_level(torch.distributed.DebugLevel.INFO)  # its errors then name parameters
        FEATURES = ["reducer", "reducer.find_unused", "reducer.static_graph", "reducer.views"]

    def __init__(self, scenario):
        self.groups = {}  # by name of the reducer and rank
        self.stores = {entry["name"]: torch.distributed.HashStore() for entry in scenario.json.get("reducers", [])}

    def make_reducer(self, reducer, rank, parameters):
        key = reducer["name"], rank
        if key not in self.groups:
            self.groups[key] = torch.distributed.ProcessGroupGloo(
                self.stores[reducer["name"]], rank, len(reducer["ranks"]), LIMIT)
        return DistributedReducer(reducer, self.groups[key], parameters)
