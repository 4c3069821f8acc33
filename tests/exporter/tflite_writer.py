"""Writes small .tflite files without TensorFlow: a writer of flatbuffers, and models of a few operators.

The numbers of the fields are those of TensorFlow Lite's schema, version 3.
"""
import struct

import numpy as np

TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9, "int4": 17,
         "complex64": 8, "string": 5}
CODES = dict(
    ADD=0, AVERAGE_POOL_2D=1, CONCATENATION=2, CONV_2D=3, DEPTHWISE_CONV_2D=4, DEPTH_TO_SPACE=5, DEQUANTIZE=6, FLOOR=8,
    FULLY_CONNECTED=9, L2_NORMALIZATION=11, LOGISTIC=14, MAX_POOL_2D=17, MUL=18, RELU=19, RELU_N1_TO_1=20, RELU6=21,
    RESHAPE=22, RESIZE_BILINEAR=23, RNN=24, SOFTMAX=25, SPACE_TO_DEPTH=26, TANH=28, CUSTOM=32, PAD=34, GATHER=36,
    BATCH_TO_SPACE_ND=37, SPACE_TO_BATCH_ND=38, TRANSPOSE=39, MEAN=40, SUB=41, DIV=42, SQUEEZE=43, STRIDED_SLICE=45,
    EXP=47, SPLIT=49, LOG_SOFTMAX=50, CAST=53, PRELU=54, MAXIMUM=55, ARG_MAX=56, MINIMUM=57, LESS=58, NEG=59, PADV2=60,
    GREATER=61, GREATER_EQUAL=62, LESS_EQUAL=63, SELECT=64, SLICE=65, SIN=66, TRANSPOSE_CONV=67, TILE=69,
    EXPAND_DIMS=70, EQUAL=71, NOT_EQUAL=72, LOG=73, SUM=74, SQRT=75, RSQRT=76, SHAPE=77, POW=78, ARG_MIN=79,
    REDUCE_PROD=81, REDUCE_MAX=82, PACK=83, LOGICAL_OR=84, LOGICAL_AND=86, LOGICAL_NOT=87, UNPACK=88, REDUCE_MIN=89,
    FLOOR_DIV=90, REDUCE_ANY=91, SQUARE=92, FILL=94, FLOOR_MOD=95, RESIZE_NEAREST_NEIGHBOR=97, LEAKY_RELU=98,
    SQUARED_DIFFERENCE=99, MIRROR_PAD=100, ABS=101, SPLIT_V=102, CEIL=104, REVERSE_V2=105, GATHER_ND=107, COS=108,
    ELU=111, QUANTIZE=114, ROUND=116, HARD_SWISH=117, WHILE=119, SELECT_V2=123, BATCH_MATMUL=126, BROADCAST_TO=130,
    REDUCE_ALL=140, GELU=150, RELU_0_TO_1=152, SIGN=158)
# The number of an operator's table of options, and the fields that are written, each (name, number, kind).
ACTIVATION = [("act", 0, "b")]
POOL = (5, [("padding", 0, "b"), ("stride_w", 1, "i"), ("stride_h", 2, "i"), ("filter_w", 3, "i"), ("filter_h", 4, "i"),
            ("act", 5, "b")])
REDUCER = (27, [("keep_dims", 0, "b")])
OPTIONS = dict(
    CONV_2D=(1, [("padding", 0, "b"), ("stride_w", 1, "i"), ("stride_h", 2, "i"), ("act", 3, "b"), ("dilation_w", 4, "i"),
                 ("dilation_h", 5, "i")]),
    DEPTHWISE_CONV_2D=(2, [("padding", 0, "b"), ("stride_w", 1, "i"), ("stride_h", 2, "i"), ("multiplier", 3, "i"),
                           ("act", 4, "b"), ("dilation_w", 5, "i"), ("dilation_h", 6, "i")]),
    TRANSPOSE_CONV=(49, [("padding", 0, "b"), ("stride_w", 1, "i"), ("stride_h", 2, "i"), ("act", 3, "b")]),
    AVERAGE_POOL_2D=POOL, MAX_POOL_2D=POOL,
    FULLY_CONNECTED=(8, [("act", 0, "b"), ("format", 1, "b"), ("keep_num_dims", 2, "b"),
                         ("asymmetric", 3, "b")]),
    SOFTMAX=(9, [("beta", 0, "f")]), CONCATENATION=(10, [("axis", 0, "i"), ("act", 1, "b")]),
    ADD=(11, ACTIVATION), L2_NORMALIZATION=(12, ACTIVATION), MUL=(21, ACTIVATION), SUB=(28, ACTIVATION),
    DIV=(29, ACTIVATION), RESIZE_BILINEAR=(15, [("align", 2, "b"), ("half", 3, "b")]),
    RESIZE_NEAREST_NEIGHBOR=(74, [("align", 0, "b"), ("half", 1, "b")]),
    RESHAPE=(17, [("new_shape", 0, "ints")]), SPACE_TO_DEPTH=(19, [("block", 0, "i")]),
    DEPTH_TO_SPACE=(94, [("block", 0, "i")]), GATHER=(23, [("axis", 0, "i"), ("batch_dims", 1, "i")]),
    MEAN=REDUCER, SUM=REDUCER, REDUCE_PROD=REDUCER, REDUCE_MAX=REDUCER, REDUCE_MIN=REDUCER, REDUCE_ANY=REDUCER,
    REDUCE_ALL=REDUCER, SQUEEZE=(30, [("dims", 0, "ints")]),
    STRIDED_SLICE=(32, [("begin", 0, "i"), ("end", 1, "i"), ("ellipsis", 2, "i"), ("new_axis", 3, "i"),
                        ("shrink", 4, "i")]),
    SPLIT=(35, [("num", 0, "i")]), SPLIT_V=(79, [("num", 0, "i")]), PACK=(59, [("count", 0, "i"), ("axis", 1, "i")]),
    UNPACK=(64, [("num", 0, "i"), ("axis", 1, "i")]), LEAKY_RELU=(75, [("alpha", 0, "f")]),
    MIRROR_PAD=(77, [("mode", 0, "b")]), BATCH_MATMUL=(101, [("adj_x", 0, "b"), ("adj_y", 1, "b")]),
    GELU=(116, [("approximate", 0, "b")]),
    # What the reader does not look at, but TensorFlow Lite does.
    CAST=(37, [("in_type", 0, "b"), ("out_type", 1, "b")]), ARG_MAX=(40, [("type", 0, "b")]),
    ARG_MIN=(57, [("type", 0, "b")]), SHAPE=(55, [("type", 0, "b")]))


class Flatbuffer:
    """Tables are written before what they refer to, so that every offset points forward."""

    def __init__(self, identifier):
        self.bytes = bytearray(4) + identifier

    def align(self, to, behind=0):
        while (len(self.bytes) + behind) % to:
            self.bytes.append(0)

    def point(self, at):
        struct.pack_into("<I", self.bytes, at, len(self.bytes) - at)

    def table(self, at, fields):
        """fields: {number: (kind, value)}; a value of kind o is a function that writes it. `at` gets the offset."""
        size = {"b": 1, "B": 1, "i": 4, "I": 4, "f": 4, "q": 8, "Q": 8, "o": 4}
        fields = {n: (k, v) for n, (k, v) in fields.items() if v is not None}
        places, end = {}, 4
        for n, (k, _) in sorted(fields.items(), key=lambda f: -size[f[1][0]]):
            end = (end + size[k] - 1) // size[k] * size[k]
            places[n] = end
            end += size[k]
        count = max(fields, default=-1) + 1
        self.align(8, 4 + 2 * count)
        vtable = len(self.bytes)
        self.bytes += struct.pack(f"<HH{count}H", 4 + 2 * count, end, *[places.get(n, 0) for n in range(count)])
        start = len(self.bytes)
        self.point(at)
        self.bytes += struct.pack("<i", start - vtable) + bytes(end - 4)
        for n, (k, v) in fields.items():
            if k != "o":
                struct.pack_into("<" + k, self.bytes, start + places[n], v)
        for n, (k, v) in fields.items():
            if k == "o":
                v(start + places[n])

    def vector(self, kind, values, align=4):
        def write(at):
            self.align(max(align, 4), 4)
            self.point(at)
            self.bytes += struct.pack(f"<I{len(values)}{kind}", len(values), *values)
        return write

    def data(self, raw):
        def write(at):
            self.align(16, 4)
            self.point(at)
            self.bytes += struct.pack("<I", len(raw)) + raw
        return write

    def text(self, s):
        def write(at):
            self.align(4)
            self.point(at)
            raw = s.encode()
            self.bytes += struct.pack("<I", len(raw)) + raw + b"\0"
        return write

    def tables(self, all_fields):
        def write(at):
            self.align(4)
            self.point(at)
            first = len(self.bytes) + 4
            self.bytes += struct.pack("<I", len(all_fields)) + bytes(4 * len(all_fields))
            for i, fields in enumerate(all_fields):
                self.table(first + 4 * i, fields)
        return write

    def one(self, fields):
        return lambda at: self.table(at, fields)


class Model:
    """A model of one subgraph. A tensor is its number."""

    def __init__(self):
        self.tensors, self.ops, self.inputs, self.outputs = [], [], [], []

    def tensor(self, shape, dtype="float32", data=None, q=None, name=None):
        """q: (scale or scales, zero or zeros[, axis])."""
        self.tensors.append([list(shape), dtype, data, q, name or f"t{len(self.tensors)}"])
        return len(self.tensors) - 1

    def input(self, shape, dtype="float32", q=None, name=None):
        self.inputs.append(self.tensor(shape, dtype, None, q, name))
        return self.inputs[-1]

    def const(self, array, q=None, dtype=None, shape=None):
        array = np.asarray(array)
        return self.tensor(array.shape if shape is None else shape, dtype or str(array.dtype),
                           np.ascontiguousarray(array).tobytes(), q)

    def op(self, kind, inputs, shape, dtype="float32", q=None, name=None, custom=None, **options):
        """Adds an operator of one result and returns that."""
        made = self.tensor(shape, dtype, None, q, name)
        self.ops.append((kind, inputs, [made], options, custom))
        return made

    def ops_of_many(self, kind, inputs, shapes, dtype="float32", q=None, **options):
        made = [self.tensor(s, dtype, None, q) for s in shapes]
        self.ops.append((kind, inputs, made, options, None))
        return made

    def bytes(self):
        f = Flatbuffer(b"TFL3")
        kinds = []
        for kind, _, _, _, custom in self.ops:
            if (kind, custom) not in kinds:
                kinds.append((kind, custom))
        codes = [{0: ("b", min(CODES[k], 127)), 1: ("o", f.text(c) if c else None), 2: ("i", 1), 3: ("i", CODES[k])}
                 for k, c in kinds]
        buffers, tensors = [{}], []
        for shape, dtype, data, q, name in self.tensors:
            number = 0
            if data is not None:
                number = len(buffers)
                buffers.append({0: ("o", f.data(data))})
            quantization = None
            if q is not None:
                scales, zeros = np.atleast_1d(q[0]), np.atleast_1d(q[1])
                quantization = f.one({2: ("o", f.vector("f", [float(s) for s in scales])),
                                      3: ("o", f.vector("q", [int(z) for z in zeros], 8)),
                                      6: ("i", q[2] if len(q) > 2 else 0)})
            tensors.append({0: ("o", f.vector("i", shape)), 1: ("b", TYPES[dtype]), 2: ("I", number),
                            3: ("o", f.text(name)), 4: ("o", quantization)})
        operators = []
        for kind, inputs, outputs, options, custom in self.ops:
            fields = {0: ("I", kinds.index((kind, custom))), 1: ("o", f.vector("i", inputs)),
                      2: ("o", f.vector("i", outputs))}
            if options:
                number, known = OPTIONS[kind]
                options = dict(options)
                number = options.pop("options_type", number)  # for files at fault
                table = {}
                for name, n, k in known:
                    if name in options:
                        table[n] = ("o", f.vector("i", options[name])) if k == "ints" else (k, options[name])
                assert set(options) <= {k[0] for k in known}, (kind, options)
                fields[3], fields[4] = ("B", number), ("o", f.one(table))
            operators.append(fields)
        graph = {0: ("o", f.tables(tensors)), 1: ("o", f.vector("i", self.inputs)),
                 2: ("o", f.vector("i", self.outputs)), 3: ("o", f.tables(operators)), 4: ("o", f.text("main"))}
        f.table(0, {0: ("I", 3), 1: ("o", f.tables(codes)), 2: ("o", f.tables([graph])), 3: ("o", f.text("wick test")),
                    4: ("o", f.tables(buffers))})
        f.align(16)
        return bytes(f.bytes)
