"""Partitions of the input space into blocks.

All work on standardised inputs times a `metric`, one factor per input: with the inverse of the learned lengthscales the
blocks follow the function and not the units of the table.
"""

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from scipy.spatial import cKDTree  # pyright: ignore[reportAttributeAccessIssue]
from sklearn.metrics import pairwise_distances_argmin

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.threads import one_blas_thread, openmp_threads
from ssgp.saving.contents import INTEGERS, array, made_of
from ssgp.saving.kinds import stored

__all__ = ["NearestCentre", "NearestRow", "Partition"]


class Partition(Protocol):
    """Assigns rows to blocks."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        ...

    def assign(self, X: Array) -> Indices:
        """Block of each row of standardised inputs (n, d), shape (n,)."""
        ...


# Integers that NumPy joins with its own to integers, not to floats.
LABEL_TYPES = tuple(name for name in INTEGERS if name != "uint64")
# So far from zero that nothing is, and that squares are numbers.
COORDINATES = partial(array, ("float32", "float64"), least=-1e18, most=1e18)


@stored(
    {"centres": COORDINATES("p", "lifted"), "metric": COORDINATES("d")},
    relations=lambda p: [
        (len(p.centres) > 0, "there must be a centre"),
        (p.centres.shape[1] == len(p.metric) + 1, "centres must have one coordinate more than the metric"),
    ],
)
@dataclass(frozen=True)
class NearestCentre:
    """A row belongs to the block whose centre is nearest.

    Attributes
    ----------
    centres : array of shape (p, d + 1)
        Centres of the blocks, in the metric, and the root of what is added to squared distances.
    metric : array of shape (d,)
        Factor of each input.
    """

    centres: Array
    metric: Array

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.centres)

    def assign(self, X: Array) -> Indices:
        """Block of each row."""
        with one_blas_thread(), openmp_threads():
            return pairwise_distances_argmin(self.lift(X), self.centres)

    def lift(self, X: Array) -> Array:
        """Rows in the coordinates of the centres."""
        return np.column_stack([X * self.metric, np.zeros(len(X), X.dtype)])


@stored(
    {
        "tree": made_of(cKDTree, n=lambda tree: tree.n, d=lambda tree: tree.m),
        "labels": array(LABEL_TYPES, "n", least=0),
        "metric": COORDINATES("d"),
    },
    relations=lambda p: [(0 < len(p.labels) > p.labels.max(), "labels must be fewer than rows")],
)
@dataclass(frozen=True)
class NearestRow:
    """A row belongs to the block of the nearest training row: blocks may have any shape.

    Attributes
    ----------
    tree : cKDTree
        The training rows, in the metric.
    labels : int array of shape (n,)
        Their blocks, 0..p-1.
    metric : array of shape (d,)
        Factor of each input.
    """

    tree: cKDTree
    labels: Indices
    metric: Array

    @classmethod
    def fit(cls, X: Array, labels: Indices, metric: Array) -> "NearestRow":
        """Remember the rows of standardised inputs (n, d) and their blocks."""
        return cls(cKDTree(X * metric), labels, metric)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.labels.max()) + 1

    def assign(self, X: Array) -> Indices:
        """Block of each row."""
        return self.labels[self.tree.query(X * self.metric)[1]]
