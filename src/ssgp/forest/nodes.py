"""Models of the nodes of a tree, solved from rows that are sorted by leaf.

A branch is a group of neighbouring leaves. Its rows are read once, every leaf's sums are taken, and the models are
solved from the branch down: a node's weights are shrunk towards its parent's, which have seen more rows, and the
branch's towards zero. What one leaf is too small to tell is left as its ancestors have it, so that small leaves do no
harm. Every node has a noise variance of its own, estimated under a prior that all nodes of a level make most probable.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.workers import ThreadWorkers, Workers
from ssgp.forest.branches import FEATURES_AT_ONCE, BranchSolver, Regressions
from ssgp.forest.leaf_features import LeafFeatures, StackedFeatures
from ssgp.forest.node_arrays import NodeArrays
from ssgp.forest.tree import Level, SpectralTree, TreeShape, TreeSkeleton
from ssgp.rows.leaf_runs import SortedRows
from ssgp.rows.row_tables import LeafPart, MemoryTable, RowTable
from ssgp.saving.contents import array
from ssgp.saving.kinds import stored

__all__ = ["LeaveOneOut", "finished_tree", "fit_tree", "fit_trees", "sketch_signs"]

# Rows per feature of the largest node of a level up to which the level is sooner solved in the space of their rows.
MOST_ROWS_PER_FEATURE = 0.6
# Numbers of sums over rows that are held at once.
SUMS_AT_ONCE = 3 << 20


@stored(
    {
        "rows": array("int64", "k", least=0),
        "error": array("float32", "levels", "k"),
        "noise_variance": array("float32", "levels", "k", least=0.0),
    },
    name="LeftOut",
)
@dataclass(frozen=True)
class LeaveOneOut:
    """Errors of a tree on some of its own rows, each left out of it.

    Attributes
    ----------
    rows : int array of shape (k,)
        Numbers of the rows in the table, each once.
    error : array of shape (levels, k), float32
        Target minus prediction.
    noise_variance : array of shape (levels, k), float32
        Noise variances of the rows' nodes.
    """

    rows: Indices
    error: Array
    noise_variance: Array

    def of_rows(self, numbers: Indices) -> Array:
        """Errors at the last level of rows of these numbers (k,), which are all there, shape (k,)."""
        order = np.argsort(self.rows)
        return self.error[-1][order[np.searchsorted(self.rows, numbers, sorter=order)]]


def fit_tree(
    table: RowTable,
    skeleton: TreeSkeleton,
    ridge: float,
    n_sketches: int | Literal["exact"],
    shrink: bool,
    leave_out: Collection[int] = (),
    workers: Workers | None = None,
) -> tuple[SpectralTree, LeaveOneOut | None]:
    """Fill a tree: one pass over the rows, branch by branch.

    Parameters
    ----------
    table : RowTable
        Training rows, in any order.
    skeleton : TreeSkeleton
        Leaves, features and levels.
    ridge : float
        Noise variance over the weights' prior variance: m noise / signal.
    n_sketches : int or "exact"
        Vectors that are kept of a node's covariance.
    shrink : bool
        Whether weights are shrunk towards the parent's, or all towards zero.
    leave_out : collection of int
        Branches whose rows are also predicted, each left out of the tree.
    workers : Workers or None
        Who shares the branches; None for the calling thread alone.
    """
    workers, shape = workers or ThreadWorkers(), skeleton.shape
    signs = sketch_signs(n_sketches, skeleton.features.n_features, skeleton.seed)
    solve = partial(_solve_part, skeleton.features, shape, ridge, signs, shrink, leave_out)
    parts = table.map_by_leaf(solve, skeleton.partition, shape.leaves_per_branch, workers)
    arrays = [NodeArrays.concatenate(level) for level in zip(*(solved for solved, _ in parts), strict=True)]
    levels = [level for a, size in zip(arrays, shape.leaves_per_node, strict=True) for level in a.levels(size, 1)]
    rows, leaves, errors = (
        np.concatenate(column, axis=-1) for column in zip(*(left for _, left in parts), strict=True)
    )
    return finished_tree(skeleton, levels, rows, leaves, errors)


def fit_trees(
    table: MemoryTable,
    skeletons: Sequence[TreeSkeleton],
    ridge: float,
    n_sketches: int | Literal["exact"],
    shrink: bool,
    leave_out: Sequence[Collection[int]],
) -> list[tuple[SpectralTree, LeaveOneOut | None]]:
    """The same for several trees of one shape at once, side by side as if they were one: much faster for small ones.

    Parameters
    ----------
    table, ridge, n_sketches, shrink : MemoryTable, float, int or "exact", bool
        See `fit_tree`.
    skeletons : sequence of TreeSkeleton
        The trees, with equally many leaves and features.
    leave_out : sequence of collections of int
        For each tree branches whose rows are also predicted, each left out of it.
    """
    n_trees, shape = len(skeletons), skeletons[0].shape
    features = StackedFeatures.of([skeleton.features for skeleton in skeletons])
    signs = np.stack([sketch_signs(n_sketches, features.n_features, skeleton.seed) for skeleton in skeletons])
    solver = NodeSolver(features, replace(shape, n_leaves=n_trees * shape.n_leaves), ridge, signs, shrink)
    part = table.by_leaf_of_each([skeleton.partition for skeleton in skeletons])
    branches = [number * shape.n_branches + branch for number, own in enumerate(leave_out) for branch in own]
    rows, leaves, errors = solver.add(part, branches)
    by_level = [a.levels(size, n_trees) for a, size in zip(solver.arrays, shape.leaves_per_node, strict=True)]
    ends = np.searchsorted(leaves, shape.n_leaves * np.arange(n_trees + 1))
    trees = []
    for number, (skeleton, levels) in enumerate(zip(skeletons, zip(*by_level, strict=True), strict=True)):
        own = slice(ends[number], ends[number + 1])
        trees.append(finished_tree(skeleton, levels, rows[own], leaves[own] - number * shape.n_leaves, errors[:, own]))
    return trees


def finished_tree(
    skeleton: TreeSkeleton, levels: Sequence[Level], rows: Indices, leaves: Indices, errors: Array
) -> tuple[SpectralTree, LeaveOneOut | None]:
    """A fitted tree, and errors (levels, k) of rows of these leaves that were left out of it."""
    tree = SpectralTree(skeleton.partition, skeleton.features, tuple(levels))
    if not len(rows):
        return tree, None
    noise = [level.noise_variance[leaves // level.leaves_per_node] for level in levels]
    return tree, LeaveOneOut(rows, errors, np.array(noise, np.float32))


def _solve_part(
    features: LeafFeatures,
    shape: TreeShape,
    ridge: float,
    signs: Array,
    shrink: bool,
    leave_out: Collection[int],
    part: LeafPart,
) -> "tuple[list[NodeArrays], tuple[Indices, Indices, Array]]":
    """Nodes of some branches, which are solved as a tree of their own, and errors of rows left out of them."""
    loaded = part.load()
    solver = NodeSolver(features, shape.part(loaded.rows.n_blocks), ridge, signs, shrink)
    first_branch = loaded.first_leaf // shape.leaves_per_branch
    rows, leaves, errors = solver.add(
        replace(loaded, first_leaf=0), [branch - first_branch for branch in leave_out if branch >= first_branch]
    )
    return solver.arrays, (rows, loaded.first_leaf + leaves, errors)


def sketch_signs(n_sketches: int | Literal["exact"], n_features: int, seed: int) -> Array:
    """Rows of random signs S with E S^T S = I, shape (k, q), or the identity."""
    if n_sketches == "exact" or n_sketches >= n_features:
        return np.eye(n_features)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (n_sketches, n_features))
    return signs / np.sqrt(n_sketches)


class NodeSolver:
    """Solves the nodes of a tree, or of several side by side, from rows sorted by leaf, some branches at a time.

    Parameters
    ----------
    features, shape, ridge, signs, shrink : LeafFeatures or StackedFeatures, TreeShape, float, array, bool
        See `Regressions`.
    """

    def __init__(
        self, features: LeafFeatures | StackedFeatures, shape: TreeShape, ridge: float, signs: Array, shrink: bool
    ) -> None:
        self.models = Regressions(features, shape, ridge, signs, shrink)
        sizes = [shape.n_leaves // size for size in shape.leaves_per_node]
        self.arrays = [NodeArrays(n_nodes, *signs.shape[-2:]) for n_nodes in sizes]

    def add(self, part: SortedRows, leave_out: Collection[int]) -> tuple[Indices, Indices, Array]:
        """Solve the branches of some rows.

        Returns
        -------
        rows, leaves : int arrays of shape (k,)
            Numbers in the table of the rows of branches in `leave_out`, and their leaves.
        errors : array of shape (levels, k), float32
            Errors of these rows, each left out of the tree.
        """
        per_branch = self.models.shape.leaves_per_branch
        sizes = np.diff(part.rows.bounds).reshape(-1, per_branch)
        left_out = np.isin(part.first_leaf // per_branch + np.arange(len(sizes)), np.fromiter(leave_out, np.int64))
        n_row_levels = self._row_levels(sizes)
        row_is_left_out = np.repeat(left_out, sizes.sum(axis=1))
        errors = np.empty((len(self.arrays), len(part.rows.y) if left_out.any() else 0), np.float32)
        kind = n_row_levels + (len(self.arrays) + 1) * left_out
        for alike in (np.flatnonzero(kind == k) for k in np.unique(kind)):
            n_levels, leave = int(n_row_levels[alike[0]]), left_out[alike[0]]
            for chunk in self._chunks(alike, sizes, n_levels):
                branch = BranchSolver(self.models, part.rows, chunk, part.first_leaf, n_levels)
                branch.solve(self.arrays)
                if leave:
                    branch.leave_one_out(errors)
        leaves = part.first_leaf + part.rows.labels[row_is_left_out]
        return part.index[row_is_left_out], leaves, errors[:, row_is_left_out[: errors.shape[1]]]

    def _row_levels(self, sizes: Indices) -> Indices:
        """How many of the last levels of branches with leaves of these sizes (b, l) are solved in the space of rows."""
        most, few = MOST_ROWS_PER_FEATURE * self.models.n_features, np.zeros(len(sizes), np.int64)
        for number, leaves in enumerate(reversed(self.models.shape.leaves_per_node[1:])):
            largest = leaves * sizes.reshape(len(sizes), -1, leaves).max(axis=(1, 2))
            few[(few == number) & (largest > 0) & (largest <= most)] += 1
        return few

    def _chunks(self, branches: Indices, sizes: Indices, n_row_levels: int) -> Iterator[Indices]:
        """As many of some branches at a time as memory allows; those that small nodes are solved in have no sums."""
        size, leaves_per_node = self.models.n_features, self.models.shape.leaves_per_node
        n_sums = sizes.shape[1] // leaves_per_node[len(leaves_per_node) - n_row_levels - 1]
        load = np.maximum(sizes.sum(axis=1) * size / FEATURES_AT_ONCE, n_sums * size**2 / SUMS_AT_ONCE)
        chunk = np.cumsum(load[branches]).astype(int)
        for number in np.unique(chunk):
            yield branches[chunk == number]
