#!/usr/bin/env python3
"""Our quantized files in ONNX Runtime, node by node: the table of docs/use/quantization.md.

  quantized_nodes.py --wick WICK --models DIR [--only NAME ...] [--keep DIR]

DIR has the peers' float models (../shared/peers/export.py). Each is calibrated on eight batches of random numbers,
quantized (`wick quantize`), and written as QDQ and as QOperator. On another batch every node gets ONNX Runtime's own
inputs (`wick compare --against onnxruntime --nodes`); a cell has the results that are a step apart, of how many.
"fused": ONNX Runtime's integer kernels; "as floats": the same QDQ file operator by operator. Exit 1 where a class is
beyond what docs/numerics.md allows, 77 without ONNX Runtime or models.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import ort_run  # noqa: E402

MODELS = ["lenet", "squeezenet1_1", "mobilenet_v2", "resnet18", "gpt"]
CLASSES = ["Conv", "Gemm", "MatMul", "MaxPool", "Relu", "Add", "Mul", "AveragePool", "Table", "QuantizeLinear",
           "moved or chosen"]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done


def batch(np, inputs, seed):
    """{name: array} of a model's inputs; sizes that are free are 1."""
    random = np.random.default_rng(seed)
    arrays = {}
    for i in inputs:
        shape = [d if isinstance(d, int) else 1 for d in i.shape]
        if "int64" in i.type:
            arrays[i.name] = random.integers(0, 256, shape)
        else:
            arrays[i.name] = random.standard_normal(shape).astype(np.float32)
    return arrays


def quantize(np, ort, wick, model, folder, name):
    """(qdq, qoperator, arguments of a test batch) of a float model of one input."""
    inputs = ort.InferenceSession(model).get_inputs()
    calib = os.path.join(folder, f"{name}.calib")
    os.makedirs(calib, exist_ok=True)
    for seed in range(8):
        for array in batch(np, inputs, seed).values():
            np.save(os.path.join(calib, f"{seed}.npy"), array)
    qdq, operators = (os.path.join(folder, f"{name}.{form}.onnx") for form in ("qdq", "qoperator"))
    run(wick, "quantize", model, "--recipe", "static", "--observer", "min-max", "--calib", calib, "-o", qdq, "--seconds", "0.01", "--quiet")
    run(wick, "convert", qdq, "--quantized", "qoperator", "-o", operators)
    given = []
    for key, array in batch(np, inputs, 1000).items():
        file = os.path.join(folder, f"{name}.{len(given)}.npy")
        np.save(file, array)
        given += ["--data", f"{key}={file}"]
    return qdq, operators, given


def classes_of(counts):
    """{class: [differing, all]} and {"float": the worst difference}."""
    cells, worst = {}, 0.0
    for name, c in counts["integers"].items():
        cell = cells.setdefault(name.split(",")[0], [0, 0])
        cell[0] += c["one_step"] + c["more"]
        cell[1] += c["equal"] + c["one_step"] + c["more"]
    for c in counts["floats"].values():
        worst = max(worst, c["worst"])
    return cells, worst


def table(rows):
    used = [c for c in CLASSES if any(c in cells for _, cells, _ in rows)]
    assert not {c for _, cells, _ in rows for c in cells} - set(CLASSES), rows
    lines = ["| model, file | " + " | ".join(used) + " | floats, worst |", "|---" * (len(used) + 2) + "|"]
    for label, cells, worst in rows:
        shown = [f"{cells[c][0]} of {cells[c][1]:,}" if c in cells else "" for c in used]
        lines.append(f"| {label} | " + " | ".join(shown) + f" | {worst:.0e} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--wick", required=True)
    parser.add_argument("--models", required=True, metavar="DIR")
    parser.add_argument("--only", nargs="*", default=MODELS, metavar="NAME")
    parser.add_argument("--keep", metavar="DIR", help="where the quantized files stay")
    args = parser.parse_args()
    ort_run.reexec()
    try:
        import numpy as np
        import onnxruntime as ort
    except ImportError as e:
        print(f"SKIP: {e}: nothing to compare with (tools/scripts/setup_ort.sh)")
        return 77
    rows, beyond = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or temporary
        os.makedirs(folder, exist_ok=True)
        for name in args.only:
            model = os.path.join(args.models, name + ".onnx")
            if not os.path.exists(model):
                print(f"SKIP: {model} is not there (../shared/peers/export.py)")
                continue
            qdq, operators, given = quantize(np, ort, args.wick, model, folder, name)
            for form, file, more in [("QDQ, fused", qdq, []), ("QDQ, as floats", qdq, ["--unfused"]),
                                     ("QOperator", operators, ["--unfused"])]:
                done = run(args.wick, "compare", file, "--against", "onnxruntime", "--nodes", "--json", *more, *given)
                beyond += done.returncode != 0
                if done.returncode != 0:
                    print(f"BEYOND {name}, {form}:\n{done.stdout}", flush=True)
                counts = json.loads(done.stdout)
                rows.append((f"{name}, {form}", *classes_of(counts)))
    if not rows:
        return 77
    total = {}
    for _, cells, _ in rows:
        for c, (differing, all_) in cells.items():
            sums = total.setdefault(c, [0, 0])
            sums[0] += differing
            sums[1] += all_
    print(table(rows + [("all", total, max(worst for _, _, worst in rows))]))
    print(f"{len(rows) - beyond} passed, {beyond} failed")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
