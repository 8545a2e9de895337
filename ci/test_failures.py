#!/usr/bin/env python3
"""Prints what failed in a run of CTest: the end of each failed test's output, and CTest's own summary.

    test_failures.py BUILD    what `ctest --output-junit BUILD/ctest.xml --output-log BUILD/ctest.log` left

So that the last lines of a long run say what went wrong in a build that was tested before others.
"""
import pathlib
import sys
import xml.etree.ElementTree

LINES = 60   # of a test's output
TESTS = 10   # whose output is shown; the summary names all


def failed_tests(report):
    """(name, output) of each test that ran and failed, in CTest's order."""
    root = xml.etree.ElementTree.parse(report).getroot()
    return [(case.get("name"), case.findtext("system-out") or "")
            for case in root.iter("testcase") if case.get("status") == "fail"]


def end_of(output):
    lines = output.rstrip().splitlines()
    left_out = len(lines) - LINES
    return ([f"... {left_out} lines before"] if left_out > 0 else []) + lines[-LINES:]


def summary(log):
    """From "NN% tests passed" on: counts, times by label, the tests that failed."""
    lines = log.read_text(errors="replace").splitlines()
    starts = [i for i, line in enumerate(lines) if "% tests passed" in line]
    return lines[starts[-1]:] if starts else lines[-LINES:]


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    build = pathlib.Path(arguments[0])
    report, log = build / "ctest.xml", build / "ctest.log"
    if report.exists():
        failed = failed_tests(report)
        for name, output in failed[:TESTS]:
            print(f"\n---- {build.name}: {name}", *end_of(output), sep="\n")
        if len(failed) > TESTS:
            print(f"\n---- {build.name}: {len(failed) - TESTS} more: {report}")
    print(f"\n---- {build.name}: CTest's summary")
    print(*(summary(log) if log.exists() else [f"there is no {log}: CTest did not start"]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
