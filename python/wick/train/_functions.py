"""Functions that take more forms of arguments than C++ has."""

from __future__ import annotations

import operator as _operator
from builtins import range as _range
from typing import Any

import numpy as _np

from .. import _train
from .._errors import ShapeMismatch, TypeMismatch, Unsupported
from .._train import Tensor, dtype
from ._results import Size, TriangularSolve


__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "ShortTensor", "arange", "are_deterministic_algorithms_enabled", "as_tensor", "asarray", "atleast_1d",
    "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod", "chain_matmul", "cholesky_inverse",
    "conj", "cumulative_trapezoid", "diff", "einsum", "finfo", "from_numpy", "get_default_dtype", "iinfo", "is_complex",
    "is_floating_point", "is_nonzero", "is_tensor", "isreal", "meshgrid", "narrow_copy", "numel", "range", "real", "renorm",
    "repeat_interleave", "set_default_dtype", "set_default_tensor_type", "set_float32_matmul_precision", "set_printoptions",
    "svd", "tensor", "tensordot", "trapezoid", "triangular_solve", "trapz", "typename", "use_deterministic_algorithms", "vander",
]  # fmt: skip


def from_numpy(ndarray: Any) -> Tensor:
    """Returns a tensor with a copy of an array's elements, however they lie in memory and in whatever byte order.

    TypeMismatch: it is no array, or there is no tensor of its dtype.
    """
    if not isinstance(ndarray, (_np.ndarray, _np.generic)):
        raise TypeMismatch(f"[from_numpy] expected an array of numpy's, not a {type(ndarray).__name__}; tensor() takes it")
    array = _np.asarray(ndarray)
    if not (array.dtype.isnative and array.flags.c_contiguous and array.flags.writeable):  # older numpys lend no others
        array = _np.array(array, array.dtype.newbyteorder("="), order="C")
    if array.dtype.name == "bfloat16":  # of ml_dtypes, which no protocol between packages knows
        return _train._from_numpy(array.view(_np.uint16)).view(dtype.bfloat16)
    if array.dtype.kind not in "biufc":
        raise TypeMismatch(f"[from_numpy] there is no tensor of {array.dtype}")
    return _train._from_numpy(array)


def tensor(data: Any, *, dtype: dtype | None = None, device: str | None = None, requires_grad: Any = False) -> Tensor:
    """Returns a tensor with a copy of numbers, lists of them, an array or a tensor.

    Floats of Python become float32 and ints int64, as in PyTorch; an array keeps its dtype.
    """
    if isinstance(data, Tensor):
        made = data.detach().clone()
    elif isinstance(data, (list, tuple)) and data and any(isinstance(d, Tensor) for d in data):
        made = _train.stack([as_tensor(d) for d in data]).detach()
    else:
        try:
            array = _np.asarray(data)
        except ValueError as why:  # lists of different lengths
            raise TypeMismatch(f"[tensor] no tensor can be made of a {type(data).__name__}: {why}") from why
        if not isinstance(data, (_np.ndarray, _np.generic)) and array.dtype == _np.float64 and dtype is None:
            array = array.astype(_np.float32)
        made = from_numpy(array)
    if dtype is not None:
        made = made.to(dtype)
    return _placed(made, device, requires_grad)


def _placed(made: Tensor, device: str | None, requires_grad: Any) -> Tensor:
    if device is not None:
        made = made.to(device)
    return made.requires_grad_() if requires_grad else made


def as_tensor(data: Any, dtype: dtype | None = None, device: str | None = None) -> Tensor:
    """Returns data itself where it is a tensor of that dtype on that device, else tensor(data)."""
    if isinstance(data, Tensor):
        made = data if dtype is None or data.dtype == dtype else data.to(dtype)
        return made if device is None or made.device == device else made.to(device)
    return tensor(data, dtype=dtype, device=device)


_FLOATS = (dtype.float16, dtype.bfloat16, dtype.float32, dtype.float64)


def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: dtype | None = None, device: str | None = None, requires_grad: Any = False
) -> Tensor:
    """Returns start, start + step ... below end; arange(n): 0 to n - 1. int64 where all three are whole, else float32."""
    if end is None:
        start, end = 0, start
    given = (start, end, step)
    if dtype is None or dtype not in _FLOATS:
        try:  # numpy's ints are whole numbers, too; a double could not hold all of them
            first, last, by = map(_operator.index, given)
            return _placed(_train._arange_whole(first, last, by, dtype), device, requires_grad)
        except TypeError:
            pass
    return _placed(_train._arange(float(start), float(end), float(step), dtype), device, requires_grad)


asarray = as_tensor


def range(start: Any = 0, end: Any = None, step: Any = 1, **named: Any) -> Tensor:  # noqa: A001
    """Returns start, start + step ... up to end itself, in float32: PyTorch's old form of arange()."""
    made = arange(float(start), float(end) + float(step) / 2, float(step), **named)
    return made


def _several(tensors: tuple[Any, ...]) -> list[Any]:
    """The tensors of f(a, b) and of f([a, b])."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)


def block_diag(*tensors: Tensor) -> Tensor:
    """Returns the matrix that has these on its diagonal."""
    return _train._block_diag(list(tensors))


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Returns every choice of one element of each vector."""
    return _train._cartesian_prod(list(tensors))


def chain_matmul(*matrices: Tensor) -> Tensor:
    """Returns the product of matrices, in the cheapest order."""
    return _train._chain_matmul(_several(matrices))


def broadcast_tensors(*tensors: Tensor) -> list[Tensor]:
    """Returns views of one shape."""
    return _train._broadcast_tensors(_several(tensors))


def broadcast_shapes(*shapes: Any) -> Size:
    """Returns the shape that these broadcast to. ShapeMismatch: there is none."""
    try:
        return Size(_np.broadcast_shapes(*(tuple(s) if isinstance(s, (list, tuple)) else (s,) for s in shapes)))
    except ValueError as why:
        raise ShapeMismatch(f"[broadcast_shapes] {', '.join(map(str, shapes))} do not broadcast") from why


def _each(f: Any) -> Any:
    def of(*tensors: Any) -> Any:
        given = _several(tensors)
        made = tuple(f(t) for t in given)
        return made[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else made

    return of


atleast_1d, atleast_2d, atleast_3d = map(_each, (_train._atleast_1d, _train._atleast_2d, _train._atleast_3d))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Returns the products summed over dims: a number of them, or a list of those of a and a list of those of b."""
    if isinstance(dims, (list, tuple)):
        first, second = (list(d) if isinstance(d, (list, tuple)) else [d] for d in dims)
        return _train._tensordot(a, b, first, second)
    return _train.tensordot(a, b, int(dims))


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """Returns the matrix of the powers of x."""
    powers = arange(x.shape[0] if N is None else N, dtype=x.dtype)
    return x.unsqueeze(-1).pow(powers if increasing else powers.flip(0))


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """Returns the integral over a dim by the trapezoidal rule."""
    return _trapezia(y, x, dx, dim).sum(dim)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """Returns that up to each place."""
    return _trapezia(y, x, dx, dim).cumsum(dim)


def _trapezia(y: Tensor, x: Tensor | None, dx: float, dim: int) -> Tensor:
    count = y.shape[dim]
    width: Any = dx
    if x is not None:
        width = x.diff(dim=dim if x.ndim > 1 else 0)
        if x.ndim == 1:
            width = width.reshape([-1 if d == dim % y.ndim else 1 for d in _range(y.ndim)])
    return (y.narrow(dim, 0, count - 1) + y.narrow(dim, 1, count - 1)).mul(width).div(2)


trapz = trapezoid


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, Tensor, Tensor]:  # noqa: A002
    """Returns U, S and V with input = U diag(S) V^T; linalg.svd() returns V^T."""
    u, s, vh = _train._linalg_svd(input, not some)
    return u, s, vh.mT


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False  # noqa: N803
) -> TriangularSolve:
    """Returns x with A x = b, and A: PyTorch's old form of linalg.solve_triangular()."""
    return TriangularSolve(_train._triangular_solve(b, A, upper, transpose, unitriangular), A)


def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:  # noqa: A002
    """Returns the inverse of the matrix whose Cholesky factor this is."""
    return _train.cholesky_solve(_train.eye(input.shape[-1], dtype=input.dtype), input, upper)


def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:  # noqa: A002
    """Returns a copy of input.narrow()."""
    return input.narrow(dim, start, length).clone()


def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:  # noqa: A002
    """Returns the tensor with the parts along dim scaled down whose p-norm is above maxnorm."""
    others = [d for d in _range(input.ndim) if d != dim % input.ndim]
    norms = _train.norm(input, p, others, True)
    return input * _train.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:  # noqa: A002
    """Returns the differences between neighbours along a dim, n times."""
    parts = [t for t in (prepend, input, append) if t is not None]
    return _train.diff(input if len(parts) == 1 else _train.cat(parts, dim), n, dim)


def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:  # noqa: A002
    """Returns each element as often as repeats says; of repeats alone, the number of each."""
    if repeats is None:
        return _train.repeat_interleave(arange(input.shape[0]), input, 0)
    return _train.repeat_interleave(input, repeats, dim)


def numel(input: Tensor) -> int:  # noqa: A002
    """Returns the number of elements."""
    return input.numel()


def is_floating_point(input: Tensor) -> Any:  # noqa: A002
    """Returns whether it is a tensor of floats."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> Any:  # noqa: A002
    """Returns False: there are no complex tensors."""
    return False


def is_nonzero(input: Tensor) -> Any:  # noqa: A002
    """Returns whether the only element is not 0."""
    return input.item() != 0


def conj(input: Tensor) -> Tensor:  # noqa: A002
    """Returns the tensor itself: there are no complex ones."""
    return input


real = conj


def isreal(input: Tensor) -> Tensor:  # noqa: A002
    """Returns true everywhere: there are no complex tensors."""
    return _train.ones_like(input, dtype=dtype.bool)


def typename(obj: Any) -> str:
    """Returns PyTorch's name of a tensor's type, of others Python's."""
    return obj.type() if isinstance(obj, Tensor) else f"{type(obj).__module__}.{type(obj).__qualname__}"


class finfo:  # noqa: N801
    """The limits of a dtype of floats."""

    def __init__(self, type: dtype | None = None) -> None:  # noqa: A002
        of = get_default_dtype() if type is None else type
        self.dtype = of.name
        self.bits, self.eps, self.max, self.min, self.tiny, self.resolution = _train._finfo(of)
        self.smallest_normal = self.tiny


class iinfo:  # noqa: N801
    """The limits of a dtype of integers."""

    def __init__(self, type: dtype) -> None:  # noqa: A002
        self.dtype = type.name
        self.bits, self.min, self.max = _train._iinfo(type)


def get_default_dtype() -> dtype:
    """Returns float32, in which numbers of Python's become tensors."""
    return dtype.float32


def set_default_dtype(d: dtype) -> None:
    """Unsupported but for float32: give dtype= where tensors are made, and module.double()."""
    if d != dtype.float32:
        raise Unsupported(f"[set_default_dtype] the default is float32, and {d} cannot be: give dtype= where tensors are made, and call module.to(dtype)")


def set_default_tensor_type(t: Any) -> None:
    """set_default_dtype() of an old constructor."""
    set_default_dtype(t.dtype)


_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, 2**62, 3, 80)}
_print = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: Any = None,
) -> None:
    """Sets how tensors are printed; what is not given stays. profile: "default", "short" or "full"."""
    if profile is not None:
        _print.update(zip(_print, _PROFILES[profile]))
    for name, value in (("precision", precision), ("threshold", threshold), ("edgeitems", edgeitems), ("linewidth", linewidth)):
        if value is not None:
            _print[name] = int(min(value, 2**62))
    _train._set_printoptions(_print["precision"], _print["threshold"], _print["edgeitems"], _print["linewidth"], sci_mode)


def use_deterministic_algorithms(mode: Any, *, warn_only: Any = False) -> None:
    """Does nothing: every algorithm is deterministic."""


def are_deterministic_algorithms_enabled() -> Any:
    """Returns True."""
    return True


def set_float32_matmul_precision(precision: str) -> None:
    """Does nothing: float32 is float32."""


def einsum(equation: str, *operands: Any) -> Tensor:
    """Returns the sum of products that the equation names, such as "bij,bjk->bik"."""
    return _train._einsum(equation, _several(operands))


def meshgrid(*tensors: Any, indexing: str = "ij") -> list[Tensor]:
    """Returns the coordinates of a grid."""
    return _train._meshgrid(_several(tensors), indexing)


def is_tensor(obj: Any) -> Any:
    """Returns whether obj is a Tensor."""
    return isinstance(obj, Tensor)


class _OfDtype(type):
    """Of PyTorch's old constructors: tensors of data, or of sizes; isinstance() tells whether a tensor has that dtype."""

    dtype: dtype

    def __call__(cls, *data: Any) -> Tensor:
        if len(data) == 1 and not isinstance(data[0], (int, Size)):
            return tensor(data[0], dtype=cls.dtype)
        return _train.empty(*(data or (0,)), dtype=cls.dtype)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype == cls.dtype


class FloatTensor(metaclass=_OfDtype):
    """Of float32."""

    dtype = dtype.float32


class DoubleTensor(metaclass=_OfDtype):
    """Of float64."""

    dtype = dtype.float64


class HalfTensor(metaclass=_OfDtype):
    """Of float16."""

    dtype = dtype.float16


class BFloat16Tensor(metaclass=_OfDtype):
    """Of bfloat16."""

    dtype = dtype.bfloat16


class LongTensor(metaclass=_OfDtype):
    """Of int64."""

    dtype = dtype.int64


class IntTensor(metaclass=_OfDtype):
    """Of int32."""

    dtype = dtype.int32


class ShortTensor(metaclass=_OfDtype):
    """Of int16."""

    dtype = dtype.int16


class CharTensor(metaclass=_OfDtype):
    """Of int8."""

    dtype = dtype.int8


class ByteTensor(metaclass=_OfDtype):
    """Of uint8."""

    dtype = dtype.uint8


class BoolTensor(metaclass=_OfDtype):
    """Of bool."""

    dtype = dtype.bool
