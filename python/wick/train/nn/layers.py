"""Layers with PyTorch's arguments. Those with parameters hold a layer of C++, whose initialisation and bits they have."""

from __future__ import annotations

import copy
from typing import Any, Callable, Sequence

from ... import _train
from ..._errors import InvalidArgument
from ..._train import Tensor
from . import functional as F
from .module import Module, Parameter
from .utils.rnn import PackedSequence


class _Native(Module):
    """Holds a layer of C++: its parameters and buffers are handles of the layer's own tensors.

    The settings that the layer was made with can be read, and not replaced: C++ would not see it. Nor can its parameters,
    but of classes that have a _plain(): once one was replaced, that computes what the layer of C++ did.
    """

    #: The forward by functions on self.weight and the like.
    _plain: Callable[..., Tensor] | None = None

    #: What layers of the class may have; None where this one has it not, as in PyTorch.
    _parameter_names: tuple[str, ...] = ("weight", "bias")
    _buffer_names: tuple[str, ...] = ()

    def __init__(self, make: Callable[[], Any], device: Any = None, dtype: Any = None, **settings: Any) -> None:
        super().__init__()
        self._hold(make, make())
        for name, value in settings.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_settings", frozenset(settings))
        self.to(device, dtype)

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
        if not self._own:
            object.__setattr__(made, "_own", frozenset())
            made._parameters.clear()
            made._buffers.clear()
        for place in ("_parameters", "_buffers"):
            held, of = getattr(made, place), getattr(self, place)
            for name, tensor in of.items():
                if name not in made._own:
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
        return self._layer(input) if self._own else self._plain(input)  # type: ignore[misc]

    def reset_parameters(self) -> None:
        """Draws the initial values anew."""
        for name, tensor in self._make_layer().named_parameters():
            getattr(self, name).detach().copy_(tensor.detach())

    def _release(self, name: str) -> None:
        """Makes the parameters those of a module like others, of which `name` can be replaced."""
        if self._plain is None:
            raise self._refusal(name)
        object.__setattr__(self, "_own", frozenset())

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_own", ()) and not (value is None and getattr(self, name) is None):
            self._release(name)
        if name in self.__dict__.get("_settings", ()) and not isinstance(value, (Module, Parameter)):
            if value != self.__dict__.get(name):
                raise InvalidArgument(f"{type(self).__name__}: '{name}' is what the layer was made with: make another one")
            return
        super().__setattr__(name, value)
        if name == "training":
            self._layer.train(bool(value))

    def __delattr__(self, name: str) -> None:
        if name in self._own:
            self._release(name)
        super().__delattr__(name)

    def _free(self, name: str, place: Any) -> None:
        if name in self._own:
            self._release(name)
        super()._free(name, place)

    def _refusal(self, name: str) -> InvalidArgument:
        return InvalidArgument(
            f"{type(self).__name__}: '{name}' belongs to the layer, which would not see another one; copy values into it "
            f"(layer.{name}.data.copy_(values)), or write a Module of your own"
        )

    def extra_repr(self) -> str:
        """As C++ prints it."""
        return str(self._layer.extra_repr())


def _detached(table: Tensor | None) -> Tensor | None:
    """A table that a layer takes for its own: the same bytes."""
    return None if table is None else table.detach()


def _copy_into(made: Tensor, of: Tensor) -> None:
    """Gives a tensor of C++'s what another one has."""
    made.set_data(of.detach().clone())
    made.requires_grad_(of.requires_grad)
    if of.grad is not None:
        made.grad = of.grad.detach().clone()


class Linear(_Native):
    """x W^T + b: [..., in_features] to [..., out_features]. weight [out, in], bias [out]."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, device: Any = None, dtype: Any = None) -> None:
        super().__init__(
            lambda: _train.make_linear(in_features, out_features, bias), in_features=in_features, out_features=out_features, device=device, dtype=dtype
        )

    def _plain(self, input: Tensor) -> Tensor:  # noqa: A002
        return F.linear(input, self.weight, self.bias)


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
        *,
        device: Any = None,
        dtype: Any = None,
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
            device=device,
            dtype=dtype,
        )

    def _plain(self, input: Tensor) -> Tensor:  # noqa: A002
        if self.padding_mode != "zeros":
            raise self._refusal("weight")
        return F.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


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
        *,
        device: Any = None,
        dtype: Any = None,
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
            device=device,
            dtype=dtype,
        )

    def _plain(self, input: Tensor) -> Tensor:  # noqa: A002
        if self.padding_mode != "zeros":
            raise self._refusal("weight")
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv3d(_Native):
    """A convolution over [N, C, D, H, W]. Sizes are one number or three; padding also "valid" or "same"."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int, int],
        stride: int | tuple[int, int, int] = 1,
        padding: int | tuple[int, int, int] | str = 0,
        dilation: int | tuple[int, int, int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            lambda: _train.make_conv3d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode),
            in_channels=in_channels,
            out_channels=out_channels,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            padding_mode=padding_mode,
            device=device,
            dtype=dtype,
        )

    def _plain(self, input: Tensor) -> Tensor:  # noqa: A002
        if self.padding_mode != "zeros":
            raise self._refusal("weight")
        return F.conv3d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class ConvTranspose1d(_Native):
    """The gradient of a convolution with respect to its input, as a layer."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int = 1,
        *,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            lambda: _train.make_conv_transpose1d(
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
            device=device,
            dtype=dtype,
        )

    def _plain(self, input: Tensor) -> Tensor:  # noqa: A002
        settings = (self.stride, self.padding, self.output_padding, self.groups, self.dilation)
        return F.conv_transpose1d(input, self.weight, self.bias, *settings)


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
        *,
        device: Any = None,
        dtype: Any = None,
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
            device=device,
            dtype=dtype,
        )

    def _plain(self, input: Tensor) -> Tensor:  # noqa: A002
        settings = (self.stride, self.padding, self.output_padding, self.groups, self.dilation)
        return F.conv_transpose2d(input, self.weight, self.bias, *settings)


class ConvTranspose3d(_Native):
    """The gradient of a convolution with respect to its input, as a layer."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int, int],
        stride: int | tuple[int, int, int] = 1,
        padding: int | tuple[int, int, int] = 0,
        output_padding: int | tuple[int, int, int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | tuple[int, int, int] = 1,
        *,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            lambda: _train.make_conv_transpose3d(
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
            device=device,
            dtype=dtype,
        )

    def _plain(self, input: Tensor) -> Tensor:  # noqa: A002
        settings = (self.stride, self.padding, self.output_padding, self.groups, self.dilation)
        return F.conv_transpose3d(input, self.weight, self.bias, *settings)


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
        *,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        make = type(self)._make  # not self, which would hold itself
        super().__init__(
            lambda: make(num_features, eps, momentum, affine, track_running_stats),
            num_features=num_features,
            eps=eps,
            momentum=momentum,
            affine=affine,
            track_running_stats=track_running_stats,
            device=device,
            dtype=dtype,
        )

    def reset_running_stats(self) -> None:
        """The averages begin anew."""
        if self.running_mean is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """The initial values, and averages that begin anew."""
        self.reset_running_stats()
        super().reset_parameters()


class BatchNorm1d(_BatchNorm):
    """Normalizes each channel of [N, C] or [N, C, L] over the batch; by running averages in eval mode."""

    _make = staticmethod(_train.make_batch_norm1d)


class BatchNorm2d(_BatchNorm):
    """The same of [N, C, H, W]."""

    _make = staticmethod(_train.make_batch_norm2d)


class BatchNorm3d(_BatchNorm):
    """The same of [N, C, D, H, W]."""

    _make = staticmethod(_train.make_batch_norm3d)


class _InstanceNorm(_BatchNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        *,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each item of [N, C, L]."""

    _make = staticmethod(_train.make_instance_norm1d)


class InstanceNorm2d(_InstanceNorm):
    """The same of [N, C, H, W]."""

    _make = staticmethod(_train.make_instance_norm2d)


class InstanceNorm3d(_InstanceNorm):
    """The same of [N, C, D, H, W]."""

    _make = staticmethod(_train.make_instance_norm3d)


class LayerNorm(_Native):
    """Normalizes over the last dims, whose sizes are normalized_shape."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        *,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            lambda: _train.make_layer_norm(normalized_shape, eps, elementwise_affine, bias),
            normalized_shape=normalized_shape,
            eps=eps,
            elementwise_affine=elementwise_affine,
            device=device,
            dtype=dtype,
        )

    def _plain(self, input: Tensor) -> Tensor:  # noqa: A002
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(_Native):
    """Normalizes groups of channels of each item."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, *, device: Any = None, dtype: Any = None) -> None:
        super().__init__(
            lambda: _train.make_group_norm(num_groups, num_channels, eps, affine),
            num_groups=num_groups,
            num_channels=num_channels,
            eps=eps,
            affine=affine,
            device=device,
            dtype=dtype,
        )


class RMSNorm(_Native):
    """Divides by the root of the mean square over the last dims, whose sizes are normalized_shape."""

    _parameter_names = ("weight",)

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True, *, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(
            lambda: _train.make_rms_norm(normalized_shape, eps, elementwise_affine),
            normalized_shape=normalized_shape,
            eps=eps,
            elementwise_affine=elementwise_affine,
            device=device,
            dtype=dtype,
        )


class Bilinear(_Native):
    """x1^T W x2 + b. weight [out, in1, in2], bias [out]."""

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, *, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(
            lambda: _train.make_bilinear(in1_features, in2_features, out_features, bias),
            in1_features=in1_features,
            in2_features=in2_features,
            out_features=out_features,
            device=device,
            dtype=dtype,
        )

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:  # type: ignore[override]
        """[..., in1] and [..., in2] to [..., out]."""
        return self._layer.of_two(input1, input2)  # type: ignore[no-any-return]


class Embedding(_Native):
    """Rows of a table by their indices. weight [num_embeddings, embedding_dim]."""

    _parameter_names = ("weight",)

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        *,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            lambda: _train.make_embedding(
                num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _detached(_weight), _freeze
            ),
            num_embeddings=num_embeddings,
            embedding_dim=embedding_dim,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **settings: Any) -> Any:
        """A layer with this table, [num_embeddings, embedding_dim]; freeze: it is not trained."""
        if embeddings.ndim != 2:
            raise InvalidArgument(f"[{cls.__name__}] the table is {embeddings.shape}, must have two dims")
        return cls(embeddings.shape[0], embeddings.shape[1], _weight=embeddings, _freeze=freeze, **settings)

    def _plain(self, input: Tensor) -> Tensor:  # noqa: A002
        if self.max_norm is not None or self.scale_grad_by_freq or self.sparse:
            raise self._refusal("weight")
        return F.embedding(input, self.weight, self.padding_idx)


class EmbeddingBag(Embedding):
    """Sums, means or maxima of rows of a table, of bags of indices. mode: "sum", "mean" or "max"."""

    _plain = None  # type: ignore[assignment]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        _freeze: bool = False,
        *,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        _Native.__init__(
            self,
            lambda: _train.make_embedding_bag(
                num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, mode, sparse, _detached(_weight), include_last_offset, padding_idx, _freeze
            ),
            num_embeddings=num_embeddings,
            embedding_dim=embedding_dim,
            mode=mode,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
            device=device,
            dtype=dtype,
        )

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:  # noqa: A002
        """Bags [N, length], or one row of indices that `offsets` cuts, to [N, embedding_dim]."""
        return self._layer.bags(input, offsets, per_sample_weights)  # type: ignore[no-any-return]


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
        *,
        device: Any = None,
        dtype: Any = None,
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
            device=device,
            dtype=dtype,
        )

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """Returns the output, packed where the input is, and the last state: h_n, of an LSTM (h_n, c_n)."""
        h, c = hx if isinstance(hx, (tuple, list)) else (hx, None)
        if isinstance(input, PackedSequence):
            made, h_n, c_n = self._layer.with_packed_state(tuple(input), h, c)
            output: Any = PackedSequence(*made)
        else:
            output, h_n, c_n = self._layer.with_state(input, h, c)
        return output, (h_n if c_n is None else (h_n, c_n))

    def flatten_parameters(self) -> None:
        """Does nothing: they lie as they are used."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        count = (4 if self.bias else 2) + (self.proj_size > 0)
        every = list(self._parameters.values())
        return [every[i : i + count] for i in range(0, len(every), count)]


class RNN(_Recurrent):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu."""

    _make = staticmethod(_train.make_rnn)


class GRU(_Recurrent):
    """Gated recurrent units."""

    _make = staticmethod(_train.make_gru)


class LSTM(_Recurrent):
    """Long short-term memory."""

    _make = staticmethod(_train.make_lstm)


class _Cell(_Native):
    _parameter_names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    _make: Callable[..., Any]

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, *, device: Any = None, dtype: Any = None, **settings: Any) -> None:
        make = type(self)._make  # not self, which would hold itself
        super().__init__(
            lambda: make(input_size, hidden_size, bias, *settings.values()),
            input_size=input_size,
            hidden_size=hidden_size,
            bias=bias,
            device=device,
            dtype=dtype,
            **settings,
        )

    def forward(self, input: Tensor, hx: Any = None) -> Any:  # noqa: A002
        """Returns the next state: h, of an LSTM (h, c)."""
        h, c = hx if isinstance(hx, (tuple, list)) else (hx, None)
        return self._layer.step(input, h, c)


class RNNCell(_Cell):
    """One step of an RNN. nonlinearity: "tanh" or "relu"."""

    _make = staticmethod(_train.make_rnn_cell)

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", *, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device=device, dtype=dtype, nonlinearity=nonlinearity)


class GRUCell(_Cell):
    """One step of a GRU."""

    _make = staticmethod(_train.make_gru_cell)


class LSTMCell(_Cell):
    """One step of an LSTM."""

    _make = staticmethod(_train.make_lstm_cell)
