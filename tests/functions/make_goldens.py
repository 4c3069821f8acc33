#!/usr/bin/python3
"""Writes the goldens of function rows: what PyTorch answers to each sample (Debian's python3-torch).

  make_goldens.py BUILD/tests/functions/test_functions FAMILY... | all

A family's file, goldens/FAMILY.json, is one line a sample:
  digest   of the inputs and the expression; the test refuses goldens of other ones
  values   dtype -> a list an output: [dtype, shape, payload]
  gradient a payload an input, or null: d(sum of outputs * fixed weights) / d(input) in float64
  payloads lists of numbers in row-major order; "nan", "inf", "-inf" as text
Floating-point values are computed in float64 on inputs that the dtype under test holds exactly, so one
payload serves float64 and float32, and one float16 and bfloat16; only the output's dtype comes from a
run in the dtype itself. Unsigned dtypes that PyTorch 1.13 lacks take int64's values.
"""

import json
import math
import os
import subprocess
import sys
import warnings

import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True
import vision  # noqa: E402

warnings.filterwarnings("ignore")
torch.set_num_threads(1)

HALF, FLOAT = ("float16", "bfloat16"), ("float64", "float32")
SIGNED = ("int8", "int16", "int32", "int64")
ABSENT = ("uint16", "uint32", "uint64")  # from PyTorch 1.13


def class_of(dtype):
    if dtype in HALF:
        return "half"
    if dtype in FLOAT:
        return "float"
    return "signed" if dtype in SIGNED else "bool" if dtype == "bool" else "unsigned"


def parsed(v):
    return float(v) if isinstance(v, str) else v


def inputs_of(sample, dtype, run_as):
    """The inputs with the values of `dtype`'s class, in the torch dtype `run_as`."""
    made = []
    for spec in sample["inputs"]:
        fixed = spec["fixed"]
        values = [parsed(v) for v in spec[class_of(fixed or dtype)]]
        t = torch.tensor(values, dtype=torch.float64).reshape(spec["shape"])
        made.append(t.to(getattr(torch, fixed or run_as)))
    return made


def evaluate(sample, inputs, run_as):
    torch.manual_seed(0)
    names = {f"x{i}": t for i, t in enumerate(inputs)}
    names.update(torch=torch, F=F, vision=vision, math=math, inf=math.inf, nan=math.nan, dtype=getattr(torch, run_as))
    out = eval(sample["torch"], names)  # the row's own expression
    many = list(out) if isinstance(out, (tuple, list)) else [out]
    return [t if isinstance(t, torch.Tensor) else torch.tensor(t) for t in many]


def name_of(dtype):
    return str(dtype).replace("torch.", "")


def output_dtypes(sample, dtype, ran_as, outputs):
    """The dtypes PyTorch gives the outputs when it runs in `dtype` itself."""
    if dtype in ABSENT:
        # an output that keeps uint8 keeps any unsigned dtype
        try:
            kept = [name_of(t.dtype) for t in evaluate(sample, inputs_of(sample, "uint8", "uint8"), "uint8")]
        except (RuntimeError, NotImplementedError):
            kept = ["uint8" if name_of(t.dtype) == "int64" else name_of(t.dtype) for t in outputs]
        return [dtype if k == "uint8" else k for k in kept]
    if dtype == ran_as:
        return [name_of(t.dtype) for t in outputs]
    try:
        return [name_of(t.dtype) for t in evaluate(sample, inputs_of(sample, dtype, dtype), dtype)]
    except (RuntimeError, NotImplementedError):
        return [dtype if name_of(t.dtype) == ran_as else name_of(t.dtype) for t in outputs]


def payload(t):
    values = t.detach().reshape(-1).tolist()
    if not values or not isinstance(values[0], float):
        return [int(v) for v in values]
    texts = {True: "nan"}
    return [texts[True] if math.isnan(v) else ("inf" if v > 0 else "-inf") if math.isinf(v) else
            int(v) if v == int(v) and abs(v) < 1e15 and not (v == 0 and math.copysign(1, v) < 0) else v for v in values]


def weights(k, t):
    w = [0.25 + (i * 7 + k * 3) % 13 / 8.0 for i in range(t.numel())]
    return torch.tensor(w, dtype=torch.float64).reshape(t.shape)


def gradient(sample):
    inputs = inputs_of(sample, "float64", "float64")
    wanted = []
    for spec, t in zip(sample["inputs"], inputs):
        if spec["gradient"]:
            wanted.append(t.requires_grad_())
    outputs = evaluate(sample, inputs, "float64")
    total = [(weights(k, t) * t).sum() for k, t in enumerate(outputs) if t.dtype == torch.float64 and t.requires_grad]
    if not total or not wanted:
        raise SystemExit(f"{sample['key']}: marked differentiable, but PyTorch records nothing")
    grads = iter(torch.autograd.grad(sum(total), wanted, allow_unused=True))
    result = []
    for spec, t in zip(sample["inputs"], inputs):
        g = next(grads) if spec["gradient"] else None
        result.append(torch.zeros_like(t) if g is None and spec["gradient"] else g)
    return result


def shared_with(sample, dtype):
    """For each output the inputs whose memory it is a part of: what PyTorch documents as a view, or as the tensor itself."""
    ran_as = "uint8" if dtype in ABSENT else dtype
    try:
        inputs = inputs_of(sample, dtype, ran_as)
        outputs = evaluate(sample, inputs, ran_as)
    except (RuntimeError, NotImplementedError):  # no such dtype on a CPU: as in float64 or int64
        ran_as = "float64" if dtype in HALF + FLOAT else "int64"
        inputs = inputs_of(sample, dtype, ran_as)
        outputs = evaluate(sample, inputs, ran_as)
    at = [t.storage().data_ptr() for t in inputs]
    return [[i for i, p in enumerate(at) if p and p == t.storage().data_ptr()] for t in outputs]


def golden(sample):
    payloads = []

    def keep(t):
        p = payload(t)
        for i, have in enumerate(payloads):
            if have == p and str(have) == str(p):
                return i
        payloads.append(p)
        return len(payloads) - 1

    line = {"digest": sample["digest"], "values": {}}
    for dtype in sample["dtypes"]:
        run_as = "float64" if dtype in HALF + FLOAT else "int64" if dtype in ABSENT else dtype
        try:
            outputs = evaluate(sample, inputs_of(sample, dtype, run_as), run_as)
        except (RuntimeError, NotImplementedError) as e:
            if run_as in ("float64", "int64"):
                raise SystemExit(f"{sample['key']} in {run_as}: {e}")
            print(f"{sample['key']}: PyTorch has no {dtype}: int64's values stand in", file=sys.stderr)
            outputs = evaluate(sample, inputs_of(sample, dtype, "int64"), "int64")
            names = [dtype if t.dtype == torch.int64 else name_of(t.dtype) for t in outputs]
        else:
            names = output_dtypes(sample, dtype, run_as, outputs)
        line["values"][dtype] = [
            [name, list(t.shape), None if sample["random"] else keep(t)] for name, t in zip(names, outputs)]
    shared = {}
    for dtype in sample["dtypes"]:
        places = shared_with(sample, dtype)
        if any(places):
            shared[dtype] = places
    if shared:
        line["shared"] = shared
    if sample["gradient"]:
        line["gradient"] = [None if g is None else keep(g) for g in gradient(sample)]
    line["payloads"] = payloads
    return line


def main():
    program, families = sys.argv[1], sys.argv[2:]
    if families == ["all"]:
        families = subprocess.run([program, "--families"], check=True, capture_output=True, text=True).stdout.split()
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")
    for family in families:
        text = subprocess.run([program, "--dump", family], check=True, capture_output=True, text=True).stdout
        lines = []
        for sample in json.loads(text):
            try:
                line = golden(sample)
            except Exception as e:
                raise SystemExit(f"{sample['key']}: {sample['torch']}: {e}") from e
            lines.append(json.dumps(sample["key"]) + ":" + json.dumps(line, separators=(",", ":")))
        with open(os.path.join(folder, family + ".json"), "w", encoding="utf-8") as f:
            f.write("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{family}: {len(lines)} samples")


if __name__ == "__main__":
    main()
