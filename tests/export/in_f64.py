#!/usr/bin/env python3
"""ONNX files in float64, by ONNX's own reference (onnx.reference, on numpy): what rounding is measured against.

  in_f64.py FOLDER   FOLDER/NAME/model_OPSET.onnx with FOLDER/NAME/TURN/in_0.npy ...: writes
                     TURN/f64_OPSET_0.npy ... and FOLDER/NAME/f64_OPSET.txt with the reason where it cannot

Needs tools/scripts/setup_onnx.sh, whose Python it re-executes itself with; exit 77 without it.
"""

import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(ROOT, "build", "onnx", "venv")
SECONDS = 20  # of one file: recurrences and convolutions are loops of Python


def double(graph, keep=()):
    """float32 of the graph becomes float64: inputs, constants, casts. `keep`: names that stay what they are."""
    import numpy as np
    from onnx import TensorProto, numpy_helper
    # the scales and the region of a Resize are float32 whatever it resizes
    keep = set(keep) | {name for n in graph.node if n.op_type == "Resize" for name in list(n.input)[1:3]}

    def widened(t):
        if t.data_type == TensorProto.FLOAT and t.name not in keep:
            name = t.name
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float64), name))

    for t in graph.initializer:
        widened(t)
    for info in list(graph.input) + list(graph.output) + list(graph.value_info):
        kind = info.type.tensor_type
        if kind.elem_type == TensorProto.FLOAT:
            kind.elem_type = TensorProto.DOUBLE
    for n in graph.node:
        for a in n.attribute:
            if a.HasField("t") and not (n.op_type == "Constant" and n.output[0] in keep):
                widened(a.t)
            if a.HasField("g"):
                double(a.g, keep)
            if a.name in ("to", "dtype") and a.i == TensorProto.FLOAT:
                a.i = TensorProto.DOUBLE


def loops_that_stack(graph):
    """Loops with outputs of every trip, which the reference joins along the first dimension instead of stacking."""
    for n in graph.node:
        if n.op_type == "Loop" and len(n.output) > len(n.input) - 2:
            return True
        if any(a.HasField("g") and loops_that_stack(a.g) for a in n.attribute):
            return True
    return False


def run(path, turns, opset):
    import numpy as np
    import onnx
    from onnx.reference import ReferenceEvaluator
    begin = time.monotonic()
    model = onnx.load(path)
    if loops_that_stack(model.graph):
        return "the reference joins what a Loop stacks"
    double(model.graph)
    session = ReferenceEvaluator(model)
    for turn in turns:
        if time.monotonic() - begin > SECONDS:
            return f"over {SECONDS} s"
        names = sorted((n for n in os.listdir(turn) if n.startswith("in_")), key=lambda n: int(n[3:-4]))
        feeds = {}
        for info, name in zip(model.graph.input, names):
            a = np.load(os.path.join(turn, name))
            feeds[info.name] = a.astype(np.float64) if a.dtype == np.float32 else a
        for k, out in enumerate(session.run(None, feeds)):
            np.save(os.path.join(turn, f"f64_{opset}_{k}.npy"), out)
    return ""


def main():
    python = os.path.join(VENV, "bin", "python")
    if os.path.abspath(sys.prefix) != os.path.abspath(VENV):
        if not os.path.exists(python):
            return 77
        os.execv(python, [python] + sys.argv)
    import warnings
    warnings.filterwarnings("ignore")
    for name in sorted(os.listdir(sys.argv[1])):
        here = os.path.join(sys.argv[1], name)
        turns = [os.path.join(here, t) for t in sorted(os.listdir(here)) if t.isdigit()]
        for model in sorted(n for n in os.listdir(here) if n.endswith(".onnx")):
            opset = model[len("model_"):-len(".onnx")]
            try:
                why = run(os.path.join(here, model), turns, opset)
            except Exception as e:  # of the reference: an operator, a form, a dtype that it has not
                why = f"{type(e).__name__}: {e}".replace("\n", " ")[:200]
            if why:
                with open(os.path.join(here, f"f64_{opset}.txt"), "w", encoding="utf-8") as f:
                    f.write(why + "\n")
    return 0


sys.exit(main())
