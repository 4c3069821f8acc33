#!/usr/bin/env python3
"""kill -9 at any moment: training that is killed again and again and resumed ends with the weights, the best epoch and the
metrics of a run that nobody disturbed; a conversion that is killed leaves the old file or the new one, whole.

usage: kills.py WICK [--train N] [--convert N] [--seed N] [--work DIR]

N kills of each. With --work the counts of finished kills stay in DIR, and a run that was cut off goes on. Last line:
"N passed, N failed".
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time


def idx(path, shape, data):
    with open(path, "wb") as f:
        f.write(bytes([0, 0, 8, len(shape)]) + b"".join(struct.pack(">I", d) for d in shape) + data)


def images(folder, rng, train=400, test=60):
    """28 x 28, ten classes told apart by where a band lies."""
    os.makedirs(folder, exist_ok=True)
    for name, count in (("train", train), ("t10k", test)):
        pixels, labels = bytearray(), bytearray()
        for _ in range(count):
            label = rng.randrange(10)
            labels.append(label)
            for y in range(28):
                pixels += bytes(min(255, rng.randrange(64) + (150 if y // 3 == label and x < 20 else 0)) for x in range(28))
        idx(f"{folder}/{name}-images-idx3-ubyte", (count, 28, 28), bytes(pixels))
        idx(f"{folder}/{name}-labels-idx1-ubyte", (count,), bytes(labels))


def metrics(folder):
    """metrics.csv without its two columns of measured time."""
    with open(f"{folder}/metrics.csv") as f:
        rows = [line.rstrip("\n").split(",") for line in f]
    return [row[:7] + row[9:] for row in rows]


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Kills:
    def __init__(self, wick, seed, work):
        self.wick, self.rng, self.work, self.failed = wick, random.Random(seed), work, []

    def killed(self, command, longest):
        """Runs the command and kills it after a random time; True where it was killed before it had ended."""
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True) as run:
            time.sleep(self.rng.random() * longest)
            run.send_signal(signal.SIGKILL)
            _, err = run.communicate()
        if run.returncode not in (0, -signal.SIGKILL):
            self.failed.append(f"{' '.join(command)}: exit {run.returncode}: {err.decode(errors='replace')[-300:]}")
        return run.returncode == -signal.SIGKILL

    def check(self, holds, text):
        if not holds:
            self.failed.append(text)

    def train(self, wanted, done):
        data = f"{self.work}/images"
        images(data, random.Random(7))
        base = [self.wick, "train", "lenet", "--data", data, "--epochs", "3", "--batch", "16", "--seed", "5", "--save-every",
                "2", "--quiet", "--threads", "1"]
        whole = f"{self.work}/whole"
        begin = time.time()
        subprocess.run(base + ["--out", whole], check=True, stdout=subprocess.DEVNULL)
        took = time.time() - begin
        while done < wanted and not self.failed:
            out = f"{self.work}/run"
            shutil.rmtree(out, ignore_errors=True)
            resume, kills = [], 0
            # About as many kills a run as let it come to its end.
            while done + kills < wanted and kills < 12:
                if self.killed(base + ["--out", out] + resume, took * 0.5):
                    kills += 1
                elif not self.failed:
                    break
                resume = ["--resume"] if os.path.exists(f"{out}/last.safetensors") else []
                left = [n for n in os.listdir(out) if ".tmp." in n] if os.path.isdir(out) else []
                self.check(len(left) <= 4, f"train leaves {left}")
            end = subprocess.run(base + ["--out", out] + resume, capture_output=True, text=True, check=False)
            self.check(end.returncode == 0, f"train: {end.stderr[-300:]}")
            if end.returncode == 0:
                for name in ("last.safetensors", "best.safetensors"):
                    self.check(digest(f"{out}/{name}") == digest(f"{whole}/{name}"), f"train: another {name}")
                self.check(metrics(out) == metrics(whole), "train: other metrics")
            done += kills
            yield done

    def convert(self, wanted, done):
        run = f"{self.work}/whole"
        models = [f"{self.work}/a.onnx", f"{self.work}/b.onnx"]
        for model, opset in zip(models, ("13", "17")):
            subprocess.run([self.wick, "export", run, "-o", model, "--opset", opset], check=True, stdout=subprocess.DEVNULL)
        folder = f"{self.work}/converted"
        os.makedirs(folder, exist_ok=True)
        target = f"{folder}/m.wick"
        known, begin = set(), time.time()
        for model in models:
            subprocess.run([self.wick, "convert", model, "-o", target], check=True, stdout=subprocess.DEVNULL)
            known.add(digest(target))
        took = (time.time() - begin) / len(models)
        while done < wanted and not self.failed:
            if self.killed([self.wick, "convert", models[done % 2], "-o", target], took * 1.1):
                done += 1
            self.check(digest(target) in known, "convert: a file that is neither the old one nor the new one")
            left = [n for n in os.listdir(folder) if n != "m.wick"]
            self.check(len(left) <= 1, f"convert leaves {left}")
            if done % 20 == 0:
                load = subprocess.run([self.wick, "inspect", target], capture_output=True, text=True, check=False)
                self.check(load.returncode == 0, f"convert: {load.stderr[-300:]}")
            yield done
        subprocess.run([self.wick, "convert", models[0], "-o", target], check=True, stdout=subprocess.DEVNULL)
        self.check(os.listdir(folder) == ["m.wick"], f"convert leaves {os.listdir(folder)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wick")
    parser.add_argument("--train", type=int, default=12)
    parser.add_argument("--convert", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work")
    given = parser.parse_args()
    work = given.work or tempfile.mkdtemp(prefix="wick_kills_")
    os.makedirs(work, exist_ok=True)
    state_file = f"{work}/kills.json"
    state = {"train": 0, "convert": 0}
    if os.path.exists(state_file):
        with open(state_file) as f:
            state.update(json.load(f))
    kills = Kills(given.wick, given.seed + sum(state.values()), work)
    try:
        for part, wanted in (("train", given.train), ("convert", given.convert)):
            for done in getattr(kills, part)(wanted, state[part]):
                state[part] = done
                with open(state_file, "w") as f:
                    json.dump(state, f)
            print(f"{part}: {state[part]} kills")
    finally:
        if not given.work:
            shutil.rmtree(work, ignore_errors=True)
    for text in kills.failed:
        print("FAILED", text)
    print(f"{sum(state.values())} passed, {len(kills.failed)} failed")
    return 1 if kills.failed else 0


if __name__ == "__main__":
    sys.exit(main())
