"""Training with PyTorch's names: tensors, autograd, modules, optimizers, data.

    import wick.train as torch
    from wick.train import nn, optim

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(784, 128)
            self.fc2 = nn.Linear(128, 10)

        def forward(self, x):
            return self.fc2(torch.relu(self.fc1(x.flatten(1))))

    net = Net()
    adam = optim.Adam(net.parameters())
    ...
    torch.export(net, {"image": torch.zeros(1, 784)}, "net.wick", dynamic={"image": {0: "batch"}})

It is a module of its own (wick/_train), which wheels for inference have not.
"""

from __future__ import annotations

import math as _math

try:
    from .. import _train
except ImportError as _why:
    raise ImportError(
        f"wick.train is not in this package, which is for inference ({_why}); install the whole one: `pip install .` in "
        "Wick's tree"
    ) from None
from .._train import *  # noqa: F403: functions of C++ have PyTorch's names, many of them also Python's
from .._train import Tensor, cat, dtype, vstack
from . import amp, autograd, backends, cpu, cuda, distributions, linalg, nn, optim, random, special, testing, utils
from ._absent import absent as __getattr__  # noqa: F401: what a name that is not here says
from ._devices import accelerator, device
from ._files import export, load, save
from ._functions import *  # type: ignore[no-redef]  # noqa: F403: their names are PyTorch's
from ._modes import enable_grad, inference_mode, is_inference_mode_enabled, no_grad, set_grad_enabled
from ._results import Size
from .amp import autocast, is_autocast_enabled

float32, float64, float16, bfloat16 = dtype.float32, dtype.float64, dtype.float16, dtype.bfloat16
uint8, int8, int16, int32, int64 = dtype.uint8, dtype.int8, dtype.int16, dtype.int32, dtype.int64
uint16, uint32, uint64 = dtype.uint16, dtype.uint32, dtype.uint64
float, double, half, long, int, short = float32, float64, float16, int64, int32, int16  # noqa: A001
bool = dtype.bool  # noqa: A001
concat = concatenate = cat
row_stack = vstack
#: One layout, by each of PyTorch's names.
contiguous_format = preserve_format = channels_last = channels_last_3d = "contiguous"
strided = "strided"
pi, inf, nan = _math.pi, _math.inf, _math.nan

__all__ = [n for n in dir() if n[0] != "_" and n != "annotations"]
