"""Devices: words, with what programs for PyTorch ask of them before they choose one."""

from __future__ import annotations

from typing import Any

from .._errors import Unsupported
from .amp import GradScaler
from .amp import _of as _autocast_of


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


class _Absent:
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


class cuda(_Absent):  # noqa: N801
    """torch.cuda: not here."""

    class amp:  # noqa: N801
        """torch.cuda.amp, which is off."""

        autocast = _autocast_of("cuda")
        GradScaler = GradScaler


class cpu:  # noqa: N801
    """torch.cpu."""

    class amp:  # noqa: N801
        """torch.cpu.amp."""

        autocast = _autocast_of("cpu")


class accelerator(_Absent):  # noqa: N801
    """torch.accelerator: none is chosen by itself. tensor.to("vulkan") takes one by its name."""


class backends:  # noqa: N801
    """torch.backends: those of other devices are not here."""

    class mps(_Absent):  # noqa: N801
        """Not here."""

    class cudnn(_Absent):  # noqa: N801
        """Not here. What is set decides nothing."""

        deterministic = True
        benchmark = False
        enabled = False

    class mkldnn(_Absent):  # noqa: N801
        """Not here."""

        enabled = False
