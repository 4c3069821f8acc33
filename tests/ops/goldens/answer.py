"""The kinds of answers, and the dtypes by Wick's names."""

import numpy as np
import torch

FLOATS = ("float64", "float32", "float16", "bfloat16")
DTYPES = {"float64": np.float64, "float32": np.float32, "bool": np.bool_, "int8": np.int8, "int16": np.int16,
          "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32,
          "uint64": np.uint64}


class Near:
    """A float64 tensor. summed: what its error is judged by grows with what was added, and by `more`; scale: that
    magnitude itself."""

    def __init__(self, tensor, dtype="float32", summed=True, scale=None, more=0.0):
        self.tensor, self.dtype, self.summed, self.scale, self.more = tensor, dtype, summed, scale, more
        self.shape = list(tensor.shape)


class Exact:
    """An array whose elements are all as they are here."""

    def __init__(self, array, dtype=None):
        if isinstance(array, torch.Tensor):
            array = array.detach().numpy()
        if dtype in DTYPES:
            array = array.astype(DTYPES[dtype])
        self.array = np.ascontiguousarray(array) if array.ndim else array
        self.dtype = dtype or str(array.dtype)
        self.shape = list(array.shape)


class Free:
    """An output of which only dtype and shape are told."""

    def __init__(self, shape, dtype="float32"):
        self.shape, self.dtype = list(shape), dtype
