"""torch.utils.checkpoint: a part of a model that is computed again in backward instead of kept."""

from __future__ import annotations

from typing import Any, Callable

from ... import _train
from ..._train import Tensor
from ..autograd import Function, backward
from .._modes import enable_grad, no_grad


class _Again(Function):
    @staticmethod
    def forward(ctx: Any, call: Callable[..., Any], random: Any, arguments: tuple[Any, ...], *tensors: Tensor) -> Any:
        ctx.call, ctx.arguments = call, arguments
        ctx.random = _train.get_rng_state() if random else None
        ctx.at = [i for i, value in enumerate(arguments) if isinstance(value, Tensor)]
        ctx.save_for_backward(*tensors)
        with no_grad():
            return call(*arguments)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        given = list(ctx.arguments)
        for i, saved in zip(ctx.at, ctx.saved_tensors):
            given[i] = saved.detach().requires_grad_(saved.requires_grad)
        now = _train.get_rng_state()
        if ctx.random is not None:
            _train.set_rng_state(ctx.random)
        try:
            with enable_grad():
                made = ctx.call(*given)
        finally:
            _train.set_rng_state(now)
        outputs = list(made) if isinstance(made, (tuple, list)) else [made]
        pairs = [(o, g) for o, g in zip(outputs, grads) if o.requires_grad and g is not None]
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, None, *(given[i].grad for i in ctx.at))


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: Any = None, preserve_rng_state: Any = True, **named: Any) -> Any:
    """function(*args), of which only the arguments are kept: backward computes it again, with the same random numbers.

    An argument must require a gradient, as in PyTorch's reentrant form.
    """
    tensors = [a for a in args if isinstance(a, Tensor)]
    return _Again.apply(lambda *given: function(*given, **named), preserve_rng_state, args, *tensors)


def checkpoint_sequential(functions: Any, segments: int, input: Any, **named: Any) -> Any:  # noqa: A002
    """The modules of a Sequential, in `segments` parts of which all but the last are checkpointed."""
    all_ = list(functions)
    size = max(len(all_) // segments, 1)

    def run(first: int, last: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for each in all_[first:last]:
                x = each(x)
            return x

        return forward

    at = 0
    for _ in range(segments - 1):
        input = checkpoint(run(at, at + size), input, **named)  # noqa: A001
        at += size
    return run(at, len(all_))(input)
