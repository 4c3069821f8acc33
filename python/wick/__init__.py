"""Wick runs models with the bits that they were trained with.

    import wick as ort                    # what onnxruntime's InferenceSession does, with its names
    session = ort.InferenceSession("model.wick")
    logits, = session.run(None, {"image": image})

    model = wick.load("model.wick")       # the same, shorter
    logits = model(image)

    wick.compile("model.onnx", "model.wick")   # also from_torch, quantize, verify, inspect, report, bench

Names are loaded when they are first used, so that importing the package takes next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "_errors": (
        "BudgetExceeded",
        "Cancelled",
        "Code",
        "CommandError",
        "Deadline",
        "DeviceError",
        "Error",
        "IOFailure",
        "InvalidArgument",
        "InvalidProgram",
        "NoSuchFile",
        "NotFound",
        "OutOfMemory",
        "ShapeMismatch",
        "TypeMismatch",
        "Unsupported",
        "UsageError",
    ),
    "_session": ("InferenceSession",),
    "_options": ("ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "RunOptions", "SessionOptions"),
    "_ortvalue": ("OrtValue",),
    "_binding": ("IOBinding",),
    "_ports": ("ModelMetadata", "NodeArg"),
    "_providers": ("devices", "get_all_providers", "get_available_providers", "get_device"),
    "_model": ("Model", "load"),
    "_from_torch": ("from_torch",),
    "_tools": ("bench", "compile", "inspect", "quantize", "report", "verify"),
    "_pages": ("Benchmark", "Inspection", "Page", "Quantization", "Report", "Verification"),
    "_onnxruntime": ("get_version_string", "set_default_logger_severity", "set_default_logger_verbosity", "set_seed"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from . import _library

        value: Any = _library.version
    elif name in _HOME_OF:
        value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    else:
        raise AttributeError(f"module 'wick' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(n for n in globals() if n.startswith("_"))})
