"""What fits a forest and predicts: the processor's threads and processes, or a card. What differs is asked of it."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, TypeVar

from ssgp._utils.arrays import Array
from ssgp.distributions.student_mixture import StudentMixture
from ssgp.engine.on_card.cards import find_card
from ssgp.engine.workers import ProcessWorkers, Workers
from ssgp.forest.atoms import Atoms
from ssgp.forest.boosted_trees import BinnedRows, TreeRows
from ssgp.forest.calibrating import Density, Likelihood, LikelihoodPart
from ssgp.forest.calibration import Calibration, Components
from ssgp.forest.fitted import FittedForest, Forest
from ssgp.forest.nodes import LeaveOneOut, fit_tree, fit_trees
from ssgp.forest.tree import SpectralTree, TreeSkeleton
from ssgp.rows.bisecting_tree import HOST, Partitioner
from ssgp.rows.row_tables import MemoryTable, RowTable
from ssgp.spectrum.objectives import LocalObjective, Objective

__all__ = ["Machine", "Predictor", "Processor", "find_machine"]

T = TypeVar("T")


class Predictor(Protocol):
    """Predicts rows X (n, d) in the user's units by a fitted forest."""

    def means(self, X: Array) -> Array:
        """Means in the user's units, shape (n,)."""
        ...

    def distribution(self, X: Array) -> StudentMixture:
        """Predictive distributions in the user's units."""
        ...

    def noise_variance(self, X: Array) -> Array:
        """Variances of the noise, in squared units of the target, shape (n,)."""
        ...

    def probability(self, atoms: Atoms, X: Array) -> Array:
        """Probabilities of atoms, shape (k, n)."""
        ...


class Machine(Protocol):
    """Does what takes long in a fit, and predicts.

    Attributes
    ----------
    has_threads : bool
        Whether its work is shared out to threads and processes.
    partitioner : Partitioner
        What grows trees.
    """

    @property
    def has_threads(self) -> bool: ...  # noqa: D102

    @property
    def partitioner(self) -> Partitioner: ...  # noqa: D102

    def run(self, work: Callable[[], T]) -> T:
        """What a function returns that fits; where a card is full, nothing that it held stays there."""
        ...

    def objective(self, local: LocalObjective, n_frequencies: int, n_inputs: int) -> Objective:
        """The same objective, computed by the machine, for so many frequencies and inputs."""
        ...

    def holding(self, table: RowTable, processes: ProcessWorkers | None) -> AbstractContextManager[RowTable]:
        """Context with the same table where the machine, or the processes, find it."""
        ...

    def fit_trees(
        self,
        table: RowTable,
        skeletons: Sequence[TreeSkeleton],
        ridge: float,
        n_sketches: int | Literal["exact"],
        shrink: bool,
        leave_out: Sequence[Collection[int]],
        workers: Workers,
    ) -> list[tuple[SpectralTree, LeaveOneOut | None]]:
        """Trees of these skeletons, and errors of rows left out of them: see `ssgp.forest.nodes`."""
        ...

    def components(self, trees: tuple[SpectralTree, ...], X: Array, n_jobs: int | None) -> Components:
        """Predictions of all levels of trees for standardised rows X (n, d), shape (T levels, n)."""
        ...

    def bin_rows(self, X: Array) -> TreeRows:
        """Rows X (n, d) in bins, where boosted trees are grown on them."""
        ...

    def density(self, likelihood: Likelihood, parts: Sequence[LikelihoodPart]) -> Density:
        """The mean log density of some held-out rows, as a function of a calibration's free numbers."""
        ...

    def predictor(self, fitted: FittedForest, n_jobs: int | None) -> Predictor:
        """What predicts by a fitted forest."""
        ...

    def own_rows(self, X: Any, n_inputs: int) -> Array | None:  # noqa: ANN401
        """Rows of so many inputs that a user has where the machine predicts, which are not copied; None for others."""
        ...


@dataclass(frozen=True)
class Processor:
    """The processor, by NumPy."""

    has_threads: bool = True
    partitioner: Partitioner = HOST

    def run(self, work: Callable[[], T]) -> T:
        """What a function returns that fits."""
        return work()

    def objective(self, local: LocalObjective, n_frequencies: int, n_inputs: int) -> Objective:
        """The objective itself."""
        return local

    @contextmanager
    def holding(self, table: RowTable, processes: ProcessWorkers | None) -> Iterator[RowTable]:
        """Context with the same table where the processes find it."""
        if processes is None or not isinstance(table, MemoryTable):
            yield table
            return
        with table.shared() as shared:
            yield shared

    def fit_trees(
        self,
        table: RowTable,
        skeletons: Sequence[TreeSkeleton],
        ridge: float,
        n_sketches: int | Literal["exact"],
        shrink: bool,
        leave_out: Sequence[Collection[int]],
        workers: Workers,
    ) -> list[tuple[SpectralTree, LeaveOneOut | None]]:
        """Trees of these skeletons, together if there are several, which are of a table in memory."""
        if len(skeletons) > 1:
            assert isinstance(table, MemoryTable)
            return fit_trees(table, skeletons, ridge, n_sketches, shrink, leave_out)
        return [
            fit_tree(table, skeleton, ridge, n_sketches, shrink, own, workers)
            for skeleton, own in zip(skeletons, leave_out, strict=True)
        ]

    def components(self, trees: tuple[SpectralTree, ...], X: Array, n_jobs: int | None) -> Components:
        """Predictions of all levels of trees for standardised rows X (n, d), in threads."""
        return Forest(trees, Calibration()).all_components(X, n_jobs)

    def bin_rows(self, X: Array) -> TreeRows:
        """Rows X (n, d) in bins, for scikit-learn's trees."""
        return BinnedRows.of(X)

    def density(self, likelihood: Likelihood, parts: Sequence[LikelihoodPart]) -> Density:
        """The mean log density of some held-out rows, as a function of a calibration's free numbers."""
        return likelihood.density(parts)

    def predictor(self, fitted: FittedForest, n_jobs: int | None) -> Predictor:
        """What predicts by a fitted forest, in threads."""
        return ThreadPredictor(fitted, n_jobs)

    def own_rows(self, X: Any, n_inputs: int) -> Array | None:  # noqa: ANN401
        """None: all rows are checked alike."""
        return None


@dataclass(frozen=True)
class ThreadPredictor:
    """Predicts by threads of the processor."""

    fitted: FittedForest
    n_jobs: int | None

    def means(self, X: Array) -> Array:
        """Means in the user's units, shape (n,)."""
        return self.fitted.means(X, self.n_jobs)

    def distribution(self, X: Array) -> StudentMixture:
        """Predictive distributions in the user's units."""
        return self.fitted.distribution(X, self.n_jobs)

    def noise_variance(self, X: Array) -> Array:
        """Variances of the noise, in squared units of the target, shape (n,)."""
        return self.fitted.noise_variance(X, self.n_jobs)

    def probability(self, atoms: Atoms, X: Array) -> Array:
        """Probabilities of atoms, shape (k, n)."""
        return atoms.probability(X, self.n_jobs)


@cache
def find_machine(device: str) -> Machine:
    """The machine that the setting `device` names; PyTorch is imported where that is a card."""
    card = find_card(device)
    if card is None:
        return Processor()
    from ssgp.forest.card_machine import CardMachine

    return CardMachine(card)
