"""from_torch(): a module of PyTorch's as a model, compared with the module at several sizes."""

from __future__ import annotations

import contextlib
import inspect
import os
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence, Union

import numpy as np

from . import _command, _tools
from ._errors import Error, InvalidArgument, TypeMismatch, Unsupported
from ._files import replacing
from ._model import Model, load

Size = Union[str, "tuple[str, int, int]"]
_LARGEST = 1 << 20
#: Of the largest number of an output: what other orders of sums leave of float32's 24 bits, and of fewer.
_TOLERANCE = {"float16": 2e-2, "bfloat16": 5e-2}


class _Symbol(NamedTuple):
    name: str
    least: int
    largest: int


class _Call:
    """How the module is called: the tensors of a sample by name, between what is no tensor and stays as it is."""

    def __init__(self, torch: Any, module: Any, sample: Any, names: Sequence[str] | None) -> None:
        if isinstance(sample, Mapping):
            self._values, self._keys = list(sample.values()), [str(k) for k in sample]
        else:
            self._values = list(sample) if isinstance(sample, (tuple, list)) else [sample]
            self._keys = []
        tensor = torch.Tensor
        for value in self._values:
            if not isinstance(value, tensor) and not isinstance(value, (bool, int, float, str, type(None))):
                raise TypeMismatch(f"[from_torch] a value of the sample is a {type(value).__name__}, must be a tensor of PyTorch's")
        self._slots = [i for i, value in enumerate(self._values) if isinstance(value, tensor)]
        if not self._slots:
            raise InvalidArgument("[from_torch] the sample has no tensor: give what the module is called with")
        self.tensors = [self._values[i].detach() for i in self._slots]
        self.plain = not self._keys and len(self._slots) == len(self._values)
        self.names = self._named(module) if names is None else list(names)
        if len(self.names) != len(self.tensors) or len(set(self.names)) != len(self.names):
            raise InvalidArgument(f"[from_torch] inputs is {self.names}, must be {len(self.tensors)} names, each once")

    def _named(self, module: Any) -> list[str]:
        """Returns the names of the tensors in forward()'s own words."""
        if self._keys:
            return [self._keys[i] for i in self._slots]
        try:
            found = list(inspect.signature(getattr(module, "forward", module)).parameters.values())
        except (TypeError, ValueError):  # compiled code has none
            found = []
        known = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return [known[i] if i < len(known) else f"input_{i}" for i in self._slots]

    def run(self, module: Any, tensors: Sequence[Any]) -> Any:
        values = list(self._values)
        for i, tensor in zip(self._slots, tensors):
            values[i] = tensor
        return module(**dict(zip(self._keys, values))) if self._keys else module(*values)


def _flat(torch: Any, result: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the tensors of a result with names: the keys of dicts, the numbers in tuples and lists."""
    if isinstance(result, torch.Tensor):
        yield name or "output", result
    elif isinstance(result, Mapping):
        for key, value in result.items():
            yield from _flat(torch, value, f"{name}_{key}" if name else str(key))
    elif isinstance(result, (tuple, list)):
        for i, value in enumerate(result):
            yield from _flat(torch, value, f"{name or 'output'}_{i}" if len(result) > 1 else name)
    elif result is not None:
        raise TypeMismatch(f"[from_torch] the module returns a {type(result).__name__}, must return tensors")


def _symbols(call: _Call, dynamic: Mapping[str, Mapping[int, Size]] | None) -> list[dict[int, _Symbol]]:
    """Returns the sizes that may differ, by dim, of each input. None given: the first of each that is the first one's."""
    if dynamic is None:
        sizes = [t.shape[0] for t in call.tensors if t.dim()]
        row = {0: _Symbol("batch", 1, _LARGEST)}
        return [row if t.dim() and t.shape[0] == sizes[0] else {} for t in call.tensors]
    unknown = [n for n in dynamic if n not in call.names]
    if unknown:
        raise InvalidArgument(f"[from_torch] dynamic names '{unknown[0]}', which is no input; there are: {', '.join(call.names)}")
    made: list[dict[int, _Symbol]] = []
    bound: dict[str, tuple[_Symbol, int]] = {}
    for name, tensor in zip(call.names, call.tensors):
        row = {}
        for dim, size in dynamic.get(name, {}).items():
            if not isinstance(dim, int) or not -tensor.dim() <= dim < tensor.dim():
                raise InvalidArgument(f"[from_torch] dim {dim!r} of '{name}' may differ, which has {tensor.dim()} dims")
            symbol = _Symbol(size, 1, _LARGEST) if isinstance(size, str) else _bounds(size)
            extent = tensor.shape[dim]
            first, other = bound.setdefault(symbol.name, (symbol, extent))
            if first != symbol or other != extent or not symbol.least <= extent <= symbol.largest:
                raise InvalidArgument(
                    f"[from_torch] '{symbol.name}' is one size within its bounds; the sample and dynamic say {other} within "
                    f"{first.least} to {first.largest}, and in '{name}' {extent} within {symbol.least} to {symbol.largest}"
                )
            row[dim % tensor.dim()] = symbol
        made.append(row)
    return made


def _bounds(size: Any) -> _Symbol:
    if isinstance(size, (tuple, list)) and len(size) == 3 and isinstance(size[0], str):
        name, least, largest = size
        if isinstance(least, int) and isinstance(largest, int) and 0 <= least <= largest:
            return _Symbol(name, least, largest)
    raise InvalidArgument(f"[from_torch] a dynamic size is {size!r}, must be a name, or (name, least, largest)")


def _inputs_at(torch: Any, call: _Call, dynamic: list[dict[int, _Symbol]], sizes: Mapping[str, int]) -> list[Any]:
    """Returns the sample at other sizes: its rows repeated or cut, so that its values are such as the module takes.

    Floats that are all the same, such as torch.zeros(...), would hide differences: noise takes their place.
    """
    noise = torch.Generator().manual_seed(0)
    made = []
    for tensor, row in zip(call.tensors, dynamic):
        value = tensor.cpu()
        for dim, symbol in row.items():
            if value.shape[dim] != sizes[symbol.name] and value.shape[dim]:
                value = value.index_select(dim, torch.arange(sizes[symbol.name]) % value.shape[dim])
        if value.is_floating_point() and value.numel() > 1 and bool((value == value.reshape(-1)[0]).all()):
            value = torch.randn(value.shape, generator=noise).to(value.dtype)
        made.append(value.clone().to(tensor.device))
    return made


def _trials(call: _Call, dynamic: list[dict[int, _Symbol]]) -> list[dict[str, int]]:
    """Returns sizes to compare at: the sample's; larger ones, each symbol another; each symbol's least."""
    of: dict[str, tuple[_Symbol, int]] = {}
    for tensor, row in zip(call.tensors, dynamic):
        for dim, symbol in row.items():
            of.setdefault(symbol.name, (symbol, tensor.shape[dim]))
    at = {name: size for name, (_, size) in of.items()}
    more = {name: min(s.largest, size + 1 + k) for k, (name, (s, size)) in enumerate(of.items())}
    twice = {name: min(s.largest, 2 * size + 1 + k) for k, (name, (s, size)) in enumerate(of.items())}
    least = {name: max(1, s.least) for name, (s, _) in of.items()}
    trials: list[dict[str, int]] = []
    for sizes in (at, more, twice, least):
        if sizes not in trials:
            trials.append(sizes)
    return trials


def _array(torch: Any, tensor: Any) -> np.ndarray[Any, Any]:
    """Returns a tensor's elements; bfloat16, which numpy has not, as its bits."""
    value = tensor.detach().cpu().contiguous()
    if value.dtype == torch.bfloat16:
        bits: np.ndarray[Any, Any] = value.view(torch.int16).numpy().view(np.uint16)
        return bits
    array: np.ndarray[Any, Any] = value.numpy()
    return array


def _difference(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], kind: str, tolerance: float | None) -> str:
    """Returns how an output differs from PyTorch's; "": by rounding alone."""
    if got.shape != want.shape:
        return f"its shape is {list(got.shape)}, PyTorch's {list(want.shape)}"
    if kind == "bfloat16":
        got, want = ((a.view(np.uint16).astype(np.uint32) << 16).view(np.float32) for a in (got, want))
    elif got.dtype != want.dtype:
        return f"it is {got.dtype}, PyTorch's {want.dtype}"
    if want.dtype.kind not in "fc":
        count = int((got != want).sum())
        return f"{count} of its {want.size} elements differ" if count else ""
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return "it has infinities or NaN where PyTorch's has none, or the other way round"
    if not finite.any():
        return ""
    allowed = (_TOLERANCE.get(kind, 1e-4) if tolerance is None else tolerance) * float(np.abs(want[finite]).max())
    error = float(np.abs(got[finite] - want[finite]).max())
    return f"an element differs by {error:.3g}, allowed is {allowed:.3g}" if error > allowed else ""


def _write_onnx(
    torch: Any, module: Any, direct: bool, call: _Call, dynamic: list[dict[int, _Symbol]], outputs: list[str], opset: int, path: str
) -> None:
    """Writes ONNX by tracing, or where that fails or is not there by torch.export."""
    axes = {name: {d: s.name for d, s in row.items()} for name, row in zip(call.names, dynamic) if row}
    named = {"input_names": call.names, "output_names": outputs}
    export = torch.onnx.export
    both = "dynamo" in inspect.signature(export).parameters
    arguments = tuple(t.clone() for t in call.tensors)
    try:
        export(module, arguments, path, opset_version=opset, dynamic_axes=axes, **named, **({"dynamo": False} if both else {}))
        return
    except Exception as why:  # noqa: BLE001: exporters raise whatever they come upon
        if not both:
            raise Unsupported(f"[from_torch] torch.onnx.export of PyTorch {torch.__version__} failed: {_short(why)}") from why
        first = why
    dims: dict[str, Any] = {}
    rows = []
    for row in dynamic:
        for symbol in row.values():
            if symbol.name not in dims:
                dims[symbol.name] = torch.export.Dim(symbol.name, min=symbol.least, max=symbol.largest)
        rows.append({d: dims[s.name] for d, s in row.items()})
    if dims:  # torch.export takes a size of 1 for a constant
        arguments = tuple(_inputs_at(torch, call, dynamic, _trials(call, dynamic)[1]))
    shapes: Any = tuple(rows) if direct else {"args": tuple(rows)}
    try:
        export(module, arguments, path, opset_version=max(opset, 18), dynamo=True, dynamic_shapes=shapes, **named)
    except Exception as why:  # noqa: BLE001
        raise Unsupported(
            f"[from_torch] PyTorch {torch.__version__} cannot export the module: traced: {_short(first)}; by torch.export: {_short(why)}"
        ) from why


@contextlib.contextmanager
def _slow_path(torch: Any) -> Iterator[None]:
    """Keeps transformers from a fused op of PyTorch's inference, which no exporter has."""
    switch = getattr(getattr(torch.backends, "mha", None), "set_fastpath_enabled", None)
    before = torch.backends.mha.get_fastpath_enabled() if switch else True
    try:
        if switch:
            switch(False)
        yield
    finally:
        if switch:
            switch(before)


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _short(why: BaseException) -> str:
    text = str(why).strip() or type(why).__name__
    return text if len(text) < 800 else text[:800] + " ..."


def _row(torch: Any, module: Callable[..., Any], call: _Call) -> Any:
    """Returns a module that takes a sample's tensors in a row and returns a result's in a row."""

    def forward(self: Any, *args: Any) -> Any:
        return tuple(t for _, t in _flat(torch, call.run(self.module, args)))

    made = type("Row", (torch.nn.Module,), {"forward": forward})()
    made.module = module
    made.training = False  # alone: what is below it is in eval mode already
    return made


def from_torch(
    module: Any,
    sample: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    dynamic: Mapping[str, Mapping[int, Size]] | None = None,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    tolerance: float | None = None,
    numerics: str = "exact",
    opset: int = 17,
) -> Model:
    """Returns a module of PyTorch's as a model, by its ONNX exporter; writes it to `output`, a .wick, where that is given.

    sample: what the module is called with: a tensor, a tuple, or arguments by name. dynamic: sizes that may differ,
    {"image": {0: "batch"}}, or with the least and the largest, {"image": {0: ("batch", 1, 64)}}; where it is None, the first
    size of every input that has the first input's, as "batch"; {}: none. inputs, outputs: names, where those of forward()
    and of its result will not do. numerics: as for compile(). opset: the ONNX that PyTorch writes.

    The model is compared with the module at the sample's sizes and, where sizes may differ, at up to three others, with the
    sample's values repeated. Floats may differ by `tolerance` of an output's largest number (None: 1e-4, more for 16 bits);
    all else must be equal. The module is in eval mode meanwhile, and as it was afterwards; an error leaves `output` as it was.

    Raises Unsupported (no PyTorch, no command, an exporter that fails), CommandError (an operator that Wick has not),
    InvalidArgument, TypeMismatch (the sample, the names), Error (an output that differs).
    """
    try:
        import torch  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as why:
        raise Unsupported(f"[from_torch] this Python has no PyTorch: pip install torch ({why})") from why
    _command.need("wick.from_torch")
    if not callable(module):
        raise TypeMismatch(f"[from_torch] module is a {type(module).__name__}, must be a torch.nn.Module or a function")
    target = None if output is None else os.fsdecode(output)
    if target is not None and not target.endswith(".wick"):
        raise InvalidArgument(f"[from_torch] output is {target}: its name must end in .wick")
    if isinstance(inputs, str) or isinstance(outputs, str):
        raise InvalidArgument("[from_torch] inputs and outputs are lists of names")
    call = _Call(torch, module, sample, inputs)
    symbols = _symbols(call, dynamic)
    modes = [(m, m.training) for m in module.modules()] if isinstance(module, torch.nn.Module) else []
    try:
        if modes:
            module.eval()
        with torch.no_grad(), _slow_path(torch), _command.scratch() as folder:
            return _made(torch, module, call, symbols, outputs, dynamic is None, tolerance, numerics, opset, target, folder)
    finally:
        for each, training in modes:
            if each.training != training:
                each.training = training


def _made(
    torch: Any,
    module: Any,
    call: _Call,
    symbols: list[dict[int, _Symbol]],
    outputs: Sequence[str] | None,
    guessed: bool,
    tolerance: float | None,
    numerics: str,
    opset: int,
    target: str | None,
    folder: str,
) -> Model:
    flat = _row(torch, module, call)
    result = call.run(module, [t.clone() for t in call.tensors])
    names = [name for name, _ in _flat(torch, result)]
    if not names:
        raise TypeMismatch("[from_torch] the module returns no tensor")
    if outputs is not None:
        if len(outputs) != len(names) or len(set(outputs)) != len(outputs):
            raise InvalidArgument(f"[from_torch] outputs is {list(outputs)}, must be {len(names)} names, each once")
        names = list(outputs)
    simple = isinstance(result, torch.Tensor) or (type(result) in (tuple, list) and all(isinstance(r, torch.Tensor) for r in result))
    direct = simple and call.plain and isinstance(module, torch.nn.Module)  # keeps the module's own names of weights
    written = os.path.join(folder, "model.onnx")
    with torch.enable_grad():  # older PyTorchs have no other way out of that path
        _write_onnx(torch, module if direct else flat, direct, call, symbols, names, opset, written)
    # As bytes, the file says the same in every run of what it was made of; weights in files beside it need the path.
    data = _tools.compile(_bytes(written) if len(os.listdir(folder)) == 1 else written, numerics=numerics)
    model = load(data)
    _compare(torch, flat, call, symbols, guessed, model, names, tolerance)
    if target is not None:
        with replacing(target) as file:
            file.write(data)
    return model


def _compare(
    torch: Any,
    flat: Any,
    call: _Call,
    symbols: list[dict[int, _Symbol]],
    guessed: bool,
    model: Model,
    names: list[str],
    tolerance: float | None,
) -> None:
    """Raises Error where the model differs from the module, InvalidArgument where the module takes no other sizes."""
    taken = [a.name for a in model.inputs]  # exporters leave out what nothing reads
    compared, refused = 0, ""
    trials = _trials(call, symbols)
    for sizes in trials:
        tensors = _inputs_at(torch, call, symbols, sizes)
        feed = {n: _array(torch, t) for n, t in zip(call.names, tensors) if n in taken}
        try:
            wanted = flat(*tensors)
        except Exception as why:  # noqa: BLE001: the module's own
            if sizes == trials[0]:
                raise
            refused = refused or f"at {sizes} it raises {type(why).__name__}: {_short(why)}"
            continue
        text = f" at {', '.join(f'{n} = {s}' for n, s in sizes.items())}" if sizes else ""
        try:
            got = model.session.run(None, feed)
        except Error as why:
            raise Error(f"[from_torch] the model fails where the module does not{text}: {why}{_advice(guessed)}") from why
        for name, mine, theirs in zip(names, got, wanted):
            kind = str(theirs.dtype).rpartition(".")[2]
            difference = _difference(mine, _array(torch, theirs), kind, tolerance)
            if difference:
                raise Error(f"[from_torch] output '{name}' is not the module's{text}: {difference}{_advice(guessed and bool(sizes))}")
        compared += 1
    if len(trials) > 1 and compared < 2:
        raise InvalidArgument(f"[from_torch] the module takes no other sizes: {refused}{_advice(guessed)}")


def _advice(guessed: bool) -> str:
    return "; say by dynamic= which sizes may differ, {} if none" if guessed else ""
