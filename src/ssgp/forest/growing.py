"""The skeleton of a tree: where its leaves are, before any row fills them."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.wide import CHOSEN_INPUTS, WIDE, fewer_if_wide, largest
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.tree import TreeShape, TreeSkeleton
from ssgp.rows.bisecting_tree import HOST, BisectingTree, Partitioner, grow_tree, grow_trees
from ssgp.rows.blocks import Rows

__all__ = ["grow_skeleton", "grow_together", "n_growing_rows"]

# A tree is grown on at most so many rows, or so many per leaf.
GROWING_ROWS = 200_000
GROWING_ROWS_PER_LEAF = 48
# Randomness of the cuts' directions, relative to their length.
JITTER = 0.3


def n_growing_rows(n_inputs: int, n_leaves: int) -> int:
    """Rows that a tree of so many leaves is grown on, at most."""
    return max(fewer_if_wide(GROWING_ROWS, n_inputs), GROWING_ROWS_PER_LEAF * n_leaves)


def grow_skeleton(
    rows: Rows,
    lengthscale: Array,
    features: LeafFeatures,
    shape: TreeShape,
    seeds: tuple[int, int],
    partitioner: Partitioner = HOST,
) -> TreeSkeleton:
    """A randomised balanced tree in the learned metric.

    Parameters
    ----------
    rows : Rows
        Training rows in random order, at most `n_growing_rows`: all rows then find their leaves.
    lengthscale : array of shape (d,)
        Learned lengthscales: an input of a long one does not cut.
    features : LeafFeatures
        Features of the leaves' models.
    shape : TreeShape
        Leaves and levels.
    seeds : pair of int
        Seeds of the cuts and of the sketches.
    partitioner : Partitioner
        What grows it.
    """
    rng = np.random.default_rng(seeds[0])
    X, metric, jitter, inputs = _cut_by(rows.X, lengthscale)
    partition, _ = grow_tree(X, shape.n_leaves, rng, metric, jitter, rows.y, partitioner)
    return TreeSkeleton(_among(partition, inputs, len(lengthscale)), features, seeds[1], shape.leaves_per_node)


def grow_together(
    rows: Rows,
    lengthscale: Array,
    features: Sequence[LeafFeatures],
    shape: TreeShape,
    seeds: Sequence[tuple[int, int]],
    partitioner: Partitioner = HOST,
) -> list[TreeSkeleton]:
    """A tree for each pair of seeds, with features of its own, all grown at once."""
    rng = np.random.default_rng([seed for seed, _ in seeds])
    X, metric, jitter, inputs = _cut_by(rows.X, lengthscale)
    partitions = grow_trees(X, shape.n_leaves, len(seeds), rng, metric, jitter, rows.y, partitioner)
    return [
        TreeSkeleton(_among(partition, inputs, len(lengthscale)), own_features, seed, shape.leaves_per_node)
        for partition, own_features, (_, seed) in zip(partitions, features, seeds, strict=True)
    ]


def _cut_by(X: Array, lengthscale: Array) -> tuple[Array, Array, float, Indices | None]:
    """Inputs that trees are cut by: of many those of the shortest lengthscales, along which rows differ most.

    Returns
    -------
    X : array of shape (n, t)
        Rows of these inputs.
    metric : array of shape (t,), float32
        Factors of them in distances.
    jitter : float
        Randomness of the cuts' directions: the share of it that falls to these inputs.
    inputs : int array of shape (t,) or None
        Which they are, None for all.
    """
    metric = (1.0 / lengthscale).astype(np.float32)
    if len(lengthscale) <= WIDE:
        return X, metric, JITTER, None
    inputs = largest(metric, CHOSEN_INPUTS)
    return X[:, inputs], metric[inputs], JITTER * sqrt(len(inputs) / len(lengthscale)), inputs


def _among(partition: BisectingTree, inputs: Indices | None, n_inputs: int) -> BisectingTree:
    """A tree that is cut by some inputs as one of rows that have more."""
    if inputs is None:
        return partition
    directions = np.zeros((len(partition.directions), n_inputs), partition.directions.dtype)
    directions[:, inputs] = partition.directions
    return replace(partition, directions=directions)
