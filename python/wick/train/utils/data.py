"""torch.utils.data: data sets in Python, and batches of them."""

from __future__ import annotations

import bisect
import itertools
import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ... import _train
from ..._errors import InvalidArgument
from ..._train import Generator, Tensor
from .._functions import as_tensor, from_numpy


_WORD = 2**64 - 1


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


def random_split(dataset: Any, lengths: Sequence[Any], generator: Generator | None = None) -> list[Subset]:
    """Cuts a data set into parts of these lengths, by a generator, the default one if none is given. Fractions of 1 are parts of the data set, and
    what they leave goes to the first parts, one row each."""
    if 0 < len(lengths) and all(isinstance(n, float) for n in lengths) and abs(sum(lengths) - 1) < 1e-9:
        lengths = [int(len(dataset) * n) for n in lengths]
        for i in range(len(dataset) - sum(lengths)):
            lengths[i % len(lengths)] += 1
    if sum(lengths) != len(dataset):
        raise InvalidArgument(f"the lengths are {list(lengths)}, the data set has {len(dataset)} rows")
    order = _train.randperm(len(dataset), generator=generator).tolist()
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
    if isinstance(first, (np.ndarray, np.number, np.bool_)):
        return from_numpy(np.stack(batch))
    if isinstance(first, (bool, int, float)):  # of mixed kinds: what holds them all
        kind = np.bool_ if all(isinstance(n, bool) for n in batch) else np.int64 if all(isinstance(n, int) for n in batch) else np.float32
        return from_numpy(np.asarray(batch, kind))
    if isinstance(first, Mapping):
        return {name: default_collate([item[name] for item in batch]) for name in first}
    if isinstance(first, (tuple, list)):
        sizes = {len(item) for item in batch}
        if len(sizes) > 1:
            raise InvalidArgument(f"the items of a batch have {sorted(sizes)} parts, must have one number of them")
        parts = [default_collate(list(part)) for part in zip(*batch)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return list(batch)


class ConcatDataset(Dataset):
    """The rows of several data sets, one set after the other."""

    def __init__(self, datasets: Sequence[Any]) -> None:
        self.datasets = list(datasets)
        self._ends = list(itertools.accumulate(len(d) for d in self.datasets))

    def __getitem__(self, index: int) -> Any:
        at = operator.index(index)
        at += len(self) if at < 0 else 0
        if not 0 <= at < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        k = bisect.bisect_right(self._ends, at)
        return self.datasets[k][at - (self._ends[k - 1] if k else 0)]

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0


class SequentialSampler:
    """The indices of a data set in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(SequentialSampler):
    """The same in an order that a generator draws, the default one if none is given."""

    def __init__(self, data_source: Any, *, generator: Generator | None = None) -> None:
        super().__init__(data_source)
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        return iter(_train.randperm(len(self.data_source), generator=self.generator).tolist())


class WeightedRandomSampler:
    """num_samples indices, drawn with these weights."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Generator | None = None) -> None:
        self.weights, self.num_samples, self.replacement = as_tensor(weights).double(), num_samples, replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        return iter(_train.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist())

    def __len__(self) -> int:
        return self.num_samples


class DataLoader:
    """Batches of a data set. Workers are threads: batches come in the same order, and hold the same, for any number of them.

    That includes items which draw random numbers: each has a generator of its own, seeded by its index and by a number that
    every epoch draws from `generator`, the default one if none is given. numpy's and Python's own generators are shared by all threads; make one of
    the item's seed instead, in __getitem__: np.random.default_rng(torch.initial_seed()).

    sampler: what gives the indices of an epoch, instead of shuffle. pin_memory and persistent_workers decide nothing.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        sampler: Iterable[int] | None = None,
        *,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        generator: Generator | None = None,
        persistent_workers: bool = False,
    ) -> None:
        if sampler is not None and shuffle:
            raise InvalidArgument("shuffle and a sampler both say the order of the rows: give one")
        if batch_size < 1:
            raise InvalidArgument(f"batch_size is {batch_size}, must be 1 or more")
        if num_workers < 0:
            raise InvalidArgument(f"num_workers is {num_workers}, must be 0 or more")
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle
        self.num_workers, self.drop_last = num_workers, drop_last
        self.generator = generator
        self.sampler: Any = sampler
        if sampler is None:
            self.sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.collate_fn = default_collate if collate_fn is None else collate_fn

    def __len__(self) -> int:
        return self._count(len(self.sampler))

    def _count(self, rows: int) -> int:
        return rows // self.batch_size if self.drop_last else -(-rows // self.batch_size)

    def _batches(self) -> list[list[int]]:
        order = [int(i) for i in self.sampler]
        return [order[i * self.batch_size : (i + 1) * self.batch_size] for i in range(self._count(len(order)))]

    def _at_once(self) -> bool:
        """Whether batches are rows of tensors, which are taken at once: the same values, faster. A class that derives from
        TensorDataset may make other items of them."""
        rows = getattr(type(self.dataset), "__getitem__", None) is TensorDataset.__getitem__
        return rows and self.collate_fn is default_collate

    def _load(self, seed: int, number: int, indices: list[int]) -> Any:
        """Makes a batch. Its items draw by the seeds after `seed`, and its collate_fn by one behind them."""
        if self._at_once():
            return self.dataset[from_numpy(np.asarray(indices, np.int64))]
        items = [_train._call_with_seed((seed + i) & _WORD, operator.getitem, self.dataset, i) for i in indices]
        return _train._call_with_seed(~(seed + number) & _WORD, self.collate_fn, items)

    def __iter__(self) -> Iterator[Any]:
        batches = self._batches()
        seed = 0 if self._at_once() else int(_train.randint(0, 2**63 - 1, 1, generator=self.generator)[0])
        if self.num_workers == 0:
            for number, indices in enumerate(batches):
                yield self._load(seed, number, indices)
            return
        with ThreadPoolExecutor(self.num_workers, "wick-data") as pool:
            waiting = []
            try:
                for number, indices in enumerate(batches):
                    waiting.append(pool.submit(self._load, seed, number, indices))
                    if len(waiting) > 2 * self.num_workers:
                        yield waiting.pop(0).result()
                while waiting:
                    yield waiting.pop(0).result()
            finally:
                for each in waiting:
                    each.cancel()
