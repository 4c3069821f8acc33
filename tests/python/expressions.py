"""Evaluates expressions.txt, in wick.train or in torch: lines of Python with a few values at hand."""

import contextlib
import copy
import io
import math
import os
import pickle
import tempfile
import warnings
from collections import OrderedDict

import numpy as np

R = np.random.RandomState(0)
A, V, M, IMAGES, VOLUME = (R.randn(*shape).astype(np.float32) for shape in ((2, 3), (4,), (3, 3), (2, 3, 8, 8), (1, 3, 4, 4, 4)))


def lines():
    """Returns the expressions."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "expressions.txt"), encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def names(torch, folder):
    """Returns what an expression finds."""

    class It(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter([1, 2, 3])

    of = torch.from_numpy
    p1, p2 = (of(A.copy()).requires_grad_() for _ in range(2))
    p1.grad = torch.ones_like(p1.detach())
    found = {"x": of(A.copy()), "v": of(V.copy()), "M": of(M.copy()), "P": of(M @ M.T + 3 * np.eye(3, dtype=np.float32)), "A": A.copy()}
    found |= {"I": torch.tensor([[1, 2, 3], [3, 0, 1]]), "B": torch.tensor([True, False]), "img": of(IMAGES.copy()), "vol": of(VOLUME.copy())}
    found |= {"p1": p1, "p2": p2, "It": It, "tmp": folder, "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "optim": torch.optim}
    found |= {"data": torch.utils.data, "D": torch.distributions, "np": np, "math": math, "copy": copy, "io": io, "pickle": pickle}
    return found | {"OrderedDict": OrderedDict}


def evaluate(torch, line):
    """Returns the value of an expression, as numbers, texts and lists."""
    source = line.replace("\\n", "\n")
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory(prefix="wick-test-") as folder, warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        known = names(torch, folder)
        try:
            code = compile(source, line, "eval")
        except SyntaxError:
            exec(compile(source, line, "exec"), known)  # noqa: S102: the file is ours
            return plain(torch, known["r"])
        return plain(torch, eval(code, known))  # noqa: S307


def plain(torch, value):
    """Returns a value without what torch and wick.train have of their own."""
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).rpartition(".")[2]
        array = (value.detach().float() if kind == "bfloat16" else value.detach()).numpy()
        return [kind, list(array.shape), array.astype(np.float64).ravel().tolist()]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), list(value.shape), value.astype(np.float64).ravel().tolist()]
    if isinstance(value, dict):
        return [[str(k), plain(torch, v)] for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(torch, v) for v in value]
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    return value.item() if isinstance(value, np.generic) else type(value).__name__


def same(mine, theirs):
    """Returns whether two such values are equal; floats to a few units in the last place of float32."""
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    if isinstance(mine, float) and isinstance(theirs, float):
        return mine == theirs or (math.isnan(mine) and math.isnan(theirs)) or abs(mine - theirs) <= 2e-5 * max(1.0, abs(theirs))
    return type(mine) is type(theirs) and mine == theirs
