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
