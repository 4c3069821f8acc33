#!/usr/bin/python3
"""Writes answers.txt: what NumPy and PyTorch answer to the samples of test rows (Debian's python3-torch).

  make_goldens.py BUILD/tests/ops/op_samples [OP...]      of all ops, or of some: the others' lines stay

A line is a sample's head, "name<TAB>digest", or below it one of its outputs:
  <TAB>dtype shape exact HASH                   all elements are these: a digest (number_hash in ../answers.h)
  <TAB>dtype shape near INDEX:VALUE:SCALE ...   elements by their flat index, in float64. SCALE is the magnitude that an
                                                error is judged by: |y|, and for what is summed of products
                                                |y| + sum |dy/dx| |x| over the inputs, which PyTorch differentiates
  <TAB>dtype shape free                         the answer is one of many (the signs of vectors): not compared
Up to 16 elements of an output are kept, the first, the last and the smallest three among them.
"""

import json
import math
import os
import subprocess
import sys
import warnings

import numpy as np
import torch

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from answer import DTYPES, FLOATS, Exact, Free, Near  # noqa: E402
import moves  # noqa: E402
import sums  # noqa: E402

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
KEPT = 16
ANSWERS = {**moves.ANSWERS, **sums.ANSWERS}
MASK = 2**64 - 1


class Sample:
    """A sample: attributes `a` by name, inputs `x` (float64 tensors with a gradient, int64 or bool ones, lists of
    strings; None where absent), their dtypes and shapes."""

    def __init__(self, line):
        self.op, self.name, self.digest, self.outputs = (line[k] for k in ("op", "name", "digest", "outputs"))
        self.fields = line["attrs"]
        self.a = {}
        for name, value in self.fields:
            self.a.setdefault(name, value)
        self.x, self.dtypes, self.shapes = [], [], []
        for spec in line["inputs"]:
            if spec is None:
                self.x.append(None)
                self.dtypes.append(None)
                self.shapes.append(None)
                continue
            dtype, shape = spec["dtype"], spec["shape"]
            self.dtypes.append(dtype)
            self.shapes.append(shape)
            if dtype == "string":
                self.x.append(np.array(spec["values"], dtype=object).reshape(shape))
            elif dtype in FLOATS:
                self.x.append(torch.tensor(spec["values"], dtype=torch.float64).reshape(shape).requires_grad_())
            elif dtype == "bool":
                self.x.append(torch.tensor([v != 0 for v in spec["values"]], dtype=torch.bool).reshape(shape))
            elif dtype in DTYPES:
                self.x.append(torch.from_numpy(np.array(spec["values"], dtype=np.int64).reshape(shape)))
            else:
                self.x.append(torch.tensor(spec["values"], dtype=torch.float64).reshape(shape))

    def has(self, k):
        return k < len(self.x) and self.x[k] is not None

    def array(self, k):
        """Input k as NumPy's own dtype where there is one."""
        v = self.x[k]
        if isinstance(v, np.ndarray):
            return v
        return v.detach().numpy().astype(DTYPES.get(self.dtypes[k], np.float64))

    def ints(self, k):
        return [int(v) for v in self.x[k].reshape(-1)]


def mix(word, h):
    return ((h ^ word) * 1099511628211) & MASK


def digest(array):
    h = 14695981039346656037
    if array.dtype == object:
        for text in array.reshape(-1):
            inner = 14695981039346656037
            for byte in text.encode():
                inner = mix(byte, inner)
            h = mix(inner, h)
        return h
    if array.dtype in (np.int64, np.uint64):
        words = array.reshape(-1).view(np.uint64)
    else:
        values = array.astype(np.float64).reshape(-1) + 0.0
        words = np.where(np.isnan(values), np.uint64(0x7FF8000000000000), values.view(np.uint64))
    for word in words.tolist():
        h = mix(word, h)
    return h


def text(v):
    return "nan" if math.isnan(v) else ("inf" if v > 0 else "-inf") if math.isinf(v) else f"{v:.10g}"


def indices(values):
    n = len(values)
    if n <= KEPT:
        return range(n)
    magnitude = np.where(np.isfinite(values) & (values != 0), np.abs(values), np.inf)
    chosen = {0, n - 1, *np.argsort(magnitude, kind="stable")[:3].tolist()}
    spread = KEPT - len(chosen)
    return sorted(chosen | {(2 * i + 1) * n // (2 * spread) for i in range(spread)})


def scale_of(near, flat, i, leaves):
    value = flat[i].item()
    if not math.isfinite(value):
        return 0.0
    if near.scale is not None:
        return near.scale.reshape(-1)[i].item()
    total = abs(value) + near.more
    if near.summed and flat.requires_grad:
        for x, g in zip(leaves, torch.autograd.grad(flat[i], leaves, retain_graph=True, allow_unused=True)):
            if g is not None:
                part = (g * x).abs()
                total += part[torch.isfinite(part)].sum().item()
    return total


def line(sample, output):
    shape = "[" + ",".join(map(str, output.shape)) + "]"
    if isinstance(output, Free):
        return f"\t{output.dtype} {shape} free"
    if isinstance(output, Exact):
        return f"\t{output.dtype} {shape} exact {digest(output.array):016x}"
    leaves = [x for x in sample.x if isinstance(x, torch.Tensor) and x.requires_grad]
    flat = output.tensor.reshape(-1)
    kept = [f"{i}:{text(flat[i].item())}:{scale_of(output, flat, i, leaves):.3g}"
            for i in indices(flat.detach().numpy())]
    return " ".join([f"\t{output.dtype} {shape} near", *kept])


def main():
    done = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, text=True, check=True)
    wanted = set(sys.argv[2:])
    path = os.path.join(HERE, "answers.txt")
    blocks, order = {}, []
    if wanted and os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for row in f.read().splitlines():
                if row.startswith("\t"):
                    blocks[name].append(row)  # noqa: F821: a head came before
                else:
                    name = row.split("\t")[0]
                    blocks[name] = [row]
    for row in done.stdout.splitlines():
        sample = Sample(json.loads(row))
        if sample.op not in ANSWERS:
            continue
        order.append(sample.name)
        if wanted and sample.op not in wanted and sample.name in blocks:
            continue
        try:
            outputs = ANSWERS[sample.op](sample)
        except Exception:
            print(f"{sample.name}:", file=sys.stderr)
            raise
        outputs = outputs if isinstance(outputs, list) else [outputs]
        blocks[sample.name] = [f"{sample.name}\t{sample.digest}", *(line(sample, o) for o in outputs)]
    with open(path, "w", encoding="utf-8") as f:
        for name in order:
            f.write("\n".join(blocks[name]) + "\n")
    print(f"{len(order)} samples of {len(ANSWERS)} ops")


if __name__ == "__main__":
    main()
