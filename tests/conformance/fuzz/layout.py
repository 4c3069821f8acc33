"""Shapes and rearrangements."""

import numpy as np
from gen import Case, axis_of, bshapes, dt, i64, opset, shape, spec, vals
from wire import T, narrow


def any_t(rng, op, v, var="T"):
    return dt(rng, op, v, var)


@spec("Reshape")
def reshape(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 0, 4, zero=0.2)
    n = int(np.prod(s))
    at = {}
    az = 0
    if v >= 14 and rng.random() < 0.5:
        at["allowzero"] = az = int(rng.integers(0, 2))
    if n == 0:
        if az:
            t = [0, 3]
            out = (0, 3)
        else:
            t = [0] * len(s)
            out = s
    else:
        t = list(s)
        rng.shuffle(t)
        if len(t) > 1 and rng.random() < 0.5:
            t[:2] = [t[0] * t[1]]
        out = tuple(t)
        t = [int(q) for q in t]
        if not az:
            t = [0 if i < len(s) and s[i] == d and rng.random() < 0.4 else d for i, d in enumerate(t)]
        if t and rng.random() < 0.6:
            t[int(rng.integers(0, len(t)))] = -1
    ref = lambda x, *_: T(x.a.reshape(out), c)
    x = vals(rng, c, s)
    if v < 5:
        return Case(op, v, [x], [c], {"shape": t, **at}, ref=ref) if t else None
    return Case(op, v, [x, i64(np.array(t, np.int64))], [c], at, ref=ref)


@spec("Flatten")
def flatten(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 0 if v >= 11 else 1, 4)
    r = len(s)
    at = {}
    ax = 1
    if rng.random() < 0.8 or r == 0:
        at["axis"] = ax = int(rng.integers(-r if v >= 11 else 0, r + 1))
    k = ax + r if ax < 0 else ax
    return Case(
        op, v, [vals(rng, c, s)], [c], at, ref=lambda x: T(x.a.reshape(int(np.prod(s[:k])), int(np.prod(s[k:]))), c)
    )


@spec("Squeeze", "Unsqueeze")
def squeeze(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = [1 if rng.random() < 0.4 else d for d in shape(rng, 0, 4)]
    r = len(s)
    if op == "Squeeze":
        ones = [i for i, d in enumerate(s) if d == 1]
        rng.shuffle(ones)
        k = ones[: int(rng.integers(0, len(ones) + 1))]
        none = rng.random() < 0.3
        if none:
            k = ones
        out = [d for i, d in enumerate(s) if i not in k]
        axes = [int(i - r if v >= 11 and rng.random() < 0.4 else i) for i in k]
        if not axes and not none:
            return None
        if none:
            axes = None
    else:
        if r == 8:
            return None
        m = int(rng.integers(1, min(4, 9 - r)))
        R = r + m
        k = rng.permutation(R)[:m]
        if v < 11:
            k = np.sort(k)
        it = iter(s)
        out = [1 if i in k else next(it) for i in range(R)]
        axes = [int(i - R if v >= 11 and rng.random() < 0.4 else i) for i in k]
    ref = lambda x, *_: T(x.a.reshape(out), c)
    x = vals(rng, c, tuple(s))
    if axes is None:
        return Case(op, v, [x], [c], {}, ref=ref)
    if v < 13:
        return Case(op, v, [x], [c], {"axes": axes}, ref=ref)
    return Case(op, v, [x, i64(axes)], [c], {}, ref=ref)


@spec("Transpose")
def transpose(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 0, 5)
    at = {}
    p = None
    if len(s) and rng.random() < 0.8:
        p = [int(q) for q in rng.permutation(len(s))]
        at["perm"] = p
    return Case(op, v, [vals(rng, c, s)], [c], at, ref=lambda x: T(np.transpose(x.a, p), c))


@spec("Expand")
def expand(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    a, b = bshapes(rng, 2)
    return Case(
        op,
        v,
        [vals(rng, c, a), i64(np.array(b, np.int64))],
        [c],
        ref=lambda x, _: T(np.broadcast_to(x.a, np.broadcast_shapes(a, b)), c),
    )


@spec("Tile")
def tile(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    if v < 6:
        s = shape(rng, 1, 3)
        ax = int(rng.integers(0, len(s)))
        n = int(rng.integers(1, 4))
        rep = [n if i == ax else 1 for i in range(len(s))]
        return Case(
            op,
            v,
            [vals(rng, c, s), narrow(np.asarray(n), c), narrow(np.asarray(ax), c)],
            [c],
            ref=lambda x, *_: T(np.tile(x.a, rep), c),
        )
    s = shape(rng, 0, 4, top=3, limit=60)
    rep = [int(q) for q in rng.integers(0 if rng.random() < 0.2 else 1, 3, len(s))]
    return Case(
        op,
        v,
        [vals(rng, c, s), i64(np.array(rep, np.int64))],
        [c],
        ref=lambda x, _: T(np.tile(x.a, rep) if rep else x.a, c),
    )


@spec("Concat")
def concat(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 1, 4)
    r = len(s)
    ax = axis_of(rng, r) if v >= 11 else int(rng.integers(0, r))
    n = int(rng.integers(1, 5))
    if v < 4 and rng.random() < 0.3 and r > 1:
        ax = 1
    ins = []
    for _ in range(n):
        t = list(s)
        t[ax] = int(rng.integers(0, 4))
        ins.append(vals(rng, c, tuple(t)))
    at = {"axis": ax} if not (v < 4 and ax == 1) else {}
    return Case(op, v, ins, [c], at, ref=lambda *x: T(np.concatenate([t.a for t in x], ax), c))


@spec("Split")
def split(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 1, 4, top=6)
    r = len(s)
    n = int(rng.integers(1, 4))
    at = {}
    ax = 0
    if rng.random() < 0.8:
        at["axis"] = ax = axis_of(rng, r) if v >= 11 else int(rng.integers(0, r))
    kind = rng.random()
    x_s = list(s)
    ins2 = []
    if kind < 0.5:
        sizes = [int(q) for q in rng.integers(0 if v >= 11 else 1, 4, n)]
        x_s[ax] = sum(sizes)
        if v == 1 and rng.random() < 0.5:
            ins2 = [narrow(np.asarray(sizes), c)]
        elif v < 13:
            at["split"] = sizes
        else:
            ins2 = [i64(sizes)]
    else:
        if v >= 18:
            at["num_outputs"] = n
            L = x_s[ax]
            ch = -(-L // n)
            sizes = [min(ch, max(L - i * ch, 0)) for i in range(n)]
            if ch * (n - 1) > L:
                return None
        else:
            x_s[ax] = x_s[ax] * n
            sizes = [x_s[ax] // n] * n
    cuts = np.cumsum(sizes)[:-1]
    return Case(
        op,
        v,
        [vals(rng, c, tuple(x_s))] + ins2,
        [c] * n,
        at,
        ref=lambda x, *_: [T(q, c) for q in np.split(x.a, cuts, ax)],
    )


@spec("Shape", "Size")
def shape_op(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 0, 4)
    at = {}
    r = len(s)
    if op == "Size":
        return Case(op, v, [vals(rng, c, s)], [7], ref=lambda x: i64(np.prod(s, dtype=np.int64)))
    a, b = 0, r
    if v >= 15:
        if rng.random() < 0.6:
            at["start"] = a = int(rng.integers(-r - 2, r + 3))
        if rng.random() < 0.6:
            at["end"] = b = int(rng.integers(-r - 2, r + 3))
    cl = lambda q: min(max(q + r if q < 0 else q, 0), r)
    return Case(
        op, v, [vals(rng, c, s)], [7], at, ref=lambda x: i64(np.array(s, np.int64)[cl(a) : max(cl(b), cl(a))])
    )


@spec("DepthToSpace", "SpaceToDepth")
def d2s(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    b = int(rng.integers(1, 4))
    n, ch, h, w = (int(q) for q in rng.integers(0 if rng.random() < 0.1 else 1, 4, 4))
    at = {"blocksize": b}
    if op == "DepthToSpace":
        mode = "DCR"
        if v >= 11 and rng.random() < 0.7:
            at["mode"] = mode = str(rng.choice(["DCR", "CRD"]))
        x = vals(rng, c, (n, ch * b * b, h, w))

        def ref(x):
            if mode == "DCR":
                t = x.a.reshape(n, b, b, ch, h, w).transpose(0, 3, 4, 1, 5, 2)
            else:
                t = x.a.reshape(n, ch, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
            return T(t.reshape(n, ch, h * b, w * b), c)

    else:
        x = vals(rng, c, (n, ch, h * b, w * b))
        ref = lambda x: T(x.a.reshape(n, ch, h, b, w, b).transpose(0, 3, 5, 1, 2, 4).reshape(n, ch * b * b, h, w), c)
    return Case(op, v, [x], [c], at, ref=ref)
