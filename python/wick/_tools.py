"""compile, quantize, verify, inspect, report and bench: the commands of `wick` as functions."""

from __future__ import annotations

import os
from collections.abc import Iterable as IterableOf, Mapping as MappingOf
from typing import Any, Iterable, Mapping, Sequence, Union

import numpy as np

from . import _command, _pages
from ._errors import CommandError, InvalidArgument
from ._source import ModelSource

Path = Union[str, "os.PathLike[str]"]
Arrays = Union["np.ndarray[Any, Any]", Mapping[str, "np.ndarray[Any, Any]"], Path]


class _Line:
    """A command's arguments, and a folder for what is given from memory or made for a moment."""

    def __init__(self, command: str, function: str = "") -> None:
        _command.need(f"wick.{function or command}")
        self.command = command
        self.arguments: list[str] = []
        self._cwd: str | None = None
        self._files: list[int] = []
        self._scratch = _command.scratch()
        self.folder = self._scratch.__enter__()

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *why: Any) -> None:
        self._scratch.__exit__(*why)

    def model(self, source: ModelSource, at: str = "model") -> str:
        """Adds a model and returns its name; bytes and an onnx.ModelProto go through a file.

        Files that are made say which one they were made of: for bytes that is `at`, whatever the folder is called.
        """
        if hasattr(source, "SerializeToString"):
            source = source.SerializeToString()
        if isinstance(source, (bytes, bytearray, memoryview)):
            with open(self.file(at), "wb") as file:
                file.write(source)
            self._cwd = self.folder
            self.arguments.append(at)
        else:
            self._files.append(len(self.arguments))
            self.arguments.append(_path(source))
        return self.arguments[-1]

    @property
    def in_memory(self) -> bool:
        """Whether a model came as bytes."""
        return self._cwd is not None

    def file(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def add(self, option: str, value: Any) -> None:
        """Adds an option: None and False leave it out, True is a flag, a list repeats it, a mapping is NAME=VALUE."""
        if isinstance(value, np.bool_):
            value = bool(value)
        if value is None or value is False:
            return
        if value is True:
            self.arguments.append(option)
        elif isinstance(value, MappingOf):
            for name, number in value.items():
                self.arguments += [option, f"{name}={number}"]
        elif isinstance(value, (list, tuple)):
            for one in value:
                self.add(option, one)
        else:
            self.arguments += [option, str(value)]

    def arrays(self, option: str, value: Arrays | None) -> None:
        """Adds inputs: one array, arrays by name, or a path."""
        if value is None:
            return
        if isinstance(value, MappingOf):
            for i, (name, array) in enumerate(value.items()):
                path = self.file(f"input-{i}.npy")
                np.save(path, _array(array), allow_pickle=False)
                self.arguments += [option, f"{name}={path}"]
        elif isinstance(value, np.ndarray):
            path = self.file("input.npy")
            np.save(path, _array(value), allow_pickle=False)
            self.arguments += [option, path]
        else:
            self.arguments += [option, _full(value)]

    def run(self, progress: bool = False, json_too: bool = True) -> tuple[Any, bool]:
        line = list(self.arguments)
        for i in self._files if self._cwd else ():
            line[i] = os.path.abspath(line[i])
        try:
            return _command.run(self.command, line, json_too=json_too, progress=progress, folder=self._cwd)
        except CommandError as why:  # arrays are files for the command alone: their folder is gone, and says nothing
            why.args = (str(why).replace(self.folder + os.sep, ""),)
            raise


def _full(value: Any) -> str:
    """Returns the whole path of a file that is no model."""
    return os.path.abspath(_path(value))


def _path(value: Any) -> str:
    try:
        path = os.fspath(value)
    except TypeError:
        raise InvalidArgument(f"expected a path, not a {type(value).__name__}") from None
    return _command.plain_path(os.fsdecode(path))


def _array(value: Any) -> np.ndarray[Any, Any]:
    """Returns what a file of arrays holds: numbers, in the byte order that the command reads."""
    try:
        array = np.asarray(value)
    except ValueError as why:
        raise InvalidArgument(f"no array can be made of a {type(value).__name__}: {why}") from why
    if array.dtype.kind not in "biufc":
        raise InvalidArgument(f"expected an array of numbers, not of {array.dtype}")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _several(value: Any) -> list[Any]:
    """Returns the elements of a list; one text, path or number is a list of it."""
    return [value] if isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, IterableOf) else list(value)


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def compile(
    model: ModelSource,
    output: Path | None = None,
    *,
    numerics: str = "exact",
    verify: bool = True,
    dims: Mapping[str, int] | None = None,
    pack: bool = False,
    qdq: str = "integer",
    ops: Sequence[Path] = (),
    progress: bool = False,
) -> bytes:
    """Compiles an ONNX or TensorFlow Lite model to a .wick, writes it to `output` where that is given, and returns it.

    model: a path, bytes or an onnx.ModelProto. A model whose weights are in files beside it must be a path. numerics:
    "exact" (the bits of the model as it is written), "fast" or "bf16". verify: the file is run beside the graph that it
    was made of. dims: sizes for pack and verify that are not the batch. pack: adds the weights as this machine's kernels
    read them. qdq: "integer" or "float". ops: libraries of custom ops. progress: the command's standard error is shown.

    Raises CommandError (operators that Wick cannot read, all listed), Unsupported without the command.
    """
    with _Line("convert", "compile") as line:
        line.model(model, "model.onnx")
        target = line.file("out.wick") if output is None else _full(output)
        if not target.endswith(".wick"):
            raise InvalidArgument(f"compile writes .wick files: give a name that ends so, not {target}")
        line.arguments += ["-o", target]
        line.add("--numerics", None if numerics == "exact" else numerics)
        line.add("--no-verify", not verify)
        line.add("--dim", dims)
        line.add("--pack", pack)
        line.add("--qdq", None if qdq == "integer" else qdq)
        line.add("--ops", [_full(o) for o in _several(ops)])
        line.run(progress)
        with open(target, "rb") as file:
            return file.read()


def quantize(
    model: ModelSource,
    output: Path | Sequence[Path],
    *,
    calibration: Arrays | Iterable[np.ndarray[Any, Any]] | None = None,
    evaluation: Arrays | None = None,
    recipe: str = "static",
    observer: str | None = None,
    percentile: float | None = None,
    weights: str | None = None,
    activations: str | None = None,
    block: int | None = None,
    per_tensor: bool = False,
    equalize: bool = False,
    bias_correction: bool = False,
    gptq: bool = False,
    max_size: str | int | None = None,
    max_drop: float | None = None,
    format: str | None = None,
    skip: Sequence[str] = (),
    batches: int = 0,
    batch: int = 32,
    dims: Mapping[str, int] | None = None,
    epochs: int | None = None,
    lr: float | None = None,
    learn_scales: bool = False,
    threads: int = 1,
    seconds: float = 1.0,
    verify: bool = True,
    progress: bool = False,
) -> _pages.Quantization:
    """Writes a model as one of 8- or 4-bit integers, and returns what that costs and wins.

    model: ONNX (a path, bytes or an onnx.ModelProto), or the folder of `wick train`. output: one path or more, .wick or
    .onnx. calibration: an array of inputs along dim 0, several of them (one batch each), arrays by input name, a path that
    `wick quantize --calib` takes, or "sample" (made-up data, for a first look); without it a training run's own data, else
    "sample". evaluation: labelled data to measure the accuracy on, as a path or as arrays by name, with "labels". recipe:
    "static", "dynamic", "weight-only", "qat", "f16" or "bf16". The other arguments are the command's options
    (docs/use/quantize.md), and None is what the command does without them; each goes with some recipes alone. Where no
    model fits max_size and max_drop the best is written, and data["budget"]["met"] is false.

    Raises CommandError, UsageError (a value that the command does not take), Unsupported without the command.
    """
    with _Line("quantize") as line:
        given = line.model(model, "model.onnx")
        outputs = _several(output)
        line.add("-o", [_full(o) for o in outputs])
        if calibration is None and (line.in_memory or not os.path.isdir(given)):
            calibration = "sample"
        line.add("--calib", None if calibration is None else _data(line, calibration, "calibration"))
        line.add("--eval", None if evaluation is None else _data(line, evaluation, "evaluation"))
        line.add("--recipe", recipe)
        line.add("--observer", observer)
        line.add("--percentile", percentile)
        line.add("--weights", weights)
        line.add("--activations", activations)
        line.add("--block", block)
        line.add("--per-tensor", per_tensor)
        line.add("--equalize", equalize)
        line.add("--bias-correction", bias_correction)
        line.add("--gptq", gptq)
        line.add("--max-size", max_size)
        line.add("--max-drop", max_drop)
        line.add("--format", format)
        line.add("--skip", _several(skip))
        line.add("--batches", batches or None)
        line.add("--batch", batch)
        line.add("--dim", dims)
        line.add("--epochs", epochs)
        line.add("--lr", lr)
        line.add("--learn-scales", learn_scales)
        line.add("--threads", threads)
        line.add("--seconds", seconds)
        line.add("--no-verify", not verify)
        line.add("--quiet", not progress)
        page = line.file("report.html")
        line.add("--report", page)
        data, _ = line.run(progress)
        made = _read(page)
    return _pages.Quantization(f"quantizing {given}", data, lambda: _quantize_text(data), lambda: made)


def _data(line: _Line, given: Any, what: str) -> str:
    """Returns what --calib and --eval take. `what` names the file that is made of arrays."""
    if isinstance(given, np.ndarray):
        path = line.file(f"{what}.npy")
        np.save(path, _array(given), allow_pickle=False)
        return path
    if isinstance(given, MappingOf):
        path = line.file(f"{what}.npz")
        import zipfile

        with zipfile.ZipFile(path, "w") as file:  # np.savez cannot write an array called "file"
            for name, array in given.items():
                with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, _array(array), allow_pickle=False)
        return path
    if isinstance(given, (str, os.PathLike)):
        path = _path(given)
        return os.path.abspath(path) if os.path.exists(path) else path  # else the name of a set
    if not isinstance(given, IterableOf):
        raise InvalidArgument(f"{what} is a {type(given).__name__}, must be arrays or a path")
    folder = line.file(what)
    os.mkdir(folder)
    count = 0
    for i, array in enumerate(given):
        np.save(os.path.join(folder, f"{i:06}.npy"), _array(array), allow_pickle=False)
        count += 1
    if count == 0:
        raise InvalidArgument(f"the {what} data has no array")
    return folder


def _quantize_text(data: Any) -> str:
    size, ms = data["bytes"], data["ms"]
    text = [f"bytes {size['before']} -> {size['after']}"]
    if ms:
        text.append(f"ms {ms['before']:.4g} -> {ms['after']:.4g} (batch {ms['items']}, {ms['threads']} threads)")
    if data["accuracy"]:
        text.append(f"accuracy {data['accuracy']}")
    text += [f"{op} x{count}" for op, count in sorted(data["integer_ops"].items())]
    return "\n".join(text + [f"wrote {f['file']}" for f in data["files"]])


def verify(
    model: ModelSource,
    *others: ModelSource,
    backends: Sequence[str] = ("cpu",),
    inputs: Arrays | None = None,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    passes: bool = True,
    against: str | None = None,
    tolerance: float | None = None,
    qdq: str = "integer",
    ops: Sequence[Path] = (),
    progress: bool = False,
) -> _pages.Verification:
    """Holds every value of a model against its graph on plain loops: each pass, each backend, files made of it.

    The result is true in a condition where nothing differs; its rows say what was compared. A difference is no exception.
    others: files that were made of the first. backends: "cpu", "reference", "vulkan". against: "onnxruntime". The other
    arguments are the command's options (docs/use/verify.md).

    Raises CommandError (a file that cannot be read), UsageError, Unsupported without the command.
    """
    with _Line("verify") as line:
        names = [line.model(m, f"model-{i}") for i, m in enumerate((model, *others))]
        line.add("--backend", ",".join(_several(backends)))
        line.arrays("--input", inputs)
        line.add("--batch", batch)
        line.add("--dim", dims)
        line.add("--no-passes", not passes)
        line.add("--against", against)
        line.add("--tolerance", tolerance)
        line.add("--qdq", None if qdq == "integer" else qdq)
        line.add("--ops", [_full(o) for o in _several(ops)])
        page = line.file("verify.html")
        line.add("--html", page)
        data, equal = line.run(progress)
        made = _read(page)

    def text() -> str:
        rows = [f"{r['verdict']:<8} {r['model']} {r['target']} {r['sizes']}: {r['values']} values" for r in data["rows"]]
        return "\n".join([*rows, str(data["verdict"])])

    return _pages.Verification(f"verifying {', '.join(names)}", data, text, lambda: made, equal=equal)


def inspect(
    model: ModelSource,
    other: ModelSource | None = None,
    *,
    profile: bool = False,
    inputs: Arrays | None = None,
    dims: Mapping[str, int] | None = None,
    qdq: str = "integer",
    ops: Sequence[Path] = (),
) -> _pages.Inspection:
    """Returns what is in a .wick, ONNX or TensorFlow Lite model, or in two of them side by side.

    In a notebook it shows the graph as a page. profile: runs the model, so that the page has the time of each node;
    inputs, dims: the sizes of the page. These three are for one model.

    Raises CommandError (a file that cannot be read), Unsupported without the command.
    """
    if other is not None and (profile or inputs is not None or dims):
        raise InvalidArgument("profile, inputs and dims are for one model: two are compared as they are written")
    with _Line("inspect") as line:
        names = [line.model(m, f"model-{i}") for i, m in enumerate((model, other)) if m is not None]
        line.add("--qdq", None if qdq == "integer" else qdq)
        line.add("--ops", [_full(o) for o in _several(ops)])
        data, _ = line.run()
        text = line.run(json_too=False)[0]
        if other is None:
            page = line.file("page.html")
            line.add("--html", page)
            line.add("--profile", profile)
            line.arrays("--input", inputs)
            line.add("--dim", dims)
            line.run()
            made = _read(page)
        else:
            made = _pages.text_page(", ".join(names), text)
    return _pages.Inspection(", ".join(names), data, lambda: text, lambda: made)


def report(run: Path) -> _pages.Report:
    """Returns the folder of a training run as a page: curves, mistakes, histograms, memory, time.

    Raises CommandError where the folder holds nothing that can be shown, Unsupported without the command.
    """
    with _Line("report") as line:
        line.arguments.append(_full(run))
        page = line.file("report.html")
        line.add("-o", page)
        data, _ = line.run()
        made = _read(page)
    return _pages.Report(f"the run {os.fspath(run)}", data, lambda: f"a report of {os.fspath(run)}", lambda: made)


def bench(
    model: ModelSource,
    *,
    batch: Sequence[int] = (),
    inputs: Arrays | None = None,
    dims: Mapping[str, int] | None = None,
    threads: int = 1,
    backend: str = "cpu",
    device: str | None = None,
    seconds: float = 2.0,
    qdq: str = "integer",
    ops: Sequence[Path] = (),
) -> _pages.Benchmark:
    """Measures latency, throughput, memory and load time of a model, in a process of its own: a row for each batch size.

    Raises CommandError (a file that cannot be read, no device), UsageError, Unsupported without the command.
    """
    with _Line("bench") as line:
        given = line.model(model)
        line.add("--batch", ",".join(map(str, _several(batch))) or None)
        line.arrays("--input", inputs)
        line.add("--dim", dims)
        line.add("--threads", threads)
        line.add("--backend", backend)
        line.add("--device", device)
        line.add("--seconds", seconds)
        line.add("--qdq", None if qdq == "integer" else qdq)
        line.add("--ops", [_full(o) for o in _several(ops)])
        data, _ = line.run()
    if not isinstance(data, list):
        raise CommandError(f"wick bench answered with {type(data).__name__}, not rows", "bench")
    return _pages.Benchmark(
        given, data, lambda: _pages.bench_text(data), lambda: _pages.bench_page(given, data)
    )
