"""What a case's outputs should be: the documentation's formula, or ONNX Runtime, in a wider dtype where
it has no kernel for the narrow one."""

import os

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
import numpy as np
import onnxruntime as ort
from gen import opsets_of
from wire import FLOATS, INTS, OF, PLAIN, SMALL_FLOATS, SMALL_INTS, T, model, narrow, node, value_info

ort.set_default_logger_severity(4)
NATIVE = set(PLAIN) - {10, 14, 15}


def session(data, optimize=False):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    if not optimize:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def run_ort(op, opset, ins, outs, attrs):
    names = [f"x{i}" if t is not None else "" for i, t in enumerate(ins)]
    given = [(n, t) for n, t in zip(names, ins) if t is not None]
    made = [f"y{i}" if c else "" for i, c in enumerate(outs)]
    data = model(
        [node(op, names, made, attrs)],
        [value_info(n, t.code, t.shape) for n, t in given],
        [value_info(o, c, None) for o, c in zip(made, outs) if c],
        opset,
        ir=10,
    )
    return [np.asarray(a) for a in session(data).run(None, {n: t.a for n, t in given})]


def as_narrow(code):
    return code


def as_wide(code):
    if code in (10, 16) or code in SMALL_FLOATS:
        return 1
    return 7 if code in INTS or code in SMALL_INTS else code


def as_float(code):  # ONNX Runtime has few kernels of doubles
    return 1 if code == 11 else code


def attempt(op, v, ins, outs, attrs, tvar, other):
    def turn(t):
        same = t is None or not isinstance(t, T) or t.code != tvar
        return t if same else T(t.wide().astype(PLAIN[other(tvar)]), other(tvar))

    if other is not as_narrow:
        if tvar is None or other(tvar) == tvar:
            return None
        ins, attrs = [turn(t) for t in ins], {k: turn(a) for k, a in attrs.items()}
        outs = [other(c) if c == tvar else c for c in outs]
    if any(t is not None and t.code not in NATIVE for t in ins) or any(c and c not in NATIVE for c in outs):
        return None
    return run_ort(op, v, ins, outs, attrs)


def expected(c):
    """The outputs asked for, and where they are from; None where nobody tells."""
    codes = [x for x in c.outs if x]
    if c.ref is not None:
        with np.errstate(all="ignore"):
            out = c.ref(*c.ins)
        out = out if isinstance(out, (list, tuple)) else [out]
        return [o if isinstance(o, T) else narrow(o, code) for o, code in zip(out, codes)], "numpy"
    op, opset, attrs, ins = c.oracle or (c.op, c.opset, c.attrs, c.ins)
    older = [v for v in reversed(opsets_of(op)) if v <= opset][:3]
    for other in (as_narrow, as_wide, as_float):
        for v in [opset] + older:
            try:
                got = attempt(op, v, ins, c.outs, attrs, c.tvar, other)
            except Exception:  # no kernel, or no such opset: ask for another
                continue
            if got is not None:
                out = [T(g, code) if OF.get(g.dtype) == code else narrow(g, code) for g, code in zip(got, codes)]
                return out, "onnxruntime"
    return None, ""


def differs(got, want):
    """ "" where an array is close enough to the tensor `want` of a dtype that numpy has."""
    if got.shape != want.shape or OF.get(got.dtype) != want.code:
        return f"{got.dtype}{got.shape}, expected {want.a.dtype}{want.shape}"
    if want.code in FLOATS:
        a, e = np.float64(got), np.float64(want.a)
        eps, least = (4e-3, 1) if want.code == 10 else (1e-3, 1e-2)
        with np.errstate(all="ignore"):
            near = np.abs(a - e) <= eps * np.maximum(np.abs(e), least)
        ok = (a == e) | (np.isnan(a) & np.isnan(e)) | near
        return "" if np.all(ok) else f"{a[~ok].ravel()[0]}, expected {e[~ok].ravel()[0]}"
    if want.code in (14, 15):
        return "" if np.allclose(got, want.a, equal_nan=True) else "complex numbers differ"
    return "" if np.array_equal(got, want.a) else "integers differ"
