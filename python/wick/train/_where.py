"""Errors of C++ with the line of Python that caused them."""

from __future__ import annotations

import os
import re
import sys
import warnings
from types import FrameType

from .._errors import Error, error_of as _error_of

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
# The line of C++ that the text ends with: of this package's own calls.
_LINE = re.compile(r" \([\w.\-]*:\d+\)$")
# Lines of the bindings within a text, which say nothing to who writes Python.
_BINDINGS = re.compile(r" (?:at )?\(?(?:changes|distributions|export|functions|gradients|images|layers|methods|names|optim|random|scopes|tensor)\.(?:cc|inc):\d+\)?")


def _caller() -> FrameType:
    """Returns the innermost frame that is not of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def _plain(text: str) -> str:
    return _BINDINGS.sub("", _LINE.sub("", text))


def error_of(code: int, text: str) -> Error:
    """Returns the exception for an error of C++, called where it passes into Python."""
    frame = _caller()
    return _error_of(code, f"{_plain(text)} ({os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno})")


def warn(code: str, text: str) -> None:
    """Warns of legal code that is very probably a mistake."""
    frame = _caller()
    warnings.warn_explicit(f"{_plain(text)} [{code}]", UserWarning, frame.f_code.co_filename, frame.f_lineno)
