"""torch.optim.lr_scheduler: learning rates over the epochs, from the rates that the optimizer had."""

from __future__ import annotations

import bisect
import math
from typing import Any, Callable, Sequence

from ..._errors import InvalidArgument


class LRScheduler:
    """Sets each group's rate to rate(epoch, initial rate). A rate that something else has changed since, such as another
    schedule, is changed in the same proportion, as in PyTorch.

    A class of your own has a get_lr(), which returns the rate of each group at self.last_epoch. `verbose` decides nothing.
    """

    _scales = True

    def __init__(self, optimizer: Any, last_epoch: int = -1, verbose: bool = False) -> None:
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

    def get_lr(self) -> list[float]:
        """The rate of each group at last_epoch."""
        return self._rates(self.last_epoch)

    def step(self, epoch: Any = None) -> None:
        """Goes on to the next epoch, or to this one; call it after the optimizer's step()."""
        if epoch is not None or type(self).get_lr is not LRScheduler.get_lr:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            for group, rate in zip(self.optimizer.param_groups, self.get_lr()):
                group["lr"] = rate
            return
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
        if type(self).get_lr is not LRScheduler.get_lr:
            self.base_lrs, self.last_epoch = list(state_dict["base_lrs"]), state_dict["last_epoch"]
            return
        held = self._rates(self.last_epoch)
        self.base_lrs = list(state_dict["base_lrs"])
        self.last_epoch = state_dict["last_epoch"]
        for group, base, before, now in zip(self.optimizer.param_groups, self.base_lrs, held, self._rates(self.last_epoch)):
            group["initial_lr"] = base
            if group["lr"] == before:
                group["lr"] = now


class StepLR(LRScheduler):
    """Times gamma after every step_size epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        if step_size < 1:
            raise InvalidArgument(f"[StepLR] step_size is {step_size}, must be 1 or more")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """base gamma^(epoch // step_size)."""
        return float(base * self.gamma ** (epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(self, optimizer: Any, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """base gamma^(milestones passed)."""
        return float(base * self.gamma ** sum(m <= epoch for m in self.milestones))


class ExponentialLR(LRScheduler):
    """Times gamma in every epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """base gamma^epoch."""
        return float(base * self.gamma**epoch)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate to eta_min in T_max epochs."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1, verbose: bool = False) -> None:  # noqa: N803
        if T_max < 1:
            raise InvalidArgument(f"[CosineAnnealingLR] T_max is {T_max}, must be 1 or more")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """Between base and eta_min."""
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class LambdaLR(LRScheduler):
    """The initial rate times lr_lambda(epoch), whatever the rate was: one function, or one for each group."""

    _scales = False

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1, verbose: bool = False) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != groups:
            raise InvalidArgument(f"[LambdaLR] got {len(self.lr_lambdas)} functions, the optimizer has {groups} groups")
        super().__init__(optimizer, last_epoch)

    def _rates(self, epoch: int) -> list[float]:
        return [float(base * f(epoch)) for base, f in zip(self.base_lrs, self.lr_lambdas)]


class LinearLR(LRScheduler):
    """From start_factor times the initial rate to end_factor times it, in total_iters epochs."""

    def __init__(
        self, optimizer: Any, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if total_iters < 1:
            raise InvalidArgument(f"[LinearLR] total_iters is {total_iters}, must be 1 or more")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """base times the factor of the epoch."""
        return base * (self.start_factor + (self.end_factor - self.start_factor) * min(epoch, self.total_iters) / self.total_iters)


class MultiplicativeLR(LRScheduler):
    """Times lr_lambda(epoch) in every epoch: one function, or one for each group."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1, verbose: bool = False) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]] = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != groups:
            raise InvalidArgument(f"[MultiplicativeLR] got {len(self.lr_lambdas)} functions, the optimizer has {groups} groups")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The present rates, multiplied."""
        rates = self.get_last_lr()
        return [r * f(self.last_epoch) for r, f in zip(rates, self.lr_lambdas)] if self.last_epoch > 0 else rates


class ConstantLR(LRScheduler):
    """factor times the initial rate for total_iters epochs, then the initial rate."""

    def __init__(self, optimizer: Any, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1, verbose: bool = False) -> None:
        if not 0 <= factor <= 1:
            raise InvalidArgument(f"[ConstantLR] factor is {factor}, must be in [0, 1]")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """base, or factor base."""
        return base * self.factor if epoch < self.total_iters else base


class PolynomialLR(LRScheduler):
    """Down to 0 in total_iters epochs, as a power of what is left of them."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1, verbose: bool = False) -> None:
        if total_iters < 1:
            raise InvalidArgument(f"[PolynomialLR] total_iters is {total_iters}, must be 1 or more")
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        """base (1 - epoch / total_iters)^power."""
        return float(base * (1 - min(epoch, self.total_iters) / self.total_iters) ** self.power)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the initial rate to eta_min, again and again: in T_0 epochs, then T_mult times as many, and so on.

    step(epoch + i / batches) goes on within an epoch.
    """

    _scales = False

    def __init__(
        self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1, verbose: bool = False  # noqa: N803
    ) -> None:
        if T_0 < 1 or T_mult < 1:
            raise InvalidArgument(f"[CosineAnnealingWarmRestarts] T_0 is {T_0} and T_mult {T_mult}, must be 1 or more")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: float, base: float) -> float:
        """Between base and eta_min, by the place within the present run."""
        length, at = float(self.T_0), float(epoch)
        while at >= length:
            at -= length
            length *= self.T_mult
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * at / length)) / 2


class _Momentum:
    """The momentum of an optimizer's groups, or the first of their betas."""

    def __init__(self, optimizer: Any, name: str) -> None:
        self.groups = optimizer.param_groups
        if "betas" not in self.groups[0] and "momentum" not in self.groups[0]:
            raise InvalidArgument(f"[{name}] the optimizer has neither momentum nor betas: give cycle_momentum=False")

    def set(self, values: Sequence[float]) -> None:
        for group, value in zip(self.groups, values):
            if "betas" in group:
                group["betas"] = (value, *group["betas"][1:])
            else:
                group["momentum"] = value


def _of_groups(name: str, given: Any, optimizer: Any) -> list[float]:
    values = list(given) if isinstance(given, (list, tuple)) else [given] * len(optimizer.param_groups)
    if len(values) != len(optimizer.param_groups):
        raise InvalidArgument(f"[{name}] got {len(values)} numbers, the optimizer has {len(optimizer.param_groups)} groups")
    return values


class OneCycleLR(LRScheduler):
    """Up from max_lr / div_factor to max_lr and down far below (Smith and Topin, 2017), one step() a batch; momentum goes
    the other way. The number of steps: total_steps, or epochs times steps_per_epoch."""

    def __init__(
        self,
        optimizer: Any,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise InvalidArgument("[OneCycleLR] give total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if total_steps < 1 or not 0 <= pct_start <= 1:
            raise InvalidArgument(f"[OneCycleLR] there are {total_steps} steps and pct_start is {pct_start}, must be 1 or more and in [0, 1]")
        if anneal_strategy not in ("cos", "linear"):
            raise InvalidArgument(f"[OneCycleLR] anneal_strategy is '{anneal_strategy}', must be 'cos' or 'linear'")
        self.total_steps, self._cosine = total_steps, anneal_strategy == "cos"
        tops = _of_groups("OneCycleLR", max_lr, optimizer)
        starts = [top / div_factor for top in tops]
        ends = [start / final_div_factor for start in starts]
        low, high = (_of_groups("OneCycleLR", m, optimizer) for m in (base_momentum, max_momentum))
        up = float(pct_start * total_steps) - 1
        #: Where each phase ends, the rates of the groups at its begin and end, and their momentum likewise.
        self._phases = [(up, starts, tops, high, low)]
        if three_phase:
            self._phases += [(2 * up, tops, starts, low, high), (total_steps - 1, starts, ends, high, high)]
        else:
            self._phases.append((total_steps - 1, tops, ends, low, high))
        self._momentum = _Momentum(optimizer, "OneCycleLR") if cycle_momentum else None
        if last_epoch == -1:
            for group, start in zip(optimizer.param_groups, starts):
                group["initial_lr"] = start
        super().__init__(optimizer, last_epoch)

    def _between(self, first: float, last: float, share: float) -> float:
        if self._cosine:
            return last + (first - last) / 2 * (1 + math.cos(math.pi * share))
        return (last - first) * share + first

    def get_lr(self) -> list[float]:
        """The rates of this step; also sets the momentum."""
        at, begin = self.last_epoch, 0.0
        if at > self.total_steps - 1:
            raise InvalidArgument(f"[OneCycleLR] this is step {at + 1} of {self.total_steps}")
        for end, first, last, first_momentum, last_momentum in self._phases:
            if at <= end or end == self._phases[-1][0]:
                share = (at - begin) / (end - begin)
                if self._momentum is not None:
                    self._momentum.set([self._between(a, b, share) for a, b in zip(first_momentum, last_momentum)])
                return [self._between(a, b, share) for a, b in zip(first, last)]
            begin = end
        raise AssertionError("the last phase has no end")


class CyclicLR(LRScheduler):
    """Up from base_lr to max_lr and down again, over and over (Smith, 2017), one step() a batch.

    mode "triangular": always as high; "triangular2": half as high in each cycle; "exp_range": gamma^step as high.
    scale_fn(cycle), or scale_fn(step) with scale_mode "iterations", decides instead.
    """

    def __init__(
        self,
        optimizer: Any,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        scales: dict[str, tuple[Callable[[float], float], str]] = {
            "triangular": (lambda x: 1.0, "cycle"),
            "triangular2": (lambda x: 1 / 2.0 ** (x - 1), "cycle"),
            "exp_range": (lambda x: gamma**x, "iterations"),
        }
        if scale_fn is None and mode not in scales:
            raise InvalidArgument(f"[CyclicLR] mode is '{mode}', must be {', '.join(scales)}")
        self._scale, self._by = (scale_fn, scale_mode) if scale_fn is not None else scales[mode]
        self._up, self._all = float(step_size_up), float(step_size_up + (step_size_up if step_size_down is None else step_size_down))
        self._low, self._high = _of_groups("CyclicLR", base_lr, optimizer), _of_groups("CyclicLR", max_lr, optimizer)
        self._momenta = [_of_groups("CyclicLR", m, optimizer) for m in (base_momentum, max_momentum)]
        self._momentum = _Momentum(optimizer, "CyclicLR") if cycle_momentum else None
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, self._low):
                group["lr"] = low
                group.pop("initial_lr", None)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of this step; also sets the momentum."""
        cycle = math.floor(1 + self.last_epoch / self._all)
        at, turn = 1 + self.last_epoch / self._all - cycle, self._up / self._all
        height = at / turn if at <= turn else (at - 1) / (turn - 1)
        height *= self._scale(cycle if self._by == "cycle" else self.last_epoch)
        if self._momentum is not None:
            self._momentum.set([high - (high - low) * height for low, high in zip(*self._momenta)])
        return [low + (high - low) * height for low, high in zip(self._low, self._high)]


class SequentialLR:
    """One schedule after the other: milestones are the epochs at which the next one begins."""

    def __init__(self, optimizer: Any, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1, verbose: bool = False) -> None:
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        if len(self._milestones) != len(self._schedulers) - 1:
            raise InvalidArgument(f"[SequentialLR] {len(self._schedulers)} schedules need as many milestones less one, not {len(self._milestones)}")
        if any(s.optimizer is not optimizer for s in self._schedulers):
            raise InvalidArgument("[SequentialLR] the schedules are of another optimizer")
        self.optimizer, self.last_epoch = optimizer, last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for each in self._schedulers:  # each has made its first step
            each.last_epoch -= 1
        self._schedulers[0].step()

    def step(self) -> None:
        """Goes on to the next epoch."""
        self.last_epoch += 1
        k = bisect.bisect_right(self._milestones, self.last_epoch)
        if k > 0 and self._milestones[k - 1] == self.last_epoch:
            self._schedulers[k].step(0)
        else:
            self._schedulers[k].step()

    def get_last_lr(self) -> list[float]:
        """The present rates."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Where it is."""
        return {"last_epoch": self.last_epoch, "schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on there."""
        self.last_epoch = state_dict["last_epoch"]
        for each, state in zip(self._schedulers, state_dict["schedulers"]):
            each.load_state_dict(state)


class ChainedScheduler:
    """Several schedules at once: each changes what the others left."""

    def __init__(self, schedulers: Sequence[Any]) -> None:
        self._schedulers = list(schedulers)
        if not self._schedulers or any(s.optimizer is not self._schedulers[0].optimizer for s in self._schedulers):
            raise InvalidArgument("[ChainedScheduler] there must be one schedule or more, all of one optimizer")
        self.optimizer = self._schedulers[0].optimizer

    def step(self) -> None:
        """Goes on to the next epoch."""
        for each in self._schedulers:
            each.step()

    def get_last_lr(self) -> list[float]:
        """The present rates."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Where they are."""
        return {"schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on there."""
        for each, state in zip(self._schedulers, state_dict["schedulers"]):
            each.load_state_dict(state)


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
        verbose: bool = False,
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


_LRScheduler = LRScheduler
