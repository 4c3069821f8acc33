"""Casts, and tensors made from numbers and shapes."""

import numpy as np
from gen import NEWEST, Case, dt, i64, opset, shape, spec, types, vals
from wire import FLOATS, INTS, NAMES, PLAIN, SMALL_FLOATS, SMALL_INTS, UNSIGNED, Sparse, T, narrow, small_values

ORDER = [
    "bool",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "bfloat16",
    "float",
    "double",
]


def f32_to_small(code, v, sat):
    """ONNX's table of casts to 8-bit floats; nearest even over the finite values."""
    tab = small_values(code)
    fin = np.isfinite(tab)
    v = np.asarray(v, np.float32)
    out = np.zeros(v.shape, np.uint8)
    vals_ = np.float64(tab[fin])
    bits = np.flatnonzero(fin)
    mx = vals_.max()
    nan = {17: 0x7F, 18: 0x80, 19: 0x7F, 20: 0x80}[code]
    step = mx - vals_[vals_ < mx].max()
    for i in np.ndindex(v.shape):
        x = float(v[i])
        if np.isnan(x):
            out[i] = nan
            continue
        a = abs(x)
        over = np.isinf(a) or a >= mx + step / 2
        if over:
            if sat:
                b = bits[np.argmax(vals_)]
            elif code == 19:
                b = 0x7C
            else:
                out[i] = nan | (0x80 if code == 17 and x < 0 else 0) if code == 17 else nan
                continue
        else:
            pos = ~np.signbit(tab[fin])
            pv, pb = vals_[pos], bits[pos]
            d = np.abs(pv - a)
            m = d.min()
            cand = pb[d == m]
            b = cand[0] if len(cand) == 1 else [k for k in cand if k % 2 == 0][0]
        if np.signbit(x):
            if code in (18, 20) and b == 0:
                out[i] = 0
            else:
                out[i] = b | 0x80
        else:
            out[i] = b
    return T(out, code)


@spec("Cast", "CastLike")
def cast(rng, op):
    v = opset(rng, op, 6 if op == "Cast" else 1)
    if rng.random() < 0.6:
        v = NEWEST
    v1, v2 = ("T1", "T2")
    c, to = dt(rng, op, v, v1), dt(rng, op, v, v2)
    s = shape(rng, 0, 3)
    x = vals(rng, c, s)
    if c in FLOATS:
        k = rng.random()
        w = rng.uniform(0, 7, s) if to in UNSIGNED else rng.standard_normal(s) * 3
        if to in (25, 26, 21, 22):
            w = rng.uniform(0, 1.5, s)
        if to in SMALL_FLOATS | FLOATS and k < 0.5:
            w = np.asarray(rng.standard_normal(s) * 10.0 ** rng.integers(-6, 6))
            f = w.reshape(-1)
            for i in range(f.size):
                if rng.random() < 0.2:
                    f[i] = rng.choice(
                        [np.inf, -np.inf, np.nan, 0.0, -0.0, 448, 464, 480, 465, 57344, 61440, 65000, 240, 1e-9]
                    )
            w = f.reshape(s)
        with np.errstate(all="ignore"):
            x = narrow(np.asarray(w, np.float32 if c == 16 else np.float64), c)
    at = {"to": to} if op == "Cast" else {}
    sat = 1
    if to in (17, 18, 19, 20) and rng.random() < 0.6:
        at["saturate"] = sat = int(rng.integers(0, 2))
    if v < 19:
        at.pop("saturate", None)
        sat = 1
    if to == 24:
        if rng.random() < 0.6:
            at["round_mode"] = str(rng.choice(["up", "down", "nearest"]))
        if rng.random() < 0.5:
            at["saturate"] = sat = int(rng.integers(0, 2))
    if to == 24 or c == 24 and (to in SMALL_FLOATS or to in INTS):
        return None  # tested apart

    def ref(x, *_):
        w = x.wide() if c not in (13, 11, 9) else x.a
        if to == 9:
            return np.asarray(w) != 0
        if to in (17, 18, 19, 20):
            return f32_to_small(to, np.asarray(w).astype(np.float32) if c != 11 else np.float32(w), sat)
        if to == 23:
            w = np.float32(w)
            a = np.abs(w)
            tab = small_values(23)[:8]
            out = np.zeros(w.shape, np.uint8)
            for i in np.ndindex(w.shape):
                if np.isnan(w[i]):
                    out[i] = 8
                    continue  # tests say -0
                d = np.abs(tab - min(a[i], 6))
                cand = np.flatnonzero(d == d.min())
                b = cand[0] if len(cand) == 1 else [k for k in cand if k % 2 == 0][0]
                out[i] = b | (8 if np.signbit(w[i]) else 0)
            return T(out, 23)
        if to in SMALL_INTS:
            return narrow(
                np.round(np.float64(w)) if np.asarray(w).dtype.kind == "f" else np.asarray(w).astype(np.int64), to
            )
        if to in INTS and np.asarray(w).dtype.kind == "f":
            w = np.nan_to_num(np.trunc(np.float64(w)), nan=0)
            return np.clip(w, max(np.iinfo(PLAIN[to]).min, -(2.0**62)), min(np.iinfo(PLAIN[to]).max, 2.0**62))
        return np.asarray(w) if to != 16 else narrow(np.float32(w), 16)

    ins = [x] if op == "Cast" else [x, vals(rng, to, (1,))]
    return Case(op, v, ins, [to], at, tvar=None, ref=ref, tag=f"{NAMES[c]}->{NAMES[to]}")


@spec("BitCast")
def bitcast(rng, op):
    c = dt(rng, op, 26, "T1")
    width = lambda k: (
        SMALL_INTS[k][0]
        if k in SMALL_INTS
        else (
            4
            if k == 23
            else 8 if k in SMALL_FLOATS else 16 if k == 16 else 8 if k == 9 else np.dtype(PLAIN[k]).itemsize * 8
        )
    )
    to = int(rng.choice([k for k in types(op, 26, "T2") if width(k) == width(c) and not (k == 9 and c != 9)]))
    x = vals(rng, c, shape(rng), "big")

    def ref(x):
        if width(c) < 8:
            u = x.a.astype(np.int64) & ((1 << width(c)) - 1)
            if to in SMALL_INTS:
                return narrow(u, to)
            return T(u.astype(np.uint8), to)
        d = PLAIN.get(to, np.uint16 if to == 16 else np.uint8)
        return T(np.ascontiguousarray(x.a).view(d).reshape(x.a.shape), to)

    return Case(op, 26, [x], [to], {"to": to}, ref=ref, tag=f"{NAMES[c]}->{NAMES[to]}")


@spec("Constant")
def constant(rng, op):
    v = opset(rng, op)
    kind = ["value", "value_int", "value_ints", "value_float", "value_floats", "sparse_value"][
        int(rng.integers(0, 6))
    ]
    if v < 12 and kind not in ("value", "sparse_value") or v < 11:
        kind = "value"
    if kind == "value":
        c = dt(rng, op, v)
        x = vals(rng, c, shape(rng))
        return Case(op, v, [], [c], {"value": x}, ref=lambda: x)
    if kind == "value_int":
        return Case(op, v, [], [7], {kind: -3}, ref=lambda: i64(-3))
    if kind == "value_ints":
        k = [int(d) for d in rng.integers(-9, 9, int(rng.integers(1, 12)))]
        return Case(op, v, [], [7], {kind: k}, ref=lambda: i64(k))
    if kind == "value_float":
        return Case(op, v, [], [1], {kind: 1.5}, ref=lambda: T(np.float32(1.5)))
    if kind == "value_floats":
        k = [float(np.float32(d)) for d in rng.standard_normal(int(rng.integers(1, 12)))]
        return Case(op, v, [], [1], {kind: k}, ref=lambda: T(np.array(k, np.float32)))
    s = shape(rng, 1, 3, zero=0)
    c = int(rng.choice([1, 7, 10, 9, 2]))
    n = int(np.prod(s))
    k = int(rng.integers(0, n + 1))
    flat = np.sort(rng.permutation(n)[:k])
    va = vals(rng, c, (k,))
    dense = np.zeros(n, va.a.dtype)
    dense[flat] = va.a
    ind = flat if rng.random() < 0.5 else np.stack(np.unravel_index(flat, s), 1).reshape(k, len(s))
    return Case(op, v, [], [c], {"sparse_value": Sparse(va, i64(ind), s)}, ref=lambda: T(dense.reshape(s), c))


@spec("ConstantOfShape")
def cos(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v, "T2")
    s = shape(rng, 0, 4)
    at = {}
    x = vals(rng, c, (1,))
    if rng.random() < 0.8:
        at["value"] = x
    else:
        x = T(np.zeros(1, np.float32))
        c = 1
    return Case(op, v, [i64(np.array(s, np.int64))], [c], at, ref=lambda _: T(np.full(s, x.a[0]), c))


@spec("EyeLike")
def eyelike(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v, "T1")
    to = c
    at = {}
    if rng.random() < 0.5 or c not in types(op, v, "T2"):
        at["dtype"] = to = dt(rng, op, v, "T2")
    k = 0
    if rng.random() < 0.6:
        at["k"] = k = int(rng.integers(-4, 5))
    s = shape(rng, 2, 2)
    return Case(op, v, [vals(rng, c, s)], [to], at, ref=lambda x: np.eye(*s, k=k))


@spec("OneHot")
def onehot(rng, op):
    v = opset(rng, op)
    c1, c2, c3 = dt(rng, op, v, "T1"), dt(rng, op, v, "T2"), dt(rng, op, v, "T3")
    s = shape(rng, 0, 3)
    d = int(rng.integers(1, 5))
    at = {}
    ax = -1
    if rng.random() < 0.7:
        at["axis"] = ax = int(rng.integers(-len(s) - 1, len(s) + 1)) if v >= 11 else int(rng.integers(0, len(s) + 1))
    lo = 0 if c1 in UNSIGNED or v < 11 else -d - 1
    ix = rng.integers(lo, d + 2, s)
    x = narrow(ix, c1)
    dep = narrow(np.asarray(d) if rng.random() < 0.5 else np.asarray([d]), c2)
    ov = vals(rng, c3, (2,))

    def ref(x, _, ov):
        i = np.expand_dims(ix, ax)
        n = i.ndim
        cl = np.arange(d).reshape([-1 if k == ax % n else 1 for k in range(n)])
        ok = (i >= -d) & (i < d)
        return T(np.where((np.mod(i, d) == cl) & ok, ov.a[1], ov.a[0]), c3)

    return Case(op, v, [x, dep, ov], [c3], at, ref=ref)


@spec("Range")
def range_(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    st, de, n = float(rng.integers(-5, 6)), float(rng.choice([1, 2, -1, -3, 3])), int(rng.integers(-2, 8))
    if c in FLOATS:
        de *= 0.5
        st += 0.25
    li = st + n * de + (0 if c in INTS else de * 0.25)

    def ref(a, b, d):
        a, b, d = (float(t.wide()) for t in (a, b, d))
        k = max(int(np.ceil((b - a) / d)), 0)
        return (a + np.arange(k) * d).astype(np.int64 if c in INTS else np.float64)

    at = {"stash_type": 1} if v >= 27 and rng.random() < 0.3 else {}
    return Case(op, v, [narrow(np.asarray(q), c) for q in (st, li, de)], [c], at, ref=ref)
