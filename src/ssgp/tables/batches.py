"""Tables that are read in batches: larger than memory, and read anew as often as needed."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import _num_samples

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.checks import check_count, check_target
from ssgp.tables.arrow_columns import is_array, to_table

__all__ = ["ReadBatches", "RowSelection", "TableBatches"]

# Returns batches (X, y) or (X, y, sample_weight), the same ones each time it is called.
ReadBatches = Callable[[], Iterable[tuple[Any, ...]]]


class RowSelection:
    """Rows of a table that were chosen by their numbers, found again while the table is read in batches.

    Parameters
    ----------
    rows : array of int, ascending
        Numbers of the chosen rows, counted over all batches.
    """

    def __init__(self, rows: Indices) -> None:
        self._rows, self._n_read = rows, 0

    def next_batch(self, n_rows: int) -> Mask:
        """Mask of the chosen rows among the next `n_rows` rows of the table, shape (n_rows,)."""
        start, stop = self._n_read, self._n_read + n_rows
        first, last = np.searchsorted(self._rows, [start, stop])
        chosen = np.zeros(n_rows, dtype=bool)
        chosen[self._rows[first:last] - start] = True
        self._n_read = stop
        return chosen


class TableBatches:
    """Batches of a table and its targets, read anew by each loop over them.

    Parameters
    ----------
    read : callable
        Returns the batches: tuples of a table, its targets, and anything else that belongs to the rows.
    n_rows : int or None
        Rows of all batches together; counted in an additional pass where it is None.

    Attributes
    ----------
    n_rows : int
        Rows of all batches together.
    named : bool
        Whether the columns of the batches read so far have names: they were tables and not arrays.
    """

    def __init__(self, read: ReadBatches, n_rows: int | None = None) -> None:
        if not callable(read):
            raise TypeError(
                f"read must be a function that returns the batches anew each time, got {type(read).__name__}"
            )
        self._read, self.named = read, True
        self.n_rows = self._count() if n_rows is None else check_count(n_rows, "n_rows", 1)

    def __iter__(self) -> Iterator[tuple[pa.Table, tuple[Any, ...]]]:
        """Batches that have rows: each as an Arrow table, with what came beside it."""
        n_read = 0
        for X, *others in self._tuples():
            table, self.named = to_table(X), not is_array(X)
            if not table.num_columns:
                raise ValueError("read returned a batch without columns")
            n_read += table.num_rows
            if table.num_rows:
                yield table, tuple(others)
        if n_read != self.n_rows:
            raise ValueError(
                f"the batches have {n_read:,} rows, not {self.n_rows:,}: n_rows must be their number, and read must "
                "return the same batches each time it is called"
            )

    def take(self, rows: Indices) -> tuple[pa.Table, Array]:
        """Rows of these numbers, ascending, as one table; and their targets."""
        selection, tables, targets = RowSelection(rows), [], []
        for table, (y, *_) in self:
            chosen = selection.next_batch(table.num_rows)
            target = check_target(y, table)
            if chosen.any():
                tables.append(table.filter(pa.array(chosen)))
                targets.append(target[chosen])
        try:
            return pa.concat_tables(tables, promote_options="permissive"), np.concatenate(targets)
        except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
            raise ValueError(f"the batches do not fit together: {error}") from error

    def _count(self) -> int:
        n_rows = sum(_num_samples(X) for X, *_ in self._tuples())
        if not n_rows:
            raise ValueError("read returned no rows")
        return n_rows

    def _tuples(self) -> Iterator[tuple[Any, ...]]:
        for batch in self._read():
            if not isinstance(batch, tuple) or len(batch) < 2:
                raise ValueError(f"batches must be (X, y) or (X, y, sample_weight), got {type(batch).__name__}")
            yield batch
