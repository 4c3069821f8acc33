"""Options of sessions and runs, with onnxruntime's names."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING, Any

from . import _abi
from ._errors import InvalidArgument, text, whole
from ._library import Handle, lib, sized


class GraphOptimizationLevel(enum.IntEnum):
    """How much a model is rewritten when it is loaded. Wick's passes change no bit, so every level means the same."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Accepted for onnxruntime's sake: Wick runs one step after the other, each on all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """Accepted for onnxruntime's sake: the order of steps is the file's."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Options:
    """Options are the attributes that the class has: one that is misspelt is an error, as in onnxruntime, and does not
    decide nothing unseen."""

    if not TYPE_CHECKING:  # a type checker would take it for leave to set any name

        def __setattr__(self, name: str, value: Any) -> None:
            kind = type(self)
            if not name.startswith("_") and not hasattr(kind, name):
                import difflib

                options = [n for n in dir(kind) if not n.startswith("_") and not callable(getattr(kind, n))]
                near = difflib.get_close_matches(name, options, 1) or options
                raise AttributeError(f"{kind.__name__} has no option '{name}'; there is {', '.join(near)}")
            super().__setattr__(name, value)


class SessionOptions(_Options):
    """Options of an InferenceSession.

    Those that decide something: `intra_op_num_threads` (0: as many as the process may use), `enable_profiling` and
    `profile_file_prefix`, `optimized_model_filepath` (where the .wick of an ONNX file is kept),
    `add_free_dimension_override_by_name`, `register_custom_ops_library`, and Wick's own `entry`, `max_file`, `max_ram`,
    `verify_digests`, `weights` and `allowed_ops`, as in docs/use/runtime.md. The others are kept and read by nobody.

    >>> options = SessionOptions()
    >>> options.intra_op_num_threads = 2
    >>> options.add_free_dimension_override_by_name("batch", 1)
    """

    intra_op_num_threads = 0
    inter_op_num_threads = 0
    graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
    execution_mode = ExecutionMode.ORT_SEQUENTIAL
    execution_order = ExecutionOrder.DEFAULT
    enable_profiling = False
    profile_file_prefix = "wick_profile_"
    optimized_model_filepath = ""
    logid = ""
    log_severity_level = -1
    log_verbosity_level = 0
    enable_cpu_mem_arena = True
    enable_mem_pattern = True
    enable_mem_reuse = True
    use_deterministic_compute = True
    use_per_session_threads = True
    #: The entry point to run; "": the first.
    entry = ""
    #: Limits in bytes, 0 for the library's own: of the file, and of a session's memory.
    max_file = 0
    max_ram = 0
    #: Reads every byte of the file and checks its SHA-256.
    verify_digests = False
    #: "auto", "copy" or "map": where the weights are kept while the program lives.
    weights = "auto"
    #: The ops that a file may use; None: all.
    allowed_ops: list[str] | None = None

    def __init__(self) -> None:
        self._dims: dict[str, int] = {}
        self._entries: dict[str, str] = {}
        self._ops: list[Handle] = []
        self._op_paths: list[str] = []

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """Plans memory for this size of a symbolic dimension when the session is opened. Smaller ones run, too."""
        text("the name of a size", name)
        self._dims[name] = whole(f"the size of '{name}'", value, 0, 2**63 - 1)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keeps an entry. Wick reads "wick.numerics" ("exact", "fast", "bf16"), for models that it compiles."""
        self._entries[key] = str(value)

    def get_session_config_entry(self, key: str) -> str:
        """Returns an entry that was added. InvalidArgument: there is none."""
        if key not in self._entries:
            raise InvalidArgument(f"there is no session config entry '{key}'")
        return self._entries[key]

    def register_custom_ops_library(self, path: str | os.PathLike[str]) -> None:
        """Loads a library of Wick's custom ops (docs/recipes/custom-op.md). Its code runs in this process."""
        name = text("the library's path", os.fsdecode(path))
        self._ops.append(Handle(lambda out: lib.wick_ops_load(name, out), lib.wick_ops_free))
        self._op_paths.append(os.path.abspath(os.fsdecode(path)))

    def _copy(self) -> SessionOptions:
        """Returns what a session keeps: it opens lanes later, too, when these options may be another session's."""
        made = SessionOptions()
        made.__dict__.update(self.__dict__)
        made._dims, made._entries = dict(self._dims), dict(self._entries)
        made._ops, made._op_paths = list(self._ops), list(self._op_paths)
        return made

    def has_providers(self) -> bool:
        """Returns False: providers are given to the session."""
        return False


class RunOptions(_Options):
    """Options of one run.

    `terminate` may be set from another thread: runs with these options then end with Cancelled. `timeout` is Wick's own,
    in seconds; a run that takes longer ends with Deadline. In both cases outputs are untouched, and the next run
    starts anew.
    """

    logid = ""
    log_severity_level = -1
    log_verbosity_level = 0
    only_execute_path_to_fetches = False
    #: Seconds that a run may take; 0: no limit.
    timeout = 0.0

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}
        self._terminate = False
        self._cancel = Handle(lib.wick_cancel_create, lib.wick_cancel_free)

    @property
    def terminate(self) -> bool:
        """Whether runs with these options end at once."""
        return self._terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._terminate = bool(value)
        (lib.wick_cancel_request if value else lib.wick_cancel_clear)(self._cancel.pointer)

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Keeps an entry, which nobody reads."""
        self._entries[key] = str(value)

    def get_run_config_entry(self, key: str) -> str:
        """Returns an entry that was added. InvalidArgument: there is none."""
        if key not in self._entries:
            raise InvalidArgument(f"there is no run config entry '{key}'")
        return self._entries[key]

    def _native(self) -> Any:
        try:
            seconds = float(self.timeout)
        except (TypeError, ValueError, OverflowError):
            seconds = -1.0
        if not seconds >= 0:
            raise InvalidArgument(f"RunOptions.timeout is {self.timeout!r}, must be 0 or more seconds")
        options = sized(_abi.RunOptions)
        # 0 would be no limit, so less than a nanosecond is one.
        options.timeout_ns = int(min(max(1.0, seconds * 1e9), 2.0**63)) if seconds > 0 else 0
        options.cancel = self._cancel.pointer
        return options
