"""Random shapes and values, the cases' list, and which dtypes an operator takes at an opset."""

import os

import numpy as np
from wire import CODES, INTS, PLAIN, SMALL_FLOATS, SMALL_INTS, UNSIGNED, T, narrow

NEWEST = 28
SPECS = []  # (operator, function of a generator -> Case or None)
GRAPH_SPECS = []  # the same, of operators that only graphs look at: (operator, first opset, function)


class Unfit(Exception):
    """A node that this graph cannot have: its opset, or its dtypes."""


class Surroundings:
    """What a graph says about the nodes that it takes; without one a node is on its own."""

    opset = 0
    dtypes = {}  # dtype: weight
    shapes = ()  # of the values that there are


AROUND = Surroundings()


def read_types():
    sets, table = {}, {}
    for line in open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "types.txt")):
        if line.startswith("#"):
            continue
        name, *rest = line.split()
        if name.endswith(":"):
            sets[name[:-1]] = [CODES[t] for t in rest]
        else:
            table.setdefault(name, {})[int(rest[0])] = {k: sets[v] for k, v in (r.split("=") for r in rest[1:])}
    return table


TYPES = read_types()


def opsets_of(op):
    return sorted(TYPES[op])


def since_of(op, opset):
    return max((v for v in TYPES[op] if v <= opset), default=None)


def types(op, opset, var="T"):
    return TYPES[op][since_of(op, opset)].get(var, [])


class Case:
    """A node: `ins` are tensors, None where absent; `outs` dtypes, 0 where not asked for. `ref` gives
    the outputs by the documentation's formula; without one ONNX Runtime does. `tvar` is the dtype that
    an oracle may widen; `oracle` another spelling of the node, (op, opset, attrs, ins), for it."""

    def __init__(self, op, opset, ins, outs, attrs=None, tvar=None, ref=None, oracle=None, tag="", scale=1.0):
        self.op, self.opset, self.ins, self.outs = op, opset, ins, outs
        self.attrs, self.tvar, self.ref, self.oracle = attrs or {}, tvar, ref, oracle
        self.tag, self.scale = tag, scale  # scale: of what cancels in a result
        self.forms = ""


def spec(*names):
    def add(f):
        for n in names:
            SPECS.append((n, lambda rng, n=n: f(rng, n)))
        return f

    return add


def family(*names, since=1):
    """Operators that ONNX Runtime alone tells the results of, made for a graph's opset."""

    def add(f):
        for n in names:
            GRAPH_SPECS.append((n, since, lambda rng, n=n: f(rng, n, AROUND.opset)))
        return f

    return add


def opset(rng, op, lo=1):
    if AROUND.opset:
        if AROUND.opset < lo or since_of(op, AROUND.opset) is None:
            raise Unfit(op)
        return AROUND.opset
    versions = [max(v, lo) for v in opsets_of(op) if v >= lo or v == since_of(op, lo)]
    return int(rng.choice(versions + [v for v in (13, 17) if v >= versions[0]] + [NEWEST]))


def dt(rng, op, v, var="T", skip=()):
    codes = [c for c in types(op, v, var) if c not in skip]
    return weighted(rng, codes) if AROUND.dtypes else int(rng.choice(codes))


def weighted(rng, codes):
    """One of the dtypes, as often as the graph wants them."""
    weights = np.array([AROUND.dtypes.get(c, 0.0) for c in codes])
    if weights.sum() == 0:
        raise Unfit(str(codes))
    return int(rng.choice(codes, p=weights / weights.sum()))


def shape(rng, lo=0, hi=4, zero=0.08, top=4, limit=400):
    if hi > 3 and rng.random() < 0.06:
        hi, top = 8, 2
    fit = [s for s in AROUND.shapes if lo <= len(s) <= hi and np.prod(s) <= limit and max(s, default=0) <= 12]
    if zero == 0:
        fit = [s for s in fit if 0 not in s]
    if fit and rng.random() < 0.7:
        return fit[int(rng.integers(len(fit)))]
    rank = int(rng.integers(lo, hi + 1))
    while True:
        s = [int(d) for d in rng.integers(1, top + 1, rank)]
        if np.prod(s) <= limit:
            break
        top = max(2, top - 1)
    if rank and rng.random() < zero:
        s[int(rng.integers(0, rank))] = 0
    return tuple(s)


def bshapes(rng, n, hi=4):
    """Shapes that broadcast with each other."""
    full, out = shape(rng, 0, hi), []
    for _ in range(n):
        s = [1 if rng.random() < 0.25 else d for d in full]
        if rng.random() < 0.3:
            s = s[int(rng.integers(0, len(s) + 1)) :]
        out.append(tuple(s))
    return out


def axis_of(rng, r):
    return int(rng.integers(-r, r))


def i64(v):
    return T(np.asarray(v, np.int64))


def index(rng, v):
    return T(np.asarray(v, np.int32 if rng.random() < 0.4 else np.int64))


SPECIALS = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, 0.5, -0.5, 1.5, 2.5]


def ints(rng, code, s, kind):
    low, high = (0 if code in UNSIGNED else -5), 9
    if kind == "big":
        r = np.iinfo(PLAIN[code])
        return T(rng.integers(r.min, r.max, s, dtype=PLAIN[code]))
    if kind in ("pos", "ge1"):
        low = 1
    if kind == "tiny":
        low, high = max(low, -2), 3
    v = np.asarray(rng.integers(low, high, s))
    return T((np.where(v == 0, 1, v) if kind == "nonzero" else v).astype(PLAIN[code]), code)


def vals(rng, code, s, kind="any"):
    """Values that a node computes with, which a graph may replace by others of the kind (made())."""
    t = made(rng, code, s, kind)
    t.kind = kind
    return t


def made(rng, code, s, kind):
    """kind: any, unit (-1 .. 1), pos, ge1, nonzero, tiny (few whole numbers), whole, big, special."""
    if code == 9:
        return T(rng.integers(0, 2, s).astype(bool))
    if code in (14, 15):
        return T((rng.standard_normal(s) + 1j * rng.standard_normal(s)).astype(PLAIN[code]))
    if code in INTS:
        return ints(rng, code, s, kind)
    if code in SMALL_INTS:
        bits, signed = SMALL_INTS[code]
        half = 1 << (bits - 1)
        return T(rng.integers(-half if signed else 0, half if signed else 2 * half, s), code)
    if code in SMALL_FLOATS:
        return T(rng.integers(0, 16 if code == 23 else 254, s).astype(np.uint8), code)
    v = np.asarray(rng.standard_normal(s) * 2)
    if kind == "unit":
        v = rng.uniform(-1, 1, s)
    elif kind in ("pos", "ge1"):
        v = rng.uniform(0.1, 4, s) + (kind == "ge1")
    elif kind in ("whole", "tiny"):
        v = np.round(v) + 0.0
    elif kind == "nonzero":
        v = np.where(np.abs(v) < 0.1, 1, v)
    elif kind == "special":
        v = np.where(rng.random(s) < 0.2, rng.choice(SPECIALS, s), v)
    with np.errstate(all="ignore"):
        return narrow(np.asarray(v, np.float64), code)
