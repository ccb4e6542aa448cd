"""Trees of one fit, shared out to threads or processes within its budget: grown, filled, kept as they are done."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from math import ceil
from time import monotonic
from typing import TypeVar

from ssgp._utils.budget import Budget
from ssgp.engine.threads import map_in_threads, n_threads, one_blas_thread
from ssgp.engine.workers import ProcessWorkers, ThreadWorkers, Workers, process_workers
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.machines import Machine
from ssgp.forest.nodes import LeaveOneOut
from ssgp.forest.settings import ForestSettings
from ssgp.forest.tree import SpectralTree, TreeSkeleton
from ssgp.rows.row_tables import MemoryTable, RowTable
from ssgp.saving.contents import fixed_tuple, made_of, optional
from ssgp.spectrum.parameters import Hyperparameters

__all__ = ["FittedTree", "TreeFitter", "skeletons_of", "start_processes", "trees_of"]

T = TypeVar("T")
FittedTree = tuple[TreeSkeleton, SpectralTree, LeaveOneOut | None]
# The same as checkpoints hold it.
FITTED_TREE = fixed_tuple(made_of(TreeSkeleton), made_of(SpectralTree), optional(made_of(LeaveOneOut)))

# Trees of so many features of rows in all, of at most so many inputs, are fitted together.
FITTED_TOGETHER = 1 << 21
INPUTS_TOGETHER = 64


def start_processes(settings: ForestSettings, table: RowTable) -> ProcessWorkers | None:
    """Processes that will share the trees of a table, started beforehand; None where threads will do."""
    if not settings.machine.has_threads:
        return None
    number = min(n_threads(settings.n_jobs), settings.sizes.most_processes)
    return process_workers(number, _get_ready) if isinstance(table, MemoryTable) else None


def _get_ready() -> None:
    """What a process does first: it imports this module, and all that trees need."""


@dataclass(frozen=True)
class TreeFitter:
    """Fits trees, some at a time.

    Attributes
    ----------
    hyperparameters : Hyperparameters
        Lengthscales and ridge.
    settings : ForestSettings
        What was asked for.
    budget : Budget
        What is kept, whether there is a limit, and whom to tell of trees.
    processes : ProcessWorkers or None
        Processes that share the trees of a table in memory, None for threads.
    """

    hyperparameters: Hyperparameters
    settings: ForestSettings
    budget: Budget = field(default_factory=Budget)
    processes: ProcessWorkers | None = None

    @property
    def machine(self) -> Machine:
        """What does the work."""
        return self.settings.machine

    def fit(
        self,
        name: str,
        table: RowTable,
        grow: Callable[[int], Callable[[], TreeSkeleton]],
        features: Sequence[LeafFeatures],
        leave_out: Sequence[Collection[int]],
        budget: Budget,
    ) -> list[FittedTree]:
        """Trees as they were kept, or grown and fitted now, some of them together.

        Parameters
        ----------
        name : str
            What the trees are called where they are kept.
        table : RowTable
            Rows to fill them with.
        grow : callable
            Takes the number of a tree to what grows its skeleton.
        features : sequence of LeafFeatures
            Features of each tree.
        leave_out : sequence of collections of int
            Branches of each tree whose rows are left out in turn, for their errors.
        budget : Budget
            Time for these trees.
        """

        def fit_some(numbers: Sequence[int], workers: Workers) -> list[FittedTree]:
            @cache
            def fitted() -> dict[int, FittedTree]:
                skeletons = workers.map(_call, [grow(i) for i in numbers])
                trees = self._fit_skeletons(table, skeletons, workers, [leave_out[i] for i in numbers])
                return {i: (grown, *tree) for i, grown, tree in zip(numbers, skeletons, trees, strict=True)}

            return [kept(i, fitted) for i in numbers]

        def kept(i: int, fitted: Callable[[], dict[int, FittedTree]]) -> FittedTree:
            skeleton, tree, errors = self.budget.kept.once(f"{name}-{i}", lambda: fitted()[i], FITTED_TREE)
            # Trees that share their features share one object, which a file of one tree does not know of.
            return replace(skeleton, features=features[i]), replace(tree, features=features[i]), errors

        return self._in_threads(fit_some, self._batches(len(features), table, features[0]), budget)

    def refit(
        self, table: RowTable, skeletons: Sequence[TreeSkeleton]
    ) -> list[tuple[SpectralTree, LeaveOneOut | None]]:
        """Trees of these skeletons, filled with these rows; nothing is kept."""

        def fit_some(numbers: Sequence[int], workers: Workers) -> list[tuple[SpectralTree, LeaveOneOut | None]]:
            return self._fit_skeletons(table, [skeletons[i] for i in numbers], workers)

        return self._in_threads(fit_some, self._batches(len(skeletons), table, skeletons[0].features), Budget())

    def _batches(self, n_trees: int, table: RowTable, features: LeafFeatures) -> list[range]:
        """Numbers of the trees that are fitted together: of a small table as many as keep arithmetic busy.

        They follow from sizes alone, for any number of threads; of trees that may run out of time each is alone.
        """
        together = max(1, FITTED_TOGETHER // (table.n_rows * features.n_features))
        few_inputs = type(features) is LeafFeatures and features.n_inputs <= INPUTS_TOGETHER
        if not (few_inputs and isinstance(table, MemoryTable)) or self.processes or self.budget.limited:
            together = 1
        ends = [n_trees * i // -(-n_trees // together) for i in range(-(-n_trees // together) + 1)]
        return [range(first, last) for first, last in pairwise(ends)]

    def _fit_skeletons(
        self,
        table: RowTable,
        skeletons: Sequence[TreeSkeleton],
        workers: Workers,
        leave_out: Sequence[Collection[int]] = (),
    ) -> list[tuple[SpectralTree, LeaveOneOut | None]]:
        """Trees of these skeletons, together if there are several."""
        settings, ridge = self.settings, self.hyperparameters.ridge(skeletons[0].features.n_cosines // 2)
        leave_out = leave_out or [()] * len(skeletons)
        return self.machine.fit_trees(table, skeletons, ridge, settings.n_sketches, settings.shrink, leave_out, workers)

    def _in_threads(
        self, fit: Callable[[Sequence[int], Workers], list[T]], batches: Sequence[Sequence[int]], budget: Budget
    ) -> list[T]:
        """Trees of the batches in order; after an interrupt or the deadline, of those done, at least one.

        `fit` is told who may share its parts: processes, or the threads there are beside those of the batches.
        """
        results: dict[int, T] = {}
        n_trees = sum(map(len, batches))
        n_workers = n_threads(self.settings.n_jobs) if self.machine.has_threads else 1
        most = min(n_workers, max(1, self.settings.sizes.trees_at_once))
        n_together = min(most, len(batches))
        workers = self.processes or ThreadWorkers(ceil(most / n_together))

        def run(numbers: Sequence[int]) -> None:
            for i, tree in zip(numbers, fit(numbers, workers), strict=True):
                results[i] = tree
                self.budget.tell_of_tree(len(results), n_trees)

        def run_all() -> None:
            for first in range(0, len(batches), n_together):
                began = monotonic()
                map_in_threads(run, batches[first : first + n_together], n_together)
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
            return f"interrupted after {len(results)} of {n_trees} trees; the forest is made of {remaining}"

        with one_blas_thread():
            self.budget.attempt(run_all_or_end, lambda: None, message)
            if not results:
                run(batches[0][:1])
        return [results[i] for i in sorted(results)]


def trees_of(fitted: Sequence[FittedTree]) -> tuple[SpectralTree, ...]:
    """The trees."""
    return tuple(tree for _, tree, _ in fitted)


def skeletons_of(fitted: Sequence[FittedTree]) -> list[TreeSkeleton]:
    """Their skeletons."""
    return [skeleton for skeleton, _, _ in fitted]


def _call(function: Callable[[], T]) -> T:
    return function()
