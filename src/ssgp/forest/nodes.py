"""Models of the nodes of a tree, solved from rows that are sorted by leaf.

A branch is a group of neighbouring leaves. Its rows are read once, every leaf's sums are taken, and the models are
solved from the branch down: a node's weights are shrunk towards its parent's, which have seen more rows, and the
branch's towards zero. What one leaf is too small to tell is left as its ancestors have it, so that small leaves do no
harm. Every node has a noise variance of its own, estimated under a prior that all nodes of a level make most probable.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.wide import WIDE
from ssgp.engine.leave_one_out import inverse_of_factor, leave_one_out
from ssgp.engine.ridge import LeafSums, RidgeSolution, needs_double, solve_ridge, sum_products
from ssgp.engine.row_ridge import RowRidge, factorize_rows
from ssgp.engine.stacks import LeafStack, stack_leaves
from ssgp.engine.workers import ThreadWorkers, Workers
from ssgp.forest.half_precision import to_half_precision
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.tree import Level, SpectralTree, TreeShape, TreeSkeleton
from ssgp.rows.blocks import Rows
from ssgp.rows.row_tables import LeafRows, RowTable, SortedRows
from ssgp.saving.contents import array
from ssgp.saving.kinds import stored
from ssgp.spectrum.noise import fit_noise_prior

__all__ = ["LeaveOneOut", "fit_tree"]

# Noise variance over signal variance from which residual sums of squares may be taken from float32 sums.
NOISY = 0.02
# Standardised targets beyond which squares are not summed in float32, which ends at 3e38.
MOST_SINGLE_TARGET = 1e12
# Rows per feature of the largest leaf up to which leaves are sooner solved in the space of their rows.
MOST_ROWS_PER_FEATURE = 0.6
# Numbers of features, and of sums over rows, that are held at once.
FEATURES_AT_ONCE = 1 << 20
SUMS_AT_ONCE = 1 << 20
# Numbers of inputs of wide rows that are gathered at once.
INPUTS_AT_ONCE = 1 << 21
# Rounding of a sketch is held against this much of a leverage's root.
SKETCH_TOLERANCE = 0.1


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
    parts = workers.map(solve, table.by_leaf(skeleton.partition, shape.leaves_per_branch, workers))
    arrays = [NodeArrays.concatenate(level) for level in zip(*(solved for solved, _ in parts), strict=True)]
    levels = tuple(a.level(size) for a, size in zip(arrays, shape.leaves_per_node, strict=True))
    tree = SpectralTree(skeleton.partition, skeleton.features, levels)
    rows, leaves, errors = (
        np.concatenate(column, axis=-1) for column in zip(*(left for _, left in parts), strict=True)
    )
    if not len(rows):
        return tree, None
    noise = [level.noise_variance[leaves // level.leaves_per_node] for level in tree.levels]
    return tree, LeaveOneOut(rows, errors, np.array(noise, np.float32))


def _solve_part(
    features: LeafFeatures,
    shape: TreeShape,
    ridge: float,
    signs: Array,
    shrink: bool,
    leave_out: Collection[int],
    part: SortedRows | LeafRows,
) -> "tuple[list[NodeArrays], tuple[Indices, Indices, Array]]":
    """Nodes of some branches, which are solved as a tree of their own, and errors of rows left out of them."""
    part = part.load()
    solver = NodeSolver(features, shape.part(part.rows.n_blocks), ridge, signs, shrink)
    first_branch = part.first_leaf // shape.leaves_per_branch
    rows, leaves, errors = solver.add(
        replace(part, first_leaf=0), [branch - first_branch for branch in leave_out if branch >= first_branch]
    )
    return solver.arrays, (rows, part.first_leaf + leaves, errors)


def sketch_signs(n_sketches: int | Literal["exact"], n_features: int, seed: int) -> Array:
    """Rows of random signs S with E S^T S = I, shape (k, q), or the identity."""
    if n_sketches == "exact" or n_sketches >= n_features:
        return np.eye(n_features)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (n_sketches, n_features))
    return signs / np.sqrt(n_sketches)


class NodeArrays:
    """Models of the nodes of a level, filled in some branches at a time; vectors are in single precision.

    Parameters
    ----------
    n_nodes : int
        p.
    n_sketches, n_features : int
        k and q.
    """

    def __init__(self, n_nodes: int, n_sketches: int, n_features: int) -> None:
        self.weights = np.empty((n_nodes, n_features), np.float32)
        self.sketch = np.empty((n_nodes, n_sketches, n_features), np.float32)
        self.count, self.rss = np.empty(n_nodes), np.empty(n_nodes)

    @classmethod
    def concatenate(cls, parts: "Sequence[NodeArrays]") -> "NodeArrays":
        """Nodes of several parts, one after the other."""
        joined = cls.__new__(cls)
        for name in ("weights", "sketch", "count", "rss"):
            setattr(joined, name, np.concatenate([getattr(part, name) for part in parts]))
        return joined

    def put(self, nodes: Indices, weights: Array, sketch: Array, count: Array, rss: Array) -> None:
        """Keep the models of some nodes."""
        self.weights[nodes], self.sketch[nodes] = weights, sketch
        self.count[nodes], self.rss[nodes] = count, rss

    def level(self, leaves_per_node: int) -> Level:
        """The finished level, with the noise prior under which its nodes are most probable."""
        prior = fit_noise_prior(self.count, self.rss)
        deviation = np.sqrt(prior.noise_after(self.count, self.rss))
        return Level(
            leaves_per_node,
            to_half_precision(self.weights[:, None], deviation),
            to_half_precision(self.sketch, np.full(len(self.count), SKETCH_TOLERANCE)),
            self.count.astype(np.float32),
            # One target may be beyond all others together by more than float32 holds.
            np.minimum(self.rss, np.finfo(np.float32).max).astype(np.float32),
            prior,
        )


@dataclass(frozen=True)
class StackedRows:
    """Rows of a stack of families of leaves: features (f, l n, q), targets (f, l n) and weights, None for ones."""

    stack: LeafStack
    phi: Array
    y: Array
    weight: Array | None

    def by_leaf(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the rows (f, l n, ...) leaf by leaf, shape (f l, n, ...)."""
        n_families, leaves_per_family, n_rows = self.stack.rows.shape
        return values.reshape(n_families * leaves_per_family, n_rows, *values.shape[2:])


class NodeSolver:
    """Solves the nodes of a tree from rows sorted by leaf, some branches at a time.

    Parameters
    ----------
    features : LeafFeatures
        Features of the models.
    shape : TreeShape
        Leaves and levels.
    ridge : float
        Noise variance over the weights' prior variance.
    signs : array of shape (k, q)
        Rows that covariances are sketched with.
    shrink : bool
        Whether weights are shrunk towards the parent's, or all towards zero.
    """

    def __init__(self, features: LeafFeatures, shape: TreeShape, ridge: float, signs: Array, shrink: bool) -> None:
        self.features, self.shape, self.ridge, self.signs, self.shrink = features, shape, ridge, signs, shrink
        self.arrays = [NodeArrays(shape.n_leaves // size, *signs.shape) for size in shape.leaves_per_node]

    def add(self, part: SortedRows, leave_out: Collection[int]) -> tuple[Indices, Indices, Array]:
        """Solve the branches of some rows.

        Returns
        -------
        rows, leaves : int arrays of shape (k,)
            Numbers in the table of the rows of branches in `leave_out`, and their leaves.
        errors : array of shape (levels, k), float32
            Errors of these rows, each left out of the tree.
        """
        n_branches, per_branch = part.rows.n_blocks // self.shape.leaves_per_branch, self.shape.leaves_per_branch
        branches = np.arange(n_branches)
        left_out = np.isin(part.first_leaf // per_branch + branches, np.fromiter(leave_out, np.int64))
        sizes = np.diff(part.rows.bounds).reshape(-1, per_branch)
        small = self._are_small(sizes)
        row_is_left_out = np.repeat(left_out, sizes.sum(axis=1))
        errors = np.empty((len(self.arrays), len(part.rows.y) if left_out.any() else 0), np.float32)
        for alike in (np.flatnonzero((left_out == o) & (small == s)) for o in (False, True) for s in (False, True)):
            for chunk in self._chunks(alike, sizes, small):
                branch = BranchSolver(self, part.rows, chunk, bool(small[chunk[0]]))
                branch.solve(self.arrays, part.first_leaf)
                if left_out[chunk[0]]:
                    branch.leave_one_out(errors)
        leaves = part.first_leaf + part.rows.labels[row_is_left_out]
        return part.index[row_is_left_out], leaves, errors[:, row_is_left_out[: errors.shape[1]]]

    def _are_small(self, sizes: Indices) -> Mask:
        """Which branches, of leaves of these sizes (b, l), have leaves best solved in the space of their rows."""
        largest = sizes.max(axis=1)
        return (len(self.arrays) > 1) & (largest > 0) & (largest <= MOST_ROWS_PER_FEATURE * self.features.n_features)

    def _chunks(self, branches: Indices, sizes: Indices, small: Mask) -> Iterator[Indices]:
        """As many branches at a time as memory allows; small leaves have no sums of their own."""
        size, per_branch = self.features.n_features, sizes.shape[1]
        n_sums = np.where(small, per_branch // self.shape.leaves_per_node[-2:][0], per_branch)
        load = np.maximum(sizes.sum(axis=1) * size / FEATURES_AT_ONCE, n_sums * size**2 / SUMS_AT_ONCE)
        chunk = np.cumsum(load[branches]).astype(int)
        for number in np.unique(chunk):
            yield branches[chunk == number]


class BranchSolver:
    """Solves some branches that are alike.

    Parameters
    ----------
    tree : NodeSolver
        What all branches of the tree share.
    rows : Rows
        Rows sorted by leaf, a leaf being a block.
    branches : int array of shape (b,)
        Branches to solve, counted from the first leaf of the rows.
    small : bool
        Whether their leaves are solved in the space of their rows.
    """

    def __init__(self, tree: NodeSolver, rows: Rows, branches: Indices, small: bool) -> None:
        self.tree, self.rows, self.small = tree, rows, small
        sizes, per_branch = tree.shape.leaves_per_node, tree.shape.leaves_per_branch
        self.leaves = (branches[:, None] * per_branch + np.arange(per_branch)).ravel()
        # Sums are taken over families of leaves: the nodes of the lowest level that is solved from them.
        self.leaves_per_family = sizes[-2] if small else 1
        self.summed_sizes = sizes[:-1] if small else sizes
        self.double = self._families_need_double()
        self.solutions: list[RidgeSolution] = []
        self._small_leaves: list[RowRidge] = []
        self._kept = list(self._stack()) if self._n_rows() <= self._most_rows() else None

    def _families_need_double(self) -> Mask:
        """Whether the rows of each family have to be summed in float64, shape (families,)."""
        n_features, n_frequencies = self.tree.features.n_features, self.tree.features.n_cosines / 2
        per_family = self._counts().reshape(-1, self.leaves_per_family).sum(axis=1)
        largest = self._by_leaf(np.maximum, np.abs(self.rows.y)).reshape(-1, self.leaves_per_family).max(axis=1)
        precise = needs_double(per_family, self.tree.ridge, n_features) | (largest > MOST_SINGLE_TARGET)
        return precise | (self.tree.ridge <= NOISY * n_frequencies)

    def _counts(self) -> Array:
        """Rows of the leaves, or sums of their weights, shape (leaves,)."""
        if self.rows.weight is None:
            return (self.rows.bounds[self.leaves + 1] - self.rows.bounds[self.leaves]).astype(float)
        return self._by_leaf(np.add, self.rows.weight)

    def _by_leaf(self, combine: np.ufunc, values: Array) -> Array:
        """Values of the rows (n,), combined for each leaf, shape (leaves,); zero for a leaf without rows."""
        starts, stops = self.rows.bounds[self.leaves], self.rows.bounds[self.leaves + 1]
        ends = np.stack([starts, stops], axis=1).ravel()
        combined = combine.reduceat(np.append(values.astype(float), 0.0), ends)[::2]
        return np.where(stops > starts, combined, 0.0)

    def _n_rows(self) -> int:
        return int(np.sum(self.rows.bounds[self.leaves + 1] - self.rows.bounds[self.leaves]))

    def _most_rows(self) -> int:
        """Rows whose features are held at once."""
        return max(1, FEATURES_AT_ONCE // self.tree.features.n_features)

    @property
    def stacks(self) -> Iterable[StackedRows]:
        """All rows in stacks: kept, or, of a branch of many rows, which rows that are alike make, computed anew."""
        return self._stack() if self._kept is None else self._kept

    def _stack(self) -> Iterator[StackedRows]:
        """All rows, some families at a time."""
        starts, stops = self.rows.bounds[self.leaves], self.rows.bounds[self.leaves + 1]
        kinds = self.double.astype(np.int64)
        for stack in stack_leaves(starts, stops, self.leaves_per_family, kinds, self._most_rows()):
            n_families = len(stack.families)
            phi = self._features(stack.rows.reshape(n_families, -1))
            phi[~stack.inside.reshape(n_families, -1)] = 0.0
            if self.double[stack.families[0]]:
                phi = phi.astype(float)
            y = stack.take(self.rows.y).reshape(n_families, -1).astype(float)
            weight = None if self.rows.weight is None else stack.take(self.rows.weight).reshape(n_families, -1)
            yield StackedRows(stack, phi, y, weight)

    def _features(self, rows: Indices) -> Array:
        """Features of the rows of these numbers (f, n), shape (f, n, q); of wide rows, some families at a time."""
        n_inputs, n_families = self.rows.X.shape[1], len(rows)
        at_once = n_families if n_inputs <= WIDE else max(1, INPUTS_AT_ONCE // (n_inputs * rows.shape[1]))
        parts = [self.tree.features(self.rows.X[rows[i : i + at_once]]) for i in range(0, n_families, at_once)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def solve(self, arrays: list[NodeArrays], first_leaf: int) -> None:
        """Solve all nodes and keep their models."""
        counts = self._counts()
        sums = LeafSums(self._sum(), counts.reshape(-1, self.leaves_per_family).sum(axis=1))
        for size, level in zip(self.summed_sizes, arrays, strict=False):
            nodes = sums if size == self.leaves_per_family else sums.grouped(size // self.leaves_per_family)
            solution = solve_ridge(nodes.products, self._prior(size), self.tree.ridge, self.tree.signs)
            self.solutions.append(solution)
            numbers = (first_leaf + self.leaves[::size]) // size
            level.put(numbers, solution.weights, solution.sketch, nodes.count, solution.rss)
        if self.small:
            self._solve_small(arrays[-1], first_leaf, counts)

    def _sum(self) -> Array:
        """Sums over the rows of the families, shape (families, q + 1, q + 1)."""
        side, dtype = self.tree.features.n_features + 1, np.float64 if self.double.any() else np.float32
        products = np.zeros((len(self.leaves) // self.leaves_per_family, side, side), dtype)
        for rows in self.stacks:
            sums = sum_products(rows.phi, rows.y, rows.weight, rows.phi.dtype == float)
            if self._kept is None:
                # Families of many rows come in several stacks.
                products[rows.stack.families] += sums
            else:
                products[rows.stack.families] = sums
        return products

    def _prior(self, leaves_per_node: int) -> Array | None:
        """Weights of the parents of a level's nodes, shape (p, q), None where they are shrunk towards zero."""
        if not (self.solutions and self.tree.shrink):
            return None
        parents = self.solutions[-1].weights
        return np.repeat(parents, len(self.leaves) // leaves_per_node // len(parents), axis=0)

    def _solve_small(self, level: NodeArrays, first_leaf: int, counts: Array) -> None:
        """Solve the leaves in the space of their rows; those of families without rows stay as their parents are."""
        tree, prior = self.tree, self._prior(1)
        weights = np.zeros((len(self.leaves), tree.features.n_features)) if prior is None else prior.copy()
        sketch = np.tile(tree.signs / np.sqrt(tree.ridge), (len(self.leaves), 1, 1))
        rss = np.zeros(len(self.leaves))
        for rows in self.stacks:
            families = rows.stack.families[:, None] * self.leaves_per_family
            leaves = (families + np.arange(self.leaves_per_family)).ravel()
            solved = self._factorize_small(rows, None if prior is None else prior[leaves])
            weights[leaves], sketch[leaves], rss[leaves] = solved.weights(), solved.sketch(tree.signs), solved.rss()
            self._small_leaves.append(solved)
        level.put(first_leaf + self.leaves, weights, sketch, counts, rss)

    def _factorize_small(self, rows: StackedRows, prior: Array | None) -> RowRidge:
        """Regressions of a stack's leaves in the space of their rows."""
        inside = rows.by_leaf(rows.stack.inside.reshape(rows.y.shape))
        root_weight = inside.astype(float) if rows.weight is None else np.sqrt(rows.by_leaf(rows.weight))
        return factorize_rows(rows.by_leaf(rows.phi), rows.by_leaf(rows.y), root_weight, prior, self.tree.ridge)

    def leave_one_out(self, errors: Array) -> None:
        """Write errors of rows, each left out of the tree, to their places in `errors` (levels, rows)."""
        dtype = np.float64 if self.double.any() else np.float32
        inverses = [inverse_of_factor(solution.factor, dtype) for solution in self.solutions]
        for number, rows in enumerate(self.stacks):
            inside, numbers = rows.stack.inside, rows.stack.rows[rows.stack.inside]
            moved = None
            for level, (size, solution) in enumerate(zip(self.summed_sizes, self.solutions, strict=True)):
                node = rows.stack.families * self.leaves_per_family // size
                models = solution.weights[node], inverses[level][node], solution.ridge[node]
                more = self.tree.shrink and level + 1 < len(self.tree.shape.leaves_per_node)
                error, moved = leave_one_out(rows.phi, rows.y, rows.weight, *models, moved, more)
                errors[level, numbers] = error.reshape(inside.shape)[inside]
            if self.small:
                parents_moved = None if moved is None else rows.by_leaf(moved)
                error = self._small_leaves[number].leave_one_out_errors(parents_moved)
                errors[-1, numbers] = error.reshape(inside.shape)[inside]
