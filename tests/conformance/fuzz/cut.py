"""Parts of tensors, and tensors made larger."""

import numpy as np
from gen import Case, dt, i64, index, opset, shape, spec, vals
from wire import T


@spec("Slice")
def slice_(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 1, 4, top=6)
    r = len(s)
    k = int(rng.integers(1, r + 1))
    ax = [int(q) for q in rng.permutation(r)[:k]]
    noaxes = rng.random() < 0.25
    if noaxes:
        ax = list(range(k))
    big = 2**63 - 1 if v >= 10 else 2**31 - 1
    pick = lambda d: int(rng.choice([rng.integers(-d - 2, d + 3), big, -big, 0, -1, d]))
    st, en = [pick(s[a]) for a in ax], [pick(s[a]) for a in ax]
    steps = None
    if v >= 10 and rng.random() < 0.6:
        steps = [int(rng.choice([1, 2, -1, -2, 3, -7, big, -big])) for _ in ax]
    sl = [slice(None)] * r
    for a, b, e, p in zip(ax, st, en, steps or [1] * k):
        sl[a] = slice(b, e, p)

    def one(L, b, e, p):
        # the documentation's clamping
        if b < 0:
            b += L
        if e < 0:
            e += L
        if p > 0:
            b = min(max(b, 0), L)
            e = min(max(e, 0), L)
        else:
            b = min(max(b, 0), L - 1)
            e = min(max(e, -1), L - 1)
        return np.array(list(range(b, e, p)), np.int64) if L else np.zeros(0, np.int64)

    def ref(x, *_):
        y = x.a
        for a, b, e, p in zip(ax, st, en, steps or [1] * k):
            y = np.take(y, one(y.shape[a], b, e, p), axis=a)
        return T(y, c)

    axs = [a - r if rng.random() < 0.3 and v >= 10 else a for a in ax]
    x = vals(rng, c, s)
    if v < 10:
        at = {"starts": st, "ends": en}
        if not noaxes:
            at["axes"] = ax
        return Case(op, v, [x], [c], at, ref=ref)
    ty = np.int32 if rng.random() < 0.4 and max(map(abs, st + en + (steps or [0]))) < 2**31 else np.int64
    f = lambda q: None if q is None else T(np.array(q, ty))
    ins = [x, f(st), f(en), None if noaxes else f(axs), f(steps)]
    while ins[-1] is None:
        ins.pop()
    return Case(op, v, ins, [c], {}, ref=ref)


@spec("Pad")
def pad(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 1, 4, zero=0.04)
    r = len(s)
    modes = ["constant", "reflect", "edge"] + (["wrap"] if v >= 19 else [])
    mode = str(rng.choice(modes))
    at = {"mode": mode} if mode != "constant" or rng.random() < 0.5 else {}
    axes = list(range(r))
    use = v >= 18 and rng.random() < 0.5
    if use:
        axes = [int(q) for q in rng.permutation(r)[: int(rng.integers(1, r + 1))]]
    b, e = [], []
    for a in axes:
        L = s[a]
        top = 3 if mode in ("constant",) else 3 if mode == "edge" else L - 1 if mode == "reflect" else L
        if mode != "constant" and L == 0:
            top = 0
        lo, hi = (int(q) for q in rng.integers(0, max(top, 0) + 1, 2))
        if rng.random() < 0.3 and (mode == "constant" or (mode == "wrap" and L > 0)):
            most = L if mode == "constant" else L - 1
            if rng.random() < 0.5:
                lo = -int(rng.integers(0, most + 1))
            else:
                hi = -int(rng.integers(0, most + 1))
        b.append(lo)
        e.append(hi)
    if any(s[a] + x + y < 0 for a, x, y in zip(axes, b, e)):
        return None
    cv = vals(rng, c, ())
    given = rng.random() < 0.6 and mode == "constant"

    def ref(x, *_):
        y = x.a
        pw = [(0, 0)] * r
        for a, p, q in zip(axes, b, e):  # negative pads cut first: the others wrap what is left
            pw[a] = (max(p, 0), max(q, 0))
            if mode == "wrap":
                y = np.take(y, np.arange(max(-p, 0), y.shape[a] - max(-q, 0)), axis=a)
        if mode == "constant":
            y = np.pad(y, pw, constant_values=cv.a if given else y.dtype.type(0))
        else:
            y = np.pad(y, pw, mode=mode)
        for a, p, q in zip(axes, b, e):
            if mode != "wrap":
                y = np.take(y, np.arange(max(-p, 0), y.shape[a] - max(-q, 0)), axis=a)
        return T(y, c)

    x = vals(rng, c, s)
    if v < 11:
        at["pads" if v >= 2 else "paddings"] = b + e
        if given:
            at["value"] = float(cv.wide())
        return Case(op, v, [x], [c], at, ref=ref)
    ins = [x, i64(b + e), cv if given else None]
    if use:
        ins.append(index(rng, [a - r if rng.random() < 0.3 else a for a in axes]))
    while ins[-1] is None:
        ins.pop()
    return Case(op, v, ins, [c], at, ref=ref)


@spec("Trilu")
def trilu(rng, op):
    c = dt(rng, op, 14)
    s = shape(rng, 2, 4)
    at = {}
    up = 1
    k = 0
    if rng.random() < 0.7:
        at["upper"] = up = int(rng.integers(0, 2))
    ins = [vals(rng, c, s)]
    if rng.random() < 0.7:
        k = int(rng.choice([-9, -2, -1, 0, 1, 2, 9]))
        ins.append(i64(k) if rng.random() < 0.7 else i64([k]))
    return Case(op, 14, ins, [c], at, ref=lambda x, *_: T((np.triu if up else np.tril)(x.a, k), c))


@spec("CenterCropPad")
def ccp(rng, op):
    v = 18
    c = dt(rng, op, v)
    s = shape(rng, 1, 4)
    r = len(s)
    at = {}
    axes = list(range(r))
    if rng.random() < 0.6:
        axes = [int(q) for q in rng.permutation(r)[: int(rng.integers(1, r + 1))]]
        at["axes"] = [a - r if rng.random() < 0.4 else a for a in axes]
    want = [int(q) for q in rng.integers(0 if rng.random() < 0.1 else 1, 7, len(axes))]

    def ref(x, _):
        y = x.a
        for a, t in zip(axes, want):
            L = y.shape[a]
            if t < L:
                b = (L - t) // 2
                y = np.take(y, np.arange(b, b + t), axis=a)
            else:
                p = [(0, 0)] * r
                p[a] = ((t - L) // 2, t - L - (t - L) // 2)
                y = np.pad(y, p)
        return T(y, c)

    return Case(op, v, [vals(rng, c, s), index(rng, want)], [c], at, ref=ref)


@spec("ReverseSequence")
def revseq(rng, op):
    c = dt(rng, op, 10)
    s = shape(rng, 2, 4, zero=0)
    bx = int(rng.integers(0, 2))
    at = {}
    if rng.random() < 0.8:
        at = {"batch_axis": bx, "time_axis": 1 - bx}
    else:
        bx = 1
    n = i64(rng.integers(1, s[1 - bx] + 1, s[bx]))

    def ref(x, n):
        y = x.a.copy()
        for i, k in enumerate(n.a):
            sl = [slice(None)] * y.ndim
            sl[bx] = i
            sub = x.a[tuple(sl)]
            o = np.concatenate([np.arange(k)[::-1], np.arange(k, s[1 - bx])])
            y[tuple(sl)] = np.take(sub, o, axis=0)
        return T(y, c)

    return Case(op, 10, [vals(rng, c, s), n], [c], at, ref=ref)


@spec("Upsample")
def upsample(rng, op):
    v = int(rng.choice([1, 7, 9]))
    c = dt(rng, op, v, skip=(14, 15))  # Resize has no complex kernel
    s = tuple(int(q) for q in rng.integers(1, 4, 4))
    sc = [1.0, 1.0, float(rng.choice([1.0, 2.0, 1.5, 3.0])), float(rng.choice([1.0, 2.0, 2.5]))]
    at = {"mode": "nearest"} if rng.random() < 0.5 else {}
    x = vals(rng, c, s)

    def ref(x, *_):
        y = x.a
        for axis in (2, 3):  # the element that an output's index over the scale falls into
            to = int(np.floor(s[axis] * sc[axis]))
            y = np.take(y, np.floor(np.arange(to) / sc[axis]).astype(int), axis=axis)
        return T(y, c)

    if v == 1:
        return Case(op, v, [x], [c], {"height_scale": sc[2], "width_scale": sc[3], **at}, ref=ref)
    if v == 7:
        return Case(op, v, [x], [c], {"scales": sc, **at}, ref=ref)
    return Case(op, v, [x, T(np.array(sc, np.float32))], [c], at, ref=ref)
