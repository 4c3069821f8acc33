"""com.microsoft, and what belongs to no domain that is known."""

import numpy as np
from files import FORMS, Form, floats, form, model, n, one

X = floats(2, 3)


def ms(name, op, ins, inits=None, outs="y", says="", takes=None, **attrs):
    m, ins = one(op, ins, 17, outs, inits, "com.microsoft", **attrs)
    FORMS["ms_" + name] = Form(m, ins, takes or ("neither" if says else "both"), says)


ms("gelu", "Gelu", {"x": X})
ms("bias_gelu", "BiasGelu", {"x": X}, {"b": floats(3)})
ms("fused_matmul", "FusedMatMul", {"a": X, "b": floats(4, 3)}, transB=1, alpha=0.5)
ms("quick_gelu", "QuickGelu", {"x": X}, alpha=1.5)
ms("unknown", "Gellu", {"x": X}, says="'Gelu'")
ms("unknown_in_default", "Relu", {"x": X}, says="default domain")
ms("attribute_misspelt", "FusedMatMul", {"a": X, "b": floats(4, 3)}, says="'transb'", transb=1)
ms("attribute_of_another_type", "FusedMatMul", {"a": X, "b": floats(4, 3)}, says="expected", transB=1.0)
ms(
    "attribute_missing",
    "MatMulNBits",
    {"a": floats(2, 32), "b": np.zeros((3, 2, 8), np.uint8), "s": floats(3, 2)},
    says="'K' is required",
    N=3,
    bits=4,
    block_size=16,
)


def dynamic_lstm(name, *rest, directions=1, dtype=np.uint8, columns=False, **attrs):
    """Five steps of two rows of three numbers, with `rest` of the inputs. ONNX Runtime takes one zero point a matrix."""
    gates = 16

    def weights(*shape):
        return (np.arange(np.prod(shape)) * 37 % 251).astype(dtype).reshape(shape)

    scale = np.full((directions, gates) if columns else directions, 0.01, np.float32)
    if columns:
        scale += np.arange(gates, dtype=np.float32) * np.float32(0.0005)
    zero = np.full(scale.shape, 0 if columns else 117 if dtype == np.uint8 else 3, dtype)
    inits = {
        "w": weights(directions, 3, gates),
        "r": weights(directions, 4, gates),
        "b": floats(directions, 2 * gates, low=-0.3, high=0.3),
        "l": np.array([5, 3], np.int32),
        "h": floats(directions, 2, 4, seed=1, low=-0.5, high=0.5),
        "c": floats(directions, 2, 4, seed=2, low=-0.5, high=0.5),
        "p": floats(directions, 12, seed=3, low=-0.5, high=0.5),
        "s": scale,
        "z": zero,
    }
    names = " ".join(i if i in rest else "_" for i in "blhcp")
    node = n("DynamicQuantizeLSTM", f"x w r {names} s z s z", "y yh yc", domain="com.microsoft", hidden_size=4, **attrs)
    inits = {k: v for k, v in inits.items() if k in "wrsz" or k in rest}
    ins = {"x": floats(5, 2, 3)}
    FORMS["ms_dynamic_lstm_" + name] = Form(
        model([node], ins, "y yh yc", inits=inits, imports=[("com.microsoft", 1)]), ins, "both"
    )


dynamic_lstm("bytes")
dynamic_lstm("signed_columns", "b", dtype=np.int8, columns=True)
dynamic_lstm("reverse", "b", "h", "c", direction="reverse")
dynamic_lstm("bidirectional", "b", "h", "c", directions=2, direction="bidirectional")
dynamic_lstm("lengths", "b", "l", "h", "c", directions=2, direction="bidirectional")
dynamic_lstm("peepholes", "b", "p", dtype=np.int8)
dynamic_lstm("clipped", "b", clip=0.5, input_forget=0)
dynamic_lstm("coupled", "b", input_forget=1)
ms("input_missing", "BiasGelu", {"x": X}, says="input 1 is required")
ms("inputs_too_many", "Gelu", {"x": X, "z": X}, says="has 2 inputs")


@form(takes="neither", says="2 node(s)")
def several_faults_at_once():
    nodes = [
        n("Softmax", "x", "a", name="soft", axes=1),
        n("Flatten", "a", "b", name="flat", axis=1.0),
        n("Abs", "b", "y"),
    ]
    return model(nodes, {"x": X}), {"x": X}


@form(takes="neither", says="'Softmax'")
def default_op_misspelt():
    return model([n("SoftMax", "x", "y")], {"x": X}), {"x": X}


@form(takes="neither", says="com.microsoft")
def default_op_of_microsoft():
    return model([n("FusedMatMul", "x x", "y", name="it")], {"x": X}), {"x": X}


@form(because="nothing else can be meant; ONNX Runtime wants the opset that brought it")
def op_of_a_later_opset():
    later = model([n("Gelu", "x", "y")], {"x": X}, opset=20, ir=9)
    return model([n("Gelu", "x", "y")], {"x": X}, opset=17), {"x": X}, {"takes": "ours", "expected": later}


@form(takes="neither", says="com.example")
def op_of_another_domain():
    return model([n("Thing", "x", "y", domain="com.example")], {"x": X}, imports=[("com.example", 1)]), {"x": X}


@form()
def microsoft_without_an_import():
    return model([n("Gelu", "x", "y", domain="com.microsoft")], {"x": X}), {"x": X}


def wrong(op, ins, opset=17, says="", inits=None, **attrs):
    m, ins = one(op, ins, opset, "y", inits, **attrs)
    FORMS[f"dtype_{op}_{opset}_{list(ins.values())[0].dtype}"] = Form(m, ins, "neither", says or op)


I, B, D = np.array([[1, 2]], np.int64), np.array([[True, False]]), np.array([[1.0]], np.float64)
S = np.array(["a", "b"], object)
for op in ("Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Softmax", "Floor", "Elu", "Softplus", "Selu", "HardSigmoid"):
    wrong(op, {"x": I}, says="int64")
for op in ("Add", "MatMul", "Less", "Max"):
    wrong(op, {"a": B, "b": B}, says="bool")
for op in ("And", "Or", "Xor"):
    wrong(op, {"a": I, "b": I}, says="int64")
wrong("Not", {"a": X}, says="float32")
FORMS["dtype_of_a_later_opset"] = Form(
    one("Relu", {"x": I}, 13)[0], {"x": I}, "ours", expected=[I], because="Relu takes integers from opset 14 on"
)
wrong("Abs", {"x": B}, says="bool")
wrong("Neg", {"x": np.array([1], np.uint8)}, says="uint8")
wrong("Conv", {"x": np.ones((1, 1, 3, 3), np.int32), "w": np.ones((1, 1, 2, 2), np.int32)}, says="int32")
wrong("Gather", {"x": X, "i": floats(1)}, says="float32")
wrong("Where", {"c": I, "a": I, "b": I}, says="int64")
wrong("Reshape", {"x": X, "s": np.array([6], np.int32)}, says="int32")
wrong("Slice", {"x": X, "s": floats(1), "e": floats(1)}, says="float32")
wrong("ReduceMean", {"x": B}, says="bool")
wrong("BitShift", {"x": X, "y2": X}, says="float32", direction="LEFT")
FORMS["dtype_of_opset_28"] = Form(
    one("BitShift", {"x": I, "y2": I}, 17, "y", None, direction="LEFT")[0], {"x": I, "y2": I}, "ours", expected=[I << I],
    because="BitShift takes signed integers from opset 28 on",
)
wrong("IsNaN", {"x": I}, says="int64")
wrong("Resize", {"x": X, "r": X, "s": np.array([1, 1], np.float64)}, says="float64")
wrong("TopK", {"x": X, "k": np.array([1], np.int32)}, says="int32")
wrong("Expand", {"x": X, "s": np.array([2, 3], np.int32)}, says="int32")
wrong("Sum", {"a": I, "b": I}, says="int64")
wrong("LeakyRelu", {"x": I}, says="int64")
wrong("GlobalAveragePool", {"x": np.ones((1, 1, 2, 2), np.int32)}, says="int32")
wrong("Add", {"a": X, "b": X.astype(np.float64)}, says="float64")
wrong("Concat", {"a": S, "b": np.array([1], np.int64)}, says="int64", axis=0)
