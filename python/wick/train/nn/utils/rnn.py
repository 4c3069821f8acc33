"""torch.nn.utils.rnn: sequences of several lengths in one tensor."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from .... import _train
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


class PackedSequence(NamedTuple):
    """Sequences of several lengths without what pads them: all first steps, then all second ones, and so on, the longest
    sequence first. batch_sizes: how many there are at each step. The indices sort the batch, and restore its order."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *arguments: Any, **named: Any) -> PackedSequence:
        """The same with data.to()."""
        return self._replace(data=self.data.to(*arguments, **named))


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:  # noqa: A002
    """Packs [L, N, ...], or [N, L, ...] with batch_first, of N lengths: longest first unless enforce_sorted is False."""
    given = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    return PackedSequence(*_train._pack_padded_sequence(input, given, batch_first, enforce_sorted))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the sequences as they were before packing, and their lengths."""
    return _train._pad_packed_sequence((*sequence,), batch_first, padding_value, total_length or 0)


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences [L_i, ...]."""
    return pack_padded_sequence(pad_sequence(sequences), [len(s) for s in sequences], enforce_sorted=enforce_sorted)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences [L_i, ...] of a batch that pad_sequence() made."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(rows, lengths)]
