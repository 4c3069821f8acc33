"""What a session says of its model: inputs, outputs and metadata."""

from __future__ import annotations

import ctypes
from typing import Mapping, NamedTuple, Union

from ._library import Handle, check, lib
from ._values import Declared

Dim = Union[int, str, None]


class NodeArg(NamedTuple):
    """An input or an output. `shape` has a number, a symbol's name or None for each dim; `type` is "tensor(float)"."""

    name: str
    shape: list[Dim]
    type: str

    def __str__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


class ModelMetadata(NamedTuple):
    """What the file says of itself."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


def node_arg(port: Declared, overrides: Mapping[str, int]) -> NodeArg:
    """Returns a port as onnxruntime describes it; sizes in `overrides` stand for their symbols."""
    shape: list[Dim] = []
    for i, dim in enumerate(port.dims or []):
        symbol = port.symbols[i]
        shape.append(dim if dim >= 0 else overrides.get(symbol, symbol) if symbol else None)
    return NodeArg(port.name, shape, port.type)


def metadata(program: Handle) -> dict[str, str]:
    """Returns all that the file says of itself, the entries of ONNX files as "onnx.producer_name" and so on."""
    entries: dict[str, str] = {}
    key, value = ctypes.c_char_p(), ctypes.c_char_p()
    for i in range(lib.wick_program_metadata_count(program.pointer)):
        check(lib.wick_program_metadata_entry(program.pointer, i, ctypes.addressof(key), ctypes.addressof(value)))
        entries[(key.value or b"").decode("utf-8", "replace")] = (value.value or b"").decode("utf-8", "replace")
    return entries


def labels(program: Handle) -> list[str]:
    """Returns the class labels, in the order of the classifier's output; empty where there are none."""
    count = lib.wick_program_label_count(program.pointer)
    return [lib.wick_program_label(program.pointer, i).decode("utf-8", "replace") for i in range(count)]


def model_metadata(program: Handle, graph_name: str) -> ModelMetadata:
    """Returns the same as onnxruntime groups it."""
    entries = metadata(program)
    version = entries.get("onnx.model_version", "0")
    return ModelMetadata(
        producer_name=entries.get("onnx.producer_name", "wick"),
        graph_name=graph_name,
        domain=entries.get("onnx.domain", ""),
        description=entries.get("onnx.doc_string", ""),
        graph_description=entries.get("onnx.graph_doc_string", ""),
        version=int(version) if version.lstrip("-").isdigit() else 0,
        custom_metadata_map={k: v for k, v in entries.items() if not k.startswith("onnx.")},
    )
