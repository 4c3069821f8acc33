"""Gathering and scattering."""

import numpy as np
from gen import Case, axis_of, dt, i64, index, opset, shape, spec, vals
from wire import SMALL_FLOATS, SMALL_INTS, T, narrow


@spec("Gather", "GatherElements")
def gather(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 1, 3, zero=0)
    r = len(s)
    at = {}
    ax = 0
    if rng.random() < 0.8:
        at["axis"] = ax = axis_of(rng, r) if v >= 11 else int(rng.integers(0, r))
    L = s[ax]
    lo = -L if v >= 11 else 0
    if op == "Gather":
        q = shape(rng, 0, 2)
    else:
        q = tuple(
            int(rng.integers(0 if rng.random() < 0.1 else 1, d + 1)) if i != ax % r else int(rng.integers(1, 6))
            for i, d in enumerate(s)
        )
    ix = rng.integers(lo, L, q)

    def ref(x, _):
        if op == "Gather":
            return T(np.take(x.a, ix, axis=ax), c)
        y = np.zeros(q, x.a.dtype)
        for i in np.ndindex(q):
            j = list(i)
            j[ax] = ix[i]
            y[i] = x.a[tuple(j)]
        return T(y, c)

    return Case(op, v, [vals(rng, c, s), index(rng, ix)], [c], at, ref=ref)


@spec("GatherND")
def gathernd(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 1, 4, zero=0)
    r = len(s)
    at = {}
    b = 0
    if v >= 12 and rng.random() < 0.6:
        at["batch_dims"] = b = int(rng.integers(0, r))
    k = int(rng.integers(1, r - b + 1))
    q = s[:b] + shape(rng, 0, 2) + (k,)
    ix = np.stack([rng.integers(-s[b + j], s[b + j], q[:-1]) for j in range(k)], -1)

    def ref(x, _):
        out = np.zeros(q[:-1] + s[b + k :], x.a.dtype)
        for i in np.ndindex(q[:-1]):
            out[i] = x.a[i[:b] + tuple(ix[i])]
        return T(out, c)

    return Case(op, v, [vals(rng, c, s), i64(ix)], [c], at, ref=ref)


def combine(how, a, b):
    return {"none": b, "add": a + b, "mul": a * b, "max": np.maximum(a, b), "min": np.minimum(a, b)}[how]


@spec("ScatterElements", "Scatter", "ScatterND")
def scatter(rng, op):
    v = opset(rng, op)
    v = min(v, 10) if op == "Scatter" else v
    c = dt(rng, op, v)
    s = shape(rng, 1, 3, zero=0)
    r = len(s)
    at = {}
    hows = (
        ["none"]
        + (["add", "mul"] if v >= 16 and op != "Scatter" else [])
        + (["max", "min"] if v >= 18 and op != "Scatter" else [])
    )
    if c in (9, 14, 15) or c in SMALL_FLOATS | set(SMALL_INTS):
        hows = ["none"]
    how = str(rng.choice(hows))
    if how != "none" or rng.random() < 0.2 and v >= 16 and op != "Scatter":
        at["reduction"] = how
    x = vals(rng, c, s, "tiny")
    if op == "ScatterND":
        k = int(rng.integers(1, r + 1))
        q = shape(rng, 0, 2)
        ix = np.stack([rng.integers(-s[j] if v >= 11 else 0, s[j], q) for j in range(k)], -1)
        if how == "none":  # no duplicates
            flat = np.stack([np.mod(ix[..., j], s[j]) for j in range(k)], -1).reshape(-1, k)
            if len({tuple(f) for f in flat}) != len(flat):
                return None
        u = vals(rng, c, tuple(q) + s[k:], "tiny")

        def ref(x, _, u):
            y = np.array(x.wide() if how != "none" and c != 13 else x.a)
            uu = u.wide() if how != "none" and c != 13 else u.a
            for i in np.ndindex(tuple(q)):
                y[tuple(ix[i])] = combine(how, y[tuple(ix[i])], uu[i])
            return T(y, c) if how == "none" or c == 13 else narrow(y, c)

        return Case(op, v, [x, i64(ix), u], [c], at, ref=ref, tvar=c)
    ax = 0
    if rng.random() < 0.8:
        at["axis"] = ax = axis_of(rng, r) if v >= 11 else int(rng.integers(0, r))
    L = s[ax]
    q = tuple(int(rng.integers(0 if rng.random() < 0.05 else 1, d + 1)) for d in s)
    if how == "none":
        ix = np.argsort(rng.random(q[: ax % r] + (L,) + q[ax % r + 1 :]), axis=ax).take(np.arange(q[ax]), axis=ax)
    else:
        ix = rng.integers(0, L, q)
    if v >= 11:
        ix = np.where(rng.random(ix.shape) < 0.4, ix - L, ix)
    u = vals(rng, c, q, "tiny")

    def ref(x, _, u):
        y = np.array(x.wide() if how != "none" and c != 13 else x.a)
        uu = u.wide() if how != "none" and c != 13 else u.a
        for i in np.ndindex(q):
            j = list(i)
            j[ax] = ix[i]
            j = tuple(j)
            y[j] = combine(how, y[j], uu[i])
        return T(y, c) if how == "none" or c == 13 else narrow(y, c)

    return Case(op, v, [x, index(rng, ix), u], [c], at, ref=ref, tvar=c)


@spec("TensorScatter")
def tscatter(rng, op):
    c = dt(rng, op, 24)
    s = shape(rng, 2, 4, zero=0)
    r = len(s)
    ax = int(rng.integers(1, r))
    at = {}
    if ax == r - 2 and rng.random() < 0.5:
        pass
    else:
        at["axis"] = ax - r if rng.random() < 0.5 else ax
    mode = "linear"
    if rng.random() < 0.6:
        at["mode"] = mode = str(rng.choice(["linear", "circular"]))
    L = s[ax]
    n = int(rng.integers(0 if rng.random() < 0.1 else 1, L + 1))
    us = s[:ax] + (n,) + s[ax + 1 :]
    ins = [vals(rng, c, s), vals(rng, c, us)]
    w = np.zeros(s[0], np.int64)
    if rng.random() < 0.8:
        w = rng.integers(0, L - n + 1 if mode == "linear" else 2 * L, s[0])
        ins.append(i64(w))

    def ref(x, u, *_):
        y = x.a.copy()
        for p in np.ndindex(s[:ax]):
            for i in range(n):
                y[p + ((w[p[0]] + i) % L,)] = u.a[p + (i,)]
        return T(y, c)

    return Case(op, 24, ins, [c], at, ref=ref)


@spec("Compress")
def compress(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 1, 3)
    at = {}
    ax = None
    if rng.random() < 0.6:
        at["axis"] = ax = axis_of(rng, len(s)) if v >= 11 else int(rng.integers(0, len(s)))
    L = int(np.prod(s)) if ax is None else s[ax]
    m = vals(rng, 9, (int(rng.integers(0, L + 1)),))
    return Case(op, v, [vals(rng, c, s), m], [c], at, ref=lambda x, m: T(np.compress(m.a, x.a, axis=ax), c))


@spec("NonZero")
def nonzero(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 0, 3)
    return Case(
        op,
        v,
        [vals(rng, c, s, "tiny")],
        [7],
        ref=lambda x: i64(
            np.array(np.nonzero(np.atleast_1d(x.a)) if x.a.ndim else np.zeros((0, int(x.a != 0)))).reshape(
                x.a.ndim, -1
            )
            if x.a.ndim
            else np.zeros((0, int(x.a != 0)), np.int64)
        ),
    )
