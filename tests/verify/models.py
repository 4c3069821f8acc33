#!/usr/bin/env python3
"""Models that the injected bugs show in, one for each of tests/verify/injected, as users have them: a few layers before
the construct and behind it.

  models.py FOLDER     FOLDER/NN_name.onnx, and FOLDER/NN_name.inputs/INPUT.npy where not any input would do

Needs NumPy: it runs itself with the Python of tools/scripts/setup_ort.sh.
"""

import glob
import os
import sys

from net import G, HERE, IMAGE, Net, info, n, np

MODELS = {}  # by the patch's number: a function that fills a Net and gives its outputs


def of(number, **how):
    def add(make):
        MODELS[number] = (make, how)
        return make

    return add


@of(1)
def profile(m):
    """The range of each row of a picture, over its channels and columns."""
    x = m.op("LeakyRelu", m.conv(m.input("image", IMAGE), 3, 8), alpha=0.1)
    most, least = (m.op(op, x, axes=[1, 3], keepdims=0) for op in ("ReduceMax", "ReduceMin"))
    return m.op("Softmax", m.op("Div", m.op("Sub", most, least), np.float32(2)), axis=-1)


@of(2)
def sequence_mean(m):
    """A text's mean and largest feature over its words: 192 columns, which tasks cut anywhere."""
    x = m.op("Tanh", m.linear(m.input("words", ["batch", "time", 24]), 24, 192))
    mean = m.op("ReduceMean", x, axes=[1], keepdims=0)
    return m.gemm(m.op("Concat", mean, m.op("ReduceMax", x, axes=[1], keepdims=0), axis=1), 384, 5)


@of(3)
def impute(m):
    """Sensors, where one that is missing (NaN, or below what it can be) counts as the mean of them."""
    data = m.rng.standard_normal((6, 12))
    data[[0, 1, 1, 4], [3, 0, 11, 7]] = np.nan
    x, mean = m.input("sensors", ["batch", 12], data=data), m.vector(12)
    there = m.op("GreaterOrEqual", x, np.float32(-9))
    x = m.op("Where", there, x, mean)
    x = m.op("Div", m.op("Sub", x, mean), m.vector(12, 0.5, 1.5))
    return m.gemm(m.op("Relu", m.gemm(x, 12, 32)), 32, 3)


@of(4)
def causal_attention(m):
    """A block of a GPT over 97 tokens: one more than panels of 12, 16, 24 or 48 hold."""
    x = m.input("tokens", ["batch", "time", 64], data=m.rng.standard_normal((2, 97, 64)))
    seen, x = m.causal(x), m.linear(x, 64, 64)
    x = m.attention(x, 4, 16, lambda s: m.op("Where", seen, s, np.float32(-1e9)))
    return m.linear(x, 64, 11)


@of(5)
def stem(m):
    """The first layers of a ResNet, with both kinds of a padded pool."""
    x = m.op("Relu", m.batch_norm(m.conv(m.input("image", IMAGE), 3, 16, 7, strides=[1, 1], bias=False), 16))
    window = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    x = m.op("AveragePool", m.conv(m.op("MaxPool", x, **window), 16, 16), **window)
    return m.classify(m.op("Relu", x), 16)


@of(6)
def slots(m):
    """Slots that take shares of the words: softmax over the time, which is the last dim but one."""
    x = m.layer_norm(m.input("words", ["batch", "time", 16]), 16)
    share = m.op("Softmax", m.linear(x, 16, 6), axis=-2)
    y = m.op("MatMul", m.op("Transpose", share, perm=[0, 2, 1]), m.linear(x, 16, 16))
    return m.linear(m.op("Relu", y), 16, 4)


@of(7)
def resnext(m):
    """A block of a ResNeXt: a convolution of 4 groups of 8 channels and its batch norm."""
    x = m.op("Relu", m.batch_norm(m.conv(m.input("image", IMAGE), 3, 16), 16))
    x = m.op("Relu", m.batch_norm(m.conv(x, 16, 32, group=4, bias=False), 32))
    return m.classify(m.op("Relu", m.batch_norm(m.conv(x, 32, 16, 1), 16)), 16)


@of(8)
def convnext(m):
    """A depthwise convolution and the sum with what went in."""
    x = m.op("Relu", m.conv(m.input("image", IMAGE), 3, 16, 1))
    x = m.op("Relu", m.op("Add", m.conv(x, 16, 16, group=16), x))
    return m.classify(m.op("Add", m.conv(x, 16, 16, 5, group=16), x), 16)


def recurrent(m, op, x, size, hidden, directions, states=(), **attrs):
    """[time, batch, size] -> [time, batch, directions * hidden]."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op] * hidden
    w, r = m.weight(directions, gates, size, fan=size), m.weight(directions, gates, hidden, fan=hidden)
    ways = {"direction": "bidirectional"} if directions == 2 else {}
    y = m.op(op, x, w, r, m.vector((directions, 2 * gates)), None, *states, outs=1, hidden_size=hidden, **ways, **attrs)
    y = m.op("Transpose", y, perm=[0, 2, 1, 3])
    return m.op("Reshape", y, m.ints(0, 0, directions * hidden))


@of(9)
def bidirectional(m):
    """A tagger that goes on from states of its own for either direction, an LSTM and a GRU."""
    x = m.linear(m.input("words", ["time", "batch", 8]), 8, 12)
    states = [m.input(s, [2, "batch", 10]) for s in ("hidden", "cell")]
    y = recurrent(m, "LSTM", x, 12, 10, 2, states)
    return m.linear(recurrent(m, "GRU", m.op("Tanh", y), 20, 10, 2, states[:1]), 20, 5)


@of(10)
def int8_zero_below(m):
    """An int8 network whose inputs reach further up than down: the zero point is -77."""
    x = m.qdq(m.input("image", IMAGE), -0.25, 1, np.int8)
    x = m.qdq(m.op("Relu", m.byte_conv(x, 1.25 / 255, 3, 8)), 0, 2, np.int8)
    x = m.qdq(m.byte_conv(x, 2 / 255, 8, 8), -2, 2, np.int8)
    return m.classify(x, 8)


@of(11)
def uint8_weights(m):
    """Weights of uint8, each output's around a zero point of its own."""
    x = m.qdq(m.input("x", ["batch", 24]), -1.5, 1.5)
    for size, to in ((24, 16), (16, 8)):
        zeros = np.linspace(100, 170, to).round().astype(np.uint8)
        w, _ = m.byte_weight(m.weight(to, size), 0, zeros)
        x = m.qdq(m.op("Relu", m.op("Gemm", x, w, transB=1)), 0, 2)
    return x


@of(12)
def downsample(m):
    """Up by 2 and back by the nearest pixel as Resize takes it by default: always half way between two."""
    x = m.op("Relu", m.conv(m.input("image", IMAGE), 3, 8))
    x = m.op("Resize", x, None, np.float32([1, 1, 2, 2]), mode="linear")
    x = m.op("Relu", m.conv(x, 8, 8))
    x = m.op("Resize", x, None, np.float32([1, 1, 0.5, 0.5]), mode="nearest")
    return m.op("Sigmoid", m.conv(m.op("Relu", m.conv(x, 8, 8)), 8, 1, 1))


@of(13)
def bytes_to_nhwc(m):
    """An int8 network that ends in a layer over the channels: 12 of them, turned to be the last dim."""
    x = m.qdq(m.input("image", IMAGE), -2, 2, np.int8)
    x = m.qdq(m.op("Relu", m.byte_conv(x, 4 / 255, 3, 12)), 0, 3, np.int8)
    x = m.qdq(m.op("Transpose", x, perm=[0, 2, 3, 1]), 0, 3, np.int8)
    w, _ = m.byte_weight(m.weight(12, 5, fan=12), 1)
    return m.qdq(m.op("MatMul", x, w), -3, 3, np.int8)


@of(14)
def retrieve(m):
    """The eight best of twelve, of which half score 0."""
    x = m.gemm(m.input("x", ["batch", 16]), 16, 12)
    best, which = m.op("TopK", m.op("Relu", x), m.ints(8), axis=-1, largest=1, sorted=1, outs=2)
    picked = m.op("Gather", m.weight(12, 6), which, axis=0)
    return m.op("ReduceSum", m.op("Mul", picked, m.op("Unsqueeze", best, m.ints(-1))), m.ints(1), keepdims=0), which


@of(15)
def more_and_less(m):
    """Two people's features: by how much each is ahead of the other."""
    a, b = (m.gemm(m.input(name, ["batch", 8]), 8, 16) for name in ("left", "right"))
    ahead = [m.op("Relu", m.op("Sub", p, q)) for p, q in ((a, b), (b, a))]
    return m.op("Softmax", m.gemm(m.op("Concat", *ahead, axis=1), 32, 3), axis=-1)


@of(16)
def red_last(m):
    """A picture with its colours in the other order, as OpenCV has them, from bytes or fractions. The branches take the
    step from outside, where it is known only once constants are folded: else it would be an attribute."""
    x = m.op("Div", m.input("image", IMAGE), np.float32([0.25, 0.5, 1]).reshape(1, 3, 1, 1))
    lists = [*(m.const(m.ints(v)) for v in (-1, np.iinfo(np.int64).min, 1)), m.op("Cast", np.float32([-1]), to=7)]
    lists = " ".join(lists)
    large = m.op("Greater", m.op("ReduceMax", x, keepdims=0), np.float32(1))
    turned = n("Slice", f"{x} {lists}", "turned")
    bytes_ = G([turned, n("Mul", "turned part", "t")], outs="t", inits={"part": np.float32(1 / 255)})
    x = m.op("If", large, then_branch=bytes_, else_branch=G([n("Slice", f"{x} {lists}", "e")], outs="e"))
    return m.classify(m.op("Relu", m.conv(x, 3, 8)), 8)


@of(17)
def add_behind_relu(m):
    """A residual block that adds behind its activation, and the same of linear layers."""
    x = m.conv(m.input("image", IMAGE), 3, 8)
    x = m.op("Add", m.op("Relu", m.conv(x, 8, 8)), x)
    x = m.gemm(m.op("Flatten", m.op("GlobalAveragePool", x)), 8, 16)
    return m.gemm(m.op("Add", m.op("Sigmoid", m.gemm(x, 16, 16)), x), 16, 10)


@of(18)
def mixer(m):
    """An MLP mixer of 16 patches with 16 channels: between its layers a square is transposed."""
    x = m.linear(m.input("patches", ["batch", 16, 12]), 12, 16)
    y = m.op("Transpose", m.layer_norm(x, 16), perm=[0, 2, 1])
    y = m.op("Transpose", m.linear(m.op("Relu", m.linear(y, 16, 16)), 16, 16), perm=[0, 2, 1])
    return m.linear(m.op("ReduceMean", m.op("Add", x, y), axes=[1], keepdims=0), 16, 10)


@of(19)
def masked_weights(m):
    """Attention that hides padding before its softmax and sets the weights there to 0 behind it."""
    x = m.linear(m.input("words", ["batch", "time", 32]), 32, 32)
    hidden = m.op("Unsqueeze", m.input("padding", ["batch", "time"], bool), m.ints(1, 2))
    where = [lambda v, low=low: m.op("Where", hidden, np.float32(low), v) for low in (-1e9, 0)]
    return m.linear(m.attention(x, 2, 16, *where), 32, 7)


@of(20)
def bytes_padded(m):
    """A uint8 network that pads by a node of its own, around a zero point of 102."""
    x = m.qdq(m.input("image", IMAGE), -1.2, 1.8)
    x = m.op("Pad", x, m.ints(0, 0, 2, 2, 0, 0, 2, 2), mode="constant")
    x = m.qdq(m.byte_conv(x, 3 / 255, 3, 8, pads=[0] * 4), -2, 2)
    return m.classify(m.qdq(m.op("Relu", m.byte_conv(x, 4 / 255, 8, 8)), 0, 2), 8)


@of(21)
def two_zero_points(m):
    """Two branches of one scale whose zero points differ, side by side and the larger of both."""
    x = m.qdq(m.input("image", IMAGE), -2, 2)
    scale, zeros = np.float32(3 / 255), np.uint8([64, 191])
    a, b = (m.qdq_at(m.byte_conv(x, 4 / 255, 3, 8), scale, zero) for zero in zeros)
    x = m.qdq(m.byte_conv(m.qdq(m.op("Concat", a, b, axis=1), -2.25, 2.25), 4.5 / 255, 16, 8), -2, 2)
    y = m.qdq(m.byte_conv(m.qdq(m.op("Max", a, b), -0.75, 2.25), 3 / 255, 8, 8), -2, 2)
    return m.classify(x, 8), m.classify(y, 8, 4)


@of(22)
def dynamic(m):
    """An MLP whose inputs are quantized while it runs; weights of uint8 around 117 and around one number a column."""
    x = m.layer_norm(m.input("words", ["batch", "time", 16]), 16)
    for size, to, zero in ((16, 32, np.uint8(117)), (32, 8, np.linspace(90, 160, 8).astype(np.uint8))):
        w = m.weight(size, to, fan=size)
        scale = np.float32(np.abs(w).max() / 90)
        q, x_scale, x_zero = m.op("DynamicQuantizeLinear", x, outs=3)
        total = m.op("MatMulInteger", q, np.round(w / scale + zero).astype(np.uint8), x_zero, zero)
        x = m.op("Mul", m.op("Cast", total, to=1), m.op("Mul", x_scale, scale))
        x = m.op("Relu", m.op("Add", x, m.vector(to)))
    return x


def loop(m, trips, start, body, outs):
    """`start` are the first values and their dims; the body's are called as its inputs are: in_0, in_1, ..."""
    ins = [info("trip", 7, []), info("go", 9, []), *(info(f"in_{i}", 1, dims) for i, (_, dims) in enumerate(start))]
    body = G([n("Identity", "go", "still"), *body[0]], ins, body[1], body[2])
    return m.op("Loop", np.int64(trips), np.bool_(True), *(v for v, _ in start), outs=outs, body=body)


@of(23)
def two_experts(m):
    """Two that refine the same state, alike but for their weights of 4 KB."""
    x, sums = m.gemm(m.input("x", ["batch", 8]), 8, 32), []
    for _ in range(2):
        body = [n("MatMul", "in_0 w", "p"), n("Tanh", "p", "next")], "still next", {"w": m.weight(32, 32)}
        sums.append(loop(m, 3, [(x, ["batch", 32])], body, 1))
    return m.gemm(m.op("Concat", *sums, axis=1), 64, 5)


@of(24)
def recurrence(m):
    """A sequence by its last two states: the new one, and the one that it takes the place of."""
    x = m.input("x", ["batch", 8])
    start = [(v, ["batch", 16]) for v in (m.gemm(x, 8, 16), m.op("Tanh", m.gemm(x, 8, 16)))]
    nodes = [n("MatMul", "in_0 w", "p"), n("Add", "p in_1", "s"), n("Tanh", "s", "next"), n("Identity", "in_0", "last")]
    a, b = loop(m, 5, start, (nodes, "still next last", {"w": m.weight(16, 16)}), 2)
    return m.gemm(m.op("Concat", a, b, axis=1), 32, 4)


@of(25)
def gated(m):
    """A gate and what it gates, both of one projection: the gate's activation is computed first."""
    h = m.gemm(m.input("x", ["batch", 12]), 12, 32)
    gate = m.op("Sigmoid", h)
    y = m.gemm(h, 32, 16)
    y = m.op("Mul", m.gemm(gate, 32, 16), y)
    total = m.op("CumSum", y, np.int64(1))
    return m.gemm(m.op("Concat", m.op("Softmax", y, axis=-1), total, axis=1), 32, 4)


@of(26)
def conditioned(m):
    """A text of any length, and a style that always has the same size."""
    x = m.linear(m.input("words", ["batch", "time", 8]), 8, 16)
    style = m.gemm(m.input("style", [1, 4]), 4, 16)
    return m.linear(m.op("Relu", m.op("Add", m.layer_norm(x, 16), style)), 16, 3)


@of(27)
def nearest(m):
    """The three prototypes that lie nearest, and sums of what comes before each (a lower triangle)."""
    x = m.gemm(m.input("x", ["batch", 8]), 8, 6)
    away = m.op("Sub", m.op("Unsqueeze", x, m.ints(1)), m.weight(12, 6, fan=2))
    away = m.op("ReduceSum", m.op("Mul", away, away), m.ints(-1), keepdims=0)
    best, which = m.op("TopK", away, m.ints(3), axis=-1, largest=0, outs=2)
    y = m.op("Gather", m.weight(12, 8), which, axis=0)
    y = m.op("MatMul", m.op("Trilu", m.op("MatMul", y, m.op("Transpose", y, perm=[0, 2, 1])), upper=0), y)
    return m.linear(y, 8, 4), best, which


@of(28)
def rays(m):
    """Colours along a ray, each seen through what lies before it; and what is still to come."""
    x = m.input("samples", ["batch", "time", 6])
    density = m.op("Softplus", m.linear(m.op("Relu", m.linear(x, 6, 16)), 16, 1))
    before = m.op("CumSum", density, np.int64(1), exclusive=1)
    light = m.op("Mul", m.op("Exp", m.op("Neg", before)), density)
    y = m.op("Mul", m.op("Sigmoid", m.linear(x, 6, 3)), light)
    return m.op("ReduceSum", y, m.ints(1), keepdims=0), m.op("CumSum", y, np.int64(1), reverse=1)


@of(29, opset=18)
def pool_by_group(m):
    """A graph's 32 nodes: the largest and least feature of each of 8 groups."""
    x = m.gemm(m.input("x", ["batch", 10]), 10, 32)
    groups = m.op("Expand", m.rng.integers(0, 8, (1, 32)), m.op("Shape", x))
    size = m.op("Concat", m.op("Shape", x, start=0, end=1), m.ints(8), axis=0)
    each = [
        m.op("ScatterElements", m.op("Expand", np.float32([[start]]), size), groups, x, axis=1, reduction=how)
        for start, how in ((-4, "max"), (4, "min"))
    ]
    return m.gemm(m.op("Tanh", m.op("Concat", *each, axis=1)), 16, 3)


@of(30)
def other_activations(m):
    """An LSTM and a GRU whose gates are as usual and whose values go through Relu and Softsign."""
    x = m.linear(m.input("words", ["time", "batch", 6]), 6, 8)
    x = recurrent(m, "LSTM", x, 8, 12, 1, activations=["Sigmoid", "Softsign", "Tanh"])
    return m.linear(recurrent(m, "GRU", x, 12, 8, 1, activations=["Sigmoid", "Relu"]), 8, 4)


@of(31)
def bias_by_channel(m):
    """An int8 network with biases whose channels' scales are far apart."""
    x = m.qdq(m.input("image", IMAGE), -2, 2, np.int8)
    x = m.qdq(m.op("Relu", m.byte_conv(x, 4 / 255, 3, 8, spread=True)), 0, 3, np.int8)
    return m.classify(m.qdq(m.byte_conv(x, 3 / 255, 8, 8, spread=True), -2, 2, np.int8), 8)


@of(32)
def largest_with_nan(m):
    """A text's largest features, where a word in the middle is not a number."""
    data = m.rng.standard_normal((4, 9, 8))
    data[[0, 1, 3], [0, 4, 7], [2, 5, 1]] = np.nan
    x = m.linear(m.input("words", ["batch", "time", 8], data=data), 8, 16)
    return m.op("Tanh", m.gemm(m.op("ReduceMax", x, axes=[1], keepdims=0), 16, 3))


@of(33)
def inception(m):
    """A block with an average as one of its branches, which counts the padding."""
    x = m.op("Relu", m.conv(m.input("image", IMAGE), 3, 12))
    y = m.op("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    x = m.op("Concat", m.conv(x, 12, 8), m.conv(y, 12, 8, 1), axis=1)
    return m.classify(m.op("Relu", x), 16)


@of(34)
def bert(m):
    """A layer of a BERT over 70 words, some of them hidden by what is added to their scores."""
    x = m.input("words", ["batch", "time", 32], data=m.rng.standard_normal((2, 70, 32)))
    seen = m.input("mask", ["batch", "time"], np.int64, m.rng.random((2, 70)) < 0.6)
    hidden = m.op("Sub", np.float32(1), m.op("Cast", m.op("Unsqueeze", seen, m.ints(1, 2)), to=1))
    hidden = m.op("Mul", hidden, np.float32(-1e4))
    x = m.attention(m.linear(x, 32, 32), 2, 16, lambda s: m.op("Add", s, hidden))
    return m.linear(x, 32, 5)


@of(35)
def linear_attention(m):
    """Products of queries and keys without a softmax: a triangle of them for each head."""
    x = m.layer_norm(m.input("words", ["batch", "time", 32]), 32)
    x = m.attention(x, 2, 16, lambda s: m.op("Trilu", s, upper=0), behind=False)
    return m.linear(m.op("Relu", m.linear(x, 32, 16)), 16, 5)


@of(36)
def dense_block(m):
    """A block of a DenseNet, and features side by side."""
    x = m.op("Relu", m.conv(m.input("image", IMAGE), 3, 8))
    x = m.op("Concat", x, m.op("Relu", m.conv(x, 8, 8)), axis=1)
    x = m.op("Flatten", m.op("GlobalAveragePool", x))
    x = m.op("Concat", m.gemm(x, 16, 8), m.op("Tanh", m.gemm(x, 16, 8)), axis=-1)
    return m.gemm(x, 16, 10)


@of(37)
def tensorflow(m):
    """Padding as TensorFlow has it: windows of 2 and 4 by steps of 2 over a picture of any size."""
    x = m.op("Relu", m.conv(m.input("image", IMAGE), 3, 8))
    x = m.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_UPPER")
    w = {"kernel_shape": [4, 4], "strides": [2, 2]}
    x = m.op("Relu", m.op("Conv", x, m.weight(16, 8, 4, 4), m.vector(16), auto_pad="SAME_UPPER", **w))
    return m.op("Sigmoid", m.op("Conv", x, m.weight(4, 16, 4, 4), m.vector(4), auto_pad="SAME_LOWER", **w))


@of(38, opset=11)
def old_softmax(m):
    """Attention over all places of a map at once, as before opset 13: softmax from axis 1 on."""
    x = m.op("Relu", m.conv(m.input("image", IMAGE), 3, 8))
    share = m.op("Softmax", m.conv(x, 8, 1, 1))
    y = m.op("ReduceSum", m.op("Mul", x, share), axes=[2, 3], keepdims=0)
    return m.op("LogSoftmax", m.gemm(y, 8, 10))


@of(39)
def half_a_bias(m):
    """Linear layers whose biases count in part."""
    x = m.op("Relu", m.gemm(m.input("x", ["batch", 10]), 10, 16, beta=0.5))
    x = m.op("Relu", m.gemm(x, 16, 16))
    return m.op("Softmax", m.gemm(x, 16, 4, beta=2.0), axis=-1)


@of(40, opset=11)
def detector(m):
    """The second half of a detector: pieces of a map, each of one size."""
    x = m.input("image", IMAGE, data=m.rng.standard_normal((2, 3, 24, 32)))
    corner, size = m.rng.uniform(0, 12, (5, 2)), m.rng.uniform(4, 12, (5, 2))
    boxes = m.input("boxes", ["rois", 4], data=np.concatenate([corner, corner + size], 1))
    image = m.input("image_of_box", ["rois"], np.int64, [0, 0, 1, 1, 0])
    x = m.op("Relu", m.conv(x, 3, 8, strides=[2, 2]))
    x = m.op("RoiAlign", x, boxes, image, output_height=4, output_width=4, sampling_ratio=2, spatial_scale=0.5)
    return m.gemm(m.op("Relu", m.gemm(m.op("Flatten", x), 128, 16)), 16, 4)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for patch in sorted(glob.glob(os.path.join(HERE, "injected", "*.patch"))):
        stem = os.path.basename(patch)[: -len(".patch")]
        if int(stem[:2]) not in MODELS:
            print(f"{stem}: no model")
            continue
        make, how = MODELS[int(stem[:2])]
        m = Net(**{"seed": int(stem[:2]), **how})
        outs = make(m)
        m.save(os.path.join(folder, stem + ".onnx"), " ".join([outs] if isinstance(outs, str) else outs))


if __name__ == "__main__":
    main()
