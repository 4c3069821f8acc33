"""Finds and opens the shared library that runs models."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any, Callable

from . import _abi
from ._errors import Error, error_of

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
_NAME = {"win32": "wick.dll", "darwin": "libwick.dylib"}.get(sys.platform, "libwick.so")


def library_path() -> str:
    """Returns the file of the shared library: the package's own, or $WICK_LIBRARY."""
    return os.environ.get("WICK_LIBRARY") or os.path.join(_FOLDER, _NAME)


def _open() -> ctypes.CDLL:
    path = library_path()
    try:
        library = ctypes.CDLL(path)
    except OSError as why:
        raise ImportError(
            f"wick: cannot open its library {path}: {why}; install the package again, or name a libwick_runtime.so "
            "or libwick_vulkan.so in the environment's WICK_LIBRARY"
        ) from None
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(f"wick: {path} has no {name}: it is no library of Wick, or an older one")
        function.restype = result
        function.argtypes = arguments
    return library


lib = _open()
#: True where the library was built with devices.
has_vulkan = hasattr(lib, "wick_vulkan_create")
if has_vulkan:
    for _name, (_result, _arguments) in _abi.VULKAN_FUNCTIONS.items():
        _function = getattr(lib, _name)
        _function.restype = _result
        _function.argtypes = _arguments

version: str = lib.wick_version().decode()


def last_error() -> str:
    """Returns the text of this thread's last failing call."""
    text: bytes = lib.wick_last_error()
    return text.decode("utf-8", "replace")


def check(code: int) -> None:
    """Raises the error of `code`, with the library's text, unless it is 0."""
    if code != 0:
        raise error_of(code, last_error())


def sized(struct: type[Any]) -> Any:
    """Returns a zeroed options struct with its size set."""
    made = struct()
    made.size = ctypes.sizeof(struct)
    return made


class Handle:
    """Owns an object of the library, and keeps what that object needs alive."""

    __slots__ = ("pointer", "_free", "_needs", "__weakref__")

    def __init__(self, make: Callable[[Any], int], free: Callable[[int], None], needs: tuple[object, ...] = ()) -> None:
        self.pointer: int = 0
        self._free = free
        self._needs = needs
        out = ctypes.c_void_p()
        check(make(ctypes.byref(out)))
        if out.value is None:
            raise Error("the library returned no object")
        self.pointer = out.value

    def __del__(self) -> None:
        if self.pointer:
            self._free(self.pointer)
            self.pointer = 0
