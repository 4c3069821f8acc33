"""torch.utils.data: data sets in Python, and batches of them."""

from __future__ import annotations

import bisect
import itertools
import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Generic, Iterable, Iterator, Mapping, Sequence, TypeVar

import numpy as np

from ... import _train
from ..._errors import InvalidArgument
from ..._train import Generator, Tensor
from .._functions import as_tensor, from_numpy


_WORD = 2**64 - 1


Item = TypeVar("Item")


class Dataset(Generic[Item]):
    """A class derives from it and has __getitem__(index) and __len__()."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__()")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__()")

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Item]):
    """A class derives from it and has __iter__(): items that come one after the other, by one thread."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__()")

    def __len__(self) -> int:
        raise TypeError(f"object of type '{type(self).__name__}' has no len()")  # as list() asks

    def __add__(self, other: Any) -> Any:
        return ChainDataset([self, other])


class ChainDataset(IterableDataset[Any]):
    """The items of several iterable data sets, one set after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for each in self.datasets:
            yield from each

    def __len__(self) -> int:
        return sum(len(each) for each in self.datasets)


class TensorDataset(Dataset[Any]):
    """Rows of tensors of one length."""

    def __init__(self, *tensors: Tensor) -> None:
        if len({len(t) for t in tensors}) != 1:
            raise InvalidArgument(f"the tensors have {[len(t) for t in tensors]} rows, must have one number of them")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class Subset(Dataset[Any]):
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


class ConcatDataset(Dataset[Any]):
    """The rows of several data sets, one set after the other."""

    def __init__(self, datasets: Sequence[Any]) -> None:
        self.datasets = list(datasets)
        #: Where each data set ends.
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __getitem__(self, index: int) -> Any:
        at = operator.index(index)
        at += len(self) if at < 0 else 0
        if not 0 <= at < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        k = bisect.bisect_right(self.cumulative_sizes, at)
        return self.datasets[k][at - (self.cumulative_sizes[k - 1] if k else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1] if self.cumulative_sizes else 0


class Sampler(Generic[Item]):
    """A class derives from it and has __iter__(), which gives indices, or lists of them for a batch_sampler."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__()")


class SequentialSampler(Sampler[int]):
    """The indices of a data set in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(SequentialSampler):
    """The same in an order that a generator draws, the default one if none is given. With num_samples as many of them; with
    replacement an index may come several times."""

    def __init__(self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Generator | None = None) -> None:
        super().__init__(data_source)
        if num_samples is not None and num_samples < 1:
            raise InvalidArgument(f"num_samples is {num_samples}, must be 1 or more")
        self.replacement, self._samples, self.generator = replacement, num_samples, generator

    @property
    def num_samples(self) -> int:
        """How many indices an epoch has."""
        return len(self.data_source) if self._samples is None else self._samples

    def __iter__(self) -> Iterator[int]:
        rows, count = len(self.data_source), self.num_samples
        if self.replacement:
            return iter(_train.randint(0, rows, count, generator=self.generator).tolist())
        order: list[int] = []
        while len(order) < count:
            order += _train.randperm(rows, generator=self.generator).tolist()
        return iter(order[:count])

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """These indices, in an order that a generator draws."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in _train.randperm(len(self.indices), generator=self.generator).tolist())

    def __len__(self) -> int:
        return len(self.indices)


class BatchSampler(Sampler[Any]):
    """Lists of batch_size indices of a sampler; drop_last: but no shorter one at the end."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        if batch_size < 1:
            raise InvalidArgument(f"batch_size is {batch_size}, must be 1 or more")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        at = iter(self.sampler)
        while batch := list(itertools.islice(at, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        rows = len(self.sampler)
        return rows // self.batch_size if self.drop_last else -(-rows // self.batch_size)


class WeightedRandomSampler(Sampler[int]):
    """num_samples indices, drawn with these weights."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Generator | None = None) -> None:
        self.weights, self.num_samples, self.replacement = as_tensor(weights).double(), num_samples, replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        return iter(_train.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist())

    def __len__(self) -> int:
        return self.num_samples


def get_worker_info() -> None:
    """None: workers are threads of one process, and share its data sets."""


class DataLoader:
    """Batches of a data set. Workers are threads: batches come in the same order, and hold the same, for any number of them.

    That includes items which draw random numbers: each has a generator of its own, seeded by its index and by a number that
    every epoch draws from `generator`, the default one if none is given. numpy's and Python's own generators are shared by all threads; make one of
    the item's seed instead, in __getitem__: np.random.default_rng(torch.initial_seed()).

    sampler: what gives the indices of an epoch, instead of shuffle; batch_sampler: what gives lists of them, instead of batch_size.
    batch_size None: items, each by itself. An IterableDataset is read by one thread, and num_workers above 0 make batches ahead.
    pin_memory, persistent_workers, timeout, multiprocessing_context and prefetch_factor decide nothing; worker_init_fn is called
    with each worker's number, in its thread.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = False,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Sequence[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
    ) -> None:
        if sampler is not None and shuffle:
            raise InvalidArgument("shuffle and a sampler both say the order of the rows: give one")
        if batch_sampler is not None and (batch_size not in (1, None) or shuffle or sampler is not None or drop_last):
            raise InvalidArgument("a batch_sampler says what the batches are: give no batch_size, shuffle, sampler or drop_last beside it")
        if batch_size is not None and batch_size < 1:
            raise InvalidArgument(f"batch_size is {batch_size}, must be 1 or more")
        if num_workers < 0:
            raise InvalidArgument(f"num_workers is {num_workers}, must be 0 or more")
        self._streams = isinstance(dataset, IterableDataset)
        if self._streams and (shuffle or sampler is not None or batch_sampler is not None):
            raise InvalidArgument("an IterableDataset gives its own order: shuffle and samplers have none to give it")
        self.dataset, self.shuffle = dataset, bool(shuffle)
        self.num_workers, self.worker_init_fn = num_workers, worker_init_fn
        self.generator, self.pin_memory, self.timeout = generator, pin_memory, timeout
        self.sampler: Any = sampler
        if sampler is None and not self._streams:
            self.sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.batch_sampler: Any = batch_sampler
        if batch_sampler is None and batch_size is not None:
            self.batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = (batch_size, drop_last) if batch_sampler is None else (None, False)
        whole = self.batch_sampler is not None
        self.collate_fn = collate_fn if collate_fn is not None else default_collate if whole else default_convert

    def __len__(self) -> int:
        if self._streams:
            rows = len(self.dataset)
            size = self.batch_size or 1
            return rows // size if self.drop_last else -(-rows // size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _at_once(self) -> bool:
        """Whether batches are rows of tensors, which are taken at once: the same values, faster. A class that derives from
        TensorDataset may make other items of them."""
        rows = getattr(type(self.dataset), "__getitem__", None) is TensorDataset.__getitem__
        return rows and self.collate_fn is default_collate

    def _load(self, seed: int, number: int, indices: Any) -> Any:
        """Makes a batch, or an item by its index. Items draw by the seeds after `seed`, and collate_fn by one behind them."""
        if self._at_once():
            return self.dataset[from_numpy(np.asarray(indices, np.int64))]

        def item(i: Any) -> Any:
            drawn = operator.index(i) if hasattr(i, "__index__") else number
            return _train._call_with_seed((seed + drawn) & _WORD, operator.getitem, self.dataset, i)

        items = item(indices) if self.batch_sampler is None else [item(i) for i in indices]
        return _train._call_with_seed(~(seed + number) & _WORD, self.collate_fn, items)

    def _stream(self) -> Iterator[Any]:
        """The batches of an IterableDataset."""
        items = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, items)
            return
        while batch := list(itertools.islice(items, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def __iter__(self) -> Iterator[Any]:
        if self._streams:
            return self._stream() if self.num_workers == 0 else _ahead(self._stream(), 2 * self.num_workers, self._begin())
        return self._rows()

    def _begin(self) -> Callable[[], None]:
        """What each worker runs first."""
        numbers = itertools.count()
        return lambda: None if self.worker_init_fn is None else self.worker_init_fn(next(numbers))

    def _rows(self) -> Iterator[Any]:
        order = self.sampler if self.batch_sampler is None else self.batch_sampler
        batches = [list(b) if self.batch_sampler is not None else b for b in order]
        seed = 0 if self._at_once() else int(_train.randint(0, 2**63 - 1, 1, generator=self.generator)[0])
        if self.num_workers == 0:
            for number, indices in enumerate(batches):
                yield self._load(seed, number, indices)
            return
        with ThreadPoolExecutor(self.num_workers, "wick-data", self._begin()) as pool:
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


def _ahead(batches: Iterator[Any], count: int, begin: Callable[[], None]) -> Iterator[Any]:
    """The batches, up to `count` of them made by a thread before they are asked for."""
    end = object()
    with ThreadPoolExecutor(1, "wick-data", begin) as pool:
        waiting = [pool.submit(next, batches, end) for _ in range(count)]
        try:
            while (batch := waiting.pop(0).result()) is not end:
                waiting.append(pool.submit(next, batches, end))
                yield batch
        finally:
            for each in waiting:
                each.cancel()


def default_convert(data: Any) -> Any:
    """Makes arrays and scalars of numpy's tensors, also within tuples, lists and dicts; other items stay."""
    if isinstance(data, (np.ndarray, np.generic)):
        return from_numpy(np.asarray(data)) if data.dtype.kind in "biuf" else data
    if isinstance(data, Mapping):
        return {name: default_convert(value) for name, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    return type(data)(map(default_convert, data)) if isinstance(data, (tuple, list)) else data
