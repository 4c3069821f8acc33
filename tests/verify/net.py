"""An ONNX model put together layer by layer, as an exporter writes it: seeded weights, named free dims."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(1, os.path.join(ROOT, "tools", "scripts"))
import ort_run  # noqa: E402

ort_run.reexec()
import numpy as np  # noqa: E402

sys.path.insert(2, os.path.join(ROOT, "tests", "conformance", "forms"))
from files import G, info, model, n  # noqa: E402
from wire import OF  # noqa: E402

IMAGE = ["batch", 3, "height", "width"]


class Net:
    """Values are names. What a method makes it gives back."""

    def __init__(self, opset=17, seed=0):
        self.opset, self.rng = opset, np.random.default_rng(seed)
        self.nodes, self.inits, self.ins, self.data, self.count = [], {}, [], {}, 0

    def input(self, name, dims, dtype=np.float32, data=None):
        """data: what goes in, where not anything would do."""
        self.ins.append(info(name, OF[np.dtype(dtype)], dims))
        if data is not None:
            self.data[name] = np.asarray(data, dtype)
        return name

    def name(self, stem):
        self.count += 1
        return f"{stem.lower()}_{self.count}"

    def op(self, op, *ins, outs=1, **attrs):
        """An array is an initializer, None an input left out. A name, or a list of `outs` names."""
        names = ["_" if i is None else i if isinstance(i, str) else self.const(i) for i in ins]
        made = [self.name(op) for _ in range(outs)]
        self.nodes.append(n(op, " ".join(names), " ".join(made), name=f"/{made[0]}", **attrs))
        return made[0] if outs == 1 else made

    def const(self, value, stem="const"):
        name = self.name(stem)
        self.inits[name] = np.asarray(value)
        return name

    def weight(self, *shape, fan=None):
        """Normal numbers, so that a product with them keeps its input's size."""
        fan = fan or int(np.prod(shape[1:])) or 1
        return (self.rng.standard_normal(shape) / np.sqrt(fan)).astype(np.float32)

    def vector(self, size, low=-0.5, high=0.5):
        return self.rng.uniform(low, high, size).astype(np.float32)

    def linear(self, x, size, to, bias=True):
        """MatMul and Add, as PyTorch exports a layer of rank 3."""
        y = self.op("MatMul", x, self.const(self.weight(size, to, fan=size), "weight"))
        return self.op("Add", y, self.const(self.vector(to), "bias")) if bias else y

    def gemm(self, x, size, to, **attrs):
        return self.op("Gemm", x, self.weight(to, size), self.vector(to), transB=1, **attrs)

    def conv(self, x, size, to, kernel=3, group=1, bias=True, **attrs):
        """Padded so that any height and width do."""
        attrs.setdefault("pads", [kernel // 2] * 4)
        more = [self.vector(to)] if bias else []
        shape = (to, size // group, kernel, kernel)
        return self.op("Conv", x, self.weight(*shape), *more, kernel_shape=[kernel, kernel], group=group, **attrs)

    def batch_norm(self, x, size):
        stats = [self.vector(size, 0.5, 1.5), self.vector(size), self.vector(size), self.vector(size, 0.5, 2)]
        return self.op("BatchNormalization", x, *stats, epsilon=1e-5)

    def layer_norm(self, x, size):
        return self.op("LayerNormalization", x, self.vector(size, 0.5, 1.5), self.vector(size), axis=-1)

    def classify(self, x, channels, to=10):
        """Mean over height and width, and a linear layer."""
        return self.gemm(self.op("Flatten", self.op("GlobalAveragePool", x)), channels, to)

    def ints(self, *values):
        return np.array(values, np.int64)

    # -- attention over [batch, time, heads * size]
    def heads(self, x, heads, size, perm):
        x = self.linear(x, heads * size, heads * size)
        return self.op("Transpose", self.op("Reshape", x, self.ints(0, 0, heads, size)), perm=perm)

    def attention(self, x, heads, size, on_scores, on_weights=lambda w: w, behind=True):
        """The functions make what stands before and behind the softmax."""
        q, k, v = (self.heads(x, heads, size, perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = self.op("Mul", self.op("MatMul", q, k), np.float32(size**-0.5))
        weights = on_scores(scores)
        weights = on_weights(self.op("Softmax", weights, axis=-1)) if behind else weights
        y = self.op("Transpose", self.op("MatMul", weights, v), perm=[0, 2, 1, 3])
        y = self.linear(self.op("Reshape", y, self.ints(0, 0, heads * size)), heads * size, heads * size)
        return self.layer_norm(self.op("Add", x, y), heads * size)

    def causal(self, x):
        """[time, time]: whether the query may see the key."""
        time = self.op("Gather", self.op("Shape", x), np.int64(1), axis=0)
        at = self.op("Range", np.int64(0), time, np.int64(1))
        row, column = self.op("Unsqueeze", at, self.ints(0)), self.op("Unsqueeze", at, self.ints(1))
        return self.op("LessOrEqual", row, column)

    # -- bytes between QuantizeLinear and DequantizeLinear
    def qdq(self, x, low, high, dtype=np.uint8):
        """x as one of 256 numbers between low and high."""
        limits = np.iinfo(dtype)
        scale = np.float32((high - low) / 255)
        return self.qdq_at(x, scale, dtype(np.clip(round(limits.min - low / scale), limits.min, limits.max)))

    def qdq_at(self, x, scale, zero):
        scale, zero = self.const(scale, "scale"), self.const(zero, "zero")
        return self.op("DequantizeLinear", self.op("QuantizeLinear", x, scale, zero), scale, zero)

    def byte_weight(self, w, axis=0, zeros=None):
        """A weight as int8 with a scale a channel; with `zeros` as uint8 around these."""
        shape = [-1 if i == axis else 1 for i in range(w.ndim)]
        others = tuple(i for i in range(w.ndim) if i != axis)
        room = 100.0 if zeros is None else np.minimum(255.0 - zeros, zeros)
        scale = (np.abs(w).max(others) / room).astype(np.float32)
        q = np.round(w / scale.reshape(shape))
        zeros = np.zeros(len(scale), np.int8) if zeros is None else np.asarray(zeros, np.uint8)
        q = (q + zeros.reshape(shape).astype(np.float32)).astype(zeros.dtype)
        return self.op("DequantizeLinear", q, scale, zeros, axis=axis), scale

    def byte_conv(self, x, x_scale, size, to, kernel=3, spread=False, **attrs):
        """A convolution of what qdq() made, with the bias as a quantizer writes it: int32 in the scales' products.
        spread: channels whose weights lie far apart."""
        w = self.weight(to, size, kernel, kernel) * (np.geomspace(0.2, 2, to)[:, None, None, None] if spread else 1)
        w, scale = self.byte_weight(w.astype(np.float32))
        unit = (np.float32(x_scale) * scale).astype(np.float32)
        bias = np.round(self.vector(to) / unit).astype(np.int32)
        b = self.op("DequantizeLinear", bias, unit, np.zeros(to, np.int32), axis=0)
        attrs.setdefault("pads", [kernel // 2] * 4)
        return self.op("Conv", x, w, b, kernel_shape=[kernel, kernel], **attrs)

    def save(self, path, outs):
        """The model, and beside it the inputs that it needs."""
        with open(path, "wb") as f:
            f.write(model(self.nodes, self.ins, outs, self.opset, inits=self.inits))
        folder = path[: -len(".onnx")] + ".inputs"
        for name, array in self.data.items():
            os.makedirs(folder, exist_ok=True)
            np.save(os.path.join(folder, name + ".npy"), array)


__all__ = ["G", "HERE", "IMAGE", "Net", "info", "n", "np"]
