#!/usr/bin/env python3
"""Quantized files that others wrote, counted: how many give the results of their authors or of ONNX Runtime.

  quantized.py WICK [--data DIR] [--models DIR] [--real DIR]

  node      ONNX's node tests of QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, QLinearConv, QLinearMatMul,
            ConvInteger and MatMulInteger, and com.microsoft's MatMulNBits of the contrib archive, each as it is, with
            inputs as constants and from a .wick. DIR (build/test-work) is where they are unpacked. Without the shared
            folder ONNX's own are those of Debian's libonnx-testdata that debian.txt expects to pass
  contrib   com.microsoft's QLinear operators, QGemm and integer matmuls, of which the archive has none: small models
            of random bytes and scales, as they are and with weights as constants, beside ONNX Runtime: sums of products
            to the integer, the others within a step, floats within 1e-5
  peers     what ../shared/peers/quant_onnx.py makes (--models DIR): each node on ONNX Runtime's inputs, by its integer
            kernels and operator by operator, as docs/numerics.md allows
  isnet     isnet_quint8 (--real DIR, of tools/scripts/real_models.sh --large): the mask it makes

A set whose data are not here is left out, and said so. Exit 1 where a set passes less than 98 %, 77 where nothing ran.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(ROOT, "tools", "scripts"))
sys.path.insert(2, os.path.join(HERE, "forms"))
import ort_run  # noqa: E402

ort_run.reexec()
BAR = 98.0
DEBIAN = "/usr/share/libonnx-testdata/data"
SHARED = os.environ.get("WICK_SHARED", os.path.join(ROOT, "..", "shared"))
FAMILY = re.compile(r"test_(quantizelinear|dequantizelinear|dynamicquantizelinear|qlinear|matmulinteger|convinteger)")


def unpack(archive, folder):
    if not os.path.isdir(folder):
        with tarfile.open(os.path.join(SHARED, "onnx", archive)) as tar:
            tar.extractall(folder)


def debian_names(folder):
    with open(os.path.join(HERE, "debian.txt"), encoding="utf-8") as source:
        listed = [line.split()[0] for line in source if line.rstrip().endswith(" dyn const flat")]
    return [name for name in listed if os.path.isdir(os.path.join(DEBIAN, folder, name))]


def node_tests(wick, data):
    """{set: [passed, all, failures]} of ONNX's own tests."""
    sets = {}
    for label, archive, folder, pattern in [
        ("node tests, quantization", "onnx-node-tests-dev.tar.xz", "node", FAMILY),
        ("contrib archive, MatMulNBits", "ms-contrib-tests.tar.xz", "contrib", re.compile("test_ms_matmulnbits")),
    ]:
        root = os.path.join(data, "onnx-" + folder)
        if os.path.exists(os.path.join(SHARED, "onnx", archive)):
            unpack(archive, root)
            names = os.listdir(os.path.join(root, folder))
        elif os.path.isdir(os.path.join(DEBIAN, folder)):
            root, names = DEBIAN, debian_names(folder)
        else:
            print(f"NOT RUN: {label}: no shared data folder (WICK_SHARED)")
            continue
        names = sorted(n for n in names if pattern.match(n))
        row = sets.setdefault(label, [0, 0, []])
        with tempfile.TemporaryDirectory() as work:
            listing, report = os.path.join(work, "list"), os.path.join(work, "report")
            with open(listing, "w", encoding="utf-8") as out:
                out.write("\n".join(names) + "\n")
            for mode in ("dyn", "const", "flat"):
                subprocess.run([wick, "conformance", os.path.join(root, folder), "--list", listing, "--mode", mode,
                                "--json", report], capture_output=True, check=False)
                with open(report, encoding="utf-8") as source:
                    got = json.load(source)
                row[0] += got["passed"]
                row[1] += got["total"]
                row[2] += [f"{name} ({mode}): {why}" for name, why in got["failures"].items()]
    return sets


def contrib_models():
    """(name, model, inputs, steps allowed or None for floats) with random bytes."""
    import numpy as np

    random = np.random.default_rng(5)
    bits = 7 if ort_run.saturates() else 8
    if bits == 7:
        print("weights of 7 bits: ONNX Runtime saturates products of 8 on this machine (no VNNI)")
    for kind, low, high in (("uint8", 0, 256), ("int8", -128, 128)):
        dtype = np.dtype(kind)

        def some(*shape, low=low, high=high, dtype=dtype):
            return random.integers(low, high, shape).astype(dtype)

        def byte(value, dtype=dtype):
            return np.array(value, dtype)

        def weight(*shape):
            return (random.integers(-127, 128, shape) >> (8 - bits)).astype(np.int8)

        def scale(value):
            return np.array(value, np.float32)

        middle = 117 if kind == "uint8" else -5
        for size, out in (("two", 0.25), ("any", 0.0371), ("far", 0.004)):
            s = 0.03125 if size == "two" else 0.02
            x = {"xs": scale(s), "xz": byte(middle)}
            b = {"bs": scale(s * 2), "bz": byte(middle + 9)}
            y = {"ys": scale(out), "yz": byte(middle + 3)}
            many = np.array([0.5, 0.25, 1, 2], np.float32) * np.float32(s)
            made = {
                "QLinearAdd": ({"x": some(20, 50), **x, "b": some(50), **b, **y}, {}, 1),
                "QLinearMul": ({"x": some(20, 50), **x, "b": some(20, 1), **b, **y}, {}, 1),
                "QLinearSigmoid": ({"x": some(500), **x, "ys": scale(1 / 256), "yz": byte(low)}, {}, 1),
                "QLinearLeakyRelu": ({"x": some(500), **x, **y}, {"alpha": 0.1}, 1),
                "QLinearSoftmax": ({"x": some(20, 25), **x, "ys": scale(1 / 256), "yz": byte(low)},
                                   {"opset": 13, "axis": -1}, 1),
                "QLinearAveragePool": ({"x": some(2, 3, 12, 12), **x, **y},
                                       {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}, 1),
                "QLinearGlobalAveragePool": ({"x": some(4, 8, 5, 5), **x, **y}, {}, 1),
                "QLinearWhere": ({"c": some(20, 30) > middle, "x": some(20, 30), **x, "b": some(20, 30), **b, **y}, {}, 1),
                "QLinearConcat": ({**y, "x": some(4, 30), **x, "b": some(4, 20), **b}, {"axis": 1}, 1),
                "QLinearConv": ({"x": some(1, 9, 9, 8), **x, "w": weight(4, 8, 3, 3), "ws": many,
                                 "wz": np.zeros(4, np.int8), **y, "bias": random.integers(-999, 999, 4).astype(np.int32)},
                                {"channels_last": 1, "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}, 0),
                "QGemm": ({"x": some(30, 40), **x, "w": weight(4, 40), "ws": many, "wz": np.zeros(4, np.int8),
                           "bias": random.integers(-999, 999, 4).astype(np.int32), **y}, {"transB": 1}, 0),
                "QGemm-float": ({"x": some(30, 40), **x, "w": weight(4, 40), "ws": scale(s), "wz": np.array(0, np.int8)},
                                {"transB": 1}, None),
                "MatMulIntegerToFloat": ({"x": some(5, 30, 40), "w": weight(40, 4), "xs": x["xs"], "ws": many,
                                          "xz": x["xz"]}, {}, None),
                "DynamicQuantizeMatMul": ({"f": random.standard_normal((30, 40)).astype(np.float32) * np.float32(out),
                                           "w": weight(40, 4), "ws": many}, {}, None),
            }
            for name, (values, attrs, steps) in made.items():
                op = name.split("-")[0]
                for constant in (False, True):
                    # Data inputs stay inputs, and the others become constants, or all stay inputs.
                    data = [k for k in ("c", "x", "f", "b") if k in values]
                    ins = {k: v for k, v in values.items() if not constant or k in data}
                    rest = {k: v for k, v in values.items() if k not in ins}
                    yield (f"{name}-{kind}-{size}-{'const' if constant else 'dyn'}", ordered(op, values, ins, rest, attrs),
                           ins, steps)


def ordered(op, values, ins, inits, attrs):
    """A model of one node of com.microsoft whose inputs stand in the order of `values`."""
    from files import model, n
    return model([n(op, " ".join(values), "y", domain="com.microsoft", **attrs)], ins, "y", 17, 8, inits,
                 imports=[("com.microsoft", 1)])


def contrib_tests(wick):
    import numpy as np
    import onnxruntime as ort
    row, refused, steps_off = [0, 0, []], set(), {}
    with tempfile.TemporaryDirectory() as work:
        for name, model, inputs, steps in contrib_models():
            path, out = os.path.join(work, name + ".onnx"), os.path.join(work, name)
            with open(path, "wb") as file:
                file.write(model)
            try:
                want = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
            except Exception as e:  # its exceptions share no base
                if "NOT_IMPLEMENTED" not in str(e):
                    raise
                refused.add(f"{name.split('-')[0]} of {name.split('-')[-3]}")
                continue
            given = []
            for key, array in inputs.items():
                np.save(os.path.join(work, f"{name}.{key}.npy"), array)
                given += ["--input", f"{key}={os.path.join(work, f'{name}.{key}.npy')}"]
            done = subprocess.run([wick, "run", path, *given, "-o", out], capture_output=True, text=True, check=False)
            row[1] += 1
            if done.returncode != 0:
                row[2].append(f"{name}: {done.stderr.strip()[:200]}")
                continue
            got = np.load(os.path.join(out, "y.npy"))
            if got.dtype != want.dtype or got.shape != want.shape:
                row[2].append(f"{name}: {got.dtype}{got.shape}, ONNX Runtime {want.dtype}{want.shape}")
            elif steps is None:
                # An element by itself, and by a tenth of the largest: sums of products cancel.
                worst = (np.abs(got - want) / (np.abs(want) + 0.1 * np.abs(want).max())).max()
                row[0] += worst <= 1e-5
                row[2] += [f"{name}: {worst:.1e} of an element's room"] if worst > 1e-5 else []
            else:
                apart = np.abs(got.astype(np.int32) - want.astype(np.int32))
                count = steps_off.setdefault(name.split("-")[0], [0, 0])
                count[0] += int((apart > 0).sum())
                count[1] += apart.size
                row[0] += apart.max() <= steps
                row[2] += [f"{name}: {apart.max()} steps"] if apart.max() > steps else []
    if refused:
        print("ONNX Runtime has no kernel for " + ", ".join(sorted(refused)))
    print("a step apart: " + ", ".join(f"{op} {n} of {total}" for op, (n, total) in steps_off.items()))
    return {"contrib QLinear, beside ONNX Runtime": row}


def peers(wick, folder):
    row = [0, 0, []]
    for name in ("lenet_qdq", "squeezenet1_1_qdq", "mobilenet_v2_qdq", "resnet18_qdq", "resnet50_qdq", "gpt_dynq", "mlp_dynq"):
        path = os.path.join(folder, name + ".onnx")
        if not os.path.exists(path):
            print(f"NOT RUN: {path} is not there (../shared/peers/quant_onnx.py)")
            continue
        for more in ([], ["--unfused"]):
            done = subprocess.run([wick, "compare", path, "--against", "onnxruntime", "--nodes", *more],
                                  capture_output=True, text=True, check=False)
            row[1] += 1
            row[0] += done.returncode == 0
            if done.returncode != 0:
                row[2].append(f"{name} {' '.join(more)}: {done.stderr or done.stdout}")
    return {"quant_onnx.py's, node by node": row} if row[1] else {}


def isnet(wick, folder):
    if not os.path.exists(os.path.join(folder, "isnet_quint8", "cases.json")):
        print(f"NOT RUN: {folder}/isnet_quint8 is not there (tools/scripts/real_models.sh --large)")
        return {}
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools/scripts/real_models_check.py"), folder, "--wick", wick,
                           "--threads", "1", "isnet_quint8"], capture_output=True, text=True, check=False)
    print(done.stdout.splitlines()[0] if done.stdout else done.stderr)
    return {"isnet_quint8": [int(done.returncode == 0), 1, [] if done.returncode == 0 else [done.stdout + done.stderr]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wick")
    parser.add_argument("--data", default=os.path.join(ROOT, "build", "test-work"), metavar="DIR")
    parser.add_argument("--models", default="")
    parser.add_argument("--real", default="")
    args = parser.parse_args()
    sets = node_tests(args.wick, args.data)
    try:
        import onnxruntime  # noqa: F401
        sets.update(contrib_tests(args.wick))
        if args.models:
            sets.update(peers(args.wick, args.models))
    except ImportError as e:
        print(f"NOT RUN: onnxruntime not installed ({e}; tools/scripts/setup_ort.sh)")
    if args.real:
        sets.update(isnet(args.wick, args.real))
    if not sets:
        print("SKIP: no shared data folder, onnxruntime not installed")
        return 77
    bad = 0
    for label, (passed, total, failures) in sets.items():
        for failure in failures:
            print(f"FAIL {failure}")
        share = 100 * passed / total
        bad += share < BAR
        print(f"{label}: {passed} of {total} pass, {share:.1f} %")
    passed, total = (sum(row[i] for row in sets.values()) for i in (0, 1))
    print(f"all: {passed} of {total}, {100 * passed / total:.1f} %")
    print(f"{len(sets) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
