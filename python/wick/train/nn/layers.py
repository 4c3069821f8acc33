"""Layers with PyTorch's arguments. Those with parameters hold a layer of C++, whose initialisation and bits they have."""

from __future__ import annotations

import copy
from typing import Any, Callable, Sequence

from ... import _train
from ..._errors import InvalidArgument
from ..._train import Tensor
from . import functional as F
from .module import Module, Parameter


class _Native(Module):
    """Holds a layer of C++: its parameters and buffers are handles of the layer's own tensors.

    They, and the settings that the layer was made with, can be read, and not replaced: C++ would not see it.
    """

    #: What layers of the class may have; None where this one has it not, as in PyTorch.
    _parameter_names: tuple[str, ...] = ("weight", "bias")
    _buffer_names: tuple[str, ...] = ()

    def __init__(self, make: Callable[[], Any], **settings: Any) -> None:
        super().__init__()
        self._hold(make, make())
        for name, value in settings.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_settings", frozenset(settings))

    def _hold(self, make: Callable[[], Any], layer: Any) -> None:
        """Holds a layer that make() returned; a copy of this one will hold another."""
        self._parameters.update(dict.fromkeys(self._parameter_names))
        self._buffers.update(dict.fromkeys(self._buffer_names))
        for name, tensor in layer.named_parameters():
            self._parameters[name] = Parameter._handle(tensor)
        for name, tensor in layer.named_buffers():
            self._buffers[name] = tensor
        object.__setattr__(self, "_make_layer", make)
        object.__setattr__(self, "_layer", layer)
        object.__setattr__(self, "_own", frozenset([*self._parameters, *self._buffers]))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        Module.__init__(made)
        # Initial values are drawn, and not kept: by a generator of its own, so that the default one does not go on.
        made._hold(self._make_layer, _train._call_with_seed(0, self._make_layer))
        for place in ("_parameters", "_buffers"):
            held, of = getattr(made, place), getattr(self, place)
            for name, tensor in of.items():
                if name not in self._own:
                    held[name] = copy.deepcopy(tensor, memo)
                elif tensor is not None:
                    _copy_into(held[name], tensor)
                    memo[id(tensor)] = held[name]
        for name, value in self.__dict__.items():
            if name not in ("_parameters", "_buffers", "_layer", "_make_layer", "_own"):
                object.__setattr__(made, name, copy.deepcopy(value, memo))
        made._layer.train(made.training)
        return made

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002: PyTorch's name
        """The layer of C++ on the input."""
        return self._layer(input)  # type: ignore[no-any-return]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_own", ()) and not (value is None and getattr(self, name) is None):
            raise self._refusal(name)
        if name in self.__dict__.get("_settings", ()) and not isinstance(value, (Module, Parameter)):
            if value != self.__dict__.get(name):
                raise InvalidArgument(f"{type(self).__name__}: '{name}' is what the layer was made with: make another one")
            return
        super().__setattr__(name, value)
        if name == "training":
            self._layer.train(bool(value))

    def __delattr__(self, name: str) -> None:
        if name in self._own:
            raise self._refusal(name)
        super().__delattr__(name)

    def _free(self, name: str, place: Any) -> None:
        if name in self._own:
            raise self._refusal(name)
        super()._free(name, place)

    def _refusal(self, name: str) -> InvalidArgument:
        return InvalidArgument(
            f"{type(self).__name__}: '{name}' belongs to the layer, which would not see another one; copy values into it "
            f"(layer.{name}.data.copy_(values)), or write a Module of your own"
        )

    def extra_repr(self) -> str:
        """As C++ prints it."""
        return str(self._layer.extra_repr())


def _copy_into(made: Tensor, of: Tensor) -> None:
    """Gives a tensor of C++'s what another one has."""
    made.set_data(of.detach().clone())
    made.requires_grad_(of.requires_grad)
    if of.grad is not None:
        made.grad = of.grad.detach().clone()


class Linear(_Native):
    """x W^T + b: [..., in_features] to [..., out_features]. weight [out, in], bias [out]."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(
            lambda: _train.make_linear(in_features, out_features, bias), in_features=in_features, out_features=out_features
        )


class Conv1d(_Native):
    """A convolution over [N, C, L]. padding: a number, "valid" or "same"."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int | str = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__(
            lambda: _train.make_conv1d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode),
            in_channels=in_channels,
            out_channels=out_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            padding_mode=padding_mode,
        )


class Conv2d(_Native):
    """A convolution over [N, C, H, W]. Sizes are one number or two; padding also "valid" or "same"."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__(
            lambda: _train.make_conv2d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode),
            in_channels=in_channels,
            out_channels=out_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            padding_mode=padding_mode,
        )


class ConvTranspose2d(_Native):
    """The gradient of a convolution with respect to its input, as a layer."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        output_padding: int | tuple[int, int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | tuple[int, int] = 1,
    ) -> None:
        super().__init__(
            lambda: _train.make_conv_transpose2d(
                in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation
            ),
            in_channels=in_channels,
            out_channels=out_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            dilation=dilation,
            groups=groups,
        )


class _BatchNorm(_Native):
    _make: Callable[..., Any]
    _buffer_names = ("running_mean", "running_var", "num_batches_tracked")

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        make = type(self)._make  # not self, which would hold itself
        super().__init__(
            lambda: make(num_features, eps, momentum, affine, track_running_stats),
            num_features=num_features,
            eps=eps,
            momentum=momentum,
            affine=affine,
            track_running_stats=track_running_stats,
        )


class BatchNorm1d(_BatchNorm):
    """Normalizes each channel of [N, C] or [N, C, L] over the batch; by running averages in eval mode."""

    _make = staticmethod(_train.make_batch_norm1d)


class BatchNorm2d(_BatchNorm):
    """The same of [N, C, H, W]."""

    _make = staticmethod(_train.make_batch_norm2d)


class LayerNorm(_Native):
    """Normalizes over the last dims, whose sizes are normalized_shape."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True
    ) -> None:
        super().__init__(
            lambda: _train.make_layer_norm(normalized_shape, eps, elementwise_affine, bias),
            normalized_shape=normalized_shape,
            eps=eps,
            elementwise_affine=elementwise_affine,
        )


class GroupNorm(_Native):
    """Normalizes groups of channels of each item."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__(
            lambda: _train.make_group_norm(num_groups, num_channels, eps, affine),
            num_groups=num_groups,
            num_channels=num_channels,
            eps=eps,
            affine=affine,
        )


class Embedding(_Native):
    """Rows of a table by their indices. weight [num_embeddings, embedding_dim]."""

    _parameter_names = ("weight",)

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        super().__init__(
            lambda: _train.make_embedding(num_embeddings, embedding_dim, padding_idx),
            num_embeddings=num_embeddings,
            embedding_dim=embedding_dim,
            padding_idx=padding_idx,
        )


class _Recurrent(_Native):
    _make: Callable[..., Any]
    _parameter_names = ()

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        nonlinearity: str = "tanh",
        proj_size: int = 0,
    ) -> None:
        make = type(self)._make  # not self, which would hold itself
        super().__init__(
            lambda: make(
                input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, nonlinearity, proj_size
            ),
            input_size=input_size,
            hidden_size=hidden_size,
            num_layers=num_layers,
            bias=bias,
            batch_first=batch_first,
            dropout=dropout,
            bidirectional=bidirectional,
            nonlinearity=nonlinearity,
            proj_size=proj_size,
        )

    def forward(self, input: Tensor, hx: Any = None) -> Any:  # noqa: A002
        """Returns the output and the last state: h_n, of an LSTM (h_n, c_n)."""
        h, c = hx if isinstance(hx, tuple) else (hx, None)
        output, h_n, c_n = self._layer.with_state(input, h, c)
        return output, (h_n if c_n is None else (h_n, c_n))


class RNN(_Recurrent):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu."""

    _make = staticmethod(_train.make_rnn)


class GRU(_Recurrent):
    """Gated recurrent units."""

    _make = staticmethod(_train.make_gru)


class LSTM(_Recurrent):
    """Long short-term memory."""

    _make = staticmethod(_train.make_lstm)


class Identity(Module):
    """Returns its input."""

    def __init__(self, *ignored: Any, **named: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """The input."""
        return input


class Flatten(Module):
    """Joins dims start_dim to end_dim into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """input.flatten(start_dim, end_dim)."""
        return input.flatten(self.start_dim, self.end_dim)


class Dropout(Module):
    """Sets elements to 0 with probability p in training mode, and scales the others."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = p

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """F.dropout."""
        return F.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        """p."""
        return f"p={self.p}"


class _Plain(Module):
    """A function without settings."""

    _function: Callable[[Tensor], Tensor]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """The function of the input."""
        return type(self)._function(input)


class ReLU(_Plain):
    """max(x, 0)."""

    _function = staticmethod(_train.relu)


class Sigmoid(_Plain):
    """1 / (1 + e^-x)."""

    _function = staticmethod(_train.sigmoid)


class Tanh(_Plain):
    """The hyperbolic tangent."""

    _function = staticmethod(_train.tanh)


class SiLU(_Plain):
    """x sigmoid(x)."""

    _function = staticmethod(_train.silu)


class GELU(Module):
    """x times the normal distribution function of x, or its approximation by tanh."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """F.gelu."""
        return F.gelu(input, self.approximate)


class LeakyReLU(Module):
    """x, or negative_slope x where x is negative."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """F.leaky_relu."""
        return F.leaky_relu(input, self.negative_slope)


class ELU(Module):
    """x, or alpha (e^x - 1) where x is negative."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """F.elu."""
        return F.elu(input, self.alpha)


class _AlongDim(Module):
    _function: Callable[[Tensor, int], Tensor]

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """The function along the dim."""
        return type(self)._function(input, self.dim)


class Softmax(_AlongDim):
    """e^x divided by its sum along a dim."""

    _function = staticmethod(_train.softmax)


class LogSoftmax(_AlongDim):
    """The logarithm of that."""

    _function = staticmethod(_train.log_softmax)


class MaxPool2d(Module):
    """The largest value of each window."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, *, ceil_mode: bool = False) -> None:
        super().__init__()
        self._arguments = (kernel_size, stride, padding, dilation, ceil_mode)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """F.max_pool2d."""
        return F.max_pool2d(input, *self._arguments)


class AvgPool2d(Module):
    """The mean of each window."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True
    ) -> None:
        super().__init__()
        self._arguments = (kernel_size, stride, padding, ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """F.avg_pool2d."""
        return F.avg_pool2d(input, *self._arguments)


class AdaptiveAvgPool2d(Module):
    """Means of as many windows as output_size says."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """F.adaptive_avg_pool2d."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class CrossEntropyLoss(Module):
    """-log softmax(input)[target]."""

    def __init__(
        self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self._options: dict[str, Any] = {"ignore_index": ignore_index, "reduction": reduction, "label_smoothing": label_smoothing}

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # noqa: A002
        """F.cross_entropy."""
        return F.cross_entropy(input, target, self.weight, **self._options)


class NLLLoss(Module):
    """-input[target], of log-probabilities."""

    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self._options: dict[str, Any] = {"ignore_index": ignore_index, "reduction": reduction}

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # noqa: A002
        """F.nll_loss."""
        return F.nll_loss(input, target, self.weight, **self._options)


class _Distance(Module):
    _function: Callable[..., Tensor]

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # noqa: A002
        """The distance of both."""
        return type(self)._function(input, target, reduction=self.reduction)


class MSELoss(_Distance):
    """(input - target)^2."""

    _function = staticmethod(_train.mse_loss)


class L1Loss(_Distance):
    """|input - target|."""

    _function = staticmethod(_train.l1_loss)


class BCEWithLogitsLoss(Module):
    """The binary cross entropy of sigmoid(input)."""

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # noqa: A002
        """F.binary_cross_entropy_with_logits."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )
