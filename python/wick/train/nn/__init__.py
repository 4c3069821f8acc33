"""torch.nn: modules, written in Python; the layers with parameters hold layers of C++."""

from __future__ import annotations

from . import functional, init, utils
from .layers import (
    GRU,
    LSTM,
    RNN,
    AdaptiveAvgPool2d,
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    BCEWithLogitsLoss,
    Conv1d,
    Conv2d,
    ConvTranspose2d,
    CrossEntropyLoss,
    Dropout,
    ELU,
    Embedding,
    Flatten,
    GELU,
    GroupNorm,
    Identity,
    L1Loss,
    LayerNorm,
    LeakyReLU,
    Linear,
    LogSoftmax,
    MaxPool2d,
    MSELoss,
    NLLLoss,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Tanh,
)
from .module import Module, ModuleDict, ModuleList, Parameter, Sequential

__all__ = [
    "AdaptiveAvgPool2d", "AvgPool2d", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "Conv1d", "Conv2d",
    "ConvTranspose2d", "CrossEntropyLoss", "Dropout", "ELU", "Embedding", "Flatten", "GELU", "GRU", "GroupNorm", "Identity",
    "L1Loss", "LSTM", "LayerNorm", "LeakyReLU", "Linear", "LogSoftmax", "MSELoss", "MaxPool2d", "Module", "ModuleDict",
    "ModuleList", "NLLLoss", "Parameter", "RNN", "ReLU", "Sequential", "SiLU", "Sigmoid", "Softmax", "Tanh", "functional",
    "init", "utils",
]  # fmt: skip
