"""torch.cuda.amp: off, as PyTorch's is without CUDA."""

from __future__ import annotations

from ..._train import dtype as _dtype
from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast

__all__ = ["GradScaler", "autocast"]


class autocast(_autocast):  # noqa: N801
    """torch.amp.autocast of this device."""

    def __init__(self, enabled: bool = True, dtype: _dtype | None = None, cache_enabled: bool | None = None) -> None:
        super().__init__("cuda", dtype, enabled)


class GradScaler(_GradScaler):
    """torch.amp.GradScaler of CUDA: off."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
