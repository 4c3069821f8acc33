"""Small ONNX files written by hand, field by field, so that they can be as odd as real ones; and the list of forms."""

import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(2, os.path.join(os.path.dirname(HERE), "fuzz"))
import wire  # noqa: E402
from wire import T, blob, num, tensor

FORMS = {}  # name: Form


class Form:
    """A file, what goes in, and who takes it.

    takes   "both"     ONNX Runtime and Wick give equal outputs
            "neither"  both refuse; Wick's message has `says` in it
            "theirs"   ONNX Runtime alone, and why is in `because`; Wick's message has `says` in it
            "ours"     Wick alone, with `expected`; why is in `because`
            "differ"   both, but with other numbers: Wick's are `expected`; why is in `because`
    `expected`: outputs, or the model that ONNX Runtime makes them with.
    """

    def __init__(self, model, inputs, takes="both", says="", because="", expected=None, files=None):
        self.model, self.inputs, self.takes, self.says, self.because = model, inputs, takes, says, because
        self.expected, self.files = expected, files or {}


def form(name=None, **how):
    """Of a function that gives (model, inputs) or (model, inputs, more)."""

    def add(make):
        key = name or make.__name__
        assert key not in FORMS, key
        made = make()
        more = dict(made[2]) if len(made) > 2 else {}
        FORMS[key] = Form(made[0], made[1], **{**how, **more})
        return make

    return add


class Ref:
    """An attribute that stands for one of the function's."""

    def __init__(self, name, kind):
        self.name, self.kind = name, kind


class Raw:
    """An attribute's fields as they are."""

    def __init__(self, data):
        self.data = data


class Optional:
    """A value for an input that is an optional."""

    def __init__(self, value):
        self.value = value


class G:
    """A subgraph: its bytes are made when they are asked for."""

    def __init__(self, nodes, ins=(), outs=(), inits=None, sparse=(), infos=()):
        self.nodes, self.ins, self.outs, self.inits = nodes, ins, outs, inits or {}
        self.sparse, self.infos = sparse, infos

    def message(self):
        return graph(self.nodes, self.ins, self.outs, self.inits, self.sparse, self.infos, "body")


class Types:
    """A TypeProto as an attribute."""

    def __init__(self, data):
        self.data = data


def attribute(name, v):
    head = blob(1, name)
    if isinstance(v, Ref):
        return head + blob(21, v.name) + num(20, v.kind)
    if isinstance(v, Raw):
        return head + v.data
    if isinstance(v, G):
        return head + blob(6, v.message()) + num(20, 5)
    if isinstance(v, Types):
        return head + blob(14, v.data) + num(20, 13)
    if isinstance(v, np.ndarray):
        v = of(v)
    return wire.attribute(name, v)


def n(op, ins="", outs="y", name="", domain="", overload="", doc="", **attrs):
    """A node; names apart by spaces, _ is an empty one."""
    m = b"".join(blob(1, "" if i == "_" else i) for i in ins.split())
    m += b"".join(blob(2, "" if o == "_" else o) for o in outs.split())
    m += (blob(3, name) if name else b"") + blob(4, op)
    m += b"".join(blob(5, attribute(k, v)) for k, v in attrs.items())
    m += blob(6, doc) if doc else b""
    return m + (blob(7, domain) if domain else b"") + (blob(8, overload) if overload else b"")


def of(a):
    if isinstance(a, T):
        return a
    a = np.asarray(a)
    return Strings(a) if a.dtype.kind in "OSU" else T(a)


class Strings(T):
    def __init__(self, a):
        self.a, self.code = np.asarray(a, object), 8


def tensor_bytes(value, name="", raw=True):
    """A TensorProto; raw=False: in the field of its dtype."""
    if isinstance(value, bytes):
        return value
    t = of(value)
    if t.code != 8:
        return tensor(t, name, raw)
    texts = [s if isinstance(s, bytes) else s.encode() for s in t.a.ravel()]
    return b"".join(num(1, d) for d in t.shape) + num(2, 8) + b"".join(blob(6, s) for s in texts) + blob(8, name)


def tensor_type(code, dims=None):
    m = num(1, code)
    if dims is not None:
        m += blob(2, b"".join(blob(1, blob(2, d) if isinstance(d, str) else num(1, d)) for d in dims))
    return blob(1, m)


def sequence_type(inner):
    return blob(4, blob(1, inner))


def optional_type(inner):
    return blob(9, blob(1, inner))


def info(name, code=0, dims=None, type_bytes=None):
    """A ValueInfoProto; without a code and a type, a name alone."""
    if type_bytes is None:
        type_bytes = tensor_type(code, dims) if code else b""
    return blob(1, name) + (blob(2, type_bytes) if type_bytes else b"")


def infos_of(values):
    """Words, or value infos as they are, or {name: array}."""
    if isinstance(values, str):
        return [info(v) for v in values.split()]
    if isinstance(values, dict):
        return [v if isinstance(v, bytes) else info(k, of(v).code, of(v).shape) for k, v in values.items()]
    return [v if isinstance(v, bytes) else info(v) for v in values]


def graph(nodes, ins, outs, inits=None, sparse=(), infos=(), name="g"):
    return (
        b"".join(blob(1, x) for x in nodes)
        + (blob(2, name) if name else b"")
        + b"".join(blob(5, tensor_bytes(v, k)) for k, v in (inits or {}).items())
        + b"".join(blob(11, i) for i in infos_of(ins))
        + b"".join(blob(12, o) for o in infos_of(outs))
        + b"".join(blob(13, v) for v in infos)
        + b"".join(blob(15, s) for s in sparse)
    )


def function(name, ins, outs, nodes, opset=17, domain="my", attributes=(), defaults=None, overload="", imports=()):
    m = blob(1, name) + b"".join(blob(4, i) for i in ins.split()) + b"".join(blob(5, o) for o in outs.split())
    m += b"".join(blob(6, a) for a in attributes) + b"".join(blob(7, x) for x in nodes)
    m += blob(9, num(2, opset)) + b"".join(blob(9, blob(1, d) + num(2, v)) for d, v in imports)
    m += blob(10, domain) + b"".join(blob(11, attribute(k, v)) for k, v in (defaults or {}).items())
    return m + (blob(13, overload) if overload else b"")


def model(nodes, ins, outs="y", opset=17, ir=8, inits=None, sparse=(), infos=(), functions=(), imports=(), extra=b""):
    """`ins`: {name: array}, whose shapes are declared, or value infos. `imports`: further domains."""
    m = num(1, ir) + blob(2, "by hand") + blob(7, graph(nodes, ins, outs, inits, sparse, infos))
    if opset:
        m += blob(8, num(2, opset))
    m += b"".join(blob(8, blob(1, d) + num(2, v)) for d, v in imports)
    return m + b"".join(blob(25, f) for f in functions) + extra


def floats(*shape, seed=0, low=-2.0, high=2.0):
    return np.random.default_rng(seed + len(shape)).uniform(low, high, shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def one(op, ins, opset, outs="y", inits=None, domain="", **attrs):
    """A model of one node: `ins` {name: array} in the order of the node's inputs, then the initializers."""
    names = " ".join(list(ins) + list(inits or {}))
    imports = [(domain, 1)] if domain else []
    ir = 3 if opset < 9 else 8
    listed = dict(ins)
    if ir < 4:  # initializers stand among the inputs too
        listed.update(inits or {})
    return model([n(op, names, outs, domain=domain, **attrs)], listed, outs, opset, ir, inits, imports=imports), ins
