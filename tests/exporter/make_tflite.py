#!/usr/bin/env python3
"""Writes tests/exporter/tflite: small .tflite files, one for each operator and some for combinations, and answers.npz
with inputs and the answers that tflite_math.py computes: NAME/in0 .., NAME/out0 .., NAME/steps where whole numbers may
be so many apart.

usage: make_tflite.py [FOLDER] [--beside-litert]     the second compares with LiteRT, where pip has it
"""
import math
import os
import sys

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tflite_math as tm  # noqa: E402
from tflite_writer import Model  # noqa: E402

CASES = {}  # name: (model, inputs, answers, steps)
LITERT_DIFFERS = {  # where LiteRT's answer is another by design, and why
    "conv_2d_dilated": "its kernels pass over a TANH among the options",
}
rng = np.random.default_rng(20)


def floats(*shape, low=-1.0, high=1.0):
    return (rng.random(shape) * (high - low) + low).astype(np.float32)


def case(name, m, outputs, inputs, answers, steps=None):
    m.outputs = list(outputs)
    CASES[name] = (m, inputs, answers, steps)


def one(name, kind, x, answer, others=(), shape=None, dtype=None, **options):
    """A model of one operator of x and constants."""
    m = Model()
    i = m.input(x.shape, str(x.dtype), name="x")
    answer = np.asarray(answer)
    dtype = dtype or ("float32" if answer.dtype == np.float64 else str(answer.dtype))
    y = m.op(kind, [i] + [m.const(o) for o in others], shape or answer.shape, dtype, name="y", **options)
    case(name, m, [y], [x], [answer.astype(dtype)])


def ints(*values):
    return np.array(values, np.int32)


def d(x):
    return np.asarray(x, np.float64)


def layers():
    x = floats(1, 6, 7, 4)
    w, b = floats(5, 3, 2, 4), floats(5)
    y = tm.conv(d(x), d(w), d(b), stride=(2, 2))
    one("conv_2d", "CONV_2D", x, np.clip(y, 0, 6), [w, b], padding=0, stride_h=2, stride_w=2, act=3)
    y = tm.conv(d(x), d(w), d(b), dilation=(2, 3), same=False)
    one("conv_2d_dilated", "CONV_2D", x, np.tanh(y), [w, b], padding=1, stride_h=1, stride_w=1, dilation_h=2,
        dilation_w=3, act=4)
    wide, grouped = floats(1, 5, 5, 6), floats(4, 2, 3, 3)
    one("conv_2d_grouped", "CONV_2D", wide, tm.conv(d(wide), d(grouped), d(b[:4]), same=True, stride=(1, 2)),
        [grouped, b[:4]], padding=0, stride_h=1, stride_w=2)
    w, b = floats(1, 3, 3, 8), floats(8)
    y = tm.depthwise(d(x), d(w), d(b), stride=(2, 2))
    one("depthwise_conv_2d", "DEPTHWISE_CONV_2D", x, np.maximum(y, 0), [w, b], padding=0, stride_h=2, stride_w=2,
        multiplier=2, act=1)
    small, w, b = floats(1, 3, 4, 2), floats(3, 3, 3, 2), floats(3)
    for name, same, to in (("same", True, (6, 8)), ("valid", False, (8, 9)), ("odd", True, (5, 7))):
        y = tm.transposed(d(small), d(w), d(b), to, (2, 2), same)
        m = Model()
        i = m.input(small.shape, name="x")
        y_id = m.op("TRANSPOSE_CONV", [m.const(ints(1, *to, 3)), m.const(w), i, m.const(b)], y.shape, name="y",
                    padding=0 if same else 1, stride_h=2, stride_w=2)
        case("transpose_conv_" + name, m, [y_id], [small], [y.astype(np.float32)])
    w, b = floats(3, 24), floats(3)
    y = np.clip(d(small).reshape(1, 24) @ d(w).T + d(b), -1, 1)
    one("fully_connected", "FULLY_CONNECTED", small, y, [w, b], act=2)
    w = floats(5, 2)
    one("fully_connected_keeps_dims", "FULLY_CONNECTED", small, d(small) @ d(w).T, [w], keep_num_dims=1)
    a, c = floats(2, 4, 3), floats(2, 5, 4)
    y = np.einsum("bki,bok->bio", d(a), d(c))
    m = Model()
    i, j = m.input(a.shape, name="a"), m.input(c.shape, name="b")
    case("batch_matmul", m, [m.op("BATCH_MATMUL", [i, j], y.shape, name="y", adj_x=1, adj_y=1)], [a, c],
         [y.astype(np.float32)])


def pools():
    x = floats(1, 5, 6, 3)
    how = dict(stride_h=2, stride_w=1, filter_h=3, filter_w=2)
    y = tm.pool(d(x), (3, 2), (2, 1), True, np.mean)
    one("average_pool_2d", "AVERAGE_POOL_2D", x, np.maximum(y, 0), padding=0, act=1, **how)
    one("max_pool_2d", "MAX_POOL_2D", x, tm.pool(d(x), (3, 2), (2, 1), True, np.max), padding=0, **how)
    one("max_pool_2d_valid", "MAX_POOL_2D", x, tm.pool(d(x), (3, 2), (2, 1), False, np.max), padding=1, **how)
    for kind, f in (("MEAN", np.mean), ("SUM", np.sum), ("REDUCE_MAX", np.max), ("REDUCE_MIN", np.min),
                    ("REDUCE_PROD", np.prod)):
        one(kind.lower(), kind, x, f(d(x), axis=(1, 3)), [ints(-1, 1)])
        one(kind.lower() + "_keeps_dims", kind, x, f(d(x), axis=(1, 2), keepdims=True), [ints(1, 2)], keep_dims=1)
    truth = x > 0.4
    one("reduce_any", "REDUCE_ANY", truth, truth.any(axis=(1, 2)), [ints(1, 2)])
    one("reduce_all", "REDUCE_ALL", truth, truth.all(axis=3, keepdims=True), [ints(3)], keep_dims=1)
    tied = (np.rint(x * 3) + 0).astype(np.float32)  # zeros without a sign
    one("arg_max", "ARG_MAX", tied, tied.argmax(2).astype(np.int64), [ints(2)], type=4)
    one("arg_min", "ARG_MIN", tied, tied.argmin(3).astype(np.int32), [ints(-1)], type=2)


def elementwise():
    x, above = floats(2, 3, 5, low=-3.5, high=3.5), floats(2, 3, 5, low=0.1, high=4)
    erf = np.vectorize(math.erf)
    for kind, f in (("RELU", lambda v: np.maximum(v, 0)), ("RELU6", lambda v: np.clip(v, 0, 6)),
                    ("RELU_N1_TO_1", lambda v: np.clip(v, -1, 1)), ("RELU_0_TO_1", lambda v: np.clip(v, 0, 1)),
                    ("TANH", np.tanh), ("LOGISTIC", lambda v: 1 / (1 + np.exp(-v))),
                    ("ELU", lambda v: np.where(v < 0, np.expm1(v), v)),
                    ("HARD_SWISH", lambda v: v * np.clip(v + 3, 0, 6) / 6), ("EXP", np.exp), ("ABS", np.abs),
                    ("NEG", np.negative), ("SQUARE", np.square), ("FLOOR", np.floor), ("CEIL", np.ceil),
                    ("ROUND", np.rint), ("SIN", np.sin), ("COS", np.cos), ("SIGN", np.sign)):
        one(kind.lower(), kind, x, f(d(x)))
    for kind, f in (("LOG", np.log), ("SQRT", np.sqrt), ("RSQRT", lambda v: 1 / np.sqrt(v))):
        one(kind.lower(), kind, above, f(d(above)))
    one("leaky_relu", "LEAKY_RELU", x, np.where(x < 0, d(x) * 0.125, x), alpha=0.125)
    one("gelu", "GELU", x, d(x) * (1 + erf(d(x) / math.sqrt(2))) / 2)
    one("gelu_tanh", "GELU", x, d(x) * (1 + np.tanh(math.sqrt(2 / math.pi) * (d(x) + 0.044715 * d(x) ** 3))) / 2,
        approximate=1)
    slope = floats(1, 1, 5)
    one("prelu", "PRELU", x, np.where(x < 0, d(x) * d(slope), x), [slope])
    e = np.exp(2 * d(x))
    one("softmax", "SOFTMAX", x, e / e.sum(-1, keepdims=True), beta=2.0)
    one("log_softmax", "LOG_SOFTMAX", x, d(x) - np.log(np.exp(d(x)).sum(-1, keepdims=True)))
    one("l2_normalization", "L2_NORMALIZATION", x, d(x) / np.sqrt((d(x) ** 2).sum(-1, keepdims=True)))
    row = floats(5, low=0.5, high=2)
    for kind, f in (("ADD", np.add), ("SUB", np.subtract), ("MUL", np.multiply), ("DIV", np.divide)):
        one(kind.lower(), kind, x, np.clip(f(d(x), d(row)), 0, 6), [row], act=3)
    for kind, f in (("MAXIMUM", np.maximum), ("MINIMUM", np.minimum), ("FLOOR_DIV", np.floor_divide),
                    ("FLOOR_MOD", np.mod), ("SQUARED_DIFFERENCE", lambda a, b: (a - b) ** 2)):
        one(kind.lower(), kind, x, f(d(x), d(row)), [row])
    one("pow", "POW", above, np.power(d(above), d(row)), [row])
    whole = ints(-7, 7, -8, 9, 0, 100)
    by = ints(2, -2, 4, 5, 3, -7)
    one("floor_div_ints", "FLOOR_DIV", whole, whole // by, [by])
    one("floor_mod_ints", "FLOOR_MOD", whole, whole % by, [by])
    one("div_ints", "DIV", whole, np.trunc(whole / by).astype(np.int32), [by])
    tied = (np.rint(x) + 0).astype(np.float32)
    to = np.array([0, 1, -1, 2, -2], np.float32)
    for kind, f in (("EQUAL", np.equal), ("NOT_EQUAL", np.not_equal), ("LESS", np.less), ("LESS_EQUAL", np.less_equal),
                    ("GREATER", np.greater), ("GREATER_EQUAL", np.greater_equal)):
        one(kind.lower(), kind, tied, f(tied, to), [to])
    one("logical_not", "LOGICAL_NOT", x > 0, ~(x > 0))
    one("logical_and", "LOGICAL_AND", x > 0, (x > 0) & (x[0] > 1), [x[0] > 1])
    one("logical_or", "LOGICAL_OR", x > 0, (x > 0) | (x[0] > 1), [x[0] > 1])
    one("select_v2", "SELECT_V2", x > 0, np.where(x > 0, x, row), [x, row], dtype="float32")
    two = np.array([True, False])
    one("select", "SELECT", two, np.where(two[:, None, None], x, -x), [x, -x], dtype="float32")
    one("cast", "CAST", x, x.astype(np.int32), in_type=0, out_type=2)


def moves():
    x = floats(2, 3, 4)
    image = floats(1, 4, 6, 2)
    one("reshape", "RESHAPE", x, d(x).reshape(4, 6), [ints(-1, 6)])
    one("reshape_by_option", "RESHAPE", x, d(x).reshape(3, 8), new_shape=[3, -1])
    one("squeeze", "SQUEEZE", floats(1, 3, 1), np.zeros((1, 3)), dims=[-1])
    CASES["squeeze"] = CASES["squeeze"][:2] + ([CASES["squeeze"][1][0].reshape(1, 3)], None)
    one("expand_dims", "EXPAND_DIMS", x, d(x)[:, :, None], [ints(2)])
    one("transpose", "TRANSPOSE", x, d(x).transpose(2, 0, 1), [ints(2, 0, 1)])
    one("concatenation", "CONCATENATION", x, np.concatenate([d(x), d(x[:, :1])], 1), [x[:, :1]], axis=-2)
    one("pack", "PACK", x, np.stack([d(x), d(x) * 2], 1), [x * 2], count=2, axis=1)
    one("slice", "SLICE", x, d(x)[1:, 1:3, :], [ints(1, 1, 0), ints(1, 2, -1)])
    one("strided_slice", "STRIDED_SLICE", x, d(x)[:, ::-2, -3:-1], [ints(0, 9, -3), ints(0, 9, -1), ints(1, -2, 1)],
        begin=3, end=3)
    one("strided_slice_new_axes", "STRIDED_SLICE", x, d(x)[-1, None, ..., 1:3],
        [ints(-1, 0, 0, 1), ints(0, 0, 0, 3), ints(1, 1, 1, 1)], ellipsis=4, new_axis=2, shrink=1)
    one("strided_slice_of_nothing", "STRIDED_SLICE", x, d(x)[:, :, 3:1], [ints(0, 0, 3), ints(2, 3, 1), ints(1, 1, 1)])
    one("reverse_v2", "REVERSE_V2", x, d(x)[:, ::-1], [ints(1)])
    one("pad", "PAD", x, np.pad(d(x), ((0, 1), (2, 0), (1, 1))), [ints((0, 1), (2, 0), (1, 1))])
    one("padv2", "PADV2", x, np.pad(d(x), ((0, 1), (2, 0), (0, 0)), constant_values=1.5),
        [ints((0, 1), (2, 0), (0, 0)), np.float32(1.5)])
    for mode, name in ((0, "reflect"), (1, "symmetric")):
        one("mirror_pad_" + name, "MIRROR_PAD", x, np.pad(d(x), ((0, 1), (2, 1), (1, 3)), mode=name),
            [ints((0, 1), (2, 1), (1, 3))], mode=mode)
    one("gather", "GATHER", x, d(x)[:, [2, 0, 2]], [ints(2, 0, 2)], axis=1)
    one("gather_nd", "GATHER_ND", x, d(x)[[1, 0], [2, 1]], [ints((1, 2), (0, 1))])
    one("tile", "TILE", x, np.tile(d(x), (2, 1, 3)), [ints(2, 1, 3)])
    one("broadcast_to", "BROADCAST_TO", x[:, :1], np.broadcast_to(d(x[:, :1]), (5, 2, 3, 4)), [ints(5, 2, 3, 4)])
    one("fill", "FILL", ints(2, 3), np.full((2, 3), 2.5), [np.float32(2.5)])
    CASES.pop("fill")  # its dims must be known
    m = Model()
    i = m.input([], name="x")
    case("fill", m, [m.op("FILL", [m.const(ints(2, 3)), i], [2, 3], name="y")], [np.float32(2.5)],
         [np.full((2, 3), 2.5, np.float32)])
    one("space_to_depth", "SPACE_TO_DEPTH", image,
        d(image).reshape(1, 2, 2, 3, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(1, 2, 3, 8), block=2)
    deep = floats(1, 2, 3, 8)
    one("depth_to_space", "DEPTH_TO_SPACE", deep,
        d(deep).reshape(1, 2, 3, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(1, 4, 6, 2), block=2)
    padded = np.pad(d(image), ((0, 0), (1, 1), (0, 0), (0, 0)))
    batches = padded.reshape(1, 3, 2, 2, 3, 2).transpose(2, 4, 0, 1, 3, 5).reshape(6, 3, 2, 2)
    one("space_to_batch_nd", "SPACE_TO_BATCH_ND", image, batches, [ints(2, 3), ints((1, 1), (0, 0))])
    one("batch_to_space_nd", "BATCH_TO_SPACE_ND", batches.astype(np.float32), image, [ints(2, 3), ints((1, 1), (0, 0))])
    for mode, align, half in (("", 0, 0), ("_align_corners", 1, 0), ("_half_pixel", 0, 1)):
        for kind, linear in (("RESIZE_BILINEAR", True), ("RESIZE_NEAREST_NEIGHBOR", False)):
            for to in ((8, 12), (3, 4)):
                y = tm.resized(image, to, linear, align, half)
                one(f"{kind.lower()}{mode}_{to[0]}", kind, image, y, [ints(*to)], align=align, half=half)
    m = Model()
    i = m.input(x.shape, name="x")
    parts = m.ops_of_many("SPLIT", [m.const(ints(2)), i], [(2, 3, 2)] * 2, num=2)
    case("split", m, parts, [x], [x[:, :, :2], x[:, :, 2:]])
    m = Model()
    i = m.input(x.shape, name="x")
    parts = m.ops_of_many("SPLIT_V", [i, m.const(ints(1, -1)), m.const(ints(1))], [(2, 1, 4), (2, 2, 4)], num=2)
    case("split_v", m, parts, [x], [x[:, :1], x[:, 1:]])
    m = Model()
    i = m.input(x.shape, name="x")
    parts = m.ops_of_many("UNPACK", [i], [(2, 4)] * 3, num=3, axis=1)
    case("unpack", m, parts, [x], [x[:, k] for k in range(3)])


def combined():
    x = floats(1, 6, 6, 3)
    w, b = floats(4, 3, 3, 3), floats(4)
    # Images stay planes: a vector, a part and another image of the file's order meet them.
    m = Model()
    i = m.input(x.shape, name="x")
    y = tm.conv(d(x), d(w), d(b))
    v = m.op("CONV_2D", [i, m.const(w), m.const(b)], y.shape, padding=0, stride_h=1, stride_w=1)
    row, slope = floats(4), floats(1, 1, 4)
    y = y * d(row)
    v = m.op("MUL", [v, m.const(row)], y.shape, act=0)
    y = np.where(y < 0, y * d(slope), y)
    v = m.op("PRELU", [v, m.const(slope)], y.shape)
    left, right = m.ops_of_many("SPLIT", [m.const(ints(3)), v], [(1, 6, 6, 2)] * 2, num=2)
    y = np.concatenate([y[..., 2:], y[..., :2], d(x)], 3)
    v = m.op("CONCATENATION", [right, left, i], y.shape, axis=3)
    y = np.pad(y, ((0, 0), (1, 0), (0, 2), (0, 0)))[:, ::2, 1:7]
    v = m.op("PAD", [v, m.const(ints((0, 0), (1, 0), (0, 2), (0, 0)))], (1, 7, 8, 7))
    v = m.op("STRIDED_SLICE", [v, m.const(ints(0, 0, 1)), m.const(ints(1, 7, 7)), m.const(ints(1, 2, 1))], y.shape)
    mean = y.mean(axis=(1, 2))
    m_id = m.op("MEAN", [v, m.const(ints(1, 2))], mean.shape)
    e = np.exp(mean - mean.max())
    s = m.op("SOFTMAX", [m_id], mean.shape, beta=1.0)
    case("planes", m, [s, v], [x], [(e / e.sum()).astype(np.float32), y.astype(np.float32)])
    # A shape computed from another's.
    m = Model()
    i = m.input((2, 3, 4), name="x")
    shape = m.op("SHAPE", [i], (3,), "int32", type=2)
    last = m.op("STRIDED_SLICE", [shape, m.const(ints(2)), m.const(ints(3)), m.const(ints(1))], (), "int32", shrink=1)
    to = m.op("PACK", [m.const(np.int32(-1)), last], (2,), "int32", count=2, axis=0)
    z = floats(2, 3, 4)
    case("shape", m, [m.op("RESHAPE", [i, to], (6, 4))], [z], [z.reshape(6, 4)])
    # Weights of 16 bits, which an operator of the file makes float32.
    m = Model()
    i = m.input(x.shape, name="x")
    half = w.astype(np.float16)
    wide = m.op("DEQUANTIZE", [m.const(half)], half.shape)
    y = tm.conv(d(x), d(half), d(b), same=False)
    case("dequantize_half_weights", m,
         [m.op("CONV_2D", [i, wide, m.const(b)], y.shape, padding=1, stride_h=1, stride_w=1)], [x],
         [y.astype(np.float32)])
    # Weights of 8 and 4 bits, activations of float32.
    images, mult = floats(2, 6, 6, 3), floats(3)
    q = rng.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
    qd = rng.integers(-127, 128, (1, 3, 3, 3)).astype(np.int8)
    each, one_scale = np.array([0.01, 0.02, 0.03, 0.005], np.float32), np.float32(0.02)
    how = dict(padding=0, stride_h=2, stride_w=2)
    for name, kind, weight, scale, axis, f, bias in (
            ("hybrid_conv", "CONV_2D", q, one_scale, 0, tm.conv, b),
            ("hybrid_conv_each", "CONV_2D", q, each, 0, tm.conv, b),
            ("hybrid_depthwise", "DEPTHWISE_CONV_2D", qd, each[:3], 3, tm.depthwise, mult)):
        whole, scales = tm.at_run(images, scale.ndim == 1)
        y = f(whole, weight.astype(np.int64), None, stride=(2, 2)) * d(scale) * d(scales)[:, None, None, None] + d(bias)
        m = Model()
        i = m.input(images.shape, name="x")
        w_id = m.const(weight, q=(scale, [0] * scale.size, axis))
        case(name, m, [m.op(kind, [i, w_id, m.const(bias)], y.shape, name="y", **how)], [images], [y.astype(np.float32)])
    z = floats(3, 6)
    z[1] = 0  # a batch of zeros
    for name, asymmetric in (("hybrid_fully_connected", 0), ("hybrid_fully_connected_asymmetric", 1)):
        q = rng.integers(-127, 128, (3, 6)).astype(np.int8)
        whole, scales = tm.at_run(z, asymmetric)
        y = np.maximum(whole @ q.T.astype(np.int64) * d(one_scale) * d(scales)[:, None] + d(mult), 0)
        m = Model()
        i = m.input(z.shape, name="x")
        case(name, m, [m.op("FULLY_CONNECTED", [i, m.const(q, q=(one_scale, 0)), m.const(mult)], y.shape, name="y", act=1,
                            asymmetric=asymmetric)], [z], [y.astype(np.float32)])
    m = Model()
    i = m.input(z.shape, name="x")
    q = rng.integers(-7, 8, (4, 6)).astype(np.int8)
    packed = (q.ravel()[0::2] & 15 | (q.ravel()[1::2] & 15) << 4).astype(np.uint8)
    whole, scales = tm.at_run(z, False)
    y = whole @ q.T.astype(np.int64) * d(one_scale) * d(scales)[:, None]
    weight = m.const(packed, q=(one_scale, 0), dtype="int4", shape=(4, 6))
    case("hybrid_int4", m, [m.op("FULLY_CONNECTED", [i, weight], y.shape, name="y")], [z], [y.astype(np.float32)])
    # An input is an output too, one output is listed twice, and names are missing or not the only ones.
    m = Model()
    i = m.input((2,), name="same")
    y = m.op("NEG", [i], (2,), name="same")
    z = floats(2)
    case("outputs_and_names", m, [i, y, y], [z], [z, -z, -z])


def quantized():
    qx, qy = (0.02, -3), (0.05, 4)

    def model(name, kind, x, shape, answer, rest=(), y=qy, x_q=qx, steps=0, dtype=None, y_dtype=None, **options):
        m = Model()
        i = m.input(x.shape, str(x.dtype), x_q, name="x")
        y_id = m.op(kind, [i] + [r(m) for r in rest], shape, y_dtype or str(x.dtype), y, name="y", **options)
        case("int8_" + name if x.dtype == np.int8 else name, m, [y_id], [x], [answer], steps)

    x = rng.integers(-128, 128, (1, 6, 7, 4)).astype(np.int8)
    centered = x.astype(np.int64) - qx[1]
    w, scales = rng.integers(-127, 128, (5, 3, 3, 4)).astype(np.int8), np.array([1, 2, 3, 4, 5], np.float32) / 1000
    b = rng.integers(-9000, 9000, 5).astype(np.int32)
    bias_scales = np.float32(qx[0]) * scales
    sums = tm.conv(centered, w.astype(np.int64), b.astype(np.int64), stride=(2, 2))
    y = tm.requantized(sums, qx[0], scales, qy[0], qy[1], np.int8)
    rest = [lambda m: m.const(w, q=(scales, [0] * 5, 0)), lambda m: m.const(b, q=(bias_scales, [0] * 5, 0))]
    conv = dict(padding=0, stride_h=2, stride_w=2)
    model("conv_2d", "CONV_2D", x, y.shape, tm.clamped(y, 0, np.inf, *qy), rest, act=1, **conv)
    model("conv_2d_relu6", "CONV_2D", x, y.shape, tm.clamped(y, 0, 6, *qy), rest, act=3, **conv)
    wd, sd = rng.integers(-127, 128, (1, 3, 2, 4)).astype(np.int8), scales[:4]
    sums = tm.depthwise(centered, wd.astype(np.int64), b[:4].astype(np.int64), same=False)
    y = tm.requantized(sums, qx[0], sd, qy[0], qy[1], np.int8)
    model("depthwise_conv_2d", "DEPTHWISE_CONV_2D", x, y.shape, y,
          [lambda m: m.const(wd, q=(sd, [0] * 4, 3)), lambda m: m.const(b[:4], q=(bias_scales[:4], [0] * 4, 0))],
          padding=1, stride_h=1, stride_w=1, multiplier=1)
    flat = rng.integers(-128, 128, (2, 10)).astype(np.int8)
    wf = rng.integers(-127, 128, (3, 10)).astype(np.int8)
    sums = (flat.astype(np.int64) - qx[1]) @ wf.astype(np.int64).T + b[:3]
    y = tm.requantized(sums, qx[0], 0.004, qy[0], qy[1], np.int8)
    model("fully_connected", "FULLY_CONNECTED", flat, y.shape, y,
          [lambda m: m.const(wf, q=(0.004, 0)), lambda m: m.const(b[:3], q=(np.float32(qx[0]) * np.float32(0.004), 0))])
    other, qo = rng.integers(-128, 128, x.shape).astype(np.int8), (0.03, 7)
    F = np.float32
    real = (centered.astype(F) * (F(qx[0]) / F(qy[0])) +
            (other.astype(np.int64) - qo[1]).astype(F) * (F(qo[0]) / F(qy[0])))
    model("add", "ADD", x, x.shape, tm.to_bytes(real, qy[1], np.int8), [lambda m: m.const(other, q=qo)], steps=1, act=0)
    products = centered * (other.astype(np.int64) - qo[1])
    model("mul", "MUL", x, x.shape, tm.requantized(products, qx[0], qo[0], qy[0], qy[1], np.int8),
          [lambda m: m.const(other, q=qo)], steps=1, act=0)
    def mean(v, axis):
        return v.sum(axis=axis).astype(np.float64) / v[0, :, :, 0].size
    means = tm.pool(centered, (2, 2), (2, 2), False, mean)
    pool = dict(padding=1, stride_h=2, stride_w=2, filter_h=2, filter_w=2)
    model("average_pool_2d", "AVERAGE_POOL_2D", x, means.shape, tm.to_bytes(means.astype(F), qx[1], np.int8), y=qx, steps=1,
          **pool)
    model("max_pool_2d", "MAX_POOL_2D", x, means.shape,
          tm.pool(x.astype(np.int64), (2, 2), (2, 2), False, np.max).astype(np.int8), y=qx, **pool)
    sums = centered.sum(axis=(1, 2))
    y = tm.to_bytes(sums.astype(F) * (F(qx[0]) / (F(qy[0]) * F(42))), qy[1], np.int8)
    model("mean", "MEAN", x, y.shape, y, [lambda m: m.const(ints(1, 2))], steps=1)
    near = tm.quantized(tm.dequantized(other, *qo), qy[0], qy[1], np.int8)
    here = tm.quantized(tm.dequantized(x, *qx), qy[0], qy[1], np.int8)
    model("quantize", "QUANTIZE", x, x.shape, here)
    m = Model()
    i, j = m.input(x.shape, "uint8", (0.02, 125), name="x"), m.input(x.shape, "uint8", (0.03, 135), name="z")
    y_id = m.op("CONCATENATION", [i, j], (2, 6, 7, 4), "uint8", (0.05, 132), name="y", axis=0)
    case("uint8_concatenation", m, [y_id], [(x.astype(int) + 128).astype(np.uint8), (other.astype(int) + 128).astype(np.uint8)],
         [(np.concatenate([here, near]).astype(int) + 128).astype(np.uint8)], 0)
    model("pad", "PAD", x, (1, 8, 7, 4), np.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0)), constant_values=qx[1]),
          [lambda m: m.const(ints((0, 0), (1, 1), (0, 0), (0, 0)))], y=qx)
    model("arg_max", "ARG_MAX", x, (1, 6, 7), x.argmax(3).astype(np.int32), [lambda m: m.const(ints(3))], y=None,
          y_dtype="int32", type=2)
    e = np.exp(d(tm.dequantized(flat, 0.1, -3)))
    prob = tm.quantized(e / e.sum(-1, keepdims=True), 1 / 256, -128, np.int8)
    model("softmax", "SOFTMAX", flat, flat.shape, prob, x_q=(0.1, -3), y=(1 / 256, -128), steps=1, beta=1.0)
    table = tm.quantized(1 / (1 + np.exp(-d(tm.dequantized(flat, 0.1, -3)))), 1 / 256, -128, np.int8)
    model("logistic", "LOGISTIC", flat, flat.shape, table, x_q=(0.1, -3), y=(1 / 256, -128), steps=1)
    m = Model()
    i = m.input(flat.shape, "int8", qx, name="x")
    case("int8_dequantize", m, [m.op("DEQUANTIZE", [i], flat.shape, name="y")], [flat], [tm.dequantized(flat, *qx)])
    # The first quantized models: bytes without a sign, also of the weight, with one zero point each.
    u, qu, qw, qr = (x.astype(int) + 128).astype(np.uint8), (0.02, 120), (0.004, 131), (0.06, 10)
    wu = rng.integers(0, 256, (2, 2, 2, 4)).astype(np.uint8)
    sums = tm.conv(u.astype(np.int64) - qu[1], wu.astype(np.int64) - qw[1], b[:2].astype(np.int64))
    y = tm.requantized(sums, qu[0], qw[0], qr[0], qr[1], np.uint8)
    model("uint8_conv_2d", "CONV_2D", u, y.shape, y,
          [lambda m: m.const(wu, q=qw), lambda m: m.const(b[:2], q=(np.float32(qu[0]) * np.float32(qw[0]), 0))], x_q=qu,
          y=qr, padding=0, stride_h=1, stride_w=1)
    # Activations of 16 bits stay float32 between their roundings.
    s = rng.integers(-32768, 32768, (2, 10)).astype(np.int16)
    b64 = rng.integers(-90000, 90000, 3).astype(np.int64)
    real = (d(s) * 0.0001) @ (d(wf) * 0.004).T + b64 * 0.0001 * 0.004
    model("int16_fully_connected", "FULLY_CONNECTED", s, (2, 3), tm.quantized(real, 0.0005, 0, np.int16),
          [lambda m: m.const(wf, q=(0.004, 0)), lambda m: m.const(b64, q=(0.0001 * 0.004, 0))], x_q=(0.0001, 0),
          y=(0.0005, 0), steps=1)


def later():
    """Cases with numbers of their own, so that the files of those above stay as they are."""
    draw = np.random.default_rng(21)
    # The first weights of bytes for float32: the bits of an int8 in a uint8.
    x, q = (draw.random((2, 6)) * 2 - 1).astype(np.float32), draw.integers(-127, 128, (3, 6)).astype(np.int8)
    whole, scales = tm.at_run(x, False)
    y = whole @ q.T.astype(np.int64) * d(np.float32(0.02)) * d(scales)[:, None]
    one("hybrid_uint8", "FULLY_CONNECTED", x, y)
    m = CASES["hybrid_uint8"][0]
    m.ops[0][1].append(m.const(q.view(np.uint8), q=(np.float32(0.02), 0)))
    # Only QUANTIZE looks at the scale of an int32.
    wide = ints(100, -2000, 30, 7000)
    m = Model()
    i = m.input(wide.shape, "int32", (0.01, 3), name="x")
    case("quantize_int32", m, [m.op("QUANTIZE", [i], wide.shape, "int8", (0.5, 2), name="y")], [wide],
         [tm.quantized((wide - 3).astype(np.float32) * np.float32(0.01), 0.5, 2, np.int8)], 0)
    nothing = np.zeros((0, 3), np.float32)  # a shape of [0] is a scalar's among the options alone
    one("reshape_to_nothing", "RESHAPE", nothing, nothing.reshape(0), [ints(0)])


def refused():
    """NAME: a model that is refused. tflite_test.cc has the errors."""
    all_of = {}

    def bad(name, kind, inputs, shape=(2, 3), x=((2, 3), "float32", None), dtype="float32", q=None, **options):
        m = Model()
        i = m.input(*x, name="x")
        m.outputs = [m.op(kind, [i] + [r(m) for r in inputs], shape, dtype, q, name="y", **options)]
        all_of[name] = m
        return m

    def const(*values):
        return lambda m: m.const(ints(*values))

    m = bad("unread_operators", "CUSTOM", [], custom="Detect")
    m.outputs = [m.op("RNN", m.outputs, (2, 3), name="z")]
    bad("complex_numbers", "NEG", [], x=((2, 3), "complex64", None))
    bad("two_results_of_one", "NEG", []).ops.append(("NEG", [0], [1], {}, None))
    bad("read_before_made", "ADD", [lambda m: m.tensor((2, 3), name="later")])
    bad("no_such_tensor", "ADD", [lambda m: 77])
    bad("missing_input", "ADD", [])
    bad("short_constant", "ADD", [lambda m: m.tensor((2, 3), data=b"1234", name="w")])
    bad("scale_of_zero", "NEG", [], x=((2, 3), "int8", (0.0, 0)), dtype="int8", q=(0.1, 0))
    bad("zero_point_of_another_type", "NEG", [], x=((2, 3), "int8", (0.1, 200)), dtype="int8", q=(0.1, 0))
    bad("scales_of_no_axis", "NEG", [], x=((2, 3), "int8", ([0.1, 0.2], [0, 0], 1)), dtype="int8", q=(0.1, 0))
    bad("result_of_many_scales", "NEG", [], dtype="int8", q=([0.1, 0.2], [0, 0], 0))
    bad("result_of_another_type", "NEG", [], dtype="int32")
    bad("bytes_without_a_scale", "TANH", [], x=((2, 3), "int8", None), dtype="int8")
    bad("activation_of_signs", "ADD", [lambda m: m.const(floats(3))], act=5)
    bad("reshape_to_more", "RESHAPE", [const(4, 2)])
    bad("axis_outside", "MEAN", [const(2)], keep_dims=1)
    bad("axes_at_run_time", "MEAN", [lambda m: m.input((1,), "int32", name="axes")])
    bad("image_of_two_dims", "AVERAGE_POOL_2D", [], stride_h=1, stride_w=1, filter_h=1, filter_w=1)
    image = ((1, 4, 4, 3), "float32", None)
    bad("stride_of_zero", "MAX_POOL_2D", [], x=image, stride_h=0, stride_w=1, filter_h=2, filter_w=2)
    bad("channels_differ", "CONV_2D", [lambda m: m.const(floats(2, 1, 1, 2))], x=image, stride_h=1, stride_w=1)
    bad("bias_of_ints", "CONV_2D", [lambda m: m.const(floats(2, 1, 1, 3)), const(1, 2)], x=image, stride_h=1, stride_w=1)
    bad("shuffled_weights", "FULLY_CONNECTED", [lambda m: m.const(floats(2, 3))], format=1)
    bad("gather_in_batches", "GATHER", [const(0, 1)], batch_dims=1)
    bad("slice_outside", "SLICE", [const(1, 0), const(1, 4)])
    bad("parts_of_another_size", "SPLIT_V", [const(5), const(1)], num=1)
    bad("block_of_zero", "SPACE_TO_DEPTH", [], x=image, block=0)
    bad("two_kinds_of_corners", "RESIZE_BILINEAR", [const(2, 2)], x=image, align=1, half=1)
    bad("an_open_size", "NEG", [], x=((-1, 3), "float32", None))
    m = bad("a_constant_as_input", "NEG", [])
    m.inputs.append(m.const(floats(1)))
    bad("no_outputs", "NEG", []).outputs = []
    bad("options_of_another", "ADD", [const(1)], act=1, options_type=9)
    weight = np.zeros((2, 1, 1, 3), np.int8)
    bad("scales_of_inputs", "CONV_2D", [lambda m: m.const(weight, q=([0.1, 0.2, 0.3], [0, 0, 0], 3))], x=image,
        stride_h=1, stride_w=1)
    small = ((1, 4, 4, 3), "int8", (1e-30, 0))
    bad("bias_of_no_unit", "CONV_2D", [lambda m: m.const(weight, q=(1e-30, 0)), const(1, 2)], x=small, dtype="int8",
        q=(1.0, 0), stride_h=1, stride_w=1)
    return all_of


def beside_litert():
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    far = 0
    for name, (m, inputs, answers, steps) in CASES.items():
        try:
            it = Interpreter(model_content=m.bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
            it.allocate_tensors()
            for place, x in zip(it.get_input_details(), inputs):
                it.set_tensor(place["index"], np.asarray(x))
            it.invoke()
        except (RuntimeError, ValueError) as e:
            print(f"{name}: LiteRT refuses it: {str(e).splitlines()[-1][:120]}")
            continue
        for place, y in zip(it.get_output_details(), answers):
            theirs = it.get_tensor(place["index"])
            y = np.asarray(y)
            if theirs.shape != y.shape or theirs.dtype != y.dtype:
                print(f"{name}: {theirs.dtype}{theirs.shape} there, {y.dtype}{y.shape} here")
                far += 1
                continue
            apart = np.abs(d(theirs) - d(y)).max(initial=0)
            if apart > (1e-5 * max(1, np.abs(d(y)).max(initial=0)) if y.dtype.kind == "f" else 0):
                print(f"{name}: {apart:.3g} apart {LITERT_DIFFERS.get(name, '')}")
                far += name not in LITERT_DIFFERS and (y.dtype.kind == "f" or apart > 1)
    return far


def main():
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    folder = words[0] if words else os.path.join(os.path.dirname(os.path.abspath(__file__)), "tflite")
    for make in (layers, pools, elementwise, moves, combined, quantized, later):
        make()
    os.makedirs(os.path.join(folder, "refused"), exist_ok=True)
    for name, m in refused().items():
        with open(os.path.join(folder, "refused", name + ".tflite"), "wb") as f:
            f.write(m.bytes())
    arrays = {}
    for name, (m, inputs, answers, steps) in sorted(CASES.items()):
        with open(os.path.join(folder, name + ".tflite"), "wb") as f:
            f.write(m.bytes())
        for what, values in (("in", inputs), ("out", answers)):
            for i, v in enumerate(values):
                arrays[f"{name}/{what}{i}"] = np.asarray(v)
        if steps is not None:
            arrays[f"{name}/steps"] = np.int64(steps)
    np.savez_compressed(os.path.join(folder, "answers.npz"), **arrays)
    print(len(CASES), "models")
    return beside_litert() if "--beside-litert" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
