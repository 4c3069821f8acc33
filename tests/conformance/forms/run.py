#!/usr/bin/env python3
"""Forms that ONNX files come in, each a file written by hand: read by Wick and by ONNX Runtime.

  run.py [--only WORD] [--keep DIR] [-v] WICK

What both take must give equal outputs, as it is, with its inputs as constants, and from the file that Wick writes of it,
which ONNX Runtime must load; what both refuse must be one message that says why. Where they differ the form says the
reason. Needs ONNX Runtime (tools/scripts/setup_ort.sh); without it it says so and skips.
"""

import argparse
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(ROOT, "tools", "scripts"))
import ort_run  # noqa: E402

ort_run.reexec()
os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
try:
    import numpy as np
    import onnxruntime as ort
except ImportError as e:
    print(f"1 skipped: no ONNX Runtime to compare with ({e}; tools/scripts/setup_ort.sh)")
    print("0 passed, 0 failed")
    sys.exit(0)
import broken, control, functions, microsoft, names, old_ops, tensors  # noqa: F401, E401  they fill FORMS
from files import FORMS, Optional, T, blob, num, tensor_bytes

ort.set_default_logger_severity(4)


def data_bytes(value, name):
    if isinstance(value, (list, tuple)):
        return blob(1, name) + num(2, 1) + b"".join(blob(3, tensor_bytes(v)) for v in value)
    if isinstance(value, Optional):
        kind, field = (3, 5) if isinstance(value.value, list) else (1, 3)
        return blob(1, name) + num(2, kind) + blob(field, data_bytes(value.value, ""))
    return tensor_bytes(value, name)


def fed(value):
    if isinstance(value, Optional):
        return fed(value.value)
    if isinstance(value, (list, tuple)):
        return [fed(v) for v in value]
    return value.a if isinstance(value, T) else value


def run_ort(path, inputs):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort_run.exact_session(path, options)
    feeds = {k: fed(v) for k, v in inputs.items()}
    return session.run(None, feeds)


def asked(path, inputs):
    """(outputs, "") or (None, why), from a process of its own: some files kill ONNX Runtime."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            answer = (run_ort(path, inputs), "")
        except Exception as e:  # its exceptions have no common base
            answer = (None, str(e))
        with os.fdopen(write, "wb") as out:
            pickle.dump(answer, out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as source:
        data = source.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(data) if data else (None, f"ONNX Runtime dies ({status})")


def differs(got, want):
    if isinstance(want, (list, tuple)):
        if len(got) != len(want):
            return f"{len(got)} elements, expected {len(want)}"
        return "".join(differs(g, w) for g, w in zip(got, want))
    g, w = np.asarray(got), np.asarray(fed(want))
    if g.shape != w.shape or g.dtype.kind != w.dtype.kind:
        return f"{g.dtype}{g.shape}, expected {w.dtype}{w.shape}"
    if w.dtype.kind in "OSU":
        return "" if [str(x) for x in g.ravel()] == [str(x) for x in w.ravel()] else "strings differ"
    return "" if np.allclose(g, w, 1e-3, 1e-6, equal_nan=True) else f"{g.ravel()[:4]}, expected {w.ravel()[:4]}"


def prepare(root, name, f, problems):
    """The form as one of ONNX's test folders, with ONNX Runtime's outputs. What does not fit is a problem."""
    data = f"{root}/{name}/test_data_set_0"
    os.makedirs(data)
    path = f"{root}/{name}/model.onnx"
    for file, content in {"model.onnx": f.model, **f.files}.items():
        os.makedirs(os.path.dirname(f"{root}/{name}/{file}"), exist_ok=True)
        with open(f"{root}/{name}/{file}", "wb") as out:
            out.write(content)
    want, why = asked(path, f.inputs)
    if why and f.takes in ("both", "theirs", "differ"):
        problems[name] = f"ONNX Runtime refuses it: {why:.400}"
    if not why and f.takes in ("neither", "ours"):
        problems[name] = f"ONNX Runtime takes it: {str(want):.200}"
    if f.takes in ("ours", "differ"):
        want, why = f.expected, ""
        if isinstance(want, bytes):
            with open(f"{root}/{name}/as.onnx", "wb") as out:
                out.write(want)
            want, why = asked(f"{root}/{name}/as.onnx", f.inputs)
        if why:
            problems[name] = f"ONNX Runtime refuses what it should be as: {why:.400}"
    f.want = want
    if f.takes in ("neither", "theirs"):
        return
    for k, (i, v) in enumerate(f.inputs.items()):
        with open(f"{data}/input_{k}.pb", "wb") as out:
            out.write(data_bytes(v, i))
    for k, v in enumerate(want or []):
        with open(f"{data}/output_{k}.pb", "wb") as out:
            out.write(data_bytes(v, f"out{k}"))


def conformance(wick, root, mode, cases, *more):
    if not cases:
        return {}
    report, listing = f"{root}/{mode}.json", f"{root}/{mode}.txt"
    with open(listing, "w") as out:
        out.write("\n".join(cases) + "\n")
    command = [wick, "conformance", root, "--mode", mode, "--json", report, "--list", listing, *more]
    p = subprocess.run(command, capture_output=True, text=True)
    if not os.path.exists(report):
        return {"wick": f"the program ends with {p.returncode}: {p.stderr[-500:]}"}
    with open(report) as source:
        return json.load(source)["failures"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("wick")
    p.add_argument("--only", default="", help="forms with this in their names")
    p.add_argument("--keep", default="", help="a new folder for the files")
    p.add_argument("-v", "--verbose", action="store_true", help="print the messages of what is refused")
    args = p.parse_args()
    forms = {k: f for k, f in FORMS.items() if args.only in k}
    problems = {}
    with tempfile.TemporaryDirectory() as temporary:
        root = os.path.abspath(args.keep) if args.keep else temporary
        for name, f in forms.items():
            prepare(root, name, f, problems)
        runs = [k for k, f in forms.items() if f.takes in ("both", "ours", "differ") and k not in problems]
        for mode in ("dyn", "const", "round"):
            more = ["--keep", f"{root}/written"] if mode == "round" else []
            for k, why in conformance(args.wick, root, mode, runs, *more).items():
                problems.setdefault(k, f"Wick, {mode}: {why}")
        for name in runs:  # what it wrote, in ONNX Runtime
            back = f"{root}/written/{name}.onnx"
            if name in problems or (forms[name].takes == "ours" and not isinstance(forms[name].expected, bytes)):
                continue
            if not os.path.exists(back):
                problems[name] = "is not written"
                continue
            got, why = asked(back, forms[name].inputs)
            if not why:
                why = "; ".join(filter(None, map(differs, got, forms[name].want)))
            if why and not re.search("NOT_IMPLEMENTED", why):  # it has no kernel
                problems[name] = "written by Wick, in ONNX Runtime: " + why
        for name in [k for k, f in forms.items() if f.takes in ("neither", "theirs") and k not in problems]:
            p = subprocess.run(
                [args.wick, "convert", f"{root}/{name}/model.onnx", "-o", f"{root}/{name}/out.wick"],
                capture_output=True,
                text=True,
            )
            said = p.stderr.strip().replace(f"{root}/{name}/", "")
            if p.returncode not in (1, 2, 3) or forms[name].says not in said or not forms[name].says:
                problems[name] = f"Wick ends with {p.returncode} and says: {said:.600}"
            if args.verbose:
                print(f"{name}: {said}")
    for name, why in problems.items():
        print(f"FAIL {name}: {why}")
    differing = {k: f.because for k, f in forms.items() if f.because}
    if args.verbose:
        for name, because in differing.items():
            print(f"{forms[name].takes} {name}: {because}")
    print(
        f"{len(forms)} forms: {sum(f.takes == 'both' for f in forms.values())} both take, {sum(f.takes == 'neither' for f in forms.values())} both refuse, {len(differing)} differ for a stated reason"
    )
    print(f"{len(forms) - len(set(problems) & set(forms))} passed, {len(problems)} failed")
    return bool(problems) or not forms


if __name__ == "__main__":
    sys.exit(main())
