"""From learned frequencies to a calibrated forest."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import ceil
from time import monotonic
from typing import TypeVar

import numpy as np

from ssgp._utils.arrays import Array, Indices
from ssgp._utils.budget import Budget, seconds_of
from ssgp.engine.threads import map_in_threads, n_threads, one_blas_thread
from ssgp.engine.workers import ProcessWorkers, ThreadWorkers, Workers, process_workers
from ssgp.forest.calibration import Calibration, Components
from ssgp.forest.fitted import Forest
from ssgp.forest.folds import Fold, choose_level, learn_calibration, learn_correction
from ssgp.forest.growing import grow_skeleton, grow_together, n_growing_rows
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.nodes import LeaveOneOut, fit_tree
from ssgp.forest.settings import ForestSettings
from ssgp.forest.tree import SpectralTree, TreeShape, TreeSkeleton
from ssgp.rows.blocks import Rows
from ssgp.rows.row_tables import MemoryTable, RowTable, TrainingRows
from ssgp.saving.contents import fixed_tuple, made_of, optional
from ssgp.spectrum.parameters import Hyperparameters

__all__ = ["ForestBuilder", "start_processes"]

T = TypeVar("T")
FittedTree = tuple[TreeSkeleton, SpectralTree, LeaveOneOut | None]
# The same as checkpoints hold it.
FITTED_TREE = fixed_tuple(made_of(TreeSkeleton), made_of(SpectralTree), optional(made_of(LeaveOneOut)))

# So many rows, counted once per tree, are left out of it in turn to learn the correction: all rows of some branches.
LEAVE_ONE_OUT_ROWS = 1_200_000
# Time kept for the correction, in passes over the trees.
CORRECTING_SHARE = 0.3
# Fewer rows are too few to calibrate on.
LEAST_ROWS = 20
# Rows of the tree that is fitted to see how long one takes, and the fewest that a forest is fitted to.
TIMED_ROWS = 8192
LEAST_FITTED_ROWS = 2000
# Trees of at most so many rows are grown together.
GROWN_TOGETHER = 20_000


def start_processes(settings: ForestSettings, table: RowTable) -> ProcessWorkers | None:
    """Processes that will share the trees of a table, started beforehand; None where threads will do."""
    number = min(n_threads(settings.n_jobs), settings.sizes.most_processes)
    return process_workers(number, _get_ready) if isinstance(table, MemoryTable) else None


def _get_ready() -> None:
    """What a process does first: it imports this module, and all that trees need."""


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
        if self.processes is None or not isinstance(rows.table, MemoryTable):
            return replace(self, processes=None)._build(rows)
        with rows.table.shared() as table:
            return self._build(replace(rows, table=table))

    def _build(self, rows: TrainingRows) -> tuple[Forest, list[TreeSkeleton]]:
        sizes, n_rows = self.settings.sizes, rows.table.n_rows
        if n_rows < LEAST_ROWS:
            fitted = self._fit_trees("few", rows.sample, rows.table, sizes.n_trees, self.budget)
            return Forest(_trees(fitted), Calibration()).only(-1), _skeletons(fitted)
        refits = sizes.refits(n_rows)
        folds = self._folds(rows, sizes.n_folds + refits + (CORRECTING_SHARE if self.settings.correct else 0.0))
        level = self.budget.attempt(
            lambda: choose_level(folds), lambda: 0, "interrupted while leaves were chosen; the largest are taken"
        )
        forest = self._corrected_and_calibrated(folds, level)
        if not refits:
            return forest.only(level), folds[-1].skeletons
        trees, skeletons = self._fit_to_all(rows.table, self.settings.shape.cut_at(level), folds[-1].skeletons)
        return replace(forest, trees=trees).only(-1), skeletons

    def _corrected_and_calibrated(self, folds: list[Fold], level: int) -> Forest:
        """The trees of the last fold, with a correction and a calibration learned from all folds."""
        correction, n_workers, seed = None, n_threads(self.settings.n_jobs), self.settings.seeds.trees
        if self.settings.correct and self.budget.seconds_left() > 0:
            correction = self.budget.attempt(
                lambda: learn_correction(folds, level, seed, n_workers),
                lambda: None,
                "interrupted while the correction was learned; the forest does without it",
            )
        calibration = self.budget.attempt(
            lambda: learn_calibration(folds, level, correction, n_workers),
            Calibration,
            "interrupted while the forest was calibrated; the predictions are not calibrated",
        )
        return Forest(folds[-1].trees, calibration, correction)

    def _folds(self, rows: TrainingRows, n_passes: float) -> list[Fold]:
        """Every fold's rows, held out in turn; each fold gets its share of the time left for `n_passes`."""
        sizes, folds = self.settings.sizes, list[Fold]()
        for number in range(sizes.n_folds):
            end = len(rows.sample.y) - number * sizes.n_held_out
            held_out, sample, table = self._in_spite_of_interrupts(partial(rows.hold_out, end - sizes.n_held_out, end))
            budget = self.budget.one_of(n_passes - number)
            n_trees = len(folds[-1].trees) if folds else sizes.n_trees
            fitted = self._fit_trees(f"fold-{number}", sample, table, n_trees, budget, leave_out=self.settings.correct)
            trees, skeletons = _trees(fitted), _skeletons(fitted)
            components = self._in_spite_of_interrupts(partial(self._components_by_level, trees, held_out.X))
            errors = [errors for _, _, errors in fitted if errors is not None]
            folds.append(Fold(trees, skeletons, table, held_out, components, errors))
        return folds

    def _components_by_level(self, trees: tuple[SpectralTree, ...], X: Array) -> list[Components]:
        """Predictions of the trees at each level that could predict."""
        n_levels = len(trees[0].levels)
        components = Forest(trees, Calibration()).all_components(X, self.settings.n_jobs)
        return [components.every(n_levels, level) for level in range(n_levels)]

    def refit(self, table: RowTable, forest: Forest, skeletons: list[TreeSkeleton]) -> Forest:
        """The same trees, filled with these rows; leaves, frequencies, correction and calibration stay."""
        tasks = [partial(self._fit_tree, table, skeleton) for skeleton in skeletons]
        trees = tuple(tree for tree, _ in self._in_threads(tasks, Budget()))
        level = skeletons[0].leaves_per_node.index(forest.trees[0].levels[0].leaves_per_node)
        return replace(forest, trees=trees).only(level)

    def _fit_to_all(
        self, table: RowTable, shape: TreeShape, skeletons: list[TreeSkeleton]
    ) -> tuple[tuple[SpectralTree, ...], list[TreeSkeleton]]:
        """Trees of a fold, cut off at the leaves that were chosen, fitted to all rows."""
        cut = [skeleton.with_shape(shape) for skeleton in skeletons]
        tasks = [
            partial(self._kept_tree, f"all-{i}", table, partial(_same, skeleton), skeleton.features, ())
            for i, skeleton in enumerate(cut)
        ]
        fitted: list[FittedTree] = self._in_threads(tasks, self.budget)
        return _trees(fitted), _skeletons(fitted)

    def _fit_trees(
        self, name: str, sample: Rows, table: RowTable, n_trees: int, budget: Budget, leave_out: bool = False
    ) -> list[FittedTree]:
        """Trees, their skeletons and, with `leave_out`, their errors on some of their rows, each left out."""
        seed, shape = self.settings.seeds.trees, self.settings.shape
        seeds = [(a, b) for a, b in np.random.SeedSequence(seed).generate_state(2 * n_trees).reshape(-1, 2).tolist()]
        lengthscale, n_draws = self.hyperparameters.lengthscale, min(n_trees, self.settings.sizes.n_draws)
        draws = [self.draw(np.random.default_rng([seed, k])) for k in range(n_draws)]
        features = [LeafFeatures.of(frequencies, lengthscale, self.trend_inputs) for frequencies in draws]
        every = ceil(n_trees * table.n_rows / LEAVE_ONE_OUT_ROWS)

        def branches(i: int) -> range:
            # Other branches for every tree; where each can have but one, from all over the table.
            first = i % every if every < shape.n_branches else i * shape.n_branches // n_trees
            return range(first, shape.n_branches, every) if leave_out else range(0)

        grown_on = sample.first(n_growing_rows(sample.X.shape[1], shape.n_leaves))

        by_tree = [features[i * n_draws // n_trees] for i in range(n_trees)]
        together = len(grown_on.y) <= GROWN_TOGETHER

        @cache
        def grown() -> list[TreeSkeleton]:
            return grow_together(grown_on, lengthscale, by_tree, shape, seeds)

        def fit(i: int, workers: Workers) -> FittedTree:
            if together:
                grow = partial(_same, grown()[i])
            else:
                grow = partial(grow_skeleton, grown_on, lengthscale, by_tree[i], shape, seeds[i])
            return self._kept_tree(f"{name}-{i}", table, grow, by_tree[i], branches(i), workers)

        return self._in_threads([partial(fit, i) for i in range(n_trees)], budget)

    def _kept_tree(
        self,
        name: str,
        table: RowTable,
        grow: Callable[[], TreeSkeleton],
        features: LeafFeatures,
        leave_out: Collection[int],
        workers: Workers,
    ) -> FittedTree:
        """A tree as it was kept, or grown and fitted now."""

        def fit() -> FittedTree:
            (skeleton,) = workers.map(_call, [grow])
            return skeleton, *self._fit_tree(table, skeleton, workers, leave_out)

        skeleton, tree, errors = self.budget.kept.once(name, fit, FITTED_TREE)
        # Trees that share their features share one object, which a file of one tree does not know of.
        return replace(skeleton, features=features), replace(tree, features=features), errors

    def _fit_tree(
        self, table: RowTable, skeleton: TreeSkeleton, workers: Workers, leave_out: Collection[int] = ()
    ) -> tuple[SpectralTree, LeaveOneOut | None]:
        settings, ridge = self.settings, self.hyperparameters.ridge(skeleton.features.n_cosines // 2)
        return fit_tree(table, skeleton, ridge, settings.n_sketches, settings.shrink, leave_out, workers)

    def _in_threads(self, tasks: Sequence[Callable[[Workers], T]], budget: Budget) -> list[T]:
        """Results of the tasks in order; after an interrupt or the deadline, of those done, at least one.

        A task is told who may share its parts: processes, or the threads there are beside those of the tasks.
        """
        results: dict[int, T] = {}
        most = min(n_threads(self.settings.n_jobs), max(1, self.settings.sizes.trees_at_once))
        n_together = min(most, len(tasks))
        workers = self.processes or ThreadWorkers(ceil(most / n_together))

        def run(i: int) -> None:
            results[i] = tasks[i](workers)
            self.budget.tell_of_tree(len(results), len(tasks))

        def run_all() -> None:
            for first in range(0, len(tasks), n_together):
                began = monotonic()
                map_in_threads(run, range(first, min(first + n_together, len(tasks))), n_together)
                if budget.seconds_left() < monotonic() - began:
                    break

        def run_all_or_end() -> None:
            try:
                run_all()
            except BaseException:
                if self.processes is not None:
                    self.processes.end()
                raise

        def message() -> str:
            remaining = "these" if results else "one. Interrupt again to give up"
            return f"interrupted after {len(results)} of {len(tasks)} trees; the forest is made of {remaining}"

        with one_blas_thread():
            self.budget.attempt(run_all_or_end, lambda: None, message)
            if not results:
                run(0)
        return [results[i] for i in sorted(results)]

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
        affordable = int(TIMED_ROWS * max(0.0, self.budget.seconds_left()) / seconds / (sizes.n_folds + 1))
        if affordable >= n_rows:
            return self, rows
        affordable = min(max(LEAST_FITTED_ROWS, affordable), len(rows.sample.y))
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


def _call(function: Callable[[], T]) -> T:
    return function()


def _same(skeleton: TreeSkeleton) -> TreeSkeleton:
    return skeleton


def _trees(fitted: list[FittedTree]) -> tuple[SpectralTree, ...]:
    return tuple(tree for _, tree, _ in fitted)


def _skeletons(fitted: list[FittedTree]) -> list[TreeSkeleton]:
    return [skeleton for skeleton, _, _ in fitted]
