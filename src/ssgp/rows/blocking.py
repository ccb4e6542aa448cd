"""How an estimator's settings become a partition of its rows."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.checks import check_blocks
from ssgp.rows.bisecting_tree import HOST, Partitioner, grow_tree
from ssgp.rows.blocks import Rows, block_order
from ssgp.rows.kmeans import even_kmeans
from ssgp.rows.partition import NearestRow, Partition

__all__ = ["Blocking", "SampledBlocking", "choose_n_blocks", "indices_of_labels"]

# Even k-means looks at every pair of row and centre; beyond so many rows or pairs the tree takes over.
KMEANS_ROWS = 20_000
KMEANS_PAIRS = 4_000_000
SAMPLED_ROWS_PER_BLOCK = 48
# A block has at most so many times as many rows as there would be in each if all had the same number.
MOST_TIMES = 8


def choose_n_blocks(n_rows: int, n_frequencies: int) -> int:
    """Number of blocks of about 25 rows per feature, at least 200 rows."""
    return max(1, n_rows // max(200, 50 * n_frequencies))


def indices_of_labels(blocks: ArrayLike, fitted: NDArray[Any] | None, X: Array) -> Indices:
    """Indices of the blocks with these labels, one per row of X, shape (n,); sorted `fitted` (p,) are those of fit."""
    if fitted is None:
        raise ValueError("blocks can be given to predict only where they were given to fit")
    labels = check_blocks(blocks, X)
    try:
        indices = np.minimum(np.searchsorted(fitted, labels), len(fitted) - 1)
    except TypeError:
        raise ValueError(
            f"blocks has labels such as {labels.tolist()[0]!r}, and those in fit were such as {fitted.tolist()[0]!r}: "
            "labels have to be of one type"
        ) from None
    unknown = fitted[indices] != labels
    if unknown.any():
        raise ValueError(f"blocks has label {labels[unknown].tolist()[0]!r}, which was not among the blocks in fit")
    return indices


@dataclass(frozen=True)
class Blocking:
    """A recipe for blocks, followed anew whenever the metric has changed.

    Attributes
    ----------
    kind : {"auto", "kmeans", "tree"}
        How to partition.
    n_blocks : int
        Number of blocks.
    labels : int array of shape (n,) or None
        Blocks given by the user, 0..p-1, in the order of the rows.
    seed : int
        Seed of the partition's random choices.
    partitioner : Partitioner
        What grows trees.
    """

    kind: Literal["auto", "kmeans", "tree"]
    n_blocks: int
    labels: Indices | None
    seed: int
    partitioner: Partitioner = HOST

    def __call__(self, rows: Rows, metric: Array) -> tuple[Partition, Rows]:
        """The partition, and the rows sorted by its blocks."""
        metric = _relative(metric)
        if self.labels is not None:
            partition, labels = NearestRow.fit(rows.X, self.labels, metric), self.labels
        else:
            few = len(rows.y) <= KMEANS_ROWS and len(rows.y) * self.n_blocks <= KMEANS_PAIRS
            tree = partial(grow_tree, partitioner=self.partitioner)
            build = even_kmeans if self.kind == "kmeans" or (self.kind == "auto" and few) else tree
            partition, labels = build(rows.X, self.n_blocks, np.random.default_rng(self.seed), metric)
        return partition, rows.sort_by(labels, self.n_blocks)

    def sort(self, rows: Rows, metric: Array) -> Rows:
        """The sorted rows alone, where no new row has to find its block."""
        return self(rows, metric)[1] if self.labels is None else rows.sort_by(self.labels, self.n_blocks)


@dataclass(frozen=True)
class SampledBlocking:
    """Some blocks of a large table, each with all of its rows: as local as if all blocks were made.

    Attributes
    ----------
    n_blocks, n_kept : int
        Blocks the table is cut into, and how many of them are taken at random.
    seed : int
        Seed of the random choices.
    partitioner : Partitioner
        What grows the tree of blocks.
    """

    n_blocks: int
    n_kept: int
    seed: int
    partitioner: Partitioner = HOST
    labels: None = None

    def sort(self, rows: Rows, metric: Array) -> Rows:
        """Rows (in random order) of the blocks that are taken, sorted by block."""
        rng = np.random.default_rng(self.seed)
        sample = rows.X[: SAMPLED_ROWS_PER_BLOCK * self.n_blocks]
        tree, _ = grow_tree(sample, self.n_blocks, rng, _relative(metric), partitioner=self.partitioner)
        block = self.partitioner.leaves(tree, rows.X)
        # Rows that are alike are in one block, and may leave others empty.
        filled = np.unique(block)
        chosen = rng.choice(filled, min(self.n_kept, len(filled)), replace=False)
        number = np.full(self.n_blocks, -1)
        number[chosen] = np.arange(len(chosen))
        labels = number[block]
        kept = np.flatnonzero(labels >= 0)
        kept = kept[_rank(labels[kept], len(chosen)) < MOST_TIMES * len(rows.y) / self.n_blocks]
        return rows.reorder(kept, np.array([0, len(kept)])).sort_by(labels[kept], len(chosen))


def _relative(metric: Array) -> Array:
    """The metric in float32, over a power of two: blocks depend on ratios, and squares of units may overflow."""
    return np.ldexp(metric, -np.frexp(metric.max())[1]).astype(np.float32)


def _rank(labels: Indices, n_blocks: int) -> Indices:
    """How many rows of its block come before each."""
    order, bounds = block_order(labels, n_blocks)
    rank = np.empty(len(labels), np.int64)
    rank[order] = np.arange(len(labels)) - bounds[labels[order]]
    return rank
