"""Modules as models, and tensors in files."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from typing import Any, Mapping, Sequence

import numpy as _np

from .. import _train
from .._errors import Error, InvalidArgument, TypeMismatch, Unsupported, error_of_os, whole
from .._files import replacing
from .._train import Tensor
from . import _safetensors
from ._functions import tensor
from ._modes import no_grad
from .nn.module import Module


_LARGEST = 1 << 20  # DynamicDim's own


def _sizes(name: str, dynamic: Mapping[int, Any]) -> dict[int, tuple[str, int, int]]:
    """Returns the dynamic sizes of an input as C++ takes them: the symbol, the least and the largest, by dim."""
    made: dict[int, tuple[str, int, int]] = {}
    for dim, size in dynamic.items():
        symbol, least, largest = (size, 1, _LARGEST) if isinstance(size, str) else size if _is_bounds(size) else (None, 0, 0)
        if symbol is None:
            raise InvalidArgument(f"[export] a dynamic size is {size!r}, must be a name, or (name, least, largest)")
        made[whole(f"[export] a dynamic dim of '{name}'", dim, -8, 7)] = (symbol, least, largest)
    return made


def _is_bounds(size: Any) -> bool:
    if not isinstance(size, (tuple, list)) or len(size) != 3:
        return False
    return isinstance(size[0], str) and all(isinstance(n, int) for n in size[1:])


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
    compared with forward, to the bit. Modules are in eval mode meanwhile, and as they were afterwards.
    """
    target = os.fsdecode(path)
    if not target.endswith((".wick", ".onnx")):
        raise InvalidArgument(f"[export] the file is {target}: its name must end in .wick or .onnx")
    names = [outputs] if isinstance(outputs, str) else list(outputs)
    if isinstance(labels, str):
        raise InvalidArgument(f"[export] labels is '{labels}', must be a list of names")
    unknown = [name for name in dynamic or {} if name not in inputs]
    if unknown:
        raise InvalidArgument(f"[export] dynamic names '{unknown[0]}', which is no input; there are: {', '.join(inputs)}")
    for name, example in inputs.items():
        if not isinstance(example, Tensor):
            raise TypeMismatch(f"[export] the example of '{name}' is a {type(example).__name__}, must be a tensor")
    given = [(name, example, _sizes(name, (dynamic or {}).get(name, {}))) for name, example in inputs.items()]
    # True for what is trained, which C++ would make require a gradient: frozen parameters are held as buffers.
    state: list[tuple[str, Tensor, bool]] = [(name, p, p.requires_grad) for name, p in module.named_parameters()]
    state += [(name, b, False) for name, b in module.named_buffers()]
    modes = [(m, m.training) for m in module.modules()]

    def call(*tensors: Tensor) -> list[Tensor]:
        made = module(*tensors)
        listed = list(made) if isinstance(made, (list, tuple)) else [made]
        for each in listed:
            if not isinstance(each, Tensor):
                raise TypeMismatch(f"[export] forward returns a {type(each).__name__}, must return tensors")
        return listed

    try:
        module.eval()
        with no_grad():
            _train._export(state, given, call, names, list(labels), target, opset)
    finally:
        for each, training in modes:
            if each.training != training:
                each.training = training


def save(obj: Any, f: Any) -> None:
    """Writes tensors, numbers, texts, bools and None, and dicts, lists and tuples of them: a state_dict, an optimizer's, a
    checkpoint {"model": ..., "optimizer": ..., "epoch": 3}.

    The file is safetensors, which need no code to be read, with the structure in its metadata. A name that ends in .npz
    makes a file of numpy's, of tensors by name alone. An error leaves the file that was there. TypeMismatch: something in
    obj has no place in a file; Unsupported: a dtype that numpy has not, in an .npz. f: a name, or a file that is open for bytes.
    """
    if hasattr(f, "write") or not os.fsdecode(f).endswith(".npz"):
        _safetensors.write(obj, f)
        return
    if not isinstance(obj, Mapping):
        raise TypeMismatch(f"[save] obj is a {type(obj).__name__}: an .npz holds tensors by name, a .safetensors all else")
    for name, value in obj.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise TypeMismatch(f"[save] '{name}' is a {type(value).__name__}: an .npz holds tensors by name, a .safetensors all else")
    with replacing(f) as file, zipfile.ZipFile(file, "w") as members:  # np.savez cannot write an array called "file"
        for name, value in obj.items():
            with members.open(f"{name}.npy", "w", force_zip64=True) as member:
                _np.lib.format.write_array(member, value.detach().numpy(), allow_pickle=False)


def _moved(obj: Any, where: Any) -> Any:
    if where is None:
        return obj
    if isinstance(obj, Tensor):
        return obj.to(where)
    if isinstance(obj, dict):
        return type(obj)((key, _moved(value, where)) for key, value in obj.items())
    return type(obj)(_moved(value, where) for value in obj) if isinstance(obj, (list, tuple)) else obj


def _name(f: Any) -> str:
    return "the open file" if hasattr(f, "read") else os.fsdecode(f)


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Returns what save() was given, with the same structure; tensors are new, on the CPU. Also reads safetensors of others.

    f: a name, or a file that is open for bytes. map_location: the device of the tensors. weights_only decides nothing: no file holds code.

    NoSuchFile, IOFailure: the file cannot be read; InvalidArgument: it is no such file.
    """
    try:
        with io.BytesIO(f.read()) if hasattr(f, "read") else open(f, "rb") as file:
            packed = file.read(2) == b"PK"
            file.seek(0)
            if not packed:
                return _moved(_safetensors.read(file), map_location)
            with zipfile.ZipFile(file) as members:
                if any(name.endswith("data.pkl") for name in members.namelist()):
                    raise Unsupported(
                        f"[load] {_name(f)} is a file of PyTorch's, whose structure is code: there, write the state_dict by "
                        "safetensors.torch.save_file(state, path), or np.savez(path, **{name: t.numpy() for name, t in state.items()})"
                    )
            file.seek(0)
            with _np.load(file, allow_pickle=False) as arrays:
                return {name: tensor(arrays[name], device=map_location) for name in arrays.files}
    except OSError as why:
        if isinstance(why, Error):
            raise
        raise error_of_os(f"[load] {_name(f)} cannot be read", why) from why
    except (zipfile.BadZipFile, zlib.error, EOFError, AttributeError, TypeError, ValueError) as why:
        if isinstance(why, Error):
            raise
        raise InvalidArgument(f"[load] {_name(f)} is no file that save() wrote: {why}") from why
