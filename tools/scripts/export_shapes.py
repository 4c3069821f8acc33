#!/usr/bin/env python3
"""tests/exporter/models/*.onnx: what PyTorch writes of modules that compute sizes, with dynamic axes and tiny weights.

  export_shapes.py FOLDER      (needs PyTorch; the files in the tree are of 1.13, opset 17)
"""

import sys
import warnings

import torch
from torch import nn


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(12, 8), nn.Parameter(torch.randn(32, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, dropout=0.0)
        self.layers, self.out = nn.TransformerEncoder(layer, 1), nn.Linear(8, 5)

    def forward(self, x):
        return self.out(self.layers(self.embed(x) + self.place[: x.size(1)]))


class Attention(nn.Module):
    """View, permute and a causal mask of the sizes at hand."""

    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 2, d // 2).permute(2, 0, 3, 1, 4)
        score = q @ k.transpose(-2, -1) * 0.5
        seen = torch.ones(t, t, device=x.device).tril()
        weight = score.masked_fill(seen == 0, float("-inf")).softmax(-1)
        return x + self.out((weight @ v).transpose(1, 2).reshape(b, t, d))


class Residual(nn.Module):
    """A small ResNet that ends in adaptive pooling."""

    def __init__(self):
        super().__init__()
        self.first, self.a, self.b = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 4, 3, 1, 1), nn.Conv2d(4, 4, 3, 1, 1)
        self.norm, self.pool, self.out = nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Linear(4, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = torch.relu(x + self.b(torch.relu(self.a(x))))
        return self.out(torch.flatten(self.pool(x), 1))


class Resampled(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.mix = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 2, 1)

    def forward(self, x):
        y = self.down(x)
        big = nn.functional.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)
        twice = nn.functional.interpolate(self.mix(y), scale_factor=2, mode="nearest")
        return twice, torch.flatten(big, 1), big.mean(dim=(2, 3)).unsqueeze(1).expand(-1, 5, -1)


class Shuffled(nn.Module):
    def forward(self, x):
        b, c, h, w = x.shape
        x = x.view(b, 2, c // 2, h, w).transpose(1, 2).contiguous().view(b, -1, h, w)
        left, right = x.chunk(2, 1)
        return torch.cat([left, right * 2], 1)[:, :, : h // 2, 1:], x.reshape(b, -1)


def export(folder, name, module, x, dynamic):
    warnings.filterwarnings("ignore")
    torch.onnx.export(module.eval(), (x,), f"{folder}/{name}.onnx", opset_version=17, input_names=["x"],
                      dynamic_axes={"x": dynamic}, do_constant_folding=False)


def main():
    folder = sys.argv[1]
    torch.manual_seed(3)
    image, words = {0: "b", 2: "h", 3: "w"}, {0: "b", 1: "t"}
    export(folder, "transformer", Transformer(), torch.randint(0, 12, (2, 7)), words)
    export(folder, "attention", Attention(), torch.randn(2, 7, 8), words)
    export(folder, "residual", Residual(), torch.randn(1, 3, 16, 16), image)
    export(folder, "resampled", Resampled(), torch.randn(1, 3, 16, 16), image)
    export(folder, "shuffled", Shuffled(), torch.randn(1, 4, 16, 16), image)


if __name__ == "__main__":
    main()
