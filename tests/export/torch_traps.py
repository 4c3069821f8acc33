"""traps_test.cc in PyTorch 1.13: forwards that an exporter can get wrong without a word."""

import math

import torch
from torch.nn import functional as F

TRAPS = {}


def trap(name):
    def keep(f):
        TRAPS[name] = f
        return f
    return keep


class Calls:
    number, factor = 0, 1.0


@trap("branch on one")
def _(x):
    return torch.relu(x) if x.size(0) == 1 else torch.exp(x)


@trap("branch on two")
def _(x):
    return torch.relu(x) if x.size(1) <= 2 else torch.exp(x)


@trap("branch on odd")
def _(x):
    return torch.relu(x) if x.size(1) % 2 == 1 else torch.exp(x)


@trap("branch on many")
def _(x):
    return torch.relu(x) if x.size(1) > 16 else torch.exp(x)


@trap("branch on a sum")
def _(x):
    return torch.relu(x) if x.sum().item() > 0 else torch.exp(x)


@trap("branch on an element")
def _(x):
    return torch.relu(x) if x.flatten().tolist()[0] > 0 else torch.exp(x)


@trap("baked item")
def _(x):
    return x * x.mean().item()


@trap("baked data")
def _(x):
    return x + torch.tensor(x.flatten().tolist()[:1])


@trap("loop over time")
def _(x):
    s = torch.zeros(x.size(0), 8)
    for t in range(x.size(1)):
        s = torch.tanh(s + x[:, t])
    return s


@trap("list of the batch")
def _(x):
    return torch.stack([torch.relu(x[n]) for n in range(x.size(0))], 0)


@trap("bits of a size")
def _(x):
    n, t = 0, x.size(1)
    while t > 0:
        n, t = n + 1, t // 2
    return x * n


@trap("sine of a size")
def _(x):
    return x * math.sin(x.size(1))


@trap("counts its calls")
def _(x):
    Calls.number += 1
    return x + (Calls.number - 1) % 7


@trap("global that changes")
def _(x):
    Calls.factor += 1
    return x * Calls.factor


@trap("random numbers")
def _(x):
    return x + torch.rand(1)


@trap("dropout in training")
def _(x):
    return F.dropout(x, 0.5, True)


@trap("nonzero")
def _(x):
    return torch.nonzero(x > 0)


@trap("masked select")
def _(x):
    return torch.masked_select(x, x > 0)


@trap("writes data from the host")
def _(x):
    y = x.clone()
    y.detach().numpy().flat[0] = 3
    return y


@trap("a size looked up")
def _(x):
    table = [3, 1, 4, 1, 5, 9, 2, 6]
    return x * table[x.size(1) % len(table)]


@trap("as many outputs as the batch")
def _(x):
    return [torch.relu(x) for _ in range(x.size(0))]


@trap("view and write")
def _(x):
    y = x.clone()
    v = y[:, 0]
    y.mul_(2)
    return v + 1


@trap("write and view")
def _(x):
    y = x.clone()
    y[:, 0].add_(5)
    return y * 2


@trap("input written")
def _(x):
    y = x
    y.add_(1)
    return y * 3


@trap("the same twice")
def _(x):
    return torch.cat([x, x], 1)


@trap("transposed and written")
def _(x):
    y = x.clone()
    y.transpose(1, 2).mul_(2)
    return y


@trap("floor division")
def _(x):
    return x * (x.size(1) // 4)


@trap("ceiling division")
def _(x):
    return x * ((x.size(1) + 3) // 4)


@trap("a remainder")
def _(x):
    return x * (x.size(1) % 4)


@trap("rounded up to eight")
def _(x):
    return x * ((x.size(1) + 7) // 8 * 8)


@trap("a product of sizes")
def _(x):
    return x / (x.size(0) * x.size(1))


@trap("a sum of sizes")
def _(x):
    return x * (x.size(0) + x.size(1))


@trap("a square")
def _(x):
    return x * (x.size(1) * x.size(1))


@trap("twice less one")
def _(x):
    return x * (2 * x.size(1) - 1)


@trap("at least four")
def _(x):
    return x * max(x.size(1), 4)


@trap("at most four")
def _(x):
    return x * min(x.size(1), 4)


@trap("a number that is a size by chance")
def _(x):
    return x * 6


@trap("equal sizes by chance")
def _(x):
    return x.reshape(x.size(1), x.size(0), 8)


@trap("eight that is a size")
def _(x):
    return x / x.size(2)


@trap("ceil mode")
def _(x):
    return F.avg_pool1d(x.transpose(1, 2), 1, 1, 0, True)


@trap("empty slice")
def _(x):
    return torch.cat([x[:, 0:0], x], 1)


@trap("beyond the end")
def _(x):
    return x[:, :1000]


@trap("from the end")
def _(x):
    return x[:, -1:x.size(1)]


@trap("a negative stride")
def _(x):
    return torch.flip(x, [0, 1])


@trap("an unused result")
def _(x):
    torch.exp(x)
    return torch.relu(x)


@trap("a constant result beside")
def _(x):
    return torch.zeros(1, 1, 8) + x


@trap("integer means")
def _(x):
    return x.sum(1) / x.size(1)


@trap("sizes as a tensor")
def _(x):
    return x * torch.tensor([x.size(0), x.size(1)]).sum()
