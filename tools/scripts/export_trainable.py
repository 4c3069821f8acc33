#!/usr/bin/env python3
"""tests/finetune/models/*.onnx: small networks as PyTorch writes them for training further (BatchNorm and Dropout kept).

  export_trainable.py FOLDER      (needs PyTorch; the files in the tree are of 1.13, opset 17)
"""

import sys
import warnings

import torch
from torch import nn

KEEP = torch.onnx.TrainingMode.PRESERVE


class Mobile(nn.Module):
    """MobileNetV3's parts: depthwise convolutions, squeeze and excitation, hard activations; Dropout before the head."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm0 = nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.expand, self.norm1 = nn.Conv2d(8, 16, 1, bias=False), nn.BatchNorm2d(16)
        self.depth, self.norm2 = nn.Conv2d(16, 16, 3, 2, 1, groups=16, bias=False), nn.BatchNorm2d(16)
        self.squeeze, self.excite = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)
        self.project, self.norm3 = nn.Conv2d(16, 24, 1, bias=False), nn.BatchNorm2d(24)
        self.pool, self.drop, self.head = nn.AdaptiveAvgPool2d(1), nn.Dropout(0.2), nn.Linear(24, 5)

    def forward(self, x):
        x = nn.functional.hardswish(self.norm0(self.stem(x)))
        x = nn.functional.relu6(self.norm1(self.expand(x)))
        x = self.norm2(self.depth(x))
        gate = nn.functional.hardsigmoid(self.excite(torch.relu(self.squeeze(self.pool(x)))))
        x = nn.functional.hardswish(self.norm3(self.project(x * gate)))
        return self.head(self.drop(torch.flatten(self.pool(x), 1)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 4)
        self.lstm = nn.LSTM(4, 3, bidirectional=True, batch_first=True)
        self.gru, self.out = nn.GRU(6, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x):
        h, _ = self.gru(self.lstm(self.embed(x))[0])
        return self.out(h[:, -1])


class UNet(nn.Module):
    """Down, up by a transposed convolution and by resampling, joined; its last axes are split off again."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.act = nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.PReLU(4)
        self.down, self.up = nn.Conv2d(4, 6, 3, 2, 1), nn.ConvTranspose2d(6, 4, 2, 2)
        self.last = nn.Conv2d(14, 4, 1)

    def forward(self, x):
        a = self.act(self.norm(self.first(nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"))))
        low = nn.functional.elu(self.down(a))
        wide = nn.functional.interpolate(low, scale_factor=2, mode="bilinear", align_corners=False)
        near = nn.functional.interpolate(low, scale_factor=2, mode="nearest")
        p, q = self.last(torch.cat([a, self.up(low), wide * 0.5 + near], 1)).chunk(2, 1)
        return p * torch.sigmoid(q)


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm = nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.b, self.c = nn.Conv2d(6, 4, 3, padding=1), nn.Conv2d(10, 5, 1)

    def forward(self, x):
        y = nn.functional.leaky_relu(self.norm(self.a(x)), 0.1)
        z = torch.cat([x, y], 1)
        z = torch.cat([z, nn.functional.softplus(self.b(z))], 1)
        z = nn.functional.max_pool2d(z, 2) + nn.functional.avg_pool2d(z, 2)
        return torch.log_softmax(self.c(z).mean((2, 3)), 1)


class Caption(nn.Module):
    """Two inputs, two outputs: an image's patches looked up by words."""

    def __init__(self):
        super().__init__()
        self.patch, self.embed = nn.Conv2d(1, 8, 4, 4), nn.Embedding(10, 8)
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 10)
        self.query, self.key = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, image, words):
        seen = self.norm(self.patch(image).flatten(2).transpose(1, 2))
        said = nn.functional.gelu(self.embed(words))
        weight = torch.softmax(self.query(said) @ self.key(seen).transpose(1, 2) * 0.35, -1)
        return self.out(said + weight @ seen), weight


def export(folder, name, model, inputs, names, axes, training=False):
    torch.manual_seed(7)
    for p in model.parameters():
        if p.dim() > 1:
            nn.init.normal_(p, std=(2 / p[0].numel()) ** 0.5)
    for m in model.modules():  # statistics as after some training
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.uniform_(-0.2, 0.2), m.running_var.uniform_(0.5, 1.5)
            nn.init.uniform_(m.weight, 0.7, 1.3), nn.init.uniform_(m.bias, -0.2, 0.2)
    model.train(training)
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()
    torch.onnx.export(model, inputs, f"{folder}/{name}.onnx", opset_version=17, training=KEEP, do_constant_folding=False,
                      input_names=names, output_names=["y", "weight"][: 2 if name == "caption" else 1], dynamic_axes=axes)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    folder, batch = sys.argv[1], {"x": {0: "batch"}}
    image, tokens = torch.randn(2, 2, 8, 8), torch.randint(0, 10, (2, 5))
    export(folder, "mobile", Mobile(), torch.randn(2, 1, 8, 8), ["x"], batch)
    export(folder, "mobile_training", Mobile(), torch.randn(2, 1, 8, 8), ["x"], batch, training=True)
    export(folder, "recurrent", Recurrent(), tokens, ["x"], {"x": {0: "batch"}})
    export(folder, "unet", UNet(), image, ["x"], {"x": {0: "batch", 2: "h", 3: "w"}})
    export(folder, "dense", Dense(), image, ["x"], batch)
    export(folder, "caption", Caption(), (torch.randn(2, 1, 8, 8), tokens), ["image", "words"],
           {"image": {0: "batch"}, "words": {0: "batch", 1: "t"}})


if __name__ == "__main__":
    main()
