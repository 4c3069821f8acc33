#!/usr/bin/env python3
"""Bugs that wick verify must find: the first of tests/sabotage, in the alphabet, that touch kernels, passes, the
exporter or shaders. They were chosen for other tests, without knowing wick verify.

usage: injected.py BUILD WORK [--count 40] [--seconds 120] [--oracle 25] [--corpus FOLDER...]

Each is planted into a program of its own (planted.py), which verifies the models of the corpus (ONNX's node tests with
their inputs, folders of *.onnx) until one differs that the build's own program finds equal. WORK keeps what is known by the
patch's text: a run that was cut off goes on. A line a patch, then "N found, N missed, N not planted".
"""

import argparse
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TOUCH = ("runtime/kernels/", "graph/passes/", "exporter/", "runtime/backend/vulkan/shaders/")


def chosen(count):
    """The rule."""
    names = []
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/sabotage/*.patch"))):
        with open(path, encoding="utf-8") as f:
            files = re.findall(r"^diff --git a/(\S+)", f.read(), re.M)
        if any(f.startswith(TOUCH) for f in files):
            names.append(path)
    return names[:count]


def corpus(folders):
    models = []
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "**/*.onnx"), recursive=True)):
            inputs = sorted(glob.glob(os.path.join(os.path.dirname(path), "test_data_set_0/input_*.pb")),
                            key=lambda p: int(re.search(r"_(\d+)\.pb", p).group(1)))
            models.append((path, [w for p in inputs for w in ("--input", p)]))
    return models


def words_of(patch):
    """What the patch speaks of: models whose names have these words come first."""
    with open(patch, encoding="utf-8") as f:
        text = f.read()
    head = os.path.basename(patch) + " " + " ".join(re.findall(r"^(?:Test|Breaks): (.*)", text, re.M))
    head += " " + " ".join(re.findall(r"^diff --git a/\S*/(\S+?)\.\w+ ", text, re.M))
    return {w for w in re.findall(r"[a-z]{3,}", re.sub(r"([a-z])([A-Z])", r"\1 \2", head).lower())}


def verify(program, model, inputs, more, repro=None):
    command = [program, "verify", model, *inputs, "--backend", "cpu,reference", "--json", *more]
    if repro:
        command += ["--repro", repro]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return None, None
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, None


def look_at(args, patch, models, work):
    name = os.path.basename(patch)[:-len(".patch")]
    program = os.path.join(work, name)
    planted = subprocess.run([sys.executable, os.path.join(HERE, "planted.py"), args.build, patch, program],
                             capture_output=True, text=True, check=False)
    if planted.returncode:
        return {"result": "not planted", "why": planted.stderr.strip().splitlines()[-1][:200]}
    words = words_of(patch)
    order = sorted(models, key=lambda m: -sum(w in os.path.dirname(m[0]).lower().rsplit("/", 1)[-1] for w in words))
    own = os.path.join(args.build, "tools/wick/wick")
    # All models first; then, beside ONNX Runtime, those that the patch speaks of: what the reader and the plain loops
    # have wrong is the same on both of Wick's sides.
    begin, tried = time.monotonic(), 0
    trials = [(m, []) for m in order] + [(m, ["--against", "onnxruntime"]) for m in order[:args.oracle]]
    for (model, inputs), more in trials:
        if time.monotonic() > begin + args.seconds / 2 and not more:
            continue
        if time.monotonic() > begin + args.seconds:
            break
        tried += 1
        code, doc = verify(program, model, inputs, more)
        if code != 3 or verify(own, model, inputs, more)[0] != 0:
            continue
        repro = os.path.join(work, name + ".repro")
        code, doc = verify(program, model, inputs, more, repro)
        first = next(r for r in doc["rows"] if r["verdict"] == "differs")
        readme = ""
        if first.get("repro"):
            with open(os.path.join(first["repro"], "README.md"), encoding="utf-8") as f:
                readme = f.read()
        count = re.search(r"The (?:(\d+) nodes show|node shows) it", readme)
        os.remove(program)
        return {"result": "found", "model": os.path.basename(os.path.dirname(model)), "target": first["target"],
                "node": first["first"]["node"] if first["first"] else first["why"],
                "nodes": int(count.group(1) or 1) if count else 0}
    os.remove(program)
    return {"result": "missed", "tried": tried}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("work")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--oracle", type=int, default=25, help="models beside ONNX Runtime")
    parser.add_argument("--corpus", nargs="*", default=["/usr/share/libonnx-testdata/data/node",
                                                        os.path.join(ROOT, "tests/conformance/fuzz/cases")])
    args = parser.parse_args()
    args.build, work = os.path.abspath(args.build), os.path.abspath(args.work)
    os.makedirs(work, exist_ok=True)
    models = corpus(args.corpus)
    if not models:
        print("skipped: no ONNX node tests (Debian: libonnx-testdata)")
        return 0
    counts = {"found": 0, "missed": 0, "not planted": 0}
    for patch in chosen(args.count):
        with open(patch, "rb") as f:
            state = hashlib.sha256(f.read()).hexdigest()[:16]
        kept = os.path.join(work, os.path.basename(patch) + "." + state + ".json")
        if os.path.exists(kept):
            with open(kept, encoding="utf-8") as f:
                row = json.load(f)
        else:
            row = look_at(args, patch, models, work)
            with open(kept + ".tmp", "w", encoding="utf-8") as f:
                json.dump(row, f)
            os.replace(kept + ".tmp", kept)
        counts[row["result"]] += 1
        told = " | ".join(f"{k} {v}" for k, v in row.items() if k != "result")
        print(f"{row['result']:<12} {os.path.basename(patch):<48} {told}", flush=True)
    print(", ".join(f"{v} {k}" for k, v in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
