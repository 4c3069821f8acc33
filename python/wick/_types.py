"""Element types: ONNX's numbers, the names that onnxruntime prints, and numpy's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import Unsupported

# number: (name in "tensor(...)", numpy's dtype or ""). Those without one are ml_dtypes' or raw bits.
_ROWS: dict[int, tuple[str, str]] = {
    1: ("float", "float32"),
    2: ("uint8", "uint8"),
    3: ("int8", "int8"),
    4: ("uint16", "uint16"),
    5: ("int16", "int16"),
    6: ("int32", "int32"),
    7: ("int64", "int64"),
    8: ("string", "object"),
    9: ("bool", "bool"),
    10: ("float16", "float16"),
    11: ("double", "float64"),
    12: ("uint32", "uint32"),
    13: ("uint64", "uint64"),
    14: ("complex64", "complex64"),
    15: ("complex128", "complex128"),
    16: ("bfloat16", ""),
    17: ("float8e4m3fn", ""),
    18: ("float8e4m3fnuz", ""),
    19: ("float8e5m2", ""),
    20: ("float8e5m2fnuz", ""),
    21: ("uint4", ""),
    22: ("int4", ""),
    23: ("float4e2m1", ""),
    24: ("float8e8m0", ""),
    25: ("uint2", ""),
    26: ("int2", ""),
}
# Types that numpy has not: the name that ml_dtypes gives them, and the bits that stand for them without it.
_RAW: dict[int, tuple[str, str]] = {
    16: ("bfloat16", "uint16"),
    17: ("float8_e4m3fn", "uint8"),
    18: ("float8_e4m3fnuz", "uint8"),
    19: ("float8_e5m2", "uint8"),
    20: ("float8_e5m2fnuz", "uint8"),
    24: ("float8_e8m0fnu", "uint8"),
}
STRING = 8
_BY_NUMPY = {name: number for number, (_, name) in _ROWS.items() if name and number != STRING}
_BY_ML = {name: number for number, (name, _) in _RAW.items()}
_NAMES = {name: number for number, (name, _) in _ROWS.items()}


def type_name(number: int) -> str:
    """Returns "float" for 1, as it stands in "tensor(float)"."""
    row = _ROWS.get(number)
    return row[0] if row else f"type {number}"


def number_of(dtype: np.dtype[Any]) -> int:
    """Returns ONNX's number of a numpy dtype; 0: it has none."""
    if dtype.kind in "OUST":
        return STRING
    return _BY_NUMPY.get(dtype.name) or _BY_ML.get(dtype.name, 0)


def number_named(name: str) -> int:
    """Returns ONNX's number of "float", "tensor(float)" or "float32"; 0: there is none."""
    if name.startswith("tensor(") and name.endswith(")"):
        name = name[7:-1]
    return _NAMES.get(name) or _BY_NUMPY.get(name, 0)


def accepts(number: int, dtype: np.dtype[Any]) -> bool:
    """Returns whether an array of `dtype` holds elements of that number, if need be as raw bits."""
    if number_of(dtype) == number:
        return True
    return number in _RAW and dtype.name == _RAW[number][1]


def is_raw(number: int) -> bool:
    """Returns whether arrays may hold elements of that number as the bits of another dtype."""
    return number in _RAW


def dtype_of(number: int) -> np.dtype[Any]:
    """Returns the dtype of arrays that hold elements of that number.

    bfloat16 and the 8-bit floats are ml_dtypes' where that is installed, else uint16 and uint8 with the same bits.
    Raises Unsupported for types that numpy cannot hold (int4 and its like).
    """
    name = _ROWS.get(number, ("", ""))[1]
    if name:
        return np.dtype(name)
    if number not in _RAW:
        raise Unsupported(
            f"numpy has no array of {type_name(number)}: let the model cast such an input or output to int8 or float"
        )
    ml_name, bits = _RAW[number]
    try:
        import ml_dtypes  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return np.dtype(bits)
    return np.dtype(getattr(ml_dtypes, ml_name, bits))
