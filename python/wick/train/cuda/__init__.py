"""torch.cuda: not here, and it says so."""

from .._devices import Absent
from . import amp

device_count = Absent.device_count
empty_cache = Absent.empty_cache
is_available = Absent.is_available
is_bf16_supported = Absent.is_bf16_supported
is_initialized = Absent.is_initialized
manual_seed = Absent.manual_seed
manual_seed_all = Absent.manual_seed_all
synchronize = Absent.synchronize

__all__ = [
    "amp", "device_count", "empty_cache", "is_available", "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "synchronize",
]  # fmt: skip
