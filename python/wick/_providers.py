"""Execution providers: the CPU, and a device by Vulkan."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import warnings
from collections.abc import Mapping as MappingOf, Sequence as SequenceOf
from typing import Any, Mapping, Sequence

from . import _abi
from ._errors import DeviceError, Error, InvalidArgument, text
from ._library import Handle, check, has_vulkan, lib, sized

CPU = "CPUExecutionProvider"
VULKAN = "VulkanExecutionProvider"
_SHORT = {"cpu": CPU, "vulkan": VULKAN}
_OPTIONS = {CPU: set[str](), VULKAN: {"device", "device_id", "cache_folder", "offload_all", "skip_kernel_checks"}}

_PACKAGE = os.path.dirname(__file__)
_lock = threading.Lock()
_devices: dict[tuple[tuple[str, str], ...], Handle] = {}


def get_all_providers() -> list[str]:
    """Returns the names of all providers, whether this build and machine have them or not.

    >>> get_all_providers()
    ['VulkanExecutionProvider', 'CPUExecutionProvider']
    """
    return [VULKAN, CPU]


def get_available_providers() -> list[str]:
    """Returns the providers that can be used here: with Vulkan where a device is found."""
    return [VULKAN, CPU] if any(d["usable"] for d in devices()) else [CPU]


def get_device() -> str:
    """Returns "CPU": where a session runs that is given no providers."""
    return "CPU"


def devices() -> list[dict[str, Any]]:
    """Returns the Vulkan devices of this machine: name, type, usable, why (it is not), memory_bytes.

    The list is empty where the build has no Vulkan or the machine no loader.
    """
    if not has_vulkan:
        return []
    try:
        listed = Handle(lib.wick_vulkan_devices_list, lib.wick_vulkan_devices_free)
    except Error:
        return []
    rows = []
    for i in range(lib.wick_vulkan_devices_count(listed.pointer)):
        device = sized(_abi.VulkanDevice)
        check(lib.wick_vulkan_devices_get(listed.pointer, i, ctypes.addressof(device)))
        why = (device.why_unusable or b"").decode("utf-8", "replace")
        rows.append(
            {
                "name": (device.name or b"").decode("utf-8", "replace"),
                "type": (device.type or b"").decode("utf-8", "replace"),
                "usable": not why,
                "why": why,
                "memory_bytes": int(device.memory_bytes),
            }
        )
    return rows


def normalize(
    providers: Sequence[Any] | None, provider_options: Sequence[Mapping[str, Any]] | None
) -> list[tuple[str, dict[str, str]]]:
    """Returns (name, options) of each provider that this package knows, with the CPU last.

    None means the CPU alone. Names that it does not know are left out with a warning, as onnxruntime does, so that
    ["CUDAExecutionProvider", "CPUExecutionProvider"] runs. InvalidArgument: a malformed list, an unknown option.
    """
    if providers is None:
        return [(CPU, {})]
    if isinstance(providers, str) or not isinstance(providers, SequenceOf):
        raise InvalidArgument("'providers' should be a sequence.")
    if provider_options is not None and len(providers) != len(provider_options):
        raise InvalidArgument("'providers' and 'provider_options' should be the same length if both are given.")
    chosen: dict[str, dict[str, str]] = {}
    for i, given in enumerate(providers):
        if isinstance(given, str):
            name, options = given, _mapping(given, provider_options[i]) if provider_options else {}
        elif isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
            if provider_options is not None:
                raise InvalidArgument("Only string values for 'providers' are supported if 'provider_options' is given.")
            name, options = given[0], _mapping(given[0], given[1])
        else:
            raise InvalidArgument("'providers' values must be either strings or (string, dict) tuples.")
        name = _SHORT.get(name.lower(), name)
        if name not in _OPTIONS:
            known = "', '".join(get_all_providers())
            _warn(f"Specified provider '{name}' is not one of Wick's ('{known}'); it is left out.")
            continue
        if name in chosen:
            _warn(f"Duplicate provider '{name}' encountered, ignoring.")
            continue
        unknown = sorted(map(str, set(options) - _OPTIONS[name]))
        if unknown:
            takes = ", ".join(sorted(_OPTIONS[name])) or "none"
            raise InvalidArgument(f"{name} has no option '{unknown[0]}'; it takes: {takes}")
        chosen[name] = {k: str(v) for k, v in options.items()}
    cpu = chosen.pop(CPU, {})
    return [*chosen.items(), (CPU, cpu)]


def _warn(text: str) -> None:
    """Warns at the line outside of this package, which came by InferenceSession, load() or set_providers()."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


def _mapping(name: str, options: Any) -> dict[str, Any]:
    if not isinstance(options, MappingOf):
        raise InvalidArgument(f"the options of {name} are a {type(options).__name__}, must be a dict")
    return dict(options)


def open_device(options: Mapping[str, str]) -> Handle:
    """Returns the device for these options, which sessions share. DeviceError, NotFound: there is none."""
    if not has_vulkan:
        raise DeviceError(
            "this build of Wick has no Vulkan: take providers=['CPUExecutionProvider'], or a wheel with Vulkan"
        )
    key = tuple(sorted(options.items()))
    with _lock:
        if key not in _devices:
            native = sized(_abi.VulkanOptions)
            device = options.get("device", options.get("device_id", ""))
            native.device = text("the name of a device", device) or None
            native.cache_folder = text("cache_folder", options["cache_folder"]) if "cache_folder" in options else None
            native.offload_all = int(_flag(options, "offload_all"))
            native.skip_kernel_checks = int(_flag(options, "skip_kernel_checks"))
            _devices[key] = Handle(lambda out: lib.wick_vulkan_create(ctypes.addressof(native), out), lib.wick_vulkan_free)
        return _devices[key]


def _flag(options: Mapping[str, str], name: str) -> bool:
    value = options.get(name, "0").lower()
    if value not in ("0", "1", "true", "false"):
        raise InvalidArgument(f"{VULKAN}: {name} is '{value}', must be 0 or 1")
    return value in ("1", "true")
