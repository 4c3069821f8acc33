"""Results of several tensors, by name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .._train import Tensor

    Sizes = tuple[int, ...]
else:
    Sizes = tuple


class Size(Sizes):
    """The shape of a tensor: a tuple that knows how many elements it means."""

    __slots__ = ()

    def numel(self) -> int:
        """The product of the sizes."""
        return math.prod(self)

    def __getitem__(self, at: Any) -> Any:
        got = tuple.__getitem__(self, at)
        return Size(got) if isinstance(at, slice) else got

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, other))

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


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


class Svd(NamedTuple):
    """Of linalg.svd."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class Eigh(NamedTuple):
    """Of linalg.eigh."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class Lstsq(NamedTuple):
    """Of linalg.lstsq."""

    solution: Tensor
    residuals: Tensor


class Lu(NamedTuple):
    """Of linalg.lu."""

    P: Tensor
    L: Tensor
    U: Tensor


class LuFactor(NamedTuple):
    """Of linalg.lu_factor."""

    LU: Tensor
    pivots: Tensor


class TriangularSolve(NamedTuple):
    """Of triangular_solve."""

    solution: Tensor
    cloned_coefficient: Tensor
