"""torch.autograd: gradients without .grad, and functions whose gradient is written in Python."""

from __future__ import annotations

from typing import Any, Callable

from .. import _train
from .._errors import InvalidArgument, TypeMismatch
from .._train import Tensor
from ._modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["Function", "backward", "enable_grad", "functional", "grad", "inference_mode", "no_grad", "set_grad_enabled"]


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: Any = False, create_graph: Any = False) -> None:
    """Adds the gradients of tensors to .grad of their leaves."""
    given = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    grads = grad_tensors if isinstance(grad_tensors, (list, tuple)) else [grad_tensors] * len(given)
    if len(grads) != len(given):
        raise InvalidArgument(f"[backward] there are {len(given)} tensors and {len(grads)} gradients, must be as many")
    for i, (each, slope) in enumerate(zip(given, grads)):  # what they share is kept until the last
        each.backward(slope, retain_graph or i + 1 < len(given), create_graph)


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


class FunctionCtx:
    """What a Function's forward hands to its backward: tensors by save_for_backward(), all else as attributes."""

    def __init__(self, needs_input_grad: tuple[Any, ...]) -> None:
        #: Whether each argument of forward needs a gradient.
        self.needs_input_grad = needs_input_grad
        #: In backward: what was saved.
        self.saved_tensors: tuple[Tensor, ...] = ()
        self._materialize = True
        self._to_save: list[Any] = []
        self._not_differentiable: list[Tensor] = []

    def save_for_backward(self, *tensors: Any) -> None:
        """Saves inputs, outputs and others; one that is written before backward is an error there."""
        self._to_save = list(tensors)

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Marks outputs that never require a gradient."""
        self._not_differentiable = list(outputs)

    def set_materialize_grads(self, value: Any) -> None:
        """False: the gradient of an output that none flowed into is None, not zeros."""
        self._materialize = bool(value)


class Function:
    """The base of a function with a gradient of its own. A class has forward(ctx, *args) and backward(ctx, *grads), both
    static; apply(*args) calls it. backward returns a gradient, or None, for each argument of forward.

    With a static setup_context(ctx, inputs, output) forward has no ctx, as in PyTorch 2.
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any]
    setup_context: Callable[..., Any] | None = None

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Calls forward, and records backward."""
        name, count = cls.__name__, len(args)
        at = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx = FunctionCtx(tuple(isinstance(a, Tensor) and a.requires_grad for a in args))
        several: list[Any] = []

        def forward() -> tuple[list[Any], list[Any], list[Tensor], Any]:
            if cls.setup_context is None:
                made = cls.forward(ctx, *args)
            else:
                made = cls.forward(*args)
                cls.setup_context(ctx, args, made)
            several.append(isinstance(made, (tuple, list)))
            outputs = list(made) if several[0] else [made]
            for each in outputs:
                if not isinstance(each, Tensor):
                    raise TypeMismatch(f"[{name}] forward returns a {type(each).__name__}, must return tensors")
            saved, ctx._to_save = ctx._to_save, []  # C++ keeps them: an output that ctx held would never be freed
            apart, ctx._not_differentiable = ctx._not_differentiable, []
            return outputs, saved, apart, ctx._materialize

        def backward(grads: list[Any], saved: list[Any]) -> list[Any]:
            ctx.saved_tensors = tuple(saved)
            try:
                made = cls.backward(ctx, *grads)
            finally:
                ctx.saved_tensors = ()
            made = made if isinstance(made, (tuple, list)) else (made,)
            if len(made) != count:
                raise InvalidArgument(f"[{name}] backward returns {len(made)} gradients, forward has {count} arguments")
            return [made[i] for i in at]

        made = _train._apply_function(f"{name}Backward", forward, backward, [args[i] for i in at])
        return tuple(made) if several[0] else made[0]


class functional:  # noqa: N801
    """torch.autograd.functional."""

    @staticmethod
    def jacobian(func: Callable[..., Tensor], inputs: Any, create_graph: Any = False) -> Any:
        """Returns the derivatives of func(*inputs) by its inputs: for one tensor [output..., input...], for several a tuple."""
        given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        leaves = [x if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given]
        with enable_grad():
            made = func(*leaves)
            rows = [grad(y, leaves, None, True, create_graph, True) for y in made.reshape(-1).unbind(0)]
        found = tuple(
            _train.stack([_train.zeros_like(x) if row[i] is None else row[i] for row in rows]).reshape((*made.shape, *x.shape))
            for i, x in enumerate(leaves)
        )
        return found[0] if isinstance(inputs, Tensor) else found

    @staticmethod
    def hessian(func: Callable[[Tensor], Tensor], inputs: Tensor, create_graph: Any = False) -> Tensor:
        """Returns the second derivatives of func(inputs), a number: [input..., input...]."""

        def slope(x: Tensor) -> Tensor:
            return grad(func(x), [x], create_graph=True)[0]  # type: ignore[no-any-return]

        return functional.jacobian(slope, inputs, create_graph)  # type: ignore[no-any-return]
