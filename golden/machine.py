"""Runs a scenario as it stands in JSON on exact numbers, in two ways.

`TruthMachine` differentiates forward: for each pass it runs the program again with jets in place of the
inputs. `EngineMachine` goes backward as an engine does, on tracked numbers, and gives the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from exact import reals
from exact.complex_formulas import Pair
from exact.error_bounds import Tracking
from exact.jets import Jet, Jets
from exact.rounding import format_of, is_complex
from operations import OPERATIONS, Arithmetic
from tensors import Tensor, row_major


class JetArithmetic(Arithmetic):
    """Types do not matter here: nothing is rounded before the end."""

    def __init__(self):
        super().__init__(Jets())

    def constant(self, tensor_type, number):
        return number

    def cast_number(self, number, target):
        return number


class TrackedArithmetic(Arithmetic):
    def __init__(self):
        super().__init__(Tracking())

    def constant(self, tensor_type, number):
        return self.numbers.constant(format_of(tensor_type), number)

    def cast_number(self, number, target):
        return self.numbers.cast(number, format_of(target))


def number_of(json) -> reals.Real:
    return reals.real(float(json) if isinstance(json, str) else json)


def parse_tensor(json, arithmetic: Arithmetic) -> Tensor:
    """A tensor of the scenario language; see docs/scenario.md."""
    if isinstance(json, list):
        json = {"values": json}
    elif not isinstance(json, dict):
        json = {"shape": [], "values": [json]}
    scalar_type = json.get("type", "float64")
    shape = json.get("shape", [len(json.get("values", []))])
    values = json["values"] if "values" in json else [json["fill"]] * math.prod(shape)
    elements = [_element(value, scalar_type, arithmetic) for value in values]
    strides = json.get("strides", row_major(shape))
    if 0 in strides:  # elements that share memory are still variables of their own
        strides = row_major(shape)
    room = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides) if size)
    tensor = Tensor.room_for(scalar_type, shape, room, strides)
    tensor.device = json.get("device", "cpu")
    assert len(elements) == len(tensor.places()), json
    tensor.assign(elements)
    return tensor


def _element(value, scalar_type: str, arithmetic: Arithmetic):
    if scalar_type in ("boolean", "int64"):
        return int(value)
    if is_complex(scalar_type):
        return Pair(*[arithmetic.constant(scalar_type, number_of(part)) for part in value])
    return arithmetic.constant(scalar_type, number_of(value))


def parts_of(tensor: Tensor) -> list:
    """The scalars of a tensor; two for a complex element."""
    if is_complex(tensor.type):
        return [part for element in tensor.elements() for part in element]
    return tensor.elements()


def from_parts(parts: list, like: Tensor) -> Tensor:
    if is_complex(like.type):
        parts = [Pair(*two) for two in zip(parts[::2], parts[1::2])]
    return like.same(parts)


@dataclass
class Roots:
    tensors: list[Tensor]
    seeds: list[Tensor]


class Machine:
    """Executes the steps of a program in order; `results` has what each read step reports."""

    def __init__(self, scenario: dict, arithmetic: Arithmetic):
        self.scenario = scenario
        self.arithmetic = arithmetic
        self.nodes = {node["name"]: node for node in scenario["nodes"]}
        self.values: dict[str, Tensor] = {}
        self.grads: dict[str, Tensor] = {}
        self.results: dict[int, list[Tensor]] = {}

    def run(self, horizon: int | None = None) -> "Machine":
        for leaf in self.scenario["leaves"]:
            self.bind(leaf["name"], parse_tensor(leaf["value"], self.arithmetic))
            if "grad" in leaf:
                self.grads[leaf["name"]] = parse_tensor(leaf["grad"], self.arithmetic)
        for index, step in enumerate(self.scenario["program"][:horizon]):
            getattr(self, "_" + step["do"])(index, step)
        return self

    def bind(self, name: str, tensor: Tensor) -> None:
        self.values[name] = tensor

    def _forward(self, index: int, step: dict) -> None:
        named = {name for other in self.scenario["program"] for name in other.get("nodes", [])}
        for name in step.get("nodes", [n for n in self.nodes if n not in named]):
            self._run_node(self.nodes[name])

    def _run_node(self, node: dict) -> None:
        operation = OPERATIONS[node["op"]]
        inputs = [self.values[name] for name in node["inputs"]]
        outputs = operation.formula(self.arithmetic, inputs, node)
        if operation.in_place:
            inputs[0].assign(outputs[0].elements())
            outputs = [inputs[0]]
        for name, output in zip(node.get("outputs", [node["name"]]), outputs, strict=True):
            output.device = node.get("device", inputs[0].device)
            self.bind(name, output)

    def _read(self, index: int, step: dict) -> None:
        tensors = [self.values[name] for name in step.get("values", [])]
        tensors += [self.grads[name] for name in step.get("grads", [])]
        self.results[index] = [t.same(t.elements()) for t in tensors]

    def _set_grad(self, index: int, step: dict) -> None:
        assert step["grad"] is None
        self.grads.pop(step["leaf"], None)

    def _roots(self, step: dict) -> Roots:
        tensors = [self.values[root["value"]] for root in step["roots"]]
        seeds = [self._seed(root["seed"]) for root in step["roots"]]
        return Roots(tensors, seeds)

    def _seed(self, seed) -> Tensor:
        if isinstance(seed, dict) and "from" in seed:
            return self.values[seed["from"]]
        return parse_tensor(seed, self.arithmetic)

    def _grad(self, index: int, step: dict) -> None:
        gradients = self._gradients(index, step, step["inputs"])
        self.results[index] = gradients
        for name, gradient in zip(step.get("results", []), gradients):
            self.bind(name, gradient)

    def _backward(self, index: int, step: dict) -> None:
        targets = step.get("inputs") or leaves_reached(self.scenario, step["roots"])
        for name, gradient in zip(targets, self._gradients(index, step, targets)):
            if name in self.grads:
                add = self.arithmetic.of(gradient.type, "add")
                rows = _together(self.grads[name].sparse_rows, gradient.sparse_rows)
                gradient = gradient.same([add(a, b) for a, b in zip(self.grads[name].elements(),
                                                                    gradient.elements())])
                gradient.sparse_rows = rows
            self.grads[name] = gradient

    def _gradients(self, index: int, step: dict, targets: list[str]) -> list[Tensor]:
        gradients = self.differentiate(index, step, targets)
        for name, gradient in zip(targets, gradients):
            gradient.sparse_rows = self._sparse_rows(name, step)
        if step.get("create"):
            return gradients
        detach = self.arithmetic.detach
        return [g.same([detach(element) for element in g.elements()]) for g in gradients]

    def _sparse_rows(self, name: str, step: dict) -> list[int] | None:
        """The rows that the gradient of a weight stores when it comes from sparse embeddings alone."""
        uses = [node for node in self.scenario["nodes"] if name in node["inputs"]]
        if not uses or not all(node["op"] == "embedding" and node.get("sparse") for node in uses):
            return None
        reached = names_reached(self.scenario, step["roots"])
        taken = [self.values[node["inputs"][1]].elements() for node in uses if node["name"] in reached]
        return sorted({row for rows in taken for row in rows})

    def differentiate(self, index: int, step: dict, targets: list[str]) -> list[Tensor]:
        raise NotImplementedError


def _together(a: list[int] | None, b: list[int] | None) -> list[int] | None:
    """The rows of a sum; a sparse and a dense gradient make a dense one."""
    return None if a is None or b is None else sorted({*a, *b})


def leaves_reached(scenario: dict, roots: list[dict]) -> list[str]:
    """The leaves that require a gradient on a path from the roots."""
    reached = names_reached(scenario, roots)
    return [leaf["name"] for leaf in scenario["leaves"]
            if leaf["name"] in reached and leaf.get("requires_grad", True)]


def names_reached(scenario: dict, roots: list[dict]) -> set[str]:
    sources = _sources_of_nodes(scenario)
    for step in scenario["program"]:
        if step["do"] == "grad" and step.get("create"):
            origin = [root["value"] for root in step["roots"]] + step["inputs"]
            origin += [root["seed"]["from"] for root in step["roots"]
                       if isinstance(root["seed"], dict) and "from" in root["seed"]]
            sources.update({name: origin for name in step.get("results", [])})
    seen, stack = set(), [root["value"] for root in roots]
    while stack:
        name = stack.pop()
        if name not in seen:
            seen.add(name)
            stack.extend(sources.get(name, []))
    return seen


def _sources_of_nodes(scenario: dict) -> dict[str, list[str]]:
    """What each value depends on. What changes a view in place reaches its base, and so all views."""
    sources: dict[str, list[str]] = {}
    base: dict[str, str] = {}
    for node in scenario["nodes"]:
        operation, inputs = OPERATIONS[node["op"]], node["inputs"]
        for name in node.get("outputs", [node["name"]]):
            sources[name] = [] if node["op"] == "detach" else list(inputs)
            if operation.makes_view or operation.in_place:
                base[name] = base.get(inputs[0], inputs[0])
        if operation.in_place:
            sources.setdefault(base[name], []).extend(inputs[1:])
    return sources


class TruthMachine(Machine):
    """perturbed: for each level from 1 on, the values that are its variables."""

    def __init__(self, scenario: dict, perturbed: tuple[tuple[str, ...], ...] = ()):
        super().__init__(scenario, JetArithmetic())
        self.perturbed = perturbed

    def bind(self, name: str, tensor: Tensor) -> None:
        super().bind(name, tensor)
        for level, names in enumerate(self.perturbed, 1):
            if name in names:
                moved = [self._moved(part, level, (name, i))
                         for i, part in enumerate(parts_of(tensor))]
                tensor.assign(from_parts(moved, tensor).elements())

    def _moved(self, number, level: int, variable) -> Jet:
        # -0 is the number that changes no other by its addition, not even a zero's sign.
        return self.arithmetic.numbers.add(number, Jet(level, -0.0, {variable: reals.ONE}))

    def differentiate(self, index: int, step: dict, targets: list[str]) -> list[Tensor]:
        level = len(self.perturbed) + 1
        again = TruthMachine(self.scenario, self.perturbed + (tuple(targets),)).run(index)
        tensors = again._roots(step).tensors
        seeds = self._roots(step).seeds
        paths = [(root, seed) for tensor, seeding in zip(tensors, seeds)
                 for root, seed in zip(parts_of(tensor), parts_of(seeding), strict=True)
                 if type(root) is Jet and root.level == level]
        return [self._gradient(paths, name) for name in targets]

    def _gradient(self, paths: list[tuple], name: str) -> Tensor:
        numbers, target = self.arithmetic.numbers, self.values[name]
        terms: dict[int, list] = {}
        for root, seed in paths:
            for (variable, i), slope in root.partials.items():
                if variable == name:
                    terms.setdefault(i, []).append(numbers.mul(seed, slope))
        parts = [numbers.total(terms.get(i, [])) for i in range(len(parts_of(target)))]
        return from_parts(parts, target)


class EngineMachine(Machine):
    def __init__(self, scenario: dict):
        super().__init__(scenario, TrackedArithmetic())

    def differentiate(self, index: int, step: dict, targets: list[str]) -> list[Tensor]:
        roots = self._roots(step)
        paths = [(root, seed) for tensor, seeding in zip(roots.tensors, roots.seeds)
                 for root, seed in zip(parts_of(tensor), parts_of(seeding), strict=True)]
        inputs = [self.values[name] for name in targets]
        flat = [part for tensor in inputs for part in parts_of(tensor)]
        found = iter(self.arithmetic.numbers.gradient(paths, flat))
        gradients = []
        for tensor in inputs:
            zero = self.arithmetic.constant(tensor.type, 0.0)
            parts = [part if part is not None else zero
                     for part in (next(found) for _ in parts_of(tensor))]
            gradients.append(from_parts(parts, tensor))
        return gradients
