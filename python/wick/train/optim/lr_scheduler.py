"""torch.optim.lr_scheduler: learning rates over the epochs, from the rates that the optimizer had."""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence


class _Schedule:
    """Sets each group's rate to rate(epoch, initial rate)."""

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def rate(self, epoch: int, base: float) -> float:
        """The rate of an epoch."""
        raise NotImplementedError

    def step(self) -> None:
        """Goes on to the next epoch; call it after the optimizer's step()."""
        self.last_epoch += 1
        for group, base in zip(self.optimizer.param_groups, self.base_lrs):
            group["lr"] = self.rate(self.last_epoch, base)

    def get_last_lr(self) -> list[float]:
        """The present rates."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Where it is."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on there."""
        self.base_lrs = list(state_dict["base_lrs"])
        self.last_epoch = state_dict["last_epoch"] - 1
        self.step()


class StepLR(_Schedule):
    """Times gamma after every step_size epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
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
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """Between base and eta_min."""
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class LambdaLR(_Schedule):
    """Times lr_lambda(epoch)."""

    def __init__(self, optimizer: Any, lr_lambda: Callable[[int], float], last_epoch: int = -1) -> None:
        self.lr_lambda = lr_lambda
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """base lr_lambda(epoch)."""
        return float(base * self.lr_lambda(epoch))
