#!/usr/bin/env python3
"""Compares whole models with ONNX Runtime: each of FOLDER's NAME.onnx at the two shapes of its inputs.

  models_check.py FOLDER --wick build/release/tools/wick/wick [--keep] [NAME...]

Wick answers twice at each shape, once from the .onnx and once from the .wick that `wick convert` makes of it: the
two must be the same bits, and both within 1e-4 of ONNX Runtime's largest element, output by output (integers are
equal). A row that agreed is kept in FOLDER/NAME.row and not run again by the same tool. Exit codes: 0 all agree, 1
some do not, 3 onnxruntime is not installed.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import ort_run  # noqa: E402

TOLERANCE = 1e-4


class Differs(Exception):
    pass


def difference(ours, theirs):
    """The largest difference over the largest element; inf where shape, dtype or what is finite differ."""
    import numpy as np
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise Differs(f"{ours.dtype}{list(ours.shape)}, ONNX Runtime {theirs.dtype}{list(theirs.shape)}")
    if theirs.size == 0:
        return 0.0
    if theirs.dtype.kind != "f":
        if not (ours == theirs).all():
            raise Differs(f"{int((ours != theirs).sum())} of {theirs.size} {theirs.dtype} differ")
        return 0.0
    finite = np.isfinite(theirs)
    if not (finite == np.isfinite(ours)).all():
        raise Differs("not finite in one only")
    if not finite.any():
        return 0.0
    a, b = ours[finite].astype(np.float64), theirs[finite].astype(np.float64)
    largest = np.abs(b).max()
    return float(np.abs(a - b).max() / largest) if largest > 0 else float(np.abs(a).max())


def wick(tool, *arguments):
    start = time.perf_counter()
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr or f"exit {done.returncode}").strip()
        raise Differs(" ".join(lines.split())[:600])
    return time.perf_counter() - start


def outputs(tool, model, feed, folder, names):
    import numpy as np
    shutil.rmtree(folder, ignore_errors=True)
    wick(tool, "run", model, "--input", feed, "-o", folder)
    return [np.load(os.path.join(folder, n + ".npy")) for n in names]


def check(tool, folder, name):
    """One row: (shapes, worst difference). Differs says what went wrong and where."""
    import onnxruntime as ort
    import numpy as np
    model, work = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + ".work")
    os.makedirs(work, exist_ok=True)
    program = os.path.join(work, "model.wick")
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    wick(tool, "convert", model, "-o", program)
    names = [o.name for o in session.get_outputs()]
    worst, shapes, empty = 0.0, [], True
    for k in range(2):
        feed = os.path.join(folder, f"{name}.{k}.input.npy")
        x = np.load(feed)
        shapes.append("x".join(map(str, x.shape)))
        theirs = session.run(None, {"input": x})
        direct = outputs(tool, model, feed, os.path.join(work, "onnx"), names)
        saved = outputs(tool, program, feed, os.path.join(work, "wick"), names)
        for n, a, b, c in zip(names, direct, saved, theirs):
            try:
                d = difference(a, c)
            except Differs as e:
                raise Differs(f"shape {shapes[-1]}: {n}: {e}") from None
            if d > TOLERANCE:
                raise Differs(f"shape {shapes[-1]}: {n}: {d:.2e} of the largest output")
            if a.tobytes() != b.tobytes():
                raise Differs(f"shape {shapes[-1]}: {n}: .onnx and .wick give different bits")
            worst, empty = max(worst, d), empty and not c.any()
    if empty:
        raise Differs("every output is empty or zero: the comparison says nothing")
    shutil.rmtree(work, ignore_errors=True)
    return shapes, worst


def nodes_of(tool, model):
    import json
    done = subprocess.run([tool, "inspect", model, "--json"], capture_output=True, text=True, check=False)
    try:
        return len(json.loads(done.stdout)["nodes"])
    except (ValueError, KeyError, TypeError):
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--wick", required=True)
    parser.add_argument("--again", action="store_true", help="rows kept by the same tool, too")
    args = parser.parse_intermixed_args()
    ort_run.reexec()
    try:
        import numpy  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as e:
        print(f"onnxruntime not installed: {e}", file=sys.stderr)
        return 3
    with open(args.wick, "rb") as f:
        tool_hash = hashlib.sha256(f.read()).hexdigest()[:16]
    names = args.names or sorted(f[:-5] for f in os.listdir(args.folder) if f.endswith(".onnx"))
    print(f"{'model':<40} {'nodes':>6}  {'shapes':<28} {'worst':>9} {'s':>6}")
    failed = 0
    for name in names:
        kept = os.path.join(args.folder, name + ".row")
        if not args.again and os.path.exists(kept):
            with open(kept) as f:
                by, row = f.read().split("\n")[:2]
            if by == tool_hash:
                print(row, "(kept)", flush=True)
                continue
        start = time.perf_counter()
        try:
            shapes, worst = check(args.wick, args.folder, name)
        except Exception as e:
            failed += 1
            print(f"{name:<40} FAIL {e}", flush=True)
            continue
        row = (f"{name:<40} {nodes_of(args.wick, os.path.join(args.folder, name + '.onnx')):>6}  "
               f"{', '.join(shapes):<28} {worst:9.2e} {time.perf_counter() - start:6.1f}")
        with open(kept, "w") as f:
            f.write(f"{tool_hash}\n{row}\n")
        print(row, flush=True)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
