#!/usr/bin/env python3
"""quantized_ort.py DIR: runs every DIR/CLASS.NAME.onnx in ONNX Runtime on DIR/CLASS.NAME.in.N.npy and counts by how many
steps its outputs differ from DIR/CLASS.NAME.out.N.npy. CLASS is what is allowed: exact (none), step (one step), or
close (floats, 1e-5 of the largest). One line a model; exit code 1 where one differs by more, 3 without onnxruntime."""

import glob
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.environ.get("WICK_ORT_VENV", os.path.join(ROOT, "build", "ort", "venv"))
python = os.path.join(VENV, "bin", "python")
if os.path.abspath(sys.prefix) != os.path.abspath(VENV) and os.path.exists(python):
    os.execv(python, [python] + sys.argv)
try:
    import numpy as np
    import onnxruntime as ort
except ImportError as e:
    print(f"onnxruntime not installed ({e}; tools/scripts/setup_ort.sh)")
    sys.exit(3)

bad = 0
totals = {}
for model in sorted(glob.glob(os.path.join(sys.argv[1], "*.onnx"))):
    stem = model[:-len(".onnx")]
    kind, name = os.path.basename(stem).split(".", 1)
    try:
        session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
        feeds = {p.name: np.load(f"{stem}.in.{i}.npy") for i, p in enumerate(session.get_inputs())}
        got = session.run(None, feeds)
    except Exception as e:  # noqa: BLE001: whatever it says
        print(f"FAIL {name}: {e}")
        bad += 1
        continue
    for i, y in enumerate(got):
        want = np.load(f"{stem}.out.{i}.npy")
        if y.dtype != want.dtype or y.shape != want.shape:
            print(f"FAIL {name}: {y.dtype}{y.shape} for {want.dtype}{want.shape}")
            bad += 1
        elif kind == "close":
            worst = np.abs(y - want).max() / max(np.abs(want).max(), 1e-30)
            bad += worst > 1e-5
            print(f"{'FAIL ' if worst > 1e-5 else ''}{name}: {y.size} floats, worst {worst:.1e}, {(y != want).sum()} other bits")
        else:
            steps = np.abs(y.astype(np.int32) - want.astype(np.int32))
            worst = int(steps.max(initial=0))
            wrong = worst > (1 if kind == "step" else 0)
            bad += wrong
            family = totals.setdefault(name.split("-")[0], [0, 0, 0])
            for k, n in enumerate([(steps == 0).sum(), (steps == 1).sum(), (steps > 1).sum()]):
                family[k] += int(n)
            print(f"{'FAIL ' if wrong else ''}{name}: {y.size} bytes, {(steps == 1).sum()} one step off, {(steps > 1).sum()} more")
for name, (same, one, more) in sorted(totals.items()):
    print(f"class {name}: {same} equal, {one} one step off, {more} more")
sys.exit(1 if bad else 0)
