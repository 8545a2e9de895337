"""What the kit asks of an engine: the contract of a binding.

A binding turns the kit's requests into calls of one engine and knows nothing of scenarios' programs: the
interpreter does the rest. Tensors are the engine's own handles; None is the undefined tensor. One object is
made for each scenario, with the scenario; `finish` is called once, when all handles are gone. Functions may
be called from every thread that a scenario starts and from the engine's own.

Every function may raise what the engine raises; `classify` says what it means. What a binding does not
offer it does not claim in FEATURES: a scenario that needs it never gets here. So an adapter begins with the
functions that are abstract here and a few features, and grows.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Callable

from gradcts_kit.plain import PlainTensor


class NotOffered(Exception):
    """The adapter claims what its binding lacks: a fault of the adapter."""


class ScriptedError(Exception):
    """Thrown by a `throw` step."""


class ForeignError(BaseException):
    """Thrown by a `throw` step that says `foreign`: outside the usual hierarchy of exceptions."""


@dataclass
class CustomNode:
    """A node whose backward is scripted."""

    name: str
    inputs: list  # tensors
    # What the forward computed, without history. An entry may be one of the inputs itself, which must come
    # out as another tensor over the same elements.
    outputs: list
    saves: list[tuple[str, int]]  # ("input" or "output", index): what to save for the backward
    materialise: bool  # undefined gradients become zeros of the recorded shape
    differentiable: bool  # False: a second derivative through it is an error
    # backward(gradients, saved, node): a list with one gradient for each input; or, right or wrong, what
    # the script says. `saved`: the tensors of `saves`. `node`: for Binding.needed; may be None.
    backward: Callable


@dataclass
class Pass:
    """One call of backward (into leaves) or grad (returned)."""

    step: dict  # "do", and the flags keep, create, allow_unused, materialise where they are set
    roots: list
    seeds: list  # one for each root; None: nothing flows in
    inputs: list | None  # None: all leaves
    capture_hooks: dict[int, Callable] = field(default_factory=dict)  # by position in inputs

    def flag(self, name: str) -> bool:
        return self.step.get(name, False)

    @property
    def returns_gradients(self) -> bool:
        return self.step["do"] == "grad"


class RankReducer(ABC):
    """One rank's part of a reducer, used by one thread at a time. Dropping it is taking it apart."""

    @abstractmethod
    def prepare(self, outputs: list):
        """The rank's next backward pass is synchronised."""

    def reset(self):
        raise NotOffered("a reducer that forgets an unfinished pass")

    def answer(self, what: str) -> list[float]:
        raise NotOffered(f"asking a reducer for {what}")


class Binding(ABC):
    NAME: str
    DIALECT: str  # `gradcts list --dialects`
    CHOICES: dict[str, str] = {}  # single clauses in which the engine differs from the dialect
    FEATURES: list[str]  # `gradcts list --features`; "operation.*" claims the whole group
    SEES_BUILT_IN_NODES = False  # whether `trace` is offered

    def __init__(self, scenario):
        pass

    @classmethod
    @abstractmethod
    def version(cls) -> str:
        """Of the engine."""

    def finish(self):
        """Everything is over and all handles are gone."""

    # ---- Tensors ----

    @abstractmethod
    def make(self, value: PlainTensor) -> Any:
        """A new tensor without history."""

    @abstractmethod
    def read(self, tensor: Any) -> PlainTensor:
        """The tensor is defined."""

    @abstractmethod
    def set_requires_grad(self, tensor, on: bool): ...

    @abstractmethod
    def grad_of(self, tensor): ...

    @abstractmethod
    def set_grad(self, tensor, grad): ...

    def alias(self, tensor, through: str):
        """Another handle to the same elements, without history; through: "view", "detached" or "data"."""
        raise NotOffered("aliases")

    def change(self, tensor, how: str, number: float):
        """In place, unseen by autograd; how: "add", "multiply" or "fill"."""
        raise NotOffered("changes in place")

    def write(self, target, value: PlainTensor):
        """The target with new elements, in place; None: a new tensor. Returns it."""
        raise NotOffered("pools")

    # ---- Arithmetic for scripts: new tensors, recorded as the current mode says ----

    @abstractmethod
    def scaled(self, tensor, factor: float): ...

    @abstractmethod
    def sum(self, first, second): ...

    @abstractmethod
    def product(self, first, second): ...

    def expanded(self, tensor, shape: list):
        raise NotOffered("expanding")

    def cast(self, tensor, type: str):
        raise NotOffered("casts")

    def moved(self, tensor, device: str):
        raise NotOffered("other devices")

    # ---- Graphs and passes ----

    @abstractmethod
    def apply(self, node: dict, inputs: list) -> list:
        """A built-in operation; `node` has its name, `op` and attributes. Returns its outputs."""

    def make_custom(self, node: CustomNode) -> list:
        """The node's outputs, with history if recording is on and an input requires a gradient."""
        raise NotOffered("custom nodes")

    def node_of(self, tensor):
        """The node that made the tensor; None: no history. Kept as long as the scenario needs it."""
        return None

    def accumulator_of(self, leaf):
        return None

    def trace(self, node, enter: Callable[[], None], leave: Callable[[], None]):
        """From now on `enter` is called before each run of the node and `leave` after it."""
        raise NotOffered("seeing built-in nodes")

    @abstractmethod
    def run_pass(self, request: Pass) -> list:
        """The gradients of the inputs for grad, nothing for backward."""

    def classify(self, error: BaseException) -> str:
        """A category of conformance/scenario/error.h."""
        return "other"

    def runs_here(self, thread: dict) -> bool:
        """Whether this process runs a thread of a `parallel` step. Where each rank is a process, those of other
        ranks run elsewhere."""
        return True

    # ---- State and modes of the running thread ----

    def thread_state(self) -> dict:
        """What a pass must leave as it found it (ERR-4)."""
        return {}

    def observe(self, what: str, node) -> int:
        raise NotOffered(f"observing {what}")

    def needed(self, node) -> int:
        """Bit i: gradient i of the running node is needed in this pass (PRUNE-8)."""
        raise NotOffered("observing what is needed")

    def settings(self, step: dict, pack: Callable | None, unpack: Callable | None):
        """A context with the settings of a `with` step; the functions: its hooks on saved tensors."""
        raise NotOffered("settings")

    def no_recording(self):
        return contextlib.nullcontext()

    # ---- Hooks: body(slots) returns None (nothing), or what the script says, right or wrong ----
    # Each returns a handle for remove_hook.

    def remove_hook(self, handle):
        handle.remove()

    def add_tensor_hook(self, tensor, body):
        raise NotOffered("tensor hooks")

    def retain_grad(self, tensor):
        raise NotOffered("retain_grad")

    def add_node_pre_hook(self, node, body):
        raise NotOffered("pre-hooks of nodes")

    def add_node_post_hook(self, node, body):
        raise NotOffered("post hooks of nodes")

    def add_post_accumulate_hook(self, leaf, body):
        raise NotOffered("hooks after accumulation")

    def add_multi_hook(self, tensors: list, body):
        raise NotOffered("hooks over several tensors")

    def queue_callback(self, body):
        raise NotOffered("callbacks")

    def make_reducer(self, reducer: dict, rank: int, parameters: list) -> RankReducer:
        """`reducer` is the entry of the scenario. It may be made again for a rank that dropped its last one."""
        raise NotOffered("reducers")

    def control_engine(self, what: str):
        raise NotOffered("start and stop")
