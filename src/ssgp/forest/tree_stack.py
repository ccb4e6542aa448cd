"""Trees of one shape side by side: steps of a prediction are taken for as many of them as fit the cache, at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.descent import descend
from ssgp.forest.calibration import Components
from ssgp.forest.half_precision import dot_each
from ssgp.forest.leaf_features import LeafFeatures, features_in_tiles
from ssgp.forest.tree import Level, SpectralTree

__all__ = ["TreeStack", "stack_trees"]

# Bytes of hyperplanes that are copied side by side, at most.
STACKED_BYTES = 1 << 26
# Features that are computed at a time: few enough for the cache, enough for threads not to wait for each other.
FEATURES_AT_ONCE = 1 << 20
# Numbers of 16 bits, up to this one, are sorted in a tenth of the time.
MOST_SHORT = 2**16 - 1


@dataclass(frozen=True, eq=False)
class TreeStack:
    """Trees with equally many leaves, and features of one kind.

    Attributes
    ----------
    trees : tuple of SpectralTree
        The trees.
    directions, thresholds : arrays of shape (T, p - 1, d) and (T, p - 1)
        Hyperplanes of their nodes.
    """

    trees: tuple[SpectralTree, ...]
    directions: Array
    thresholds: Array

    @classmethod
    def of(cls, trees: Sequence[SpectralTree]) -> "TreeStack":
        """The stack of trees, without copying anything of a tree that is alone."""
        partitions = [tree.partition for tree in trees]
        if len(trees) == 1:
            return cls(tuple(trees), partitions[0].directions[None], partitions[0].thresholds[None])
        directions = np.stack([partition.directions for partition in partitions])
        return cls(tuple(trees), directions, np.stack([partition.thresholds for partition in partitions]))

    def prepare(self, n_rows: int, means_alone: bool) -> None:
        """Unpack what predictions of so many rows are made from: once, before threads that would each do so."""
        for level in (level for tree in self.trees for level in tree.levels):
            level.weights.prepare(n_rows)
            if not means_alone:
                level.sketch.prepare(n_rows)

    def means_and_noise(self, X: Array) -> tuple[Array, Array]:
        """Predictive means and noise variances of rows X (n, d), by the trees' first level: shapes (T, n)."""
        leaf, level = self._leaves(X), self._levels[0]
        (means,) = self._products(X, leaf, means_alone=True)
        return means[:, 0], level.noise_variance.take(level.places(leaf), mode="clip")

    def components(self, X: Array) -> Components:
        """Predictions of each level of each tree for rows X (n, d), shape (T levels, n)."""
        leaf = self._leaves(X)
        places = [level.places(leaf) for level in self._levels]
        noise = (
            np.stack([table.take(at, mode="clip") for table, at in zip(tables, places, strict=True)], axis=1)
            for tables in zip(*((level.shape, level.scale) for level in self._levels), strict=True)
        )
        parts = (*self._products(X, leaf, means_alone=False), *noise)
        return Components(*(part.reshape(-1, len(X)) for part in parts))

    def _leaves(self, X: Array) -> Indices:
        return descend(X, self.directions, self.thresholds, self.trees[0].partition.children)

    def _products(self, X: Array, leaf: Indices, means_alone: bool) -> list[Array]:
        """Means and leverages of rows X (n, d) at leaves (T, n), or means alone: shapes (T, levels, n)."""
        rows_at_once = max(1, FEATURES_AT_ONCE // self.trees[0].features.n_features)
        order = _neighbours(leaf[0]) if len(X) > rows_at_once else slice(None)
        X, leaf = X[order], leaf[:, order]
        nodes = [level.nodes(leaf) for level in self._levels]
        shape = (len(self.trees), len(self._levels), len(X))
        # In few large steps, each into its place: threads wait for each other between any two.
        found = [np.empty(shape, np.float32) for _ in range(1 if means_alone else 2)]
        for rows, trees, phi in self._with_features(X, rows_at_once):
            for k, (level, node) in enumerate(zip(self._levels, nodes, strict=True)):
                level.put_means(trees, phi, node[trees, rows], found[0][trees, k, rows])
                if not means_alone:
                    level.put_leverages(trees, phi, node[trees, rows], found[1][trees, k, rows])
        return [_in_places(part, order) for part in found]

    def _with_features(self, X: Array, rows_at_once: int) -> Iterator[tuple[slice, slice, Array]]:
        """Some rows and some trees at a time, with the features (T, n, q) of both: (1, n, q) where trees share them."""
        trees_at_once = max(1, rows_at_once // len(X))
        for start in range(0, len(X), rows_at_once):
            rows, shared, phi = slice(start, start + rows_at_once), None, X
            for first in range(0, len(self.trees), trees_at_once):
                trees, last = slice(first, first + trees_at_once), shared
                shared = _one_of_all([tree.features for tree in self.trees[trees]])
                if shared is None:
                    phi = features_in_tiles(X[rows], self._projections[trees], self.trees[0].features.n_cosines)
                elif shared is not last:
                    phi = shared.in_tiles(X[rows])[None]
                yield rows, trees, phi

    @cached_property
    def _projections(self) -> Array:
        return np.stack([tree.features.projection for tree in self.trees])

    @cached_property
    def _levels(self) -> tuple["_LevelStack", ...]:
        return tuple(_LevelStack(levels) for levels in zip(*(tree.levels for tree in self.trees), strict=True))


class _LevelStack:
    """The same level of several trees; nodes are numbered through all trees in tables of what nodes have."""

    def __init__(self, levels: tuple[Level, ...]) -> None:
        self._levels, self._leaves_per_node = levels, levels[0].leaves_per_node
        self._first = len(levels[0].count) * np.arange(len(levels))[:, None]
        self.shape, self.scale = (
            np.concatenate([part.astype(float) for part in parts])
            for parts in zip(*(level.noise_parameters for level in levels), strict=True)
        )
        self.noise_variance = self.scale / self.shape

    def nodes(self, leaf: Indices) -> Indices:
        """Nodes above leaves (T, n), counted in each tree."""
        return leaf if self._leaves_per_node == 1 else leaf // self._leaves_per_node

    def places(self, leaf: Indices) -> Indices:
        """Places of the nodes above leaves (T, n) in the tables."""
        return self.nodes(leaf) + self._first

    def put_means(self, trees: slice, phi: Array, node: Indices, out: Array) -> None:
        """Predictive means of rows with features (T or 1, n, q) at nodes (T, n) of some trees, into `out` (T, n)."""
        dot_each([level.weights for level in self._levels[trees]], phi, node, out[:, :, None])

    def put_leverages(self, trees: slice, phi: Array, node: Indices, out: Array) -> None:
        """Leverages of the same rows, into `out` (T, n)."""
        sketches = [level.sketch for level in self._levels[trees]]
        projected = np.empty((*node.shape, sketches[0].values.shape[1]), np.float32)
        dot_each(sketches, phi, node, projected)
        np.einsum("tnk,tnk->tn", projected, projected, out=out)


def _neighbours(leaf: Indices) -> Indices:
    """Places of all rows, sorted by their leaves (n,) in one tree: so they nearly are in the others, too."""
    return np.argsort(leaf.astype(np.uint16) if leaf.max() <= MOST_SHORT else leaf, kind="stable")


def _in_places(values: Array, order: Indices | slice) -> Array:
    """Values (..., n) of rows that were taken in an order, in double precision and in the places of the rows."""
    out = np.empty(values.shape)
    out[..., order] = values
    return out


def _one_of_all(features: list[LeafFeatures]) -> LeafFeatures | None:
    """The features that all of several trees have, if they share them."""
    return features[0] if all(each is features[0] for each in features) else None


def stack_trees(trees: tuple[SpectralTree, ...]) -> tuple[TreeStack, ...]:
    """Trees side by side in one stack, or each alone where they differ in kind or are large."""
    first = trees[0]
    alike = all(
        type(tree.features) is LeafFeatures
        and tree.features.projection.shape == first.features.projection.shape
        and tree.partition.directions.shape == first.partition.directions.shape
        and tree.partition.directions.dtype == first.partition.directions.dtype
        for tree in trees
    )
    if alike and len(trees) * first.partition.directions.nbytes <= STACKED_BYTES:
        return (TreeStack.of(trees),)
    return tuple(TreeStack.of([tree]) for tree in trees)
