"""Rows of tables larger than memory, in files that have no names and vanish with the process."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import IO, Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.checks import WeightTotals, check_rows, check_total_weight
from ssgp._utils.whole_file import NO_ROOM

__all__ = ["RecordFile", "RowFile", "StoredTable", "gathered"]

# Bytes that are read at a time where a file is searched.
CHUNK_BYTES = 1 << 24


class RecordFile:
    """Records of one type, one after the other.

    Parameters
    ----------
    record : dtype
        Type of a record.
    folder : path-like or None
        Where the file is; None for the system's folder for temporary files.
    """

    def __init__(self, record: np.dtype, folder: str | os.PathLike[str] | None) -> None:
        self.record = record
        self.folder = os.fspath(folder) if folder is not None else tempfile.gettempdir()
        self.n_records = 0
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=self.folder)
        self._lock = Lock()

    def append(self, records: NDArray[Any]) -> None:
        """Write records at the end."""
        try:
            with self._lock:
                self._file.seek(self.n_records * self.record.itemsize)
                self._file.write(np.ascontiguousarray(records, self.record).view(np.uint8).data)
                self._file.flush()
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            size = (self.n_records + len(records)) * self.record.itemsize / 1e9
            raise OSError(
                error.errno,
                f"no room for {size:.1f} GB of rows in the folder {self.folder!r}; choose one with more "
                "by the argument folder or the environment variable TMPDIR",
            ) from error
        self.n_records += len(records)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Records from `start` up to `stop`, or to the end."""
        out = np.empty(max(0, min(stop, self.n_records) - start), self.record)
        with self._lock:
            self._file.seek(start * self.record.itemsize)
            self._file.readinto(out.view(np.uint8).data)  # type: ignore[attr-defined]
        return out

    def close(self) -> None:
        """Delete the file."""
        self._file.close()

    def __enter__(self) -> "RecordFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StoredTable(Protocol):
    """A training table in the user's units that is not in memory.

    Attributes
    ----------
    n_inputs : int
        d.
    labelled : bool
        Whether rows have labels.
    total : float
        How many rows the table counts for.
    extremes : tuple of float
        The least and the largest target.
    """

    n_inputs: int
    labelled: bool
    total: float
    extremes: tuple[float, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    def read(self, start: int, stop: int) -> tuple[Array, Array, Array | None]:
        """Inputs, targets and weights of neighbouring rows."""
        ...

    def take(self, index: Indices) -> tuple[Array, Array, Array | None]:
        """Inputs, targets and weights of the rows of these numbers, in that order."""
        ...

    def labels_of(self, index: Indices) -> Array:
        """Labels of the rows of these numbers, in that order."""
        ...

    def labels(self) -> Iterator[Array]:
        """Labels of all rows, in parts."""
        ...

    def elsewhere(self, values: Array) -> "AbstractContextManager[Self]":
        """Context with the rows whose targets are none of these values, in their order."""
        ...


class RowFile:
    """A training table in the user's units: inputs, target and, where rows have them, weights and labels.

    Parameters
    ----------
    n_inputs : int
        d.
    weighted : bool
        Whether rows have weights.
    folder : path-like or None
        Where the file is; None for the system's folder for temporary files.
    labelled : bool
        Whether rows have labels: numbers that say how they are held out.
    """

    def __init__(
        self, n_inputs: int, weighted: bool, folder: str | os.PathLike[str] | None, labelled: bool = False
    ) -> None:
        self.n_inputs, self.weighted, self.labelled = n_inputs, weighted, labelled
        others = [name for name, there in (("weight", weighted), ("label", labelled)) if there]
        columns = [("x", np.float64, (n_inputs,)), ("y", np.float64), *((name, np.float64) for name in others)]
        self.records = RecordFile(np.dtype(columns), folder)
        self.total = 0.0
        self.extremes: tuple[float, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows so far."""
        return self.records.n_records

    def append(self, X: Array, y: Array, weight: Array | None, label: Array | None = None) -> None:
        """Add rows at the end."""
        out = np.empty(len(y), self.records.record)
        out["x"], out["y"] = X, y
        if weight is not None:
            out["weight"] = weight
        if label is not None:
            out["label"] = label
        self.records.append(out)
        self.total += float(len(y) if weight is None else weight.sum())
        self.extremes = min((*self.extremes, y.min())), max((*self.extremes, y.max()))

    def read(self, start: int, stop: int) -> tuple[Array, Array, Array | None]:
        """Inputs, targets and weights of neighbouring rows."""
        return self._columns(self.records.read(start, stop))

    def take(self, index: Indices) -> tuple[Array, Array, Array | None]:
        """Inputs, targets and weights of the rows of these numbers, in that order."""
        return self._columns(self._records(index))

    def labels_of(self, index: Indices) -> Array:
        """Labels of the rows of these numbers, in that order."""
        return self._records(index)["label"]

    def labels(self) -> Iterator[Array]:
        """Labels of all rows, in parts."""
        for start in range(0, self.n_rows, self._chunk):
            yield self.records.read(start, start + self._chunk)["label"]

    @contextmanager
    def elsewhere(self, values: Array) -> "Iterator[RowFile]":
        """Context with the rows whose targets are none of these values, in their order, in another file."""
        others = RowFile(self.n_inputs, self.weighted, self.records.folder, self.labelled)
        try:
            for start in range(0, self.n_rows, self._chunk):
                records = self.records.read(start, start + self._chunk)
                records = records[~np.isin(records["y"], values)]
                if len(records):
                    others.append(*self._columns(records), records["label"] if self.labelled else None)
            yield others
        finally:
            others.close()

    @property
    def _chunk(self) -> int:
        """Rows that are read at a time where all are looked at."""
        return max(1, CHUNK_BYTES // self.records.record.itemsize)

    def _records(self, index: Indices) -> NDArray[Any]:
        """Rows of these numbers, in that order."""
        order = np.argsort(index)
        records = np.empty(len(index), self.records.record)
        ascending = index[order]
        for start in range(0, self.n_rows, self._chunk):
            end = start + self._chunk
            first, last = np.searchsorted(ascending, [start, end])
            if first < last:
                records[order[first:last]] = self.records.read(start, end)[ascending[first:last] - start]
        return records

    def _columns(self, records: NDArray[Any]) -> tuple[Array, Array, Array | None]:
        return records["x"], records["y"], records["weight"] if self.weighted else None

    def close(self) -> None:
        """Delete the file."""
        self.records.close()


@contextmanager
def gathered(
    estimator: BaseEstimator,
    batches: Iterable[tuple[ArrayLike, ...]],
    folder: str | os.PathLike[str] | None,
    check_targets: Callable[[ArrayLike, ArrayLike | None], None] = lambda y, weight: None,
) -> Iterator[RowFile]:
    """All rows of batches (X, y), (X, y, sample_weight) or (X, y, sample_weight, label), checked as they come.

    Weights may be None, labels are numbers; all batches have them or none. `check_targets` gets targets and weights of
    each batch, and raises an error where targets are not allowed.
    """
    if folder is not None and not os.path.isdir(folder):
        raise NotADirectoryError(f"folder must exist, got {os.fspath(folder)!r}")
    file: RowFile | None = None
    totals = WeightTotals()
    try:
        for number, batch in enumerate(batches):
            weighted = _weighted(batch, number, file)
            if _counts_for_nothing(batch):
                continue
            try:
                parts: list[Any] = [*batch, None, None][:4]
                X, y, weight, label = check_rows(estimator, *parts, reset=file is None, whole=False)
                check_targets(parts[1], parts[2])
            except (ValueError, TypeError) as error:
                raise type(error)(f"batch {number}: {error}") from error
            file = file or RowFile(X.shape[1], weighted, folder, label is not None)
            file.append(X, y, weight, label)
            if weight is not None:
                totals += WeightTotals.of(weight)
        if file is None:
            raise ValueError("batches has no rows, or none with a weight: there is nothing to fit to")
        if file.weighted:
            check_total_weight(totals)
        yield file
    finally:
        if file is not None:
            file.close()


def _counts_for_nothing(batch: tuple[ArrayLike, ...]) -> bool:
    """Whether a batch has no rows, or none with a weight, which a whole table could not be like but a part may."""
    sizes = [np.shape(np.asarray(part))[:1] for part in batch if part is not None and np.ndim(part)]
    weightless = len(batch) > 2 and batch[2] is not None and not np.any(np.asarray(batch[2]))
    return len(set(sizes)) == 1 and (sizes[0] == (0,) or weightless)


def _weighted(batch: tuple[ArrayLike, ...], number: int, file: RowFile | None) -> bool:
    """Whether a batch has weights: all have or none."""
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3, 4):
        got = f"{len(batch)} parts" if isinstance(batch, tuple | list) else f"a {type(batch).__name__}"
        raise ValueError(f"batch {number} must be (X, y) or (X, y, sample_weight), got {got}")
    weighted = len(batch) > 2 and batch[2] is not None
    if file is not None and weighted != file.weighted:
        raise ValueError(f"batch {number} has {'' if weighted else 'no '}weights, unlike those before it")
    return weighted
