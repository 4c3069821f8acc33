"""The hooks of modules that run in backward, by two functions around a forward that change nothing."""

from __future__ import annotations

from typing import Any

from ..._train import Tensor
from ..autograd import Function


class _Seen:
    """What both sides of a call know: the gradients of the outputs, until the inputs have theirs."""

    def __init__(self, module: Any, inputs: tuple[Any, ...]) -> None:
        self.module = module
        self.at = [i for i, value in enumerate(inputs) if isinstance(value, Tensor)]
        self.count = len(inputs)
        self.outputs: tuple[Any, ...] = ()
        #: Whether an input requires a gradient, so that its backward calls the hooks.
        self.at_inputs = any(inputs[i].requires_grad for i in self.at)


class _Inputs(Function):
    """The same tensors; backward calls the hooks."""

    @staticmethod
    def forward(ctx: Any, seen: _Seen, *tensors: Tensor) -> Any:
        ctx.seen = seen
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        seen = ctx.seen
        all_: list[Any] = [None] * seen.count
        for i, grad in zip(seen.at, grads):
            all_[i] = grad
        for hook in list(seen.module._backward_hooks.values()):
            changed = hook(seen.module, tuple(all_), seen.outputs)
            if changed is not None:
                all_ = list(changed) if isinstance(changed, (tuple, list)) else [changed]
        return (None, *(all_[i] for i in seen.at))


class _Outputs(Function):
    """The same tensors; backward keeps their gradients for the hooks."""

    @staticmethod
    def forward(ctx: Any, seen: _Seen, *tensors: Tensor) -> Any:
        ctx.seen = seen
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        seen = ctx.seen
        seen.outputs = grads
        if not seen.at_inputs:  # no input requires a gradient: nothing else calls the hooks
            for hook in list(seen.module._backward_hooks.values()):
                hook(seen.module, (None,) * seen.count, grads)
        return (None, *grads)


def call_with_hooks(module: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """module.forward(), whose backward hooks are called."""
    seen = _Seen(module, inputs)
    tensors = [inputs[i] for i in seen.at]
    if seen.at_inputs:
        given = list(inputs)
        for i, tensor in zip(seen.at, _Inputs.apply(seen, *tensors)):
            given[i] = tensor
        inputs = tuple(given)
    output = module.forward(*inputs, **named)
    listed = list(output) if isinstance(output, (tuple, list)) else [output]
    at = [i for i, value in enumerate(listed) if isinstance(value, Tensor) and value.requires_grad]
    if not at:
        return output
    for i, tensor in zip(at, _Outputs.apply(seen, *(listed[i] for i in at))):
        listed[i] = tensor
    return type(output)(listed) if isinstance(output, (tuple, list)) else listed[0]
