#!/usr/bin/env python3
"""The corpus's ONNX files in ONNX Runtime, at every size: each output as Wick's, per element.

  in_ort.py test_export   the program writes the files (WICK_CORPUS_FOLDER); exit 77 without ONNX Runtime

An element may be 1e-5 of the output's largest away, where both runtimes have rounded; integers and bools are equal.
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
BOUND = 1e-5


def arrays(folder, what):
    import numpy as np
    names = sorted((n for n in os.listdir(folder) if n.startswith(what)), key=lambda n: int(n[len(what):-4]))
    return [np.load(os.path.join(folder, n)) for n in names]


def differs(got, want, whose="Wick's"):
    import numpy as np
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype} {got.shape}, {whose} {want.dtype} {want.shape}"
    if got.dtype.kind != "f":
        return "" if np.array_equal(got, want) else "other integers"
    a, b = got.astype(np.float64), want.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    far = np.where(finite, np.abs(np.where(finite, a, 0) - np.where(finite, b, 0)), np.inf)
    largest = float(np.max(np.abs(b[np.isfinite(b)]), initial=1e-30))
    worst = float(np.max(np.where(same, 0, far), initial=0)) / largest
    return "" if worst <= BOUND else f"{worst:.1e} of the largest away"


def main():
    try:
        import onnxruntime as ort
    except ImportError as e:
        print(f"SKIP: {e.name} not installed (tools/scripts/setup_ort.sh)")
        return 77
    passed, failed, runs = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "--gtest_brief=1", "--gtest_filter=*Corpus*"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "WICK_CORPUS_FOLDER": folder})
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        for name in sorted(os.listdir(folder)):
            here = os.path.join(folder, name)
            turns = sorted((t for t in os.listdir(here) if t.isdigit()), key=int)
            faults = []
            # Without an opset asked for a file may be of one that ONNX Runtime does not have yet (Swish).
            for model in sorted(n for n in os.listdir(here) if n.endswith(".onnx") and n != "model_0.onnx"):
                try:
                    session = ort.InferenceSession(os.path.join(here, model), options,
                                                   providers=["CPUExecutionProvider"])
                    for turn in turns:
                        feeds = arrays(os.path.join(here, turn), "in_")
                        want = arrays(os.path.join(here, turn), "out_")
                        got = session.run(None, {i.name: f for i, f in zip(session.get_inputs(), feeds)})
                        runs += 1
                        texts = [differs(g, w) for g, w in zip(got, want)]
                        faults += [f"{model}, turn {turn}, output {k}: {t}" for k, t in enumerate(texts) if t]
                except Exception as e:  # any refusal is a fault of the file
                    faults.append(f"{model}: " + str(e).replace("\n", " ")[:300])
            passed, failed = (passed + 1, failed) if not faults else (passed, failed + 1)
            for fault in faults[:2]:
                print(f"FAIL {name}: {fault}")
    print(f"{passed} programs in ONNX Runtime, {runs} runs over their opsets and sizes")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
