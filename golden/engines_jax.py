"""Runs a scenario on JAX: the other second opinion for cross_check.py.

JAX has no tape: a pass is the vjp of the program so far as a function of the pass's inputs. Its arrays
have neither strides nor storage to share, so programs that change a tensor which has views are not run.
Its vjp carries f'(z) and not its conjugate: seeds and results are conjugated.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

TYPES = {name: getattr(jnp, name) for name in
         ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")}
TYPES |= {"boolean": jnp.bool_, "int64": jnp.int64}
VIEWS = ("view", "expand", "transpose", "select", "slice", "unbind", "view_as_real", "view_as_complex")


class NotExpressible(Exception):
    pass


def version() -> str:
    return f"JAX {jax.__version__}"


def _number(json):
    return complex(*[float(part) for part in json]) if isinstance(json, list) else float(json)


def tensor(json):
    if isinstance(json, list):
        json = {"values": json}
    elif not isinstance(json, dict):
        json = {"shape": [], "values": [json]}
    kind = json.get("type", "float64")
    if kind == "int64":
        return jnp.asarray(np.array(json["values"], dtype=np.int64).reshape(json["shape"]))
    values = np.array([_number(v) for v in json["values"]],
                      dtype=np.complex128 if kind.startswith("complex") else np.float64)
    return jnp.asarray(values.reshape(json.get("shape", [len(values)]))).astype(TYPES[kind])


def _axes(n: dict):
    return tuple(n["dims"]) if "dims" in n else None


def _slice(a, n):
    index = [slice(None)] * a.ndim
    index[n["dim"]] = slice(n["start"], n["end"], n.get("step", 1))
    return a[tuple(index)]


def _cast(a, kind):
    real_target = not jnp.issubdtype(kind, jnp.complexfloating)
    return (a.real if jnp.iscomplexobj(a) and real_target else a).astype(kind)


def _layer_norm(a, weight, bias, eps):
    """JAX has none of its own: the formula, by its steps."""
    centred = a - jnp.mean(a, -1, keepdims=True)
    variance = jnp.mean(centred * centred, -1, keepdims=True)
    return centred / jnp.sqrt(variance + jnp.asarray(eps, a.dtype)) * weight + bias


def _places(index, dim):
    """The index of each element that `index` takes along a dimension."""
    places = list(jnp.indices(index.shape))
    places[dim] = index
    return tuple(places)


def _plain(a):
    """A number of the scenario in the type of the tensor."""
    return lambda number: jnp.asarray(number, dtype=a.dtype)


OPERATIONS = {
    "add": lambda n, a, b: a + b, "sub": lambda n, a, b: a - b, "mul": lambda n, a, b: a * b,
    "div": lambda n, a, b: a / b, "neg": lambda n, a: -a,
    "scale": lambda n, a: a * _plain(a)(n["factor"]), "power": lambda n, a: a ** n["exponent"],
    "maximum": lambda n, a, b: jnp.maximum(a, b), "minimum": lambda n, a, b: jnp.minimum(a, b),
    "where": lambda n, c, a, b: jnp.where(c, a, b),
    "clamp": lambda n, a: jnp.clip(a, n.get("min"), n.get("max")),
    "sum": lambda n, a: jnp.sum(a, _axes(n), keepdims=n.get("keepdim", False)),
    "mean": lambda n, a: jnp.mean(a, _axes(n), keepdims=n.get("keepdim", False)),
    "mm": lambda n, a, b: a @ b, "view": lambda n, a: a.reshape(n["shape"]),
    "expand": lambda n, a: jnp.broadcast_to(a, n["shape"]),
    "transpose": lambda n, a: jnp.swapaxes(a, n["dim0"], n["dim1"]),
    "select": lambda n, a: jnp.take(a, n["index"], axis=n["dim"]), "slice": lambda n, a: _slice(a, n),
    "unbind": lambda n, a: tuple(jnp.take(a, i, axis=n["dim"]) for i in range(a.shape[n["dim"]])),
    "cat": lambda n, *all: jnp.concatenate(all, n["dim"]), "clone": lambda n, a: a,
    "detach": lambda n, a: jax.lax.stop_gradient(a), "exp": lambda n, a: jnp.exp(a),
    "log": lambda n, a: jnp.log(a), "sin": lambda n, a: jnp.sin(a), "cos": lambda n, a: jnp.cos(a),
    "tanh": lambda n, a: jnp.tanh(a), "sigmoid": lambda n, a: jax.nn.sigmoid(a),
    "relu": lambda n, a: jax.nn.relu(a), "sqrt": lambda n, a: jnp.sqrt(a),
    "cast": lambda n, a: _cast(a, TYPES[n["type"]]),
    "to_device": lambda n, a: a, "custom": lambda n, *all: sum(all[1:], all[0]),
    "pow": lambda n, a, b: jnp.power(a, b), "tan": lambda n, a: jnp.tan(a),
    "expm1": lambda n, a: jnp.expm1(a), "log1p": lambda n, a: jnp.log1p(a),
    "erf": lambda n, a: jax.lax.erf(a), "abs": lambda n, a: jnp.abs(a), "conj": lambda n, a: jnp.conj(a),
    "bmm": lambda n, a, b: a @ b, "flip": lambda n, a: jnp.flip(a, n["dims"]),
    "amax": lambda n, a: jnp.max(a, _axes(n), keepdims=n.get("keepdim", False)),
    "amin": lambda n, a: jnp.min(a, _axes(n), keepdims=n.get("keepdim", False)),
    "logsumexp": lambda n, a: jax.nn.logsumexp(a, _axes(n), keepdims=n.get("keepdim", False)),
    "softmax": lambda n, a: jax.nn.softmax(a, n["dim"]),
    "log_softmax": lambda n, a: jax.nn.log_softmax(a, n["dim"]),
    "layer_norm": lambda n, a, w, b: _layer_norm(a, w, b, n["eps"]),
    "cumsum": lambda n, a: jnp.cumsum(a, n["dim"]),
    "gather": lambda n, a, index: a[_places(index, n["dim"])],
    "scatter_add": lambda n, a, index, src: a.at[_places(index, n["dim"])].add(src),
    "index_select": lambda n, a, index: jnp.take(a, index, axis=n["dim"]),
    "embedding": lambda n, a, index: a[index],
    "view_as_real": lambda n, a: jnp.stack([a.real, a.imag], -1),
    "view_as_complex": lambda n, a: jax.lax.complex(a[..., 0], a[..., 1]),
    "copy": lambda n, a, b: jnp.broadcast_to(_cast(b, a.dtype), a.shape),
    "fill": lambda n, a: jnp.full_like(a, n["value"]),
}


class Run:
    """Executes the program up to a step; `given` overrides values as soon as they are made."""

    def __init__(self, scenario: dict, given: dict):
        self.scenario, self.given = scenario, given
        self.nodes = {node["name"]: node for node in scenario["nodes"]}
        self.values, self.grads, self.reads = {}, {}, []
        self.outermost = True
        for leaf in scenario["leaves"]:
            self.bind(leaf["name"], tensor(leaf["value"]))

    def bind(self, name, value):
        self.values[name] = self.given[name] if name in self.given else value

    def run(self, horizon=None):
        self.outermost = horizon is None
        for index, step in enumerate(self.scenario["program"][:horizon]):
            if step["do"] == "read" and not self.outermost:
                continue  # inside a pass values are tracers
            getattr(self, "_" + step["do"])(index, step)
        return self

    def _forward(self, index, step):
        named = {name for other in self.scenario["program"] for name in other.get("nodes", [])}
        for name in step.get("nodes", [n for n in self.nodes if n not in named]):
            node = self.nodes[name]
            function = OPERATIONS[node["op"].rstrip("_")]
            result = function(node, *[self.values[i] for i in node["inputs"]])
            if node["op"].endswith("_"):
                self.values[node["inputs"][0]] = result
            results = result if isinstance(result, tuple) else (result,)
            for output, value in zip(node.get("outputs", [name]), results):
                self.bind(output, value)

    def _seeds(self, step):
        seeds = [root["seed"] for root in step["roots"]]
        return [self.values[s["from"]] if isinstance(s, dict) and "from" in s else tensor(s)
                for s in seeds]

    def _gradients(self, index, step, names):
        outer = self.given

        def roots_of(inputs):
            given = {**outer, **dict(zip(names, inputs))}
            run = Run(self.scenario, given).run(index)
            return [run.values[root["value"]] for root in step["roots"]]

        _, pull = jax.vjp(roots_of, [self.values[name] for name in names])
        grads, = pull([jnp.conj(seed) for seed in self._seeds(step)])
        return [jnp.conj(g) if jnp.iscomplexobj(g) else g for g in grads]

    def _grad(self, index, step):
        gradients = self._gradients(index, step, step["inputs"])
        if not step.get("create"):
            gradients = [jax.lax.stop_gradient(g) for g in gradients]
        for name, gradient in zip(step.get("results", []), gradients):
            self.bind(name, gradient)
        if self.outermost:
            self._report(gradients)

    def _backward(self, index, step):
        names = [leaf["name"] for leaf in self.scenario["leaves"] if leaf.get("requires_grad", True)]
        for name, gradient in zip(names, self._gradients(index, step, names)):
            self.grads[name] = self.grads[name] + gradient if name in self.grads else gradient

    def _read(self, index, step):
        read = [self.values[name] for name in step.get("values", [])]
        read += [self.grads[name] for name in step.get("grads", [])]
        self._report(read)

    def _report(self, read):
        self.reads.append([(str(t.dtype), list(t.shape), _flat(t)) for t in read])


def _flat(value) -> list[float]:
    array = np.asarray(value).flatten()
    if np.iscomplexobj(array):
        return [float(part) for z in array for part in (z.real, z.imag)]
    return array.astype(np.float64).tolist()


def reads(scenario: dict) -> list[list[tuple]]:
    changed = {n["inputs"][0] for n in scenario["nodes"] if n["op"].endswith("_")}
    if changed and any(n["op"] in VIEWS for n in scenario["nodes"]):
        raise NotExpressible("a tensor with views is changed in place")
    return Run(scenario, {}).run().reads
