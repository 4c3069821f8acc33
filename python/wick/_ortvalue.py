"""OrtValue: a value beside its ONNX type, as onnxruntime has it."""

from __future__ import annotations

import math
import operator
from typing import Any, Sequence

import numpy as np

from . import _abi, _types
from ._errors import InvalidArgument
from ._values import Declared, Held


def check_device(device_type: str, device_id: int = 0) -> None:
    """Raises InvalidArgument for memory that is not the host's."""
    if device_type.lower() != "cpu":
        raise InvalidArgument(
            f"device '{device_type}': values are in host memory here, also of models that a device runs; take 'cpu'"
        )


def number_of_type(element_type: Any) -> int:
    """Returns ONNX's number of np.float32, "float", "tensor(float)" or a number. InvalidArgument: it is none."""
    if isinstance(element_type, int):
        number = element_type
    elif isinstance(element_type, str) and _types.number_named(element_type):
        number = _types.number_named(element_type)
    else:
        try:
            number = _types.number_of(np.dtype(element_type))
        except TypeError:
            number = 0
    if number <= 0 or number >= _abi.SEQUENCE:
        raise InvalidArgument(f"{element_type!r} is no element type of ONNX")
    return number


def sizes(shape: Any) -> tuple[int, ...]:
    """Returns a shape as a tuple. InvalidArgument: it is none."""
    try:
        made = tuple(operator.index(n) for n in shape)
    except TypeError:
        raise InvalidArgument(f"the shape is {shape!r}, must be a list of sizes") from None
    if min(made, default=0) < 0:
        raise InvalidArgument(f"the shape is {list(made)}, sizes must be 0 or more")
    return made


def plain(array: np.ndarray[Any, Any]) -> bool:
    """Returns whether an array's elements lie in memory as the library reads and writes them."""
    return bool(array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative)


class OrtValue(Held):
    """A tensor, a sequence or an absent optional in host memory.

    >>> value = OrtValue.ortvalue_from_numpy(np.zeros((2, 3), np.float32))
    >>> value.shape(), value.data_type(), value.device_name()
    ([2, 3], 'tensor(float)', 'cpu')
    """

    __slots__ = ("_type", "_copied")

    def __init__(self, value: Any, number: int, type_text: str) -> None:
        #: Whether the memory is another than that of the array that was given.
        self._copied = isinstance(value, np.ndarray) and value.dtype != np.dtype(object) and not plain(value)
        self._value = np.array(value, value.dtype.newbyteorder("="), order="C") if self._copied else value
        self._number = number
        self._type = type_text

    @classmethod
    def _of(cls, value: Any, port: Declared) -> OrtValue:
        return cls(value, port.element or port.number, port.type)

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: np.ndarray[Any, Any], device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """Returns a value that shares the array's memory, or holds a copy of a view with strides or of the other byte order.

        InvalidArgument: a device, or a dtype that ONNX has not.
        """
        check_device(device_type, device_id)
        array = np.asarray(numpy_obj)
        number = _types.number_of(array.dtype)
        if number == 0:
            raise InvalidArgument(f"{array.dtype} is no element type of ONNX")
        return cls(array, number, f"tensor({_types.type_name(number)})")

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray[Any, Any], onnx_element_type: int) -> OrtValue:
        """Returns a value of an ONNX type that numpy has not, from its bits: uint16 for bfloat16, uint8 for 8 bits."""
        number = number_of_type(onnx_element_type)
        data = np.asarray(data)
        if not _types.accepts(number, data.dtype):
            raise InvalidArgument(f"{data.dtype} cannot hold the bits of {_types.type_name(number)}")
        return cls(data, number, f"tensor({_types.type_name(number)})")

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Returns a value of zeros."""
        check_device(device_type, device_id)
        number = number_of_type(element_type)
        return cls(np.zeros(sizes(shape), _types.dtype_of(number)), number, f"tensor({_types.type_name(number)})")

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """Returns a value that shares the memory of a tensor on the CPU that speaks DLPack."""
        return cls.ortvalue_from_numpy(np.from_dlpack(data))

    def _tensor(self) -> np.ndarray[Any, Any]:
        if not isinstance(self._value, np.ndarray):
            raise InvalidArgument(f"this value is {self._type}, not a tensor")
        return self._value

    def numpy(self) -> Any:
        """Returns the array itself, without a copy; of a sequence the list of its arrays."""
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self._tensor()
        if dtype is None or np.dtype(dtype) == array.dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError(f"an array of {np.dtype(dtype)} cannot be made of {array.dtype} without a copy")
        return array.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self._tensor().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor().__dlpack_device__()

    def shape(self) -> list[int]:
        """Returns the sizes of a tensor."""
        return list(self._tensor().shape)

    def element_type(self) -> int:
        """Returns ONNX's number of the element type."""
        return self._number

    def data_type(self) -> str:
        """Returns "tensor(float)" and its like."""
        return self._type

    def device_name(self) -> str:
        """Returns "cpu"."""
        return "cpu"

    def data_ptr(self) -> int:
        """Returns the address of a tensor's first element."""
        return int(self._tensor().ctypes.data)

    def tensor_size_in_bytes(self) -> int:
        """Returns the bytes of a tensor's elements."""
        return int(math.prod(self._tensor().shape) * self._tensor().itemsize)

    def has_value(self) -> bool:
        """Returns False for an absent optional."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """Returns whether it is a tensor."""
        return isinstance(self._value, np.ndarray)

    def is_tensor_sequence(self) -> bool:
        """Returns whether it is a sequence of tensors."""
        return isinstance(self._value, list)

    def is_sparse_tensor(self) -> bool:
        """Returns False."""
        return False

    def update_inplace(self, data: Any) -> None:
        """Copies an array of the same shape and dtype into the value's memory. InvalidArgument: it has others."""
        array, own = np.asarray(data), self._tensor()
        if array.shape != own.shape or array.dtype != own.dtype:
            raise InvalidArgument(f"the value is {own.dtype}{list(own.shape)}, not {array.dtype}{list(array.shape)}")
        if not own.flags.writeable:
            raise InvalidArgument("the value is on an array that is read-only")
        own[...] = array
