"""Rows of tables larger than memory, in files that have no names and vanish with the process."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.checks import WeightTotals, check_rows, check_total_weight
from ssgp._utils.whole_file import NO_ROOM

__all__ = ["RecordFile", "RowFile", "gathered"]

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


class RowFile:
    """A training table in the user's units: inputs, target and, where rows have them, weights.

    Parameters
    ----------
    n_inputs : int
        d.
    weighted : bool
        Whether rows have weights.
    folder : path-like or None
        Where the file is; None for the system's folder for temporary files.
    """

    def __init__(self, n_inputs: int, weighted: bool, folder: str | os.PathLike[str] | None) -> None:
        self.n_inputs, self.weighted = n_inputs, weighted
        columns = [("x", np.float64, (n_inputs,)), ("y", np.float64), *[("weight", np.float64)] * weighted]
        self.records = RecordFile(np.dtype(columns), folder)
        self.total = 0.0

    @property
    def n_rows(self) -> int:
        """Number of rows so far."""
        return self.records.n_records

    def append(self, X: Array, y: Array, weight: Array | None) -> None:
        """Add rows at the end."""
        out = np.empty(len(y), self.records.record)
        out["x"], out["y"] = X, y
        if weight is not None:
            out["weight"] = weight
        self.records.append(out)
        self.total += float(len(y) if weight is None else weight.sum())

    def read(self, start: int, stop: int) -> tuple[Array, Array, Array | None]:
        """Inputs, targets and weights of neighbouring rows."""
        return self._columns(self.records.read(start, stop))

    def take(self, index: Indices) -> tuple[Array, Array, Array | None]:
        """Inputs, targets and weights of the rows of these numbers, in that order."""
        order = np.argsort(index)
        records = np.empty(len(index), self.records.record)
        ascending = index[order]
        chunk = max(1, CHUNK_BYTES // self.records.record.itemsize)
        for start in range(0, self.n_rows, chunk):
            first, last = np.searchsorted(ascending, [start, start + chunk])
            if first < last:
                records[order[first:last]] = self.records.read(start, start + chunk)[ascending[first:last] - start]
        return self._columns(records)

    def _columns(self, records: NDArray[Any]) -> tuple[Array, Array, Array | None]:
        return records["x"], records["y"], records["weight"] if self.weighted else None

    def close(self) -> None:
        """Delete the file."""
        self.records.close()


@contextmanager
def gathered(
    estimator: BaseEstimator, batches: Iterable[tuple[ArrayLike, ...]], folder: str | os.PathLike[str] | None
) -> Iterator[RowFile]:
    """All rows of batches (X, y) or (X, y, sample_weight) in a file, checked as they come."""
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
                sample_weight = batch[2] if weighted else None
                X, y, weight, _ = check_rows(
                    estimator, batch[0], batch[1], sample_weight, None, reset=file is None, whole=False
                )
            except (ValueError, TypeError) as error:
                raise type(error)(f"batch {number}: {error}") from error
            file = file or RowFile(X.shape[1], weighted, folder)
            file.append(X, y, weight)
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
    weightless = len(batch) == 3 and batch[2] is not None and not np.any(np.asarray(batch[2]))
    return len(set(sizes)) == 1 and (sizes[0] == (0,) or weightless)


def _weighted(batch: tuple[ArrayLike, ...], number: int, file: RowFile | None) -> bool:
    """Whether a batch has weights: all have or none."""
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
        got = f"{len(batch)} parts" if isinstance(batch, tuple | list) else f"a {type(batch).__name__}"
        raise ValueError(f"batch {number} must be (X, y) or (X, y, sample_weight), got {got}")
    weighted = len(batch) == 3 and batch[2] is not None
    if file is not None and weighted != file.weighted:
        raise ValueError(f"batch {number} has {'' if weighted else 'no '}weights, unlike those before it")
    return weighted
