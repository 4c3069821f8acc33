"""torch.utils.data: data sets in Python, and batches of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np

from ... import _train
from ..._errors import InvalidArgument
from ..._train import Tensor


class Dataset:
    """A class derives from it and has __getitem__(index) and __len__()."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__()")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__()")


class TensorDataset(Dataset):
    """Rows of tensors of one length."""

    def __init__(self, *tensors: Tensor) -> None:
        if len({len(t) for t in tensors}) != 1:
            raise InvalidArgument(f"the tensors have {[len(t) for t in tensors]} rows, must have one number of them")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class Subset(Dataset):
    """Some rows of a data set."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, list(indices)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[int]) -> list[Subset]:
    """Cuts a data set into parts of these lengths, by the default generator."""
    if sum(lengths) != len(dataset):
        raise InvalidArgument(f"the lengths are {list(lengths)}, the data set has {len(dataset)} rows")
    order = _train.randperm(len(dataset)).tolist()
    parts, at = [], 0
    for n in lengths:
        parts.append(Subset(dataset, order[at : at + n]))
        at += n
    return parts


def default_collate(batch: Sequence[Any]) -> Any:
    """Joins items: tensors, arrays and numbers to tensors, tuples and dicts by their parts; others stay a list."""
    first = batch[0]
    if isinstance(first, Tensor):
        return _train.stack(list(batch))
    if isinstance(first, (np.ndarray, np.generic)):
        return _train.from_numpy(np.ascontiguousarray(np.stack(batch)))
    if isinstance(first, bool):
        return _train.from_numpy(np.asarray(batch, np.bool_))
    if isinstance(first, int):
        return _train.from_numpy(np.asarray(batch, np.int64))
    if isinstance(first, float):
        return _train.from_numpy(np.asarray(batch, np.float32))
    if isinstance(first, Mapping):
        return {name: default_collate([item[name] for item in batch]) for name in first}
    if isinstance(first, (tuple, list)):
        return type(first)(default_collate(list(part)) for part in zip(*batch))
    return list(batch)


class DataLoader:
    """Batches of a data set. Workers are threads: batches come in the same order, and hold the same, for any number."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        drop_last: bool = False,
    ) -> None:
        if batch_size < 1:
            raise InvalidArgument(f"batch_size is {batch_size}, must be 1 or more")
        if num_workers < 0:
            raise InvalidArgument(f"num_workers is {num_workers}, must be 0 or more")
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle
        self.num_workers, self.drop_last = num_workers, drop_last
        self.collate_fn = default_collate if collate_fn is None else collate_fn

    def __len__(self) -> int:
        rows = len(self.dataset)
        return rows // self.batch_size if self.drop_last else -(-rows // self.batch_size)

    def _batches(self) -> list[list[int]]:
        rows = len(self.dataset)
        order = _train.randperm(rows).tolist() if self.shuffle else list(range(rows))
        return [order[i * self.batch_size : (i + 1) * self.batch_size] for i in range(len(self))]

    def _load(self, indices: list[int]) -> Any:
        # Rows of tensors at once: the same values, faster.
        if isinstance(self.dataset, TensorDataset) and self.collate_fn is default_collate:
            at = _train.from_numpy(np.asarray(indices, np.int64))
            return self.dataset[at]
        return self.collate_fn([self.dataset[i] for i in indices])

    def __iter__(self) -> Iterator[Any]:
        batches = self._batches()
        if self.num_workers == 0:
            yield from map(self._load, batches)
            return
        with ThreadPoolExecutor(self.num_workers, "wick-data") as pool:
            waiting = []
            try:
                for indices in batches:
                    waiting.append(pool.submit(self._load, indices))
                    if len(waiting) > 2 * self.num_workers:
                        yield waiting.pop(0).result()
                while waiting:
                    yield waiting.pop(0).result()
            finally:
                for each in waiting:
                    each.cancel()
