"""Models of the nodes of a tree, solved on a card: `nodes` and `branches` with all leaves of a table at once.

All levels are solved in the space of features: what the space of rows saves a processor is nothing to a card.
"""

from collections.abc import Collection, Iterator
from typing import Literal

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp.engine.on_card.backend import Tensor, torch
from ssgp.engine.on_card.cards import Card
from ssgp.engine.on_card.features import leaf_features
from ssgp.engine.on_card.leave_one_out import leave_one_out
from ssgp.engine.on_card.ridge import CardSolution, inverse_of_factor, solve_ridge, sum_products
from ssgp.engine.on_card.stacks import CardStack, stack_leaves
from ssgp.engine.ridge import needs_double
from ssgp.engine.workers import ThreadWorkers
from ssgp.forest.branches import MOST_SINGLE_TARGET, NOISY
from ssgp.forest.leaf_features import LeafFeatures, WideLeafFeatures
from ssgp.forest.node_arrays import NodeArrays
from ssgp.forest.nodes import LeaveOneOut, finished_tree, sketch_signs
from ssgp.forest.tree import SpectralTree, TreeSkeleton
from ssgp.rows.card_tables import CardRows
from ssgp.rows.row_tables import RowTable

__all__ = ["CardFeatures", "fit_tree"]


class CardFeatures:
    """Features of the leaves of a tree, see `LeafFeatures`, on a card."""

    def __init__(self, card: Card, features: LeafFeatures) -> None:
        self.n_features, self.n_cosines = features.n_features, features.n_cosines
        self._projection = card.send(features.projection)
        wide = isinstance(features, WideLeafFeatures)
        self._trend = (card.send(features.trend_inputs), card.send(features.slopes)) if wide else ()

    def __call__(self, X: Tensor) -> Tensor:
        """Features of stacks of rows (..., n, d), shape (..., n, q)."""
        return leaf_features(X, self._projection, self.n_cosines, *self._trend)


def fit_tree(
    card: Card,
    table: RowTable,
    skeleton: TreeSkeleton,
    ridge: float,
    n_sketches: int | Literal["exact"],
    shrink: bool,
    leave_out: Collection[int] = (),
) -> tuple[SpectralTree, LeaveOneOut | None]:
    """Fill a tree: one pass over the rows, as many branches at a time as memory allows.

    Parameters but the card are those of `ssgp.forest.nodes.fit_tree`.
    """
    solver = CardNodeSolver(card, skeleton, ridge, n_sketches, shrink)
    parts = table.by_leaf(skeleton.partition, skeleton.shape.leaves_per_branch, ThreadWorkers())
    left_out = [solver.add(CardRows.of(card, part), leave_out) for part in parts]
    levels = [
        level
        for arrays, size in zip(solver.arrays, skeleton.leaves_per_node, strict=True)
        for level in arrays.levels(size, 1)
    ]
    rows, leaves, errors = (np.concatenate(column, axis=-1) for column in zip(*left_out, strict=True))
    return finished_tree(skeleton, levels, rows, leaves, errors)


class CardNodeSolver:
    """Solves the nodes of a tree from rows sorted by leaf, some branches at a time.

    Parameters
    ----------
    card : Card
        Where.
    skeleton : TreeSkeleton
        Leaves, features and levels.
    ridge, n_sketches, shrink : float, int or "exact", bool
        See `ssgp.forest.nodes.fit_tree`.
    """

    def __init__(
        self, card: Card, skeleton: TreeSkeleton, ridge: float, n_sketches: int | Literal["exact"], shrink: bool
    ) -> None:
        self.card, self.shape, self.ridge, self.shrink = card, skeleton.shape, ridge, shrink
        self.features = CardFeatures(card, skeleton.features)
        signs = sketch_signs(n_sketches, skeleton.features.n_features, skeleton.seed)
        self.signs = card.send(signs)
        sizes = [self.shape.n_leaves // size for size in self.shape.leaves_per_node]
        self.arrays = [NodeArrays(n_nodes, *signs.shape) for n_nodes in sizes]

    def add(self, part: CardRows, leave_out: Collection[int]) -> tuple[Indices, Indices, Array]:
        """Solve the branches of some rows; what it returns is that of `ssgp.forest.nodes.NodeSolver.add`."""
        per_branch = self.shape.leaves_per_branch
        sizes = np.diff(part.bounds).reshape(-1, per_branch).sum(axis=1)
        left_out = np.isin(part.first_leaf // per_branch + np.arange(len(sizes)), np.fromiter(leave_out, np.int64))
        row_is_left_out = np.repeat(left_out, sizes)
        errors = part.X.new_empty((len(self.arrays), len(part.y) if left_out.any() else 0))
        for leave in (False, True):
            for branches in self._chunks(np.flatnonzero(left_out == leave), sizes):
                solver = CardBranches(self, part, branches)
                solver.solve()
                if leave:
                    solver.leave_one_out(errors)
        rows = np.flatnonzero(row_is_left_out)
        leaves = part.first_leaf + np.repeat(np.arange(len(part.bounds) - 1), np.diff(part.bounds))[row_is_left_out]
        at = self.card.send(rows)
        return self.card.fetch(part.index[at]), leaves, self.card.fetch(errors[:, at])

    def _chunks(self, branches: Indices, sizes: Indices) -> Iterator[Indices]:
        """As many of some branches at a time as memory allows: their sums, or the features of their rows."""
        size = self.features.n_features
        load = np.maximum(sizes * size, self.shape.leaves_per_branch * size**2) / self.card.numbers_at_once
        chunk = np.cumsum(load[branches]).astype(int)
        for number in np.unique(chunk):
            yield branches[chunk == number]


class CardBranches:
    """Solves some branches.

    Parameters
    ----------
    models : CardNodeSolver
        What all branches of the tree share, and where their models go.
    part : CardRows
        Rows sorted by leaf.
    branches : int array of shape (b,)
        Branches to solve, counted from the first leaf of the rows.
    """

    def __init__(self, models: CardNodeSolver, part: CardRows, branches: Indices) -> None:
        self.models, self.part, self.card = models, part, models.card
        per_branch = models.shape.leaves_per_branch
        self.leaves = (branches[:, None] * per_branch + np.arange(per_branch)).ravel()
        self._starts, self._stops = part.bounds[self.leaves], part.bounds[self.leaves + 1]
        self.double = self._needs_double()
        self.solutions: list[CardSolution] = []

    def _needs_double(self) -> bool:
        """Whether rows have to be summed in double precision: in all leaves, where it is so in one."""
        models, n_frequencies = self.models, self.models.features.n_cosines / 2
        largest = float(self.part.y.abs().max()) if len(self.part.y) else 0.0
        precise = needs_double(np.asarray(self._stops - self._starts, float), models.ridge, models.features.n_features)
        return bool(precise.any()) or models.ridge <= NOISY * n_frequencies or largest > MOST_SINGLE_TARGET

    def _stacks(self) -> Iterator[tuple[CardStack, Tensor, Tensor, Tensor | None]]:
        """Leaves in stacks, with features (f, n, q), targets and weights (f, n) of their rows."""
        most_rows = max(1, self.card.numbers_at_once // self.models.features.n_features)
        for stack in stack_leaves(self.card, self._starts, self._stops, most_rows):
            phi = self.models.features(self.part.X[stack.rows])
            phi *= stack.inside[:, :, None]
            weight = None if self.part.weight is None else stack.take(self.part.weight)
            yield stack, phi.double() if self.double else phi, stack.take(self.part.y), weight

    def solve(self) -> None:
        """Solve all nodes, from the branches down, and keep their models."""
        sums, counts, parents = self._sum(), self._counts(), None
        leaves = self.part.first_leaf + self.leaves
        for size, arrays in zip(self.models.shape.leaves_per_node, self.models.arrays, strict=True):
            products = sums if size == 1 else sums.unflatten(0, (-1, size)).sum(dim=1)
            prior = None
            if parents is not None and self.models.shrink:
                prior = parents.repeat_interleave(len(products) // len(parents), dim=0)
            solution = solve_ridge(products, prior, self.models.ridge, self.models.signs)
            self.solutions.append(solution)
            weights, sketch, rss = map(
                self.card.fetch, (solution.weights.float(), solution.sketch.float(), solution.rss)
            )
            arrays.put(leaves[::size] // size, weights, sketch, counts.reshape(-1, size).sum(axis=1), rss)
            parents = solution.weights

    def _sum(self) -> Tensor:
        """Sums over the rows of the leaves, shape (leaves, q + 1, q + 1)."""
        side = self.models.features.n_features + 1
        sums = self.models.signs.new_zeros((len(self.leaves), side, side))
        for stack, phi, y, weight in self._stacks():
            sums[stack.leaves] += sum_products(phi, y, weight, self.double)
        return sums

    def _counts(self) -> Array:
        """Rows of the leaves, or sums of their weights, shape (leaves,)."""
        if self.part.weight is None:
            return (self._stops - self._starts).astype(float)
        total = self.card.fetch(torch.cumsum(self.part.weight.double(), dim=0))
        total = np.concatenate([[0.0], total])
        return total[self._stops] - total[self._starts]

    def leave_one_out(self, errors: Tensor) -> None:
        """Write errors of rows, each left out of the tree, to their places in `errors` (levels, rows)."""
        dtype, shape = torch.float64 if self.double else torch.float32, self.models.shape
        inverses = [inverse_of_factor(solution.factor, dtype) for solution in self.solutions]
        for stack, phi, y, weight in self._stacks():
            numbers, moved = stack.rows[stack.inside], None
            for level, size in enumerate(shape.leaves_per_node):
                node, solution = stack.leaves // size, self.solutions[level]
                models = solution.weights[node], inverses[level][node], solution.ridge[node]
                move_on = self.models.shrink and level + 1 < len(shape.leaves_per_node)
                error, moved = leave_one_out(phi, y, weight, *models, moved, move_on)
                errors[level, numbers] = error[stack.inside].float()
