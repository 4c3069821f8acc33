"""Weights that a module computes from others before each forward: weight_norm and spectral_norm."""

from __future__ import annotations

from typing import Any, Callable

from .... import _train
from ...._errors import InvalidArgument
from ...._train import Tensor
from ..module import Module, Parameter
from ..._modes import no_grad


class _Computed:
    """A hook that computes module.NAME, which is no parameter any more."""

    def __init__(self, name: str, compute: Callable[[Module], Tensor], undo: tuple[str, ...]) -> None:
        self.name, self.compute, self.undo = name, compute, undo

    def __call__(self, module: Module, inputs: Any) -> None:
        object.__setattr__(module, self.name, self.compute(module))


def _compute(module: Module, name: str, hook: _Computed, parameters: dict[str, Tensor]) -> Module:
    """Puts parameters in the place of module.NAME."""
    if any(isinstance(h, _Computed) and h.name == name for h in module._pre_hooks.values()):
        raise InvalidArgument(f"'{name}' of {type(module).__name__} is computed already")
    delattr(module, name)
    for each, value in parameters.items():
        module.register_parameter(each, Parameter(value.detach().clone()))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def _parameter(module: Module, name: str) -> Tensor:
    found = module._parameters.get(name)
    if found is None:
        raise InvalidArgument(f"{type(module).__name__} has no parameter '{name}'")
    return found  # type: ignore[no-any-return]


def _remove(module: Module, name: str, what: str) -> Module:
    for key, hook in module._pre_hooks.items():
        if isinstance(hook, _Computed) and hook.name == name:
            value = hook.compute(module).detach()
            del module._pre_hooks[key]
            for each in hook.undo:
                delattr(module, each)
            object.__delattr__(module, name)
            module.register_parameter(name, Parameter(value.clone()))
            return module
    raise InvalidArgument(f"{type(module).__name__} has no {what} of '{name}'")


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """The weight as a length, NAME_g, and a direction, NAME_v (Salimans and Kingma, 2016): a length for each index of dim,
    or one for all where that is None."""
    weight = _parameter(module, name)

    def length(v: Tensor) -> Tensor:
        others = None if dim is None else [d for d in range(v.ndim) if d != dim % v.ndim]
        return _train.norm(v, 2.0, others, dim is not None) if others != [] else v.abs()

    def compute(m: Module) -> Tensor:
        v = getattr(m, f"{name}_v")
        return v * (getattr(m, f"{name}_g") / length(v))  # type: ignore[no-any-return]

    made = {f"{name}_g": length(weight), f"{name}_v": weight}
    return _compute(module, name, _Computed(name, compute, tuple(made)), made)


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Makes what weight_norm() computes a parameter again."""
    return _remove(module, name, "weight_norm")


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Module:
    """The weight divided by its largest singular value (Miyato et al., 2018), which each forward in training mode comes closer to."""
    weight = _parameter(module, name)
    first = dim if dim is not None else 1 if "ConvTranspose" in type(module).__name__ else 0

    def matrix(w: Tensor) -> Tensor:
        return w.movedim(first, 0).flatten(1)

    def unit(x: Tensor) -> Tensor:
        return _train.normalize(x, 2.0, 0, eps)

    def compute(m: Module) -> Tensor:
        w = getattr(m, f"{name}_orig")
        u, v = getattr(m, f"{name}_u"), getattr(m, f"{name}_v")
        if m.training:
            with no_grad():
                for _ in range(n_power_iterations):
                    v.copy_(unit(matrix(w).t() @ u))
                    u.copy_(unit(matrix(w) @ v))
            u, v = u.clone(), v.clone()
        return w / (u @ (matrix(w) @ v))  # type: ignore[no-any-return]

    rows, columns = matrix(weight.detach()).shape
    module.register_buffer(f"{name}_u", unit(_train.randn(rows, dtype=weight.dtype)))
    module.register_buffer(f"{name}_v", unit(_train.randn(columns, dtype=weight.dtype)))
    with no_grad():
        for _ in range(15):
            getattr(module, f"{name}_v").copy_(unit(matrix(weight).t() @ getattr(module, f"{name}_u")))
            getattr(module, f"{name}_u").copy_(unit(matrix(weight) @ getattr(module, f"{name}_v")))
    undo = (f"{name}_orig", f"{name}_u", f"{name}_v")
    return _compute(module, name, _Computed(name, compute, undo), {f"{name}_orig": weight})


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Makes what spectral_norm() computes a parameter again."""
    return _remove(module, name, "spectral_norm")
