"""Whether ops are recorded for backward, and gradients without .grad."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from .. import _train
from .._errors import InvalidArgument


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


class no_grad(_GradMode):  # noqa: N801
    """Ops inside are not recorded for backward."""

    def __init__(self) -> None:
        super().__init__(False)


class inference_mode(_GradMode):  # noqa: N801
    """no_grad, or with False as without it. Tensors that are made inside may be used outside as any others."""

    def __init__(self, mode: Any = True) -> None:
        super().__init__(not mode and _train.is_grad_enabled())


class enable_grad(_GradMode):  # noqa: N801
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


class autograd:  # noqa: N801
    """torch.autograd."""

    @staticmethod
    def backward(tensors: Any, grad_tensors: Any = None, retain_graph: Any = False, create_graph: Any = False) -> None:
        """Adds the gradients of tensors to .grad of their leaves."""
        given = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        grads = grad_tensors if isinstance(grad_tensors, (list, tuple)) else [grad_tensors] * len(given)
        if len(grads) != len(given):
            raise InvalidArgument(f"[backward] there are {len(given)} tensors and {len(grads)} gradients, must be as many")
        for i, (each, grad) in enumerate(zip(given, grads)):  # what they share is kept until the last
            each.backward(grad, retain_graph or i + 1 < len(given), create_graph)

    @staticmethod
    def grad(
        outputs: Any,
        inputs: Any,
        grad_outputs: Any = None,
        retain_graph: Any = None,
        create_graph: Any = False,
        allow_unused: Any = False,
    ) -> tuple[Any, ...]:
        """Returns the gradients of outputs with respect to inputs, and leaves .grad alone.

        allow_unused: None for an input that the outputs do not depend on, which is an error otherwise.
        """

        def listed(given: Any) -> list[Any]:
            return [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]

        keep = create_graph if retain_graph is None else retain_graph
        return tuple(_train._grad(listed(outputs), listed(inputs), listed(grad_outputs), keep, create_graph, allow_unused))
