#!/usr/bin/env python3
"""Quantized inference against ONNX Runtime and against Wick's own float32, called by `bench.sh int8`.

  bench_int8.py --wick WICK --models DIR [--rounds N] [--seconds S] [--only NAME ...]

The models are the peers' float ones beside what their quant_onnx.py makes of them: Q/DQ with fixed scales
(*_qdq.onnx), dynamic matmuls (*_dynq.onnx). The three sides run in turn in short rounds, because absolute
times drift. A row of a Markdown table for each model and thread count: medians over the rounds of each
side's median, and two ratios, above 1 where Wick's integers are faster: of one round's medians, the middle
round; in brackets of the fastest runs of all; for one thread of the CPU time of a run, too, which other
programs on the machine disturb least. Then where the time goes, by op.
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
HEAD = """| model | threads | Wick int8, ms | ONNX Runtime int8, ms | ratio | Wick f32, ms | f32 / int8 |
|---|---|---|---|---|---|---|"""


def ratio(others, ours, threads):
    """`others` by `ours`, runs of the same rounds: of the medians, (of the fastest), of CPU time."""
    middle = statistics.median(o["p50_ms"] / w["p50_ms"] for o, w in zip(others, ours))
    fastest = min(o["min_ms"] for o in others) / min(w["min_ms"] for w in ours)
    text = f"{middle:.2f} ({fastest:.2f})"
    if threads == 1:
        cpu = statistics.median(o["cpu_ms"] / w["cpu_ms"] for o, w in zip(others, ours))
        text += f", CPU {cpu:.2f}"
    return text


def median_ms(runs):
    return f"{statistics.median(r['p50_ms'] for r in runs):.4f}"


def compare(args, name, model, quantized, threads, have_ort):
    ours, theirs, floats = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        inputs = bench_infer.input_files(quantized, 1, folder) if have_ort else []
        for _ in range(args.rounds):
            ours.append(bench_infer.wick_bench(args.wick, quantized, 1, threads, args.seconds))
            if have_ort:
                theirs.append(bench_infer.ort_bench(quantized, inputs, threads, args.seconds))
                theirs[-1]["p50_ms"] = theirs[-1]["median_ms"]
            floats.append(bench_infer.wick_bench(args.wick, model, 1, threads, args.seconds))
    beside = f"{median_ms(theirs)} | {ratio(theirs, ours, threads)}" if theirs else "| "
    print(f"| {name} | {threads} | {median_ms(ours)} | {beside} | {median_ms(floats)} | "
          f"{ratio(floats, ours, threads)} |", flush=True)


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
    found = []
    print(HEAD, flush=True)
    for name, form in MODELS.items():
        if args.only and name not in args.only:
            continue
        model, quantized = (os.path.join(args.models, f"{name}{end}.onnx") for end in ("", "_" + form))
        if not os.path.exists(model) or not os.path.exists(quantized):
            print(f"SKIP: {name}: {quantized} is not there", flush=True)
            continue
        found.append((name, quantized))
        for threads in (1, 2):
            compare(args, name, model, quantized, threads, have_ort)
    for name, quantized in found:
        print(name, end="")
        bench_infer.split(args, quantized)
    return 0


if __name__ == "__main__":
    sys.exit(main())
