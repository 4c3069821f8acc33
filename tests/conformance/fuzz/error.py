"""How far apart two correct float results of a node may be.

Each float of a graph has a bound on the difference of two right answers. A node's is measured: its inputs are
moved by their bounds, and by four units in the last place where the node itself rounds (two orders of the same
sum differ like that), all up and twice at random; the largest move of its outputs, three times, is
their bound. So it grows with the depth of a graph as rounding does, by the conditioning of what is computed. A node whose
whole numbers, shape, NaNs or infinities change under that, or whose bound is above a hundredth (a tenth in
float16) of its largest value, has no answer to compare, and the graph does not take it.
"""

import numpy as np

ULP = {np.dtype(np.float32): 2.0**-23, np.dtype(np.float64): 2.0**-52, np.dtype(np.float16): 2.0**-10}

# These ops round nothing: they move, select or compare.
EXACT = set(
    "Abs Neg Ceil Floor Round Sign Relu Not Identity IsNaN IsInf Hardmax Equal Less Greater LessOrEqual GreaterOrEqual "
    "And Or Xor Max Min Clip Where ReduceMax ReduceMin ArgMax ArgMin TopK Unique Gather GatherElements GatherND Scatter "
    "ScatterElements ScatterND TensorScatter Compress NonZero Reshape Flatten Squeeze Unsqueeze Transpose Expand Tile "
    "Concat Split Shape Size DepthToSpace SpaceToDepth Slice Pad Trilu CenterCropPad ReverseSequence Upsample MaxPool "
    "GlobalMaxPool MaxUnpool BitShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot OneHot EyeLike Constant "
    "ConstantOfShape ThresholdedRelu NonMaxSuppression CastLike BitCast Dropout".split()
)
# These ops sum rounded numbers of a size that no input shows.
COMPUTED = {"HannWindow", "HammingWindow", "BlackmanWindow", "DFT", "Sigmoid", "LSTM", "GRU"}
JUMPS = EXACT | set("Cast QuantizeLinear DynamicQuantizeLinear QLinearMatMul QLinearConv Mod If Loop Scan Shrink".split())


class Unsteady(Exception):
    """Two right answers may differ by anything."""


def moves(rng, arrays, bounds, n):
    own, wide = 0.0 if n.op in EXACT else 4.0, 4.0 if n.op in JUMPS else 1.0
    for way in (1, 0, 0):
        moved, any_move = {}, False
        for k, a in arrays.items():
            moved[k] = a
            if a.dtype not in ULP or a.size == 0:
                continue
            with np.errstate(all="ignore"):
                step = wide * np.asarray(bounds.get(k, 0.0)) + own * ULP[a.dtype] * np.abs(a.astype(np.float64))
            step = np.where(np.isfinite(a), step, 0.0)
            if not np.any(step):
                continue
            sign = way or rng.choice([-1.0, 1.0], a.shape)
            with np.errstate(all="ignore"):
                moved[k] = np.asarray(a.astype(np.float64) + sign * step).astype(a.dtype)
            any_move = True
        if any_move:
            yield moved


def bounds_of(rng, n, run, arrays, results, bounds):
    """The bound of each result of node `n`, which `run` makes of `arrays`."""
    largest = [np.zeros(r.shape) for r in results]
    for moved in moves(rng, arrays, bounds, n):
        for i, (r, m) in enumerate(zip(results, run(moved))):
            if r.shape != m.shape:
                raise Unsteady("shape")
            if r.dtype not in ULP:
                if not np.array_equal(r, m):
                    raise Unsteady("whole numbers")
                continue
            if not np.array_equal(np.isfinite(r), np.isfinite(m)) or not np.array_equal(np.isnan(r), np.isnan(m)):
                raise Unsteady("special values")
            with np.errstate(all="ignore"):
                d = np.where(np.isfinite(r), np.abs(m.astype(np.float64) - r.astype(np.float64)), 0.0)
            largest[i] = np.maximum(largest[i], d)
    out = []
    for r, d in zip(results, largest):
        if r.dtype not in ULP or not r.size:
            out.append(0.0)
            continue
        finite = np.abs(r[np.isfinite(r)].astype(np.float64))
        top = float(finite.max()) if finite.size else 0.0
        # Signs drawn once may cancel in one element: each gets a share of the tensor's largest.
        b = 3.0 * d + 0.3 * float(d.max())
        if n.op in COMPUTED:
            b = b + 4.0 * ULP[r.dtype] * max(1.0, top)
        if n.op not in EXACT:
            with np.errstate(all="ignore"):
                b = b + 4.0 * ULP[r.dtype] * np.where(np.isfinite(r), np.abs(r.astype(np.float64)), 0.0)
        if float(b.max()) > (0.1 if r.dtype == np.float16 else 0.01) * top + 1e-30:
            raise Unsteady("conditioning")
        out.append(b if b.any() else 0.0)
    return out
