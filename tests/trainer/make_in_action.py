#!/usr/bin/python3
"""Prints the losses that in_action_test.cc compares with: those of PyTorch (Debian's python3-torch), from the same
numbers, in float64."""

import math

import torch

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
SIZES = [8, 16, 32, 16, 8, 1]


def number(shape, seed, scale):
    """The test's numbers: exact, the same in C++."""
    v = [((i * 37 + seed * 23) % 101 - 50) / 64 * scale for i in range(math.prod(shape))]
    return torch.tensor(v).reshape(shape)


net = torch.nn.Sequential()
for k in range(5):
    layer = torch.nn.Linear(SIZES[k], SIZES[k + 1])
    layer.weight.data = number((SIZES[k + 1], SIZES[k]), 2 * k, 0.75)
    layer.bias.data = number((SIZES[k + 1],), 2 * k + 1, 0.25)
    net.append(layer)
    net.append(torch.nn.Tanh())
x, y = number((6, 8), 20, 1), number((6, 1), 21, 1)
sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.1)
for epoch in range(1, 501):
    sgd.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    sgd.step()
    if epoch == 1 or epoch % 100 == 0:
        print(f"{{{epoch}, {loss.item():.16e}}},")
