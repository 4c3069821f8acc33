"""Functions of the module onnxruntime that decide nothing here, for programs that call them."""

from __future__ import annotations

from . import _library


def get_version_string() -> str:
    """Returns Wick's version, such as "0.1.0"."""
    return _library.version


def set_default_logger_severity(severity: int) -> None:
    """Does nothing: Wick writes no log; errors have all that it has to say."""


def set_default_logger_verbosity(verbosity: int) -> None:
    """Does nothing, as set_default_logger_severity."""


def set_seed(seed: int) -> None:
    """Does nothing: ops that draw numbers have their seed in the model, so that each session gives the same bits."""
