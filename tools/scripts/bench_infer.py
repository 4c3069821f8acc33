#!/usr/bin/env python3
"""Inference against ONNX Runtime, called by `bench.sh infer`.

  bench_infer.py --wick WICK --models DIR [--lenet lenet.onnx] [--rounds N] [--seconds S] [--only NAME ...]

Both sides run in turn in short rounds, because absolute times drift. A line for each model, batch and
thread count: the median over the rounds of each side's median, the same of the fastest runs, and the
ratio ONNX Runtime / Wick (above 1: Wick is faster). Then Wick's time by op, at one thread. Without
ONNX Runtime (tools/scripts/setup_ort.sh) Wick's times alone.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ort_run  # noqa: E402


# What the peers' export.py writes.
PEERS = ["mlp", "lenet", "gpt", "squeezenet1_1", "mobilenet_v2", "efficientnet_b0", "resnet18", "resnet50"]


def wick_bench(wick, model, batch, threads, seconds, *more):
    command = [wick, "bench", model, "--batch", str(batch), "--threads", str(threads),
               "--seconds", str(seconds), "--json", *more]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)[0]


def ort_bench(model, inputs, threads, seconds):
    command = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "ort_run.py"),
               model, "--bench", "--threads", str(threads), "--seconds", str(seconds)]
    for path in inputs:
        command += ["--input", path]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def input_files(model, batch, folder):
    """The inputs that `wick bench` makes, as files for ONNX Runtime."""
    import numpy as np
    import onnxruntime as ort
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    paths = []
    for i, port in enumerate(session.get_inputs()):
        shape = [d if isinstance(d, int) else batch for d in port.shape]
        k = np.arange(int(np.prod(shape)))
        array = (k % 251).astype(np.uint8) if port.type == "tensor(uint8)" else \
            (k % 17).astype(np.int64) if port.type == "tensor(int64)" else (k % 17 / 17 - 0.5).astype(np.float32)
        paths.append(os.path.join(folder, f"{i}.{batch}.npy"))
        np.save(paths[-1], array.reshape(shape))
    return paths


def compare(args, name, model, batch, threads, have_ort):
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        inputs = input_files(model, batch, folder) if have_ort else []
        for _ in range(args.rounds):
            ours.append(wick_bench(args.wick, model, batch, threads, args.seconds))
            if have_ort:
                theirs.append(ort_bench(model, inputs, threads, args.seconds))
    a = statistics.median(r["p50_ms"] for r in ours)
    a_min = min(r["min_ms"] for r in ours)
    line = f"{name:<13} batch {batch:<3} threads {threads}: wick {a:8.4f} ms (min {a_min:.4f})"
    if theirs:
        b = statistics.median(r["median_ms"] for r in theirs)
        b_min = min(r["min_ms"] for r in theirs)
        line += f", onnxruntime {b:8.4f} ms (min {b_min:.4f}), ratio {b / a:.2f} (min {b_min / a_min:.2f})"
    print(line, flush=True)


def split(args, model):
    ops = wick_bench(args.wick, model, 1, 1, 2 * args.seconds, "--split")["split_ms"]
    total = sum(ops.values())
    rows = sorted(ops.items(), key=lambda item: -item[1])
    print("  by op: " + ", ".join(f"{op} {ms:.4f} ms {100 * ms / total:.0f} %" for op, ms in rows
                                  if ms > 0.002 * total), flush=True)


def options(doc):
    """What every comparison of models takes."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--wick", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a side's part of a round")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    return parser


def have_onnxruntime(without):
    """Whether it is here, in its own environment from now on; says what goes on without it."""
    ort_run.reexec()
    try:
        import numpy  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as e:
        print(f"SKIP: {e}: {without} (tools/scripts/setup_ort.sh)", flush=True)
        return False
    return True


def main():
    parser = options(__doc__)
    parser.add_argument("--models", required=True, metavar="DIR", help="what export.py wrote")
    parser.add_argument("--lenet", help="a LeNet with a batch of any size (make demo writes one)")
    args = parser.parse_args()
    have_ort = have_onnxruntime("no ratios")

    path = os.path.join(args.models, "{}.onnx").format
    rows = [("lenet", args.lenet, (1, 8, 32)) if args.lenet else ("lenet", path("lenet"), (1,))]
    rows += [(name, path(name), (1,)) for name in PEERS if name != "lenet"]
    for name, model, batches in rows:
        if args.only and name not in args.only:
            continue
        if not os.path.exists(model):
            print(f"SKIP: {name}: {model} is not there", flush=True)
            continue
        for batch in batches:
            for threads in (1, 2):
                compare(args, name, model, batch, threads, have_ort)
        split(args, model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
