"""Modules as models, and state_dicts in files."""

from __future__ import annotations

import os
import zipfile
from typing import Any, Mapping, Sequence

import numpy as _np

from .. import _train
from .._errors import InvalidArgument
from .._train import Tensor
from ._functions import tensor
from ._modes import no_grad
from .nn.module import Module


_LARGEST = 1 << 20  # DynamicDim's own


def _bounds(size: str | tuple[str, int, int]) -> tuple[str, int, int]:
    return (size, 1, _LARGEST) if isinstance(size, str) else size


def export(
    module: Module,
    inputs: Mapping[str, Tensor],
    path: str | os.PathLike[str],
    *,
    dynamic: Mapping[str, Mapping[int, str | tuple[str, int, int]]] | None = None,
    outputs: Sequence[str] = ("output",),
    labels: Sequence[str] = (),
    opset: Any = 0,
) -> None:
    """Writes a module's forward to a .wick or .onnx file.

    inputs: an example of each by its name, in forward's order. dynamic: sizes that may differ, {"image": {0: "batch"}}, or
    with the least and the largest, {"image": {0: ("batch", 1, 64)}}.
    outputs: the names of what forward returns. labels: class names, which the file keeps. The forward runs several times,
    at several sizes; what depends on data in a way that no graph has is an error that names the line, and the graph is
    compared with forward, to the bit. The module is in eval mode meanwhile.
    """
    unknown = [name for name in dynamic or {} if name not in inputs]
    if unknown:
        raise InvalidArgument(f"[export] dynamic names '{unknown[0]}', which is no input; there are: {', '.join(inputs)}")
    given = [
        (name, example, {dim: _bounds(size) for dim, size in (dynamic or {}).get(name, {}).items()})
        for name, example in inputs.items()
    ]
    state: list[tuple[str, Tensor, bool]] = [(name, p, True) for name, p in module.named_parameters()]
    state += [(name, b, False) for name, b in module.named_buffers()]
    was = module.training
    module.eval()

    def call(*tensors: Tensor) -> list[Tensor]:
        made = module(*tensors)
        return list(made) if isinstance(made, (list, tuple)) else [made]

    try:
        with no_grad():
            _train._export(state, given, call, list(outputs), list(labels), os.fspath(path), opset)
    finally:
        module.train(was)


def save(obj: Mapping[str, Tensor], f: str | os.PathLike[str]) -> None:
    """Writes a state_dict as an .npz file: arrays by name, which need no code to be read."""
    with open(f, "wb") as file:
        with zipfile.ZipFile(file, "w") as members:  # np.savez cannot write an array called "file"
            for name, value in obj.items():
                with members.open(f"{name}.npy", "w") as member:
                    _np.lib.format.write_array(member, value.detach().numpy(), allow_pickle=False)


def load(f: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Reads what save() wrote."""
    with _np.load(f, allow_pickle=False) as arrays:
        return {name: tensor(arrays[name]) for name in arrays.files}
