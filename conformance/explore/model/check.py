#!/usr/bin/env python3
"""Checks the models of the engine's protocol with Spin: all states of each, whole and with each rule broken.

  check.py FOLDER-TO-WORK-IN [MODEL...]

The whole model must have no error; a model with a broken rule must have one, or the rule checks nothing.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# Model, sizes, the rules that are broken at these sizes: name, and what it mirrors.
CHECKS = [
    ("pass", "-DWIDTH=1", ["WAKE", "WAKE_LOCK", "WAIT", "LOOK_AGAIN", "OWNER_QUEUE"]),
    ("pass", "-DWIDTH=2", []),
    ("pass", "-DWIDTH=1 -DLAST_ON_CPU", ["COUNT"]),
    ("pass", "-DWIDTH=2 -DNESTED", ["DEPTH"]),
    ("pass", "-DWIDTH=2 -DERRORS", []),
    ("pass", "-DWIDTH=2 -DERRORS -DEXIT_ON_ERROR", ["COMPLETION"]),
    ("pool", "-DCALLERS=2 -DMEET", ["NEEDS", "IDLE"]),
    ("pool", "-DCALLERS=2 -DROUNDS=1 -DSHUTDOWN", ["SHUTDOWN"]),
    ("stop", "-DCALLERS=3", ["ENTER", "LEAVE", "STOP"]),
]


def states_and_errors(folder, model, sizes):
    """Runs Spin over all states; returns how many there are, and the errors it reports."""
    source = os.path.join(HERE, model + ".pml")
    run = lambda *command: subprocess.run(command, cwd=folder, check=True, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    said = run("spin", *sizes.split(), "-a", source)
    if "Error" in said:
        raise SystemExit(f"{model}.pml {sizes}: {said}")
    run("gcc", "-O1", "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c")
    report = run("./pan", "-m1000000", "-w22")
    if "max search depth too small" in report:
        raise SystemExit(f"{model}.pml {sizes}: not all states were seen")
    states = int(float(re.search(r"(\S+) states, stored", report)[1]))
    return states, int(re.search(r"errors: (\d+)", report)[1]), re.findall(r"pan:1: (.*)", report)


def main():
    folder, chosen = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    wrong = 0
    for model, sizes, rules in CHECKS:
        if chosen and model not in chosen:
            continue
        states, errors, what = states_and_errors(folder, model, sizes)
        print(f"{model} {sizes}: {states} states, {errors} errors {' '.join(what)}")
        wrong += errors != 0
        for rule in rules:
            _, errors, what = states_and_errors(folder, model, f"{sizes} -DBREAK_{rule}")
            print(f"  without the rule {rule}: {what[0] if what else 'NOTHING IS FOUND'}")
            wrong += errors == 0
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
