#!/usr/bin/env python3
"""The corpus's ONNX files in ONNX Runtime, at every size: each output as Wick's, per element.

  in_ort.py test_export   the program writes the files (WICK_CORPUS_FOLDER); exit 77 without ONNX Runtime

What rounding may do is measured: the same file is run in float64 (in_f64.py). An element of Wick's may be 4 times as
far from that as ONNX Runtime's furthest is, and 1e-6 of the output's largest. Where there is no such run, it may be 1e-5
of the largest from ONNX Runtime's, and how many outputs those are is said. Integers and bools are equal.
"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(ROOT, "tools", "scripts"))
import ort_run  # noqa: E402

ort_run.reexec()
TIMES, REST, BOUND = 4, 1e-6, 1e-5  # BOUND: without a float64 run


def arrays(folder, what):
    import numpy as np
    names = sorted((n for n in os.listdir(folder) if n.startswith(what)), key=lambda n: int(n[len(what):-4]))
    return [np.load(os.path.join(folder, n)) for n in names]


def differs(got, want, whose="Wick's"):
    """'' or how `got` is off, where nothing tells what is exact."""
    import numpy as np
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype} {got.shape}, {whose} {want.dtype} {want.shape}"
    if got.dtype.kind != "f":
        return "" if np.array_equal(got, want) else "other integers"
    a, b = got.astype(np.float64), want.astype(np.float64)
    far, largest = distance(a, b), largest_of(b)
    return "" if far <= BOUND * largest else f"{far / largest:.1e} of the largest away"


class Outputs:
    """What is counted of them."""

    def __init__(self):
        self.exact, self.measured, self.bounded, self.worst = 0, 0, 0, 0.0

    def differs(self, got, want, real):
        """'' or how Wick's `want` is off. `got`: ONNX Runtime's; `real`: of the float64 run, or None."""
        import numpy as np
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"{got.dtype} {got.shape}, Wick's {want.dtype} {want.shape}"
        if got.dtype.kind != "f":
            self.exact += 1
            return "" if np.array_equal(got, want) else "other integers"
        ours, theirs = want.astype(np.float64), got.astype(np.float64)
        if real is None:
            self.bounded += 1
            far, largest = distance(theirs, ours), largest_of(ours)
            return "" if far <= BOUND * largest else f"{far / largest:.1e} of the largest from ONNX Runtime's"
        if real.shape != want.shape:
            return f"{want.shape}, {real.shape} in float64"
        self.measured += 1
        largest, far = largest_of(real), distance(ours, real)
        bar = TIMES * distance(theirs, real) + REST * largest
        self.worst = max(self.worst, far / bar)
        return "" if far <= bar else (f"{far / largest:.1e} of the largest from float64, "
                                      f"ONNX Runtime {distance(theirs, real) / largest:.1e}")


def largest_of(a):
    import numpy as np
    return float(np.max(np.abs(a[np.isfinite(a)]), initial=1e-30))


def distance(a, b):
    """Of the elements that are furthest from each other."""
    import numpy as np
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    far = np.where(finite, np.abs(np.where(finite, a, 0) - np.where(finite, b, 0)), np.inf)
    return float(np.max(np.where(same, 0, far), initial=0))


def real_of(turn, opset, count):
    import numpy as np
    paths = [os.path.join(turn, f"f64_{opset}_{k}.npy") for k in range(count)]
    return [np.load(p) if os.path.exists(p) else None for p in paths]


def run_in_f64(folder):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "in_f64.py")
    if subprocess.run([sys.executable, script, folder], check=False).returncode != 0:
        print("no float64 run: tools/scripts/setup_onnx.sh")
    for name in sorted(os.listdir(folder)):
        for text in sorted(n for n in os.listdir(os.path.join(folder, name)) if n.endswith(".txt")):
            with open(os.path.join(folder, name, text), encoding="utf-8") as f:
                print(f"no float64 run of {name}, opset {text[4:-4]}: {f.read().strip()}")


def main():
    try:
        import onnxruntime as ort
    except ImportError as e:
        print(f"SKIP: {e.name} not installed (tools/scripts/setup_ort.sh)")
        return 77
    passed, failed, runs, outputs = 0, 0, 0, Outputs()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "--gtest_brief=1", "--gtest_filter=*Corpus*"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "WICK_CORPUS_FOLDER": folder})
        run_in_f64(folder)
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        for name in sorted(os.listdir(folder)):
            here = os.path.join(folder, name)
            turns = sorted((t for t in os.listdir(here) if t.isdigit()), key=int)
            faults = []
            for model in sorted(n for n in os.listdir(here) if n.endswith(".onnx")):
                opset = model[len("model_"):-len(".onnx")]
                try:
                    session = ort.InferenceSession(os.path.join(here, model), options,
                                                   providers=["CPUExecutionProvider"])
                    for turn in turns:
                        feeds = arrays(os.path.join(here, turn), "in_")
                        want = arrays(os.path.join(here, turn), "out_")
                        got = session.run(None, {i.name: f for i, f in zip(session.get_inputs(), feeds)})
                        runs += 1
                        real = real_of(os.path.join(here, turn), opset, len(want))
                        texts = [outputs.differs(g, w, r) for g, w, r in zip(got, want, real)]
                        faults += [f"{model}, turn {turn}, output {k}: {t}" for k, t in enumerate(texts) if t]
                except Exception as e:  # any refusal is a fault of the file
                    faults.append(f"{model}: " + str(e).replace("\n", " ")[:300])
            passed, failed = (passed + 1, failed) if not faults else (passed, failed + 1)
            for fault in faults[:2]:
                print(f"FAIL {name}: {fault}")
    print(f"{passed} programs in ONNX Runtime, {runs} runs over their opsets and sizes")
    print(f"outputs: {outputs.measured} against float64 (the furthest at {outputs.worst:.2f} of what it may be), "
          f"{outputs.bounded} without it, {outputs.exact} of integers")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
