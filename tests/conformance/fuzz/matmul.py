"""Matrix products and Einsum."""

import numpy as np
from gen import Case, bshapes, dt, opset, shape, spec, vals
from wire import FLOATS, INTS


@spec("MatMul")
def matmul(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    m, k, n = (int(d) for d in rng.integers(0 if rng.random() < 0.1 else 1, 5, 3))
    b1, b2 = bshapes(rng, 2, 3)
    s1 = b1 + (m, k) if rng.random() < 0.8 else (k,)
    s2 = b2 + (k, n) if rng.random() < 0.8 else (k,)
    ref = lambda a, b: np.matmul(
        np.float64(a.wide()) if c in FLOATS else a.wide(), np.float64(b.wide()) if c in FLOATS else b.wide()
    )
    return Case(op, v, [vals(rng, c, s1), vals(rng, c, s2)], [c], tvar=c, ref=ref)


@spec("Gemm")
def gemm(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    m, k, n = (int(d) for d in rng.integers(0 if rng.random() < 0.15 else 1, 5, 3))
    at = {}
    ta, tb = int(rng.integers(0, 2)), int(rng.integers(0, 2))
    if ta:
        at["transA"] = 1
    if tb:
        at["transB"] = 1
    for q in ("alpha", "beta"):
        if rng.random() < 0.5:
            at[q] = float(rng.choice([0.5, 2.0, 0.0, -1.0])) if c not in INTS else 2.0
    ins = [vals(rng, c, (k, m) if ta else (m, k)), vals(rng, c, (n, k) if tb else (k, n))]
    if v < 11 or rng.random() < 0.7:
        if v < 7:
            cs = (m, n) if rng.random() < 0.5 else (n,)
            if cs != (m, n):
                at["broadcast"] = 1
        else:
            cs = [(m, n), (1, n), (m, 1), (n,), (), (1,), (1, 1)][int(rng.integers(0, 7))]
        ins.append(vals(rng, c, cs))

    def ref(a, b, d=None):
        f = (lambda t: np.float64(t.wide())) if c in FLOATS else lambda t: t.wide()
        y = at.get("alpha", 1) * ((f(a).T if ta else f(a)) @ (f(b).T if tb else f(b)))
        return np.broadcast_to(y + at.get("beta", 1) * f(d) if d is not None else y, (m, n))

    return Case(op, v, ins, [c], at, tvar=c, ref=ref)


@spec("Einsum")
def einsum(rng, op):
    v = 12
    c = dt(rng, op, v)
    n = int(rng.integers(1, 4))
    letters = "abcdeAB"[: int(rng.integers(1, 6))]
    size = {l: int(rng.integers(1, 4)) for l in letters}
    if rng.random() < 0.08:
        size[letters[0]] = 0
    ell = tuple(int(d) for d in rng.integers(1, 3, int(rng.integers(0, 3))))
    use = rng.random() < 0.4
    terms, ins = [], []
    for _ in range(n):
        t = "".join(rng.choice(list(letters), int(rng.integers(0, 4))))
        if rng.random() < 0.7:
            t = "".join(dict.fromkeys(t))
        s = [size[l] for l in t]
        if use and rng.random() < 0.8:
            i = int(rng.integers(0, len(t) + 1))
            e = ell[int(rng.integers(0, len(ell) + 1)) :]
            e = tuple(1 if rng.random() < 0.2 else d for d in e)
            s = s[:i] + list(e) + s[i:]
            t = t[:i] + "..." + t[i:]
        terms.append(t)
        ins.append(vals(rng, c, tuple(s), "tiny"))
    has_ell = any("..." in t for t in terms)
    seen = [l for l in letters if any(l in t for t in terms)]
    eq = ("," if rng.random() < 0.6 else " , ").join(terms)
    if rng.random() < 0.7:
        out = [l for l in seen if rng.random() < 0.6]
        rng.shuffle(out)
        o = "".join(out)
        if has_ell:
            i = int(rng.integers(0, len(o) + 1))
            o = o[:i] + "..." + o[i:]
        eq += ("->" if rng.random() < 0.6 else " -> ") + o
    if any(len(t.replace("...", "")) + 0 > 8 for t in terms):
        return None
    ref = lambda *x: np.einsum(
        eq.replace(" ", ""), *[np.float64(t.wide()) if c in FLOATS else (t.wide() if c != 13 else t.a) for t in x]
    )
    return Case(op, v, ins, [c], {"equation": eq}, tvar=c, ref=ref)


@spec("Det")
def det(rng, op):
    v = opset(rng, op)
    c = dt(rng, op, v)
    n = int(rng.integers(1, 5))
    s = shape(rng, 0, 2) + (n, n)
    return Case(op, v, [vals(rng, c, s)], [c], tvar=c, ref=lambda x: np.linalg.det(np.float64(x.wide())), scale=5)
