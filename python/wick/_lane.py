"""A native session with the arrays of its calls. One thread runs it at a time; _session.py hands lanes out."""

from __future__ import annotations

import ctypes
from typing import Any, Mapping, Sequence

import numpy as np

from . import _abi, _values
from ._errors import Error, InvalidArgument, error_of
from ._library import Handle, check, last_error, lib
from ._values import Declared, address_of

_run = lib.wick_session_run
_ndarray = np.ndarray


class Lane:
    """Runs feeds. After the first run of some shapes, outputs are written straight into numpy's memory, unless the
    model's data decide their sizes."""

    __slots__ = ("handle", "inputs", "outputs", "_in", "_out", "_in_at", "_out_at", "_shapes", "_made", "_filled", "_in_rows")

    def __init__(self, handle: Handle, inputs: Sequence[Declared], outputs: Sequence[Declared]) -> None:
        self.handle = handle
        self.inputs = inputs
        self.outputs = outputs
        self._in = (_abi.Tensor * max(1, len(inputs)))()
        self._out = (_abi.Tensor * max(1, len(outputs)))()
        self._in_at = ctypes.addressof(self._in)
        self._out_at = ctypes.addressof(self._out)
        self._shapes: list[tuple[int, ...] | None] = [None] * len(inputs)
        # Of the bound shapes: (shape, dtype) of each output; None: the run gives it.
        self._made: list[tuple[tuple[int, ...], np.dtype[Any]] | None] = [None] * len(outputs)
        # Whether _out describes what _made says: a run that gives its own memory overwrites it.
        self._filled = [False] * len(outputs)
        self._in_rows = [(i, p.name, p.dtype, self._in[i]) for i, p in enumerate(inputs)]

    def run(
        self, feed: Mapping[str, Any], wanted: Sequence[int], options: int | None, into: Mapping[int, Any] | None = None
    ) -> list[Any]:
        """Runs; returns the outputs with the numbers `wanted`, in that order. `into` has arrays to write outputs to."""
        keep: list[Any] = []
        try:
            again = self._take_in(feed, keep)
        except BaseException:
            self._forget()  # half of a feed was taken in
            raise
        if again:
            self._made = [None] * len(self.outputs)
            if options is None:  # a timeout counts planning too, so the run itself plans then
                self._bind()
        if len(wanted) != len(self.outputs):
            self._forget_outputs()
        results = [self._room(k, into) for k in wanted]
        code = _run(self.handle.pointer, self._in_at, len(self.inputs), self._out_at, len(self.outputs), options)
        if code != 0:
            text = last_error()
            self._forget()
            raise error_of(code, text)
        for at, k in enumerate(wanted):
            if results[at] is None:
                results[at] = _values.take(self._out[k], self.outputs[k])
        return results

    def _take_in(self, feed: Mapping[str, Any], keep: list[Any]) -> bool:
        """Describes the inputs to the library. Returns whether a shape differs from the last run's."""
        again = False
        for i, name, dtype, tensor in self._in_rows:
            value = feed[name]
            if type(value) is _ndarray and value.dtype is dtype:
                flags = value.flags
                if flags.c_contiguous and flags.aligned and value.ndim <= _abi.MAX_RANK:
                    shape = value.shape
                    if shape != self._shapes[i]:
                        _values.fill(tensor, self.inputs[i].number, shape, 0, name)
                        self._shapes[i] = shape
                        again = True
                    keep.append(value)  # a feed may change while it runs
                    tensor.data = address_of(value)
                    continue
            shape = _values.put(value, self.inputs[i], tensor, keep)
            # A wrong dtype must not be taken for the right one when the next value has this shape.
            same = shape == self._shapes[i] and tensor.dtype == self.inputs[i].number
            if not same:
                self._shapes[i] = shape if tensor.dtype == self.inputs[i].number else None
                again = True
        return again

    def _room(self, k: int, into: Mapping[int, Any] | None) -> Any:
        """Gives output k its memory. None: the session's own, which is read after the run."""
        tensor = self._out[k]
        if into is not None and k in into:
            array = into[k]
            self._filled[k] = False
            _values.fill(tensor, self.outputs[k].number, array.shape, address_of(array), self.outputs[k].name)
            return array
        made = self._made[k]
        if made is None:
            tensor.data = None
            self._filled[k] = False
            return None
        shape, dtype = made
        array = np.empty(shape, dtype)
        if self._filled[k]:
            tensor.data = address_of(array)
        else:
            _values.fill(tensor, self.outputs[k].number, shape, address_of(array), self.outputs[k].name)
            self._filled[k] = True
        return array

    def _bind(self) -> None:
        """Plans for new shapes, and learns the shapes of the outputs that have one before the run."""
        if any(p.dtype is None for p in self.inputs):
            return  # strings and sequences have no size to plan for
        code = lib.wick_session_bind(self.handle.pointer, self._in_at, len(self.inputs))
        if code != 0:
            text = last_error()
            self._forget()
            raise error_of(code, text)
        shape = _abi.Tensor()
        for k, port in enumerate(self.outputs):
            if port.dtype is None:
                continue
            if lib.wick_session_output_shape(self.handle.pointer, k, ctypes.addressof(shape)) == 0:
                dims = tuple(shape.dims[: shape.rank])
                if min(dims, default=0) >= 0:
                    self._made[k] = (dims, port.dtype)
                    self._filled[k] = False

    def _forget(self) -> None:
        self._shapes = [None] * len(self.inputs)
        self._made = [None] * len(self.outputs)
        self._forget_outputs()

    def _forget_outputs(self) -> None:
        self._filled = [False] * len(self.outputs)
        for tensor in self._out:
            tensor.data = None

    def left_backend(self) -> str:
        """Returns why the device's part now runs on the CPU; "" while the device runs it."""
        why = lib.wick_session_left_backend(self.handle.pointer)
        return why.decode("utf-8", "replace") if why else ""


def declared(handle: Handle) -> tuple[list[Declared], list[Declared]]:
    """Returns what a session declares of its inputs and of its outputs."""

    def ports(count: Any, describe: Any, element: Any) -> list[Declared]:
        rows = []
        for i in range(count(handle.pointer)):
            port = _abi.Port()
            check(describe(handle.pointer, i, ctypes.addressof(port)))
            rank = port.rank
            dims = None if rank < 0 else list(port.dims[:rank])
            symbols = [s.decode("utf-8", "replace") if s else None for s in port.symbols[: max(0, rank)]]
            name = port.name.decode("utf-8", "replace") if port.name else ""
            rows.append(Declared(name, port.dtype, element(handle.pointer, i), dims, symbols))
        return rows

    inputs = ports(lib.wick_session_input_count, lib.wick_session_input, lib.wick_session_input_element)
    outputs = ports(lib.wick_session_output_count, lib.wick_session_output, lib.wick_session_output_element)
    names = [p.name for p in inputs]
    if len(set(names)) != len(names):
        raise Error(f"the model has two inputs of one name: {', '.join(names)}")
    return inputs, outputs


def check_names(feed: Mapping[str, Any], inputs: Sequence[Declared]) -> None:
    """Raises InvalidArgument where a feed lacks an input or has one that the model has not."""
    names = [p.name for p in inputs]
    optional = {p.name for p in inputs if p.number in (_abi.OPTIONAL, _abi.OPTIONAL_SEQUENCE)}
    missing = [n for n in names if n not in feed and n not in optional]
    if missing:
        raise InvalidArgument(f"Required inputs ({missing}) are missing from input feed ({list(feed)}).")
    extra = [n for n in feed if n not in names]
    if extra:
        raise InvalidArgument(f"Invalid input name: {extra[0]}; the model has {names}")
