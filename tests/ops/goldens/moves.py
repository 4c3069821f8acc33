"""Answers of ops that move, compare, count or compute whole numbers: every element is exact."""

import os
import re

import numpy as np
import torch
from answer import DTYPES, FLOATS, Exact, Near

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BIG = 2**62


def code_names():
    """Dtype's number -> name, of runtime/core/dtype.h."""
    with open(os.path.join(ROOT, "runtime/core/dtype.h"), encoding="utf-8") as f:
        return {int(n): name for n, name in re.findall(r"X\(\w+, (\d+), \d+, \"(\w+)\"\)", f.read())}


CODES = code_names()


def moved(s, array, k=0):
    return Exact(array, s.dtypes[k])


def same(s, k=0):
    """Input k as an array that NumPy can move."""
    return s.array(k)


def axis_of(s, rank):
    return s.a["axis"] % rank


def cast(s):
    to, x = CODES[s.a["to"]], s.array(0)
    if s.dtypes[0] not in FLOATS and to in DTYPES and to not in ("bool", *FLOATS):
        return Exact(x.astype(DTYPES[to]), to)  # whole numbers wrap
    x = x.astype(np.float64)
    if to == "bfloat16":
        return Exact(torch.from_numpy(x).to(torch.float32).to(torch.bfloat16).to(torch.float64), to)
    if to == "float16":
        return Exact(x.astype(np.float32).astype(np.float16).astype(np.float64), to)
    if to in ("float32", "float64"):
        return Exact(x, to)
    if to == "bool":
        return Exact(x != 0, to)
    info = np.iinfo(DTYPES[to])
    return Exact(np.clip(np.trunc(x), float(info.min), float(info.max)).astype(DTYPES[to]), to)


def clip(s):
    x = s.array(0)
    low = s.array(1) if s.has(1) else np.float64(s.a["min"])
    high = s.array(2) if s.has(2) else np.float64(s.a["max"])
    y = np.minimum(np.maximum(x.astype(np.float64), low), high)
    return Exact(y.astype(x.dtype), s.dtypes[0])


def shift(s):
    x, count = s.array(0), s.array(1)
    x, count = np.broadcast_arrays(x, count)
    bits = x.dtype.itemsize * 8
    out = []
    for v, n in zip(x.reshape(-1).tolist(), count.reshape(-1).tolist()):
        if s.a["right"]:
            out.append(v >> n if 0 <= n < bits else (-1 if v < 0 else 0))
        else:
            out.append(v << n if 0 <= n < bits else 0)
    whole = np.array([v & (2**bits - 1) for v in out], dtype=np.uint64)
    return Exact(whole.astype(f"uint{bits}").view(x.dtype).reshape(x.shape), s.dtypes[0])


def mod(s):
    x, y = s.array(0), s.array(1)
    f = np.fmod if s.a["fmod"] else np.mod
    if s.dtypes[0] in FLOATS:
        return Near(torch.from_numpy(f(x.astype(np.float64), y.astype(np.float64))), summed=False)
    return moved(s, f(x, y))


def is_inf(s):
    x = s.array(0)
    return Exact((np.isposinf(x) & (s.a["detect_positive"] != 0)) | (np.isneginf(x) & (s.a["detect_negative"] != 0)))


def arg(of):
    def answer(s):
        x, axis = s.array(0), axis_of(s, len(s.shapes[0]))
        if s.a["select_last_index"]:
            y = x.shape[axis] - 1 - of(np.flip(x, axis), axis=axis)
        else:
            y = of(x, axis=axis)
        return Exact(np.expand_dims(y, axis) if s.a["keepdims"] else y)
    return answer


def reshape(s):
    x = same(s)
    want = s.ints(1) if s.has(1) else s.a["shape"]
    want = [x.shape[i] if d == 0 and not s.a["allowzero"] else d for i, d in enumerate(want)]
    return moved(s, x.reshape(want))


def squeeze(s):
    x = same(s)
    axes = s.ints(1) if s.has(1) else s.a["axes"]
    return moved(s, np.squeeze(x, tuple(axes)) if axes else np.squeeze(x))


def unsqueeze(s):
    return moved(s, np.expand_dims(same(s), tuple(s.ints(1) if s.has(1) else s.a["axes"])))


def flatten(s):
    x = same(s)
    axis = s.a["axis"] % x.ndim if s.a["axis"] < 0 else s.a["axis"]
    return moved(s, x.reshape(int(np.prod(x.shape[:axis], dtype=int)), -1))


def transpose(s):
    return moved(s, np.transpose(same(s), s.a["perm"] or None))


def expand(s):
    want = s.ints(1) if s.has(1) else s.a["shape"]
    return moved(s, np.array(np.broadcast_to(same(s), np.broadcast_shapes(s.shapes[0], want))))


def concat(s):
    return moved(s, np.concatenate([same(s, k) for k in range(len(s.x))], s.a["axis"]))


def split(s):
    x, axis = same(s), axis_of(s, len(s.shapes[0]))
    sizes = s.ints(1) if s.has(1) else s.a["sizes"]
    if not sizes:
        each = -(-x.shape[axis] // s.outputs)
        sizes = [each] * (s.outputs - 1) + [x.shape[axis] - each * (s.outputs - 1)]
    return [moved(s, part) for part in np.split(x, np.cumsum(sizes)[:-1], axis)]


def place_of(s, first, rank):
    """Slices of a SliceAttrs, or of the inputs from `first` on."""
    starts, ends, axes, steps = (
        s.ints(first + i) if first is not None and s.has(first + i) else s.a[name]
        for i, name in enumerate(("starts", "ends", "axes", "steps")))
    place = [slice(None)] * rank
    for i, (a, b) in enumerate(zip(starts, ends)):
        step = steps[i] if steps else 1
        end = None if b > BIG or b < -BIG else b
        place[axes[i] if axes else i] = slice(a, end, step)
    return tuple(place)


def slice_of(s):
    x = same(s)
    return moved(s, x[place_of(s, 1, x.ndim)])


def slice_scatter(s):
    x = same(s).copy()
    x[place_of(s, None, x.ndim)] = same(s, 1)
    return moved(s, x)


def strided(s):
    sizes, strides, offset = s.a["sizes"], s.a["strides"], s.a["offset"]
    places = np.full((), offset)
    for size, stride in zip(sizes, strides):
        places = places[..., None] + np.arange(size) * stride
    return places.astype(int)


def as_strided(s):
    x = same(s)
    return moved(s, x.reshape(-1)[strided(s)])


def as_strided_scatter(s):
    x = same(s).copy()
    flat = x.reshape(-1)
    flat[strided(s)] = same(s, 1)
    return moved(s, flat.reshape(x.shape))


def pad(s):
    x = same(s)
    pads = s.ints(1) if s.has(1) else s.a["pads"]
    axes = s.ints(3) if s.has(3) else s.a["axes"] or list(range(x.ndim))
    half = len(pads) // 2
    width = [(0, 0)] * x.ndim
    for i, axis in enumerate(axes):
        width[axis % x.ndim] = (pads[i], pads[half + i])
    x = x[tuple(slice(max(0, -a), n - max(0, -b)) for (a, b), n in zip(width, x.shape))]
    width = [(max(a, 0), max(b, 0)) for a, b in width]
    mode = ("constant", "reflect", "edge", "wrap")[s.a["mode"]]
    if mode != "constant":
        return moved(s, np.pad(x, width, mode))
    value = s.array(2).reshape(-1)[0] if s.has(2) else ("" if x.dtype == object else s.a["value"])
    return moved(s, np.pad(x, width, mode, constant_values=value))


def shape_op(s):
    end = s.a["end"]
    return Exact(np.array(s.shapes[0][slice(s.a["start"], None if end > BIG else end)], dtype=np.int64))


def gather(s):
    return moved(s, np.take(same(s), s.array(1).astype(int), axis=s.a["axis"]))


def gather_elements(s):
    axis = s.a["axis"]
    at = s.array(1).astype(int)
    return moved(s, np.take_along_axis(same(s), at % len(np.moveaxis(same(s), axis, 0)), axis))


def gather_nd(s):
    x, at, batch = same(s), s.array(1).astype(int), s.a["batch_dims"]
    out = np.empty(at.shape[:-1], dtype=object)
    for place in np.ndindex(*at.shape[:-1]):
        out[place] = x[place[:batch] + tuple(at[place].tolist())]
    tail = x.shape[batch + at.shape[-1]:]
    parts = [np.asarray(v) for v in out.reshape(-1)]
    full = np.stack(parts) if parts else np.empty((0, *tail), x.dtype)
    return moved(s, full.astype(x.dtype).reshape(*at.shape[:-1], *tail))


REDUCTIONS = (lambda a, b: b, lambda a, b: a + b, lambda a, b: a * b, np.maximum, np.minimum)


def scattered(s, places):
    """x with updates applied in order at (place in x, update)."""
    how = s.a["reduction"]
    if s.dtypes[0] in FLOATS and how in (1, 2):
        x, u = s.x[0].clone(), s.x[2]
        flat, updates = [x.reshape(-1)[i] for i in range(x.numel())], u.reshape(-1)
        for at, i in places(s.array(0), s.array(2)):
            flat[at] = REDUCTIONS[how](flat[at], updates[i])
        return Near(torch.stack(flat).reshape(x.shape) if flat else x)
    x, u = same(s).copy(), same(s, 2)
    flat, updates = x.reshape(-1), u.reshape(-1)
    for at, i in places(x, u):
        if s.dtypes[0] == "bool":  # sums are ors
            flat[at] = (flat[at] or updates[i]) if how == 1 else REDUCTIONS[how](flat[at], updates[i])
        else:
            flat[at] = REDUCTIONS[how](flat[at], updates[i])
    return moved(s, flat.reshape(x.shape))


def scatter_elements(s):
    axis, at = s.a["axis"], s.array(1).astype(int)

    def places(x, u):
        for i, place in enumerate(np.ndindex(*at.shape)):
            to = list(place)
            to[axis] = int(at[place]) % x.shape[axis]
            yield int(np.ravel_multi_index(to, x.shape)), i
    return scattered(s, places)


def scatter_nd(s):
    at = s.array(1).astype(int)

    def places(x, u):
        k = at.shape[-1]
        tail = x.shape[k:]
        count = int(np.prod(tail, dtype=int))
        for i, place in enumerate(np.ndindex(*at.shape[:-1])):
            head = [int(v) % n for v, n in zip(at[place], x.shape)]
            for j, rest in enumerate(np.ndindex(*tail)):
                yield int(np.ravel_multi_index((*head, *rest), x.shape)), i * count + j
    return scattered(s, places)


def nonzero(s):
    x = s.array(0)
    return Exact(np.array(np.nonzero(np.atleast_1d(x)), dtype=np.int64)[:x.ndim])


def topk(s):
    """In a total order: -0 below 0, NaN above all; of equal ones the first."""
    x, axis = s.array(0), s.a["axis"] % len(s.shapes[0])
    k = s.ints(1)[0] if s.has(1) else s.a["k"]

    def order(line):
        def key(i):
            v = line[i]
            return (bool(np.isnan(v)), 0 if np.isnan(v) else v, not np.signbit(v))
        return np.array(sorted(range(len(line)), key=key, reverse=bool(s.a["largest"]))[:k], dtype=np.int64)
    if x.size == 0:
        at = np.zeros([k if d == axis else n for d, n in enumerate(x.shape)], np.int64)
    else:
        at = np.apply_along_axis(order, axis, x)
    return [moved(s, np.take_along_axis(x, at, axis)), Exact(at)]


def unique(s):
    x = same(s)
    axis = s.a["axis"][0] if s.a["axis"] else None
    rows = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
    keys = [v for v in rows.tolist()] if rows.ndim == 1 else [tuple(r) for r in rows.reshape(len(rows), -1).tolist()]
    first, counts = {}, {}
    for i, key in enumerate(keys):
        first.setdefault(key, i)
        counts[key] = counts.get(key, 0) + 1
    order = list(first)
    if s.a["sorted"]:
        order.sort(key=lambda v: v.encode() if isinstance(v, str) else v)
    number = {key: i for i, key in enumerate(order)}
    picked = rows[[first[key] for key in order]] if order else rows
    values = picked if axis is None else np.moveaxis(picked, 0, axis)
    whole = [np.array(v, dtype=np.int64) for v in ([first[k] for k in order], [number[k] for k in keys],
                                                   [counts[k] for k in order])]
    return [moved(s, values), *map(Exact, whole)]


def trilu(s):
    x, k = same(s), s.ints(1)[0] if s.has(1) else s.a["k"]
    rows, columns = np.indices(x.shape[-2:]) if x.size else (np.zeros(x.shape[-2:], int),) * 2
    apart = columns.astype(object) - rows
    kept = (apart >= k if s.a["upper"] else apart <= k).astype(bool)
    blank = "" if x.dtype == object else x.dtype.type(0)
    return moved(s, np.where(np.broadcast_to(kept, x.shape), x, blank))


def max_roi_pool(s):
    x, rois, scale = s.array(0), s.array(1), s.a["spatial_scale"]
    pooled, extent = s.a["pooled_shape"], x.shape[2:]
    y = np.zeros([len(rois), x.shape[1], *pooled], x.dtype)
    for r, (image, *box) in enumerate(rois.astype(np.float64).tolist()):
        left, top, right, bottom = (int(np.floor(v * scale + 0.5)) for v in box)
        sizes = max(bottom - top + 1, 1), max(right - left + 1, 1)
        for i, j in np.ndindex(*pooled):
            lines = []
            for at, begin, size, count, limit in zip((i, j), (top, left), sizes, pooled, extent):
                first = begin + at * size // count
                last = begin - (-(at + 1) * size // count)
                lines.append(slice(min(max(first, 0), limit), min(max(last, 0), limit)))
            part = x[int(image), :, lines[0], lines[1]]
            y[r, :, i, j] = part.reshape(x.shape[1], -1).max(1) if part.size else 0
    return moved(s, y)


def arange(s):
    return Exact(np.arange(*(s.ints(k)[0] for k in range(3)), dtype=np.int64))


def matmul_integer(s):
    a, b = s.array(0).astype(np.int64), s.array(1).astype(np.int64)
    if s.has(2):
        a = a - s.array(2).astype(np.int64)
    if s.has(3):
        b = b - s.array(3).astype(np.int64)
    return Exact(np.matmul(a, b).astype(np.int32))


def dropout(s):
    return [moved(s, same(s)), Exact(np.ones(s.shapes[0], bool))]


def string_concat(s):
    a, b = np.broadcast_arrays(same(s), same(s, 1))
    joined = np.array([x + y for x, y in zip(a.reshape(-1), b.reshape(-1))], dtype=object)
    return Exact(joined.reshape(a.shape), "string")




def look_up(s):
    """The place of each element among the keys, or -1. NaN is a key like others."""
    places = {}
    for i, key in enumerate(same(s, 1).reshape(-1).tolist()):
        places["nan" if key != key else key] = i
    found = [places.get("nan" if v != v else v, -1) for v in same(s).reshape(-1).tolist()]
    return Exact(np.array(found, np.int64).reshape(s.shapes[0]))


ANSWERS = {
    "Clip": clip, "Cast": cast, "Mod": mod, "IsInf": is_inf, "BitShift": shift,
    "Not": lambda s: Exact(~s.array(0)),
    "BitwiseNot": lambda s: moved(s, ~s.array(0)),
    "BitwiseAnd": lambda s: moved(s, s.array(0) & s.array(1)),
    "BitwiseOr": lambda s: moved(s, s.array(0) | s.array(1)),
    "BitwiseXor": lambda s: moved(s, s.array(0) ^ s.array(1)),
    "ArgMax": arg(np.argmax), "ArgMin": arg(np.argmin),
    "Reshape": reshape, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Flatten": flatten, "Transpose": transpose,
    "Expand": expand, "Concat": concat, "Split": split, "Slice": slice_of, "SliceScatter": slice_scatter,
    "AsStrided": as_strided, "AsStridedScatter": as_strided_scatter, "Pad": pad, "Shape": shape_op,
    "Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd,
    "ScatterElements": scatter_elements, "ScatterND": scatter_nd, "NonZero": nonzero, "TopK": topk, "Unique": unique,
    "MaxRoiPool": max_roi_pool, "Trilu": trilu, "Range": arange, "MatMulInteger": matmul_integer, "Dropout": dropout,
    "StringConcat": string_concat, "LookUp": look_up,
}
