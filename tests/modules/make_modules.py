#!/usr/bin/python3
"""Writes goldens/modules.txt: what PyTorch (Debian's python3-torch) computes with weight norm, spectral
norm, orthogonal weights, pruning masks and a distillation loss, in float64. The tests build the same
modules on the same numbers. repr.txt: a tree of modules as PyTorch prints it.

A line of modules.txt: what it is, then numbers in row-major order.
"""

import os

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.prune as prune
from torch.nn.utils import parametrizations
from torch.nn.utils.stateless import functional_call

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens")
lines = []


def number(shape, seed):
    """The test's numbers: all different in size, the same in C++."""
    count = 1
    for d in shape:
        count *= d
    v = [((i * 37 + seed * 23) % 211 - 105 + (i % 7) / 8) / 64 for i in range(count)]
    return torch.tensor(v).reshape(shape)


def put(key, *tensors):
    for i, t in enumerate(tensors):
        name = key if len(tensors) == 1 else f"{key}.{i}"
        lines.append(name + " " + " ".join(repr(float(v)) for v in t.detach().reshape(-1)))


def linear(n_in, n_out):
    m = nn.Linear(n_in, n_out)
    m.weight.data = number((n_out, n_in), 1)
    m.bias.data = number((n_out,), 2)
    return m


# -- weight norm
for dim, key in [(0, "weight_norm"), (1, "weight_norm_dim1"), (None, "weight_norm_all")]:
    m = nn.utils.weight_norm(linear(5, 4), dim=dim)
    m.weight_g.data = m.weight_g.data * 1.5
    y = m(number((3, 5), 3))
    (y * y).sum().backward()
    put(key, y, m.weight_g.grad, m.weight_v.grad)
conv = nn.Conv2d(2, 3, 3)
conv.weight.data, conv.bias.data = number((3, 2, 3, 3), 4), number((3,), 5)
conv = nn.utils.weight_norm(conv)
y = conv(number((1, 2, 5, 5), 6))
(y * y).sum().backward()
put("weight_norm_conv", y, conv.weight_g.grad, conv.weight_v.grad)

# -- spectral norm: from given vectors, three steps in training mode, one in eval mode
def spectral(m, key, x, **options):
    m = parametrizations.spectral_norm(m, **options)
    p = m.parametrizations.weight[0]
    p._u.data = F.normalize(number(tuple(p._u.shape), 7), dim=0)
    p._v.data = F.normalize(number(tuple(p._v.shape), 8), dim=0)
    for step in range(3):
        m.zero_grad()
        y = m(x)
        (y * y).sum().backward()
        put(f"{key}_{step}", y, m.parametrizations.weight.original.grad, p._u, p._v)
    m.eval()
    put(f"{key}_eval", m(x))


spectral(linear(5, 4), "spectral", number((3, 5), 3))
spectral(linear(5, 4), "spectral_two", number((3, 5), 3), n_power_iterations=2)
conv = nn.Conv2d(2, 3, 3)
conv.weight.data, conv.bias.data = number((3, 2, 3, 3), 4), number((3,), 5)
spectral(conv, "spectral_dim1", number((1, 2, 5, 5), 6), dim=1)

# -- orthogonal: from a given base and original
for n_in, n_out, key in [(4, 4, "orthogonal"), (3, 5, "orthogonal_tall"), (5, 3, "orthogonal_wide")]:
    m = parametrizations.orthogonal(linear(n_in, n_out), orthogonal_map="cayley")
    n = max(n_in, n_out)
    p = m.parametrizations.weight[0]
    p.base = torch.linalg.qr(number((n, n), 9) + 2 * torch.eye(n))[0]
    m.parametrizations.weight.original.data = number((n_out, n_in), 10) / 4
    y = m(number((2, n_in), 3))
    (y * number((2, n_out), 11)).sum().backward()
    put(key, p.base, y, m.parametrizations.weight.original.grad)

# -- masks
m = linear(6, 5)
put("l1_30", prune.l1_unstructured(m, "weight", 0.3).weight_mask)
put("l1_again", prune.l1_unstructured(m, "weight", 0.5).weight_mask)
put("l1_then_ln", prune.ln_structured(m, "weight", 2, n=2, dim=1).weight_mask)
put("l1_then_ln_forward", m(number((2, 6), 3)))
assert [k for k in m.state_dict()] == ["bias", "weight_orig", "weight_mask"]
m = linear(6, 5)
put("l1_half_even", prune.l1_unstructured(m, "weight", 0.75).weight_mask)  # 22.5 of 30
m = linear(6, 5)
put("l1_count", prune.l1_unstructured(m, "weight", 7).weight_mask)
m = linear(6, 5)
put("ln2_dim0", prune.ln_structured(m, "weight", 0.4, n=2, dim=0).weight_mask)
m = linear(6, 5)
put("ln1_dim_last", prune.ln_structured(m, "weight", 0.5, n=1, dim=-1).weight_mask)
m = linear(6, 5)
put("lninf_dim0", prune.ln_structured(m, "weight", 1, n=float("inf"), dim=0).weight_mask)
a, b = linear(6, 5), linear(5, 3)
b.weight.data = number((3, 5), 12) * 0.5
prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=0.35)
put("global_a", a.weight_mask)
put("global_b", b.weight_mask)
prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=5)
put("global_again_a", a.weight_mask)
put("global_again_b", b.weight_mask)
y = a(number((2, 6), 3))
(y * y).sum().backward()
put("masked_grad", a.weight_orig.grad)

# -- distillation
student, teacher = number((4, 5), 13).requires_grad_(), number((4, 5), 14)
labels = torch.tensor([0, 3, 2, 4])
for t, alpha in [(3.0, 0.7), (1.0, 1.0), (5.0, 0.0)]:
    student.grad = None
    loss = alpha * t * t * F.kl_div(F.log_softmax(student / t, 1), F.softmax(teacher / t, 1),
                                    reduction="batchmean") + (1 - alpha) * F.cross_entropy(student, labels)
    loss.backward()
    put(f"distill_{t:.0f}", loss, student.grad)

# -- a residual net with torchvision's names: what forward hooks see of it
class BasicBlock(nn.Module):
    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.downsample = None
        if stride != 1 or n_in != n_out:
            self.downsample = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x):
        h = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(h + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv1 = nn.Conv2d(3, n, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(n)
        self.layer1 = nn.Sequential(BasicBlock(n, n, 1), BasicBlock(n, n, 1))
        self.layer2 = nn.Sequential(BasicBlock(n, 2 * n, 2), BasicBlock(2 * n, 2 * n, 1))
        self.fc = nn.Linear(2 * n, 10)

    def forward(self, x):
        h = self.layer2(self.layer1(F.relu(self.bn1(self.conv1(x)))))
        return self.fc(F.adaptive_avg_pool2d(h, 1).flatten(1))


net = ResNet(2).eval()
for i, (name, p) in enumerate(net.named_parameters()):
    p.data = number(tuple(p.shape), i) * 0.4
for i, (name, b) in enumerate(net.named_buffers()):
    if name.endswith("mean"):
        b.copy_(number(tuple(b.shape), i) * 0.1)
    if name.endswith("var"):
        b.copy_(number(tuple(b.shape), i).abs() + 0.5)
for path in ["layer1", "layer2.0.conv2", "layer2.0", "layer2"]:
    net.get_submodule(path).register_forward_hook(lambda m, x, y, path=path: put("resnet_" + path, y))
put("resnet", net(number((1, 3, 6, 6), 40)))
lines.append("resnet_keys " + str(len(net.state_dict())))


# -- hooks of calls with two inputs, and with two outputs
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(number((3,), 43))

    def forward(self, a, b):
        return a * b * self.w, a - b * self.w


def seen(key, factors):
    """A full backward hook that writes what it sees, and returns multiples of it."""
    def hook(m, grad_in, grad_out):
        put(key + ".in", *[g for g in grad_in if g is not None])
        put(key + ".out", *[g for g in grad_out if g is not None])
        return tuple(g * f for g, f in zip(grad_in, factors)) if factors else None
    return hook


m = nn.Bilinear(3, 4, 2)
m.weight.data, m.bias.data = number((2, 3, 4), 44), number((2,), 45)
m.register_forward_pre_hook(lambda m, i: (i[0] * 2, i[1] + 1))
m.register_forward_hook(lambda m, i, y: y * 3)
m.register_full_backward_hook(seen("hooks_bilinear_seen", (10, 0.5)))
a, b = number((5, 3), 46).requires_grad_(), number((5, 4), 47).requires_grad_()
y = m(a, b)
(y * y).sum().backward()
put("hooks_bilinear", y, a.grad, b.grad, m.weight.grad, m.bias.grad)
for key, needs, factors in [("hooks_two", True, (2, 3)), ("hooks_two_constant", False, None)]:
    m = Two()
    m.register_full_backward_hook(seen(key + "_seen", factors))
    a, b = number((2, 3), 48).requires_grad_(needs), number((2, 3), 49).requires_grad_(needs)
    p, q = m(a, b)
    ((p * p).sum() + (q * p).sum()).backward()
    put(key, p, q, m.w.grad, *([a.grad, b.grad] if needs else []))


# -- functional_call: a step of SGD inside of a loss (MAML), differentiated through; and the gradients of single samples
def small():
    m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    for i, p in enumerate(m.parameters()):
        p.data = number(tuple(p.shape), 50 + i) * 0.5
    return m


m = small()
weights = dict(m.named_parameters())
x, y = number((5, 3), 54), number((5, 2), 55)
inner = F.mse_loss(functional_call(m, weights, x), y)
grads = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
fast = {n: w - 0.1 * g for (n, w), g in zip(weights.items(), grads)}
outer = F.mse_loss(functional_call(m, fast, x * 0.5), y)
outer.backward()
put("maml", inner, outer, *[w.grad for w in weights.values()])
m = small()
rows = [torch.autograd.grad(F.mse_loss(m(a[None]), b[None]), list(m.parameters())) for a, b in zip(x, y)]
put("per_sample", *[torch.stack(each) for each in zip(*rows)])
m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
for i, p in enumerate(m.parameters()):
    p.data = number(tuple(p.shape), 56 + i)
given = {"1.running_mean": number((4,), 60), "0.weight": number((4, 3), 61).requires_grad_()}
z = functional_call(m, given, x)
(z * z * number((5, 4), 62)).sum().backward()
put("functional_norm", z, given["0.weight"].grad, given["1.running_mean"], m[1].running_mean, m[1].running_var)

with open(os.path.join(HERE, "modules.txt"), "w") as f:
    f.write("\n".join(lines) + "\n")


# -- repr of modules whose class the test writes too
class Affine(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def extra_repr(self):
        return f"n={self.n}"


class TwoLines(nn.Module):
    def __init__(self, child):
        super().__init__()
        if child:
            self.inner = Affine(3)

    def extra_repr(self):
        return "first=1\nsecond=2"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = Affine(7)
        self.act = Plain()


class Plain(nn.Module):
    pass


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = Affine(1)
        self.block = Block()
        self.lines = TwoLines(True)
        self.alone = TwoLines(False)

    def extra_repr(self):
        return "depth=2"


with open(os.path.join(HERE, "repr.txt"), "w") as f:
    f.write(repr(Net()) + "\n")
