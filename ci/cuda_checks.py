#!/usr/bin/env python3
"""The checks of ci/cuda, over a build that is there: the stress program, the suite with its devices on the GPU, and
mutants without each kind of wait. One table; the exit status is 0 only when all of it is good, and 77 where there
is no GPU. What the programs said is in BUILD/checks. With --simulated: the stress program and its mutants on the
simulated device, which needs no GPU and makes wrong what waits for nothing in every run.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "conformance" / "mutants"))
from engine_build import BuildFailed, EngineBuild  # noqa: E402
from patch_files import BadPatch, apply, read_all  # noqa: E402

STRESS = {"gpu": "engine_cuda_stress_test", "simulated": "engine_stress_test"}
MUTANT_FOLDER = ROOT / "conformance" / "mutants"
CUDA_SOURCE = "reference_engine/device/cuda_devices.cpp"  # no part of the simulated program
SPIN = {"seed": 1, "microseconds": 200}
# Those of the suite's mutants that leave out a wait or an event, or make a needless one.
OF_STREAMS = ("B057", "B058", "B059", "B060", "B061", "B062", "B063", "B065", "B066", "none-sum-under-a-reader")
RANDOM_CASES, RANDOM_SEED = 1000, 9  # all of which pass on the simulated device
# "Ends, or is a clear error": which of them is a matter of time, so that runs of it may differ.
NOT_REPEATED = "shut/stop/beside-passes"
SECONDS = {"stress": 150, "nccl": 60, "suite": 120, "mutant": 60}
NO_GPU = 77


class Table:
    """Rows as they come: what was checked, how many, the result, seconds."""

    def __init__(self, out=sys.stdout):
        self.out, self.bad, self.rows = out, 0, 0
        self.line("check", "count", "seconds", "result")
        self.rule()

    def rule(self):
        self.line("-" * 82, "-" * 6, "-" * 7, "-" * 30)

    def line(self, what, count, seconds, result):
        print(f"{what:82} {count:>6} {seconds:>7} {result}", file=self.out, flush=True)

    def add(self, what, count, good, words, seconds):
        self.rows += 1
        self.bad += not good
        self.line(what, str(count), f"{seconds:.1f}", ("" if good else "BAD: ") + words)


def call(command, seconds, **environment):
    """The finished process, or None when it did not end in time; and the seconds."""
    begin = time.monotonic()
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds,
                              env={**os.environ, **environment}, errors="replace")
    except subprocess.TimeoutExpired:
        done = None
    return done, time.monotonic() - begin


# ---- The stress program --------------------------------------------------------------------------------------

def run_stress(program, folder, seconds, *arguments):
    """Its tests as (name, status, first failure, seconds), and what is wrong with the run as a whole, if anything."""
    report = folder / "stress.json"
    report.unlink(missing_ok=True)
    done, _ = call([program, f"--gtest_output=json:{report}", *arguments], seconds)
    if done is None:
        return [], f"did not end within {seconds} s"
    (folder / "stress.log").write_text(done.stdout + done.stderr)
    tests = tests_of(json.loads(report.read_text())) if report.exists() else []
    if done.returncode not in (0, 1) or not tests:
        return tests, f"ended with status {done.returncode}: {last_line(done.stdout + done.stderr)}"
    return tests, ""


def tests_of(report):
    tests = []
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            if test["status"] != "RUN":
                continue
            failures = test.get("failures", [])
            status = "failed" if failures else test["result"].lower()
            first = failures[0]["failure"] if failures else (test.get("skipped") or [{"message": ""}])[0]["message"]
            tests.append((test["name"], status, one_line(first), float(test["time"].rstrip("s"))))
    return tests


def one_line(failure):
    """A failure of GoogleTest without the place: what was found where."""
    lines = [line.strip() for line in failure.splitlines() if line.strip()]
    text = " ".join(lines[1:] if lines and ":" in lines[0] else lines)
    return text.replace("Expected equality of these values: ", "").replace(" Which is:", " =")


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


def check_stress(table, build, folder, device):
    tests, trouble = run_stress(build / "bin" / STRESS[device], folder, SECONDS["stress"])
    for name, status, words, seconds in tests:
        table.add(f"stress: {name}", 1, status == "completed", "passed" if status == "completed" else words, seconds)
    if trouble:
        table.add("stress", len(tests), False, trouble, 0)


def check_nccl(table, build, folder):
    program = build / "bin" / "engine_nccl_test"
    if not program.exists():
        return table.add("nccl: ranks that are GPUs", 0, True, "not built: CMake found no NCCL", 0)
    tests, trouble = run_stress(program, folder, SECONDS["nccl"])
    for name, status, words, seconds in tests:
        table.add(f"nccl: {name}", 1, status != "failed",
                  {"completed": "passed", "skipped": f"skipped: {words}"}.get(status, words), seconds)
    if trouble:
        table.add("nccl", len(tests), False, trouble, 0)
    return None


# ---- The suite -----------------------------------------------------------------------------------------------

def scenarios_on_devices(gradcts):
    """The ids of the scenarios that name a simulated device, which here is the GPU."""
    done, _ = call([gradcts, "list", "--scenarios", "--json", "--suites", ROOT / "conformance" / "suites"], 60)
    listed = json.loads(done.stdout)
    return [entry["id"] for entry in listed if "device.sim" in entry["features"] and entry["id"] != NOT_REPEATED]


def environment_of_cuda(spin):
    environment = {"GRADCTS_REFERENCE_DEVICE": "cuda"}
    if spin:
        environment["GRADCTS_CUDA_SPIN"] = f"{SPIN['seed']}:{SPIN['microseconds']}"
    return environment


def check_suite(table, build, folder, what, jobs, repeat, patterns, spin):
    gradcts, report = build / "bin" / "gradcts", folder / f"suite-{repeat}.jsonl"
    report.unlink(missing_ok=True)
    done, seconds = call([gradcts, "run", *patterns, "--engine", "reference", "--jobs", jobs, "--repeat", repeat,
                          "--no-expect", "--report", f"json={report}"], SECONDS["suite"], **environment_of_cuda(spin))
    if done is None:
        return table.add(what, 0, False, f"did not end within {SECONDS['suite']} s", seconds)
    (folder / f"suite-{repeat}.log").write_text(done.stdout + done.stderr)
    records = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    scenarios = [record for record in records if record["record"] == "scenario"]
    wrong = [record for record in scenarios if not record["as_expected"]]
    verdicts = {}
    for record in scenarios:
        verdicts[record["verdict"]] = verdicts.get(record["verdict"], 0) + 1
    words = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    if wrong:
        words += f"; first: {wrong[0]['id']}"
    good = done.returncode == 0 and bool(scenarios)
    if not scenarios:
        words = last_line(done.stdout + done.stderr)
    table.add(what, len(scenarios) * repeat, good, words, seconds)
    return None


def check_fuzz(table, build, folder, jobs):
    library = build / "lib" / "gradcts" / "libgradcts-reference.so"
    with tempfile.TemporaryDirectory() as out:
        done, seconds = call([build / "bin" / "gradcts", "fuzz", "--engine", library, "--cases", RANDOM_CASES, "--seed",
                              RANDOM_SEED, "--jobs", jobs, "--no-shrink", "--out", pathlib.Path(out) / "found"],
                             SECONDS["suite"], **environment_of_cuda(True))
    text = "did not end in time" if done is None else done.stdout + done.stderr
    (folder / "fuzz.log").write_text(text)
    good = done is not None and done.returncode == 0
    words = next((line for line in text.splitlines() if "passed" in line), last_line(text))
    table.add("fuzz: random scenarios, a part of them on devices", RANDOM_CASES, good, words, seconds)


# ---- Mutants -------------------------------------------------------------------------------------------------

def stream_mutants():
    chosen = [mutant for mutant in read_all(MUTANT_FOLDER) if mutant.name.startswith(OF_STREAMS)]
    return chosen + read_all(MUTANT_FOLDER / "cuda")


def build_mutants(mutants, build, folder, jobs, device):
    """For each its program, or the words why there is none."""
    engine = EngineBuild(build, STRESS[device])

    def make(mutant):
        own = folder / mutant.name
        own.mkdir()
        try:
            return engine.make(mutant, own)
        except (BadPatch, BuildFailed) as problem:
            return str(problem)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(make, mutants))


def check_mutants(table, build, jobs, device):
    with tempfile.TemporaryDirectory(prefix="gradcts-cuda-") as name:
        folder, begin = pathlib.Path(name), time.monotonic()
        mutants = [mutant for mutant in stream_mutants() if device == "gpu" or CUDA_SOURCE not in mutant.files]
        programs = build_mutants(mutants, build, folder, jobs, device)
        print(f"ci/cuda: built {len(mutants)} mutants in {time.monotonic() - begin:.0f} s")
        run_mutants(table, mutants, programs, folder)


def run_mutants(table, mutants, programs, folder):
    for mutant, program in zip(mutants, programs):
        what = f"mutant: {mutant.name}"
        if isinstance(program, str):
            table.add(what, 1, False, program, 0)
            continue
        begin = time.monotonic()
        tests, trouble = run_stress(program, folder, SECONDS["mutant"], "--gtest_fail_fast")
        failed = [(name, words) for name, status, words, _ in tests if status == "failed"]
        words = trouble or (f"{failed[0][0]}: {failed[0][1]:.90}" if failed else "nobody noticed")
        table.add(what, 1, bool(failed) and not trouble, words, time.monotonic() - begin)


def check_patches():
    """Do all patches still apply? For machines without a GPU."""
    with tempfile.TemporaryDirectory() as name:
        for mutant in stream_mutants():
            apply(mutant, pathlib.Path(name) / mutant.name)


# ---- All of it -----------------------------------------------------------------------------------------------

def trouble_with_the_gpu(build):
    """In one line, or an empty string."""
    done, _ = call([build / "bin" / STRESS["gpu"], "--gtest_filter=*late*:*early*"], 60)
    if done is None:
        return "the GPU does not answer"
    skipped = [line for line in done.stdout.splitlines() if "no GPU" in line or "memory pools" in line]
    return skipped[0].strip() if skipped else ""


def check_scenarios(table, build, folder, workers):
    check_suite(table, build, folder, "suite: all scenarios, sim devices on the GPU", workers, 1, [], False)
    check_suite(table, build, folder, f"suite: those on devices, 10 times, spinning up to {SPIN['microseconds']} us",
                workers, 10, scenarios_on_devices(build / "bin" / "gradcts"), True)
    check_fuzz(table, build, folder, workers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, nargs="?")
    parser.add_argument("--patches", action="store_true", help="only whether the mutants' patches apply")
    parser.add_argument("--simulated", action="store_true", help="on the simulated device, without a GPU")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.patches:
        check_patches()
        return 0
    build, device = options.build.resolve(), "simulated" if options.simulated else "gpu"
    trouble = "" if options.simulated else trouble_with_the_gpu(build)
    if trouble:
        print(f"ci/cuda: everything is built; skipped, because there is {trouble}")
        return NO_GPU
    folder, begin = build / "checks", time.monotonic()
    folder.mkdir(exist_ok=True)
    table = Table()
    check_stress(table, build, folder, device)
    if device == "gpu":
        check_nccl(table, build, folder)
        check_scenarios(table, build, folder, min(8, options.jobs))
    check_mutants(table, build, options.jobs, device)
    table.rule()
    table.line("all", str(table.rows), f"{time.monotonic() - begin:.1f}", f"{table.bad} bad" if table.bad else "all good")
    return 1 if table.bad else 0


if __name__ == "__main__":
    sys.exit(main())
