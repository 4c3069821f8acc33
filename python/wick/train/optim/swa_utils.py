"""torch.optim.swa_utils: weights that are averaged over the steps, and the rate that goes with it (Izmailov et al., 2018)."""

from __future__ import annotations

import copy
import math
from typing import Any, Callable, Iterable

from ... import _train
from ..._errors import InvalidArgument
from ..._train import Tensor
from .._modes import no_grad
from ..nn.layers import _BatchNorm, _InstanceNorm
from ..nn.module import Module
from .lr_scheduler import LRScheduler


class AveragedModel(Module):
    """A copy of a model whose parameters are the means of those that update_parameters() was given.

    avg_fn(averaged, new, how many were averaged) computes another mean; use_buffers averages buffers, too.
    """

    def __init__(self, model: Module, device: str | None = None, avg_fn: Callable[..., Tensor] | None = None, use_buffers: bool = False) -> None:
        super().__init__()
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", _train.zeros((), dtype=_train.dtype.int64))
        self.avg_fn, self.use_buffers = avg_fn, use_buffers

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The averaged model's."""
        return self.module(*inputs, **named)

    def update_parameters(self, model: Module) -> None:
        """Takes the model's present parameters into the mean."""
        count = int(self.n_averaged)
        pairs = list(zip(self.module.parameters(), model.parameters()))
        if self.use_buffers:
            pairs += list(zip(self.module.buffers(), model.buffers()))  # type: ignore[arg-type]
        with no_grad():
            for mean, new in pairs:
                given = new.detach().to(mean.device)
                if count == 0 or not mean.is_floating_point():
                    mean.detach().copy_(given)
                elif self.avg_fn is not None:
                    mean.detach().copy_(self.avg_fn(mean.detach(), given, count))
                else:
                    mean.detach().add_((given - mean.detach()) / (count + 1))
            self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: str | None = None) -> None:
    """Computes the running statistics of the model's batch norms anew, from the inputs of a loader."""
    norms = [(m, m.momentum) for m in model.modules() if isinstance(m, _BatchNorm) and not isinstance(m, _InstanceNorm) and m.track_running_stats]
    if not norms:
        return
    was = model.training
    model.train()
    sums = [(_train.zeros_like(m.running_mean), _train.zeros_like(m.running_var)) for m, _ in norms]
    batches = 0
    with no_grad():
        for given in loader:
            images = given[0] if isinstance(given, (list, tuple)) else given
            for m, _ in norms:
                m.reset_running_stats()
            model(images if device is None else images.to(device))
            batches += 1
            for (m, momentum), (mean, var) in zip(norms, sums):
                share = 1.0 if momentum is None else momentum  # running = (1 - share) * initial + share * batch
                mean.add_(m.running_mean / share)
                var.add_((m.running_var - (1 - share)) / share)
        if batches == 0:
            raise InvalidArgument("[update_bn] the loader has no batches")
        for (m, _), (mean, var) in zip(norms, sums):
            m.running_mean.copy_(mean / batches)
            m.running_var.copy_(var / batches)
            m.num_batches_tracked.fill_(batches)
    model.train(was)


class SWALR(LRScheduler):
    """From the rate that it finds to swa_lr in anneal_epochs epochs, by half a cosine or a line."""

    def __init__(self, optimizer: Any, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise InvalidArgument(f"[SWALR] anneal_strategy is '{anneal_strategy}', must be 'cos' or 'linear'")
        groups = optimizer.param_groups
        self.swa_lrs = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(groups)
        self.anneal_epochs, self._cosine = anneal_epochs, anneal_strategy == "cos"
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        t = min(max(epoch / max(1, self.anneal_epochs), 0.0), 1.0)
        return (1 - math.cos(math.pi * t)) / 2 if self._cosine else t

    def get_lr(self) -> list[float]:
        """Between both, from the present rates."""
        before, now = self._share(self.last_epoch - 1), self._share(self.last_epoch)
        if self.last_epoch == 0:
            before = 0.0
        made = []
        for group, target in zip(self.optimizer.param_groups, self.swa_lrs):
            first = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            made.append(target * now + first * (1 - now))
        return made
