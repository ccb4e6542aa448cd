"""From learned frequencies to a calibrated forest."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import ceil, inf
from threading import Lock
from typing import TypeVar

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.budget import Budget, seconds_of
from ssgp.engine.threads import n_threads, one_blas_thread
from ssgp.engine.workers import ProcessWorkers
from ssgp.forest.calibration import Calibration, Components
from ssgp.forest.correction import Correction
from ssgp.forest.fitted import Forest
from ssgp.forest.folds import (
    Fold,
    choose_level,
    learn_calibration,
    learn_correction,
    learn_minority_noise,
    refit_correction,
    scale_of_refitted,
)
from ssgp.forest.growing import grow_skeleton, grow_together, n_growing_rows
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.machines import Machine
from ssgp.forest.settings import ForestSettings
from ssgp.forest.sizes import NEGLIGIBLE
from ssgp.forest.tree import SpectralTree, TreeShape, TreeSkeleton
from ssgp.forest.tree_fitter import FittedTree, TreeFitter, skeletons_of, trees_of
from ssgp.rows.blocks import Rows
from ssgp.rows.row_tables import MemoryTable, RowTable
from ssgp.rows.training_rows import TrainingRows
from ssgp.spectrum.parameters import Hyperparameters

__all__ = ["LEAST_ROWS", "ForestBuilder"]

T = TypeVar("T")

# Of few rows, which several folds hold out in turn, so many trees tell enough of a row's error.
LEAVE_ONE_OUT_TREES = 8
# Where rows held out are so large a share of all, trees that were fitted to them as well are compared with those
# before: so many trees or, of few rows, as many as have so many rows in all.
LEAST_COMPARED_SHARE = 1 / 20
LEAST_COMPARED_TREES, COMPARED_ROWS = 4, 50_000
# Time kept for the correction, in passes over the trees.
CORRECTING_SHARE = 0.3
# The same for the choice of leaves and the calibration.
CHOOSING_SHARE = 0.5
# Fewer rows are too few to calibrate on.
LEAST_ROWS = 20
# They make deviations of the noise larger by a share of so many over their number.
FEW_ROWS_NOISE = 5.0
# Rows of the tree that is fitted to see how long one takes, and the fewest that a forest is fitted to.
TIMED_ROWS = 8192
LEAST_FITTED_ROWS = 2000
# Trees of at most so many rows are grown together.
GROWN_TOGETHER = 20_000


@dataclass(frozen=True)
class ForestBuilder:
    """Builds forests from one posterior of the frequencies.

    Attributes
    ----------
    draw : callable
        Takes a generator to a draw of the frequencies (m, d).
    hyperparameters : Hyperparameters
        Lengthscales and ridge.
    settings : ForestSettings
        What was asked for.
    budget : Budget
        Time, what is kept, and whom to tell of trees.
    trend_inputs : int array of shape (t,) or None
        Inputs that the leaves' models are linear in, None for all.
    processes : ProcessWorkers or None
        Processes that share the trees of a table in memory, None for threads.
    """

    draw: Callable[[np.random.Generator], Array]
    hyperparameters: Hyperparameters
    settings: ForestSettings
    budget: Budget = field(default_factory=Budget)
    trend_inputs: Indices | None = None
    processes: ProcessWorkers | None = None

    def build(self, rows: TrainingRows) -> tuple[Forest, list[TreeSkeleton]]:
        """Fit trees, choose their leaves, correct and calibrate them by rows held out, fit them to all rows."""
        shared = self if isinstance(rows.table, MemoryTable) else replace(self, processes=None)
        with one_blas_thread(), self.machine.holding(rows.table, shared.processes) as table:
            return shared._build(replace(rows, table=table))

    @property
    def machine(self) -> Machine:
        """What does the work."""
        return self.settings.machine

    @property
    def _fitter(self) -> TreeFitter:
        """What fits the trees."""
        return TreeFitter(self.hyperparameters, self.settings, self.budget, self.processes)

    def _build(self, rows: TrainingRows) -> tuple[Forest, list[TreeSkeleton]]:
        sizes, n_rows = self.settings.sizes, rows.table.n_rows
        if n_rows < LEAST_ROWS:
            fitted = self._fit_trees("few", rows.sample, rows.table, sizes.n_trees, self.budget)
            forest = Forest(trees_of(fitted), Calibration(noise=1.0 + FEW_ROWS_NOISE / n_rows))
            return forest.only(-1), skeletons_of(fitted)
        held_out = rows.folds(sizes.n_folds, sizes.n_held_out)
        together = rows.groups is not None and (rows.ordered or _lacks_much(held_out, len(rows.sample.y)))
        refits = sizes.refits(n_rows) or together
        folds = self._folds(rows, held_out, len(held_out) + refits + self._shares_of_choosing)
        n_trees = len(folds[-1].trees)
        self.budget.leave_out(sizes.n_trees - n_trees, sizes.n_trees, "trees")
        choosing = folds[::-1] if rows.ordered else folds
        level = self.budget.attempt(
            lambda: choose_level(choosing), lambda: 0, "interrupted while leaves were chosen; the largest are taken"
        )
        forest = self._corrected_and_calibrated(folds, level, rows.ordered, refits)
        if not refits:
            return forest.only(level), folds[-1].skeletons
        of_all = self._correction_of_all(forest.correction, folds, level, rows.ordered)
        fitted = self._fit_to_all(rows, self.settings.shape.cut_at(level), folds[-1])
        scale = self._scale_of_refitted(fitted, folds[-1], level, forest.correction, rows, held_out[-1])
        calibration = replace(forest.calibration, noise=scale * forest.calibration.noise)
        return Forest(trees_of(fitted), calibration, of_all, forest.minority_noise).only(-1), skeletons_of(fitted)

    @property
    def _shares_of_choosing(self) -> float:
        """Time of the choices by rows held out, in passes over the trees."""
        return CHOOSING_SHARE + (CORRECTING_SHARE if self.settings.correct else 0.0)

    def _corrected_and_calibrated(self, folds: list[Fold], level: int, ordered: bool, refits: bool) -> Forest:
        """The trees of the last fold, with a correction and a calibration learned from all folds."""
        correction, n_workers, seed = None, n_threads(self.settings.n_jobs), self.settings.seeds.trees
        if self.settings.correct and self.budget.seconds_left() <= 0:
            self.budget.left_out.append("the correction")
        if self.settings.correct and self.budget.seconds_left() > 0:
            seconds, bin_rows = self._seconds_to_correct(refits), self.machine.bin_rows
            correction = self.budget.attempt(
                lambda: learn_correction(folds, level, seed, n_workers, seconds, ordered, bin_rows),
                lambda: None,
                "interrupted while the correction was learned; the forest does without it",
            )
        minority_noise = None
        if self.settings.correct and self.budget.seconds_left() > 0:
            minority_noise = self.budget.attempt(
                lambda: learn_minority_noise(folds, level),
                lambda: None,
                "interrupted while the noise of rare kinds of rows was learned; it is taken for that of their leaves",
            )
        calibration = self.budget.attempt(
            lambda: learn_calibration(folds, level, correction, minority_noise, n_workers, self.machine.density),
            Calibration,
            "interrupted while the forest was calibrated; the predictions are not calibrated",
        )
        return Forest(folds[-1].trees, calibration, correction, minority_noise)

    def _seconds_to_correct(self, refits: bool) -> float:
        """Time that the correction may take, of what is left for it, the calibration and trees that are filled."""
        shares = CORRECTING_SHARE / (CORRECTING_SHARE + CHOOSING_SHARE / 2 + refits)
        return self.budget.seconds_left() * shares if self.budget.limited else inf

    def _correction_of_all(
        self, correction: Correction | None, folds: list[Fold], level: int, ordered: bool
    ) -> Correction | None:
        """A correction that has learned from the rows held out as well, once these have judged it."""
        if correction is None or self.budget.limited:
            return correction
        seed, n_workers, bin_rows = self.settings.seeds.trees, n_threads(self.settings.n_jobs), self.machine.bin_rows
        return self.budget.attempt(
            lambda: refit_correction(folds, level, correction, seed, n_workers, ordered, bin_rows),
            lambda: correction,
            "interrupted while the correction was fitted to all rows; it is kept as it was judged",
        )

    def _folds(self, rows: TrainingRows, held_out_rows: list[Indices], n_passes: float) -> list[Fold]:
        """Every fold's rows, held out in turn; each fold gets its share of the time left for `n_passes`."""
        sizes, folds = self.settings.sizes, list[Fold]()
        for number, numbers in enumerate(held_out_rows):
            held_out, sample, table = self._in_spite_of_interrupts(partial(rows.hold_out, numbers))
            budget = self.budget.one_of(n_passes - number)
            n_trees = len(folds[-1].trees) if folds else sizes.n_trees
            fitted = self._fit_trees(f"fold-{number}", sample, table, n_trees, budget, leave_out=self.settings.correct)
            trees, skeletons = trees_of(fitted), skeletons_of(fitted)
            components = self._in_spite_of_interrupts(partial(self._components_by_level, trees, held_out.X))
            errors = [errors for _, _, errors in fitted if errors is not None]
            folds.append(Fold(trees, skeletons, table, held_out, components, errors))
        return folds

    def _components_by_level(self, trees: tuple[SpectralTree, ...], X: Array) -> list[Components]:
        """Predictions of the trees at each level that could predict."""
        n_levels = len(trees[0].levels)
        components = self.machine.components(trees, X, self.settings.n_jobs)
        return [components.every(n_levels, level) for level in range(n_levels)]

    def refit(self, table: RowTable, forest: Forest, skeletons: list[TreeSkeleton]) -> Forest:
        """The same trees, filled with these rows; leaves, frequencies, correction and calibration stay."""
        with self.machine.holding(table, None) as table:
            trees = tuple(tree for tree, _ in self._fitter.refit(table, skeletons))
        level = skeletons[0].leaves_per_node.index(forest.trees[0].levels[0].leaves_per_node)
        return replace(forest, trees=trees).only(level)

    def _fit_to_all(self, rows: TrainingRows, shape: TreeShape, fold: Fold) -> list[FittedTree]:
        """Trees of a fold, cut off at the leaves that were chosen, fitted to all rows.

        Where the rows held out of the one fold are many, all rows are left out in turn of some of the trees; not of
        rows in time, where a row between others says nothing of those to come, nor of the few rows of several folds,
        where cuts that have seen a row's target flatter it by more than a tree of all rows is better.
        """
        table, sizes = rows.table, self.settings.sizes
        cut = [skeleton.with_shape(shape) for skeleton in fold.skeletons]
        many = len(fold.held_out.y) > LEAST_COMPARED_SHARE * table.n_rows and sizes.n_folds == 1
        many = many and not (self.budget.limited or rows.ordered)
        n_compared = max(LEAST_COMPARED_TREES, ceil(COMPARED_ROWS / table.n_rows)) if many else 0
        leave_out = [range(shape.n_branches if i < n_compared else 0) for i in range(len(cut))]
        features = [skeleton.features for skeleton in cut]
        return self._fitter.fit("all", table, lambda i: partial(_same, cut[i]), features, leave_out, self.budget)

    def _scale_of_refitted(
        self,
        fitted: list[FittedTree],
        fold: Fold,
        level: int,
        correction: Correction | None,
        rows: TrainingRows,
        held_out: Indices,
    ) -> float:
        """Factor of the scale of distributions since a fold's trees were fitted to all rows."""
        if len(fitted) < len(fold.trees):
            return 1.0
        errors = [left_out.of_rows(rows.places[held_out]) for _, _, left_out in fitted if left_out is not None]
        return scale_of_refitted(fold, level, correction, trees_of(fitted), errors, rows.alone(held_out))

    def _fit_trees(
        self, name: str, sample: Rows, table: RowTable, n_trees: int, budget: Budget, leave_out: bool = False
    ) -> list[FittedTree]:
        """Trees, their skeletons and, with `leave_out`, their errors on some of their rows, each left out."""
        seed, shape = self.settings.seeds.trees, self.settings.shape
        seeds = [(a, b) for a, b in np.random.SeedSequence(seed).generate_state(2 * n_trees).reshape(-1, 2).tolist()]
        lengthscale, n_draws = self.hyperparameters.lengthscale, min(n_trees, self.settings.sizes.n_draws)
        draws = [self.draw(np.random.default_rng([seed, k])) for k in range(n_draws)]
        features = [LeafFeatures.of(frequencies, lengthscale, self.trend_inputs) for frequencies in draws]
        most = self.settings.sizes.n_left_out / table.n_rows
        every = ceil(n_trees / (min(most, LEAVE_ONE_OUT_TREES) if self.settings.sizes.n_folds > 1 else most))

        def branches(i: int) -> range:
            # Other branches for every tree; where each can have but one, from all over the table.
            first = i % every if every <= shape.n_branches else i * shape.n_branches // n_trees
            return range(first, shape.n_branches, every) if leave_out else range(0)

        grown_on = sample.first(n_growing_rows(sample.X.shape[1], shape.n_leaves))
        by_tree = [features[i * n_draws // n_trees] for i in range(n_trees)]

        @_once_for_all_threads
        def grown() -> list[TreeSkeleton]:
            return grow_together(grown_on, lengthscale, by_tree, shape, seeds, self.machine.partitioner)

        def grow(i: int) -> Callable[[], TreeSkeleton]:
            # Of trees that may run out of time each is grown when its turn comes.
            if len(grown_on.y) <= GROWN_TOGETHER and not self.budget.limited:
                return partial(_same, grown()[i])
            return partial(grow_skeleton, grown_on, lengthscale, by_tree[i], shape, seeds[i], self.machine.partitioner)

        return self._fitter.fit(name, table, grow, by_tree, [branches(i) for i in range(n_trees)], budget)

    def _in_spite_of_interrupts(self, work: Callable[[], T]) -> T:
        """What is short, and cannot be done without: Ctrl-C has it done again, a second one gives up."""
        message = "interrupted; the trees that stand are still chosen and calibrated. Interrupt again to give up"
        return self.budget.attempt(work, work, message)

    def affordable(self, rows: TrainingRows) -> "tuple[ForestBuilder, TrainingRows]":
        """All rows, or as many of the sample as there is time to fit one tree to, and a builder for them."""
        n_rows, sizes = rows.table.n_rows, self.settings.sizes
        if not self.budget.limited or n_rows <= TIMED_ROWS:
            return self, rows
        seconds = self._seconds_of_a_tree(rows)
        n_passes = len(rows.folds(sizes.n_folds, sizes.n_held_out)) + 1 + self._shares_of_choosing
        affordable = int(TIMED_ROWS * max(0.0, self.budget.seconds_left()) / seconds / n_passes)
        if affordable >= n_rows:
            return self, rows
        affordable = min(max(LEAST_FITTED_ROWS, affordable), len(rows.sample.y))
        self.budget.leave_out(n_rows - affordable, n_rows, "rows")
        held_out = min(sizes.n_held_out, affordable // 10)
        fewer = self.settings.with_sizes(depth=self._depth_for(affordable, n_rows), n_held_out=held_out, n_folds=1)
        return replace(self, settings=fewer), rows.first(affordable)

    def _seconds_of_a_tree(self, rows: TrainingRows) -> float:
        """Seconds that a tree of `TIMED_ROWS` takes, with leaves as large as the forest's are to be."""
        settings = self.settings.with_sizes(depth=self._depth_for(TIMED_ROWS, rows.table.n_rows))
        alone = replace(self, settings=settings, budget=Budget(hooks=self.budget.hooks), processes=None)
        part = rows.first(TIMED_ROWS)
        return seconds_of(
            lambda: alone._fit_trees("alone", part.sample, part.table, 1, Budget(), self.settings.correct)
        )

    def _depth_for(self, n_fitted: int, n_rows: int) -> int:
        """Depth at which trees of fewer rows have leaves of the same size."""
        return max(0, self.settings.sizes.depth - int(np.log2(n_rows / n_fitted)))


def _lacks_much(held_out: list[Indices], n_rows: int) -> bool:
    """Whether trees that lack the rows of a fold have to be filled again with all."""
    return len(held_out) > 1 or len(held_out[0]) > NEGLIGIBLE * n_rows


def _once_for_all_threads(make: Callable[[], T]) -> Callable[[], T]:
    """A function whose value is made once; threads that ask for it meanwhile wait."""
    lock, made = Lock(), cache(make)

    def value() -> T:
        with lock:
            return made()

    return value


def _same(skeleton: TreeSkeleton) -> TreeSkeleton:
    return skeleton
