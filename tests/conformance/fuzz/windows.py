"""Operators that look through windows: convolutions, pools, resampling."""

import numpy as np
from gen import Case, family, vals, weighted
from wire import T


def float_of(rng):
    return weighted(rng, (1, 10, 11))


def lengths(rng, n, low=1, high=4):
    return [int(q) for q in rng.integers(low, high, n)]


def maybe(rng, attrs, key, value, p=0.5):
    if rng.random() < p:
        attrs[key] = value


def window(rng, space, kernel, dilated=True):
    """Strides, pads, dilations (or auto_pad) under which every window has a place."""
    n, at = len(space), {}
    maybe(rng, at, "strides", lengths(rng, n))
    if dilated:
        maybe(rng, at, "dilations", lengths(rng, n, 1, 3), 0.3)
    if rng.random() < 0.2:
        at["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    else:
        maybe(rng, at, "pads", [int(rng.integers(0, k)) for k in kernel * 2], 0.6)
    return at


def image(rng, code, channels=None, rank=None):
    n = rank or int(rng.choice([1, 2, 2, 2, 3]))
    space = lengths(rng, n, 3, 9 if n < 3 else 6)
    s = (int(rng.integers(0 if rng.random() < 0.05 else 1, 3)), channels or int(rng.integers(1, 6)), *space)
    return vals(rng, code, s), space


@family("Conv")
def conv(rng, op, v):
    c = float_of(rng)
    group = int(rng.choice([1, 1, 1, 2, 3]))
    deep = int(rng.integers(1, 4))
    x, space = image(rng, c, group * deep)
    depthwise = rng.random() < 0.2
    if depthwise:
        group, deep = group * deep, 1
    kernel = lengths(rng, len(space))
    out = group * int(rng.integers(1, 4))
    at = {"group": group, **window(rng, space, kernel)}
    maybe(rng, at, "kernel_shape", kernel, 0.6)
    ins = [x, vals(rng, c, (out, deep, *kernel), "unit")]
    if rng.random() < 0.6:
        ins.append(vals(rng, c, (out,), "unit"))
    return Case(op, v, ins, [c], at)


@family("ConvTranspose")
def conv_transpose(rng, op, v):
    c = float_of(rng)
    group = int(rng.choice([1, 1, 2]))
    x, space = image(rng, c, group * int(rng.integers(1, 4)))
    kernel = lengths(rng, len(space))
    out = int(rng.integers(1, 4))
    at = {"group": group, **window(rng, space, kernel)}
    if "strides" in at:
        maybe(rng, at, "output_padding", [int(rng.integers(0, s)) for s in at["strides"]], 0.4)
    maybe(rng, at, "kernel_shape", kernel, 0.6)
    ins = [x, vals(rng, c, (x.shape[1], out, *kernel), "unit")]
    if rng.random() < 0.6:
        ins.append(vals(rng, c, (out * group,), "unit"))
    return Case(op, v, ins, [c], at)


@family("MaxPool", "AveragePool", "LpPool")
def pool(rng, op, v):
    c = float_of(rng) if op != "MaxPool" or v < 12 else weighted(rng, (1, 10, 11, 2, 3))
    x, space = image(rng, c)
    kernel = lengths(rng, len(space))
    later = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    at = {"kernel_shape": kernel, **window(rng, space, kernel, v >= later)}
    if v >= (10 if op != "LpPool" else 18):
        maybe(rng, at, "ceil_mode", 1, 0.3)
    outs = [c]
    if op == "AveragePool":
        maybe(rng, at, "count_include_pad", 1, 0.4)
    elif op == "LpPool":
        maybe(rng, at, "p", int(rng.integers(1, 4)))
    elif rng.random() < 0.3 and v >= 8:
        outs = [c, 7]
    return Case(op, v, [x], outs, at)


@family("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(rng, op, v):
    c = float_of(rng)
    return Case(op, v, [image(rng, c)[0]], [c], {"p": 2} if op == "GlobalLpPool" and rng.random() < 0.5 else {})


RESIZE = {
    10: [""],
    11: ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"],
    19: ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"],
}


@family("Resize", since=10)
def resize(rng, op, v):
    c = weighted(rng, (1, 10, 2, 3, 6))
    x, space = image(rng, c, rank=int(rng.choice([1, 2, 2, 2])))
    n, at = len(space), {}
    mode = str(rng.choice(["nearest", "linear", "cubic"]))
    if v < 11 or c not in (1, 10) or (mode == "cubic" and n != 2):
        mode = "nearest" if v >= 11 else str(rng.choice(["nearest", "linear"]))
    maybe(rng, at, "mode", mode, 1.0 if mode != "nearest" else 0.5)
    if v >= 11:
        at["coordinate_transformation_mode"] = str(rng.choice(RESIZE[19 if v >= 19 else 11]))
        if mode == "nearest":
            ways = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
            maybe(rng, at, "nearest_mode", str(rng.choice(ways)))
        if mode == "cubic":
            maybe(rng, at, "cubic_coeff_a", -0.5)
            maybe(rng, at, "exclude_outside", 1, 0.3)
    scales = [float(rng.choice([0.5, 1.0, 1.5, 2.0, 3.0])) for _ in range(n)]
    whole = T(np.array([1.0, 1.0] + scales, np.float32))
    if v < 11:
        return Case(op, v, [x, whole], [c], at)
    roi = None if v >= 13 else T(np.zeros(0, np.float32))
    if rng.random() < 0.5:
        return Case(op, v, [x, roi, whole], [c], at)
    sizes = T(np.array(list(x.shape[:2]) + lengths(rng, n, 1, 9), np.int64))
    return Case(op, v, [x, roi, None if v >= 13 else T(np.zeros(0, np.float32)), sizes], [c], at)


@family("GridSample", since=16)
def grid_sample(rng, op, v):
    x, _ = image(rng, 1, rank=2)
    grid = vals(rng, 1, (x.shape[0], *lengths(rng, 2, 1, 5), 2), "unit")
    ways = ["bilinear", "nearest", "bicubic"] if v < 20 else ["linear", "nearest", "cubic"]
    at = {"mode": str(rng.choice(ways))}
    maybe(rng, at, "padding_mode", str(rng.choice(["zeros", "border", "reflection"])))
    maybe(rng, at, "align_corners", 1)
    return Case(op, v, [x, grid], [1], at)


@family("RoiAlign", since=10)
def roi_align(rng, op, v):
    x, space = image(rng, 1, rank=2)
    n = int(rng.integers(1, 4))
    start = rng.uniform(0, 3, (n, 2))
    rois = T(np.concatenate([start, start + rng.uniform(1, 5, (n, 2))], 1).astype(np.float32))
    batch = T(rng.integers(0, max(x.shape[0], 1), n))
    at = {"output_height": int(rng.integers(1, 4)), "output_width": int(rng.integers(1, 4))}
    maybe(rng, at, "mode", "max", 0.2)
    maybe(rng, at, "sampling_ratio", 2)
    maybe(rng, at, "spatial_scale", 0.5)
    return Case(op, v, [x, rois, batch], [1], at)


@family("Col2Im", since=18)
def col2im(rng, op, v):
    space = lengths(rng, 2, 3, 7)
    block = lengths(rng, 2)
    channels = int(rng.integers(1, 4))
    many = int(np.prod([s - b + 1 for s, b in zip(space, block)]))
    x = vals(rng, 1, (int(rng.integers(1, 3)), channels * int(np.prod(block)), many))
    return Case(op, v, [x, T(np.array(space, np.int64)), T(np.array(block, np.int64))], [1])


@family("MaxUnpool", since=9)
def max_unpool(rng, op, v):
    n, c = lengths(rng, 2)
    h, w = lengths(rng, 2, 1, 4)
    pick = rng.integers(0, 2, (n, c, h, w, 2))
    row, column = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    plane = np.arange(n * c).reshape(n, c, 1, 1) * (4 * h * w)
    at = plane + (2 * row + pick[..., 0]) * (2 * w) + 2 * column + pick[..., 1]
    attrs = {"kernel_shape": [2, 2], "strides": [2, 2]}
    return Case(op, v, [vals(rng, 1, (n, c, h, w)), T(at.astype(np.int64))], [1], attrs)


@family("AffineGrid", since=20)
def affine_grid(rng, op, v):
    n, c, h, w = lengths(rng, 4, 1, 5)
    at = {"align_corners": 1} if rng.random() < 0.5 else {}
    return Case(op, v, [vals(rng, 1, (n, 2, 3), "unit"), T(np.array([n, c, h, w], np.int64))], [1], at)


def bytes_of(rng):
    return int(rng.choice([2, 3]))


def zero(rng, c, s=()):
    return T(rng.integers(100 if c == 2 else -10, 140 if c == 2 else 10, s).astype(np.uint8 if c == 2 else np.int8), c)


def scale(rng, s=()):
    return T(np.asarray(rng.uniform(0.02, 0.3, s), np.float32))


@family("QLinearConv", "ConvInteger", since=10)
def whole_conv(rng, op, v):
    a = 2 if rng.random() < 0.6 else 3
    b = 3 if a == 3 else bytes_of(rng)
    group = int(rng.choice([1, 1, 2]))
    deep, out = int(rng.integers(1, 4)), group * int(rng.integers(1, 4))
    space = lengths(rng, 2, 3, 8)
    kernel = lengths(rng, 2)
    x = vals(rng, a, (int(rng.integers(1, 3)), group * deep, *space))
    w = vals(rng, b, (out, deep, *kernel))
    at = {"group": group, **window(rng, space, kernel)}
    if op == "ConvInteger":
        ins = [x, w] + ([zero(rng, a), zero(rng, b)] if rng.random() < 0.6 else [])
        return Case(op, v, ins, [6], at)
    by_channel = rng.random() < 0.5
    ws = scale(rng, (out,) if by_channel else ())
    wz = T(np.full(ws.shape, zero(rng, b).a), b)
    ins = [x, scale(rng), zero(rng, a), w, ws, wz, scale(rng), zero(rng, a)]
    if rng.random() < 0.5:
        ins.append(vals(rng, 6, (out,)))
    return Case(op, v, ins, [a], at)
