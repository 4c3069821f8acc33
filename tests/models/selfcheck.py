#!/usr/bin/env python3
"""What tools/scripts/models_check.py refuses, and which rows it keeps: selfcheck.py WICK. Exit 77 without ONNX Runtime."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "..", "..", "tools", "scripts")
sys.dont_write_bytecode = True
sys.path[:0] = [SCRIPTS, os.path.join(HERE, "..", "conformance", "fuzz")]
import ort_run  # noqa: E402

ort_run.reexec()
try:
    import numpy as np
    import onnxruntime  # noqa: F401
    import wire
except ImportError:
    print("SKIP: onnxruntime not installed")
    sys.exit(77)

# A wick whose answers are off by a part of themselves, from models that end in what is given.
OFF = """#!{python}
import subprocess, sys, glob, numpy
code = subprocess.call([{tool!r}, *sys.argv[1:]])
if code == 0 and sys.argv[1] == "run" and sys.argv[2].endswith({suffix!r}):
    for path in glob.glob(sys.argv[-1] + "/*.npy"):
        a = numpy.load(path)
        numpy.save(path, (a * (1 + {off})).astype(a.dtype))
sys.exit(code)
"""


def write(folder, name, nodes, inits=()):
    data = wire.model(nodes, [wire.value_info("input", 1, ["batch", 3])], [wire.value_info("y", 1, ["n", 3])], 13,
                      inits=inits)
    with open(os.path.join(folder, name + ".onnx"), "wb") as f:
        f.write(data)
    for k, rows in enumerate((2, 5)):
        x = np.arange(1, 1 + rows * 3, dtype=np.float32).reshape(rows, 3)
        np.save(os.path.join(folder, f"{name}.{k}.input.npy"), x)


def main():
    tool, failures, count = os.path.abspath(sys.argv[1]), [], 0
    with tempfile.TemporaryDirectory() as folder:
        def row(name, *options, wick=tool):
            done = subprocess.run([sys.executable, os.path.join(SCRIPTS, "models_check.py"), folder, "--wick", wick,
                                   "--seconds", "0.02", *options, name], capture_output=True, text=True, check=False)
            line = next((s for s in done.stdout.splitlines() if s.startswith(name + " ")), done.stdout + done.stderr)
            return done.returncode, line

        def expect(what, got, code, text, absent=None):
            nonlocal count
            count += 1
            if got[0] != code or text not in got[1] or (absent and absent in got[1]):
                failures.append(f"{what}: exit {got[0]}, {got[1]}")

        def off(suffix, by):
            path = os.path.join(folder, f"off{suffix}{by}")
            with open(path, "w") as f:
                f.write(OFF.format(python=sys.executable, tool=tool, suffix=suffix, off=by))
            os.chmod(path, 0o755)
            return path

        three = wire.tensor(wire.T(np.array([3], np.float32), 1), "k")
        write(folder, "good", [wire.node("Mul", ["input", "k"], ["y"], {})], [three])
        expect("a model that agrees", row("good"), 0, "2x3, 5x3", "(kept)")
        expect("kept", row("good"), 0, "(kept)")
        expect("--again", row("good", "--again"), 0, "2x3, 5x3", "(kept)")
        np.save(os.path.join(folder, "good.1.input.npy"), np.ones((4, 3), np.float32))
        expect("another input", row("good"), 0, "2x3, 4x3", "(kept)")
        expect("another tool", row("good", wick=off(".onnx", 0)), 0, "2x3, 4x3", "(kept)")
        two = wire.tensor(wire.T(np.array([2], np.float32), 1), "k")
        write(folder, "good", [wire.node("Mul", ["input", "k"], ["y"], {})], [two])
        expect("another model", row("good"), 0, "2x3, 5x3", "(kept)")
        expect("off by 2e-4", row("good", wick=off(".onnx", 2e-4)), 1, "FAIL shape 2x3: y: 2.00e-04 of the largest")
        expect("the .wick alone is off", row("good", wick=off(".wick", 5e-5)), 1, "different bits")
        zero = wire.tensor(wire.T(np.array([0], np.float32), 1), "k")
        write(folder, "zero", [wire.node("Mul", ["input", "k"], ["y"], {})], [zero])
        expect("zero all over", row("zero"), 1, "FAIL shape 2x3: y: float32[2, 3] is empty or all zero")
        # Rows from the third on: empty at the first shape alone.
        bounds = [wire.tensor(wire.T(np.array([v], np.int64), 7), n) for n, v in (("k", 2), ("end", 99))]
        write(folder, "empty", [wire.node("Slice", ["input", "k", "end"], ["y"], {})], bounds)
        expect("empty at one shape", row("empty"), 1, "FAIL shape 2x3: y: float32[0, 3] is empty or all zero")
        expect("no such model", row("absent"), 1, "FAIL")
    print("\n".join(failures))
    print(f"{count - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
