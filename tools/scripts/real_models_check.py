#!/usr/bin/env python3
"""Compares real models with ONNX Runtime's answers: every FOLDER/*/cases.json that get_models.sh wrote.

  real_models_check.py FOLDER --wick build/release/tools/wick/wick [--threads N] [--backend vulkan] [NAME...]

Each case runs from the .onnx and from the .wick that `wick convert` makes of it, step by step, a state fed back
from Wick's own output; the two must be the same bits. The bound is max|d| <= max(20 * noise floor, 2e-5 * largest
element). The noise floor is the larger of two of ONNX Runtime against itself: inputs scaled by 1 + 1e-7 (a tenth of
what cases.json has for 1 + 1e-6), and with its graph optimisations against without. A large quantized segmenter, whose noise floor is its whole range, is judged by
the mean difference (0.01) and by its mask (intersection over union 0.96). A recogniser must read the drawn text.
--backend vulkan: on the device that Wick takes; what it left to the CPU is printed. Nothing run there is a failure.
It re-executes itself with the Python that has numpy (tools/scripts/setup_ort.sh). Exit codes: 0 all agree, 1 some do not.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import ort_run  # noqa: E402

ort_run.reexec()
import numpy as np  # noqa: E402


class Differs(Exception):
    pass


def wick(tool, *arguments):
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Differs(" ".join((done.stderr or f"exit {done.returncode}").split())[:600])
    return done.stdout + done.stderr


ran_on_vulkan = 0  # steps, of all cases


def left_to_cpu(text):
    """The ops that `wick run --backend vulkan` says ran on the CPU, as {name: how many}."""
    global ran_on_vulkan
    line = re.search(r"^vulkan ran (\d+) of \d+ steps(?:; on the CPU[^:]*: (.*))?$", text, re.MULTILINE)
    if line is None:
        raise Differs("not run on Vulkan: " + " ".join(text.split())[:300])
    ran_on_vulkan += int(line[1])
    return {op: int(n) for op, n in re.findall(r"(\w+) \((\d+)\)", line[2] or "")}


def decode(probabilities, keys):
    """CTC, greedy: repeats joined, then blanks (0) dropped."""
    texts = []
    for row in probabilities.argmax(axis=2):
        last, text = 0, ""
        for b in row:
            if b and b != last:
                text += keys[b] if b < len(keys) else "?"
            last = b
        texts.append(text)
    return texts


def fed_back(folder, case):
    """{input: the output of the step before that it holds}, found by what is in the files of the first two steps."""
    steps = case["steps"]
    if len(steps) < 2:
        return {}
    load = lambda entry: np.load(os.path.join(folder, entry["file"]))  # noqa: E731
    return {i["name"]: o["name"] for i in steps[1]["inputs"] for o in steps[0]["outputs"]
            if i["shape"] == o["shape"] and i["dtype"] == o["dtype"] and (load(i) == load(o)).all()}


def judge(ours, theirs, case, name):
    """(difference, its bound, whether it is within) of one output."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise Differs(f"{ours.dtype}{list(ours.shape)}, ONNX Runtime {theirs.dtype}{list(theirs.shape)}")
    if theirs.dtype.kind != "f":
        return 0.0, 1.0, bool((ours == theirs).all())
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    if not np.isfinite(a).all():
        raise Differs("not finite")
    d, largest = float(np.abs(a - b).max()), float(np.abs(b).max())
    if case["ort_jitter1e6_maxabs"].get(name, 0.0) > 0.1 * largest:
        mean = float(np.abs(a - b).mean())
        over, both = ((a > 0.5) | (b > 0.5)).sum(), ((a > 0.5) & (b > 0.5)).sum()
        return mean, 0.01, mean <= 0.01 and (over == 0 or both / over >= 0.96)
    noise = max(case["ort_jitter1e6_maxabs"].get(name, 0.0) / 10, case["ort_opt_vs_noopt_maxabs"].get(name, 0.0))
    bound = max(20 * noise, 2e-5 * largest)
    return d, bound, d <= bound


def check(tool, folder, model, case, work, options):
    """The worst of a case's steps and outputs: (difference, bound)."""
    state, worst, left = {}, (0.0, 1.0), {}
    fed = fed_back(folder, case)
    for number, step in enumerate(case["steps"]):
        answers = []
        for kind, path in model.items():
            inputs, out = [], os.path.join(work, kind)
            for i in step["inputs"]:
                file = os.path.join(folder, i["file"])
                if number > 0 and i["name"] in fed:
                    file = os.path.join(work, f"{kind}.{i['name']}.npy")
                    np.save(file, state[kind, i["name"]])
                inputs += ["--input", f"{i['name']}={file}"]
            shutil.rmtree(out, ignore_errors=True)
            said = wick(tool, "run", path, *inputs, *options, "-o", out)
            if "vulkan" in options:
                left.update(left_to_cpu(said))
            answers.append([np.load(os.path.join(out, o["name"].replace("/", "_") + ".npy")) for o in step["outputs"]])
            for name, source in fed.items():
                state[kind, name] = np.load(os.path.join(out, source.replace("/", "_") + ".npy"))
        for o, direct, saved in zip(step["outputs"], *answers):
            where = f"step {number}: {o['name']}"
            if direct.tobytes() != saved.tobytes():
                raise Differs(f"{where}: .onnx and .wick give different bits")
            try:
                d, bound, good = judge(direct, np.load(os.path.join(folder, o["file"])), case, o["name"])
            except Differs as e:
                raise Differs(f"{where}: {e}") from None
            if not good:
                raise Differs(f"{where}: {d:.2e}, the bound is {bound:.2e}")
            if d / bound > worst[0] / worst[1]:
                worst = (d, bound)
    note = ""
    if "text" in case:
        with open(os.path.join(folder, "ppocr_keys_v1.txt"), encoding="utf-8") as f:
            keys = [""] + [line.rstrip("\r\n") for line in f][:6623] + [" "]
        texts = decode(direct, keys)
        if texts != case["text"]:
            raise Differs(f"reads {texts}, ONNX Runtime {case['text']}")
        note = " reads " + ", ".join(texts)
    if left:
        note += "; on the CPU: " + ", ".join(f"{op} {n}" for op, n in sorted(left.items()))
    return worst, note


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--wick", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--backend", default="cpu", choices=["cpu", "vulkan"])
    args = parser.parse_intermixed_args()
    names = args.names or sorted(n for n in os.listdir(args.folder)
                                 if os.path.exists(os.path.join(args.folder, n, "cases.json")))
    options = ["--threads", str(args.threads), "--backend", args.backend]
    if args.backend == "vulkan":  # what would not pay is to be seen right there too
        options += ["--offload", "all"]
    passed = failed = 0
    for name in names:
        folder = os.path.join(args.folder, name)
        with open(os.path.join(folder, "cases.json")) as f:
            entry = json.load(f)
        work = os.path.join(folder, f"wick.{args.backend}")
        os.makedirs(work, exist_ok=True)
        model = {"onnx": os.path.join(folder, "model.onnx"), "wick": os.path.join(work, "model.wick")}
        try:
            wick(args.wick, "convert", model["onnx"], "-o", model["wick"])
        except Differs as e:
            failed += len(entry["cases"])
            print(f"{name:<14} FAIL {e}", flush=True)
            continue
        for case in entry["cases"]:
            row = f"{name:<14} {case['name']:<12}"
            try:
                (d, bound), note = check(args.wick, folder, model, case, work, options)
                passed += 1
                print(f"{row} {len(case['steps']):>3} steps  worst {d:.2e} of {bound:.2e}{note}", flush=True)
            except Differs as e:
                failed += 1
                print(f"{row} FAIL {e}", flush=True)
        shutil.rmtree(work, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    if args.backend == "vulkan" and ran_on_vulkan == 0:
        print("no step ran on Vulkan")
        return 1
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
