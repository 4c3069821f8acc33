"""torch.cpu.amp: autocast without the name of the device."""

from __future__ import annotations

from ..._train import dtype as _dtype
from ..amp import autocast as _autocast

__all__ = ["autocast"]


class autocast(_autocast):  # noqa: N801
    """torch.amp.autocast of this device."""

    def __init__(self, enabled: bool = True, dtype: _dtype | None = None, cache_enabled: bool | None = None) -> None:
        super().__init__("cpu", dtype, enabled)
