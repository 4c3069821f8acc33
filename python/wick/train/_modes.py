"""Whether ops are recorded for backward."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from .. import _train


class _GradMode:
    """Sets whether ops are recorded: as a `with`, and as a decorator."""

    def __init__(self, on: Any) -> None:
        self._on = on
        self._before: list[Any] = []

    def __enter__(self) -> None:
        self._before.append(_train.is_grad_enabled())
        _train._set_grad_enabled(self._on)

    def __exit__(self, *why: Any) -> None:
        _train._set_grad_enabled(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        on = self._on

        @functools.wraps(function)
        def run(*arguments: Any, **named: Any) -> Any:
            with _GradMode(on):
                return function(*arguments, **named)

        @functools.wraps(function)
        def generate(*arguments: Any, **named: Any) -> Any:
            """Sets the mode for each step of a generator, and not for who takes its values."""
            steps = function(*arguments, **named)
            try:
                given = None
                while True:
                    with _GradMode(on):
                        value = steps.send(given)
                    given = yield value
            except StopIteration as end:
                return end.value
            finally:
                steps.close()

        return generate if inspect.isgeneratorfunction(function) else run


class _Plain(_GradMode):
    """A mode that is also a decorator without parentheses, as in PyTorch 2."""

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if not callable(function):
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)


class no_grad(_Plain):  # noqa: N801
    """Ops inside are not recorded for backward."""

    def __init__(self) -> None:
        super().__init__(False)


class inference_mode(_Plain):  # noqa: N801
    """no_grad, or with False as without it. Tensors that are made inside may be used outside as any others."""

    def __init__(self, mode: Any = True) -> None:
        super().__init__(not mode and _train.is_grad_enabled())


def is_inference_mode_enabled() -> Any:
    """Returns False: inference_mode() is no_grad() here, and says so by is_grad_enabled()."""
    return False


class enable_grad(_Plain):  # noqa: N801
    """Ops inside are recorded, also within no_grad."""

    def __init__(self) -> None:
        super().__init__(True)


class set_grad_enabled(_GradMode):  # noqa: N801
    """Records or does not, by its argument, from this call on; as a `with` until its end."""

    def __init__(self, mode: Any) -> None:
        super().__init__(bool(mode))
        self._held = _train.is_grad_enabled()
        _train._set_grad_enabled(self._on)

    def __enter__(self) -> None:
        self._before.append(self._held)
        _train._set_grad_enabled(self._on)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        _train._set_grad_enabled(self._held)  # a decorator sets nothing until the function is called
        return super().__call__(function)
