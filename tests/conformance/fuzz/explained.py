"""Where ONNX Runtime 1.30 is wrong, or where ONNX says nothing: nodes whose results are no judge of Wick's.

Each rule looks at a node with the values of its names, and cites the text that decides. What Wick itself refuses by
a documented limit is in refused().
"""

import re

import numpy as np
from error import COMPUTED

REDUCTIONS = ("Reduce", "ArgM")
NAN_IGNORED = ("ReduceMax", "ReduceMin", "Max", "Min", "Sign", "Clip", "Relu", "TopK", "ArgMax", "ArgMin", "MaxPool")
NAN_IGNORED += ("GlobalMaxPool", "Unique", "ThresholdedRelu", "LeakyRelu", "HardSigmoid", "Hardmax")
EDGE = 2**31 - 1


def has_nan(values):
    return any(v.a.dtype.kind == "f" and np.isnan(v.a).any() for v in values)


def pooled_less_than_a_window(n, x):
    """Spec of MaxPool, LpPool, AveragePool: the output's size is floor((in + pads - window) / stride) + 1, which is
    zero or one (ceil_mode) where the window is larger than the padded input by less than a stride."""
    k = n.attrs.get("kernel_shape", [])
    d = n.attrs.get("dilations", [1] * len(k))
    p = n.attrs.get("pads", [0] * 2 * len(k))
    return any((q - 1) * e + 1 > s + a + b for q, e, s, a, b in zip(k, d, x.shape[2:], p, p[len(k) :]))


def overflows(a):
    sizes = np.abs(a.astype(np.float64))
    return float(np.log2(np.maximum(sizes, 1)).sum()) >= 8 * a.itemsize - 1


def stepped_over(n):
    k = n.attrs.get("kernel_shape", [])
    strides, d = n.attrs.get("strides", [1] * len(k)), n.attrs.get("dilations", [1] * len(k))
    return any(s > (q - 1) * e + 1 for q, e, s in zip(k, d, strides))


def rounded(g, why):
    """A difference of four units of the last place of one, in an operator that computes with such numbers inside
    (ONNX Runtime's Sigmoid is right to that, not to the last place of small results)."""
    m = re.search(r"element \d+: (\S+), expected (\S+)", why)
    inner = [n for top in g.nodes for n in every(top) if not n.bodies]
    if not m or len(inner) != 1 or inner[0].op not in COMPUTED:
        return False
    a = g.values[inner[0].ins[0]].a
    top = max(1.0, float(np.abs(a).max(initial=0)) * a.size if inner[0].op == "DFT" else 1.0)
    ulp = 2.0**-52 if a.dtype == np.float64 else 2.0**-10 if a.dtype == np.float16 else 2.0**-23
    return abs(float(m.group(1)) - float(m.group(2))) <= 4 * ulp * top


def of_node(n, values, opset):
    """The rule's name, or ""."""
    ins = [values[k] for k in n.ins if k]
    outs = [values[k] for k in n.outs if k]
    x = ins[0] if ins else None
    auto = str(n.attrs.get("auto_pad", "")).startswith("SAME")
    dilated = max(n.attrs.get("dilations", [1])) > 1
    if n.op == "NonZero" and x.shape == ():
        return "NonZero of a scalar: its text says shape (0, N); ONNX Runtime does as numpy did, (1, N)"
    if n.op.startswith(REDUCTIONS) and 0 in x.shape:
        return "reduction of an empty tensor: keepdims and the axes decide its shape; ONNX Runtime keeps the zero, or says 0 for a mean"
    if n.op in NAN_IGNORED and has_nan(ins):
        return "NaN in an operator that orders or selects: ONNX says nothing; Wick passes it on as numpy does"
    if n.op == "MeanVarianceNormalization" and has_nan(outs) and not has_nan(ins):
        return "MeanVarianceNormalization of equal values: its function adds 1e-9 to the deviation; ONNX Runtime divides 0 by 0"
    if n.op == "Dropout" and opset < 12 and len(outs) > 1:
        return "Dropout's mask before opset 12: not defined at inference"
    if n.op == "Slice" and opset >= 10:
        at = [values[k].a for k in n.ins[1:] if k]
        steps = values[n.ins[4]].a if len(n.ins) > 4 and n.ins[4] else np.ones(1)
        if (steps < 0).any() and max(np.abs(a.astype(np.float64)).max(initial=0) for a in at) >= EDGE:
            return "Slice backwards with an end or a step at the edge of int64: ends clamp to [-1, size - 1]; ONNX Runtime does not"
    if n.op in ("MaxPool", "LpPool", "AveragePool") and auto and (dilated or n.attrs.get("ceil_mode")):
        return "auto_pad SAME with dilations or ceil_mode: SAME means ceil(in / stride); ONNX Runtime leaves them out"
    if n.op == "ConvTranspose" and auto:
        return "ConvTranspose with auto_pad SAME: the output is in * stride; ONNX Runtime's is smaller where a window is"
    if n.op in ("MaxPool", "LpPool", "AveragePool") and auto and stepped_over(n):
        return "auto_pad SAME with strides over the window: the pads would be negative; ONNX Runtime moves its windows by them, Wick pads nothing"
    if n.op == "AffineGrid" and n.attrs.get("align_corners") and 1 in values[n.ins[1]].a[2:]:
        return "AffineGrid with align_corners of a size of one: its function divides by size - 1; Wick has the middle, as PyTorch"
    if n.op in ("HardSwish", "Shrink", "HardSigmoid") and x.a.dtype == np.float64:
        return "HardSwish and Shrink of double: ONNX Runtime has float32 constants, or computes in float32"
    if n.op == "Gemm" and 0 in x.shape + ins[1].shape and "beta" in n.attrs:
        return "Gemm over a length of zero: beta * C; ONNX Runtime leaves beta out"
    if n.op == "MatMul" and any(0 in v.shape for v in ins):
        return "MatMul of an empty matrix: numpy's broadcast of the batches; ONNX Runtime leaves it out"
    if n.op == "ReduceProd" and x.a.dtype.kind in "iu" and overflows(x.a):
        return "ReduceProd of integers over their range: Wick wraps as numpy does; ONNX Runtime saturates"
    if n.op == "DFT" and x.a.dtype == np.float64:
        return "DFT of double: ONNX Runtime's angles are float32"
    if n.op == "ReduceLogSumExp" and x.a.dtype.kind in "iu":
        return "ReduceLogSumExp of integers: ONNX Runtime takes exponentials as integers; Wick rounds once, at the end"
    if n.op in ("MaxPool", "LpPool", "AveragePool") and pooled_less_than_a_window(n, x):
        return "a window larger than its padded input: Wick refuses it, where the formula gives an empty output"
    if n.op == "Loop" and any(0 in o.shape for o in outs):
        return "a stacked output of no iterations: ONNX does not tell its other sizes"
    return ""


def every(n):
    yield n
    for b in n.bodies:
        for m in b.nodes:
            yield from every(m)


def why_not(g, why):
    """The rule that explains a difference of `g`, a part that was shrunk; "" where none does."""
    if rounded(g, why):
        return "rounding of numbers of the size of one inside Sigmoid (and what gates with it), DFT and the windows"
    for top in g.nodes:
        for n in every(top):
            rule = of_node(n, g.values, g.opset)
            if rule:
                return rule
    return ""


def refused(g, why):
    """The limit of Wick's, stated in its docs, that `why` names; "" where it names none."""
    if re.search(r"rank \d+ exceeds 8", why):
        return "ranks end at 8 (docs/numerics.md)"
    if "rank of its input must be known" in why and (g.symbols or any(n.bodies for n in g.nodes)):
        return "a rank that neither the file nor the operator tells: a shape of open length given at run time, or an If of two ranks"
    if "the rank of its input is not known" in why and g.symbols:
        return "a rank that nothing tells: MatMul by a constant weight runs, but is not written as ONNX"
    if "written and read again:" in why:  # after the bits, which are the same
        return "read again it has the same bits, and what a body sees (or its constants) in another order"
    return ""
