"""Spectral trees: randomised balanced trees with a sparse spectrum model in every leaf."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ssgp.calibration import Calibration, Components
from ssgp.leaves import SolvedNodes, leaf_sums, log_pruning_weights, solve_branch
from ssgp.mixture import average
from ssgp.noise import NoisePrior, fit_noise_prior
from ssgp.objectives import Block
from ssgp.packing import Packed, pack
from ssgp.parameters import Hyperparameters
from ssgp.partition import BisectingTree, grow_tree
from ssgp.rows import Rows
from ssgp.threads import one_blas_thread

__all__ = ["Forest", "Level", "SpectralTree", "TreeRecipe", "grow_partition", "plant"]

Array = NDArray[np.floating]
Labels = NDArray[np.integer]

# Predictions are made so many rows at a time: every chunk has the same shape, so a row's
# prediction does not depend on which rows came with it.
CHUNK = 2048
# A tree is grown on at most so many rows, or so many a leaf; all rows then find their leaves.
GROWING_ROWS = 200_000
GROWING_ROWS_PER_LEAF = 32


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
    average_prunings : bool
        Whether a row is predicted by all nodes on its path, weighted by the average over prunings.
    jitter : float
        Randomness of the trees' directions.
    """

    groups: tuple[int, ...]
    n_leaves: int
    n_sketches: int | None
    shrink: bool
    average_prunings: bool
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
    log_weight : array of shape (p,), or None
        Of the node in the average over prunings, where it is taken.
    """

    group: int
    weights: Packed
    sketch: Packed
    count: Array
    rss: Array
    noise_prior: NoisePrior
    log_weight: Array | None


@dataclass(frozen=True)
class SpectralTree:
    """A tree, the waves its leaves share, and the models of its leaves.

    Attributes
    ----------
    partition : BisectingTree
        The leaves.
    projection : array of shape (d + 1, q), float32
        Takes [x, 1] to the phases of 2m cosines (a sine is a cosine, a quarter turn late) and to the
        1 + d constant and linear features.
    n_waves : int
        2m.
    levels : tuple of Level
        From branches to leaves, or the one level that predicts.
    """

    partition: BisectingTree
    projection: Array
    n_waves: int
    levels: tuple[Level, ...]

    def features(self, joined: Array) -> Array:
        """Features of rows [x, 1] (n, d + 1), shape (n, q)."""
        phi = joined @ self.projection
        np.cos(phi[:, : self.n_waves], out=phi[:, : self.n_waves])
        return phi

    def nbytes(self) -> int:
        """Bytes of the model."""
        models = sum(level.weights.nbytes + level.sketch.nbytes + level.count.nbytes * 2 for level in self.levels)
        tree = self.partition
        return models + tree.directions.nbytes + tree.thresholds.nbytes + tree.children.nbytes + self.projection.nbytes

    def components(self, joined: Array, n_rows: int, with_leverage: bool) -> Components:
        """What each level says of the first `n_rows` of rows [x, 1]; shape (levels, n)."""
        leaf = self.partition.assign(joined[:n_rows, :-1])
        phi = self.features(joined)[:n_rows]
        means, leverages, shapes, scales, shares = [], [], [], [], []
        for level in self.levels:
            node = leaf // level.group
            means.append(level.weights.dot(phi, node)[:, 0])
            if level.log_weight is not None:
                shares.append(np.exp(level.log_weight[node]))
            if with_leverage:
                projected = level.sketch.dot(phi, node)
                leverages.append(np.einsum("nk,nk->n", projected, projected))
                shapes.append(level.noise_prior.shape_after(level.count)[node])
                scales.append(level.noise_prior.scale_after(level.rss)[node])
        mean, share = np.array(means, dtype=float), np.array(shares) if shares else None
        if not with_leverage:
            return Components(mean, mean, mean, mean, share)
        return Components(mean, *(np.array(part, dtype=float) for part in (leverages, shapes, scales)), share)


def _projection(frequencies: Array, lengthscale: Array) -> Array:
    m, d = frequencies.shape
    waves = 2.0 * np.pi * np.tile(frequencies.T, 2)
    late = np.concatenate([np.zeros(m), np.full(m, -0.5 * np.pi)])
    slopes = np.diag(np.sqrt(m / d) / lengthscale)
    top = np.concatenate([waves, np.zeros((d, 1)), slopes], axis=1)
    bottom = np.concatenate([late, [np.sqrt(m)], np.zeros(d)])
    return np.concatenate([top, bottom[None]]).astype(np.float32)


def join_one(X: Array) -> Array:
    """Rows [x, 1]."""
    return np.concatenate([X, np.ones((len(X), 1), X.dtype)], axis=1)


def grow_partition(rows: Rows, hyperparameters: Hyperparameters, recipe: TreeRecipe, seed: int) -> BisectingTree:
    """A randomised balanced tree in the learned metric, grown on rows in random order."""
    n_rows = max(GROWING_ROWS, GROWING_ROWS_PER_LEAF * recipe.n_leaves)
    metric = (1.0 / hyperparameters.lengthscale).astype(np.float32)
    rng = np.random.default_rng(seed)
    return grow_tree(rows.X[:n_rows], recipe.n_leaves, rng, metric, recipe.jitter)[0]


def plant(
    rows: Rows,
    partition: BisectingTree,
    frequencies: Array,
    hyperparameters: Hyperparameters,
    recipe: TreeRecipe,
    seed: int,
) -> SpectralTree:
    """Fill a tree: one pass over the rows, branch by branch.

    Parameters
    ----------
    rows : Rows
        Training rows, in any order.
    partition : BisectingTree
        The leaves.
    frequencies : array of shape (m, d)
        The tree's draw of theta.
    hyperparameters : Hyperparameters
        For the ridge and the lengthscales.
    recipe : TreeRecipe
        Levels and sketches.
    seed : int
        Of the sketches.
    """
    tree = SpectralTree(partition, _projection(frequencies, hyperparameters.lengthscale), 2 * len(frequencies), ())
    size, ridge = tree.projection.shape[1], hyperparameters.ridge(len(frequencies))
    signs = _signs(recipe.n_sketches, size, seed)
    by_leaf = rows.sort_by(partition.assign(rows.X), recipe.n_leaves)
    step, branches = recipe.groups[0], []
    for first in range(0, recipe.n_leaves, step):
        bounds = by_leaf.bounds[first : first + step + 1]
        part = slice(bounds[0], bounds[-1])
        block = Block(by_leaf.X[part], by_leaf.y[part], None if by_leaf.weight is None else by_leaf.weight[part])
        sums = leaf_sums(tree.features(join_one(block.X)), block, bounds - bounds[0])
        branches.append([_stored(s) for s in solve_branch(sums, list(recipe.groups), ridge, signs, recipe.shrink)])
    return replace(tree, levels=_levels([SolvedNodes.concatenate(list(s)) for s in zip(*branches)], recipe))


def _stored(nodes: SolvedNodes) -> SolvedNodes:
    """Half the memory while the other branches are solved."""
    return replace(nodes, weights=nodes.weights.astype(np.float32), sketch=nodes.sketch.astype(np.float32))


def _signs(n_sketches: int | None, size: int, seed: int) -> Array:
    """Rows of random signs S with E S^T S = I, or the identity."""
    if n_sketches is None or n_sketches >= size:
        return np.eye(size)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (n_sketches, size))
    return signs / np.sqrt(n_sketches)


def _levels(solved: list[SolvedNodes], recipe: TreeRecipe) -> tuple[Level, ...]:
    priors = [fit_noise_prior(nodes.count, nodes.rss) for nodes in solved]
    log_weights: list[Array] | list[None] = [None] * len(solved)
    if recipe.average_prunings:
        log_weights = log_pruning_weights(
            [
                prior.log_evidence(nodes.count, nodes.rss) - 0.5 * nodes.log_determinant
                for prior, nodes in zip(priors, solved, strict=True)
            ]
        )
    return tuple(
        Level(
            group,
            pack(nodes.weights[:, None], np.sqrt(prior.scale_after(nodes.rss) / prior.shape_after(nodes.count))),
            pack(nodes.sketch, np.full(len(nodes.count), 0.1)),
            nodes.count.astype(np.float32),
            nodes.rss.astype(np.float32),
            prior,
            log_weight,
        )
        for group, nodes, prior, log_weight in zip(recipe.groups, solved, priors, log_weights, strict=True)
    )


@dataclass(frozen=True)
class Forest:
    """Trees, and the calibration of their mixture.

    Attributes
    ----------
    trees : tuple of SpectralTree
        The trees.
    calibration : Calibration
        Of what they say.
    """

    trees: tuple[SpectralTree, ...]
    calibration: Calibration

    def means(self, X: Array, n_jobs: int | None) -> Array:
        """Predictive mean of standardised rows X (n, d), shape (n,)."""
        out = np.empty(len(X))

        def predict(part: slice, chunk: Array) -> None:
            parts = [tree.components(chunk, part.stop - part.start, False) for tree in self.trees]
            out[part] = np.mean([average(of.mean, of.share) for of in parts], axis=0)

        self._by_chunk(X, predict, n_jobs)
        return out

    def components(self, X: Array, n_jobs: int | None) -> Components:
        """What trees (and levels) say of standardised rows, shape (T, n)."""
        found: list[Components | None] = [None] * -(-len(X) // CHUNK)

        def predict(part: slice, chunk: Array) -> None:
            of = [tree.components(chunk, part.stop - part.start, True) for tree in self.trees]
            joined = Components.concatenate(of, axis=0)
            if joined.share is not None:
                joined = replace(joined, share=joined.share / len(self.trees))
            found[part.start // CHUNK] = joined

        self._by_chunk(X, predict, n_jobs)
        return Components.concatenate([part for part in found if part is not None], axis=1)

    @staticmethod
    def _by_chunk(X: Array, predict: Callable[[slice, Array], None], n_jobs: int | None) -> None:
        def task(start: int) -> None:
            stop = min(start + CHUNK, len(X))
            chunk = np.ones((CHUNK, X.shape[1] + 1), dtype=X.dtype)
            chunk[: stop - start, :-1] = X[start:stop]
            chunk[stop - start :, :-1] = 0.0
            predict(slice(start, stop), chunk)

        with one_blas_thread():
            starts = range(0, len(X), CHUNK)
            Parallel(n_jobs=n_jobs, prefer="threads", require="sharedmem")(delayed(task)(s) for s in starts)

    def only(self, level: int) -> "Forest":
        """The forest with one level of models: counted from the branches (0), or backwards (-1, leaves)."""
        trees = tuple(replace(tree, levels=(tree.levels[level],)) for tree in self.trees)
        return replace(self, trees=trees)

    def nbytes(self) -> int:
        """Bytes of the model."""
        return sum(tree.nbytes() for tree in self.trees)
