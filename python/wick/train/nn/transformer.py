"""Attention and the layers of transformers: C++'s, with PyTorch's arguments and masks."""

from __future__ import annotations

import copy
from typing import Any

from ... import _train
from ..._errors import InvalidArgument
from ..._train import Tensor
from . import functional as F
from .init import xavier_uniform_
from .layers import LayerNorm, _Native
from .module import Module, ModuleList


def _hint(name: str, is_causal: Any, mask: Tensor | None) -> None:
    if is_causal and mask is None:
        raise InvalidArgument(f"[{name}] is_causal is a hint of what the mask is: give the mask, generate_square_subsequent_mask(size)")


def generate_square_subsequent_mask(sz: int) -> Tensor:
    """0 where a position may attend to another, -inf where that comes later."""
    return _train.triu(_train.full((sz, sz), float("-inf")), diagonal=1)


class MultiheadAttention(_Native):
    """Attention of embed_dim / num_heads numbers a head. in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias."""

    _parameter_names = ()

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
    ) -> None:
        super().__init__(
            lambda: _train.make_multihead_attention(
                embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first
            ),
            embed_dim=embed_dim,
            num_heads=num_heads,
            dropout=dropout,
            batch_first=batch_first,
        )

    def forward(  # type: ignore[override]
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Returns the output and the weights, None where they are not needed. Masks are true, or -inf, where attention is
        not allowed."""
        _hint("MultiheadAttention", is_causal, attn_mask)
        made = self._layer.attend(query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights)
        return made  # type: ignore[no-any-return]


class _TransformerLayer(_Native):
    _parameter_names = ()
    _make: Any

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
    ) -> None:
        make = type(self)._make
        known = {F.relu: "relu", _train.relu: "relu", F.gelu: "gelu"}
        if callable(activation):
            if activation not in known:
                raise InvalidArgument(f"[{type(self).__name__}] activation must be 'relu', 'gelu', F.relu or F.gelu")
            activation = known[activation]
        super().__init__(
            lambda: make(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first),
            d_model=d_model,
            nhead=nhead,
            batch_first=batch_first,
            norm_first=norm_first,
        )


class TransformerEncoderLayer(_TransformerLayer):
    """Attention of a sequence to itself, and two Linears. activation: "relu" or "gelu"."""

    _make = staticmethod(_train.make_transformer_encoder_layer)

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """[L, N, d_model], or [N, L, d_model] with batch_first, to the same."""
        _hint("TransformerEncoderLayer", is_causal, src_mask)
        return self._layer.encode(src, src_mask, src_key_padding_mask)  # type: ignore[no-any-return]


class TransformerDecoderLayer(_TransformerLayer):
    """The same, with attention to what an encoder made between."""

    _make = staticmethod(_train.make_transformer_decoder_layer)

    def forward(  # type: ignore[override]
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """tgt, attending to itself and to memory."""
        _hint("TransformerDecoderLayer", tgt_is_causal, tgt_mask)
        _hint("TransformerDecoderLayer", memory_is_causal, memory_mask)
        made = self._layer.decode(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return made  # type: ignore[no-any-return]


class _Stack(Module):
    """num_layers copies of a layer, with equal initial values, and a norm behind them."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, x: Tensor, *others: Any, **named: Any) -> Tensor:
        """One layer after the other, each with the same other arguments."""
        for layer in self.layers:
            x = layer(x, *others, **named)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """Several encoder layers."""

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        """src through each layer."""
        return super().forward(src, mask, src_key_padding_mask, is_causal=is_causal)


class TransformerDecoder(_Stack):
    """Several decoder layers, called as one is."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)


class Transformer(Module):
    """An encoder and a decoder, each with a norm at its end. Weights of two dims and more begin as xavier_uniform_ has them."""

    generate_square_subsequent_mask = staticmethod(generate_square_subsequent_mask)

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers, LayerNorm(d_model, layer_norm_eps)
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers, LayerNorm(d_model, layer_norm_eps)
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for p in self.parameters():
            if p.dim() > 1:
                xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """tgt, decoded beside what the encoder makes of src."""
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        made = self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return made  # type: ignore[no-any-return]
