"""torch.amp: products in 16 bits. A scaler decides nothing on the CPU, as in PyTorch without CUDA."""

from __future__ import annotations

import functools
from typing import Any, Callable

from .. import _train
from .._errors import InvalidArgument
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
    """Scales a loss whose float16 gradients would be 0. On the CPU bfloat16 needs none: it is off, and step() is the optimizer's."""

    def __init__(self, *ignored: Any, **named: Any) -> None:
        pass

    def scale(self, outputs: Any) -> Any:
        """The same."""
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        """Does nothing."""

    def step(self, optimizer: Any, *arguments: Any, **named: Any) -> Any:
        """optimizer.step()."""
        return optimizer.step(*arguments, **named)

    def update(self, new_scale: Any = None) -> None:
        """Does nothing."""

    def get_scale(self) -> float:
        """1."""
        return 1.0

    def is_enabled(self) -> bool:
        """False."""
        return False

    def state_dict(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Does nothing."""


def is_autocast_enabled() -> bool:
    """Whether products are cast."""
    return _train._autocast_dtype() is not None
