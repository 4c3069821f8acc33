"""Answers of ops that compute with floats, by PyTorch in float64: it also says how far a sum's terms reach."""

import itertools
import math
import os
import re
import struct

import numpy as np
import torch
import torch.nn.functional as F
from answer import FLOATS, Exact, Free, Near
from moves import ROOT, moved

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
CONV_BACK = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def ops_by_id():
    with open(os.path.join(ROOT, "runtime/ops/ops.def"), encoding="utf-8") as f:
        return {int(n): name for name, n in re.findall(r"^WICK_OP\((\w+),\s*(\d+),", f.read(), re.M)}


def per_channel(v, rank):
    return v.reshape(-1, *[1] * (rank - 2))


def gelu(tanh):
    """PyTorch's own loses the tails in 1 + erf(x) and 1 + tanh(u)."""
    if tanh:
        return lambda x: x * torch.sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * x ** 3))
    return lambda x: x / 2 * torch.special.erfc(-x / math.sqrt(2))


def activation(s, y):
    a, b = s.a["alpha"], s.a["beta"]
    return (lambda v: v, torch.relu, lambda v: v.clamp(a, b), lambda v: F.leaky_relu(v, a), torch.sigmoid, torch.tanh,
            F.silu, F.hardswish, gelu(0), gelu(1))[s.a["activation"]](y)


def epilogue(s, y, channels_last):
    """bias, scale and shift, what is added, and the activation."""
    at = [s.x[k] if s.has(k) else None for k in range(2, 6)]
    if not channels_last:
        at[:3] = [None if v is None else per_channel(v, y.dim()) for v in at[:3]]
    bias, scale, shift, residual = at
    y = y if bias is None else y + bias
    y = y if scale is None else y * scale + shift
    return activation(s, y if residual is None else y + residual)


def spatial(s, name, rank, default):
    return list(s.a[name]) or [default] * rank


def conv(s, x, w):
    rank = x.dim() - 2
    strides, dilations = spatial(s, "strides", rank, 1), spatial(s, "dilations", rank, 1)
    pads = spatial(s, "pads", 2 * rank, 0)
    padded = F.pad(x, [p for d in reversed(range(rank)) for p in (pads[d], pads[rank + d])])
    if padded.numel() == 0:
        out = [(padded.shape[2 + d] - (w.shape[2 + d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(rank)]
        return x.new_zeros([x.shape[0], w.shape[0], *out])
    return CONV[rank](padded, w, None, strides, 0, dilations, s.a["group"])


def plain_conv(s):
    y = conv(s, s.x[0], s.x[1])
    return Near(y + per_channel(s.x[2], y.dim()) if s.has(2) else y)


def conv_grad(of_weight):
    def answer(s):
        if of_weight:
            x, g = s.x[0], s.x[1]
            shape = [g.shape[1], x.shape[1] // s.a["group"], *s.a["spatial"]]
            w = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
            at = w
        else:
            g, w = s.x[0], s.x[1]
            shape = [g.shape[0], w.shape[1] * s.a["group"], *s.a["spatial"]]
            x = at = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        if g.numel() == 0:
            return Near(torch.zeros(shape, dtype=torch.float64))
        return Near(torch.autograd.grad(conv(s, x, w), at, g, create_graph=True)[0])
    return answer


def conv_transpose(s):
    x, w = s.x[0], s.x[1]
    rank = x.dim() - 2
    strides, dilations = spatial(s, "strides", rank, 1), spatial(s, "dilations", rank, 1)
    pads, more = spatial(s, "pads", 2 * rank, 0), spatial(s, "output_padding", rank, 0)
    channels = w.shape[1] * s.a["group"]
    reach = [(x.shape[2 + d] - 1) * strides[d] + (w.shape[2 + d] - 1) * dilations[d] + 1 for d in range(rank)]
    want = list(s.a["output_shape"])
    if s.a["auto_pad"]:
        want = want or [x.shape[2 + d] * strides[d] for d in range(rank)]
    for d, size in enumerate(want):
        total = max(reach[d] + more[d] - size, 0)
        half = total // 2
        pads[d], pads[rank + d] = (half, total - half) if s.a["auto_pad"] == 1 else (total - half, half)
        more[d] = size - reach[d] + total  # nothing reaches what lies beyond
    if x.numel() == 0 or w.numel() == 0:
        full = x.new_zeros([x.shape[0], channels, *reach])
    else:
        full = CONV_BACK[rank](x, w, None, strides, 0, 0, s.a["group"], dilations)
    y = F.pad(full, [p for d in reversed(range(rank)) for p in (-pads[d], more[d] - pads[rank + d])])
    return Near(y + per_channel(s.x[2], y.dim()) if s.has(2) else y)


def places(extent, kernel, stride, dilation, before, after, ceil):
    """[outputs, taps] of positions in a line of that extent, padding before and behind it."""
    reach = (kernel - 1) * dilation + 1
    room = extent + before + after - reach
    count = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= extent + before:
        count -= 1
    return (np.arange(count, dtype=np.int64) * stride - before)[:, None] + np.arange(kernel, dtype=np.int64) * dilation


def windows(s):
    """Flat positions within a plane [outputs, taps], whether they are in it, and in it or its padding; the shape."""
    shape = s.shapes[-1] if s.op.endswith("Grad") else s.shapes[0]
    rank = len(shape) - 2
    kernel = s.a["kernel_shape"]
    strides, dilations = spatial(s, "strides", rank, 1), spatial(s, "dilations", rank, 1)
    pads = spatial(s, "pads", 2 * rank, 0)
    lines = [places(shape[2 + d], kernel[d], strides[d], dilations[d], pads[d], pads[rank + d], s.a["ceil_mode"])
             for d in range(rank)]
    at, inside, counted = np.zeros((1, 1), np.int64), np.ones((1, 1), bool), np.ones((1, 1), bool)
    for d, line in enumerate(lines):
        def spread(a, b, f):
            return f(a[:, None, :, None], b[None, :, None, :]).reshape(a.shape[0] * b.shape[0], -1)
        extent = shape[2 + d]
        at = spread(at, np.clip(line, 0, max(extent - 1, 0)), lambda a, b, n=extent: a * n + b)
        inside = spread(inside, (line >= 0) & (line < extent), np.logical_and)
        counted = spread(counted, line < extent + pads[rank + d], np.logical_and)
    return at, inside, counted, [*shape[:2], *(len(line) for line in lines)]


def planes(x):
    return x.reshape(*x.shape[:2], int(np.prod(x.shape[2:])))


def max_pool(s):
    at, inside, _, shape = windows(s)
    x = s.array(0)
    low = -np.inf if s.dtypes[0] in FLOATS else np.iinfo(x.dtype).min
    taps = np.where(inside, planes(x)[:, :, at], np.array(low, x.dtype))
    return taps, at, shape


def max_pool_values(s):
    taps, _, shape = max_pool(s)
    return moved(s, taps.max(-1).reshape(shape))


def max_pool_indices(s):
    taps, at, shape = max_pool(s)
    first = taps.argmax(-1)
    place = at[np.arange(at.shape[0]), first]
    extents = s.shapes[0][2:]
    plane = int(np.prod(extents))
    if s.a["storage_order"] and place.size:
        place = np.ravel_multi_index(np.unravel_index(place, extents), extents, order="F")
    images = np.arange(shape[0] * shape[1], dtype=np.int64).reshape(*shape[:2], 1) * plane
    return [moved(s, taps.max(-1).reshape(shape)), Exact((place + images).astype(np.int64).reshape(shape))]


def max_pool_grad(s):
    g, x = s.x[0], s.array(1)
    at, inside, _, shape = windows(s)
    taps = np.where(inside, planes(x)[:, :, at], -np.inf)
    place = torch.from_numpy(at[np.arange(at.shape[0]), taps.argmax(-1)])
    flat = torch.zeros([*x.shape[:2], int(np.prod(x.shape[2:]))], dtype=torch.float64)
    return Near(flat.scatter_add(2, place, planes(g)).reshape(x.shape))


def weights_of_average(s):
    at, inside, counted, shape = windows(s)
    count = (counted if s.a["count_include_pad"] else inside).sum(1, keepdims=True)
    return torch.from_numpy(at), torch.from_numpy(inside / np.maximum(count, 1)), shape


def average_pool(s):
    at, weight, shape = weights_of_average(s)
    x = s.x[0]
    return Near((planes(x)[:, :, at] * weight).sum(-1).reshape(shape))


def average_pool_grad(s):
    at, weight, shape = weights_of_average(s)
    g, full = s.x[0], s.shapes[1]
    parts = (planes(g)[..., None] * weight).flatten(2)
    flat = torch.zeros([*full[:2], int(np.prod(full[2:]))], dtype=torch.float64)
    return Near(flat.index_add(2, at.reshape(-1), parts).reshape(full))


def lp_pool(s):
    at, inside, _, shape = windows(s)
    x, p = s.x[0], s.a["p"]
    taps = planes(x)[:, :, torch.from_numpy(at)].abs() * torch.from_numpy(inside)
    return Near(((taps ** p).sum(-1) ** (1 / p)).reshape(shape))


def col2im(s):
    x, image, block = s.x[0], s.ints(1), s.ints(2)
    rank = len(image)
    strides, dilations = spatial(s, "strides", rank, 1), spatial(s, "dilations", rank, 1)
    pads = spatial(s, "pads", 2 * rank, 0)
    lines = [places(image[d], block[d], strides[d], dilations[d], pads[d], pads[rank + d], 0) for d in range(rank)]
    taps = int(np.prod(block))
    channels = s.shapes[0][1] // taps
    y = torch.zeros([s.shapes[0][0], channels, int(np.prod(image))], dtype=x.dtype)
    columns = x.reshape(s.shapes[0][0], channels, taps, s.shapes[0][2])
    for t, tap in enumerate(itertools.product(*map(range, block))):
        for column, out in enumerate(itertools.product(*(range(len(line)) for line in lines))):
            place = [int(lines[d][out[d], tap[d]]) for d in range(rank)]
            if all(0 <= p < n for p, n in zip(place, image)):
                at = int(np.ravel_multi_index(place, image))
                add = torch.zeros_like(y)
                add[:, :, at] = columns[:, :, t, column]
                y = y + add
    y = y.reshape(s.shapes[0][0], channels, *image)
    return Near(y) if s.dtypes[0] in FLOATS else Exact(y.numpy(), s.dtypes[0])


def conv_integer(s):
    x, w = s.array(0).astype(np.int64), s.array(1).astype(np.int64)
    if s.has(2):
        x = x - s.array(2).astype(np.int64)
    if s.has(3):
        w = w - s.array(3).astype(np.int64).reshape(-1, *[1] * (w.ndim - 1))
    rank, group = x.ndim - 2, s.a["group"]
    strides, dilations = spatial(s, "strides", rank, 1), spatial(s, "dilations", rank, 1)
    pads = spatial(s, "pads", 2 * rank, 0)
    lines = [places(x.shape[2 + d], w.shape[2 + d], strides[d], dilations[d], pads[d], pads[rank + d], 0)
             for d in range(rank)]
    y = np.zeros([x.shape[0], w.shape[0], *(len(line) for line in lines)], np.int64)
    per, out = x.shape[1] // group, w.shape[0] // group
    for tap in itertools.product(*map(range, w.shape[2:])):
        taps, inside = x, np.ones([1] * (rank + 2), bool)
        for d, t in enumerate(tap):
            at = lines[d][:, t]
            valid = (at >= 0) & (at < x.shape[2 + d])
            taps = np.take(taps, np.where(valid, at, 0), axis=2 + d)
            inside = inside & valid.reshape([-1 if i == 2 + d else 1 for i in range(rank + 2)])
        taps = taps * inside
        for g in range(group):
            part = w[(slice(g * out, (g + 1) * out), slice(None), *tap)]
            y[:, g * out:(g + 1) * out] += np.einsum("nc...,oc->no...", taps[:, g * per:(g + 1) * per], part)
    return Exact(y.astype(np.int32))


def batch_norm(s):
    x, gamma, beta, mean, var = (v if k == 0 else per_channel(v, s.x[0].dim()) for k, v in enumerate(s.x))
    return Near((x - mean) / torch.sqrt(var + s.a["epsilon"]) * gamma + beta)


def batch_norm_train(s):
    x = s.x[0]
    dims = [0, *range(2, x.dim())]
    mean, var = x.mean(dims), x.var(dims, unbiased=False)
    y = F.batch_norm(x, None, None, s.x[1], s.x[2], True, 0, s.a["epsilon"])
    return [Near(y), Near(mean), Near(var)]


def batch_norm_grad(s):
    g, x, gamma, mean, var = s.x
    dims = [0, *range(2, x.dim())]
    count = x.numel() // x.shape[1]
    inverse = 1 / torch.sqrt(per_channel(var, x.dim()) + s.a["epsilon"])
    h = (x - per_channel(mean, x.dim())) * inverse
    beta, of_gamma = g.sum(dims), (g * h).sum(dims)
    y = per_channel(gamma, x.dim()) * inverse * (
        g - per_channel(beta, x.dim()) / count - h * per_channel(of_gamma, x.dim()) / count)
    return [Near(y), Near(of_gamma), Near(beta)]


def folded(s):
    return Near(s.x[0] + per_channel(s.x[1], s.x[0].dim()))


def fake_parts(s, x, scale, zero):
    rank, axis = x.dim(), s.a["axis"]

    def spread(v):
        return v.detach() if v.dim() == 0 else v.detach().reshape([-1 if d == axis % rank else 1 for d in range(rank)])
    scale, zero = spread(scale), spread(zero)
    zero = zero.clamp(s.a["qmin"], s.a["qmax"]).round()
    v = x.detach() / scale
    return scale, s.a["qmin"] - zero, s.a["qmax"] - zero, v


def fake_quantize(s):
    scale, low, high, v = fake_parts(s, *s.x[:3])
    return Near(torch.minimum(torch.maximum(v.round(), low), high) * scale, summed=False)


def fake_quantize_grad(s):
    g, x = s.x[0].detach(), s.x[1]
    scale, low, high, v = fake_parts(s, x, s.x[2], s.x[3])
    q = v.round()
    below, above = q < low, q > high
    inside = ~(below | above)
    if s.a["of"] == 0:
        return Near(g * inside, summed=False)
    if s.a["of"] == 2:
        return Near(torch.where(inside, torch.zeros_like(v), -scale) * g, summed=False)
    d = torch.where(below, low, torch.where(above, high, q - v))
    return Near(g * d, scale=(g * torch.maximum(d.abs(), v.abs())).abs())


def reduced(f):
    def answer(s):
        x, rank = s.x[0], len(s.shapes[0])
        axes = s.ints(1) if s.has(1) else list(s.a["axes"])
        if not axes and s.a["noop_with_empty_axes"]:
            return moved(s, s.array(0))
        dims = sorted(a % rank for a in axes) or list(range(rank))
        for d in reversed(dims):  # one after another
            x = f(x, d)
        if not s.a["keepdims"]:
            x = x.reshape([n for d, n in enumerate(s.shapes[0]) if d not in dims])
        return Near(x, s.dtypes[0]) if s.dtypes[0] in FLOATS else Exact(x.numpy(), s.dtypes[0])
    return answer


def mean_of(s):
    if s.dtypes[0] in FLOATS:
        return reduced(lambda x, d: x.mean(d, keepdim=True))(s)
    total = reduced(lambda x, d: x.sum(d, keepdim=True))(s)
    count = int(np.prod(s.shapes[0])) // max(total.array.size, 1)
    return Exact(np.trunc(total.array / count).astype(np.int64), s.dtypes[0])


def scan(f, pieces):
    def answer(s):
        axis = (s.ints(1)[0] if s.has(1) else s.a["axis"]) % len(s.shapes[0])
        x = s.x[0].flip(axis) if s.a["reverse"] else s.x[0]
        y = f(x, axis)
        if s.a["exclusive"]:
            first = torch.full_like(x.narrow(axis, 0, min(1, x.shape[axis])), pieces)
            y = torch.cat([first, y.narrow(axis, 0, max(x.shape[axis] - 1, 0))], axis)
        y = y.flip(axis) if s.a["reverse"] else y
        if s.dtypes[0] in FLOATS:
            return Near(y)
        return Exact(y.numpy().astype(s.array(0).dtype), s.dtypes[0])
    return answer


def div(s):
    if s.dtypes[0] in FLOATS:
        return Near(s.x[0] / s.x[1], summed=False)
    return moved(s, torch.div(s.x[0], s.x[1], rounding_mode="trunc").numpy())


def linear(s):
    y = s.x[0] @ s.x[1].t()
    return Near(y + s.x[2] if s.has(2) else y)


def block_linear(s):
    q, scale = s.x[1].to(torch.float64), s.x[2]
    size, k = s.a["block_size"], s.shapes[1][1]
    zero = s.x[3].to(torch.float64) if s.has(3) else torch.full_like(scale, s.a["zero_point"])
    w = (q - zero.repeat_interleave(size, 1)[:, :k]) * scale.repeat_interleave(size, 1)[:, :k]
    y = s.x[0] @ w.t()
    return Near(y + s.x[4] if s.has(4) else y)


def affine_grid(s):
    size = s.ints(1)
    if 0 in size:
        return Near(torch.zeros([size[0], *size[2:], len(size) - 2], dtype=torch.float64))
    return Near(F.affine_grid(s.x[0], size, align_corners=bool(s.a["align_corners"])))


def log_softmax(s):
    y = torch.log_softmax(s.x[0], s.a["axis"])
    return Near(y, more=1.0)  # the sum is at least 1: its rounding moves the logarithm by 2^-24


def precise(y, dtype="float32"):
    """Computed in double and rounded once; what cancels leaves some 1e-16 of the largest."""
    largest = y.abs().max() if y.numel() else 0
    return Near(y.detach(), dtype, scale=y.abs().detach() + 1e-8 * largest)


def triangular(s):
    a = s.x[0].transpose(-1, -2) if s.a["transpose"] else s.x[0]
    upper = bool(s.a["upper"]) != bool(s.a["transpose"])
    return precise(torch.linalg.solve_triangular(a, s.x[1], upper=upper, unitriangular=bool(s.a["unitriangular"])))


def slog_det(s):
    sign, log = torch.linalg.slogdet(s.x[0])
    return [precise(sign), precise(log)]


def svd(s):
    u, d, v = torch.linalg.svd(s.x[0], full_matrices=bool(s.a["full"]))
    return [Free(u.shape), precise(d), Free(v.shape)]


def lu_factor(s):
    """The factors in one matrix, the pivots from 1, and the row of A that each row of L U is."""
    factors, pivots = torch.linalg.lu_factor_ex(s.x[0])[:2]
    order = np.broadcast_to(np.arange(factors.shape[-2]), factors.shape[:-1]).copy()
    for batch in np.ndindex(*order.shape[:-1]):
        for i, pivot in enumerate(pivots[batch].tolist()):
            order[batch][[i, pivot - 1]] = order[batch][[pivot - 1, i]]
    return [precise(factors), Exact(pivots, "int32"), Exact(order, "int64")]


def eigh(s):
    values, vectors = torch.linalg.eigh(s.x[0])
    return [precise(values), Free(vectors.shape)]


def dft(s):
    x = s.x[0].detach()
    length = s.ints(1)[0] if s.has(1) else s.a["dft_length"]
    axis = (s.ints(2)[0] if s.has(2) else s.a["axis"]) % x.dim()
    value = torch.complex(x[..., 0], x[..., 1] if x.shape[-1] == 2 else torch.zeros_like(x[..., 0]))
    back, half = s.a["inverse"], s.a["onesided"]
    length = length or (2 * (x.shape[axis] - 1) if back and half else x.shape[axis])
    if value.numel() == 0:
        shape = list(value.shape)
        shape[axis] = length
        y = torch.zeros(shape, dtype=torch.complex128)
    elif back and half:
        y = torch.fft.irfft(value, length, axis)
    else:
        y = (torch.fft.ifft if back else torch.fft.fft)(value, length, axis)
        y = y.narrow(axis, 0, length // 2 + 1) if half else y
    y = torch.view_as_real(y) if y.is_complex() else y.unsqueeze(-1)
    return Near(y, scale=y.abs() + 1e-8 * x.abs().sum())


def attention(s):
    def seen(k, name):
        return s.x[k].permute(s.a[name]) if s.a[name] else s.x[k]
    q, k, v = seen(0, "q_perm"), seen(1, "k_perm"), seen(2, "v_perm")
    if q.dim() > 2:  # consecutive heads share one of the keys and one of the values
        heads = q.shape[-3]
        k = k.repeat_interleave(heads // k.shape[-3], -3) if k.shape[-3] else k
        v = v.repeat_interleave(heads // v.shape[-3], -3) if v.shape[-3] else v
    steps, operands = list(s.a["steps"]), iter(s.x[3:])
    while steps and steps[0] <= 4:
        step, operand = steps.pop(0), next(operands)
        factor = operand if step in (1, 3) else 1 / operand
        q, k = (q * factor, k) if step <= 2 else (q, k * factor)
    score = q @ k.transpose(-1, -2)
    weighing = {5: lambda y, o: y * o, 6: lambda y, o: y / o, 7: lambda y, o: y + o, 8: lambda y, o: y - o}
    done = False
    for step in steps:
        if step >= 12 and not done:
            score, done = torch.softmax(score, -1), True
        if step == 9:
            score = torch.tanh(score)
        elif step in weighing:
            score = weighing[step](score, next(operands))
        else:
            keep, value = next(operands), next(operands)
            score = torch.where(keep, score, value) if step in (10, 12) else torch.where(keep, value, score)
    weight = score if done else torch.softmax(score, -1)
    y = weight @ v
    return Near(y.permute(s.a["out_perm"]) if s.a["out_perm"] else y)


UNARY = {
    "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Silu": F.silu, "HardSwish": F.hardswish, "Softplus": F.softplus,
    "Log": torch.log, "Relu": torch.relu, "Exp": torch.exp, "Sqrt": torch.sqrt, "Reciprocal": torch.reciprocal,
    "Erf": torch.erf, "Sin": torch.sin, "Cos": torch.cos, "Neg": torch.neg, "Abs": torch.abs, "Log1p": torch.log1p,
    "Expm1": torch.expm1, "Floor": torch.floor, "Ceil": torch.ceil, "Round": torch.round, "Sign": torch.sign,
    "Not": torch.logical_not, "Cast": lambda x: x.to(torch.float64)}
BINARY = {
    "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "Pow": torch.pow, "Max": torch.maximum,
    "Min": torch.minimum, "Less": torch.lt, "LessOrEqual": torch.le, "Greater": torch.gt, "GreaterOrEqual": torch.ge,
    "Equal": torch.eq, "And": torch.logical_and, "Or": torch.logical_or, "Xor": torch.logical_xor}


def chain(s):
    names = ops_by_id()
    constants = [struct.unpack("<d", struct.pack("<q", v))[0] for v in s.a["constants"]]
    results, rows = [], s.a["row_dims"]

    def value(i):
        if i >= 128:
            return results[i - 128]
        return torch.tensor(constants[i - 64], dtype=torch.float64) if i >= 64 else s.x[i]

    for word in s.a["steps"]:
        name, at, flag = names[word & 0xFFFF], [word >> shift & 0xFF for shift in (16, 24, 32)], word >> 40 & 0xFF
        x = value(at[0])
        dims = list(range(x.dim() - rows, x.dim()))
        if name in UNARY:
            y = UNARY[name](x)
        elif name in BINARY:
            y = BINARY[name](x, value(at[1]))
        elif name == "Gelu":
            y = gelu(flag)(x)
        elif name == "Where":
            y = torch.where(x, value(at[1]), value(at[2]))
        elif name == "LeakyRelu":
            y = F.leaky_relu(x, value(at[1]).item())
        elif name == "Elu":
            y = F.elu(x, value(at[1]).item())
        elif name == "Clip":
            y = x.clamp(value(at[1]).item(), value(at[2]).item())
        elif name == "HardSigmoid":
            y = (x * value(at[1]) + value(at[2])).clamp(0, 1)
        else:
            whole = x if x.dim() == s.x[0].dim() else x.expand(torch.broadcast_shapes(x.shape, s.x[0].shape))
            dims = list(range(whole.dim() - rows, whole.dim()))
            y = {"ReduceSum": torch.sum, "ReduceMean": torch.mean, "ReduceMax": torch.amax,
                 "ReduceMin": torch.amin}[name](whole, dims, keepdim=True)
        results.append(y)
    return Near(results[-1])


def leaf_of(nodes, splits, x, at):
    while at >= 0:
        feature, relations, yes, no = nodes[at]
        a, b = x[feature], splits[at]
        at = yes if relations & (1 if a < b else 2 if a == b else 4 if a > b else 8) else no
    return -1 - at


def trees(s):
    """A row goes down every tree; the weights of its leaves are added, averaged over the trees, or compared."""
    rows, nodes, splits, roots, starts, targets, weights = (s.array(k) for k in range(7))
    count, how = s.a["n_targets"], s.a["aggregate_function"]
    y, size = np.zeros((len(rows), count)), np.zeros((len(rows), count))
    for i, x in enumerate(rows):
        found = [[] for _ in range(count)]
        for root in roots:
            leaf = leaf_of(nodes, splits, x, root)
            for e in range(starts[leaf], starts[leaf + 1]):
                found[targets[e]].append(weights[e])
        for k, values in enumerate(found):
            size[i, k] = np.abs(values).sum()
            if values:
                y[i, k] = {0: lambda v: np.sum(v) / len(roots), 1: np.sum, 2: np.min, 3: np.max}[how](values)
    if how == 0:
        size /= len(roots)
    return Near(torch.from_numpy(y), scale=torch.from_numpy(size))


ANSWERS = {
    "Gelu": lambda s: Near(gelu(s.a["tanh"])(s.x[0]), summed=False), "Div": div,
    "Softmax": lambda s: Near(torch.softmax(s.x[0], s.a["axis"])),
    "LogSoftmax": log_softmax,
    "BatchNorm": batch_norm, "BatchNormTrain": batch_norm_train, "BatchNormGrad": batch_norm_grad,
    "FoldedBatchNorm": folded, "FakeQuantize": fake_quantize, "FakeQuantizeGrad": fake_quantize_grad,
    "ReduceSum": reduced(lambda x, d: x.sum(d, keepdim=True)), "ReduceMean": mean_of,
    "ReduceMax": reduced(lambda x, d: x.amax(d, keepdim=True)),
    "ReduceMin": reduced(lambda x, d: x.amin(d, keepdim=True)),
    "ReduceProd": reduced(lambda x, d: x.prod(d, keepdim=True)),
    "CumSum": scan(torch.cumsum, 0), "CumProd": scan(torch.cumprod, 1),
    "MatMul": lambda s: Near(s.x[0] @ s.x[1]), "Linear": linear,
    "FusedLinear": lambda s: Near(epilogue(s, s.x[0] @ s.x[1].t(), True)),
    "FusedMatMul": lambda s: Near(epilogue(s, s.x[0] @ s.x[1], True)), "BlockLinear": block_linear,
    "Conv": plain_conv, "FusedConv": lambda s: Near(epilogue(s, conv(s, s.x[0], s.x[1]), False)),
    "ConvInputGrad": conv_grad(False), "ConvWeightGrad": conv_grad(True), "ConvTranspose": conv_transpose,
    "ConvInteger": conv_integer, "Col2Im": col2im,
    "MaxPool": max_pool_values, "MaxPoolIndices": max_pool_indices, "MaxPoolGrad": max_pool_grad,
    "AveragePool": average_pool, "AveragePoolGrad": average_pool_grad, "LpPool": lp_pool,
    "AffineGrid": affine_grid, "DFT": dft, "FusedAttention": attention, "FusedElementwise": chain,
    "Cholesky": lambda s: precise(torch.linalg.cholesky(s.x[0])), "TriangularSolve": triangular,
    "Solve": lambda s: precise(torch.linalg.solve(s.x[0], s.x[1])),
    "Inverse": lambda s: precise(torch.linalg.inv(s.x[0])), "Det": lambda s: precise(torch.linalg.det(s.x[0])),
    "SlogDet": slog_det, "Svd": svd, "Eigh": eigh, "LuFactor": lu_factor, "TreeEnsemble": trees,
}
