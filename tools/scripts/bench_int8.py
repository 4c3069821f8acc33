#!/usr/bin/env python3
"""Quantized inference against ONNX Runtime and against Wick's own float32, called by `bench.sh int8`.

  bench_int8.py --wick WICK --models DIR [--rounds N] [--seconds S] [--only NAME ...]

The models are the peers' float ones beside what their quant_onnx.py makes of them: Q/DQ with fixed scales
(*_qdq.onnx), dynamic matmuls (*_dynq.onnx). The three sides run in turn in short rounds, because absolute
times drift. A line for each model and thread count: medians over the rounds of each side's median, and two
ratios, above 1 where Wick's integers are faster.
"""

import argparse
import os
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench_infer  # noqa: E402
import ort_run  # noqa: E402

MODELS = {"lenet": "qdq", "squeezenet1_1": "qdq", "mobilenet_v2": "qdq", "resnet18": "qdq", "resnet50": "qdq",
          "gpt": "dynq", "mlp": "dynq"}


def compare(args, name, model, quantized, threads, have_ort):
    ours, theirs, floats = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        inputs = bench_infer.input_files(quantized, 1, folder) if have_ort else []
        for _ in range(args.rounds):
            ours.append(bench_infer.wick_bench(args.wick, quantized, 1, threads, args.seconds)["p50_ms"])
            if have_ort:
                theirs.append(bench_infer.ort_bench(quantized, inputs, threads, args.seconds)["median_ms"])
            floats.append(bench_infer.wick_bench(args.wick, model, 1, threads, args.seconds)["p50_ms"])
    a, f = statistics.median(ours), statistics.median(floats)
    line = f"{name:<13} threads {threads}: wick int8 {a:8.4f} ms, wick f32 {f:8.4f} ms (f32 / int8 {f / a:.2f})"
    if theirs:
        b = statistics.median(theirs)
        line += f", onnxruntime int8 {b:8.4f} ms (onnxruntime / wick {b / a:.2f})"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--wick", required=True)
    parser.add_argument("--models", required=True, metavar="DIR", help="what export.py and quant_onnx.py wrote")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a side's part of a round")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    args = parser.parse_args()
    ort_run.reexec()
    try:
        import numpy  # noqa: F401
        import onnxruntime  # noqa: F401
        have_ort = True
    except ImportError as e:
        print(f"SKIP: {e}: no ratios to ONNX Runtime (tools/scripts/setup_ort.sh)", flush=True)
        have_ort = False
    for name, form in MODELS.items():
        if args.only and name not in args.only:
            continue
        model, quantized = (os.path.join(args.models, f"{name}{end}.onnx") for end in ("", "_" + form))
        if not os.path.exists(model) or not os.path.exists(quantized):
            print(f"SKIP: {name}: {quantized} is not there", flush=True)
            continue
        for threads in (1, 2):
            compare(args, name, model, quantized, threads, have_ort)
        bench_infer.split(args, quantized)
    return 0


if __name__ == "__main__":
    sys.exit(main())
