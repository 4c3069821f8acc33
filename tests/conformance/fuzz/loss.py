"""Losses, and Dropout where it leaves everything in."""

import numpy as np
from gen import Case, dt, index, opset, shape, spec, vals
from wire import T, narrow


@spec("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    n, C = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    sp = tuple(int(q) for q in rng.integers(1, 4, int(rng.integers(0, 4))))
    at = {}
    red = "mean"
    if rng.random() < 0.7:
        at["reduction"] = red = str(rng.choice(["mean", "sum", "none"]))
    ig = None
    if rng.random() < 0.5:
        at["ignore_index"] = ig = int(rng.choice([-1, 0, 1, -100, 7]))
    y = rng.integers(0, C, (n,) + sp)
    if ig is not None:
        y = np.where(rng.random(y.shape) < 0.4, ig, y)
    x = vals(rng, c, (n, C) + sp)
    ins = [x, index(rng, y)]
    w = None
    if rng.random() < 0.5:
        w = vals(rng, c, (C,), "pos")
        ins.append(w)
    outs = [c]
    sce = op[0] == "S"
    if sce and rng.random() < 0.5:
        outs = [c, c]

    def ref(x, _, w=None):
        z = np.float64(x.wide())
        lp = z
        if sce:
            m = z.max(1, keepdims=True)
            lp = z - m - np.log(np.exp(z - m).sum(1, keepdims=True))
        keep = np.ones(y.shape, bool) if ig is None else y != ig
        yy = np.where(keep, y, 0)
        pick = np.take_along_axis(lp, np.expand_dims(yy, 1), 1).squeeze(1)
        ww = (np.float64(w.wide())[yy] if w is not None else np.ones(y.shape)) * keep
        l = -pick * ww
        if red == "sum":
            l = l.sum()
        if red == "mean":
            l = l.sum() / ww.sum() if w is not None or ig is not None else l.mean()
        return [l, lp][: len(outs)]

    return Case(op, v, ins, outs, at, tvar=c, ref=ref, scale=3)


@spec("Dropout")
def dropout(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    x = vals(rng, c, shape(rng))
    at = {}
    outs = [c] + ([9 if v >= 10 else c] if rng.random() < 0.5 else [])
    ins = [x]
    if v < 7:
        at["is_test"] = 1
    if v >= 12:
        if rng.random() < 0.5:
            ins.append(T(np.float32(0.5)))
        else:
            at["seed"] = 3
    return Case(
        op,
        v,
        ins,
        outs,
        at,
        ref=lambda x, *_: [x, T(np.ones(x.shape, bool), 9) if v >= 10 else narrow(np.ones(x.shape), c)][: len(outs)],
    )
