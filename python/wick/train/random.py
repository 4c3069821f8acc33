"""torch.random: the generator that every draw takes unless it is given another."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from .._train import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """What is drawn inside leaves the generator as it was."""
    before = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(before)
