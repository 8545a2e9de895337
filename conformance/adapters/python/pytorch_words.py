"""What scenarios call types, errors and operations, in PyTorch's words."""

import torch
from gradcts_kit.operations import part_of

TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32,
         "float64": torch.float64, "complex64": torch.complex64, "complex128": torch.complex128,
         "int64": torch.int64, "boolean": torch.bool}
NAMES = {value: key for key, value in TYPES.items()}

CATEGORIES = {  # what the words of an error mean
    "gradient_count": ("wrong number of", "number of gradients"),
    "gradient_shape": ("expected shape compatible with", "Mismatch in shape"),
    "gradient_type": ("grad_is_complex", "expected type", "expected layout"),
    "gradient_device": ("expected device",), "unused_input": ("have been used in the graph",),
    "hook_result": ("has changed the", "incorrect number of values", "by a hook", "expected Variable"),
    "graph_released": ("graph a second time",), "saved_modified": ("modified by an inplace operation",),
    "not_differentiable": ("marked with @once", "is not implemented"),
    "outside_pass": ("only be installed during backward",), "nan_gradient": ("returned nan values",),
    "incomplete": ("could not compute gradients",), "forked": ("fork-based multiprocessing",),
    "in_place": ("used in an in-place operation", "modified inplace", "modifying its input in place",
                 "single memory location"),
    "reducer": ("mark a variable ready only once", "finished reduction in the prior iteration",
                "Empty bucket specified", "Out of range variable index", "in a bucket must", "timeout", "Timed out",
                "Parameter indices", "gloo"),
    "invalid_argument": ("not require grad", "doesn't require grad", "can't retain_grad", "cannot be empty",
                         "be implicitly created", "change requires_grad flags", "can require gradients",
                         "match the broadcast shape", "be cast to the desired output type")}


def all_dims(n, a):
    return n.get("dims", list(range(a.dim())))


def reduction(function, n, a):
    if "dims" in n or "keepdim" in n:
        return function(a, all_dims(n, a), n.get("keepdim", False))
    return function(a)


OPERATIONS = {  # those that are not called like the function of torch, or like its change in place
    "scale": lambda n, a: a * n["factor"], "power": lambda n, a: a ** n["exponent"],
    "clamp": lambda n, a: a.clamp(n.get("min"), n.get("max")), "conj": lambda n, a: a.conj_physical(),
    "sum": lambda n, a: reduction(torch.sum, n, a), "mean": lambda n, a: reduction(torch.mean, n, a),
    "amax": lambda n, a: a.amax(all_dims(n, a), n.get("keepdim", False)),
    "amin": lambda n, a: a.amin(all_dims(n, a), n.get("keepdim", False)),
    "logsumexp": lambda n, a: a.logsumexp(n["dims"], n.get("keepdim", False)),
    "softmax": lambda n, a: a.softmax(n["dim"]), "log_softmax": lambda n, a: a.log_softmax(n["dim"]),
    "layer_norm": lambda n, a, b, c: torch.layer_norm(a, a.shape[-1:], b, c, n["eps"]),
    "cumsum": lambda n, a: a.cumsum(n["dim"]), "flip": lambda n, a: a.flip(n["dims"]),
    "gather": lambda n, a, b: a.gather(n["dim"], b),
    "index_select": lambda n, a, b: a.index_select(n["dim"], b),
    "scatter_add": lambda n, a, b, c: a.scatter_add(n["dim"], b, c),
    "embedding": lambda n, a, b: torch.embedding(a, b, sparse=n.get("sparse", False)),
    "view": lambda n, a: a.view(n["shape"]), "expand": lambda n, a: a.expand(n["shape"]),
    "transpose": lambda n, a: a.transpose(n["dim0"], n["dim1"]),
    "select": lambda n, a: a.select(n["dim"], n["index"]), "slice": lambda n, a: part_of(a, n),
    "unbind": lambda n, a: a.unbind(n["dim"]), "cat": lambda n, *all: torch.cat(all, n["dim"]),
    "detach": lambda n, a: a.detach(), "to_device": lambda n, a: a.clone(),
    "cast": lambda n, a: a.to(TYPES[n["type"]], copy=True),
    "scale_": lambda n, a: a.mul_(n["factor"]), "fill_": lambda n, a: a.fill_(n["value"])}
