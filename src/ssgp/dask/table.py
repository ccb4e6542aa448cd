"""Tables whose rows are read by the workers of a cluster, as trees are fitted to them.

A tree takes two sorts of tasks. The first read a block, find the leaf of each row and sort the rows by leaf. The
second take the rows of some leaves from all of these, in the order of the table, and solve their models. So rows go
once per tree from worker to worker, in single precision: sums over the rows of a leaf, from each worker that has some
of them, would be larger, and trees would differ in their last bits. Neither passes through the scheduler or the client.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Semaphore
from typing import Any, TypeVar

import numpy as np
from dask.delayed import Delayed
from distributed import Future
from numpy.typing import NDArray

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.checksums import checksum
from ssgp.dask.blocks import Block
from ssgp.dask.reading import Columns, Counts, Encoded, RowReader, count
from ssgp.dask.tasks import Tasks
from ssgp.engine.freed_memory import give_back
from ssgp.engine.threads import with_one_blas_thread
from ssgp.engine.workers import Workers
from ssgp.rows.bisecting_tree import BisectingTree
from ssgp.rows.blocks import Rows
from ssgp.rows.leaf_runs import SortedRows, gather_runs, run_record, sort_run
from ssgp.rows.row_tables import LeafPart, TableElsewhere
from ssgp.rows.standardizer import Standardizer

__all__ = ["ClusterRows", "ClusterTable"]

Result = TypeVar("Result")

# Parts of a tree that are solved apart: so many, of at least so many bytes, or more where they would be larger than so
# many times what sorted rows may take in one thread.
PARTS, LEAST_PART_BYTES, MOST_PART_SHARES = 32, 1 << 22, 4
# Trees whose rows are on their way at the same time: while one ends the next one begins.
TREES_AT_ONCE = 2
# Rows that come to the process that calls at a time: the scheduler passes them on.
TAKEN_AT_ONCE = 1 << 20


class ClusterRows:
    """A training table in the user's units, of blocks that workers read.

    Parameters
    ----------
    tasks : Tasks
        The cluster.
    blocks : sequence of Block or Delayed
        Parts of the table, or what computes them.
    reader : RowReader
        Reads a block.
    counts : sequence of Counts
        What each block is.
    encoded : sequence of Future or None
        Rows of each block that encodings were fitted to, None for none; None where there are none at all.
    """

    labelled = False

    def __init__(
        self,
        tasks: Tasks,
        blocks: Sequence[Block | Delayed],
        reader: RowReader,
        counts: Sequence[Counts],
        encoded: Sequence[Future | None] | None,
    ) -> None:
        self.tasks, self._read_by = tasks, reader
        self._blocks, self._encoded = blocks, [None] * len(blocks) if encoded is None else encoded
        self._reader = tasks.constant("reader", reader)
        self.starts = np.concatenate([[0], np.cumsum([block.n_rows for block in counts])])
        self.total = sum(block.total for block in counts)
        self.extremes = _extremes(counts)
        self.n_inputs = max(block.n_inputs for block in counts)
        self.weighted = any(block.weights is not None for block in counts)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.starts[-1])

    def each(
        self, name: str, function: Callable[..., Any], shared: Delayed, own: Callable[[int], Any], of: Sequence[int]
    ) -> list[Delayed]:
        """Tasks ``function(columns of the block, shared, own(block))`` for blocks of these numbers."""
        return [
            self.tasks.call(name, _of_block, function, self._reader, self._blocks[i], self._encoded[i], shared, own(i))
            for i in of
        ]

    def filled(self) -> list[int]:
        """Numbers of the blocks that have rows."""
        return np.flatnonzero(np.diff(self.starts)).tolist()

    def read(self, start: int, stop: int) -> Columns:
        """Inputs, targets and weights of neighbouring rows."""
        return self.take(np.arange(start, min(stop, self.n_rows)))

    def take(self, index: Indices) -> Columns:
        """Inputs, targets and weights of the rows of these numbers, in that order."""
        order = np.argsort(index, kind="stable")
        ends = np.searchsorted(index[order], self.starts)
        X, y = np.empty((len(index), self.n_inputs)), np.empty(len(index))
        weight = np.empty(len(index)) if self.weighted else None
        none = self.tasks.constant("none", None)

        def places(i: int) -> Indices:
            return (index[order[ends[i] : ends[i + 1]]] - self.starts[i]).astype(np.uint32)

        of = np.flatnonzero(np.diff(ends))
        for together in np.split(of, np.flatnonzero(np.diff(ends[of] // TAKEN_AT_ONCE)) + 1):
            parts = self.tasks.run(self.each("sample", _taken, none, places, together.tolist()))
            for i, (own_X, own_y, own_weight) in zip(together, parts, strict=True):
                rows = order[ends[i] : ends[i + 1]]
                X[rows], y[rows] = own_X, own_y
                if weight is not None:
                    weight[rows] = own_weight
        return X, y, weight

    def labels_of(self, index: Indices) -> Array:
        """Labels of rows: they have none."""
        raise NotImplementedError

    def labels(self) -> Iterator[Array]:
        """Labels of all rows: they have none."""
        raise NotImplementedError

    @contextmanager
    def elsewhere(self, values: Array) -> "Iterator[ClusterRows]":
        """Context with the rows whose targets are none of these values, in their order; workers count them."""
        reader = replace(self._read_by, atoms=tuple(values.tolist()))
        pairs = zip(self._blocks, self._encoded, strict=True)
        counts = self.tasks.run([self.tasks.call("count", count, reader, *pair) for pair in pairs])
        yield ClusterRows(self.tasks, self._blocks, reader, counts, self._encoded)


@dataclass(frozen=True)
class ClusterTable(TableElsewhere[ClusterRows]):
    """Rows on a cluster, in the units of a model, as trees are fitted to them.

    `part_bytes` is the memory that sorted rows of a tree may take in one thread, a quarter of the most.
    """

    _turns: Semaphore = field(default_factory=lambda: Semaphore(TREES_AT_ONCE))

    def map_chunks(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """What a function returns for all rows in their order, some blocks at a time."""
        tasks, of = self.stored.tasks, self.stored.filled()
        at_once = max(1, 2 * tasks.n_threads)
        for start in range(0, len(of), at_once):
            shared = tasks.constant("function", (self.units, function))
            yield from tasks.run(self.stored.each("look", _called, shared, _nothing, of[start : start + at_once]))

    def checksums(self) -> list[int]:
        """Checksums of inputs, targets and weights of all blocks, standardised."""
        sums = np.array(list(self.map_chunks(_checksums)))
        return [checksum(column) for column in sums.T]

    def by_leaf(self, partition: BisectingTree, leaves_per_branch: int, workers: Workers) -> Iterator[SortedRows]:
        """Rows that are not held out, from the first leaf to the last: here, where they have to have room."""
        yield from self.map_by_leaf(_loaded, partition, leaves_per_branch, workers)

    def map_by_leaf(
        self,
        function: Callable[[LeafPart], Result],
        partition: BisectingTree,
        leaves_per_branch: int,
        workers: Workers,
    ) -> list[Result]:
        """What a function returns for the rows of some branches at a time, in their order; workers are the cluster's.

        Few trees at a time: the rows of each are in the memory of the workers once.
        """
        with self._turns:
            tasks, rows = self.stored.tasks, self.stored
            ends = self._ends(partition.n_blocks, leaves_per_branch)
            shared = tasks.constant("tree", (self.units, partition, ends))
            runs = rows.each("sort", _sorted_by_leaf, shared, self._own, rows.filled())
            pieces = [tasks.parts("rows", run, len(ends) - 1) for run in runs]
            solve = tasks.constant("models", function)
            parts = [
                tasks.call("solve", _solved, solve, [run[part] for run in pieces], int(ends[part]), int(ends[part + 1]))
                for part in range(len(ends) - 1)
            ]
            return [result for result, _ in tasks.run(parts, lambda solved: self.after_rows(solved[1]))]

    def _ends(self, n_leaves: int, leaves_per_branch: int) -> Indices:
        """Leaves at which parts begin and end."""
        n_bytes = self.n_rows * run_record(self.stored.n_inputs, self.stored.weighted).itemsize
        n_parts = max(min(PARTS, n_bytes // LEAST_PART_BYTES), -(-n_bytes // (MOST_PART_SHARES * self.part_bytes)), 1)
        n_branches = n_leaves // leaves_per_branch
        n_parts = min(n_branches, n_parts)
        return leaves_per_branch * (np.arange(n_parts + 1) * n_branches // n_parts)

    def _own(self, i: int) -> tuple[int, Indices]:
        """Number of a block's first row, and which of its rows are held out."""
        first, last = np.searchsorted(self.held_out, self.stored.starts[i : i + 2])
        return int(self.stored.starts[i]), self.held_out[first:last]


def _extremes(counts: Sequence[Counts]) -> tuple[float, ...]:
    found = [value for block in counts for value in block.extremes]
    return (min(found), max(found)) if found else ()


def _nothing(i: int) -> None:
    """What a block needs beside its rows, where that is nothing."""


def _of_block(
    function: Callable[[Columns, Any, Any], Result],
    reader: RowReader,
    block: Block,
    encoded: Encoded | None,
    shared: Any,  # noqa: ANN401
    own: Any,  # noqa: ANN401
) -> Result:
    """What a function returns for a block, which is read here."""
    try:
        return function(reader(block, encoded), shared, own)
    finally:
        give_back()


def _taken(columns: Columns, shared: None, places: Indices) -> Columns:
    X, y, weight = columns
    return X[places], y[places], None if weight is None else weight[places]


def _called(columns: Columns, shared: tuple[Standardizer, Callable[[Rows], Result]], own: None) -> Result:
    units, function = shared
    return function(units.rows(*columns))


def _checksums(rows: Rows) -> list[int]:
    return [checksum(column) for column in (rows.X, rows.y, rows.weight)]


def _sorted_by_leaf(
    columns: Columns, shared: tuple[Standardizer, BisectingTree, Indices], own: tuple[int, Indices]
) -> list[NDArray[Any]]:
    """Rows of a block for each part of a tree, each in memory of its own."""
    (units, partition, ends), (start, held_out) = shared, own
    rows = units.rows(*columns)
    run, places = with_one_blas_thread(lambda rows: sort_run(rows, start, partition, held_out, ends), rows)
    return [run[first:last].copy() for first, last in pairwise(places)]


def _loaded(part: LeafPart) -> SortedRows:
    return part.load()


def _solved(
    function: Callable[[LeafPart], Result], pieces: list[NDArray[Any]], first_leaf: int, end_leaf: int
) -> tuple[Result, int]:
    """What a function returns for the rows of some leaves, and how many they are."""
    rows = gather_runs(pieces, first_leaf, end_leaf)
    try:
        return with_one_blas_thread(function, rows), len(rows.index)
    finally:
        give_back()
