"""Standardised rows, laid out so that every block is one contiguous slice.

Two orders are used: shuffled rows cut into equal runs are the random blocks that drive the gradient, and rows sorted by
the labels of a partition are the local blocks that predict. Either way a block costs one sequential read, whatever the
size of the table.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_even_slices

from ssgp._utils.arrays import Array, Indices
from ssgp.saving.contents import array, optional
from ssgp.saving.kinds import stored

__all__ = ["Block", "LabelledRows", "Rows", "block_order", "even_bounds", "sorted_labels"]

# Labels of fewer blocks, and of rows in none, are numbers of 16 bits.
SHORT_LABELS = 2**16 - 1


def _are_bounds(bounds: Indices, n_rows: int) -> bool:
    """Whether these are bounds of blocks of all rows, which are within them."""
    return bool(len(bounds) > 1 and bounds[0] == 0 and bounds[-1] == n_rows and (bounds[1:] >= bounds[:-1]).all())


@dataclass(frozen=True)
class Block:
    """Rows: X (n, d), y (n,) and their weights (n,), None for ones."""

    X: Array
    y: Array
    weight: Array | None = None

    @property
    def total(self) -> float:
        """How many rows the block counts for."""
        return float(len(self.y)) if self.weight is None else float(self.weight.sum(dtype=float))

    def part(self, rows: slice) -> "Block":
        """A slice of the rows, as views."""
        return Block(self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows])

    def weighted(self, by_row: Array) -> Array:
        """Rows of an array times their weights."""
        if self.weight is None:
            return by_row
        return by_row * (self.weight if by_row.ndim == 1 else self.weight[:, None])


@stored(
    {
        "X": array("float32", "n", "d"),
        "y": array("float32", "n"),
        "weight": optional(array("float32", "n", least=0.0)),
        "bounds": array("int64", "edges", least=0),
    },
    relations=lambda p: [(_are_bounds(p.bounds, len(p.y)), "bounds must rise from 0 to the number of rows")],
)
@dataclass(frozen=True)
class Rows:
    """Rows in blocks: block k is ``bounds[k]:bounds[k + 1]``.

    Attributes
    ----------
    X : array of shape (n, d), float32
        Standardised inputs.
    y : array of shape (n,), float32
        Standardised targets.
    weight : array of shape (n,) or None
        Sample weights, None for ones.
    bounds : int array of shape (p + 1,)
        Where the blocks begin and end.
    """

    X: Array
    y: Array
    weight: Array | None
    bounds: Indices

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.bounds) - 1

    @cached_property
    def total(self) -> float:
        """How many rows the table counts for."""
        return self._all.total

    @property
    def labels(self) -> Indices:
        """Block of each row, shape (n,)."""
        return np.repeat(np.arange(self.n_blocks), np.diff(self.bounds))

    def load(self) -> "Rows":
        """The rows, which are there."""
        return self

    def block(self, index: int) -> Block:
        """Block `index`, as views."""
        return self.part(slice(self.bounds[index], self.bounds[index + 1]))

    def part(self, rows: slice) -> Block:
        """A slice of the rows, as views."""
        return self._all.part(rows)

    @property
    def _all(self) -> Block:
        return Block(self.X, self.y, self.weight)

    def first(self, n_rows: int) -> "Rows":
        """The first rows, as views, in one block."""
        part = self.part(slice(n_rows))
        return Rows(part.X, part.y, part.weight, np.array([0, len(part.y)]))

    def reorder(self, order: Indices, bounds: Indices) -> "Rows":
        """Copy the rows in another order, with other blocks."""
        weight = None if self.weight is None else self.weight[order]
        return Rows(self.X[order], self.y[order], weight, bounds)

    def sort_by(self, labels: Indices, n_blocks: int) -> "Rows":
        """Copy the rows sorted by block label."""
        return self.reorder(*block_order(labels, n_blocks))

    def append(self, other: "Rows") -> "Rows":
        """Rows of both tables, as one block."""
        weight = None
        if self.weight is not None or other.weight is not None:
            ones = [np.ones(len(rows.y), np.float32) if rows.weight is None else rows.weight for rows in (self, other)]
            weight = np.concatenate(ones)
        X, y = np.concatenate([self.X, other.X]), np.concatenate([self.y, other.y])
        return Rows(X, y, weight, np.array([0, len(y)]))


@dataclass(frozen=True)
class LabelledRows(Rows):
    """Rows in one block, which a user has put into blocks of their own.

    Attributes
    ----------
    names : array of shape (p,)
        The user's labels, sorted.
    indices : int array of shape (n,)
        Index of each row's label.
    """

    names: NDArray[Any]
    indices: Indices

    @classmethod
    def of(cls, rows: Rows, labels: NDArray[Any]) -> Self:
        """Rows with a label for each (n,)."""
        return cls(rows.X, rows.y, rows.weight, rows.bounds, *sorted_labels(labels))


def sorted_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
    """Different labels among these (n,), sorted, and the index of each, shape (n,)."""
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = {type(label).__name__: label for label in labels.tolist()}
        found = ", ".join(f"{label!r} ({name})" for name, label in sorted(kinds.items()))
        raise ValueError(
            f"blocks has labels of several types, such as {found}: make them all text, or numbers"
        ) from None


def block_order(labels: Indices, n_blocks: int) -> tuple[Indices, Indices]:
    """Order that brings rows of a block together, and where the blocks then begin and end."""
    # Short numbers are sorted by their digits.
    short = labels.astype(np.uint16) if n_blocks < SHORT_LABELS else labels
    bounds = np.cumsum(np.bincount(labels, minlength=n_blocks + 1))[:n_blocks]
    return np.argsort(short, kind="stable"), np.concatenate([[0], bounds])


def even_bounds(n_rows: int, block_size: int) -> Indices:
    """Bounds of ceil(n / block_size) blocks that differ by at most one row."""
    n_blocks = max(1, -(-n_rows // block_size))
    slices = list(gen_even_slices(n_rows, n_blocks))
    return np.array([0, *(part.stop for part in slices)])
