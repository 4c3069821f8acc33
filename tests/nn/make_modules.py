#!/usr/bin/python3
"""Writes goldens/modules.txt and goldens/losses.txt: layers and losses by PyTorch (Debian's python3-torch)
in float64. modules_test.cc and loss_test.cc build the same ones on the same numbers.

A line: case, what (repr, state, out, x0 ..., a parameter's or buffer's name, eval), shape, then numbers
in row-major order. x0 and parameters are gradients of sum(out * number(out's shape, 7)), buffers what
they are after the forward in training.
"""

import os
from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def number(shape, seed):
    """The test's numbers: multiples of 1/64, the same in C++."""
    count = 1
    for d in shape:
        count *= d
    v = [((i * 37 + seed * 23) % 101 - 50) / 64 for i in range(count)]
    return torch.tensor(v).reshape(shape)


class Pool(nn.Module):
    """Max pooling undone."""

    def __init__(self, pool, unpool):
        super().__init__()
        self.pool, self.unpool = pool, unpool

    def forward(self, x):
        return self.unpool(*self.pool(x))


def activations():
    wide = [(2, 4, 9)]
    plain = ["ReLU", "ReLU6", "Sigmoid", "Tanh", "SiLU", "Mish", "SELU", "Hardswish", "Hardsigmoid", "LogSigmoid",
             "Softsign", "Tanhshrink", "ELU", "CELU", "GELU", "LeakyReLU", "Hardtanh", "Softplus", "Softshrink",
             "Hardshrink", "PReLU"]
    for name in plain:
        yield name, getattr(nn, name)(), wide, 6
    yield "ELU_half", nn.ELU(0.5), wide, 6
    yield "CELU_two", nn.CELU(2.0), wide, 6
    yield "GELU_tanh", nn.GELU("tanh"), wide, 6
    yield "LeakyReLU_slope", nn.LeakyReLU(0.2), wide, 6
    yield "Hardtanh_wide", nn.Hardtanh(-1.5, 2.25), wide, 6
    yield "Softplus_sharp", nn.Softplus(3, 5), wide, 6
    yield "Threshold", nn.Threshold(0.1, 20.0), wide, 6
    yield "PReLU_channels", nn.PReLU(4), wide, 6
    yield "Softmax", nn.Softmax(1), wide, 6
    yield "Softmin", nn.Softmin(2), wide, 6
    yield "LogSoftmax", nn.LogSoftmax(-1), wide, 6
    yield "Softmax2d", nn.Softmax2d(), [(1, 3, 2, 3)], 6
    yield "GLU", nn.GLU(1), wide, 6
    yield "RReLU", nn.RReLU(0.125, 0.25).eval(), wide, 6
    for name in ["Dropout", "AlphaDropout", "FeatureAlphaDropout"]:
        yield name, getattr(nn, name)(0.25).eval(), [(2, 3)], 1
    yield "Dropout1d", nn.Dropout1d().eval(), [(2, 3, 2)], 1
    yield "Dropout2d", nn.Dropout2d().eval(), [(1, 3, 2, 1)], 1
    yield "Dropout3d", nn.Dropout3d().eval(), [(1, 3, 2, 1, 1)], 1


def linears():
    yield "Linear", nn.Linear(4, 3), [(2, 4)], 1
    yield "Linear_no_bias", nn.Linear(4, 3, bias=False), [(2, 2, 4)], 1
    yield "Bilinear", nn.Bilinear(3, 4, 2), [(2, 3), (2, 4)], 1
    yield "Bilinear_no_bias", nn.Bilinear(3, 2, 2, bias=False), [(2, 2, 3), (2, 2, 2)], 1
    yield "Identity", nn.Identity(), [(2, 3)], 1
    yield "Flatten", nn.Flatten(1, 2), [(2, 3, 2, 2)], 1
    yield "Unflatten", nn.Unflatten(1, (2, 3)), [(2, 6)], 1
    yield "CosineSimilarity", nn.CosineSimilarity(), [(3, 4), (3, 4)], 1
    yield "PairwiseDistance", nn.PairwiseDistance(3.0), [(3, 4), (3, 4)], 1
    yield "Sequential", nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2, bias=False)), [(2, 3)], 1
    yield "Sequential_named", nn.Sequential(OrderedDict([
        ("fc", nn.Linear(3, 2)), ("act", nn.Softsign()),
        ("out", nn.Sequential(nn.Linear(2, 2), nn.LeakyReLU()))])), [(2, 3)], 1


def convolutions():
    yield "Conv1d", nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), [(2, 4, 7)], 1
    yield "Conv1d_same", nn.Conv1d(2, 3, 4, padding="same"), [(1, 2, 6)], 1
    yield "Conv1d_valid", nn.Conv1d(2, 3, 4, padding="valid"), [(2, 6)], 1
    yield "Conv1d_reflect", nn.Conv1d(2, 3, 3, padding=2, padding_mode="reflect"), [(1, 2, 5)], 1
    yield "Conv2d", nn.Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2),
                              bias=False), [(2, 2, 6, 5)], 1
    yield "Conv2d_reflect", nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), [(1, 2, 4, 5)], 1
    yield "Conv2d_replicate", nn.Conv2d(2, 2, 3, padding=(2, 1), padding_mode="replicate"), [(1, 2, 4, 5)], 1
    yield "Conv2d_circular", nn.Conv2d(2, 2, 3, padding=(0, 1), stride=2, padding_mode="circular"), [(1, 2, 4, 5)], 1
    yield "Conv2d_same", nn.Conv2d(2, 2, (2, 3), padding="same", padding_mode="circular"), [(1, 2, 4, 5)], 1
    yield "Conv2d_same_dilated", nn.Conv2d(2, 2, 3, padding="same", dilation=2), [(2, 4, 5)], 1
    yield "Conv3d", nn.Conv3d(2, 2, 2, stride=2, padding=1), [(1, 2, 3, 4, 3)], 1
    yield "Conv3d_replicate", nn.Conv3d(1, 2, (1, 2, 3), padding=(0, 1, 1), padding_mode="replicate"), [(1, 1, 2, 3, 3)], 1
    yield "ConvTranspose1d", nn.ConvTranspose1d(2, 4, 3, stride=2, padding=1, output_padding=1, groups=2), [(2, 2, 4)], 1
    yield "ConvTranspose2d", nn.ConvTranspose2d(3, 2, (3, 2), stride=(2, 3), padding=(1, 0), dilation=(1, 2),
                                                bias=False), [(1, 3, 3, 3)], 1
    yield "ConvTranspose3d", nn.ConvTranspose3d(2, 2, 2, stride=2), [(1, 2, 2, 3, 2)], 1


def norms():
    yield "BatchNorm1d", nn.BatchNorm1d(3), [(4, 3)], 1
    yield "BatchNorm1d_average", nn.BatchNorm1d(3, momentum=None), [(3, 3, 4)], 1
    yield "BatchNorm2d", nn.BatchNorm2d(2, eps=1e-3, momentum=0.3), [(2, 2, 3, 3)], 1
    yield "BatchNorm2d_plain", nn.BatchNorm2d(2, affine=False), [(2, 2, 3, 3)], 1
    yield "BatchNorm2d_untracked", nn.BatchNorm2d(2, track_running_stats=False), [(2, 2, 3, 3)], 1
    yield "BatchNorm3d", nn.BatchNorm3d(2), [(2, 2, 2, 2, 2)], 1
    yield "InstanceNorm1d", nn.InstanceNorm1d(3), [(2, 3, 4)], 1
    yield "InstanceNorm1d_alone", nn.InstanceNorm1d(3, affine=True), [(3, 5)], 1
    yield "InstanceNorm2d", nn.InstanceNorm2d(2, affine=True, track_running_stats=True), [(2, 2, 3, 3)], 1
    yield "InstanceNorm3d", nn.InstanceNorm3d(2, affine=True), [(1, 2, 2, 2, 3)], 1
    yield "GroupNorm", nn.GroupNorm(2, 4), [(2, 4, 3)], 1
    yield "GroupNorm_plain", nn.GroupNorm(3, 6, affine=False), [(2, 6, 2, 2)], 1
    yield "LocalResponseNorm", nn.LocalResponseNorm(3, alpha=0.1, beta=0.75, k=2.0), [(2, 5, 2, 2)], 1


def pools():
    yield "MaxPool1d", nn.MaxPool1d(3, 2, 1), [(2, 2, 7)], 1
    yield "MaxPool2d", nn.MaxPool2d((3, 2), stride=(2, 1), padding=(1, 0), ceil_mode=True), [(1, 2, 6, 5)], 1
    yield "MaxPool2d_dilated", nn.MaxPool2d(2, dilation=2, ceil_mode=True), [(2, 6, 7)], 1
    yield "MaxPool3d", nn.MaxPool3d(2), [(1, 1, 4, 4, 5)], 1
    yield "AvgPool1d", nn.AvgPool1d(3, 2, 1), [(2, 2, 7)], 1
    yield "AvgPool2d", nn.AvgPool2d(3, 2, 1, ceil_mode=True), [(1, 2, 6, 5)], 1
    yield "AvgPool2d_no_pad", nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), [(1, 2, 6, 5)], 1
    yield "AvgPool3d", nn.AvgPool3d(2, stride=(2, 1, 1)), [(1, 1, 4, 3, 3)], 1
    yield "LPPool1d", nn.LPPool1d(2, 3, stride=2), [(2, 2, 7)], 1
    yield "LPPool2d", nn.LPPool2d(2, (2, 3), ceil_mode=True), [(1, 2, 5, 6)], 1
    for kind in ["Avg", "Max"]:
        yield f"Adaptive{kind}Pool1d", getattr(nn, f"Adaptive{kind}Pool1d")(3), [(1, 2, 7)], 1
        yield f"Adaptive{kind}Pool2d", getattr(nn, f"Adaptive{kind}Pool2d")((2, 3)), [(1, 2, 5, 6)], 1
        yield f"Adaptive{kind}Pool3d", getattr(nn, f"Adaptive{kind}Pool3d")(2), [(1, 1, 3, 4, 2)], 1
    yield "MaxUnpool1d", Pool(nn.MaxPool1d(2, return_indices=True), nn.MaxUnpool1d(2)), [(2, 2, 6)], 1
    yield "MaxUnpool2d", Pool(nn.MaxPool2d((3, 2), 2, return_indices=True), nn.MaxUnpool2d((3, 2), 2)), [(1, 2, 5, 6)], 1
    yield "MaxUnpool3d", Pool(nn.MaxPool3d(2, return_indices=True), nn.MaxUnpool3d(2)), [(1, 1, 2, 4, 4)], 1


def images():
    yield "Upsample", nn.Upsample(scale_factor=2.0), [(1, 2, 2, 3)], 1
    yield "Upsample_1d", nn.Upsample(size=5), [(2, 2, 3)], 1
    yield "Upsample_linear", nn.Upsample(scale_factor=2.5, mode="linear"), [(1, 2, 4)], 1
    yield "Upsample_bilinear", nn.Upsample(size=(5, 4), mode="bilinear"), [(1, 2, 2, 3)], 1
    yield "Upsample_bilinear_corners", nn.Upsample(scale_factor=(2.0, 3.0), mode="bilinear", align_corners=True), [(1, 2, 2, 3)], 1
    yield "Upsample_bicubic", nn.Upsample(size=(5, 7), mode="bicubic"), [(1, 2, 3, 4)], 1
    yield "Upsample_bicubic_corners", nn.Upsample(scale_factor=2.0, mode="bicubic", align_corners=True), [(1, 1, 3, 4)], 1
    yield "Upsample_bicubic_smaller", nn.Upsample(size=(2, 3), mode="bicubic"), [(1, 1, 5, 4)], 1
    yield "Upsample_trilinear", nn.Upsample(scale_factor=2.0, mode="trilinear"), [(1, 1, 2, 3, 2)], 1
    yield "PixelShuffle", nn.PixelShuffle(2), [(1, 8, 2, 2)], 1
    yield "PixelUnshuffle", nn.PixelUnshuffle(2), [(1, 2, 4, 4)], 1
    yield "ReflectionPad1d", nn.ReflectionPad1d(2), [(2, 2, 4)], 1
    yield "ReflectionPad2d", nn.ReflectionPad2d((1, 2, 0, 1)), [(2, 3, 4)], 1
    yield "ReflectionPad3d", nn.ReflectionPad3d(1), [(1, 1, 2, 3, 2)], 1
    yield "ReplicationPad1d", nn.ReplicationPad1d((3, 1)), [(2, 2, 4)], 1
    yield "ReplicationPad2d", nn.ReplicationPad2d((1, 2, 0, 1)), [(1, 2, 3, 4)], 1
    yield "ReplicationPad3d", nn.ReplicationPad3d(1), [(1, 1, 2, 3, 2)], 1
    yield "ZeroPad2d", nn.ZeroPad2d((1, -1, 2, 0)), [(1, 2, 3, 4)], 1
    yield "ConstantPad1d", nn.ConstantPad1d(2, 3.5), [(2, 2, 4)], 1
    yield "ConstantPad2d", nn.ConstantPad2d((1, 0, 0, 2), -1.0), [(1, 2, 3, 4)], 1
    yield "ConstantPad3d", nn.ConstantPad3d(1, 0.25), [(1, 1, 2, 1, 2)], 1
    yield "Unfold", nn.Unfold((2, 3), padding=1, stride=2), [(1, 2, 4, 5)], 1
    yield "Fold", nn.Fold((4, 5), (2, 2)), [(1, 8, 12)], 1


def line(out, case, what, t):
    shape = "[" + ",".join(str(d) for d in t.shape) + "]"
    out.write(" ".join([case, what, shape] + [repr(v) for v in t.detach().reshape(-1).tolist()]) + "\n")


def emit_module(out, case, m, shapes, scale):
    out.write(f"{case} repr {repr(m)!r}\n")
    state = [f"{k}:[{','.join(str(d) for d in v.shape)}]" for k, v in m.state_dict().items()]
    out.write(" ".join([case, "state"] + state) + "\n")
    with torch.no_grad():
        for i, p in enumerate(m.parameters()):
            p.copy_(number(p.shape, 11 + i))
    x = [(number(s, i) * scale).requires_grad_() for i, s in enumerate(shapes)]
    training = m.training
    y = m(*x)
    line(out, case, "out", y)
    (y * number(y.shape, 7)).sum().backward()
    for i, t in enumerate(x):
        line(out, case, f"x{i}", t.grad)
    for k, p in m.named_parameters():
        line(out, case, k, p.grad)
    for k, b in m.named_buffers():
        line(out, case, k, b)
    if training:
        m.eval()
        other = m(*x)
        if not torch.equal(other, y):
            line(out, case, "eval", other)


def losses():
    """name, module, arguments; those that require grad are x0, x1 ... in order."""
    def x(shape, seed=0, scale=4):
        return (number(shape, seed) * scale).requires_grad_()

    def prob(shape, seed=1):
        return number(shape, seed) / 2 + 0.5

    def sign(shape, seed=1):
        return torch.sign(number(shape, seed) + 1 / 256)

    three = torch.tensor([0.5, 2.0, 0.25])
    labels, ignored = torch.tensor([2, 0, 1, 2]), torch.tensor([2, -100, 1, 2])
    plane = torch.tensor([[0, 1], [2, 1]])
    for r in ["none", "mean", "sum"]:
        yield f"L1_{r}", nn.L1Loss(reduction=r), [x((2, 5)), number((2, 5), 1)]
        yield f"MSE_{r}", nn.MSELoss(reduction=r), [x((2, 5)), number((2, 5), 1)]
        yield f"SmoothL1_{r}", nn.SmoothL1Loss(reduction=r, beta=0.5), [x((2, 5)), number((2, 5), 1)]
        yield f"Huber_{r}", nn.HuberLoss(reduction=r, delta=1.5), [x((2, 5)), number((2, 5), 1)]
        yield f"CrossEntropy_{r}", nn.CrossEntropyLoss(three, ignore_index=1, reduction=r, label_smoothing=0.1), [x((4, 3)), labels]
        yield f"CrossEntropy_soft_{r}", nn.CrossEntropyLoss(three, reduction=r, label_smoothing=0.2), [x((4, 3)), torch.softmax(number((4, 3), 1), 1)]
        yield f"NLL_{r}", nn.NLLLoss(three, reduction=r), [x((4, 3)), ignored]
        yield f"PoissonNLL_{r}", nn.PoissonNLLLoss(full=True, reduction=r), [x((2, 5), 0, 1), (number((2, 5), 1) * 4).abs().round()]
        yield f"GaussianNLL_{r}", nn.GaussianNLLLoss(full=True, reduction=r), [x((2, 5)), number((2, 5), 1), x((2, 5), 3, 1).detach().abs().requires_grad_()]
        yield f"BCE_{r}", nn.BCELoss(prob((5,), 4), reduction=r), [(number((2, 5), 0) / 2 + 0.5).requires_grad_(), prob((2, 5))]
        yield f"BCEWithLogits_{r}", nn.BCEWithLogitsLoss(prob((5,), 4), reduction=r, pos_weight=prob((5,), 5) * 3), [x((2, 5), 0, 8), prob((2, 5))]
        yield f"HingeEmbedding_{r}", nn.HingeEmbeddingLoss(0.75, reduction=r), [x((2, 5), 0, 1), sign((2, 5))]
        yield f"SoftMargin_{r}", nn.SoftMarginLoss(reduction=r), [x((2, 5)), sign((2, 5))]
        yield f"MultiLabelMargin_{r}", nn.MultiLabelMarginLoss(reduction=r), [x((2, 4), 0, 1), torch.tensor([[3, 0, -1, 1], [2, -1, -1, -1]])]
        yield f"MultiLabelSoftMargin_{r}", nn.MultiLabelSoftMarginLoss(prob((5,), 4), reduction=r), [x((2, 5)), (sign((2, 5)) + 1) / 2]
        yield f"MultiMargin_{r}", nn.MultiMarginLoss(2, 0.75, three, reduction=r), [x((4, 3), 0, 1), labels]
        yield f"CosineEmbedding_{r}", nn.CosineEmbeddingLoss(-0.5, reduction=r), [x((4, 3)), x((4, 3), 2), sign((4,))]
        yield f"MarginRanking_{r}", nn.MarginRankingLoss(0.25, reduction=r), [x((5,)), x((5,), 2), sign((5,))]
        yield f"TripletMargin_{r}", nn.TripletMarginLoss(1.5, 3.0, swap=True, reduction=r), [x((4, 3)), x((4, 3), 2), x((4, 3), 3)]
        yield f"TripletDistance_{r}", nn.TripletMarginWithDistanceLoss(
            distance_function=lambda a, b: (a - b).abs().sum(-1), margin=2.0, swap=True, reduction=r), [x((4, 3)), x((4, 3), 2), x((4, 3), 3)]
    for r in ["none", "mean", "sum", "batchmean"]:
        yield f"KLDiv_{r}", nn.KLDivLoss(reduction=r), [x((2, 5)), prob((2, 5)) * (number((2, 5), 1) > -0.5)]
    yield "KLDiv_log", nn.KLDivLoss(reduction="mean", log_target=True), [x((2, 5)), number((2, 5), 1)]
    yield "CrossEntropy_plain", nn.CrossEntropyLoss(), [x((4, 3)), labels]
    yield "CrossEntropy_plane", nn.CrossEntropyLoss(three), [x((1, 3, 2, 2)), plane[None]]
    yield "CrossEntropy_1d", nn.CrossEntropyLoss(), [x((3,)), torch.tensor(1)]
    yield "CrossEntropy_far", nn.CrossEntropyLoss(), [x((4, 3), 0, 12800), labels]
    yield "BCE_edges", nn.BCELoss(), [torch.tensor([0.0, 1.0, 0.0, 1.0]).requires_grad_(), torch.tensor([0.0, 1.0, 1.0, 0.0])]
    yield "PoissonNLL_raw", nn.PoissonNLLLoss(log_input=False), [prob((2, 5)).requires_grad_(), number((2, 5), 1).abs()]
    yield "MultiMargin_plain", nn.MultiMarginLoss(), [x((3,), 0, 1), torch.tensor(1)]
    yield "MultiLabelMargin_1d", nn.MultiLabelMarginLoss(), [x((4,), 0, 1), torch.tensor([3, 0, -1, 1])]
    yield "TripletDistance_plain", nn.TripletMarginWithDistanceLoss(), [x((4, 3)), x((4, 3), 2), x((4, 3), 3)]


class Ctc(nn.Module):
    def __init__(self, targets, lengths, target_lengths, **options):
        super().__init__()
        self.loss = nn.CTCLoss(**options)
        self.rest = targets, lengths, target_lengths

    def forward(self, x):
        return self.loss(F.log_softmax(x, -1), *self.rest)


def ctc():
    def x(shape):
        return (number(shape, 0) * 4).requires_grad_()

    padded = torch.tensor([[1, 2, 2, 3], [3, 1, 0, 0], [2, 0, 0, 0]])
    flat = torch.tensor([1, 2, 2, 3, 3, 1, 2])
    lengths, target_lengths = torch.tensor([7, 4, 5]), torch.tensor([4, 2, 1])
    for r in ["none", "mean", "sum"]:
        yield f"CTC_{r}", Ctc(padded, lengths, target_lengths, reduction=r), [x((7, 3, 4))]
    yield "CTC_flat", Ctc(flat, lengths, target_lengths), [x((7, 3, 4))]
    yield "CTC_blank_last", Ctc(flat - 1, lengths, target_lengths, blank=3), [x((7, 3, 4))]
    yield "CTC_empty", Ctc(padded, lengths, torch.tensor([4, 0, 1])), [x((7, 3, 4))]
    yield "CTC_infinite", Ctc(padded, torch.tensor([4, 4, 5]), target_lengths, reduction="none", zero_infinity=True), [x((7, 3, 4))]
    yield "CTC_alone", Ctc(torch.tensor([1, 3]), torch.tensor(5), torch.tensor(2)), [x((5, 4))]


def emit_loss(out, case, m, args):
    y = m(*args)
    line(out, case, "out", y)
    (y * number(y.shape, 7)).sum().backward()
    for i, t in enumerate(a for a in args if a.requires_grad):
        line(out, case, f"x{i}", t.grad)


def main():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")
    with open(os.path.join(here, "modules.txt"), "w") as out:
        for family in [activations, linears, convolutions, norms, pools, images]:
            for case in family():
                emit_module(out, *case)
    with open(os.path.join(here, "losses.txt"), "w") as out:
        for family in [losses, ctc]:
            for case in family():
                emit_loss(out, *case)


main()
