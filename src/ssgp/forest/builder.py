"""From a learned posterior to a calibrated forest."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil, inf
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ssgp.engine.threads import map_in_threads, n_threads, one_blas_thread
from ssgp.forest.calibration import Calibration, Components
from ssgp.forest.folds import Seedling, Trial, choose_level, learn_calibration, learn_correction
from ssgp.forest.leaf_features import Waves
from ssgp.forest.sizes import ForestSizes
from ssgp.forest.trees import Forest, LeftOut, SpectralTree, TreeRecipe, grow_partition, plant
from ssgp.rows.row_tables import RowTable, TrainingRows
from ssgp.rows.standardized import Rows
from ssgp.saving.checkpoints import Checkpoint
from ssgp.spectrum.parameters import Hyperparameters

__all__ = ["Planter"]

Array = NDArray[np.floating]
T = TypeVar("T")

# So many rows, counted once a tree, are left out of it in turn to learn the correction: all rows of some branches.
TESTED_ROWS = 1_200_000
# Time kept for the correction, in passes over the trees.
CORRECTING_SHARE = 0.3
# Too few rows to calibrate on: the leaves are taken at their word.
LEAST_ROWS = 20


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
    correct : bool
        Whether boosted trees may correct the forest.
    deadline : float
        Time on the monotonic clock by which the forest should stand.
    after_tree : callable
        Called after each tree with the number done and the number to do.
    checkpoint : Checkpoint
        Where finished trees are kept.
    """

    draw: Callable[[np.random.Generator], Array]
    hyperparameters: Hyperparameters
    recipe: TreeRecipe
    sizes: ForestSizes
    seed: int
    n_jobs: int | None
    correct: bool
    deadline: float = inf
    after_tree: Callable[[int, int], Any] = lambda done, total: None
    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None))

    def __call__(self, rows: TrainingRows) -> tuple[Forest, list[Seedling]]:
        """Plant, choose, correct and calibrate by rows the trees have not seen, plant with all rows."""
        n_rows, n_folds = rows.table.n_rows, self.sizes.n_folds
        if n_rows < LEAST_ROWS:
            trees, seedlings, _ = self._plant(
                "few", rows.sample, rows.table, self.recipe, self.sizes.n_trees, self.deadline
            )
            return self._predicting(trees), seedlings
        again = self.sizes.plants_again(n_rows)
        trials = self._trials(rows, n_folds + again + (CORRECTING_SHARE if self.correct else 0.0))
        level = self._unless_interrupted(lambda: choose_level(trials), 0, "leaves were chosen; the largest are taken")
        correction, width = None, n_threads(self.n_jobs)
        if self.correct and monotonic() < self.deadline:
            correction = self._unless_interrupted(
                lambda: learn_correction(trials, level, self.seed, width),
                None,
                "the correction was learned; the forest does without it",
            )
        calibration = self._unless_interrupted(
            lambda: learn_calibration(trials, level, correction, width),
            Calibration(),
            "the forest was calibrated; the leaves are taken at their word",
        )
        trees, seedlings = trials[-1].trees, trials[-1].seedlings
        if again:
            forest, seedlings = self._finish(rows.table, self._coarser(level), seedlings)
            return replace(forest, calibration=calibration, correction=correction), seedlings
        return Forest(trees, calibration, correction).only(level), seedlings

    def _trials(self, rows: TrainingRows, n_passes: float) -> list[Trial]:
        """Every fold's rows, held out in turn; each fold gets its share of the time left for `n_passes`."""
        trials: list[Trial] = []
        for fold in range(self.sizes.n_folds):
            end = len(rows.sample.y) - fold * self.sizes.n_held_out
            unseen, sample, seen = self._in_spite_of_an_interrupt(
                partial(rows.held_out, np.arange(end - self.sizes.n_held_out, end))
            )
            until = monotonic() + (self.deadline - monotonic()) / (n_passes - fold)
            n_trees = len(trials[-1].trees) if trials else self.sizes.n_trees
            trees, seedlings, left_out = self._plant(
                f"fold-{fold}", sample, seen, self.recipe, n_trees, until, self.correct
            )
            said = self._in_spite_of_an_interrupt(partial(self._by_level, trees, unseen.X))
            trials.append(Trial(trees, seedlings, seen, unseen, said, left_out))
        return trials

    def refill(self, table: RowTable, forest: Forest, seedlings: list[Seedling]) -> Forest:
        """The same trees, filled with these rows; leaves, frequencies, correction and calibration stay."""
        recipe = replace(self.recipe, n_leaves=forest.trees[0].partition.n_blocks, groups=tuple(seedlings[0].groups))
        trees = self._in_threads([partial(self._fill, table, seedling, recipe) for seedling in seedlings], inf)
        group = forest.trees[0].levels[0].group
        return replace(forest, trees=tuple(tree for tree, _ in trees)).only(recipe.groups.index(group))

    def with_depth(self, depth: int) -> "Planter":
        """A planter of trees of another depth."""
        return replace(self, recipe=self._with_leaves(2**depth))

    def plant_one(self, rows: TrainingRows, depth: int) -> None:
        """Plant a tree and throw it away, to see how long it takes."""
        alone = replace(self, checkpoint=Checkpoint(None))
        alone._plant("alone", rows.sample, rows.table, self._with_leaves(2**depth), 1, inf, self.correct)

    def _finish(self, table: RowTable, recipe: TreeRecipe, seedlings: list[Seedling]) -> tuple[Forest, list[Seedling]]:
        """Fill the trees of a trial, as deep as the recipe says, with all rows."""
        cut = [
            replace(own, partition=own.partition.coarser(recipe.n_leaves), groups=recipe.groups) for own in seedlings
        ]

        def tree(i: int) -> tuple[Seedling, SpectralTree, LeftOut | None]:
            return self._grown(f"all-{i}", table, lambda: cut[i], cut[i].waves, recipe)

        filled = self._in_threads([partial(tree, i) for i in range(len(cut))], self.deadline)
        done, trees, _ = zip(*filled, strict=True)
        return self._predicting(trees), list(done)

    def _predicting(self, trees: tuple[SpectralTree, ...]) -> Forest:
        """The trees, not calibrated, with the level that predicts: the leaves."""
        return Forest(trees, Calibration()).only(-1)

    def _coarser(self, level: int) -> TreeRecipe:
        """The recipe whose leaves are the nodes of that level."""
        leaf = self.recipe.groups[level]
        # The same ancestors as in the trial: what was learned there of the leaves' noise holds for these alone.
        groups = tuple(group // leaf for group in self.recipe.groups[: level + 1])
        return replace(self.recipe, n_leaves=self.recipe.n_leaves // leaf, groups=groups)

    def _with_leaves(self, n_leaves: int) -> TreeRecipe:
        return replace(self.recipe, n_leaves=n_leaves, groups=TreeRecipe.groups_of(n_leaves.bit_length() - 1))

    def _plant(
        self,
        name: str,
        sample: Rows,
        table: RowTable,
        recipe: TreeRecipe,
        n_trees: int,
        deadline: float,
        leave_out: bool = False,
    ) -> tuple[tuple[SpectralTree, ...], list[Seedling], list[LeftOut]]:
        """Trees, their seedlings, and, with `leave_out`, what they say of their rows, each left out."""
        seeds = np.random.SeedSequence(self.seed).generate_state(2 * n_trees).reshape(-1, 2).tolist()
        lengthscale, n_draws = self.hyperparameters.lengthscale, min(n_trees, self.sizes.n_draws)
        waves = [Waves.of(self.draw(np.random.default_rng([self.seed, k])), lengthscale) for k in range(n_draws)]

        every, n_branches = ceil(n_trees * table.n_rows / TESTED_ROWS), recipe.n_leaves // recipe.groups[0]

        def tested(i: int) -> range:
            # Other branches for every tree; where each can have but one, from all over the table.
            first = i % every if every < n_branches else i * n_branches // n_trees
            return range(first, n_branches, every) if leave_out else range(0)

        def tree(i: int) -> tuple[Seedling, SpectralTree, LeftOut | None]:
            own = waves[i * n_draws // n_trees]

            def sow() -> Seedling:
                return Seedling(
                    grow_partition(sample, lengthscale, recipe, seeds[i][0]), own, seeds[i][1], recipe.groups
                )

            return self._grown(f"{name}-{i}", table, sow, own, recipe, tested(i))

        done = self._in_threads([partial(tree, i) for i in range(n_trees)], deadline)
        seedlings, trees, left_out = zip(*done, strict=True)
        return trees, list(seedlings), [said for said in left_out if said is not None]

    def _grown(
        self,
        name: str,
        table: RowTable,
        sow: Callable[[], Seedling],
        waves: Waves,
        recipe: TreeRecipe,
        tested: Sequence[int] = (),
    ) -> tuple[Seedling, SpectralTree, LeftOut | None]:
        """A tree as it was kept, or grown and filled now."""

        def grow() -> tuple[Seedling, SpectralTree, LeftOut | None]:
            seedling = sow()
            return seedling, *self._fill(table, seedling, recipe, tested)

        seedling, tree, left_out = self.checkpoint.once(name, grow)
        # Trees that share their waves share one object, which a file of one tree does not know of.
        return replace(seedling, waves=waves), replace(tree, waves=waves), left_out

    def _fill(
        self, table: RowTable, seedling: Seedling, recipe: TreeRecipe, tested: Sequence[int] = ()
    ) -> tuple[SpectralTree, LeftOut | None]:
        ridge = self.hyperparameters.ridge(seedling.waves.n_cosines // 2)
        return plant(table, seedling.partition, seedling.waves, ridge, recipe, seedling.seed, tested)

    def _in_threads(self, tasks: list[Callable[[], Any]], deadline: float) -> list[Any]:
        """Results of the tasks in order; after an interrupt or the deadline, of those done, at least one."""
        results: list[Any] = [None] * len(tasks)
        width = n_threads(self.n_jobs)

        def run(i: int) -> None:
            results[i] = tasks[i]()
            self.after_tree(sum(r is not None for r in results), len(tasks))

        with one_blas_thread():
            try:
                for first in range(0, len(tasks), width):
                    began = monotonic()
                    batch = range(first, min(first + width, len(tasks)))
                    map_in_threads(run, batch, self.n_jobs)
                    if 2 * monotonic() - began > deadline:
                        break
            except KeyboardInterrupt:
                self.checkpoint.close()
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
        return [forest.only(level).components(X, self.n_jobs) for level in range(len(self.recipe.groups))]

    def _in_spite_of_an_interrupt(self, look: Callable[[], T]) -> T:
        """What is short, and cannot be done without: Ctrl-C has it done again, a second one gives up."""
        try:
            return look()
        except KeyboardInterrupt:
            self.checkpoint.close()
            message = "interrupted; the trees that stand are still chosen and calibrated. Interrupt again to give up"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
            return look()

    def _unless_interrupted(self, learn: Callable[[], T], otherwise: T, what: str) -> T:
        """What is learned, or, after Ctrl-C, what does without."""
        try:
            return learn()
        except KeyboardInterrupt:
            self.checkpoint.close()
            warnings.warn(f"interrupted while {what}", ConvergenceWarning, stacklevel=2)
            return otherwise
