"""The interpreter: runs a scenario on one engine and reports what happened. It judges nothing.

One for every engine: it walks the program and the scripts, keeps the program's handles, records events and
step results, and asks a binding for everything that an engine does. In the program an error of a step
stands in the step's result and the program goes on; in a script (of a node, hook or callback) and inside a
`try` it ends the script and travels on.
"""

from __future__ import annotations

import collections
import gc
import itertools
import json
import os
import queue
import threading
import time
import weakref
from dataclasses import dataclass, field, replace

from gradcts_kit.binding import CustomNode, ForeignError, NotOffered, Pass, ScriptedError
from gradcts_kit.expressions import Scope, evaluate, sum_of_slots
from gradcts_kit.plain import PlainTensor
from gradcts_kit.recorder import Recorder
from gradcts_kit.scenario import Scenario, hooked_values, is_on_node

HOOK_EVENTS = {"tensor": "tensor_hook", "node_pre": "node_pre_hook", "node_post": "node_post_hook",
               "post_accumulate": "post_accumulate_hook", "capture": "capture_hook",
               "multi": "multi_hook"}


class UndefinedValue(Exception):
    """A step uses a value that nothing made, or that the step which makes it failed to make."""


@dataclass
class Context:
    """Where steps run."""

    errors_travel: bool = False  # a script, or inside a `try`
    scope: Scope = field(default_factory=Scope)  # what a script was given
    node: object = None  # the custom node whose backward this is
    hooked: str | None = None  # or the node that the hook is on


class LifeCounter:
    """How many of the objects that it counts are alive. Thread-safe."""

    def __init__(self):
        self._numbers = itertools.count()
        self._alive = {}  # weak references by number
        self._ended = queue.SimpleQueue()  # of numbers: may be put by any thread, amid a collection too

    def count(self, counted):
        number = next(self._numbers)
        self._alive[number] = weakref.ref(counted, lambda _: self._ended.put(number))

    def wait_for_none(self, patience: float) -> int:
        """Waits until there are none, or for as many seconds; returns how many there are. An engine's own
        threads may let go of a pass, and so of an error with all its frames, after the caller has returned."""
        end = time.monotonic() + patience
        self._take_ended(0)
        while self._alive:
            gc.collect()  # a cycle of Python's is no leak; what a thread lets go of may be in one
            left = max(0, end - time.monotonic())
            self._take_ended(min(left, 0.1))
            if left == 0:
                break
        return len(self._alive)

    def _take_ended(self, patience: float):
        """Forgets those that ended, after waiting for as long as none has."""
        try:
            while self._alive:
                del self._alive[self._ended.get(timeout=patience)]
                patience = 0
        except queue.Empty:
            pass


class Body:
    """A script in the engine's hands. It is counted for as long as the engine keeps it (LIFE-1)."""

    def __init__(self, interpreter, function):
        self.function = function
        interpreter.life.count(self)

    def __call__(self, *arguments):
        return self.function(*arguments)


def run(scenario: dict, binding) -> dict:
    """Runs a scenario all of whose features the binding claims; returns its `gradcts.outcome/1`."""
    return Interpreter(Scenario(scenario), binding).run()


class Interpreter:
    def __init__(self, scenario: Scenario, binding):
        self.scenario = scenario
        self.binding = binding(scenario)
        self.recorder = Recorder()
        self.values, self.nodes, self.handles = {}, {}, {}
        self.reducers = {}  # by name and rank
        self.makings = dict.fromkeys(scenario.nodes, 0)
        self.throws = collections.Counter()  # by step: how often it ran
        self.life = LifeCounter()
        resources = scenario.json
        self.barriers = {b["name"]: threading.Barrier(b["parties"]) for b in resources.get("barriers", [])}
        self.locks = {lock["name"]: threading.Lock() for lock in resources.get("locks", [])}

    # ---- The whole run ----

    def run(self) -> dict:
        for leaf in self.scenario.leaves:
            self.make_leaf(leaf)
        self.run_steps(self.scenario.program, Context())
        leaf_grads = {leaf["name"]: self.take_grad(leaf["name"]) for leaf in self.scenario.leaves}
        for name in self.scenario.values_with_grad():
            self.take_grad(name)
        self.reducers.clear()
        self.values, self.nodes, self.handles = {}, {}, {}
        self.binding.finish()
        live = self.life.wait_for_none(5)
        steps, events, changes = self.recorder.take()
        return {"schema": "gradcts.outcome/1", "scenario": self.scenario.id, "steps": steps,
                "events": events, "leaf_grads": leaf_grads,
                "state": {"live_objects": live, "state_changes": changes}}

    def take_grad(self, name: str):
        """Reads and clears it: a `.grad` with history is the one cycle that may stay (GRAPH2-4)."""
        tensor = self.values.get(name)
        if tensor is None:
            return None
        grad = self.plain(self.binding.grad_of(tensor))
        self.binding.set_grad(tensor, None)
        return grad

    # ---- Making leaves and nodes ----

    def make_leaf(self, leaf: dict):
        name = leaf["name"]
        tensor = self.binding.make(PlainTensor.from_json(leaf["value"]))
        requires_grad = leaf.get("requires_grad", True)
        if requires_grad:
            self.binding.set_requires_grad(tensor, True)
        if "grad" in leaf:
            self.binding.set_grad(tensor, self.binding.make(PlainTensor.from_json(leaf["grad"])))
        self.values[name] = tensor
        if requires_grad:
            self.watch_accumulator(name, tensor)
        self.add_hooks_at_creation("accumulate:" + name, [name])

    def watch_accumulator(self, leaf: str, tensor):
        """An engine may drop an accumulator that no graph uses; whoever hooks one keeps it."""
        name = "accumulate:" + leaf
        if name in self.nodes or not (self.traces() or name in self.scenario.named_nodes):
            return
        self.nodes[name] = self.binding.accumulator_of(tensor)
        if self.traces():
            self.trace(self.nodes[name], name, 0)

    def traces(self) -> bool:
        return self.scenario.traces_all and self.binding.SEES_BUILT_IN_NODES

    def trace(self, node, name: str, instance: int):
        self.binding.trace(
            node, Body(self, lambda: self.recorder.event("node_enter", name, instance=instance)),
            Body(self, lambda: self.recorder.event("node_exit", name, instance=instance)))

    def use(self, name: str):
        """The tensor of a value, for a step that needs one."""
        tensor = self.values.get(name)
        if tensor is None:
            raise UndefinedValue(f"the value '{name}' is undefined: the step that makes it failed, or gave nothing")
        return tensor

    def make_node(self, name: str):
        node = self.scenario.nodes[name]
        inputs = [self.use(value) for value in node["inputs"]]
        in_place = node["op"].endswith("_")
        before = self.binding.node_of(inputs[0]) if in_place else None
        making = self.makings[name]
        self.makings[name] += 1
        custom = node["op"] == "custom"
        outputs = self.make_custom(node, making, inputs) if custom else self.binding.apply(node, inputs)
        made = self.binding.node_of(outputs[0])
        if in_place and made is before:
            made = None
        self.values.update(zip(node["outputs"], outputs, strict=True))
        if made is not None and not custom and self.traces():
            self.trace(made, name, making)
        if name in self.scenario.named_nodes:
            self.nodes[name] = made
        self.add_hooks_at_creation(name, node["outputs"])

    def make_custom(self, node: dict, making: int, inputs: list) -> list:
        with self.binding.no_recording():
            forward = node.get("forward")
            scope = Scope(inputs)
            outputs = [sum_of_slots(self.binding, scope) if forward is None
                       else evaluate(self.binding, self.values, forward[i], scope)
                       for i in range(len(node["outputs"]))]
        saves = [("input", node["inputs"].index(value)) if value in node["inputs"]
                 else ("output", node["outputs"].index(value)) for value in node.get("saves", [])]
        pools = {}
        backward = Body(self, lambda gradients, saved, running=None:
                        self.run_node(node, making, pools, list(gradients), saved, running))
        return self.binding.make_custom(
            CustomNode(node["name"], inputs, outputs, saves, node.get("materialise", False),
                       node.get("differentiable", True), backward))

    # ---- Hooks ----

    def add_hooks_at_creation(self, node: str | None, values: list[str]):
        for hook in self.scenario.hooks.values():
            if hook.get("added", "at_creation") == "at_creation" and self.is_about(hook, node, values):
                self.add_hook(hook)

    def is_about(self, hook: dict, node: str | None, made: list[str]) -> bool:
        """Whether the making of the node and these values was the last thing that the hook waited for."""
        if is_on_node(hook):
            return hook["on"] == node
        names = hooked_values(hook)
        return (any(name in made for name in names)
                and all(self.values.get(name) is not None for name in names))

    def add_hook(self, hook: dict):
        handle = self.register_hook(hook)
        if handle is not None:
            self.handles.setdefault(hook["name"], []).append(handle)

    def register_hook(self, hook: dict):
        binding, kind = self.binding, hook["kind"]
        values = [self.use(name) for name in hooked_values(hook)]
        if kind == "retain_grad":
            return binding.retain_grad(values[0])
        body = self.hook_body(hook)
        if kind == "multi":
            return binding.add_multi_hook(values, body)
        if is_on_node(hook):
            add = binding.add_node_pre_hook if kind == "node_pre" else binding.add_node_post_hook
            return add(self.node(hook["on"]), body)
        return {"tensor": binding.add_tensor_hook,
                "post_accumulate": binding.add_post_accumulate_hook}[kind](values[0], body)

    def hook_body(self, hook: dict) -> Body:
        return Body(self, lambda slots: self.run_hook(hook, HOOK_EVENTS[hook["kind"]], hook, slots))

    def node(self, name: str):
        if self.nodes.get(name) is None:
            raise NotOffered(f"a node without history: '{name}'")
        return self.nodes[name]

    # ---- Scripts ----

    def run_node(self, node, making, pools, gradients, saved, running) -> list:
        self.recorder.event("node_enter", node["name"], self.plains(gradients), instance=making)
        scope = Scope(gradients, dict(zip(node.get("saves", []), saved)), pools)
        script = node.get("backward", {})
        self.run_steps(script.get("steps", []), Context(True, scope, running))
        results = self.returns_of(script, scope)
        if results is None:
            results = [sum_of_slots(self.binding, scope) for _ in node["inputs"]]
        self.recorder.event("node_exit", node["name"], self.plains(results), instance=making)
        return results

    def returns_of(self, script: dict, scope: Scope):
        if "returns" not in script:
            return None
        return [evaluate(self.binding, self.values, entry, scope) for entry in script["returns"]]

    def run_hook(self, hook: dict, event: str, script: dict, slots: list):
        self.recorder.event(event, hook["name"], self.plains(slots))
        scope = Scope(slots)
        hooked = hook["on"] if is_on_node(hook) else None
        self.run_steps(script.get("steps", []), Context(True, scope, None, hooked))
        return self.returns_of(script, scope)

    def saved_half(self, hook: dict, half: str) -> Body:
        def call(tensor):
            results = self.run_hook(hook, half, hook[half], [tensor])
            return tensor if results is None else results[0]
        return Body(self, call)

    def run_callback(self, name: str):
        self.recorder.event("callback", name)
        self.run_steps(self.scenario.callbacks[name]["steps"], Context(True))

    # ---- Steps ----

    def run_steps(self, steps: list, context: Context):
        """A list of steps that ends with an error releases the locks that it took."""
        held = []
        try:
            for step in steps:
                self.run_step(step, context)
                if step["do"] == "lock":
                    held.append(step["lock"])
                if step["do"] == "unlock":
                    held.remove(step["lock"])
        except BaseException:
            for name in held:
                self.locks[name].release()
            raise

    def run_step(self, step: dict, context: Context):
        values = []
        try:
            getattr(self, "do_" + step["do"])(step, context, values)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self.recorder.step(step["id"], self.explain(error), [])
            if context.errors_travel and step["do"] != "try":
                raise
            return
        self.recorder.step(step["id"], None, values)

    def explain(self, error: BaseException) -> dict:
        if isinstance(error, ScriptedError | ForeignError):
            return {"category": "user", "token": str(error), "foreign": isinstance(error, ForeignError)}
        if isinstance(error, UndefinedValue):
            return {"category": "invalid_argument", "text": str(error)}
        if isinstance(error, NotOffered):
            return {"category": "other", "text": f"the adapter claims what it does not offer: {error}"}
        words = " ".join(str(error).split())
        return {"category": self.binding.classify(error), "text": f"{type(error).__name__}: {words}"}

    def do_forward(self, step, context, values):
        for name in step["nodes"]:
            self.make_node(name)

    def do_backward(self, step, context, values):
        roots = [self.use(root["value"]) for root in step["roots"]]
        seeds = [self.seed(root["seed"]) for root in step["roots"]]
        inputs = [self.use(name) for name in step["inputs"]] if "inputs" in step else None
        hooks = {entry["input"]: self.hook_body(self.scenario.hooks[entry["hook"]])
                 for entry in step.get("capture_hooks", [])}
        results = self.run_pass(step, Pass(step, roots, seeds, inputs, hooks))
        values += self.plains(results or [])
        names = step.get("results", [])
        self.values.update(zip(names, results or []))
        self.add_hooks_at_creation(None, names)

    do_grad = do_backward

    def seed(self, seed):
        if seed is None:
            return None
        if isinstance(seed, dict) and "from" in seed:
            return self.values[seed["from"]]
        return self.binding.make(PlainTensor.from_json(seed))

    def run_pass(self, step: dict, request: Pass):
        """The call, with its begin and end in the trace, also when it ends with an error."""
        before = self.binding.thread_state()
        self.recorder.event("pass_begin", step["id"])
        try:
            return self.binding.run_pass(request)
        finally:
            self.recorder.event("pass_end", step["id"])
            after = self.binding.thread_state()
            for name in [name for name in before if before[name] != after[name]]:
                self.recorder.state_change(f"step {step['id']}: {name} was {before[name]} before the pass "
                                           f"and {after[name]} after it")

    def do_set_grad(self, step, context, values):
        grad = step.get("grad")
        made = None if grad is None else self.binding.make(PlainTensor.from_json(grad))
        self.binding.set_grad(self.values[step["leaf"]], made)

    def do_read(self, step, context, values):
        values += self.plains([self.values.get(name) for name in step.get("values", [])])
        for name in step.get("grads", []):
            values.append(self.plain(self.binding.grad_of(self.use(name))))

    def do_change(self, step, context, values):
        how = next(word for word in ("add", "multiply", "fill") if word in step)
        tensor = self.through(self.use(step["value"]), step.get("through", "handle"))
        self.binding.change(tensor, how, float(step[how]))

    def do_keep(self, step, context, values):
        slot = (self.binding.grad_of(self.use(step["grad_of"])) if "grad_of" in step
                else context.scope.slot(step.get("slot", 0)))
        kept = None if slot is None else self.through(slot, step.get("through", "handle"))
        self.values[step["as"]] = kept
        self.add_hooks_at_creation(None, [step["as"]])

    def through(self, tensor, way: str):
        return tensor if way == "handle" else self.binding.alias(tensor, way)

    def do_drop(self, step, context, values):
        for name in step["values"]:
            self.values[name] = None

    def do_requires_grad(self, step, context, values):
        name, on = step["value"], step.get("on", True)
        self.binding.set_requires_grad(self.use(name), on)
        if on and any(leaf["name"] == name for leaf in self.scenario.leaves):
            self.watch_accumulator(name, self.values[name])

    def do_with(self, step, context, values):
        pack = unpack = None
        if "saved_hooks" in step:
            hook = self.scenario.hooks[step["saved_hooks"]]
            pack, unpack = self.saved_half(hook, "pack"), self.saved_half(hook, "unpack")
        with self.binding.settings(step, pack, unpack):
            self.run_steps(step["steps"], context)

    def do_try(self, step, context, values):
        self.run_steps(step["steps"], replace(context, errors_travel=True))

    def do_parallel(self, step, context, values):
        errors = [None] * len(step["threads"])

        def work(index, number, steps):
            self.recorder.adopt_thread(number)
            try:
                self.run_steps(steps, replace(context))
            except BaseException as error:
                errors[index] = error

        numbered = [(i, self.recorder.reserve_thread(), entry) for i, entry in enumerate(step["threads"])]
        threads = [threading.Thread(target=work, args=(i, number, entry["steps"]))
                   for i, number, entry in numbered if self.binding.runs_here(entry)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for error in errors:
            if error is not None:
                raise error

    def do_repeat(self, step, context, values):
        for _ in range(step["times"]):
            self.run_steps(step["steps"], context)

    def do_barrier(self, step, context, values):
        self.barriers[step["barrier"]].wait()

    def do_lock(self, step, context, values):
        self.locks[step["lock"]].acquire()

    def do_unlock(self, step, context, values):
        self.locks[step["lock"]].release()

    def do_throw(self, step, context, values):
        self.throws[step["id"]] += 1
        if step.get("on_call", self.throws[step["id"]]) != self.throws[step["id"]]:
            return
        raise (ForeignError if step.get("foreign") else ScriptedError)(step["token"])

    def do_queue_callback(self, step, context, values):
        name = step["callback"]
        self.binding.queue_callback(Body(self, lambda: self.run_callback(name)))

    def do_add_hook(self, step, context, values):
        self.add_hook(self.scenario.hooks[step["hook"]])

    def do_remove_hook(self, step, context, values):
        for handle in self.handles.pop(step["hook"], []):
            self.binding.remove_hook(handle)

    def do_observe(self, step, context, values):
        if step["what"] == "needed":
            running = context.node if context.node is not None else self.node(context.hooked)
            number = self.binding.needed(running)
        else:
            node = self.node(step["node"]) if "node" in step else None
            number = self.binding.observe(step["what"], node)
        self.recorder.event("observe", step["id"], number=int(number))

    def do_make_reducer(self, step, context, values):
        reducer = next(entry for entry in self.scenario.json["reducers"] if entry["name"] == step["reducer"])
        parameters = [self.use(name) for name in reducer["ranks"][step["rank"]]]
        made = self.binding.make_reducer(reducer, step["rank"], parameters)
        self.reducers[step["reducer"], step["rank"]] = made

    def reducer(self, step):
        made = self.reducers.get((step["reducer"], step["rank"]))
        if made is None:
            raise NotOffered(f"the reducer '{step['reducer']}' of a rank that has none")
        return made

    def do_drop_reducer(self, step, context, values):
        self.reducer(step)
        del self.reducers[step["reducer"], step["rank"]]

    def do_prepare(self, step, context, values):
        self.reducer(step).prepare([self.use(name) for name in step.get("outputs", [])])

    def do_reset_reducer(self, step, context, values):
        self.reducer(step).reset()

    def do_ask_reducer(self, step, context, values):
        numbers = [float(number) for number in self.reducer(step).answer(step["what"])]
        values.append(PlainTensor(numbers, (len(numbers),), "float64").to_json())

    def do_start(self, step, context, values):
        self.binding.control_engine("start")

    def do_stop(self, step, context, values):
        self.binding.control_engine("stop")

    def do_fork(self, step, context, values):
        def in_child():
            self.recorder.begin_in_child()
            self.run_steps(step["steps"], replace(context, errors_travel=False))
            return json.dumps(self.recorder.take()[0])

        self.recorder.add_steps(json.loads(run_in_child(in_child)))

    # ---- Tensors as plain data ----

    def plain(self, tensor):
        return None if tensor is None else self.binding.read(tensor).to_json()

    def plains(self, tensors) -> list:
        return [self.plain(tensor) for tensor in tensors]


def run_in_child(body) -> str:
    """Forks; the child runs `body`, hands over the text that it returns, and ends without clean-up."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            with os.fdopen(writer, "w") as pipe:
                pipe.write(body())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if not text:
        raise RuntimeError(f"the child ended with status {status} before it answered")
    return text
