"""torch.linalg: matrices, on the CPU, with gradients."""

from __future__ import annotations

from typing import Any

from .. import _train
from .._train import (
    _linalg_cond as cond,
    _linalg_cross as cross,
    _linalg_eigh as eigh,
    _linalg_eigvalsh as eigvalsh,
    _linalg_inv as inv,
    _linalg_lstsq as lstsq,
    _linalg_lu as lu,
    _linalg_lu_factor as lu_factor,
    _linalg_lu_solve as lu_solve,
    _linalg_matrix_norm as matrix_norm,
    _linalg_matrix_rank as matrix_rank,
    _linalg_multi_dot as multi_dot,
    _linalg_norm as _norm,
    _linalg_pinv as pinv,
    _linalg_qr as qr,
    _linalg_solve as solve,
    _linalg_solve_triangular as solve_triangular,
    _linalg_svd as svd,
    _linalg_svdvals as svdvals,
    _linalg_vector_norm as vector_norm,
)
from .._train import Tensor, det, matmul, matrix_exp, matrix_power, slogdet

__all__ = [
    "cholesky", "cond", "cross", "det", "eigh", "eigvalsh", "inv", "lstsq", "lu", "lu_factor", "lu_solve", "matmul",
    "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
    "solve_triangular", "svd", "svdvals", "vector_norm",
]  # fmt: skip


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:  # noqa: N803: PyTorch's name
    """The lower triangle L with L L^T = A, or the upper one."""
    return _train.cholesky(A, upper)


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Tensor:  # noqa: A002, N803
    """A norm of vectors, or of matrices where ord is a text or dim names two dims."""
    if isinstance(ord, str):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim)
    return _norm(A, ord, dim, keepdim)
