#!/usr/bin/env python3
"""Random nodes of the operators' families, over opsets, dtypes, attributes, ranks and forms of inputs, run by
Wick in every mode and compared with the documentation's formula, or with ONNX Runtime.

  run.py [--count N] [--seed S] [--ops Add,Pad] [--modes dyn,const,flat,bits,back] [--keep DIR] WICK

`back` is what Wick writes, run by ONNX Runtime. Needs tools/scripts/setup_ort.sh (it re-executes itself with
build/ort's Python); without ONNX Runtime it says so and skips.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(ROOT, "tools", "scripts"))
import ort_run  # noqa: E402

ort_run.reexec()
try:
    import numpy as np
    import oracle
except ImportError as e:
    print(f"1 skipped: no ONNX Runtime to compare with ({e}; tools/scripts/setup_ort.sh)")
    print("0 passed, 0 failed")
    sys.exit(0)
import cut, elementwise, generate, index, layout, loss, matmul, reduce  # noqa: F401, E401  they fill SPECS
from gen import SPECS
from wire import NAMES, PLAIN, SMALL_FLOATS, SMALL_INTS, Sparse, T, model, node, tensor, value_info


def describe(c):
    def text(t):
        if not isinstance(t, T):
            return "-" if t is None else str(t)
        values = f"={t.a.ravel().tolist()}" if t.a.size <= 8 else ""
        return f"{NAMES[t.code]}{list(t.shape)}{values}"

    attrs = {k: text(v) for k, v in c.attrs.items()}
    outs = [NAMES.get(x, "-") for x in c.outs]
    return f"{c.op}-{c.opset} {' '.join(map(text, c.ins))} {attrs} -> {outs} {c.tag}{c.forms}"


def sparse(t, rng):
    at = np.flatnonzero(t.a)
    by_axis = np.stack(np.unravel_index(at, t.shape), 1) if t.a.ndim else at
    return Sparse(T(t.a.ravel()[at], t.code), T(np.asarray(by_axis if rng.random() < 0.5 else at, np.int64)), t.shape)


def initializer(c, i, t, rng, inits, others):
    """Input i as an initializer of a random encoding."""
    how = str(rng.choice(["raw", "list", "sparse"]))
    if how == "sparse" and (t.code in SMALL_INTS or t.code in SMALL_FLOATS or t.code in (14, 15, 16)):
        how = "raw"
    if how == "sparse":
        others.append(sparse(t, rng).message(f"x{i}"))
    else:
        inits.append(tensor(t, f"x{i}", raw=how == "raw"))
    c.forms += f" x{i}:{how}"
    return how


def write_case(folder, c, want, rng):
    """The node as one of ONNX's test folders. Sizes are told, or symbols, or (rarely) not even the ranks;
    some inputs are initializers; the IR's version and the domain's spelling vary."""
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)

    def put(kind, k, t, name):
        with open(f"{data}/{kind}_{k}.pb", "wb") as f:
            f.write(tensor(t, name, raw=rng.random() < 0.5))

    c.style = ["sizes", "symbols", "unranked"][int(rng.choice(3, p=[0.55, 0.35, 0.1]))]
    ir, forms = int(rng.integers(3, 14)), rng.random() < 0.3
    names = [f"x{i}" if t is not None else "" for i, t in enumerate(c.ins)]
    made = [f"y{i}" if x else "" for i, x in enumerate(c.outs)]
    infos, inits, others, k = [], [], [], 0
    for i, (n, t) in enumerate(zip(names, c.ins)):
        if t is None:
            continue
        if forms and rng.random() < 0.5:
            if initializer(c, i, t, rng, inits, others) != "sparse" and ir < 4:
                infos.append(value_info(n, t.code, t.shape))
            continue
        symbols = [f"d{i}_{d}" for d in range(len(t.shape))]
        infos.append(value_info(n, t.code, {"sizes": t.shape, "symbols": symbols}.get(c.style)))
        put("input", k, t, n)
        k += 1
    results = []
    for k, (n, code) in enumerate((n, x) for n, x in zip(made, c.outs) if x):
        results.append(value_info(n, code, want[k].shape if c.style == "sizes" else None))
        put("output", k, want[k], n)
    domains = [str(rng.choice(["", "", "", "ai.onnx"])) for _ in range(2)]
    with open(f"{folder}/model.onnx", "wb") as f:
        nodes = [node(c.op, names, made, c.attrs, domains[0])]
        f.write(model(nodes, infos, results, c.opset, ir, inits, others, domains[1]))


def explained(c, why):
    """A difference of floats that the dtype's own rounding explains, between the ops of a formula too."""
    m = re.search(r"element \d+: (\S+), expected (\S+)$", why)
    eps = {16: 3e-2, 10: 4e-3, 1: 1e-5}.get(c.tvar)
    if not m or eps is None:
        return False
    return abs(float(m.group(1)) - float(m.group(2))) <= eps * max(abs(float(m.group(2))), c.scale)


def make_cases(args, root):
    cases, untold = {}, collections.Counter()
    for name, make in SPECS:
        if args.ops and name not in args.ops.split(","):
            continue
        for i in range(args.count):
            rng = np.random.default_rng([args.seed, zlib.crc32(name.encode()), i])
            c = make(rng)
            if c is None:
                continue
            want, _ = oracle.expected(c)
            if want is None:
                untold[name] += 1
                continue
            case = f"{len(cases):05d}_{c.op}"
            write_case(os.path.join(root, case), c, want, rng)
            cases[case] = (c, want)
    if untold:
        print("nobody knows the result of:", ", ".join(f"{k} ({v})" for k, v in untold.items()))
    return cases


def failures_of(args, mode, root, cases):
    report = os.path.join(root, mode + ".json")
    subprocess.run([args.wick, "conformance", root, "--mode", mode, "--json", report], stdout=subprocess.DEVNULL)
    with open(report) as f:
        found = json.load(f)["failures"]
    # A rank that neither the file nor the operator tells is refused when the file is read.
    return {
        k: why
        for k, why in found.items()
        if not explained(cases[k][0], why)
        and not (cases[k][0].style == "unranked" and "rank of its input must be known" in why)
    }


def written_back(args, root, cases):
    failures = {}
    for case, (c, want) in cases.items():
        plain = all(t is None or t.code in PLAIN for t in c.ins) and all(not x or x in PLAIN for x in c.outs)
        if c.style != "sizes" or not plain:
            continue
        source, back = f"{root}/{case}/model.onnx", f"{root}/{case}/back.onnx"
        p = subprocess.run([args.wick, "convert", source, "-o", back], capture_output=True, text=True)
        if p.returncode != 0:
            failures[case] = "is not written: " + p.stderr.strip().replace(source, "")
            continue
        try:
            s = oracle.session(back, optimize=True)
            got = s.run(None, {i.name: c.ins[int(i.name[1:])].a for i in s.get_inputs()})
        except Exception as e:
            if not re.search("NOT_IMPLEMENTED|MLDataType|is not supported in", str(e)):  # has no kernel
                failures[case] = "ONNX Runtime: " + str(e)
            continue
        scalar = c.op == "NonZero" and not c.ins[0].shape  # where ONNX Runtime does as numpy, not as it should
        for g, w in zip(got, want):
            why = oracle.differs(np.asarray(g), w)
            if why and not scalar:
                failures[case] = why
    return failures


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("wick")
    p.add_argument("--count", type=int, default=20, help="of each operator")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--ops", default="")
    p.add_argument("--modes", default="dyn,const,flat,bits")
    p.add_argument("--keep", default="", help="a new folder for the cases")
    args = p.parse_args()
    if args.keep:
        os.makedirs(args.keep)
    with tempfile.TemporaryDirectory() as temporary:
        root = args.keep or temporary
        cases = make_cases(args, root)
        passed = failed = 0
        for mode in args.modes.split(","):
            found = written_back(args, root, cases) if mode == "back" else failures_of(args, mode, root, cases)
            passed, failed = passed + len(cases) - len(found), failed + len(found)
            groups = collections.defaultdict(list)
            for case, why in found.items():
                groups[cases[case][0].op + re.sub(r"-?\d[\d.e+-]*", "#", why)[:80]].append((case, why))
            for items in groups.values():
                case, why = items[0]
                c = cases[case][0]
                print(f"{mode}: {len(items)} like {case} ({c.style}): {describe(c):.400}\n    {why:.300}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
