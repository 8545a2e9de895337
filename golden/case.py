"""One golden case: a scenario under construction, and what it covers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable

from random_numbers import Numbers

# Makes a case from the number of the attempt, which gives other random numbers: the first attempt
# with narrow bounds is taken (expectations.py).
Recipe = Callable[[int], "Case"]


@dataclass
class Case:
    """`area` is the file and the front of the id; `covers` is what the coverage table counts: the
    operation, the type, and words for shapes and special values."""

    area: str
    id: str
    title: str
    operation: str
    type: str
    covers: tuple[str, ...] = ()
    order: int = 1
    attempt: int = 0
    clauses: tuple[str, ...] = ("GRAPH2-1",)
    leaves: list[dict] = field(default_factory=list)
    nodes: list[dict] = field(default_factory=list)
    program: list[dict] = field(default_factory=list)

    def __post_init__(self):
        self.numbers = Numbers(f"{self.full_id} {self.attempt}")

    @property
    def full_id(self) -> str:
        return f"golden/{self.area}/{self.id}"

    def leaf(self, name: str, value, **fields) -> str:
        self.leaves.append({"name": name, "value": value, **fields})
        return name

    def node(self, name: str, op: str, *inputs: str, **attributes) -> str:
        self.nodes.append({"name": name, "op": op, "inputs": list(inputs), **attributes})
        return name

    def forward(self, *nodes: str) -> None:
        self.program.append({"do": "forward", **({"nodes": list(nodes)} if nodes else {})})

    def backward(self, *roots: tuple, **fields) -> None:
        self.program.append({"do": "backward", "roots": _roots(roots), **fields})

    def grad(self, roots: list[tuple], inputs: list[str], results: list[str], **fields) -> None:
        """The step itself states what it must return. What is differentiated again is kept."""
        keep = {"keep": True} if fields.get("create") else {}
        self.program.append({"do": "grad", "roots": _roots(roots), "inputs": inputs, **keep, **fields,
                             "results": results})

    def read(self, *values: str, grads: list[str] | tuple = ()) -> None:
        """One step for each tensor: each has a bound of its own. Gradients that a `grad` step returned
        are left out."""
        returned = {name for step in self.program for name in step.get("results", [])}
        self.program += [{"do": "read", "values": [v]} for v in values if v not in returned]
        self.program += [{"do": "read", "grads": [name]} for name in grads]

    @property
    def scenario(self) -> dict:
        """Which node runs when is no subject here: only scripted nodes, of which there are none, are
        traced."""
        return {"id": self.id, "title": self.title, "clauses": list(self.clauses),
                "trace": "scripted", "leaves": self.leaves, "nodes": self.nodes, "program": self.program}


def _roots(roots) -> list[dict]:
    return [{"value": value, "seed": seed} for value, seed in roots]
