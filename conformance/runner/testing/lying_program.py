#!/usr/bin/env python3
"""An engine over the pipe that lies on demand: the scenario's id says how ("lie/number").

It knows one scenario, y = x * x at 3 with seed 2 (scenarios.h), and needs no kit: it is also the shortest
program that speaks the protocol.
"""

import faulthandler
import json
import os
import signal
import sys
import threading

faulthandler.register(signal.SIGQUIT, chain=True)


def description():
    trace = os.environ.get("LYING_TRACE", "all")
    return {"schema": "gradcts.description/1", "name": "lying", "version": "1", "dialect": "reference",
            "features": ["operation.*", "type.*", "pass.backward"], "trace": trace}


def event(kind, subject):
    return {"kind": kind, "subject": subject}


def outcome(scenario, grad=12, traced=True):
    trace = traced and scenario.get("trace", "all") == "all"
    runs = [event(kind, node) for node in ("y", "accumulate:x") for kind in ("node_enter", "node_exit")]
    return {"schema": "gradcts.outcome/1", "scenario": scenario["id"], "steps": [{"step": 0}, {"step": 1}],
            "events": [event("pass_begin", 1), *(runs if trace else []), event("pass_end", 1)],
            "leaf_grads": {"x": grad}, "state": {"live_objects": 0}}


def say(text):
    os.write(1, text if isinstance(text, bytes) else text.encode())


def wait_for_ever():
    threading.Event().wait()


def misbehave(lie, number, scenario):
    """Answers in the way that the lie says; rightly if it is none."""
    right = json.dumps({"answer": number, "outcome": outcome(scenario)})
    if lie == "wrong":
        say(json.dumps({"answer": number, "outcome": outcome(scenario, 13)}) + "\n")
    elif lie == "unseen":
        say(json.dumps({"answer": number, "outcome": outcome(scenario, traced=False)}) + "\n")
    elif lie == "other":
        say(json.dumps({"answer": number, "outcome": outcome({"id": "lie/another"})}) + "\n")
    elif lie == "refuse":
        say(json.dumps({"answer": number, "failure": "not today"}) + "\n")
    elif lie == "number":
        say(json.dumps({"answer": number + 1, "outcome": outcome(scenario)}) + "\n")
    elif lie == "twice":
        say(right + "\n" + right + "\n")
    elif lie == "pieces":
        for character in right + "\n":
            say(character)
    elif lie == "garbage":
        say("Hello, world!\n")
    elif lie == "bytes":
        say(b"\xff\x00\xfe\n")
    elif lie == "list":
        say("[1, 2]\n")
    elif lie == "empty":
        say(json.dumps({"answer": number}) + "\n")
    elif lie == "partial-and-exit":
        say(right[:40])
        os._exit(0)
    elif lie == "partial-and-hang":
        say(right[:40])
        wait_for_ever()
    elif lie == "hang":
        wait_for_ever()
    elif lie == "deaf":
        for number in (signal.SIGQUIT, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        wait_for_ever()
    elif lie == "exit":
        print("last words", file=sys.stderr, flush=True)
        os._exit(3)
    elif lie == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    else:
        say(right + "\n")


def main():
    lies = []
    for line in sys.stdin:
        request = json.loads(line)
        if "hello" in request:
            say(json.dumps({"answer": request["request"], "hello": request["hello"],
                            "description": description()}) + "\n")
        else:
            lies.append(request["run"]["id"].split("/")[1])
            misbehave(lies[-1], request["request"], request["run"])
    sys.exit(7 if "exit-badly" in lies else 0)


main()
