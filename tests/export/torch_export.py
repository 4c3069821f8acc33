"""The half of in_torch.py that needs PyTorch: exports the mirrors and keeps what they give in eager mode.

  torch_export.py CORPUS OUT   CORPUS: what test_export wrote (WICK_CORPUS_FOLDER), whose inputs and weights are taken

Writes OUT/{layers,forms,models,traps}/NAME/model.onnx, TURN/in_0.npy ..., TURN/out_0.npy ... and OUT/report.json. Turns
from 100 on are at sizes that test_export does not have.
"""

import json
import os
import sys
import warnings

sys.dont_write_bytecode = True
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch_forms  # noqa: E402
import torch_layers  # noqa: E402
import torch_models  # noqa: E402
import torch_traps  # noqa: E402
from torch_corpus import BATCH_TIME, Form, Input, Program, some_floats  # noqa: E402

OPSETS = (17, 16)
# The amount by which each free size exceeds its smallest, in turn: small ones next to each other and large ones.
MORE = ((1, 3, 2), (2, 1, 3), (3, 2, 1), (5, 8, 6), (20, 40, 33))


def flat(value):
    return [value] if isinstance(value, torch.Tensor) else [t for v in value for t in flat(v)]


def eager(module, inputs):
    return [t.detach().numpy() for t in flat(module(*[torch.from_numpy(i.copy()) for i in inputs]))]


def arrays(folder, what):
    names = sorted((n for n in os.listdir(folder) if n.startswith(what)), key=lambda n: int(n[len(what):-4]))
    return [np.load(os.path.join(folder, n)) for n in names]


def take_weights(module, model):
    """Wick's parameters and buffers, by their keys. False where the file has another set of them."""
    try:
        import onnx.numpy_helper
    except ImportError:
        return not module.state_dict()
    file = onnx.load(model)
    have = {i.name: torch.from_numpy(onnx.numpy_helper.to_array(i).copy()) for i in file.graph.initializer}
    want = {k: v for k, v in module.state_dict().items() if not k.endswith("num_batches_tracked")}
    if any(k not in have or have[k].shape != v.shape for k, v in want.items()):
        return False
    module.load_state_dict({k: have[k] for k in want}, strict=False)
    return True


def mirrors(got, want, numbers):
    """What keeps the mirror from being Wick's module: "" where nothing does."""
    kinds = [[(str(a.dtype), a.shape) for a in side] for side in (got, want)]
    if kinds[0] != kinds[1]:
        return f"gives {kinds[0]}, Wick's gives {kinds[1]}"
    if not numbers:
        return ""
    for g, w in zip(got, want):
        far = np.abs(np.where(g == w, 0, g.astype(np.float64) - w.astype(np.float64)))
        if not np.nanmax(far, initial=0) <= 1e-4 * max(np.abs(w[np.isfinite(w)]).max(initial=0), 1e-30):
            return "gives other numbers than Wick's"
    return ""


def export(program, path, varying):
    """How it went: {"opset", "warned"} or {"refused", "warned"}."""
    names = [f"out_{k}" for k in range(len(varying))]
    axes = {i.name: i.dims for i in program.inputs}
    axes.update({n: {d: f"{n}_{d}" for d in dims} for n, dims in zip(names, varying) if dims})
    warned, refused = [], ""
    for opset in OPSETS:
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                torch.onnx.export(program.module, tuple(i.example.clone() for i in program.inputs), path,
                                  opset_version=opset, input_names=[i.name for i in program.inputs],
                                  output_names=names, dynamic_axes=axes)
            return {"opset": opset, "warned": warned_of(caught)}
        except Exception as e:  # any refusal
            text = f"{type(e).__name__}: {e}"
            refused, warned = refused or text, warned or warned_of(caught)
    return {"refused": refused, "warned": warned}


def warned_of(caught):
    """The tracer's warnings, and the exporter's."""
    return [str(w.message) for w in caught
            if issubclass(w.category, torch.jit.TracerWarning) or os.path.join("torch", "onnx") in w.filename]


def save(folder, turn, what, values):
    os.makedirs(os.path.join(folder, turn), exist_ok=True)
    for k, value in enumerate(values):
        np.save(os.path.join(folder, turn, f"{what}_{k}.npy"), value)


def more_turns(program, turns):
    """Inputs at further sizes. The first of turns has the smallest; ids stay below the largest that was seen."""
    random, least, found = np.random.default_rng(1), {}, {}
    for i, array in zip(program.inputs, next(iter(turns.values()), [])):
        least.update({name: array.shape[d] for d, name in i.dims.items()})
    for k, more in enumerate(MORE if turns else ()):
        sizes = {name: n + more[j % len(more)] for j, (name, n) in enumerate(least.items())}
        found[str(100 + k)] = []
        for j, i in enumerate(program.inputs):
            shape = [sizes[i.dims[d]] if d in i.dims else n for d, n in enumerate(i.example.shape)]
            if i.example.dtype == torch.int64:
                array = random.integers(0, 1 + max(t[j].max() for t in turns.values()), shape)
            else:
                array = random.standard_normal(shape, np.float32)
                array = array if i.example.dtype == torch.float32 else array > 0.9
            found[str(100 + k)].append(array)
    return found


def one(program, folder, turns, corpus=None):
    """turns: {name: inputs}."""
    os.makedirs(folder)
    program.module.eval()
    numbers = corpus is not None and take_weights(program.module, os.path.join(corpus, "model_17.onnx"))
    report = {"mirror": "numbers" if numbers else "shapes", "inputs": [i.name for i in program.inputs]}
    shapes = []
    # After an export, whose tracing leaves nothing behind: what forward gives at each size.
    here = [i.example.numpy() for i in program.inputs]
    shapes.append([a.shape for a in eager(program.module, here)])
    for turn, inputs in turns.items():
        got = eager(program.module, inputs)
        shapes.append([a.shape for a in got])
        save(folder, turn, "in", inputs)
        save(folder, turn, "out", got)
        if corpus is not None and int(turn) < 100:
            differs = mirrors(got, arrays(os.path.join(corpus, turn), "out_"), numbers)
            if differs:
                report["mirror"] = f"at {[i.shape for i in inputs]} {differs}"
    varying = [[d for d in range(len(shape)) if len({s[k][d] for s in shapes if k < len(s)}) > 1]
               for k, shape in enumerate(shapes[0])]
    report.update(export(program, os.path.join(folder, "model.onnx"), varying))
    return report


def trap_turns():
    sizes = (1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 99, 100, 127, 128, 200)
    shapes = [(3, n, 8) for n in sizes] + [(n, 5, 8) for n in sizes]
    turns = {str(k): [some_floats(*s).numpy()] for k, s in enumerate(shapes)}
    # The example's size and others, with other data.
    others = [(2, 6, 8), (3, 1, 8), (3, 17, 8), (1, 5, 8)]
    return turns | {str(100 + k): [-some_floats(*s).numpy()] for k, s in enumerate(others)}


def main():
    corpus, out = sys.argv[1:]
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    report = {"version": torch.__version__, "programs": {}}
    parts = {"layers": torch_layers.programs(), "forms": torch_forms.programs(), "models": torch_models.programs(),
             "traps": (Program(name, Form(f), [Input("x", some_floats(2, 6, 8), BATCH_TIME)])
                       for name, f in torch_traps.TRAPS.items())}
    for part, programs in parts.items():
        found = report["programs"][part] = {}
        for program in programs:
            of, turns = None, trap_turns() if part == "traps" else {}
            if part != "traps":
                of = os.path.join(corpus, program.name)
                for turn in sorted((t for t in os.listdir(of) if t.isdigit()), key=int) if os.path.isdir(of) else []:
                    turns[turn] = arrays(os.path.join(of, turn), "in_")
                turns.update(more_turns(program, turns))
            try:
                found[program.name] = one(program, os.path.join(out, part, program.name), turns, of)
            except Exception as e:  # the mirror's own fault
                found[program.name] = {"mirror": f"{type(e).__name__}: {e}"}
    with open(os.path.join(out, "report.json"), "w", encoding="utf-8") as f:
        json.dump(report, f, indent=1)


main()
