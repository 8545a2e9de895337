"""How ci/matrix changes a scenario, as plain data. Each change takes a scenario and gives a new one, or None where it
has nothing to change or cannot keep the scenario's meaning.

What the author expects of a step goes wherever the change may alter it: the oracle says what is right for the scenario
as it is then. Scenarios whose right outcome the author alone knows (`or_error`) are left out there.
"""

import copy


def objects(part):
    """Every object in a JSON value, outer ones first."""
    if isinstance(part, dict):
        yield part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from objects(inner)


def without_expectations(scenario):
    """A copy; None if the author alone knows what is right: where an error is as good, and where a sum is rounded in an
    order that the engine may choose (ACC-5)."""
    if "ACC-5" in scenario.get("clauses", []):
        return None
    if any("or_error" in one.get("expect", {}) for one in objects(scenario) if "do" in one):
        return None
    changed = copy.deepcopy(scenario)
    for one in objects(changed):
        if "do" in one:
            one.pop("expect", None)
    return changed


def has_key(scenario, keys):
    return any(keys & one.keys() for one in objects(scenario))


def nesting(limit):
    """Sets the limit of nested passes on one thread where the scenario says none. How many threads there are then, the
    author does not know."""
    def change(scenario):
        if "nesting_limit" in scenario.get("configuration", {}):
            return None
        changed = copy.deepcopy(scenario)
        changed.setdefault("configuration", {})["nesting_limit"] = limit
        for one in objects(changed):
            if one.get("do") == "observe" and one.get("what") == "engine_threads":
                one.pop("expect", None)
        return changed
    return change


def retains_what_it_seeds(scenario):
    seeds = [one["seed"] for one in objects(scenario) if isinstance(one.get("seed"), dict)]
    return any("from" in seed for seed in seeds) and any(one.get("kind") == "retain_grad" for one in objects(scenario))


def flag(name, value):
    """Sets or clears `keep` or `create` of every pass. Not where something says when it is destroyed, which depends on
    what keeps it; nor where several threads would go through a graph that none of them keeps; nor where a value would
    retain a gradient that was made of the value, which is the cycle that GRAPH2-4 allows."""
    def change(scenario):
        if has_key(scenario, {"destroyed", "user_state_destroyed"}):
            return None
        if (name, value) == ("create", True) and retains_what_it_seeds(scenario):
            return None
        if (name, value) == ("keep", False) and any(one.get("do") == "parallel" for one in objects(scenario)):
            return None
        changed = without_expectations(scenario)
        if changed is None:
            return None
        passes = [one for one in objects(changed)
                  if one.get("do") in ("backward", "grad") and one.get(name, False) != value]
        for one in passes:
            one[name] = value
        return changed if passes else None
    return change


# What says where something is, what speaks of processes and ranks, and what means something else on the one thread of a
# device: barriers and locks in nodes of two passes, and hooks of the thread that a node closes.
PLACED = {"device", "move_to", "stream", "streams", "refusals", "reducers", "sparse", "barriers", "locks"}
APART = {"fork", "start", "stop", "reduce", "close_hooks"}


DEVICES = ["sim:0", "sim:1", "other:0"]


def devices(count):
    """Puts leaf k on device k modulo `count` of DEVICES. Nodes run on the first one, and take leaves that are elsewhere
    through a copy, whose node is made first of all."""
    def change(scenario):
        if has_key(scenario, PLACED) or any(one.get("do") in APART or one.get("op") == "to_device"
                                            for one in objects(scenario)):
            return None
        changed = without_expectations(scenario)
        if changed is None or not changed.get("leaves"):
            return None
        place = {leaf["name"]: DEVICES[k % count] for k, leaf in enumerate(changed["leaves"])}
        for one in objects(changed):
            for key in ("tensor", "pool"):
                if key in one:
                    one[key] = on(one[key], "sim:0")
            if "seed" in one:
                one["seed"] = on(one["seed"], place.get(one.get("value"), "sim:0"))
            if one.get("do") in ("set_grad", "deliver"):
                key = "grad" if one["do"] == "set_grad" else "gradient"
                if key in one:
                    one[key] = on(one[key], place.get(one.get("leaf"), "sim:0"))
        for leaf in changed["leaves"]:
            for key in ("value", "grad"):
                if key in leaf:
                    leaf[key] = on(leaf[key], place[leaf["name"]])
        return changed if count == 1 else with_copies(changed, place)
    return change


def on(tensor, device):
    """A tensor of the JSON form, on a device; `null` and values of the program stay as they are."""
    if tensor is None or (isinstance(tensor, dict) and "from" in tensor):
        return tensor
    if isinstance(tensor, dict):
        return {**tensor, "device": device}
    if isinstance(tensor, list):
        return {"shape": [len(tensor)], "values": tensor, "device": device}
    return {"shape": [], "values": [tensor], "device": device}


def with_copies(scenario, place):
    """None if no leaf is elsewhere, or no node takes one."""
    elsewhere = {name for name, device in place.items() if device != "sim:0"}
    taken = {name for node in scenario.get("nodes", []) for name in node["inputs"]} & elsewhere
    if not taken:
        return None
    copies = {name: f"{name}-here" for name in sorted(taken)}
    for node in scenario["nodes"]:
        node["inputs"] = [copies.get(name, name) for name in node["inputs"]]
        if "saves" in node:
            node["saves"] = [copies.get(name, name) for name in node["saves"]]
        scripts = [node.get("forward", []), node.get("backward", {}).get("returns") or []]
        for one in objects(scripts):
            if "times" in one:
                one["times"] = copies.get(one["times"], one["times"])
    made = [{"name": copy_, "op": "to_device", "inputs": [name], "device": "sim:0"} for name, copy_ in copies.items()]
    scenario["nodes"] = made + scenario["nodes"]
    scenario["program"] = [{"do": "forward", "nodes": [node["name"] for node in made]}, *scenario["program"]]
    return scenario
