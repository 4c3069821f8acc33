"""Opens model files: .wick at once, ONNX and TensorFlow Lite where the package has the compiler."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from typing import Any, Union

import numpy as np

from . import _abi, _command
from ._errors import Error, InvalidArgument, NoSuchFile, NotFound, Unsupported, error_of_os, text, whole
from ._library import Handle, lib, sized
from ._options import SessionOptions

ModelSource = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]
_MAGIC = b"WICKPRG"  # how every .wick begins (runtime/program/README.md)


def is_program(head: bytes) -> bool:
    """Returns whether a file that begins so is a .wick."""
    return head.startswith(_MAGIC)


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(8)
    except IsADirectoryError:
        raise InvalidArgument(f"Load model from {path} failed: it is a folder") from None
    except OSError as why:
        raise error_of_os(f"Load model from {path} failed", why) from None
    except ValueError as why:  # a NUL within the name
        raise InvalidArgument(f"Load model from {path!r} failed: {why}") from None


def _load_options(options: SessionOptions) -> tuple[Any, list[Any]]:
    """Returns the options as the library takes them, and what must live as long as they do."""
    if not isinstance(options.weights, str) or options.weights not in _abi.WEIGHTS:
        raise InvalidArgument(f"SessionOptions.weights is {options.weights!r}, must be one of {list(_abi.WEIGHTS)}")
    native = sized(_abi.LoadOptions)
    native.max_file = whole("SessionOptions.max_file", options.max_file, 0, 2**64 - 1)
    native.max_ram = 0
    native.verify_digests = int(options.verify_digests)
    native.weights = _abi.WEIGHTS[options.weights]
    keep: list[Any] = []
    if options._ops:
        ops = (ctypes.c_void_p * len(options._ops))(*[o.pointer for o in options._ops])
        native.ops, native.ops_count = ctypes.addressof(ops), len(options._ops)
        keep.append(ops)
    if options.allowed_ops is not None:
        given = options.allowed_ops
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InvalidArgument(f"SessionOptions.allowed_ops is {given!r}, must be a list of names")
        allowed = [text("a name in SessionOptions.allowed_ops", n) for n in given]
        names = (ctypes.c_char_p * max(1, len(allowed)))(*allowed)
        native.allowed_ops, native.allowed_op_count = ctypes.addressof(names), len(allowed)
        keep.append(names)
    return native, keep


def _load_file(path: str, options: SessionOptions) -> Handle:
    native, keep = _load_options(options)
    name = os.fsencode(path)
    return Handle(
        lambda out: lib.wick_program_load(name, ctypes.addressof(native), out),
        lib.wick_program_free,
        tuple(options._ops),
        keep,
    )


def _load_bytes(data: bytes, options: SessionOptions) -> Handle:
    native, keep = _load_options(options)
    # The program reads its weights here as long as it lives; memory that is not aligned would be copied.
    room = np.empty(len(data) + 64, np.uint8)
    at = (room.ctypes.data + 63) & ~63
    ctypes.memmove(at, data, len(data))
    return Handle(
        lambda out: lib.wick_program_load_memory(at, len(data), ctypes.addressof(native), out),
        lib.wick_program_free,
        tuple(options._ops),
        (keep, room),
    )


def _compiled(path: str, shown: str, options: SessionOptions, cwd: str | None = None) -> Handle:
    """Compiles a model that is no .wick. Its file is removed unless the options name one."""
    if not _command.found():
        raise Unsupported(
            f"{shown} is no .wick file, and this package has no compiler: it runs .wick files alone. Compile it once, "
            f"where Wick's whole package is installed, by wick.compile('{shown}', 'model.wick') or "
            "`wick convert`, and open that file here"
        )
    arguments = ["--no-verify"]
    numerics = options._entries.get("wick.numerics")
    if numerics:
        arguments += ["--numerics", numerics]
    for ops in options._op_paths:
        arguments += ["--ops", ops]
    import shutil

    from ._files import replacing

    with _command.scratch() as folder:
        made = os.path.join(folder, "model.wick")
        _command.run("convert", [path, "-o", made, *arguments], folder=cwd)
        kept = options.optimized_model_filepath
        if kept:  # whatever it is called: programs for onnxruntime say model.onnx
            # Another session may have that file mapped, so it is replaced and not written over.
            with replacing(kept) as target, open(made, "rb") as file:
                shutil.copyfileobj(file, target)
            return _load_file(os.fsdecode(kept), options)
        if sys.platform == "win32":  # which keeps a mapped file from being removed
            with open(made, "rb") as file:
                return _load_bytes(file.read(), options)
        try:
            return _load_file(made, options)
        except Error as why:  # names a file that is gone
            why.args = (str(why).replace(made, shown),)
            raise


def load_program(source: ModelSource, options: SessionOptions) -> tuple[Handle, str]:
    """Returns the loaded program and its name: the file's without its ending, or ""."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        if is_program(data[:8]):
            return _load_bytes(data, options), ""
        if not data:
            raise InvalidArgument("the model has no bytes")
        with _command.scratch() as folder:
            with open(os.path.join(folder, "model.onnx"), "wb") as file:
                file.write(data)
            return _compiled("model.onnx", "model.onnx", options, folder), ""
    if hasattr(source, "SerializeToString"):  # onnx.ModelProto
        return load_program(source.SerializeToString(), options)
    try:
        path = os.fspath(source)
    except TypeError:
        raise InvalidArgument(
            f"a model is a path or bytes, not a {type(source).__name__}; give the file's name or what is in it"
        ) from None
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    name = os.path.splitext(os.path.basename(path))[0]
    head = _head(path)
    try:
        return (_load_file(path, options) if is_program(head) else _compiled(_command.plain_path(path), path, options)), name
    except NotFound as why:
        if os.path.exists(path):
            raise
        raise NoSuchFile(str(why)) from None
