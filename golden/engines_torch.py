"""Runs a scenario on PyTorch: the second opinion for cross_check.py."""

from __future__ import annotations

import torch

TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32,
         "float64": torch.float64, "complex64": torch.complex64, "complex128": torch.complex128,
         "boolean": torch.bool, "int64": torch.int64}
NAMES = {value: key for key, value in TYPES.items()}


def version() -> str:
    return f"PyTorch {torch.__version__}"


def _number(json):
    return complex(*[float(part) for part in json]) if isinstance(json, list) else float(json)


def tensor(json) -> torch.Tensor:
    """Devices of the language are all the CPU here."""
    if isinstance(json, list):
        json = {"values": json}
    elif not isinstance(json, dict):
        json = {"shape": [], "values": [json]}
    kind = TYPES[json.get("type", "float64")]
    if kind == torch.int64:
        return torch.tensor(json["values"], dtype=kind).reshape(json["shape"])
    values = [_number(value) for value in json["values"]]
    wide = torch.complex128 if kind.is_complex else torch.float64
    shape = json.get("shape", [len(values)])
    result = torch.tensor(values, dtype=wide).reshape(shape).to(kind)
    if "strides" not in json:
        return result
    strides = json["strides"]
    room = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
    strided = torch.empty(room, dtype=kind).as_strided(shape, strides)
    for index in torch.cartesian_prod(*[torch.arange(size) for size in shape]).tolist():
        strided[tuple(index)] = result[tuple(index)]
    return strided


def _reduce(function):
    def apply(a, n):
        if "dims" in n or n.get("keepdim"):
            return function(a, n.get("dims", list(range(a.dim()))), n.get("keepdim", False))
        return function(a)
    return apply


ONE = {
    "neg": lambda a, n: -a, "scale": lambda a, n: a * n["factor"],
    "power": lambda a, n: a ** n["exponent"],
    "clamp": lambda a, n: a.clamp(n.get("min"), n.get("max")),
    "sum": _reduce(torch.sum), "mean": _reduce(torch.mean),
    "view": lambda a, n: a.view(n["shape"]), "expand": lambda a, n: a.expand(n["shape"]),
    "transpose": lambda a, n: a.transpose(n["dim0"], n["dim1"]),
    "select": lambda a, n: a.select(n["dim"], n["index"]),
    "clone": lambda a, n: a.clone(), "detach": lambda a, n: a.detach(),
    "to_device": lambda a, n: a.clone(),
    "cast": lambda a, n: a.to(TYPES[n["type"]]), "scale_": lambda a, n: a.mul_(n["factor"]),
    "exp_": lambda a, n: a.exp_(), "unbind": lambda a, n: a.unbind(n["dim"]),
    "amax": _reduce(torch.amax), "amin": _reduce(torch.amin),
    "logsumexp": lambda a, n: torch.logsumexp(a, n["dims"], n.get("keepdim", False)),
    "softmax": lambda a, n: torch.softmax(a, n["dim"]),
    "log_softmax": lambda a, n: torch.log_softmax(a, n["dim"]),
    "cumsum": lambda a, n: a.cumsum(n["dim"]), "flip": lambda a, n: a.flip(n["dims"]),
    "conj": lambda a, n: a.conj().resolve_conj(), "neg_": lambda a, n: a.neg_(),
    "tanh_": lambda a, n: a.tanh_(), "relu_": lambda a, n: a.relu_(),
    "fill_": lambda a, n: a.fill_(n["value"]),
}
MORE = {
    "gather": lambda n, a, index: a.gather(n["dim"], index),
    "scatter_add": lambda n, a, index, src: a.scatter_add(n["dim"], index, src),
    "index_select": lambda n, a, index: a.index_select(n["dim"], index),
    "embedding": lambda n, a, i: torch.nn.functional.embedding(i, a, sparse=n.get("sparse", False)),
    "layer_norm": lambda n, a, w, b: torch.nn.functional.layer_norm(a, a.shape[-1:], w, b, n["eps"]),
}


def _run_node(node: dict, inputs: list):
    op = node["op"]
    if op in ONE:
        return ONE[op](inputs[0], node)
    if op == "slice":
        index = [slice(None)] * inputs[0].dim()
        index[node["dim"]] = slice(node["start"], node["end"], node.get("step", 1))
        return inputs[0][tuple(index)]
    if op == "cat":
        return torch.cat(inputs, node["dim"])
    if op == "custom":
        return sum(inputs[1:], inputs[0].clone())
    if op in MORE:
        return MORE[op](node, *inputs)
    if op in ("add_", "sub_", "mul_", "div_", "copy_"):
        return getattr(inputs[0], op)(inputs[1])
    return getattr(torch, op)(*inputs)


class Run:
    """One execution; `reads` has the tensors of each read and grad step, as nested lists of numbers."""

    def __init__(self, scenario: dict):
        self.scenario = scenario
        self.nodes = {node["name"]: node for node in scenario["nodes"]}
        self.values = {}
        self.reads = []
        for leaf in scenario["leaves"]:
            value = tensor(leaf["value"])
            self.values[leaf["name"]] = value.requires_grad_(leaf.get("requires_grad", True)
                                                             and value.dtype not in (torch.bool, torch.int64))
        for step in scenario["program"]:
            getattr(self, "_" + step["do"])(step)

    def _forward(self, step):
        named = {name for other in self.scenario["program"] for name in other.get("nodes", [])}
        for name in step.get("nodes", [n for n in self.nodes if n not in named]):
            node = self.nodes[name]
            result = _run_node(node, [self.values[i] for i in node["inputs"]])
            results = result if isinstance(result, tuple) else (result,)
            for output, value in zip(node.get("outputs", [name]), results, strict=True):
                self.values[output] = value

    def _roots(self, step):
        roots = [self.values[root["value"]] for root in step["roots"]]
        seeds = [self.values[seed["from"]] if isinstance(seed, dict) and "from" in seed
                 else tensor(seed) for seed in (root["seed"] for root in step["roots"])]
        return roots, seeds

    def _grad(self, step):
        roots, seeds = self._roots(step)
        create = step.get("create", False)
        inputs = [self.values[name] for name in step["inputs"]]
        grads = torch.autograd.grad(roots, inputs, seeds, create_graph=create,
                                    retain_graph=step.get("keep", False))
        self.values.update(zip(step.get("results", []), grads))
        self._report(grads)

    def _backward(self, step):
        roots, seeds = self._roots(step)
        torch.autograd.backward(roots, seeds, retain_graph=step.get("keep", False))

    def _read(self, step):
        read = [self.values[name] for name in step.get("values", [])]
        read += [self.values[name].grad for name in step.get("grads", [])]
        self._report(read)

    def _report(self, read):
        self.reads.append([(_layout(t) + NAMES[t.dtype], list(t.shape), _flat(t)) for t in read])


def _layout(value: torch.Tensor) -> str:
    return "sparse " if value.is_sparse else ""


def _flat(value: torch.Tensor) -> list[float]:
    """The numbers in row-major order; complex ones as two."""
    value = value.detach().to_dense() if value.is_sparse else value.detach().resolve_conj()
    if value.dtype.is_complex:
        value = torch.view_as_real(value.contiguous())
    return value.to(torch.float64).flatten().tolist()


def reads(scenario: dict) -> list[list[tuple]]:
    return Run(scenario).reads
