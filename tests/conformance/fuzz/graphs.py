#!/usr/bin/env python3
"""Random graphs of 5 to 30 nodes, Wick beside ONNX Runtime; what differs is shrunk.

  graphs.py [--count N] [--seed S] [--work DIR] [--modes dyn,const,flat,bits,round] [--shrink N] WICK

Graph I of a seed is the same everywhere. They are made once, in DIR, a hundred a step, and a step that is there is not
made again: a run that was cut off goes on. Needs ONNX Runtime (tools/scripts/setup_ort.sh); without it it says so and
skips. What ONNX Runtime itself gets wrong is listed in explained.py.
"""

import argparse
import collections
import hashlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
VENV = os.environ.get("WICK_ORT_VENV", os.path.join(ROOT, "build", "ort", "venv"))
sys.dont_write_bytecode = True
python = os.path.join(VENV, "bin", "python")
if os.path.abspath(sys.prefix) != os.path.abspath(VENV) and os.path.exists(python):
    os.execv(python, [python] + sys.argv)
try:
    import numpy as np
    import oracle  # noqa: F401
except ImportError as e:
    print(f"1 skipped: onnxruntime not installed ({e}; tools/scripts/setup_ort.sh)")
    print("0 passed, 0 failed")
    sys.exit(0)
import cut, elementwise, generate, index, layout, loss, matmul, parts, reduce, windows  # noqa: F401, E401
import build
import explained
import shrink
from graph import same
from wire import NAMES

STEP = 100


def make_one(seed, number, folder):
    """Graph `number`, as a test folder and as itself; "" or why there is none."""
    g = build.build(seed, number)
    if not g.nodes:
        return "empty"
    try:
        whole = g.expected()
    except Exception as e:
        return "ONNX Runtime refuses the whole: " + str(e)[:200]
    for n, a in zip(g.outputs, whole):
        v = g.values[n].a
        near = a.shape == v.shape and a.dtype == v.dtype and a.dtype.kind == "f"
        if not same(a, v) and not (near and bool(np.all(np.abs(a - v) <= g.bound.get(n, 0.0)))):
            return "ONNX Runtime's whole differs from its nodes: " + n
    g.write(folder)
    with open(folder + "/graph.pickle", "wb") as f:
        pickle.dump(g, f)
    return ""


def make_step(seed, step, folder):
    """The graphs of a step, at once or not at all. Some nodes kill ONNX Runtime (a division by zero): a child makes
    the graphs and says which one it is at; where it dies the next child goes on behind that one."""
    if os.path.exists(folder):
        return
    part = folder + ".part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    start, end, log = step * STEP, (step + 1) * STEP, part + "/none.jsonl"
    while start < end:
        child = os.fork()
        if child == 0:
            for number in range(start, end):
                with open(part + "/at", "w") as f:
                    f.write(str(number))
                why = make_one(seed, number, f"{part}/{number:06d}")
                if why:
                    with open(log, "a") as f:
                        f.write(json.dumps([number, why]) + "\n")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            break
        with open(part + "/at") as f:
            start = int(f.read()) + 1
        shutil.rmtree(f"{part}/{start - 1:06d}", ignore_errors=True)
        with open(log, "a") as f:
            f.write(json.dumps([start - 1, f"ONNX Runtime dies ({status})"]) + "\n")
    os.rename(part, folder)


def kind(why):
    """Of what sort a difference is."""
    if re.match(r"(inputs as constants: )?(output|element)", why):
        return "value"
    return re.sub(r"'[^']*'|-?\d[\d.e+-]*", "#", why)[:60]


def results(args, mode, folder):
    """{case: why} of a step, kept beside it for this very program."""
    stamp = args.program + mode
    kept = f"{folder}/{mode}.json"
    if os.path.exists(kept):
        with open(kept) as f:
            found = json.load(f)
        if found["stamp"] == stamp:
            return found["failures"]
    failures = shrink.run_folder(args.wick, mode, folder)
    with open(kept, "w") as f:
        json.dump({"stamp": stamp, "failures": failures}, f, indent=1)
    return failures


def text(g):
    """A graph of few nodes for people."""

    def of(n):
        v = g.values[n]
        few = f"={v.a.ravel().tolist()}" if v.a.size <= 8 else ""
        return f"{NAMES[v.code]}{list(v.shape)}{few} ({g.made.get(n, 'made')})"

    lines = []
    for n in g.nodes:
        attrs = {k: a if not hasattr(a, "nodes") else n.ops() for k, a in n.attrs.items()}
        lines.append(f"    {n.op}-{g.opset} {', '.join(of(i) if i else '-' for i in n.ins)} {attrs}")
    return "\n".join(lines)[:2000]


def judge(args, mode, case, folder, why):
    """(rule, "") where a difference is explained, else ("", what to look at)."""
    with open(f"{folder}/{case}/graph.pickle", "rb") as f:
        g = pickle.load(f)
    rule = explained.refused(g, why)
    if rule:
        return rule, ""
    small, why = shrink.smaller(args.wick, mode, g, why, kind)
    rule = explained.refused(small, why) or explained.why_not(small, why)
    if rule:
        return rule, ""
    if args.keep:
        keep = f"{args.keep}/{case}-{mode}"
        shutil.rmtree(keep, ignore_errors=True)
        small.write(keep)
    return "", f"{mode} {case}: {len(g.nodes)} nodes, shrunk to {small.size()}: {why[:300]}\n{text(small)}"


def census(folders):
    """How many graphs and nodes there are, and of how many operators."""
    graphs, nodes, ops, none = 0, 0, collections.Counter(), collections.Counter()
    for folder in folders:
        for case in sorted(os.listdir(folder)):
            if os.path.exists(f"{folder}/{case}/graph.pickle"):
                with open(f"{folder}/{case}/graph.pickle", "rb") as f:
                    g = pickle.load(f)
                graphs += 1
                nodes += g.size()
                ops.update(re.findall(r"\w+", g.ops()))
        if os.path.exists(folder + "/none.jsonl"):
            with open(folder + "/none.jsonl") as f:
                none.update(re.sub(r"\d+|:.*", "", json.loads(line)[1]) for line in f)
    print(f"{graphs} graphs, {nodes} nodes of {len(ops)} operators; not made: {dict(none)}")
    return graphs, ops


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("wick")
    p.add_argument("--count", type=int, default=1000)
    p.add_argument("--first", type=int, default=0, help="the first graph's number, of whole hundreds")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--work", default="", help="where graphs and results are kept between runs")
    p.add_argument("--modes", default="dyn,const,flat,bits,round")
    p.add_argument("--shrink", type=int, default=500, help="differences that are shrunk, at most; the rest fail as they are")
    p.add_argument("--keep", default="", help="a folder for what was shrunk and is not explained")
    p.add_argument("--ops", action="store_true", help="print how often each operator was there")
    p.add_argument("--only-make", action="store_true")
    args = p.parse_args()
    with open(args.wick, "rb") as f:
        args.program = hashlib.sha256(f.read()).hexdigest()[:12]
    work = args.work or tempfile.mkdtemp(prefix="wick-fuzz-")
    folders = []
    for s in range(args.first // STEP, (args.first + args.count + STEP - 1) // STEP):
        folders.append(f"{work}/seed{args.seed}-{s:04d}")
        make_step(args.seed, s, folders[-1])
    if args.only_make:
        return 0
    graphs, ops = census(folders)
    if args.ops:
        print(", ".join(f"{k} {v}" for k, v in sorted(ops.items())))
    rules, left, passed = collections.Counter(), [], 0
    for mode in args.modes.split(","):
        found = {(folder, case): why for folder in folders for case, why in results(args, mode, folder).items()}
        passed += graphs - len(found)
        print(f"{mode}: {graphs - len(found)} of {graphs} agree", flush=True)
        for (folder, case), why in found.items():
            if sum(rules.values()) + len(left) >= args.shrink:
                left.append(f"{mode} {case}: {why[:300]}")
                continue
            rule, what = judge(args, mode, case, folder, why)
            if rule:
                rules[rule] += 1
                passed += 1
            else:
                left.append(what)
                print("UNEXPLAINED " + what, flush=True)
    for rule, n in rules.most_common():
        print(f"explained, {n} times: {rule}")
    if not args.work:
        shutil.rmtree(work)
    print(f"{len(left)} unexplained")
    print(f"{passed} passed, {len(left)} failed")
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
