"""Operators as the first opsets had them, and those that were once tried out in the default domain."""

import numpy as np
from files import FORMS, Form, floats, info, ints, model, n, one

X, IMG = floats(2, 3), floats(1, 3, 4, 4)


def add(name, made, like=None, **how):
    """`like`: the same in later opsets, for what ONNX Runtime has no kernel of."""
    if like is not None:
        how = {"takes": "ours", "expected": like[0], "because": "ONNX Runtime has no kernel of this version", **how}
    FORMS[name] = Form(made[0], made[1], **how)


def later(nodes, ins, outs="y", inits=None):
    return model(nodes, ins, outs, 13, inits=inits), ins


B = floats(3, seed=1)
for op in ("Add", "Sub", "Mul", "Div"):
    two = {"a": X, "b": floats(2, 3, seed=7)}
    add(f"{op}_1_alike", one(op, two, 6), one(op, two, 13))
    add(f"{op}_1_broadcast", one(op, {"a": X, "b": B}, 6, broadcast=1), one(op, {"a": X, "b": B}, 13))
    two = {"a": floats(2, 3, 4), "b": B}
    along = later([n("Unsqueeze", "b one", "c"), n(op, "a c")], two, inits={"one": ints(1)})
    add(f"{op}_1_axis", one(op, two, 6, broadcast=1, axis=1), along)
I2 = {"a": ints(1, 2), "b": ints(3, 4)}
add("Add_6_integers", one("Add", I2, 6), one("Add", I2, 13))
add("Add_1_consumed_inputs", one("Add", {"a": X, "b": X}, 5, consumed_inputs=[0, 0]), one("Add", {"a": X, "b": X}, 13))
add(
    "Pow_1_axis",
    one("Pow", {"a": np.abs(X), "b": floats(2, seed=2)}, 6, broadcast=1, axis=0),
    later(
        [n("Unsqueeze", "b one", "c"), n("Pow", "a c")],
        {"a": np.abs(X), "b": floats(2, seed=2)},
        inits={"one": ints(1)},
    ),
)
add(
    "And_1_axis",
    one("And", {"a": X > 0, "b": np.array([True, False])}, 6, broadcast=1, axis=0),
    later(
        [n("Unsqueeze", "b one", "c"), n("And", "a c")],
        {"a": X > 0, "b": np.array([True, False])},
        inits={"one": ints(1)},
    ),
)
add("Or_1_broadcast", one("Or", {"a": X > 0, "b": B > 0}, 6, broadcast=1), one("Or", {"a": X > 0, "b": B > 0}, 13))
add("Xor_1_alike", one("Xor", {"a": X > 0, "b": X > 1}, 6), one("Xor", {"a": X > 0, "b": X > 1}, 13))
add(
    "Equal_1_axis",
    one("Equal", {"a": np.array([[1, 2], [3, 4]], np.int64), "b": ints(1, 4)}, 6, broadcast=1, axis=0),
    later(
        [n("Unsqueeze", "b one", "c"), n("Equal", "a c")],
        {"a": np.array([[1, 2], [3, 4]], np.int64), "b": ints(1, 4)},
        inits={"one": ints(1)},
    ),
)
add("Greater_1_broadcast", one("Greater", {"a": X, "b": B}, 6, broadcast=1), one("Greater", {"a": X, "b": B}, 13))
add("Less_1_alike", one("Less", {"a": X, "b": X + 1}, 6), one("Less", {"a": X, "b": X + 1}, 13))
add(
    "PRelu_1_channels",
    one("PRelu", {"x": IMG}, 6, inits={"s": floats(3, seed=4)}),
    one("PRelu", {"x": IMG}, 13, inits={"s": floats(3, seed=4).reshape(3, 1, 1)}),
)
add(
    "PRelu_1_one",
    one("PRelu", {"x": IMG}, 6, inits={"s": np.array([0.25], np.float32)}),
    one("PRelu", {"x": IMG}, 13, inits={"s": np.array([0.25], np.float32)}),
)
add("PRelu_7_unidirectional", one("PRelu", {"x": IMG}, 7, inits={"s": floats(3, 1, 1, seed=4)}))
add("Sum_1", one("Sum", {"a": X, "b": X, "c": X}, 1), one("Sum", {"a": X, "b": X, "c": X}, 13))
add("Sum_6_one", one("Sum", {"a": X}, 6))
add("Max_1", one("Max", {"a": X, "b": -X}, 1), one("Max", {"a": X, "b": -X}, 13))
add("Min_6", one("Min", {"a": X, "b": -X}, 6))
add("Mean_1", one("Mean", {"a": X, "b": X}, 1), one("Mean", {"a": X, "b": X}, 13))
add("Sum_8_broadcast", one("Sum", {"a": X, "b": B}, 8))
for op in ("Abs", "Ceil", "Exp", "Floor", "Log", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Tanh"):
    add(f"{op}_1", one(op, {"x": np.abs(X) + 0.1}, 1, consumed_inputs=[0]), one(op, {"x": np.abs(X) + 0.1}, 13))
for op, attrs in (
    ("Elu", {"alpha": 0.5}),
    ("LeakyRelu", {"alpha": 0.2}),
    ("Selu", {"alpha": 1.5, "gamma": 1.25}),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
):
    add(f"{op}_1", one(op, {"x": X}, 1, consumed_inputs=[0], **attrs), one(op, {"x": X}, 13, **attrs))
add("Selu_1_its_own_numbers", one("Selu", {"x": X}, 1), one("Selu", {"x": X}, 13, alpha=1.6732, gamma=1.0507))
add("Clip_1", one("Clip", {"x": X}, 1, min=-1.0, max=0.5), one("Clip", {"x": X}, 6, min=-1.0, max=0.5))
add("Clip_6_one_bound", one("Clip", {"x": X}, 6, max=0.5))
add("Clip_6_none", one("Clip", {"x": X}, 6))
add("Clip_11_max_only", (model([n("Clip", "x _ m")], {"x": X}, opset=11, inits={"m": np.float32(0.5)}), {"x": X}))
add("Cast_1_string", one("Cast", {"x": X}, 1, to="INT64"), one("Cast", {"x": X}, 6, to=7))
add("Cast_1_lower_case", one("Cast", {"x": X}, 1, to="int64"), takes="neither", says="'int64'")
add("Cast_6", one("Cast", {"x": X}, 6, to=7))
add("Reshape_1", one("Reshape", {"x": X}, 1, shape=[3, 2]))
add("Reshape_1_minus_one", one("Reshape", {"x": X}, 1, shape=[0, -1]))
add("Reshape_5", one("Reshape", {"x": X}, 5, inits={"s": ints(3, -1)}))
add("Reshape_5_by_input", one("Reshape", {"x": X, "s": ints(3, 2)}, 5))
add("Flatten_1", one("Flatten", {"x": IMG}, 1))
add("Softmax_1", one("Softmax", {"x": floats(2, 3, 4)}, 1))
add("Softmax_1_axis", one("Softmax", {"x": floats(2, 3, 4)}, 1, axis=2))
add("Softmax_11_axis_0", one("Softmax", {"x": floats(2, 3, 4)}, 11, axis=0))
add("LogSoftmax_11_negative", one("LogSoftmax", {"x": floats(2, 3, 4)}, 11, axis=-2))
add("Hardmax_1", one("Hardmax", {"x": floats(2, 3, 4)}, 1))
add("Softmax_13", one("Softmax", {"x": floats(2, 3, 4)}, 13))
add(
    "Pad_1",
    one("Pad", {"x": X}, 1, paddings=[0, 1, 1, 0], value=1.5),
    one("Pad", {"x": X}, 2, pads=[0, 1, 1, 0], value=1.5),
)
add("Pad_2", one("Pad", {"x": X}, 2, pads=[0, 1, 1, 0], value=1.5))
add("Pad_2_reflect", one("Pad", {"x": IMG}, 2, pads=[0, 0, 1, 1, 0, 0, 2, 1], mode="reflect"))
add("Pad_2_negative", one("Pad", {"x": IMG}, 2, pads=[0, 0, -1, 0, 0, 0, 0, -1], mode="constant"))
add("Slice_1", one("Slice", {"x": floats(4, 5)}, 1, starts=[1, 0], ends=[3, -1]))
add("Slice_1_axes", one("Slice", {"x": floats(4, 5)}, 1, axes=[1], starts=[-3], ends=[1000]))
add(
    "Slice_10_steps",
    one("Slice", {"x": floats(4, 5)}, 10, inits={"s": ints(3), "e": ints(-100), "a": ints(0), "t": ints(-2)}),
)
add(
    "Split_1_attribute",
    one("Split", {"x": floats(6, 2)}, 1, "y z", split=[2, 4]),
    one("Split", {"x": floats(6, 2)}, 2, "y z", split=[2, 4]),
)
add("Split_2", one("Split", {"x": floats(6, 2)}, 2, "y z w"))
add("Split_2_axis", one("Split", {"x": floats(2, 6)}, 2, "y z", axis=1, split=[1, 5]))
add(
    "Split_13_output_left_out",
    (model([n("Split", "x s", "y _", axis=0)], {"x": floats(4)}, opset=13, inits={"s": ints(1, 3)}), {"x": floats(4)}),
    takes="ours",
    expected=[floats(4)[:1]],
    because="it kills ONNX Runtime",
)
add("Concat_1_default_axis", one("Concat", {"a": X, "b": X}, 1), one("Concat", {"a": X, "b": X}, 4, axis=1))
add("Concat_4", one("Concat", {"a": X, "b": X}, 4, axis=0))
add("Squeeze_1", one("Squeeze", {"x": floats(1, 3, 1)}, 1, axes=[0]))
add("Squeeze_1_all", one("Squeeze", {"x": floats(1, 3, 1)}, 1))
add("Unsqueeze_1", one("Unsqueeze", {"x": X}, 1, axes=[0, 3]))
add("Tile_6", one("Tile", {"x": X}, 6, inits={"r": ints(2, 1)}))
add("Transpose_1", one("Transpose", {"x": X}, 1))
add("Gather_1", one("Gather", {"x": X}, 1, inits={"i": np.array([1], np.int32)}))
add("TopK_1", one("TopK", {"x": X}, 1, "y z", k=2))
add("TopK_10", one("TopK", {"x": X}, 10, "y z", inits={"k": ints(2)}))
add("ArgMax_1", one("ArgMax", {"x": X}, 1, axis=1, keepdims=0))
add("ReduceSum_1", one("ReduceSum", {"x": X}, 1, axes=[1], keepdims=0))
add("ReduceMean_1_all", one("ReduceMean", {"x": X}, 1))
add("ReduceSum_11_negative", one("ReduceSum", {"x": X}, 11, axes=[-1]))
NORM = {"s": floats(3), "b": floats(3, seed=2), "m": floats(3, seed=3), "v": np.abs(floats(3, seed=4)) + 0.5}
add(
    "BatchNormalization_1_test",
    one(
        "BatchNormalization",
        {"x": IMG},
        1,
        inits={"s": floats(3), "b": floats(3, seed=2), "m": floats(3, seed=3), "v": np.abs(floats(3, seed=4)) + 0.5},
        is_test=1,
        consumed_inputs=[0, 0, 0, 1, 1],
        epsilon=1e-3,
    ),
    one("BatchNormalization", {"x": IMG}, 9, inits=NORM, epsilon=1e-3),
)
add(
    "BatchNormalization_6_test",
    one("BatchNormalization", {"x": IMG}, 6, inits=NORM, is_test=1, spatial=1),
    one("BatchNormalization", {"x": IMG}, 9, inits=NORM),
)
add("BatchNormalization_7", one("BatchNormalization", {"x": IMG}, 7, inits=NORM, spatial=1))
add(
    "BatchNormalization_7_not_spatial",
    one(
        "BatchNormalization",
        {"x": floats(2, 3, 2, 2)},
        7,
        inits={k: np.abs(floats(3, 2, 2, seed=i)) + 0.5 for i, k in enumerate("sbmv")},
        spatial=0,
    ),
)
add("BatchNormalization_9", one("BatchNormalization", {"x": IMG}, 9, inits=NORM, momentum=0.5))
add(
    "BatchNormalization_14_training",
    one("BatchNormalization", {"x": floats(4, 3, 2, 2)}, 14, "y rm rv", inits=NORM, training_mode=1),
)
add(
    "BatchNormalization_15_training",
    one("BatchNormalization", {"x": floats(4, 3, 2, 2)}, 15, "y rm rv", inits=NORM, training_mode=1, momentum=0.7),
)
add("Dropout_1_test", one("Dropout", {"x": X}, 1, is_test=1, ratio=0.3), one("Identity", {"x": X}, 13))
add("Dropout_6", one("Dropout", {"x": X}, 6, is_test=1), one("Identity", {"x": X}, 13))
add("Dropout_7_mask_unread", (model([n("Dropout", "x", "y mask", ratio=0.5)], {"x": X}, opset=7, ir=3), {"x": X}))
add("Dropout_10_mask", (model([n("Dropout", "x", "y mask")], {"x": X}, "y mask", opset=10), {"x": X}))
add("Dropout_12_inference", one("Dropout", {"x": X}, 12, inits={"r": np.float32(0.5), "t": np.array(False)}))
add(
    "Dropout_12_training_of_nothing",
    (
        model(
            [n("Dropout", "x r t", "y mask")],
            {"x": X},
            "y mask",
            opset=13,
            inits={"r": np.float32(0), "t": np.array(True)},
        ),
        {"x": X},
    ),
)
add(
    "Dropout_12_training",
    (
        model(
            [n("Dropout", "x r t", "d", seed=3), n("Shape", "d", "y")],
            {"x": X},
            "y",
            opset=13,
            inits={"r": np.float32(0.5), "t": np.array(True)},
        ),
        {"x": X},
    ),
)
add(
    "Upsample_1",
    one("Upsample", {"x": IMG}, 1, height_scale=2.0, width_scale=2.0, mode="nearest"),
    one("Upsample", {"x": IMG}, 7, scales=[1.0, 1.0, 2.0, 2.0]),
)
add("Upsample_7", one("Upsample", {"x": IMG}, 7, scales=[1.0, 1.0, 2.0, 3.0], mode="nearest"))
add("Upsample_7_bilinear", one("Upsample", {"x": IMG}, 7, scales=[1.0, 1.0, 2.0, 3.0], mode="linear"))
add("Upsample_9", one("Upsample", {"x": IMG}, 9, inits={"s": np.array([1, 1, 2, 2], np.float32)}))
add("Upsample_9_by_input", one("Upsample", {"x": IMG, "s": np.array([1, 1, 2, 2], np.float32)}, 9))
add("Resize_10", one("Resize", {"x": IMG}, 10, inits={"s": np.array([1, 1, 0.5, 0.5], np.float32)}))
add(
    "Resize_11_sizes",
    (model([n("Resize", "x _ _ s", mode="nearest")], {"x": IMG}, opset=13, inits={"s": ints(1, 3, 8, 8)}), {"x": IMG}),
)
add("MaxPool_1", one("MaxPool", {"x": IMG}, 1, kernel_shape=[2, 2], strides=[2, 2]))
add("MaxPool_1_auto_pad", one("MaxPool", {"x": IMG}, 1, kernel_shape=[3, 3], auto_pad="SAME_UPPER"))
add(
    "AveragePool_1",
    one("AveragePool", {"x": IMG}, 1, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    one("AveragePool", {"x": IMG}, 7, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
)
add(
    "LpPool_1",
    one("LpPool", {"x": IMG}, 1, kernel_shape=[2, 2], p=2.0),
    one("LpPool", {"x": IMG}, 2, kernel_shape=[2, 2], p=2),
)
add("GlobalLpPool_2", one("GlobalLpPool", {"x": IMG}, 2, p=2))
add("GlobalAveragePool_1", one("GlobalAveragePool", {"x": IMG}, 1))
add("LRN_1", one("LRN", {"x": IMG}, 1, size=3, alpha=1e-2, beta=0.5, bias=2.0))
add("LpNormalization_1", one("LpNormalization", {"x": X}, 1, axis=1, p=1))
add(
    "InstanceNormalization_1",
    one("InstanceNormalization", {"x": IMG}, 1, inits={"s": floats(3), "b": floats(3)}, consumed_inputs=[0, 0, 0]),
    one("InstanceNormalization", {"x": IMG}, 6, inits={"s": floats(3), "b": floats(3)}),
)
add("Conv_1", one("Conv", {"x": IMG}, 1, inits={"w": floats(2, 3, 3, 3)}, auto_pad="SAME_LOWER"))
add(
    "ConvTranspose_1",
    one("ConvTranspose", {"x": IMG}, 1, inits={"w": floats(3, 2, 3, 3)}, strides=[2, 2], output_padding=[1, 1]),
)
add(
    "Gemm_1_broadcast",
    one("Gemm", {"a": X}, 1, inits={"b": floats(3, 4), "c": floats(4)}, broadcast=1, alpha=0.5),
    one("Gemm", {"a": X}, 7, inits={"b": floats(3, 4), "c": floats(4)}, alpha=0.5),
)
add(
    "Gemm_6_whole_c",
    one("Gemm", {"a": X}, 6, inits={"b": floats(4, 3), "c": floats(2, 4)}, transB=1),
    one("Gemm", {"a": X}, 7, inits={"b": floats(4, 3), "c": floats(2, 4)}, transB=1),
)
add("Gemm_11_without_c", one("Gemm", {"a": X}, 11, inits={"b": floats(3, 4)}))
add("MatMul_1", one("MatMul", {"a": X, "b": floats(3, 4)}, 1))
add("DepthToSpace_1", one("DepthToSpace", {"x": floats(1, 4, 2, 2)}, 1, blocksize=2))
add("SpaceToDepth_1", one("SpaceToDepth", {"x": floats(1, 1, 4, 4)}, 1, blocksize=2))
add(
    "Constant_1",
    (model([n("Constant", "", "c", value=floats(2, 3)), n("Add", "x c")], {"x": X}, opset=7, ir=3), {"x": X}),
)
add("Identity_1", one("Identity", {"x": X}, 1))
add("Scatter_9", one("Scatter", {"x": X}, 9, inits={"i": np.array([[0, 1]], np.int64), "u": floats(1, 2)}))
add(
    "RNN_1",
    one(
        "RNN",
        {"x": floats(3, 1, 2)},
        1,
        "y h",
        inits={"w": floats(1, 4, 2), "r": floats(1, 4, 4)},
        hidden_size=4,
        output_sequence=1,
    ),
    one("RNN", {"x": floats(3, 1, 2)}, 7, "y h", inits={"w": floats(1, 4, 2), "r": floats(1, 4, 4)}, hidden_size=4),
)
add(
    "LSTM_7",
    one(
        "LSTM", {"x": floats(3, 1, 2)}, 7, "y h c", inits={"w": floats(1, 16, 2), "r": floats(1, 16, 4)}, hidden_size=4
    ),
)
add(
    "GRU_3",
    one(
        "GRU",
        {"x": floats(3, 1, 2)},
        3,
        "y h",
        inits={"w": floats(1, 12, 2), "r": floats(1, 12, 4)},
        hidden_size=4,
        linear_before_reset=1,
    ),
    one(
        "GRU",
        {"x": floats(3, 1, 2)},
        7,
        "y h",
        inits={"w": floats(1, 12, 2), "r": floats(1, 12, 4)},
        hidden_size=4,
        linear_before_reset=1,
    ),
)
add(
    "OneHot_9",
    one("OneHot", {"i": ints(0, 2)}, 9, inits={"d": np.array(3, np.int64), "v": np.array([0, 1], np.float32)}),
)
add(
    "RandomUniformLike_1",
    (model([n("RandomUniformLike", "x", "r"), n("Shape", "r", "y")], {"x": X}, opset=6, ir=3), {"x": X}),
)
add("MeanVarianceNormalization_9", one("MeanVarianceNormalization", {"x": IMG}, 9))

# Operators that become several ops, at the ends of what their inputs may be.
SIGNAL, TAPER = floats(1, 16, 1), np.ones(4, np.float32)
for step in (16, 2**31, 2**63 - 1):
    step = np.array(step, np.int64)
    add(f"STFT_step_{step}", one("STFT", {"x": SIGNAL}, 17, inits={"s": step, "w": TAPER}))
    add(f"STFT_step_{step}_fed", one("STFT", {"x": SIGNAL, "s": step, "w": TAPER}, 17))
for step in (0, -1, -(2**63)):
    made = one("STFT", {"x": SIGNAL}, 17, inits={"s": np.array(step, np.int64), "w": TAPER})
    add(f"STFT_step_{step}", made, takes="neither", says="frame_step must be 1 or more")
BYTES = np.array([[208, 236, 0, 238], [12, 0, 255, 3]], np.uint8)
for kind, a in (("matrix", BYTES), ("vector", BYTES[0]), ("batch", np.stack([BYTES, BYTES]))):
    fed = {"a": a, "b": BYTES[1], "s": np.array([0.0625], np.float32), "z": np.array([113], np.uint8)}
    free = {**fed, "s": info("s", 1, ["n"]), "z": info("z", 2, ["m"])}
    add(f"QLinearMatMul_{kind}_and_vector", (model([n("QLinearMatMul", "a s z b s z s z")], free), fed))
# What ONNX fixes and an op of the composition would broadcast.
IMG2, ROWS, W1 = floats(2, 3, 4, 4), floats(3, 5, seed=3), floats(1)
for name, op, opset, ins, says in (
    ("of_one", "InstanceNormalization", 17, {"x": IMG2, "s": floats(3), "b": W1}, "B [1] does not fit"),
    ("matrix", "InstanceNormalization", 17, {"x": IMG2, "s": floats(3), "b": floats(1, 3)}, "B must have rank 1"),
    ("larger", "LayerNormalization", 17, {"x": floats(2, 3, 1), "s": floats(5)}, "Scale [5] does not fit"),
    ("deeper", "LayerNormalization", 17, {"x": floats(2, 3), "s": floats(1, 2, 3)}, "Scale has more dims"),
    ("short", "NegativeLogLikelihoodLoss", 17, {"x": ROWS, "t": ints(1, 4)}, "target [2] does not fit"),
    ("weights", "NegativeLogLikelihoodLoss", 17, {"x": ROWS, "t": ints(1, 4, 0), "w": floats(5, 1)}, "weight must"),
    ("long", "ReverseSequence", 17, {"x": floats(4, 1, 2), "l": ints(4, 3)}, "sequence_lens [2] does not fit"),
    (
        "of_one_key",
        "Attention",
        23,
        {"q": floats(2, 3, 4, 8), "k": floats(2, 3, 1, 8), "v": floats(2, 3, 6, 8)},
        "V [2,3,6,8] does not fit [2,3,1,8]",
    ),
):
    add(f"{op}_{name}", one(op, ins, opset), takes="neither", says=says)
add(
    "CenterCropPad_few",
    one("CenterCropPad", {"x": floats(4, 5), "s": ints(3)}, 18),
    takes="theirs",
    says="shape must have 2 sizes",
    because="ONNX has a size an axis, ONNX Runtime runs the function's body, which broadcasts",
)
for axis in ({}, {"axis": 1}):
    add(
        f"Compress_matrix{'_axis' if axis else ''}",
        one("Compress", {"x": floats(3, 2), "c": np.array([[False], [True]])}, 17, **axis),
        takes="theirs",
        says="condition must have rank 1",
        because="ONNX has a vector of conditions, ONNX Runtime reads them in a row",
    )

# These were experiments in the default domain until opset 9.
add("Affine", one("Affine", {"x": X}, 9, alpha=2.0, beta=0.5))
add("ParametricSoftplus", one("ParametricSoftplus", {"x": X}, 9, alpha=2.0, beta=0.5))
add("ScaledTanh", one("ScaledTanh", {"x": X}, 9, alpha=2.0, beta=0.5))
add("ThresholdedRelu_1", one("ThresholdedRelu", {"x": X}, 9, alpha=0.5))
add("ThresholdedRelu_1_default", one("ThresholdedRelu", {"x": X}, 7))
add("Scale", one("Scale", {"x": X}, 9, scale=0.25))
add("ImageScaler", one("ImageScaler", {"x": IMG}, 9, scale=0.5, bias=[0.1, 0.2, 0.3]))
add("Crop_border", one("Crop", {"x": floats(1, 2, 6, 6)}, 9, border=[1, 0, 2, 1]))
add("Crop_scale", one("Crop", {"x": floats(1, 2, 6, 6)}, 9, border=[1, 2, 0, 0], scale=[3, 2]))
add("MeanVarianceNormalization_1", one("MeanVarianceNormalization", {"x": floats(2, 3, 4, 4)}, 8))
add(
    "MeanVarianceNormalization_1_across",
    one("MeanVarianceNormalization", {"x": floats(2, 3, 4, 4)}, 8, across_channels=1),
)
add(
    "MeanVarianceNormalization_1_mean_only",
    one("MeanVarianceNormalization", {"x": floats(2, 3, 4, 4)}, 8, normalize_variance=0),
)
add("DynamicSlice", one("DynamicSlice", {"x": floats(4, 5), "s": ints(1, 0), "e": ints(3, -1)}, 9))
add("DynamicSlice_axes", one("DynamicSlice", {"x": floats(4, 5)}, 9, inits={"s": ints(1), "e": ints(4), "a": ints(1)}))
for op in ("GRUUnit", "ATen", "GivenTensorFill"):  # which ONNX Runtime has no kernels of
    add(op, one(op, {"a": X}, 9), takes="neither", says="no operator of this name")
add("Affine_10", one("Affine", {"x": X}, 10, alpha=2.0, beta=0.5), takes="neither", says="Affine")
