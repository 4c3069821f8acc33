"""torch.nn.parameter."""

from .module import Parameter

__all__ = ["Parameter"]
