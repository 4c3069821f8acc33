#!/usr/bin/env python3
"""Writes goldens/*.txt with real PyTorch (Debian's python3-torch 1.13): fake quantization with its gradients, and a
ConvBn2d trained with observers.

  /usr/bin/python3 make_goldens.py

Lines: a name, then its numbers. Values stand away from the ties of the rounding: PyTorch multiplies by 1 / scale."""

import os

import torch
import torch.nn.intrinsic.qat as nniqat
from torch.quantization import FakeQuantize, MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver, QConfig

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")


class Writer:
    def __init__(self, name):
        self.file = open(os.path.join(HERE, name), "w", encoding="ascii")

    def put(self, name, value):
        if isinstance(value, torch.Tensor):
            value = value.detach().double().flatten().tolist()
        elif not isinstance(value, list):
            value = [value]
        self.file.write(" ".join([name] + [f"{v:.9g}" for v in value]) + "\n")


def off_ties(generator, scale, zero, lo, hi, shape):
    """Numbers whose quotient is at most 0.45 from an integer, a fifth of them outside of the range."""
    reach = hi - lo + 1
    k = torch.randint(lo - reach // 8 - 1, hi + reach // 8 + 2, shape, generator=generator).double()
    part = torch.rand(shape, generator=generator, dtype=torch.float64) * 0.9 - 0.45
    return ((k - zero + part) * scale).float()


def functions():
    out = Writer("fake_quantize.txt")
    gen = torch.Generator().manual_seed(3)
    cases = [
        ("tensor_u8", (5, 7), None, [0.031], [117], 0, 255),
        ("tensor_u4", (40,), None, [0.25], [3], 0, 15),
        ("channel_s8", (3, 4, 5), 0, [0.02, 0.5, 0.0071], [0, 0, 0], -128, 127),
        ("channel_s4", (4, 3, 5), 1, [0.3, 0.11, 1.7], [0, -2, 1], -8, 7),
    ]
    for name, shape, axis, scale, zero, lo, hi in cases:
        view = [1] * len(shape)
        if axis is not None:
            view[axis] = len(scale)
        s64 = torch.tensor(scale, dtype=torch.float32)
        z64 = torch.tensor(zero, dtype=torch.float32)
        x = off_ties(gen, s64.double().view(view), z64.double().view(view), lo, hi, shape)
        x.requires_grad_()
        g = torch.rand(shape, generator=gen) * 2 - 1
        if axis is None:
            y = torch.fake_quantize_per_tensor_affine(x, scale[0], zero[0], lo, hi)
        else:
            y = torch.fake_quantize_per_channel_affine(x, s64, torch.tensor(zero, dtype=torch.int32), axis, lo, hi)
        y.backward(g)
        for key, value in [("x", x), ("g", g), ("scale", s64), ("zero", z64), ("y", y), ("gx", x.grad)]:
            out.put(f"{name}.{key}", value)
        x.grad = None
        s, z = s64.clone().requires_grad_(), z64.clone().requires_grad_()
        shared = x.numel() / len(scale)
        factor = (shared * hi) ** -0.5
        if axis is None:
            y = torch._fake_quantize_learnable_per_tensor_affine(x, s, z, lo, hi, factor)
        else:
            y = torch._fake_quantize_learnable_per_channel_affine(x, s, z, axis, lo, hi, factor)
        y.backward(g)
        for key, value in [("learned_y", y), ("learned_gx", x.grad), ("gscale", s.grad), ("gzero", z.grad)]:
            out.put(f"{name}.{key}", value)


def conv_bn():
    """Two training steps, one over frozen statistics, one in eval mode."""
    out = Writer("conv_bn.txt")
    torch.manual_seed(11)
    activation = FakeQuantize.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255,
                                        dtype=torch.quint8, averaging_constant=0.25)
    weight = FakeQuantize.with_args(observer=MovingAveragePerChannelMinMaxObserver, quant_min=-127, quant_max=127,
                                    dtype=torch.qint8, qscheme=torch.per_channel_symmetric, ch_axis=0,
                                    averaging_constant=1.0)
    net = nniqat.ConvBn2d(3, 5, 3, padding=1, bias=False, qconfig=QConfig(activation, weight))
    into, behind = activation(), activation()
    with torch.no_grad():
        net.weight.copy_(torch.rand(5, 3, 3, 3) - 0.5)
        net.bn.weight.copy_(torch.tensor([0.7, 1.3, -0.4, 0.9, 2.0]))
        net.bn.bias.copy_(torch.rand(5) - 0.5)
        net.bn.running_mean.copy_(torch.rand(5) - 0.5)
        net.bn.running_var.copy_(torch.rand(5) + 0.5)
    for key, value in [("weight", net.weight), ("gamma", net.bn.weight), ("beta", net.bn.bias),
                       ("mean", net.bn.running_mean), ("var", net.bn.running_var)]:
        out.put(key, value)
    for step in range(4):
        x = torch.rand(4, 3, 6, 6) * (step + 1) - 0.3
        g = torch.rand(4, 5, 6, 6) * 2 - 1
        net.zero_grad()
        if step == 2:
            net.freeze_bn_stats()
        if step == 3:
            for m in [net, into, behind]:  # PyTorch's observers move in eval mode too
                m.eval().apply(torch.quantization.disable_observer)
        y = behind(net(into(x)))
        y.backward(g)
        at = f"step{step}."
        for key, value in [("x", x), ("g", g), ("y", y), ("gweight", net.weight.grad), ("ggamma", net.bn.weight.grad),
                           ("gbeta", net.bn.bias.grad), ("mean", net.bn.running_mean), ("var", net.bn.running_var),
                           ("in_scale", into.scale), ("in_zero", into.zero_point), ("w_scale", net.weight_fake_quant.scale),
                           ("out_scale", behind.scale), ("out_zero", behind.zero_point)]:
            out.put(at + key, value)


os.makedirs(HERE, exist_ok=True)
functions()
conv_bn()
