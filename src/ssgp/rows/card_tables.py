"""Tables whose rows are on a card, where they are sorted by leaf for one tree after the other."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from ssgp._utils.arrays import Indices
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card
from ssgp.engine.on_card.descent import descend
from ssgp.engine.workers import Workers
from ssgp.rows.bisecting_tree import BisectingTree
from ssgp.rows.blocks import Rows
from ssgp.rows.leaf_runs import SortedRows
from ssgp.rows.row_tables import LeafPart, RowTable, SharedOut

__all__ = ["CardRows", "CardTable", "leaves_of_rows", "rows_on_card"]

Result = TypeVar("Result")

# Rows may take this share of a card's memory; those of larger tables come to it leaf by leaf, for each tree anew.
ROWS_SHARE = 0.25


@dataclass(frozen=True)
class CardRows:
    """Rows of some neighbouring leaves, sorted by leaf, on a card.

    Attributes
    ----------
    first_leaf : int
        The first of the leaves.
    X, y, weight : tensors of shape (n, d), (n,) and (n,), single precision; None for weights of one
        Inputs, targets and weights.
    bounds : int array of shape (p + 1,)
        Where leaves begin and end among the rows.
    index : int tensor of shape (n,)
        Numbers of the rows in the table.
    """

    first_leaf: int
    X: Tensor
    y: Tensor
    weight: Tensor | None
    bounds: Indices
    index: Tensor

    @classmethod
    def of(cls, card: Card, part: LeafPart) -> "CardRows":
        """Rows of a part of any table, on the card."""
        if isinstance(part, CardRows):
            return part
        loaded = part.load()
        X, y, weight = _sent(card, loaded.rows)
        return cls(loaded.first_leaf, X, y, weight, loaded.rows.bounds, card.send(loaded.index))

    def load(self) -> SortedRows:
        """The rows, in memory."""
        X, y, index = (values.cpu().numpy() for values in (self.X, self.y, self.index))
        weight = None if self.weight is None else self.weight.cpu().numpy()
        return SortedRows(self.first_leaf, Rows(X, y, weight, self.bounds), index)


@dataclass(frozen=True)
class CardTable(SharedOut):
    """A table whose rows are on a card as well.

    Attributes
    ----------
    table : RowTable
        The table.
    card : Card
        The card.
    X, y, weight : tensors of shape (n, d), (n,) and (n,), single precision; None for weights of one
        Its rows.
    held_out : int array
        Rows that trees are not fitted to.
    """

    table: RowTable
    card: Card
    X: Tensor
    y: Tensor
    weight: Tensor | None
    held_out: Indices

    @property
    def n_rows(self) -> int:
        """Number of rows, those held out among them."""
        return len(self.y)

    @property
    def total(self) -> float:
        """How many rows the table counts for."""
        return self.table.total

    def without(self, held_out: Indices) -> "CardTable":
        """The same table, with these rows held out of trees."""
        return replace(self, held_out=held_out)

    def take(self, index: Indices) -> Rows:
        """Rows of these numbers, in that order, as one block."""
        at = self.card.send(index)
        weight = None if self.weight is None else self.card.fetch(self.weight[at])
        X, y = self.card.fetch(self.X[at]), self.card.fetch(self.y[at])
        return Rows(X, y, weight, np.array([0, len(index)]))

    def map_chunks(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """What a function returns for all rows in their order, for as many at a time as are read together."""
        return self.table.map_chunks(function)

    def checksums(self) -> list[int]:
        """Numbers that tell tables apart: of inputs, targets and weights."""
        return self.table.checksums()

    def by_leaf(self, partition: BisectingTree, leaves_per_branch: int, workers: Workers) -> Iterator[CardRows]:
        """Rows that are not held out, from the first leaf to the last, as many branches at a time as memory allows."""
        leaf = leaves_of_rows(self.card, partition, self.X)
        leaf[self.card.send(self.held_out)] = partition.n_blocks
        counts = self.card.fetch(torch.bincount(leaf, minlength=partition.n_blocks + 1))[:-1]
        bounds = np.concatenate([[0], np.cumsum(counts)])
        order = torch.sort(leaf.to(torch.int32), stable=True).indices[: int(bounds[-1])]
        ends, first = bounds[::leaves_per_branch], 0
        most_rows = self.card.numbers_at_once // (self.X.shape[1] + 1)
        while first < len(ends) - 1:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + most_rows, side="right")) - 1)
            index = order[int(ends[first]) : int(ends[last])]
            own = bounds[first * leaves_per_branch : last * leaves_per_branch + 1] - ends[first]
            weight = None if self.weight is None else self.weight[index]
            yield CardRows(first * leaves_per_branch, self.X[index], self.y[index], weight, own, index)
            first = last


def leaves_of_rows(card: Card, partition: BisectingTree, X: Tensor) -> Tensor:
    """Leaf of each of rows (n, d) that are on the card, shape (n,)."""
    planes = partition.directions[None], partition.thresholds[None]
    return descend(X, *map(card.send, (*planes, partition.children)))[0]


def rows_on_card(card: Card, table: RowTable) -> RowTable:
    """The table with its rows on the card, where they leave room there for all else."""
    first = next(table.map_chunks(lambda rows: rows))
    bytes_per_row = 4 * (first.X.shape[1] + 1 + (first.weight is not None))
    if table.n_rows * bytes_per_row > ROWS_SHARE * card.memory:
        return table
    send = partial(_sent, card)
    X, y, weight = (_joined(parts) for parts in zip(*table.map_chunks(send), strict=True))
    return CardTable(table, card, X, y, weight, np.empty(0, np.int64))


def _sent(card: Card, rows: Rows) -> tuple[Tensor, Tensor, Tensor | None]:
    return card.send(rows.X), card.send(rows.y), None if rows.weight is None else card.send(rows.weight)


def _joined(parts: tuple[Tensor | None, ...]) -> Tensor | None:
    return parts[0] if len(parts) == 1 or parts[0] is None else torch.cat(parts)
