#!/usr/bin/python3
"""Writes goldens/seq.txt: outputs, gradients and names of sequence modules by PyTorch (Debian's python3-torch)
in float64. golden_test.cc builds the same modules on the same numbers.

A line: module, what, then names or numbers in row-major order.
"""

import os

import torch
from torch import nn
from torch.nn.utils import rnn as packing

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
LINES = []


def number(shape, seed):
    """The test's numbers: multiples of 1/64, the same in C++."""
    count = 1
    for d in shape:
        count *= d
    v = [((i * 37 + seed * 23) % 101 - 50) / 64 for i in range(count)]
    return torch.tensor(v).reshape(shape)


def line(case, what, values):
    LINES.append(f"{case} {what} " + " ".join(f"{v:.17g}" for v in values.detach().reshape(-1).tolist()))


def check(case, module, shapes, run):
    """run(module, *inputs) -> outputs; the loss is their sum, weighted."""
    module.double()
    inputs = [number(s, 100 + i).requires_grad_() for i, s in enumerate(shapes)]
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(number(p.shape, i + 1) / 2)
    LINES.append(f"{case} names " + " ".join(module.state_dict()))
    LINES.append(f"{case} repr " + repr(module).replace("\n", "|"))
    outputs = run(module, *inputs)
    loss = sum((o * number(o.shape, 50 + k)).sum() for k, o in enumerate(outputs))
    loss.backward()
    for k, o in enumerate(outputs):
        line(case, f"out{k}", o)
    for i, x in enumerate(inputs):
        line(case, f"in{i}", x.grad)
    for name, p in module.named_parameters():
        line(case, name, p.grad)


def tables():
    index = torch.tensor([[1, 2, 4], [4, 0, 2]])
    flat, offsets = torch.tensor([1, 2, 4, 4, 0, 2, 6]), torch.tensor([0, 3, 3, 5])
    check("embedding", nn.Embedding(7, 3, padding_idx=2), [], lambda m: [m(index)])
    check("embedding_freq", nn.Embedding(7, 3, scale_grad_by_freq=True), [], lambda m: [m(index)])
    check("embedding_norm", nn.Embedding(7, 3, max_norm=0.4, norm_type=1.5), [],
          lambda m: [m(index), m.weight.detach()])
    check("bag_sum", nn.EmbeddingBag(7, 3, mode="sum"), [(7,)],
          lambda m, w: [m(flat, offsets, per_sample_weights=w)])
    check("bag_mean", nn.EmbeddingBag(7, 3, padding_idx=2), [], lambda m: [m(flat, offsets), m(index)])
    check("bag_max", nn.EmbeddingBag(7, 3, mode="max"), [], lambda m: [m(flat, offsets), m(index)])


class RMSNorm(nn.Module):
    """PyTorch 1.13 has none: its formula."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.weight

    def extra_repr(self):
        return "(5,), eps=1e-06, elementwise_affine=True"


def norms():
    check("layer_norm", nn.LayerNorm((3, 4)), [(2, 3, 4)], lambda m, x: [m(x)])
    check("layer_norm_plain", nn.LayerNorm(4, elementwise_affine=False, eps=1e-3), [(3, 4)], lambda m, x: [m(x)])
    check("rms_norm", RMSNorm(5), [(3, 5)], lambda m, x: [m(x)])


def packed(m, x, lengths, *state):
    hx = state[0] if len(state) == 1 else state or None
    p = packing.pack_padded_sequence(x, lengths, m.batch_first, enforce_sorted=False)
    y, h = m(p, hx)
    padded, _ = packing.pad_packed_sequence(y, m.batch_first, padding_value=0.25, total_length=6)
    return [padded, y.data, *(h if isinstance(h, tuple) else (h,))]


def plain(m, x, *state):
    y, h = m(x, state[0] if len(state) == 1 else state or None)
    return [y, *(h if isinstance(h, tuple) else (h,))]


def recurrent():
    two = dict(num_layers=2, bidirectional=True)
    states = (4, 3, 4)
    check("rnn", nn.RNN(3, 4, 2), [(5, 3, 3)], plain)
    check("rnn_relu", nn.RNN(3, 4, nonlinearity="relu", bidirectional=True, bias=False), [(5, 2, 3), (2, 2, 4)], plain)
    check("gru", nn.GRU(3, 4, batch_first=True, **two), [(3, 5, 3), states], plain)
    check("gru_alone", nn.GRU(3, 4), [(5, 3), (1, 4)], plain)
    check("lstm", nn.LSTM(3, 4, **two), [(5, 3, 3), states, states], plain)
    check("lstm_proj", nn.LSTM(3, 4, proj_size=2, bidirectional=True), [(5, 2, 3), (2, 2, 2), (2, 2, 4)], plain)
    lengths = [2, 5, 3]
    check("rnn_packed", nn.RNN(3, 4, bidirectional=True), [(5, 3, 3)], lambda m, *x: packed(m, x[0], lengths))
    check("gru_packed", nn.GRU(3, 4, batch_first=True, **two), [(3, 5, 3), states],
          lambda m, x, h: packed(m, x, lengths, h))
    check("lstm_packed", nn.LSTM(3, 4, bidirectional=True), [(5, 3, 3), (2, 3, 4), (2, 3, 4)],
          lambda m, x, h, c: packed(m, x, lengths, h, c))
    check("lstm_proj_packed", nn.LSTM(3, 4, proj_size=2, bidirectional=True), [(5, 3, 3)],
          lambda m, x: packed(m, x, lengths))
    check("rnn_cell", nn.RNNCell(3, 4, nonlinearity="relu"), [(2, 3), (2, 4)], lambda m, x, h: [m(x, h)])
    check("gru_cell", nn.GRUCell(3, 4, bias=False), [(2, 3), (2, 4)], lambda m, x, h: [m(x, h)])
    check("lstm_cell", nn.LSTMCell(3, 4), [(2, 3), (2, 4), (2, 4)], lambda m, x, h, c: [*m(x, (h, c))])


def causal(n):
    return torch.ones(n, n).triu(1) > 0


PADDING = torch.tensor([[False, False, False, True], [False, False, True, True]])


def attention():
    check("mha", nn.MultiheadAttention(6, 2), [(4, 2, 6)], lambda m, x: [*m(x, x, x, attn_mask=causal(4))])
    check("mha_sizes", nn.MultiheadAttention(6, 3, kdim=5, vdim=4, batch_first=True),
          [(2, 3, 6), (2, 4, 5), (2, 4, 4)],
          lambda m, q, k, v: [*m(q, k, v, key_padding_mask=PADDING, average_attn_weights=False)])
    check("mha_extra", nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True),
          [(3, 2, 6), (4, 2, 6), (3, 4)],
          lambda m, q, k, mask: [*m(q, k, k, attn_mask=mask, key_padding_mask=PADDING)])
    check("mha_heads", nn.MultiheadAttention(6, 2, bias=False), [(4, 2, 6), (4, 4, 4)],
          lambda m, x, mask: [m(x, x, x, attn_mask=mask, need_weights=False)[0]])
    check("mha_alone", nn.MultiheadAttention(6, 2), [(3, 6), (4, 6)], lambda m, q, k: [*m(q, k, k)])


def transformers():
    small = dict(dim_feedforward=7, dropout=0.0)
    pre = dict(batch_first=True, norm_first=True, activation="gelu", **small)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    check("encoder_layer", nn.TransformerEncoderLayer(6, 2, **small), [(4, 2, 6)],
          lambda m, x: [m(x, causal(4), PADDING)])
    check("encoder_layer_pre", nn.TransformerEncoderLayer(6, 2, **pre), [(2, 4, 6)],
          lambda m, x: [m(x, src_mask=mask.double())])
    check("decoder_layer", nn.TransformerDecoderLayer(6, 2, **small), [(3, 2, 6), (4, 2, 6)],
          lambda m, t, s: [m(t, s, tgt_mask=causal(3), memory_key_padding_mask=PADDING)])
    check("decoder_layer_pre", nn.TransformerDecoderLayer(6, 2, **pre), [(2, 4, 6), (2, 5, 6)],
          lambda m, t, s: [m(t, s, tgt_mask=mask.double(), tgt_key_padding_mask=PADDING,
                             memory_mask=causal(5)[1:])])
    check("encoder", nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, **small), 2, nn.LayerNorm(6)),
          [(4, 2, 6)], lambda m, x: [m(x, mask.double())])
    check("transformer", nn.Transformer(6, 2, 1, 1, **small), [(4, 2, 6), (3, 2, 6)],
          lambda m, s, t: [m(s, t, tgt_mask=causal(3), src_key_padding_mask=PADDING,
                             memory_key_padding_mask=PADDING)])


class MLP(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        return self.fc2(nn.functional.gelu(self.fc1(x)))


class TransformerBlock(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(size), nn.MultiheadAttention(size, heads, batch_first=True)
        self.ln2, self.mlp = nn.LayerNorm(size), MLP(size)

    def forward(self, x):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=causal(x.shape[1]), need_weights=False)[0]
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab, size, layers, heads, longest):
        super().__init__()
        self.token_embedding, self.position_embedding = nn.Embedding(vocab, size), nn.Embedding(longest, size)
        self.blocks = nn.ModuleList([TransformerBlock(size, heads) for _ in range(layers)])
        self.ln_f, self.lm_head = nn.LayerNorm(size), nn.Linear(size, vocab, bias=False)

    def forward(self, t):
        x = self.token_embedding(t) + self.position_embedding(torch.arange(t.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def gpt():
    tokens = torch.tensor([[1, 4, 2, 2, 0], [3, 3, 0, 1, 6]])
    check("gpt", GPT(7, 4, 2, 2, 8), [], lambda m: [m(tokens)])


def main():
    for part in (tables, norms, recurrent, attention, transformers, gpt):
        part()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens", "seq.txt")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(LINES) + "\n")


if __name__ == "__main__":
    main()
