#!/usr/bin/env python3
"""Runs `ranks` under mpirun: the same digest for 1, 2, 3 and 4 ranks, the bytes of the formula, and what a fault of one
rank makes of all of them.

usage: run.py RANKS MPIRUN [train|traffic|memory|faults ...]      77: skipped
"""

import os
import re
import subprocess
import sys
import tempfile
import time

RANKS, MPIRUN = sys.argv[1], sys.argv[2]
PARTS = sys.argv[3:] or ["train", "traffic", "memory", "faults"]
LIMIT = 300  # seconds of one run, after which it counts as hung; a fault is over within a few, on a machine that is not busy

# The text that every rank which can still speak must have. A rank that fails says it of itself.
FAULTS = {
    "kind": "is not the same on all ranks (other kind): ranks 0, 2: all_reduce float32[4] sum 'x' (ranks.cc:",
    "shape": "(other size): ranks 0, 2: all_reduce float32[4] sum 'x' (ranks.cc:",
    "dtype": "(other dtype): ranks 0, 2: all_reduce float32[4] sum 'x' (ranks.cc:",
    "order": "(other name or line): ranks 0, 2: all_reduce float32[4] sum 'x' (ranks.cc:",
    "skip": "rank 1 ended without calling #2 of group 'world', all_reduce float32[4] sum 'x' (ranks.cc:",
    "sleep": "rank 1 did not call #2 of group 'world', all_reduce float32[4] sum 'x' (ranks.cc:",
    "kill": "the process of rank 1 is gone",
    "stop": "the process of rank 1 is stopped",
    "exit": "rank 1 ended without calling #2 of group 'world', all_reduce float32[4] sum 'x' (ranks.cc:",
    "quick_exit": "the process of rank 1 is gone",
    "fail": "rank 1: the loss is NaN (ranks.cc:",
    "throw": "rank 1: ended by an exception: no memory",
}
# Ranks that cannot print their report: they are gone, stopped, asleep or on their way out.
SILENT = {name: {1} for name in ("skip", "sleep", "kill", "stop", "exit", "quick_exit", "throw")}


def mpirun(ranks, *arguments, seconds=LIMIT, environment=()):
    """(exit code, output, wall seconds); a job that does not end is an error."""
    command = [MPIRUN, "-n", str(ranks)]
    version = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True).stdout
    if "Open MPI" in version or "OpenRTE" in version:
        command += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
    # MPI keeps memory until the process ends, which is no leak of ours.
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0", **dict(environment))
    began = time.monotonic()
    # A file, not a pipe: processes that stay behind would hold a pipe open.
    with tempfile.TemporaryFile("w+") as out:
        job = subprocess.run(command + [RANKS, *arguments], stdout=out, stderr=subprocess.STDOUT, env=env,
                             timeout=seconds)
        out.seek(0)
        return job.returncode, out.read(), time.monotonic() - began


def processes():
    """The processes of RANKS that run now."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(RANKS):
                found.append(int(pid))
        except OSError:
            pass
    return found


class Count:
    passed = failed = 0

    def expect(self, right, what):
        if right:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}")


def train(count):
    for net in ("mlp", "lenet", "norm", "gpt"):
        results = {}
        for ranks in (1, 2, 3, 4):
            code, out, _ = mpirun(ranks, "train", net, "8")
            results[ranks] = out.strip()
            count.expect(code == 0 and re.fullmatch(r"[0-9a-f]{64} \S+", out.strip()), f"{net} on {ranks}: {code}\n{out}")
        for stage in (1, 2, 3) if net in ("mlp", "norm") else ():
            code, out, _ = mpirun(2 + stage % 2, "shard", net, str(stage))
            results[f"stage {stage}"] = out.strip()
        count.expect(len(set(results.values())) == 1, f"{net}: {results}")


def traffic(count):
    for ranks in (2, 4):
        _, out, _ = mpirun(ranks, "traffic")
        sent = [int(n) for n in re.findall(r"rank \d+: (\d+) bytes", out)]
        count.expect(sent == [2 * (ranks - 1) * 2**20 // ranks] * ranks, f"bytes of {ranks} ranks: {out}")


def memory(count):
    for stage in (0, 3):
        _, out, _ = mpirun(4, "memory", str(stage))
        found = [[int(n) for n in m] for m in re.findall(r"peak (\d+), parameters (\d+), layer (\d+)", out)]
        count.expect(len(found) == 4, f"memory of stage {stage}: {out}")
        for peak, parameters, layer in found:
            # SGD with momentum: parameters, gradients and a buffer. Besides its share of them a rank has the layer that
            # runs, its gradient as backward made it and in its bucket, and the bucket that is under way.
            state = 3 * parameters
            if stage == 0:
                count.expect(peak > state, f"stage 0 has a peak of {peak}")
            else:
                count.expect(peak < state / 4 + 4 * layer, f"stage 3 has a peak of {peak}, state {state}, layer {layer}")


def faults(count):
    hydra = "HYDRA" in subprocess.run([MPIRUN, "--version"], capture_output=True, text=True).stdout
    for name, text in FAULTS.items():
        if hydra and name in ("kill", "quick_exit"):
            continue  # MPICH's launcher kills the other ranks before they can report
        with tempfile.TemporaryDirectory() as folder:
            settings = {"WICK_FLIGHT_RECORDER": folder, "WICK_COLLECTIVE_TIMEOUT": "2" if name == "sleep" else "30"}
            before = set(processes())
            try:
                code, out, seconds = mpirun(3, "fault", name, environment=settings.items())
            except subprocess.TimeoutExpired:
                count.expect(False, f"{name}: the job did not end within {LIMIT} s")
                continue
            said = {int(r): line for r, line in re.findall(r"^rank (\d): (.*)$", out, re.M)}
            for rank in {0, 1, 2} - SILENT.get(name, set()):
                count.expect(text in said.get(rank, ""), f"{name}, rank {rank}:\n{out}")
            count.expect(code != 0, f"{name}: exit code 0")
            print(f"COUNT: {name}: over after {seconds:.1f} s")
            dumps = sorted(os.listdir(folder))
            count.expect({"wick-flight-0.json", "wick-flight-2.json"} <= set(dumps), f"{name}: dumps {dumps}")
            for _ in range(100):  # a process that was killed is gone a moment later
                left = set(processes()) - before
                if not left:
                    break
                time.sleep(0.1)
            count.expect(not left, f"{name}: processes {left} stay behind")


def main():
    if not MPIRUN or not os.path.exists(MPIRUN):
        print("SKIP: MPI not installed")
        return 77
    count = Count()
    for part in PARTS:
        {"train": train, "traffic": traffic, "memory": memory, "faults": faults}[part](count)
    print(f"{count.passed} passed, {count.failed} failed")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
