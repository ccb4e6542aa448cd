"""The skeleton of a tree: where its leaves are, before any row fills them."""

from collections.abc import Sequence

import numpy as np

from ssgp._utils.arrays import Array
from ssgp._utils.wide import fewer_if_wide
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.tree import TreeShape, TreeSkeleton
from ssgp.rows.bisecting_tree import grow_tree, grow_trees
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
    rows: Rows, lengthscale: Array, features: LeafFeatures, shape: TreeShape, seeds: tuple[int, int]
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
    """
    rng = np.random.default_rng(seeds[0])
    partition, _ = grow_tree(rows.X, shape.n_leaves, rng, _metric(lengthscale), JITTER, rows.y)
    return TreeSkeleton(partition, features, seeds[1], shape.leaves_per_node)


def grow_together(
    rows: Rows,
    lengthscale: Array,
    features: Sequence[LeafFeatures],
    shape: TreeShape,
    seeds: Sequence[tuple[int, int]],
) -> list[TreeSkeleton]:
    """A tree for each pair of seeds, with features of its own, all grown at once."""
    rng = np.random.default_rng([seed for seed, _ in seeds])
    partitions = grow_trees(rows.X, shape.n_leaves, len(seeds), rng, _metric(lengthscale), JITTER, rows.y)
    return [
        TreeSkeleton(partition, own_features, seed, shape.leaves_per_node)
        for partition, own_features, (_, seed) in zip(partitions, features, seeds, strict=True)
    ]


def _metric(lengthscale: Array) -> Array:
    return (1.0 / lengthscale).astype(np.float32)
