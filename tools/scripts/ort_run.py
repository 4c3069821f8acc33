#!/usr/bin/env python3
"""Runs an ONNX model in ONNX Runtime: the oracle beside Wick. Needs tools/scripts/setup_ort.sh (it
re-executes itself with build/ort's Python).

  ort_run.py model.onnx --input x.npy [--input name=y.npy ...] -o DIR   writes DIR/<output>.npy
  ort_run.py model.onnx --input x.npy --bench [--threads N] [--seconds S]
                     one JSON line: {"median_ms", "min_ms", "p95_ms", "cpu_ms" (a run), "runs", "load_ms", "threads", "batch"}
  ort_run.py model.onnx --input x.npy --serve [--threads N]   runs as it is told, see serve() below: `wick bench --against`
  ort_run.py model.onnx --input x.npy --values NAMES.txt [--optimize none] -o DIR
                     values inside the model (a name a line) as DIR/value.N.npy, and one JSON line: how often each
                     operator ran
  ort_run.py model.onnx --load   one JSON line about the session's creation: {"total_ms", "cpu_ms", "peak_rss_mb",
                     "rss_before_mb"}; the times are of a second session, when the library itself is warm
  ort_run.py --saturates   exit code 4 where its products of uint8 with int8 saturate (see saturates() below)

Exit codes: 0 done, 1 the model failed (the reason on stderr), 3 onnxruntime is not installed, 4 see --saturates.
"""

import argparse
import json
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(os.environ.get("WICK_ORT_VENV", os.path.join(ROOT, "build", "ort", "venv")))


def reexec(venv=VENV):
    python = os.path.join(venv, "bin", "python")
    if os.path.abspath(sys.prefix) != os.path.abspath(venv) and os.path.exists(python):
        os.execv(python, [python] + sys.argv)


def feeds_of(session, given):
    import numpy as np
    declared = session.get_inputs()
    if len(given) > len(declared):
        raise ValueError(f"{len(given)} inputs given, the model has {len(declared)}")
    feeds = {}
    for i, text in enumerate(given):
        name, _, path = text.rpartition("=") if not os.path.exists(text) else ("", "", text)
        feeds[name or declared[i].name] = np.load(path)
    return feeds


BFLOAT16 = "tensor(bfloat16)"  # numpy has none: files hold float32


def ort_value(array, kind):
    """The tensor that an input of this type takes: float32 is rounded to bfloat16, to nearest, ties to even."""
    import numpy as np
    import onnxruntime as ort
    if kind != BFLOAT16 or array.dtype != np.float32:
        return ort.OrtValue.ortvalue_from_numpy(array)
    bits = np.ascontiguousarray(array).view(np.uint32)
    rounded = (bits + (0x7FFF + (bits >> 16 & 1)).astype(np.uint32)) >> 16
    halves = np.where(np.isnan(array), bits >> 16 | 0x40, rounded).astype(np.uint16)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(halves, 16)  # TensorProto.BFLOAT16


def array_of(value):
    """An output as numpy's array; bfloat16 as float32."""
    import ctypes

    import numpy as np
    if not value.is_tensor() or value.data_type() != BFLOAT16:
        return value.numpy()
    shape = value.shape()
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return np.zeros(shape, np.float32)
    halves = np.ctypeslib.as_array((ctypes.c_uint16 * count).from_address(value.data_ptr()))
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(shape)


def has_bfloat16(session):
    return any(port.type == BFLOAT16 for port in session.get_inputs() + session.get_outputs())


def ort_values(session, feeds):
    kinds = {port.name: port.type for port in session.get_inputs()}
    return {name: ort_value(array, kinds.get(name, "")) for name, array in feeds.items()}


def run_arrays(session, names, feeds):
    """session.run(), which has no bfloat16."""
    if not has_bfloat16(session):
        return session.run(names, feeds)
    names = names or [o.name for o in session.get_outputs()]
    return [array_of(value) for value in session.run_with_ort_values(names, ort_values(session, feeds))]


def bound_run(session, feeds):
    """A run with inputs and outputs bound once, so that Python's part of it is about a microsecond. Runs the model once."""
    import onnxruntime as ort
    binding = session.io_binding()
    values = list(ort_values(session, feeds).items())
    for name, value in values:
        binding.bind_ortvalue_input(name, value)
    names = [o.name for o in session.get_outputs()]
    if has_bfloat16(session):
        made = session.run_with_ort_values(names, dict(values))
    else:
        made = [ort.OrtValue.ortvalue_from_numpy(array) for array in session.run(None, feeds)]
    for name, value in zip(names, made):
        binding.bind_ortvalue_output(name, value)
    run, io = session._sess.run_with_iobinding, binding._iobinding

    def once(kept=(binding, values)):  # which own what a run reads
        run(io, None)
    return once


def settle():
    """Waits until the threads of this process rest, a second at most: a runtime's own go on looking for work behind a run, and
    would take a processor from whoever runs next."""
    for _ in range(100):
        before = time.process_time()
        time.sleep(0.01)
        if time.process_time() - before < 0.001:
            return


def serve(run, about):
    """Tells about itself, with its peak memory by now, in a line of JSON; for each line of standard input, milliseconds, runs
    for so long behind a run that does not count, and tells the wall and the processor time of each, in milliseconds, when its
    threads rest."""
    import resource

    now, used = time.perf_counter, time.process_time
    about["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        run()
        wall, cpu, end = [], [], now() + float(line) / 1e3
        while not wall or now() < end:
            before, start = used(), now()
            run()
            stop = now()
            cpu.append((used() - before) * 1e3)
            wall.append((stop - start) * 1e3)
        settle()
        print(json.dumps({"ms": wall, "cpu_ms": cpu}), flush=True)


def bench(session, feeds, seconds):
    run, now = bound_run(session, feeds), time.perf_counter
    warm = now() + seconds
    for i in range(10):
        run()
        if now() > warm:
            break
    times, end, cpu = [], now() + seconds, time.process_time()
    while True:
        start = now()
        run()
        stop = now()
        times.append(stop - start)
        if stop >= end and len(times) >= 3:
            break
    cpu = (time.process_time() - cpu) / len(times)
    times.sort()
    return {"cpu_ms": cpu * 1e3, "median_ms": times[len(times) // 2] * 1e3, "min_ms": times[0] * 1e3,
            "p95_ms": times[len(times) * 95 // 100] * 1e3, "runs": len(times)}


def load(ort, model, options):
    import resource

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    before = peak()
    for _ in range(2):
        start, cpu = time.perf_counter(), time.process_time()
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        ms, cpu_ms = (time.perf_counter() - start) * 1e3, (time.process_time() - cpu) * 1e3
        after = peak()
        del session
        if _ == 0:
            first_ms, first_peak = ms, after
    return {"total_ms": ms, "cpu_ms": cpu_ms, "first_ms": first_ms, "peak_rss_mb": first_peak, "rss_before_mb": before}


def field(number, payload):
    """A protobuf field: of bytes, or a small integer."""
    if isinstance(payload, int):
        return bytes([number << 3, payload])
    size, length = len(payload), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + payload


def saturates():
    """Whether ONNX Runtime adds pairs of products of uint8 with int8 in 16 bits, as its kernels for x86 without VNNI do:
    255 * 127 twice is 64770 and becomes 32767. Then it is no oracle for weights of more than 7 bits."""
    import numpy as np
    import onnxruntime as ort

    def port(name, kind):
        dims = b"".join(field(1, field(1, size)) for size in (8, 16))
        return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))
    uint8, int8, int32 = 2, 3, 6
    a = field(1, b"a") + field(2, field(1, field(1, uint8) + field(2, field(1, field(1, 4)) + field(1, field(1, 8)))))
    node = field(1, b"a") + field(1, b"b") + field(2, b"y") + field(4, b"MatMulInteger")
    y = field(1, b"y") + field(2, field(1, field(1, int32)))
    graph = field(1, node) + field(2, b"probe") + field(11, a) + field(11, port(b"b", int8)) + field(12, y)
    model = field(1, 8) + field(7, graph) + field(8, field(2, 10))
    options = ort.SessionOptions()
    options.log_severity_level = 3
    got = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(
        None, {"a": np.full((4, 8), 255, np.uint8), "b": np.full((8, 16), 127, np.int8)})[0]
    return bool((got != 8 * 255 * 127).any())


def exact_session(model, options):
    """A session whose sums of products of bytes are exact where ONNX Runtime offers that: on a CPU where they saturate, for
    constant weights of matrix products alone. It refuses its own option for some models ("Attempt to replace the existing
    tensor", where two nodes share a weight); these get a session without it."""
    import onnxruntime as ort

    if saturates():
        options.add_session_config_entry("session.x64quantprecision", "1")
        try:
            return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception:  # ONNX Runtime's own exception types share no base
            options.add_session_config_entry("session.x64quantprecision", "0")
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def with_outputs(model, names):
    """The file's bytes and these values as outputs of it: messages of one field that follow each other are merged."""
    with open(model, "rb") as f:
        return f.read() + field(7, b"".join(field(12, field(1, name.encode())) for name in names))


def values(ort, args, options, folder):
    """Every named value of one run, and {operator: how often it ran} by ONNX Runtime's profile."""
    import numpy as np
    with open(args.values, encoding="utf-8") as f:
        names = f.read().splitlines()
    declared = [o.name for o in ort.InferenceSession(args.model, options).get_outputs()]
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(folder, "profile")
    session = exact_session(with_outputs(args.model, [n for n in names if n not in declared]), options)
    for i, value in enumerate(run_arrays(session, names, feeds_of(session, args.input))):
        np.save(os.path.join(folder, f"value.{i}.npy"), value)
    with open(session.end_profiling(), encoding="utf-8") as f:
        events = json.load(f)
    ran = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            ran[event["args"]["op_name"]] = ran.get(event["args"]["op_name"], 0) + 1
    return ran


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", nargs="?", default="")
    parser.add_argument("--saturates", action="store_true")
    parser.add_argument("--input", action="append", default=[], metavar="[NAME=]FILE.npy")
    parser.add_argument("-o", "--out", metavar="DIR")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=0,
                        help="run in slices of this many rows (0: the whole input at once)")
    parser.add_argument("--values", metavar="FILE")
    parser.add_argument("--optimize", choices=["all", "none"], default="all")
    parser.add_argument("--bench", action="store_true")
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0)
    args = parser.parse_args()
    reexec()
    try:
        import numpy as np
        import onnxruntime as ort
    except ImportError as e:
        print(f"ort_run: {e}; run tools/scripts/setup_ort.sh", file=sys.stderr)
        return 3

    if args.saturates:
        return 4 if saturates() else 0
    options = ort.SessionOptions()
    options.intra_op_num_threads = args.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised: its log would say them again, in colours
    if args.optimize == "none":
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        if args.values:
            os.makedirs(args.out, exist_ok=True)
            print("\n" + json.dumps(values(ort, args, options, args.out)))
            return 0
        if args.load:
            print(json.dumps(load(ort, args.model, options)))
            return 0
        start = time.perf_counter()
        if args.bench or args.serve:
            session = ort.InferenceSession(args.model, options, providers=["CPUExecutionProvider"])
        else:
            session = exact_session(args.model, options)
        load_ms = (time.perf_counter() - start) * 1e3
        feeds = feeds_of(session, args.input)
        if args.serve:
            start = time.perf_counter()
            run = bound_run(session, feeds)
            serve(run, {"version": ort.__version__, "first_answer_ms": load_ms + (time.perf_counter() - start) * 1e3})
            return 0
        rows = next(iter(feeds.values())).shape[0] if feeds else 0
        if args.bench:
            report = bench(session, feeds, args.seconds)
            report.update(load_ms=load_ms, threads=args.threads, batch=rows, version=ort.__version__)
            print(json.dumps(report))
            return 0
        step = args.batch or max(rows, 1)
        parts = []
        for first in range(0, max(rows, 1), step):
            part = feeds if step >= rows else {n: a[first:first + step] for n, a in feeds.items()}
            parts.append(run_arrays(session, None, part))
        if args.out:
            os.makedirs(args.out, exist_ok=True)
        for i, declared in enumerate(session.get_outputs()):
            value = parts[0][i] if len(parts) == 1 else np.concatenate([p[i] for p in parts])
            if not isinstance(value, np.ndarray):
                raise ValueError(f"output {declared.name} is {declared.type}: only tensors are compared with it")
            print(f"{declared.name} {value.dtype} {list(value.shape)}")
            if args.out:
                np.save(os.path.join(args.out, declared.name.replace("/", "_") + ".npy"), value)
    except Exception as e:  # ONNX Runtime's own exception types share no base
        print(f"ort_run: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
