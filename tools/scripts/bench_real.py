#!/usr/bin/env python3
"""Latency of whole models beside ONNX Runtime as a Markdown table, called by `bench.sh real` and `bench.sh latency`.

  bench_real.py --wick WICK [--real DIR] [--peers DIR] [--rounds N] [--seconds S] [--only NAME ...] [--write PAGE.md]

--real: a folder of models with cases.json (tools/scripts/real_models.sh); the inputs are those of the first step of the
first case. --peers: what the peers' export.py wrote; made-up inputs. Both sides get the same files. In a round Wick runs
the .onnx, then the .wick made of it, then ONNX Runtime runs the .onnx; a row has the median over the rounds of their
medians and, in brackets, the fastest run of all. Ratio: ONNX Runtime / Wick's .onnx, of the medians of a round each, in
the middle, so that a disturbed round does not decide (above 1: Wick is faster). Then where Wick's time goes, by op, at
one thread: the regions of If and Loop are seen into. --write puts the tables between the two marks of a page.
"""

import datetime
import glob
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import bench_infer  # noqa: E402

BEGIN, END = "<!-- bench.sh latency writes from here", "<!-- to here -->"


def real_models(folder):
    for cases in sorted(glob.glob(os.path.join(folder, "*", "cases.json"))):
        with open(cases, encoding="utf-8") as f:
            entry = json.load(f)
        where = os.path.dirname(cases)
        step = entry["cases"][0]["steps"][0]
        inputs = [f"{i['name']}={os.path.join(where, i['file'])}" for i in step["inputs"]]
        shapes = " ".join("×".join(map(str, i["shape"])) or "scalar" for i in step["inputs"])
        yield entry["id"], os.path.join(where, "model.onnx"), lambda _, inputs=inputs: inputs, shapes


def peers_models(folder):
    import numpy as np
    import onnxruntime as ort
    for name in bench_infer.PEERS:
        path = os.path.join(folder, name + ".onnx")
        if not os.path.exists(path):
            print(f"SKIP: {name}: {path} is not there", file=sys.stderr)
            continue
        ports = [p.name for p in ort.InferenceSession(path, providers=["CPUExecutionProvider"]).get_inputs()]

        def inputs(scratch, path=path, ports=ports):
            return [f"{n}={f}" for n, f in zip(ports, bench_infer.input_files(path, 1, scratch))]
        with tempfile.TemporaryDirectory() as scratch:
            shapes = " ".join("×".join(map(str, np.load(i.partition("=")[2]).shape)) for i in inputs(scratch))
        yield name, path, inputs, shapes


def wick_run(args, model, inputs, threads, *more):
    command = [args.wick, "bench", model, "--threads", str(threads), "--seconds", str(args.seconds), "--json", *more]
    for text in inputs:
        command += ["--input", text]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)[0]


def ms(value):
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def cell(runs, median):
    return f"{ms(statistics.median(r[median] for r in runs))} ({ms(min(r['min_ms'] for r in runs))})"


def measure(args, name, model, inputs, shapes):
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        files, program = inputs(scratch), os.path.join(scratch, "model.wick")
        subprocess.run([args.wick, "convert", model, "-o", program], check=True, stdout=subprocess.DEVNULL)
        for threads in (1, 2):
            onnx, wick, theirs = [], [], []
            for _ in range(args.rounds):
                onnx.append(wick_run(args, model, files, threads))
                wick.append(wick_run(args, program, files, threads))
                theirs.append(bench_infer.ort_bench(model, files, threads, args.seconds))
            ratio = statistics.median(t["median_ms"] / o["p50_ms"] for o, t in zip(onnx, theirs))
            fastest = min(t["min_ms"] for t in theirs) / min(o["min_ms"] for o in onnx)
            # What other processes take from both is not in it; threads that wait are, so of one thread only.
            cpu = statistics.median(t["cpu_ms"] / o["cpu_ms"] for o, t in zip(onnx, theirs))
            rows.append(f"| {name if threads == 1 else ''} | {shapes if threads == 1 else ''} | {threads} | "
                        f"{cell(onnx, 'p50_ms')} | {cell(wick, 'p50_ms')} | {cell(theirs, 'median_ms')} | "
                        f"{ratio:.2f} ({fastest:.2f}) | {f'{cpu:.2f}' if threads == 1 else ''} |")
            print(rows[-1], file=sys.stderr, flush=True)
        ops = wick_run(args, model, files, 1, "--split")["split_ms"]
    whole = sum(ops.values())
    top = sorted(ops.items(), key=lambda item: -item[1])[:5]
    split = ", ".join(f"{op} {100 * t / whole:.0f} %" for op, t in top)
    return rows, f"| {name} | {ms(whole)} | {split} |", theirs[0]["version"]


def cpu():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.machine()


def write(page, text):
    with open(page, encoding="utf-8") as f:
        old = f.read()
    begin, end = old.index(BEGIN), old.index(END)
    begin = old.index("\n", begin) + 1
    with open(page + ".new", "w", encoding="utf-8") as f:
        f.write(old[:begin] + "\n" + text + "\n" + old[end:])
    os.replace(page + ".new", page)


def main():
    parser = bench_infer.options(__doc__)
    parser.add_argument("--real", metavar="DIR", default="")
    parser.add_argument("--peers", metavar="DIR", default="")
    parser.add_argument("--write", metavar="PAGE.md")
    args = parser.parse_args()
    if not bench_infer.have_onnxruntime("nothing to stand beside"):
        return 0

    models = list(real_models(args.real)) if args.real else []
    models += list(peers_models(args.peers)) if args.peers else []
    models = [m for m in models if not args.only or m[0] in args.only]
    if not models:
        print("SKIP: no models in " + " ".join(filter(None, [args.real, args.peers])))
        return 0
    table, splits, version = [], [], ""
    for model in models:
        rows, split, version = measure(args, *model)
        table += rows
        splits.append(split)
    made = subprocess.run([args.wick, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    text = "\n".join([
        f"{datetime.date.today().isoformat()}, {cpu()}, {os.cpu_count()} logical CPUs; Wick {made}, ONNX Runtime {version}; "
        f"{args.rounds} rounds of {args.seconds} s a side.", "",
        "| model | inputs | threads | Wick .onnx, ms | Wick .wick, ms | ONNX Runtime, ms | ratio | of CPU time |",
        "|---|---|---|---|---|---|---|---|", *table, "",
        "| model | in kernels, ms | of it, at one thread |", "|---|---|---|", *splits, ""])
    if args.write:
        write(args.write, text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
