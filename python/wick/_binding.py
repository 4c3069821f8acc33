"""IOBinding: inputs and outputs that stay bound from run to run."""

from __future__ import annotations

import ctypes
import math
import operator
import sys
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from . import _types
from ._errors import InvalidArgument, TypeMismatch
from ._options import RunOptions
from ._ortvalue import OrtValue, check_device, number_of_type, plain, sizes
from ._values import Declared, address_of

if TYPE_CHECKING:
    from ._session import InferenceSession


def _view(pointer: int, shape: Sequence[int], number: int) -> np.ndarray[Any, Any]:
    """Returns memory of the caller's as an array. InvalidArgument: no shape, or no address of memory."""
    dtype = _types.dtype_of(number)
    dims = sizes(shape)
    size = math.prod(dims) * dtype.itemsize
    if size == 0:
        return np.empty(dims, dtype)
    try:
        address = operator.index(pointer)
    except TypeError:
        address = 0
    if not 0 < address <= sys.maxsize * 2 + 1 - size:
        raise InvalidArgument(f"buffer_ptr is {pointer!r}, must be the address of {size} bytes")
    memory = (ctypes.c_char * size).from_address(address)
    array: np.ndarray[Any, Any] = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
    return array.view(dtype).reshape(dims)


def _unfit(name: str) -> InvalidArgument:
    return InvalidArgument(f"output '{name}' needs memory that is contiguous, aligned and writable, in this machine's byte order")


def _check_apart(outputs: list[tuple[str, np.ndarray[Any, Any]]]) -> None:
    """InvalidArgument: a byte belongs to two outputs, whose results would be those of the one that is written last."""
    rows = sorted((address_of(array), array.nbytes, name) for name, array in outputs if array.nbytes)
    for (at, size, name), (following, _, other) in zip(rows, rows[1:]):
        if following < at + size:
            raise InvalidArgument(
                f"outputs '{name}' and '{other}' are bound to memory that overlaps: {size} bytes at {at:#x}, and from {following:#x} on"
            )


class IOBinding:
    """Binds values to the inputs and outputs of a session, by name. Made by InferenceSession.io_binding().

    Inputs are read in place, and outputs with memory of the caller's are written in place. Outputs that share memory are an
    error of the run: one would be written over the other.

    >>> session = InferenceSession(model_path)
    >>> binding = session.io_binding()
    >>> binding.bind_cpu_input("x", np.float32([[1, -2, 3, -4]]))
    >>> binding.bind_output("y")
    >>> session.run_with_iobinding(binding)
    >>> binding.copy_outputs_to_cpu()
    [array([[1., 0., 3., 0.]], dtype=float32)]
    """

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._feed: dict[str, Any] = {}
        self._into: dict[str, np.ndarray[Any, Any] | None] = {}
        self._results: list[OrtValue] = []

    def _port(self, ports: Sequence[Declared], name: str, what: str) -> Declared:
        for port in ports:
            if port.name == name:
                return port
        raise InvalidArgument(f"Invalid {what} name: {name}; the model has {[p.name for p in ports]}")

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Binds an array, which must not be written while a run reads it."""
        self._port(self._session._inputs, name, "input")
        self._feed[name] = arr_on_cpu

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Binds memory at an address, which must stay valid as long as it is bound."""
        check_device(device_type, device_id)
        self._port(self._session._inputs, name, "input")
        self._feed[name] = _view(buffer_ptr, shape, number_of_type(element_type))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an OrtValue."""
        self.bind_cpu_input(name, ortvalue)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Binds an output: to memory at an address, with its shape and type, or to memory that each run makes."""
        check_device(device_type, device_id)
        port = self._port(self._session._outputs, name, "output")
        if buffer_ptr is None:
            self._into[name] = None
            return
        if shape is None:
            raise InvalidArgument(f"output '{name}': memory at an address needs its shape")
        number = port.number if element_type is None else number_of_type(element_type)
        self._bind_array(port, _view(buffer_ptr, shape, number), number)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an output to the memory of an OrtValue, whose shape must be the output's."""
        port = self._port(self._session._outputs, name, "output")
        array = ortvalue._tensor()
        if ortvalue._copied:  # whose results nobody would look for in the copy
            raise _unfit(name)
        self._bind_array(port, array, ortvalue.element_type())

    def _bind_array(self, port: Declared, array: np.ndarray[Any, Any], number: int) -> None:
        if number != port.number or number == _types.STRING:
            raise TypeMismatch(f"output '{port.name}' is {port.type}, not tensor({_types.type_name(number)})")
        if not (plain(array) and array.flags.writeable):
            raise _unfit(port.name)
        self._into[port.name] = array

    def synchronize_inputs(self) -> None:
        """Does nothing: values are in host memory."""

    def synchronize_outputs(self) -> None:
        """Does nothing: values are in host memory."""

    def clear_binding_inputs(self) -> None:
        """Unbinds every input."""
        self._feed = {}

    def clear_binding_outputs(self) -> None:
        """Unbinds every output."""
        self._into = {}
        self._results = []

    def get_outputs(self) -> list[OrtValue]:
        """Returns the bound outputs of the last run, in the order in which they were bound."""
        return self._results

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Returns the same as arrays. They are not copied again: what a run made is in host memory."""
        return [r.numpy() for r in self._results]

    def _run(self, run_options: RunOptions | None) -> None:
        session = self._session
        wanted = session._wanted(list(self._into))
        into = {k: a for k, a in zip(wanted, self._into.values()) if a is not None}
        if len(into) > 1:
            _check_apart([(session._outputs[k].name, array) for k, array in into.items()])
        results = session._run(wanted, self._feed, run_options, into)
        self._results = [OrtValue._of(r, session._outputs[k]) for r, k in zip(results, wanted)]
