"""What PyTorch has and this package has not, with what to write instead."""

from __future__ import annotations

from typing import Any

_EXPORT = 'torch.export(module, {"x": example}, "m.wick") writes a module for the runtime'
_INSTEAD = {
    "jit": _EXPORT,
    "compile": "what is called is what runs; " + _EXPORT,
    "onnx": 'torch.export(module, {"x": example}, "m.onnx") writes ONNX',
    "hub": "write the module, and load its weights by torch.load() from .safetensors or .npz",
    "distributed": "several processes train by Wick's C++ interface, docs/use/distributed.md; here torch.set_num_threads() uses several cores",
    "multiprocessing": "workers of a DataLoader are threads, and need nothing of it",
    "profiler": "`wick profile` times the ops of an exported model, docs/use/profile.md; Python's own cProfile times a training loop",
    "fft": "there are no complex tensors; numpy.fft takes x.numpy()",
    "stft": "there are no complex tensors; C++ has stft() with real pairs, and numpy.fft takes x.numpy()",
    "complex": "there are no complex tensors; keep real and imaginary parts in a last dim of 2",
    "sparse": "there are no sparse tensors; nn.Embedding(sparse=True) has sparse gradients",
    "quantization": "`wick quantize` quantizes an exported model, docs/use/quantize.md",
    "vmap": "write the batch as a dim: ops broadcast",
    "func": "torch.autograd.functional has jacobian, hessian, vjp, jvp and hvp",
    "histogram": "torch.histc(x, bins, min, max) counts; the edges are torch.linspace(min, max, bins + 1)",
    "nextafter": "numpy.nextafter takes x.numpy()",
    "frexp": "numpy.frexp takes x.numpy()",
    "i0": "numpy.i0 takes x.numpy()",
}


def missing(module: str, name: str) -> AttributeError:
    """Returns the error for a name that a module has not."""
    instead = _INSTEAD.get(name) if module == "wick.train" else None
    return AttributeError(f"module '{module}' has no attribute '{name}'" + (f": {instead}" if instead else ""))


def absent(name: str) -> Any:
    """A module's __getattr__, for names that only an error has."""
    raise missing("wick.train", name)
