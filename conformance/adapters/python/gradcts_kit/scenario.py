"""A scenario as the interpreter wants it: the JSON form, which gradcts has checked, with steps numbered."""

from __future__ import annotations


class Scenario:
    """The fields keep the names of docs/scenario.md; lists that were left out are empty."""

    def __init__(self, json: dict):
        self.id = json["id"]
        self.json = json
        self.traces_all = json.get("trace", "all") == "all"
        self.leaves = json.get("leaves", [])
        self.nodes = {node["name"]: node for node in json.get("nodes", [])}
        self.hooks = {hook["name"]: hook for hook in json.get("hooks", [])}
        self.callbacks = {entry["name"]: entry for entry in json.get("callbacks", [])}
        self.program = json["program"]
        self.steps = self._number_steps()
        self._complete_forwards()
        for node in self.nodes.values():
            node.setdefault("outputs", [node["name"]])
        self.named_nodes = {hook["on"] for hook in self.hooks.values() if is_on_node(hook)}
        self.named_nodes |= {step["node"] for step in self.steps if "node" in step}

    def _number_steps(self) -> list[dict]:
        """Each step gets its `id`: preorder over the program, then the scripts of nodes, hooks, callbacks."""
        numbered = []

        def number(steps):
            for step in steps:
                step["id"] = len(numbered)
                numbered.append(step)
                number(step.get("steps", []))
                for thread in step.get("threads", []):
                    number(thread["steps"])

        number(self.program)
        for node in self.nodes.values():
            number(node.get("backward", {}).get("steps", []))
        for hook in self.hooks.values():
            for script in (hook, hook.get("pack", {}), hook.get("unpack", {})):
                number(script.get("steps", []))
        for callback in self.callbacks.values():
            number(callback["steps"])
        return numbered

    def _complete_forwards(self):
        """A forward without nodes means those that no other forward names."""
        forwards = [step for step in self.steps if step["do"] == "forward"]
        named = {name for step in forwards for name in step.get("nodes", [])}
        for step in forwards:
            step.setdefault("nodes", [name for name in self.nodes if name not in named])

    def values_with_grad(self) -> list[str]:
        """Values that may have a `.grad`, beside the leaves."""
        names = [hook["on"] for hook in self.hooks.values() if hook["kind"] == "retain_grad"]
        for step in self.steps:
            if step["do"] == "backward":
                names += step.get("inputs", [])
        return names


def is_on_node(hook: dict) -> bool:
    return hook["kind"] in ("node_pre", "node_post")


def hooked_values(hook: dict) -> list[str]:
    """Those that a hook on values is on; none for other hooks."""
    if is_on_node(hook) or "on" not in hook:
        return []
    return hook["on"] if isinstance(hook["on"], list) else [hook["on"]]
