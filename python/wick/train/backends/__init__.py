"""torch.backends: those of other devices are not here. What is set in them decides nothing."""

from . import cudnn, mkldnn, mps

__all__ = ["cudnn", "mkldnn", "mps"]
