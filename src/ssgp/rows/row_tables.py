"""Tables of standardised rows as trees are fitted to them, held in memory or in a file.

Either way a tree gets its rows sorted by leaf, some branches at a time, and those of a leaf in the order of the
table: the models are the same to the last bit.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from ssgp._utils.arrays import Indices
from ssgp._utils.checksums import checksum
from ssgp._utils.wide import fewer_if_wide
from ssgp.engine.descent import descend, rows_at_once
from ssgp.engine.freed_memory import give_back
from ssgp.engine.workers import Workers
from ssgp.rows.bisecting_tree import BisectingTree
from ssgp.rows.blocks import Rows, block_order
from ssgp.rows.leaf_runs import SortedRows, gather_runs, run_record, sort_run
from ssgp.rows.row_files import RecordFile, RowFile, StoredTable
from ssgp.rows.shared_rows import SharedRows, shared_rows
from ssgp.rows.standardizer import Standardizer

__all__ = [
    "FileTable",
    "LeafPart",
    "LeafRows",
    "MemoryTable",
    "RowTable",
    "SharedOut",
    "TableElsewhere",
]

Result = TypeVar("Result")
Stored = TypeVar("Stored", bound=StoredTable)

# Rows that are sorted at a time, at most. Fewer, of a file, are a multiple of what partitions look at together.
CHUNK = 1 << 18
# Rows of a part of a tree in memory: trees of large tables have some dozens of parts, which are shared out.
PART_ROWS = 1 << 16


@dataclass(frozen=True)
class LeafRows:
    """Numbers of the rows of some neighbouring leaves, to be taken from the table by whoever works on them.

    Attributes
    ----------
    first_leaf : int
        The first of the leaves.
    index : int array of shape (n,)
        Numbers of their rows in the table.
    bounds : int array
        Where leaves begin and end among these.
    table : Rows or SharedRows
        The table.
    """

    first_leaf: int
    index: Indices
    bounds: Indices
    table: Rows | SharedRows

    def load(self) -> SortedRows:
        """The rows."""
        return SortedRows(self.first_leaf, self.table.load().reorder(self.index, self.bounds), self.index)


class LeafPart(Protocol):
    """Rows of some neighbouring leaves, wherever they are."""

    def load(self) -> SortedRows:
        """The rows, in memory."""
        ...


class RowTable(Protocol):
    """A table that trees can be fitted to."""

    @property
    def n_rows(self) -> int:
        """Number of rows, those held out among them."""
        ...

    @property
    def total(self) -> float:
        """How many rows the table counts for."""
        ...

    def without(self, held_out: Indices) -> Self:
        """The same table, with these rows held out of trees."""
        ...

    def take(self, index: Indices) -> Rows:
        """Rows of these numbers, in that order, as one block."""
        ...

    def map_chunks(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """What a function returns for all rows in their order, for as many at a time as are read together."""
        ...

    def checksums(self) -> list[int]:
        """Numbers that tell tables apart: of inputs, targets and weights."""
        ...

    def by_leaf(self, partition: BisectingTree, leaves_per_branch: int, workers: Workers) -> Iterator[LeafPart]:
        """Rows that are not held out, from the first leaf to the last; no branch of so many leaves is torn apart."""
        ...

    def map_by_leaf(
        self,
        function: Callable[[LeafPart], Result],
        partition: BisectingTree,
        leaves_per_branch: int,
        workers: Workers,
    ) -> list[Result]:
        """What a function returns for each part of `by_leaf`, shared out to the workers, or to where the rows are."""
        ...


class SharedOut(ABC):
    """A table whose rows come to whoever works on them."""

    @abstractmethod
    def by_leaf(self, partition: BisectingTree, leaves_per_branch: int, workers: Workers) -> Iterator[LeafPart]:
        """Rows that are not held out, from the first leaf to the last; no branch of so many leaves is torn apart."""

    def map_by_leaf(
        self,
        function: Callable[[LeafPart], Result],
        partition: BisectingTree,
        leaves_per_branch: int,
        workers: Workers,
    ) -> list[Result]:
        """What a function returns for each part of `by_leaf`, shared out to the workers."""
        return workers.map(function, self.by_leaf(partition, leaves_per_branch, workers))


def _no_rows() -> Indices:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class MemoryTable(SharedOut):
    """Rows in memory.

    Attributes
    ----------
    rows : Rows
        In any order.
    held_out : int array
        Rows that trees are not fitted to.
    shared_rows : SharedRows or None
        The rows where processes find them.
    """

    rows: Rows
    held_out: Indices = field(default_factory=_no_rows)
    shared_rows: SharedRows | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, those held out among them."""
        return len(self.rows.y)

    @property
    def total(self) -> float:
        """How many rows the table counts for."""
        return self.rows.total

    def without(self, held_out: Indices) -> "MemoryTable":
        """The same table, with these rows held out of trees."""
        return replace(self, held_out=held_out)

    def take(self, index: Indices) -> Rows:
        """Rows of these numbers, in that order, as one block."""
        return self.rows.reorder(index, np.array([0, len(index)]))

    def map_chunks(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """What a function returns for all rows, which are there."""
        yield function(self.rows)

    def checksums(self) -> list[int]:
        """Checksums of inputs, targets and weights."""
        return [checksum(column) for column in (self.rows.X, self.rows.y, self.rows.weight)]

    def shared(self) -> "AbstractContextManager[MemoryTable]":
        """Context with the same table where processes find it."""
        return _shared(self)

    def by_leaf(self, partition: BisectingTree, leaves_per_branch: int, workers: Workers) -> Iterator[LeafRows]:
        """Rows of a few branches at a time."""
        leaf = self._leaves(partition, workers)
        leaf[self.held_out] = partition.n_blocks
        order, bounds = block_order(leaf, partition.n_blocks)
        ends, first, most_rows = bounds[::leaves_per_branch], 0, fewer_if_wide(PART_ROWS, self.rows.X.shape[1])
        while first < len(ends) - 1:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + most_rows, side="right")) - 1)
            leaves = slice(first * leaves_per_branch, last * leaves_per_branch + 1)
            index = order[ends[first] : ends[last]]
            yield LeafRows(leaves.start, index, bounds[leaves] - ends[first], self.shared_rows or self.rows)
            first = last

    def by_leaf_of_each(self, partitions: Sequence[BisectingTree]) -> SortedRows:
        """All rows once for each of several trees of one shape, whose leaves are counted on from tree to tree."""
        n_leaves, index = partitions[0].n_blocks, np.delete(np.arange(self.n_rows), self.held_out)
        directions = np.stack([tree.directions for tree in partitions])
        thresholds = np.stack([tree.thresholds for tree in partitions])
        leaf = descend(self.rows.X[index], directions, thresholds, partitions[0].children)
        leaf += n_leaves * np.arange(len(partitions))[:, None]
        order, bounds = block_order(leaf.ravel(), n_leaves * len(partitions))
        index = index[order % len(index)]
        return SortedRows(0, self.rows.reorder(index, bounds), index)

    def _leaves(self, partition: BisectingTree, workers: Workers) -> Indices:
        """Leaf of each row, shape (n,)."""
        size = fewer_if_wide(CHUNK, self.rows.X.shape[1])
        find = partial(_leaves_of, partition, self.shared_rows or self.rows, size)
        return np.concatenate(workers.map(find, range(0, self.n_rows, size)))


def _leaves_of(partition: BisectingTree, rows: Rows | SharedRows, size: int, start: int) -> Indices:
    """Leaves of so many rows."""
    return partition.assign(rows.load().X[start : start + size])


@contextmanager
def _shared(table: MemoryTable) -> Iterator[MemoryTable]:
    with shared_rows(table.rows) as rows:
        yield replace(table, shared_rows=rows)


@dataclass(frozen=True)
class TableElsewhere(Generic[Stored]):
    """Rows that are not in memory: what is known of them without reading.

    Attributes
    ----------
    stored : StoredTable
        Rows in the user's units.
    units : Standardizer
        Between these and the model's.
    part_bytes : int
        Memory that sorted rows may take.
    after_rows : callable
        Called with the number of rows whenever so many have been sorted and used.
    held_out : int array
        Rows that trees are not fitted to, ascending.
    """

    stored: Stored
    units: Standardizer
    part_bytes: int
    after_rows: Callable[[int], Any] = lambda count: None
    held_out: Indices = field(default_factory=_no_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows, those held out among them."""
        return self.stored.n_rows

    @property
    def total(self) -> float:
        """How many rows the table counts for."""
        return self.stored.total

    def without(self, held_out: Indices) -> Self:
        """The same table, with these rows held out of trees."""
        return replace(self, held_out=np.sort(held_out))

    def take(self, index: Indices) -> Rows:
        """Rows of these numbers, in that order, as one block."""
        return self.units.rows(*self.stored.take(index))


@dataclass(frozen=True)
class FileTable(TableElsewhere[RowFile], SharedOut):
    """Rows in a file."""

    def map_chunks(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """What a function returns for all rows in their order, standardised."""
        for start in range(0, self.n_rows, self._chunk):
            yield function(self.units.rows(*self.stored.read(start, start + self._chunk)))

    def checksums(self) -> list[int]:
        """Checksums of inputs, targets and weights, standardised: those of the same table in memory."""
        sums = [0, 0, 0]

        def add(rows: Rows) -> None:
            sums[:] = [checksum(*pair) for pair in zip((rows.X, rows.y, rows.weight), sums, strict=True)]

        for _ in self.map_chunks(add):
            pass
        return sums

    def by_leaf(self, partition: BisectingTree, leaves_per_branch: int, workers: Workers) -> Iterator[SortedRows]:
        """Rows of a few branches at a time: sorted runs go to a second file, and parts are gathered from them."""
        record = self._record
        n_branches = partition.n_blocks // leaves_per_branch
        n_parts = min(n_branches, -(-self.n_rows * record.itemsize // self.part_bytes))
        ends = leaves_per_branch * (np.arange(n_parts + 1) * n_branches // n_parts)
        with RecordFile(record, self.stored.records.folder) as runs:
            starts = range(0, self.n_rows, self._chunk)
            places = np.array([self._append_run(runs, start, partition, ends) for start in starts])
            for part in range(n_parts):
                pieces = [runs.read(int(first), int(last)) for first, last in places[:, part : part + 2]]
                sorted_rows = gather_runs(pieces, int(ends[part]), int(ends[part + 1]))
                yield sorted_rows
                give_back()
                self.after_rows(len(sorted_rows.index))

    @property
    def _record(self) -> np.dtype:
        """Type of a row on its way to its leaf."""
        return run_record(self.stored.n_inputs, self.stored.weighted)

    @property
    def _chunk(self) -> int:
        """Number of rows to sort at a time."""
        at_once = rows_at_once(self.stored.n_inputs)
        return min(CHUNK, max(at_once, self.part_bytes // self._record.itemsize // at_once * at_once))

    def _append_run(self, runs: RecordFile, start: int, partition: BisectingTree, ends: Indices) -> Indices:
        """Write a chunk of rows sorted by leaf; return where its parts begin and end."""
        rows = self.units.rows(*self.stored.read(start, start + self._chunk))
        run, places = sort_run(rows, start, partition, self.held_out, ends)
        began = runs.n_records
        runs.append(run)
        give_back()
        return began + places
