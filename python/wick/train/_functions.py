"""Functions that take more forms of arguments than C++ has."""

from __future__ import annotations

import operator as _operator
from typing import Any

import numpy as _np

from .. import _train
from .._errors import TypeMismatch
from .._train import Tensor, dtype


def from_numpy(ndarray: Any) -> Tensor:
    """Returns a tensor with a copy of an array's elements, however they lie in memory and in whatever byte order.

    TypeMismatch: it is no array, or there is no tensor of its dtype.
    """
    if not isinstance(ndarray, (_np.ndarray, _np.generic)):
        raise TypeMismatch(f"[from_numpy] expected an array of numpy's, not a {type(ndarray).__name__}; tensor() takes it")
    array = _np.asarray(ndarray)
    if not (array.dtype.isnative and array.flags.c_contiguous and array.flags.writeable):  # older numpys lend no others
        array = _np.array(array, array.dtype.newbyteorder("="), order="C")
    if array.dtype.name == "bfloat16":  # of ml_dtypes, which no protocol between packages knows
        return _train._from_numpy(array.view(_np.uint16)).view(dtype.bfloat16)
    if array.dtype.kind not in "biufc":
        raise TypeMismatch(f"[from_numpy] there is no tensor of {array.dtype}")
    return _train._from_numpy(array)


def tensor(data: Any, *, dtype: dtype | None = None, device: str | None = None, requires_grad: Any = False) -> Tensor:
    """Returns a tensor with a copy of numbers, lists of them, an array or a tensor.

    Floats of Python become float32 and ints int64, as in PyTorch; an array keeps its dtype.
    """
    if isinstance(data, Tensor):
        made = data.detach().clone()
    elif isinstance(data, (list, tuple)) and data and any(isinstance(d, Tensor) for d in data):
        made = _train.stack([as_tensor(d) for d in data]).detach()
    else:
        try:
            array = _np.asarray(data)
        except ValueError as why:  # lists of different lengths
            raise TypeMismatch(f"[tensor] no tensor can be made of a {type(data).__name__}: {why}") from why
        if not isinstance(data, (_np.ndarray, _np.generic)) and array.dtype == _np.float64 and dtype is None:
            array = array.astype(_np.float32)
        made = from_numpy(array)
    if dtype is not None:
        made = made.to(dtype)
    return _placed(made, device, requires_grad)


def _placed(made: Tensor, device: str | None, requires_grad: Any) -> Tensor:
    if device is not None:
        made = made.to(device)
    return made.requires_grad_() if requires_grad else made


def as_tensor(data: Any, dtype: dtype | None = None, device: str | None = None) -> Tensor:
    """Returns data itself where it is a tensor of that dtype on that device, else tensor(data)."""
    if isinstance(data, Tensor):
        made = data if dtype is None or data.dtype == dtype else data.to(dtype)
        return made if device is None or made.device == device else made.to(device)
    return tensor(data, dtype=dtype, device=device)


_FLOATS = (dtype.float16, dtype.bfloat16, dtype.float32, dtype.float64)


def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: dtype | None = None, device: str | None = None, requires_grad: Any = False
) -> Tensor:
    """Returns start, start + step ... below end; arange(n): 0 to n - 1. int64 where all three are whole, else float32."""
    if end is None:
        start, end = 0, start
    given = (start, end, step)
    if dtype is None or dtype not in _FLOATS:
        try:  # numpy's ints are whole numbers, too; a double could not hold all of them
            first, last, by = map(_operator.index, given)
            return _placed(_train._arange_whole(first, last, by, dtype), device, requires_grad)
        except TypeError:
            pass
    return _placed(_train._arange(float(start), float(end), float(step), dtype), device, requires_grad)


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


def _of_dtype(made: dtype) -> Any:
    """Returns a constructor as PyTorch's old ones: of data, or of sizes."""

    def make(*data: Any) -> Tensor:
        if len(data) == 1 and not isinstance(data[0], int):
            return tensor(data[0], dtype=made)
        return _train.empty(*data, dtype=made)

    return make


FloatTensor, DoubleTensor, HalfTensor = _of_dtype(dtype.float32), _of_dtype(dtype.float64), _of_dtype(dtype.float16)
LongTensor, IntTensor, ByteTensor, BoolTensor = map(_of_dtype, (dtype.int64, dtype.int32, dtype.uint8, dtype.bool))
