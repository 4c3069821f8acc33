#!/usr/bin/python3
"""Writes goldens/double_backward.txt: the gradient of ||grad L||^2 through four small nets, by PyTorch
(Debian's python3-torch) in float64. double_backward_test.cc builds the same nets on the same numbers.

A line: net, penalty or the parameter's place, then numbers in row-major order.
"""

import os

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def number(shape, seed):
    """The test's numbers: multiples of 1/64, the same in C++."""
    count = 1
    for d in shape:
        count *= d
    v = [((i * 37 + seed * 23) % 101 - 50) / 64 for i in range(count)]
    return torch.tensor(v).reshape(shape)


def mlp(p):
    x, w1, b1, w2, b2 = p
    h = torch.tanh(F.linear(x, w1, b1))
    return F.cross_entropy(F.linear(h, w2, b2), torch.tensor([0, 2, 1, 2]))


def conv_net(p):
    x, w1, b1, w2, b2, w3 = p
    h = F.max_pool2d(F.silu(F.conv2d(x, w1, b1, padding=1)), 2)
    h = torch.sigmoid(F.conv2d(h, w2, b2, stride=2, padding=1, groups=2))
    return F.mse_loss(F.linear(h.flatten(1), w3), number((2, 2), 9))


def layer_norm_net(p):
    x, w1, gamma, beta, w2 = p
    h = F.gelu(F.layer_norm(F.linear(x, w1), (6,), gamma, beta))
    return F.smooth_l1_loss(F.linear(h, w2), number((3, 2), 9) * 4)


def attention_net(p):
    x, wq, wk, wv, wo, gamma, beta = p

    def heads(w):
        return F.linear(x, w).reshape(2, 4, 2, 3).transpose(1, 2)

    q, k, v = heads(wq), heads(wk), heads(wv)
    scores = (q @ k.mT / 3**0.5).masked_fill(torch.ones(4, 4).triu(1) > 0, float("-inf"))
    y = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(2, 4, 6)
    y = F.layer_norm(x + F.linear(y, wo), (6,), gamma, beta)
    return F.binary_cross_entropy_with_logits(y, number((2, 4, 6), 9) / 2 + 0.5)


NETS = {
    "mlp": (mlp, [(4, 3), (5, 3), (5,), (3, 5), (3,)]),
    "conv": (conv_net, [(2, 2, 6, 6), (4, 2, 3, 3), (4,), (4, 2, 3, 3), (4,), (2, 16)]),
    "layer_norm": (layer_norm_net, [(3, 4), (6, 4), (6,), (6,), (2, 6)]),
    "attention": (attention_net, [(2, 4, 6), (6, 6), (6, 6), (6, 6), (6, 6), (6,), (6,)]),
}


def main():
    lines = []
    for name, (net, shapes) in NETS.items():
        params = [number(s, i).requires_grad_() for i, s in enumerate(shapes)]
        grads = torch.autograd.grad(net(params), params, create_graph=True)
        penalty = sum((g * g).sum() for g in grads)
        lines.append(f"{name} penalty {penalty.item()!r}")
        for i, g in enumerate(torch.autograd.grad(penalty, params)):
            lines.append(f"{name} {i} " + " ".join(repr(v) for v in g.reshape(-1).tolist()))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens", "double_backward.txt")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
