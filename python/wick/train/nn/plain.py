"""Layers that are a function of torch.nn.functional with settings: activations, pools, losses, pads."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from ..._train import Tensor, full
from . import functional as F
from .module import Module, Parameter


class _Of(Module):
    """Calls a function with its settings, which are attributes and which repr() shows."""

    _function: Callable[..., Tensor]

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        object.__setattr__(self, "_settings", tuple(settings))
        for name, value in settings.items():
            setattr(self, name, value)

    def forward(self, *inputs: Any) -> Tensor:
        """The function of the inputs."""
        return type(self)._function(*inputs, **{name: getattr(self, name) for name in self._settings})

    def extra_repr(self) -> str:
        """The settings."""
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._settings)


class _OfOne(_Of):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()


class ReLU6(_OfOne):
    """min(max(x, 0), 6)."""

    _function = staticmethod(F.relu6)


class Hardswish(_OfOne):
    """x relu6(x + 3) / 6."""

    _function = staticmethod(F.hardswish)


class Hardsigmoid(_OfOne):
    """relu6(x + 3) / 6."""

    _function = staticmethod(F.hardsigmoid)


class Mish(_OfOne):
    """x tanh(softplus(x))."""

    _function = staticmethod(F.mish)


class SELU(_OfOne):
    """Scaled ELU."""

    _function = staticmethod(F.selu)


class Softplus(_OfOne):
    """log(1 + e^x)."""

    _function = staticmethod(F.softplus)


class Softsign(_OfOne):
    """x / (1 + |x|)."""

    _function = staticmethod(F.softsign)


class LogSigmoid(_OfOne):
    """log(sigmoid(x))."""

    _function = staticmethod(F.logsigmoid)


class Hardtanh(_Of):
    """x, clamped."""

    _function = staticmethod(F.hardtanh)

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(min_val=min_val, max_val=max_val)


class GLU(_Of):
    """a sigmoid(b), where x is a and b along a dim."""

    _function = staticmethod(F.glu)

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)


class PReLU(Module):
    """x, or weight x where x is negative; one weight, or one for each channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(full((num_parameters,), float(init)))

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002: PyTorch's name
        """F.prelu."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """num_parameters."""
        return f"num_parameters={self.num_parameters}"


class Dropout2d(Module):
    """Sets channels to 0 with probability p in training mode, and scales the others."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = p

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """F.dropout2d."""
        return F.dropout2d(input, self.p, self.training)

    def extra_repr(self) -> str:
        """p."""
        return f"p={self.p}"


class MaxPool1d(_Of):
    """The largest value of each window of [N, C, L]."""

    _function = staticmethod(F.max_pool1d)

    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0, dilation: int = 1, *, ceil_mode: bool = False) -> None:
        super().__init__(kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode)


class AvgPool1d(_Of):
    """The mean of each window of [N, C, L]."""

    _function = staticmethod(F.avg_pool1d)

    def __init__(
        self, kernel_size: int, stride: int | None = None, padding: int = 0, ceil_mode: bool = False, count_include_pad: bool = True
    ) -> None:
        super().__init__(
            kernel_size=kernel_size, stride=stride, padding=padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad
        )


class AdaptiveAvgPool1d(_Of):
    """Means of as many windows of [N, C, L] as output_size says."""

    _function = staticmethod(F.adaptive_avg_pool1d)

    def __init__(self, output_size: int) -> None:
        super().__init__(output_size=output_size)


class AdaptiveMaxPool2d(_Of):
    """Largest values of as many windows as output_size says."""

    _function = staticmethod(F.adaptive_max_pool2d)

    def __init__(self, output_size: Any) -> None:
        super().__init__(output_size=output_size)


class Upsample(_Of):
    """Resizes images: F.interpolate."""

    _function = staticmethod(F.interpolate)

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None) -> None:
        super().__init__(size=size, scale_factor=scale_factor, mode=mode, align_corners=align_corners)


class PixelShuffle(_Of):
    """[N, C r^2, H, W] to [N, C, H r, W r]."""

    _function = staticmethod(F.pixel_shuffle)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(upscale_factor=upscale_factor)


class ZeroPad2d(_Of):
    """Zeros around images: one number, or left, right, top, bottom."""

    _function = staticmethod(F.pad)

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(pad=(padding,) * 4 if isinstance(padding, int) else tuple(padding))


class Unflatten(Module):
    """Cuts a dim into several."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """input.unflatten(dim, unflattened_size)."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The settings."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class CosineSimilarity(_Of):
    """The cosine of the angle between vectors along a dim."""

    _function = staticmethod(F.cosine_similarity)

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__(dim=dim, eps=eps)


class SmoothL1Loss(_Of):
    """Squares below beta, absolute values above."""

    _function = staticmethod(F.smooth_l1_loss)

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction=reduction, beta=beta)


class HuberLoss(_Of):
    """The same, times delta."""

    _function = staticmethod(F.huber_loss)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction, delta=delta)


class KLDivLoss(_Of):
    """The divergence of the target from probabilities whose logarithms the input has."""

    _function = staticmethod(F.kl_div)

    def __init__(self, *, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction=reduction, log_target=log_target)


class BCELoss(Module):
    """The binary cross entropy of probabilities."""

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # noqa: A002
        """F.binary_cross_entropy."""
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)
