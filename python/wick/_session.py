"""InferenceSession, with onnxruntime's methods."""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Callable, Mapping, Sequence

from . import _abi, _lane, _ports, _providers, _source
from ._binding import IOBinding
from ._errors import DeviceError, InvalidArgument, text, whole
from ._lane import Lane, check_names
from ._library import Handle, lib, sized
from ._options import RunOptions, SessionOptions
from ._ortvalue import OrtValue
from ._ports import ModelMetadata, NodeArg
from ._profile import Profile


class InferenceSession:
    """Runs a model. Any number of threads may call run() at once; they share the weights and the threads.

    path_or_bytes: a .wick file, as a path or as its bytes; also ONNX and TensorFlow Lite, where the package has the
    compiler. providers: ["VulkanExecutionProvider", "CPUExecutionProvider"], or None for the CPU alone; options of a
    provider go beside it, as for onnxruntime. disabled_optimizers decides nothing: no pass of Wick's changes a bit.

    Raises NoSuchFile, InvalidProgram, Unsupported (an op without a kernel; ONNX in a package without the compiler),
    BudgetExceeded, OutOfMemory; CommandError where a model cannot be compiled; DeviceError, NotFound for devices.

    >>> session = InferenceSession(model_path)
    >>> session.get_inputs()[0].shape
    ['batch', 4]
    >>> session.run(None, {"x": np.float32([[1, -2, 3, -4]])})
    [array([[1., 0., 3., 0.]], dtype=float32)]
    """

    def __init__(
        self,
        path_or_bytes: _source.ModelSource,
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        *,
        enable_fallback: bool = True,
        disabled_optimizers: Sequence[str] | None = None,
    ) -> None:
        if sess_options is not None and not isinstance(sess_options, SessionOptions):
            raise InvalidArgument(f"sess_options is a {type(sess_options).__name__}, must be wick.SessionOptions")
        self._options = sess_options._copy() if sess_options is not None else SessionOptions()
        self._fallback = enable_fallback
        chosen = _providers.normalize(providers, provider_options)
        self._program, self._name = _source.load_program(path_or_bytes, self._options)
        self._profile = Profile(self._options.profile_file_prefix) if self._options.enable_profiling else None
        self._threads = _thread_pool(self._options.intra_op_num_threads)
        self._open_lanes(chosen)

    def _open_lanes(self, providers: list[tuple[str, dict[str, str]]]) -> None:
        device = next((o for name, o in providers if name == _providers.VULKAN), None)
        backend = None if device is None else _providers.open_device(device)
        first = Lane(self._open(backend), [], [])
        self._inputs, self._outputs = _lane.declared(first.handle)
        self._backend = backend
        self._providers = providers
        self._input_names = frozenset(p.name for p in self._inputs)
        self._output_at = {p.name: i for i, p in enumerate(self._outputs)}
        self._all = list(range(len(self._outputs)))
        # Lanes that no thread runs just now; a run that finds none opens another.
        self._idle = [Lane(first.handle, self._inputs, self._outputs)]
        dims = self._options._dims
        self._input_args = [_ports.node_arg(p, dims) for p in self._inputs]
        self._output_args = [_ports.node_arg(p, dims) for p in self._outputs]

    def _open(self, backend: Handle | None) -> Handle:
        given = self._options
        native = sized(_abi.SessionOptions)
        native.entry = text("SessionOptions.entry", given.entry) or None
        native.max_ram = whole("SessionOptions.max_ram", given.max_ram, 0, 2**64 - 1)
        native.backend = backend.pointer if backend else None
        native.thread_pool = self._threads.pointer
        native.trace = ctypes.addressof(self._profile.hook) if self._profile else None
        dims = (_abi.DimBinding * max(1, len(given._dims)))()
        for dim, (symbol, extent) in zip(dims, given._dims.items()):
            dim.symbol, dim.extent = symbol.encode(), extent
        native.max_dims, native.max_dim_count = ctypes.addressof(dims), len(given._dims)
        return Handle(
            lambda out: lib.wick_session_create(self._program.pointer, ctypes.addressof(native), out),
            lib.wick_session_free,
            (self._program, self._threads, backend),
            self._profile,
        )

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """Runs the model; returns its outputs in the order of `output_names`, all of them where that is empty.

        A value is a numpy array, which is read in place where it is contiguous; anything that speaks DLPack; a number or
        a list, which become the declared dtype; a list of arrays for a sequence. Outputs are arrays of their own.

        Raises InvalidArgument (names), ShapeMismatch, TypeMismatch, Cancelled, Deadline, or the error of a kernel. Other
        threads run while this one computes.
        """
        return self._run(self._wanted(output_names), input_feed, run_options, None)

    def _wanted(self, output_names: Sequence[str] | None) -> list[int]:
        if output_names is None:
            return self._all
        if isinstance(output_names, str):
            raise InvalidArgument(f"output_names is '{output_names}', must be a list of names: ['{output_names}']")
        try:
            names = list(output_names)
        except TypeError:
            raise InvalidArgument(f"output_names is a {type(output_names).__name__}, must be a list of names") from None
        if not names:
            return self._all
        at = self._output_at
        for name in names:
            if not isinstance(name, str) or name not in at:
                raise InvalidArgument(f"Invalid output name: {name}; the model has {list(at)}")
        return [at[name] for name in names]

    def _run(
        self,
        wanted: list[int],
        feed: Mapping[str, Any],
        run_options: RunOptions | None,
        into: Mapping[int, Any] | None,
    ) -> list[Any]:
        try:
            names = feed.keys()
        except AttributeError:
            raise InvalidArgument(f"input_feed is a {type(feed).__name__}, must be a mapping from names to values") from None
        if names != self._input_names:
            check_names(feed, self._inputs)
            feed = {name: feed.get(name) for name in self._input_names}
        if len(wanted) > len(set(wanted)):
            once = list(dict.fromkeys(wanted))
            made = dict(zip(once, self._run(once, feed, run_options, into)))
            return [made[k] for k in wanted]
        if run_options is not None and not isinstance(run_options, RunOptions):
            raise InvalidArgument(f"run_options is a {type(run_options).__name__}, must be wick.RunOptions")
        native = None if run_options is None else run_options._native()
        idle = self._idle
        try:
            lane = idle.pop()
        except IndexError:
            lane = Lane(self._open(self._backend), self._inputs, self._outputs)
        try:
            results = lane.run(feed, wanted, None if native is None else ctypes.addressof(native), into)
            if not self._fallback and lane.left_backend():
                raise DeviceError(f"the device was left: {lane.left_backend()}")
            return results
        finally:
            idle.append(lane)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """Runs with OrtValues, and returns such. Errors are run()'s."""
        wanted = self._wanted(output_names)
        results = self._run(wanted, input_dict_ort_values, run_options, None)
        return [OrtValue._of(r, self._outputs[k]) for r, k in zip(results, wanted)]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Runs in a thread of its own, and calls callback(results, user_data, error) there: error is "" or its text."""
        wanted = self._wanted(output_names)

        def work() -> None:
            results: list[Any] = []
            why = ""
            try:
                results = self._run(wanted, input_feed, run_options, None)
            except Exception as error:  # noqa: BLE001: the callback is told of every one
                why = str(error) or type(error).__name__
            callback(results, user_data, why)

        threading.Thread(target=work, name="wick-run").start()

    def io_binding(self) -> IOBinding:
        """Returns an IOBinding of this session."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs on what is bound, and writes outputs there. Errors are run()'s."""
        iobinding._run(run_options)

    def get_inputs(self) -> list[NodeArg]:
        """Returns name, shape and type of each input, in order."""
        return self._input_args

    def get_outputs(self) -> list[NodeArg]:
        """Returns name, shape and type of each output, in order."""
        return self._output_args

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Returns an empty list: weights of a .wick cannot be replaced."""
        return []

    def get_modelmeta(self) -> ModelMetadata:
        """Returns what the file says of itself."""
        return _ports.model_metadata(self._program, self._name)

    def get_labels(self) -> list[str]:
        """Returns the class labels in the file; empty where it has none."""
        return _ports.labels(self._program)

    def get_session_options(self) -> SessionOptions:
        """Returns the options that the session was opened with; what is changed in them changes no session."""
        return self._options._copy()

    def get_providers(self) -> list[str]:
        """Returns the names of the providers in use, the CPU last."""
        return [name for name, _ in self._providers]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Returns the options of each provider."""
        return {name: dict(options) for name, options in self._providers}

    def set_providers(
        self,
        providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Opens the session again on other providers. Call it while no run is going on."""
        self._open_lanes(_providers.normalize(providers, provider_options))

    def enable_fallback(self) -> None:
        """Lets the CPU take over when a device is lost in a run, which is the default."""
        self._fallback = True

    def disable_fallback(self) -> None:
        """Makes a run fail with DeviceError when the device was lost."""
        self._fallback = False

    def memory(self) -> int:
        """Returns the bytes that are planned and packed for the lanes that are not running, weights counted once."""
        idle, taken = self._idle, []
        try:
            while idle:  # taken one by one: no thread runs a lane while it is looked at
                taken.append(idle.pop())
        except IndexError:
            pass
        try:
            lanes = [lane.handle.pointer for lane in taken]
            own = sum(lib.wick_session_memory(p) - lib.wick_session_shared_memory(p) for p in lanes)
            return int(own + max((lib.wick_session_shared_memory(p) for p in lanes), default=0))
        finally:
            idle.extend(taken)

    def end_profiling(self) -> str:
        """Writes the steps since the session was opened, and returns the file's name; "" without enable_profiling."""
        return self._profile.end() if self._profile else ""

    def get_profiling_start_time_ns(self) -> int:
        """Returns when profiling began, by time.monotonic_ns(); 0 without enable_profiling."""
        return self._profile.start_ns if self._profile else 0


def _thread_pool(threads: int) -> Handle:
    options = sized(_abi.ThreadPoolOptions)
    options.threads = whole("intra_op_num_threads (0: all)", threads, 0, 2**15)
    return Handle(
        lambda out: lib.wick_thread_pool_create(ctypes.addressof(options), out), lib.wick_thread_pool_free
    )
