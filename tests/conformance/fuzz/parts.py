"""Normalizations, recurrent layers, attention, quantization, boxes, signals."""

import numpy as np
from gen import Case, family, shape, vals, weighted
from wire import T
from windows import bytes_of, float_of, image, lengths, maybe, scale, zero


@family("BatchNormalization", since=7)
def batch_norm(rng, op, v):
    c = float_of(rng)
    x, _ = image(rng, c)
    n = (x.shape[1],)
    at = {"epsilon": 0.01} if rng.random() < 0.5 else {}
    ins = [x, vals(rng, c, n), vals(rng, c, n), vals(rng, c, n), vals(rng, c, n, "pos")]
    return Case(op, v, ins, [c], at)


@family("InstanceNormalization", since=6)
def instance_norm(rng, op, v):
    c = float_of(rng)
    x, _ = image(rng, c)
    n = (x.shape[1],)
    return Case(op, v, [x, vals(rng, c, n), vals(rng, c, n)], [c], {"epsilon": 0.01} if rng.random() < 0.5 else {})


@family("LayerNormalization", since=17)
def layer_norm(rng, op, v):
    c = float_of(rng)
    s = shape(rng, 1, 4, zero=0)
    axis = int(rng.integers(-len(s), len(s)))
    at = {"axis": axis, "epsilon": 0.01}
    tail = s[axis % len(s) :]
    ins = [vals(rng, c, s), vals(rng, c, tail)] + ([vals(rng, c, tail)] if rng.random() < 0.6 else [])
    return Case(op, v, ins, [c], at)


@family("RMSNormalization", since=23)
def rms_norm(rng, op, v):
    s = shape(rng, 1, 4, zero=0)
    axis = int(rng.integers(-len(s), len(s)))
    ins = [vals(rng, 1, s), vals(rng, 1, s[axis % len(s) :])]
    return Case(op, v, ins, [1], {"axis": axis, "epsilon": 0.01})


@family("GroupNormalization", since=21)
def group_norm(rng, op, v):
    groups = int(rng.integers(1, 4))
    x, _ = image(rng, 1, groups * int(rng.integers(1, 4)))
    n = (x.shape[1],)
    return Case(op, v, [x, vals(rng, 1, n), vals(rng, 1, n)], [1], {"num_groups": groups, "epsilon": 0.01})


@family("LpNormalization", "LRN", "MeanVarianceNormalization")
def other_norm(rng, op, v):
    if op == "LRN":
        return Case(op, v, [image(rng, 1, rank=2)[0]], [1], {"size": int(rng.choice([1, 3, 5])), "bias": 2.0})
    if op == "MeanVarianceNormalization":
        return Case(op, v, [image(rng, 1, rank=2)[0]], [1]) if v >= 9 else None
    c = weighted(rng, (1, 11))
    s = shape(rng, 1, 4, zero=0)
    at = {"axis": int(rng.integers(-len(s), len(s))), "p": int(rng.integers(1, 3))}
    return Case(op, v, [vals(rng, c, s, "nonzero")], [c], at)


@family("LSTM", "GRU", "RNN", since=7)
def recurrent(rng, op, v):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    way = str(rng.choice(["forward", "reverse", "bidirectional"]))
    d = 2 if way == "bidirectional" else 1
    t, b, i, h = lengths(rng, 4, 1, 5)
    at = {"hidden_size": h}
    maybe(rng, at, "direction", way, 1.0 if way != "forward" else 0.5)
    if op == "GRU":
        maybe(rng, at, "linear_before_reset", 1)
    maybe(rng, at, "clip", 1.5, 0.1)
    at_least = lambda s: vals(rng, 1, s, "unit")  # noqa: E731
    ins = [vals(rng, 1, (t, b, i)), at_least((d, gates * h, i)), at_least((d, gates * h, h))]
    rest = [at_least((d, 2 * gates * h)), T(rng.integers(1, t + 1, b).astype(np.int32)), at_least((d, b, h))]
    if op == "LSTM":
        rest += [at_least((d, b, h)), at_least((d, 3 * h))]
    ins += [r if rng.random() < 0.5 else None for r in rest]
    outs = [1] * (3 if op == "LSTM" else 2)
    outs = [o if rng.random() < 0.7 else 0 for o in outs]
    return Case(op, v, ins, outs, at) if any(outs) else None


@family("Attention", since=23)
def attention(rng, op, v):
    b, q, k, heads, size = lengths(rng, 5, 1, 5)
    shared = int(rng.integers(1, 3))
    at = {}
    maybe(rng, at, "is_causal", 1, 0.4)
    maybe(rng, at, "softcap", 2.0, 0.3)
    width = int(rng.integers(1, 5))
    if rng.random() < 0.5:
        parts = [(b, heads * shared, q, size), (b, heads, k, size), (b, heads, k, width)]
    else:
        parts = [(b, q, heads * shared * size), (b, k, heads * size), (b, k, heads * width)]
        at.update(q_num_heads=heads * shared, kv_num_heads=heads)
    ins = [vals(rng, 1, p) for p in parts]
    if rng.random() < 0.5:
        ins.append(vals(rng, int(rng.choice([1, 9])), (q, k)))
    return Case(op, v, ins, [1], at)


@family("RotaryEmbedding", since=23)
def rotary(rng, op, v):
    b, heads, t, half = lengths(rng, 4, 1, 4)
    at = {"interleaved": 1} if rng.random() < 0.5 else {}
    x = vals(rng, 1, (b, heads, t, 2 * half))
    if rng.random() < 0.5:
        return Case(op, v, [x, vals(rng, 1, (b, t, half), "unit"), vals(rng, 1, (b, t, half), "unit")], [1], at)
    place = T(rng.integers(0, 5, (b, t)))
    return Case(op, v, [x, vals(rng, 1, (5, half), "unit"), vals(rng, 1, (5, half), "unit"), place], [1], at)


@family("QuantizeLinear", since=10)
def quantize(rng, op, v):
    c, s = bytes_of(rng), shape(rng, 1, 4)
    x, at = vals(rng, 1, s), {}
    if v >= 13 and rng.random() < 0.4:
        at["axis"] = axis = int(rng.integers(-len(s), len(s)))
        part = (s[axis],)
        return Case(op, v, [x, scale(rng, part), zero(rng, c, part)], [c], at)
    if rng.random() < 0.2:
        return Case(op, v, [x, scale(rng)], [2], at)
    return Case(op, v, [x, scale(rng), zero(rng, c)], [c], at)


@family("DequantizeLinear", since=10)
def dequantize(rng, op, v):
    c, s = weighted(rng, (2, 3, 6)), shape(rng, 1, 4)
    x, at, part = vals(rng, c, s, "big"), {}, ()
    if v >= 13 and rng.random() < 0.4:
        at["axis"] = axis = int(rng.integers(-len(s), len(s)))
        part = (s[axis],)
    ins = [x, scale(rng, part)]
    if c != 6 and rng.random() < 0.7:
        ins.append(zero(rng, c, part))
    return Case(op, v, ins, [1], at)


@family("DynamicQuantizeLinear", since=11)
def dynamic_quantize(rng, op, v):
    return Case(op, v, [vals(rng, 1, shape(rng, 1, 4, zero=0))], [2, 1, 2])


@family("MatMulInteger", "QLinearMatMul", since=10)
def whole_matmul(rng, op, v):
    a = bytes_of(rng)
    b = 3 if a == 3 else bytes_of(rng)
    m, k, n = lengths(rng, 3, 1, 6)
    batch = tuple(lengths(rng, int(rng.integers(0, 3)), 1, 3))
    x, y = vals(rng, a, batch + (m, k)), vals(rng, b, (batch if rng.random() < 0.4 else ()) + (k, n))
    if op == "MatMulInteger":
        return Case(op, v, [x, y] + ([zero(rng, a), zero(rng, b)] if rng.random() < 0.6 else []), [6])
    return Case(op, v, [x, scale(rng), zero(rng, a), y, scale(rng), zero(rng, b), scale(rng), zero(rng, a)], [a])


@family("NonMaxSuppression", since=10)
def boxes(rng, op, v):
    b, c, n = lengths(rng, 3, 1, 5)
    corner = rng.uniform(0, 4, (b, n, 2))
    box = T(np.concatenate([corner, corner + rng.uniform(0.5, 3, (b, n, 2))], 2).astype(np.float32))
    ins = [box, vals(rng, 1, (b, c, n)), T(np.array([int(rng.integers(0, 4))], np.int64))]
    ins += [T(np.array([t], np.float32)) for t in rng.uniform(0, 0.8, int(rng.integers(0, 3)))]
    return Case(op, v, ins, [7], {"center_point_box": 1} if rng.random() < 0.3 else {})


@family("DFT", since=17)
def dft(rng, op, v):
    c = weighted(rng, (1, 11))
    s = tuple(lengths(rng, int(rng.integers(1, 3)), 1, 7))
    real = rng.random() < 0.6
    x = vals(rng, c, (2, *s, 1 if real else 2))
    at = {"onesided": 1} if real and rng.random() < 0.4 else {"inverse": 1} if rng.random() < 0.3 else {}
    ins = [x] + ([T(np.asarray(int(rng.integers(1, 9)), np.int64))] if rng.random() < 0.4 else [])
    if v < 20:
        maybe(rng, at, "axis", int(rng.integers(1, len(s) + 1)))
    elif rng.random() < 0.5:
        ins += [None] * (2 - len(ins)) + [T(np.asarray(int(rng.integers(1, len(s) + 1)), np.int64))]
    return Case(op, v, ins, [c], at)


@family("HannWindow", "HammingWindow", "BlackmanWindow", since=17)
def signal_window(rng, op, v):
    at = {"periodic": int(rng.integers(0, 2))}
    return Case(op, v, [T(np.asarray(int(rng.integers(1, 12)), np.int64))], [1], at)
