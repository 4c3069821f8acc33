"""Reductions, running sums, order."""

import numpy as np
from gen import Case, axis_of, dt, i64, index, opset, shape, spec, vals
from wire import FLOATS, INTS, PLAIN, T

RED = [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSum",
    "ReduceLogSumExp",
]


@spec(*RED)
def reduce_(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 0, 4, zero=0.2)
    kind = "pos" if op in ("ReduceLogSum",) else "any"
    if op in ("ReduceMax", "ReduceMin") and c in FLOATS:
        kind = "special"
    x = vals(rng, c, s, kind)
    r = len(s)
    by_input = v >= (13 if op == "ReduceSum" else 18)
    n = int(rng.integers(0, r + 1))
    axes = [int(a) for a in rng.permutation(r)[:n]]
    if v >= 11:
        axes = [a - r if rng.random() < 0.4 else a for a in axes]
    at = {}
    keep = 1
    if rng.random() < 0.6:
        at["keepdims"] = keep = int(rng.integers(0, 2))
    noop = 0
    absent = rng.random() < 0.3
    if absent:
        axes = []
    ins = [x]
    if by_input:
        if rng.random() < 0.5:
            at["noop_with_empty_axes"] = noop = int(rng.integers(0, 2))
        if not absent:
            ins.append(i64(axes) if axes else T(np.zeros(0, np.int64)))
    elif axes:
        at["axes"] = axes

    def ref(x, *_):
        w = x.wide() if c != 13 else x.a
        w = np.asarray(w, np.float64) if c in FLOATS else w
        pre = {"ReduceL1": np.abs, "ReduceL2": np.square, "ReduceSumSquare": np.square}.get(op, lambda t: t)
        w = pre(w)
        none = noop and not axes
        ax = tuple(axes) if axes else tuple(range(r))
        if op in ("ReduceMax", "ReduceMin"):
            if none:
                return w
            if c == 9:
                init = op == "ReduceMin"
            elif c in INTS:
                ii = np.iinfo(PLAIN[c])
                init = ii.min if op == "ReduceMax" else ii.max
            else:
                init = -np.inf if op == "ReduceMax" else np.inf
            if c == 9:
                return (np.any if op == "ReduceMax" else np.all)(w, axis=ax, keepdims=bool(keep))
            return (
                (np.max if op == "ReduceMax" else np.min)(
                    w, axis=ax, keepdims=bool(keep), initial=init if 0 in w.shape else None
                )
                if 0 in w.shape
                else (np.max if op == "ReduceMax" else np.min)(w, axis=ax, keepdims=bool(keep))
            )
        if op == "ReduceLogSumExp":
            w = np.float64(w)
            y = w if none else np.log(np.sum(np.exp(w), axis=ax, keepdims=bool(keep)))
        elif op == "ReduceProd":
            y = w if none else np.prod(w, axis=ax, keepdims=bool(keep))
        elif op == "ReduceMean":
            y = w if none else np.sum(np.float64(w), axis=ax, keepdims=bool(keep)) / np.prod([s[a] for a in ax])
            if c in INTS and not none:
                y = np.trunc(y)
        else:
            y = w if none else np.sum(w, axis=ax, keepdims=bool(keep))
        if op == "ReduceL2":
            y = np.sqrt(np.float64(y))
        if op == "ReduceLogSum":
            y = np.log(np.float64(y))
        if c in INTS and np.asarray(y).dtype.kind == "f":
            y = np.nan_to_num(y, nan=0, neginf=np.iinfo(PLAIN[c]).min, posinf=0)
            y = np.clip(y, np.iinfo(PLAIN[c]).min, np.iinfo(PLAIN[c]).max) if c != 13 else np.maximum(y, 0)
        return y

    return Case(op, v, ins, [c], at, tvar=c, ref=ref)


@spec("ArgMax", "ArgMin")
def arg(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 1, 4, zero=0)
    r = len(s)
    at = {}
    ax = 0
    if rng.random() < 0.8:
        at["axis"] = ax = axis_of(rng, r) if v >= 11 else int(rng.integers(0, r))
    keep = 1
    if rng.random() < 0.6:
        at["keepdims"] = keep = int(rng.integers(0, 2))
    last = 0
    if v >= 12 and rng.random() < 0.6:
        at["select_last_index"] = last = int(rng.integers(0, 2))
    if rng.random() < 0.1:
        k = [i for i in range(r) if i != ax % r]
        if k:
            s = list(s)
            s[k[0]] = 0
            s = tuple(s)

    def ref(x):
        w = x.wide()
        w = -w if op == "ArgMin" and w.dtype.kind == "f" else w
        f = np.argmin if op == "ArgMin" and w.dtype.kind != "f" else np.argmax
        y = w.shape[ax] - 1 - f(np.flip(w, ax), axis=ax) if last else f(w, axis=ax)
        return np.expand_dims(y, ax) if keep else y

    return Case(op, v, [vals(rng, c, s, "tiny")], [7], at, tvar=c, ref=ref)


@spec("TopK")
def topk(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 1, 4, zero=0.05)
    r = len(s)
    at = {}
    ax = -1
    if rng.random() < 0.8:
        at["axis"] = ax = axis_of(rng, r) if v >= 11 else int(rng.integers(0, r))
    k = int(rng.integers(0, s[ax] + 1))
    x = vals(rng, c, s, "tiny" if rng.random() < 0.5 else "any")
    ins = [x]
    big = 1
    if v < 10:
        k = max(k, 1)
        if s[ax] < 1:
            return None
        at["k"] = k
    else:
        ins.append(i64([k]))
    if v >= 11:
        if rng.random() < 0.5:
            at["largest"] = big = int(rng.integers(0, 2))
        if rng.random() < 0.4:
            at["sorted"] = 1

    def ref(x, *_):
        w = x.wide() if c != 13 else x.a.astype(np.int64)
        o = np.argsort(-w if big else w, axis=ax, kind="stable")
        o = np.take(o, np.arange(k), axis=ax)
        return [T(np.take_along_axis(x.a, o, ax), c), i64(o)]

    return Case(op, v, ins, [c, 7], at, tvar=c, ref=ref)


@spec("Unique")
def unique(rng, op):
    c = dt(rng, op, 11)
    s = shape(rng, 1, 3, zero=0.0, top=3)
    at = {}
    if rng.random() < 0.5:
        at["axis"] = axis_of(rng, len(s))
    if rng.random() < 0.6:
        at["sorted"] = int(rng.integers(0, 2))
    x = vals(rng, c, s, "tiny")
    ax, srt = at.get("axis"), at.get("sorted", 1)

    def ref(x):
        y, ind, inv, cnt = np.unique(x.a, True, True, True, axis=ax)
        inv = np.asarray(inv).reshape(-1)
        if not srt:
            o = np.argsort(ind)
            back = np.argsort(o)
            y = np.take(y, o, axis=ax if ax is not None else 0)
            ind = ind[o]
            cnt = cnt[o]
            inv = back[inv]
        return [T(y, c), i64(ind), i64(inv), i64(cnt)]

    outs = [c, 7, 7, 7]
    if rng.random() < 0.4:
        k = int(rng.integers(1, 4))
        outs[k] = 0
        f0 = ref
        ref = lambda x: [o for o, u in zip(f0(x), outs) if u]
    if rng.random() < 0.3:
        n = int(rng.integers(1, 4))
        f1 = ref
        outs = outs[:n]
        ref = lambda x: f1(x)[: sum(1 for u in outs if u)]
    return Case(op, 11, [x], outs, at, tvar=c, ref=ref)


@spec("CumSum", "CumProd")
def cum(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    s = shape(rng, 1, 4)
    r = len(s)
    at = {}
    for k in ("exclusive", "reverse"):
        if rng.random() < 0.6:
            at[k] = int(rng.integers(0, 2))
    ax = axis_of(rng, r)
    a = index(rng, ax if rng.random() < 0.6 or op == "CumProd" else [ax])

    def ref(x, _):
        w = x.wide() if c != 13 else x.a.astype(np.int64)
        w = np.float64(w) if c in FLOATS else w
        if at.get("reverse"):
            w = np.flip(w, ax)
        one = 0 if op == "CumSum" else 1
        if at.get("exclusive"):
            w = np.concatenate(
                [
                    np.full_like(np.take(w, [0] if w.shape[ax] else [], axis=ax), one),
                    np.take(w, np.arange(max(0, w.shape[ax] - 1)), axis=ax),
                ],
                ax,
            )
        y = (np.cumsum if op == "CumSum" else np.cumprod)(w, axis=ax)
        return np.flip(y, ax) if at.get("reverse") else y

    return Case(op, v, [vals(rng, c, s, "tiny"), a], [c], at, tvar=c, ref=ref)
