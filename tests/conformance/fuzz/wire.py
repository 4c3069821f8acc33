"""Tensors of every ONNX dtype in numpy, and the protobuf messages of a model of one node, by hand."""

import struct
import numpy as np

CODES = {
    "float": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "double": 11,
    "uint32": 12,
    "uint64": 13,
    "complex64": 14,
    "complex128": 15,
    "bfloat16": 16,
    "float8e4m3fn": 17,
    "float8e4m3fnuz": 18,
    "float8e5m2": 19,
    "float8e5m2fnuz": 20,
    "uint4": 21,
    "int4": 22,
    "float4e2m1": 23,
    "float8e8m0": 24,
    "uint2": 25,
    "int2": 26,
}
NAMES = {v: k for k, v in CODES.items()}
PLAIN = {
    1: np.float32,
    2: np.uint8,
    3: np.int8,
    4: np.uint16,
    5: np.int16,
    6: np.int32,
    7: np.int64,
    9: np.bool_,
    10: np.float16,
    11: np.float64,
    12: np.uint32,
    13: np.uint64,
    14: np.complex64,
    15: np.complex128,
}
OF = {np.dtype(v): k for k, v in PLAIN.items()}
FLOATS = {1, 10, 11, 16}
SMALL_FLOATS = {17, 18, 19, 20, 23, 24}
INTS = {2, 3, 4, 5, 6, 7, 12, 13}
UNSIGNED = {2, 4, 12, 13, 21, 25}
SMALL_INTS = {21: (4, False), 22: (4, True), 25: (2, False), 26: (2, True)}


def small_values(code):
    """The value of each bit pattern of a float of 8 or 4 bits."""
    if code == 23:
        half = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
        return np.array(half + [-v for v in half], np.float32)
    if code == 24:
        return np.array([2.0 ** (i - 127) for i in range(255)] + [np.nan], np.float64).astype(np.float32)
    exp, man, bias, uz = {17: (4, 3, 7, 0), 18: (4, 3, 8, 1), 19: (5, 2, 15, 0), 20: (5, 2, 16, 1)}[code]
    out = []
    for b in range(256):
        s, e, m = b >> 7, (b >> man) & ((1 << exp) - 1), b & ((1 << man) - 1)
        v = m * 2.0 ** (1 - bias - man) if e == 0 else (1 + m / (1 << man)) * 2.0 ** (e - bias)
        if uz and b == 0x80:
            v = np.nan
        elif code == 17 and (b & 0x7F) == 0x7F:
            v = np.nan
        elif code == 19 and e == 31:
            v = np.inf if m == 0 else np.nan
        out.append(-v if s else v)
    return np.array(out, np.float32)


class T:
    """A tensor: `code` is ONNX's dtype, `a` its values; bits where numpy has no such dtype."""

    kind = None  # of gen.vals, where any values would do

    def __init__(self, a, code=None):
        self.a = np.asarray(a)
        self.code = code or OF[self.a.dtype]

    @property
    def shape(self):
        return self.a.shape

    def wide(self):
        c = self.code
        if c == 16:
            return (self.a.astype(np.uint32) << 16).view(np.float32)
        if c in SMALL_FLOATS:
            return small_values(c)[self.a]
        if c in SMALL_INTS:
            return self.a.astype(np.int64)
        if c == 10:
            return self.a.astype(np.float32)
        if c in INTS:
            return self.a.astype(np.int64)
        return self.a

    def raw(self):
        a = self.a
        if self.code in SMALL_INTS or self.code == 23:
            bits = SMALL_INTS[self.code][0] if self.code in SMALL_INTS else 4
            flat = a.astype(np.int64).ravel() & ((1 << bits) - 1)
            per = 8 // bits
            flat = np.concatenate([flat, np.zeros(-len(flat) % per, np.int64)]).reshape(-1, per)
            return sum(flat[:, i] << (bits * i) for i in range(per)).astype(np.uint8).tobytes() if flat.size else b""
        return np.ascontiguousarray(a).tobytes()


def to_bf16(a):
    b = np.asarray(a, np.float32).view(np.uint32).astype(np.uint64)
    r = ((b + 0x7FFF + ((b >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(np.asarray(a, np.float32)), 0x7FC0, r).astype(np.uint16)


def narrow(a, code):
    """Values of a wide dtype as `code`, rounded once."""
    if code in PLAIN:
        with np.errstate(all="ignore"):
            return T(np.asarray(a).astype(PLAIN[code]), code)
    if code == 16:
        return T(to_bf16(a), code)
    if code in SMALL_INTS:
        bits, signed = SMALL_INTS[code]
        v = np.asarray(a).astype(np.int64) & ((1 << bits) - 1)
        return T(np.where(signed & (v >= 1 << (bits - 1)), v - (1 << bits), v), code)
    table = small_values(code)  # exact values only
    a = np.asarray(a, np.float32)
    out = np.zeros(a.shape, np.uint8)
    for i in np.ndindex(a.shape):
        hit = (
            np.flatnonzero((table == a[i]) & (np.signbit(table) == np.signbit(a[i])))
            if not np.isnan(a[i])
            else np.flatnonzero(np.isnan(table))
        )
        out[i] = hit[0] if len(hit) else np.argmin(np.abs(np.nan_to_num(table, nan=1e30) - a[i]))
    return T(out, code)


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while True:
        out += bytes([(n & 127) | (128 if n > 127 else 0)])
        n >>= 7
        if not n:
            return out


def num(f, v):
    return varint(f << 3) + varint(int(v))


def blob(f, data):
    if isinstance(data, str):
        data = data.encode()
    return varint(f << 3 | 2) + varint(len(data)) + data


def real(f, v):
    return varint(f << 3 | 5) + struct.pack("<f", v)


def tensor(t, name="", raw=True):
    m = b"".join(num(1, d) for d in t.shape) + num(2, t.code) + blob(8, name)
    if raw:
        return m + blob(9, t.raw())
    if t.code in (1, 14):
        return m + blob(4, t.a.astype(np.complex64 if t.code == 14 else np.float32).tobytes())
    if t.code in (11, 15):
        return m + blob(10, t.a.tobytes())
    if t.code == 7:
        return m + b"".join(num(7, v) for v in t.a.ravel())
    if t.code in (12, 13):
        return m + b"".join(num(11, v) for v in t.a.ravel())
    if t.code in SMALL_INTS or t.code == 23:
        return m + b"".join(num(5, v) for v in t.raw())
    a = t.a.view(np.uint16) if t.code == 10 else t.a
    return m + b"".join(num(5, v) for v in a.ravel())


class Sparse:
    """A SparseTensorProto: values, indices [n] or [n, rank], dims."""

    def __init__(self, values, indices, dims):
        self.values, self.indices, self.dims = values, indices, dims

    def message(self, name=""):
        return (
            blob(1, tensor(self.values, name))
            + blob(2, tensor(self.indices))
            + b"".join(num(3, d) for d in self.dims)
        )


class Graph:
    """A GraphProto as an attribute: `message` gives its bytes."""

    def __init__(self, message):
        self.message = message


def attribute(name, v):
    m = blob(1, name)
    if isinstance(v, Graph):
        return m + blob(6, v.message()) + num(20, 5)
    if isinstance(v, (bool, int, np.integer)):
        return m + num(3, v) + num(20, 2)
    if isinstance(v, float):
        return m + real(2, v) + num(20, 1)
    if isinstance(v, str):
        return m + blob(4, v) + num(20, 3)
    if isinstance(v, T):
        return m + blob(5, tensor(v)) + num(20, 4)
    if isinstance(v, Sparse):
        return m + blob(22, v.message()) + num(20, 11)
    if v and isinstance(v[0], float):
        return m + b"".join(real(7, x) for x in v) + num(20, 6)
    if v and isinstance(v[0], str):
        return m + b"".join(blob(9, x) for x in v) + num(20, 8)
    return m + b"".join(num(8, x) for x in v) + num(20, 7)


def node(op, ins, outs, attrs, domain=""):
    return (
        b"".join(blob(1, i) for i in ins)
        + b"".join(blob(2, o) for o in outs)
        + blob(4, op)
        + b"".join(blob(5, attribute(k, v)) for k, v in attrs.items())
        + (blob(7, domain) if domain else b"")
    )


def value_info(name, code, dims):
    """dims: None (no shape), or numbers and names."""
    t = num(1, code)
    if dims is not None:
        t += blob(2, b"".join(blob(1, blob(2, d) if isinstance(d, str) else num(1, d)) for d in dims))
    return blob(1, name) + blob(2, blob(1, t))


def graph(nodes, ins, outs, inits=(), sparse=(), name="g"):
    return (
        b"".join(blob(1, n) for n in nodes)
        + blob(2, name)
        + b"".join(blob(5, i) for i in inits)
        + b"".join(blob(15, s) for s in sparse)
        + b"".join(blob(11, i) for i in ins)
        + b"".join(blob(12, o) for o in outs)
    )


def model(nodes, ins, outs, opset, ir=8, inits=(), sparse=(), domain=""):
    m = num(1, ir) + blob(7, graph(nodes, ins, outs, inits, sparse))
    return m + blob(8, (blob(1, domain) if domain else b"") + num(2, opset))
