"""torch.autograd: gradients without .grad, and functions whose gradient is written in Python."""

from __future__ import annotations

from typing import Any, Callable

from .. import _train
from .._errors import InvalidArgument, TypeMismatch
from .._train import Tensor
from ._modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "functional", "grad", "gradcheck", "inference_mode",
    "no_grad", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip


class set_detect_anomaly:  # noqa: N801
    """From this call on, or as a `with` until its end: the first op that makes NaN or infinity of finite numbers, forward or
    backward, is an error that names it and its line. It reads every value. check_nan=False looks at nothing."""

    _scope: Any = None

    def __init__(self, mode: Any, check_nan: Any = True) -> None:
        self._before = set_detect_anomaly._scope is not None
        self._set(mode and check_nan)

    @staticmethod
    def _set(on: Any) -> None:
        if on and set_detect_anomaly._scope is None:
            set_detect_anomaly._scope = _train._anomaly_mode(True)
        elif not on and set_detect_anomaly._scope is not None:
            set_detect_anomaly._scope.end()
            set_detect_anomaly._scope = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, *why: Any) -> None:
        self._set(self._before)


class detect_anomaly:  # noqa: N801
    """set_detect_anomaly(True), as a `with`."""

    def __init__(self, check_nan: Any = True) -> None:
        self._check = check_nan

    def __enter__(self) -> None:
        self._held = set_detect_anomaly(True, self._check)

    def __exit__(self, *why: Any) -> None:
        self._held.__exit__()


def Variable(data: Tensor, requires_grad: Any = False) -> Tensor:  # noqa: N802
    """The tensor: PyTorch's old name of one that has a gradient."""
    return data.requires_grad_() if requires_grad else data


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
    only_inputs: Any = True,
    allow_unused: Any = False,
) -> tuple[Any, ...]:
    """Returns the gradients of outputs with respect to inputs, and leaves .grad alone.

    only_inputs decides nothing. allow_unused: None for an input that the outputs do not depend on, which is an error otherwise.
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

    @staticmethod
    def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: Any = False) -> tuple[Any, Any]:
        """Returns func(*inputs), and v times its Jacobian: v has the shape of the output, 1 where that is a number."""
        given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        leaves = [x if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given]
        with enable_grad():
            made = func(*leaves)
            found = grad(made, leaves, v, True, create_graph, allow_unused=True)
        slopes = tuple(_train.zeros_like(x) if g is None else g for x, g in zip(leaves, found))
        made = made if create_graph else made.detach() if isinstance(made, Tensor) else tuple(m.detach() for m in made)
        return made, slopes[0] if isinstance(inputs, Tensor) else slopes

    @staticmethod
    def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: Any = False) -> tuple[Any, Any]:
        """Returns func(*inputs), and its Jacobian times v, which has the shape of the inputs: by the gradient of a gradient."""
        given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        along = [v] if isinstance(v, Tensor) else [_train.ones_like(x) for x in given] if v is None else list(v)
        leaves = [x if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given]
        with enable_grad():
            made = func(*leaves)
            weight = _train.zeros_like(made).requires_grad_()
            slopes = grad(made, leaves, weight, True, True, allow_unused=True)
            pairs = [(s, d) for s, d in zip(slopes, along) if s is not None]
            (found,) = grad([s for s, _ in pairs], [weight], [d for _, d in pairs], True, create_graph, allow_unused=True)
        return made if create_graph else made.detach(), _train.zeros_like(made) if found is None else found

    @staticmethod
    def vhp(func: Callable[..., Tensor], inputs: Any, v: Any = None, create_graph: Any = False) -> tuple[Any, Any]:
        """Returns func(*inputs), a number, and v times its second derivatives, in the shape of the inputs."""
        given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        along = [v] if isinstance(v, Tensor) else [_train.ones_like(x) for x in given] if v is None else list(v)
        leaves = [x if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given]
        with enable_grad():
            made = func(*leaves)
            slopes = grad(made, leaves, create_graph=True, allow_unused=True)
            pairs = [(s, d) for s, d in zip(slopes, along) if s is not None and s.requires_grad]
            found: Any = [None] * len(leaves)
            if pairs:
                found = grad([s for s, _ in pairs], leaves, [d for _, d in pairs], True, create_graph, allow_unused=True)
        products = tuple(_train.zeros_like(x) if g is None else g for x, g in zip(leaves, found))
        return made if create_graph else made.detach(), products[0] if isinstance(inputs, Tensor) else products

    hvp = vhp  # the second derivatives are symmetric


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: Any = True, **ignored: Any
) -> Any:
    """Compares the gradients of func by its inputs, of float64, with differences of its values. An error says where they
    differ, or with raise_exception=False the result is False."""
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for at, x in enumerate(given):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        made = func(*given)
        for k, y in enumerate(made if isinstance(made, (tuple, list)) else [made]):
            if not isinstance(y, Tensor) or not y.requires_grad:
                continue
            rows = [grad(each, [x], None, True, allow_unused=True)[0] for each in y.reshape(-1).unbind(0)]
            exact = _train.stack([(_train.zeros_like(x) if r is None else r).reshape(-1) for r in rows])
            columns = []
            with no_grad():
                for i in range(x.numel()):
                    ends = []
                    for step in (eps, -eps):
                        moved = x.detach().clone()
                        moved.view(-1)[i] += step
                        value = func(*[moved if j == at else other for j, other in enumerate(given)])
                        ends.append((value[k] if isinstance(value, (tuple, list)) else value).reshape(-1))
                    columns.append((ends[0] - ends[1]) / (2 * eps))
            near = _train.stack(columns, 1)
            if not _train.allclose(exact, near, rtol, atol):
                if not raise_exception:
                    return False
                raise InvalidArgument(
                    f"[gradcheck] the gradient of output {k} by input {at} is not that of its values: it differs by up to {(exact - near).abs().max().item():.3g}"
                )
    return True
