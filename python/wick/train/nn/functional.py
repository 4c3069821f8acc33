"""torch.nn.functional."""

from __future__ import annotations

from typing import Any, Callable

from ... import _train
from ..._errors import InvalidArgument
from ..._train import (
    adaptive_avg_pool1d,
    adaptive_max_pool1d,
    affine_grid,
    alpha_dropout,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    batch_norm,
    bilinear,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cdist,
    celu,
    channel_shuffle,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    cosine_embedding_loss,
    cosine_similarity,
    cross_entropy,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    elu,
    embedding,
    embedding_bag,
    feature_alpha_dropout,
    fold,
    gaussian_nll_loss,
    gelu,
    glu,
    grid_sample,
    group_norm,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hinge_embedding_loss,
    huber_loss,
    instance_norm,
    kl_div,
    l1_loss,
    layer_norm,
    leaky_relu,
    linear,
    local_response_norm,
    log_softmax,
    logsigmoid,
    lp_pool1d,
    lp_pool2d,
    margin_ranking_loss,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
    mish,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    normalize,
    one_hot,
    pad,
    pairwise_distance,
    pixel_shuffle,
    pixel_unshuffle,
    poisson_nll_loss,
    prelu,
    relu,
    relu6,
    rms_norm,
    rrelu,
    scaled_dot_product_attention,
    selu,
    sigmoid,
    silu,
    smooth_l1_loss,
    soft_margin_loss,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    triplet_margin_loss,
)
from ..._train import Tensor as _Tensor
from .._functions import as_tensor as _as_tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm",
    "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "celu", "channel_shuffle", "conv1d",
    "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "elu_",
    "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "gaussian_nll_loss", "gelu", "glu", "grid_sample",
    "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss",
    "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "leaky_relu_", "linear",
    "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d", "margin_ranking_loss", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
    "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pdist", "pixel_shuffle",
    "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6", "relu_", "rms_norm", "rrelu",
    "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin",
    "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "triplet_margin_loss",
    "triplet_margin_with_distance_loss", "unfold", "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip


def _same(x: _Tensor, weight: _Tensor, stride: Any, dilation: Any, name: str) -> tuple[_Tensor, list[int]]:
    """The input and the padding of a convolution whose output is as large as its input."""
    dims = weight.ndim - 2
    strides, dilations = ([v] * dims if isinstance(v, int) else list(v) for v in (stride, dilation))
    if any(s != 1 for s in strides):
        raise InvalidArgument(f"[{name}] padding 'same' needs a stride of 1, not {stride}")
    whole = [d * (k - 1) for d, k in zip(dilations, weight.shape[2:])]
    if any(n % 2 for n in whole):  # one more at the end, which the op has not
        x = pad(x, [n for w in reversed(whole) for n in (0, w % 2)])
    return x, [n // 2 for n in whole]


def _conv(name: str) -> Callable[..., _Tensor]:
    f = getattr(_train, name)

    def conv(
        input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1  # noqa: A002
    ) -> _Tensor:
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise InvalidArgument(f"[{name}] padding is '{padding}', must be numbers, 'valid' or 'same'")
            input, padding = _same(input, weight, stride, dilation, name) if padding == "same" else (input, 0)  # noqa: A001
        if name == "conv1d":
            stride, padding, dilation = (v[0] if isinstance(v, (list, tuple)) else v for v in (stride, padding, dilation))
        return f(input, weight, bias, stride, padding, dilation, groups)  # type: ignore[no-any-return]

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"A convolution. padding: numbers, \"valid\" or \"same\". nn.C{name[1:]} has the same with its weights."
    return conv


conv1d, conv2d, conv3d = _conv("conv1d"), _conv("conv2d"), _conv("conv3d")


def _adaptive(name: str, dims: int) -> Callable[..., _Tensor]:
    f = getattr(_train, name)

    def pool(input: _Tensor, output_size: Any) -> _Tensor:  # noqa: A002
        if isinstance(output_size, (list, tuple)):
            output_size = [input.shape[i - dims] if n is None else n for i, n in enumerate(output_size)]
        return f(input, output_size)  # type: ignore[no-any-return]

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = "As many windows as output_size says, one number or one for each dim; None: as many as the input has."
    return pool


adaptive_avg_pool2d, adaptive_avg_pool3d = _adaptive("adaptive_avg_pool2d", 2), _adaptive("adaptive_avg_pool3d", 3)
adaptive_max_pool2d, adaptive_max_pool3d = _adaptive("adaptive_max_pool2d", 2), _adaptive("adaptive_max_pool3d", 3)


def relu_(input: _Tensor) -> _Tensor:  # noqa: A002: PyTorch's name
    """input.relu_()."""
    return input.relu_()


def leaky_relu_(input: _Tensor, negative_slope: float = 0.01) -> _Tensor:  # noqa: A002
    """input.leaky_relu_()."""
    return input.leaky_relu_(negative_slope)


def elu_(input: _Tensor, alpha: float = 1.0) -> _Tensor:  # noqa: A002
    """input.elu_()."""
    return input.elu_(alpha)


def unfold(input: _Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> _Tensor:  # noqa: A002
    """The windows of images, as columns: [N, C k k, windows]. x.unfold() is another function."""
    return _train._unfold(input, kernel_size, dilation, padding, stride)


def gumbel_softmax(logits: _Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> _Tensor:
    """A draw that has a gradient (Jang et al., 2017); hard: one-hot, with the gradient of the soft one."""
    return _train._gumbel_softmax(logits, tau, hard, dim)


def ctc_loss(
    log_probs: _Tensor, targets: _Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
) -> _Tensor:
    """The negative logarithm of the probability of all alignments. Lengths are tensors, or lists of numbers."""
    return _train._ctc_loss(log_probs, targets, _as_tensor(input_lengths), _as_tensor(target_lengths), blank, reduction, zero_infinity)


def triplet_margin_with_distance_loss(
    anchor: _Tensor,
    positive: _Tensor,
    negative: _Tensor,
    *,
    distance_function: Callable[[_Tensor, _Tensor], _Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> _Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), by any distance."""
    distance = pairwise_distance if distance_function is None else distance_function
    far = distance(anchor, negative)
    if swap:
        far = _train.minimum(far, distance(positive, negative))
    loss = (distance(anchor, positive) - far + margin).clamp(min=0)
    if reduction not in ("mean", "sum", "none"):
        raise InvalidArgument(f"[loss] reduction is '{reduction}', must be 'none', 'mean' or 'sum'")
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def pdist(input: _Tensor, p: float = 2.0) -> _Tensor:  # noqa: A002
    """The distances of all pairs of rows, each pair once."""
    rows, columns = _train.triu_indices(input.shape[0], input.shape[0], 1).unbind(0)
    return _train.norm(input[rows] - input[columns], p, 1)


def interpolate(
    input: _Tensor,  # noqa: A002: PyTorch's name
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> _Tensor:
    """Resizes [N, C, spatial...] to a size or by a factor, each one number or one for each spatial dim."""

    def listed(given: Any) -> list[Any]:
        return [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]

    return _train._interpolate(
        input, listed(size), listed(scale_factor), mode, bool(align_corners), bool(recompute_scale_factor), antialias
    )


upsample = interpolate


def upsample_nearest(input: _Tensor, size: Any = None, scale_factor: Any = None) -> _Tensor:  # noqa: A002
    """interpolate() to the nearest pixels."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: _Tensor, size: Any = None, scale_factor: Any = None) -> _Tensor:  # noqa: A002
    """interpolate() between four pixels each, with the corners' centers fixed."""
    return interpolate(input, size, scale_factor, "bilinear", True)
