#!/usr/bin/python3
"""Writes goldens/observers.txt: what each observer must choose for six sets of numbers, computed by numpy over
all the data at once. observer_test.cc feeds the same numbers to the observers in batches.

A line: data, observer, dtype, symmetric, lo, hi, scale, zero point.
"""

import os

import numpy as np

BATCHES, EACH, MAX_BINS = 20, 1000, 4096
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int4": (-8, 7), "uint4": (0, 15)}


def uniforms(seed, count):
    """The test's numbers: multiples of 2^-24, the same in C++."""
    out, s = np.empty(count), seed
    for i in range(count):
        s = (s * 6364136223846793005 + 1442695040888963407) % 2**64
        out[i] = (s >> 40) / 2**24
    return out


def bells(seed, count):
    u = uniforms(seed, 4 * count).reshape(count, 4)
    return u[:, 0] + u[:, 1] + u[:, 2] + u[:, 3] - 2


def data(name):
    n = BATCHES * EACH
    x = {"bell": lambda: bells(1, n),
         "relu": lambda: np.maximum(bells(2, n), 0),
         "heavy": lambda: bells(3, n) ** 3 * 4 + 0.25,
         "shifted": lambda: bells(4, n) * 0.25 + 5,
         "growing": lambda: bells(5, n) * (1 + np.arange(n) // EACH),
         "image": lambda: np.where(uniforms(6, 2 * n)[::2] < 0.7, -0.8125, uniforms(6, 2 * n)[1::2] * 2.8125 - 0.8125)}[name]()
    return x.astype(np.float32)


def params(lo, hi, dtype, symmetric):
    """float32 throughout, as ONNX Runtime's compute_scale_zp."""
    q_lo, q_hi = RANGES[dtype]
    lo, hi = np.float32(min(lo, 0)), np.float32(max(hi, 0))
    if symmetric:
        half = q_hi if q_lo < 0 else q_hi // 2
        return np.float32(max(-lo, hi) / np.float32(half)), 0 if q_lo < 0 else q_hi // 2 + 1
    scale = np.float32((hi - lo) / np.float32(q_hi - q_lo))
    return scale, int(np.clip(np.rint(np.float32(-lo / scale)) + q_lo, q_lo, q_hi))


def histogram(x):
    """Counts in the least bins of a power of two, aligned at 0, of which MAX_BINS suffice; zeros apart."""
    lo, hi = min(x.min(), 0), max(x.max(), 0)
    exponent = -149
    while np.floor(hi / 2.0**exponent) - np.floor(lo / 2.0**exponent) >= MAX_BINS:
        exponent += 1
    width = 2.0**exponent
    at = np.floor(x[x != 0].astype(np.float64) / width).astype(np.int64)
    first = int(np.floor(lo / width))
    counts = np.bincount(at - first, minlength=int(np.floor(hi / width)) - first + 1)
    return counts, first, width


def magnitudes(counts, first):
    at = np.arange(len(counts)) + first
    at = np.where(at >= 0, at, -at - 1)
    return np.bincount(at, weights=counts).astype(np.int64)


def percentile(x, percent, symmetric):
    """From the sorted numbers themselves, rounded outwards to bins."""
    counts, first, width = histogram(x)
    n = len(x)
    if symmetric:
        keep = n * percent / 100
        m = np.concatenate([[(x == 0).sum()], magnitudes(counts, first)]).cumsum()
        edge = np.searchsorted(m, keep, side="left")  # the first edge with enough below it
        t = edge * width
        return max(-t, float(min(x.min(), 0))), min(t, float(max(x.max(), 0)))
    drop = int(np.floor(n * (1 - percent / 100) / 2 + 1e-9))
    ordered = np.sort(x).astype(np.float64)
    if percent == 100:
        return float(min(x.min(), 0)), float(max(x.max(), 0))
    # The bin of the first number that must be kept.
    lo = np.floor(ordered[drop] / width) * width
    hi = (np.floor(ordered[n - 1 - drop] / width) + 1) * width
    return max(min(lo, 0), float(min(x.min(), 0))), min(max(hi, 0), float(max(x.max(), 0)))


def entropy(x, levels):
    counts, first, width = histogram(x)
    h = magnitudes(counts, first).astype(np.float64)
    step = max(1, len(h) // 512)
    best, kept = np.inf, len(h)
    for i in range(len(h), levels - 1, -step):
        inside = h[:i]
        if h[i:].sum() > h.sum() / levels:
            break
        p = inside.copy()
        p[i - 1] += h[i:].sum()
        if inside.sum() == 0:
            continue
        edges = np.arange(levels + 1) * i // levels
        q = np.zeros(i)
        for a, b in zip(edges[:-1], edges[1:]):
            filled = (p[a:b] > 0)
            if filled.any():
                q[a:b][filled] = inside[a:b].sum() / filled.sum()
        p, q = p / p.sum(), np.maximum(q / inside.sum(), 1e-12)
        kl = (p[p > 0] * np.log(p[p > 0] / q[p > 0])).sum()
        if kl < best * (1 - 1e-12):
            best, kept = kl, i
    t = kept * width
    return max(-t, float(min(x.min(), 0))), min(t, float(max(x.max(), 0)))


def mse(x, dtype, symmetric):
    counts, first, width = histogram(x)
    middle = (np.arange(len(counts)) + first + 0.5) * width
    q_lo, q_hi = RANGES[dtype]

    def loss(lo, hi):
        scale, zero = params(lo, hi, dtype, symmetric)
        scale = np.float64(scale)
        q = np.clip(np.rint(middle / scale) + zero, q_lo, q_hi)
        return (counts * ((q - zero) * scale - middle) ** 2).sum()

    lo, hi = np.float32(min(x.min(), 0)), np.float32(max(x.max(), 0))
    best = (loss(lo, hi), lo, hi)
    searches = [(1, 1)] + ([(0, 1), (1, 0)] if not symmetric and lo < 0 < hi else [])
    for lower, upper in searches:
        _, from_lo, from_hi = best
        for percent in range(99, 9, -1):
            f = np.float32(percent) / np.float32(100)
            a, b = from_lo * f if lower else from_lo, from_hi * f if upper else from_hi
            best = min(best, (loss(a, b), a, b), key=lambda c: c[0])
    return best[1:]


def moving_average(x, share):
    lo = hi = None
    for batch in x.reshape(BATCHES, EACH):
        if lo is None:
            lo, hi = batch.min(), batch.max()
        else:
            lo = np.float32(lo + np.float32(share) * (batch.min() - lo))
            hi = np.float32(hi + np.float32(share) * (batch.max() - hi))
    return lo, hi


def main():
    lines = []
    for name in ("bell", "relu", "heavy", "shifted", "growing", "image"):
        x = data(name)
        for dtype, symmetric in (("uint8", 0), ("int8", 0), ("int8", 1), ("uint8", 1), ("int4", 1), ("uint4", 0)):
            one_side = not symmetric and (x.min() >= 0 or x.max() <= 0)
            bits = 4 if "4" in dtype else 8
            ranges = {"min-max": (x.min(), x.max()),
                      "moving-average": moving_average(x, 0.01),
                      "percentile": percentile(x, 99, symmetric),
                      "entropy": entropy(x, 2 ** (bits - (0 if one_side else 1))),
                      "mse": mse(x, dtype, symmetric)}
            for observer, (lo, hi) in ranges.items():
                scale, zero = params(lo, hi, dtype, symmetric)
                lines.append(f"{name} {observer} {dtype} {symmetric} {float(lo)!r} {float(hi)!r} {float(scale)!r} {zero}")
    with open(os.path.join(os.path.dirname(__file__), "goldens/observers.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


main()
