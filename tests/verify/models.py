#!/usr/bin/env python3
"""Models that the injected bugs show in, one for each of tests/verify/injected, as users have them: a few layers before the
construct and behind it.

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
    """Half the height and width by the nearest pixel, as torch's interpolate is not but Resize is by default."""
    x = m.op("Relu", m.conv(m.input("image", IMAGE), 3, 8))
    x = m.op("Resize", x, None, np.float32([1, 1, 0.5, 0.5]), mode="nearest", coordinate_transformation_mode="half_pixel")
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
    """A picture with its colours in the other order, as OpenCV has them."""
    x = m.op("Div", m.input("image", IMAGE), np.float32([0.25, 0.5, 1]).reshape(1, 3, 1, 1))
    x = m.op("Slice", x, m.ints(-1), m.ints(np.iinfo(np.int64).min), m.ints(1), m.ints(-1))
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
    """A uint8 network that pads by a node of its own, around a zero point of 128 or less."""
    x = m.qdq(m.input("image", IMAGE), -1.2, 1.8)
    x = m.op("Pad", x, m.ints(0, 0, 1, 1, 0, 0, 1, 1), mode="constant")
    x = m.qdq(m.byte_conv(x, 3 / 255, 3, 8, pads=[0] * 4), -2, 2)
    return m.classify(m.qdq(m.op("Relu", m.byte_conv(x, 4 / 255, 8, 8)), 0, 2), 8)


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
