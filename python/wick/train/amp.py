"""torch.amp: products in 16 bits, and the scale of a loss that float16 needs."""

from __future__ import annotations

import functools
import json
from typing import Any, Callable

from .. import _train
from .._errors import InvalidArgument, Unsupported
from .._train import dtype as _dtype

__all__ = ["GradScaler", "autocast"]


class autocast:  # noqa: N801
    """Inside, products compute in `dtype` and what needs more stays in float32: docs/use/precision.md has the list. A `with`, or a
    decorator."""

    def __init__(self, device_type: str = "cpu", dtype: _dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        if device_type.partition(":")[0] not in ("cpu", "vulkan", "cuda"):
            raise InvalidArgument(f"[autocast] device_type is '{device_type}', must be 'cpu' or 'vulkan'")
        if device_type == "cuda" and enabled:
            enabled = False  # as PyTorch does where there is no CUDA
        self._dtype, self._enabled = dtype or _dtype.bfloat16, enabled
        self._scopes: list[Any] = []

    def __enter__(self) -> None:
        self._scopes.append(_train._autocast(self._dtype, self._enabled))

    def __exit__(self, *why: Any) -> None:
        self._scopes.pop().end()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*arguments: Any, **named: Any) -> Any:
            with self:
                return function(*arguments, **named)

        return run


class GradScaler:
    """Scales a loss, so that float16 gradients do not become 0, and leaves out steps whose gradients are infinite or NaN. Off
    for "cuda", where there is none; bfloat16 needs no scale."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        on = enabled and str(device).partition(":")[0] != "cuda"
        self._native = _train.NativeScaler(init_scale, growth_factor, backoff_factor, growth_interval) if on else None

    def scale(self, outputs: Any) -> Any:
        """A loss, or each of several, times the scale."""
        if self._native is None:
            return outputs
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        return self._native.scale(outputs)

    @staticmethod
    def _of(optimizer: Any) -> Any:
        if optimizer._native is None:
            raise Unsupported(f"[GradScaler] {type(optimizer).__name__} has a step() of its own: scale and divide in Python, or use bfloat16")
        optimizer._tell()
        return optimizer._native

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients by the scale, once a step, to clip them."""
        if self._native is not None:
            self._native.unscale_(self._of(optimizer))

    def step(self, optimizer: Any, *arguments: Any, **named: Any) -> Any:
        """optimizer.step(), unless a gradient is infinite or NaN."""
        if self._native is None:
            return optimizer.step(*arguments, **named)
        self._native.step(self._of(optimizer))
        return None

    def update(self, new_scale: float | None = None) -> None:
        """Makes the scale smaller where a step was left out, and larger after many that were not."""
        if self._native is not None:
            self._native.update(new_scale)

    def get_scale(self) -> float:
        """The scale; 1 where it is off."""
        return 1.0 if self._native is None else self._native.get_scale()

    def is_enabled(self) -> bool:
        """Whether it is on."""
        return self._native is not None

    def state_dict(self) -> dict[str, Any]:
        """The scale and what it depends on; nothing where it is off."""
        return {} if self._native is None else json.loads(self._native.state_dict())

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on there."""
        if self._native is not None:
            self._native.load_state_dict(json.dumps(state_dict))


def is_autocast_enabled() -> bool:
    """Whether products are cast."""
    return _train._autocast_dtype() is not None
