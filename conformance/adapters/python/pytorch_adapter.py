#!/usr/bin/env python3
"""PyTorch from Python as an engine under test, on the CPU (written for 1.13).

What later versions add (hooks before nodes, after accumulation, over several tensors; zeros for unused inputs)
is not claimed, and built-in nodes are not seen: their pre-hooks are needed for that.
"""

import contextlib

import torch
from gradcts_kit import Binding, CustomNode, Pass, PlainTensor, serve
from pytorch_reducers import RanksAsThreads
from pytorch_words import CATEGORIES, NAMES, OPERATIONS, TYPES


class Scripted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, node: CustomNode, *inputs):
        ctx.node = node
        ctx.set_materialize_grads(node.materialise)
        places = {"input": inputs, "output": node.outputs}
        ctx.save_for_backward(*[places[where][index] for where, index in node.saves])
        outputs, node.outputs, node.inputs = tuple(node.outputs), None, None
        return outputs if len(outputs) != 1 else outputs[0]

    @staticmethod
    def backward(ctx, *gradients):
        results = ctx.node.backward(gradients, ctx.saved_tensors, ctx)
        return None, *results


class ScriptedOnce(Scripted):
    backward = staticmethod(torch.autograd.function.once_differentiable(Scripted.backward))


class PyTorch(Binding):
    NAME = "pytorch"
    DIALECT = "pytorch-1.13"
    FEATURES = [
        "hook.tensor", "hook.retain_grad", "hook.node_post", "hook.on_accumulator", "hook.saved", "hook.add",
        "hook.remove", "pass.backward", "pass.grad", "pass.inputs", "pass.inputs.non_leaf", "pass.keep",
        "pass.create_graph", "pass.allow_unused", "pass.nested", "pass.no_roots", "pass.leaf_root", "custom.*",
        "callbacks", "observe.recording", "observe.anomaly", "observe.checkpoint_valid", "observe.will_run", "threads", "layout.*",
        "grad.*", "change.*", "keep.*", "drop", "requires_grad", "recording_mode", "anomaly", "anomaly.unchecked",
        "fork", "error.foreign", "operation.*", "type.*", *RanksAsThreads.FEATURES]

    def __init__(self, scenario):
        self.ranks = RanksAsThreads(scenario)

    @classmethod
    def version(cls):
        return torch.__version__

    def finish(self):
        """What a failed pass left in this thread's queue goes with the next pass (ERR-3)."""
        self.ranks = None
        leaf = torch.zeros((), requires_grad=True)
        torch.autograd.grad(leaf * 1, leaf)

    def make(self, value: PlainTensor):
        kind = TYPES[value.type]
        wide = torch.complex128 if value.is_complex else torch.float64
        if value.indices is not None:
            shape = (len(value.indices[0]), *value.shape[len(value.indices):])
            elements = torch.tensor(value.values, dtype=wide).reshape(shape).to(kind)
            indices = torch.tensor(value.indices, dtype=torch.int64).reshape(len(value.indices), -1)
            sparse = torch.sparse_coo_tensor(indices, elements, value.shape)
            return sparse._coalesced_(value.coalesced)
        dense = torch.tensor(value.values, dtype=wide).reshape(value.shape).to(kind)
        if value.strides is None:
            return dense
        for dimension, stride in enumerate(value.strides):
            dense = dense.narrow(dimension, 0, 1) if stride == 0 else dense
        return torch.empty_strided(dense.shape, value.strides, dtype=kind).copy_(dense).expand(value.shape)

    @torch.no_grad()
    def read(self, tensor):
        def elements(dense):
            return dense.resolve_conj().to(torch.complex128 if dense.is_complex() else torch.float64).flatten().tolist()
        kind, shape = NAMES[tensor.dtype], tuple(tensor.shape)
        if tensor.is_sparse:
            return PlainTensor(elements(tensor._values()), shape, kind, None,
                               tensor._indices().tolist(), tensor.is_coalesced())
        strides = None if tensor.is_contiguous() else tensor.stride()
        return PlainTensor(elements(tensor), shape, kind, strides)

    def set_requires_grad(self, tensor, on):
        tensor.requires_grad_(on)

    def grad_of(self, tensor):
        return tensor._grad

    def set_grad(self, tensor, grad):
        tensor.grad = grad

    def alias(self, tensor, through):
        with torch.no_grad():
            return {"view": lambda: tensor.view_as(tensor), "detached": tensor.detach,
                    "data": lambda: tensor.data}[through]()

    @torch.no_grad()
    def change(self, tensor, how, number):
        {"add": tensor.add_, "multiply": tensor.mul_, "fill": tensor.fill_}[how](number)

    @torch.no_grad()
    def write(self, target, value):
        return self.make(value) if target is None else target.copy_(self.make(value))

    def scaled(self, tensor, factor):
        return tensor * factor

    def sum(self, first, second):
        return second + first if first.is_sparse and not second.is_sparse else first + second

    def product(self, first, second):
        return first * second

    def expanded(self, tensor, shape):
        return tensor.expand(shape)

    def cast(self, tensor, type):
        return tensor.to(TYPES[type], copy=True)

    def apply(self, node, inputs):
        name = node["op"]
        owner = inputs[0].__class__ if name.endswith("_") else torch
        operation = OPERATIONS.get(name, lambda n, *all: getattr(owner, name)(*all))
        result = operation(node, *inputs)
        return list(result) if isinstance(result, tuple | list) else [result]

    def make_custom(self, node: CustomNode):
        result = (Scripted if node.differentiable else ScriptedOnce).apply(node, *node.inputs)
        return list(result) if isinstance(result, tuple) else [result]

    def node_of(self, tensor):
        return tensor.grad_fn

    def accumulator_of(self, leaf):
        with torch.enable_grad():
            return leaf.view_as(leaf).grad_fn.next_functions[0][0]

    def run_pass(self, request: Pass):
        flags = {"retain_graph": request.flag("keep"), "create_graph": request.flag("create")}
        if not request.returns_gradients:
            return torch.autograd.backward(request.roots, request.seeds, inputs=request.inputs, **flags)
        flags["allow_unused"] = request.flag("allow_unused")
        return torch.autograd.grad(request.roots, request.inputs, request.seeds, **flags)

    def make_reducer(self, reducer, rank, parameters):
        return self.ranks.make_reducer(reducer, rank, parameters)

    def classify(self, error):
        return next((category for category, phrases in CATEGORIES.items()
                     if any(phrase in str(error) for phrase in phrases)), "other")

    def thread_state(self):
        return {"recording": torch.is_grad_enabled(), "anomaly": torch.is_anomaly_enabled()}

    def observe(self, what, node):
        return {"recording": torch.is_grad_enabled, "anomaly": torch.is_anomaly_enabled,
                "checkpoint_valid": torch.autograd.Variable._execution_engine.is_checkpoint_valid,
                "will_run": lambda: torch._C._will_engine_execute_node(node)}[what]()

    @contextlib.contextmanager
    def settings(self, step, pack, unpack):
        with contextlib.ExitStack() as stack:
            if "recording" in step:
                stack.enter_context(torch.set_grad_enabled(step["recording"]))
            if "anomaly" in step:
                stack.enter_context(torch.autograd.set_detect_anomaly(step["anomaly"], step.get("check_nan", True)))
            if pack:
                stack.enter_context(torch.autograd.graph.saved_tensors_hooks(pack, unpack))
            yield

    no_recording = staticmethod(torch.no_grad)

    def add_tensor_hook(self, tensor, body):
        return tensor.register_hook(lambda gradient: one_or_all(body([gradient])))

    def retain_grad(self, tensor):
        tensor.retain_grad()

    def add_node_post_hook(self, node, body):
        return node.register_hook(lambda results, gradients: as_tuple(body(list(results))))

    def queue_callback(self, body):
        torch.autograd.Variable._execution_engine.queue_callback(body)


def one_or_all(results):
    return results[0] if results is not None and len(results) == 1 else results


def as_tuple(results):
    return None if results is None else tuple(results)


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve(PyTorch)
