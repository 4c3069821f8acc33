"""torch.optim: C++'s optimizers with PyTorch's arguments."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping

from ... import _train
from ..._errors import InvalidArgument
from ..._train import Tensor
from . import lr_scheduler

__all__ = ["Adam", "AdamW", "Optimizer", "RMSprop", "SGD", "lr_scheduler"]


class Optimizer:
    """Updates parameters from their gradients. `params`: tensors, or groups {"params": tensors, "lr": ...}.

    param_groups has a dict for each group; a new "lr" in it counts from the next step on.
    """

    _make: Callable[[list[dict[str, Any]]], Any]

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        given = list(params)
        if not given:
            raise InvalidArgument(f"[{type(self).__name__}] there are no parameters")
        groups = given if isinstance(given[0], Mapping) else [{"params": given}]
        self.defaults = dict(defaults)
        self.param_groups: list[dict[str, Any]] = []
        native = []
        for group in groups:
            tensors = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
            options = {**defaults, **{k: v for k, v in group.items() if k != "params"}}
            self.param_groups.append({"params": tensors, **options})
            native.append({"params": tensors, **self._native_options(options)})
        self._native = type(self)._make(native)

    @staticmethod
    def _native_options(options: Mapping[str, Any]) -> dict[str, Any]:
        made = {k: v for k, v in options.items() if k not in ("betas", "initial_lr")}
        if "betas" in options:
            made["beta1"], made["beta2"] = map(float, options["betas"])
        return {k: v if isinstance(v, bool) else float(v) for k, v in made.items()}

    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        """Makes one update. closure() computes the loss and its gradients first; its result is returned."""
        loss = None
        if closure is not None:
            before = _train.is_grad_enabled()
            _train._set_grad_enabled(True)
            try:
                loss = closure()
            finally:
                _train._set_grad_enabled(before)
        for i, group in enumerate(self.param_groups):
            if self._native.lr(i) != group["lr"]:
                self._native.set_lr(i, float(group["lr"]))
        self._native.step()
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Removes the gradients, or sets them to 0."""
        self._native.zero_grad(set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict() takes: tensors by name, and the settings as text."""
        tensors, settings = self._native.state()
        return {"state": {n: t.clone() for n, t in tensors.items()}, "settings": settings}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where state_dict() was called. InvalidArgument: it is of other parameters."""
        self._native.load_state({n: t.clone() for n, t in state_dict["state"].items()}, state_dict["settings"])
        for i, group in enumerate(self.param_groups):
            group["lr"] = self._native.lr(i)


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and Nesterov's form of it."""

    _make = staticmethod(_train.make_sgd)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**options, "nesterov": nesterov, "maximize": maximize})


class _Adam(Optimizer):
    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        amsgrad: bool,
        maximize: bool,
    ) -> None:
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**options, "amsgrad": amsgrad, "maximize": maximize})


class Adam(_Adam):
    """Kingma and Ba, 2015."""

    _make = staticmethod(_train.make_adam)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize)


class AdamW(_Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    _make = staticmethod(_train.make_adamw)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize)


class RMSprop(Optimizer):
    """Gradients divided by a running root of their squares."""

    _make = staticmethod(_train.make_rmsprop)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        maximize: bool = False,
    ) -> None:
        options = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
        super().__init__(params, {**options, "centered": centered, "maximize": maximize})
