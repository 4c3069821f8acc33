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
    """Owns an object of the library, and keeps what that object needs alive.

    An object goes when its last user does: its Handle, or an object that needs it. So a session is freed before its
    program also where Python finalizes both at once, in whatever order: in a reference cycle, or at the interpreter's end.
    """

    __slots__ = ("pointer", "_owned", "__weakref__")
    _owned: _Owned

    def __init__(
        self, make: Callable[[Any], int], free: Callable[[int], None], needs: tuple[Handle | None, ...] = (), keep: object = None
    ) -> None:
        self.pointer: int = 0
        out = ctypes.c_void_p()
        check(make(ctypes.byref(out)))
        if out.value is None:
            raise Error("the library returned no object")
        self.pointer = out.value
        self._owned = _Owned(out.value, free, tuple(h._owned for h in needs if h is not None), keep)

    def __reduce__(self) -> Any:
        raise TypeError(
            "what Wick's library holds cannot be pickled or copied: open the model again where it is needed, from its path or its bytes"
        )

    def __del__(self) -> None:
        if self.pointer:
            self.pointer = 0
            self._owned.release()


class _Owned:
    """An object of the library with what it needs. It has no finalizer, so nothing frees it but its last user."""

    __slots__ = ("_pointer", "_free", "_needs", "_keep", "_others")

    def __init__(self, pointer: int, free: Callable[[int], None], needs: tuple[_Owned, ...], keep: object) -> None:
        self._pointer = pointer
        self._free = free
        self._needs = needs
        self._keep = keep
        # One entry for each user beyond the first: list.pop is one step, whatever thread finalizes.
        self._others: list[None] = []
        for need in needs:
            need._others.append(None)

    def release(self) -> None:
        """Is called once by each user."""
        try:
            self._others.pop()
        except IndexError:
            self._free(self._pointer)
            for need in self._needs:
                need.release()
