"""torch.nn.init: tensors filled in place, without a history; each returns its tensor."""

from __future__ import annotations

import math

from ... import _train
from ..._errors import InvalidArgument
from ..._train import Tensor


def _filled(tensor: Tensor, value: Tensor) -> Tensor:
    tensor.detach().copy_(value)
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform in [a, b)."""
    return _filled(tensor, _train.rand_like(tensor.detach()) * (b - a) + a)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """A normal distribution."""
    return _filled(tensor, _train.randn_like(tensor.detach()) * std + mean)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """All of one value."""
    return _filled(tensor, _train.full_like(tensor.detach(), val))


def zeros_(tensor: Tensor) -> Tensor:
    """All 0."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """All 1."""
    return constant_(tensor, 1.0)


def _fans(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise InvalidArgument(f"[init] fan in and fan out need two dims, the tensor is {list(tensor.shape)}")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


_calculate_fan_in_and_fan_out = _fans  # which other packages take from PyTorch


def eye_(tensor: Tensor) -> Tensor:
    """The unit matrix, or as much of it as there is."""
    if tensor.ndim != 2:
        raise InvalidArgument(f"[eye_] the tensor is {list(tensor.shape)}, must have two dims")
    return _filled(tensor, _train.eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Weights of a convolution that returns its input's channels, in each of `groups` groups."""
    if tensor.ndim not in (3, 4, 5) or tensor.shape[0] % groups:
        raise InvalidArgument(f"[dirac_] the tensor is {list(tensor.shape)}, must be weights of a convolution whose channels {groups} groups divide")
    made = _train.zeros(tensor.shape, dtype=tensor.dtype)
    middle = tuple(n // 2 for n in tensor.shape[2:])
    out = tensor.shape[0] // groups
    for g in range(groups):
        for c in range(min(out, tensor.shape[1])):
            made[(g * out + c, c, *middle)] = 1
    return _filled(tensor, made)


def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Rows, or columns where there are fewer, that are orthogonal and of length `gain` (Saxe et al., 2013)."""
    if tensor.ndim < 2:
        raise InvalidArgument(f"[orthogonal_] the tensor is {list(tensor.shape)}, must have two dims or more")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    q, r = _train._linalg_qr(_train.randn(max(rows, columns), min(rows, columns)))
    q = q * _train.sign(_train.diag(r))
    return _filled(tensor, (q.t() if rows < columns else q).reshape(tensor.shape) * gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01) -> Tensor:
    """A normal distribution, with a share `sparsity` of each column 0 (Martens, 2010)."""
    if tensor.ndim != 2:
        raise InvalidArgument(f"[sparse_] the tensor is {list(tensor.shape)}, must have two dims")
    made = _train.randn(*tensor.shape) * std
    zeros = math.ceil(sparsity * tensor.shape[0])
    for column in range(tensor.shape[1]):
        made[_train.randperm(tensor.shape[0])[:zeros], column] = 0.0
    return _filled(tensor, made)


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """A normal distribution within [a, b]."""
    low, high = (0.5 * (1 + math.erf((x - mean) / (std * math.sqrt(2)))) for x in (a, b))
    drawn = _train.rand_like(tensor.detach().double()) * (2 * high - 2 * low) + (2 * low - 1)
    return _filled(tensor, (_train.erfinv(drawn) * (std * math.sqrt(2)) + mean).clamp(a, b))


_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")
_GAINS = {**dict.fromkeys(_LINEAR, 1.0), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which weights before a nonlinearity are larger. InvalidArgument: there is none for it."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise InvalidArgument(f"[init] there is no gain for '{nonlinearity}'; there are: {', '.join([*_GAINS, 'leaky_relu'])}")
    return _GAINS[nonlinearity]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Glorot and Bengio, 2010."""
    bound = gain * math.sqrt(6.0 / max(sum(_fans(tensor)), 1))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """The same with a normal distribution."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / max(sum(_fans(tensor)), 1)))


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """He et al., 2015."""
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """The same with a normal distribution."""
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity))


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise InvalidArgument(f"[init] mode is '{mode}', must be 'fan_in' or 'fan_out'")
    fan = _fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))  # without an element there is nothing to set


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    return _fans(tensor)[mode.lower() == "fan_out"]


#: PyTorch's old names.
uniform, normal, constant, xavier_uniform, xavier_normal = uniform_, normal_, constant_, xavier_uniform_, xavier_normal_
kaiming_uniform, kaiming_normal, orthogonal = kaiming_uniform_, kaiming_normal_, orthogonal_
