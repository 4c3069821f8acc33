"""torch.optim: C++'s optimizers with PyTorch's arguments."""

from __future__ import annotations

import collections
import json
import operator
from typing import Any, Callable, Iterable, Mapping

from ... import _train
from ..._errors import InvalidArgument, TypeMismatch, Unsupported
from ..._train import Tensor
from . import lr_scheduler, swa_utils

__all__ = [
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Lion", "NAdam", "Optimizer", "RAdam", "RMSprop",
    "Rprop", "SGD", "lr_scheduler", "swa_utils",
]  # fmt: skip


def _settings(group: Mapping[str, Any]) -> dict[str, Any]:
    """Returns all of a group but its tensors, as it stands now."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in group.items() if k != "params"}


# PyTorch's keywords that choose how a step is computed, which decide nothing here.
_IGNORED = {"foreach", "fused", "capturable", "differentiable"}


class Optimizer:
    """Updates parameters from their gradients. `params`: tensors, or groups {"params": tensors, "lr": ...}.

    param_groups has a dict for each group; what is changed there ("lr", "weight_decay" ...) counts from the next step on.
    The parameters of a group stay, and add_param_group() adds a group.

    A class of your own derives from it, calls super().__init__(params, defaults) and has a step(); it keeps in self.state[p]
    what it needs of a parameter.
    """

    _make: Callable[[list[dict[str, Any]]], Any] | None = None
    #: Options of two numbers, and what C++ calls these.
    _pairs: Mapping[str, tuple[str, str]] = {}

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any], ignored: Mapping[str, Any] | None = None) -> None:
        name = type(self).__name__
        for unknown in set(ignored or ()) - _IGNORED:
            raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
        if isinstance(params, (Tensor, Mapping)):
            raise TypeMismatch(f"[{name}] params is a {type(params).__name__}, must be a list of tensors or of groups")
        given = list(params)
        if not given:
            raise InvalidArgument(f"[{name}] there are no parameters")
        groups = given if isinstance(given[0], Mapping) else [{"params": given}]
        self.defaults = dict(defaults)
        self.param_groups: list[dict[str, Any]] = [self._group(group) for group in groups]
        #: What C++ has of each group: the tensors, and the options as they stood when it was told.
        self._tensors = [list(group["params"]) for group in self.param_groups]
        self._told = [_settings(group) for group in self.param_groups]
        self._own_state: dict[Tensor, dict[str, Any]] = collections.defaultdict(dict)
        make = type(self)._make
        self._native: Any = make([{"params": g["params"], **self._options(g)} for g in self.param_groups]) if make is not None else None

    def _group(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a group with the defaults of what it leaves out."""
        name = type(self).__name__
        if not isinstance(group, Mapping) or "params" not in group:
            raise InvalidArgument(f'[{name}] a group is {{"params": tensors, "lr": ...}}, not {group!r}')
        tensors = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeMismatch(f"[{name}] a parameter is a {type(tensor).__name__}, must be a tensor")
        return {"params": tensors, **self.defaults, **{k: v for k, v in group.items() if k != "params"}}

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Adds a group; schedules that were made before change those that they know."""
        group = self._group(param_group)
        if self._native is not None:
            self._tell()
            if not self._native.add_group({"params": group["params"], **self._options(group)}):
                raise Unsupported(f"[{type(self).__name__}] it has one group: make another optimizer of all parameters")
        self.param_groups.append(group)
        self._tensors.append(list(group["params"]))
        self._told.append(_settings(group))

    @property
    def state(self) -> dict[Tensor, dict[str, Any]]:
        """What is kept of each parameter, by the parameter itself; of optimizers of C++ what state_dict() has, to be read."""
        if self._native is None:
            return self._own_state
        every = [p for group in self.param_groups for p in group["params"]]
        made: dict[Tensor, dict[str, Any]] = {}
        for name, tensor in self._native.state()[0].items():
            number, _, kept = name.removeprefix("state.").partition(".")
            if number.isdigit():
                made.setdefault(every[int(number)], {})[kept] = tensor
        return made

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [f"Parameter Group {i}", *(f"    {k}: {group[k]}" for k in sorted(group) if k != "params")]
        return "\n".join([*lines, ")"])

    def _options(self, group: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the options of a group as C++ takes them."""
        made = {k: v for k, v in group.items() if k not in ("params", "betas", "initial_lr")}
        try:
            if "betas" in group:
                made["beta1"], made["beta2"] = group["betas"]
            for name, (least, most) in self._pairs.items():
                made[least], made[most] = made.pop(name)
            return {k: v if isinstance(v, bool) else float(v) for k, v in made.items()}
        except (TypeError, ValueError) as why:
            raise InvalidArgument(f"[{type(self).__name__}] an option of {made} is no number: {why}") from why

    def _tell(self) -> None:
        """Passes on what was changed in param_groups. An error leaves it untold."""
        if len(self.param_groups) != len(self._told):
            raise InvalidArgument(f"[{type(self).__name__}] groups are added by add_param_group(), and cannot be removed")
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
        if self._native is None:
            raise NotImplementedError(f"{type(self).__name__} has no step()")
        self._tell()
        self._native.step()
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Removes the gradients, or sets them to 0."""
        if self._native is not None:
            self._native.zero_grad(set_to_none)
            return
        for p in (p for group in self.param_groups for p in group["params"]):
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad.detach().zero_()

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict() takes: tensors by name, and the settings as text; of a class of your own the state by the
        number of each parameter, and the groups, as PyTorch's."""
        if self._native is None:
            every = [p for group in self.param_groups for p in group["params"]]
            numbers = {hash(p): i for i, p in enumerate(every)}
            groups = [{**_settings(g), "params": [numbers[hash(p)] for p in g["params"]]} for g in self.param_groups]
            return {"state": {numbers[hash(p)]: dict(kept) for p, kept in self.state.items()}, "param_groups": groups}
        self._tell()
        tensors, settings = self._native.state()
        return {"state": {n: t.clone() for n, t in tensors.items()}, "settings": settings}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on where state_dict() was called, with the options that were set then. InvalidArgument: it is of other
        parameters."""
        kept = "settings" if self._native is not None else "param_groups"
        if not isinstance(state_dict, Mapping) or not isinstance(state_dict.get("state"), Mapping) or kept not in state_dict:
            raise InvalidArgument(f"[{type(self).__name__}] this is no state_dict() of an optimizer")
        if self._native is None:
            self._load_own(state_dict)
            return
        settings = state_dict["settings"]
        self._native.load_state({n: t.clone() for n, t in state_dict["state"].items()}, settings)
        for i, (group, saved) in enumerate(zip(self.param_groups, json.loads(settings)["groups"])):
            group.update({k: saved[k] for k in group if k in saved and k not in ("params", "initial_lr")})
            if "betas" in group:
                group["betas"] = (saved["beta1"], saved["beta2"])
            for name, (least, most) in self._pairs.items():
                group[name] = (saved[least], saved[most])
            self._told[i] = _settings(group)


    def _load_own(self, state_dict: Mapping[str, Any]) -> None:
        saved = state_dict["param_groups"]
        if [len(g["params"]) for g in saved] != [len(g["params"]) for g in self.param_groups]:
            raise InvalidArgument(f"[{type(self).__name__}] the state is of groups of {[len(g['params']) for g in saved]} parameters")
        every = [p for group in self.param_groups for p in group["params"]]
        for group, of in zip(self.param_groups, saved):
            group.update({k: v for k, v in of.items() if k != "params"})
        self._own_state.clear()
        for number, values in state_dict["state"].items():
            self._own_state[every[int(number)]] = {k: v.clone() if isinstance(v, Tensor) else v for k, v in values.items()}


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
        **ignored: Any,
    ) -> None:
        options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**options, "nesterov": nesterov, "maximize": maximize}, ignored)


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
        ignored: Mapping[str, Any],
    ) -> None:
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**options, "amsgrad": amsgrad, "maximize": maximize}, ignored)


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
        **ignored: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize, ignored)


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
        **ignored: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize, ignored)


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
        **ignored: Any,
    ) -> None:
        options = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
        super().__init__(params, {**options, "centered": centered, "maximize": maximize}, ignored)


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
        **ignored: Any,
    ) -> None:
        options = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps}
        super().__init__(params, {**options, "initial_accumulator_value": initial_accumulator_value, "maximize": maximize}, ignored)


class Adadelta(Optimizer):
    """Zeiler, 2012: a running root of the squared updates over that of the squared gradients."""

    _make = staticmethod(_train.make_adadelta)

    def __init__(
        self, params: Iterable[Any], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, *, maximize: bool = False, **ignored: Any
    ) -> None:
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}, ignored)


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
        **ignored: Any,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}, ignored)


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
        **ignored: Any,
    ) -> None:
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**options, "momentum_decay": momentum_decay}, ignored)


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
        **ignored: Any,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}, ignored)


class ASGD(Optimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992)."""

    _make = staticmethod(_train.make_asgd)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
        **ignored: Any,
    ) -> None:
        options = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
        super().__init__(params, {**options, "maximize": maximize}, ignored)


class Rprop(Optimizer):
    """Steps by the signs of the gradients (Riedmiller and Braun, 1993), for gradients of a whole data set."""

    _make = staticmethod(_train.make_rprop)
    _pairs = {"etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        maximize: bool = False,
        **ignored: Any,
    ) -> None:
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}, ignored)


class Lion(Optimizer):
    """The sign of a mean of gradients (Chen et al., 2023)."""

    _make = staticmethod(_train.make_lion)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize})


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
