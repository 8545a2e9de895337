"""Fills in what a scenario's read steps must give: values and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from case import Case, Recipe
from exact.tracked import NoBound
from exact.judging import Disagreement, bound_of_number, bound_of_pair
from exact.reals import OutsideDomain, same
from exact.rounding import format_of, is_complex, round_to
from machine import EngineMachine, TruthMachine, parts_of
from random_numbers import tensor_json, to_json
from tensors import Tensor


@dataclass(frozen=True)
class Derivation:
    """Where the bound of one tensor comes from."""

    tensor: str
    bound: float
    reason: str


class BadCase(Exception):
    """A case that has no honest expectation; the message says why."""


def with_expectations(scenario: dict) -> tuple[dict, list[Derivation]]:
    """The scenario with an `expect` in each read and grad step; reads of one bound become one step."""
    derivations: list[Derivation] = []
    try:
        truth = TruthMachine(scenario).run().results
        engine = EngineMachine(scenario).run().results
        program = [_expecting(step, truth.get(i, []), engine.get(i, []), derivations)
                   for i, step in enumerate(scenario["program"])]
    except (NoBound, OutsideDomain, Disagreement) as problem:
        raise BadCase(f"{scenario['id']}: {problem}") from problem
    return {**scenario, "program": _merged(program)}, derivations


# A case is drawn again while it has a bound above this many units, which is what cancellation makes,
# but not oftener than ATTEMPTS times; then the attempt with the narrowest bounds is taken.
NARROW = 6
ATTEMPTS = 12


@dataclass(frozen=True)
class Golden:
    case: Case
    scenario: dict
    derivations: list[Derivation]

    @property
    def widest(self) -> float:
        return max((d.bound for d in self.derivations), default=0)


def golden(recipe: Recipe, narrow: float = NARROW) -> Golden:
    """The case of a recipe with its expectations."""
    best, problem = None, None
    for attempt in range(getattr(recipe, "attempts", ATTEMPTS)):
        case = recipe(attempt=attempt)
        try:
            found = Golden(case, *with_expectations(case.scenario))
        except BadCase as error:
            problem = error
            continue
        if best is None or found.widest < best.widest:
            best = found
        if best.widest <= narrow * case.order:
            break
    if best is None:
        raise problem
    return best


def _expecting(step: dict, truths: list[Tensor], tracked: list[Tensor],
               derivations: list[Derivation]) -> dict:
    """A step has one bound, the widest of its tensors'."""
    if step["do"] not in ("read", "grad"):
        return step
    names = step.get("results", step.get("values", []))
    names = names + [f"{leaf}.grad" for leaf in step.get("grads", [])]
    widest = 0
    for name, truth, engine in zip(names, truths, tracked, strict=True):
        bound = _number(max(_bounds(truth, engine), default=0))
        derivations.append(Derivation(name, bound, _reason(truth, engine, bound)))
        widest = max(widest, bound)
    return {**step, "expect": {"values": [rounded(truth) for truth in truths], "bound": widest}}


def _bounds(truth: Tensor, engine: Tensor) -> list:
    of = bound_of_pair if is_complex(truth.type) else bound_of_number
    return [of(t, k) for t, k in zip(truth.elements(), engine.elements(), strict=True)]


def _reason(truth: Tensor, engine: Tensor, bound) -> str:
    truths, parts = parts_of(truth), parts_of(engine)
    if not parts:
        return "empty"
    roundings = max(part.roundings for part in parts)
    if bound:
        return f"running error of {roundings} rounding{'s' if roundings > 1 else ''}"
    if all(same(round_to(t, part.fmt), t) for t, part in zip(truths, parts)):
        return "exact"
    if roundings <= 1:
        return "correctly rounded"
    return f"error too small to reach a neighbour after {roundings} roundings"


def _number(bound: Fraction | int) -> int | float:
    return int(bound) if bound == int(bound) else float(bound)


def rounded(tensor: Tensor):
    """The one rounding of the truth, as JSON."""
    fmt = format_of(tensor.type)
    parts = [to_json(round_to(part, fmt)) for part in parts_of(tensor)]
    if is_complex(tensor.type):
        parts = [list(two) for two in zip(parts[::2], parts[1::2])]
    return tensor_json(tensor.type, tensor.shape, parts, device=tensor.device,
                       sparse_rows=tensor.sparse_rows)


def _merged(program: list[dict]) -> list[dict]:
    result: list[dict] = []
    for step in program:
        before = result[-1] if result else {}
        mergeable = (step["do"] == "read" == before.get("do")
                     and step["expect"]["bound"] == before["expect"]["bound"]
                     and not ("grads" in before and "values" in step))
        if not mergeable:
            result.append(step)
            continue
        joined = {"do": "read"}
        for kind in ("values", "grads"):
            if names := before.get(kind, []) + step.get(kind, []):
                joined[kind] = names
        joined["expect"] = {"values": before["expect"]["values"] + step["expect"]["values"],
                            "bound": step["expect"]["bound"]}
        result[-1] = joined
    return result
