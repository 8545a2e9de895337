"""Expressions of scripts, computed with the engine's own arithmetic (docs/scenario.md, "Expressions")."""

from __future__ import annotations

from gradcts_kit.plain import PlainTensor


class Scope:
    """What an expression may refer to."""

    def __init__(self, slots=(), saved=None, pools=None):
        self.slots = list(slots)
        self.saved = saved or {}  # what the running node saved, by name
        self.pools = {} if pools is None else pools  # buffers that the node owns, by expression

    def slot(self, index: int):
        return self.slots[index]


def sum_of_slots(binding, scope: Scope):
    """A new tensor, or undefined when all slots are."""
    return _combination(binding, [(slot, 1, None) for slot in scope.slots])


def evaluate(binding, values, expression, scope: Scope):
    if expression is None:
        return None
    if not isinstance(expression, dict):
        expression = {"terms": [{"slot": 0, "factor": expression}]}
    result = _plain(binding, values, expression, scope)
    if result is None:
        return None
    if "expand" in expression:
        result = binding.expanded(result, expression["expand"])
    if "cast" in expression:
        result = binding.cast(result, expression["cast"])
    if "move_to" in expression:
        result = binding.moved(result, expression["move_to"])
    return result


def _plain(binding, values, expression, scope):
    if "terms" in expression:
        terms = []
        for term in expression["terms"]:
            times = term.get("times")
            factor = scope.saved[times] if times in scope.saved else values.get(times)
            terms.append((scope.slot(term["slot"]), float(term.get("factor", 1)), factor))
        return _combination(binding, terms)
    if "pass" in expression:
        return scope.slot(expression["pass"])
    if "tensor" in expression:
        return binding.make(PlainTensor.from_json(expression["tensor"]))
    key = id(expression)
    scope.pools[key] = binding.write(scope.pools.get(key), PlainTensor.from_json(expression["pool"]))
    return scope.pools[key]


def _combination(binding, terms):
    """The sum of slot * factor * times. It is never one of the slots itself, even if it equals it."""
    total, fresh = None, False
    for slot, factor, times in terms:
        if slot is None:
            continue
        term, term_is_fresh = slot, False
        if times is not None:
            term, term_is_fresh = binding.product(slot, times), True
        if factor != 1:
            term, term_is_fresh = binding.scaled(term, factor), True
        if total is None:
            total, fresh = term, term_is_fresh
        else:
            total, fresh = binding.sum(total, term), True
    return total if total is None or fresh else binding.scaled(total, 1)
