"""Functions that take more forms of arguments than C++ has."""

from __future__ import annotations

from typing import Any

import numpy as _np

from .. import _train
from .._train import Tensor, dtype


def tensor(data: Any, *, dtype: dtype | None = None, requires_grad: Any = False) -> Tensor:
    """Returns a tensor with a copy of numbers, lists of them, an array or a tensor.

    Floats of Python become float32 and ints int64, as in PyTorch; an array keeps its dtype.
    """
    if isinstance(data, Tensor):
        made = data.detach().clone()
    elif isinstance(data, (list, tuple)) and data and any(isinstance(d, Tensor) for d in data):
        made = _train.stack([as_tensor(d) for d in data]).detach()
    else:
        array = _np.ascontiguousarray(data) if _np.ndim(data) else _np.asarray(data)
        if not isinstance(data, (_np.ndarray, _np.generic)) and array.dtype == _np.float64 and dtype is None:
            array = array.astype(_np.float32)
        made = _train.from_numpy(array)
    if dtype is not None:
        made = made.to(dtype)
    return made.requires_grad_() if requires_grad else made


def as_tensor(data: Any, dtype: dtype | None = None) -> Tensor:
    """Returns data itself where it is a tensor of that dtype, else tensor(data)."""
    if isinstance(data, Tensor):
        return data if dtype is None or data.dtype == dtype else data.to(dtype)
    return tensor(data, dtype=dtype)


def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: dtype | None = None) -> Tensor:
    """Returns start, start + step ... below end; arange(n): 0 to n - 1. int64 where all three are ints, else float32."""
    if end is None:
        start, end = 0, start
    whole = all(isinstance(n, int) for n in (start, end, step))
    return _train._arange(start, end, step, whole, dtype)


def einsum(equation: str, *operands: Any) -> Tensor:
    """Returns the sum of products that the equation names, such as "bij,bjk->bik"."""
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return _train._einsum(equation, list(given))


def meshgrid(*tensors: Any, indexing: str = "ij") -> list[Tensor]:
    """Returns the coordinates of a grid."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return _train._meshgrid(list(given), indexing)


def is_tensor(obj: Any) -> Any:
    """Returns whether obj is a Tensor."""
    return isinstance(obj, Tensor)
