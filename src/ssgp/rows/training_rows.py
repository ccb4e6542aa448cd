"""Rows that a model is fitted to: a table and a sample of it, and which of them are held out together."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp.rows.blocks import Rows
from ssgp.rows.row_groups import folds_of_groups, folds_of_rows
from ssgp.rows.row_order import parts_in_time
from ssgp.rows.row_tables import MemoryTable, RowTable

__all__ = ["TrainingRows"]

# More rows of a part in time make a calibration no better.
MOST_OF_A_PART = 20_000


@dataclass(frozen=True)
class TrainingRows:
    """A table and a sample of it.

    Attributes
    ----------
    sample : Rows
        Random rows in random order: frequencies are learned from them, trees grown on them, and some of them held out.
        All rows of a table that is not large.
    table : RowTable
        All rows, which fill the leaves.
    places : int array
        Where in the table the rows of the sample are.
    groups : int array or None
        Groups of the rows of the sample; None where every row is alone.
    groups_of_table : callable or None
        Returns groups of all rows of the table, in its order and in parts; None where the sample has all rows.
    ordered : bool
        Whether groups are parts in the order of time: each but the first is held out, with all after it, in turn.
    """

    sample: Rows
    table: RowTable
    places: Indices
    groups: NDArray[np.integer] | None = None
    groups_of_table: Callable[[], Iterable[NDArray[np.integer]]] | None = None
    ordered: bool = False

    @classmethod
    def of(cls, table: RowTable, places: Indices) -> "TrainingRows":
        """A table with a sample of the rows of these numbers."""
        return cls(table.take(places), table, places)

    @classmethod
    def in_random_order(cls, rows: Rows, most_sampled: int | None = None) -> "TrainingRows":
        """A table in random order, which is a sample itself, or of which so many of the first rows are."""
        if most_sampled is None or len(rows.y) <= most_sampled:
            return cls(rows, MemoryTable(rows), np.arange(len(rows.y)))
        return cls.of(MemoryTable(rows), np.arange(most_sampled))

    def first(self, n_rows: int) -> "TrainingRows":
        """The first rows of the sample alone."""
        first = TrainingRows.in_random_order(self.sample.reorder(np.arange(n_rows), np.array([0, n_rows])))
        return first if self.groups is None else replace(first, groups=self.groups[:n_rows], ordered=self.ordered)

    def labelled(
        self, kind: Literal["groups", "time"] | None, of_sample: Array, of_table: Callable[[], Iterable[Array]]
    ) -> "TrainingRows":
        """The same rows with labels of this kind: those of the sample and, in parts, those of the whole table."""
        return self.in_time(of_sample, of_table) if kind == "time" else self.in_groups(of_sample, of_table)

    def in_groups(self, of_sample: Array, of_table: Callable[[], Iterable[Array]]) -> "TrainingRows":
        """The same rows in groups of these numbers."""

        def numbers(groups: Array) -> Indices:
            return groups.astype(np.int64)

        return replace(self, groups=numbers(of_sample), groups_of_table=lambda: map(numbers, of_table()))

    def in_time(self, of_sample: Array, of_table: Callable[[], Iterable[Array]]) -> "TrainingRows":
        """The same rows at these times, in parts one after the other."""
        starts = parts_in_time(of_sample)

        def numbers(times: Array) -> Array:
            return np.searchsorted(starts, times, side="right").astype(float)

        return replace(self.in_groups(numbers(of_sample), lambda: map(numbers, of_table())), ordered=True)

    def folds(self, n_folds: int, n_held_out: int) -> list[Indices]:
        """Numbers of the sample's rows that are held out in each fold: so many or, of groups, about so many."""
        if self.groups is None:
            return folds_of_rows(len(self.sample.y), n_folds, n_held_out)
        if self.ordered:
            parts = np.unique(self.groups)[1:]
            return [np.flatnonzero(self.groups == part)[:MOST_OF_A_PART] for part in parts]
        return folds_of_groups(self.groups, n_folds, n_held_out)

    def hold_out(self, held_out: Indices) -> tuple[Rows, Rows, RowTable]:
        """Rows of the sample of these numbers, the rest, and the table without these and others of their groups.

        Of parts in the order of time, later ones are in neither.
        """
        rest = np.delete(np.arange(len(self.sample.y)), held_out)
        if self.ordered and self.groups is not None:
            rest = np.flatnonzero(self.groups < self.groups[held_out[0]])
        taken, left = (self.sample.reorder(part, np.array([0, len(part)])) for part in (held_out, rest))
        return taken, left, self.table.without(self._in_table(held_out))

    def alone(self, rows: Indices) -> Mask:
        """Which of the sample's rows of these numbers (k,) share their group with no other row of the table."""
        if self.groups is None:
            return np.ones(len(rows), bool)
        groups, which = np.unique(self.groups[rows], return_inverse=True)
        counts = np.zeros(len(groups), np.int64)
        for part in self._groups_in_parts():
            present, number = np.unique(part, return_counts=True)
            _, place, own = np.intersect1d(present, groups, assume_unique=True, return_indices=True)
            counts[own] += number[place]
        return (counts == 1)[which]

    def _groups_in_parts(self) -> Iterable[NDArray[np.integer]]:
        """Groups of all rows of the table."""
        if self.groups_of_table is not None and len(self.places) < self.table.n_rows:
            return self.groups_of_table()
        return [] if self.groups is None else [self.groups]

    def _in_table(self, held_out: Indices) -> Indices:
        """Numbers in the table of these rows of the sample, of all others of their groups, and of later parts."""
        if self.groups is None:
            return self.places[held_out]
        groups = np.unique(self.groups[held_out])

        def chosen(part: NDArray[np.integer]) -> Mask:
            return part >= groups[0] if self.ordered else np.isin(part, groups)

        if self.groups_of_table is None or len(self.places) == self.table.n_rows:
            return self.places[chosen(self.groups)]
        start, found = 0, list[Indices]()
        for part in self.groups_of_table():
            found.append(start + np.flatnonzero(chosen(part)))
            start += len(part)
        return np.concatenate(found)
