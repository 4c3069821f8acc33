"""Random graphs, built by running them: each node is run by ONNX Runtime as soon as it is made, so that the next
one's inputs have known dtypes, shapes and values; what ONNX Runtime refuses is not taken."""

import numpy as np
import error
import explained
import gen
import wire
from gen import GRAPH_SPECS, SPECS, TYPES, Unfit, since_of
from graph import Graph, Node, Runner
from wire import FLOATS, INTS, PLAIN, T

OPSETS = [9, 10, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 19, 20, 21, 22, 23]
DTYPES = {1: 10.0, 11: 1.0, 10: 1.0, 7: 2.0, 6: 1.5, 9: 1.0, 2: 0.7, 3: 0.7, 4: 0.2, 5: 0.2, 12: 0.2, 13: 0.2}
MOST = 4000  # elements of a value


def fits(a, code, kind):
    """Whether values are of the kind that a node asks for."""
    if code == 9 or a.size == 0 or kind == "big":
        return True
    if code in FLOATS and not np.all(np.isfinite(a)):
        return kind == "special"
    low, high = float(a.min()), float(a.max())
    near = float(np.abs(a).min())
    limits = {"unit": (-1, 1), "pos": (0.05, 50), "ge1": (1, 50), "tiny": (-4, 4)}.get(kind, (-300, 300))
    return limits[0] <= low and high <= limits[1] and not (kind == "nonzero" and near < 0.05)


class Builder:
    def __init__(self, seed, number):
        self.rng = np.random.default_rng([seed, number])
        self.g = Graph(int(self.rng.choice(OPSETS)))
        self.number, self.refused = 0, 0
        self.nodes, self.seen, self.made = self.g.nodes, [], self.g.made
        self.depth = 0
        self.want = int(self.rng.integers(5, 31))

    # Names and values

    def name(self, prefix="v"):
        self.number += 1
        return f"{prefix}{self.number}"

    def value(self, n):
        return self.g.values[n]

    def fresh(self, t, role=None):
        """A tensor as an input of the graph, an initializer or a Constant node."""
        if role is None:
            role = str(self.rng.choice(["input", "init", "const"], p=[0.5, 0.35, 0.15]))
        n = self.name({"input": "x", "init": "w", "const": "c"}[role])
        self.g.values[n] = t
        (self.g.made if role == "input" else self.made)[n] = role
        self.seen.append(n)
        return n

    def emit(self, op, ins, attrs, codes, extra=0.0):
        """The outputs' names of a new node; Unfit where ONNX Runtime refuses it or its result is unsteady."""
        outs = [self.name() if c else "" for c in codes]
        n = Node(op, ins, outs, attrs, codes)
        try:
            run = Runner(n, self.g.values, self.g.opset)
            arrays = {k: self.value(k).a for k in run.names}
            results = run(arrays)
            kept = [c for c in codes if c]
            if any(r.size > MOST or r.ndim > 8 or wire.OF.get(r.dtype) != c for r, c in zip(results, kept)):
                raise Unfit("size")
            judged = {**self.g.values, **{o: T(r) for o, r in zip(run.outs, results)}}
            if explained.of_node(n, judged, self.g.opset):
                raise Unfit("explained")
            bounds = error.bounds_of(self.rng, n, run, arrays, results, self.g.bound)
        except (Unfit, error.Unsteady):
            raise Unfit(op)
        except Exception:  # ONNX Runtime's: no kernel, or not valid
            self.refused += 1
            raise Unfit(op)
        for o, r, b in zip(run.outs, results, bounds):
            self.g.values[o] = T(r)
            if np.any(b) or extra:
                top = np.abs(r[np.isfinite(r)]).max(initial=0) if r.dtype.kind == "f" else 0
                self.g.bound[o] = b + extra * float(top)
            self.seen.append(o)
        self.nodes.append(n)
        return outs

    def one(self, op, ins, attrs, code):
        return self.emit(op, ins, attrs, [code])[0]

    # Inputs from what there is

    def pool(self):
        return self.seen[-40:]

    def of_kind(self, code, s, kind):
        names = [n for n in self.pool() if self.value(n).code == code and self.value(n).shape == s]
        names = [n for n in names if fits(self.value(n).a, code, kind)]
        return str(self.rng.choice(names)) if names else None

    def bridge(self, code, s, kind):
        """Another value, brought to the dtype, the shape and the kind."""
        rng = self.rng
        names = [n for n in self.pool() if self.value(n).code in DTYPES and self.value(n).a.size]
        if not names:
            raise Unfit("nothing")
        n = str(rng.choice(names[-12:]))
        n = self.as_dtype(n, code)
        n = self.as_shape(n, s)
        if fits(self.value(n).a, code, kind):
            return n
        n = self.as_kind(n, code, kind)
        if not fits(self.value(n).a, code, kind):
            raise Unfit("kind")
        return n

    def as_dtype(self, n, code):
        t = self.value(n)
        if t.code == code:
            return n
        if t.code in FLOATS and code in INTS:
            if not np.all(np.abs(t.a) < 100):  # what a float out of range becomes is nobody's promise
                raise Unfit("cast")
            if code in wire.UNSIGNED:
                n = self.one("Abs", [n], {}, t.code)
        return self.one("Cast", [n], {"to": code}, code)

    def as_shape(self, n, s):
        t, rng = self.value(n), self.rng
        if t.shape == s:
            return n
        want = T(np.array(s, np.int64))
        count = int(np.prod(s))
        if t.a.size == count and 0 not in s:
            return self.one("Reshape", [n, self.sizes(want)], {}, t.code)
        fits_to = len(t.shape) <= len(s) and all(a in (1, b) for a, b in zip(t.shape[::-1], s[::-1]))
        if fits_to and t.code != 9 and rng.random() < 0.7:
            return self.one("Expand", [n, self.sizes(want)], {}, t.code)
        if len(t.shape) == len(s) and all(a >= b for a, b in zip(t.shape, s)) and self.g.opset >= 10:
            ends = T(np.array(s, np.int64))
            return self.one("Slice", [n, self.fresh(T(np.zeros(len(s), np.int64)), "init"), self.sizes(ends)], {}, t.code)
        if len(t.shape) == len(s) and all(a <= b for a, b in zip(t.shape, s)) and self.g.opset >= 11 and t.code in (1, 7, 11):
            first = [int(rng.integers(0, b - a + 1)) for a, b in zip(t.shape, s)]
            pads = first + [b - a - f for a, b, f in zip(t.shape, s, first)]
            return self.one("Pad", [n, self.sizes(T(np.array(pads, np.int64)))], {}, t.code)
        flat = self.one("Reshape", [n, self.fresh(T(np.array([-1], np.int64)), "init")], {}, t.code)
        at = T(np.asarray(rng.integers(0, t.a.size, s), np.int64))
        return self.one("Gather", [flat, self.fresh(at)], {}, t.code)

    def sizes(self, t):
        """A shape: given, or gathered from the shapes of other values as exporters' graphs do."""
        rng = self.rng
        if rng.random() < 0.8 or not t.shape or t.shape == (0,):
            return self.fresh(t, "init" if rng.random() < 0.7 else None)
        parts = []
        for d in t.a:
            by = [(n, i) for n in self.pool()[-15:] for i, e in enumerate(self.value(n).shape) if e == d]
            if by and rng.random() < 0.7:
                n, i = by[int(rng.integers(len(by)))]
                whole = self.one("Shape", [n], {}, 7)
                parts.append(self.one("Gather", [whole, self.fresh(T(np.array([i], np.int64)), "init")], {}, 7))
            else:
                parts.append(self.fresh(T(np.array([d], np.int64)), "init"))
        return self.one("Concat", parts, {"axis": 0}, 7) if len(parts) > 1 else parts[0]

    def scalar(self, code, v):
        return self.fresh(T(np.asarray(v, PLAIN[code])), "init")

    def as_kind(self, n, code, kind):
        rng = self.rng
        if code == 9:
            return n
        if code in INTS:
            if self.g.opset < 10:
                raise Unfit("Mod")
            n = self.one("Mod", [n, self.scalar(code, 4 if kind == "tiny" else 11)], {}, code)
            if kind in ("pos", "ge1", "nonzero"):
                n = self.one("Add", [self.one("Abs", [n], {}, code), self.scalar(code, 1)], {}, code)
            return n
        n = self.one(str(rng.choice(["Tanh", "Sigmoid", "Softsign", "Sin"])), [n], {}, code)
        if kind in ("pos", "nonzero", "ge1"):
            n = self.one("Abs", [n], {}, code) if rng.random() < 0.5 else self.one("Mul", [n, n], {}, code)
            n = self.one("Add", [n, self.scalar(code, 1.25 if kind == "ge1" else 0.25)], {}, code)
        elif kind != "unit":
            n = self.one("Mul", [n, self.scalar(code, 3)], {}, code)
        return n

    def data(self, t):
        """Input `t` of a node: where any values do, mostly something that the graph has."""
        rng = self.rng
        if t.kind is None:
            if t.code == 7 and len(t.shape) == 1 and t.a.size and t.a.min() >= 0 and rng.random() < 0.2:
                return self.sizes(t)
            return self.fresh(t, None if rng.random() < 0.4 else "init")
        n = self.of_kind(t.code, t.shape, t.kind)
        if n and rng.random() < 0.85:
            return n
        if rng.random() < (0.6 if len(self.nodes) > 2 else 0.2):
            try:
                return self.bridge(t.code, t.shape, t.kind)
            except Unfit:
                pass
        return self.fresh(t)

    # Nodes

    def add(self):
        """One more node of some operator; what brings its inputs comes with it. False where it did not fit."""
        rng = self.rng
        around = gen.AROUND
        around.opset, around.dtypes = self.g.opset, DTYPES
        around.shapes = [self.value(n).shape for n in self.pool()]
        try:
            if self.depth < 2 and rng.random() < 0.07:
                import control

                return control.add(self)
            many = len(SPECS) + len(GRAPH_SPECS)
            i = int(rng.integers(0, many))
            if i < len(SPECS):
                make = SPECS[i][1]
            else:
                _, since, make = GRAPH_SPECS[i - len(SPECS)]
                if self.g.opset < since:
                    return False
            c = make(rng)
            if c is None or (c.op in TYPES and since_of(c.op, c.opset) != since_of(c.op, self.g.opset)):
                return False
            if any(t is not None and t.code not in DTYPES for t in c.ins) or any(x and x not in DTYPES for x in c.outs):
                return False
            if any(isinstance(a, wire.Sparse) or (isinstance(a, T) and a.code not in PLAIN) for a in c.attrs.values()):
                return False
            ins = [self.data(t) if t is not None else "" for t in c.ins]
            self.emit(c.op, ins, c.attrs, c.outs)
            return True
        except Unfit:
            return False
        finally:
            around.opset, around.dtypes, around.shapes = 0, {}, ()

    def fill(self, count):
        """Nodes until there are `count` of them."""
        for _ in range(8 * count):
            if len(self.nodes) >= count:
                break
            self.add()

    def graph(self):
        self.fill(self.want)
        g, rng = self.g, self.rng
        used = {u for n in g.nodes for u in n.used()}
        made = [o for n in g.nodes for o in n.outs if o]
        g.outputs = [o for o in made if o not in used]
        g.outputs += [o for o in made if o in used and rng.random() < 0.06]
        g.prune()
        g.symbols = {n for n in g.inputs() if rng.random() < 0.4} if rng.random() < 0.5 else set()
        return g


def build(seed, number):
    return Builder(seed, number).graph()
