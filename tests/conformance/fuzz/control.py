"""If, Loop and Scan around random nodes, that see what is outside."""

import numpy as np
from gen import Unfit
from graph import Body
from wire import FLOATS, T


def inside(b, count, own, results):
    """A body; results(made there) names its outputs, and may add nodes."""
    outside = b.nodes, b.made, list(b.seen)
    b.nodes, b.made, b.seen = [], {}, b.seen + own
    b.depth += 1
    inputs = dict(b.g.made)
    try:
        start = len(b.seen)
        b.fill(count)
        outs = results([n for n in b.seen[start:] if b.value(n).code != 0 and n not in b.made])
        return Body(b.nodes, own, outs, b.made)
    finally:
        b.depth -= 1
        b.nodes, b.made, b.seen = outside
        b.seen += [k for k in b.g.made if k not in inputs and b.g.made[k] == "input"]


def worst(b, names):
    """The largest bound of these, of their largest elements."""
    out = 0.0
    for n in names:
        a = b.value(n).a
        top = float(np.abs(a[np.isfinite(a)]).max(initial=0)) if b.value(n).code in FLOATS else 0.0
        if top and n in b.g.bound:
            out = max(out, float(np.max(b.g.bound[n], initial=0)) / top)
    return out


def condition(b, v):
    names = [n for n in b.pool() if b.value(n).code == 9 and b.value(n).shape in ((), (1,))]
    if names and b.rng.random() < 0.5:
        return str(b.rng.choice(names))
    return b.fresh(T(np.asarray(v)))


def add_if(b):
    rng = b.rng
    cond = condition(b, bool(rng.integers(0, 2)))
    codes, shapes = [], []

    def first(made):
        names = made or b.pool()
        if not names:
            raise Unfit("If")
        outs = [str(n) for n in rng.choice(names, int(rng.integers(1, 3)))]
        outs = [b.one("Identity", [n], {}, b.value(n).code) if n not in made else n for n in dict.fromkeys(outs)]
        codes[:] = [b.value(n).code for n in outs]
        shapes[:] = [b.value(n).shape for n in outs]
        return outs

    def second(made):
        outs = []
        for c, s in zip(codes, shapes):
            names = [n for n in made if b.value(n).code == c and n not in outs]
            if names and rng.random() < 0.4:
                outs.append(str(rng.choice(names)))
                continue
            try:
                n = b.bridge(c, s, "any")
            except Unfit:
                n = b.fresh(T(np.ones(s, b.value(_like(b, c)).a.dtype), c), "init")
            outs.append(b.one("Identity", [n], {}, c))
        return outs

    one = inside(b, int(rng.integers(0, 4)), [], first)
    other = inside(b, int(rng.integers(0, 4)), [], second)
    if rng.random() < 0.5:
        one, other = other, one
    b.emit("If", [cond], {"then_branch": one, "else_branch": other}, codes, 2 * worst(b, one.outs + other.outs))
    return True


def _like(b, code):
    return next(n for n in reversed(list(b.g.values)) if b.g.values[n].code == code)


def fed_back(b, states, made, keep):
    """New values of the states, of the same dtypes and (mostly) shapes, that stay small."""
    rng, outs = b.rng, []
    for s in states:
        t = b.value(s)
        names = [n for n in made if b.value(n).code == t.code and b.value(n).shape == t.shape and n not in outs]
        n = str(rng.choice(names)) if names else b.bridge(t.code, t.shape, "any")
        if t.code != 9 and (t.code in FLOATS or b.g.opset >= 10):
            n = b.as_kind(n, t.code, "unit" if t.code in FLOATS else "any")
        if rng.random() < 0.08 and len(t.shape) and not keep and rng.random() < 0.5:
            n = b.one("Concat", [n, s], {"axis": 0}, t.code)
        if n in outs or not any(n in m.outs for m in b.nodes):
            n = b.one("Identity", [n], {}, t.code)
        outs.append(n)
    return outs


def start_states(b, many):
    names = [n for n in b.pool() if b.value(n).code in (1, 1, 7, 6, 9, 11) and b.value(n).a.size < 200]
    if not names:
        raise Unfit("states")
    return [str(n) for n in b.rng.choice(names, many)]


def inner(b, n):
    """A name in a body with the value that it has at first."""
    k = b.name("s")
    b.g.values[k] = b.value(n)
    if n in b.g.bound:
        b.g.bound[k] = b.g.bound[n]
    return k


def add_loop(b):
    rng = b.rng
    start = start_states(b, int(rng.integers(0 if b.seen else 1, 3)))
    trips = int(rng.integers(0, 5))
    limit = b.fresh(T(np.asarray(trips, np.int64)))
    go = "" if rng.random() < 0.4 else condition(b, rng.random() < 0.9)
    i, c = b.name("i"), b.name("k")
    b.g.values[i], b.g.values[c] = T(np.asarray(0, np.int64)), T(np.asarray(True))
    states = [inner(b, s) for s in start]
    scans = []

    def results(made):
        if rng.random() < 0.4:
            on = b.one("Less", [i, b.scalar(7, int(rng.integers(0, 5)))], {}, 9)
        else:
            on = b.one("Identity", [c], {}, 9)
        new = fed_back(b, states, made, False)
        names = [n for n in made if n not in new]
        for _ in range(int(rng.integers(0, 3))):
            if names:
                n = str(rng.choice(names))
                scans.append(b.one("Identity", [n], {}, b.value(n).code))
        if not new and not scans:
            scans.append(b.one("Identity", [i], {}, 7))
        return [on, *new, *scans]

    body = inside(b, int(rng.integers(1, 5)), [i, c, *states], results)
    codes = [b.value(n).code for n in body.outs[1:]]
    b.emit("Loop", [limit, go, *start], {"body": body}, codes, 8 * worst(b, body.outs))
    return True


def add_scan(b):
    rng = b.rng
    start = start_states(b, int(rng.integers(0, 2)))
    over = [n for n in b.pool() if b.value(n).code in (1, 7) and len(b.value(n).shape) >= 1 and b.value(n).a.size]
    if not over:
        raise Unfit("Scan")
    x = str(rng.choice(over))
    states = [inner(b, s) for s in start]
    e = b.name("e")
    b.g.values[e] = T(np.asarray(b.value(x).a[0]))
    outs = []

    def results(made):
        new = fed_back(b, states, made, True)
        names = [n for n in made if n not in new] or [e]
        n = str(rng.choice(names))
        outs.append(b.one("Identity", [n], {}, b.value(n).code))
        return [*new, *outs]

    body = inside(b, int(rng.integers(1, 4)), [*states, e], results)
    attrs = {"body": body, "num_scan_inputs": 1}
    if rng.random() < 0.3:
        attrs["scan_input_directions"] = [1]
    b.emit("Scan", [*start, x], attrs, [b.value(n).code for n in body.outs], 8 * worst(b, body.outs))
    return True


def add(b):
    return [add_if, add_loop, add_scan][int(b.rng.integers(0, 3))](b)
