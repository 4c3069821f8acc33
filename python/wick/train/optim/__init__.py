"""torch.optim: C++'s optimizers with PyTorch's arguments."""

from __future__ import annotations

import json
import operator
from typing import Any, Callable, Iterable, Mapping

from ... import _train
from ..._errors import InvalidArgument, TypeMismatch
from ..._train import Tensor
from . import lr_scheduler

__all__ = ["Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "NAdam", "Optimizer", "RAdam", "RMSprop", "SGD", "lr_scheduler"]


def _settings(group: Mapping[str, Any]) -> dict[str, Any]:
    """Returns all of a group but its tensors, as it stands now."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in group.items() if k != "params"}


class Optimizer:
    """Updates parameters from their gradients. `params`: tensors, or groups {"params": tensors, "lr": ...}.

    param_groups has a dict for each group; what is changed there ("lr", "weight_decay" ...) counts from the next step on.
    The parameters of a group, and the number of groups, stay.
    """

    _make: Callable[[list[dict[str, Any]]], Any]

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        name = type(self).__name__
        if isinstance(params, (Tensor, Mapping)):
            raise TypeMismatch(f"[{name}] params is a {type(params).__name__}, must be a list of tensors or of groups")
        given = list(params)
        if not given:
            raise InvalidArgument(f"[{name}] there are no parameters")
        groups = given if isinstance(given[0], Mapping) else [{"params": given}]
        self.defaults = dict(defaults)
        self.param_groups: list[dict[str, Any]] = []
        for group in groups:
            if not isinstance(group, Mapping) or "params" not in group:
                raise InvalidArgument(f'[{name}] a group is {{"params": tensors, "lr": ...}}, not {group!r}')
            tensors = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
            for tensor in tensors:
                if not isinstance(tensor, Tensor):
                    raise TypeMismatch(f"[{name}] a parameter is a {type(tensor).__name__}, must be a tensor")
            self.param_groups.append({"params": tensors, **defaults, **{k: v for k, v in group.items() if k != "params"}})
        #: What C++ has of each group: the tensors, and the options as they stood when it was told.
        self._tensors = [list(group["params"]) for group in self.param_groups]
        self._told = [_settings(group) for group in self.param_groups]
        self._native = type(self)._make([{"params": g["params"], **self._options(g)} for g in self.param_groups])

    def _options(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the options of a group as C++ takes them."""
        made = {k: v for k, v in group.items() if k not in ("params", "betas", "initial_lr")}
        try:
            if "betas" in group:
                made["beta1"], made["beta2"] = group["betas"]
            return {k: v if isinstance(v, bool) else float(v) for k, v in made.items()}
        except (TypeError, ValueError) as why:
            raise InvalidArgument(f"[{type(self).__name__}] an option of {made} is no number: {why}") from why

    def _tell(self) -> None:
        """Passes on what was changed in param_groups. An error leaves it untold."""
        if len(self.param_groups) != len(self._told):
            raise InvalidArgument(f"[{type(self).__name__}] groups cannot be added or removed: make another optimizer")
        for i, group in enumerate(self.param_groups):
            held, now = self._tensors[i], group["params"]
            if len(held) != len(now) or not all(map(operator.is_, held, now)):
                raise InvalidArgument(f"[{type(self).__name__}] the parameters of a group cannot be changed: make another optimizer")
            given = _settings(group)
            if given != self._told[i]:
                self._native.set_options(i, self._options(group))
                self._told[i] = given

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
        self._tell()
        self._native.step()
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Removes the gradients, or sets them to 0."""
        self._native.zero_grad(set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict() takes: tensors by name, and the settings as text."""
        self._tell()
        tensors, settings = self._native.state()
        return {"state": {n: t.clone() for n, t in tensors.items()}, "settings": settings}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where state_dict() was called, with the options that were set then. InvalidArgument: it is of other
        parameters."""
        if not isinstance(state_dict, Mapping) or not isinstance(state_dict.get("state"), Mapping) or "settings" not in state_dict:
            raise InvalidArgument(f"[{type(self).__name__}] this is no state_dict() of an optimizer")
        settings = state_dict["settings"]
        self._native.load_state({n: t.clone() for n, t in state_dict["state"].items()}, settings)
        for i, (group, saved) in enumerate(zip(self.param_groups, json.loads(settings)["groups"])):
            group.update({k: saved[k] for k in group if k in saved and k not in ("params", "initial_lr")})
            if "betas" in group:
                group["betas"] = (saved["beta1"], saved["beta2"])
            self._told[i] = _settings(group)


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


class Adagrad(Optimizer):
    """Gradients divided by the root of all their squares so far."""

    _make = staticmethod(_train.make_adagrad)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        options = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps}
        super().__init__(params, {**options, "initial_accumulator_value": initial_accumulator_value, "maximize": maximize})


class Adadelta(Optimizer):
    """Zeiler, 2012: a running root of the squared updates over that of the squared gradients."""

    _make = staticmethod(_train.make_adadelta)

    def __init__(
        self, params: Iterable[Any], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, *, maximize: bool = False
    ) -> None:
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize})


class Adamax(Optimizer):
    """Adam by the largest magnitudes of the gradients."""

    _make = staticmethod(_train.make_adamax)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize})


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat, 2016)."""

    _make = staticmethod(_train.make_nadam)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
    ) -> None:
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**options, "momentum_decay": momentum_decay})


class RAdam(Optimizer):
    """Adam, rectified for the first steps (Liu et al., 2019)."""

    _make = staticmethod(_train.make_radam)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})


class LBFGS(Optimizer):
    """L-BFGS, of one group of parameters. step(closure) calls closure several times; line_search_fn: None or "strong_wolfe"."""

    _make = staticmethod(_train.make_lbfgs)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        options = {"lr": lr, "max_iter": max_iter, "max_eval": max_eval, "tolerance_grad": tolerance_grad}
        options.update(tolerance_change=tolerance_change, history_size=history_size)
        super().__init__(params, {**options, "line_search_fn": line_search_fn})

    def _options(self, group: Mapping[str, Any]) -> dict[str, Any]:
        whole = ("max_iter", "max_eval", "history_size")
        made = super()._options({k: v for k, v in group.items() if k not in (*whole, "line_search_fn")})
        try:
            made.update({k: operator.index(group[k] or 0) for k in whole})
        except TypeError as why:
            raise InvalidArgument(f"[LBFGS] {', '.join(whole)} must be integers: {why}") from why
        return {**made, "line_search_fn": str(group["line_search_fn"] or "")}

    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        """Makes up to max_iter iterations, and returns the first loss. closure() clears the gradients, computes the loss and
        its gradients, and returns it."""
        if closure is None:
            raise InvalidArgument("[LBFGS] step() needs a closure that computes the loss and its gradients")

        def checked() -> Tensor:
            loss = closure()
            if not isinstance(loss, Tensor):
                raise TypeMismatch(f"[LBFGS] closure() returns a {type(loss).__name__}, must return the loss")
            return loss

        self._tell()
        return self._native.step_by(checked)  # type: ignore[no-any-return]
