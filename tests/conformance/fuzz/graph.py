"""A graph of nodes with the value of each name, its ONNX file, and its run in ONNX Runtime."""

import os

import numpy as np
import oracle
import wire
from wire import T, node, tensor, value_info


class Body:
    """The graph of an If, a Loop or a Scan. `ins` and `outs` are names; `made` its constants: name -> role."""

    def __init__(self, nodes, ins, outs, made, rankless=()):
        self.nodes, self.ins, self.outs, self.made = nodes, ins, outs, made
        self.rankless = set(rankless)  # whose shape is not told


class Node:
    def __init__(self, op, ins, outs, attrs, codes):
        self.op, self.ins, self.outs, self.attrs, self.codes = op, list(ins), list(outs), dict(attrs), list(codes)

    @property
    def bodies(self):
        return [a for a in self.attrs.values() if isinstance(a, Body)]

    def used(self):
        """The names that must be there: the inputs, and what the bodies see of the outside."""
        names = [n for n in self.ins if n]
        for b in self.bodies:
            own = set(b.ins) | set(b.made)
            for n in b.nodes:
                names += [u for u in n.used() if u not in own]
                own |= set(n.outs)
            names += [o for o in b.outs if o not in own]
        return list(dict.fromkeys(names))

    def count(self):
        return 1 + sum(n.count() for b in self.bodies for n in b.nodes)

    def ops(self):
        inside = [" ".join(n.ops() for n in b.nodes) for b in self.bodies]
        return self.op + (f"({'; '.join(inside)})" if inside else "")

    def message(self, values):
        attrs = {}
        for k, a in self.attrs.items():
            attrs[k] = wire.Graph(lambda b=a: body_message(b, values)) if isinstance(a, Body) else a
        return node(self.op, self.ins, self.outs, attrs)


def constants(made, values):
    """The Constant nodes and the initializers of these names."""
    nodes = [node("Constant", [], [n], {"value": values[n]}) for n, role in made.items() if role == "const"]
    return nodes, [tensor(values[n], n) for n, role in made.items() if role == "init"]


def body_message(b, values):
    first, inits = constants(b.made, values)
    told = lambda n: None if n in b.rankless else values[n].shape  # noqa: E731
    infos = [value_info(n, values[n].code, told(n)) for n in b.ins]
    outs = [value_info(n, values[n].code, None) for n in b.outs]
    return wire.graph(first + [n.message(values) for n in b.nodes], infos, outs, inits, name="body")


class Graph:
    """`made`: name -> input, init or const. `values`: of every name. `bound`: how far from its value each
    element of a name may be (see error.py)."""

    def __init__(self, opset):
        self.opset, self.nodes, self.made, self.values, self.bound = opset, [], {}, {}, {}
        self.outputs, self.symbols = [], set()

    def inputs(self):
        return [n for n, role in self.made.items() if role == "input"]

    def prune(self):
        """Drops what no output needs."""
        need, kept = set(self.outputs), []
        for n in reversed(self.nodes):
            if need & set(n.outs):
                kept.append(n)
                need |= set(n.used())
        self.nodes = kept[::-1]
        self.made = {k: r for k, r in self.made.items() if k in need}

    def model(self):
        first, inits = constants(self.made, self.values)
        infos = []
        for n in self.inputs():
            s = self.values[n].shape
            infos.append(value_info(n, self.values[n].code, [f"{n}_{i}" for i in range(len(s))] if n in self.symbols else s))
        outs = [value_info(n, self.values[n].code, None) for n in self.outputs]
        nodes = first + [n.message(self.values) for n in self.nodes]
        return wire.model(nodes, infos, outs, self.opset, ir=min(10, 4 + max(0, self.opset - 8)), inits=inits)

    def expected(self):
        """What ONNX Runtime says of the whole."""
        feeds = {n: self.values[n].a for n in self.inputs()}
        return [np.asarray(a) for a in oracle.session(self.model()).run(self.outputs, feeds)]

    def write(self, folder):
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data)
        with open(f"{folder}/model.onnx", "wb") as f:
            f.write(self.model())
        for kind, names in (("input", self.inputs()), ("output", self.outputs)):
            for k, n in enumerate(names):
                with open(f"{data}/{kind}_{k}.pb", "wb") as f:
                    f.write(tensor(self.values[n], n))
        for k, n in enumerate(self.outputs):
            if self.values[n].code in wire.FLOATS:
                b = np.broadcast_to(np.asarray(self.bound.get(n, 0.0), np.float64), self.values[n].shape)
                with open(f"{data}/bound_{k}.pb", "wb") as f:
                    f.write(tensor(T(np.array(b), 11), n))

    def size(self):
        return sum(n.count() for n in self.nodes)

    def ops(self):
        return " ".join(n.ops() for n in self.nodes)


class Runner:
    """One node in ONNX Runtime, for any values of the names it uses."""

    def __init__(self, n, values, opset):
        self.names, self.outs = n.used(), [o for o in n.outs if o]
        infos = [value_info(k, values[k].code, values[k].shape) for k in self.names]
        outs = [value_info(o, c, None) for o, c in zip(n.outs, n.codes) if o]
        self.session = oracle.session(wire.model([n.message(values)], infos, outs, opset, ir=10))

    def __call__(self, arrays):
        return [np.asarray(a) for a in self.session.run(self.outs, {k: arrays[k] for k in self.names})]


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
