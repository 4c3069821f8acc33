"""torch.testing: comparisons whose error says where the values differ."""

from __future__ import annotations

from typing import Any

import numpy as _np

from .._train import Tensor
from .._train import dtype as _dtype

__all__ = ["assert_close"]

_RELATIVE = {_dtype.float16: 1e-3, _dtype.bfloat16: 1.6e-2, _dtype.float32: 1.3e-6, _dtype.float64: 1e-7}


def assert_close(
    actual: Any, expected: Any, *, rtol: float | None = None, atol: float | None = None, equal_nan: bool = False, check_dtype: bool = True, msg: Any = None
) -> None:
    """AssertionError unless |actual - expected| <= atol + rtol |expected| in every element; without both by the dtype."""
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be given, or neither")
    if isinstance(expected, dict):
        if actual.keys() != expected.keys():
            raise AssertionError(msg or f"the keys are {sorted(actual)}, must be {sorted(expected)}")
        pairs = [(actual[k], expected[k]) for k in expected]
    elif isinstance(expected, (list, tuple)):
        if len(actual) != len(expected):
            raise AssertionError(msg or f"there are {len(actual)} items, must be {len(expected)}")
        pairs = list(zip(actual, expected))
    else:
        pairs = []
        _close(actual, expected, rtol, atol, equal_nan, check_dtype, msg)
    for mine, other in pairs:
        assert_close(mine, other, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg)


def _close(actual: Any, expected: Any, rtol: float | None, atol: float | None, equal_nan: bool, check_dtype: bool, msg: Any) -> None:
    both = isinstance(actual, Tensor) and isinstance(expected, Tensor)
    if both and check_dtype and actual.dtype != expected.dtype:
        raise AssertionError(msg or f"the dtypes are {actual.dtype} and {expected.dtype}")
    kinds = [v.dtype for v in (actual, expected) if isinstance(v, Tensor)] or [_dtype.float64]
    if rtol is None or atol is None:
        rtol = max(_RELATIVE.get(k, 0.0) for k in kinds)
        atol = 0.0 if rtol == 0 else 1e-7 if rtol == 1e-7 else 1e-5
    a, e = (_np.asarray(v.detach().double().numpy() if isinstance(v, Tensor) else v, dtype=_np.float64) for v in (actual, expected))
    if a.shape != e.shape:
        raise AssertionError(msg or f"the shapes are {a.shape} and {e.shape}")
    good = _np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if not good.all():
        at = tuple(int(i) for i in _np.argwhere(~good)[0])
        raise AssertionError(msg or f"{(~good).sum()} of {good.size} elements differ; the first at {list(at)}: {a[at]}, must be {e[at]} (rtol {rtol}, atol {atol})")
