"""beside_ort.py WICK NAME: NAME.onnx in ONNX Runtime, at batches of 1 and 5, against NAME.wick.

Bound: 1e-4 of the largest element; NAME.onnx and NAME.wick through Wick are the same bits.
"""

import os
import subprocess
import sys

import numpy as np
import onnxruntime as ort


def run(wick, model, x):
    np.save("x.npy", x)
    subprocess.run([wick, "run", model, "--input", "x.npy", "-o", "out"], check=True, stdout=subprocess.DEVNULL)
    return np.load("out/logits.npy")


def main():
    wick, name = sys.argv[1:]
    os.makedirs("out", exist_ok=True)
    rng, worst = np.random.default_rng(1), 0.0
    session = ort.InferenceSession(f"{name}.onnx", providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    for batch in (1, 5):
        x = rng.normal(size=[batch, *given.shape[1:]]).astype(np.float32)
        theirs = session.run(None, {given.name: x})[0]
        ours = run(wick, f"{name}.wick", x)
        if run(wick, f"{name}.onnx", x).tobytes() != ours.tobytes():
            sys.exit(f"{name}: .onnx and .wick give different bits")
        worst = max(worst, float(np.abs(ours - theirs).max() / np.abs(theirs).max()))
    if not worst <= 1e-4:
        sys.exit(f"{name}: {worst:.2e} of the largest element apart from ONNX Runtime")
    with open(f"{name}.onnx", "rb") as f:
        norms = f.read().count(b"\x22\x12BatchNormalization")  # op_type
    print(f"{name}: written again, {norms} BatchNormalization, {worst:.1e} of the largest element from ONNX Runtime")


if __name__ == "__main__":
    main()
