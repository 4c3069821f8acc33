"""torch.nn.utils: gradients clipped by their norm, or one by one; weights that are computed; `rnn`: sequences of several lengths."""

from __future__ import annotations

from typing import Iterable

from .... import _train
from ...._train import Tensor, dtype
from ..._functions import tensor
from . import rnn
from .weights import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "remove_spectral_norm",
    "remove_weight_norm", "rnn", "spectral_norm", "vector_to_parameters", "weight_norm",
]  # fmt: skip


def clip_grad_norm_(parameters: Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """Scales the gradients so that their norm together is max_norm at most; returns what it was, as a tensor of no dims.

    Its dtype is float64 where a gradient's is, else float32.
    """
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    norm = _train.clip_grad_norm_(given, max_norm, norm_type, error_if_nonfinite)
    wide = any(p.grad is not None and p.grad.dtype == dtype.float64 for p in given)
    return tensor(norm, dtype=dtype.float64 if wide else dtype.float32)


def clip_grad_value_(parameters: Iterable[Tensor], clip_value: float) -> None:
    """Clamps every element of every gradient to [-clip_value, clip_value]."""
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    _train.clip_grad_value_(given, clip_value)


clip_grad_norm = clip_grad_norm_


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters in one row."""
    return _train.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copies a row of numbers into the parameters."""
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].view_as(p).detach().clone()
        at += p.numel()
