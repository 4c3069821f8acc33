#!/usr/bin/env python3
"""Runs `ranks` under mpirun: the same digest for 1, 2, 3 and 4 ranks, the bytes of the formula, and what a fault of one
rank makes of all of them.

usage: run.py RANKS MPIRUN WICK [train|mesh|traffic|memory|faults|launch|random_kills ...]      77: skipped

WICK is the command line, for `wick launch`. random_kills is not among the parts by default: it takes some minutes.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

RANKS, MPIRUN, WICK = sys.argv[1:4]
PARTS = sys.argv[4:] or ["train", "mesh", "traffic", "memory", "faults", "launch"]
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
    "function": "(other function or root): ranks 0, 2: all_reduce float32[4] sum 'x' (ranks.cc:",
    "crash": "the process of rank 1 is gone",
    "oom": "rank 1: ended by an exception: ",
    "nan": "rank 1: [data_parallel] the loss of part 2 is ",
    "other_net": "the nets of the ranks are not the same: rank 1 ",
    "unused": "no gradient for 'idle' in part ",
    "full_disk": "rank 1: [save_sharded] ",
    "truncated_shard": "shard-1-of-3.safetensors",
    "missing_shard": "shard-1-of-3.safetensors",
    "flipped_bit": "shard-1-of-3.safetensors: its tensors or notes are not those that were saved (SHA-256)",
}
# Found by all ranks, each in what it has: no collective is to be reported.
EVERYWHERE = {"other_net", "truncated_shard", "missing_shard", "flipped_bit"}
# Ranks that cannot print their report: they are gone, stopped, asleep or on their way out.
SILENT = {name: {1} for name in ("skip", "sleep", "kill", "stop", "exit", "quick_exit", "throw", "crash", "oom")}


def mpirun(ranks, *arguments, seconds=LIMIT, environment=(), program=RANKS):
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
        job = subprocess.run(command + [program, *arguments], stdout=out, stderr=subprocess.STDOUT, env=env,
                             timeout=seconds)
        out.seek(0)
        return job.returncode, out.read(), time.monotonic() - began


def hydra():
    return "HYDRA" in subprocess.run([MPIRUN, "--version"], capture_output=True, text=True).stdout


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


def mesh(count):
    """Data, pipeline and tensor ranks, and all of them."""
    results = {}
    for d, p, t, schedule in ((1, 1, 1, "1f1b"), (2, 2, 2, "1f1b"), (1, 2, 2, "gpipe"), (1, 4, 1, "1f1b"), (2, 1, 2, "gpipe")):
        code, out, _ = mpirun(d * p * t, "mesh", str(d), str(p), str(t), schedule)
        results[d, p, t, schedule] = out.strip()
        count.expect(code == 0 and re.fullmatch(r"[0-9a-f]{64} \S+", out.strip()), f"mesh {d} x {p} x {t}: {code}\n{out}")
    count.expect(len(set(results.values())) == 1, f"mesh: {results}")


def traffic(count):
    for ranks in (2, 4):
        _, out, _ = mpirun(ranks, "traffic")
        sent = [int(n) for n in re.findall(r"rank \d+: (\d+) bytes", out)]
        count.expect(sent == [2 * (ranks - 1) * 2**20 // ranks] * ranks, f"bytes of {ranks} ranks: {out}")


def memory(count):
    for stage in (0, 1, 2, 3):
        _, out, _ = mpirun(4, "memory", str(stage))
        found = [[int(n) for n in m] for m in re.findall(r"peak (\d+), parameters (\d+), layer (\d+), planned (\d+)", out)]
        count.expect(len(found) == 4, f"memory of stage {stage}: {out}")
        for peak, parameters, layer, planned in found:
            count.expect(0.7 < peak / planned < 1.3, f"stage {stage}: planned {planned}, found {peak}")
            # SGD with momentum: parameters, gradients and a buffer. Besides its share of them a rank has the layer that
            # runs, its gradient as backward made it and in its bucket, and the bucket that is under way.
            state = 3 * parameters
            if stage == 0:
                count.expect(peak > state, f"stage 0 has a peak of {peak}")
            elif stage == 3:
                count.expect(peak < state / 4 + 4 * layer, f"stage 3 has a peak of {peak}, state {state}, layer {layer}")


def asked_to_end(count):
    """SIGTERM ends a process that has no other rank, as it ends any program."""
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    job = subprocess.Popen([RANKS, "wait"], stdout=subprocess.PIPE, text=True, env=env)
    line = job.stdout.readline()
    job.terminate()
    try:
        code = job.wait(timeout=30)
    except subprocess.TimeoutExpired:
        code = None
        job.kill()
        job.wait()
    count.expect(line == "waits\n" and code == -signal.SIGTERM, f"a rank alone: {line!r}, ended with {code}")


def faults(count):
    asked_to_end(count)
    for name, text in FAULTS.items():
        if hydra() and name in ("kill", "quick_exit", "crash"):
            continue  # MPICH's launcher kills the other ranks before they can report
        with tempfile.TemporaryDirectory() as folder:
            settings = {"WICK_FLIGHT_RECORDER": folder, "WICK_COLLECTIVE_TIMEOUT": "2" if name == "sleep" else "30"}
            before = set(processes())
            try:
                code, out, seconds = mpirun(3, "fault", name, folder + "/checkpoint", environment=settings.items())
            except subprocess.TimeoutExpired:
                count.expect(False, f"{name}: the job did not end within {LIMIT} s")
                continue
            said = {int(r): line for r, line in re.findall(r"^rank (\d): (.*)$", out, re.M)}
            for rank in {0, 1, 2} - SILENT.get(name, set()):
                count.expect(text in said.get(rank, ""), f"{name}, rank {rank}:\n{out}")
            count.expect(code != 0, f"{name}: exit code 0")
            print(f"COUNT: {name}: over after {seconds:.1f} s")
            files = sorted(os.listdir(folder))
            if name not in EVERYWHERE:
                count.expect({"wick-flight-0.json", "wick-flight-2.json"} <= set(files), f"{name}: dumps {files}")
            if name == "full_disk":  # the checkpoint before is whole
                shards = sorted(os.listdir(folder + "/checkpoint"))
                count.expect(shards == [f"shard-{r}-of-3.safetensors" for r in range(3)], f"{name}: {shards}")
            for _ in range(100):  # a process that was killed is gone a moment later
                left = set(processes()) - before
                if not left:
                    break
                time.sleep(0.1)
            count.expect(not left, f"{name}: processes {left} stay behind")


def launched(kind, folder, steps, *options):
    """(exit code, digest, stdout, the attempts) of a training under `wick launch`."""
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    job = subprocess.run([WICK, "launch", "--json", "--mpirun", MPIRUN, *options, "--", RANKS, "resume", kind, folder, steps],
                         capture_output=True, text=True, env=env, timeout=4 * LIMIT)
    digest = re.findall(r"^\[0\] ([0-9a-f]{64})$", job.stderr, re.M)
    attempts = [a["ranks"] for a in json.loads(job.stdout)["attempts"]] if job.returncode == 0 else []
    return job.returncode, digest[-1:], job.stdout + job.stderr, attempts


def launch(count):
    plain = {}
    for kind in ("ddp", "2", "3"):
        with tempfile.TemporaryDirectory() as folder:
            code, digest, out, attempts = launched(kind, folder + "/whole", "-1", "-n", "2", "--seed", "5")
            count.expect(code == 0 and len(digest) == 1 and attempts == [2], f"{kind}, not killed: {code}\n{out}")
            plain[kind] = digest
            code, digest, out, attempts = launched(kind, folder + "/killed", "3,6", "-n", "3", "--restarts", "2",
                                                   "--min-ranks", "2", "--seed", "5")
            count.expect(code == 0 and digest == plain[kind] and attempts == [3, 2, 2], f"{kind}, killed: {code} {attempts}\n{out}")
            count.expect(set(os.listdir(folder)) == {"whole", "killed"}, f"{kind}: left {os.listdir(folder)}")
    count.expect(plain["ddp"] == plain["2"] == plain["3"], f"digests {plain}")
    with tempfile.TemporaryDirectory() as folder:
        code, _, out, _ = launched("2", folder + "/x", "1,1", "-n", "2", "--restarts", "1", "--flights", folder + "/f",
                                   "--logs", folder + "/l")
        said = "the process of rank 1 is gone" in out or hydra()  # MPICH's launcher ends the others before they can say it
        count.expect(code == 1 and "no restart is left" in out and said, f"twice: {code}\n{out}")
        count.expect(os.path.exists(folder + "/l/attempt-1/rank-0.log"), "logs of attempt 1")
        count.expect(hydra() or os.path.exists(folder + "/f/attempt-0/wick-flight-0.json"), "flights of attempt 0")
    # Lines in parts, longer than a chunk of the launcher's, and many short ones: each is its rank's.
    say = ('i=0; while [ $i -lt 20 ]; do printf "$RANK.. "; sleep 0.01; echo done; i=$((i + 1)); done; '
           'head -c 20000 /dev/zero | tr "\\0" $RANK; echo; yes $RANK | head -n 20000')
    with tempfile.TemporaryDirectory() as folder:
        job = subprocess.run([WICK, "launch", "--mpirun", MPIRUN, "-n", "3", "--logs", folder, "--", "sh", "-c", say],
                             capture_output=True, text=True, timeout=LIMIT)
        count.expect(job.returncode == 0, f"lines: {job.stderr}")
        for rank in "012":
            lines = [f"{rank}.. done"] * 20 + [rank * 20000] + [rank] * 20000
            with open(f"{folder}/attempt-0/rank-{rank}.log") as log:
                count.expect(log.read().split("\n") == lines + [""], f"the lines of rank {rank} in its log")
            printed = [line[4:] for line in job.stdout.split("\n") if line.startswith(f"[{rank}] ")]
            count.expect(printed == lines, f"the lines of rank {rank}")
    # When the time is up, the ranks have ended, and their logs have what they printed.
    with tempfile.TemporaryDirectory() as folder:
        say = 'trap "sleep 0.5; echo ended; exit 1" TERM; echo begun; while true; do sleep 0.1; done'
        job = subprocess.run([WICK, "launch", "--timeout", "3", "--mpirun", MPIRUN, "-n", "2", "--logs", folder, "--", "sh",
                              "-c", say], capture_output=True, text=True, timeout=LIMIT)
        count.expect(job.returncode == 1 and "the time is up" in job.stderr, f"time-out: {job.returncode} {job.stderr}")
        for rank in "01":
            with open(f"{folder}/attempt-0/rank-{rank}.log") as log:
                said = log.read()
            count.expect(said.startswith("begun\n"), f"the log of rank {rank} that was ended: {said!r}")
        left = subprocess.run(["pgrep", "-f", "sleep 0.5; echo ended"], capture_output=True, text=True).stdout
        count.expect(not left, f"ranks behind the time-out: {left}")
    # Under mpirun as it is: a rank that finds the launcher's variables becomes the program.
    say = 'echo "$RANK of $WORLD_SIZE, $LOCAL_RANK, seed $WICK_SEED"'
    _, out, _ = mpirun(2, "launch", "--seed", "7", "--", "sh", "-c", say, program=WICK)
    count.expect(sorted(out.split("\n")) == ["", "0 of 2, 0, seed 7", "1 of 2, 1, seed 7"], f"as it is: {out}")


def random_kills(count):
    """A rank is killed in 20 random steps, with all ranks again or fewer: the weights are those of a run that was not."""
    numbers = random.Random(int(os.environ.get("WICK_TEST_SEED", "1")))
    with tempfile.TemporaryDirectory() as folder:
        _, plain, out, _ = launched("1", folder + "/whole", "-1", "-n", "1", "--seed", "5")
        count.expect(len(plain) == 1, out)
        for i in range(20):
            kind = numbers.choice(["ddp", "1", "2", "3"])
            steps = [numbers.randrange(12) for _ in range(numbers.randrange(1, 4))]
            ranks = numbers.randrange(2, 5)
            least = str(numbers.randrange(1, ranks + 1))
            code, digest, out, _ = launched(kind, f"{folder}/{i}", ",".join(map(str, steps)), "-n", str(ranks), "--restarts", "3",
                                            "--min-ranks", least, "--seed", "5")
            count.expect(code == 0 and digest == plain, f"{i}: {kind} on {ranks}, killed in {steps}: {code}\n{out}")


def main():
    if not WICK:
        PARTS[:] = [part for part in PARTS if part not in ("launch", "random_kills")]
    if not MPIRUN or not os.path.exists(MPIRUN):
        print("SKIP: MPI not installed")
        return 77
    count = Count()
    for part in PARTS:
        {"train": train, "mesh": mesh, "traffic": traffic, "memory": memory, "faults": faults, "launch": launch,
         "random_kills": random_kills}[part](count)
    print(f"{count.passed} passed, {count.failed} failed")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
