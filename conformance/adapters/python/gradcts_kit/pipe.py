"""The protocol `gradcts.worker/1` on standard input and output (docs/protocol.md)."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys

from gradcts_kit.interpreter import run

PROTOCOL = "gradcts.worker/1"


def describe(binding) -> dict:
    description = {"schema": "gradcts.description/1", "name": binding.NAME, "version": binding.version(),
                   "dialect": binding.DIALECT, "features": list(binding.FEATURES)}
    if binding.CHOICES:
        description["choices"] = dict(binding.CHOICES)
    if not binding.SEES_BUILT_IN_NODES:
        description["trace"] = "scripted"
    return description


def answer(request: dict, binding, run=run) -> dict:
    """One request, as an object; whatever the adapter throws becomes a failure that says so."""
    head = {"answer": request["request"]}
    try:
        if "hello" in request:
            head["hello"] = PROTOCOL
            if request["hello"] != PROTOCOL:
                return {**head, "failure": f"this kit speaks '{PROTOCOL}'"}
            return {**head, "description": describe(binding)}
        return {**head, "outcome": run(request["run"], binding)}
    except Exception as error:  # of the adapter itself: an engine's errors are part of the outcome
        return {**head, "failure": f"{type(error).__name__}: {error}"}


def serve(binding, run=run):
    """Answers requests until the runner hangs up. What else is printed goes to standard error. `run` is for an
    adapter that has the interpreter run elsewhere."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # an engine's own prints must not stand between the answers
    sys.setrecursionlimit(100_000)  # nested passes are the engine's business, not the interpreter's
    faulthandler.enable()
    faulthandler.register(signal.SIGQUIT, chain=True)  # the stacks of all threads, for a hang
    for line in sys.stdin:
        replies.write(json.dumps(answer(json.loads(line), binding, run)) + "\n")
        replies.flush()
