#!/usr/bin/env python3
"""Runs an ONNX model in OpenVINO, on the CPU and in float32, for `wick bench --against openvino`. Needs
tools/scripts/setup_openvino.sh (it re-executes itself with build/openvino's Python).

  openvino_run.py model.onnx --input [NAME=]x.npy ... --serve [--threads N]   runs as it is told: serve() of ort_run.py

OpenVINO's own default on a CPU with bfloat16 is bfloat16, whose answers are up to 5e-3 of the largest output off: here it
computes float32, as the model says, and what a model has in bytes stays bytes.

Exit codes: 0 done, 1 the model failed (the reason on stderr), 3 openvino is not installed.
"""

import argparse
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ort_run  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.environ.get("WICK_OPENVINO_VENV", os.path.join(ROOT, "build", "openvino", "venv"))


def arrays_of(model, given):
    """(port, array) of each input: by name, or in the model's order."""
    import numpy as np
    if len(given) > len(model.inputs):
        raise ValueError(f"{len(given)} inputs given, the model has {len(model.inputs)}")
    arrays = []
    for i, text in enumerate(given):
        name, _, path = text.rpartition("=") if not os.path.exists(text) else ("", "", text)
        arrays.append((model.input(name) if name else model.input(i), np.ascontiguousarray(np.load(path))))
    return arrays


def first_run(ov, args):
    """A run whose inputs lie in place, and the milliseconds from the file to its first answer."""
    core = ov.Core()
    start = time.perf_counter()
    model = core.read_model(args.model)
    reading = time.perf_counter() - start
    arrays = arrays_of(model, args.input)

    start = time.perf_counter()
    model.reshape({port: list(array.shape) for port, array in arrays})
    compiled = core.compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": args.threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    for port, array in arrays:
        request.set_tensor(port, ov.Tensor(array, shared_memory=True))

    def run(kept=arrays):  # which own what a run reads
        request.start_async()
        request.wait()
    run()
    return run, (reading + time.perf_counter() - start) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--input", action="append", default=[], metavar="[NAME=]FILE.npy")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--serve", action="store_true")
    args = parser.parse_args()
    ort_run.reexec(VENV)
    try:
        import numpy  # noqa: F401
        import openvino
    except ImportError as e:
        print(f"openvino_run: {e}; run tools/scripts/setup_openvino.sh", file=sys.stderr)
        return 3
    try:
        run, first_ms = first_run(openvino, args)
    except Exception as e:  # OpenVINO's own exception types share no base
        print("openvino_run: " + " ".join(str(e).split()), file=sys.stderr)  # one line, which is all that wick reads
        return 1
    if args.serve:
        ort_run.serve(run, {"version": openvino.__version__.split("-")[0], "first_answer_ms": first_ms})
    return 0


if __name__ == "__main__":
    sys.exit(main())
