"""layers.cc in PyTorch 1.13: every layer, every size free that may be."""

import torch
from torch import nn
from torch.nn import functional as F
from torch_corpus import BATCH, BATCH_IMAGE, BATCH_TIME, Form, ids_layer, layer


class RMSNorm(nn.Module):  # a layer of PyTorch's own since 2.4
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = torch.finfo(torch.float32).eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class PositionalEncoding(nn.Module):
    def __init__(self, max_seq_len, embed_dim):
        super().__init__()
        self.position_embeddings = nn.Parameter(torch.randn(max_seq_len, embed_dim))

    def forward(self, x):
        return x + self.position_embeddings[:x.size(1)]


class EmbeddingLayer(nn.Module):
    def __init__(self, vocab_size, embed_dim, max_seq_len=512):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoding = PositionalEncoding(max_seq_len, embed_dim)

    def forward(self, tokens):
        return self.pos_encoding(self.token_embedding(tokens))


class MLP(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.fc1 = nn.Linear(embed_dim, 4 * embed_dim)
        self.fc2 = nn.Linear(4 * embed_dim, embed_dim)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.ln1 = nn.LayerNorm(embed_dim)
        self.attn = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
        self.ln2 = nn.LayerNorm(embed_dim)
        self.mlp = MLP(embed_dim)

    def forward(self, x, mask=None):
        h = self.ln1(x)
        x = x + self.attn(h, h, h, need_weights=False, attn_mask=mask)[0]
        return x + self.mlp(self.ln2(x))


# The first result alone, and itself as key and value.
class RNN(nn.RNN):
    def forward(self, x):
        return super().forward(x)[0]


class GRU(nn.GRU):
    def forward(self, x):
        return super().forward(x)[0]


class LSTM(nn.LSTM):
    def forward(self, x):
        return super().forward(x)[0]


class LSTMCell(nn.LSTMCell):
    def forward(self, x):
        return super().forward(x)[0]


class SelfAttention(nn.MultiheadAttention):
    def forward(self, x):
        return super().forward(x, x, x, need_weights=False)[0]


def activations():
    for name, module in {
        "ReLU": nn.ReLU(),
        "ReLU6": nn.ReLU6(),
        "Sigmoid": nn.Sigmoid(),
        "Tanh": nn.Tanh(),
        "SiLU": nn.SiLU(),
        "Mish": nn.Mish(),
        "SELU": nn.SELU(),
        "Hardswish": nn.Hardswish(),
        "Hardsigmoid": nn.Hardsigmoid(),
        "LogSigmoid": nn.LogSigmoid(),
        "Softsign": nn.Softsign(),
        "Tanhshrink": nn.Tanhshrink(),
        "LeakyReLU": nn.LeakyReLU(0.1),
        "ELU": nn.ELU(),
        "CELU": nn.CELU(0.7),
        "GELU": nn.GELU(),
        "GELU_tanh": nn.GELU("tanh"),
        "Hardtanh": nn.Hardtanh(),
        "Softplus": nn.Softplus(),
        "Softshrink": nn.Softshrink(),
        "Hardshrink": nn.Hardshrink(),
        "Threshold": nn.Threshold(0.1, 2.0),
        "RReLU": nn.RReLU(),
        "Softmax": nn.Softmax(-1),
        "Softmax_over_time": nn.Softmax(1),
        "Softmin": nn.Softmin(1),
        "LogSoftmax": nn.LogSoftmax(1),
        "GLU": nn.GLU(),
        "Dropout": nn.Dropout(),
        "Identity": nn.Identity(),
    }.items():
        yield layer(name, module, (2, 6, 4), BATCH_TIME)
    yield layer("PReLU", nn.PReLU(3), (2, 3, 8, 9), BATCH_IMAGE)
    yield layer("Softmax2d", nn.Softmax2d(), (2, 3, 8, 9), BATCH_IMAGE)
    yield layer("GLU_over_time", nn.GLU(1), (2, 6, 4), BATCH)


def dense():
    yield layer("Linear", nn.Linear(4, 5), (2, 4), BATCH)
    yield layer("Linear_of_time", nn.Linear(4, 5), (2, 6, 4), BATCH_TIME)
    yield layer("Linear_of_rank_4", nn.Linear(4, 5, bias=False), (2, 3, 6, 4), {0: "batch", 2: "time"})
    yield layer("Flatten", nn.Flatten(), (2, 3, 4), BATCH)
    yield layer("Flatten_free", nn.Flatten(1), (2, 3, 8, 9), BATCH_IMAGE)
    yield layer("LayerNorm", nn.LayerNorm(4), (2, 6, 4), BATCH_TIME)
    yield layer("LayerNorm_of_two", nn.LayerNorm((3, 4)), (2, 6, 3, 4), BATCH_TIME)
    yield layer("RMSNorm", RMSNorm(4), (2, 6, 4), BATCH_TIME)
    yield ids_layer("Embedding", nn.Embedding(11, 4), (2, 6), 11, BATCH_TIME)
    yield ids_layer("EmbeddingBag", nn.EmbeddingBag(11, 4), (2, 6), 11, BATCH_TIME)
    yield ids_layer("EmbeddingLayer", EmbeddingLayer(11, 4), (2, 6), 11, BATCH_TIME)
    yield layer("PositionalEncoding", PositionalEncoding(64, 4), (2, 6, 4), BATCH_TIME)


def images():
    for name, module in {
        "Conv2d": nn.Conv2d(4, 6, 3),
        "Conv2d_same": nn.Conv2d(4, 6, 3, padding="same"),
        "Conv2d_strided": nn.Conv2d(4, 6, 3, stride=2, padding=1),
        "Conv2d_dilated": nn.Conv2d(4, 6, 3, padding=2, dilation=2),
        "Conv2d_depthwise": nn.Conv2d(4, 4, 3, padding=1, groups=4),
        "Conv2d_reflect": nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"),
        "Conv2d_circular": nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"),
        "ConvTranspose2d": nn.ConvTranspose2d(4, 6, 3),
        "ConvTranspose2d_by_2": nn.ConvTranspose2d(4, 6, 2, stride=2),
        "ConvTranspose2d_output_padding": nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
        "ConvTranspose2d_groups": nn.ConvTranspose2d(4, 6, 4, stride=2, padding=1, groups=2),
        "BatchNorm2d": nn.BatchNorm2d(4),
        "InstanceNorm2d": nn.InstanceNorm2d(4),
        "GroupNorm": nn.GroupNorm(2, 4),
        "GroupNorm_each": nn.GroupNorm(4, 4),
        "LocalResponseNorm": nn.LocalResponseNorm(3),
        "MaxPool2d": nn.MaxPool2d(2),
        "MaxPool2d_padded": nn.MaxPool2d(3, 2, 1),
        "AvgPool2d": nn.AvgPool2d(2),
        "AvgPool2d_padded": nn.AvgPool2d(3, 2, 1),
        "LPPool2d": nn.LPPool2d(2.0, 2),
        "AdaptiveAvgPool2d_1": nn.AdaptiveAvgPool2d(1),
        "AdaptiveMaxPool2d_1": nn.AdaptiveMaxPool2d(1),
        "ZeroPad2d": nn.ZeroPad2d((1, 2, 0, 1)),
        "ConstantPad2d": nn.ConstantPad2d((1, 2, 0, 1), 0.5),
        "ReflectionPad2d": nn.ReflectionPad2d(2),
        "ReplicationPad2d": nn.ReplicationPad2d(2),
        "CircularPad2d": Form(lambda x: F.pad(x, (2, 2, 2, 2), mode="circular")),  # a layer since 2.1
        "PixelShuffle": nn.PixelShuffle(2),
        "ChannelShuffle": nn.ChannelShuffle(2),
        "Upsample_nearest": nn.Upsample(scale_factor=2),
        "Upsample_bilinear": nn.Upsample(scale_factor=2, mode="bilinear"),
        "Upsample_bilinear_corners": nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
        "Upsample_bicubic": nn.Upsample(scale_factor=2, mode="bicubic"),
        "Upsample_to_a_size": nn.Upsample(size=(9, 7), mode="bilinear"),
    }.items():
        yield layer(name, module, (2, 4, 12, 10), BATCH_IMAGE)
    yield layer("PixelUnshuffle", nn.PixelUnshuffle(2), (2, 3, 12, 10), BATCH)
    yield layer("AdaptiveAvgPool2d_3", nn.AdaptiveAvgPool2d(3), (2, 4, 12, 10), BATCH)
    yield layer("Unfold", nn.Unfold(3), (2, 4, 12, 10), BATCH)
    for name, module in {
        "Conv1d": nn.Conv1d(4, 6, 3),
        "Conv1d_same": nn.Conv1d(4, 6, 3, padding=1),
        "ConvTranspose1d": nn.ConvTranspose1d(4, 6, 4, stride=2, padding=1),
        "BatchNorm1d": nn.BatchNorm1d(4),
        "InstanceNorm1d": nn.InstanceNorm1d(4),
        "GroupNorm_1d": nn.GroupNorm(2, 4),
        "MaxPool1d": nn.MaxPool1d(2),
        "AvgPool1d": nn.AvgPool1d(2),
        "AdaptiveAvgPool1d_1": nn.AdaptiveAvgPool1d(1),
        "ZeroPad1d": nn.ConstantPad1d(2, 0.0),  # a layer since 2.1
        "ReflectionPad1d": nn.ReflectionPad1d(2),
        "Upsample_linear": nn.Upsample(scale_factor=2, mode="linear"),
    }.items():
        yield layer(name, module, (2, 4, 12), {0: "batch", 2: "length"})
    for name, module in {
        "Conv3d": nn.Conv3d(2, 3, 3),
        "ConvTranspose3d": nn.ConvTranspose3d(2, 3, 2, stride=2),
        "BatchNorm3d": nn.BatchNorm3d(2),
        "MaxPool3d": nn.MaxPool3d(2),
        "AvgPool3d": nn.AvgPool3d(2),
        "AdaptiveAvgPool3d_1": nn.AdaptiveAvgPool3d(1),
    }.items():
        yield layer(name, module, (2, 2, 6, 7, 8), {0: "batch", 2: "depth", 3: "height", 4: "width"})


def sequences():
    time_first = {0: "time", 1: "batch"}

    def of(name, module, dims):
        return layer(name, module, (2, 6, 8), dims)
    yield of("RNN", RNN(8, 5, batch_first=True), BATCH_TIME)
    yield of("GRU", GRU(8, 5, batch_first=True), BATCH_TIME)
    yield of("LSTM", LSTM(8, 5, batch_first=True), BATCH_TIME)
    yield of("LSTM_time_first", LSTM(8, 5), time_first)
    yield of("LSTM_both_ways", LSTM(8, 5, num_layers=2, batch_first=True, bidirectional=True), BATCH_TIME)
    yield of("LSTM_projected", LSTM(8, 5, batch_first=True, proj_size=3), BATCH)
    yield layer("RNNCell", nn.RNNCell(8, 5), (2, 8), BATCH)
    yield layer("GRUCell", nn.GRUCell(8, 5), (2, 8), BATCH)
    yield layer("LSTMCell", LSTMCell(8, 5), (2, 8), BATCH)
    yield of("MultiheadAttention", SelfAttention(8, 2, batch_first=True), BATCH_TIME)
    yield of("MultiheadAttention_time_first", SelfAttention(8, 2), time_first)

    def encoder_layer():
        return nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    yield of("TransformerEncoderLayer", encoder_layer(), BATCH_TIME)
    yield of("TransformerEncoder", nn.TransformerEncoder(encoder_layer(), 2), BATCH_TIME)
    yield of("TransformerBlock", TransformerBlock(8, 2), BATCH_TIME)
    yield of("MLP_block", MLP(8), BATCH_TIME)


def programs():
    for part in (activations, dense, images, sequences):
        yield from part()
