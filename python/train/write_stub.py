#!/usr/bin/env python3
"""Writes python/wick/_train.pyi from the built module: write_stub.py OUT (with wick._train importable, and nanobind).

nanobind's own writer does most of it. Tensor has methods called float, int and bool, which hide the types in a class's
annotations, and results of functions that return plain objects are told here.
"""

import re
import sys

import wick._train
from nanobind.stubgen import StubGen

# Results that C++ gives as objects.
RESULTS = {
    "size": "Any",
    "stride": "tuple[_int, ...]",
    "item": "Any",
    "grad": "Tensor | None",
    "numpy": "np.ndarray[Any, Any]",
    "tolist": "Any",
    "__array__": "np.ndarray[Any, Any]",
    "__iter__": "Iterator[Tensor]",
}
NAMED = {
    "ValuesIndices": "max min sort topk kthvalue median nanmedian mode cummax cummin",
    "MinMax": "aminmax",
    "Slogdet": "slogdet",
    "Qr": "qr _linalg_qr",
    "Svd": "_linalg_svd",
    "Eigh": "_linalg_eigh",
    "Lstsq": "_linalg_lstsq",
    "Lu": "_linalg_lu",
    "LuFactor": "_linalg_lu_factor",
}
HEAD = """# Written by python/train/write_stub.py from the built module.
from collections.abc import Callable, Iterator, Sequence
import enum
from typing import Any, overload

import numpy as np

from .train._results import Eigh, Lstsq, Lu, LuFactor, MinMax, Qr, Size, Slogdet, Svd, ValuesIndices

_float = float
_int = int
_bool = bool

"""
TAIL = """
_dtype = dtype
"""


def annotated(line):
    """Renames the plain types in a function's line, past its name."""
    head, mark, rest = line.partition("(")
    rest = re.sub(r"(?<![\w.\"'])(float|int|bool)\b", r"_\1", rest)
    rest = re.sub(r"(?<=[:>] )(list|tuple)(?=[,):])", r"\1[Any, ...]", rest).replace("list[Any, ...]", "list[Any]")
    rest = re.sub(r"(?<=: )dict(?=[,)])", "dict[str, Any]", rest)
    rest = re.sub(r"\*(\w+)(?=[,)])", r"*\1: Any", rest)
    return head + mark + re.sub(r"(?<=[:>|] )dtype\b", "_dtype", rest)


def main():
    stub = StubGen(wick._train, recursive=False, include_docstrings=True, include_private=True)
    stub.put(wick._train)
    lines = stub.get().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("class "))
    named = {name: kind for kind, names in NAMED.items() for name in names.split()}
    made, seen = [], set()
    for line in lines[start:]:
        found = re.match(r"\s*def (\w+)\(", line)
        if found:
            name = found[1]
            line = annotated(line)
            if "-> object" in line or "-> tuple[Tensor, Tensor" in line or "NDArray" in line or name in ("__iter__", "stride"):
                kind = RESULTS.get(name) or named.get(name)
                if kind:
                    line = re.sub(r"-> .*?:( \.\.\.)?$", lambda m: f"-> {kind}:{m[1] or ''}", line)
            line = line.replace("-> object", "-> Any").replace(": object", ": Any").replace("NDArray", "np.ndarray[Any, Any]")
            line = re.sub(r"Annotated\[np\.ndarray\[Any, Any\], dict\([^]]*\)\]", "np.ndarray[Any, Any]", line)
            if name in ("__lt__", "__le__", "__gt__", "__ge__"):  # which overlap with those of numpy's arrays
                line = line.replace("np.ndarray[Any, Any]", "Any")
            if name in ("__eq__", "__ne__") and made[-1].strip() == "@overload" and name not in seen:
                made[-1] += "  # type: ignore[override]"
                seen.add(name)
        made.append(re.sub(r"(?<=-> )(float|int|bool)(?=:)", r"_\1", line) if found else line)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(HEAD + "\n".join(made).rstrip() + "\n" + TAIL)


if __name__ == "__main__":
    main()
