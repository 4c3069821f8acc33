"""What save() writes: a file of the safetensors format, and in its metadata the structure that holds the tensors, as JSON.

Tensors lie under names that are made of the way to them ("model.fc.weight"), so that every reader of the format finds
them. The structure is a value of JSON, where an object with one member stands for what JSON has not:

    {"tensor": name}   {"dict": [[key, value], ...]}   {"tuple": [...]}   {"float": "nan", "inf" or "-inf"}
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from typing import Any, Mapping

import numpy as np

from .._errors import InvalidArgument, TypeMismatch
from .._files import replacing
from .._train import Tensor, dtype
from ._functions import from_numpy
from ._results import Size

_STRUCTURE = "wick.structure"
_METADATA = "__metadata__"
#: The format's own limit.
_MAX_HEADER = 100_000_000
_MAX_DEPTH = 64

#: The format's name and numpy's of each dtype; numpy has no bfloat16, whose bits it holds.
_TYPES: dict[dtype, tuple[str, str]] = {
    dtype.float64: ("F64", "<f8"),
    dtype.float32: ("F32", "<f4"),
    dtype.float16: ("F16", "<f2"),
    dtype.bfloat16: ("BF16", "<u2"),
    dtype.int64: ("I64", "<i8"),
    dtype.int32: ("I32", "<i4"),
    dtype.int16: ("I16", "<i2"),
    dtype.int8: ("I8", "|i1"),
    dtype.uint64: ("U64", "<u8"),
    dtype.uint32: ("U32", "<u4"),
    dtype.uint16: ("U16", "<u2"),
    dtype.uint8: ("U8", "|u1"),
    dtype.bool: ("BOOL", "|u1"),
}
_OF_NAME = {name: (kind, numpy) for kind, (name, numpy) in _TYPES.items()}


class _Writer:
    """Takes a value apart into tensors by name and a structure."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}

    def take(self, value: Any, way: tuple[str, ...]) -> Any:
        """Returns the structure of a value that lies at `way`."""
        if len(way) > _MAX_DEPTH:
            raise InvalidArgument(f"[save] '{'.'.join(way[:4])}...' lies deeper than {_MAX_DEPTH} levels: does obj hold itself?")
        if isinstance(value, Tensor):
            return {"tensor": self._add(value, way)}
        if value is None or isinstance(value, (bool, np.bool_)):
            return None if value is None else bool(value)
        if isinstance(value, (int, np.integer)):
            return int(value)
        if isinstance(value, (float, np.floating)):
            number = float(value)
            return number if math.isfinite(number) else {"float": repr(number)}
        if isinstance(value, str):
            return str(value)
        if isinstance(value, Mapping):
            return {"dict": [[self._key(k, way), self.take(v, (*way, str(k)))] for k, v in value.items()]}
        if type(value) in (list, tuple, Size):  # a shape comes back as a tuple
            parts = [self.take(v, (*way, str(i))) for i, v in enumerate(value)]
            return parts if isinstance(value, list) else {"tuple": parts}
        raise TypeMismatch(f"[save] {_at(way)} is a {type(value).__name__}: {_hint(value)}")

    def _key(self, key: Any, way: tuple[str, ...]) -> Any:
        if key is None or isinstance(key, (str, bool, int, float)):
            return self.take(key, way)
        raise TypeMismatch(f"[save] a key of {_at(way)} is a {type(key).__name__}, must be a text, a number or None")

    def _add(self, value: Tensor, way: tuple[str, ...]) -> str:
        wanted = ".".join(way) or "tensor"
        name, number = wanted, 2
        while name in self.tensors or name == _METADATA:  # "a.b", and "b" in "a"
            name, number = f"{wanted}#{number}", number + 1
        self.tensors[name] = value.detach()
        return name


def _at(way: tuple[str, ...]) -> str:
    return f"'{'.'.join(way)}'" if way else "obj"


def _hint(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "store a tensor of it (from_numpy)"
    if isinstance(value, tuple):
        return "store a plain tuple or a dict of it"
    if hasattr(value, "state_dict"):
        return "store its state_dict()"
    return "files hold tensors, numbers, texts, bools, None, and dicts, lists and tuples of them"


def _array(value: Tensor) -> np.ndarray[Any, Any]:
    """Returns the elements in the file's byte order, in a row."""
    kind = value.dtype
    bits = value.cpu().contiguous().view(dtype.uint16) if kind == dtype.bfloat16 else value
    array = np.ascontiguousarray(bits.numpy())
    return (array.view(np.uint8) if kind == dtype.bool else array).astype(_TYPES[kind][1], copy=False).reshape(-1)


def opened(path: Any) -> Any:
    """Returns a `with` for a file by its name, which is written whole or not at all, or for an open one."""
    return contextlib.nullcontext(path) if hasattr(path, "write") else replacing(path)


def write(obj: Any, path: Any) -> None:
    """Writes a file, whole or not at all. TypeMismatch: something in obj has no place in a file."""
    writer = _Writer()
    structure = writer.take(obj, ())
    # Wide elements first: each then lies at a multiple of its size, which readers that map files need.
    order = sorted(writer.tensors, key=lambda name: -writer.tensors[name].itemsize)
    at, spans = 0, {}
    for name in order:
        spans[name] = [at, at + writer.tensors[name].nbytes]
        at = spans[name][1]
    try:
        header: dict[str, Any] = {_METADATA: {_STRUCTURE: json.dumps(structure, allow_nan=False, separators=(",", ":"))}}
        for name, value in writer.tensors.items():
            header[name] = {"dtype": _TYPES[value.dtype][0], "shape": list(value.shape), "data_offsets": spans[name]}
        text = json.dumps(header, separators=(",", ":")).encode()
    except ValueError as why:  # an int of thousands of digits
        raise InvalidArgument(f"[save] a value cannot be written: {why}") from why
    text += b" " * (-len(text) % 8)
    if len(text) > _MAX_HEADER:
        raise InvalidArgument(f"[save] names and numbers take {len(text)} bytes, the format has room for {_MAX_HEADER}")
    with opened(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(_array(writer.tensors[name]).view(np.uint8).data)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands twice in the header")
    return made


def _never(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _json(text: str | bytes) -> Any:
    return json.loads(text, object_pairs_hook=_once, parse_constant=_never)


def _sizes(values: Any, count: int = -1) -> list[int]:
    if not isinstance(values, list) or not all(type(n) is int and n >= 0 for n in values) or count not in (-1, len(values)):
        raise ValueError(f"{str(values)[:60]} are no sizes")
    return values


def _tensor(file: Any, start: int, row: Mapping[str, Any]) -> Tensor:
    kind, numpy = _OF_NAME[row["dtype"]]
    array = np.empty(row["shape"], numpy)
    file.seek(start + row["data_offsets"][0])
    if array.nbytes and file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
        raise ValueError("it ends too soon")
    if kind == dtype.bool:
        if array.size and array.max() > 1:
            raise ValueError("a byte is no bool")
        array = array.view(np.bool_)
    made = from_numpy(array)
    return made.view(kind) if kind == dtype.bfloat16 else made


def _rows(header: Any, data: int) -> dict[str, dict[str, Any]]:
    """Returns the tensors of a header: they lie in the file's `data` bytes without a gap or an overlap."""
    if not isinstance(header, dict):
        raise ValueError("the header is no object")
    rows = {name: row for name, row in header.items() if name != _METADATA}
    for name, row in rows.items():
        if not isinstance(row, dict) or not {"dtype", "shape", "data_offsets"} <= row.keys():
            raise ValueError(f"tensor '{name[:60]}' needs dtype, shape and data_offsets")
        if not isinstance(row["dtype"], str) or row["dtype"] not in _OF_NAME:
            raise ValueError(f"tensor '{name[:60]}' is of the unknown dtype {str(row['dtype'])[:60]}")
        begin, end = _sizes(row["data_offsets"], 2)
        if math.prod(_sizes(row["shape"])) * np.dtype(_OF_NAME[row["dtype"]][1]).itemsize != end - begin:
            raise ValueError(f"the shape of tensor '{name[:60]}' does not fit its bytes")
    at = 0
    for begin, end in sorted(row["data_offsets"] for row in rows.values()):
        if begin != at:
            raise ValueError("tensors overlap or leave a gap")
        at = end
    if at != data:
        raise ValueError(f"the tensors take {at} bytes, the file has {data}")
    return rows


def _value(structure: Any, tensors: Mapping[str, Tensor], depth: int = 0) -> Any:
    """Puts a value together again."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"the structure is deeper than {_MAX_DEPTH} levels")
    if isinstance(structure, list):
        return [_value(each, tensors, depth + 1) for each in structure]
    if not isinstance(structure, dict):
        return structure
    if len(structure) == 1:
        ((kind, held),) = structure.items()
        if kind == "tensor" and isinstance(held, str) and held in tensors:
            return tensors[held]
        if kind == "dict" and isinstance(held, list) and all(isinstance(row, list) and len(row) == 2 for row in held):
            return {_value(key, {}, _MAX_DEPTH): _value(each, tensors, depth + 1) for key, each in held}
        if kind == "tuple" and isinstance(held, list):
            return tuple(_value(each, tensors, depth + 1) for each in held)
        if kind == "float" and held in ("nan", "inf", "-inf"):
            return float(held)
    raise ValueError(f"the structure has {str(structure)[:60]}")


def read(file: Any) -> Any:
    """Returns what write() was given; of another program's file, its tensors by name. ValueError: it is no such file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(_MAX_HEADER, size - 8):
        raise ValueError("it does not begin with the length of a header")
    try:
        header = _json(file.read(length))
        rows = _rows(header, size - 8 - length)
        metadata = header.get(_METADATA, {})
        text = metadata.get(_STRUCTURE) if isinstance(metadata, dict) else None
        structure = {"dict": [[n, {"tensor": n}] for n in rows]} if text is None else _json(text)
        tensors = {name: _tensor(file, 8 + length, row) for name, row in rows.items()}
        return _value(structure, tensors)
    except (RecursionError, TypeError, OverflowError) as why:  # arrays within arrays; a list as a key; a size of 30 digits
        raise ValueError(str(why)) from why
