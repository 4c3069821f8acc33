"""What operators of TensorFlow Lite compute, in plain loops of NumPy: floats in double, integers exactly."""
import numpy as np


def same_pads(size, kernel, stride, dilation=1):
    """What SAME adds before and behind a dim: an odd element goes behind."""
    reach = (kernel - 1) * dilation + 1
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def windows(x, kernel, stride, dilation, same):
    """Yields (i, j, rows, columns): the places of each window's elements that lie inside of the image, and the kernel's."""
    (h, w), n = x.shape[1:3], []
    pads = [same_pads(s, k, t, d) if same else (0, 0) for s, k, t, d in zip((h, w), kernel, stride, dilation)]
    out = [(s + sum(p) - (k - 1) * d - 1) // t + 1 for s, p, k, t, d in zip((h, w), pads, kernel, stride, dilation)]
    for i in range(out[0]):
        for j in range(out[1]):
            at = []
            for o, s, k, t, d, p in zip((i, j), (h, w), kernel, stride, dilation, pads):
                taps = [(o * t - p[0] + a * d, a) for a in range(k)]
                at.append([(y, a) for y, a in taps if 0 <= y < s])
            n.append((i, j, at[0], at[1]))
    return out, n


def conv(x, weight, bias, stride=(1, 1), dilation=(1, 1), same=True):
    """x[N, H, W, C], weight[O, kh, kw, C / groups]: of the type of x."""
    out, places = windows(x, weight.shape[1:3], stride, dilation, same)
    o, per = weight.shape[0], weight.shape[3]
    groups = x.shape[3] // per
    y = np.zeros((x.shape[0], *out, o), x.dtype)
    for i, j, rows, columns in places:
        for yy, a in rows:
            for xx, b in columns:
                for k in range(o):
                    first = k // (o // groups) * per
                    y[:, i, j, k] += x[:, yy, xx, first:first + per] @ weight[k, a, b]
    return y + (0 if bias is None else bias)


def depthwise(x, weight, bias, **how):
    """weight[1, kh, kw, C * multiplier]."""
    return conv(x, np.transpose(weight, (3, 1, 2, 0)), bias, **how)


def transposed(x, weight, bias, to, stride, same):
    """weight[O, kh, kw, C]: each input is spread over the result [N, *to, O]."""
    kernel = weight.shape[1:3]
    before = []
    for size, k, s in zip(to, kernel, stride):
        n = -(-size // s) if same else (size - k) // s + 1
        before.append(max((n - 1) * s + k - size, 0) // 2 if same else 0)
    y = np.zeros((x.shape[0], *to, weight.shape[0]), x.dtype)
    for i in range(x.shape[1]):
        for j in range(x.shape[2]):
            for a in range(kernel[0]):
                for b in range(kernel[1]):
                    p, q = i * stride[0] - before[0] + a, j * stride[1] - before[1] + b
                    if 0 <= p < to[0] and 0 <= q < to[1]:
                        y[:, p, q] += x[:, i, j] @ weight[:, a, b].T
    return y + (0 if bias is None else bias)


def pool(x, kernel, stride, same, reduce):
    out, places = windows(x, kernel, stride, (1, 1), same)
    y = np.zeros((x.shape[0], *out, x.shape[3]), np.float64)
    for i, j, rows, columns in places:
        y[:, i, j] = reduce(x[:, [r for r, _ in rows]][:, :, [c for c, _ in columns]], axis=(1, 2))
    return y


def resized(x, to, linear, align, half):
    """Bilinear, or the nearest."""
    y = np.asarray(x, np.float64)
    for axis, size in ((1, to[0]), (2, to[1])):
        n = y.shape[axis]
        scale = (n - 1) / (size - 1) if align and size > 1 else n / size
        at = np.arange(size)
        if linear:
            real = (at + 0.5) * scale - 0.5 if half else at * scale
            low = np.clip(np.floor(real), 0, n - 1).astype(int)
            high = np.clip(np.ceil(real), 0, n - 1).astype(int)
            part = np.clip(real - low, 0, 1).reshape([-1 if d == axis else 1 for d in range(4)])
            y = np.take(y, low, axis) * (1 - part) + np.take(y, high, axis) * part
        else:
            real = (at + (0.5 if half else 0)) * scale
            near = np.floor(real + 0.5) if align else np.floor(real)
            y = np.take(y, np.clip(near, 0, n - 1).astype(int), axis)
    return y


# -- Wick's rule for integers (docs/numerics.md): each step is one operation of float32.
F = np.float32


def byte_range(dtype, zero):
    low = np.iinfo(dtype).min
    return F(low - zero), F(low + 255 - zero)


def to_bytes(real, zero, dtype):
    low, high = byte_range(dtype, zero)
    return (np.rint(np.clip(real, low, high)).astype(np.int64) + zero).astype(dtype)


def requantized(sums, x_scale, w_scale, y_scale, zero, dtype):
    m = (F(x_scale) * np.asarray(w_scale, F)) / F(y_scale)
    return to_bytes(sums.astype(F) * m, zero, dtype)


def dequantized(q, scale, zero):
    return (q.astype(np.int64) - zero).astype(F) * F(scale)


def quantized(x, scale, zero, dtype):
    info = np.iinfo(dtype)
    return np.clip(np.rint(np.asarray(x, F) / F(scale)).astype(np.int64) + zero, info.min, info.max).astype(dtype)


def clamped(q, low, high, scale, zero):
    """Bytes after a clamp of the numbers that they stand for, as a table has it."""
    return quantized(np.clip(dequantized(q, scale, zero), F(low), F(high)), scale, zero, q.dtype)


# -- layers of float32 whose weights are bytes: what they get is quantized when they run, each batch by itself.
def away(x):
    """Rounds to the nearest, halves away from 0."""
    return np.where(x < 0, np.ceil(x - F(0.5)), np.floor(x + F(0.5)))


def at_run(x, asymmetric):
    """The bytes of each batch less their zero point, as whole numbers, and the scales [N]."""
    whole, scales = np.zeros(x.shape, np.int64), np.ones(len(x), F)
    for k, batch in enumerate(x):
        low, high = float(min(batch.min(), 0)), float(max(batch.max(), 0))
        if low == high:
            continue
        if not asymmetric:
            largest = np.abs(batch).max()
            scales[k] = largest / F(127)
            whole[k] = np.clip(away(batch * (F(127) / largest)), -127, 127)
            continue
        scale = (high - low) / 255
        from_low, from_high = -128 - low / scale, 127 - high / scale
        point = from_low if 128 + abs(low / scale) < 127 + abs(high / scale) else from_high
        zero = away(F(np.clip(point, -128, 127)))
        scales[k] = F(scale)
        whole[k] = np.clip(away(zero + batch * (F(1) / scales[k])), -128, 127) - zero
    return whole, scales
