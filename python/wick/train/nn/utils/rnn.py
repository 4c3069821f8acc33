"""torch.nn.utils.rnn: sequences of several lengths in one tensor."""

from __future__ import annotations

from typing import Sequence

from ...._errors import InvalidArgument
from ...._train import Tensor, full, stack
from ...._train import cat as _cat


def pad_sequence(sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0) -> Tensor:
    """[L, N, ...], or [N, L, ...] with batch_first, of sequences [L_i, ...], with padding_value behind the shorter ones."""
    given = list(sequences)
    if not given:
        raise InvalidArgument("[pad_sequence] there are no sequences")
    longest = max(len(s) for s in given)
    made = []
    for s in given:
        if s.shape[1:] != given[0].shape[1:]:
            raise InvalidArgument(f"[pad_sequence] the sequences are {s.shape} and {given[0].shape}: they may differ in the first size")
        rest = full((longest - len(s), *s.shape[1:]), padding_value, dtype=s.dtype, device=s.device)
        made.append(_cat([s, rest]) if len(rest) else s)
    return stack(made, 0 if batch_first else 1)
