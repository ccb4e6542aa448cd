"""From a learned posterior to a calibrated forest."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from time import monotonic
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ssgp.calibration import Calibration, Components, fit_calibration
from ssgp.forest import Forest, SpectralTree, TreeRecipe, grow_partition, plant
from ssgp.parameters import Hyperparameters
from ssgp.partition import BisectingTree
from ssgp.rows import Rows
from ssgp.sizes import ForestSizes
from ssgp.threads import one_blas_thread
from ssgp.waves import Waves

__all__ = ["Planter", "Seedling"]

Array = NDArray[np.floating]

# A finer level is taken where it is better than a coarser one by so many nats a held-out row.
WORTH = 0.003
CHOOSING_ROWS = 2000
# Trees that lack so small a share of the rows are kept; otherwise they are grown again with all.
NEGLIGIBLE = 1 / 40
# Too few rows to calibrate on: the leaves are taken at their word.
LEAST_ROWS = 20


@dataclass(frozen=True)
class Seedling:
    """What a tree is before rows fill it: its leaves, its waves, the seed of its sketches."""

    partition: BisectingTree
    waves: Waves
    seed: int


@dataclass(frozen=True)
class Planter:
    """Builds forests from one posterior.

    Attributes
    ----------
    draw : callable
        Takes a generator to a draw of the frequencies (m, d).
    hyperparameters : Hyperparameters
        Lengthscales and ridge.
    recipe : TreeRecipe
        Of the trees.
    sizes : ForestSizes
        Number of trees and of held-out rows.
    seed : int
        Of everything random.
    n_jobs : int or None
        Threads.
    deadline : float
        Time on the monotonic clock by which the forest should stand.
    after_tree : callable
        Called after each tree with the number done and the number to do.
    """

    draw: Callable[[np.random.Generator], Array]
    hyperparameters: Hyperparameters
    recipe: TreeRecipe
    sizes: ForestSizes
    seed: int
    n_jobs: int | None
    deadline: float = inf
    after_tree: Callable[[int, int], Any] = lambda done, total: None

    def __call__(self, rows: Rows) -> tuple[Forest, list[Seedling]]:
        """Plant, choose the level of the leaves and calibrate on rows the trees have not seen, plant with all rows.

        `rows` are in random order.
        """
        n_rows, n_folds = len(rows.y), self.sizes.n_folds
        if n_rows < LEAST_ROWS:
            return self._finish(rows, self.recipe, Calibration(), self.sizes.n_trees)
        again = n_folds > 1 or self.sizes.n_held_out > NEGLIGIBLE * n_rows
        trees, seedlings, unseen, levels = self._hold_out(rows, n_folds + again)
        y, weight = rows.y[unseen].astype(float), None if rows.weight is None else rows.weight[unseen].astype(float)
        level, calibration = _choose(levels, y, weight)
        if again:
            return self._finish(rows, self._coarser(level), calibration, len(trees))
        forest = Forest(trees, calibration)
        return (forest if self.recipe.average_prunings else forest.only(level)), seedlings

    def _hold_out(
        self, rows: Rows, n_passes: int
    ) -> tuple[tuple[SpectralTree, ...], list[Seedling], NDArray[np.integer], list[Components]]:
        """Trees of the last fold, which lack its rows; unseen rows of all folds; what was said of them by level.

        Every fold gets its share of the time left for `n_passes`.
        """
        found, unseen, trees, seedlings = [], [], (), []
        for fold in range(self.sizes.n_folds):
            end = len(rows.y) - fold * self.sizes.n_held_out
            unseen.append(np.arange(end - self.sizes.n_held_out, end))
            until = monotonic() + (self.deadline - monotonic()) / (n_passes - fold)
            n_trees = len(trees) or self.sizes.n_trees
            trees, seedlings = self._plant(_without(rows, unseen[-1]), self.recipe, n_trees, until)
            found.append(self._by_level(trees, rows.X[unseen[-1]]))
        fewest = min(len(parts[0].mean) for parts in found)
        levels = [
            Components.concatenate([_first(part, fewest) for part in parts], axis=1)
            for parts in zip(*found, strict=True)
        ]
        return trees, seedlings, np.concatenate(unseen), levels

    def refill(self, rows: Rows, forest: Forest, seedlings: list[Seedling]) -> Forest:
        """The same trees, filled with these rows; leaves, frequencies and calibration stay."""
        recipe = self._with_leaves(forest.trees[0].partition.n_blocks)
        trees = self._in_threads([partial(self._fill, rows, seedling, recipe) for seedling in seedlings], inf)
        group = forest.trees[0].levels[0].group
        refilled = replace(forest, trees=tuple(trees))
        return refilled if recipe.average_prunings else refilled.only(recipe.groups.index(group))

    def with_depth(self, depth: int) -> "Planter":
        """A planter of trees of another depth."""
        return replace(self, recipe=self._with_leaves(2**depth))

    def plant_one(self, rows: Rows, depth: int) -> None:
        """Plant a tree and throw it away, to see how long it takes."""
        self._plant(rows, self._with_leaves(2**depth), 1, inf)

    def _finish(
        self, rows: Rows, recipe: TreeRecipe, calibration: Calibration, n_trees: int
    ) -> tuple[Forest, list[Seedling]]:
        trees, seedlings = self._plant(rows, recipe, n_trees, self.deadline)
        forest = Forest(trees, calibration)
        return (forest if recipe.average_prunings else forest.only(-1)), seedlings

    def _coarser(self, level: int) -> TreeRecipe:
        """The recipe whose leaves are the nodes of that level."""
        if self.recipe.average_prunings:
            return self.recipe
        return self._with_leaves(self.recipe.n_leaves // self.recipe.groups[level])

    def _with_leaves(self, n_leaves: int) -> TreeRecipe:
        return replace(self.recipe, n_leaves=n_leaves, groups=TreeRecipe.groups_of(n_leaves.bit_length() - 1))

    def _plant(
        self, rows: Rows, recipe: TreeRecipe, n_trees: int, deadline: float
    ) -> tuple[tuple[SpectralTree, ...], list[Seedling]]:
        seeds = np.random.SeedSequence(self.seed).generate_state(2 * n_trees).reshape(-1, 2).tolist()
        lengthscale, n_draws = self.hyperparameters.lengthscale, min(n_trees, self.sizes.n_draws)
        waves = [Waves.of(self.draw(np.random.default_rng([self.seed, k])), lengthscale) for k in range(n_draws)]

        def tree(i: int) -> tuple[Seedling, SpectralTree]:
            partition = grow_partition(rows, lengthscale, recipe, seeds[i][0])
            seedling = Seedling(partition, waves[i * n_draws // n_trees], seeds[i][1])
            return seedling, self._fill(rows, seedling, recipe)

        done = self._in_threads([partial(tree, i) for i in range(n_trees)], deadline)
        return tuple(tree for _, tree in done), [seedling for seedling, _ in done]

    def _fill(self, rows: Rows, seedling: Seedling, recipe: TreeRecipe) -> SpectralTree:
        ridge = self.hyperparameters.ridge(seedling.waves.n_cosines // 2)
        return plant(rows, seedling.partition, seedling.waves, ridge, recipe, seedling.seed)

    def _in_threads(self, tasks: list[Callable[[], Any]], deadline: float) -> list[Any]:
        """Results of the tasks in order; after an interrupt or the deadline, of those done, at least one."""
        results: list[Any] = [None] * len(tasks)
        width = max(1, effective_n_jobs(self.n_jobs or 1))

        def run(i: int) -> None:
            results[i] = tasks[i]()
            self.after_tree(sum(r is not None for r in results), len(tasks))

        with one_blas_thread():
            try:
                for first in range(0, len(tasks), width):
                    began = monotonic()
                    batch = range(first, min(first + width, len(tasks)))
                    Parallel(n_jobs=self.n_jobs, prefer="threads", require="sharedmem")(delayed(run)(i) for i in batch)
                    if 2 * monotonic() - began > deadline:
                        break
            except KeyboardInterrupt:
                done = sum(r is not None for r in results)
                warnings.warn(
                    f"interrupted after {done} of {len(tasks)} trees; the forest is made of "
                    f"{'these' if done else 'one. Interrupt again to give up'}",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            if all(result is None for result in results):
                run(0)
        return [result for result in results if result is not None]

    def _by_level(self, trees: tuple[SpectralTree, ...], X: Array) -> list[Components]:
        """What the trees say at each level that could predict."""
        forest = Forest(trees, Calibration())
        if self.recipe.average_prunings:
            return [forest.components(X, self.n_jobs)]
        return [forest.only(level).components(X, self.n_jobs) for level in range(len(self.recipe.groups))]


def _without(rows: Rows, hidden: NDArray[np.integer]) -> Rows:
    """All rows but some neighbours."""
    kept = np.concatenate([np.arange(hidden[0]), np.arange(hidden[-1] + 1, len(rows.y))])
    return rows.reorder(kept, np.array([0, len(kept)]))


def _first(components: Components, n_components: int) -> Components:
    """The first trees' components, where another fold had time for fewer."""
    some = components.take(n_components)
    return some if some.share is None else replace(some, share=some.share / some.share.sum(axis=0))


def _choose(levels: list[Components], y: Array, weight: Array | None) -> tuple[int, Calibration]:
    """The level at which unseen rows are most probable, and its calibration."""
    best = len(levels) - 1
    if len(levels) > 1:
        some = slice(None, CHOOSING_ROWS)
        own = None if weight is None else weight[some]
        scores = [fit_calibration(level.rows(some), y[some], own)[1] for level in levels]
        best = int(np.flatnonzero(np.array(scores) >= max(scores) - WORTH)[0])
    return best, fit_calibration(levels[best], y, weight)[0]
