"""Spectral trees, randomised balanced trees with a sparse spectrum model in every leaf, and forests of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ssgp.engine.threads import map_in_threads, n_threads, one_blas_thread
from ssgp.forest.branches import fill_branch
from ssgp.forest.calibration import Calibration, Components
from ssgp.forest.correction import Correction
from ssgp.forest.half_precision import Packed, pack
from ssgp.forest.leaf_features import Waves
from ssgp.forest.nodes import NodeArrays, SolvedNodes
from ssgp.rows.partition import BisectingTree, grow_tree
from ssgp.rows.row_tables import RowTable
from ssgp.rows.standardized import Rows
from ssgp.spectrum.noise import NoisePrior, fit_noise_prior

__all__ = ["Forest", "LeftOut", "Level", "SpectralTree", "TreeRecipe", "grow_partition", "plant"]

Array = NDArray[np.floating]
Labels = NDArray[np.integer]

# Predictions are made so many rows at a time,
CHUNK = 16384
# and products with them in this many: all of one shape, so that a row's prediction does not depend on
# which rows came with it.
TILE = 512
# A tree is grown on at most so many rows, or so many a leaf; all rows then find their leaves.
GROWING_ROWS = 200_000
GROWING_ROWS_PER_LEAF = 48


@dataclass(frozen=True)
class TreeRecipe:
    """How to grow and fill a tree.

    Attributes
    ----------
    groups : list of int
        Leaves under a node for each level that has models, from a branch to a leaf (1).
    n_leaves : int
        A power of two.
    n_sketches : int or None
        Rows of a leaf's covariance sketch; None keeps covariances exact.
    shrink : bool
        Whether leaves are shrunk towards their ancestors.
    jitter : float
        Randomness of the trees' directions.
    """

    groups: tuple[int, ...]
    n_leaves: int
    n_sketches: int | None
    shrink: bool
    jitter: float = 0.3

    @staticmethod
    def groups_of(depth: int, branch_depth: int = 4, stride: int = 2) -> tuple[int, ...]:
        """Every second level of the last four, of a tree of that depth."""
        depths = range(0, min(depth, branch_depth) + 1, stride)
        return tuple(2**k for k in reversed(depths))


@dataclass(frozen=True)
class Level:
    """Models of the nodes of one level of a tree.

    Attributes
    ----------
    group : int
        Leaves under a node.
    weights, sketch : Packed
        See `SolvedNodes`.
    count, rss : arrays of shape (p,), float32
        See `SolvedNodes`.
    noise_prior : NoisePrior
        Fitted to all nodes of the level.
    """

    group: int
    weights: Packed
    sketch: Packed
    count: Array
    rss: Array
    noise_prior: NoisePrior

    @cached_property
    def noise_variance(self) -> Array:
        """Of the nodes, shape (p,)."""
        return self.noise_prior.scale_after(self.rss) / self.noise_prior.shape_after(self.count)


@dataclass(frozen=True)
class SpectralTree:
    """A tree, the waves its leaves share, and the models of its leaves.

    Attributes
    ----------
    partition : BisectingTree
        The leaves.
    waves : Waves
        Features of its leaves' models.
    levels : tuple of Level
        From branches to leaves, or the one level that predicts.
    """

    partition: BisectingTree
    waves: Waves
    levels: tuple[Level, ...]

    def nbytes(self) -> int:
        """Bytes of the model."""
        models = sum(level.weights.nbytes + level.sketch.nbytes + level.count.nbytes * 2 for level in self.levels)
        tree = self.partition
        return models + tree.directions.nbytes + tree.thresholds.nbytes + tree.children.nbytes

    def mean_and_noise(self, X: Array, phi: Array) -> Array:
        """Predictive mean and noise variance of rows X (n, d) with features phi (n, q), shape (2, n)."""
        leaf = self.partition.assign(X)
        said = np.empty((len(self.levels), 2, len(X)))
        for level, (mean, noise) in zip(self.levels, said, strict=True):
            node = leaf // level.group
            mean[:] = level.weights.dot(phi, node)[:, 0]
            noise[:] = level.noise_variance[node]
        return said.mean(axis=0)

    def components(self, X: Array, phi: Array) -> Components:
        """What each level says of rows X (n, d) with features phi (n, q); shape (levels, n)."""
        leaf = self.partition.assign(X)
        means, leverages, shapes, scales = [], [], [], []
        for level in self.levels:
            node = leaf // level.group
            means.append(level.weights.dot(phi, node)[:, 0])
            projected = level.sketch.dot(phi, node)
            leverages.append(np.einsum("nk,nk->n", projected, projected))
            shapes.append(level.noise_prior.shape_after(level.count[node]))
            scales.append(level.noise_prior.scale_after(level.rss[node]))
        mean, leverage, shape, scale = (np.array(part, dtype=float) for part in (means, leverages, shapes, scales))
        return Components(mean, leverage, shape, scale)


def grow_partition(rows: Rows, lengthscale: Array, recipe: TreeRecipe, seed: int) -> BisectingTree:
    """A randomised balanced tree in the learned metric, grown on rows in random order."""
    n_rows = max(GROWING_ROWS, GROWING_ROWS_PER_LEAF * recipe.n_leaves)
    metric = (1.0 / lengthscale).astype(np.float32)
    rng = np.random.default_rng(seed)
    return grow_tree(rows.X[:n_rows], recipe.n_leaves, rng, metric, recipe.jitter, rows.y[:n_rows])[0]


@dataclass(frozen=True)
class LeftOut:
    """What a tree says of some of its own rows, each left out of it.

    Attributes
    ----------
    rows : int array of shape (k,)
        Which rows, each once.
    error : array of shape (levels, k), float32
        Target minus prediction.
    noise_variance : array of shape (levels, k), float32
        Of the row's nodes.
    """

    rows: Labels
    error: Array
    noise_variance: Array


def plant(
    table: RowTable,
    partition: BisectingTree,
    waves: Waves,
    ridge: float,
    recipe: TreeRecipe,
    seed: int,
    tested: Sequence[int] = (),
) -> tuple[SpectralTree, LeftOut | None]:
    """Fill a tree: one pass over the rows, branch by branch.

    Parameters
    ----------
    table : RowTable
        Training rows, in any order.
    partition : BisectingTree
        The leaves.
    waves : Waves
        The tree's features.
    ridge : float
        m noise / signal.
    recipe : TreeRecipe
        Levels and sketches.
    seed : int
        Of the sketches.
    tested : sequence of int
        Branches whose rows are also predicted by what the others leave of the tree.
    """
    signs = _signs(recipe.n_sketches, waves.n_features, seed)
    step, solutions = recipe.groups[0], [NodeArrays(recipe.n_leaves // group, signs) for group in recipe.groups]
    leaves, looked, errors = [], [], []
    for part in table.by_leaf(partition, step):
        for first in range(0, part.rows.n_blocks, step):
            bounds = part.rows.bounds[first : first + step + 1]
            inside = slice(bounds[0], bounds[-1])
            block, bounds = part.rows.part(inside), bounds - bounds[0]
            leave_out = (part.first_leaf + first) // step in tested
            solved, error = fill_branch(block, bounds, waves, recipe.groups, ridge, signs, recipe.shrink, leave_out)
            if error is not None:
                leaves.append(part.first_leaf + first + np.repeat(np.arange(step), np.diff(bounds)))
                looked.append(part.index[inside])
                errors.append(error)
            for solution, nodes in zip(solutions, solved, strict=True):
                solution.append(nodes)
    levels = _levels([solution.nodes for solution in solutions], recipe)
    tree = SpectralTree(partition, waves, levels)
    if not looked:
        return tree, None
    leaf = np.concatenate(leaves)
    noise = np.array([level.noise_variance[leaf // level.group] for level in levels], np.float32)
    return tree, LeftOut(np.concatenate(looked), np.concatenate(errors, axis=1), noise)


def _signs(n_sketches: int | None, size: int, seed: int) -> Array:
    """Rows of random signs S with E S^T S = I, or the identity."""
    if n_sketches is None or n_sketches >= size:
        return np.eye(size)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (n_sketches, size))
    return signs / np.sqrt(n_sketches)


def _levels(solved: list[SolvedNodes], recipe: TreeRecipe) -> tuple[Level, ...]:
    priors = [fit_noise_prior(nodes.count, nodes.rss) for nodes in solved]
    return tuple(
        Level(
            group,
            pack(nodes.weights[:, None], np.sqrt(prior.scale_after(nodes.rss) / prior.shape_after(nodes.count))),
            pack(nodes.sketch, np.full(len(nodes.count), 0.1)),
            nodes.count.astype(np.float32),
            nodes.rss.astype(np.float32),
            prior,
        )
        for group, nodes, prior in zip(recipe.groups, solved, priors, strict=True)
    )


@dataclass(frozen=True)
class Forest:
    """Trees, the correction of their common errors, and the calibration of their mixture.

    Attributes
    ----------
    trees : tuple of SpectralTree
        The trees.
    calibration : Calibration
        Of what they say, corrected.
    correction : Correction or None
        Of their means.
    """

    trees: tuple[SpectralTree, ...]
    calibration: Calibration
    correction: Correction | None = None

    def means(self, X: Array, n_jobs: int | None) -> Array:
        """Predictive mean of standardised rows X (n, d), shape (n,)."""
        out = np.empty((2, len(X)))

        def predict(start: int) -> None:
            some = X[start : start + CHUNK]
            said = [tree.mean_and_noise(some, phi) for tree, phi in self._with_features(some)]
            np.mean(said, axis=0, out=out[:, start : start + CHUNK])

        _in_chunks(len(X), predict, n_jobs)
        mean, noise = out
        return mean if self.correction is None else mean + self.correction(X, np.sqrt(noise), n_threads(n_jobs))

    def components(self, X: Array, n_jobs: int | None) -> Components:
        """What trees (and levels) say of standardised rows, shape (T, n)."""
        found: list[Components | None] = [None] * -(-len(X) // CHUNK)

        def predict(start: int) -> None:
            some = X[start : start + CHUNK]
            found[start // CHUNK] = Components.concatenate(
                [tree.components(some, phi) for tree, phi in self._with_features(some)], axis=0
            )

        _in_chunks(len(X), predict, n_jobs)
        said = Components.concatenate([part for part in found if part is not None], axis=1)
        if self.correction is None:
            return said
        return said.shifted(self.correction(X, said.noise_deviation(), n_threads(n_jobs)))

    def _with_features(self, X: Array) -> Iterator[tuple[SpectralTree, Array]]:
        """Trees with the features of a chunk of rows; trees that share their waves share the features."""
        n_tiles = -(-len(X) // TILE)
        joined = np.zeros((n_tiles * TILE, X.shape[1] + 1), dtype=X.dtype)
        joined[: len(X), :-1], joined[: len(X), -1] = X, 1.0
        tiles = joined.reshape(n_tiles, TILE, -1)
        waves, phi = None, joined
        for tree in self.trees:
            if tree.waves is not waves:
                waves, phi = tree.waves, tree.waves.features(tiles).reshape(len(joined), -1)[: len(X)]
            yield tree, phi

    def only(self, level: int) -> "Forest":
        """The forest with one level of models: counted from the branches (0), or backwards (-1, leaves)."""
        trees = tuple(replace(tree, levels=(tree.levels[level],)) for tree in self.trees)
        return replace(self, trees=trees)

    def nbytes(self) -> int:
        """Bytes of the model."""
        waves = {id(tree.waves): tree.waves.projection.nbytes for tree in self.trees}
        corrected = 0 if self.correction is None else self.correction.nbytes()
        return sum(tree.nbytes() for tree in self.trees) + sum(waves.values()) + corrected


def _in_chunks(n_rows: int, predict: Callable[[int], None], n_jobs: int | None) -> None:
    """Call `predict` with the start of every chunk, in threads."""
    with one_blas_thread():
        map_in_threads(predict, range(0, n_rows, CHUNK), n_jobs)
