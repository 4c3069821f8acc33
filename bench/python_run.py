#!/usr/bin/env python3
"""What a call of run() costs in Python: wick beside onnxruntime, one thread, the least of several rounds.

  python_run.py [MODEL.onnx]...     a LeNet, say; always also models of one op, whose time is nearly all overhead

Needs numpy and onnxruntime, and finds the package as tests/python does (WICK_BUILD). Prints microseconds a call, and
milliseconds for importing.
"""

import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "python"))

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import support  # noqa: E402
import wick  # noqa: E402


def least(call, seconds=0.3, rounds=9):
    """Microseconds of a call: the least mean of several rounds, since other work only adds."""
    begin = time.perf_counter()
    call()
    count = max(1, int(seconds / rounds / max(1e-7, time.perf_counter() - begin)))
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - begin) / count)
    return best * 1e6


def opened(ort, model):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def many(count):
    """One Sum of `count` inputs."""
    names = [f"x{i}" for i in range(count)]
    return support.onnx([("Sum", names, ["y"], {})], [(n, 1, ["n"]) for n in names], [("y", 1, ["n"])], 13, 8)


def importing(code):
    environ = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    line = f"import time, numpy; b = time.perf_counter(); {code}; print((time.perf_counter() - b) * 1e3)"
    return min(float(subprocess.check_output([sys.executable, "-c", line], env=environ)) for _ in range(9))


def main():
    models = [("Relu of 10", support.onnx([("Relu", ["x"], ["y"], {})], [("x", 1, ["n"])], [("y", 1, ["n"])], 13, 8))]
    models += [(f"Sum of {n} inputs", many(n)) for n in (2, 8)]
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            models.append((os.path.basename(path), file.read()))
    print(f"{'us a call':<20} {'wick':>9} {'onnxruntime':>12}")
    for name, model in models:
        ours, theirs = opened(wick, model), opened(onnxruntime, model)
        sizes = [[d if isinstance(d, int) else 1 if len(a.shape) > 1 else 10 for d in a.shape] for a in theirs.get_inputs()]
        kinds = [wick.OrtValue.ortvalue_from_shape_and_type([1], a.type).numpy().dtype for a in theirs.get_inputs()]
        feed = {a.name: np.ones(s, k) for a, s, k in zip(theirs.get_inputs(), sizes, kinds)}
        print(f"{name:<20} {least(lambda: ours.run(None, feed)):9.2f} {least(lambda: theirs.run(None, feed)):12.2f}")
    print(f"{'ms to import':<20} {importing('import wick; wick.InferenceSession'):9.2f} {importing('import onnxruntime'):12.2f}")


if __name__ == "__main__":
    main()
