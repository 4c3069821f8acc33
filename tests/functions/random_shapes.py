#!/usr/bin/python3
"""Compares functions with PyTorch (Debian's python3-torch) at shapes that nobody chose.

  random_shapes.py BUILD/tests/functions/test_functions [--count N] [--seed S] [--only NAME]

A sample of a function row gets other shapes: every size d becomes a size that is drawn for d, in all inputs alike; or
inputs of one shape get another of rank 0 to 5, some of them with dims of 1; or all get the same dims in front. Where
PyTorch takes the new shapes, Wick must, too, and give the same shapes, values, gradients and second derivatives.

The bound is per element. PyTorch computes in float64 on inputs that every dtype under test holds exactly; u is half a
unit in the last place of the output's dtype. An element may be 64 u (|y| + s) away, where s is how far y moves if
every input and weight moves by a relative step of either sign, divided by that step: the largest of three draws, of 23
before a difference is told. Roundings move an element as such steps do. The other 20 steps are so small that s is
larger than a jump. Terms of derivatives cancel where no step shows it: there 64 u of the largest number so far are
added. Integers and bools are equal.
"""

import argparse
import collections
import json
import math
import os
import random
import subprocess
import sys
import warnings

import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True
import vision  # noqa: E402
from make_goldens import ABSENT, HALF  # noqa: E402

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

FLOATS = ("float64", "float32", *HALF)
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
REFUSES = (RuntimeError, IndexError, ValueError, NotImplementedError, TypeError, ZeroDivisionError)
LEVELS = ("outputs", "first", "second")
TINY = {"float64": 2.0**-1074, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
LARGEST = {"float64": math.inf, "float32": 3.4028234e38, "float16": 65504.0, "bfloat16": 3.38e38}
STEP, SMALL_STEP = 2.0**-20, 2.0**-48
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 33)
MOST = 600  # elements of an input
RANDOM, CREATION, KINK = 7, 8, 3  # marks of function_row.h without one answer, or at a jump
GIVEN, DISTINCT = 2, 1

# Added to the bound: 64 u of the largest input, where a formula that is the definition cancels, where an algorithm's
# error is one of the whole input's (an FFT's, a decomposition's), or where positions between elements are computed in
# the dtype.
NORMWISE = ("fft::", "stft", "istft", "interpolate", "upsample", "tanhshrink", "grid_sample", "affine_grid", "linalg::",
            "qr", "svd", "pinverse", "inverse")
# Other factors than 64: derivatives of a decomposition grow with the square of its condition.
FACTORS = {"linalg::qr": 2.0**16, "linalg::svd": 4096.0, "linalg::eigh": 4096.0, "linalg::lu": 4096.0,
           "linalg::det": 4096.0}
TRIGAMMA = "PyTorch's trigamma is a short series, up to 4e-10 from it"
REFUSED = "refused on purpose"

# Where PyTorch's answer is not the one to have, or Wick refuses on purpose: (row, part of the difference) -> why.
KNOWN = {
    ("Tensor.index", "out of bounds"): "indices are checked, also where no element is taken",
    ("adjoint", "needs rank 2"): "PyTorch warns that a number's adjoint() will be an error",
    ("ctc_loss", "is no class"): "PyTorch reads past the classes",
    ("multilabel_soft_margin_loss", "must have the input's shape"): "a target that would be repeated is refused",
    ("binary_cross_entropy", "second"): "PyTorch's second derivative adds 1e-12 to its divisors",
    ("mvlgamma", "second"): TRIGAMMA, ("special::multigammaln", "second"): TRIGAMMA, ("lgamma", "second"): TRIGAMMA,
    ("special::gammaln", "second"): TRIGAMMA, ("special::psi", "first"): TRIGAMMA, ("digamma", "first"): TRIGAMMA,
    ("special::digamma", "first"): TRIGAMMA, ("special::psi", "second"): TRIGAMMA, ("digamma", "second"): TRIGAMMA,
    ("sort", "outputs 1"): "PyTorch's order of equal elements is another each time",
    ("topk", "PyTorch has []"): "PyTorch's topk of a number gives one element, also if none is asked for",
    ("norm", "is empty"): REFUSED, ("linalg::vector_norm", "is empty"): REFUSED,  # PyTorch's next version refuses, too
    ("tensordot", "differ"): "PyTorch repeats a dim of 1 to the other's size",
    ("adaptive_avg_pool2d", "must be [N, C, H, W]"): REFUSED,
    ("compound assignment", "cannot hold"): "PyTorch's expression there is not in place",
    ("corrcoef", "second"): "of two observations: 0 by definition, and terms of any size cancel",
    ("normalize", "second"): "of one number: as above", ("cosine_embedding_loss", "second"): "of one number: as above",
    ("triplet_margin_with_distance_loss", "first"): "by cosine_similarity: as above",
    ("triplet_margin_with_distance_loss", "second"): "as above",
    ("cummax", "out of range"): "PyTorch takes any dim of a number", ("cummin", "out of range"): "as above",
    ("deform_conv2d", "do not fit"): REFUSED, ("slice_scatter", "do not fit"): REFUSED,
    ("roi_align", "are empty"): REFUSED, ("roi_align", "for 0 images"): REFUSED,
    ("triu", "at least 2 dimensions"): REFUSED, ("tril", "at least 2 dimensions"): REFUSED,
    ("var", "first"): "of one number: NaN, and so is its gradient", ("std", "first"): "as above",
    ("var", "second"): "as above", ("std", "second"): "as above",
    ("block_diag", "first"): "PyTorch takes another place's gradient where a vector is empty",
    ("linalg::eigvals", "outputs"): "eigenvalues have no order", ("linalg::eigvals", "first"): "as above",
    ("prod", "second"): "factors that underflow in float32",
    ("scaled_dot_product_attention", "PyTorch has nan"): "keys of no elements: the row's formula divides by sqrt(0)",
    ("pixel_unshuffle", "shape"): "PyTorch leaves the shape of an empty image",
    ("of a number", "second"): "of prod: PyTorch divides by the inputs, exact products stand beside it",
    ("istft", "needs [5"): "the row's sizes are literals", ("channel_shuffle", "needs [N"): "as above",
    ("Tensor.squeeze", "given twice"): "as above",
    ("group_norm", "PyTorch has"): "of groups of one number: the bias alone, to which PyTorch adds roundings",
    ("trace", "first"): "PyTorch's gradient of a tall matrix's trace goes on below its square part",
    ("median", "is empty"): REFUSED,
    ("interpolate.kept_size", ""): "the row's matrices are literals",
    ("index_put", "out of bounds"): "indices are checked, also where no element is put",
    ("Tensor.index_put_.views", "out of bounds"): "as above",
    ("conv1d", "empty kernel"): REFUSED, ("conv2d", "empty kernel"): REFUSED,
    ("cross_entropy", "PyTorch has nan"): "of no classes: 0 over 0",
    ("rms_norm", "outputs"): "the row's shape is a literal",
    ("as_strided", "first"): "PyTorch's gradient of a view's memory outside of the view is lost",
    ("cosine_similarity", "first"): "of one number: 0 by definition, and terms of any size cancel",
    ("cosine_similarity", "second"): "as above",
    ("squeeze", "shape"): "the row's dims are literals", ("Tensor.squeeze", "shape"): "as above",
    ("channel_shuffle", "shape"): "the row's shape is a literal",
    ("Tensor.index_put_", "out of bounds"): "indices are checked, also where no element is taken",
    ("adaptive_avg_pool2d", "input not empty"): REFUSED,
    ("nn.unchanged", "needs [N, C"): "of feature_alpha_dropout, as below", ("pool.unchanged", "must be [N, C"): REFUSED,
    ("roll", "out of range"): "PyTorch looks at no dim where x is empty",
    ("nn.unchanged", "spatial dims"): "PyTorch warns that other ranks of dropout2d will be an error",
    ("view.unchanged", "shape"): "the row's shape is a literal",
    ("Tensor.mT", "needs rank 2"): "PyTorch warns that a number's mT will be an error",
}


def numel(shape):
    return math.prod(shape)


def new_shapes(sample, rng):
    """Shapes for the inputs, or None where this sample has none to change."""
    old = [tuple(i["shape"]) for i in sample["inputs"]]
    free = [i["kind"] != GIVEN for i in sample["inputs"]]
    if not any(free):
        return None
    how = rng.random()
    if how < 0.45 and all(free):
        same = len({s for s in old}) == 1
        if same:
            shape = tuple(rng.choice(SIZES) for _ in range(rng.randint(0, 5)))
            if len(old) > 1 and rng.random() < 0.4:
                return [tuple(1 if rng.random() < 0.3 else d for d in shape)[rng.randint(0, len(shape)) if k and
                        rng.random() < 0.3 else 0:] for k in range(len(old))]
            return [shape] * len(old)
    if how < 0.6 and all(free):
        front = tuple(rng.choice((1, 2, 3)) for _ in range(rng.randint(1, 2)))
        return [front + s for s in old]
    drawn = {}
    return [tuple(drawn.setdefault(d, rng.choice(SIZES)) if d != 1 or rng.random() < 0.3 else 1 for d in s) if f else s
            for s, f in zip(old, free)]


def bfloat(v):
    return torch.tensor(v, dtype=torch.float64).float().bfloat16().double()


def drawn_values(spec, shape, kind, rng):
    """A float64 or int64 tensor; kind: float, signed, unsigned, bool."""
    n = numel(shape)
    if spec["kind"] == GIVEN:
        return torch.tensor([float(v) for v in spec["float" if kind == "float" else kind]], dtype=torch.float64)
    if kind == "bool":
        return torch.tensor([rng.random() < 0.5 for _ in range(n)], dtype=torch.float64)
    if spec["kind"] == DISTINCT:
        order = list(range(n))
        rng.shuffle(order)
        middle = 0 if kind == "unsigned" else n // 2
        whole = torch.tensor(order, dtype=torch.float64) - middle
        return (whole + 0.5) / 16 if kind == "float" else whole
    low, high, away = spec["lo"], spec["hi"], spec["away"]
    if kind != "float":
        low, high = math.ceil(low), math.floor(high)
        if kind == "unsigned":
            low, high = max(low, 0), max(high, 1)
    values = []
    while len(values) < n:
        if kind == "float":
            v = low + (high - low) * rng.random()
            v = bfloat(v).item()
            if not low <= v <= high:
                continue
        else:
            v = rng.randint(low, high)
        if abs(v) >= away:
            values.append(v)
    return torch.tensor(values, dtype=torch.float64)


def kind_of(dtype):
    if dtype in FLOATS:
        return "float"
    return "bool" if dtype == "bool" else "unsigned" if dtype.startswith("uint") else "signed"


def weights(k, t, by):
    i = torch.arange(t.numel(), dtype=torch.float64)
    return moved((0.25 + ((i * 7 + k * 3) % 13) / 8.0).reshape(t.shape), by)


def moved(t, by):
    """t, every element a relative step up or down, by = (generator, step); as it is without."""
    if by is None:
        return t
    signs = torch.randint(0, 2, t.shape, generator=by[0]).double() * 2 - 1
    return t * (1 + by[1] * signs)


def evaluate(code, tensors, run_as):
    names = {f"x{i}": t for i, t in enumerate(tensors)}
    names.update(torch=torch, F=F, vision=vision, math=math, inf=math.inf, nan=math.nan, dtype=getattr(torch, run_as))
    out = eval(code, names)
    many = list(out) if isinstance(out, (tuple, list)) else [out]
    return [t if isinstance(t, torch.Tensor) else torch.tensor(t) for t in many]


def shared_with(tensors, outputs):
    """For each output the inputs whose memory it is a part of."""
    at = [t.storage().data_ptr() if t.numel() else 0 for t in tensors]
    return [[i for i, p in enumerate(at) if p and p == t.storage().data_ptr()] for t in outputs]


def gradient(outputs, first_weight, wanted, again, by):
    total = [(weights(first_weight + k, t, by) * t).sum() for k, t in enumerate(outputs)
             if t is not None and t.dtype == torch.float64 and t.requires_grad]
    if not total:
        return [None] * len(wanted)
    return torch.autograd.grad(sum(total), wanted, allow_unused=True, create_graph=again)


def all_of(code, tensors, graded, order, by=None):
    """Outputs, gradients and second derivatives in float64, as far as PyTorch has them; of inputs and weights that are
    moved, where it is said by how much."""
    inputs = [moved(t, by) if t.dtype == torch.float64 else t for t in tensors]
    inputs = [t.clone().requires_grad_(order > 0 and g) for t, g in zip(inputs, graded)]
    wanted = [t for t, g in zip(inputs, graded) if g]
    outputs = evaluate(code, inputs, "float64")
    levels = [outputs]
    if order and wanted:
        try:
            first = gradient(outputs, 0, wanted, True, by)
            levels.append([torch.zeros_like(x) if g is None else g for g, x in zip(first, wanted)])
            second = gradient(first, 5, wanted, False, by)
            levels.append([torch.zeros_like(x) if g is None else g for g, x in zip(second, wanted)])
        except (RuntimeError, NotImplementedError):
            pass
    return [[t.detach() for t in level] for level in levels]


def spread_of(code, tensors, graded, order, levels, gen, draws, step):
    """How far every number moves if the inputs do, divided by the relative step."""
    most = [[torch.zeros(t.shape, dtype=torch.float64) for t in level] for level in levels]
    for _ in range(draws):
        try:
            others = all_of(code, tensors, graded, order, (gen, step))
        except REFUSES:
            others = []
        for k, level in enumerate(levels):
            for i, t in enumerate(level):
                if t.dtype != torch.float64:
                    continue
                if k >= len(others) or others[k][i].shape != t.shape:
                    most[k][i].fill_(math.inf)
                    continue
                most[k][i] = torch.maximum(most[k][i], torch.nan_to_num((others[k][i] - t).abs() / step, nan=0.0))
    return most


def as_json(t):
    return [v if math.isfinite(v) else "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"
            for v in t.double().reshape(-1).tolist()]


class Wick:
    def __init__(self, program):
        self.program = program
        self.begin()

    def begin(self):
        self.process = subprocess.Popen([self.program, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, bufsize=1)

    def ask(self, case):
        try:
            self.process.stdin.write(json.dumps(case) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        code = self.process.wait()
        self.begin()
        return {"error": f"the program ended ({code})", "order": -1}


def difference(got, want, spread, dtype, factor):
    """None, or the worst element's text."""
    if list(want.shape) != got["shape"]:
        return f"shape {got['shape']}, PyTorch has {list(want.shape)}"
    ours = torch.tensor([float(v) for v in got["values"]], dtype=torch.float64)
    want = want.double().reshape(-1)
    if dtype not in UNIT:
        off = (ours != want) & ~(ours.isnan() & want.isnan())
        bound = torch.zeros_like(want)
    else:
        u, largest = UNIT[dtype], LARGEST[dtype]
        bound = factor * u * (want.abs() + spread.reshape(-1)) + 2 * TINY[dtype]
        wide = want.abs() + bound > largest  # may be infinite there
        off = ~((ours - want).abs() <= bound) & (ours != want) & ~(ours.isnan() & want.isnan()) & ~wide
    if not off.any():
        return None
    i = int(off.nonzero()[0])
    return f"element {i}: {ours[i].item()!r}, PyTorch has {want[i].item()!r}, bound {bound[i].item():.2g}"


class Case:
    """A sample at new shapes, with PyTorch's answers; None in `levels` where it has none."""

    def __init__(self, sample, shapes, dtypes, rng, gen):
        self.sample, self.shapes, self.dtypes, self.gen = sample, shapes, dtypes, gen
        self.floats = dtypes[0] in FLOATS
        self.code = compile(sample["torch"].strip(), sample["key"], "eval")
        self.tensors, self.specs, self.levels, self.spread, self.shared = [], [], None, None, []
        for spec, shape in zip(sample["inputs"], shapes):
            fixed = spec["fixed"]
            values = drawn_values(spec, shape, kind_of(fixed or dtypes[0]), rng)
            run_as = fixed or dtypes[0]
            self.tensors.append(values.reshape(shape).to(torch.float64 if run_as in FLOATS else getattr(torch, run_as)))
            self.specs.append({"shape": list(shape), "values": as_json(values), "dtype": fixed,
                               "grad": bool(spec["gradient"]) and self.floats})
        self.graded = [s["grad"] for s in self.specs]
        try:
            if self.floats:
                self.levels = all_of(self.code, self.tensors, self.graded, 2 if sample["gradient"] else 0)
                self.look_closer(3, STEP)
            else:
                self.levels = [evaluate(self.code, [t.clone() for t in self.tensors], dtypes[0])]
            own = [t.clone() for t in self.tensors]
            self.shared = shared_with(own, evaluate(self.code, own, "float64" if self.floats else dtypes[0]))
        except REFUSES:
            self.levels = None

    def look_closer(self, draws, step):
        more = spread_of(self.code, self.tensors, self.graded, len(self.levels) - 1, self.levels, self.gen, draws, step)
        self.spread = more if self.spread is None else [
            [torch.maximum(a, b) for a, b in zip(x, y)] for x, y in zip(self.spread, more)]

    def largest(self, level):
        """Of the numbers up to that level."""
        all_numbers = [t.double().reshape(-1) for each in self.levels[:level + 1] for t in each]
        finite = torch.cat(all_numbers).abs() if all_numbers else torch.zeros(0)
        finite = finite[finite.isfinite()]
        return float(finite.max()) if finite.numel() else 0.0

    def differs(self, wick, dtype, count):
        """"" or what is wrong; counts what is right."""
        order = len(self.levels) - 1 if dtype in ("float64", "float32") else 0
        got = wick.ask({"row": self.sample["row"], "sample": self.sample["sample"], "dtype": dtype, "order": order,
                        "inputs": self.specs})
        normwise = 0.0
        if self.floats and self.sample["name"].startswith(NORMWISE):
            normwise = max([float(t.abs().max()) for t in self.tensors if t.numel()] + [0.0])
        for k, name in enumerate(LEVELS[:order + 1]):
            if name not in got:
                return f"{name}: {got.get('error', 'nothing')}"
            if len(got[name]) != len(self.levels[k]):
                return f"{len(got[name])} {name}, PyTorch has {len(self.levels[k])}"
            for i, (ours, want) in enumerate(zip(got[name], self.levels[k])):
                room = torch.zeros(want.shape, dtype=torch.float64)
                if self.floats and want.dtype == torch.float64:
                    room = self.spread[k][i] + normwise + (self.largest(k) if k else 0)
                text = difference(ours, want, room, ours["dtype"], FACTORS.get(self.sample["name"], 64.0))
                if text:
                    return f"{name} {i}: {text}"
            count[name] += 1
        if dtype == ("float64" if self.floats else self.dtypes[0]) and got["shared"] != self.shared:
            return f"memory of inputs {got['shared']}, PyTorch shares {self.shared}"
        return ""


def compare(sample, shapes, rng, gen, wick, count, faults):
    groups = collections.defaultdict(list)
    for dtype in sample["dtypes"]:
        if dtype not in ABSENT:
            groups["float" if dtype in FLOATS else dtype].append(dtype)
    for dtypes in groups.values():
        case = Case(sample, shapes, dtypes, rng, gen)
        if case.levels is None:
            count["refused"] += 1
            continue
        for dtype in dtypes:
            told = case.differs(wick, dtype, count)
            if told and case.floats:
                case.look_closer(20, SMALL_STEP)
                told = case.differs(wick, dtype, collections.Counter())
            if not told:
                continue
            known = [why for (name, part), why in KNOWN.items() if name == sample["name"] and part in told]
            if known:
                count["known"] += 1
            else:
                faults[sample["key"]].append(f"{dtype} {shapes}: {told}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=100_000, help="of values: a function, dtype and shape")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    options = parser.parse_args()
    rows = json.loads(subprocess.run([options.program, "--rows"], check=True, capture_output=True, text=True).stdout)
    samples = [s for s in rows if s["mark"] not in (RANDOM, CREATION, KINK) and not s["name"].endswith("_out") and
               (options.only is None or s["name"] == options.only)]  # `out` has the shape that its row says
    rng, gen = random.Random(options.seed), torch.Generator().manual_seed(options.seed)
    wick, count, reached = Wick(options.program), collections.Counter(), collections.Counter()
    faults = collections.defaultdict(list)
    while count["outputs"] < options.count:
        before = count["outputs"]
        for sample in samples:
            shapes = new_shapes(sample, rng)
            if shapes is None or any(numel(s) > (128 if i["kind"] == DISTINCT else MOST)
                                     for s, i in zip(shapes, sample["inputs"])):
                continue  # bfloat16 and int8 hold no more than 128 different ones
            done = count["outputs"]
            compare(sample, shapes, rng, gen, wick, count, faults)
            reached[sample["name"]] += count["outputs"] - done
        if count["outputs"] == before:
            break
    for key, texts in sorted(faults.items()):
        print(f"{key}: {len(texts)} differ, such as {texts[0][:400]}")
    functions = len([n for n, k in reached.items() if k])
    print(f"COUNT: random shapes: {functions} functions, {count['outputs']} function x dtype x shape values, "
          f"{count['first']} gradients and {count['second']} second derivatives beside PyTorch; "
          f"{count['refused']} shapes that PyTorch refuses; {count['known']} that are known to differ, "
          f"{sum(map(len, faults.values()))} unexplained")
    print(f"{int(not faults)} passed, {int(bool(faults))} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
