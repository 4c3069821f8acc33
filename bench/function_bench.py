#!/usr/bin/python3
"""function_bench.cc's calls in PyTorch (Debian's python3-torch): a line each, the name and the least milliseconds of
processor time. tools/scripts/bench.sh functions runs both in turn, this one with a BLAS of the machine."""

import time

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
D = torch.float64


def measure(name, f):
    f()
    best = 1e30
    for _ in range(12):
        begin = time.process_time()
        f()
        best = min(best, time.process_time() - begin)
    print(f"{name} {best * 1e3:.4f}")


def measure_both(name, f):
    def forward():
        with torch.no_grad():
            f()

    measure(name, forward)
    measure(name + "+gradient", lambda: f().sum().backward())


def drawn(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


a, b = drawn(512, 512, dtype=D), drawn(512, 512, dtype=D)
measure_both("f64_matmul", lambda: a @ b)
measure_both("f64_matmul_transposed", lambda: a.t() @ b.t())
x, w, bias = drawn(64, 256, dtype=D), drawn(128, 256, dtype=D), drawn(128, dtype=D)
measure_both("f64_linear", lambda: F.linear(x, w, bias))
image, kernel = drawn(4, 32, 28, 28, dtype=D), drawn(64, 32, 3, 3, dtype=D)
measure_both("f64_conv2d", lambda: F.conv2d(image, kernel, None, 1, 1))
maps, spread = drawn(4, 64, 14, 14, dtype=D), drawn(64, 32, 4, 4, dtype=D)
measure_both("f64_conv_transpose2d", lambda: F.conv_transpose2d(maps, spread, None, 2, 1))
scores = drawn(256, 4096)
measure_both("topk", lambda: torch.topk(scores, 10).values)
picture = drawn(4, 16, 56, 56)
measure_both("bilinear", lambda: F.interpolate(picture, scale_factor=2, mode="bilinear"))
tokens, scale, shift = drawn(32, 128, 256), drawn(256), drawn(256)
measure_both("layer_norm", lambda: F.layer_norm(tokens, (256,), scale, shift))
gamma, beta = drawn(16), drawn(16)
measure_both("group_norm", lambda: F.group_norm(picture, 4, gamma, beta))
sequence, lines = drawn(8, 128, 768), drawn(64, 1000)
measure_both("unbind", lambda: torch.stack(sequence.unbind(1)))
measure_both("pad_reflect", lambda: F.pad(picture, (2, 2, 2, 2), "reflect"))
measure_both("repeat_interleave", lambda: sequence.repeat_interleave(2, 1))
measure_both("adaptive_max_pool2d", lambda: F.adaptive_max_pool2d(picture, 5))
measure_both("cummax", lambda: lines.cummax(1).values)
measure_both("median", lambda: lines.median(1).values)
places = torch.randint(0, 1000, (64, 1000))
measure_both("gather", lambda: lines.gather(1, places))
measure_both("scatter_add", lambda: lines.scatter_add(1, places, lines))
grid = (torch.rand(4, 56, 56, 2) * 2 - 1).requires_grad_()
measure_both("grid_sample", lambda: F.grid_sample(picture, grid, align_corners=False))
positive = (torch.rand(100000) * 10 + 0.1).requires_grad_()
measure_both("lgamma", lambda: positive.lgamma())
measure_both("erfinv", lambda: (positive * 0.09).erfinv())
