#!/usr/bin/env python3
"""Bugs that wick verify must find, locate and show in at most three nodes: tests/verify/injected/*.patch.

usage: injected.py BUILD WORK [NAME...] [--seconds 240] [--models 40]

Their author did not know how wick verify works. Each is planted into a program of its own (planted.py), which looks
at models until one differs that the build's own program finds equal: one that has what the bug is about (models.py),
what people write, as the export corpus (tests/export) holds it, the same in int8, and ONNX's node tests; those
first that the patch speaks of. WORK keeps
what is known by the patch's text: a run that was cut off goes on. A line a patch, then "N passed, N failed".
"""

import argparse
import glob
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NODES = "/usr/share/libonnx-testdata/data/node"
# The models that are also quantized, by recipe.
STATIC = ("Conv1d Conv2d Conv2d_depthwise Conv2d_padded Conv2d_strided Linear Linear_of_rank_4 MLP_block lenet mlp mobilenet "
          "resnet8 residual squeeze_excite unet vit segmenter MultiheadAttention TransformerBlock tagger blocks_of_two").split()
DYNAMIC = "Linear MLP_block gpt mlp transformer LSTM GRU TransformerBlock".split()


class Model:
    def __init__(self, name, path, inputs=()):
        self.name, self.path, self.inputs = name, path, list(inputs)
        with open(path, "rb") as f:
            text = f.read(1 << 20)
        # NodeProto.op_type is field 4, a string.
        self.ops = {m.group(2).decode() for m in re.finditer(rb"\x22([\x02-\x20])([A-Z][A-Za-z0-9]+)", text)
                    if len(m.group(2)) >= m.group(1)[0]}

    def fits(self, words):
        """How much of the patch's words is in the model's name and ops."""
        own = {w.lower() for o in self.ops | {self.name} for w in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", o)}
        own |= {o.lower() for o in self.ops}
        return len(words & own) - 0.01 * len(self.ops)


def written(build, work):
    """The corpus's models, written by its own test."""
    folder, program = os.path.join(work, "corpus"), os.path.join(build, "tests/export/test_export")
    if not os.path.isdir(folder) and os.path.exists(program):
        subprocess.run([program, "--gtest_brief=1", "--gtest_filter=*Corpus*"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env={**os.environ, "WICK_CORPUS_FOLDER": folder + ".part"})
        os.rename(folder + ".part", folder)
    return {os.path.basename(os.path.dirname(p)): p for p in sorted(glob.glob(folder + "/*/model_0.onnx"))}


def quantized(build, work, models):
    out = []
    for recipe, names in (("static", STATIC), ("dynamic", DYNAMIC)):
        for name in names:
            path = os.path.join(work, f"{name}_{recipe}.onnx")
            dims = []
            while name in models and not os.path.exists(path):
                done = subprocess.run([os.path.join(build, "tools/wick/wick"), "quantize", models[name], "--calib",
                                       "sample", "--recipe", recipe, "-o", path, "--quiet", "--seconds", "0.01", *dims,
                                       *(["--observer", "min-max"] if recipe == "static" else [])],
                                      check=False, capture_output=True, text=True)
                free = re.search(r"needs a size for '(\w+)'", done.stderr)
                if done.returncode and (not free or f"{free.group(1)}=16" in dims):
                    print(f"not quantized: {name} {recipe}: {done.stderr.strip()[-200:]}")
                    break
                dims += ["--dim", f"{free.group(1)}=16"] if free else []
            if os.path.exists(path):
                out.append(Model(f"{name}_{recipe}", path))
    return out


def own_models(work):
    """{patch: its model}, or nothing without NumPy."""
    folder = os.path.join(work, "models")
    subprocess.run([sys.executable, os.path.join(HERE, "models.py"), folder], check=False)
    out = {}
    for path in glob.glob(folder + "/*.onnx"):
        stem = path[:-len(".onnx")]
        arrays = sorted(glob.glob(stem + ".inputs/*.npy"))
        out[os.path.basename(stem)] = Model("its own", path, [
            w for a in arrays for w in ("--input", os.path.basename(a)[:-len(".npy")] + "=" + a)])
    return out


def corpus(build, work):
    models = written(build, work)
    out = [Model(n, p) for n, p in models.items()] + quantized(build, work, models)
    for path in sorted(glob.glob(NODES + "/**/*.onnx", recursive=True)):
        folder = os.path.dirname(path)
        inputs = sorted(glob.glob(folder + "/test_data_set_0/input_*.pb"),
                        key=lambda p: int(re.search(r"_(\d+)\.pb", p).group(1)))
        out.append(Model(os.path.basename(folder), path, [w for p in inputs for w in ("--input", p)]))
    return out


def words_of(patch):
    """What the patch speaks of."""
    with open(patch, encoding="utf-8") as f:
        text = f.read()
    head = " ".join(re.findall(r"^(?:Bug|Model): (.*)", text, re.M)) + " " + os.path.basename(patch)
    head += " " + " ".join(re.findall(r"^diff --git a/\S*/(\S+?)\.\w+ ", text, re.M))
    words = set(re.findall(r"[A-Za-z]{3,}", head.replace("_", " ")))
    parts = {p for w in words for p in re.findall(r"[A-Z]?[a-z]+", w)}
    return {w.lower() for w in words | parts} - {"the", "and", "for", "with", "that", "batch", "model", "models", "one", "two"}


def run(command, seconds=60):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return None


def verify(program, model, more):
    """(exit code, the document)"""
    done = run([program, "verify", model.path, *model.inputs, "--json", *more])
    try:
        return (done.returncode, json.loads(done.stdout)) if done else (None, None)
    except ValueError:
        return done.returncode, None


def convert(program, model, file):
    form = ["--quantized", "qdq"] if file.endswith(".qdq.onnx") else []
    return [program, "convert", model.path, "-o", file, "--no-verify", *form]


def trials(touched, order, program, made, most):
    """(model, arguments of wick verify), what is likely first."""
    shaders = any("vulkan" in f for f in touched)
    for m in order:
        if shaders:
            yield m, ["--backend", "vulkan", "--no-passes"]
        else:
            yield m, ["--backend", "cpu,reference"]
        if any(f.startswith("exporter/") for f in touched):
            for file in (made + ".wick", made + ".onnx", made + ".qdq.onnx"):
                done = run(convert(program, m, file))
                if done and done.returncode == 0:
                    yield m, [file, "--no-passes"]
        if order.index(m) < most and not shaders:  # both of Wick's sides may have it wrong
            yield m, ["--against", "onnxruntime", "--no-passes"]


def nodes_of(program, row):
    """The nodes of the repro, 0 where there is none or its command does not show the difference."""
    if not row.get("repro"):
        return 0
    with open(os.path.join(row["repro"], "README.md"), encoding="utf-8") as f:
        text = f.read()
    count = re.search(r"The (?:(\d+) nodes show|node shows) it", text)
    command = re.search(r"^ {4}wick (.*)$", text, re.M)
    if not count or not command:
        return 0
    done = subprocess.run([program, *shlex.split(command.group(1))], cwd=row["repro"], capture_output=True, check=False)
    return int(count.group(1) or 1) if done.returncode == 3 else 0


def look_at(args, patch, own_model, models):
    name = os.path.basename(patch)[:-len(".patch")]
    program = os.path.join(args.work, name)
    planted = run([sys.executable, os.path.join(HERE, "planted.py"), args.build, patch, program], 1200)
    if planted is None or planted.returncode:
        return {"result": "not planted", "why": planted.stderr.strip()[-300:] if planted else "out of time"}
    with open(patch, encoding="utf-8") as f:
        touched = re.findall(r"^diff --git a/(\S+)", f.read(), re.M)
    words = words_of(patch)
    order = ([own_model] if own_model else []) + sorted(models, key=lambda m: -m.fits(words))
    own = os.path.join(args.build, "tools/wick/wick")
    begin, tried = time.monotonic(), 0
    row = {"result": "missed"}
    for model, more in trials(touched, order, program, program, args.models):
        if time.monotonic() > begin + args.seconds:
            break
        tried += 1
        if verify(program, model, more)[0] != 3:
            continue
        if more[0].startswith(program):  # the file too is the bug's: the own program's file must be equal
            run(convert(own, model, own_file := program + ".own" + more[0][len(program):]))
            if verify(own, model, [own_file, *more[1:]])[0] != 0:
                continue
        elif verify(own, model, more)[0] != 0:
            continue
        _, doc = verify(program, model, [*more, "--repro", program + ".repro"])
        first = next(r for r in doc["rows"] if r["verdict"] == "differs")
        row = {"result": "found", "model": model.name, "target": first["target"],
               "node": first["first"]["node"] if first["first"] else first["why"],
               "op": first["first"]["op"] if first["first"] else "", "nodes": nodes_of(program, first)}
        break
    for path in glob.glob(program + "*"):
        if not os.path.isdir(path) and not path.endswith(".json"):
            os.remove(path)
    return {**row, "tried": tried}


def kept(args, patch, own_model, models):
    state = hashlib.sha256()
    for file in [patch] + ([own_model.path] if own_model else []):
        with open(file, "rb") as f:
            state.update(f.read())
    state = state.hexdigest()[:16]
    path = os.path.join(args.work, os.path.basename(patch) + "." + state + ".json")
    if not os.path.exists(path):
        row = look_at(args, patch, own_model, models)
        with open(path + ".tmp", "w", encoding="utf-8") as f:
            json.dump(row, f)
        os.replace(path + ".tmp", path)
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("work")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=240, help="of one bug")
    parser.add_argument("--models", type=int, default=40, help="beside ONNX Runtime")
    args = parser.parse_args()
    args.build, args.work = os.path.abspath(args.build), os.path.abspath(args.work)
    os.makedirs(args.work, exist_ok=True)
    models = corpus(args.build, args.work)
    if not models:
        print("1 skipped: neither the export corpus nor ONNX's node tests (Debian: libonnx-testdata)\n0 passed, 0 failed")
        return 0
    own = own_models(args.work)
    passed, failed = 0, 0
    for patch in sorted(glob.glob(os.path.join(HERE, "injected", "*.patch"))):
        name = os.path.basename(patch)[:-len(".patch")]
        if args.names and name not in args.names:
            continue
        row = kept(args, patch, own.get(name), models)
        good = row["result"] == "found" and 1 <= row["nodes"] <= 3
        passed, failed = passed + good, failed + (not good)
        told = " | ".join(f"{k} {v}" for k, v in row.items() if k != "result")
        print(f"{row['result']:<12} {name:<40} {told}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
