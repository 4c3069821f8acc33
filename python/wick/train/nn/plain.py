"""Layers that are a function of torch.nn.functional with settings: activations, pools, losses, pads."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from ... import _train
from ..._errors import InvalidArgument, Unsupported
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

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """The function of the inputs."""
        return type(self)._function(*inputs, **named, **{name: getattr(self, name) for name in self._settings})

    def extra_repr(self) -> str:
        """The settings."""
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._settings)


class _OfOne(_Of):
    """Of an activation. inplace is PyTorch's: the function is the same, and its memory is not the input's."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """inplace, where it is set."""
        shown = super().extra_repr()
        return ", ".join(filter(None, (shown, "inplace=True" if self.inplace else "")))


class Identity(Module):
    """Returns its input."""

    def __init__(self, *ignored: Any, **named: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:  # noqa: A002: PyTorch's name
        """The input."""
        return input


class Flatten(_Of):
    """Joins dims start_dim to end_dim into one."""

    _function = staticmethod(_train.flatten)

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__(start_dim=start_dim, end_dim=end_dim)


class _Dropout(Module):
    _function: Callable[..., Tensor]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise InvalidArgument(f"[{type(self).__name__}] p is {p}, must be in [0, 1]")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """The function, in training mode."""
        return type(self)._function(input, self.p, self.training)

    def extra_repr(self) -> str:
        """p and inplace."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Sets elements to 0 with probability p in training mode, and scales the others."""

    _function = staticmethod(F.dropout)


class Dropout1d(_Dropout):
    """The same of whole channels of [N, C, L]."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """The same of whole channels of [N, C, H, W]."""

    _function = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """The same of whole channels of [N, C, D, H, W]."""

    _function = staticmethod(F.dropout3d)


class AlphaDropout(_Dropout):
    """A dropout that keeps the mean and the variance, for SELU."""

    _function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """The same of whole channels."""

    _function = staticmethod(F.feature_alpha_dropout)


class ReLU(_OfOne):
    """max(x, 0)."""

    _function = staticmethod(_train.relu)


class SiLU(_OfOne):
    """x sigmoid(x)."""

    _function = staticmethod(_train.silu)


class Sigmoid(_Of):
    """1 / (1 + e^-x)."""

    _function = staticmethod(_train.sigmoid)


class Tanh(_Of):
    """The hyperbolic tangent."""

    _function = staticmethod(_train.tanh)


class Tanhshrink(_Of):
    """x - tanh(x)."""

    _function = staticmethod(F.tanhshrink)


class GELU(_Of):
    """x times the normal distribution function of x, or its approximation by tanh."""

    _function = staticmethod(F.gelu)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)


class _OfOneNumber(_OfOne):
    _name: str

    def __init__(self, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        setattr(self, self._name, value)
        object.__setattr__(self, "_settings", (self._name,))


class LeakyReLU(_OfOneNumber):
    """x, or negative_slope x where x is negative."""

    _function, _name = staticmethod(F.leaky_relu), "negative_slope"

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(negative_slope, inplace)


class ELU(_OfOneNumber):
    """x, or alpha (e^x - 1) where x is negative."""

    _function, _name = staticmethod(F.elu), "alpha"

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha, inplace)


class CELU(ELU):
    """x, or alpha (e^(x / alpha) - 1) where x is negative."""

    _function = staticmethod(F.celu)


class Hardshrink(_Of):
    """x, or 0 where |x| <= lambd."""

    _function = staticmethod(F.hardshrink)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)


class Softshrink(Hardshrink):
    """x moved by lambd towards 0, and 0 where |x| <= lambd."""

    _function = staticmethod(F.softshrink)


class Threshold(_Of):
    """x, or value where x <= threshold."""

    _function = staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value)


class RReLU(Module):
    """x, or x times a slope where x is negative: drawn from [lower, upper] in training mode, else their middle."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper = lower, upper

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """F.rrelu."""
        return F.rrelu(input, self.lower, self.upper, self.training)

    def extra_repr(self) -> str:
        """The slopes."""
        return f"lower={self.lower}, upper={self.upper}"


class Softmax(_Of):
    """e^x divided by its sum along a dim."""

    _function = staticmethod(F.softmax)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)


class LogSoftmax(Softmax):
    """The logarithm of that."""

    _function = staticmethod(F.log_softmax)


class Softmin(Softmax):
    """The softmax of -x."""

    _function = staticmethod(F.softmin)


class Softmax2d(Module):
    """The softmax over the channels of [N, C, H, W]."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """F.softmax along the channels."""
        return F.softmax(input, -3)


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


class Softplus(_Of):
    """log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold."""

    _function = staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=beta, threshold=threshold)


class Softsign(_Of):
    """x / (1 + |x|)."""

    _function = staticmethod(F.softsign)


class LogSigmoid(_Of):
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


class _MaxPool(_Of):
    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False
    ) -> None:
        super().__init__(
            kernel_size=kernel_size, stride=kernel_size if stride is None else stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode
        )
        self.return_indices = return_indices
        if return_indices:
            object.__setattr__(self, "_settings", (*self._settings, "return_indices"))


class MaxPool1d(_MaxPool):
    """The largest value of each window of [N, C, L]; return_indices: and its place."""

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """The same of [N, C, H, W]."""

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """The same of [N, C, D, H, W]."""

    _function = staticmethod(F.max_pool3d)


class _MaxUnpool(_Of):
    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__(kernel_size=kernel_size, stride=kernel_size if stride is None else stride, padding=padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = ()) -> Tensor:  # noqa: A002
        """Zeros, but for the values at their places."""
        return super().forward(input, indices) if not output_size else type(self)._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool):
    """Puts values where MaxPool1d(return_indices=True) found them."""

    _function = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """Puts values where MaxPool2d(return_indices=True) found them."""

    _function = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """Puts values where MaxPool3d(return_indices=True) found them."""

    _function = staticmethod(F.max_unpool3d)


class _AvgPool(_Of):
    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None
    ) -> None:
        super().__init__(
            kernel_size=kernel_size, stride=kernel_size if stride is None else stride, padding=padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad
        )
        if divisor_override is not None:
            raise Unsupported(f"[{type(self).__name__}] there is no divisor_override: multiply the mean by the size of a window over it")


class AvgPool1d(_AvgPool):
    """The mean of each window of [N, C, L]."""

    _function = staticmethod(F.avg_pool1d)


class AvgPool2d(_AvgPool):
    """The same of [N, C, H, W]."""

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The same of [N, C, D, H, W]."""

    _function = staticmethod(F.avg_pool3d)


class LPPool1d(_Of):
    """The p-norm of each window of [N, C, L]."""

    _function = staticmethod(F.lp_pool1d)

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)


class LPPool2d(LPPool1d):
    """The same of [N, C, H, W]."""

    _function = staticmethod(F.lp_pool2d)


class _AdaptivePool(_Of):
    def __init__(self, output_size: Any) -> None:
        super().__init__(output_size=output_size)


class AdaptiveAvgPool1d(_AdaptivePool):
    """Means of as many windows of [N, C, L] as output_size says."""

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptivePool):
    """The same of [N, C, H, W]; None: as many as the input has."""

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptivePool):
    """The same of [N, C, D, H, W]."""

    _function = staticmethod(F.adaptive_avg_pool3d)


class AdaptiveMaxPool1d(_AdaptivePool):
    """Largest values of as many windows of [N, C, L] as output_size says."""

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptivePool):
    """The same of [N, C, H, W]."""

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptivePool):
    """The same of [N, C, D, H, W]."""

    _function = staticmethod(F.adaptive_max_pool3d)


class Upsample(_Of):
    """Resizes images: F.interpolate."""

    _function = staticmethod(F.interpolate)

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None) -> None:
        super().__init__(size=size, scale_factor=scale_factor, mode=mode, align_corners=align_corners)


class UpsamplingNearest2d(_Of):
    """Resizes images to the nearest pixels."""

    _function = staticmethod(F.upsample_nearest)

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size=size, scale_factor=scale_factor)


class UpsamplingBilinear2d(UpsamplingNearest2d):
    """Resizes images between four pixels each, with the corners' centers fixed."""

    _function = staticmethod(F.upsample_bilinear)


class PixelUnshuffle(_Of):
    """[N, C, H r, W r] to [N, C r^2, H, W]."""

    _function = staticmethod(F.pixel_unshuffle)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__(downscale_factor=downscale_factor)


class ChannelShuffle(_Of):
    """Deals the channels of each of `groups` groups out in turn."""

    _function = staticmethod(F.channel_shuffle)

    def __init__(self, groups: int) -> None:
        super().__init__(groups=groups)


class Unfold(_Of):
    """The windows of images, as columns: [N, C k k, windows]."""

    _function = staticmethod(F.unfold)

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)


class Fold(_Of):
    """The sum of windows at their places, which Unfold took out."""

    _function = staticmethod(F.fold)

    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__(output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)


class LocalResponseNorm(_Of):
    """Divides each channel by the squares of its neighbours (Krizhevsky et al., 2012)."""

    _function = staticmethod(F.local_response_norm)

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__(size=size, alpha=alpha, beta=beta, k=k)


class PixelShuffle(_Of):
    """[N, C r^2, H, W] to [N, C, H r, W r]."""

    _function = staticmethod(F.pixel_shuffle)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(upscale_factor=upscale_factor)


class _Pad(_Of):
    """padding: one number, or two for each dim, the last dim first."""

    _function = staticmethod(F.pad)
    _dims: int
    _mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float = 0.0) -> None:
        self_padding = (padding,) * (2 * self._dims) if isinstance(padding, int) else tuple(padding)
        super().__init__(pad=self_padding, mode=self._mode, value=float(value))

    @property
    def padding(self) -> tuple[int, ...]:
        """The numbers, as PyTorch calls them."""
        return self.pad  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        """The padding."""
        return f"{self.pad}"


class ConstantPad1d(_Pad):
    """A value around [N, C, L]."""

    _dims, _mode = 1, "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding, value)


class ConstantPad2d(_Pad):
    """A value around [N, C, H, W]."""

    _dims, _mode = 2, "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding, value)


class ConstantPad3d(_Pad):
    """A value around [N, C, D, H, W]."""

    _dims, _mode = 3, "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding, value)


class ReflectionPad1d(_Pad):
    """Mirror images, without the edge, around [N, C, L]."""

    _dims, _mode = 1, "reflect"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class ReflectionPad2d(_Pad):
    """Mirror images, without the edge, around [N, C, H, W]."""

    _dims, _mode = 2, "reflect"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class ReflectionPad3d(_Pad):
    """Mirror images, without the edge, around [N, C, D, H, W]."""

    _dims, _mode = 3, "reflect"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class ReplicationPad1d(_Pad):
    """The edge, repeated, around [N, C, L]."""

    _dims, _mode = 1, "replicate"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class ReplicationPad2d(_Pad):
    """The edge, repeated, around [N, C, H, W]."""

    _dims, _mode = 2, "replicate"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class ReplicationPad3d(_Pad):
    """The edge, repeated, around [N, C, D, H, W]."""

    _dims, _mode = 3, "replicate"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class CircularPad1d(_Pad):
    """The other side around [N, C, L]."""

    _dims, _mode = 1, "circular"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class CircularPad2d(_Pad):
    """The other side around [N, C, H, W]."""

    _dims, _mode = 2, "circular"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class CircularPad3d(_Pad):
    """The other side around [N, C, D, H, W]."""

    _dims, _mode = 3, "circular"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class ZeroPad1d(_Pad):
    """Zeros around the last dim."""

    _dims = 1

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class ZeroPad2d(_Pad):
    """Zeros around the last two dims."""

    _dims = 2

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class ZeroPad3d(_Pad):
    """Zeros around the last three dims."""

    _dims = 3

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


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


class PairwiseDistance(_Of):
    """The p-norm of the difference of vectors."""

    _function = staticmethod(F.pairwise_distance)

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__(p=p, eps=eps, keepdim=keepdim)


class _Loss(_Of):
    """Of both and a reduction: "mean", "sum" or "none"."""

    def __init__(self, *, reduction: str = "mean", **settings: Any) -> None:
        super().__init__(reduction=reduction, **settings)

    def extra_repr(self) -> str:
        """Nothing, as PyTorch's."""
        return ""


class MSELoss(_Loss):
    """(input - target)^2."""

    _function = staticmethod(F.mse_loss)


class L1Loss(_Loss):
    """|input - target|."""

    _function = staticmethod(F.l1_loss)


class SoftMarginLoss(_Loss):
    """log(1 + e^(-target input)), of targets -1 and 1."""

    _function = staticmethod(F.soft_margin_loss)


class MultiLabelMarginLoss(_Loss):
    """Margins between each class of the target and each other."""

    _function = staticmethod(F.multilabel_margin_loss)


class MarginRankingLoss(_Loss):
    """max(0, -target (input1 - input2) + margin)."""

    _function = staticmethod(F.margin_ranking_loss)

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class HingeEmbeddingLoss(_Loss):
    """input where the target is 1, max(0, margin - input) where it is -1."""

    _function = staticmethod(F.hinge_embedding_loss)

    def __init__(self, margin: float = 1.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class CosineEmbeddingLoss(_Loss):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""

    _function = staticmethod(F.cosine_embedding_loss)

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class TripletMarginLoss(_Loss):
    """max(0, |anchor - positive| - |anchor - negative| + margin)."""

    _function = staticmethod(F.triplet_margin_loss)

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, p=p, eps=eps, swap=swap, reduction=reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """The same by any distance."""

    _function = staticmethod(F.triplet_margin_with_distance_loss)

    def __init__(self, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> None:
        super().__init__(distance_function=distance_function, margin=margin, swap=swap, reduction=reduction)


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts."""

    _function = staticmethod(F.poisson_nll_loss)

    def __init__(self, log_input: bool = True, full: bool = False, *, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(log_input=log_input, full=full, eps=eps, reduction=reduction)


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood of normal distributions; its third input is the variance."""

    _function = staticmethod(F.gaussian_nll_loss)

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(full=full, eps=eps, reduction=reduction)


class CTCLoss(_Loss):
    """Graves et al., 2006: the probability of all alignments of targets to a sequence."""

    _function = staticmethod(F.ctc_loss)

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(blank=blank, reduction=reduction, zero_infinity=zero_infinity)


class _Weighted(_Loss):
    """With a buffer of weights, which moves with the module."""

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean", **settings: Any) -> None:
        super().__init__(reduction=reduction, **settings)
        self.register_buffer("weight", weight)
        object.__setattr__(self, "_settings", (*self._settings, "weight"))


class CrossEntropyLoss(_Weighted):
    """-log softmax(input)[target]."""

    _function = staticmethod(F.cross_entropy)

    def __init__(
        self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(weight, reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing)


class NLLLoss(_Weighted):
    """-input[target], of log-probabilities."""

    _function = staticmethod(F.nll_loss)

    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(weight, reduction=reduction, ignore_index=ignore_index)


class BCELoss(_Weighted):
    """The binary cross entropy of probabilities."""

    _function = staticmethod(F.binary_cross_entropy)


class BCEWithLogitsLoss(_Weighted):
    """The binary cross entropy of sigmoid(input)."""

    _function = staticmethod(F.binary_cross_entropy_with_logits)

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__(weight, reduction=reduction)
        self.register_buffer("pos_weight", pos_weight)
        object.__setattr__(self, "_settings", (*self._settings, "pos_weight"))


class MultiMarginLoss(_Weighted):
    """max(0, margin - input[target] + input[other])^p over the other classes."""

    _function = staticmethod(F.multi_margin_loss)

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__(weight, reduction=reduction, p=p, margin=margin)


class MultiLabelSoftMarginLoss(_Weighted):
    """The binary cross entropy of each class, by logits."""

    _function = staticmethod(F.multilabel_soft_margin_loss)


class SmoothL1Loss(_Loss):
    """Squares below beta, absolute values above."""

    _function = staticmethod(F.smooth_l1_loss)

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction=reduction, beta=beta)


class HuberLoss(_Loss):
    """The same, times delta."""

    _function = staticmethod(F.huber_loss)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction, delta=delta)


class KLDivLoss(_Loss):
    """The divergence of the target from probabilities whose logarithms the input has."""

    _function = staticmethod(F.kl_div)

    def __init__(self, *, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction=reduction, log_target=log_target)
