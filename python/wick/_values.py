"""Turns values of Python into tensors of the library, and back."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

import numpy as np

from . import _abi, _types
from ._errors import InvalidArgument, TypeMismatch
from ._library import check, lib

_CONTAINERS = (_abi.SEQUENCE, _abi.OPTIONAL, _abi.OPTIONAL_SEQUENCE)
_NO_BYTES = ctypes.c_char * 0


class Declared:
    """What the model declares of an input or output: `number` is ONNX's of the dtype, `element` that of a
    sequence's or an optional's elements, `dims` has -1 where a size is free, None where the rank is."""

    __slots__ = ("name", "number", "element", "dims", "symbols", "dtype")

    def __init__(self, name: str, number: int, element: int, dims: list[int] | None, symbols: list[str | None]) -> None:
        self.name = name
        self.number = number
        self.element = element
        self.dims = dims
        self.symbols = symbols
        # The dtype that the fast path compares with; None: values are converted one by one.
        plain = number not in _CONTAINERS and number != _types.STRING and bool(_types._ROWS.get(number, ("", ""))[1])
        self.dtype: np.dtype[Any] | None = _types.dtype_of(number) if plain else None

    @property
    def type(self) -> str:
        """As onnxruntime prints it: "tensor(float)", "seq(tensor(int64))", "optional(tensor(float))"."""
        inner = f"tensor({_types.type_name(self.element or self.number)})"
        if self.number in (_abi.SEQUENCE, _abi.OPTIONAL_SEQUENCE):
            inner = f"seq({inner})"
        return f"optional({inner})" if self.number in (_abi.OPTIONAL, _abi.OPTIONAL_SEQUENCE) else inner


class Held:
    """What OrtValue is to this file: a value, with ONNX's number of its elements."""

    __slots__ = ("_value", "_number")
    _value: Any
    _number: int


def address_of(array: Any) -> int:
    """Returns where the elements of an array lie."""
    try:
        # Half the time of __array_interface__; needs a writable array of a type that the buffer protocol knows.
        return ctypes.addressof(_NO_BYTES.from_buffer(array))
    except (TypeError, ValueError, BufferError):
        address: int = array.__array_interface__["data"][0]
        return address


def array_of(value: Any, port: Declared, number: int) -> np.ndarray[Any, Any]:
    """Returns `value` as an array in native byte order, without a copy where it is one or speaks DLPack.

    What has no dtype of its own (numbers, lists) becomes the declared one. InvalidArgument: no array can be made of it.
    """
    array: np.ndarray[Any, Any]
    if value is None:  # numpy would make NaN of it
        raise InvalidArgument(f"input '{port.name}' is None: only optional inputs may be absent, and it is {port.type}")
    if isinstance(value, np.ndarray):
        array = value
    elif isinstance(value, np.generic):
        array = np.asarray(value)
    elif hasattr(value, "__dlpack__"):
        array = _spoken(value, port)
    elif hasattr(value, "__array__"):
        array = np.asarray(value)
    else:
        want = np.dtype(object) if number == _types.STRING else _types.dtype_of(number)
        try:
            array = np.asarray(value, dtype=want)
            # 1.5, and with older versions of numpy 300, become some byte without a word.
            whole = want.kind not in "iu" or bool(np.all(array == np.asarray(value)))
        except (TypeError, ValueError, OverflowError) as why:
            raise InvalidArgument(
                f"input '{port.name}': no array of {want} can be made of a {type(value).__name__}: {why}"
            ) from why
        if not whole:
            raise TypeMismatch(f"input '{port.name}': a {type(value).__name__} has values that {want} cannot hold")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def _spoken(value: Any, port: Declared) -> np.ndarray[Any, Any]:
    """Returns what speaks DLPack as an array. Older versions of it have no bool, so __array__ is asked, too."""
    try:
        return np.from_dlpack(value)
    except Exception as why:  # noqa: BLE001: what an exporter raises is its own
        try:
            return np.asarray(value.__array__())
        except Exception:  # noqa: BLE001: the first error says more
            raise InvalidArgument(
                f"input '{port.name}': {type(value).__name__} cannot be read by DLPack ({why}); give a tensor on the CPU "
                "that needs no gradient, such as x.detach().cpu(), of a dtype that numpy has "
                "(bfloat16: x.view(torch.int16).numpy().view(np.uint16))"
            ) from why


def fill(tensor: _abi.Tensor, number: int, shape: tuple[int, ...], address: int, name: str) -> None:
    """Describes memory in *tensor. InvalidArgument: more dims than a tensor has."""
    if len(shape) > _abi.MAX_RANK:
        raise InvalidArgument(f"'{name}' has {len(shape)} dims; a tensor has {_abi.MAX_RANK} at most")
    tensor.data = address
    tensor.dtype = number
    tensor.rank = len(shape)
    tensor.dims[: len(shape)] = shape


def put(value: Any, port: Declared, tensor: _abi.Tensor, keep: list[Any]) -> tuple[int, ...]:
    """Describes `value` in *tensor; `keep` gets what must live until the outputs were read. Returns its shape."""
    if port.number in _CONTAINERS:
        return _put_packed(value._value if isinstance(value, Held) else value, port, tensor, keep)
    return _put_tensor(value, port, port.number, tensor, keep)


def _put_tensor(value: Any, port: Declared, number: int, tensor: _abi.Tensor, keep: list[Any]) -> tuple[int, ...]:
    held = value if isinstance(value, Held) else None
    if held is not None:
        value = held._value
        if not isinstance(value, np.ndarray):
            raise TypeMismatch(f"input '{port.name}' is tensor({_types.type_name(number)}), not a sequence or None")
    array = array_of(value, port, number)
    if held is not None and _types.is_raw(held._number):  # its dtype may say less than the value does
        given = held._number
    else:
        given = number if _types.accepts(number, array.dtype) else _types.number_of(array.dtype)
    if given == 0 or (given == _types.STRING) != (number == _types.STRING):  # arrays of objects are not always texts
        raise TypeMismatch(f"input '{port.name}' is {array.dtype}, must be {_types.type_name(number)}")
    if given == _types.STRING:
        _put_strings(array, tensor, keep, port.name)
        return tuple(array.shape)
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = np.array(array, order="C")
    keep.append(array)
    fill(tensor, given, array.shape, address_of(array), port.name)
    return tuple(array.shape)


def _put_strings(array: np.ndarray[Any, Any], tensor: _abi.Tensor, keep: list[Any], name: str) -> None:
    try:  # bytes that are no UTF-8 are what surrogateescape makes of them, here and in _take_strings
        texts = [t if isinstance(t, bytes) else str(t).encode("utf-8", "surrogateescape") for t in array.ravel().tolist()]
    except UnicodeEncodeError as why:
        raise InvalidArgument(f"input '{name}' has a text that is no UTF-8: {why}") from why
    items = (_abi.String * max(1, len(texts)))()
    for item, text in zip(items, texts):
        item.data = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p)
        item.size = len(text)
    keep.append((texts, items))
    fill(tensor, _types.STRING, array.shape, ctypes.addressof(items), name)


def _put_packed(value: Any, port: Declared, tensor: _abi.Tensor, keep: list[Any]) -> tuple[int, ...]:
    """Packs a list of arrays, an optional array or an optional list; None is an absent optional."""
    if port.number == _abi.OPTIONAL:
        elements = [] if value is None else [value]
    elif value is None and port.number == _abi.OPTIONAL_SEQUENCE:
        elements = []
    elif isinstance(value, (list, tuple)):
        elements = list(value)
    else:
        raise TypeMismatch(f"input '{port.name}' is {port.type}: give a list of arrays, not a {type(value).__name__}")
    parts = (_abi.Tensor * max(1, len(elements)))()
    for part, element in zip(parts, elements):
        _put_tensor(element, port, port.element, part, keep)
        if part.dtype != port.element:
            other = _types.type_name(part.dtype)
            raise TypeMismatch(f"input '{port.name}' is {port.type}: an element is tensor({other})")
    given = None if value is None or (not elements and port.number == _abi.SEQUENCE) else ctypes.addressof(parts)
    size = ctypes.c_size_t()
    check(lib.wick_pack_bytes(given, len(elements), ctypes.addressof(size)))
    room = np.empty(size.value // 8 + 8, np.uint64)
    at = (room.ctypes.data + 63) & ~63
    check(lib.wick_pack(port.number, port.element, given, len(elements), at, size.value, ctypes.addressof(tensor)))
    keep.append((parts, room))
    return (size.value,)


def take(tensor: _abi.Tensor, port: Declared) -> Any:
    """Returns the output that *tensor describes, in memory of its own."""
    if port.number in _CONTAINERS:
        return _take_packed(tensor, port)
    return _take_tensor(tensor)


def _take_tensor(tensor: _abi.Tensor) -> np.ndarray[Any, Any]:
    shape = tuple(tensor.dims[: tensor.rank])
    if tensor.dtype == _types.STRING:
        return _take_strings(tensor, shape)
    array = np.empty(shape, _types.dtype_of(tensor.dtype))
    if array.nbytes:
        ctypes.memmove(address_of(array), tensor.data, array.nbytes)
    return array


def _take_strings(tensor: _abi.Tensor, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    array = np.empty(shape, object)
    if array.size:
        items = (_abi.String * array.size).from_address(tensor.data)
        flat = [ctypes.string_at(i.data, i.size).decode("utf-8", "surrogateescape") if i.size else "" for i in items]
        array.ravel()[:] = flat  # a view: the array is contiguous
    return array


def _take_packed(tensor: _abi.Tensor, port: Declared) -> Any:
    count, present = ctypes.c_size_t(), ctypes.c_int()
    at = ctypes.addressof(tensor)
    check(lib.wick_packed_count(at, ctypes.addressof(count), ctypes.addressof(present)))
    if port.number != _abi.SEQUENCE and not present.value:
        return None
    elements = []
    for i in range(count.value):
        element = _abi.Tensor()
        check(lib.wick_packed_element(at, i, ctypes.addressof(element)))
        elements.append(_take_tensor(element))
    return elements[0] if port.number == _abi.OPTIONAL else elements
