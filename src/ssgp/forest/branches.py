"""The regressions of branches: nodes are solved from the branch down, in the space of their features or their rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssgp._utils.arrays import Array, Indices, Mask
from ssgp._utils.wide import WIDE
from ssgp.engine.leave_one_out import inverse_of_factor, leave_one_out
from ssgp.engine.ridge import LeafSums, RidgeSolution, needs_double, solve_ridge, sum_products
from ssgp.engine.row_ridge import RowRidge, diagonal_parts, factorize_nested
from ssgp.engine.stacks import LeafStack, stack_leaves
from ssgp.forest.leaf_features import LeafFeatures, StackedFeatures
from ssgp.forest.node_arrays import NodeArrays
from ssgp.forest.tree import TreeShape
from ssgp.rows.blocks import Rows

__all__ = ["BranchSolver", "Regressions"]

# Noise variance over signal variance from which residual sums of squares may be taken from float32 sums.
NOISY = 0.02
# Standardised targets beyond which squares are not summed in float32, which ends at 3e38.
MOST_SINGLE_TARGET = 1e12
# Numbers of features that are held at once.
FEATURES_AT_ONCE = 3 << 20
# Numbers of inputs of wide rows that are gathered at once.
INPUTS_AT_ONCE = 1 << 21


@dataclass(frozen=True)
class Regressions:
    """What all regressions of a tree, or of trees of one shape side by side, share.

    Attributes
    ----------
    features : LeafFeatures or StackedFeatures
        Features of the models, of one tree or of each of several.
    shape : TreeShape
        Leaves, of all trees together, and levels.
    ridge : float
        Noise variance over the weights' prior variance.
    signs : array of shape (k, q), or (T, k, q) where trees have other ones each
        Rows that covariances are sketched with.
    shrink : bool
        Whether weights are shrunk towards the parent's, or all towards zero.
    """

    features: LeafFeatures | StackedFeatures
    shape: TreeShape
    ridge: float
    signs: Array
    shrink: bool

    @property
    def n_features(self) -> int:
        """Features of a model, q."""
        return self.features.n_features

    def features_of(self, X: Array, leaves: Indices) -> Array:
        """Features of rows (f, n, d) of families that begin at these leaves (f,), shape (f, n, q)."""
        if isinstance(self.features, LeafFeatures):
            return self.features(X)
        return self.features(X, self._trees(leaves))

    def signs_of(self, leaves: Indices) -> Array:
        """Signs of nodes that begin at these leaves (p,), shape (k, q) or (p, k, q)."""
        return self.signs if self.signs.ndim == 2 else self.signs[self._trees(leaves)]

    def _trees(self, leaves: Indices) -> Indices:
        n_trees = 1 if isinstance(self.features, LeafFeatures) else len(self.features.projections)
        return leaves // (self.shape.n_leaves // n_trees)


@dataclass(frozen=True)
class StackedRows:
    """Rows of a stack of families of l leaves: features (f, l n, q), targets (f, l n) and weights, None for ones."""

    stack: LeafStack
    phi: Array
    y: Array
    weight: Array | None

    def by_node(self, leaves_per_node: int, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the rows (f, l n, ...) node by node, shape (nodes, rows of a node, ...)."""
        n_families, leaves_per_family, n_rows = self.stack.rows.shape
        n_nodes = n_families * leaves_per_family // leaves_per_node
        return values.reshape(n_nodes, leaves_per_node * n_rows, *values.shape[2:])

    def scaled(self, values: Array) -> Array:
        """Values of the rows (f, l n, ...) times the roots of their weights."""
        if self.weight is None:
            return values
        root = np.sqrt(self.weight).reshape(*self.weight.shape, *[1] * (values.ndim - 2))
        return values * root.astype(values.dtype)

    def unscaled(self, values: Array) -> Array:
        """The same backwards, zero for rows of weight zero."""
        return values if self.weight is None else values / np.sqrt(np.where(self.weight > 0.0, self.weight, 1.0))

    def nodes(self, leaves_per_node: int) -> Indices:
        """Numbers of the nodes, shape (nodes,)."""
        per_family = self.stack.rows.shape[1] // leaves_per_node
        return (self.stack.families[:, None] * per_family + np.arange(per_family)).ravel()


class BranchSolver:
    """Solves some branches that are alike.

    Parameters
    ----------
    models : Regressions
        What all branches share.
    rows : Rows
        Rows sorted by leaf, a leaf being a block.
    branches : int array of shape (b,)
        Branches to solve, counted from the first leaf of the rows.
    first_leaf : int
        Number of that leaf.
    n_row_levels : int
        How many of the last levels are solved in the space of their nodes' rows.
    """

    def __init__(
        self, models: Regressions, rows: Rows, branches: Indices, first_leaf: int = 0, n_row_levels: int = 0
    ) -> None:
        self.models, self.rows, self._first_leaf = models, rows, first_leaf
        sizes, per_branch = models.shape.leaves_per_node, models.shape.leaves_per_branch
        self.leaves = (branches[:, None] * per_branch + np.arange(per_branch)).ravel()
        n_summed = len(sizes) - n_row_levels
        self.summed_sizes, self.row_sizes = sizes[:n_summed], sizes[n_summed:]
        # Sums are taken over families of leaves: the nodes of the lowest level that is solved from them.
        self.leaves_per_family = sizes[max(0, n_summed - 1)] if n_row_levels else 1
        self.double = self._families_need_double()
        self._parents: Array | None = None
        self.solutions: list[RidgeSolution] = []
        self._row_solutions: list[list[RowRidge]] = []
        self._kept = list(self._stack()) if self._n_rows() <= self._most_rows() else None

    def _families_need_double(self) -> Mask:
        """Whether the rows of each family have to be summed in float64, shape (families,)."""
        models, n_frequencies = self.models, self.models.features.n_cosines / 2
        per_family = self._counts().reshape(-1, self.leaves_per_family).sum(axis=1)
        largest = self._by_leaf(np.maximum, np.abs(self.rows.y)).reshape(-1, self.leaves_per_family).max(axis=1)
        precise = needs_double(per_family, models.ridge, models.n_features) | (largest > MOST_SINGLE_TARGET)
        return precise | (models.ridge <= NOISY * n_frequencies)

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
        return max(1, FEATURES_AT_ONCE // self.models.n_features)

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
            phi = self._features(stack)
            phi[~stack.inside.reshape(n_families, -1)] = 0.0
            if self.double[stack.families[0]]:
                phi = phi.astype(float)
            y = stack.take(self.rows.y).reshape(n_families, -1).astype(float)
            weight = None if self.rows.weight is None else stack.take(self.rows.weight).reshape(n_families, -1)
            yield StackedRows(stack, phi, y, weight)

    def _features(self, stack: LeafStack) -> Array:
        """Features of the rows of a stack, shape (f, l n, q); of wide rows, some families at a time."""
        n_inputs, n_families = self.rows.X.shape[1], len(stack.families)
        rows = stack.rows.reshape(n_families, -1)
        leaves = self._first_leaf + self.leaves[stack.families * self.leaves_per_family]
        at_once = n_families if n_inputs <= WIDE else max(1, INPUTS_AT_ONCE // (n_inputs * rows.shape[1]))
        families = [slice(i, i + at_once) for i in range(0, n_families, at_once)]
        parts = [self.models.features_of(self.rows.X[rows[some]], leaves[some]) for some in families]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def solve(self, arrays: list[NodeArrays]) -> None:
        """Solve all nodes and keep their models."""
        counts = self._counts()
        if self.summed_sizes:
            self._solve_sums(arrays, counts)
        if self.row_sizes:
            self._solve_rows(arrays[len(self.summed_sizes) :], counts)

    def _solve_sums(self, arrays: list[NodeArrays], counts: Array) -> None:
        """Solve the levels of large nodes from sums over their rows."""
        sums = LeafSums(self._sum(), counts.reshape(-1, self.leaves_per_family).sum(axis=1))
        for size, level in zip(self.summed_sizes, arrays, strict=False):
            nodes = sums if size == self.leaves_per_family else sums.grouped(size // self.leaves_per_family)
            leaves = self._first_leaf + self.leaves[::size]
            signs = self.models.signs_of(leaves)
            solution = solve_ridge(nodes.products, self._prior(size), self.models.ridge, signs)
            self.solutions.append(solution)
            level.put(leaves // size, solution.weights, solution.sketch, nodes.count, solution.rss)
            self._parents = solution.weights

    def _sum(self) -> Array:
        """Sums over the rows of the families, shape (families, q + 1, q + 1)."""
        side, dtype = self.models.n_features + 1, np.float64 if self.double.any() else np.float32
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
        if self._parents is None or not self.models.shrink:
            return None
        return np.repeat(self._parents, len(self.leaves) // leaves_per_node // len(self._parents), axis=0)

    def _solve_rows(self, arrays: list[NodeArrays], counts: Array) -> None:
        """Solve the levels of small nodes in the space of their rows; families without rows stay as their parents are.

        Parents have no part in it but for what they leave of the targets, so that weights are added up afterwards.
        """
        models, leaves = self.models, self._first_leaf + self.leaves
        changes, sketches, rss = zip(*(self._without_rows(leaves[::size]) for size in self.row_sizes), strict=True)
        for rows in self.stacks:
            scaled, solved = rows.scaled(rows.phi), self._factorize_rows(rows)
            for level, (size, own) in enumerate(zip(self.row_sizes, solved, strict=True)):
                nodes, own_rows = rows.nodes(size), rows.by_node(size, scaled)
                changes[level][nodes], rss[level][nodes] = own.weights(own_rows), own.rss()
                sketches[level][nodes] = own.sketch(own_rows, models.signs_of(leaves[::size][nodes]))
            self._row_solutions.append(solved)
        for level, size in enumerate(self.row_sizes):
            prior, sums = self._prior(size), counts.reshape(-1, size).sum(axis=1)
            weights = changes[level] if prior is None else prior + changes[level]
            arrays[level].put(leaves[::size] // size, weights, sketches[level], sums, rss[level])
            self._parents = weights

    def _without_rows(self, leaves: Indices) -> tuple[Array, Array, Array]:
        """Changes of the weights, sketches and residual sums of squares of nodes that begin at these leaves (p,)."""
        n_nodes, (n_sketches, n_features) = len(leaves), self.models.signs.shape[-2:]
        sketch = np.empty((n_nodes, n_sketches, n_features))
        sketch[:] = self.models.signs_of(leaves) / np.sqrt(self.models.ridge)
        return np.zeros((n_nodes, n_features)), sketch, np.zeros(n_nodes)

    def _factorize_rows(self, rows: StackedRows) -> list[RowRidge]:
        """Regressions of a stack's nodes in the space of their rows, level by level."""
        size, residual = self.row_sizes[0], rows.y
        if self.solutions and self.models.shrink:
            prior = self.solutions[-1].weights[rows.stack.families].astype(rows.phi.dtype)
            residual = residual - np.matmul(rows.phi, prior[:, :, None])[:, :, 0]
        scaled, residual = (rows.by_node(size, rows.scaled(values)) for values in (rows.phi, residual))
        n_parts = [above // below for above, below in pairwise(self.row_sizes)]
        return factorize_nested(scaled, residual, n_parts, self.models.ridge, self.models.shrink)

    def leave_one_out(self, errors: Array) -> None:
        """Write errors of rows, each left out of the tree, to their places in `errors` (levels, rows)."""
        dtype = np.float64 if self.double.any() else np.float32
        inverses = [inverse_of_factor(solution.factor, solution.inverses, dtype) for solution in self.solutions]
        for number, rows in enumerate(self.stacks):
            inside, numbers = rows.stack.inside, rows.stack.rows[rows.stack.inside]
            level, moved = 0, None
            for size, solution, inverse in zip(self.summed_sizes, self.solutions, inverses, strict=True):
                node = rows.stack.families * self.leaves_per_family // size
                models = solution.weights[node], inverse[node], solution.ridge[node]
                error, moved = leave_one_out(rows.phi, rows.y, rows.weight, *models, moved, self._move_on(level))
                errors[level, numbers] = error.reshape(inside.shape)[inside]
                level += 1
            if self.row_sizes:
                for error in self._left_out_of_rows(rows, self._row_solutions[number], moved):
                    errors[level, numbers] = error.reshape(inside.shape)[inside]
                    level += 1

    def _left_out_of_rows(self, rows: StackedRows, solved: list[RowRidge], moved: Array | None) -> Iterator[Array]:
        """Errors of rows, each left out, of each level that is solved in the space of rows.

        `moved` (f, l n, q) says by how much leaving a row out moves the weights of the level above.
        """
        if moved is not None:
            scaled = rows.by_node(self.row_sizes[0], rows.scaled(rows.phi))
            moved = np.matmul(rows.by_node(self.row_sizes[0], moved), scaled.swapaxes(1, 2))
        for level, own in enumerate(solved, len(self.summed_sizes)):
            if moved is not None:
                moved = diagonal_parts(moved, len(own.ridge) // len(moved))
            error, moved = own.leave_one_out(moved, self._move_on(level), rows.phi.dtype)
            yield rows.unscaled(error.reshape(rows.y.shape))

    def _move_on(self, level: int) -> bool:
        """Whether nodes of a level have children, which are shrunk towards them."""
        return self.models.shrink and level + 1 < len(self.models.shape.leaves_per_node)
