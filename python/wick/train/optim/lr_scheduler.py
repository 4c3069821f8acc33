"""torch.optim.lr_scheduler: learning rates over the epochs, from the rates that the optimizer had."""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence

from ..._errors import InvalidArgument


class _Schedule:
    """Sets each group's rate to rate(epoch, initial rate). A rate that something else has changed since, such as another
    schedule, is changed in the same proportion, as in PyTorch."""

    _scales = True

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch != -1 and "initial_lr" not in group:
                raise InvalidArgument(
                    f"[{type(self).__name__}] last_epoch is {last_epoch}, and group {i} has no 'initial_lr' to go on from: set it "
                    "in param_groups, or give -1"
                )
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def rate(self, epoch: int, base: float) -> float:
        """The rate of an epoch."""
        raise NotImplementedError

    def _rates(self, epoch: int) -> list[float]:
        return [self.rate(epoch, base) for base in self.base_lrs]

    def step(self) -> None:
        """Goes on to the next epoch; call it after the optimizer's step()."""
        held = self.base_lrs if self.last_epoch < 0 else self._rates(self.last_epoch)
        self.last_epoch += 1
        for group, before, now in zip(self.optimizer.param_groups, held, self._rates(self.last_epoch)):
            changed = self._scales and group["lr"] != before and before != 0
            group["lr"] = group["lr"] * (now / before) if changed else now

    def get_last_lr(self) -> list[float]:
        """The present rates."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Where it is."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on there. Rates that were loaded with the optimizer's state stay."""
        if len(state_dict["base_lrs"]) != len(self.base_lrs):
            raise InvalidArgument(
                f"[{type(self).__name__}] the state is of {len(state_dict['base_lrs'])} groups, the optimizer has {len(self.base_lrs)}"
            )
        held = self._rates(self.last_epoch)
        self.base_lrs = list(state_dict["base_lrs"])
        self.last_epoch = state_dict["last_epoch"]
        for group, base, before, now in zip(self.optimizer.param_groups, self.base_lrs, held, self._rates(self.last_epoch)):
            group["initial_lr"] = base
            if group["lr"] == before:
                group["lr"] = now


class StepLR(_Schedule):
    """Times gamma after every step_size epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if step_size < 1:
            raise InvalidArgument(f"[StepLR] step_size is {step_size}, must be 1 or more")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """base gamma^(epoch // step_size)."""
        return float(base * self.gamma ** (epoch // self.step_size))


class MultiStepLR(_Schedule):
    """Times gamma at each milestone."""

    def __init__(self, optimizer: Any, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """base gamma^(milestones passed)."""
        return float(base * self.gamma ** sum(m <= epoch for m in self.milestones))


class ExponentialLR(_Schedule):
    """Times gamma in every epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """base gamma^epoch."""
        return float(base * self.gamma**epoch)


class CosineAnnealingLR(_Schedule):
    """Half a cosine from the initial rate to eta_min in T_max epochs."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803
        if T_max < 1:
            raise InvalidArgument(f"[CosineAnnealingLR] T_max is {T_max}, must be 1 or more")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """Between base and eta_min."""
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class LambdaLR(_Schedule):
    """The initial rate times lr_lambda(epoch), whatever the rate was: one function, or one for each group."""

    _scales = False

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != groups:
            raise InvalidArgument(f"[LambdaLR] got {len(self.lr_lambdas)} functions, the optimizer has {groups} groups")
        super().__init__(optimizer, last_epoch)

    def _rates(self, epoch: int) -> list[float]:
        return [float(base * f(epoch)) for base, f in zip(self.base_lrs, self.lr_lambdas)]


class LinearLR(_Schedule):
    """From start_factor times the initial rate to end_factor times it, in total_iters epochs."""

    def __init__(
        self, optimizer: Any, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if total_iters < 1:
            raise InvalidArgument(f"[LinearLR] total_iters is {total_iters}, must be 1 or more")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """base times the factor of the epoch."""
        return base * (self.start_factor + (self.end_factor - self.start_factor) * min(epoch, self.total_iters) / self.total_iters)


class ReduceLROnPlateau:
    """Times factor where what step() is given has not become better for more than `patience` epochs.

    Better is less than before by the threshold, with mode "max" more: relative to the best ("rel") or not ("abs"). After a
    change `cooldown` epochs do not count; no rate goes below min_lr, nor changes by eps or less.
    """

    def __init__(
        self,
        optimizer: Any,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise InvalidArgument(f"[ReduceLROnPlateau] mode is '{mode}' and threshold_mode '{threshold_mode}', must be min or max, rel or abs")
        if not 0 <= factor < 1:
            raise InvalidArgument(f"[ReduceLROnPlateau] factor is {factor}, must be in [0, 1)")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.min_lr, self.eps = threshold, threshold_mode, cooldown, min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

    def _better(self, value: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            return value * sign > self.best * (1 + sign * self.threshold) * sign
        return value * sign > self.best * sign + self.threshold

    def step(self, metrics: Any) -> None:
        """Counts an epoch with this loss, or whatever is to become better."""
        value = float(metrics)
        self.last_epoch += 1
        if self._better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group in self.optimizer.param_groups:
                now = max(group["lr"] * self.factor, self.min_lr)
                if group["lr"] - now > self.eps:
                    group["lr"] = now
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def get_last_lr(self) -> list[float]:
        """The present rates."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Where it is."""
        names = ("best", "num_bad_epochs", "cooldown_counter", "last_epoch")
        return {name: getattr(self, name) for name in names}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on there."""
        for name in self.state_dict():
            setattr(self, name, state_dict[name])
