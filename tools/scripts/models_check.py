#!/usr/bin/env python3
"""Compares whole models with ONNX Runtime: each of FOLDER's NAME.onnx at the two shapes of its inputs.

  models_check.py FOLDER --wick build/release/tools/wick/wick [--again] [NAME...]

Wick answers twice at each shape, once from the .onnx and once from the .wick that `wick convert` makes of it: the
two must be the same bits, and both within 1e-4 of ONNX Runtime's largest element, output by output (integers are
equal). An output that is empty, or zero all over, compares nothing: its row fails. The last columns are a run of
each at the first shape on one thread, in ms: only the order of magnitude counts where others use the machine.

A row that agreed is kept in FOLDER/NAME.row and not run again while the tool, the model, its inputs, this script and
ONNX Runtime are the same; --again runs it all the same. Exit codes: 0 all agree, 1 some do not, 3 onnxruntime is not
installed.
"""

import argparse
import hashlib
import json
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


def check(tool, folder, name, seconds):
    """One row: (shapes, worst difference, our ms, theirs). Differs says what went wrong and where."""
    import onnxruntime as ort
    import numpy as np
    model, work = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + ".work")
    os.makedirs(work, exist_ok=True)
    program = os.path.join(work, "model.wick")
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = ort_run.exact_session(model, options)
    wick(tool, "convert", model, "-o", program)
    names = [o.name for o in session.get_outputs()]
    worst, shapes, feeds = 0.0, [], []
    for k in range(2):
        feed = os.path.join(folder, f"{name}.{k}.input.npy")
        x = np.load(feed)
        feeds.append(x)
        shapes.append("x".join(map(str, x.shape)))
        theirs = session.run(None, {"input": x})
        for n, c in zip(names, theirs):
            if not c.any():
                raise Differs(f"shape {shapes[-1]}: {n}: {c.dtype}{list(c.shape)} is empty or all zero in ONNX Runtime "
                              "too: the comparison says nothing")
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
            worst = max(worst, d)
    ours_ms = wick_ms(tool, program, session.get_inputs()[0].shape, feeds[0].shape, seconds)
    shutil.rmtree(work, ignore_errors=True)
    return shapes, worst, ours_ms, ort_ms(session, feeds[0], seconds)


def wick_ms(tool, program, declared, shape, seconds):
    """The median of `wick bench`, whose input is random: of a detector about the same work."""
    sizes = [o for d, n in zip(declared, shape) if isinstance(d, str)
             for o in (("--batch", str(n)) if d == "batch" else ("--dim", f"{d}={n}"))]
    done = subprocess.run([tool, "bench", program, *sizes, "--threads", "1", "--seconds", str(seconds), "--json"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Differs("wick bench: " + " ".join(done.stderr.split())[:300])
    return json.loads(done.stdout)[0]["p50_ms"]


def ort_ms(session, x, seconds):
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        session.run(None, {"input": x})
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times)[len(times) // 2]


def key_of(tool, folder, name):
    """A digest of everything a row says something about."""
    import onnxruntime as ort
    digest = hashlib.sha256(ort.__version__.encode())
    files = [f"{name}.onnx", f"{name}.0.input.npy", f"{name}.1.input.npy"]
    for path in [tool, os.path.abspath(__file__), *(os.path.join(folder, f) for f in files)]:
        with open(path, "rb") as f:
            digest.update(hashlib.file_digest(f, "sha256").digest())
    return digest.hexdigest()


def kept_row(path, key):
    try:
        with open(path) as f:
            by, row = f.read().split("\n")[:2]
    except (FileNotFoundError, ValueError):
        return None
    return row if by == key else None


def nodes_of(tool, model):
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
    parser.add_argument("--again", action="store_true", help="kept rows, too")
    parser.add_argument("--seconds", type=float, default=1, help="of timing, each")
    args = parser.parse_intermixed_args()
    ort_run.reexec()
    try:
        import numpy  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as e:
        print(f"onnxruntime not installed: {e}", file=sys.stderr)
        return 3
    names = args.names or sorted(f[:-5] for f in os.listdir(args.folder) if f.endswith(".onnx"))
    print(f"{'model':<40} {'nodes':>6}  {'shapes':<28} {'worst':>9} {'wick ms':>9} {'ort ms':>9}")
    failed = 0
    for name in names:
        kept = os.path.join(args.folder, name + ".row")
        try:
            key = key_of(args.wick, args.folder, name)
            row = None if args.again else kept_row(kept, key)
            if row:
                print(row, "(kept)", flush=True)
                continue
            shapes, worst, ours, theirs = check(args.wick, args.folder, name, args.seconds)
        except Exception as e:
            failed += 1
            print(f"{name:<40} FAIL {e}", flush=True)
            continue
        row = (f"{name:<40} {nodes_of(args.wick, os.path.join(args.folder, name + '.onnx')):>6}  "
               f"{', '.join(shapes):<28} {worst:9.2e} {ours:9.2f} {theirs:9.2f}")
        with open(kept, "w") as f:
            f.write(f"{key}\n{row}\n")
        print(row, flush=True)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
