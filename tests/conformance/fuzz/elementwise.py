"""Elementwise operators: math, comparison, bits, activations."""

import numpy as np
from gen import Case, bshapes, dt, opset, shape, spec, vals, axis_of, types
from wire import FLOATS, INTS, PLAIN, SMALL_FLOATS, T, narrow

VALUES = {  # of what x is made, for each operator
    "any": "Abs Asinh Atan Cos Cosh Erf Exp Neg Sin Sinh Tanh Sigmoid Softplus Softsign HardSwish Mish Not Identity",
    "unit": "Acos Asin Atanh Tan",
    "ge1": "Acosh",
    "pos": "Log Sqrt",
    "nonzero": "Reciprocal",
    "special": "Ceil Floor Round Sign Relu",
    "big": "BitwiseNot",
}
UNARY = {op: kind for kind, ops in VALUES.items() for op in ops.split()}


@spec(*UNARY)
def unary(rng, op):
    v = opset(rng, op)
    var = "V" if op == "Identity" and types(op, v, "V") else "T"
    c = dt(rng, op, v, var)
    x = vals(rng, c, shape(rng), UNARY[op])
    ref = None
    if op == "Identity":
        ref = lambda x: x
    if op == "BitwiseNot":
        ref = lambda x: T(~x.a, x.code)
    if op == "Relu" and c in INTS:
        ref = lambda x: np.maximum(x.wide(), 0)
    if op == "Erf" and c in INTS:
        ref = lambda x: np.sign(x.wide()) * (np.abs(x.wide()) > 5)  # 1 in double from 6 on, else cut off
    return Case(op, v, [x], [c], tvar=c, ref=ref, oracle=None if v >= 6 else (op, 13, {}, [x]))


ATTR = {
    "Elu": ["alpha"],
    "LeakyRelu": ["alpha"],
    "HardSigmoid": ["alpha", "beta"],
    "Selu": ["alpha", "gamma"],
    "Celu": ["alpha"],
    "ThresholdedRelu": ["alpha"],
    "Shrink": ["lambd", "bias"],
    "Swish": ["alpha"],
}


@spec(*ATTR)
def unary_attr(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    x = vals(rng, c, shape(rng))
    attrs = {a: float(np.float32(rng.uniform(0.2, 1.5))) for a in ATTR[op] if rng.random() < 0.7}
    ref = None
    if op == "Swish":
        al = attrs.get("alpha", 1.0)
        ref = lambda x: x.wide() / (1 + np.exp(-np.float64(al) * x.wide()))
    return Case(op, v, [x], [c], attrs, tvar=c, ref=ref, oracle=None if v >= 6 else (op, 13, attrs, [x]))


@spec("Gelu")
def gelu(rng, op):
    c = dt(rng, op, 20)
    at = {} if rng.random() < 0.4 else {"approximate": str(rng.choice(["none", "tanh"]))}
    return Case(op, 20, [vals(rng, c, shape(rng))], [c], at, tvar=c)


@spec("Clip")
def clip(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    x = vals(rng, c, shape(rng))
    kind = int(rng.integers(0, 5))
    lo, hi = (1, 3) if kind < 3 else (4, 2)
    has = [rng.random() < 0.7, rng.random() < 0.7]

    def ref(x, lo_=None, hi_=None):
        w = x.wide()
        if has[0]:
            w = np.maximum(w, lo)
        if has[1]:
            w = np.minimum(w, hi)
        return w

    if v < 11:
        at = {}
        if has[0]:
            at["min"] = float(lo)
        if has[1]:
            at["max"] = float(hi)
        return Case(op, v, [x], [c], at, tvar=c, ref=ref)
    s = lambda k: narrow(np.asarray(k), c) if True else 0
    ins = [x, s(lo) if has[0] else None, s(hi) if has[1] else None]
    while ins[-1] is None:
        ins.pop()
    return Case(op, v, ins, [c], tvar=c, ref=ref)


@spec("PRelu")
def prelu(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    if v < 7:
        x = vals(rng, c, shape(rng, 2, 4, zero=0))
        n = x.shape[1] if rng.random() < 0.6 else 1
        sl = vals(rng, c, (n,))
        ref = lambda x, s: np.where(
            x.wide() < 0, x.wide() * s.wide().reshape((1, -1) + (1,) * (x.a.ndim - 2)), x.wide()
        )
        return Case(op, v, [x, sl], [c], tvar=c, ref=ref)
    x = vals(rng, c, shape(rng))
    s = [1 if rng.random() < 0.4 else d for d in x.shape]
    if rng.random() < 0.4:
        s = s[int(rng.integers(0, len(s) + 1)) :]
    ref = lambda x, s: np.where(x.wide() < 0, x.wide() * s.wide(), x.wide())
    return Case(op, v, [x, vals(rng, c, tuple(s))], [c], tvar=c, ref=ref)


@spec("Hardmax", "Softmax", "LogSoftmax")
def softmax(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    hard = op == "Hardmax"  # of an empty axis whose size is open: refused, as ArgMax is
    x = vals(rng, c, shape(rng, 1, 4, zero=0 if hard else 0.05), "whole" if hard else "any")
    r = len(x.shape)
    at = {}
    if rng.random() < 0.7:
        at["axis"] = axis_of(rng, r) if v >= 11 else int(rng.integers(0, r))
    elif v < 13 and r < 2:
        return None

    def ref(x):
        w = np.asarray(x.wide(), np.float64)
        ax = at.get("axis", -1 if v >= 13 else 1)
        ax += r if ax < 0 else 0
        sh = w.shape
        if v < 13:
            w = w.reshape(int(np.prod(sh[:ax])), int(np.prod(sh[ax:])))
            ax = 1
        if w.size == 0:
            return np.zeros(sh)
        e = np.exp(w - w.max(ax, keepdims=True))
        y = e / e.sum(ax, keepdims=True)
        if op == "LogSoftmax":
            y = w - w.max(ax, keepdims=True) - np.log(e.sum(ax, keepdims=True))
        if op == "Hardmax":
            y = np.zeros_like(w)
            np.put_along_axis(y, np.expand_dims(w.argmax(ax), ax), 1, ax)
        return y.reshape(sh)

    return Case(op, v, [x], [c], at, tvar=c, ref=ref)


@spec("SwiGLU")
def swiglu(rng, op):
    c = dt(rng, op, 28)
    s = shape(rng)
    at = {} if rng.random() < 0.5 else {"alpha": 1.702}
    al = at.get("alpha", 1.0)
    ref = lambda a, b: a.wide() / (1 + np.exp(-al * np.float64(a.wide()))) * b.wide()
    return Case(op, 28, [vals(rng, c, s), vals(rng, c, s)], [c], at, tvar=c, ref=ref)


BIN = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": None,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Equal": np.equal,
    "Less": np.less,
    "Greater": np.greater,
    "LessOrEqual": np.less_equal,
    "GreaterOrEqual": np.greater_equal,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}


@spec(*BIN)
def binary(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    out = c if op in ("Add", "Sub", "Mul", "Div") or op.startswith("Bitwise") else 9
    kind = "tiny" if out == 9 else "big" if op.startswith("Bitwise") else "any"
    f = BIN[op]
    if op == "Div":
        f = lambda a, b: np.trunc(a / b) if c in INTS else a / b
        if c in INTS:
            f = lambda a, b: (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)))
    at = {}
    if v < 7:
        a = vals(rng, c, shape(rng, 0, 4), kind)
        r = len(a.shape)
        if rng.random() < 0.3:
            b, sh = vals(rng, c, a.shape, "nonzero" if op == "Div" else kind), a.shape
        else:
            i = int(rng.integers(0, r + 1))
            j = int(rng.integers(i, r + 1))
            bs = tuple(d if rng.random() < 0.8 else 1 for d in a.shape[i:j])
            at["broadcast"] = 1
            if j != r or rng.random() < 0.5:
                if bs == ():
                    pass
                else:
                    at["axis"] = i if rng.random() < 0.7 or v < 1 else i - r
            b = vals(rng, c, bs, "nonzero" if op == "Div" else kind)
            sh = bs + (1,) * (r - j) if "axis" in at else bs
    else:
        s1, s2 = bshapes(rng, 2)
        a, b = vals(rng, c, s1, kind), vals(rng, c, s2, "nonzero" if op == "Div" else kind)
        sh = s2
    ref = lambda a, b: f(a.wide() if c != 13 else a.a, (b.wide() if c != 13 else b.a).reshape(sh))
    return Case(op, v, [a, b], [out], at, tvar=c, ref=ref)


@spec("BitShift")
def shift(rng, op):
    v = 11
    c = dt(rng, op, v)
    s1, s2 = bshapes(rng, 2)
    bits = np.iinfo(PLAIN[c]).bits
    a = vals(rng, c, s1, "big")
    b = T(rng.integers(0, bits, s2).astype(PLAIN[c]))
    way = str(rng.choice(["LEFT", "RIGHT"]))
    ref = lambda a, b: T(np.asarray(np.left_shift(a.a, b.a) if way == "LEFT" else np.right_shift(a.a, b.a)), c)
    return Case(op, v, [a, b], [c], {"direction": way}, tvar=c, ref=ref)


@spec("Mod")
def mod(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s1, s2 = bshapes(rng, 2)
    fm = 1 if c in FLOATS else int(rng.integers(0, 2))
    a, b = vals(rng, c, s1), vals(rng, c, s2, "nonzero")
    ref = lambda a, b: (np.fmod if fm else np.mod)(a.wide(), b.wide())
    return Case(op, v, [a, b], [c], {"fmod": fm} if fm or rng.random() < 0.5 else {}, tvar=c, ref=ref)


@spec("Pow")
def pow_(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    c2 = dt(rng, op, v, "T1") if v >= 12 else c
    if v < 7:
        s1 = shape(rng)
        s2 = s1
    else:
        s1, s2 = bshapes(rng, 2)
    a = vals(rng, c, s1, "pos")
    b = vals(rng, c2, s2, "tiny" if c2 in FLOATS | INTS else "any")
    if c in INTS or c2 in INTS:
        b = narrow(np.abs(b.wide()), c2)
    ref = lambda a, b: np.power(np.float64(a.wide()), np.float64(b.wide())).astype(
        np.int64 if c in INTS else np.float64
    )
    return Case(op, v, [a, b], [c], tvar=c, ref=ref)


@spec("Max", "Min", "Sum", "Mean")
def variadic(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    n = int(rng.integers(1, 5))
    ss = bshapes(rng, n)
    if v < 8:
        ss = [ss[0]] * n
    f = {
        "Max": lambda x: np.maximum.reduce(x),
        "Min": lambda x: np.minimum.reduce(x),
        "Sum": lambda x: sum(x[1:], x[0]),
        "Mean": lambda x: sum(x[1:], x[0]) / n,
    }[op]

    def ref(*x):
        w = [t.wide() if c != 13 else t.a for t in x]
        full = np.broadcast_shapes(*[t.shape for t in w])
        return f([np.broadcast_to(t, full) for t in w])

    return Case(
        op,
        v,
        [vals(rng, c, s, "special" if op in ("Max", "Min") and c in FLOATS else "any") for s in ss],
        [c],
        tvar=c,
        ref=ref,
    )


@spec("Where")
def where(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = bshapes(rng, 3)
    ref = lambda b, x, y: T(np.where(b.a, x.a, y.a), c)
    return Case(op, v, [vals(rng, 9, s[0]), vals(rng, c, s[1]), vals(rng, c, s[2])], [c], tvar=c, ref=ref)


@spec("IsNaN", "IsInf")
def isnan(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v, "T1")
    at = {}
    if op == "IsInf":
        for k in ("detect_negative", "detect_positive"):
            if rng.random() < 0.5:
                at[k] = int(rng.integers(0, 2))
    x = vals(rng, c, shape(rng), "special")
    if c in SMALL_FLOATS and rng.random() < 0.7:
        x = T(rng.choice([0x7F, 0x7C, 0xFC, 0x80, 0xFF, 0x7E, 1], x.shape).astype(np.uint8), c)

    def ref(x):
        w = x.wide()
        if op == "IsNaN":
            return np.isnan(w)
        return (np.isneginf(w) & bool(at.get("detect_negative", 1))) | (
            np.isposinf(w) & bool(at.get("detect_positive", 1))
        )

    return Case(op, v, [x], [9], at, tvar=c, ref=ref)
