"""Devices: words, with what programs for PyTorch ask of them before they choose one."""

from __future__ import annotations

from typing import Any

from .._errors import Unsupported


class device(str):  # noqa: N801
    """The name of a device, "cpu" or "vulkan": a text, which all that takes a device takes as well."""

    __slots__ = ()

    def __new__(cls, type: Any, index: Any = None) -> device:  # noqa: A002: PyTorch's name
        name = str(type).partition(":")[0]
        if name not in ("cpu", "vulkan"):
            raise Unsupported(f"[device] there is no device '{type}' here: 'cpu' or 'vulkan'")
        return super().__new__(cls, name)

    #: Of PyTorch's: the number among devices of one kind.
    index = None  # type: ignore[assignment]

    @property
    def type(self) -> str:
        """The name as a plain text."""
        return str(self)


class Absent:
    """A kind of device that is not here, of which programs ask whether it is."""

    @staticmethod
    def is_available() -> bool:
        """Returns False."""
        return False

    @staticmethod
    def device_count() -> int:
        """Returns 0."""
        return 0

    @staticmethod
    def manual_seed(seed: int) -> None:
        """Does nothing: there is one generator, manual_seed()'s."""

    @staticmethod
    def manual_seed_all(seed: int) -> None:
        """Does nothing."""

    @staticmethod
    def synchronize() -> None:
        """Does nothing."""

    @staticmethod
    def is_bf16_supported() -> bool:
        """Returns False."""
        return False

    @staticmethod
    def is_initialized() -> bool:
        """Returns False."""
        return False

    @staticmethod
    def empty_cache() -> None:
        """Does nothing."""


class accelerator(Absent):  # noqa: N801
    """torch.accelerator: none is chosen by itself. tensor.to("vulkan") takes one by its name."""
