"""Tables of standardised rows as trees are planted with them, held in memory or in a file.

Either way a tree gets its rows sorted by leaf, some branches at a time, and those of a leaf in the order of the
table: the models are the same to the last bit.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ssgp._utils.checksums import checksum
from ssgp.engine.descent import ROWS_AT_ONCE
from ssgp.engine.freed_memory import give_back
from ssgp.rows.bisecting_tree import BisectingTree
from ssgp.rows.blocks import Rows, block_order
from ssgp.rows.row_files import RecordFile, RowFile
from ssgp.rows.standardizer import Standardizer

__all__ = ["FileTable", "MemoryTable", "RowTable", "SortedRows", "TrainingRows"]

Array = NDArray[np.floating]
Indices = NDArray[np.integer]

# Rows that are sorted at a time, at most. Fewer, of a file, are a multiple of what partitions look at together.
CHUNK = 1 << 18


@dataclass(frozen=True)
class SortedRows:
    """Rows of some neighbouring leaves.

    Attributes
    ----------
    first_leaf : int
        The first of the leaves.
    rows : Rows
        A leaf is a block.
    index : int array of shape (n,)
        Where in the table they are.
    """

    first_leaf: int
    rows: Rows
    index: Indices


class RowTable(Protocol):
    """What planting asks of a table."""

    @property
    def n_rows(self) -> int:
        """Rows, those that are hidden among them."""
        ...

    @property
    def total(self) -> float:
        """How many rows the table counts for."""
        ...

    def without(self, hidden: Indices) -> Self:
        """The table, some rows of which trees do not see."""
        ...

    def take(self, index: Indices) -> Rows:
        """Some rows, in that order, as one block."""
        ...

    def checksums(self) -> list[int]:
        """Numbers that tell tables apart: of inputs, targets and weights."""
        ...

    def by_leaf(self, partition: BisectingTree, branch_leaves: int) -> Iterator[SortedRows]:
        """Rows that are not hidden, from the first leaf to the last; no branch of so many leaves is torn apart."""
        ...


def _nothing_hidden() -> Indices:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class MemoryTable:
    """Rows in memory.

    Attributes
    ----------
    rows : Rows
        In any order.
    hidden : int array
        Rows that trees do not see.
    """

    rows: Rows
    hidden: Indices = field(default_factory=_nothing_hidden)

    @property
    def n_rows(self) -> int:
        """Rows, those that are hidden among them."""
        return len(self.rows.y)

    @property
    def total(self) -> float:
        """How many rows the table counts for."""
        return self.rows.total

    def without(self, hidden: Indices) -> "MemoryTable":
        """The table, some rows of which trees do not see."""
        return replace(self, hidden=hidden)

    def take(self, index: Indices) -> Rows:
        """Some rows, in that order, as one block."""
        return self.rows.reorder(index, np.array([0, len(index)]))

    def checksums(self) -> list[int]:
        """Of inputs, targets and weights."""
        return [checksum(column) for column in (self.rows.X, self.rows.y, self.rows.weight)]

    def by_leaf(self, partition: BisectingTree, branch_leaves: int) -> Iterator[SortedRows]:
        """Some branches at a time."""
        leaf = partition.assign(self.rows.X)
        leaf[self.hidden] = partition.n_blocks
        order, bounds = block_order(leaf, partition.n_blocks)
        ends, first = bounds[::branch_leaves], 0
        while first < len(ends) - 1:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + CHUNK, side="right")) - 1)
            leaves, some = slice(first * branch_leaves, last * branch_leaves + 1), order[ends[first] : ends[last]]
            yield SortedRows(leaves.start, self.rows.reorder(some, bounds[leaves] - ends[first]), some)
            first = last


@dataclass(frozen=True)
class FileTable:
    """Rows in a file.

    Attributes
    ----------
    file : RowFile
        Rows in the user's units.
    units : Standardizer
        Between these and the model's.
    part_bytes : int
        Memory that sorted rows may take.
    after_rows : callable
        Called with the number of rows whenever so many have been sorted and used.
    hidden : int array
        Rows that trees do not see, ascending.
    """

    file: RowFile
    units: Standardizer
    part_bytes: int
    after_rows: Callable[[int], Any] = lambda count: None
    hidden: Indices = field(default_factory=_nothing_hidden)

    @property
    def n_rows(self) -> int:
        """Rows, those that are hidden among them."""
        return self.file.n_rows

    @property
    def total(self) -> float:
        """How many rows the table counts for."""
        return self.file.total

    def without(self, hidden: Indices) -> "FileTable":
        """The table, some rows of which trees do not see."""
        return replace(self, hidden=np.sort(hidden))

    def take(self, index: Indices) -> Rows:
        """Some rows, in that order, as one block."""
        return self._standardized(*self.file.take(index))

    def checksums(self) -> list[int]:
        """Of inputs, targets and weights, standardised: those of the same table in memory."""
        found = [0, 0, 0]
        for start in range(0, self.n_rows, self._chunk):
            rows = self._standardized(*self.file.read(start, start + self._chunk))
            found = [checksum(*own) for own in zip((rows.X, rows.y, rows.weight), found, strict=True)]
        return found

    def by_leaf(self, partition: BisectingTree, branch_leaves: int) -> Iterator[SortedRows]:
        """Some branches at a time: runs of sorted rows go to a second file, and parts are gathered from them."""
        record = self._record
        n_branches = partition.n_blocks // branch_leaves
        n_parts = min(n_branches, -(-self.n_rows * record.itemsize // self.part_bytes))
        ends = branch_leaves * (np.arange(n_parts + 1) * n_branches // n_parts)
        with RecordFile(record, self.file.records.folder) as runs:
            starts = range(0, self.n_rows, self._chunk)
            places = np.array([self._append_run(runs, start, partition, ends) for start in starts])
            for part in range(n_parts):
                pieces = [runs.read(int(first), int(last)) for first, last in places[:, part : part + 2]]
                found = _sorted(np.concatenate(pieces), int(ends[part]), int(ends[part + 1]))
                yield found
                give_back()
                self.after_rows(len(found.index))

    @property
    def _record(self) -> np.dtype:
        """A row on its way to its leaf."""
        columns: list[Any] = [("leaf", np.int32), ("index", np.int64)]
        columns += [("x", np.float32, (self.file.n_inputs,)), ("y", np.float32)]
        return np.dtype([*columns, *[("weight", np.float32)] * self.file.weighted])

    @property
    def _chunk(self) -> int:
        """Rows to sort at a time."""
        affordable = self.part_bytes // self._record.itemsize // ROWS_AT_ONCE * ROWS_AT_ONCE
        return min(CHUNK, max(ROWS_AT_ONCE, affordable))

    def _append_run(self, runs: RecordFile, start: int, partition: BisectingTree, ends: Indices) -> Indices:
        """Write a chunk of rows sorted by leaf; return where its parts begin and end."""
        rows = self._standardized(*self.file.read(start, start + self._chunk))
        leaf = partition.assign(rows.X)
        first, last = np.searchsorted(self.hidden, [start, start + len(leaf)])
        leaf[self.hidden[first:last] - start] = partition.n_blocks
        order = np.argsort(leaf, kind="stable")[: len(leaf) - (last - first)]
        run = np.empty(len(order), runs.record)
        run["leaf"], run["index"], run["x"], run["y"] = leaf[order], start + order, rows.X[order], rows.y[order]
        if rows.weight is not None:
            run["weight"] = rows.weight[order]
        began = runs.n_records
        runs.append(run)
        give_back()
        return began + np.searchsorted(leaf[order], ends)

    def _standardized(self, X: Array, y: Array, weight: Array | None) -> Rows:
        return self.units.rows(X, y, weight, np.arange(len(y)), np.array([0, len(y)]))


@dataclass(frozen=True)
class TrainingRows:
    """A table and a sample of it.

    Attributes
    ----------
    sample : Rows
        Random rows in random order: waves are learned from them, trees grown on them, and some of them held out. All
        rows of a table that is not large.
    table : RowTable
        All rows, which fill the leaves.
    places : int array
        Where in the table the rows of the sample are.
    """

    sample: Rows
    table: RowTable
    places: Indices

    @classmethod
    def in_random_order(cls, rows: Rows) -> "TrainingRows":
        """A table that is a sample itself."""
        return cls(rows, MemoryTable(rows), np.arange(len(rows.y)))

    def first(self, n_rows: int) -> "TrainingRows":
        """The first rows of the sample alone."""
        some = np.arange(n_rows)
        return TrainingRows.in_random_order(self.sample.reorder(some, np.array([0, n_rows])))

    def hold_out(self, some: Indices) -> tuple[Rows, Rows, RowTable]:
        """Some neighbours in the sample, the rest of the sample, and the table without them."""
        kept = np.concatenate([np.arange(some[0]), np.arange(some[-1] + 1, len(self.sample.y))])
        unseen, rest = (self.sample.reorder(own, np.array([0, len(own)])) for own in (some, kept))
        return unseen, rest, self.table.without(self.places[some])


def _sorted(records: NDArray[Any], first_leaf: int, end_leaf: int) -> SortedRows:
    """Rows of some leaves, gathered from runs that are sorted each."""
    order, bounds = block_order(records["leaf"] - first_leaf, end_leaf - first_leaf)
    records = records[order]
    weight = records["weight"].copy() if "weight" in (records.dtype.names or ()) else None
    rows = Rows(np.ascontiguousarray(records["x"]), records["y"].copy(), weight, bounds)
    return SortedRows(first_leaf, rows, records["index"].copy())
