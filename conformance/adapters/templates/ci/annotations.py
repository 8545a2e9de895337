#!/usr/bin/env python3
"""Marks on GitHub what was not as expected in a run: one annotation for each such scenario, ten at most, as GitHub
shows no more of a step.

usage: annotations.py REPORT    (what `gradcts run --report json=REPORT` wrote)
"""

import json
import sys

MOST = 10


def escaped(text, in_title=False):
    for old, new in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), *([(":", "%3A"), (",", "%2C")] if in_title else [])):
        text = text.replace(old, new)
    return text


def why(record):
    if record["findings"]:
        finding = record["findings"][0]
        return f"{finding['clause']}: {finding['where']}: expected {finding['expected']}, observed {finding['observed']}"
    return record.get("detail", "").split("\n")[0]


def main(report):
    try:
        with open(report, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
    except FileNotFoundError:
        print(f"::error title=gradcts::{escaped(report)} was not written: the run did not begin")
        return
    wrong = [record for record in records if record["record"] == "scenario" and not record["as_expected"]]
    for record in wrong[:MOST]:
        print(f"::error title={escaped(record['id'], True)}::{escaped(record['verdict'])}: {escaped(why(record))}"
              f"%0A{escaped(record['replay'])}")
    if len(wrong) > MOST:
        print(f"::notice title=gradcts::{len(wrong) - MOST} more are not as expected: see the report")


if __name__ == "__main__":
    main(sys.argv[1])
