"""Results of several tensors, by name."""

from __future__ import annotations

from typing import NamedTuple

from .._train import Tensor


class ValuesIndices(NamedTuple):
    """Of max(dim), sort, topk and the like."""

    values: Tensor
    indices: Tensor


class MinMax(NamedTuple):
    """Of aminmax."""

    min: Tensor
    max: Tensor


class Slogdet(NamedTuple):
    """Of slogdet."""

    sign: Tensor
    logabsdet: Tensor


class Qr(NamedTuple):
    """Of qr."""

    Q: Tensor
    R: Tensor
