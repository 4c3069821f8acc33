"""What the mirrors of the corpus in PyTorch are made of: corpus.h in Python."""

import dataclasses
from typing import Callable

import torch
from torch import nn

BATCH, BATCH_TIME, BATCH_IMAGE = {0: "batch"}, {0: "batch", 1: "time"}, {0: "batch", 2: "height", 3: "width"}


@dataclasses.dataclass
class Input:
    name: str
    example: torch.Tensor
    dims: dict  # {dimension: name}: torch.onnx.export's dynamic_axes


@dataclasses.dataclass
class Program:
    name: str
    module: nn.Module
    inputs: list


def some_floats(*shape):
    i = torch.arange(int(torch.tensor(shape).prod()))
    return (((i * 37 + i // 11) % 101 - 50) / 40).reshape(shape)


def some_ids(below, *shape):
    i = torch.arange(int(torch.tensor(shape).prod()))
    return ((i * 37 + i // 7) % below).reshape(shape)


class Form(nn.Module):
    """A forward of one's own without layers."""

    def __init__(self, f: Callable):
        super().__init__()
        self.f = f

    def forward(self, *inputs):
        return self.f(*inputs)


def layer(name, module, shape, dims):
    return Program(name, module, [Input("x", some_floats(*shape), dims)])


def ids_layer(name, module, shape, below, dims):
    return Program(name, module, [Input("x", some_ids(below, *shape), dims)])
