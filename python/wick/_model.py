"""load(): a model as a function of arrays."""

from __future__ import annotations

import html
from typing import Any, Mapping, Sequence

from . import _ports
from ._errors import InvalidArgument
from ._options import RunOptions, SessionOptions
from ._ports import NodeArg
from ._session import InferenceSession
from ._source import ModelSource


class Model:
    """A model that is called with its inputs and returns its output, or a tuple of them. Made by load().

    `session` is the InferenceSession below it. Any number of threads may call a model at once.
    """

    def __init__(self, session: InferenceSession) -> None:
        self.session = session
        self._names = [a.name for a in session.get_inputs()]

    def __call__(self, /, *inputs: Any, run_options: RunOptions | None = None, **named: Any) -> Any:
        """Runs on inputs in the model's order, or by their names. Errors are InferenceSession.run()'s."""
        if len(inputs) > len(self._names):
            raise InvalidArgument(f"the model has {len(self._names)} inputs ({self._names}), not {len(inputs)}")
        if inputs and isinstance(inputs[0], dict):
            raise InvalidArgument("an input is a dict: give arrays by name as model(**arrays), or to model.session.run")
        feed = dict(zip(self._names, inputs))
        twice = [n for n in named if n in feed]
        if twice:
            raise InvalidArgument(f"input '{twice[0]}' is given twice")
        outputs = self.session.run(None, {**feed, **named}, run_options)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    @property
    def inputs(self) -> list[NodeArg]:
        """Name, shape and type of each input."""
        return self.session.get_inputs()

    @property
    def outputs(self) -> list[NodeArg]:
        """Name, shape and type of each output."""
        return self.session.get_outputs()

    @property
    def labels(self) -> list[str]:
        """The class labels in the file; empty where it has none."""
        return self.session.get_labels()

    @property
    def metadata(self) -> dict[str, str]:
        """All that the file says of itself."""
        return _ports.metadata(self.session._program)

    def __repr__(self) -> str:
        def row(args: Sequence[NodeArg]) -> str:
            return ", ".join(f"{a.name}: {a.type}{a.shape}" for a in args)

        return f"Model({row(self.inputs)} -> {row(self.outputs)})"

    def _repr_html_(self) -> str:
        def rows(kind: str, args: Sequence[NodeArg]) -> str:
            cells = [(kind, a.name, a.type, str(a.shape)) for a in args]
            return "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in cells)

        return (
            "<table><tr><th></th><th>name</th><th>type</th><th>shape</th></tr>"
            f"{rows('input', self.inputs)}{rows('output', self.outputs)}</table>"
        )


def load(
    model: ModelSource,
    *,
    options: SessionOptions | None = None,
    threads: int | None = None,
    providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None = None,
) -> Model:
    """Returns a model as a function. `threads` sets options.intra_op_num_threads; all else as for InferenceSession.

    >>> model = load(model_path)
    >>> model
    Model(x: tensor(float)['batch', 4] -> y: tensor(float)['batch', 4])
    >>> model(np.float32([[1, -2, 3, -4]]))
    array([[1., 0., 3., 0.]], dtype=float32)
    """
    if threads is not None:
        if options is not None:
            raise InvalidArgument("give threads, or options with intra_op_num_threads, not both")
        options = SessionOptions()
        options.intra_op_num_threads = threads
    return Model(InferenceSession(model, options, providers))
