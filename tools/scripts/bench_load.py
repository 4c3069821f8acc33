#!/usr/bin/env python3
"""Load times: from a model file to a session that can run, Wick and ONNX Runtime in turn.

  bench_load.py --wick TOOL [--models DIR] [--rounds N] [--threads N] [graphs] [NAME...]

`graphs`: 40,000-node graphs of several forms, made here; each is to load in a second. NAME: models of DIR, from
their .onnx and from a .wick with packed weights, beside ONNX Runtime's session creation, and the peak RSS of each.
The limit is on Wick's first load of a process beside ONNX Runtime's second of its own, when its library is warm;
second beside second is printed too. A process a measurement, the sides in turn, medians, after a first round that warms
the page cache; CPU time (user and system) stands beside the wall clock, which a busy machine stretches. --json FILE
keeps the figures. Exit 1: a limit is passed.
"""

import argparse
import json
import os
import statistics
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import ort_run  # noqa: E402

NODES = 40000
LIMIT_MS = 1000.0
LIMITS = {"wick": 0.15, "onnx": 0.6}


# -- just enough of protobuf's wire format and of ONNX's messages
def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, payload):
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    if isinstance(payload, str):
        payload = payload.encode()
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def integer(name, value):
    return field(5, field(1, name) + field(3, value) + field(20, 2))


def real(name, value):
    return field(5, field(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1))


def node(op, inputs, outputs, *attributes, name=""):
    return field(1, b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) +
                 field(3, name or outputs[0]) + field(4, op) + b"".join(attributes))


def tensor(name, dims, values, kind=1):
    pack = {1: "f", 7: "q"}[kind]
    return field(5, b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, name) +
                 field(9, struct.pack(f"<{len(values)}{pack}", *values)))


def port(number, name, dims):
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))


def model(body, x=(1, 16)):
    ports = port(11, "x", x) + field(12, field(1, "y") + field(2, field(1, field(1, 1))))
    return field(1, 8) + field(7, body + field(2, "g") + ports) + field(8, field(1, "") + field(2, 13))


def names(n, last):
    return ["x"] + [f"v{i}" for i in range(n - 1)] + [last]


def chain(n):
    v = names(n, "y")
    return model(b"".join(node(("Relu", "Sigmoid", "Abs")[i % 3], [v[i]], [v[i + 1]]) for i in range(n)))


def fan_in(n):
    ways = ("Relu", "Sigmoid", "Abs", "Neg", "Exp", "Tanh")
    first = [node(op, ["x"], [op]) for op in ways]
    wide = [node("Add", [ways[i % 6], f"w{i - 1}" if i else "x"], [f"w{i}"]) for i in range(n - 7)]
    return model(b"".join(first + wide) + node("Concat", [f"w{i}" for i in range(n - 7)], ["y"], integer("axis", 1)))


def constants(n):
    v = names(n, "y")
    return model(b"".join(node(("Add", "Mul")[i % 2], [v[i], f"c{i}"], [v[i + 1]]) for i in range(n)) +
                 b"".join(tensor(f"c{i}", [16], [i * 1e-6 + k for k in range(16)]) for i in range(n)))


def folded(n):
    v = names(n // 2, "z")
    known = ["k"] + [f"k{i}" for i in range(n // 2 - 1)] + ["known"]
    return model(b"".join(node("Relu", [v[i]], [v[i + 1]]) + node("Abs", [known[i]], [known[i + 1]])
                          for i in range(n // 2 - 1)) + node("Relu", [v[-2]], ["z"]) +
                 node("Add", [known[-2], "z"], ["y"]) + tensor("k", [16], range(16)))


def matmuls(n):
    v = names(n // 2, "y")
    return model(b"".join(node("MatMul", [v[i], f"w{i}"], [f"m{i}"]) + node("Relu", [f"m{i}"], [v[i + 1]])
                          for i in range(n // 2)) +
                 b"".join(tensor(f"w{i}", [16, 16], [i * 1e-6] * 256) for i in range(n // 2)), ("batch", 16))


def convs(n):
    v = names(n // 3, "y")
    parts = []
    for i in range(n // 3):
        parts.append(node("Conv", [v[i], f"w{i}"], [f"a{i}"]) +
                     node("BatchNormalization", [f"a{i}", f"s{i}", f"o{i}", f"o{i}", f"s{i}"], [f"b{i}"]) +
                     node("Relu", [f"b{i}"], [v[i + 1]]))
        parts.append(tensor(f"w{i}", [2, 2, 1, 1], [i * 1e-6 + 1, 0, 0, 1]) + tensor(f"s{i}", [2], [1, 1.5]) +
                     tensor(f"o{i}", [2], [.1, i * 1e-6]))
    return model(b"".join(parts), ("batch", 2, 4, 4))


def shapes(n):
    """What PyTorch writes for x.view(x.size(0), -1): sizes computed in the graph, over and over."""
    v = names(n // 6, "y")
    parts = [tensor("zero", [], [0], 7), tensor("rest", [1], [-1], 7), tensor("axis", [1], [0], 7)]
    for i in range(n // 6):
        parts.append(node("Shape", [v[i]], [f"s{i}"]) +
                     node("Gather", [f"s{i}", "zero"], [f"g{i}"]) +
                     node("Unsqueeze", [f"g{i}", "axis"], [f"u{i}"]) +
                     node("Concat", [f"u{i}", "rest"], [f"c{i}"], integer("axis", 0)) +
                     node("Reshape", [v[i], f"c{i}"], [f"r{i}"]) + node("Relu", [f"r{i}"], [v[i + 1]]))
    return model(b"".join(parts), ("batch", 16))


def same(n):
    """Equal nodes, which become one."""
    return model(b"".join(node("Relu", ["x"], [f"v{i}"]) for i in range(n // 2)) +
                 b"".join(node("Add", [f"v{i}", f"w{i - 1}" if i else "x"], [f"w{i}" if i < n // 2 - 1 else "y"])
                          for i in range(n // 2)))


def gaps(n):
    """The worst for who plans memory: half of the first two thirds goes, last first, between what stays, and
    nothing that follows fits into what it leaves."""
    n //= 3
    leak = lambda to, i: node("LeakyRelu", ["x"], [to], real("alpha", 1e-6 * i))
    stay = [f"b{i}" for i in range(n)] + [f"c{i}" for i in range(n)]
    return model(b"".join(leak(f"a{i}", 2 * i) + leak(f"b{i}", 2 * i + 1) for i in range(n)) +
                 b"".join(node("Concat", [f"a{i}", "x"], [f"c{i}"], integer("axis", 1)) for i in reversed(range(n))) +
                 node("Concat", stay, ["y"], integer("axis", 1)))


GRAPHS = dict(chain=chain, fan_in=fan_in, constants=constants, folded=folded, matmuls=matmuls, convs=convs,
              shapes=shapes, same=same, gaps=gaps)


# -- measuring
def load(tool, path, threads):
    done = subprocess.run([tool, "bench", path, "--load", "--json", "--threads", str(threads)], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench_load: {path}: {done.stderr.strip()[:2000]}")
    return json.loads(done.stdout)


def load_ort(path, threads):
    python = os.path.join(ort_run.VENV, "bin", "python")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ort_run.py")
    done = subprocess.run([python, script, path, "--load", "--threads", str(threads)], capture_output=True,
                          text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", nargs="*")
    parser.add_argument("--wick", required=True)
    parser.add_argument("--models", default="build/bench/models")
    parser.add_argument("--work", default="build/bench/load")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    args = parser.parse_intermixed_args()
    os.makedirs(args.work, exist_ok=True)
    report, passed = {}, True
    what = args.what or ["graphs", "resnet50"]
    forms = GRAPHS if "graphs" in what else {w: GRAPHS[w] for w in what if w in GRAPHS}
    for name, form in forms.items():
        path = os.path.join(args.work, f"graph_{name}.onnx")
        if not os.path.exists(path):
            with open(path + ".tmp", "wb") as f:
                f.write(form(NODES))
            os.replace(path + ".tmp", path)
        rows = [load(args.wick, path, args.threads) for _ in range(args.rounds)]
        ms = statistics.median(r["total_ms"] for r in rows)
        report[name] = {"nodes": NODES, "ms": ms, "read_ms": statistics.median(r["load_ms"] for r in rows),
                        "peak_rss_mb": rows[0]["peak_rss_mb"]}
        passed = passed and ms <= LIMIT_MS
        print(f"graph {name:<10} {NODES} nodes: {ms:8.1f} ms (read and compiled {report[name]['read_ms']:.1f}), "
              f"{rows[0]['steps']} steps, peak RSS {rows[0]['peak_rss_mb']:.0f} MB"
              f"{'' if ms <= LIMIT_MS else f'   OVER {LIMIT_MS:.0f} ms'}", flush=True)
    for name in (w for w in what if w != "graphs" and w not in GRAPHS):
        source = os.path.join(args.models, name + ".onnx")
        if not os.path.exists(source):
            print(f"SKIP: {source} is not here")
            continue
        program = os.path.join(args.work, name + ".wick")
        subprocess.run([args.wick, "convert", source, "-o", program, "--pack"], check=True, stdout=subprocess.DEVNULL)
        rounds = {"ort": [], "wick": [], "onnx": []}
        for _ in range(args.rounds + 1):
            rounds["ort"].append(load_ort(source, args.threads))
            rounds["onnx"].append(load(args.wick, source, args.threads))
            rounds["wick"].append(load(args.wick, program, args.threads))
        if rounds["ort"][0] is None:
            print(f"SKIP: ONNX Runtime is not installed (tools/scripts/setup_ort.sh): {name} has no ratio")
        row = {"threads": args.threads}
        for side, runs in rounds.items():
            runs = [r for r in runs[1:] if r is not None]  # the first one warms the page cache
            if runs:
                row[side] = {"ms": statistics.median(r["total_ms"] for r in runs),
                             "cpu_ms": statistics.median(r["cpu_ms"] for r in runs),
                             "again_ms": statistics.median(r.get("again_ms", r["total_ms"]) for r in runs),
                             "again_cpu_ms": statistics.median(r.get("again_cpu_ms", r["cpu_ms"]) for r in runs),
                             "peak_rss_mb": statistics.median(r["peak_rss_mb"] for r in runs)}
                row[side]["own_rss_mb"] = statistics.median(r["peak_rss_mb"] - r.get("rss_before_mb", 0) for r in runs)
        report[name] = row
        for side, title in (("ort", "ONNX Runtime"), ("onnx", "wick, .onnx"), ("wick", "wick, .wick packed")):
            if side not in row:
                continue
            ratio = row[side]["ms"] / row["ort"]["ms"] if "ort" in row else None
            ok = ratio is None or side == "ort" or ratio <= LIMITS[side]
            passed = passed and ok
            text = "" if ratio is None or side == "ort" else f", {ratio:.3f} of ONNX Runtime's (limit {LIMITS[side]})"
            cpu = f"CPU time {row[side]['cpu_ms']:.1f} ms"
            if side != "ort" and "ort" in row:
                ort, own = row["ort"], row[side]
                cpu += (f", {own['cpu_ms'] / ort['cpu_ms']:.3f}; again {own['again_ms']:.1f} ms, "
                        f"{own['again_ms'] / ort['ms']:.3f}, CPU time {own['again_cpu_ms']:.1f} ms, "
                        f"{own['again_cpu_ms'] / ort['cpu_ms']:.3f}")
            print(f"{name} {title:<19} {row[side]['ms']:8.1f} ms{text}; {cpu}; peak RSS {row[side]['peak_rss_mb']:.0f} MB"
                  f"{'' if side != 'ort' else ', %.0f of them for the session' % row[side]['own_rss_mb']}"
                  f"{'' if ok else '   OVER'}", flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(report, f, indent=1)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
